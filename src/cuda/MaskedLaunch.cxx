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
#include "FlagRuns.h"
#include "Gather.h"
#include "HalfFloat.h"
#include "ImageLaunch.h"
#include "MaskedKernels.h"
#include "MaskedTiles.h"
#include "OutlierLaunch.h"
#include "PixelBits.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "SlabCopy.h"
#include "StreamBuffer.h"

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

/** Pixels whose flags are in a word. */
constexpr std::int64_t columnsOfWord = 32;

/** Bytes of a buffer of a box with strides. */
std::size_t
GetBytes(const Extent & stride, const Extent & extent, std::size_t bytes)
{
  return static_cast<std::size_t>(stride[3] * extent[3]) * bytes;
}

/** Whether kernels can write a slab's results where they belong. */
bool
IsWrittenInPlace(const MedianRequest & request, const Slab & slab, const MaskedRanks & ranks)
{
  const auto bytes = static_cast<std::int64_t>(PixelBytes(request.pixelType));
  const auto offset = GetOffset(slab.output.origin, request.outputStride) * bytes;
  if (ranks.isMean || request.outlierRule != OutlierRule::None || IsHalfFloat(request.pixelType) ||
      GetOutputLead(slab, PixelBytes(request.pixelType)) != 0 || request.outputStride[0] != 1 ||
      slab.output.extent[0] * bytes % deviceAlignment != 0 ||
      !IsAlignedForKernels(static_cast<const char *>(request.output) + offset))
  {
    return false;
  }
  const auto stride = GetDeviceOutputStride(slab, PixelBytes(request.pixelType));
  bool       isSame = true;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    isSame = isSame && (slab.output.extent[axis] == 1 || request.outputStride[axis] == stride[axis]);
  }
  return isSame;
}

/** Bits of a pixel, as often as 64 bits have room for them. */
std::uint64_t
Repeat(std::uint64_t bits, std::size_t pixelBytes)
{
  for (auto width = 8 * pixelBytes; width < 64; width *= 2)
  {
    bits |= bits << width;
  }
  return bits;
}

/** Sends a list to device memory, from memory that lives until the stream has done so. */
template <typename TItem>
void
Send(const std::vector<TItem> & items, char * target, cudaStream_t stream)
{
  if (!items.empty())
  {
    CheckCuda(cudaMemcpyAsync(target, items.data(), items.size() * sizeof(TItem), cudaMemcpyHostToDevice, stream),
              "cudaMemcpyAsync");
  }
}

