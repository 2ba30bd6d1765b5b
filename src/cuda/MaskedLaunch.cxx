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
#include "MaskedLaunch.h"

#include "CudaError.h"
#include "DivideUp.h"
#include "Gather.h"
#include "HalfFloat.h"
#include "ImageLaunch.h"
#include "MaskedKernels.h"
#include "PixelBits.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "StreamBuffer.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <limits>

namespace cudamedian
{
namespace
{

/** Outputs of a piece where nobody named a budget: enough to keep a device busy, in a few bytes for each. */
constexpr std::int64_t mostOutputs = std::int64_t{ 1 } << 26;

/** The most pixels of a copy, as on the host. */
constexpr double mostCopied = 1e10;

/** Pixels of the segments that a line is marked in, at least, and how many segments there are at most. Each reads what
 * was counted in those before it, so there are not too many; and they are short, so there are threads. */
constexpr std::int64_t leastSegment = 32;
constexpr std::int64_t mostSegments = 256;

void
Copy(const Extent & extent, std::int64_t (&target)[Dimension])
{
  std::copy(extent.begin(), extent.end(), target);
}

/** The axes along which a box is summed, one of which there is. */
std::vector<int>
ListSummedAxes(const Window & window)
{
  std::vector<int> axes;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (window.GetSize(axis) > 1)
    {
      axes.push_back(axis);
    }
  }
  return axes.empty() ? std::vector<int>{ 0 } : axes;
}

std::vector<FootprintMember>
ListMembers(const Window & window)
{
  std::vector<FootprintMember> members;
  for (std::size_t i = 0; window.footprint != nullptr && i < window.footprint->GetPixels().size(); ++i)
  {
    const auto &    pixel = window.footprint->GetPixels()[i];
    FootprintMember member{};
    std::copy(pixel.offset.begin(), pixel.offset.end(), member.offset);
    member.weight = pixel.weight;
    members.push_back(member);
  }
  return members;
}

/** Bytes of a number whose halves both hold that of a window's values. */
int
GetSumBytes(const Window & window)
{
  return window.CountPixels() <= std::numeric_limits<std::uint8_t>::max()    ? 2
         : window.CountPixels() <= std::numeric_limits<std::uint16_t>::max() ? 4
                                                                             : 8;
}

/** Bytes of a buffer of a box with strides. */
std::size_t
GetBytes(const Extent & stride, const Extent & extent, std::size_t bytes)
{
  return static_cast<std::size_t>(stride[3] * extent[3]) * bytes;
}

/** What a copy may not be larger than. */
void
CheckCopy(const Slab & slab, const Window & window)
{
  double pixels = 1;
  bool   fits = true;
  for (const auto extent : slab.input.extent)
  {
    pixels *= static_cast<double>(extent);
    fits = fits && extent <= std::numeric_limits<std::int32_t>::max();
  }
  if (!fits || pixels > mostCopied || window.CountPixels() > std::numeric_limits<std::int32_t>::max())
  {
    throw RequestError("Windows of " + std::to_string(window.CountBoxPixels()) +
                       " pixels of which some are not valid need a copy of " + std::to_string(pixels) +
                       " pixels; in device memory it may have at most " + std::to_string(mostCopied) +
                       ", and 2147483647 along an axis");
  }
}

} // namespace

