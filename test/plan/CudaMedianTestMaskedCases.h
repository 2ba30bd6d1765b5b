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
#ifndef CudaMedianTestMaskedCases_h
#define CudaMedianTestMaskedCases_h

#include "CudaMedianTestCases.h"

#include <gtest/gtest.h>

#include <array>

/** Random requests with masks, ignored values, omitted NaN, footprints, weights and outliers, and their definition. */
namespace cudamediantest
{

/** A case, and what its mask is in memory. */
struct MaskedCase
{
  Case              base;
  std::vector<char> mask;
};

inline long double
GetValue(PixelType type, std::uint64_t bits)
{
  if (IsHalfFloat(type))
  {
    return GetHalfFloat(type, static_cast<std::uint16_t>(bits));
  }
  const auto of = [bits](auto pixel) {
    std::memcpy(&pixel, &bits, sizeof(pixel));
    return static_cast<long double>(pixel);
  };
  switch (type)
  {
    case PixelType::UInt8:
      return of(std::uint8_t());
    case PixelType::Int8:
      return of(std::int8_t());
    case PixelType::Int16:
      return of(std::int16_t());
    case PixelType::UInt16:
      return of(std::uint16_t());
    case PixelType::Int32:
      return of(std::int32_t());
    case PixelType::UInt32:
      return of(std::uint32_t());
    case PixelType::Int64:
      return of(std::int64_t());
    case PixelType::UInt64:
      return of(std::uint64_t());
    case PixelType::Float32:
      return of(float());
    default:
      return of(double());
  }
}

/** How far two values are from each other, rounded as their type is. */
inline long double
GetDistance(PixelType type, std::uint64_t a, std::uint64_t b)
{
  const auto distance = GetValue(type, a) - GetValue(type, b);
  const auto size = distance < 0 ? -distance : distance;
  return type == PixelType::Float32 || IsHalfFloat(type) ? static_cast<long double>(static_cast<float>(size))
         : type == PixelType::Float64                    ? static_cast<long double>(static_cast<double>(size))
                                                         : size;
}

inline bool
AreSame(PixelType type, std::uint64_t a, std::uint64_t b)
{
  const auto one = GetValue(type, a);
  const auto other = GetValue(type, b);
  return one == other || (std::isnan(one) && std::isnan(other));
}

/** What lies at a position, which may be beyond the image, and whether it is valid. */
inline bool
Look(const Case & given, const Extent & position, std::uint64_t & bits)
{
  const auto & request = given.request;
  const auto & rules = request.validity;
  const auto   stride = request.inputStride == Extent{} ? GetPackedStride(request.inputExtent) : request.inputStride;
  const auto   maskStride = rules.maskStride == Extent{} ? GetPackedStride(request.inputExtent) : rules.maskStride;
  std::int64_t pixel = 0;
  std::int64_t maskPixel = 0;
  bool         isInside = true;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto found = Walk(request.border[axis], position[axis], request.inputExtent[axis]);
    isInside = isInside && found >= 0;
    pixel += found * stride[axis];
    maskPixel += found * maskStride[axis];
  }
  if (!isInside && request.border[0] == Border::Shrink)
  {
    return false;
  }
  bits = isInside ? given.Get(request.input, pixel) : given.Get(request.borderValue.data(), 0);
  if (isInside && rules.mask != nullptr)
  {
    const auto * first =
      static_cast<const char *>(rules.mask) + maskPixel * static_cast<std::int64_t>(rules.maskPixelBytes);
    if (std::all_of(first, first + rules.maskPixelBytes, [](char byte) { return byte == 0; }))
    {
      return false;
    }
  }
  std::uint64_t ignored = 0;
  std::memcpy(&ignored, rules.ignoredValue.data(), given.bytes);
  return !(rules.hasIgnoredValue && AreSame(request.pixelType, bits, ignored)) &&
         !(rules.omitsNaN && IsNaN(request.pixelType, bits));
}

inline std::uint64_t
ReadBytes(const Case & given, const std::array<unsigned char, 8> & bytes)
{
  return given.Get(bytes.data(), 0);
}

