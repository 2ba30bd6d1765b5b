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
#include "Planner.h"

#include "DivideUp.h"

#include "HierarchicalTiling.h"
#include "KernelPolicy.h"
#include "TilePolicy.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>

#ifndef _WIN32
#  include <pthread.h>
#endif

namespace cudamedian
{
namespace
{

std::string
Join(const Extent & extent)
{
  std::string text;
  for (const auto value : extent)
  {
    text += (text.empty() ? "" : "x") + std::to_string(value);
  }
  return text;
}

void
ChooseAlgorithm(const MedianRequest & request, std::size_t budget, Plan & plan)
{
  const auto window = GetWindow(request);
  const bool cuda = plan.backend == Backend::Cuda;
  const bool interpreted = cuda ? IsInterpretedOnDevices(window) : IsCoveredByTilePrograms(window);
  const bool covered = interpreted || (cuda && IsCoveredByKernels(window));
  if (request.algorithm == Algorithm::TileProgram && !covered)
  {
    throw RequestError(
      "No tile program covers a window of radius " + Join(request.radius) +
      ": on the CPU at most two axes of radius up to 15, or three of radius up to 4; on CUDA radii up to " +
      std::to_string(largestKernelRadius) + " and at most " + std::to_string(largestKernelWindow) + " pixels");
  }
  const auto   pixelBytes = static_cast<int>(PixelBytes(request.pixelType));
  const auto * rowProgram = cuda ? nullptr : FindRowProgram(window, PixelBytes(request.pixelType));
  const bool   fastest = cuda ? IsTileProgramFastestOnDevice(window, pixelBytes)
                              : rowProgram != nullptr || IsTileProgramFastestOnHost(window, pixelBytes);
  // The search for a shape takes some tenths of a millisecond, which small images need not wait for.
  RankShape  shape{};
  const bool asked =
    request.algorithm == Algorithm::LocalRank || (request.algorithm == Algorithm::Automatic && !fastest);
  const bool ranked =
    asked &&
    (cuda ? FindRankShape(window, pixelBytes, shape)
          : FindHostRankShape(window, pixelBytes, request.outputExtent, std::max(1U, request.workUnits), shape));
  if (request.algorithm == Algorithm::LocalRank && !ranked)
  {
    throw RequestError("No block of local ranks covers a window of radius " + Join(request.radius) +
                       (cuda ? ": at most three axes" : ": at most two axes besides the first") +
                       " may have a radius, and the smallest block must touch no more than " +
                       (!cuda             ? "65536"
                        : pixelBytes == 8 ? "8192"
                                          : "16384") +
                       " pixels");
  }
  HistogramShape histogram{};
  const bool     slides =
    (request.algorithm == Algorithm::SlidingHistogram || (request.algorithm == Algorithm::Automatic && !fastest)) &&
    (cuda ? FindHistogramShape(window, pixelBytes, histogram) : IsCoveredByHostHistograms(window, pixelBytes));
  if (request.algorithm == Algorithm::SlidingHistogram && !slides)
  {
    throw RequestError("Sliding histograms do not cover a window of radius " + Join(request.radius) + ": " +
                       (cuda ? histogramLimits : hostHistogramLimits));
  }
  MergeShape merge{};
  const bool merged =
    cuda &&
    (request.algorithm == Algorithm::MergeTiling ||
     (request.algorithm == Algorithm::Automatic && !covered && !ranked && !slides)) &&
    FindMergeShape(window, pixelBytes, request.outputExtent, std::min(mostMergeScratchBytes, budget / 4), merge);
  if (request.algorithm == Algorithm::MergeTiling && !merged)
  {
    throw RequestError("Merge tiling does not cover a window of radius " + Join(request.radius) +
                       (cuda ? std::string(": ") + mergeLimits : " on the CPU backend: it runs on CUDA only"));
  }
  plan.algorithm = request.algorithm;
  plan.algorithmReason = "asked for";
  if (request.algorithm == Algorithm::Automatic)
  {
    // A block or region, and the smallest slab for it.
    const bool ranksFit = ranked && (!cuda || static_cast<std::size_t>(shape.scratchBytes) <= budget / 4);
    const bool histogramFits = slides && GetLeastHistogramScratchBytes(histogram) <= budget / 4;
    const bool program = fastest || (covered && !ranksFit && (cuda || !histogramFits));
    const bool histogramFaster = histogramFits && ranksFit && (!cuda || IsHistogramFasterThanRanks(window, pixelBytes));
    const bool merges = merged && EstimateMergePicoseconds(merge, request.outputExtent, pixelBytes) <
                                    EstimateSelectionPicoseconds(request);
    plan.algorithm = program                        ? Algorithm::TileProgram
                     : ranksFit && !histogramFaster ? Algorithm::LocalRank
                     : histogramFits                ? Algorithm::SlidingHistogram
                     : merges                       ? Algorithm::MergeTiling
                                                    : Algorithm::Selection;
    plan.algorithmReason = program   ? "the window is within the range of tile programs"
                           : covered ? "faster than the window's tile program, by measurement"
                                     : "the window is beyond the range of tile programs";
    if (!program && !ranked)
    {
      plan.algorithmReason += " and of local ranks";
    }
    else if (!program && !ranksFit)
    {
      plan.algorithmReason +=
        ", and a quarter of the budget cannot hold the " + std::to_string(shape.scratchBytes) + " bytes of local ranks";
    }
    else if (plan.algorithm == Algorithm::SlidingHistogram)
    {
      plan.algorithmReason += ", and sliding histograms are expected to be faster than local ranks";
    }
    if (cuda && (plan.algorithm == Algorithm::Selection || plan.algorithm == Algorithm::MergeTiling))
    {
      plan.algorithmReason += slides ? ", and a quarter of the budget cannot hold the " +
                                         std::to_string(GetLeastHistogramScratchBytes(histogram)) +
                                         " bytes of a region of sliding histograms"
                                     : std::string(", and no sliding histograms cover it");
    }
    if (merged)
    {
      plan.algorithmReason += merges ? "; merge tiling is expected to be faster than selection"
                                     : "; selection is expected to be faster than merge tiling";
    }
  }
  if (plan.algorithm == Algorithm::LocalRank)
  {
    plan.rank = shape;
    plan.tileReason = "lowest cost by the model of sorting and sliding";
    return;
  }
  if (plan.algorithm == Algorithm::SlidingHistogram)
  {
    if (cuda)
    {
      plan.histogram = histogram;
    }
    plan.tileReason = !cuda             ? "a row of pixels at a time"
                      : pixelBytes == 1 ? "pixels of 8 bits are sorted by their bins"
                                        : "lowest cost by the model of sorting a region and sliding";
    return;
  }
  if (plan.algorithm == Algorithm::MergeTiling)
  {
    plan.merge = merge;
    plan.tileReason = "lowest number of merges, in regions of " + std::to_string(merge.GetOutputs(0)) + "x" +
                      std::to_string(merge.GetOutputs(1)) + " outputs with " + std::to_string(merge.scratchBytes) +
                      " bytes of sorted lists";
    return;
  }
  if (plan.algorithm == Algorithm::TileProgram)
  {
    plan.tileReason = "lowest count of instructions among the tiles whose values fit in registers";
    if (!cuda)
    {
      plan.rowProgram = rowProgram;
      plan.tileReason = "measured";
      if (rowProgram == nullptr)
      {
        plan.compiled = GetCompiledProgram(window, ChooseHostTile(window));
        plan.tileReason += ", or largest power of two up to half the window";
      }
    }
    else if (interpreted)
    {
      plan.compiled = GetCompiledProgram(window, ChooseTile(window));
      plan.tileReason = "largest power of two up to half the window, within the live values a thread can hold";
    }
  }
  else
  {
    plan.tileReason = "no program runs";
  }
}

/** Scratch memory of the plan's blocks: a quarter of the budget is plenty. */
std::size_t
ChooseScratchBytes(const MedianRequest & request, const Plan & plan, std::size_t budget)
{
  if (plan.histogram)
  {
    const auto least = GetLeastHistogramScratchBytes(*plan.histogram);
    return GetHistogramScratchBytes(*plan.histogram, request.outputExtent, std::max(budget / 4, least));
  }
  if (plan.merge)
  {
    return static_cast<std::size_t>(plan.merge->scratchBytes);
  }
  if (!plan.rank)
  {
    return 0;
  }
  const auto one = static_cast<std::size_t>(plan.rank->scratchBytes);
  return GetRankScratchBytes(*plan.rank, request.outputExtent, std::max(budget / 4, one));
}

/** Kernels count positions along an axis with 32 bits, and the last blocks reach beyond the outputs. */
constexpr std::int64_t largestSlabExtent = std::int64_t{ 1 } << 30;
/** Of a slab's input, which has the halo besides. */
constexpr std::int64_t largestInputExtent = (std::int64_t{ 1 } << 31) - (std::int64_t{ 1 } << 16);

/** The outermost axis along which an input extends: the one along which images are read and written piece by piece. */
int
GetStreamedAxis(const Extent & inputExtent)
{
  int axis = Dimension - 1;
  while (axis > 0 && inputExtent[axis] == 1)
  {
    --axis;
  }
  return axis;
}

/** Strides of a box whose rows have the given number of pixels. */
Extent
GetPitchedStride(const Extent & extent, std::int64_t pitch)
{
  return { { 1, pitch, pitch * extent[1], pitch * extent[1] * extent[2] } };
}

/** Pixels along an axis of the input of a slab with so many outputs, wherever it lies. */
std::int64_t
GetInputExtent(const MedianRequest & request, int axis, std::int64_t extent)
{
  return std::min(extent + 2 * std::min(request.radius[axis], request.inputExtent[axis]), request.inputExtent[axis]);
}

/** Bytes of the input and output buffers of a slab with the given output extent, wherever it lies; with `wholeHalo`
 * also in another piece of a stream, whose halo the image does not crop. */
std::pair<std::size_t, std::size_t>
GetSlabBytes(const MedianRequest & request, const Extent & extent, bool wholeHalo = false)
{
  const auto  bytes = PixelBytes(request.pixelType);
  const int   streamed = wholeHalo ? GetStreamedAxis(request.inputExtent) : -1;
  std::size_t inputPixels = 1;
  std::size_t outputPixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto halo = std::min(request.radius[axis], request.inputExtent[axis]);
    auto       input = extent[axis] + 2 * halo;
    input = axis == streamed ? input : std::min(input, request.inputExtent[axis]);
    auto output = extent[axis];
    if (axis == 0)
    {
      // The output's rows are aligned at the same columns as the input's: less than a vector lies before them.
      const auto vector = GetDevicePitch(1, bytes);
      const auto lead =
        extent[0] == request.outputExtent[0] ? std::min(request.outputOrigin[0], halo) % vector : vector - 1;
      input = GetDevicePitch(input, bytes);
      output = GetDevicePitch(output + lead, bytes);
    }
    inputPixels *= static_cast<std::size_t>(input);
    outputPixels *= static_cast<std::size_t>(output);
  }
  return { inputPixels * bytes, outputPixels * bytes };
}

/** The outputs that are computed together: a program's tile, those of a thread block of ranks or histograms, or a root
 * tile of merges. */
std::optional<Extent>
FindTile(const Plan & plan)
{
  return plan.rowProgram  ? std::optional<Extent>(plan.rowProgram->tile)
         : plan.compiled  ? std::optional<Extent>(plan.compiled->program.GetTile())
         : plan.rank      ? std::optional<Extent>(GetRankTile(*plan.rank))
         : plan.histogram ? std::optional<Extent>(GetHistogramTile(*plan.histogram))
         : plan.merge     ? std::optional<Extent>(GetMergeTile(*plan.merge))
                          : std::nullopt;
}

/** The largest slab within the budgets: full along the inner axes, cut along the outermost axes first; down to a tile
 * also below a number of pixels. */
Extent
ChooseSlabExtent(const MedianRequest & request, const Plan & plan, std::size_t budget, std::int64_t mostPixels)
{
  const auto tile = FindTile(plan).value_or(Extent{ { 1, 1, 1, 1 } });
  const auto inFlight = static_cast<std::size_t>(plan.slabsInFlight);
  const auto needed = [&](const Extent & extent) {
    const auto bytes = GetSlabBytes(request, extent);
    return inFlight * (bytes.first + bytes.second) + plan.deviceProgramBytes + plan.deviceScratchBytes;
  };
  const auto staged = [&](const Extent & extent) {
    const auto bytes = GetSlabBytes(request, extent);
    return inFlight * ((plan.staging.input ? bytes.first : 0) + (plan.staging.output ? bytes.second : 0));
  };
  const auto fitting = [&](const Extent & extent) {
    return needed(extent) <= budget && staged(extent) <= plan.staging.budget && Volume(extent) <= mostPixels;
  };

  Extent extent;
  Extent largest;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    largest[axis] = std::min(request.outputExtent[axis], largestSlabExtent);
    if (GetInputExtent(request, axis, largest[axis]) > largestInputExtent)
    {
      const auto most = largestInputExtent - 2 * std::min(request.radius[axis], request.inputExtent[axis]);
      if (most < tile[axis])
      {
        throw RequestError("Along axis " + std::to_string(axis) + " the smallest slab of " +
                           std::to_string(tile[axis]) + " pixels has " +
                           std::to_string(GetInputExtent(request, axis, tile[axis])) + " with the radius of " +
                           std::to_string(request.radius[axis]) + " around it; CUDA kernels count up to " +
                           std::to_string(largestInputExtent));
      }
      largest[axis] = std::min(largest[axis], most / tile[axis] * tile[axis]);
    }
    extent[axis] = largest[axis];
  }
  for (int axis = Dimension - 1; axis >= 0 && !fitting(extent); --axis)
  {
    std::int64_t fits = 0;
    std::int64_t tooMany = DivideUp(extent[axis], tile[axis]);
    while (tooMany - fits > 1)
    {
      const auto middle = fits + (tooMany - fits) / 2;
      extent[axis] = middle * tile[axis];
      (fitting(extent) ? fits : tooMany) = middle;
    }
    extent[axis] = std::min(largest[axis], std::max<std::int64_t>(fits, 1) * tile[axis]);
  }
  if (needed(extent) > budget)
  {
    throw RequestError("A device memory budget of " + std::to_string(budget) +
                       " bytes cannot hold the smallest slab, which needs " + std::to_string(needed(extent)) +
                       " bytes");
  }
  if (staged(extent) > plan.staging.budget)
  {
    throw RequestError("A host memory budget of " + std::to_string(plan.staging.budget) +
                       " bytes for each device cannot hold the smallest slab on its way, which needs " +
                       std::to_string(staged(extent)) + " bytes of pinned memory");
  }
  return extent;
}