MaskedLaunch::MaskedLaunch(const MedianRequest & request, const Plan & plan)
  : m_Window(GetWindow(request)), m_PixelBytes(PixelBytes(request.pixelType)), m_Ranks(GetMaskedRanks(request)),
    m_RankBytes(GetDeviceRankBytes(MakeCopiedRequest(request))), m_Axis(GetFilledAxis(m_Window)),
    m_SumBytes(GetSumBytes(m_Window)), m_HasDeviations(request.outlierRule == OutlierRule::Deviations)
{
  m_Members = m_Ranks.hasMarks || m_HasDeviations ? ListMembers(m_Window) : m_Members;
  const auto kernels = plan.candidate.programBytes + plan.candidate.scratchBytes;
  const auto budget = request.deviceMemoryBudget == 0
                        ? std::numeric_limits<std::size_t>::max()
                        : request.deviceMemoryBudget - std::min(request.deviceMemoryBudget, kernels);
  PixelBox   whole;
  whole.extent = request.outputExtent;
  auto most = std::min(Volume(whole.extent), mostOutputs);
  for (;; most /= 2)
  {
    const auto outputs = CutIntoLaunches(whole, most);
    const auto first = MakeSlab(request, outputs.front());
    CheckCopy(first, m_Window);
    m_Memory = LayOut(first);
    if (m_Memory.bytes <= budget)
    {
      for (const auto & box : outputs)
      {
        m_Pieces.push_back({ MakeSlab(request, box), {} });
      }
      return;
    }
    if (most == 1)
    {
      throw RequestError("The budget of " + std::to_string(request.deviceMemoryBudget) +
                         " bytes of device memory does not hold a copy of one window, which takes " +
                         std::to_string(m_Memory.bytes + kernels));
    }
  }
}

Slab
MaskedLaunch::MakeSlab(const MedianRequest & request, const PixelBox & outputs) const
{
  Slab slab;
  slab.output = outputs;
  slab.shift = request.shift;
  slab.input.extent = m_Window.GetFootprint(outputs.extent);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    slab.input.origin[axis] = outputs.origin[axis] + request.shift[axis] - request.radius[axis];
  }
  return slab;
}

std::int64_t
MaskedLaunch::GetSegmentLength(const Slab & slab) const
{
  return std::max(leastSegment, DivideUp(slab.input.extent[m_Axis], mostSegments));
}

MaskedLaunch::Memory
MaskedLaunch::LayOut(const Slab & slab) const
{
  constexpr std::size_t alignment = 256;
  Memory                memory;
  const auto            add = [&memory](std::size_t bytes) {
    const auto first = memory.bytes;
    memory.bytes += RoundUp(bytes, alignment);
    return first;
  };
  const auto outputStride = GetDeviceOutputStride(slab, m_PixelBytes);
  memory.copy = add(GetBytes(GetDeviceInputStride(slab, m_PixelBytes), slab.input.extent, m_PixelBytes));
  memory.results = add(GetBytes(outputStride, slab.output.extent, m_PixelBytes));
  memory.members = add(m_Members.size() * sizeof(FootprintMember));
  memory.deviations = add(m_HasDeviations ? static_cast<std::size_t>(Volume(slab.output.extent)) * 4 : 0);
  if (!m_Ranks.hasMarks)
  {
    return memory;
  }
  memory.others = m_Ranks.isMean ? add(GetBytes(outputStride, slab.output.extent, m_PixelBytes)) : 0;
  memory.ranks = add(GetBytes(outputStride, slab.output.extent, m_RankBytes));
  memory.marks = add(static_cast<std::size_t>(Volume(slab.input.extent)));
  auto segments = slab.input.extent;
  // A shorter line of a later slab may have more segments than a longer one: 251 of 8001 pixels, 249 of 8199. No line
  // has more than these, which grow with its length.
  segments[m_Axis] = std::min(DivideUp(segments[m_Axis], leastSegment), mostSegments);
  memory.parities = add(static_cast<std::size_t>(Volume(segments)));
  auto summed = slab.input.extent;
  if (m_Members.empty())
  {
    const int first = ListSummedAxes(m_Window).front();
    summed[first] = slab.output.extent[first];
  }
  else
  {
    summed = slab.output.extent;
  }
  const auto sumBytes = static_cast<std::size_t>(Volume(summed)) * static_cast<std::size_t>(m_SumBytes);
  memory.sums[0] = add(sumBytes);
  memory.sums[1] = add(m_Members.empty() ? sumBytes : 0);
  return memory;
}

