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
#include "FuzzImage.h"
#include "FuzzPixels.h"
#include "FuzzWindow.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace cudamedianfuzz
{
namespace
{

/** How often each coordinate of an axis occurs in the clamped window around a center. */
std::int64_t
CountOccurrences(std::int64_t position, std::int64_t center, std::int64_t radius, std::int64_t size)
{
  const auto first = center - radius;
  const auto last = center + radius;
  // What lies before the image counts for its first pixel, what lies behind it for its last.
  const auto from = position == 0 ? first : std::max(first, position);
  const auto to = position == size - 1 ? last : std::min(last, position);
  return std::max<std::int64_t>(0, to - from + 1);
}

/** Lists the clamped window pixel by pixel. */
std::uint64_t
GetMedianOfList(const Case &                       c,
                const Extent &                     radius,
                const Extent &                     center,
                const std::vector<std::uint64_t> & keys,
                std::vector<std::uint64_t> &       list)
{
  list.clear();
  const auto clamp = [&](std::int64_t coordinate, int axis) {
    return std::min(std::max<std::int64_t>(coordinate, 0), c.size[axis] - 1);
  };
  for (auto w = center[3] - radius[3]; w <= center[3] + radius[3]; ++w)
    for (auto z = center[2] - radius[2]; z <= center[2] + radius[2]; ++z)
      for (auto y = center[1] - radius[1]; y <= center[1] + radius[1]; ++y)
      {
        const auto * row =
          keys.data() + ((clamp(w, 3) * c.size[2] + clamp(z, 2)) * c.size[1] + clamp(y, 1)) * c.size[0];
        for (auto x = center[0] - radius[0]; x <= center[0] + radius[0]; ++x)
        {
          list.push_back(row[clamp(x, 0)]);
        }
      }
  const auto median = list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2);
  std::nth_element(list.begin(), median, list.end());
  return *median;
}

/** Walks the image's pixels in the order of their keys until half of the window has been met. */
std::uint64_t
GetMedianByWalking(const Case &                       c,
                   const Extent &                     radius,
                   const Extent &                     center,
                   const std::vector<std::uint64_t> & keys,
                   const std::vector<std::uint32_t> & order)
{
  const auto   half = c.CountWindow() / 2;
  std::int64_t met = 0;
  for (const auto number : order)
  {
    std::int64_t rest = number;
    std::int64_t times = 1;
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      times *= CountOccurrences(rest % c.size[axis], center[axis], radius[axis], c.size[axis]);
      rest /= c.size[axis];
    }
    met += times;
    if (met > half)
    {
      return keys[number];
    }
  }
  return ~std::uint64_t{ 0 };
}

/** A value that a window sees. */
struct Seen
{
  std::uint64_t key;
  std::int64_t  weight;
};

/** How far two values are from each other, rounded as their type is; of integers it is exact. Infinities that are alike
 * have no distance. */
template <typename TPixel>
long double
GetDistance(TPixel a, TPixel b)
{
  if constexpr (std::is_floating_point<TPixel>::value)
  {
    return std::fabs(a - b);
  }
  else
  {
    const auto exact = static_cast<long double>(a) - static_cast<long double>(b);
    return exact < 0 ? -exact : exact;
  }
}

/** The mean of two values: of integers rounded down, of floats that of their exact sum, rounded once. */
template <typename TPixel>
TPixel
GetMean(TPixel lower, TPixel upper)
{
  if constexpr (std::is_floating_point<TPixel>::value)
  {
    constexpr auto most = std::numeric_limits<TPixel>::max() / 2;
    const bool     hasRoom = !(std::fabs(lower) > most || std::fabs(upper) > most);
    return hasRoom ? (lower + upper) / 2 : lower / 2 + upper / 2;
  }
  else
  {
    // The lower one and half of the way to the upper one, which has room without a sign.
    using Way = std::make_unsigned_t<TPixel>;
    const auto way = static_cast<Way>(static_cast<Way>(upper) - static_cast<Way>(lower));
    return static_cast<TPixel>(static_cast<Way>(lower) + way / 2);
  }
}

/** The value of a rank among sorted ones. */
template <typename TValue>
const TValue &
Pick(const std::vector<TValue> & sorted, std::int64_t rank)
{
  auto seen = sorted.begin();
  for (; rank >= seen->weight; ++seen)
  {
    rank -= seen->weight;
  }
  return *seen;
}