/** The axis along which keys come in turn: that of rows where ranks allow it, since rows take one pass. */
int
GetTurnAxis(const Window & window, const MaskedRanks & ranks)
{
  const auto longest = GetFilledAxis(window);
  return !ranks.HasTurns() || CountLines(window, 0) == CountLines(window, longest) ? 0 : longest;
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
  : m_Window(GetWindow(request))
  , m_PixelType(request.pixelType)
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_ScratchBytes(plan.candidate.scratchBytes)
  , m_Ranks(GetMaskedRanks(request))
  , m_RankBytes(GetRankBytes(MakeCopiedRequest(request)))
  , m_Axis(GetTurnAxis(m_Window, m_Ranks))
  , m_HasDeviations(HasDeviations(request))
{
  m_Members = m_Ranks.hasMarks || m_HasDeviations ? ListMembers(m_Window) : m_Members;
  m_Runs = m_Ranks.hasMarks && m_RankBytes > 0 ? ListRuns(m_Window, m_Axis) : m_Runs;
  m_RunCount = CountRuns(m_Window, m_Axis, m_Runs);
  const auto kernels = plan.candidate.programBytes;
  const auto budget = request.deviceMemoryBudget == 0
                        ? std::numeric_limits<std::size_t>::max()
                        : request.deviceMemoryBudget - std::min(request.deviceMemoryBudget, kernels);
  PixelBox   whole;
  whole.extent = request.outputExtent;
  auto most = std::min(Volume(whole.extent), mostOutputs);
  for (;; most /= 2)
  {
    m_Pieces.clear();
    bool hasResults = false;
    // Each piece begins as far behind a word of flags as the first one, whose copy is the largest then.
    for (const auto & box : CutIntoLaunches(whole, most < whole.extent[0] ? RoundUp(most, columnsOfWord) : most))
    {
      m_Pieces.push_back({ MakeSlab(request, box), {} });
      hasResults = hasResults || !IsWrittenInPlace(request, m_Pieces.back().slab, m_Ranks);
    }
    CheckCopy(m_Pieces.front().slab, m_Window);
    m_Memory = LayOut(m_Pieces.front().slab, hasResults);
    if (m_Memory.bytes <= budget)
    {
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
  // Words of flags, and vectors of pixels, begin at the same columns of the image and of the copy.
  Slab slab;
  slab.output = outputs;
  slab.shift = request.shift;
  slab.input.extent = m_Window.GetFootprint(outputs.extent);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    slab.input.origin[axis] = outputs.origin[axis] + request.shift[axis] - request.radius[axis];
  }
  const auto before = GetRemainder(slab.input.origin[0], columnsOfWord);
  slab.input.origin[0] -= before;
  slab.input.extent[0] += before;
  return slab;
}

MaskedMemory
MaskedLaunch::LayOut(const Slab & slab, bool hasResults) const
{
  MaskedMemory memory;
  const auto   stride = GetDeviceOutputStride(slab, m_PixelBytes);
  const auto   results = GetBytes(stride, slab.output.extent, m_PixelBytes);
  memory.copy = memory.Add(GetBytes(GetDeviceInputStride(slab, m_PixelBytes), slab.input.extent, m_PixelBytes));
  memory.results = memory.Add(hasResults ? results : 0);
  memory.scratch = memory.Add(m_ScratchBytes);
  memory.members = memory.Add(m_Members.size() * sizeof(FootprintMember));
  memory.runs = memory.Add(m_Runs.size() * sizeof(FlagRun));
  memory.bounds = memory.Add(m_HasDeviations ? CountBoundBytes(m_PixelType) : 0);
  if (m_Ranks.hasMarks)
  {
    memory.others = memory.Add(m_Ranks.isMean ? results : 0);
    memory.ranks = memory.Add(GetBytes(stride, slab.output.extent, m_RankBytes));
    memory.invalid = memory.Add(GetCopyFlagBytes(slab.input.extent, m_Axis));
    memory.turns = memory.Add(GetCopyFlagBytes(slab.input.extent, m_Axis));
    memory.empty = memory.Add(GetOutputFlagBytes(slab.output.extent));
    memory.parities = memory.Add(m_Axis == 0 ? 0 : GetParityBytes(slab.input.extent, m_Axis));
  }
  return memory;
}

void
MaskedLaunch::SetKernel(const MedianRequest & request, SlabKernel && kernel)
{
  m_Kernel.emplace(std::move(kernel));
  const bool isReadable = HasReadableRows(request) && IsWrittenInPlace(request) && AreReadByTiles(request);
  m_WhyCopied = isReadable ? m_Kernel->PrepareMasked(request.compilation == Compilation::Wait).missing : std::string();
  m_IsDirect = isReadable && m_WhyCopied.empty();
  if (m_IsDirect)
  {
    Slab whole;
    whole.output.extent = request.outputExtent;
    whole.input.extent = request.inputExtent;
    m_Direct = m_Kernel->Cut(whole);
    return;
  }
  for (auto & piece : m_Pieces)
  {
    piece.launches = m_Kernel->Cut(piece.slab);
  }
}

std::string
MaskedLaunch::DescribeCopies(const MedianRequest & request) const
{
  if (m_IsDirect)
  {
    return "filtered where it lies, with what tells which pixels are valid";
  }
  return std::string("copied on the device with its border") +
         (HasInvalidPixels(request) ? ", and with extreme keys where pixels are not valid" : "") +
         (m_WhyCopied.empty() ? "" : "; no kernel reads the image where it lies: " + m_WhyCopied);
}

void
MaskedLaunch::Launch(const MedianRequest & request, cudaStream_t stream) const
{
  if (m_IsDirect)
  {
    CheckCuda(m_Kernel->LaunchMasked(m_Direct, request.input, request.output, MakeMaskRules(request), stream),
              "launching the kernel");
    return;
  }
  const StreamBuffer buffer(m_Memory.bytes, stream);
  auto * const       memory = static_cast<char *>(buffer.Get());
  Send(m_Members, memory + m_Memory.members, stream);
  Send(m_Runs, memory + m_Memory.runs, stream);
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
  LaunchCopy(request, piece.slab, memory, stream);
  auto finish = GetFinishArguments(request, piece.slab, memory);
  LaunchRank(piece, m_Ranks.isLower, finish.results, memory, stream);
  if (m_Ranks.isMean)
  {
    LaunchRank(piece, true, memory + m_Memory.others, memory, stream);
  }
  LaunchResults(request, piece.slab, memory, stream);
}

/** Makes the copy of a slab, and the flags of its pixels. */
void
MaskedLaunch::LaunchCopy(const MedianRequest & request, const Slab & slab, char * memory, cudaStream_t stream) const
{
  const auto filling = GetFillArguments(request, slab, memory);
  if (!m_Ranks.hasMarks)
  {
    CheckCuda(LaunchFilling(filling, stream), "copying the image with its border");
    return;
  }
  const auto marks = GetMarkArguments(request, slab, memory);
  if (m_Axis == 0)
  {
    const auto turns = m_Ranks.HasTurns() ? filling.turns : Flags{};
    CheckCuda(LaunchRows({ marks, turns, filling }, stream), "copying the image's valid pixels with its border");
    return;
  }
  CheckCuda(LaunchMarks(marks, stream), "finding the pixels that are not valid");
  const auto turns = GetTurnArguments(slab, memory);
  CheckCuda(LaunchParities(turns, stream), "counting them");
  CheckCuda(LaunchTurns(turns, stream), "finding their keys");
  CheckCuda(LaunchFilling(filling, stream), "copying the image with its border");
}

/** The flags of a slab's copy that lie somewhere in memory; none where all pixels are valid. */
Flags
MaskedLaunch::GetFlags(const Slab & slab, char * flags) const
{
  return m_Ranks.hasMarks ? GetCopyFlags(slab.input.extent, m_Axis, flags) : Flags{};
}

/** The bit of the flag of the pixel that windows of a slab's first output begin with, or lie around. */
std::int64_t
MaskedLaunch::GetFirstFlag(const Slab & slab, const Extent & place) const
{
  const auto flags = GetCopyFlags(slab.input.extent, m_Axis, nullptr);
  return (place[3] * flags.stride[3] + place[2] * flags.stride[2] + place[1] * flags.stride[1]) * columnsOfWord +
         place[0];
}

/** Where in a slab's copy its first output's window begins, or has its middle. */
Extent
MaskedLaunch::GetFirstPlace(const Slab & slab) const
{
  Extent place{};
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] = slab.GetPlace(axis) - (m_Members.empty() ? m_Window.radius[axis] : 0);
  }
  return place;
}