void
MaskedLaunch::SetKernel(SlabKernel && kernel)
{
  m_Kernel.emplace(std::move(kernel));
  for (auto & piece : m_Pieces)
  {
    piece.launches = m_Kernel->Cut(piece.slab);
  }
}

std::string
MaskedLaunch::DescribeCopies(const MedianRequest & request) const
{
  return std::string("copied on the device with its border") +
         (HasInvalidPixels(request) ? ", and with extreme keys where pixels are not valid" : "");
}

void
MaskedLaunch::Launch(const MedianRequest & request, cudaStream_t stream) const
{
  const StreamBuffer buffer(m_Memory.bytes, stream);
  auto * const       memory = static_cast<char *>(buffer.Get());
  if (!m_Members.empty())
  {
    CheckCuda(cudaMemcpyAsync(memory + m_Memory.members,
                              m_Members.data(),
                              m_Members.size() * sizeof(FootprintMember),
                              cudaMemcpyHostToDevice,
                              stream),
              "cudaMemcpyAsync");
  }
  for (const auto & piece : m_Pieces)
  {
    LaunchPiece(request, piece, memory, stream);
  }
  if (!m_Members.empty())
  {
    CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
}

void
MaskedLaunch::LaunchPiece(const MedianRequest & request, const Piece & piece, char * memory, cudaStream_t stream) const
{
  GatherSlab(request, piece.slab, memory + m_Memory.copy, stream);
  void * sums = nullptr;
  if (m_Ranks.hasMarks)
  {
    const auto marks = GetMarkArguments(request, piece.slab, memory);
    CheckCuda(LaunchMarks(marks, stream), "finding the valid pixels");
    CheckCuda(LaunchFilling(marks, stream), "filling the others");
    sums = LaunchAllSums(piece.slab, memory, stream);
  }
  LaunchRank(piece, sums, m_Ranks.isLower, memory + m_Memory.results, memory, stream);
  if (m_Ranks.isMean)
  {
    LaunchRank(piece, sums, true, memory + m_Memory.others, memory, stream);
  }
  LaunchResults(request, piece.slab, sums, memory, stream);
}

MarkArguments
MaskedLaunch::GetMarkArguments(const MedianRequest & request, const Slab & slab, char * memory) const
{
  const auto &  validity = request.validity;
  const auto    copiedType = GetCopiedType(request.pixelType);
  MarkArguments arguments{};
  arguments.pixels = memory + m_Memory.copy;
  Copy(slab.input.extent, arguments.extent);
  Copy(GetDeviceInputStride(slab, m_PixelBytes), arguments.stride);
  Copy(slab.input.origin, arguments.origin);
  Copy(request.inputExtent, arguments.imageExtent);
  std::copy(request.border.begin(), request.border.end(), arguments.border);
  arguments.mask = validity.mask;
  Copy(GetMaskStride(request), arguments.maskStride);
  arguments.maskBytes = static_cast<int>(validity.maskPixelBytes);
  arguments.ignored = GetPixelBits(validity.ignoredValue, m_PixelBytes);
  arguments.infinity = GetInfinity(request.pixelType);
  arguments.magnitudes =
    arguments.infinity != 0 ? (std::uint64_t{ 1 } << (8 * m_PixelBytes - 1)) - 1 : std::uint64_t{ 0 };
  arguments.least = GetPixelBits(GetExtremePixel(copiedType, false), m_PixelBytes);
  arguments.greatest = GetPixelBits(GetExtremePixel(copiedType, true), m_PixelBytes);
  arguments.segmentLength = GetSegmentLength(slab);
  arguments.segments = DivideUp(slab.input.extent[m_Axis], arguments.segmentLength);
  arguments.marks = reinterpret_cast<std::int8_t *>(memory + m_Memory.marks);
  arguments.parities = reinterpret_cast<std::uint8_t *>(memory + m_Memory.parities);
  arguments.axis = m_Axis;
  arguments.pixelType = request.pixelType;
  arguments.wanted = GetWanted(m_Window);
  arguments.hasIgnored = validity.hasIgnoredValue;
  arguments.omitsNaN = validity.omitsNaN;
  return arguments;
}

/** Counts both keys in all windows. \returns where the sums are. */
void *
MaskedLaunch::LaunchAllSums(const Slab & slab, char * memory, cudaStream_t stream) const
{
  SumArguments arguments{};
  arguments.from = memory + m_Memory.marks;
  arguments.to = memory + m_Memory.sums[0];
  arguments.readsMarks = true;
  arguments.sumBytes = m_SumBytes;
  auto extent = slab.input.extent;
  Copy(extent, arguments.fromExtent);
  if (!m_Members.empty())
  {
    arguments.from = memory + m_Memory.marks + GetOffset(m_Window.radius, GetPackedStride(extent));
    arguments.members = reinterpret_cast<const FootprintMember *>(memory + m_Memory.members);
    arguments.count = static_cast<std::int64_t>(m_Members.size());
    Copy(slab.output.extent, arguments.toExtent);
    CheckCuda(LaunchSums(arguments, stream), "counting keys");
    return arguments.to;
  }
  int other = 1;
  for (const int axis : ListSummedAxes(m_Window))
  {
    arguments.count = m_Window.GetSize(axis);
    arguments.step = GetPackedStride(extent)[axis];
    Copy(extent, arguments.fromExtent);
    extent[axis] = slab.output.extent[axis];
    Copy(extent, arguments.toExtent);
    CheckCuda(LaunchSums(arguments, stream), "counting keys");
    arguments.readsMarks = false;
    arguments.from = arguments.to;
    arguments.to = memory + m_Memory.sums[other];
    other = 1 - other;
  }
  return const_cast<void *>(arguments.from);
}

void
MaskedLaunch::LaunchRank(const Piece & piece,
                         const void *  sums,
                         bool          isLower,
                         void *        results,
                         char *        memory,
                         cudaStream_t  stream) const
{
  const auto & slab = piece.slab;
  const auto   stride = GetDeviceOutputStride(slab, m_PixelBytes);
  auto * const ranks = m_RankBytes > 0 ? memory + m_Memory.ranks : nullptr;
  if (ranks != nullptr)
  {
    // Kernels look at ranks beside the rows too, and must not load memory that nobody has written.
    CheckCuda(cudaMemsetAsync(ranks, 0, GetBytes(stride, slab.output.extent, m_RankBytes), stream), "cudaMemsetAsync");
    RankArguments arguments{};
    arguments.sums = sums;
    arguments.ranks = ranks + GetOutputLead(slab, m_PixelBytes) * static_cast<std::int64_t>(m_RankBytes);
    Copy(slab.output.extent, arguments.extent);
    Copy(stride, arguments.stride);
    arguments.values = m_Window.CountPixels();
    arguments.first = m_Ranks.span.least;
    arguments.rankBytes = static_cast<int>(m_RankBytes);
    arguments.isLower = isLower;
    arguments.sumBytes = m_SumBytes;
    CheckCuda(LaunchRanks(arguments, stream), "finding the wanted ranks");
  }
  CheckCuda(m_Kernel->Launch(piece.launches, memory + m_Memory.copy, results, ranks, stream), "launching the kernel");
}

void
MaskedLaunch::LaunchResults(const MedianRequest & request,
                            const Slab &          slab,
                            const void *          sums,
                            char *                memory,
                            cudaStream_t          stream) const
{
  const auto & validity = request.validity;
  const auto   lead = GetOutputLead(slab, m_PixelBytes) * static_cast<std::int64_t>(m_PixelBytes);
  const auto   bytes = static_cast<std::int64_t>(m_PixelBytes);
  const auto   inputStride = GetInputStride(request);
  const auto   markStride = GetPackedStride(slab.input.extent);
  Extent       own;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    own[axis] = slab.output.origin[axis] - slab.input.origin[axis];
  }
  FinishArguments arguments{};
  arguments.results = memory + m_Memory.results + lead;
  arguments.others = m_Ranks.isMean ? memory + m_Memory.others + lead : nullptr;
  Copy(GetDeviceOutputStride(slab, m_PixelBytes), arguments.resultStride);
  Copy(slab.output.extent, arguments.extent);
  arguments.input = static_cast<const char *>(request.input) + GetOffset(slab.output.origin, inputStride) * bytes;
  Copy(inputStride, arguments.inputStride);
  arguments.output = static_cast<char *>(request.output) + GetOffset(slab.output.origin, request.outputStride) * bytes;
  Copy(request.outputStride, arguments.outputStride);
  arguments.sums = sums;
  arguments.marks = reinterpret_cast<std::int8_t *>(memory + m_Memory.marks) + GetOffset(own, markStride);
  Copy(markStride, arguments.markStride);
  arguments.values = m_Window.CountPixels();
  arguments.keepsNear = request.outlierRule != OutlierRule::None;
  arguments.farthest = arguments.keepsNear ? GetFarthest(request.pixelType, request.outlierThreshold) : 0;
  arguments.times = request.outlierThreshold;
  arguments.emptyValue = GetPixelBits(validity.emptyValue, m_PixelBytes);
  arguments.invalidValue = GetPixelBits(validity.invalidValue, m_PixelBytes);
  arguments.pixelType = request.pixelType;
  arguments.emptyWindow = validity.emptyWindow;
  arguments.invalidOutput = validity.invalidOutput;
  arguments.sumBytes = m_SumBytes;
  if (m_Ranks.isMean)
  {
    CheckCuda(LaunchMeans(arguments, stream), "taking means");
  }
  if (m_HasDeviations)
  {
    LaunchAllDeviations(request, slab, memory, stream);
    arguments.deviations = reinterpret_cast<const std::uint32_t *>(memory + m_Memory.deviations);
  }
  CheckCuda(LaunchFinish(arguments, stream), "writing the output");
}