/** The definition of all that the filter does, pixel by pixel. */
template <typename TPixel>
class Definition
{
public:
  Definition(const Case & c, const std::vector<std::uint64_t> & keys)
    : m_Case(c)
    , m_Keys(keys)
    , m_Pixels(ListWindow(c))
    , m_Values(MeasureWindow(c).values)
    , m_Mask(MakeMask(c))
    , m_Top(GetTopKey(c.type))
  {
    for (int axis = 0; axis < cudamedian::Dimension; ++axis)
    {
      for (const auto & pixel : m_Pixels)
      {
        m_Farthest[axis] = std::max<std::int64_t>(m_Farthest[axis], std::abs(pixel.offset[axis]));
      }
      for (auto place = -m_Farthest[axis]; place < c.size[axis] + m_Farthest[axis]; ++place)
      {
        m_Places[axis].push_back(FindPlace(c.border[axis], place, c.size[axis]));
      }
    }
  }

  std::uint64_t
  Get(const Extent & center)
  {
    Seen       own{ 0, 1 };
    const bool isValid = Look(center, own.key);
    if (!isValid && m_Case.invalidOutput != InvalidOutput::Computed)
    {
      return m_Case.invalidOutput == InvalidOutput::Copied ? own.key : m_Case.invalidValue;
    }
    m_Sorted.clear();
    std::int64_t count = 0;
    for (const auto & pixel : m_Pixels)
    {
      const auto & d = pixel.offset;
      Seen         seen{ 0, pixel.weight };
      if (Look({ { center[0] + d[0], center[1] + d[1], center[2] + d[2], center[3] + d[3] } }, seen.key))
      {
        m_Sorted.push_back(seen);
        count += seen.weight;
      }
    }
    if (count == 0)
    {
      return m_Case.hasEmptyValue ? m_Case.emptyValue : own.key;
    }
    std::sort(m_Sorted.begin(), m_Sorted.end(), [](const Seen & a, const Seen & b) { return a.key < b.key; });
    const auto wanted = Select(count);
    return isValid && IsKept(own.key, wanted, count) ? own.key : wanted;
  }

private:
  /** What a pixel beyond the image is, as one walks there from the image; -1: none. */
  static std::int64_t
  FindPlace(Border border, std::int64_t place, std::int64_t size)
  {
    const bool isInside = place >= 0 && place < size;
    const auto beyond = place < 0 ? -place - 1 : place - size; // pixels between it and the image
    const auto period = std::max<std::int64_t>(1, size - 1);
    switch (border)
    {
      case Border::Constant:
      case Border::Shrink:
        return isInside ? place : -1;
      case Border::ZeroFluxNeumann:
        return isInside ? place : place < 0 ? 0 : size - 1;
      case Border::Wrap:
        return isInside ? place : place < 0 ? size - 1 - beyond % size : beyond % size;
      case Border::Reflect:
      {
        // Copies of the image in turn the other way round and as it is.
        const auto along = beyond % size;
        const bool isTurned = beyond / size % 2 == 0;
        return isInside ? place : isTurned == (place < 0) ? along : size - 1 - along;
      }
      default:
      {
        // The same without the last pixel: of an image of one pixel that is all there is.
        const auto along = beyond % period;
        const bool isTurned = beyond / period % 2 == 0;
        return isInside ? place : size == 1 ? 0 : isTurned == (place < 0) ? along + 1 : size - 2 - along;
      }
    }
  }

  /** What lies at a place. \returns whether it is valid. */
  bool
  Look(const Extent & place, std::uint64_t & key) const
  {
    std::int64_t number = 0;
    bool         isInside = true;
    for (int axis = cudamedian::Dimension - 1; axis >= 0; --axis)
    {
      const auto found = m_Places[axis][static_cast<std::size_t>(place[axis] + m_Farthest[axis])];
      isInside = isInside && found >= 0;
      number = number * m_Case.size[axis] + found;
    }
    if (!isInside && m_Case.HasShrunkBorder())
    {
      return false;
    }
    key = isInside ? m_Keys[static_cast<std::size_t>(number)] : m_Case.constant;
    const bool isMasked = isInside && !m_Mask.empty() && m_Mask[static_cast<std::size_t>(number)] == '0';
    return !isMasked && !(m_Case.hasIgnored && AreSame(key, m_Case.ignored)) && !(m_Case.omitsNaN && key > m_Top);
  }

  /** Whether two values are one: -0 and +0 are, and every two NaN. */
  bool
  AreSame(std::uint64_t a, std::uint64_t b) const
  {
    return (a > m_Top && b > m_Top) || KeyOf<TPixel>::ToPixel(a) == KeyOf<TPixel>::ToPixel(b);
  }