/** Whether a pixel stays as it is: the rules for outliers. */
inline bool
IsInlier(const Case & given, const std::vector<Seen> & sorted, std::uint64_t own, std::uint64_t median)
{
  const auto & request = given.request;
  const auto   type = request.pixelType;
  if (request.outlierRule == OutlierRule::None || IsNaN(type, own))
  {
    return false;
  }
  const auto distance = GetDistance(type, own, median);
  if (request.outlierRule == OutlierRule::Absolute)
  {
    return !(distance > static_cast<long double>(request.outlierThreshold));
  }
  std::vector<std::pair<long double, std::int64_t>> deviations;
  std::int64_t                                      count = 0;
  for (const auto & seen : sorted)
  {
    deviations.emplace_back(GetDistance(type, seen.bits, median), seen.weight);
    count += seen.weight;
  }
  std::sort(deviations.begin(), deviations.end(), [](const auto & a, const auto & b) {
    return std::isnan(b.first) ? !std::isnan(a.first) : a.first < b.first;
  });
  auto deviation = deviations.begin();
  for (auto rank = count / 2; rank >= deviation->second; ++deviation)
  {
    rank -= deviation->second;
  }
  // Numbers of 64 bits have more room than a double; others are multiplied as doubles.
  const bool isLong = PixelBytes(type) == 8;
  return !(isLong ? distance > static_cast<long double>(request.outlierThreshold) * deviation->first
                  : static_cast<double>(distance) > request.outlierThreshold * static_cast<double>(deviation->first));
}

/** The definition of what is written for an output. */
inline std::uint64_t
GetExpectedOfValid(const Case & given, const Extent & place)
{
  const auto & request = given.request;
  const auto & rules = request.validity;
  const auto   type = request.pixelType;
  Extent       center;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    center[axis] = request.outputOrigin[axis] + place[axis];
  }
  std::uint64_t own = 0;
  const bool    isValid = Look(given, center, own);
  if (!isValid && rules.invalidOutput != InvalidOutput::Computed)
  {
    return rules.invalidOutput == InvalidOutput::Copied ? own : ReadBytes(given, rules.invalidValue);
  }
  std::vector<Seen> sorted;
  std::int64_t      count = 0;
  for (const auto & pixel : ListPixels(request))
  {
    Extent position;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] = center[axis] + pixel.offset[axis];
    }
    Seen seen{ 0, pixel.weight };
    if (Look(given, position, seen.bits))
    {
      sorted.push_back(seen);
      count += seen.weight;
    }
  }
  if (count == 0)
  {
    return rules.emptyWindow == EmptyWindow::Input ? own : ReadBytes(given, rules.emptyValue);
  }
  SortByKeys(type, sorted, [](const Seen & seen) { return seen.bits; });
  const auto    pixels = GetWindow(request).CountPixels();
  const bool    isMiddle = request.rank < 0 || pixels == 1;
  std::uint64_t result = Pick(sorted, count / 2);
  if (!isMiddle)
  {
    return Pick(sorted, request.rank == 0 ? 0 : count - 1);
  }
  if (count % 2 == 0 && request.evenMedian != EvenMedian::Upper)
  {
    const auto lower = Pick(sorted, count / 2 - 1);
    result = request.evenMedian == EvenMedian::Lower ? lower : GetMean(type, lower, result);
  }
  return isValid && IsInlier(given, sorted, own, result) ? own : result;
}

/** Compares a run with the definition; fails with the first few differences. */
inline void
CompareValid(const Case & given)
{
  const auto & request = given.request;
  int          differences = 0;
  ForEachPosition(request.outputExtent, [&](const Extent & place) {
    const auto expected = GetExpectedOfValid(given, place);
    const auto found = given.Get(request.output, GetOffset(place, request.outputStride));
    const bool isMean = request.evenMedian == EvenMedian::Mean;
    if (found != expected && !(isMean && IsNaN(request.pixelType, found) && IsNaN(request.pixelType, expected)))
    {
      ++differences;
      ASSERT_LE(differences, 3);
      ADD_FAILURE() << given.text << " at " << Join(place) << ": " << std::hex << found << " for " << expected;
    }
  });
}

/** Makes pixels be few values, some of them special. */
inline void
DrawFewValues(std::mt19937_64 & random, Case & given)
{
  std::array<std::array<char, 8>, 5> palette{};
  for (auto & value : palette)
  {
    for (auto & byte : value)
    {
      byte = static_cast<char>(random() % 3 == 0 ? 0xFF : random());
    }
  }
  palette[4] = {};
  for (std::size_t i = 0; i + given.bytes <= given.input.size(); i += given.bytes)
  {
    std::memcpy(given.input.data() + i, palette[random() % palette.size()].data(), given.bytes);
  }
}

