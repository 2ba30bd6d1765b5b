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
#include "CudaBackend.h"

#include "KernelLaunch.h"
#include "RankLaunch.h"
#include "RuntimeKernels.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

namespace cudamedian
{
namespace
{

/** Throws when a CUDA call failed, and clears the error so that it is not found again by a later call. */
void
Check(cudaError_t error, const char * call)
{
  if (error != cudaSuccess)
  {
    cudaGetLastError();
    throw DeviceError(std::string(call) + " failed: " + cudaGetErrorName(error) + ", " + cudaGetErrorString(error));
  }
}

/** Device memory, freed at the end of its scope. */
class DeviceBuffer
{
public:
  DeviceBuffer(std::size_t bytes, const Plan & plan)
  {
    if (bytes == 0)
    {
      return;
    }
    const auto error = cudaMalloc(&m_Pointer, bytes);
    if (error == cudaErrorMemoryAllocation)
    {
      cudaGetLastError();
      throw DeviceError("Allocating " + std::to_string(bytes) + " bytes of device memory failed; this plan needs " +
                        std::to_string(plan.GetDeviceBytes()) + " of a budget of " +
                        std::to_string(plan.deviceMemoryBudget) + ", and " + std::to_string(GetFreeDeviceMemory()) +
                        " are free now. A smaller SetDeviceMemoryBudget() uses smaller slabs");
    }
    Check(error, "cudaMalloc");
  }
  ~DeviceBuffer()
  {
    cudaFree(m_Pointer);
  }
  DeviceBuffer(const DeviceBuffer &) = delete;
  DeviceBuffer &
  operator=(const DeviceBuffer &) = delete;

  void *
  Get() const
  {
    return m_Pointer;
  }

private:
  void * m_Pointer{ nullptr };
};

/** A stream, and two events around what is timed on it. */
class TimedStream
{
public:
  TimedStream()
  {
    try
    {
      Check(cudaStreamCreateWithFlags(&m_Stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
      Check(cudaEventCreate(&m_Start), "cudaEventCreate");
      Check(cudaEventCreate(&m_Stop), "cudaEventCreate");
    }
    catch (...)
    {
      Release();
      throw;
    }
  }
  ~TimedStream()
  {
    Release();
  }
  TimedStream(const TimedStream &) = delete;
  TimedStream &
  operator=(const TimedStream &) = delete;

  cudaStream_t
  Get() const
  {
    return m_Stream;
  }

  /** Seconds that the work queued by `body` took on the device. Waits for it. */
  template <typename TBody>
  double
  Time(const TBody & body)
  {
    Check(cudaEventRecord(m_Start, m_Stream), "cudaEventRecord");
    body();
    Check(cudaEventRecord(m_Stop, m_Stream), "cudaEventRecord");
    Check(cudaStreamSynchronize(m_Stream), "cudaStreamSynchronize");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, m_Start, m_Stop), "cudaEventElapsedTime");
    return milliseconds / 1e3;
  }

private:
  void
  Release()
  {
    if (m_Stop != nullptr)
    {
      cudaEventDestroy(m_Stop);
    }
    if (m_Start != nullptr)
    {
      cudaEventDestroy(m_Start);
    }
    if (m_Stream != nullptr)
    {
      cudaStreamDestroy(m_Stream);
    }
  }

