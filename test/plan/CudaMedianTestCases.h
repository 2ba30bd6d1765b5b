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
#ifndef CudaMedianTestCases_h
#define CudaMedianTestCases_h

#include "CudaMedianTestThreads.h"
#include "HalfFloat.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "Slab.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/** Random requests of every kind, and what is needed to say by brute force what their results are. */
namespace cudamediantest
{

using namespace cudamedian;

constexpr PixelType types[] = { PixelType::UInt8,   PixelType::Int8,    PixelType::Int16,  PixelType::UInt16,
                                PixelType::Int32,   PixelType::Float32, PixelType::UInt64, PixelType::Float64,
                                PixelType::Float16, PixelType::BFloat16 };

/** A pixel's place in the order of its type. */
inline std::uint64_t
GetKey(PixelType type, std::uint64_t bits)
{
  if (IsHalfFloat(type))
  {
    // By the value, and not by the way the library has it.
    const auto   half = static_cast<std::uint16_t>(bits);
    const double value = GetHalfFloat(type, half);
    if (std::isnan(value))
    {
      return 0x20000U + ((half & 0x8000U) != 0 ? 0x8000U - (half & 0x7FFFU) + 0x8000U : (half & 0x7FFFU));
    }
    const int magnitude = half & 0x7FFF;
    return static_cast<std::uint64_t>(0x10000 + ((half & 0x8000) != 0 ? -magnitude - 1 : magnitude));
  }
  return DispatchKeys(GetKeyFormat(type), [&](auto keys) -> std::uint64_t {
    using Key = decltype(keys);
    using Bits = typename Key::Bits;
    return Key::FromBits(static_cast<Bits>(bits), static_cast<Bits>(GetSignMask(type)));
  });
}

/** Sorts values by the keys of their pixels, which are made once. \param getBits a value's pixel. */
template <typename TValue, typename TGetBits>
void
SortByKeys(PixelType type, std::vector<TValue> & values, const TGetBits & getBits)
{
  std::vector<std::pair<std::uint64_t, TValue>> keyed;
  keyed.reserve(values.size());
  for (const auto & value : values)
  {
    keyed.push_back({ GetKey(type, getBits(value)), value });
  }
  std::sort(keyed.begin(), keyed.end(), [](const auto & a, const auto & b) { return a.first < b.first; });
  std::transform(keyed.begin(), keyed.end(), values.begin(), [](const auto & pair) { return pair.second; });
}

/** The same as scipy.ndimage's documentation draws it: walks from the image to the position. -1: none. */
inline std::int64_t
Walk(Border border, std::int64_t position, std::int64_t size)
{
  if (position >= 0 && position < size)
  {
    return position;
  }
  if (border == Border::Constant || border == Border::Shrink)
  {
    return -1;
  }
  if (border == Border::ZeroFluxNeumann)
  {
    return position < 0 ? 0 : size - 1;
  }
  std::int64_t       place = position < 0 ? 0 : size - 1;
  std::int64_t       step = position < 0 ? -1 : 1;
  const std::int64_t steps = position < 0 ? -position : position - size + 1;
  for (std::int64_t i = 0; i < steps; ++i)
  {
    const auto next = place + step;
    if (next >= 0 && next < size)
    {
      place = next;
    }
    else if (border == Border::Wrap)
    {
      place = next < 0 ? size - 1 : 0;
    }
    else
    {
      // The edge itself is seen twice, or the last pixel once.
      step = -step;
      place = border == Border::Reflect || size == 1 ? place : place + step;
    }
  }
  return place;
}

/** An image in memory with any strides, and what is asked of it. */
struct Case
{
  MedianRequest     request;
  std::vector<char> input;
  std::vector<char> output;
  std::size_t       bytes{ 1 };
  std::string       text;

