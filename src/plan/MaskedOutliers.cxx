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
#include "MaskedCopy.h"

#include "PixelArithmetic.h"
#include "PixelValues.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace cudamedian
{
namespace
{

template <typename TDistance>
constexpr PixelType
GetDistanceType()
{
  if (std::is_floating_point_v<TDistance>)
  {
    return sizeof(TDistance) == 4 ? PixelType::Float32 : PixelType::Float64;
  }
  return sizeof(TDistance) == 1   ? PixelType::UInt8
         : sizeof(TDistance) == 2 ? PixelType::UInt16
         : sizeof(TDistance) == 4 ? PixelType::UInt32
                                  : PixelType::UInt64;
}

/** Puts the pixels of a row in their medians' place that are valid and no farther from them than `most`. */
template <typename T, typename TGetValue, typename TDistance>
void
KeepNear(const T *            from,
         const std::uint8_t * valid,
         std::int64_t         width,
         TDistance            most,
         const TGetValue &    getValue,
         T *                  to)
{
  for (std::int64_t x = 0; x < width; ++x)
  {
    const auto value = getValue(from[x]);
    const bool isKept = valid[x] != 0 && IsNear(value, getValue(to[x]), most);
    to[x] = isKept ? from[x] : to[x];
  }
}

/** A pixel of the window: how far it lies from the window's first one in a copy, and how often it counts. */
struct Member
{
  std::int64_t place;
  std::int64_t weight;
};

std::vector<Member>
ListMembers(const Window & window, const Extent & copied)
{
  const auto          stride = GetPackedStride(copied);
  std::vector<Member> members;
  if (window.footprint != nullptr)
  {
    for (const auto & pixel : window.footprint->GetPixels())
    {
      std::int64_t place = 0;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        place += (window.radius[axis] + pixel.offset[axis]) * stride[axis];
      }
      members.push_back({ place, pixel.weight });
    }
    return members;
  }
  ForEachBox(window.GetExtent(), { { 1, 1, 1, 1 } }, [&](const PixelBox & pixel) {
    members.push_back({ GetOffset(pixel.origin, stride), 1 });
  });
  return members;
}

/** How many rows and slices the members of a window lie in, so that neither are more than programs take along an axis;
 * one slice where that cannot be. */
std::array<std::int64_t, 2>
Arrange(const std::vector<Member> & members)
{
  constexpr std::int64_t most = 31;
  const auto             count = static_cast<std::int64_t>(members.size());
  const bool             isWeighted =
    std::any_of(members.begin(), members.end(), [](const Member & member) { return member.weight != 1; });
  for (std::int64_t slices = 2; count > most && !isWeighted && slices <= most; ++slices)
  {
    if (count % slices == 0 && count / slices <= most)
    {
      return { count / slices, slices };
    }
  }
  return { count, 1 };
}

/** Gives a request the window of all members, in rows and slices of one pixel. */
void
SetColumn(const std::vector<Member> & members, const std::array<std::int64_t, 2> & arranged, MedianRequest & request)
{
  if (arranged[1] > 1)
  {
    request.footprint = nullptr;
    request.radius = { { 0, arranged[0] / 2, arranged[1] / 2, 0 } };
    request.shorter = { { 0, 1 - arranged[0] % 2, 1 - arranged[1] % 2, 0 } };
    return;
  }
  const auto count = static_cast<std::int64_t>(members.size());
  request.radius = { { 0, count / 2, 0, 0 } };
  request.shorter = { { 0, count % 2 == 0 && count > 0 ? 1 : 0, 0, 0 } };
  request.footprint = nullptr;
  const bool isWeighted =
    std::any_of(members.begin(), members.end(), [](const Member & member) { return member.weight != 1; });
  if (isWeighted)
  {
    std::vector<FootprintPixel> pixels;
    for (std::int64_t i = 0; i < count; ++i)
    {
      pixels.push_back({ { { 0, i - count / 2, 0, 0 } }, members[static_cast<std::size_t>(i)].weight });
    }
    request.footprint = Footprint::Make(pixels);
    request.radius = request.footprint->GetRadius();
    request.shorter = {};
  }
}

} // namespace

void
MaskedCopy::KeepInliers()
{
  const auto type = m_Request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    if constexpr (std::is_same_v<T, std::int16_t>)
    {
      if (IsHalfFloat(type))
      {
        KeepInliersOf<T>([type](T copied) { return static_cast<float>(GetCopiedHalf(type, copied)); });
        return;
      }
    }
    KeepInliersOf<T>([](T value) { return value; });
  });
}

