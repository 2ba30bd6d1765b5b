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
#include "ValidCounts.h"

#include "RequestWindow.h"
#include "ValidRanks.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace cudamedian
{
namespace
{

using Sums = std::vector<std::int32_t>;

/** A stretch of a footprint's row whose pixels have the same weight. */
struct Stretch
{
  Extent       first;
  std::int64_t length;
  std::int64_t weight;
};

std::vector<Stretch>
ListStretches(const Footprint & footprint)
{
  std::vector<Stretch> stretches;
  for (const auto & pixel : footprint.GetPixels())
  {
    if (!stretches.empty())
    {
      auto next = stretches.back().first;
      next[0] += stretches.back().length;
      if (next == pixel.offset && stretches.back().weight == pixel.weight)
      {
        ++stretches.back().length;
        continue;
      }
    }
    stretches.push_back({ pixel.offset, 1, pixel.weight });
  }
  return stretches;
}

Sums
SumFootprints(const std::vector<std::int8_t> & values,
              const Window &                   window,
              const Extent &                   extent,
              const Extent &                   outputs)
{
  // Sums of all values before each, row by row: a stretch is a difference of two.
  const auto rows = extent[1] * extent[2] * extent[3];
  const auto pitch = extent[0] + 1;
  Sums       before(static_cast<std::size_t>(rows * pitch));
  for (std::int64_t row = 0; row < rows; ++row)
  {
    for (std::int64_t x = 0; x < extent[0]; ++x)
    {
      before[row * pitch + x + 1] = before[row * pitch + x] + values[row * extent[0] + x];
    }
  }
  Sums sums(static_cast<std::size_t>(Volume(outputs)));
  for (const auto & stretch : ListStretches(*window.footprint))
  {
    auto * to = sums.data();
    Extent place;
    for (place[3] = 0; place[3] < outputs[3]; ++place[3])
    {
      for (place[2] = 0; place[2] < outputs[2]; ++place[2])
      {
        for (place[1] = 0; place[1] < outputs[1]; ++place[1])
        {
          std::int64_t row = 0;
          for (int axis = Dimension - 1; axis >= 1; --axis)
          {
            row = row * extent[axis] + place[axis] + window.radius[axis] + stretch.first[axis];
          }
          const auto * from = before.data() + row * pitch + window.radius[0] + stretch.first[0];
          for (std::int64_t x = 0; x < outputs[0]; ++x)
          {
            to[x] += static_cast<std::int32_t>(stretch.weight) * (from[x + stretch.length] - from[x]);
          }
          to += outputs[0];
        }
      }
    }
  }
  return sums;
}

/** The positions of a window's rows in it, but for those behind the first along an axis. */
std::vector<Extent>
ListRows(const Window & window, int except)
{
  Extent sizes = window.GetExtent();
  sizes[0] = 1;
  sizes[except] = 1;
  std::vector<Extent> rows;
  ForEachRow(sizes, [&](const Extent & row) { rows.push_back(row); });
  return rows;
}

Extent
Add(Extent position, const Extent & offset)
{
  for (int axis = 0; axis < Dimension; ++axis)
  {
    position[axis] += offset[axis];
  }
  return position;
}

} // namespace

std::int64_t
FoundRanks::Get(std::size_t output) const
{
  if (rankBytes == 1)
  {
    return first + bytes[output];
  }
  std::int32_t number;
  std::memcpy(&number, bytes.data() + output * sizeof(number), sizeof(number));
  return first + number;
}

void
Renumber(std::int64_t first, std::size_t rankBytes, FoundRanks & ranks)
{
  if (first == ranks.first && rankBytes == ranks.rankBytes)
  {
    return;
  }
  const auto less = static_cast<std::int32_t>(first - ranks.first);
  if (rankBytes == 1 && ranks.rankBytes == 1)
  {
    for (auto & number : ranks.bytes)
    {
      number = static_cast<std::uint8_t>(number - less);
    }
  }
  else
  {
    // Numbers become shorter or stay as long as they are, so each is read before it is overwritten.
    const auto count = ranks.bytes.size() / ranks.rankBytes;
    for (std::size_t i = 0; i < count; ++i)
    {
      const auto number = static_cast<std::int32_t>(ranks.Get(i) - first);
      const auto byte = static_cast<std::uint8_t>(number);
      std::memcpy(ranks.bytes.data() + i * rankBytes,
                  rankBytes == 1 ? static_cast<const void *>(&byte) : static_cast<const void *>(&number),
                  rankBytes);
    }
    ranks.bytes.resize(count * rankBytes);
  }
  ranks.first = first;
  ranks.rankBytes = rankBytes;
}

/** Sums of flags over rows of windows, and then along them, for a row of outputs at a time. */
class ValidCounts::Rows
{
public:
  Rows(const Window & window, std::int64_t numbers, std::int64_t outputs)
    : m_SumBytes(CountSumBytes(window.CountBoxPixels()))
    , m_Numbers(static_cast<std::size_t>(numbers))
    , m_Outputs(static_cast<std::size_t>(outputs))
    , m_Sums(m_Numbers * m_SumBytes)
    , m_Scratch(m_Sums.size())
    , m_Slid(m_Sums.size())
  {}

  std::size_t
  GetSumBytes() const
  {
    return m_SumBytes;
  }

  void
  Add(const std::vector<const std::uint8_t *> & added, const std::vector<const std::uint8_t *> & taken, bool goesOn)
  {
    GetMaskRows().add(
      m_SumBytes, added.data(), taken.data(), added.size(), taken.size(), goesOn, m_Numbers, m_Sums.data());
  }

  /** The sums of so many that follow each other, for each output. */
  const void *
  Slide(std::int64_t size)
  {
    if (size == 1)
    {
      return m_Sums.data();
    }
    GetMaskRows().slide(
      m_SumBytes, m_Sums.data(), static_cast<std::size_t>(size), m_Outputs, m_Scratch.data(), m_Slid.data());
    return m_Slid.data();
  }

private:
  std::size_t m_SumBytes;
  std::size_t m_Numbers;
  std::size_t m_Outputs;
  Pixels      m_Sums;
  Pixels      m_Scratch;
  Pixels      m_Slid;
};

ValidCounts::ValidCounts(const Window & window, const Extent & outputs, const PixelFlags & valid)
  : m_Window(window)
  , m_Outputs(outputs)
  , m_Extent(window.GetFootprint(outputs))
  , m_Valid(valid)
{}

void
ValidCounts::FindEmpty(PixelFlags & empty) const
{
  if (m_Window.footprint != nullptr)
  {
    return FindEmptyOfFootprint(empty);
  }
  Rows       rows(m_Window, m_Extent[0], m_Outputs[0]);
  const auto stride = GetPackedStride(m_Extent);
  const auto all = ListRows(m_Window, 0);
  const auto behind = ListRows(m_Window, 1);
  bool       hasEmpty = false;
  empty.resize(static_cast<std::size_t>(Volume(m_Outputs)));
  auto * to = empty.data();

  std::vector<const std::uint8_t *> added;
  std::vector<const std::uint8_t *> taken;
  ForEachRow(m_Outputs, [&](const Extent & output) {
    const auto list = [&](auto & pointers, const std::vector<Extent> & offsets, std::int64_t further) {
      pointers.clear();
      for (auto offset : offsets)
      {
        offset[1] += further;
        pointers.push_back(m_Valid.data() + GetOffset(cudamedian::Add(output, offset), stride));
      }
    };
    // Along axis 1 a row of the window enters, and another leaves.
    const bool goesOn = output[1] > 0;
    list(added, goesOn ? behind : all, goesOn ? m_Window.GetSize(1) - 1 : 0);
    list(taken, goesOn ? behind : std::vector<Extent>(), -1);
    rows.Add(added, taken, goesOn);
    const auto * sums = rows.Slide(m_Window.GetSize(0));
    hasEmpty =
      GetMaskRows().findZeros(rows.GetSumBytes(), sums, static_cast<std::size_t>(m_Outputs[0]), to) || hasEmpty;
    to += m_Outputs[0];
  });
  if (!hasEmpty)
  {
    empty.clear();
  }
}

void
ValidCounts::FindRanks(const Turns & turns, bool isLower, FoundRanks & ranks) const
{
  if (m_Window.footprint != nullptr)
  {
    return FindRanksOfFootprint(turns, isLower, ranks);
  }
  const auto axis = turns.GetAxis();
  const auto most = GetRanksOfValid(m_Window, isLower);
  ranks.rankBytes = CountRankBytes(most.greatest - most.least + 1);
  ranks.first = most.least;
  ranks.bounds = { most.greatest, most.least };
  ranks.bytes.resize(static_cast<std::size_t>(Volume(m_Outputs)) * ranks.rankBytes);
  const RankRule rule{ m_Window.CountPixels() - (isLower ? 1 : 0), ranks.first, ranks.rankBytes };
  // Turns before and behind each line of the window, which lie in the same row where lines do.
  Extent behind{};
  behind[axis] = m_Window.GetSize(axis);
  const auto lines = ListRows(m_Window, axis);
  Rows       rows(m_Window, axis == 0 ? m_Outputs[0] : m_Extent[0], m_Outputs[0]);
  auto *     to = ranks.bytes.data();

  std::vector<const std::uint8_t *> added(lines.size());
  std::vector<const std::uint8_t *> taken(lines.size());
  ForEachRow(m_Outputs, [&](const Extent & output) {
    for (std::size_t line = 0; line < lines.size(); ++line)
    {
      const auto place = cudamedian::Add(output, lines[line]);
      added[line] = turns.GetRow(place);
      taken[line] = turns.GetRow(cudamedian::Add(place, behind));
    }
    rows.Add(added, taken, false);
    const auto * balance = rows.Slide(axis == 0 ? 1 : m_Window.GetSize(0));
    const auto   found =
      GetMaskRows().writeRanks(rows.GetSumBytes(), balance, rule, static_cast<std::size_t>(m_Outputs[0]), to);
    ranks.bounds.least = std::min(ranks.bounds.least, ranks.first + found.least);
    ranks.bounds.greatest = std::max(ranks.bounds.greatest, ranks.first + found.greatest);
    to += m_Outputs[0] * static_cast<std::int64_t>(ranks.rankBytes);
  });
}

void
ValidCounts::FindEmptyOfFootprint(PixelFlags & empty) const
{
  const auto sums = SumFootprints({ m_Valid.begin(), m_Valid.end() }, m_Window, m_Extent, m_Outputs);
  empty.resize(sums.size());
  if (!GetMaskRows().findZeros(sizeof(std::int32_t), sums.data(), sums.size(), empty.data()))
  {
    empty.clear();
  }
}

void
ValidCounts::FindRanksOfFootprint(const Turns & turns, bool isLower, FoundRanks & ranks) const
{
  std::vector<std::int8_t> balance(m_Valid.size());
  std::size_t              first = 0;
  ForEachRow(m_Extent, [&](const Extent & row) {
    const auto * turn = turns.GetRow(row);
    for (std::int64_t x = 0; x < m_Extent[0]; ++x, ++first)
    {
      balance[first] = static_cast<std::int8_t>(m_Valid[first] != 0 ? 0 : turn[x] != 0 ? 1 : -1);
    }
  });
  auto       sums = SumFootprints(balance, m_Window, m_Extent, m_Outputs);
  const auto values = static_cast<std::int32_t>(m_Window.CountPixels());
  ranks.rankBytes = sizeof(std::int32_t);
  ranks.first = 0;
  ranks.bounds = { values, 0 };
  for (auto & sum : sums)
  {
    sum = GetRankOfValid(values, sum, isLower);
    ranks.bounds.least = std::min<std::int64_t>(ranks.bounds.least, sum);
    ranks.bounds.greatest = std::max<std::int64_t>(ranks.bounds.greatest, sum);
  }
  const auto * bytes = reinterpret_cast<const std::uint8_t *>(sums.data());
  ranks.bytes.assign(bytes, bytes + sums.size() * sizeof(std::int32_t));
}

} // namespace cudamedian