  std::uint64_t
  Get(const void * memory, std::int64_t pixel) const
  {
    std::uint64_t bits = 0;
    std::memcpy(&bits, static_cast<const char *>(memory) + pixel * static_cast<std::int64_t>(bytes), bytes);
    return bits;
  }
};

/** Strides of an image whose axes follow each other in memory in any order, with gaps. */
inline Extent
DrawStride(std::mt19937_64 & random, const Extent & extent, std::int64_t & pixels)
{
  int order[] = { 0, 1, 2, 3 };
  std::shuffle(std::begin(order), std::end(order), random);
  Extent stride;
  pixels = 1;
  for (const int axis : order)
  {
    stride[axis] = pixels + static_cast<std::int64_t>(random() % 3);
    pixels = stride[axis] * extent[axis];
  }
  return stride;
}

inline Case
DrawCase(std::mt19937_64 & random, PixelType type, std::int64_t largestSize, std::int64_t largestRadius)
{
  Case   drawn;
  auto & request = drawn.request;
  drawn.bytes = PixelBytes(type);
  request.pixelType = type;
  request.backend = Backend::Cpu;
  const int  axes = 1 + static_cast<int>(random() % 3);
  const auto border = static_cast<Border>(random() % 6);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    request.inputExtent[axis] = axis < axes || random() % 4 == 0
                                  ? 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largestSize))
                                  : 1;
    request.radius[axis] =
      axis < axes ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largestRadius + 1)) : 0;
    request.border[axis] = border == Border::Shrink || random() % 3 != 0 ? border : static_cast<Border>(random() % 5);
    const auto radius = request.radius[axis];
    request.shift[axis] = random() % 4 == 0 && radius > 0
                            ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * radius + 1)) - radius
                            : 0;
    request.outputOrigin[axis] =
      random() % 2 == 0 ? 0
                        : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(request.inputExtent[axis]));
    request.outputExtent[axis] = request.inputExtent[axis] - request.outputOrigin[axis];
  }
  const auto pixels = GetWindow(request).CountPixels();
  const auto choice = random() % 4;
  request.rank = choice == 0   ? 0
                 : choice == 1 ? pixels - 1
                 : choice == 2 || border == Border::Shrink
                   ? -1
                   : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(pixels));
  request.evenMedian = request.rank < 0 && random() % 2 == 0 ? EvenMedian::Mean : EvenMedian::Upper;
  std::int64_t inputPixels = Volume(request.inputExtent);
  std::int64_t outputPixels = Volume(request.outputExtent);
  request.outputStride = GetPackedStride(request.outputExtent);
  if (random() % 3 == 0)
  {
    request.inputStride = DrawStride(random, request.inputExtent, inputPixels);
  }
  if (random() % 3 == 0)
  {
    request.outputStride = DrawStride(random, request.outputExtent, outputPixels);
  }
  drawn.input.resize(static_cast<std::size_t>(inputPixels) * drawn.bytes);
  drawn.output.resize(static_cast<std::size_t>(outputPixels) * drawn.bytes);
  for (std::size_t i = 0; i < drawn.input.size(); i += sizeof(std::uint64_t))
  {
    const std::uint64_t bits = random();
    std::memcpy(drawn.input.data() + i, &bits, std::min(sizeof(bits), drawn.input.size() - i));
  }
  for (auto & byte : request.borderValue)
  {
    byte = static_cast<unsigned char>(random());
  }
  request.input = drawn.input.data();
  request.output = drawn.output.data();
  drawn.text = std::string(ToString(type)) + " image " + Join(request.inputExtent) + " radius " + Join(request.radius) +
               " shift " + Join(request.shift) + " rank " + std::to_string(request.rank) + " borders";
  for (const auto one : request.border)
  {
    drawn.text += std::string(" ") + ToString(one);
  }
  return drawn;
}

/** Runs a request on the CPU, or where there is a device in turn on it, in slabs of some budget. */
inline ExecutionReport
RunSomewhere(std::mt19937_64 & random, MedianRequest & request)
{
  static const bool hasDevice = QueryCudaDevice().usable;
  request.backend = hasDevice && random() % 2 == 0 ? Backend::Cuda : Backend::Cpu;
  if (request.backend == Backend::Cuda && random() % 2 == 0)
  {
    request.deviceMemoryBudget = 4096 + random() % 100000;
    try
    {
      return RunMedian(request);
    }
    catch (const RequestError &)
    {
      // Too little for the smallest slab.
      request.deviceMemoryBudget = 0;
    }
  }
  return RunMedian(request);
}

/** Calls function with each position of a box. */
template <typename TFunction>
void
ForEachPosition(const Extent & extent, const TFunction & function)
{
  ForEachBox(extent, { { 1, 1, 1, 1 } }, [&](const PixelBox & box) { function(box.origin); });
}

/** The values of a window, in their order. */
inline std::vector<std::uint64_t>
SortWindow(const Case & given, const Extent & place)
{
  const auto & request = given.request;
  const auto   window = GetWindow(request);
  const auto   stride = request.inputStride == Extent{} ? GetPackedStride(request.inputExtent) : request.inputStride;
  std::vector<std::uint64_t> values;
  ForEachPosition(window.GetExtent(), [&](const Extent & offset) {
    std::int64_t pixel = 0;
    bool         isInside = true;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto position =
        request.outputOrigin[axis] + place[axis] + offset[axis] - request.radius[axis] + request.shift[axis];
      const auto found = Walk(request.border[axis], position, request.inputExtent[axis]);
      isInside = isInside && found >= 0;
      pixel += found * stride[axis];
    }
    if (isInside)
    {
      values.push_back(given.Get(request.input, pixel));
    }
    else if (request.border[0] != Border::Shrink)
    {
      values.push_back(given.Get(request.borderValue.data(), 0));
    }
  });
  SortByKeys(request.pixelType, values, [](std::uint64_t bits) { return bits; });
  return values;
}

