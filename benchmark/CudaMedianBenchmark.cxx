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
// Times of the whole filter against itk::MedianImageFilter in the same run, as a table and as JSON.

#include "BenchmarkTable.h"
#include "BenchmarkTiming.h"
#include "DeviceProfiles.h"
#include "MedianBackend.h"
#include "HostRates.h"
#include "ProbeReport.h"

#include "itkCudaMedianImageFilter.h"
#include "itkMedianImageFilter.h"
#include "itkMultiThreaderBase.h"
#include "itkVersion.h"

#include <CLI/CLI.hpp>
#ifdef CUDAMEDIAN_BENCHMARK_HIGHWAY
#  include <hwy/targets.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace
{

using namespace cudamedianbenchmark;
using BackendEnum = itk::CudaMedianImageFilterEnums::Backend;

struct Options
{
  std::string backend{ "auto" };
  std::string cases{ "small" };
  /** Of the cases' radii along axis 0; all of them where there is none. */
  std::vector<std::size_t> radii;
  std::string              jsonFile;
  std::string              probesFile;
  unsigned int             repeats{ 5 };
  unsigned int             threads{ std::max(1u, std::thread::hardware_concurrency()) };
  std::uint64_t            seed{ 20250810 };
  bool                     skipItk{ false };
  std::string              instructionSet{ "best" };
  std::string              host;
  std::string              commit{ CUDAMEDIAN_COMMIT };
};

/** A block in the middle of the image, small enough that ITK's filter is done with it in about a third of a second per
 * thread (it looks at some 80 million window pixels a second and thread). */
template <typename TRegion>
TRegion
ItkBlock(TRegion region, std::size_t windowPixels, unsigned int threads)
{
  const std::size_t limit = std::max<std::size_t>(1, 30000000 * std::size_t{ threads } / windowPixels);
  for (unsigned int axis = TRegion::ImageDimension; axis-- > 0;)
  {
    const std::size_t pixels = region.GetNumberOfPixels();
    if (pixels > limit)
    {
      const std::size_t extent = region.GetSize(axis);
      const std::size_t kept = std::max<std::size_t>(1, extent * limit / pixels);
      region.SetIndex(axis, region.GetIndex(axis) + static_cast<itk::IndexValueType>((extent - kept) / 2));
      region.SetSize(axis, kept);
    }
  }
  return region;
}

template <typename TPixel, unsigned int VDimension>
std::vector<Row>
RunCase(const BenchmarkCase &            benchmarkCase,
        const Options &                  options,
        const std::vector<BackendEnum> & backends,
        itk::TimeProbesCollectorBase &   probes)
{
  using ImageType = itk::Image<TPixel, VDimension>;
  typename ImageType::SizeType size;
  typename ImageType::SizeType radius;
  for (unsigned int axis = 0; axis < VDimension; ++axis)
  {
    size[axis] = benchmarkCase.size[axis];
    radius[axis] = benchmarkCase.radius[axis];
  }
  const auto image = ImageType::New();
  image->SetRegions(size);
  image->Allocate();
  FillRandomly(*image, options.seed);

  std::size_t itkPixels = 0;
  double      itkPixelSeconds = 0;
  if (!options.skipItk)
  {
    const auto filter = itk::MedianImageFilter<ImageType, ImageType>::New();
    filter->SetInput(image);
    filter->SetRadius(radius);
    filter->SetNumberOfWorkUnits(options.threads);
    const auto block = ItkBlock(image->GetLargestPossibleRegion(), benchmarkCase.WindowPixels(), options.threads);
    filter->GetOutput()->SetRequestedRegion(block);
    filter->Update();
    const std::string name =
      "Median " + CaseText(benchmarkCase) + ", a part of " + std::to_string(block.GetNumberOfPixels());
    std::vector<double> seconds;
    for (unsigned int i = 0; i < options.repeats; ++i)
    {
      probes.Start(name.c_str());
      seconds.push_back(TimedUpdate(*filter));
      probes.Stop(name.c_str());
    }
    itkPixels = block.GetNumberOfPixels();
    itkPixelSeconds = Median(seconds) / itkPixels;
  }

  std::vector<Row> rows;
  for (const BackendEnum backend : backends)
  {
    const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
    filter->SetBackend(backend);
    filter->WaitForKernelsOn();
    filter->SetInput(image);
    filter->SetRadius(radius);
    filter->SetNumberOfWorkUnits(options.threads);
    filter->Update();
    std::vector<double> whole;
    std::vector<double> kernel;
    std::vector<double> transfer;
    const std::string   name = "CudaMedian " + CaseText(benchmarkCase) + ", " + filter->GetExecutionReport().backend;
    for (unsigned int i = 0; i < options.repeats; ++i)
    {
      probes.Start(name.c_str());
      whole.push_back(TimedUpdate(*filter));
      probes.Stop(name.c_str());
      kernel.push_back(filter->GetExecutionReport().kernelSeconds);
      transfer.push_back(filter->GetExecutionReport().transferSeconds);
    }
    Row row;
    row.benchmarkCase = benchmarkCase;
    row.report = filter->GetExecutionReport();
    row.wholeSeconds = Median(whole);
    row.kernelSeconds = Median(kernel);
    row.transferSeconds = Median(transfer);
    row.itkPixels = itkPixels;
    row.itkPixelSeconds = itkPixelSeconds;
    rows.push_back(row);
  }
  return rows;
}

template <typename TPixel>
std::vector<Row>
RunCaseOfPixel(const BenchmarkCase &            benchmarkCase,
               const Options &                  options,
               const std::vector<BackendEnum> & backends,
               itk::TimeProbesCollectorBase &   probes)
{
  return benchmarkCase.Dimensions() == 2 ? RunCase<TPixel, 2>(benchmarkCase, options, backends, probes)
                                         : RunCase<TPixel, 3>(benchmarkCase, options, backends, probes);
}

std::vector<Row>
RunCaseOfAnyPixel(const BenchmarkCase &            benchmarkCase,
                  const Options &                  options,
                  const std::vector<BackendEnum> & backends,
                  itk::TimeProbesCollectorBase &   probes)
{
  switch (benchmarkCase.pixel)
  {
    case CasePixel::UInt8:
      return RunCaseOfPixel<unsigned char>(benchmarkCase, options, backends, probes);
    case CasePixel::Int16:
      return RunCaseOfPixel<short>(benchmarkCase, options, backends, probes);
    default:
      return RunCaseOfPixel<float>(benchmarkCase, options, backends, probes);
  }
}

std::vector<BackendEnum>
ChosenBackends(const std::string & name)
{
  if (name == "cpu")
  {
    return { BackendEnum::Cpu };
  }
  if (name == "cuda")
  {
    return { BackendEnum::Cuda };
  }
  if (name == "choice")
  {
    return { BackendEnum::Cpu, BackendEnum::Cuda, BackendEnum::Auto };
  }
  if (cudamedian::QueryCudaDevice().usable)
  {
    return { BackendEnum::Cpu, BackendEnum::Cuda };
  }
  return { BackendEnum::Cpu };
}

std::string
ProcessorName()
{
  std::ifstream information("/proc/cpuinfo");
  for (std::string line; std::getline(information, line);)
  {
    if (line.compare(0, 10, "model name") == 0 && line.find(": ") != std::string::npos)
    {
      return line.substr(line.find(": ") + 2);
    }
  }
  return "unknown";
}

std::string
CompilerName()
{
#if defined(__clang__)
  return std::string("Clang ") + __clang_version__;
#elif defined(__GNUC__)
  return std::string("GCC ") + __VERSION__;
#elif defined(_MSC_VER)
  return "MSVC " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

Json
MachineInformation(const Options & options)
{
  Json machine;
  machine["processor"] = ProcessorName();
  machine["cores"] = std::thread::hardware_concurrency();
  machine["work_units"] = options.threads;
  machine["gpu"] = options.backend == "cpu" ? "not asked for" : cudamedian::QueryCudaDevice().description;
  machine["compiler"] = CompilerName();
  machine["instruction_set"] = options.instructionSet;
  machine["itk"] = itk::Version::GetITKVersion();
  machine["repeats"] = options.repeats;
  machine["seed"] = options.seed;
  if (options.backend == "choice")
  {
    // What the estimates rest on.
    const auto & host = cudamedian::GetHostRates();
    machine["bytes_compared_per_second_and_thread"] = host.laneBytes;
    machine["bytes_copied_per_second_and_thread"] = host.copyBytes;
    const auto & backend = cudamedian::GetCudaBackend();
    if (backend.Query({}).usable)
    {
      machine["bus_bytes_per_second"] = backend.MeasureCopyBytes({});
      machine["kernel_speed"] = cudamedian::GetRelativeSpeed(backend.GetTraits({}));
    }
  }
  return machine;
}

/** Restricts the CPU backend to instruction sets no later than the one asked for. */
void
ChooseInstructionSet(const std::string & name)
{
  if (name == "best")
  {
    return;
  }
#ifdef CUDAMEDIAN_BENCHMARK_HIGHWAY
  // Later sets have lower bits.
  const std::int64_t latest = name == "avx2" ? HWY_AVX2 : HWY_SSE4;
  const std::int64_t allowed = hwy::SupportedTargets() & ~(latest - 1);
  if ((allowed & latest) == 0)
  {
    throw std::runtime_error("this machine has no " + name);
  }
  hwy::SetSupportedTargetsForTest(allowed);
  hwy::GetChosenTarget().Update(allowed);
#else
  throw std::runtime_error("built without Google Highway, which chooses the instruction set");
#endif
}

int
Run(const Options & options)
{
  ChooseInstructionSet(options.instructionSet);
  std::ofstream jsonFile;
  if (!options.jsonFile.empty())
  {
    jsonFile.open(options.jsonFile);
    if (!jsonFile)
    {
      std::cerr << "CudaMedianBenchmark: cannot write " << options.jsonFile << '\n';
      return EXIT_FAILURE;
    }
  }
  std::optional<ProbeReport> probeReport;
  if (!options.probesFile.empty())
  {
    probeReport.emplace(options.probesFile);
  }
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(options.threads);

  const Json machine = MachineInformation(options);
  for (const auto & entry : machine.items())
  {
    std::cout << entry.key() << ": "
              << (entry.value().is_string() ? entry.value().get<std::string>() : entry.value().dump()) << '\n';
  }

  const auto backends = ChosenBackends(options.backend);
  auto       cases = cudamedianbenchmark::BenchmarkCases(options.cases);
  const auto isLeftOut = [&](const auto & one) {
    return !options.radii.empty() &&
           std::find(options.radii.begin(), options.radii.end(), one.radius[0]) == options.radii.end();
  };
  cases.erase(std::remove_if(cases.begin(), cases.end(), isLeftOut), cases.end());
  std::vector<Row> rows;

  itk::TimeProbesCollectorBase probes;
  for (std::size_t i = 0; i < cases.size(); ++i)
  {
    std::cerr << "case " << i + 1 << " of " << cases.size() << '\n';
    const auto caseRows = RunCaseOfAnyPixel(cases[i], options, backends, probes);
    rows.insert(rows.end(), caseRows.begin(), caseRows.end());
  }

  if (jsonFile.is_open())
  {
    Json results = Json::array();
    std::transform(rows.begin(), rows.end(), std::back_inserter(results), RowAsJson);
    jsonFile << Json{ { "machine", machine }, { "rows", results } }.dump(2) << '\n';
    if (!jsonFile.flush())
    {
      std::cerr << "CudaMedianBenchmark: cannot write " << options.jsonFile << '\n';
      return EXIT_FAILURE;
    }
  }
  if (probeReport)
  {
    probeReport->Write(probes, options.commit);
  }
  std::cout << "\nMedian of " << options.repeats << " runs after a first one, output buffer reused. ";
  if (options.backend == "choice")
  {
    std::cout << "\"times the faster\": what the chosen backend takes, over the faster of the two.\n\n";
    PrintTable(std::cout, MakeTableOfChoices(rows));
    if (!options.host.empty())
    {
      PrintBackendRows(std::cout, rows, options.host, options.commit);
    }
    return EXIT_SUCCESS;
  }
  std::cout
    << "\"times ITK\": "
    << "how many times longer itk::MedianImageFilter takes\nper pixel with the same number of work units, timed "
    << "on itk_pixels pixels in the middle of the image. Absolute times are shown for CUDA only.\n\n";
  PrintTable(std::cout, MakeTable(rows));
  return EXIT_SUCCESS;
}

} // namespace

int
main(int argc, char * argv[])
{
  Options  options;
  CLI::App app("Times itk::CudaMedianImageFilter against itk::MedianImageFilter.");
  app
    .add_option("--backend",
                options.backend,
                "auto: the CPU, and CUDA when a device is usable; choice: both, and which the filter's Auto takes")
    ->check(CLI::IsMember({ "auto", "cpu", "cuda", "choice" }))
    ->capture_default_str();
  app.add_option("--cases", options.cases, "which cases to run")
    ->check(CLI::IsMember({ "small", "cpu", "counted", "choice", "all" }))
    ->capture_default_str();
  app.add_option("--radii", options.radii, "of these, those whose windows have one of these radii along axis 0")
    ->delimiter(',');
  app.add_option("--json", options.jsonFile, "file that receives the results as JSON");
  app.add_option("--probes",
                 options.probesFile,
                 "file that receives all times as the probes of ITK's performance benchmarks, as JSON");
  app.add_option("--repeats", options.repeats, "timed runs of each case")
    ->check(CLI::Range(1, 1000))
    ->capture_default_str();
  app.add_option("--threads", options.threads, "work units of both filters")
    ->check(CLI::Range(1, 4096))
    ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the random images")->capture_default_str();
  app.add_option("--instruction-set", options.instructionSet, "the latest that the CPU backend may use")
    ->check(CLI::IsMember({ "best", "avx2", "sse4" }))
    ->capture_default_str();
  app.add_option("--host", options.host, "name of this host: choice prints rows for the table of measurements too");
  app.add_option("--commit", options.commit, "what those rows say was measured; the default was found by CMake");
  app.add_flag("--skip-itk", options.skipItk, "do not time ITK's filter");
  CLI11_PARSE(app, argc, argv);
  try
  {
    return Run(options);
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianBenchmark: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
