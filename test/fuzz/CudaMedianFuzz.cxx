/*=========================================================================
 *
 *  Copyright NumFOCUS
 *
 *  Licensed under the Apache License, Version 2.0 (the "License");
 *  you may not use this file except in compliance with the License.
 *  You may obtain a copy of the License at
 *
 *         https://www.apache.org/licenses/LICENSE-2.0.txt
 *
 *  Unless required by applicable law or agreed to in writing, software
 *  distributed under the License is distributed on an "AS IS" BASIS,
 *  WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 *  See the License for the specific language governing permissions and
 *  limitations under the License.
 *
 *=========================================================================*/
// Random requests to itk::CudaMedianImageFilter against itk::MedianImageFilter and against the definition of the
// median. A case that fails is made as small as it stays wrong, and printed as the command that repeats it.

#include "FuzzFilters.h"
#include "FuzzImage.h"
#include "FuzzOptions.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>

#ifdef CUDAMEDIAN_TEST_HIGHWAY
#  include "hwy/targets.h"
#endif

namespace
{

using namespace cudamedianfuzz;

constexpr const char * usage =
  "usage: CudaMedianFuzz [--seconds S] [--cases N] [--seed N] [--replay \"case\"] [--backend cpu,cuda,auto]\n"
  "                      [--devices 0,1] [--require-gpu] [--jobs N] [--new-windows N] [--case-seconds S]\n"
  "                      [--shrink-seconds S]\n"
  "Runs random cases, 30 s of them unless told otherwise. CUDAMEDIAN_TEST_SEED is the seed where --seed is not given;\n"
  "without both it is a fresh one. --new-windows: with a device, one case in so many (200) has a window that is new "
  "to\n"
  "it, since it may have to compile a kernel. --replay: one case, as a failure prints it.\n";

#ifdef CUDAMEDIAN_TEST_ON_HOST
constexpr const char * programName = "CudaMedianFuzzOnHost";
#else
constexpr const char * programName = "CudaMedianFuzz";
#endif

/** One fault makes many cases fail: so many of those that look alike are printed, and the run ends after so many kinds.
 */
constexpr unsigned mostAlike = 3;
constexpr unsigned mostKinds = 20;

/** What is wrong with a case; no kind: nothing. */
struct Finding
{
  std::string kind;
  std::string text;
};

/** Whether an algorithm that is asked for runs. */
enum class Cover
{
  Must,
  May, ///< what is promised leaves it open
  Never
};

Cover
OnlyIf(bool covered)
{
  return covered ? Cover::Must : Cover::Never;
}

std::int64_t
GetLargest(const Extent & radius)
{
  return *std::max_element(radius.begin(), radius.end());
}

/** What the documentation of the filter and the texts of its errors promise for the CPU. */
Cover
GetHostCover(const Case & c)
{
  const auto largest = GetLargest(c.GetEffectiveRadius());
  const auto window = c.CountWindow();
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return OnlyIf(c.CountAxes() <= 2 ? largest <= 15 : c.CountAxes() == 3 && largest <= 4);
    case Algorithm::LocalRank:
      // Blocks extend along the first axis, whether or not the window does.
      return c.CountAxes() > (c.radius[0] == 0 ? 2 : 3)   ? Cover::Never
             : largest <= (c.CountAxes() <= 2 ? 127 : 19) ? Cover::Must
             : window > 65536                             ? Cover::Never
                                                          : Cover::May;
    case Algorithm::SlidingHistogram:
      return OnlyIf(cudamedian::PixelBytes(c.type) == 1 && window <= 65535);
    case Algorithm::MergeTiling:
      return Cover::Never;
    default:
      return Cover::Must;
  }
}