/** The mean of two pixels, by other means than the library's. */
inline std::uint64_t
GetMean(PixelType type, std::uint64_t lower, std::uint64_t upper)
{
  std::uint64_t bits = 0;
  const auto    of = [&](auto pixel) {
    using Pixel = decltype(pixel);
    Pixel a;
    Pixel b;
    std::memcpy(&a, &lower, sizeof(Pixel));
    std::memcpy(&b, &upper, sizeof(Pixel));
    Pixel mean;
    if constexpr (std::is_same_v<Pixel, double>)
    {
      // Rounded once: a long double would round the sum before, and be one off where that makes it a tie.
      mean = std::isinf(a + b) && std::isfinite(a) && std::isfinite(b) ? a / 2 + b / 2 : (a + b) / 2;
    }
    else if constexpr (std::is_floating_point_v<Pixel>)
    {
      mean = static_cast<Pixel>((static_cast<long double>(a) + static_cast<long double>(b)) / 2);
    }
    else
    {
      mean = static_cast<Pixel>(a + static_cast<Pixel>((static_cast<__int128>(b) - a) / 2));
    }
    std::memcpy(&bits, &mean, sizeof(Pixel));
  };
  switch (type)
  {
    case PixelType::UInt8:
      of(std::uint8_t());
      break;
    case PixelType::Int8:
      of(std::int8_t());
      break;
    case PixelType::Int16:
      of(std::int16_t());
      break;
    case PixelType::UInt16:
      of(std::uint16_t());
      break;
    case PixelType::Int32:
      of(std::int32_t());
      break;
    case PixelType::UInt64:
      of(std::uint64_t());
      break;
    case PixelType::Float32:
      of(float());
      break;
    case PixelType::Float64:
      of(double());
      break;
    default:
      bits = RoundToHalfFloat(type,
                              (GetHalfFloat(type, static_cast<std::uint16_t>(lower)) +
                               GetHalfFloat(type, static_cast<std::uint16_t>(upper))) /
                                2);
  }
  return bits;
}

inline bool
IsFloating(PixelType type)
{
  return IsHalfFloat(type) || type == PixelType::Float32 || type == PixelType::Float64;
}

inline bool
IsNaN(PixelType type, std::uint64_t bits)
{
  return IsFloating(type) && (IsHalfFloat(type) ? std::isnan(GetHalfFloat(type, static_cast<std::uint16_t>(bits)))
                              : type == PixelType::Float32 ? (bits & 0x7FFFFFFFU) > 0x7F800000U
                                                           : (bits & 0x7FFFFFFFFFFFFFFFU) > 0x7FF0000000000000U);
}

/** A pixel that a window sees. */
struct Seen
{
  std::uint64_t bits;
  std::int64_t  weight;
};

/** Offsets of the window's pixels from its middle, and their weights. */
inline std::vector<FootprintPixel>
ListPixels(const MedianRequest & request)
{
  if (request.footprint != nullptr)
  {
    return request.footprint->GetPixels();
  }
  std::vector<FootprintPixel> pixels;
  ForEachPosition(GetWindow(request).GetExtent(), [&](const Extent & place) {
    FootprintPixel pixel;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      pixel.offset[axis] = place[axis] - request.radius[axis] + request.shift[axis];
    }
    pixels.push_back(pixel);
  });
  return pixels;
}

/** The value of a rank among values that are sorted and count several times. */
inline std::uint64_t
Pick(const std::vector<Seen> & sorted, std::int64_t rank)
{
  auto seen = sorted.begin();
  for (; rank >= seen->weight; ++seen)
  {
    rank -= seen->weight;
  }
  return seen->bits;
}

/** Random pixels of a box, with random weights or none. */
inline const Footprint *
DrawFootprint(std::mt19937_64 & random, const Extent & radius)
{
  std::vector<FootprintPixel> pixels;
  const bool                  isWeighted = random() % 2 == 0;
  const auto                  share = 1 + random() % 4;
  ForEachPosition({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } },
                  [&](const Extent & place) {
                    FootprintPixel pixel;
                    for (int axis = 0; axis < Dimension; ++axis)
                    {
                      pixel.offset[axis] = place[axis] - radius[axis];
                    }
                    pixel.weight = random() % 5 < share ? 1 + (isWeighted ? static_cast<int>(random() % 3) : 0) : 0;
                    pixels.push_back(pixel);
                  });
  pixels[random() % pixels.size()].weight = 1;
  return Footprint::Make(pixels);
}

} // namespace cudamediantest

#endif