  cudaStream_t m_Stream{ nullptr };
  cudaEvent_t  m_Start{ nullptr };
  cudaEvent_t  m_Stop{ nullptr };
};

/** Copies a box between an image on the host and a buffer on the device. Strides are in pixels. */
void
CopyBox(void *         deviceBuffer,
        const Extent & deviceStride,
        char *         hostImage,
        const Extent & hostStride,
        const Extent & extent,
        std::size_t    pixelBytes,
        cudaMemcpyKind kind,
        cudaStream_t   stream)
{
  const auto rowBytes = static_cast<std::size_t>(extent[0]) * pixelBytes;
  const auto sliceRows = static_cast<std::size_t>(extent[1]);
  for (std::int64_t w = 0; w < extent[3]; ++w)
  {
    for (std::int64_t z = 0; z < extent[2]; ++z)
    {
      auto * device = static_cast<char *>(deviceBuffer) +
                      (w * deviceStride[3] + z * deviceStride[2]) * static_cast<std::int64_t>(pixelBytes);
      const auto devicePitch = static_cast<std::size_t>(deviceStride[1]) * pixelBytes;
      auto *     host = hostImage + (w * hostStride[3] + z * hostStride[2]) * static_cast<std::int64_t>(pixelBytes);
      const auto hostPitch = static_cast<std::size_t>(hostStride[1]) * pixelBytes;
      if (kind == cudaMemcpyHostToDevice)
      {
        Check(cudaMemcpy2DAsync(device, devicePitch, host, hostPitch, rowBytes, sliceRows, kind, stream),
              "cudaMemcpy2DAsync to the device");
      }
      else
      {
        Check(cudaMemcpy2DAsync(host, hostPitch, device, devicePitch, rowBytes, sliceRows, kind, stream),
              "cudaMemcpy2DAsync from the device");
      }
    }
  }
}

Extent
GetPackedStride(const Extent & extent)
{
  Extent stride{ { 1, 0, 0, 0 } };
  for (int axis = 1; axis < Dimension; ++axis)
  {
    stride[axis] = stride[axis - 1] * extent[axis - 1];
  }
  return stride;
}

/** Strides of a box whose rows have the given number of pixels. */
Extent
GetPitchedStride(const Extent & extent, std::int64_t pitch)
{
  return { { 1, pitch, pitch * extent[1], pitch * extent[1] * extent[2] } };
}

std::int64_t
GetOffset(const Extent & position, const Extent & stride)
{
  std::int64_t offset = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    offset += position[axis] * stride[axis];
  }
  return offset;
}

/** Of the current device: major * 10 + minor. */
int
GetComputeCapability()
{
  int device = 0;
  int major = 0;
  int minor = 0;
  Check(cudaGetDevice(&device), "cudaGetDevice");
  Check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  Check(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

/** Bytes of shared memory that a block of the current device can have. */
int
GetSharedMemoryLimit()
{
  int device = 0;
  int limit = 0;
  Check(cudaGetDevice(&device), "cudaGetDevice");
  Check(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  return limit;
}

/** Runs the slabs of one plan; owns what they use on the device. */
class SlabRunner
{
public:
  SlabRunner(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
    : m_Request(request), m_Plan(plan), m_Report(report), m_Variant(GetKernelVariant(request.pixelType)),
      m_PixelBytes(PixelBytes(request.pixelType)), m_Input(plan.deviceInputBytes, plan),
      m_Output(plan.deviceOutputBytes, plan), m_Program(plan.deviceProgramBytes, plan), m_Rank(plan.rank)
  {
    m_Report.deviceBytes = plan.GetDeviceBytes();
    ChooseKernel();
  }

  void
  Run(const Slab & slab)
  {
    const auto start = std::chrono::steady_clock::now();
    const auto inputStride = GetPackedStride(m_Request.inputExtent);
    auto *     input = const_cast<char *>(static_cast<const char *>(m_Request.input)) +
                   GetOffset(slab.input.origin, inputStride) * static_cast<std::int64_t>(m_PixelBytes);
    CopyBox(m_Input.Get(),
            GetDeviceInputStride(slab),
            input,
            inputStride,
            slab.input.extent,
            m_PixelBytes,
            cudaMemcpyHostToDevice,
            m_Stream.Get());
    const auto kernelSeconds = m_Stream.Time([&] { Check(Launch(slab), "The kernel launch"); });
    Download(slab);
    m_Report.kernelSeconds += kernelSeconds;
    m_Report.transferSeconds +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() - kernelSeconds;
  }

private:
  Extent
  GetDeviceInputStride(const Slab & slab) const
  {
    return GetPitchedStride(slab.input.extent, GetDevicePitch(slab.input.extent[0], m_PixelBytes));
  }

  /** How many columns the device's output rows have before the slab's first output, so that both buffers are aligned at
   * the same columns of the image. */
  std::int64_t
  GetOutputLead(const Slab & slab) const
  {
    return (slab.output.origin[0] - slab.input.origin[0]) % GetDevicePitch(1, m_PixelBytes);
  }

  Extent
  GetDeviceOutputStride(const Slab & slab) const
  {
    return GetPitchedStride(slab.output.extent,
                            GetDevicePitch(slab.output.extent[0] + GetOutputLead(slab), m_PixelBytes));
  }

  /** Takes the fastest way there is to run the plan's algorithm, and says why it is not a faster one. */
  void
  ChooseKernel()
  {
    if (m_Plan.algorithm == Algorithm::LocalRank)
    {
      AllocateScratch(m_Plan.deviceScratchBytes);
      ChooseRanks();
    }
    if (m_Plan.algorithm != Algorithm::TileProgram)
    {
      return;
    }
    std::string missing = "the window is beyond the range of kernels";
    if (IsCoveredByKernels(m_Request.radius))
    {
      const auto capability = GetComputeCapability();
      const auto kind = GetKernelKind(static_cast<int>(m_PixelBytes), capability);
      m_Emitted = FindEmittedKernel(m_Request.radius, m_Variant, kind.packing);
      missing = "compiled ahead";
      if (m_Emitted == nullptr)
      {
        const auto found = FindRuntimeKernel(m_Request.radius, m_Variant, static_cast<int>(m_PixelBytes), capability);
        m_Emitted = found.kernel;
        missing = found.explanation;
      }
      const auto limit = GetSharedMemoryLimit();
      if (m_Emitted != nullptr && m_Emitted->shape.sharedBytes > limit)
      {
        missing = "it takes " + std::to_string(m_Emitted->shape.sharedBytes) +
                  " bytes of shared memory where a block of the device has " + std::to_string(limit);
        m_Emitted = nullptr;
      }
    }
    if (m_Emitted != nullptr)
    {
      m_Report.algorithm += ", " + missing;
      m_Report.tile = m_Emitted->tile;
      m_Report.operations = m_Emitted->operations;
      m_Report.tileReason = "lowest count of instructions among the tiles whose values fit in registers";
      return;
    }
    Interpret(missing);
  }

  /** Prepares the kernel that interprets the program, or falls back to selection where that is not possible. */
  void
  Interpret(const std::string & missing)
  {
    std::string reason = "no kernel of the window's tile program (" + missing + ")";
    if (m_Plan.compiled)
    {
      const auto & schedule = m_Plan.compiled->schedule;
      m_SharedBytes = GetInterpreterSharedBytes(schedule, m_Variant);
      const auto limit = GetSharedMemoryLimit();
      m_Interpret = m_SharedBytes <= static_cast<std::size_t>(limit);
      if (m_Interpret)
      {
        m_Report.algorithm += ", interpreted";
        m_Report.algorithmReason += "; " + reason;
        UploadProgram(schedule);
        return;
      }
      reason += ", and interpreting it takes " + std::to_string(m_SharedBytes) +
                " bytes of shared memory where the device has " + std::to_string(limit);
    }
    // The budget may have room for the ranks of some blocks besides the slab.
    RankShape  shape{};
    const auto used = m_Plan.GetDeviceBytes();
    if (m_Plan.deviceMemoryBudget > used && FindRankShape(m_Request.radius, static_cast<int>(m_PixelBytes), shape))
    {
      const auto bytes =
        GetRankScratchBytes(shape, m_Plan.slabs.front().output.extent, m_Plan.deviceMemoryBudget - used);
      if (bytes != 0)
      {
        m_Rank = shape;
        AllocateScratch(bytes);
        m_Report.deviceBytes += bytes;
        m_Report.algorithm = ToString(Algorithm::LocalRank);
        m_Report.algorithmReason = reason;
        m_Report.tile = GetRankTile(shape);
        m_Report.operations = 0;
        ChooseRanks();
        return;
      }
    }
    Select(reason);
  }

  void
  AllocateScratch(std::size_t bytes)
  {
    m_Scratch = std::make_unique<DeviceBuffer>(bytes, m_Plan);
    m_ScratchBytes = bytes;
  }

  void
  Select(const std::string & reason)
  {
    m_Report.algorithm = ToString(Algorithm::Selection);
    m_Report.algorithmReason = reason;
    m_Report.tile = { { 0, 0, 0, 0 } };
    m_Report.operations = 0;
  }

  /** Local ranks need more shared memory for larger windows; falls back to selection on a device that has less. */
  void
  ChooseRanks()
  {
    const auto limit = GetSharedMemoryLimit();
    const auto needed = GetRankSharedBytes(*m_Rank, m_Variant);
    if (needed > static_cast<std::size_t>(limit))
    {
      Select("local ranks take " + std::to_string(needed) + " bytes of shared memory where a block of the device has " +
             std::to_string(limit));
      m_Rank.reset();
    }
  }

  void
  UploadProgram(const ProgramSchedule & schedule)
  {
    const auto codeBytes = schedule.instructions.size() * sizeof(ProgramSchedule::Instruction);
    auto *     outputs = static_cast<char *>(m_Program.Get()) + codeBytes;
    if (codeBytes != 0)
    {
      Check(cudaMemcpy(m_Program.Get(), schedule.instructions.data(), codeBytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    }
    Check(cudaMemcpy(
            outputs, schedule.outputs.data(), schedule.outputs.size() * sizeof(std::uint16_t), cudaMemcpyHostToDevice),
          "cudaMemcpy");
    const auto & program = m_Plan.compiled->program;
    m_Interpreted.instructions = static_cast<const ProgramSchedule::Instruction *>(m_Program.Get());
    m_Interpreted.outputs = reinterpret_cast<const std::uint16_t *>(outputs);
    m_Interpreted.numberOfInstructions = static_cast<std::uint32_t>(schedule.instructions.size());
    m_Interpreted.numberOfInputs = schedule.numberOfInputs;
    m_Interpreted.numberOfSlots = schedule.numberOfSlots;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      m_Interpreted.tile[axis] = static_cast<std::int32_t>(program.GetTile()[axis]);
      m_Interpreted.footprint[axis] = static_cast<std::int32_t>(program.GetFootprint()[axis]);
    }
  }

  cudaError_t
  Launch(const Slab & slab)
  {
    KernelArguments arguments{};
    arguments.input = m_Input.Get();
    arguments.output = m_Output.Get();
    arguments.signMask = GetSignMask(m_Request.pixelType);
    const auto inputStride = GetDeviceInputStride(slab);
    const auto outputStride = GetDeviceOutputStride(slab);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      arguments.inputPitch[axis] = inputStride[axis];
      arguments.outputPitch[axis] = outputStride[axis];
      arguments.inputExtent[axis] = static_cast<std::int32_t>(slab.input.extent[axis]);
      arguments.outputExtent[axis] = static_cast<std::int32_t>(slab.output.extent[axis]);
      arguments.outputOrigin[axis] = static_cast<std::int32_t>(slab.output.origin[axis] - slab.input.origin[axis]);
      arguments.radius[axis] = m_Request.radius[axis];
    }
    arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(GetOutputLead(slab));
    if (m_Emitted != nullptr)
    {
      return LaunchEmittedKernel(*m_Emitted, arguments, m_Stream.Get());
    }
    if (m_Rank)
    {
      return LaunchRankWindows(arguments, *m_Rank, m_Variant, m_Scratch->Get(), m_ScratchBytes, m_Stream.Get());
    }
    return m_Interpret ? LaunchInterpreter(arguments, m_Interpreted, m_Variant, m_SharedBytes, m_Stream.Get())
                       : LaunchSelection(arguments, m_Variant, m_Stream.Get());
  }

  void
  Download(const Slab & slab)
  {
    const auto & extent = slab.output.extent;
    const auto   deviceStride = GetDeviceOutputStride(slab);
    auto *       deviceOutput =
      static_cast<char *>(m_Output.Get()) + GetOutputLead(slab) * static_cast<std::int64_t>(m_PixelBytes);
    Extent position;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] = slab.output.origin[axis] - m_Request.outputOrigin[axis];
    }
    auto * output = static_cast<char *>(m_Request.output) +
                    GetOffset(position, m_Request.outputStride) * static_cast<std::int64_t>(m_Request.outputPixelBytes);
    if (m_Request.convertRow == nullptr)
    {
      CopyBox(deviceOutput,
              deviceStride,
              output,
              m_Request.outputStride,
              extent,
              m_PixelBytes,
              cudaMemcpyDeviceToHost,
              m_Stream.Get());
      Check(cudaStreamSynchronize(m_Stream.Get()), "cudaStreamSynchronize");
      return;
    }
    const auto stride = GetPackedStride(extent);
    m_Converted.resize(static_cast<std::size_t>(Volume(extent)) * m_PixelBytes);
    CopyBox(deviceOutput,
            deviceStride,
            m_Converted.data(),
            stride,
            extent,
            m_PixelBytes,
            cudaMemcpyDeviceToHost,
            m_Stream.Get());
    Check(cudaStreamSynchronize(m_Stream.Get()), "cudaStreamSynchronize");
    Extent row{ { 0, 0, 0, 0 } };
    for (row[3] = 0; row[3] < extent[3]; ++row[3])
    {
      for (row[2] = 0; row[2] < extent[2]; ++row[2])
      {
        for (row[1] = 0; row[1] < extent[1]; ++row[1])
        {
          m_Request.convertRow(m_Converted.data() + GetOffset(row, stride) * static_cast<std::int64_t>(m_PixelBytes),
                               output + GetOffset(row, m_Request.outputStride) *
                                          static_cast<std::int64_t>(m_Request.outputPixelBytes),
                               static_cast<std::size_t>(extent[0]));
        }
      }
    }
  }

  const MedianRequest & m_Request;
  const Plan &          m_Plan;
  ExecutionReport &     m_Report;
  KernelVariant         m_Variant;
  std::size_t           m_PixelBytes;
  TimedStream           m_Stream;
  DeviceBuffer          m_Input;
  DeviceBuffer          m_Output;
  DeviceBuffer          m_Program;

  std::optional<RankShape>      m_Rank;
  std::unique_ptr<DeviceBuffer> m_Scratch;
  std::size_t                   m_ScratchBytes{ 0 };

  const EmittedKernel * m_Emitted{ nullptr };
  bool                  m_Interpret{ false };
  std::size_t           m_SharedBytes{ 0 };
  InterpretedProgram    m_Interpreted{};
  std::vector<char>     m_Converted;
};

} // namespace

DeviceAvailability
QueryCudaDevice()
{
  const auto unusable = [](cudaError_t error, const std::string & what) {
    cudaGetLastError();
    return DeviceAvailability{ false, what + " (" + cudaGetErrorName(error) + ": " + cudaGetErrorString(error) + ")" };
  };
  int        count = 0;
  const auto countError = cudaGetDeviceCount(&count);
  if (countError != cudaSuccess || count == 0)
  {
    return unusable(countError, "no CUDA device");
  }
  int            device = 0;
  cudaDeviceProp properties;
  auto           error = cudaGetDevice(&device);
  error = error == cudaSuccess ? cudaGetDeviceProperties(&properties, device) : error;
  if (error != cudaSuccess)
  {
    return unusable(error, "a CUDA device that does not answer");
  }
  const std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                           "." + std::to_string(properties.minor);
  error = CheckKernelImage();
  if (error != cudaSuccess)
  {
    return unusable(error, name + ", which this build has no kernels for");
  }
  return { true, name };
}

std::size_t
GetFreeDeviceMemory()
{
  std::size_t available = 0;
  std::size_t total = 0;
  Check(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  return available;
}

void
RunOnCuda(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
{
  SlabRunner  runner(request, plan, report);
  std::size_t done = 0;
  for (const auto & slab : plan.slabs)
  {
    runner.Run(slab);
    ++done;
    if (request.progress)
    {
      request.progress(static_cast<float>(done) / static_cast<float>(plan.slabs.size()));
    }
  }
}

} // namespace cudamedian