/** The same for CUDA. */
Cover
GetDeviceCover(const Case & c)
{
  const auto largest = GetLargest(c.GetEffectiveRadius());
  const auto window = c.CountWindow();
  const bool wide = cudamedian::PixelBytes(c.type) == 8;
  const bool flat = c.CountAxes() <= 2;
  if (c.CountAxes() > 3)
  {
    return OnlyIf(c.algorithm == Algorithm::Automatic || c.algorithm == Algorithm::Selection);
  }
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return OnlyIf(largest <= (flat ? 5 : 2) || (largest <= 15 && window <= 289));
    case Algorithm::LocalRank:
      return largest <= (flat ? (wide ? 42 : 61) : (wide ? 8 : 11)) ? Cover::Must
             : window > (wide ? 8192 : 16384)                       ? Cover::Never
                                                                    : Cover::May;
    case Algorithm::SlidingHistogram:
      // Beyond that it depends on the shared memory of the device.
      return largest <= 20 ? Cover::Must : Cover::May;
    case Algorithm::MergeTiling:
      return flat ? Cover::May : Cover::Never; // the lists have to fit in the budget
    default:
      return Cover::Must;
  }
}

/** The documented text of the error when an algorithm does not cover a window. */
const char *
GetCoverText(Algorithm algorithm)
{
  switch (algorithm)
  {
    case Algorithm::TileProgram:
      return "No tile program covers a window of radius ";
    case Algorithm::LocalRank:
      return "No block of local ranks covers a window of radius ";
    case Algorithm::SlidingHistogram:
      return "Sliding histograms do not cover a window of radius ";
    default:
      return "Merge tiling does not cover a window of radius ";
  }
}

/** The program that checks cases. */
class Fuzzer
{
public:
  Fuzzer(const Options & options, bool device) : m_Options(options), m_Device(device)
  {}

  /** Checks a case; what ran goes to the counts, unless null. */
  Finding
  Check(const Case & c, Counts * counts);

  /** The smallest case that is wrong in the same way, as far as it is found in the time. */
  Case
  Shrink(Case c, const Finding & finding);

  Tally
  Run(std::uint64_t seed, bool first);

private:
  Finding
  CheckError(const Case & c, const FilterResult & result, const std::vector<char> & pixels, Counts * counts);

  Finding
  CheckReport(const Case & c, const FilterResult & result);

  Finding
  CheckPixels(const Case &                       c,
              const FilterResult &               result,
              const std::vector<std::uint64_t> & keys,
              const std::vector<char> &          pixels,
              Counts *                           counts);

  void
  SetTarget(std::int64_t target);

  Cover
  GetCover(const Case & c) const
  {
    if (c.backend == Backend::Cpu || !m_Device)
    {
      return GetHostCover(c);
    }
    if (c.backend == Backend::Cuda)
    {
      return GetDeviceCover(c);
    }
    // The choice is free: what one of them can is done.
    return std::min(GetHostCover(c), GetDeviceCover(c));
  }

  Options      m_Options;
  bool         m_Device;
  std::int64_t m_Target{ 0 };
};

void
Fuzzer::SetTarget(std::int64_t target)
{
#ifdef CUDAMEDIAN_TEST_HIGHWAY
  if (target != m_Target)
  {
    hwy::SetSupportedTargetsForTest(0);
    if (target != 0)
    {
      // One that this machine lacks, of a case from another, would be an illegal instruction.
      hwy::SetSupportedTargetsForTest(target & hwy::SupportedTargets());
    }
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    m_Target = target;
  }
#else
  static_cast<void>(target);
#endif
}

std::string
Escape(const Case & c)
{
  return std::string(programName) + " --replay \"" + c.ToText() + "\"";
}

/** What failures that look alike have in common: the kind, what was asked for, and the text without numbers. */
std::string
GetSignature(const Case & c, const Finding & finding)
{
  auto signature =
    finding.kind + " with " + cudamedian::ToString(c.backend) + ", " + cudamedian::ToString(c.algorithm) + ": ";
  // Of differences the text says which values, and at its end what ran.
  const auto ran = finding.text.rfind("; ran");
  for (const char character : finding.text.substr(ran == std::string::npos ? 0 : ran).substr(0, 200))
  {
    const bool isDigit = character >= '0' && character <= '9';
    if (!isDigit || signature.back() != '#')
    {
      signature += isDigit ? '#' : character;
    }
  }
  return signature;
}

