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
#ifndef ClippedMedian_h
#define ClippedMedian_h

#include "itkCudaMedianEngine.h"

#include <array>
#include <cstdint>
#include <functional>

/** The median as vtkImageMedian3D defines it, for the pixels of one component. */
namespace cudamedian
{

/** A box of pixels, in the image's coordinates. */
struct ClippedBox
{
  std::array<std::int64_t, 3> first{ 0, 0, 0 };
  std::array<std::int64_t, 3> size{ 0, 0, 0 };

  /** Number of pixels. */
  std::int64_t
  GetVolume() const
  {
    return size[0] * size[1] * size[2];
  }
};

/** What is wanted: the image, the kernel, and who does the work. */
struct ClippedRequest
{
  PixelType                   type{ PixelType::UInt8 };
  const void *                input{ nullptr }; ///< first pixel of the image, without gaps, axis 0 fastest
  ClippedBox                  image;            ///< where the image lies
  std::array<std::int64_t, 3> kernel{ 1, 1, 1 };
  ClippedBox                  wanted;            ///< the pixels to compute, inside the image
  void *                      output{ nullptr }; ///< the first wanted pixel
  std::int64_t                outputRow{ 0 };    ///< pixels from one row of the output to the next
  std::int64_t                outputSlice{ 0 };  ///< pixels from one slice of the output to the next
  unsigned                    workUnits{ 1 };    ///< concurrency that parallelFor provides
  ParallelFor                 parallelFor;       ///< null: a plain loop
  Backend                     backend{ Backend::Auto };
  std::uint64_t               deviceMemoryBudget{ 0 }; ///< bytes; 0: a share of what is free
  std::function<void(double)> progress;                ///< the fraction done; may throw to stop the run
};

/** \throws RequestError when a kernel has no pixel, or wanted pixels lie outside the image. */
void
CheckClippedRequest(const ClippedRequest & request);

/** Computes the median of every wanted pixel over its window without what lies outside the image.
 *
 * Where the window has an even number of pixels the result is the mean of the two middle values, rounded down for
 * integers.
 *
 * Windows that lie inside the image are the engine's own. For the others the image is continued with values that are
 * alternately the lowest and the highest there are, like a chessboard. Whatever part of a window lies outside, it then
 * has as many low values as high ones, or one more of either. So the engine's median of the whole window is a middle
 * value of the part inside; with low and high exchanged it is the other one.
 *
 * Kernels have odd sizes.
 *
 * \returns the engine's report of the largest part, or an empty one where every window is clipped
 * \throws RequestError, DeviceError, std::bad_alloc, or what the progress throws */
ExecutionReport
RunClippedMedian(const ClippedRequest & request);

} // namespace cudamedian

#endif
