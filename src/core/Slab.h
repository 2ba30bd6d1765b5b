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
#ifndef Slab_h
#define Slab_h

#include "DivideUp.h"
#include "Extents.h"
#include "RequestWindow.h"
#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** A box of pixels, relative to the first pixel of the input buffer. */
struct PixelBox
{
  Extent origin{ { 0, 0, 0, 0 } };
  Extent extent{ { 0, 0, 0, 0 } };
};

/** The part of some positions along an axis that is inside an image, by their numbers: from the first, up to one beyond
 * the last. */
struct InsidePart
{
  std::int64_t begin;
  std::int64_t end;

  /** Of so many positions from one on, along an axis of so many. */
  InsidePart(std::int64_t first, std::int64_t count, std::int64_t extent)
    : begin(std::clamp<std::int64_t>(-first, 0, count))
    , end(std::clamp(extent - first, begin, count))
  {}
};

/** Where a row is among those of a box, which are numbered along axis 1 first. */
inline Extent
GetRowOfBox(const PixelBox & box, std::int64_t row)
{
  Extent position = box.origin;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    position[axis] += row % box.extent[axis];
    row /= box.extent[axis];
  }
  return position;
}

/** The part of the image processed at once: the outputs, and the inputs they need (the outputs' box with its halo,
 * cropped to the image; clamping to this box is the same as clamping to the image). */
struct Slab
{
  PixelBox input;
  PixelBox output;
  Extent   shift{ { 0, 0, 0, 0 } }; ///< of the windows against their outputs

  /** Where the windows of the first output have their middle in the input box. */
  std::int64_t
  GetPlace(int axis) const
  {
    return output.origin[axis] + shift[axis] - input.origin[axis];
  }
};

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

/** Whether algorithms see what lies beyond the image along an axis in copies of it, and do not clamp themselves. */
inline bool
HasCopiedBorder(const MedianRequest & request, int axis)
{
  return request.border[axis] != Border::ZeroFluxNeumann || request.shift[axis] != 0;
}

/** How far the input box of outputs may reach beyond them along an axis, behind the last. */
inline std::int64_t
GetHalo(const MedianRequest & request, int axis)
{
  return HasCopiedBorder(request, axis) ? request.radius[axis]
                                        : std::min(request.radius[axis], request.inputExtent[axis]);
}

/** The same before them. Rows have so many more pixels there that outputs begin at a multiple of 16 bytes: kernels
 * write their rows as they are, and have no block more for the columns before the first. */
std::int64_t
GetHaloBefore(const MedianRequest & request, int axis);

/** The input box that an output box needs: cropped to the image, but for borders that copies hold. */
PixelBox
GetInputBox(const MedianRequest & request, const PixelBox & output);

/** Cuts a box into boxes of at most a number of pixels, or of one pixel: whole along the inner axes, cut along the
 * outermost ones first. */
std::vector<PixelBox>
CutIntoLaunches(const PixelBox & box, std::int64_t mostPixels);

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

} // namespace cudamedian

#endif
