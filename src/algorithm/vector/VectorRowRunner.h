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
#ifndef VectorRowRunner_h
#define VectorRowRunner_h

#include "DivideUp.h"
#include "VectorPixel.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace cudamedian
{

/** Finds vector medians on the CPU, for windows with a radius along axis 0 and one other axis at most.
 *
 * As in VectorTile.h a pixel is a candidate once, for all windows that it is in. Its distances to the pixels of a row
 * around it, and the box sums of these, are found for a whole row of candidates at a time, in loops that compilers turn
 * into vectors: components lie in planes. */
template <typename TDistance>
class VectorRowRunner
{
public:
  using Bits = typename TDistance::Bits;
  using Lane = typename TDistance::Lane;
  using Sum = typename TDistance::Sum;
  using Index = std::int64_t;
  /** As wide as a sum, where that makes the same vectors. */
  using Position = std::
    conditional_t<sizeof(Sum) == 2, std::uint16_t, std::conditional_t<sizeof(Sum) == 8, std::uint64_t, std::uint32_t>>;

  /** Outputs of a piece of work along axis 0 and along the other axis. */
  static constexpr Index longestRow = 128;
  static constexpr Index mostLines = 32;

  template <typename TRequest>
  VectorRowRunner(const TRequest &, const VectorArguments & arguments)
    : m_Arguments(arguments)
    , m_Line(FindLineAxis(arguments))
    , m_Radius(arguments.radius[0])
    , m_LineRadius(arguments.radius[m_Line])
  {
    const auto most = static_cast<std::size_t>(longestRow + 2 * m_Radius);
    m_PlaneWidth = longestRow + 6 * m_Radius;
    m_Planes.resize(static_cast<std::size_t>((mostLines + 2 * m_LineRadius) * arguments.components * m_PlaneWidth));
    m_Parts.resize(most);
    m_Distances.resize(static_cast<std::size_t>(4 * m_Radius + 1) * most);
    m_RowSums.resize(most);
    m_Boxes.resize(static_cast<std::size_t>((2 * m_LineRadius + 1) * (2 * m_Radius + 1)) * most);
    m_Least.resize(static_cast<std::size_t>(mostLines * longestRow));
    m_Positions.resize(m_Least.size());
  }

  /** Whether a window is one of these. */
  static bool
  Covers(const VectorArguments & arguments)
  {
    const auto * radius = arguments.radius;
    return (radius[1] > 0) + (radius[2] > 0) + (radius[3] > 0) <= 1;
  }

  template <typename TRequest>
  static std::size_t
  CountRows(const TRequest &, const VectorArguments & arguments)
  {
    const auto pieces = CountPieces(arguments);
    return static_cast<std::size_t>(pieces[0] * pieces[1] * pieces[2] * pieces[3]);
  }

  void
  Run(std::size_t number)
  {
    const auto pieces = CountPieces(m_Arguments);
    auto       left = static_cast<Index>(number);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      m_First[axis] = left % pieces[axis];
      left /= pieces[axis];
    }
    m_First[0] *= longestRow;
    m_First[m_Line] *= mostLines;
    m_Columns = std::min(longestRow, m_Arguments.outputExtent[0] - m_First[0]);
    m_Lines = std::min(mostLines, m_Arguments.outputExtent[m_Line] - m_First[m_Line]);
    Load();
    std::fill(m_Least.begin(), m_Least.end(), TDistance::GetNone());
    std::fill(m_Positions.begin(), m_Positions.end(), Position{ 0 });
    for (Index line = 0; line < m_Lines + 2 * m_LineRadius; ++line)
    {
      SumBoxes(line);
      TakeLeast(line);
    }
    Write();
  }

  std::size_t
  GetScratchBytes() const
  {
    return m_Planes.size() * sizeof(Lane) + m_Parts.size() * sizeof(typename TDistance::Part) +
           (m_Distances.size() + m_RowSums.size() + m_Boxes.size() + m_Least.size()) * sizeof(Sum) +
           m_Positions.size() * sizeof(Position);
  }

private:
  /** The axis other than 0 that the window has a radius along. */
  static int
  FindLineAxis(const VectorArguments & arguments)
  {
    return arguments.radius[3] > 0 ? 3 : arguments.radius[2] > 0 ? 2 : 1;
  }

  static Extent
  CountPieces(const VectorArguments & arguments)
  {
    Extent pieces;
    std::copy_n(arguments.outputExtent, Dimension, pieces.begin());
    pieces[0] = DivideUp(pieces[0], longestRow);
    const int line = FindLineAxis(arguments);
    pieces[line] = DivideUp(pieces[line], mostLines);
    return pieces;
  }

  /** The first component of an input pixel, counted from the first output of this piece of work. */
  const Bits *
  LocateInput(Index column, Index line) const
  {
    Index offset = 0;
    Index stride = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto ahead = axis == 0 ? column : axis == m_Line ? line : 0;
      offset += stride *
                Clamp<Index>(m_Arguments.outputOrigin[axis] + m_First[axis] + ahead, m_Arguments.inputExtent[axis] - 1);
      stride *= m_Arguments.inputExtent[axis];
    }
    return static_cast<const Bits *>(m_Arguments.input) + offset * m_Arguments.components;
  }

  Lane *
  GetPlane(Index line, int component)
  {
    return m_Planes.data() + (line * m_Arguments.components + component) * m_PlaneWidth;
  }

  /** Loads what windows of these outputs have. Neighbours of candidates beyond that are there, and no window has them:
   * along a row they start three radii before the first output. */
  void
  Load()
  {
    for (Index line = 0; line < m_Lines + 2 * m_LineRadius; ++line)
    {
      for (Index column = 0; column < m_Columns + 6 * m_Radius; ++column)
      {
        const auto * pixel = LocateInput(column - 3 * m_Radius, line - m_LineRadius);
        for (int component = 0; component < m_Arguments.components; ++component)
        {
          GetPlane(line, component)[column] = TDistance::ToLane(pixel[component], m_Arguments.signMask);
        }
      }
    }
  }

  /** Distances from a row of candidates to the pixels that are so many lines and columns away. */
  void
  FindDistances(Index line, Index otherLine, Index shift, Sum * distances)
  {
    const auto count = static_cast<std::size_t>(m_Columns + 2 * m_Radius);
    auto *     parts = m_Parts.data();
    std::fill_n(parts, count, typename TDistance::Part{});
    for (int component = 0; component < m_Arguments.components; ++component)
    {
      const Lane * one = GetPlane(line, component) + 2 * m_Radius;
      const Lane * other = GetPlane(otherLine, component) + 2 * m_Radius + shift;
      for (std::size_t column = 0; column < count; ++column)
      {
        TDistance::Add(parts[column], one[column], other[column]);
      }
    }
    for (std::size_t column = 0; column < count; ++column)
    {
      distances[column] = Sum(TDistance::Finish(parts[column]));
    }
  }

  /** For a row of candidates, finds the sum of each for each window that it is in. */
  void
  SumBoxes(Index line)
  {
    const auto count = static_cast<std::size_t>(m_Columns + 2 * m_Radius);
    const auto lines = m_Lines + 2 * m_LineRadius;
    std::fill(m_Boxes.begin(), m_Boxes.end(), Sum{});
    for (auto other = std::max<Index>(0, line - 2 * m_LineRadius);
         other <= std::min(lines - 1, line + 2 * m_LineRadius);
         ++other)
    {
      for (Index shift = -2 * m_Radius; shift <= 2 * m_Radius; ++shift)
      {
        FindDistances(line, other, shift, m_Distances.data() + static_cast<std::size_t>(shift + 2 * m_Radius) * count);
      }
      for (Index column = 0; column <= 2 * m_Radius; ++column)
      {
        SumRow(column, count);
        // The windows whose centres are so many lines from the candidate's have this line.
        const auto from = std::max(-m_LineRadius, other - line - m_LineRadius);
        const auto to = std::min(m_LineRadius, other - line + m_LineRadius);
        for (auto centre = from; centre <= to; ++centre)
        {
          Sum *       box = GetBox(centre, column, count);
          const Sum * sums = m_RowSums.data();
          for (std::size_t number = 0; number < count; ++number)
          {
            box[number] += sums[number];
          }
        }
      }
    }
  }

  /** The sums of candidates for windows whose centres are so many lines away, and columns, counted from -radius. */
  Sum *
  GetBox(Index centre, Index column, std::size_t count)
  {
    return m_Boxes.data() + static_cast<std::size_t>((centre + m_LineRadius) * (2 * m_Radius + 1) + column) * count;
  }

  /** The sums of a row of windows. Exact ones run from one column of windows to the next. */
  void
  SumRow(Index column, std::size_t count)
  {
    Sum *       sums = m_RowSums.data();
    const Sum * first = m_Distances.data() + static_cast<std::size_t>(column) * count;
    if (TDistance::isExact && column > 0)
    {
      const Sum * before = first - count;
      const Sum * last = first + static_cast<std::size_t>(2 * m_Radius) * count;
      for (std::size_t number = 0; number < count; ++number)
      {
        sums[number] += last[number];
        sums[number] -= before[number];
      }
      return;
    }
    std::fill_n(sums, count, Sum{});
    for (Index next = 0; next <= 2 * m_Radius; ++next, first += count)
    {
      for (std::size_t number = 0; number < count; ++number)
      {
        sums[number] += first[number];
      }
    }
  }

  /** Candidates with a NaN have the sum NaN. */
  void
  Condemn(Index line, Index column, Sum * sums)
  {
    if constexpr (TDistance::hasNaN)
    {
      const auto start = 2 * m_Radius + column;
      for (int component = 0; component < m_Arguments.components; ++component)
      {
        const Lane * lanes = GetPlane(line, component) + start;
        for (Index number = 0; number < m_Columns; ++number)
        {
          sums[number] = lanes[number] == lanes[number] ? sums[number] : TDistance::GetNone();
        }
      }
    }
  }

  /** Gives windows a row of candidates. They come in raster order: of a row, the first is in the windows that lie to
   * its right. */
  void
  TakeLeast(Index line)
  {
    const auto count = static_cast<std::size_t>(m_Columns + 2 * m_Radius);
    const auto width = 2 * m_Radius + 1;
    for (Index centre = -m_LineRadius; centre <= m_LineRadius; ++centre)
    {
      const auto output = line - m_LineRadius + centre;
      if (output < 0 || output >= m_Lines)
      {
        continue;
      }
      for (Index column = 2 * m_Radius; column >= 0; --column)
      {
        // Windows so far to the right of their candidates: the first output's candidate is that far to the left.
        const auto lead = 2 * m_Radius - column;
        Sum *      sums = GetBox(centre, column, count) + lead;
        Condemn(line, lead, sums);
        const auto position = static_cast<Position>((m_LineRadius - centre) * width + 2 * m_Radius - column);
        Sum *      least = m_Least.data() + output * longestRow;
        Position * positions = m_Positions.data() + output * longestRow;
        for (Index number = 0; number < m_Columns; ++number)
        {
          const bool less = TDistance::IsLess(sums[number], least[number]);
          least[number] = less ? sums[number] : least[number];
          positions[number] = less ? position : positions[number];
        }
      }
    }
  }

  void
  Write()
  {
    const auto  components = m_Arguments.components;
    const Index width = 2 * m_Radius + 1;
    for (Index line = 0; line < m_Lines; ++line)
    {
      Index offset = 0;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        offset += (m_First[axis] + (axis == m_Line ? line : 0)) * m_Arguments.outputStride[axis];
      }
      auto * output = static_cast<Bits *>(m_Arguments.output) + offset * components;
      for (Index column = 0; column < m_Columns; ++column)
      {
        const auto   position = static_cast<Index>(m_Positions[static_cast<std::size_t>(line * longestRow + column)]);
        const auto * pixel = LocateInput(column - m_Radius + position % width, line - m_LineRadius + position / width);
        std::copy_n(pixel, components, output + column * components);
      }
    }
  }

  const VectorArguments                 m_Arguments;
  const int                             m_Line;
  const Index                           m_Radius;
  const Index                           m_LineRadius;
  Index                                 m_PlaneWidth;
  Index                                 m_First[Dimension]{};
  Index                                 m_Columns{ 0 };
  Index                                 m_Lines{ 0 };
  std::vector<Lane>                     m_Planes;
  std::vector<typename TDistance::Part> m_Parts;
  std::vector<Sum>                      m_Distances;
  std::vector<Sum>                      m_RowSums;
  std::vector<Sum>                      m_Boxes;
  std::vector<Sum>                      m_Least;
  std::vector<Position>                 m_Positions;
};

} // namespace cudamedian

#endif