void
MaskedLaunch::LaunchAllDeviations(const MedianRequest & request,
                                  const Slab &          slab,
                                  char *                memory,
                                  cudaStream_t          stream) const
{
  const auto         bytes = static_cast<std::int64_t>(m_PixelBytes);
  const auto         stride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto         markStride = GetPackedStride(slab.input.extent);
  const Extent       first = m_Members.empty() ? Extent{} : m_Window.radius;
  DeviationArguments arguments{};
  arguments.pixels = memory + m_Memory.copy + GetOffset(first, stride) * bytes;
  Copy(stride, arguments.stride);
  arguments.marks = m_Ranks.hasMarks
                      ? reinterpret_cast<const std::int8_t *>(memory + m_Memory.marks) + GetOffset(first, markStride)
                      : nullptr;
  Copy(markStride, arguments.markStride);
  arguments.medians = memory + m_Memory.results + GetOutputLead(slab, m_PixelBytes) * bytes;
  Copy(GetDeviceOutputStride(slab, m_PixelBytes), arguments.medianStride);
  Copy(slab.output.extent, arguments.extent);
  Copy(m_Window.GetExtent(), arguments.window);
  arguments.members =
    m_Members.empty() ? nullptr : reinterpret_cast<const FootprintMember *>(memory + m_Memory.members);
  arguments.count = static_cast<std::int64_t>(m_Members.size());
  arguments.deviations = reinterpret_cast<std::uint32_t *>(memory + m_Memory.deviations);
  arguments.signMask = IsHalfFloat(request.pixelType) ? 0U : static_cast<std::uint32_t>(GetSignMask(request.pixelType));
  arguments.pixelType = request.pixelType;
  CheckCuda(LaunchDeviations(arguments, stream), "finding deviations");
}

} // namespace cudamedian
