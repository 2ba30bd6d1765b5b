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

#include "KernelArguments.h"
#include "PixelKey.h"
#include "ValidRanks.h"

#include <cuda_runtime_api.h>

/** What prepares a copy of an image in device memory some of whose pixels are not valid, and what writes its medians:
 * the steps of plan/MaskedCopy, one after the other in a stream. Arguments are plain data. Boxes without gaps have axis
 * 0 fastest; strides are in pixels. Each launch is asynchronous and returns CUDA's error. */
namespace cudamedian
{

/** A copy of what windows see, and which of its pixels are valid.
 *
 * A line of the copy along `axis` is cut into segments, and a thread has one of them. The first step marks pixels that
 * are valid, and counts whether a segment has an odd number of others. The second one knows by that with which of the
 * two keys a segment starts, as if somebody had gone along the whole line. */
struct MarkArguments
{
  void *         pixels; ///< the copy; half floats as integers of their order
  std::int64_t   extent[Dimension];
  std::int64_t   stride[Dimension];
  std::int64_t   origin[Dimension];      ///< of the copy in the image
  std::int64_t   imageExtent[Dimension]; ///< of the image and of the mask
  Border         border[Dimension];
  const void *   mask; ///< null: there is none
  std::int64_t   maskStride[Dimension];
  std::uint64_t  ignored;    ///< the bits of a pixel, as those below
  std::uint64_t  magnitudes; ///< all bits of a float but for its sign; 0 for integers
  std::uint64_t  infinity;
  std::uint64_t  least; ///< what pixels that are not valid get, as it is in the copy
  std::uint64_t  greatest;
  std::int64_t   segments; ///< of a line
  std::int64_t   segmentLength;
  std::int8_t *  marks;    ///< of the copy, without gaps: 1 or 0; later 1, -1 or, where a pixel is valid, 0
  std::uint8_t * parities; ///< of each segment
  int            axis;
  int            maskBytes; ///< of a pixel of the mask
  PixelType      pixelType;
  Wanted         wanted;
  bool           hasIgnored;
  bool           omitsNaN;
};

/** Sums of what lies in windows, or in a part of them. A sum counts least keys in its lower half and greatest keys in
 * its upper half. */
struct SumArguments
{
  const void *            from; ///< marks at first, then sums
  void *                  to;
  std::int64_t            fromExtent[Dimension];
  std::int64_t            toExtent[Dimension];
  const FootprintMember * members; ///< of a footprint; null: a box is summed along one axis after the other
  std::int64_t            count;   ///< of them, or of values along the axis
  std::int64_t            step;    ///< from one value to the next
  bool                    readsMarks;
  int                     sumBytes; ///< 2, 4 or 8
};

/** The ranks of all outputs, as kernels read them. */
struct RankArguments
{
  const void * sums;
  void *       ranks; ///< of the first output; those of others lie apart as their results do
  std::int64_t extent[Dimension];
  std::int64_t stride[Dimension];
  std::int64_t values; ///< of a window
  std::int64_t first;  ///< the rank that counts as 0
  int          rankBytes;
  bool         isLower;
  int          sumBytes;
};

/** Results on their way to the output. */
struct FinishArguments
{
  void *                results; ///< of the first output
  const void *          others;  ///< the lower middle values, of which and the results the mean is wanted
  std::int64_t          resultStride[Dimension];
  std::int64_t          extent[Dimension];
  const void *          input; ///< the first output's own pixel …
  std::int64_t          inputStride[Dimension];
  void *                output; ///< … and its place
  std::int64_t          outputStride[Dimension];
  const void *          sums;  ///< null: all pixels are valid
  std::int8_t *         marks; ///< of the first output's own pixel
  std::int64_t          markStride[Dimension];
  std::int64_t          values;
  std::uint64_t         farthest;   ///< the bits of the distance up to which pixels are no outliers …
  const std::uint32_t * deviations; ///< … or, unless null, the distances that are so many times as far
  double                times;
  std::uint64_t         emptyValue;
  std::uint64_t         invalidValue;
  PixelType             pixelType;
  EmptyWindow           emptyWindow;
  InvalidOutput         invalidOutput;
  bool                  keepsNear; ///< whether outliers alone are replaced
  int                   sumBytes;
};

/** The median absolute deviation of each window, of pixels of up to 32 bits: an integer or the bits of a float. */
struct DeviationArguments
{
  const void *            pixels; ///< of the copy: the first window's first pixel, or a footprint's own
  std::int64_t            stride[Dimension];
  const std::int8_t *     marks; ///< of the same pixel; null: all pixels are valid
  std::int64_t            markStride[Dimension];
  const void *            medians; ///< of the first output, as they are in the copy
  std::int64_t            medianStride[Dimension];
  std::int64_t            extent[Dimension]; ///< of the outputs
  std::int64_t            window[Dimension]; ///< the size of a box
  const FootprintMember * members;           ///< of a footprint; null: a box
  std::int64_t            count;             ///< of them
  std::uint32_t *         deviations;        ///< without gaps
  std::uint32_t           signMask;          ///< see KeyMapping::Integer
  PixelType               pixelType;
};

cudaError_t
LaunchMarks(const MarkArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchFilling(const MarkArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchSums(const SumArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchRanks(const RankArguments & arguments, cudaStream_t stream);

/** Replaces results by means. */
cudaError_t
LaunchMeans(const FinishArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchDeviations(const DeviationArguments & arguments, cudaStream_t stream);

cudaError_t
LaunchFinish(const FinishArguments & arguments, cudaStream_t stream);

} // namespace cudamedian

#endif
