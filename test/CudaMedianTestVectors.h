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
#ifndef CudaMedianTestVectors_h
#define CudaMedianTestVectors_h

#include "CudaMedianTestSeed.h"
#include "itkCudaMedianVectorMedian.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

/** Vector medians by brute force, written apart from the library: each sum of each window on its own. */
namespace cudamediantest
{

using cudamedian::Extent;
using cudamedian::VectorNorm;
__extension__ using Wide = __int128;

inline std::int64_t
CountPixels(const Extent & extent)
{
  return extent[0] * extent[1] * extent[2] * extent[3];
}

/** Pixels from the first of an image to one. */
inline std::int64_t
Locate(const Extent & position, const Extent & stride)
{
  return position[0] * stride[0] + position[1] * stride[1] + position[2] * stride[2] + position[3] * stride[3];
}

/** A distance, and how it is added to others: exactly as integers, or as doubles. */
template <typename T>
struct ReferenceDistance
{
  static constexpr bool isNarrow = std::is_integral_v<T> && sizeof(T) <= 2;

  static Wide
  GetExact(const T * a, const T * b, int components, VectorNorm norm)
  {
    Wide sum = 0;
    for (int c = 0; c < components; ++c)
    {
      Wide difference = static_cast<Wide>(a[c]) - static_cast<Wide>(b[c]);
      difference = difference < 0 ? -difference : difference;
      sum += norm == VectorNorm::L1 ? difference : difference * difference;
    }
    if (norm == VectorNorm::L2)
    {
      // A float from 1 on is a multiple of 2^-23.
      const auto root = static_cast<float>(std::sqrt(static_cast<long double>(sum)));
      return static_cast<Wide>(std::ldexp(static_cast<double>(root), 23));
    }
    return sum;
  }

  static double
  GetRounded(const T * a, const T * b, int components, VectorNorm norm)
  {
    volatile double sum = 0;
    for (int c = 0; c < components; ++c)
    {
      volatile double difference = 0;
      if constexpr (std::is_integral_v<T>)
      {
        const auto exact = static_cast<Wide>(a[c]) - static_cast<Wide>(b[c]);
        difference = static_cast<double>(static_cast<std::uint64_t>(exact < 0 ? -exact : exact));
      }
      else
      {
        difference = a[c] == b[c] ? 0 : static_cast<double>(a[c]) - static_cast<double>(b[c]);
      }
      volatile double square = difference * difference;
      sum = sum + (norm == VectorNorm::L1 ? std::fabs(difference) : static_cast<double>(square));
    }
    const double distance = norm == VectorNorm::L1 ? sum : std::sqrt(sum);
    return std::isnan(distance) ? 0 : distance;
  }
};

/** An image of vectors, and a request for medians of it. */
template <typename T>
struct VectorCase
{
  cudamedian::VectorMedianRequest request;
  std::vector<T>                  input;
  std::vector<T>                  output; ///< of the request's strides

  const T *
  GetPixel(const Extent & position) const
  {
    Extent       clamped;
    Extent       stride{ { 1, 0, 0, 0 } };
    const auto & extent = request.inputExtent;
    stride[1] = extent[0];
    stride[2] = stride[1] * extent[1];
    stride[3] = stride[2] * extent[2];
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      const auto last = extent[axis] - 1;
      clamped[axis] = std::min(std::max<std::int64_t>(position[axis], 0), last);
    }
    return input.data() + Locate(clamped, stride) * request.components;
  }

  /** The pixels of an output's window, in raster order. */
  std::vector<const T *>
  GetWindow(const Extent & output) const
  {
    std::vector<const T *> window;
    Extent                 o;
    for (o[3] = -request.radius[3]; o[3] <= request.radius[3]; ++o[3])
      for (o[2] = -request.radius[2]; o[2] <= request.radius[2]; ++o[2])
        for (o[1] = -request.radius[1]; o[1] <= request.radius[1]; ++o[1])
          for (o[0] = -request.radius[0]; o[0] <= request.radius[0]; ++o[0])
          {
            Extent position;
            for (int axis = 0; axis < cudamedian::Dimension; ++axis)
            {
              position[axis] = request.outputOrigin[axis] + output[axis] + o[axis];
            }
            window.push_back(GetPixel(position));
          }
    return window;
  }