/** Pixels of a slab whose kernel ends soon enough for an abort. Kernels other than selection filter the largest slab in
 * less. */
std::int64_t
GetMostPixels(const MedianRequest & request, const Plan & plan)
{
  return plan.algorithm == Algorithm::Selection ? GetSelectedPixels(request) : std::numeric_limits<std::int64_t>::max();
}

/** Images of this many bytes, in and out, go through in several slabs, some on their way while others are filtered. */
constexpr std::size_t smallestOverlapped = std::size_t{ 32 } << 20;
/** The input of such a slab on one device, without its halo: small against an image and, four times in pinned memory,
 * against the host's caches; large against what it costs to start a transfer and a kernel. 1 GiB in ordinary memory,
 * 3x3, took 60, 29, 24.5 and 26.5 ms with slabs of 2, 4, 8 and 16 MiB. */
constexpr std::size_t overlappedSlab = std::size_t{ 8 } << 20;
/** The inputs of the slabs of several devices together: with the caches in mind again, which all of their rings share.
 * Four devices took 21.3 ms for that with slabs of 8 MiB and 19.0 with 4. */
constexpr std::size_t overlappedSlabsTogether = 2 * overlappedSlab;
/** The slab of one device where kernels, not transfers, take most of the time: their blocks are few and long, and at
 * the end of a small slab most multiprocessors would wait for the last of them. */
