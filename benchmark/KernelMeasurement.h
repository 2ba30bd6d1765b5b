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
#ifndef KernelMeasurement_h
#define KernelMeasurement_h

#include "ExtremumLaunch.h"
#include "ExtremumSteps.h"
#include "HistogramLaunch.h"
#include "InterpretedLaunch.h"
#include "KernelTiming.h"
#include "MergeLaunch.h"
#include "Planner.h"
#include "RankLaunch.h"
#include "RuntimeKernels.h"
#include "SelectionLaunch.h"
#include "SharedMemoryLimit.h"

#include <atomic>
#include <map>
#include <thread>
#include <utility>

/** The kernels of each algorithm, measured. */
namespace cudamedianbenchmark
{

/** What is compiled for a device: PTX for one that it is taken for. */
inline KernelTarget
GetKernelTarget(const DeviceTraits & device)
{
  return { device.computeCapability, device.pretendedOn > device.computeCapability };
}

using namespace cudamedian;

/** Times kernels on the current device, with images and scratch memory that it keeps between them. */
class Benchmark
{
public:
  /** \param scratchBytes device memory that data-aware algorithms may take. */
  explicit Benchmark(std::size_t scratchBytes)
    : m_Device(DescribeDevice(m_Memory))
    , m_ScratchBytes(scratchBytes)
  {
    std::printf("%s, %d multiprocessors, %.2f GHz, copy %.2f TB/s\n",
                m_Device.name.c_str(),
                m_Device.multiprocessors,
                m_Device.kilohertz * 1e-6,
                m_Device.copyBytes * 1e-12);
  }

  /** Whether images are like scans instead of random bits. */
  void
  SetScans(bool hasScans)
  {
    m_HasScans = hasScans;
  }

  const DeviceTraits &
  GetDevice() const
  {
    return m_Device;
  }

  /** \param published the name of the program, where it is a published one */
  Row
  Measure(const EmittedKernel & kernel,
          const KernelPolicy &  policy,
          const PixelKind &     pixel,
          const Extent &        size,
          const std::string &   how,
          int                   launches,
          const std::string &   published = "")
  {
    Row row;
    row.published = published;
    row.size = JoinShort(size);
    row.how = how;
    Count(kernel.window.radius, policy, pixel, m_Device, row);

    cudaFuncAttributes attributes;
    Check(cudaFuncGetAttributes(&attributes, kernel.function), "cudaFuncGetAttributes");
    row.registers = attributes.numRegs;
    row.localBytes = attributes.localSizeBytes;
    Check(AllowSharedMemory(kernel.function, kernel.shape.sharedBytes), "AllowSharedMemory");
    int blocks = 0;
    Check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, kernel.function, kernel.shape.threads, static_cast<std::size_t>(kernel.shape.sharedBytes)),
          "cudaOccupancyMaxActiveBlocksPerMultiprocessor");
    row.warps = blocks * kernel.shape.threads / 32;

