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
#ifndef Planner_h
#define Planner_h

#include "HistogramPolicy.h"
#include "itkCudaMedianEngine.h"
#include "MergePolicy.h"
#include "ProgramSchedule.h"
#include "RankPolicy.h"
#include "RequestWindow.h"
#include "RowPrograms.h"
#include "TileProgram.h"

#include <limits>
#include <memory>
#include <optional>

namespace cudamedian
{

/** A box of pixels, relative to the first pixel of the input buffer. */
struct PixelBox
{
  Extent origin{ { 0, 0, 0, 0 } };
  Extent extent{ { 0, 0, 0, 0 } };
};

/** The part of the image processed at once: the outputs, and the inputs they need (the outputs' box with its halo,
 * cropped to the image; clamping to this box is the same as clamping to the image). */
struct Slab
{
  PixelBox input;
  PixelBox output;
};

/** A tile program with its schedule; both are shared between plans. */
struct CompiledProgram
{
  TileProgram     program;
  ProgramSchedule schedule;
};

/** What of the host's memory slabs may pass through on their way from and to an image that the bus does not read and
 * write where it lies: with each context, a buffer for the input and one for the output of each slab on its way. */
struct Staging
{
  bool        input{ true };
  bool        output{ true };
  std::size_t budget{ std::numeric_limits<std::size_t>::max() }; ///< bytes
};

/** What a backend is to do. */
struct Plan
{
  Backend                                backend{ Backend::Cpu };
  Algorithm                              algorithm{ Algorithm::Selection };
  std::shared_ptr<const CompiledProgram> compiled; ///< what can be interpreted; null where nothing can or has to be
  const RowProgram *                     rowProgram{ nullptr }; ///< what the CPU runs instead: compiled ahead
  std::optional<RankShape>               rank;                  ///< how blocks are cut for Algorithm::LocalRank
  std::optional<HistogramShape>          histogram;             ///< how they are cut for Algorithm::SlidingHistogram
  std::optional<MergeShape>              merge;                 ///< how they are cut for Algorithm::MergeTiling
  std::vector<Slab>                      slabs;
  int                                    slabsInFlight{ 1 }; ///< slabs that have buffers on the device at the same time
  std::size_t                            deviceMemoryBudget{ 0 };
  Staging                                staging;
  /** A buffer that holds the input of any slab, and where the budget allows that of any slab of the same extent in
   * other pieces of a stream, so that they find their memory allocated. */
  std::size_t deviceInputBytes{ 0 };
  std::size_t deviceOutputBytes{ 0 }; ///< a buffer that holds the output of any slab
  std::size_t deviceProgramBytes{ 0 };
  std::size_t deviceScratchBytes{ 0 }; ///< ranks of blocks, sorted regions, or a region's lists
  std::string algorithmReason;
  std::string tileReason;
  std::string slabReason;

  /** The tile of the program that the CPU runs for Algorithm::TileProgram. */
  const Extent &
  GetHostTile() const
  {
    return rowProgram != nullptr ? rowProgram->tile : compiled->program.GetTile();
  }

  /** The operations of that program. */
  std::size_t
  CountHostOperations() const
  {
    return rowProgram != nullptr ? rowProgram->operations : compiled->program.GetInstructions().size();
  }

  std::size_t
  GetDeviceBytes() const
  {
    return static_cast<std::size_t>(slabsInFlight) * (deviceInputBytes + deviceOutputBytes) + deviceProgramBytes +
           deviceScratchBytes;
  }

  /** Memory of the host that slabs pass through. */
  std::size_t
  GetStagedBytes() const
  {
    return static_cast<std::size_t>(slabsInFlight) *
           ((staging.input ? deviceInputBytes : 0) + (staging.output ? deviceOutputBytes : 0));
  }
};

/** The program of a window in a tile that hierarchical tiling divides down to single pixels. Built once per process,
 * window and tile. Thread-safe. */
std::shared_ptr<const CompiledProgram>
GetCompiledProgram(const Window & window, const Extent & tile);

/** Bytes of device memory that a program's schedule takes for the kernel that interprets it. */
std::size_t
GetDeviceProgramBytes(const ProgramSchedule & schedule);

/** Rows of device buffers start at multiples of this many bytes, so that kernels can move 16 bytes at once. */
constexpr std::int64_t deviceAlignment = 16;

/** A row of pixels in a device buffer, in pixels: the given number rounded up to the alignment. */
std::int64_t
GetDevicePitch(std::int64_t pixels, std::size_t pixelBytes);

/** Strides of a slab's input in device memory, whose rows start at multiples of 16 bytes, in pixels. */
Extent
GetDeviceInputStride(const Slab & slab, std::size_t pixelBytes);

/** The same for its output, whose rows have GetOutputLead() columns before the first. */
Extent
GetDeviceOutputStride(const Slab & slab, std::size_t pixelBytes);

/** How many columns the device's output rows have before the slab's first output, so that both buffers are aligned at
 * the same columns of the image. */
std::int64_t
GetOutputLead(const Slab & slab, std::size_t pixelBytes);

/** Pixels of the window, as far as it is no larger than the image. */
double
CountWindowPixels(const MedianRequest & request);

/** What an output takes on an H200 by selection, in picoseconds: it reads the window once per bit of a key. */
double
EstimateSelectionPicoseconds(const MedianRequest & request);

/** The input box that an output box needs. */
PixelBox
GetInputBox(const MedianRequest & request, const PixelBox & output);

/** Pixels that selection filters in 0.02 s on an H200, soon enough for a display driver's watchdog on slower devices
 * too: it reads the window once per bit of a key, 220e9 pixels of windows a second at 16 bits. */
std::int64_t
GetSelectedPixels(const MedianRequest & request);

/** Cuts a box into boxes of at most a number of pixels, or of one pixel: whole along the inner axes, cut along the
 * outermost ones first. */
std::vector<PixelBox>
CutIntoLaunches(const PixelBox & box, std::int64_t mostPixels);

/** Plans a request for a backend (not `Auto`). For several devices the slabs are smaller, so that each gets some.
 *
 * \param budget bytes of device memory the plan must keep to, with each of the request's devices; used for `Cuda` only.
 * \param staging the same for the host's memory that slabs pass through.
 * \throws RequestError when the algorithm asked for cannot run the window, when a budget cannot hold the smallest slab
 * (one tile with its halo; the text gives the smallest budget that does), or when that slab is longer along an axis
 * than kernels can count. */
Plan
PlanMedian(const MedianRequest & request, Backend backend, std::size_t budget, const Staging & staging = Staging());

/** Writes into a report what a plan is: the backend, the algorithm, the tile, the operations and the slabs, each with
 * its reason. The tile is a program's, or the outputs of one thread block of ranks or histograms. */
void
DescribePlan(const Plan & plan, ExecutionReport & report);

} // namespace cudamedian

#endif