  std::uint64_t
  Select(std::int64_t count) const
  {
    // Where pixels are not valid or windows clipped, ranks are the least, the greatest and the middle alone. A window
    // of one value has the middle, and one of two has its median above.
    const bool isMiddle = m_Case.rank < 0 || m_Case.rank == m_Values / 2;
    if (!isMiddle)
    {
      return Pick(m_Sorted, count == m_Values ? m_Case.rank : m_Case.rank == 0 ? 0 : count - 1).key;
    }
    const auto upper = Pick(m_Sorted, count / 2).key;
    if (count % 2 != 0 || m_Case.evenMedian == EvenMedian::Upper)
    {
      return upper;
    }
    const auto lower = Pick(m_Sorted, count / 2 - 1).key;
    using Key = KeyOf<TPixel>;
    return m_Case.evenMedian == EvenMedian::Lower ? lower
                                                  : Key::FromPixel(GetMean(Key::ToPixel(lower), Key::ToPixel(upper)));
  }

  /** Whether the rule for outliers lets a pixel be as it is. */
  bool
  IsKept(std::uint64_t own, std::uint64_t median, std::int64_t count)
  {
    if (m_Case.outlierRule == OutlierRule::None || own > m_Top)
    {
      return false;
    }
    using Key = KeyOf<TPixel>;
    const auto middle = Key::ToPixel(median);
    const auto distance = GetDistance(Key::ToPixel(own), middle);
    if (m_Case.outlierRule == OutlierRule::Absolute)
    {
      return !(distance > static_cast<long double>(m_Case.threshold));
    }
    m_Deviations.clear();
    for (const auto & seen : m_Sorted)
    {
      m_Deviations.push_back({ GetDistance(Key::ToPixel(seen.key), middle), seen.weight });
    }
    std::sort(m_Deviations.begin(), m_Deviations.end(), [](const Deviation & a, const Deviation & b) {
      return std::isnan(b.size) ? !std::isnan(a.size) : a.size < b.size;
    });
    // Thresholds have few digits, so that no product is rounded.
    return !(distance > static_cast<long double>(m_Case.threshold) * Pick(m_Deviations, count / 2).size);
  }

  struct Deviation
  {
    long double  size;
    std::int64_t weight;
  };

  const Case &                       m_Case;
  const std::vector<std::uint64_t> & m_Keys;
  std::vector<WindowPixel>           m_Pixels;
  std::int64_t                       m_Values;
  std::string                        m_Mask;
  std::uint64_t                      m_Top;
  Extent                             m_Farthest{ { 0, 0, 0, 0 } };
  std::vector<std::int64_t>          m_Places[cudamedian::Dimension]; ///< for each place that windows reach
  std::vector<Seen>                  m_Sorted;
  std::vector<Deviation>             m_Deviations;
};

/** Calls function(center) for the outputs of the requested region. */
template <typename TFunction>
void
ForEachOutput(const Case & c, const TFunction & function)
{
  Extent p;
  for (p[3] = 0; p[3] < c.region[3]; ++p[3])
    for (p[2] = 0; p[2] < c.region[2]; ++p[2])
      for (p[1] = 0; p[1] < c.region[1]; ++p[1])
        for (p[0] = 0; p[0] < c.region[0]; ++p[0])
        {
          function(Extent{ { p[0] + c.offset[0], p[1] + c.offset[1], p[2] + c.offset[2], p[3] + c.offset[3] } });
        }
}

/** Medians of odd boxes with the nearest pixel around the image. */
std::vector<std::uint64_t>
GetPlainKeys(const Case & c, const std::vector<std::uint64_t> & keys)
{
  const auto                 radius = c.GetEffectiveRadius();
  const bool                 walks = c.CountWindow() > 4 * c.CountPixels();
  std::vector<std::uint32_t> order;
  if (walks)
  {
    order.resize(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i)
    {
      order[i] = static_cast<std::uint32_t>(i);
    }
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  }
  std::vector<std::uint64_t> medians;
  std::vector<std::uint64_t> list;
  ForEachOutput(c, [&](const Extent & center) {
    medians.push_back(walks ? GetMedianByWalking(c, radius, center, keys, order)
                            : GetMedianOfList(c, radius, center, keys, list));
  });
  return medians;
}

} // namespace

std::vector<std::uint64_t>
GetReferenceKeys(const Case & c, const std::vector<std::uint64_t> & keys)
{
  if (c.CountOutputs() == 0)
  {
    return {};
  }
  if (c.IsPlain())
  {
    return GetPlainKeys(c, keys);
  }
  return WithType(c.type, [&](auto value) {
    Definition<decltype(value)> definition(c, keys);
    std::vector<std::uint64_t>  results;
    ForEachOutput(c, [&](const Extent & center) { results.push_back(definition.Get(center)); });
    return results;
  });
}

} // namespace cudamedianfuzz