constexpr std::size_t overlappedLongSlab = std::size_t{ 16 } << 20;
constexpr int         overlappedSlabs = 4;
/** Several devices have this many slabs each, so that one that is slower holds the others up little, unless their
 * inputs would be smaller than so many bytes. */
constexpr std::size_t slabsPerDevice = 8;
constexpr std::size_t smallestDealt = std::size_t{ 4 } << 20;

/** Bytes of input that slabs have when they are on their way at the same time. */
std::size_t
GetOverlappedSlab(const MedianRequest & request, const Plan & plan, std::size_t inputBytes)
{
  const auto devices = std::max<std::size_t>(1, request.devices.size());
  const auto slab = plan.algorithm == Algorithm::TileProgram
                      ? std::min(overlappedSlab, overlappedSlabsTogether / devices)
                      : overlappedLongSlab;
  return devices > 1 ? std::max(smallestDealt, std::min(slab, inputBytes / (slabsPerDevice * devices))) : slab;
}

/** The slabs' extent, and how many are in flight. */
Extent
ChooseSlabs(const MedianRequest & request, std::size_t budget, Plan & plan)
{
  const auto mostPixels = GetMostPixels(request, plan);
  const auto whole = GetSlabBytes(request, request.outputExtent, true);
  if (whole.first + whole.second > smallestOverlapped)
  {
    // A halo passes from slab to slab on the device. Slabs of long kernels are at least twice as long as what they
    // share.
    int cut = Dimension - 1;
    while (cut > 0 && request.outputExtent[cut] == 1)
    {
      --cut;
    }
    Extent slice = request.outputExtent;
    for (int axis = cut; axis < Dimension; ++axis)
    {
      slice[axis] = 1;
    }
    const auto layer = static_cast<std::size_t>(Volume(slice)) * PixelBytes(request.pixelType);
    const auto halo = static_cast<std::size_t>(std::min(request.radius[cut], request.inputExtent[cut]));
    const auto fresh = GetOverlappedSlab(request, plan, whole.first);
    const auto shared = halo * layer;
    const auto outputs = plan.algorithm == Algorithm::TileProgram ? fresh : std::max(fresh, 3 * shared);
    const auto staged = ((plan.staging.input ? 1 : 0) + (plan.staging.output ? 1 : 0)) * (shared + outputs);
    for (const int inFlight : { overlappedSlabs, 3, 2 })
    {
      plan.slabsInFlight = inFlight;
      const auto buffers = static_cast<std::size_t>(inFlight) * 2 * (shared + outputs);
      const bool isStaged = static_cast<std::size_t>(inFlight) * staged <= plan.staging.budget;
      for (const auto limit : { std::min(budget, buffers + plan.deviceProgramBytes + plan.deviceScratchBytes), budget })
      {
        try
        {
          const auto extent = ChooseSlabExtent(request, plan, limit, mostPixels);
          // Rather fewer slabs on their way than slabs that are small against the halo, which they all stage.
          if (isStaged || inFlight == 2 || GetSlabBytes(request, extent).second >= outputs / 2)
          {
            return extent;
          }
          break;
        }
        catch (const RequestError &)
        {
          // Not even a tile: with the whole budget, or without slabs beside it.
        }
      }
      if (isStaged)
      {
        break;
      }
    }
    plan.slabsInFlight = 1;
  }
  return ChooseSlabExtent(request, plan, budget, mostPixels);
}

