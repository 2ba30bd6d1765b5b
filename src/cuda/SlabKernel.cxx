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
#include "SlabKernel.h"

#include "HistogramLaunch.h"
#include "MergeLaunch.h"
#include "RankLaunch.h"
#include "RuntimeKernels.h"

namespace cudamedian
{
namespace
{

/** Of the current device: major * 10 + minor. */
int
GetComputeCapability()
{
  int device = 0;
  int major = 0;
  int minor = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "cudaDeviceGetAttribute");
  CheckCuda(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), "cudaDeviceGetAttribute");
  return 10 * major + minor;
}

/** Bytes of shared memory that a block of the current device can have. */
int
GetSharedMemoryLimit()
{
  int device = 0;
  int limit = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  CheckCuda(cudaDeviceGetAttribute(&limit, cudaDevAttrMaxSharedMemoryPerBlockOptin, device), "cudaDeviceGetAttribute");
  return limit;
}

} // namespace

SlabKernel::SlabKernel(const MedianRequest & request,
                       const Plan &          plan,
                       DeviceContext &       context,
                       ExecutionReport &     report)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Report(report),
    m_Variant(GetKernelVariant(request.pixelType)), m_PixelBytes(PixelBytes(request.pixelType)), m_Rank(plan.rank),
    m_Histogram(plan.histogram), m_Merge(plan.merge), m_ScratchBytes(plan.deviceScratchBytes)
{
  if (plan.algorithm == Algorithm::LocalRank)
  {
    ChooseRanks();
  }
  else if (plan.algorithm == Algorithm::SlidingHistogram)
  {
    ChooseHistograms();
  }
  else if (plan.algorithm == Algorithm::TileProgram)
  {
    ChooseProgram();
  }
}