inline void
DrawRules(std::mt19937_64 & random, MaskedCase & drawn)
{
  auto & request = drawn.base.request;
  auto & rules = request.validity;
  if (random() % 2 == 0)
  {
    std::int64_t pixels = Volume(request.inputExtent);
    rules.maskPixelBytes = std::size_t{ 1 } << random() % 4;
    if (random() % 2 == 0)
    {
      rules.maskStride = DrawStride(random, request.inputExtent, pixels);
    }
    drawn.mask.assign(static_cast<std::size_t>(pixels) * rules.maskPixelBytes, 0);
    const auto share = random() % 101;
    for (std::size_t i = 0; i < drawn.mask.size(); i += rules.maskPixelBytes)
    {
      // Any byte of a pixel makes it valid.
      drawn.mask[i + random() % rules.maskPixelBytes] =
        static_cast<char>(random() % 100 < share ? 1 << random() % 8 : 0);
    }
    rules.mask = drawn.mask.data();
  }
  rules.hasIgnoredValue = random() % 3 == 0;
  std::memcpy(rules.ignoredValue.data(),
              drawn.base.input.data() + random() % (drawn.base.input.size() / drawn.base.bytes) * drawn.base.bytes,
              drawn.base.bytes);
  rules.omitsNaN = random() % 3 == 0;
  rules.emptyWindow = static_cast<EmptyWindow>(random() % 2);
  rules.invalidOutput = static_cast<InvalidOutput>(random() % 3);
  for (auto * value : { &rules.emptyValue, &rules.invalidValue })
  {
    std::generate(value->begin(), value->end(), [&] { return static_cast<unsigned char>(random()); });
  }
}

inline MaskedCase
DrawMaskedCase(std::mt19937_64 & random, PixelType type, std::int64_t largestSize, std::int64_t largestRadius)
{
  MaskedCase drawn{ DrawCase(random, type, largestSize, largestRadius), {} };
  auto &     request = drawn.base.request;
  const auto shape = random() % 3;
  if (shape == 0)
  {
    request.shift = {};
    request.footprint = DrawFootprint(random, request.radius);
    request.radius = request.footprint->GetRadius();
  }
  for (int axis = 0; shape == 1 && axis < Dimension; ++axis)
  {
    request.shorter[axis] = request.radius[axis] > 0 ? static_cast<std::int64_t>(random() % 2) : 0;
    request.shift[axis] = std::max(request.shift[axis], request.shorter[axis] - request.radius[axis]);
  }
  if (random() % 2 == 0)
  {
    DrawFewValues(random, drawn.base);
  }
  DrawRules(random, drawn);
  const auto pixels = GetWindow(request).CountPixels();
  const auto choice = random() % 6;
  request.rank = choice == 0 ? 0 : choice == 1 ? pixels - 1 : -1;
  request.evenMedian = request.rank < 0 ? static_cast<EvenMedian>(random() % 3) : EvenMedian::Upper;
  if (request.rank < 0 && random() % 2 == 0)
  {
    request.outlierRule = static_cast<OutlierRule>(random() % 3);
    const double size = request.outlierRule == OutlierRule::Absolute
                          ? std::ldexp(1.0, static_cast<int>(random() % (8 * drawn.base.bytes)))
                          : 3;
    request.outlierThreshold = size * static_cast<double>(random() % 1000) / 1000;
  }
  drawn.base.text +=
    std::string(" footprint ") + (request.footprint == nullptr ? "none" : request.footprint->Describe()) + " shorter " +
    Join(request.shorter) + " even " + ToString(request.evenMedian) + " mask bytes " +
    std::to_string(request.validity.mask == nullptr ? 0 : request.validity.maskPixelBytes) + " ignored " +
    std::to_string(request.validity.hasIgnoredValue) + " NaN " + std::to_string(request.validity.omitsNaN) + " empty " +
    ToString(request.validity.emptyWindow) + " invalid " + ToString(request.validity.invalidOutput) + " outliers " +
    ToString(request.outlierRule) + " " + std::to_string(request.outlierThreshold);
  return drawn;
}

} // namespace cudamediantest

#endif