/** Calls a function with each box of at most a given extent that a larger extent is cut into, axis 0 fastest. */
template <typename TBody>
void
ForEachBox(const Extent & whole, const Extent & extent, const TBody & body)
{
  PixelBox box;
  auto &   origin = box.origin;
  for (origin[3] = 0; origin[3] < whole[3]; origin[3] += extent[3])
    for (origin[2] = 0; origin[2] < whole[2]; origin[2] += extent[2])
      for (origin[1] = 0; origin[1] < whole[1]; origin[1] += extent[1])
        for (origin[0] = 0; origin[0] < whole[0]; origin[0] += extent[0])
        {
          for (int axis = 0; axis < Dimension; ++axis)
          {
            box.extent[axis] = std::min(extent[axis], whole[axis] - origin[axis]);
          }
          body(box);
        }
}

void
CutIntoSlabs(const MedianRequest & request, const Extent & extent, Plan & plan)
{
  ForEachBox(request.outputExtent, extent, [&](const PixelBox & box) {
    Slab slab;
    slab.output = box;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      slab.output.origin[axis] += request.outputOrigin[axis];
    }
    slab.input = GetInputBox(request, slab.output);
    plan.slabs.push_back(slab);
  });
}

/** The programs that were compiled so far.
 *
 * A child that is forked while another thread is in here finds the list whole and unlocked: the fork waits for that
 * thread. The list is never destroyed, as threads that nobody waits for may be in here when the process ends. */
