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

ValidCounts::ValidCounts(const Window & window, const Extent & outputs, const PixelFlags & valid, const Turns & turns)
  : m_Window(window)
  , m_Outputs(outputs)
  , m_ValidStride(GetPackedStride(window.GetFootprint(outputs)))
  , m_Valid(valid)
  , m_Turns(turns)
  , m_SumBytes(CountSumBytes(window.CountBoxPixels()))
  , m_WindowRows(ListRows(window, 0))
  , m_FirstRows(ListRows(window, 1))
  , m_Lines(ListRows(window, turns.GetAxis()))
{
  const auto bytes = static_cast<std::size_t>(m_ValidStride[1]) * m_SumBytes;
  for (auto * sums : { &m_ValidSums, &m_Balance })
  {
    sums->rows.resize(bytes);
    sums->scratch.resize(bytes);
    sums->slid.resize(bytes);
  }
}

bool
ValidCounts::FindEmpty(const Extent & output, std::uint8_t * empty)
{
  const auto list = [&](auto & pointers, const std::vector<Extent> & offsets, std::int64_t further) {
    pointers.clear();
    for (auto offset : offsets)
    {
      offset[1] += further;
      pointers.push_back(m_Valid.data() + GetOffset(Add(output, offset), m_ValidStride));
    }
  };
  // Along axis 1 a row of the window enters, and another leaves.
  const bool goesOn = output[1] > 0;
  list(m_Added, goesOn ? m_FirstRows : m_WindowRows, goesOn ? m_Window.GetSize(1) - 1 : 0);
  list(m_Taken, goesOn ? m_FirstRows : std::vector<Extent>(), -1);
  const auto * sums = Sum(static_cast<std::size_t>(m_ValidStride[1]), goesOn, m_Window.GetSize(0), m_ValidSums);
  return GetMaskRows().findZeros(m_SumBytes, sums, static_cast<std::size_t>(m_Outputs[0]), empty);
}

const void *
ValidCounts::Sum(std::size_t numbers, bool goesOn, std::int64_t size, Sums & sums)
{
  const auto & steps = GetMaskRows();
  steps.add(
    m_SumBytes, m_Added.data(), m_Taken.data(), m_Added.size(), m_Taken.size(), goesOn, numbers, sums.rows.data());
  if (size == 1)
  {
    return sums.rows.data();
  }
  steps.slide(m_SumBytes,
              sums.rows.data(),
              static_cast<std::size_t>(size),
              static_cast<std::size_t>(m_Outputs[0]),
              sums.scratch.data(),
              sums.slid.data());
  return sums.slid.data();
}

void
ValidCounts::StartRanks(bool isLower, FoundRanks & ranks) const
{
  const auto most = GetRanksOfValid(m_Window, isLower);
  ranks.rankBytes = CountRankBytes(most.greatest - most.least + 1);
  ranks.first = most.least;
  ranks.bounds = { most.greatest, most.least };
  ranks.bytes.resize(static_cast<std::size_t>(Volume(m_Outputs)) * ranks.rankBytes);
}

void
ValidCounts::FindRanks(const Extent & output, bool isLower, FoundRanks & ranks)
{
  const auto axis = m_Turns.GetAxis();
  // Turns before and behind each line of the window, which lie in the same row where lines do.
  Extent behind{};
  behind[axis] = m_Window.GetSize(axis);
  m_Added.clear();
  m_Taken.clear();
  for (const auto & line : m_Lines)
  {
    const auto place = Add(output, line);
    m_Added.push_back(m_Turns.GetRow(place));
    m_Taken.push_back(m_Turns.GetRow(Add(place, behind)));
  }
  const auto *   balance = Sum(static_cast<std::size_t>(axis == 0 ? m_Outputs[0] : m_ValidStride[1]),
                             false,
                             axis == 0 ? 1 : m_Window.GetSize(0),
                             m_Balance);
  const RankRule rule{ m_Window.CountPixels() - (isLower ? 1 : 0), ranks.first, ranks.rankBytes };
  const auto     first = GetOffset(output, GetPackedStride(m_Outputs)) * static_cast<std::int64_t>(ranks.rankBytes);
  const auto     found = GetMaskRows().writeRanks(
    m_SumBytes, balance, rule, static_cast<std::size_t>(m_Outputs[0]), ranks.bytes.data() + first);
  ranks.bounds.least = std::min(ranks.bounds.least, ranks.first + found.least);
  ranks.bounds.greatest = std::max(ranks.bounds.greatest, ranks.first + found.greatest);
}

void
FindEmptyFootprints(const Window & window, const Extent & outputs, const PixelFlags & valid, PixelFlags & empty)
{
  const auto sums = SumFootprints({ valid.begin(), valid.end() }, window, window.GetFootprint(outputs), outputs);
  empty.resize(sums.size());
  if (!GetMaskRows().findZeros(sizeof(std::int32_t), sums.data(), sums.size(), empty.data()))
  {
    empty.clear();
  }
}

void
FindFootprintRanks(const Window &     window,
                   const Extent &     outputs,
                   const PixelFlags & valid,
                   const Turns &      turns,
                   bool               isLower,
                   FoundRanks &       ranks)
{
  const auto               extent = window.GetFootprint(outputs);
  std::vector<std::int8_t> balance(valid.size());
  std::size_t              first = 0;
  ForEachRow(extent, [&](const Extent & row) {
    const auto * turn = turns.GetRow(row);
    for (std::int64_t x = 0; x < extent[0]; ++x, ++first)
    {
      balance[first] = static_cast<std::int8_t>(valid[first] != 0 ? 0 : turn[x] != 0 ? 1 : -1);
    }
  });
  auto       sums = SumFootprints(balance, window, extent, outputs);
  const auto values = static_cast<std::int32_t>(window.CountPixels());
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
