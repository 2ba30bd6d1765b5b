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
#ifndef itkCudaMedianVectorMedian_h
#define itkCudaMedianVectorMedian_h

#include "itkCudaMedianEngine.h"

/** The vector median of images whose pixels have several components. Knows neither ITK nor CUDA. */
namespace cudamedian
{

/** How far two pixels are apart.
 * - `L1`: the sum of the absolute differences of their components.
 * - `L2`: the root of the sum of the squared differences. */
enum class VectorNorm : std::uint8_t
{
  L1,
  L2
};

const CudaMedian_EXPORT char *
ToString(VectorNorm norm);

/** Components that a pixel may have. */
constexpr int fewestVectorComponents = 2;
constexpr int mostVectorComponents = 4;

/** The most pixels of a window. */
constexpr std::int64_t mostVectorWindowPixels = 25;

/** What is asked of the engine. Strides are in pixels; axis 0 has stride 1 in input and output. */
struct VectorMedianRequest
{
  PixelType    componentType{ PixelType::UInt8 };
  int          components{ 3 };               ///< of a pixel, one after the other in memory: two to four
  const void * input{ nullptr };              ///< first pixel of the input buffer
  Extent       inputExtent{ { 0, 0, 0, 0 } }; ///< size of the input buffer; coordinates are clamped to it
  Extent       radius{ { 0, 0, 0, 0 } };      ///< of a window of at most 25 pixels
  VectorNorm   norm{ VectorNorm::L1 };
  Extent       outputOrigin{ { 0, 0, 0, 0 } }; ///< first requested pixel, relative to the first input pixel
  Extent       outputExtent{ { 0, 0, 0, 0 } }; ///< number of requested pixels along each axis
  void *       output{ nullptr };              ///< where the first requested pixel is written
  Extent       outputStride{ { 1, 0, 0, 0 } };
  Backend      backend{ Backend::Auto };
  std::size_t  deviceMemoryBudget{ 0 }; ///< bytes of memory allowed on each device; 0: a share of what is free
  /** Numbers of the CUDA devices that share the work; empty: the current one. */
  std::vector<int> devices;
  unsigned         workUnits{ 1 }; ///< concurrency that parallelFor provides
  ParallelFor      parallelFor;    ///< null: a plain loop
  /** Called from the thread that called RunVectorMedian with the fraction done, rising to 1. May throw to stop the run:
   * the exception reaches the caller after the backend has released what it held, and nothing is tried again. */
  std::function<void(float)> progress;
};

/** Finds the vector median of every requested pixel (J. Astola, P. Haavisto and Y. Neuvo, "Vector Median Filters",
 * 1990): the pixel of the window whose distances to all pixels of the window have the least sum. Of several with the
 * same sum it is the first in the window's raster order, axis 0 first. Windows are boxes of 2r+1 pixels along each
 * axis; beyond the input's border there is the nearest pixel of the input.
 *
 * The result does not depend on the backend, to the last bit, because sums are these:
 * - L1 of integers: the exact sum of the exact distances.
 * - L2 of integers of 8 and 16 bits: the exact sum of the roots, each of which is the `float` nearest to the root of
 * the exact sum of squares.
 * - All others: `double`. Differences of integers are exact and then rounded to `double`; differences of floating point
 *   numbers are those of the numbers as `double`, and 0 between equal infinities. Each operation is rounded once:
 *   squares or absolute values are added from the first component to the last, then the root is taken. Distances are
 *   added along the first axis of the window, the sums of its rows along the second.
 *
 * A pixel with a NaN is as far from others as can be: it is taken only where all pixels of the window have one, and
 * then the first is. To the sums of others it adds nothing.
 *
 * `Backend::Auto` takes CUDA where a device can be used, and the CPU where none can or a call fails.
 *
 * \throws RequestError when the request is inconsistent, or, unless Backend::Auto takes the CPU then, its budget cannot
 * hold the smallest slab.
 * \throws DeviceError when Backend::Cuda is asked for without a usable device, or a CUDA call of it fails. */
CudaMedian_EXPORT ExecutionReport
RunVectorMedian(const VectorMedianRequest & request);

} // namespace cudamedian

#endif