class ProgramList
{
public:
  ProgramList()
  {
#ifndef _WIN32
    pthread_atfork([] { Get().m_Mutex.lock(); }, [] { Get().m_Mutex.unlock(); }, [] { Get().m_Mutex.unlock(); });
#endif
  }

  static ProgramList &
  Get()
  {
    static ProgramList & list = *new ProgramList;
    return list;
  }

  std::shared_ptr<const CompiledProgram>
  Find(const Window & window, const Extent & tile)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            entry = m_Programs[{ window, tile }];
    if (!entry)
    {
      auto program = BuildHierarchicalTilingProgram(window, tile, { GetRootTile(window, tile) });
      auto schedule = ScheduleProgram(program);
      entry = std::make_shared<const CompiledProgram>(CompiledProgram{ std::move(program), std::move(schedule) });
    }
    return entry;
  }

private:
  std::mutex                                                                  m_Mutex;
  std::map<std::pair<Window, Extent>, std::shared_ptr<const CompiledProgram>> m_Programs;
};

/** Makes the list when the library is loaded: at its first use a child could find it half made. */
[[maybe_unused]] const ProgramList & listAtLoad = ProgramList::Get();

} // namespace

std::shared_ptr<const CompiledProgram>
GetCompiledProgram(const Window & window, const Extent & tile)
{
  return ProgramList::Get().Find(window, tile);
}