template <typename T, typename TGetValue>
void
MaskedCopy::KeepInliersOf(const TGetValue & getValue)
{
  using Value = decltype(getValue(T()));
  using Real = Number<Distance<Value>>;
  const auto *                 input = reinterpret_cast<const T *>(m_Memory.input.data());
  auto *                       output = reinterpret_cast<T *>(m_Memory.result.data());
  const auto                   threshold = static_cast<Real>(m_Request.outlierThreshold);
  std::vector<Distance<Value>> deviations;
  if (m_Request.outlierRule == OutlierRule::Deviations)
  {
    FindDeviations(output, getValue, deviations);
  }
  const auto most = RoundDown<Distance<Value>>(threshold);
  const auto width = m_Outputs.extent[0];
  for (std::int64_t row = 0; row < m_Count; row += width)
  {
    const auto   own = GetOwnPlace(row);
    const auto * from = input + own;
    const auto * valid = m_Memory.valid.data() + own;
    auto *       to = output + row;
    if (deviations.empty())
    {
      KeepNear(from, valid, width, most, getValue, to);
      continue;
    }
    for (std::int64_t x = 0; x < width; ++x)
    {
      const auto value = getValue(from[x]);
      const auto distance = static_cast<Real>(GetDistance(value, getValue(to[x])));
      const auto allowed = threshold * static_cast<Real>(deviations[static_cast<std::size_t>(row + x)]);
      const bool isKept = valid[x] != 0 && value == value && !(distance > allowed);
      to[x] = isKept ? from[x] : to[x];
    }
  }
}

/** The median absolute deviations of all windows from their medians: of the rows of an image that has a row for each
 * pixel of the window, the medians of its columns. */
template <typename T, typename TGetValue, typename TDistance>
void
MaskedCopy::FindDeviations(const T * medians, const TGetValue & getValue, std::vector<TDistance> & deviations)
{
  constexpr std::int64_t mostBytes = std::int64_t{ 1 } << 20;
  const auto *           input = reinterpret_cast<const T *>(m_Memory.input.data());
  const auto             members = ListMembers(m_Window, m_Copied.extent);
  const auto             arranged = Arrange(members);
  const auto             count = static_cast<std::int64_t>(members.size());
  const auto             width = m_Outputs.extent[0];
  const auto             rows = m_Count / width;
  const auto             rowBytes = count * width * static_cast<std::int64_t>(sizeof(TDistance));
  const auto             atOnce = std::min(rows, std::max<std::int64_t>(1, mostBytes / rowBytes));
  std::vector<TDistance> planes(static_cast<std::size_t>(count * width * atOnce));
  PixelFlags             valid(m_IsAllValid ? 0 : planes.size());
  deviations.resize(static_cast<std::size_t>(m_Count));
  // The window's first pixel of the first output is the copy's first.
  const auto toFirst = GetOwnPlace(0);
  for (std::int64_t first = 0; first < rows; first += atOnce)
  {
    const auto some = std::min(atOnce, rows - first);
    for (std::int64_t row = 0; row < some; ++row)
    {
      const auto * median = medians + (first + row) * width;
      const auto   corner = GetOwnPlace((first + row) * width) - toFirst;
      for (std::int64_t member = 0; member < count; ++member)
      {
        const auto from = corner + members[static_cast<std::size_t>(member)].place;
        const auto to = (row * count + member) * width;
        for (std::int64_t x = 0; x < width; ++x)
        {
          planes[static_cast<std::size_t>(to + x)] = GetDistance(getValue(input[from + x]), getValue(median[x]));
        }
        if (!valid.empty())
        {
          std::copy_n(m_Memory.valid.data() + from, width, valid.data() + to);
        }
      }
    }
    auto request = MakeInnerRequest();
    SetColumn(members, arranged, request);
    request.pixelType = GetDistanceType<TDistance>();
    request.rank = -1;
    request.algorithm = Algorithm::Automatic;
    request.input = planes.data();
    request.inputExtent = { { width, arranged[0], arranged[1], some } };
    request.outputOrigin = { { 0, arranged[0] / 2, arranged[1] / 2, 0 } };
    request.outputExtent = { { width, 1, 1, some } };
    request.output = deviations.data() + first * width;
    request.outputStride = { { 1, width, width, width } };
    request.outputPixelBytes = sizeof(TDistance);
    request.validity.mask = valid.empty() ? nullptr : valid.data();
    m_Run(request, 0.5 * static_cast<double>(some) / static_cast<double>(rows));
  }
}

} // namespace cudamedian