    Time(kernel.window.radius, pixel, size, launches, row, [&](const KernelArguments & arguments) {
      return LaunchEmittedKernel(kernel, arguments, nullptr);
    });
    return row;
  }

  /** Local ranks. Operations are the pixels that enter or leave a window for an output, the first window included; the
   * floor is 4.75 instructions for each and 40 for an output, 128 a clock and SM, without the sorting. */
  Row
  MeasureRanks(const Extent & radius, const PixelKind & pixel, const Extent & size, int launches)
  {
    RankShape shape{};
    if (!FindRankShape(radius, static_cast<int>(PixelBytes(pixel.type)), shape, m_Device))
    {
      throw std::runtime_error("no block of local ranks covers the window");
    }
    Row row;
    row.pixel = pixel.name;
    row.window = JoinShort(Window(radius).GetExtent());
    row.size = JoinShort(size);
    row.how =
      "local ranks, " + std::to_string(shape.pixels) + " pixels " +
      (shape.sortPixels > 0 ? "sorted by " + std::to_string(shape.sortPixels) : "counted by values") + ", model " +
      std::to_string(1e3 / EstimateRankPicoseconds(shape, radius, static_cast<int>(PixelBytes(pixel.type)), m_Device))
        .substr(0, 5);
    row.policy.tile = GetRankTile(shape);
    row.policy.tiling.root = row.policy.tile;
    row.policy.blockX = shape.threads;
    row.policy.blockY = 1;
    const auto slice = static_cast<double>((2 * radius[static_cast<std::size_t>(shape.axes[0])] + 1) *
                                           (2 * radius[static_cast<std::size_t>(shape.axes[1])] + 1));
    const auto depth = static_cast<double>(2 * radius[static_cast<std::size_t>(shape.axes[2])] + 1);
    row.cost.operations = slice * (2 * (shape.steps - 1) + depth) / shape.steps;
    row.floorGigapixels =
      m_Device.multiprocessors * m_Device.kilohertz * 1e3 * 128 / (4.75 * row.cost.operations + 40) * 1e-9;
    row.warps = m_Device.CountBlocks(shape.sharedBytes, shape.threads) * shape.threads / 32;

    const auto bytes = GetRankScratchBytes(shape, size, m_ScratchBytes);
    void *     scratch = nullptr;
    Check(cudaMalloc(&scratch, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    Time(radius, pixel, size, launches, row, [&](const KernelArguments & arguments) {
      return LaunchRankWindows(arguments, shape, pixel.keyFormat, scratch, bytes, nullptr, nullptr);
    });
    Check(cudaFree(scratch), "cudaFree");
    return row;
  }

  /** Sliding histograms. Operations are the pixels that a region has for an output; the floor is 60 instructions of a
   * warp for an output, two a clock and SM, without columns, sorting and searching. */
  Row
  MeasureHistograms(const Extent & radius, const PixelKind & pixel, const Extent & size, int launches)
  {
    const auto     pixelBytes = static_cast<int>(PixelBytes(pixel.type));
    HistogramShape shape{};
    if (!FindHistogramShape(radius, pixelBytes, shape, m_Device))
    {
      throw std::runtime_error("no sliding histograms cover the window");
    }
    Row row;
    row.pixel = pixel.name;
    row.window = JoinShort(Window(radius).GetExtent());
    row.size = JoinShort(size);
    row.how = "sliding histograms, " + std::to_string(shape.pixels) + " pixels sorted, blocks of " +
              std::to_string(shape.width) + "x" + std::to_string(shape.rows) + ", model " +
              std::to_string(1e3 / EstimateHistogramPicoseconds(shape, m_Device)).substr(0, 4);
    row.policy.tile = GetHistogramTile(shape);
    row.policy.tiling.root = row.policy.tile;
    row.policy.blockX = 32;
    row.policy.blockY = shape.GetThreads() / 32;
    row.cost.operations = static_cast<double>(shape.pixels) / static_cast<double>(Volume(row.policy.tile));
    row.floorGigapixels = m_Device.multiprocessors * m_Device.kilohertz * 1e3 * 2 / 60 * 1e-9;
    row.warps = m_Device.CountBlocks(shape.sharedBytes, shape.GetThreads()) * shape.GetThreads() / 32;

    const auto bytes = GetHistogramScratchBytes(shape, size, m_ScratchBytes);
    void *     scratch = nullptr;
    Check(cudaMalloc(&scratch, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    Time(radius, pixel, size, launches, row, [&](const KernelArguments & arguments) {
      return LaunchHistograms(arguments, shape, pixel.keyFormat, scratch, bytes, nullptr);
    });
    Check(cudaFree(scratch), "cudaFree");
    return row;
  }

  /** Merge tiling. Operations are the keys that are merged for an output; the floor reads and writes each in the
   * second-level cache, at 5.5 TB/s. */
  Row
  MeasureMerges(const Extent & radius, const PixelKind & pixel, const Extent & size, int launches)
  {
    const auto pixelBytes = static_cast<int>(PixelBytes(pixel.type));
    MergeShape shape{};
    if (!FindMergeShape(radius, pixelBytes, size, m_ScratchBytes, shape))
    {
      throw std::runtime_error("merge tiling does not cover the window");
    }
    Row row;
    row.pixel = pixel.name;
    row.window = JoinShort(Window(radius).GetExtent());
    row.size = JoinShort(size);
    row.how = "merges, regions of " + std::to_string(shape.GetOutputs(0)) + "x" + std::to_string(shape.GetOutputs(1)) +
              ", " + std::to_string(shape.scratchBytes >> 20) + " MiB, model " +
              std::to_string(1e3 / EstimateMergePicoseconds(shape, size, pixelBytes)).substr(0, 5);
    row.policy.tile = GetMergeTile(shape);
    row.policy.tiling.root = row.policy.tile;
    for (const auto & pass : ListMergePasses(shape))
    {
      row.cost.operations += pass.merges / shape.GetOutputs(0) / shape.GetOutputs(1);
    }
    row.floorGigapixels = 5500 / (2.0 * pixelBytes * row.cost.operations);

    MergeStreams streams;
    void *       scratch = nullptr;
    Check(cudaMalloc(&scratch, static_cast<std::size_t>(shape.scratchBytes)), "cudaMalloc");
    Time(radius, pixel, size, launches, row, [&](const KernelArguments & arguments) {
      return LaunchMergeTiling(
        arguments, shape, pixel.keyFormat, scratch, static_cast<std::size_t>(shape.scratchBytes), streams, nullptr);
    });
    Check(cudaFree(scratch), "cudaFree");
    return row;
  }

  /** Compiles the kernels of windows that will be measured, by all of the host's threads: those that are chosen, or all
   * that are covered. */
  void
  Compile(const std::vector<std::pair<Extent, PixelKind>> & cases, bool areForced)
  {
    std::vector<Compiled>    compiled(cases.size());
    std::atomic<std::size_t> next{ 0 };
    std::vector<std::thread> compilers;
    for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
    {
      compilers.emplace_back([&] {
        for (std::size_t n = next++; n < cases.size(); n = next++)
        {
          const auto & [radius, pixel] = cases[n];
          const auto bytes = static_cast<int>(PixelBytes(pixel.type));
          if (areForced ? IsCoveredByKernels(radius) : IsTileProgramFastestOnDevice(radius, bytes, m_Device))
          {
            const auto kind = GetKernelKind(bytes, m_Device.computeCapability);
            compiled[n].policy = GetKernelPolicy(radius, kind, m_Device);
            compiled[n].kernel =
              CompileRuntimeKernel(radius, pixel.keyFormat, kind, compiled[n].policy, GetKernelTarget(m_Device));
          }
        }
      });
    }
    std::for_each(compilers.begin(), compilers.end(), [](auto & compiler) { compiler.join(); });
    for (std::size_t n = 0; n < cases.size(); ++n)
    {
      m_Compiled[{ cases[n].first, cases[n].second.name }] = compiled[n];
    }
  }

  /** Passes that find extremes go region by region, as many bytes of scratch memory allow; all at once for 0. */
  void
  SetRegionBytes(std::size_t bytes)
  {
    m_RegionBytes = bytes;
  }

  /** Least values, by reduction along axes. Operations are those of doubling; the floor is a copy's. */
  Row
  MeasureExtremes(const Extent & radius, const PixelKind & pixel, const Extent & size, int launches)
  {
    const auto    pixelBytes = static_cast<int>(PixelBytes(pixel.type));
    MedianRequest request;
    request.pixelType = pixel.type;
    request.inputExtent = request.outputExtent = size;
    request.radius = radius;
    const auto passes = ChooseExtremumPasses(GetExtremumReach(request), size, pixelBytes, m_Device);
    Row        row;
    row.pixel = pixel.name;
    row.window = JoinShort(Window(radius).GetExtent());
    row.size = JoinShort(size);
    row.policy.tile = row.policy.tiling.root = { { 1, 1, 1, 1 } };
    row.how = std::to_string(passes.shapes.size()) + " passes, model " +
              std::to_string(static_cast<double>(Volume(size)) / passes.seconds * 1e-9).substr(0, 5);
    row.floorGigapixels = m_Device.copyBytes / (2.0 * pixelBytes) * 1e-9;

    const auto whole =
      2 * static_cast<std::size_t>(RoundUp(
            CountExtremumBuffer(passes.shapes, size, size, GetDevicePitch(1, PixelBytes(pixel.type))) * pixelBytes,
            deviceAlignment));
    const auto bytes = m_RegionBytes > 0 ? std::min(whole, m_RegionBytes) : whole;
    void *     scratch = nullptr;
    Check(cudaMalloc(&scratch, bytes), "cudaMalloc");
    const auto launch = [&](const KernelArguments & arguments) {
      return LaunchExtremes(arguments, passes.shapes, pixel.keyFormat, scratch, bytes, nullptr);
    };
    Time(radius, pixel, size, launches, row, launch, 0);
    Check(cudaFree(scratch), "cudaFree");
    return row;
  }

  /** Least values by one pass of a given shape, which is the window's. */
  Row
  MeasureExtremumShape(const ExtremumShape & shape,
                       const Extent &        radius,
                       const PixelKind &     pixel,
                       const Extent &        size,
                       int                   launches)
  {
    Row row;
    row.pixel = pixel.name;
    row.window = JoinShort(Window(radius).GetExtent());
    row.size = JoinShort(size);
    row.floorGigapixels = m_Device.copyBytes / (2.0 * static_cast<double>(PixelBytes(pixel.type))) * 1e-9;
    row.policy.tile = row.policy.tiling.root = { { 1, 1, 1, 1 } };
    row.policy.blockX = extremumLanes;
    row.policy.blockY = shape.warps;
    row.warps = m_Device.CountBlocks(shape.warps * shape.warpBytes, extremumLanes * shape.warps) * shape.warps;
    const std::vector<ExtremumShape> shapes{ shape };
    const auto                       launch = [&](const KernelArguments & arguments) {
      return LaunchExtremes(arguments, shapes, pixel.keyFormat, nullptr, 0, nullptr);
    };
    Time(radius, pixel, size, launches, row, launch, 0);
    return row;
  }

  /** The kernel of an algorithm; for `Automatic` the one that the filter would take, whatever it costs to compile. */
  Row
  MeasureChosen(Algorithm algorithm, const Extent & radius, const PixelKind & pixel, const Extent & size, int launches)
  {
    const auto kind = GetKernelKind(static_cast<int>(PixelBytes(pixel.type)), m_Device.computeCapability);
    if (algorithm == Algorithm::Automatic)
    {
      MedianRequest request;
      request.pixelType = pixel.type;
      request.inputExtent = request.outputExtent = size;
      request.radius = radius;
      PlanLimits limits;
      limits.budget = std::size_t{ 8 } << 30;
      limits.device = m_Device;
      algorithm = PlanMedian(request, Backend::Cuda, limits).candidate.algorithm;
    }
    if (algorithm == Algorithm::Extremum)
    {
      return MeasureExtremes(radius, pixel, size, launches);
    }
    if (algorithm == Algorithm::SlidingHistogram)
    {
      return MeasureHistograms(radius, pixel, size, launches);
    }
    if (algorithm == Algorithm::MergeTiling)
    {
      return MeasureMerges(radius, pixel, size, launches);
    }
    if (algorithm == Algorithm::LocalRank)
    {
      return MeasureRanks(radius, pixel, size, launches);
    }
    const auto known = m_Compiled.find({ radius, pixel.name });
    if (known != m_Compiled.end() && known->second.kernel.kernel != nullptr)
    {
      return Measure(*known->second.kernel.kernel, known->second.policy, pixel, size, "NVRTC", launches);
    }
    const auto            policy = GetKernelPolicy(radius, kind, m_Device);
    const EmittedKernel * emitted = nullptr;
    Check(FindEmittedKernel(radius, pixel.keyFormat, emitted), "FindEmittedKernel");
    if (emitted != nullptr && emitted->architecture <= m_Device.computeCapability && emitted->packing == kind.packing &&
        emitted->shape.sharedBytes <= m_Device.blockSharedBytes)
    {
      auto row = Measure(*emitted, policy, pixel, size, "ahead", launches);
      if (IsFilteredInStrips(radius))
      {
        row.how = "strips of " + JoinShort(emitted->tile);
      }
      return row;
    }
    const auto compiled = CompileRuntimeKernel(radius, pixel.keyFormat, kind, policy, GetKernelTarget(m_Device));
    if (compiled.kernel == nullptr)
    {
      throw std::runtime_error(compiled.explanation);
    }
    return Measure(*compiled.kernel, policy, pixel, size, "NVRTC", launches);
  }

private:
  /** A policy, and its kernel as NVRTC made it. */
  struct Compiled
  {
    KernelPolicy  policy;
    RuntimeKernel kernel;
  };

  template <typename TLaunch>
  void
  Time(const Extent &    radius,
       const PixelKind & pixel,
       const Extent &    size,
       int               launches,
       Row &             row,
       const TLaunch &   launch,
       std::int64_t      rank = -1)
  {
    if (m_HasScans)
    {
      m_Memory.PutScans(size, pixel.type);
    }
    const auto pixels = static_cast<std::size_t>(Volume(size));
    row.differences = CountDifferences(radius, size, pixel, m_Memory, launch, rank);
    auto arguments = MakeArguments(size, radius, pixel);
    arguments.rank = rank < 0 ? arguments.rank : rank;
    arguments.output = m_Memory.GetOutput();
    row.seconds = TimeLaunches(launches, [&](std::size_t i) {
      arguments.input = m_Memory.GetInput(i, pixels * PixelBytes(pixel.type));
      return launch(arguments);
    });
    row.gigapixels = static_cast<double>(pixels) / row.seconds * 1e-9;
    row.radius = radius;
    row.pixelBytes = static_cast<int>(PixelBytes(pixel.type));
  }

  Memory                                             m_Memory;
  DeviceTraits                                       m_Device;
  std::size_t                                        m_ScratchBytes;
  bool                                               m_HasScans{ false };
  std::size_t                                        m_RegionBytes{ 0 };
  std::map<std::pair<Extent, std::string>, Compiled> m_Compiled;
};

} // namespace cudamedianbenchmark

#endif