  const T *
  FindMedian(const Extent & output) const
  {
    const auto  window = GetWindow(output);
    std::size_t columns = 1; // along the first axis that has any
    for (int axis = cudamedian::Dimension - 1; axis >= 0; --axis)
    {
      columns = request.radius[axis] > 0 ? static_cast<std::size_t>(2 * request.radius[axis] + 1) : columns;
    }
    const T * least = nullptr;
    Wide      leastExact = 0;
    double    leastRounded = 0;
    for (const auto * candidate : window)
    {
      bool isNaN = false;
      for (int c = 0; c < request.components; ++c)
      {
        isNaN = isNaN || candidate[c] != candidate[c];
      }
      if (isNaN)
      {
        continue;
      }
      if (std::is_integral_v<T> && (request.norm == VectorNorm::L1 || ReferenceDistance<T>::isNarrow))
      {
        Wide sum = 0;
        for (const auto * other : window)
        {
          sum += ReferenceDistance<T>::GetExact(candidate, other, request.components, request.norm);
        }
        if (least == nullptr || sum < leastExact)
        {
          leastExact = sum;
          least = candidate;
        }
        continue;
      }
      double sum = 0;
      for (std::size_t row = 0; row < window.size(); row += columns)
      {
        double rowSum = 0;
        for (std::size_t column = 0; column < columns; ++column)
        {
          rowSum += ReferenceDistance<T>::GetRounded(candidate, window[row + column], request.components, request.norm);
        }
        sum += rowSum;
      }
      if (least == nullptr || sum < leastRounded)
      {
        leastRounded = sum;
        least = candidate;
      }
    }
    return least == nullptr ? window.front() : least;
  }

  /** How many pixels of the output are not the medians, to the bit, or were written and should not have been. */
  std::size_t
  CountWrong() const
  {
    std::vector<T> expected(output.size());
    std::memset(static_cast<void *>(expected.data()), 0x5A, expected.size() * sizeof(T));
    const auto pixelBytes = sizeof(T) * static_cast<std::size_t>(request.components);
    Extent     o;
    for (o[3] = 0; o[3] < request.outputExtent[3]; ++o[3])
      for (o[2] = 0; o[2] < request.outputExtent[2]; ++o[2])
        for (o[1] = 0; o[1] < request.outputExtent[1]; ++o[1])
          for (o[0] = 0; o[0] < request.outputExtent[0]; ++o[0])
          {
            std::memcpy(
              expected.data() + Locate(o, request.outputStride) * request.components, FindMedian(o), pixelBytes);
          }
    std::size_t wrong = 0;
    for (std::size_t first = 0; first < output.size(); first += static_cast<std::size_t>(request.components))
    {
      wrong += std::memcmp(expected.data() + first, output.data() + first, pixelBytes) != 0 ? 1 : 0;
    }
    return wrong;
  }

  /** Makes the buffers. To be called again after a change of extents. */
  void
  Fill(std::mt19937_64 & generator)
  {
    const auto components = static_cast<std::size_t>(request.components);
    input.resize(static_cast<std::size_t>(CountPixels(request.inputExtent)) * components);
    // Few values make ties, all values make large differences.
    const auto kind = generator() % 3;
    for (auto & value : input)
    {
      std::uint64_t bits = generator();
      if constexpr (std::is_integral_v<T>)
      {
        value = static_cast<T>(kind == 0 ? bits % 3 : bits);
        value = kind == 1 && bits % 2 == 0 ? std::numeric_limits<T>::max() : value;
        value = kind == 1 && bits % 4 == 1 ? std::numeric_limits<T>::min() : value;
      }
      else
      {
        value = static_cast<T>(kind == 0 ? static_cast<double>(bits % 3) : std::ldexp(static_cast<double>(bits), -64));
        value = kind == 2 && bits % 5 == 0 ? std::numeric_limits<T>::quiet_NaN() : value;
        value = kind == 2 && bits % 7 == 0 ? std::numeric_limits<T>::infinity() : value;
      }
    }
    // The rows of the output have gaps, which must stay as they are.
    request.outputStride = { { 1, request.outputExtent[0] + 1, 0, 0 } };
    request.outputStride[2] = request.outputStride[1] * request.outputExtent[1];
    request.outputStride[3] = request.outputStride[2] * request.outputExtent[2];
    output.resize(static_cast<std::size_t>(request.outputStride[3] * request.outputExtent[3]) * components);
    std::memset(static_cast<void *>(output.data()), 0x5A, output.size() * sizeof(T));
    request.input = input.data();
    request.output = output.data();
  }

  /** Runs the request into a fresh output. */
  cudamedian::ExecutionReport
  Run()
  {
    std::memset(static_cast<void *>(output.data()), 0x5A, output.size() * sizeof(T));
    return RunVectorMedian(request);
  }
};

