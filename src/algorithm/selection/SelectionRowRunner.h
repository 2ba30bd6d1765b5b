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
#ifndef SelectionRowRunner_h
#define SelectionRowRunner_h

#include "AlignedVector.h"
#include "DivideUp.h"
#include "KeyedImage.h"
#include "RankMap.h"
#include "RankSelection.h"
#include "RequestWindow.h"
#include "Slab.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace cudamedian
{

/** Selects each wanted value of a piece of a row on its own. One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class SelectionRowRunner
{
public:
  SelectionRowRunner(const MedianRequest & request, const PixelBox & output)
    : m_Image(request)
    , m_Request(request)
    , m_Extent(request.inputExtent)
    , m_Window(GetWindow(request))
    , m_Output(output)
    , m_Piece(GetPiece(request, output))
    , m_Row(static_cast<std::size_t>(m_Piece))
  {}

  static std::size_t
  CountRows(const MedianRequest & request, const PixelBox & output)
  {
    const auto pieces = DivideUp(output.extent[0], GetPiece(request, output));
    return static_cast<std::size_t>(pieces * output.extent[1] * output.extent[2] * output.extent[3]);
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Row) + GetBytes(m_Keys) + GetBytes(m_Weighted);
  }

  void
  Run(std::size_t row)
  {
    const auto pieces = DivideUp(m_Output.extent[0], m_Piece);
    const auto first = static_cast<std::int64_t>(row) % pieces * m_Piece;
    const auto number = static_cast<std::int64_t>(row) / pieces;
    Extent     origin = m_Output.origin;
    origin[0] += first;
    origin[1] += number % m_Output.extent[1];
    origin[2] += number / m_Output.extent[1] % m_Output.extent[2];
    origin[3] += number / m_Output.extent[1] / m_Output.extent[2];
    const RankRow ranks(m_Request, origin);
    auto          center = origin;
    m_Row.resize(static_cast<std::size_t>(std::min(m_Piece, m_Output.extent[0] - first)));
    for (auto & result : m_Row)
    {
      const auto rank = ranks.IsEmpty() ? m_Window.rank : ranks[center[0] - origin[0]];
      if (m_Request.footprint != nullptr)
      {
        result = m_Image.ToBits(SelectOfFootprint(center, rank));
      }
      else
      {
        const ClampedWindow window(center.data(), m_Window.radius.data(), m_Window.shorter.data(), m_Extent.data());
        result = m_Image.ToBits(Select(window, rank));
      }
      ++center[0];
    }
    m_Image.StoreRow(origin, m_Row.data(), static_cast<std::int64_t>(m_Row.size()));
  }

private:
  /** Outputs that are selected before anybody is told of it: some hundredths of a second. */
  static std::int64_t
  GetPiece(const MedianRequest & request, const PixelBox & output)
  {
    constexpr std::int64_t mostValues = std::int64_t{ 1 } << 21;
    const auto             values = std::max<std::int64_t>(1, GetWindow(request).CountPixels());
    return std::clamp<std::int64_t>(mostValues / values, 1, std::max<std::int64_t>(1, output.extent[0]));
  }

  /** Of the footprint's pixels; a pixel beyond the image is the nearest one in it. */
  TKey
  SelectOfFootprint(const Extent & center, std::int64_t rank)
  {
    m_Weighted.clear();
    for (const auto & pixel : m_Request.footprint->GetPixels())
    {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = m_Image.Clamp(axis, center[axis] + pixel.offset[axis]);
      }
      const auto * row = m_Image.GetRow(position[1], position[2], position[3]);
      m_Weighted.emplace_back(m_Image.ToKey(row[position[0]]), pixel.weight);
    }
    const auto isLess = [](const auto & one, const auto & other) { return one.first < other.first; };
    if (!m_Request.footprint->HasWeights())
    {
      std::nth_element(m_Weighted.begin(), m_Weighted.begin() + rank, m_Weighted.end(), isLess);
      return m_Weighted[static_cast<std::size_t>(rank)].first;
    }
    std::sort(m_Weighted.begin(), m_Weighted.end(), isLess);
    auto wanted = m_Weighted.begin();
    for (auto below = rank; below >= wanted->second; ++wanted)
    {
      below -= wanted->second;
    }
    return wanted->first;
  }

  TKey
  Select(const ClampedWindow & window, std::int64_t rank)
  {
    std::int64_t inside = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      inside *= window.last[axis] - window.first[axis] + 1;
    }
    // Counting reads the inside once per bit of the key and needs no memory; listing repeats the clamped pixels.
    if (m_Window.CountPixels() > 8 * static_cast<std::int64_t>(sizeof(TKey)) * inside)
    {
      return SelectByCounting<TKey>(
        window, rank, [this](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w) {
          return m_Image.ToKey(m_Image.GetRow(y, z, w)[x]);
        });
    }
    m_Keys.resize(static_cast<std::size_t>(m_Window.CountPixels()));
    TKey * next = m_Keys.data();
    ForEachClamped(window, 3, [&](std::int64_t w) {
      ForEachClamped(window, 2, [&](std::int64_t z) {
        ForEachClamped(window, 1, [&](std::int64_t y) { next = ListRow(window, m_Image.GetRow(y, z, w), next); });
      });
    });
    const auto wanted = m_Keys.begin() + rank;
    std::nth_element(m_Keys.begin(), wanted, m_Keys.end());
    return *wanted;
  }

  /** Appends the keys of one row of the window. */
  TKey *
  ListRow(const ClampedWindow & window, const TKey * row, TKey * next) const
  {
    next = std::fill_n(next, window.before[0], m_Image.ToKey(row[window.first[0]]));
    for (auto x = window.first[0]; x <= window.last[0]; ++x)
    {
      *next++ = m_Image.ToKey(row[x]);
    }
    return std::fill_n(next, window.after[0], m_Image.ToKey(row[window.last[0]]));
  }

  template <typename TBody>
  static void
  ForEachClamped(const ClampedWindow & window, int axis, const TBody & body)
  {
    for (auto position = window.first[axis] - window.before[axis]; position <= window.last[axis] + window.after[axis];
         ++position)
    {
      body(std::clamp(position, window.first[axis], window.last[axis]));
    }
  }

  KeyedImage<TKey, VMapping>                 m_Image;
  const MedianRequest &                      m_Request;
  Extent                                     m_Extent;
  Window                                     m_Window;
  PixelBox                                   m_Output;
  std::int64_t                               m_Piece; ///< of a row, but for the last one
  std::vector<TKey>                          m_Row;
  std::vector<TKey>                          m_Keys;
  std::vector<std::pair<TKey, std::int64_t>> m_Weighted; ///< a footprint's keys, and how often each counts
};

} // namespace cudamedian

#endif