std::size_t
GetDeviceProgramBytes(const ProgramSchedule & schedule)
{
  return schedule.instructions.size() * sizeof(ProgramSchedule::Instruction) +
         schedule.outputs.size() * sizeof(std::uint16_t);
}

std::int64_t
GetDevicePitch(std::int64_t pixels, std::size_t pixelBytes)
{
  const auto vector = deviceAlignment / static_cast<std::int64_t>(pixelBytes);
  return RoundUp(pixels, vector);
}

Extent
GetDeviceInputStride(const Slab & slab, std::size_t pixelBytes)
{
  return GetPitchedStride(slab.input.extent, GetDevicePitch(slab.input.extent[0], pixelBytes));
}

Extent
GetDeviceOutputStride(const Slab & slab, std::size_t pixelBytes)
{
  return GetPitchedStride(slab.output.extent,
                          GetDevicePitch(slab.output.extent[0] + GetOutputLead(slab, pixelBytes), pixelBytes));
}

std::int64_t
GetOutputLead(const Slab & slab, std::size_t pixelBytes)
{
  return (slab.output.origin[0] - slab.input.origin[0]) % GetDevicePitch(1, pixelBytes);
}

double
CountWindowPixels(const MedianRequest & request)
{
  double pixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    pixels *=
      std::min(2.0 * static_cast<double>(request.radius[axis]) + 1, static_cast<double>(request.inputExtent[axis]));
  }
  return pixels;
}