MarkArguments
MaskedLaunch::GetMarkArguments(const MedianRequest & request, const Slab & slab, char * memory) const
{
  const auto &  validity = request.validity;
  MarkArguments arguments{};
  arguments.image = request.input;
  CopyExtent(GetInputStride(request), arguments.imageStride);
  CopyExtent(request.inputExtent, arguments.imageExtent);
  arguments.mask = validity.mask;
  CopyExtent(GetMaskStride(request), arguments.maskStride);
  std::copy(request.border.begin(), request.border.end(), arguments.border);
  CopyExtent(slab.input.origin, arguments.origin);
  CopyExtent(slab.input.extent, arguments.extent);
  arguments.firstColumn = slab.GetPlace(0) - m_Window.radius[0];
  arguments.constant = GetPixelBits(request.borderValue, m_PixelBytes);
  arguments.ignored = GetPixelBits(validity.ignoredValue, m_PixelBytes);
  arguments.infinity = GetInfinity(request.pixelType);
  arguments.magnitudes =
    arguments.infinity != 0 ? (std::uint64_t{ 1 } << (8 * m_PixelBytes - 1)) - 1 : std::uint64_t{ 0 };
  arguments.invalid = GetFlags(slab, memory + m_Memory.invalid);
  arguments.maskBytes = static_cast<int>(validity.maskPixelBytes);
  arguments.pixelType = request.pixelType;
  arguments.hasIgnored = validity.hasIgnoredValue;
  arguments.omitsNaN = validity.omitsNaN;
  return arguments;
}