Finding
Fuzzer::CheckError(const Case & c, const FilterResult & result, const std::vector<char> & pixels, Counts * counts)
{
  const auto & error = result.error;
  const auto   has = [&](const std::string & text) { return error.find(text) != std::string::npos; };
  const auto   expected = [&](const char * what) {
    if (counts != nullptr)
    {
      ++(*counts)[std::string("error as documented: ") + what];
    }
    return Finding{};
  };
  if (c.backend == Backend::Cuda && !m_Device)
  {
    return has("The CUDA backend was asked for, which needs an NVIDIA driver") ? expected("no device")
                                                                               : Finding{ "error", error };
  }
  if (c.algorithm != Algorithm::Automatic && c.algorithm != Algorithm::Selection && GetCover(c) != Cover::Must &&
      has(GetCoverText(c.algorithm)))
  {
    return expected("the algorithm does not cover the window");
  }
  if (result.regionError && (c.CountPixels() == 0 || c.CountOutputs() == 0))
  {
    // Of images without pixels ITK refuses some.
    const auto byItk = GetFilterRunner(c)(c, pixels, true);
    return byItk.regionError ? expected("no pixels, as ITK") : Finding{ "error", "ITK does not say: " + error };
  }
  const std::string needs = "cannot hold the smallest slab, which needs ";
  // Where the CPU does not cover the window either, the automatic backend has both reasons.
  const bool onlyCuda = c.backend == Backend::Cuda || (c.backend == Backend::Auto && error.rfind("On CUDA: ", 0) == 0 &&
                                                       has("; on the CPU: ") && GetHostCover(c) != Cover::Must);
  if (onlyCuda && c.budget > 0 && has("A device memory budget of ") && has(needs))
  {
    // The least that it names must do.
    std::uint64_t sharers = 1;
    for (const int device : c.devices)
    {
      sharers = std::max<std::uint64_t>(
        sharers, static_cast<std::uint64_t>(std::count(c.devices.begin(), c.devices.end(), device)));
    }
    // A kernel that cannot be compiled, as is found when it is first tried, leaves the window to one that takes more.
    auto        more = c;
    std::string asks = error;
    for (int attempt = 0; attempt < 3 && asks.find(needs) != std::string::npos; ++attempt)
    {
      const auto before = more.budget;
      more.budget = std::stoull(asks.substr(asks.find(needs) + needs.size())) * sharers;
      if (more.budget <= before)
      {
        return { "error", asks };
      }
      asks = GetFilterRunner(more)(more, pixels, false).error;
      if (asks.empty())
      {
        return expected("a budget too small");
      }
    }
    return { "budget", "with the budget that it asks for: " + asks };
  }
  return { "error", error };
}

Finding
Fuzzer::CheckReport(const Case & c, const FilterResult & result)
{
  const auto & report = result.report;
  if (c.CountOutputs() == 0)
  {
    return {};
  }
  const auto backend = std::string(cudamedian::ToString(c.backend));
  if (c.backend == Backend::Auto ? report.backend != "CPU" && report.backend != "CUDA" : report.backend != backend)
  {
    return { "report", "the backend is " + report.backend };
  }
  const auto algorithm = std::string(cudamedian::ToString(c.algorithm));
  // A program that takes too long to compile and cannot be interpreted is replaced, and the report has the reason.
  const bool isReplaced = c.algorithm == Algorithm::TileProgram && report.backend == "CUDA" &&
                          (report.algorithm == cudamedian::ToString(Algorithm::LocalRank) ||
                           report.algorithm == cudamedian::ToString(Algorithm::Selection)) &&
                          report.algorithmReason.find("no kernel of the window's tile program (") != std::string::npos;
  if (c.algorithm != Algorithm::Automatic && !isReplaced &&
      report.algorithm.compare(0, algorithm.size(), algorithm) != 0)
  {
    return { "report", "the algorithm is " + report.algorithm };
  }
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    if (report.window[axis] != 2 * c.GetEffectiveRadius()[axis] + 1)
    {
      return { "report", "the window is another" };
    }
  }
  if (c.budget > 0 && report.backend == "CUDA" && report.deviceBytes > c.budget)
  {
    return { "report",
             "the budget is " + std::to_string(c.budget) + " and " + std::to_string(report.deviceBytes) +
               " bytes were allocated" };
  }
  return {};
}