double
EstimateSelectionPicoseconds(const MedianRequest & request)
{
  // 220e9 pixels of windows a second at 16 bits.
  return CountWindowPixels(request) * static_cast<double>(PixelBytes(request.pixelType)) / 2 / 0.22;
}

PixelBox
GetInputBox(const MedianRequest & request, const PixelBox & output)
{
  PixelBox input;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto size = request.inputExtent[axis];
    const auto halo = std::min(request.radius[axis], size);
    const auto first = std::max<std::int64_t>(output.origin[axis] - halo, 0);
    const auto last = std::min(output.origin[axis] + output.extent[axis] + halo, size);
    input.origin[axis] = first;
    input.extent[axis] = last - first;
  }
  return input;
}

std::int64_t
GetSelectedPixels(const MedianRequest & request)
{
  return std::max<std::int64_t>(1024, static_cast<std::int64_t>(0.02e12 / EstimateSelectionPicoseconds(request)));
}

std::vector<PixelBox>
CutIntoLaunches(const PixelBox & box, std::int64_t mostPixels)
{
  Extent       piece;
  std::int64_t pixels = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    piece[axis] = std::min(box.extent[axis], std::max<std::int64_t>(mostPixels / pixels, 1));
    pixels *= std::max<std::int64_t>(piece[axis], 1);
  }
  std::vector<PixelBox> pieces;
  ForEachBox(box.extent, piece, [&](const PixelBox & part) {
    pieces.push_back(part);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      pieces.back().origin[axis] += box.origin[axis];
    }
  });
  return pieces;
}

Plan
PlanMedian(const MedianRequest & request, Backend backend, std::size_t budget, const Staging & staging)
{
  Plan plan;
  plan.backend = backend;
  ChooseAlgorithm(request, budget, plan);
  Extent slabExtent = request.outputExtent;
  if (backend == Backend::Cuda)
  {
    plan.deviceMemoryBudget = budget;
    plan.staging = staging;
    plan.deviceProgramBytes = plan.compiled ? GetDeviceProgramBytes(plan.compiled->schedule) : 0;
    plan.deviceScratchBytes = ChooseScratchBytes(request, plan, budget);
    slabExtent = ChooseSlabs(request, budget, plan);
    // A stream's first piece lies at the image's edge: where there is room, its buffers are those of the next as well.
    for (const bool wholeHalo : { true, false })
    {
      const auto bytes = GetSlabBytes(request, slabExtent, wholeHalo);
      plan.deviceInputBytes = bytes.first;
      plan.deviceOutputBytes = bytes.second;
      if (plan.GetDeviceBytes() <= budget && plan.GetStagedBytes() <= staging.budget)
      {
        break;
      }
    }
    plan.slabReason = slabExtent == request.outputExtent ? "the whole request fits in the budget"
                      : plan.slabsInFlight > 1
                        ? "slabs of " + Join(slabExtent) + " pixels, " + std::to_string(plan.slabsInFlight) +
                            " of them on their way at the same time"
                        : "slabs of " + Join(slabExtent) + " pixels are the largest that fit in the budget";
  }
  else
  {
    plan.slabReason = "the CPU backend works in the image's own memory";
  }
  CutIntoSlabs(request, slabExtent, plan);
  return plan;
}

void
DescribePlan(const Plan & plan, ExecutionReport & report)
{
  report.backend = ToString(plan.backend);
  report.algorithm = ToString(plan.algorithm);
  report.algorithmReason = plan.algorithmReason;
  report.tileReason = plan.tileReason;
  report.numberOfSlabs = plan.slabs.size();
  report.slabReason = plan.slabReason;
  report.tile = FindTile(plan).value_or(Extent{});
  report.operations = plan.compiled || plan.rowProgram != nullptr ? plan.CountHostOperations() : 0;
}

} // namespace cudamedian