/** Calls function(T{}, type) for each component type. */
template <typename TFunction>
void
ForEachComponentType(const TFunction & function)
{
  using cudamedian::PixelType;
  function(std::int8_t{}, PixelType::Int8);
  function(std::uint8_t{}, PixelType::UInt8);
  function(std::int16_t{}, PixelType::Int16);
  function(std::uint16_t{}, PixelType::UInt16);
  function(std::int32_t{}, PixelType::Int32);
  function(std::uint32_t{}, PixelType::UInt32);
  function(std::int64_t{}, PixelType::Int64);
  function(std::uint64_t{}, PixelType::UInt64);
  function(float{}, PixelType::Float32);
  function(double{}, PixelType::Float64);
}

/** A window, an input, and a box of it. */
struct VectorShape
{
  Extent radius;
  Extent input;
  Extent origin;
  Extent output;
};

inline const std::vector<VectorShape> &
GetVectorShapes()
{
  static const std::vector<VectorShape> shapes = {
    { { { 1, 1, 0, 0 } }, { { 37, 41, 1, 1 } }, { { 0, 0, 0, 0 } }, { { 37, 41, 1, 1 } } },
    { { { 2, 2, 0, 0 } }, { { 71, 35, 1, 1 } }, { { 3, 1, 0, 0 } }, { { 66, 33, 1, 1 } } },
    { { { 2, 2, 0, 0 } }, { { 3, 2, 2, 2 } }, { { 0, 0, 0, 0 } }, { { 3, 2, 2, 2 } } },
    { { { 2, 2, 0, 0 } }, { { 150, 3, 1, 1 } }, { { 0, 0, 0, 0 } }, { { 150, 3, 1, 1 } } },
    { { { 1, 1, 0, 0 } }, { { 1, 1, 1, 1 } }, { { 0, 0, 0, 0 } }, { { 1, 1, 1, 1 } } },
    { { { 1, 3, 0, 0 } }, { { 11, 40, 2, 1 } }, { { 1, 0, 1, 0 } }, { { 9, 40, 1, 1 } } },
    { { { 3, 0, 1, 0 } }, { { 12, 5, 7, 1 } }, { { 0, 1, 0, 0 } }, { { 12, 3, 7, 1 } } },
    { { { 0, 2, 2, 0 } }, { { 9, 6, 5, 1 } }, { { 2, 0, 0, 0 } }, { { 5, 6, 5, 1 } } },
    { { { 0, 0, 1, 1 } }, { { 5, 3, 4, 5 } }, { { 0, 0, 1, 1 } }, { { 5, 3, 3, 4 } } },
    { { { 12, 0, 0, 0 } }, { { 40, 3, 1, 1 } }, { { 0, 0, 0, 0 } }, { { 40, 3, 1, 1 } } },
    { { { 0, 0, 12, 0 } }, { { 4, 2, 9, 1 } }, { { 0, 0, 0, 0 } }, { { 4, 2, 9, 1 } } },
    { { { 0, 0, 0, 0 } }, { { 6, 5, 2, 1 } }, { { 1, 0, 0, 0 } }, { { 5, 5, 2, 1 } } },
  };
  return shapes;
}

/** "3x3x1x1" */
inline std::string
Write(const Extent & extent)
{
  return std::to_string(extent[0]) + "x" + std::to_string(extent[1]) + "x" + std::to_string(extent[2]) + "x" +
         std::to_string(extent[3]);
}

/** Calls function(case) for each component type, norm, number of components and shape. */
template <typename TFunction>
void
ForEachVectorCase(std::mt19937_64 & generator, const TFunction & function)
{
  ForEachComponentType([&](auto component, cudamedian::PixelType type) {
    for (const auto norm : { VectorNorm::L1, VectorNorm::L2 })
    {
      for (const auto & shape : GetVectorShapes())
      {
        VectorCase<decltype(component)> test;
        test.request.componentType = type;
        test.request.components = 2 + static_cast<int>(generator() % 3);
        test.request.radius = shape.radius;
        test.request.inputExtent = shape.input;
        test.request.outputOrigin = shape.origin;
        test.request.outputExtent = shape.output;
        test.request.norm = norm;
        test.Fill(generator);
        SCOPED_TRACE(std::string(ToString(type)) + " " + ToString(norm) + " " +
                     std::to_string(test.request.components) + " radius " + Write(shape.radius) + " input " +
                     Write(shape.input));
        function(test);
      }
    }
  });
}

} // namespace cudamediantest

#endif