TurnArguments
MaskedLaunch::GetTurnArguments(const Slab & slab, char * memory) const
{
  const auto    cut = CutIntoSegments(slab.input.extent, m_Axis);
  TurnArguments arguments{};
  arguments.invalid = GetFlags(slab, memory + m_Memory.invalid);
  arguments.turns = GetFlags(slab, memory + m_Memory.turns);
  CopyExtent(cut.segments, arguments.segments);
  arguments.segmentLength = cut.length;
  arguments.lineWords = cut.lineWords;
  arguments.parities = reinterpret_cast<std::uint32_t *>(memory + m_Memory.parities);
  arguments.axis = m_Axis;
  return arguments;
}

FillArguments
MaskedLaunch::GetFillArguments(const MedianRequest & request, const Slab & slab, char * memory) const
{
  const auto copiedType = GetCopiedType(request.pixelType);
  const auto wanted = GetWanted(m_Window);
  const auto getKey = [&](bool isGreatest) {
    return Repeat(GetPixelBits(GetExtremePixel(copiedType, isGreatest), m_PixelBytes), m_PixelBytes);
  };
  auto arguments = MakeFillArguments(request, slab, memory + m_Memory.copy);
  arguments.firstColumn = slab.GetPlace(0) - m_Window.radius[0];
  arguments.invalid = GetFlags(slab, memory + m_Memory.invalid);
  // The least value is found among greatest keys, and the greatest one among least ones: there are no turns.
  arguments.turns = GetFlags(slab, memory + (m_Ranks.HasTurns() ? m_Memory.turns : m_Memory.invalid));
  arguments.least = getKey(wanted == Wanted::Least);
  arguments.greatest = getKey(wanted != Wanted::Greatest);
  return arguments;
}

/** Finds the values of the wanted ranks. */
void
MaskedLaunch::LaunchRank(const Piece & piece, bool isLower, void * results, char * memory, cudaStream_t stream) const
{
  const auto & slab = piece.slab;
  const auto   lead = GetOutputLead(slab, m_PixelBytes);
  const auto   stride = GetDeviceOutputStride(slab, m_PixelBytes);
  auto * const ranks = m_RankBytes > 0 ? memory + m_Memory.ranks : nullptr;
  if (m_Ranks.hasMarks)
  {
    RankArguments arguments{};
    if (lead > 0 && ranks != nullptr)
    {
      // Kernels look at ranks before the rows too, and must not load memory that nobody has written.
      CheckCuda(cudaMemsetAsync(ranks, 0, GetBytes(stride, slab.output.extent, m_RankBytes), stream),
                "cudaMemsetAsync");
    }
    arguments.invalid = GetFlags(slab, memory + m_Memory.invalid);
    arguments.turns = GetFlags(slab, memory + m_Memory.turns);
    arguments.first = GetFirstFlag(slab, GetFirstPlace(slab));
    CopyExtent(m_Window.GetExtent(), arguments.window);
    arguments.runs = m_Runs.empty() ? nullptr : reinterpret_cast<const FlagRun *>(memory + m_Memory.runs);
    arguments.members =
      m_Members.empty() ? nullptr : reinterpret_cast<const FootprintMember *>(memory + m_Memory.members);
    arguments.runCount = static_cast<std::int64_t>(m_Runs.size());
    arguments.memberCount = static_cast<std::int64_t>(m_Members.size());
    arguments.axis = m_Axis;
    arguments.empty = GetOutputFlags(slab.output.extent, memory + m_Memory.empty);
    arguments.ranks = ranks == nullptr ? nullptr : ranks + lead * static_cast<std::int64_t>(m_RankBytes);
    CopyExtent(slab.output.extent, arguments.extent);
    CopyExtent(stride, arguments.stride);
    arguments.rowRanks = ranks == nullptr ? slab.output.extent[0] : stride[1] - lead;
    arguments.added =
      static_cast<std::int32_t>(m_Window.CountPixels() - (isLower ? 1 : 0) - m_RunCount - 2 * m_Ranks.span.least);
    arguments.digits = GetDigits(m_RunCount);
    arguments.rankBytes = static_cast<int>(m_RankBytes);
    CheckCuda(LaunchRanks(arguments, stream), "finding the wanted ranks");
  }
  CheckCuda(m_Kernel->Launch(piece.launches, memory + m_Memory.copy, results, ranks, memory + m_Memory.scratch, stream),
            "launching the kernel");
}

