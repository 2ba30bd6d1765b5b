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

/** Whether an error says that code cannot be loaded, and no more: other kernels can. */
bool
IsUnusableCode(cudaError_t error)
{
  return error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion ||
         error == cudaErrorJitCompilerNotFound || error == cudaErrorJitCompilationDisabled ||
         error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidKernelImage ||
         error == cudaErrorInvalidDeviceFunction;
}

} // namespace

SlabKernel::SlabKernel(const MedianRequest & request,
                       const Plan &          plan,
                       DeviceContext &       context,
                       ExecutionReport &     report)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Report(report),
    m_KeyFormat(GetKeyFormat(request.pixelType)), m_PixelBytes(PixelBytes(request.pixelType)), m_Rank(plan.rank),
    m_Histogram(plan.histogram), m_Merge(plan.merge), m_ScratchBytes(plan.deviceScratchBytes)
{
  KernelImage image;
  CheckCuda(GetKernelImage(image), "cudaFuncGetAttributes");
  m_ImageIsNative = image.isNative;
  switch (plan.algorithm)
  {
    case Algorithm::LocalRank:
      ChooseRanks();
      break;
    case Algorithm::SlidingHistogram:
      ChooseHistograms();
      break;
    case Algorithm::MergeTiling:
      ChooseMerges();
      break;
    case Algorithm::TileProgram:
      ChooseProgram();
      break;
    default:
      Select(m_Report.algorithmReason);
  }
  if (!image.isNative)
  {
    m_Report.algorithmReason += "; " + image.Describe() + ", after a small image was filtered right with them";
  }
}

SlabKernel::SlabKernel(const MedianRequest & request,
                       const Plan &          plan,
                       DeviceContext &       context,
                       ExecutionReport &     report,
                       KernelMeans           means)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Report(report), m_Means(means),
    m_KeyFormat(GetKeyFormat(request.pixelType)), m_PixelBytes(PixelBytes(request.pixelType)), m_Rank(plan.rank),
    m_Histogram(plan.histogram), m_Merge(plan.merge), m_ScratchBytes(plan.deviceScratchBytes)
{
  std::string missing;
  const bool  compiled = means == KernelMeans::Ahead || means == KernelMeans::AtFirstUse;
  if ((compiled && !ChooseCompiled(missing)) || (means == KernelMeans::Interpreter && !InterpretIfFit(missing)))
  {
    throw DeviceError(missing);
  }
}

/** Whether kernels of a kind may be used for the window: at once where they are native code, else after they have
 * proved themselves. Says in `reason` why not. */
bool
SlabKernel::IsFit(KernelMeans means, std::string & reason, bool isNative)
{
  if (m_Means)
  {
    return *m_Means == means; // it is about to prove itself
  }
  const auto wrong = ProveKernel(m_Request, m_Context.GetDevice(), means, m_ImageIsNative && isNative);
  if (!wrong.empty())
  {
    reason += (reason.empty() ? "" : "; ") + wrong;
  }
  return wrong.empty();
}

/** Takes the fastest way there is to run the window's program, and says why it is not a faster one. */
void
SlabKernel::ChooseProgram()
{
  std::string missing;
  if (!ChooseCompiled(missing))
  {
    Interpret(missing);
  }
}

/** Takes the kernel that was compiled ahead or at first use, or says what is missing. */
bool
SlabKernel::ChooseCompiled(std::string & missing)
{
  if (!IsCoveredByKernels(GetWindow(m_Request)))
  {
    missing = "the window is beyond the range of kernels";
    return false;
  }
  const EmittedKernel * ahead = nullptr;
  const auto            error = FindEmittedKernel(GetWindow(m_Request), m_KeyFormat, ahead);
  if (IsUnusableCode(error))
  {
    cudaGetLastError();
    missing = std::string("the one compiled ahead does not load: ") + cudaGetErrorString(error);
  }
  else
  {
    CheckCuda(error, "cudaFuncGetAttributes");
  }
  if (ahead != nullptr && FitsSharedMemory(*ahead, missing) && IsFit(KernelMeans::Ahead, missing))
  {
    TakeCompiled(*ahead, "compiled ahead");
    return true;
  }
  if (m_Means && *m_Means == KernelMeans::Ahead)
  {
    missing += missing.empty() ? "none was compiled ahead" : "";
    return false;
  }
  const auto found =
    FindRuntimeKernel(GetWindow(m_Request), m_KeyFormat, static_cast<int>(m_PixelBytes), GetComputeCapability());
  if (found.kernel == nullptr)
  {
    missing += (missing.empty() ? "" : "; ") + found.explanation;
    return false;
  }
  if (FitsSharedMemory(*found.kernel, missing) && IsFit(KernelMeans::AtFirstUse, missing, found.isNative))
  {
    TakeCompiled(*found.kernel, found.explanation);
    m_Report.algorithmReason += missing.empty() ? "" : "; " + missing;
    return true;
  }
  return false;
}

bool
SlabKernel::FitsSharedMemory(const EmittedKernel & kernel, std::string & missing) const
{
  const auto limit = GetSharedMemoryLimit();
  if (kernel.shape.sharedBytes <= limit)
  {
    return true;
  }
  missing += (missing.empty() ? "" : "; ") + std::string("it takes ") + std::to_string(kernel.shape.sharedBytes) +
             " bytes of shared memory where a block of the device has " + std::to_string(limit);
  return false;
}

