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

#include "DeviationBound.h"
#include "MaskRows.h"
#include "MaskedRequest.h"
#include "PixelArithmetic.h"
#include "PixelValues.h"
#include "RowResults.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <array>
#include <type_traits>
#include <utility>

namespace cudamedian
{
namespace
{

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

/** Tells outliers of rows of windows: counts the values of each that are near, and those that are valid. */
template <typename T>
class OutlierRows
{
public:
  OutlierRows(const DeviationBound & bound, std::vector<Member> members, std::size_t width)
    : m_Bound(bound)
    , m_Members(std::move(members))
    , m_Firsts(width)
    , m_Spans(width)
    , m_Near(width)
    , m_Valid(width)
    , m_IsOutlier(width)
  {}

  /** \param own the windows' own pixels
   * \param values of the first window's first pixel
   * \param valid its flag; null: all pixels are valid
   * \returns flags of the outliers, and of pixels that are no number */
  const std::uint8_t *
  Find(const T * own, const T * medians, const T * values, const std::uint8_t * valid)
  {
    const auto & steps = GetMaskRows();
    const auto   width = m_Near.size();
    steps.findNear(GetValueKind<T>(), own, medians, m_Bound, {}, width, m_Firsts.data(), m_Spans.data());
    std::fill(m_Near.begin(), m_Near.end(), 0);
    std::fill(m_Valid.begin(), m_Valid.end(), 0);
    for (const auto & member : m_Members)
    {
      for (auto left = member.weight; left > 0; --left)
      {
        m_Values.push_back(values + member.place);
        m_Flags.push_back(valid == nullptr ? nullptr : valid + member.place);
        if (m_Values.size() == mostNear)
        {
          CountRows(valid == nullptr);
        }
      }
    }
    CountRows(valid == nullptr);
    steps.findOutliers(GetValueKind<T>(), own, medians, m_Near.data(), m_Valid.data(), width, m_IsOutlier.data());
    return m_IsOutlier.data();
  }

private:
  void
  CountRows(bool isAllValid)
  {
    using Number = std::conditional_t<std::is_floating_point_v<T>,
                                      std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>,
                                      Distance<T>>;
    const auto          width = m_Near.size();
    const auto          rows = m_Values.size();
    const auto &        steps = GetMaskRows();
    const auto *        flags = isAllValid ? nullptr : m_Flags.data();
    std::vector<Number> counts(width);
    steps.countNear(
      GetValueKind<T>(), { m_Values.data(), flags, rows }, m_Firsts.data(), m_Spans.data(), width, counts.data());
    for (std::size_t x = 0; x < width; ++x)
    {
      m_Near[x] += static_cast<std::int32_t>(counts[x]);
      m_Valid[x] += isAllValid ? static_cast<std::int32_t>(rows) : 0;
    }
    if (!isAllValid)
    {
      steps.add(sizeof(std::int32_t), flags, nullptr, rows, 0, true, width, m_Valid.data());
    }
    m_Values.clear();
    m_Flags.clear();
  }

  DeviationBound                    m_Bound;
  std::vector<Member>               m_Members;
  std::vector<T>                    m_Firsts; ///< see MaskRows::findNear
  std::vector<T>                    m_Spans;
  std::vector<std::int32_t>         m_Near;
  std::vector<std::int32_t>         m_Valid;
  std::vector<const void *>         m_Values; ///< rows that are to be counted …
  std::vector<const std::uint8_t *> m_Flags;  ///< … and their flags
  std::vector<std::uint8_t>         m_IsOutlier;
};

} // namespace

void
MaskedCopy::KeepInliers()
{
  const auto type = m_Request.pixelType;
  if (!HasDeviations(m_Request))
  {
    return ForEachOutputRow([this](const OutputRow & row) {
      KeepNear(m_Request, row.own, row.valid, static_cast<std::size_t>(m_Outputs.extent[0]), row.medians);
    });
  }
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    if constexpr (std::is_same_v<T, std::int16_t>)
    {
      if (IsHalfFloat(type))
      {
        return KeepInliersByDeviations<T>([type](T copied) { return static_cast<float>(GetCopiedHalf(type, copied)); });
      }
    }
    KeepInliersByDeviations<T>([](T value) { return value; });
  });
}

template <typename T, typename TGetValue>
void
MaskedCopy::KeepInliersByDeviations(const TGetValue & getValue)
{
  using Value = decltype(getValue(T()));
  const auto *       copy = reinterpret_cast<const T *>(m_Memory.copy.data());
  std::vector<Value> converted;
  const auto *       values = reinterpret_cast<const Value *>(copy);
  if constexpr (!std::is_same_v<T, Value>)
  {
    converted.resize(static_cast<std::size_t>(Volume(m_Copied.extent)));
    std::transform(copy, copy + converted.size(), converted.begin(), getValue);
    values = converted.data();
  }
  const auto number = static_cast<std::size_t>(m_Outputs.extent[0]);
  // The window's first pixel of the first output is the copy's first.
  const auto         toFirst = GetOwnPlace(0);
  OutlierRows<Value> rows(DeviationBound(m_Request.outlierThreshold), ListMembers(m_Window, m_Copied.extent), number);
  std::vector<Value> medians(number);
  PixelFlags         isReplaced(number);
  // Some milliseconds of counting.
  constexpr double mostUntold = 1 << 24;
  std::int64_t     told = 0;
  const auto       tell = [&](std::int64_t done) {
    m_Tell((1 - m_ShareOfMedians) * static_cast<double>(done - told) / static_cast<double>(m_Count));
    told = done;
  };
  ForEachOutputRow([&](const OutputRow & row) {
    if (static_cast<double>(row.number - told) * static_cast<double>(m_Window.CountPixels()) > mostUntold)
    {
      tell(row.number);
    }
    const auto   own = values + row.place;
    const auto * found = static_cast<const T *>(row.medians);
    std::transform(found, found + number, medians.begin(), getValue);
    const auto * isOutlier =
      rows.Find(own, medians.data(), own - toFirst, row.valid == nullptr ? nullptr : row.valid - toFirst);
    for (std::size_t x = 0; x < number; ++x)
    {
      isReplaced[x] = isOutlier[x] | (row.valid == nullptr ? 0U : row.valid[x] ^ 1U);
    }
    GetMaskRows().replace(isReplaced.data(), 0, row.own, false, sizeof(T), number, row.medians);
  });
  tell(m_Count);
}

} // namespace cudamedian