/** Takes the fastest way there is to run the window's program, and says why it is not a faster one. */
void
SlabKernel::ChooseProgram()
{
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
SlabKernel::Interpret(const std::string & missing)
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
  const auto used = m_Context.GetDeviceBytes();
  if (m_Plan.deviceMemoryBudget > used && FindRankShape(m_Request.radius, static_cast<int>(m_PixelBytes), shape))
  {
    const auto bytes = GetRankScratchBytes(shape, m_Plan.slabs.front().output.extent, m_Plan.deviceMemoryBudget - used);
    if ((bytes != 0 || shape.scratchBytes == 0) && m_Context.scratch.Reserve(bytes))
    {
      m_Rank = shape;
      m_ScratchBytes = bytes;
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
SlabKernel::Select(const std::string & reason)
{
  m_Report.algorithm = ToString(Algorithm::Selection);
  m_Report.algorithmReason = reason;
  m_Report.tile = { { 0, 0, 0, 0 } };
  m_Report.operations = 0;
}

/** Local ranks need more shared memory for larger windows; falls back to selection on a device that has less. */
void
SlabKernel::ChooseRanks()
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

/** As with local ranks: columns take shared memory. */
void
SlabKernel::ChooseHistograms()
{
  const auto limit = GetSharedMemoryLimit();
  if (m_Histogram->sharedBytes > limit)
  {
    Select("sliding histograms take " + std::to_string(m_Histogram->sharedBytes) +
           " bytes of shared memory where a block of the device has " + std::to_string(limit));
    m_Histogram.reset();
  }
}

void
SlabKernel::UploadProgram(const ProgramSchedule & schedule)
{
  const auto codeBytes = schedule.instructions.size() * sizeof(ProgramSchedule::Instruction);
  auto *     outputs = static_cast<char *>(m_Context.program.Get()) + codeBytes;
  if (codeBytes != 0)
  {
    CheckCuda(cudaMemcpy(m_Context.program.Get(), schedule.instructions.data(), codeBytes, cudaMemcpyHostToDevice),
              "cudaMemcpy");
  }
  CheckCuda(
    cudaMemcpy(
      outputs, schedule.outputs.data(), schedule.outputs.size() * sizeof(std::uint16_t), cudaMemcpyHostToDevice),
    "cudaMemcpy");
  const auto & program = m_Plan.compiled->program;
  m_Interpreted.instructions = static_cast<const ProgramSchedule::Instruction *>(m_Context.program.Get());
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
SlabKernel::Launch(const Slab & slab, const void * input, void * output, cudaStream_t stream) const
{
  KernelArguments arguments{};
  arguments.input = input;
  arguments.output = output;
  arguments.signMask = GetSignMask(m_Request.pixelType);
  const auto inputStride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto outputStride = GetDeviceOutputStride(slab, m_PixelBytes);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = inputStride[axis];
    arguments.outputPitch[axis] = outputStride[axis];
    arguments.inputExtent[axis] = static_cast<std::int32_t>(slab.input.extent[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(slab.output.extent[axis]);
    arguments.outputOrigin[axis] = static_cast<std::int32_t>(slab.output.origin[axis] - slab.input.origin[axis]);
    arguments.radius[axis] = m_Request.radius[axis];
  }
  arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(GetOutputLead(slab, m_PixelBytes));
  // These keep their own launches short.
  if (m_Rank)
  {
    return LaunchRankWindows(arguments, *m_Rank, m_Variant, m_Context.scratch.Get(), m_ScratchBytes, stream);
  }
  if (m_Histogram)
  {
    return LaunchHistograms(arguments, *m_Histogram, m_Variant, m_Context.scratch.Get(), m_ScratchBytes, stream);
  }
  if (m_Merge)
  {
    return LaunchMergeTiling(
      arguments, *m_Merge, m_Variant, m_Context.scratch.Get(), m_ScratchBytes, m_Context.mergeStreams, stream);
  }
  PixelBox box;
  box.extent = slab.output.extent;
  for (const auto & piece : CutIntoLaunches(box, GetLargestLaunch()))
  {
    const auto error = LaunchOnce(CutArguments(arguments, piece), stream);
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

/** Pixels of a launch that ends soon enough for a display driver's watchdog: 0.03 s at the slowest that was measured on
 * an H200 leave room for slower devices. That is 15 Gpixel/s of compiled programs and 0.16 of interpreted ones (9x9 and
 * 5x5x5 of 64-bit pixels). Slabs on their way at the same time have fewer, images in device memory may have more. */
std::int64_t
SlabKernel::GetLargestLaunch() const
{
  return m_Emitted != nullptr ? std::int64_t{ 1 } << 28
         : m_Interpret        ? std::int64_t{ 1 } << 22
                              : GetSelectedPixels(m_Request);
}

/** The arguments for a part of the output, whose origin is relative to that output's. */
KernelArguments
SlabKernel::CutArguments(const KernelArguments & whole, const PixelBox & piece) const
{
  auto arguments = whole;
  auto offset = std::int64_t{ 0 };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.outputOrigin[axis] += static_cast<std::int32_t>(piece.origin[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(piece.extent[axis]);
    offset += axis > 0 ? piece.origin[axis] * whole.outputPitch[axis] : 0;
  }
  const auto vector = static_cast<std::int32_t>(GetDevicePitch(1, m_PixelBytes));
  arguments.gridOrigin = arguments.outputOrigin[0] / vector * vector;
  offset += arguments.gridOrigin - whole.gridOrigin;
  arguments.output = static_cast<char *>(whole.output) + offset * static_cast<std::int64_t>(m_PixelBytes);
  return arguments;
}

cudaError_t
SlabKernel::LaunchOnce(const KernelArguments & arguments, cudaStream_t stream) const
{
  if (m_Emitted != nullptr)
  {
    return LaunchEmittedKernel(*m_Emitted, arguments, stream);
  }
  return m_Interpret ? LaunchInterpreter(arguments, m_Interpreted, m_Variant, m_SharedBytes, stream)
                     : LaunchSelection(arguments, m_Variant, stream);
}

} // namespace cudamedian
