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
#ifndef VectorPixel_h
#define VectorPixel_h

#include "Clamp.h"
#include "VectorDistance.h"

namespace cudamedian
{

/** Where pixels lie, as kernels are told. The input has no gaps between rows; strides are in pixels. */
struct VectorArguments
{
  const void *  input;
  void *        output;
  std::int64_t  inputExtent[Dimension];
  std::int64_t  outputOrigin[Dimension]; ///< in the input
  std::int64_t  outputExtent[Dimension];
  std::int64_t  outputStride[Dimension];
  std::int32_t  radius[Dimension];
  std::int32_t  components;
  std::uint64_t signMask;
};

/** A window of at most 25 pixels has a radius along two axes at most: 3x3x3 would be 27. */
struct VectorAxes
{
  int inner;
  int outer;
};

CUDAMEDIAN_HOST_DEVICE VectorAxes
FindVectorAxes(const VectorArguments & arguments)
{
  VectorAxes axes{ 0, 1 };
  int        found = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (arguments.radius[axis] > 0)
    {
      (found == 0 ? axes.inner : axes.outer) = axis;
      ++found;
    }
  }
  if (found == 1)
  {
    axes.outer = axes.inner == 0 ? 1 : 0;
  }
  return axes;
}

/** The pixels of a window, in raster order, as offsets of their first components in the input. */
struct VectorWindow
{
  std::int64_t offset[mostVectorWindowPixels];
  int          columns; ///< pixels along the inner axis
  int          rows;
};

CUDAMEDIAN_HOST_DEVICE VectorWindow
LocateVectorWindow(const VectorArguments & arguments, const VectorAxes & axes, const std::int64_t * pixel)
{
  VectorWindow window;
  window.columns = 2 * arguments.radius[axes.inner] + 1;
  window.rows = 2 * arguments.radius[axes.outer] + 1;
  std::int64_t stride = arguments.components;
  std::int64_t base = 0;
  std::int64_t innerStride = 0;
  std::int64_t outerStride = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    innerStride = axis == axes.inner ? stride : innerStride;
    outerStride = axis == axes.outer ? stride : outerStride;
    if (axis != axes.inner && axis != axes.outer)
    {
      base += (arguments.outputOrigin[axis] + pixel[axis]) * stride;
    }
    stride *= arguments.inputExtent[axis];
  }
  const auto firstColumn = arguments.outputOrigin[axes.inner] + pixel[axes.inner] - arguments.radius[axes.inner];
  const auto firstRow = arguments.outputOrigin[axes.outer] + pixel[axes.outer] - arguments.radius[axes.outer];
  for (int row = 0; row < window.rows; ++row)
  {
    const auto y = Clamp<std::int64_t>(firstRow + row, arguments.inputExtent[axes.outer] - 1);
    for (int column = 0; column < window.columns; ++column)
    {
      const auto x = Clamp<std::int64_t>(firstColumn + column, arguments.inputExtent[axes.inner] - 1);
      window.offset[row * window.columns + column] = base + y * outerStride + x * innerStride;
    }
  }
  return window;
}

/** Whether a component of a pixel is NaN. */
template <typename TDistance>
CUDAMEDIAN_HOST_DEVICE bool
HasNaN(const typename TDistance::Bits * pixel, int components)
{
  bool found = false;
  if constexpr (TDistance::hasNaN)
  {
    for (int component = 0; component < components; ++component)
    {
      const auto lane = TDistance::ToLane(pixel[component], 0);
      found = found || lane != lane;
    }
  }
  return found;
}

/** The sum of a pixel's distances to those of a window. */
template <typename TDistance>
CUDAMEDIAN_HOST_DEVICE typename TDistance::Sum
SumDistances(const VectorArguments & arguments, const VectorWindow & window, const typename TDistance::Bits * candidate)
{
  const auto *            input = static_cast<const typename TDistance::Bits *>(arguments.input);
  typename TDistance::Sum sum{};
  CUDAMEDIAN_KEEP_LOOP
  for (int row = 0; row < window.rows; ++row)
  {
    typename TDistance::Sum rowSum{};
    CUDAMEDIAN_KEEP_LOOP
    for (int column = 0; column < window.columns; ++column)
    {
      const auto *             other = input + window.offset[row * window.columns + column];
      typename TDistance::Part part{};
      for (int component = 0; component < arguments.components; ++component)
      {
        TDistance::Add(part,
                       TDistance::ToLane(candidate[component], arguments.signMask),
                       TDistance::ToLane(other[component], arguments.signMask));
      }
      rowSum += TDistance::Finish(part);
    }
    sum += rowSum;
  }
  return sum;
}

/** Finds the vector median of one pixel, for any window and any components. */
template <typename TDistance>
CUDAMEDIAN_HOST_DEVICE void
RunVectorPixel(const VectorArguments & arguments, const std::int64_t * pixel)
{
  const auto   window = LocateVectorWindow(arguments, FindVectorAxes(arguments), pixel);
  const auto * input = static_cast<const typename TDistance::Bits *>(arguments.input);
  auto         least = TDistance::GetNone();
  int          found = 0;
  CUDAMEDIAN_KEEP_LOOP
  for (int number = 0; number < window.columns * window.rows; ++number)
  {
    const auto * candidate = input + window.offset[number];
    if (!HasNaN<TDistance>(candidate, arguments.components))
    {
      const auto sum = SumDistances<TDistance>(arguments, window, candidate);
      if (TDistance::IsLess(sum, least))
      {
        least = sum;
        found = number;
      }
    }
  }
  std::int64_t target = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    target += pixel[axis] * arguments.outputStride[axis];
  }
  auto * output = static_cast<typename TDistance::Bits *>(arguments.output) + target * arguments.components;
  for (int component = 0; component < arguments.components; ++component)
  {
    output[component] = input[window.offset[found] + component];
  }
}

} // namespace cudamedian

#endif