FinishArguments
MaskedLaunch::GetFinishArguments(const MedianRequest & request, const Slab & slab, char * memory) const
{
  const auto & validity = request.validity;
  Extent       own;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    own[axis] = slab.output.origin[axis] - slab.input.origin[axis];
  }
  auto arguments = MakeFinishArguments(request, slab, memory + m_Memory.results);
  arguments.results = IsWrittenInPlace(request, slab, m_Ranks) ? arguments.output : arguments.results;
  arguments.others = m_Ranks.isMean ? memory + m_Memory.others : nullptr;
  arguments.invalid = GetFlags(slab, memory + m_Memory.invalid);
  arguments.empty = m_Ranks.hasMarks ? GetOutputFlags(slab.output.extent, memory + m_Memory.empty) : Flags{};
  arguments.own = GetFirstFlag(slab, own);
  arguments.emptyValue = GetPixelBits(validity.emptyValue, m_PixelBytes);
  arguments.invalidValue = GetPixelBits(validity.invalidValue, m_PixelBytes);
  arguments.emptyWindow = validity.emptyWindow;
  arguments.invalidOutput = validity.invalidOutput;
  return arguments;
}

void
MaskedLaunch::LaunchResults(const MedianRequest & request, const Slab & slab, char * memory, cudaStream_t stream) const
{
  auto arguments = GetFinishArguments(request, slab, memory);
  if (arguments.results == arguments.output)
  {
    if (m_Ranks.hasMarks)
    {
      CheckCuda(LaunchExceptions(arguments, stream), "writing what is no median");
    }
    return;
  }
  const auto lead = GetOutputLead(slab, m_PixelBytes) * static_cast<std::int64_t>(m_PixelBytes);
  arguments.results = static_cast<char *>(arguments.results) + lead;
  if (m_Ranks.isMean)
  {
    arguments.others = static_cast<const char *>(arguments.others) + lead;
    CheckCuda(LaunchMeans(arguments, stream), "taking means");
  }
  if (m_HasDeviations)
  {
    return LaunchInliers(request, slab, arguments, memory, stream);
  }
  CheckCuda(LaunchFinish(arguments, stream), "writing the output");
}

void
MaskedLaunch::LaunchInliers(const MedianRequest &   request,
                            const Slab &            slab,
                            const FinishArguments & finish,
                            char *                  memory,
                            cudaStream_t            stream) const
{
  const auto stride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto first = GetFirstPlace(slab);
  auto       arguments = MakeOutlierArguments(request, finish);
  arguments.pixels = memory + m_Memory.copy + GetOffset(first, stride) * static_cast<std::int64_t>(m_PixelBytes);
  CopyExtent(stride, arguments.stride);
  arguments.first = GetFirstFlag(slab, first);
  arguments.members =
    m_Members.empty() ? nullptr : reinterpret_cast<const FootprintMember *>(memory + m_Memory.members);
  arguments.memberCount = static_cast<std::int64_t>(m_Members.size());
  arguments.isWeighted = !m_Members.empty() && arguments.count != arguments.memberCount;
  LaunchOutliers(arguments, memory + m_Memory.bounds, stream);
  if (m_Ranks.hasMarks)
  {
    CheckCuda(LaunchExceptions(finish, stream), "writing what is no median");
  }
}

} // namespace cudamedian
