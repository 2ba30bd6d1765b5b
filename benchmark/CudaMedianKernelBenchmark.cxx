// Times of the kernels alone, on images that lie in device memory, beside the floor of each; and the sweep over tiles,
// blocks and shares by which policies are chosen.

#include "HistogramLaunch.h"
#include "KernelLaunch.h"
#include "MergeLaunch.h"
#include "Planner.h"
#include "RankLaunch.h"
#include "KernelProgram.h"
#include "RuntimeKernels.h"
#include "SharedMemoryLimit.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/** A kernel that does nothing. */
cudaError_t
LaunchNothing(cudaStream_t stream);

namespace
{

using namespace cudamedian;
using Json = nlohmann::ordered_json;

void
Check(cudaError_t error, const char * call)
{
  if (error != cudaSuccess)
  {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

struct PixelKind
{
  const char * name;
  PixelType    type;
  KeyFormat    keyFormat;
};
constexpr PixelKind pixelKinds[] = { { "uint8", PixelType::UInt8, KeyFormat::Integer8 },
                                     { "int16", PixelType::Int16, KeyFormat::Integer16 },
                                     { "float32", PixelType::Float32, KeyFormat::Float32 },
                                     { "float64", PixelType::Float64, KeyFormat::Float64 } };

/** "3x3" or "5x5x3" as radii. */
Extent
ParseWindow(const std::string & text)
{
  Extent             radius{ { 0, 0, 0, 0 } };
  std::istringstream stream(text);
  std::string        part;
  for (int axis = 0; axis < Dimension && std::getline(stream, part, 'x'); ++axis)
  {
    radius[axis] = std::stoll(part) / 2;
  }
  return radius;
}

struct Device
{
  int    computeCapability{ 0 };
  int    multiprocessors{ 0 };
  double clock{ 0 };              // Hz
  double bandwidth{ 0 };          // bytes a second, read and write counted
  int    largestSharedBytes{ 0 }; // of a block

  std::string name;
};

/** Device memory full of random bits, in which images lie, and room for one output. */
class Memory
{
public:
  static constexpr std::size_t bytes = std::size_t{ 1 } << 30;

  Memory()
  {
    Check(cudaMalloc(&m_Input, bytes), "cudaMalloc");
    Check(cudaMalloc(&m_Output, bytes), "cudaMalloc");
    std::vector<std::uint64_t> random(bytes / 8);
    std::uint64_t              state = 0x9E3779B97F4A7C15ULL;
    for (auto & value : random)
    {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      value = state;
    }
    Check(cudaMemcpy(m_Input, random.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~Memory()
  {
    cudaFree(m_Input);
    cudaFree(m_Output);
  }
  Memory(const Memory &) = delete;
  Memory &
  operator=(const Memory &) = delete;

  /** Image number `index` of those that fit, which follow each other around. */
  const void *
  GetInput(std::size_t index, std::size_t imageBytes) const
  {
    const auto images = std::max<std::size_t>(1, std::min<std::size_t>(8, bytes / imageBytes));
    return static_cast<const char *>(m_Input) + index % images * imageBytes;
  }
  void *
  GetOutput() const
  {
    return m_Output;
  }

private:
  void * m_Input{ nullptr };
  void * m_Output{ nullptr };
};

Device
DescribeDevice(const Memory & memory)
{
  Device         device;
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
  int kilohertz = 0;
  Check(cudaDeviceGetAttribute(&kilohertz, cudaDevAttrClockRate, 0), "cudaDeviceGetAttribute");
  device.name = properties.name;
  device.computeCapability = 10 * properties.major + properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.clock = kilohertz * 1e3;
  device.largestSharedBytes = static_cast<int>(properties.sharedMemPerBlockOptin);
  cudaEvent_t events[2];
  Check(cudaEventCreate(&events[0]), "cudaEventCreate");
  Check(cudaEventCreate(&events[1]), "cudaEventCreate");
  // Long enough for the clock to rise.
  float best = 1e9F;
  for (int repeat = 0; repeat < 100; ++repeat)
  {
    Check(cudaEventRecord(events[0]), "cudaEventRecord");
    Check(
      cudaMemcpyAsync(memory.GetOutput(), memory.GetInput(0, Memory::bytes), Memory::bytes, cudaMemcpyDeviceToDevice),
      "cudaMemcpyAsync");
    Check(cudaEventRecord(events[1]), "cudaEventRecord");
    Check(cudaEventSynchronize(events[1]), "cudaEventSynchronize");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, events[0], events[1]), "cudaEventElapsedTime");
    best = std::min(best, milliseconds);
  }
  device.bandwidth = 2.0 * Memory::bytes / (best * 1e-3);
  return device;
}

/** Median seconds of a launch among `count` queued one behind the other. */
template <typename TLaunch>
double
TimeLaunches(int count, const TLaunch & launch)
{
  std::vector<cudaEvent_t> events(static_cast<std::size_t>(count) + 1);
  for (auto & event : events)
  {
    Check(cudaEventCreate(&event), "cudaEventCreate");
  }
  Check(launch(0), "launch");
  Check(cudaEventRecord(events[0]), "cudaEventRecord");
  for (int i = 0; i < count; ++i)
  {
    Check(launch(static_cast<std::size_t>(i)), "launch");
    Check(cudaEventRecord(events[static_cast<std::size_t>(i) + 1]), "cudaEventRecord");
  }
  Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  std::vector<float> milliseconds;
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
  {
    milliseconds.emplace_back();
    Check(cudaEventElapsedTime(&milliseconds.back(), events[i], events[i + 1]), "cudaEventElapsedTime");
  }
  for (auto event : events)
  {
    cudaEventDestroy(event);
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + count / 2, milliseconds.end());
  return milliseconds[static_cast<std::size_t>(count / 2)] * 1e-3;
}

KernelArguments
MakeArguments(const Extent & size, const Extent & radius, const PixelKind & pixel)
{
  KernelArguments arguments{};
  arguments.signMask = GetSignMask(pixel.type);
  std::int64_t pitch = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = arguments.outputPitch[axis] = pitch;
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = static_cast<std::int32_t>(size[axis]);
    arguments.radius[axis] = radius[axis];
    pitch *= size[axis];
  }
  arguments.rank = Window(radius).rank;
  return arguments;
}

/** Compares blocks of a kernel's output with the selecting kernel's. \returns the number of differing pixels. */
template <typename TLaunch>
std::size_t
CountDifferences(const Extent &    radius,
                 const Extent &    size,
                 const PixelKind & pixel,
                 const Memory &    memory,
                 const TLaunch &   launch)
{
  const auto bytes = PixelBytes(pixel.type);
  const auto pixels = static_cast<std::size_t>(Volume(size));
  auto       arguments = MakeArguments(size, radius, pixel);
  arguments.input = memory.GetInput(0, pixels * bytes);
  arguments.output = memory.GetOutput();
  Check(launch(arguments), "launch");

  std::size_t differences = 0;
  for (const int place : { 0, 1, 2 })
  {
    Extent block;
    Extent origin;
    auto   expected = arguments;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      block[axis] = std::min<std::int64_t>(size[axis], axis < 2 ? 48 : 4);
      origin[axis] = (size[axis] - block[axis]) * place / 2;
      expected.outputExtent[axis] = static_cast<std::int32_t>(block[axis]);
      expected.outputOrigin[axis] = static_cast<std::int32_t>(origin[axis]);
      expected.outputPitch[axis] = axis == 0 ? 1 : expected.outputPitch[axis - 1] * block[axis - 1];
    }
    expected.gridOrigin = expected.outputOrigin[0];
    const auto blockBytes = static_cast<std::size_t>(Volume(block)) * bytes;
    expected.output = static_cast<char *>(memory.GetOutput()) + Memory::bytes - (1 << 20);
    Check(LaunchSelection(expected, pixel.keyFormat, nullptr), "LaunchSelection");
    std::vector<char> reference(blockBytes);
    Check(cudaMemcpy(reference.data(), expected.output, blockBytes, cudaMemcpyDeviceToHost), "cudaMemcpy");
    const auto        rowBytes = static_cast<std::size_t>(block[0]) * bytes;
    std::vector<char> row(rowBytes);
    const char *      referenceRow = reference.data();
    for (std::int64_t w = 0; w < block[3]; ++w)
      for (std::int64_t z = 0; z < block[2]; ++z)
        for (std::int64_t y = 0; y < block[1]; ++y, referenceRow += rowBytes)
        {
          const auto offset =
            (((origin[3] + w) * size[2] + origin[2] + z) * size[1] + origin[1] + y) * size[0] + origin[0];
          Check(cudaMemcpy(row.data(),
                           static_cast<const char *>(memory.GetOutput()) + static_cast<std::size_t>(offset) * bytes,
                           rowBytes,
                           cudaMemcpyDeviceToHost),
                "cudaMemcpy");
          for (std::size_t i = 0; i < rowBytes; i += bytes)
          {
            differences += std::memcmp(&row[i], referenceRow + i, bytes) == 0 ? 0 : 1;
          }
        }
  }
  return differences;
}

struct Row
{
  std::string  pixel;
  std::string  window;
  std::string  size;
  KernelPolicy policy;
  ProgramCost  cost;
  double       gigapixels{ 0 };
  double       floorGigapixels{ 0 };
  double       seconds{ 0 };
  int          registers{ 0 };
  std::size_t  localBytes{ 0 };
  int          warps{ 0 };
  std::size_t  differences{ 0 };
  std::string  how;
};

std::string
Join(const Extent & extent)
{
  std::string text;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (axis < 2 || extent[axis] > 1 || (axis == 2 && extent[3] > 1))
    {
      text += (text.empty() ? "" : "x") + std::to_string(extent[axis]);
    }
  }
  return text;
}

/** Root tile, order of merging and phases as --tiles takes them. */
std::string
Describe(const KernelPolicy & policy)
{
  const auto division = policy.tiling.division;
  auto       text = Join(policy.tiling.root) + (division == Division::Halves       ? ""
                                                : division == Division::PowerFirst ? "p"
                                                                                   : "q");
  if (policy.phases.sharedPhases > 0)
  {
    text += "@" + std::to_string(policy.phases.sharedPhases) + "/" + std::to_string(policy.phases.firstColumn) + "/" +
            std::to_string(policy.phases.columns);
  }
  return text;
}

void
PrintHeader()
{
  std::printf("%-8s %-7s %-12s %-6s %-10s %-3s %-6s %3s %7s %7s %7s %5s %5s %6s %6s %9s %9s %6s %s\n",
              "pixel",
              "window",
              "size",
              "tile",
              "root",
              "sum",
              "block",
              "val",
              "ops",
              "minmax",
              "mad",
              "live",
              "regs",
              "local",
              "warps",
              "Gpixel/s",
              "floor",
              "ratio",
              "kernel");
}

void
Print(const Row & row)
{
  std::printf("%-8s %-7s %-12s %-6s %-10s %3d %-6s %3zu %7.1f %7.1f %7.1f %5zu %5d %6zu %6d %9.2f %9.1f %6.2f %s%s\n",
              row.pixel.c_str(),
              row.window.c_str(),
              row.size.c_str(),
              Join(row.policy.tile).c_str(),
              Describe(row.policy).c_str(),
              row.policy.lowering.sumPercent,
              (std::to_string(row.policy.blockX) + "x" + std::to_string(row.policy.blockY)).c_str(),
              row.policy.registers,
              row.cost.operations,
              row.cost.minMax,
              row.cost.multiplyAdd,
              row.cost.liveValues,
              row.registers,
              row.localBytes,
              row.warps,
              row.gigapixels,
              row.floorGigapixels,
              row.gigapixels / row.floorGigapixels,
              row.how.c_str(),
              row.differences == 0 ? "" : (" WRONG " + std::to_string(row.differences)).c_str());
  std::fflush(stdout);
}

Json
AsJson(const Row & row)
{
  return { { "pixel", row.pixel },
           { "window", row.window },
           { "size", row.size },
           { "tile", Join(row.policy.tile) },
           { "root", Describe(row.policy) },
           { "sum_percent", row.policy.lowering.sumPercent },
           { "block", { row.policy.blockX, row.policy.blockY } },
           { "operations_per_pixel", row.cost.operations },
           { "min_max_instructions_per_pixel", row.cost.minMax },
           { "multiply_adds_per_pixel", row.cost.multiplyAdd },
           { "live_values", row.cost.liveValues },
           { "registers", row.registers },
           { "local_bytes", row.localBytes },
           { "warps_per_multiprocessor", row.warps },
           { "gigapixels_per_second", row.gigapixels },
           { "floor_gigapixels_per_second", row.floorGigapixels },
           { "kernel_seconds", row.seconds },
           { "differing_pixels", row.differences },
           { "kernel", row.how } };
}

/** What a strip of 3x3 costs per pixel (StripKernel.h): two rows of `width` pixels and the columns beside them. */
ProgramCost
CountStrips(double width)
{
  ProgramCost cost;
  const auto  columns = (width + 2) / (2 * width);
  cost.operations = 10 * columns + 11;
  cost.minMax = 9 * columns + 7.5;
  cost.multiplyAdd = 2 * (columns + 1.5);
  cost.clocks = GetFloorClocks(cost);
  return cost;
}

/** What the cost model says of a policy: fills the counts and the floor of a row. */
void
Count(const Extent & radius, const KernelPolicy & policy, const PixelKind & pixel, const Device & device, Row & row)
{
  const auto bytes = PixelBytes(pixel.type);
  const auto kind = GetKernelKind(static_cast<int>(bytes), device.computeCapability);
  row.pixel = pixel.name;
  row.window = Join({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } });
  row.policy = policy;
  row.cost = IsFilteredInStrips(radius) && row.how != "NVRTC"
               ? CountStrips(bytes == 1 ? 8 : 16.0 / static_cast<double>(bytes))
               : CountPhases(BuildKernelPhases(radius, policy), policy.lowering, policy.blockX).cost;
  // Comparing and choosing 64 bits takes three instructions.
  const auto compute =
    device.multiprocessors * device.clock / (row.cost.clocks / kind.GetPixels() * (bytes == 8 ? 3 : 1));
  row.floorGigapixels = std::min(compute, device.bandwidth / (2.0 * static_cast<double>(bytes))) * 1e-9;
}

