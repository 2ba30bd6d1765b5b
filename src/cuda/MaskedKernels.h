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
#ifndef MaskedKernels_h
#define MaskedKernels_h

#include "DeviationBound.h"
#include "KernelArguments.h"
#include "PixelKey.h"
#include "ValidRanks.h"

#include <cuda_runtime_api.h>

/** What prepares a copy of an image in device memory some of whose pixels are not valid, and what writes its medians:
 * the steps of plan/MaskedCopy, one after the other in a stream. Arguments are plain data. Strides are in pixels. Each
 * launch is asynchronous and returns CUDA's error. */
namespace cudamedian
{

/** A flag for each pixel of a box, those of 32 pixels of a row in a word. Passes over flags move an eighth of a byte a
 * pixel. */
struct Flags
{
  std::uint32_t * words;             ///< null: no flag is set
  std::int64_t    stride[Dimension]; ///< words from one position along an axis to the next; along axis 0 from a word
};

/** Which pixels of a copy are not valid. */
struct MarkArguments
{
  const void *  image;
  std::int64_t  imageStride[Dimension];
  std::int64_t  imageExtent[Dimension]; ///< of the image and of the mask
  const void *  mask;                   ///< null: there is none
  std::int64_t  maskStride[Dimension];
  Border        border[Dimension];
  std::int64_t  origin[Dimension]; ///< of the copy in the image
  std::int64_t  extent[Dimension]; ///< of the copy
  std::int64_t  firstColumn;       ///< that a window sees
  std::uint64_t constant;          ///< the bits of a pixel, as those below
  std::uint64_t ignored;
  std::uint64_t magnitudes; ///< all bits of a float but for its sign; 0 for integers
  std::uint64_t infinity;
  Flags         invalid;   ///< whether a pixel is not valid; 0 behind the copy, to the end of rows
  int           maskBytes; ///< of a pixel of the mask
  PixelType     pixelType;
  bool          hasIgnored;
  bool          omitsNaN;
};

/** Which key each pixel of a copy gets that is not valid, where lines are not rows.
 *
 * Along lines of an axis they get the least and the greatest key in turn. A line is cut into segments, and a thread has
 * one of them, of 32 lines next to each other. The first step finds whether a segment has an odd number of them. The
 * second one knows by that with which of the two keys a segment starts, as if somebody had gone along the whole line.
 *
 * Flags have one place more along the axis than the copy has: a window's least keys are as many more than its greatest
 * ones as lines of it begin with the least key's turn, less those behind which it is. */
struct TurnArguments
{
  Flags           invalid;
  Flags           turns; ///< whether it is the greatest key's turn; as many words as of `invalid`
  std::int64_t    segments[Dimension];
  std::int64_t    segmentLength; ///< in pixels
  std::int64_t    lineWords;     ///< of a line along the axis
  std::uint32_t * parities;      ///< of each segment
  int             axis;
};

/** A copy of a box of an image with its border, and with keys where pixels are not valid. */
struct FillArguments
{
  const void * image;
  std::int64_t imageStride[Dimension];
  std::int64_t imageExtent[Dimension];
  Border       border[Dimension];
  std::int64_t origin[Dimension]; ///< of the copy in the image
  void *       copy;              ///< half floats are there as integers of their order
  std::int64_t stride[Dimension]; ///< rows start at multiples of 16 bytes; behind the last pixel they are filled with 0
  std::int64_t extent[Dimension];
  std::int64_t firstColumn; ///< that a window sees; those before it are filled with 0
  Flags        invalid;
  Flags        turns;
  std::uint64_t constant; ///< the bits of a pixel beyond the image
  std::uint64_t least;    ///< what pixels that are not valid get, in the copy, as often as it has room in 64 bits
  std::uint64_t greatest;
  PixelType     pixelType;
};

/** Marks, turns along axis 0 and the copy, all of which have the same rows. */
struct RowsArguments
{
  MarkArguments marks;
  Flags         turns; ///< none where keys do not come in turn
  FillArguments filling;
};

/** Pixels of a footprint that follow each other along the axis of a copy's turns. */
struct FlagRun
{
  std::int32_t  offset[Dimension]; ///< of the first one
  std::int32_t  length;
  std::uint32_t weight; ///< how often they count
};

/** The ranks of all outputs, as kernels read them, and whether their windows have any valid pixel. */
struct RankArguments
{
  Flags                   invalid;
  Flags                   turns;
  std::int64_t            first;             ///< a bit: of the first window's first pixel, or of a footprint's own
  std::int64_t            window[Dimension]; ///< the size of a box
  const FlagRun *         runs;              ///< of a footprint; null: a box
  const FootprintMember * members;           ///< of a footprint
  std::int64_t            runCount;
  std::int64_t            memberCount;
  int                     axis;  ///< of the turns
  Flags                   empty; ///< of the outputs
  void *                  ranks; ///< of the first output; those of others lie apart as their results do. Null: none
  std::int64_t            extent[Dimension];
  std::int64_t            stride[Dimension];
  std::int64_t rowRanks; ///< from a row's first rank to its last place; the outputs' where there are no ranks
  std::int32_t added;    ///< to the sum of turns, before it is halved
  int          digits;   ///< in which the sum of the turns has room: 4, 8 or 32
  int          rankBytes;
};

/** Results on their way to the output. */
struct FinishArguments
{
  void *        results; ///< of the first output; the output itself where they are there already
  const void *  others;  ///< the lower middle values, of which and the results the mean is wanted
  std::int64_t  resultStride[Dimension];
  std::int64_t  extent[Dimension];
  const void *  input; ///< the first output's own pixel …
  std::int64_t  inputStride[Dimension];
  void *        output; ///< … and its place
  std::int64_t  outputStride[Dimension];
  Flags         empty;
  Flags         invalid;
  std::int64_t  own;      ///< a bit: of the first output's own pixel
  std::uint64_t farthest; ///< the bits of the distance up to which pixels are no outliers
  std::uint64_t emptyValue;
  std::uint64_t invalidValue;
  PixelType     pixelType;
  EmptyWindow   emptyWindow;
  InvalidOutput invalidOutput;
  bool          keepsNear; ///< whether outliers alone are replaced
};

/** A table of bounds of all distances of integers of up to 16 bits; see DeviationBound.h. */
struct BoundArguments
{
  void *         bounds;
  std::int64_t   extent[Dimension]; ///< of the table: as many as there are values of a pixel
  DeviationBound bound;
};

/** Outputs of pixels of up to 32 bits of which outliers by deviations alone are replaced. */
struct OutlierArguments
{
  FinishArguments finish;
  const void *    pixels; ///< of the copy: the first window's first pixel, or a footprint's own; of an image: its own
  std::int64_t    stride[Dimension];
  std::int64_t    first;             ///< a bit: of the same pixel
  std::int64_t    window[Dimension]; ///< the size of a box
  const FootprintMember * members;   ///< of a footprint; null: a box
  std::int64_t            memberCount;
  std::int64_t            count;  ///< values of a window
  const void *            bounds; ///< the table, where pixels are integers of up to 16 bits
  DeviationBound          bound;
  std::uint32_t           signMask; ///< see KeyMapping::Integer
  std::uint32_t           one;      ///< 1, unknown to the compiler: see MultiplyAdd()
  bool                    isWeighted;
  bool                    isImage; ///< whether that is the image where it lies; see AreOutliersToldInPlace()
};

cudaError_t
LaunchMarks(const MarkArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchParities(const TurnArguments & arguments, cudaStream_t stream);

/** Finds whose turn it is, by the parities. */
cudaError_t
LaunchTurns(const TurnArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchFilling(const FillArguments & arguments, cudaStream_t stream);

/** Does what the four above do, in one pass. */
cudaError_t
LaunchRows(const RowsArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchRanks(const RankArguments & arguments, cudaStream_t stream);

/** Replaces results by means. */
cudaError_t
LaunchMeans(const FinishArguments & arguments, cudaStream_t stream);

/** Writes a table of bounds. */
cudaError_t
LaunchBounds(const BoundArguments & arguments, cudaStream_t stream);

/** Writes all outputs of windows that have valid pixels, of pixels that are valid. */
cudaError_t
LaunchOutlierKernel(const OutlierArguments & arguments, cudaStream_t stream);

/** Writes all outputs. */
cudaError_t
LaunchFinish(const FinishArguments & arguments, cudaStream_t stream);

/** Writes those outputs that are no medians, where results are in the output already. */
cudaError_t
LaunchExceptions(const FinishArguments & arguments, cudaStream_t stream);

} // namespace cudamedian

#endif