void
SlabKernel::TakeCompiled(const EmittedKernel & kernel, const std::string & how)
{
  m_Emitted = &kernel;
  m_Report.algorithm += ", " + how;
  m_Report.tile = kernel.tile;
  m_Report.operations = kernel.operations;
  m_Report.tileReason = "lowest count of instructions among the tiles whose values fit in registers";
}

/** Prepares the kernel that interprets the program, or falls back to ranks or selection where that is not possible. */
void
SlabKernel::Interpret(const std::string & missing)
{
  std::string reason = "no kernel of the window's tile program (" + missing + ")";
  if (!InterpretIfFit(reason) && !RankIfFit(reason))
  {
    Select(reason);
  }
}

/** Prepares the kernel that interprets the program, or adds to the reason why that is not possible. */
bool
SlabKernel::InterpretIfFit(std::string & reason)
{
  if (!m_Plan.compiled)
  {
    reason += (m_Means ? "there is no program to interpret" : "");
    return false;
  }
  const auto & schedule = m_Plan.compiled->schedule;
  m_SharedBytes = GetInterpreterSharedBytes(schedule, m_KeyFormat);
  const auto limit = GetSharedMemoryLimit();
  if (m_SharedBytes > static_cast<std::size_t>(limit))
  {
    reason += ", and interpreting it takes " + std::to_string(m_SharedBytes) +
              " bytes of shared memory where the device has " + std::to_string(limit);
    return false;
  }
  if (!IsFit(KernelMeans::Interpreter, reason))
  {
    return false;
  }
  m_Interpret = true;
  m_Report.algorithm += ", interpreted";
  m_Report.algorithmReason += "; " + reason;
  UploadProgram(schedule);
  return true;
}

/** Takes local ranks instead of a program, if the budget has room for the ranks of some blocks besides the slab. */
bool
SlabKernel::RankIfFit(std::string & reason)
{
  RankShape  shape{};
  const auto used = m_Context.GetDeviceBytes();
  if (m_Plan.deviceMemoryBudget <= used || !FindRankShape(GetWindow(m_Request), static_cast<int>(m_PixelBytes), shape))
  {
    return false;
  }
  const auto bytes = GetRankScratchBytes(shape, m_Plan.slabs.front().output.extent, m_Plan.deviceMemoryBudget - used);
  if ((bytes == 0 && shape.scratchBytes != 0) || !IsFit(KernelMeans::Ranks, reason) ||
      !m_Context.ReservePixels(m_Context.scratch, bytes))
  {
    return false;
  }
  m_Rank = shape;
  m_ScratchBytes = bytes;
  m_Report.algorithm = ToString(Algorithm::LocalRank);
  m_Report.algorithmReason = reason;
  m_Report.tile = GetRankTile(shape);
  m_Report.operations = 0;
  ChooseRanks();
  return true;
}

void
SlabKernel::Select(const std::string & givenReason)
{
  auto reason = givenReason;
  if (!IsFit(KernelMeans::Selection, reason))
  {
    throw DeviceError("No kernel gives right results on this device: " + reason);
  }
  m_Report.algorithm = ToString(Algorithm::Selection);
  m_Report.algorithmReason = reason;
  m_Report.tile = { { 0, 0, 0, 0 } };
  m_Report.operations = 0;
}

/** Local ranks need more shared memory for larger windows; falls back to selection on a device that has less. */
void
SlabKernel::ChooseRanks()
{
  const auto  limit = GetSharedMemoryLimit();
  const auto  needed = GetRankSharedBytes(*m_Rank, m_KeyFormat);
  std::string reason;
  if (needed > static_cast<std::size_t>(limit))
  {
    reason = "local ranks take " + std::to_string(needed) + " bytes of shared memory where a block of the device has " +
             std::to_string(limit);
  }
  if (!reason.empty() || !IsFit(KernelMeans::Ranks, reason))
  {
    m_Rank.reset();
    Select(reason);
  }
}

/** As with local ranks: columns take shared memory. */
void
SlabKernel::ChooseHistograms()
{
  const auto  limit = GetSharedMemoryLimit();
  std::string reason;
  if (m_Histogram->sharedBytes > limit)
  {
    reason = "sliding histograms take " + std::to_string(m_Histogram->sharedBytes) +
             " bytes of shared memory where a block of the device has " + std::to_string(limit);
  }
  if (!reason.empty() || !IsFit(KernelMeans::Histograms, reason))
  {
    m_Histogram.reset();
    Select(reason);
  }
}

void
SlabKernel::ChooseMerges()
{
  std::string reason;
  if (!IsFit(KernelMeans::Merges, reason))
  {
    m_Merge.reset();
    Select(reason);
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
  cudaGetLastError(); // what somebody else's call left behind is no error of this launch
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
  arguments.rank = GetWindow(m_Request).rank;
  arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(GetOutputLead(slab, m_PixelBytes));
  // These keep their own launches short.
  if (m_Rank)
  {
    return LaunchRankWindows(arguments, *m_Rank, m_KeyFormat, m_Context.scratch.Get(), m_ScratchBytes, stream);
  }
  if (m_Histogram)
  {
    return LaunchHistograms(arguments, *m_Histogram, m_KeyFormat, m_Context.scratch.Get(), m_ScratchBytes, stream);
  }
  if (m_Merge)
  {
    return LaunchMergeTiling(
      arguments, *m_Merge, m_KeyFormat, m_Context.scratch.Get(), m_ScratchBytes, m_Context.mergeStreams, stream);
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
  return m_Interpret ? LaunchInterpreter(arguments, m_Interpreted, m_KeyFormat, m_SharedBytes, stream)
                     : LaunchSelection(arguments, m_KeyFormat, stream);
}

} // namespace cudamedian