class Benchmark
{
public:
  /** \param scratchBytes device memory that data-aware algorithms may take. */
  explicit Benchmark(std::size_t scratchBytes) : m_Device(DescribeDevice(m_Memory)), m_ScratchBytes(scratchBytes)
  {
    std::printf("%s, %d multiprocessors, %.2f GHz, copy %.2f TB/s\n",
                m_Device.name.c_str(),
                m_Device.multiprocessors,
                m_Device.clock * 1e-9,
                m_Device.bandwidth * 1e-12);
  }

  const Device &
  GetDevice() const
  {
    return m_Device;
  }

  Row
  Measure(const EmittedKernel & kernel,
          const KernelPolicy &  policy,
          const PixelKind &     pixel,
          const Extent &        size,
          const std::string &   how,
          int                   launches)
  {
    Row row;
    row.size = Join(size);
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
    if (!FindRankShape(radius, static_cast<int>(PixelBytes(pixel.type)), shape))
    {
      throw std::runtime_error("no block of local ranks covers the window");
    }
    Row row;
    row.pixel = pixel.name;
    row.window = Join({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } });
    row.size = Join(size);
    row.how = "local ranks, " + std::to_string(shape.pixels) + " pixels " +
              (shape.sortPixels > 0 ? "sorted by " + std::to_string(shape.sortPixels) : "counted by values") +
              ", model " +
              std::to_string(1e3 / EstimateRankPicoseconds(shape, radius, static_cast<int>(PixelBytes(pixel.type))))
                .substr(0, 5);
    row.policy.tile = GetRankTile(shape);
    row.policy.tiling.root = row.policy.tile;
    row.policy.blockX = shape.threads;
    row.policy.blockY = 1;
    const auto slice = static_cast<double>((2 * radius[static_cast<std::size_t>(shape.axes[0])] + 1) *
                                           (2 * radius[static_cast<std::size_t>(shape.axes[1])] + 1));
    const auto depth = static_cast<double>(2 * radius[static_cast<std::size_t>(shape.axes[2])] + 1);
    row.cost.operations = slice * (2 * (shape.steps - 1) + depth) / shape.steps;
    row.floorGigapixels = m_Device.multiprocessors * m_Device.clock * 128 / (4.75 * row.cost.operations + 40) * 1e-9;
    row.warps = 233472 / (shape.sharedBytes + 1024) * shape.threads / 32;

