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
#ifndef RankBlockRunner_h
#define RankBlockRunner_h

#include "AlignedVector.h"
#include "DigitSort.h"
#include "DivideUp.h"
#include "KeyedImage.h"
#include "RankEdges.h"
#include "RankMap.h"
#include "RankPolicy.h"
#include "RankWindow.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace cudamedian
{

/** Blocks of local ranks over a box of outputs on the host. */
struct RankWork
{
  PixelBox  output;
  RankShape shape;
};

/** Filters blocks by local ranks (see RankKernels.h): the pixels of a block's region are sorted once, and one window
 * slides through the block up and down, without ever starting anew. One object per work unit; its memory is bounded by
 * the largest region, of two keys and two ranks for each pixel.
 *
 * \tparam TRank what ranks and pixels' numbers take: 16 bits, or 32 in regions of more pixels, which only windows of a
 * footprint have. */
template <typename TKey, KeyMapping VMapping, typename TRank>
class RankBlockRunner
{
public:
  RankBlockRunner(const MedianRequest & request, const RankWork & work)
    : m_Image(request)
    , m_Request(request)
    , m_Window(GetWindow(request))
    , m_Output(work.output)
    , m_Shape(work.shape)
  {}

  static std::size_t
  CountRows(const MedianRequest &, const RankWork & work)
  {
    return static_cast<std::size_t>(CountRankBlocks(work.shape, work.output.extent));
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Keys) + m_Sort.GetScratchBytes() + GetBytes(m_Ranks) + GetBytes(m_Bits) + GetBytes(m_Results);
  }

  void
  Run(std::size_t block)
  {
    Locate(static_cast<std::int64_t>(block));
    LoadRegion();
    Sort();
    FindMap();
    if (m_Window.footprint != nullptr)
    {
      ListAllEdges();
      SlideFootprint();
    }
    else if constexpr (sizeof(TRank) == 2)
    {
      Slide();
    }
    Store();
  }

private:
  /** The outputs of a block, cut off where the output box ends, and its region. */
  void
  Locate(std::int64_t block)
  {
    m_Origin = m_Output.origin;
    for (int i = 0; i < 3; ++i)
    {
      const int  axis = m_Shape.axes[i];
      const auto tiles = DivideUp(m_Output.extent[axis], m_Shape.tile[i]);
      const auto first = block % tiles * m_Shape.tile[i];
      block /= tiles;
      m_Origin[axis] += first;
      m_Tile[i] = static_cast<int>(std::min<std::int64_t>(m_Shape.tile[i], m_Output.extent[axis] - first));
      m_Region[i] = m_Tile[i] + m_Shape.window[i] - 1;
    }
    m_Origin[m_Shape.axes[3]] += block;
  }

  void
  LoadRegion()
  {
    const auto count = static_cast<std::size_t>(m_Region[0]) * m_Region[1] * m_Region[2];
    m_Keys.resize(count);
    TKey *     keys = m_Keys.data();
    const auto first = m_Origin[0] - m_Window.radius[0];
    Extent     position = m_Origin;
    const int  axis1 = m_Shape.axes[1];
    const int  axis2 = m_Shape.axes[2];
    for (int z = 0; z < m_Region[2]; ++z)
    {
      position[axis2] = m_Image.Clamp(axis2, m_Origin[axis2] - m_Window.radius[axis2] + z);
      for (int y = 0; y < m_Region[1]; ++y, keys += m_Region[0])
      {
        position[axis1] = m_Image.Clamp(axis1, m_Origin[axis1] - m_Window.radius[axis1] + y);
        m_Image.LoadRow(m_Image.GetRow(position[1], position[2], position[3]), first, m_Region[0], keys);
      }
    }
  }

  /** Finds the ranks of the region's pixels. */
  void
  Sort()
  {
    const auto count = m_Keys.size();
    m_Ranks.resize(count);
    auto * const ranks = m_Ranks.data();
    m_Sort.Sort(
      m_Keys,
      [count](const auto & body) {
        for (std::size_t number = 0; number < count; ++number)
        {
          body(static_cast<TRank>(number));
        }
      },
      [=](std::uint32_t rank, TRank number) { ranks[number] = static_cast<TRank>(rank); });
  }

  /** Where the ranks of the block's outputs are, where each has its own. */
  void
  FindMap()
  {
    m_Map = RankRow(m_Request, m_Origin);
    const auto stride = GetPackedStride(m_Request.outputExtent);
    for (int i = 0; i < 3; ++i)
    {
      m_MapStride[i] = stride[m_Shape.axes[i]];
    }
  }

  /** Values below the wanted one of an output of the block. */
  int
  CountBelow(int x, int y, int z) const
  {
    return m_Map.IsEmpty() ? static_cast<int>(m_Window.CountBelow())
                           : static_cast<int>(m_Map[x * m_MapStride[0] + y * m_MapStride[1] + z * m_MapStride[2]]);
  }

  /** Lists what changes at a step to both sides along each axis. All pixels of a footprint count once. */
  void
  ListAllEdges()
  {
    const std::ptrdiff_t pitch[3] = { 1, m_Region[0], static_cast<std::ptrdiff_t>(m_Region[0]) * m_Region[1] };
    m_Members = ListMembers(*m_Window.footprint, m_Shape.axes, pitch);
    for (int i = 0; i < 3; ++i)
    {
      m_Edges[i][0] = ListEdges(*m_Window.footprint, m_Shape.axes, pitch, i, -1);
      m_Edges[i][1] = ListEdges(*m_Window.footprint, m_Shape.axes, pitch, i, 1);
    }
  }

  /** The same for the pixels of a footprint, those at its edges being replaced at each step. */
  void
  SlideFootprint()
  {
    const int words = static_cast<int>(DivideUp(m_Ranks.size(), 32));
    m_Bits.assign(static_cast<std::size_t>(words), 0);
    m_Results.resize(static_cast<std::size_t>(m_Tile[0]) * m_Tile[1] * m_Tile[2]);
    RankWindow<1>        window(m_Bits.data(), 0);
    const std::ptrdiff_t strides[3] = { 1, m_Region[0], static_cast<std::ptrdiff_t>(m_Region[0]) * m_Region[1] };
    const TRank *        corner = m_Ranks.data();
    for (const auto member : m_Members)
    {
      window.InsertOne(corner[member]);
    }
    window.StartAt(words / 2);
    int        place[3] = { 0, 0, 0 };
    int        steps[3] = { 1, 1, 1 };
    const auto move = [&](int i) {
      const auto & edges = m_Edges[i][steps[i] > 0 ? 1 : 0];
      for (std::size_t k = 0; k < edges.entering.size(); ++k)
      {
        window.ReplaceOne(corner[edges.entering[k]], corner[edges.leaving[k]]);
      }
      place[i] += steps[i];
      corner += steps[i] * strides[i];
    };
    for (int y = 0; y < m_Tile[1]; ++y)
    {
      for (int column = 0; column < m_Tile[0]; ++column)
      {
        for (int n = 0; n < m_Tile[2]; ++n)
        {
          m_Results[(static_cast<std::size_t>(place[2]) * m_Tile[1] + y) * m_Tile[0] + place[0]] =
            m_Image.ToBits(m_Sort.GetKey(static_cast<std::size_t>(window.FindRank(CountBelow(place[0], y, place[2])))));
          if (n + 1 < m_Tile[2])
          {
            move(2);
          }
        }
        steps[2] = -steps[2];
        if (column + 1 < m_Tile[0])
        {
          move(0);
        }
      }
      steps[0] = -steps[0];
      if (y + 1 < m_Tile[1])
      {
        move(1);
      }
    }
  }

  /** One window passes through all outputs, along axis 2 up and down, then a step along axis 0 or 1. */
  void
  Slide()
  {
    const int words = static_cast<int>(DivideUp(m_Ranks.size(), 32));
    m_Bits.assign(static_cast<std::size_t>(words), 0);
    m_Results.resize(static_cast<std::size_t>(m_Tile[0]) * m_Tile[1] * m_Tile[2]);
    RankWindow<1>         window(m_Bits.data(), 0);
    const std::ptrdiff_t  row = m_Region[0];
    const std::ptrdiff_t  slice = row * m_Region[1];
    const std::uint16_t * corner = m_Ranks.data();
    window.InsertBox(corner, m_Shape.window, static_cast<int>(row), static_cast<int>(slice));
    window.StartAt(words / 2);
    const int      last = m_Shape.window[0] - 1;
    const RankRows rows(corner, last % 2 == 0 ? last + 1 : last, 1, 0);
    const auto     replaceRow = [&](const std::uint16_t * entering, const std::uint16_t * leaving) {
      window.ReplaceRows(entering + rows.odd, leaving + rows.odd, rows);
      if (last % 2 != 0)
      {
        window.ReplaceOne(entering[last], leaving[last]);
      }
    };

    int x = 0;
    int z = 0;
    int stepX = 1;
    int stepZ = 1;
    for (int y = 0; y < m_Tile[1]; ++y)
    {
      for (int column = 0; column < m_Tile[0]; ++column)
      {
        for (int n = 0; n < m_Tile[2]; ++n)
        {
          m_Results[(static_cast<std::size_t>(z) * m_Tile[1] + y) * m_Tile[0] + x] =
            m_Image.ToBits(m_Sort.GetKey(static_cast<std::size_t>(window.FindRank(CountBelow(x, y, z)))));
          if (n + 1 < m_Tile[2])
          {
            // The slice that one of the two windows has and the other has not.
            const auto * before = corner + (stepZ > 0 ? 0 : (m_Shape.window[2] - 1) * slice);
            const auto * after = corner + (stepZ > 0 ? m_Shape.window[2] * slice : -slice);
            for (int i = 0; i < m_Shape.window[1]; ++i)
            {
              replaceRow(after + i * row, before + i * row);
            }
            z += stepZ;
            corner += stepZ * slice;
          }
        }
        stepZ = -stepZ;
        if (column + 1 < m_Tile[0])
        {
          const auto * before = corner + (stepX > 0 ? 0 : m_Shape.window[0] - 1);
          const auto * after = corner + (stepX > 0 ? m_Shape.window[0] : -1);
          for (int k = 0; k < m_Shape.window[2]; ++k)
          {
            for (int i = 0; i < m_Shape.window[1]; ++i)
            {
              window.ReplaceOne(after[k * slice + i * row], before[k * slice + i * row]);
            }
          }
          x += stepX;
          corner += stepX;
        }
      }
      stepX = -stepX;
      if (y + 1 < m_Tile[1])
      {
        for (int k = 0; k < m_Shape.window[2]; ++k)
        {
          replaceRow(corner + m_Shape.window[1] * row + k * slice, corner + k * slice);
        }
        corner += row;
      }
    }
  }

  void
  Store()
  {
    Extent       position = m_Origin;
    const TKey * results = m_Results.data();
    for (int z = 0; z < m_Tile[2]; ++z)
    {
      position[m_Shape.axes[2]] = m_Origin[m_Shape.axes[2]] + z;
      for (int y = 0; y < m_Tile[1]; ++y, results += m_Tile[0])
      {
        position[m_Shape.axes[1]] = m_Origin[m_Shape.axes[1]] + y;
        m_Image.StoreRow(position, results, m_Tile[0]);
      }
    }
  }

  KeyedImage<TKey, VMapping>   m_Image;
  const MedianRequest &        m_Request;
  Window                       m_Window;
  PixelBox                     m_Output;
  RankShape                    m_Shape;
  Extent                       m_Origin{ { 0, 0, 0, 0 } };
  int                          m_Tile[3]{ 0, 0, 0 };
  int                          m_Region[3]{ 0, 0, 0 };
  std::vector<TKey>            m_Keys; ///< of the region
  DigitSort<TKey, TRank, true> m_Sort;
  std::vector<TRank>           m_Ranks; ///< of the region's pixels
  std::vector<std::uint32_t>   m_Bits;
  std::vector<TKey>            m_Results;
  RankRow                      m_Map; ///< ranks of the block's outputs; empty: all have the window's
  std::ptrdiff_t               m_MapStride[3]{ 0, 0, 0 };
  std::vector<std::ptrdiff_t>  m_Members;     ///< places of a footprint's pixels from the window's corner
  RankEdges                    m_Edges[3][2]; ///< what changes at a step along an axis, down and up
};

} // namespace cudamedian

#endif