std::string
DescribeDifference(const Case &              c,
                   std::int64_t              number,
                   const std::vector<char> & expected,
                   const std::vector<char> & actual,
                   const FilterResult &      result)
{
  const auto  type = GetOutputType(c);
  std::string place;
  auto        rest = number;
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    place += (axis > 0 ? "," : "") + std::to_string(rest % c.region[axis]);
    rest /= c.region[axis];
  }
  return "output " + place + " is " + PixelToText(type, actual, number) + " but must be " +
         PixelToText(type, expected, number) + "; ran " + result.report.backend + ", " + result.report.algorithm;
}

Finding
Fuzzer::CheckPixels(const Case &                       c,
                    const FilterResult &               result,
                    const std::vector<std::uint64_t> & keys,
                    const std::vector<char> &          pixels,
                    Counts *                           counts)
{
  const bool nan = HasNan(c.type, keys);
  const auto type = GetOutputType(c);
  const auto defined = ToOutput(c, ToPixels(c.type, GetReferenceKeys(c, keys)));
  const auto different = FindDifference(type, defined, result.pixels, false);
  if (different >= 0)
  {
    return { "difference", "from the definition: " + DescribeDifference(c, different, defined, result.pixels, result) };
  }
  if (counts != nullptr)
  {
    ++(*counts)["equal to: the definition"];
  }
  // ITK is slow: one case in fifty may take it long.
  const auto most = c.seed % 50 == 0 ? 1000000 : 15000;
  if (!nan && c.CountWindow() < most && c.CountOutputs() * c.CountWindow() < most)
  {
    const auto expected = GetFilterRunner(c)(c, pixels, true);
    if (!expected.error.empty())
    {
      return { "difference", "from ITK, which says: " + expected.error };
    }
    const auto number = FindDifference(type, expected.pixels, result.pixels, true);
    if (number >= 0)
    {
      return { "difference", "from ITK: " + DescribeDifference(c, number, expected.pixels, result.pixels, result) };
    }
    if (counts != nullptr)
    {
      ++(*counts)["equal to: itk::MedianImageFilter"];
    }
  }
  return {};
}

Finding
Fuzzer::Check(const Case & c, Counts * counts)
{
  SetCurrentCase(Escape(c), m_Options.caseSeconds);
  SetTarget(c.target);
  const auto keys = MakeKeys(c);
  const auto pixels = ToPixels(c.type, keys);
  auto       result = GetFilterRunner(c)(c, pixels, false);
  if (counts != nullptr)
  {
    ++(*counts)[std::string("type: ") + cudamedian::ToString(c.type)];
    ++(*counts)["dimension: " + std::to_string(c.dimension)];
    ++(*counts)["backend asked for: " + std::string(cudamedian::ToString(c.backend))];
  }
  if (!result.wrong.empty())
  {
    return { "wrong", result.wrong };
  }
  if (!result.error.empty())
  {
    return CheckError(c, result, pixels, counts);
  }
  if (c.CountOutputs() > 0 && GetCover(c) == Cover::Never)
  {
    return { "cover", "ran " + result.report.algorithm + ", which does not cover the window" };
  }
  if (m_Options.injectsDifference && c.radius[0] >= 2 && c.CountOutputs() >= 3 && !result.pixels.empty())
  {
    result.pixels[2 * cudamedian::PixelBytes(GetOutputType(c))] ^= 1;
  }
  const auto finding = CheckReport(c, result);
  if (!finding.kind.empty())
  {
    return finding;
  }
  if (counts != nullptr)
  {
    const auto & report = result.report;
    ++(*counts)["ran on " + report.backend + ": " + report.algorithm];
    if (report.backend == "CUDA")
    {
      ++(*counts)[std::string("slabs: ") + (report.numberOfSlabs > 1 ? "several" : "one")];
      ++(*counts)["devices: " + std::to_string(std::max<std::size_t>(1, c.devices.size()))];
    }
  }
  return CheckPixels(c, result, keys, pixels, counts);
}