    const auto bytes = GetRankScratchBytes(shape, size, m_ScratchBytes);
    void *     scratch = nullptr;
    Check(cudaMalloc(&scratch, std::max<std::size_t>(bytes, 1)), "cudaMalloc");
    Time(radius, pixel, size, launches, row, [&](const KernelArguments & arguments) {
      return LaunchRankWindows(arguments, shape, pixel.keyFormat, scratch, bytes, nullptr);
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
    if (!FindHistogramShape(radius, pixelBytes, shape))
    {
      throw std::runtime_error("no sliding histograms cover the window");
    }
    Row row;
    row.pixel = pixel.name;
    row.window = Join({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } });
    row.size = Join(size);
    row.how = "sliding histograms, " + std::to_string(shape.pixels) + " pixels sorted, blocks of " +
              std::to_string(shape.width) + "x" + std::to_string(shape.rows) + ", model " +
              std::to_string(1e3 / EstimateHistogramPicoseconds(shape, pixelBytes)).substr(0, 4);
    row.policy.tile = GetHistogramTile(shape);
    row.policy.tiling.root = row.policy.tile;
    row.policy.blockX = 32;
    row.policy.blockY = shape.GetThreads() / 32;
    row.cost.operations = static_cast<double>(shape.pixels) / static_cast<double>(Volume(row.policy.tile));
    row.floorGigapixels = m_Device.multiprocessors * m_Device.clock * 2 / 60 * 1e-9;
    row.warps = 233472 / (shape.sharedBytes + 1024) * shape.GetThreads() / 32;

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
    row.window = Join({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } });
    row.size = Join(size);
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
      algorithm = PlanMedian(request, Backend::Cuda, std::size_t{ 8 } << 30).algorithm;
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
    const auto            policy = GetKernelPolicy(radius, kind);
    const EmittedKernel * emitted = nullptr;
    Check(FindEmittedKernel(radius, pixel.keyFormat, emitted), "FindEmittedKernel");
    if (emitted != nullptr && emitted->packing == kind.packing)
    {
      auto row = Measure(*emitted, policy, pixel, size, "ahead", launches);
      if (IsFilteredInStrips(radius))
      {
        row.how = "strips of " + Join(emitted->tile);
      }
      return row;
    }
    const auto compiled =
      CompileRuntimeKernel(radius, pixel.keyFormat, kind, policy, { m_Device.computeCapability }, ~std::size_t{ 0 });
    if (compiled.kernel == nullptr)
    {
      throw std::runtime_error(compiled.explanation);
    }
    return Measure(*compiled.kernel, policy, pixel, size, "NVRTC", launches);
  }

