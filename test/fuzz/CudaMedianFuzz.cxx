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
// Random requests to itk::CudaMedianImageFilter against itk::MedianImageFilter and against the definition of what the
// filter does. A case that fails is made as small as it stays wrong, and printed as the command that repeats it.

#include "FuzzCover.h"
#include "FuzzFilters.h"
#include "FuzzFindings.h"
#include "FuzzImage.h"
#include "FuzzOptions.h"
#include "FuzzSimpler.h"
#include "FuzzSource.h"
#include "FuzzWindow.h"

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

/** The program that checks cases. */
class Fuzzer
{
public:
  Fuzzer(const Options & options, bool device)
    : m_Options(options)
    , m_Device(device)
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
  const auto isNotCovered = [this](const Case & asked, const std::string & message) {
    return asked.algorithm != Algorithm::Automatic && asked.algorithm != Algorithm::Selection &&
           GetCover(asked) != Cover::Must && SaysNotCovered(asked, message);
  };
  if (isNotCovered(c, error))
  {
    return expected("the algorithm does not cover the window");
  }
  if (result.regionError && (c.CountPixels() == 0 || c.CountOutputs() == 0))
  {
    // Of images without pixels ITK refuses some, by the radius: that of a footprint, where there is one.
    auto box = c;
    box.SetWindow({});
    box.radius = MeasureWindow(c).radius;
    const auto byItk = GetFilterRunner(c)(box, pixels, true);
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
    // So may a copy with a border, of which there are several.
    for (int attempt = 0; attempt < (c.IsPlain() ? 3 : 10) && asks.find(needs) != std::string::npos; ++attempt)
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
    // What is valid of a copy's pixels is only known once the budget has room for it, and with it the algorithm asked.
    return isNotCovered(more, asks) ? expected("the algorithm does not cover the window")
                                    : Finding{ "budget", "with the budget that it asks for: " + asks };
  }
  return { "error", error };
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
  // Of the case as its text says it: what that leaves out would be a difference.
  const auto defined = ToOutput(c, ToPixels(c.type, GetReferenceKeys(Case::Parse(c.ToText()), keys)));
  // Which NaN a mean is has nobody said.
  const auto equality = c.evenMedian == EvenMedian::Mean ? Equality::BitsOrNaN : Equality::Bits;
  const auto different = FindDifference(type, defined, result.pixels, equality);
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
  if (c.IsPlain() && !nan && c.CountWindow() < most && c.CountOutputs() * c.CountWindow() < most)
  {
    const auto expected = GetFilterRunner(c)(c, pixels, true);
    if (!expected.error.empty())
    {
      return { "difference", "from ITK, which says: " + expected.error };
    }
    const auto number = FindDifference(type, expected.pixels, result.pixels, Equality::Numbers);
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
    CountRules(c, *counts);
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
  const auto wrong = c.CountOutputs() == 0 ? "" : FindWrongReport(c, result.report);
  if (!wrong.empty())
  {
    return { "report", wrong };
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
  if (c.CountWindow() <= 200 && fails(ListShape(c)))
  {
    c = ListShape(c);
    walk();
  }
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