Case
Fuzzer::Shrink(Case c, const Finding & finding)
{
  const auto start = std::chrono::steady_clock::now();
  const auto timeIsUp = [&] {
    return std::chrono::steady_clock::now() - start > std::chrono::seconds(m_Options.shrinkSeconds);
  };
  const auto fails = [&](const Case & other) { return Check(other, nullptr).kind == finding.kind; };
  const auto walk = [&] {
    for (bool smaller = true; smaller && !timeIsUp();)
    {
      smaller = false;
      for (const auto & other : GetSimplerCases(c))
      {
        if (!timeIsUp() && fails(other))
        {
          c = other;
          smaller = true;
          break;
        }
      }
    }
  };
  walk();
  if (c.CountPixels() <= 200 && c.pattern != Pattern::List)
  {
    for (const bool small : { true, false })
    {
      const auto listed = ListKeys(c, small);
      if (fails(listed))
      {
        c = listed;
        walk();
        break;
      }
    }
  }
  return c;
}

Tally
Fuzzer::Run(std::uint64_t seed, bool first)
{
  Choices choices;
  choices.backends = m_Options.backends;
  choices.device = m_Device;
  choices.devices = m_Options.devices;
  choices.newWindows = m_Device ? m_Options.newWindows : 1;
#ifdef CUDAMEDIAN_TEST_HIGHWAY
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1)
  {
    choices.targets.push_back(targets & -targets);
  }
#endif
  CaseSource                      source(choices, seed);
  Tally                           tally;
  std::map<std::string, unsigned> seen;
  const auto cases = m_Options.cases / m_Options.jobs + (first ? m_Options.cases % m_Options.jobs : 0);
  const auto start = std::chrono::steady_clock::now();
  const auto isDone = [&] {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    return (m_Options.cases > 0 && tally.cases >= cases) ||
           (m_Options.seconds > 0 && taken.count() >= m_Options.seconds) || seen.size() >= mostKinds;
  };
  while (!isDone())
  {
    const auto c = source.Next();
    const auto finding = Check(c, &tally.counts);
    ++tally.cases;
    if (!finding.kind.empty())
    {
      ++tally.failures;
      const auto signature = GetSignature(c, finding);
      ++tally.counts["FAILED: " + signature];
      if (++seen[signature] > mostAlike)
      {
        continue;
      }
      PrintLine("FAILED: " + Escape(c) + " # " + finding.text);
      const auto small = Shrink(c, finding);
      PrintLine("SHRUNK: " + Escape(small) + " # " + Check(small, nullptr).text);
    }
  }
  SetCurrentCase("", 0);
  return tally;
}

} // namespace

int
main(int argc, char * argv[])
{
  auto options = ReadOptions(argc, argv, usage);
  WatchForCrashes();
  try
  {
    // Only asked where it matters: a process that is to fork must not have started CUDA, so a child asks.
    const auto run = [&](std::uint64_t seed, bool first) {
      const auto device = cudamedian::QueryCudaDevice();
      auto       own = options;
      if (own.backends.empty())
      {
        own.backends = device.usable ? std::vector<Backend>{ Backend::Cpu, Backend::Cuda, Backend::Cuda, Backend::Auto }
                                     : std::vector<Backend>{ Backend::Cpu, Backend::Cpu, Backend::Cpu, Backend::Auto };
      }
      Fuzzer fuzzer(own, device.usable);
      if (!device.usable && own.requireGpu)
      {
        PrintLine("FAILED: no usable CUDA device: " + device.description);
        Tally tally;
        tally.failures = 1;
        return tally;
      }
      if (own.replay.empty())
      {
        if (first)
        {
          PrintLine(programName + std::string(": seed ") + std::to_string(own.seed) +
                    (device.usable ? ", " : ", no CUDA device: ") + device.description);
        }
        return fuzzer.Run(seed, first);
      }
      Tally      tally;
      const auto c = Case::Parse(own.replay);
      const auto finding = fuzzer.Check(c, &tally.counts);
      tally.cases = 1;
      if (!finding.kind.empty())
      {
        tally.failures = 1;
        PrintLine("FAILED: " + Escape(c) + " # " + finding.text);
      }
      return tally;
    };
    if (!options.replay.empty())
    {
      options.jobs = 1;
    }
    const auto                          start = std::chrono::steady_clock::now();
    const auto                          tally = RunJobs(options, run);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    PrintTally(programName, options, tally, taken.count());
    return tally.failures == 0 && tally.cases > 0 ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::cerr << programName << ": " << error.what() << "\n";
    return 2;
  }
}