private:
  template <typename TLaunch>
  void
  Time(const Extent &    radius,
       const PixelKind & pixel,
       const Extent &    size,
       int               launches,
       Row &             row,
       const TLaunch &   launch)
  {
    const auto pixels = static_cast<std::size_t>(Volume(size));
    row.differences = CountDifferences(radius, size, pixel, m_Memory, launch);
    auto arguments = MakeArguments(size, radius, pixel);
    arguments.output = m_Memory.GetOutput();
    row.seconds = TimeLaunches(launches, [&](std::size_t i) {
      arguments.input = m_Memory.GetInput(i, pixels * PixelBytes(pixel.type));
      return launch(arguments);
    });
    row.gigapixels = static_cast<double>(pixels) / row.seconds * 1e-9;
  }

  Memory      m_Memory;
  Device      m_Device;
  std::size_t m_ScratchBytes;
};

std::vector<KernelPolicy>
ListPolicies(const Extent &                   radius,
             const KernelKind &               kind,
             const std::vector<std::string> & tiles,
             const std::vector<int> &         sums,
             const std::vector<std::string> & blocks,
             const std::vector<int> &         registers)
{
  const auto parse = [](const std::string & text) {
    Extent             extent{ { 1, 1, 1, 1 } };
    std::istringstream stream(text);
    std::string        part;
    for (int axis = 0; axis < Dimension && std::getline(stream, part, 'x'); ++axis)
    {
      extent[axis] = std::stoll(part);
    }
    return extent;
  };
  const auto                chosen = GetKernelPolicy(radius, kind);
  std::vector<KernelPolicy> policies;
  for (const auto & tile : tiles.empty() ? std::vector<std::string>{ "" } : tiles)
    for (const auto sum : sums.empty() ? std::vector<int>{ chosen.lowering.sumPercent } : sums)
      for (const auto & block : blocks.empty() ? std::vector<std::string>{ "" } : blocks)
      {
        auto policy = chosen;
        if (!tile.empty())
        {
          // tile:root, a p or q behind for a division that takes powers of two first or last,
          // then @phases/column/columns
          const auto at = tile.find('@');
          const auto shape = tile.substr(0, at);
          const auto colon = shape.find(':');
          policy.tile = parse(shape.substr(0, colon));
          policy.tiling.root = colon == std::string::npos ? policy.tile : parse(shape.substr(colon + 1));
          policy.tiling.division = shape.back() == 'p'   ? Division::PowerFirst
                                   : shape.back() == 'q' ? Division::PowerLast
                                                         : Division::Halves;
          policy.phases = {};
          if (at != std::string::npos)
          {
            const auto slash = tile.find('/', at);
            policy.phases.sharedPhases = std::stoi(tile.substr(at + 1));
            policy.phases.firstColumn = slash == std::string::npos ? 0 : std::stoi(tile.substr(slash + 1));
            const auto second = slash == std::string::npos ? slash : tile.find('/', slash + 1);
            policy.phases.columns = second == std::string::npos ? 0 : std::stoi(tile.substr(second + 1));
          }
        }
        policy.lowering.sumPercent = sum;
        if (!block.empty())
        {
          policy.blockX = static_cast<int>(parse(block)[0]);
          policy.blockY = static_cast<int>(parse(block)[1]);
        }
        // As the policies have it, whatever the tile.
        const int limit = kind.pixelBytes == 8 ? 100 : 200;
        for (const auto values : registers.empty() ? std::vector<int>{ limit } : registers)
        {
          policy.registers = static_cast<std::size_t>(values);
          policies.push_back(policy);
        }
      }
  return policies;
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App                 application{ "Times the median kernels on images in device memory, beside their floors." };
    std::vector<std::string> windows{ "3x3",   "5x5",     "7x7",     "9x9",      "11x11",    "13x13",  "15x15",
                                      "17x17", "19x19",   "21x21",   "25x25",    "31x31",    "41x41",  "51x51",
                                      "75x75", "101x101", "151x151", "201x201",  "3x3x3",    "5x5x3",  "5x5x5",
                                      "7x7x3", "7x7x7",   "9x9x9",   "11x11x11", "15x15x15", "21x21x3" };
    std::vector<std::string> pixels{ "uint8", "int16", "float32" };
    std::vector<std::string> tiles;
    std::vector<int>         sums;
    std::vector<std::string> blocks;
    std::vector<int>         registers;
    std::string              jsonFile;
    Algorithm                algorithm = Algorithm::Automatic;
    int                      launches = 21;
    std::size_t              scratchMebibytes = 256; // as the filter takes
    bool                     tune = false;
    bool                     small = false;
    bool                     count = false;
    application.add_option("--windows", windows, "windows such as 5x5 5x5x3")->delimiter(',');
    application.add_option("--pixels", pixels, "uint8, int16, float32, float64")->delimiter(',');
    application.add_option("--launches", launches, "launches to take the median of")->check(CLI::Range(1, 1000));
    application
      .add_option("--algorithm", algorithm, "automatic, as the filter would choose, or one of the others to force it")
      ->transform(
        CLI::CheckedTransformer(std::map<std::string, Algorithm>{ { "automatic", Algorithm::Automatic },
                                                                  { "program", Algorithm::TileProgram },
                                                                  { "ranks", Algorithm::LocalRank },
                                                                  { "histograms", Algorithm::SlidingHistogram },
                                                                  { "merges", Algorithm::MergeTiling } }));
    application.add_option("--scratch", scratchMebibytes, "MiB of scratch memory for algorithms that look at data")
      ->check(CLI::Range(1, 8192));
    application.add_flag("--tune", tune, "sweep the policies listed by the next three options");
    application
      .add_option("--tiles",
                  tiles,
                  "tile:root, such as 8x2:2x2 4x4:4x4p (p, q: powers of two first, last), "
                  "@phases/column/columns for shared ones")
      ->delimiter(',');
    application.add_option("--sums", sums, "percent of maxima taken by sums")->delimiter(',');
    application.add_option("--blocks", blocks, "threads of a block, such as 32x4")->delimiter(',');
    application.add_option("--registers", registers, "values in registers, 0 for no limit")->delimiter(',');
    application.add_flag("--small", small, "512x512 images against an empty kernel");
    application.add_option("--json", jsonFile, "file for the table");
    application.add_flag("--count", count, "print the cost model for an H200; needs no GPU");
    CLI11_PARSE(application, argc, argv);
    if (count)
    {
      // As measured: 132 multiprocessors, 1.98 GHz, copies at 4.26 TB/s.
      const Device device{ 90, 132, 1.98e9, 4.26e12, 227 * 1024, "H200" };
      PrintHeader();
      for (const auto & window : windows)
      {
        for (const auto & pixel : pixelKinds)
        {
          if (std::find(pixels.begin(), pixels.end(), pixel.name) != pixels.end())
          {
            const auto radius = ParseWindow(window);
            const auto kind = GetKernelKind(static_cast<int>(PixelBytes(pixel.type)), device.computeCapability);
            Row        row;
            Count(radius, GetKernelPolicy(radius, kind), pixel, device, row);
            row.how = "not run";
            Print(row);
          }
        }
      }
      return 0;
    }

    Benchmark benchmark(scratchMebibytes << 20);
    Json      table = Json::array();
    PrintHeader();
    for (const auto & window : windows)
    {
      const auto radius = ParseWindow(window);
      const auto size = radius[2] > 0 ? Extent{ { 512, 512, 256, 1 } }
                        : small       ? Extent{ { 512, 512, 1, 1 } }
                                      : Extent{ { 6720, 4480, 1, 1 } };
      for (const auto & pixel : pixelKinds)
      {
        if (std::find(pixels.begin(), pixels.end(), pixel.name) == pixels.end())
        {
          continue;
        }
        if (!tune)
        {
          const auto row = benchmark.MeasureChosen(algorithm, radius, pixel, size, launches);
          Print(row);
          table.push_back(AsJson(row));
          continue;
        }
        const auto kind =
          GetKernelKind(static_cast<int>(PixelBytes(pixel.type)), benchmark.GetDevice().computeCapability);
        const auto                 policies = ListPolicies(radius, kind, tiles, sums, blocks, registers);
        std::vector<RuntimeKernel> kernels(policies.size());
        std::atomic<std::size_t>   next{ 0 };
        std::vector<std::thread>   compilers;
        for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i)
        {
          compilers.emplace_back([&] {
            for (std::size_t n = next++; n < policies.size(); n = next++)
            {
              try
              {
                kernels[n] = CompileRuntimeKernel(radius,
                                                  pixel.keyFormat,
                                                  kind,
                                                  policies[n],
                                                  { benchmark.GetDevice().computeCapability },
                                                  ~std::size_t{ 0 });
              }
              catch (const std::exception & error)
              {
                kernels[n].explanation = Describe(policies[n]) + ": " + error.what();
              }
            }
          });
        }
        for (auto & compiler : compilers)
        {
          compiler.join();
        }
        for (std::size_t n = 0; n < policies.size(); ++n)
        {
          if (kernels[n].kernel == nullptr)
          {
            std::printf("%s: %s\n", window.c_str(), kernels[n].explanation.c_str());
            continue;
          }
          if (kernels[n].kernel->shape.sharedBytes > benchmark.GetDevice().largestSharedBytes)
          {
            std::printf("%s %s: %d bytes of shared memory\n",
                        window.c_str(),
                        Describe(policies[n]).c_str(),
                        kernels[n].kernel->shape.sharedBytes);
            continue;
          }
          const auto row = benchmark.Measure(*kernels[n].kernel, policies[n], pixel, size, "NVRTC", launches);
          Print(row);
          table.push_back(AsJson(row));
        }
      }
    }
    if (small)
    {
      const auto seconds = TimeLaunches(101, [](std::size_t) { return LaunchNothing(nullptr); });
      std::printf("an empty kernel takes %.2f us\n", seconds * 1e6);
    }
    if (!jsonFile.empty())
    {
      std::ofstream(jsonFile) << table.dump(1) << "\n";
    }
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianKernelBenchmark: " << error.what() << std::endl;
    return 1;
  }
}
