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
#include "SharedPieces.h"

#include <algorithm>
#include <bitset>
#include <cstdlib>
#include <set>
#include <stdexcept>

namespace cudamedian
{
namespace
{

using ListSet = std::bitset<mostSharedLists>;

class Finder
{
public:
  Finder(const std::vector<PixelCounts> & lists, const Extent & footprint, Division division)
    : m_Footprint(footprint)
    , m_Division(division)
  {
    if (lists.size() > mostSharedLists)
    {
      throw std::invalid_argument("FindSharedPieces: " + std::to_string(lists.size()) + " lists, but at most " +
                                  std::to_string(mostSharedLists) + " are cut together");
    }
    m_Result.ofList.resize(lists.size());
    AddPixels(lists);
  }

  SharedPieces
  Find()
  {
    for (std::size_t piece = 0; piece < m_Lists.size(); ++piece)
    {
      FindPartner(piece, 0);
    }
    while (true)
    {
      std::size_t best = SharedPieces::none;
      for (std::size_t piece = 0; piece < m_Partners.size(); ++piece)
      {
        if (m_Partners[piece].merit > 0 &&
            (best == SharedPieces::none || m_Partners[piece].merit > m_Partners[best].merit))
        {
          best = piece;
        }
      }
      if (best == SharedPieces::none)
      {
        break;
      }
      PutTogether(m_Partners[best].piece, best);
    }
    for (std::size_t piece = 0; piece < m_Lists.size(); ++piece)
    {
      for (std::size_t list = 0; list < m_Result.ofList.size(); ++list)
      {
        if (m_Lists[piece][list])
        {
          m_Result.ofList[list].push_back(piece);
        }
      }
    }
    return std::move(m_Result);
  }

private:
  /** The best other piece of a lower number to put a piece together with, and how good that is; 0 where there is none.
   */
  struct Partner
  {
    std::size_t  piece{ 0 };
    std::int64_t merit{ 0 };
  };

  /** Adds the pixels. One that counts a different number of times in different lists is several pieces. */
  void
  AddPixels(const std::vector<PixelCounts> & lists)
  {
    std::map<TileProgram::Value, std::set<std::int64_t>> counts;
    for (const auto & list : lists)
    {
      for (const auto & [pixel, count] : list)
      {
        counts[pixel].insert(count);
      }
    }
    for (const auto & [pixel, levels] : counts)
    {
      std::int64_t before = 0;
      for (const auto level : levels)
      {
        ListSet having;
        for (std::size_t list = 0; list < lists.size(); ++list)
        {
          const auto found = lists[list].find(pixel);
          having[list] = found != lists[list].end() && found->second >= level;
        }
        SharedPieces::Piece piece;
        piece.pixel = pixel;
        piece.values = static_cast<std::size_t>(level - before);
        Add(piece, having, GetPosition(pixel));
        before = level;
      }
    }
  }

  Extent
  GetPosition(TileProgram::Value pixel) const
  {
    Extent position;
    auto   rest = static_cast<std::int64_t>(pixel);
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] = 2 * (rest % m_Footprint[axis]);
      rest /= m_Footprint[axis];
    }
    return position;
  }

  void
  Add(const SharedPieces::Piece & piece, const ListSet & lists, const Extent & position)
  {
    m_Result.pieces.push_back(piece);
    m_Lists.push_back(lists);
    m_Positions.push_back(position);
    m_Partners.emplace_back();
  }

  /** How far apart two pieces are, as the division weighs the axes. */
  std::int64_t
  GetDistance(std::size_t one, std::size_t other) const
  {
    constexpr std::int64_t far = 16;
    std::int64_t           distance = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const bool isAlong = m_Division == Division::PowerLast || axis == (m_Division == Division::Halves ? 1 : 0);
      distance += (isAlong ? 1 : far) * std::abs(m_Positions[one][axis] - m_Positions[other][axis]);
    }
    return std::min<std::int64_t>(distance, 0xFFFF);
  }

  /** More lists are better, then fewer values, then a shorter distance. */
  std::int64_t
  GetMerit(std::size_t one, std::size_t other) const
  {
    const auto shared = static_cast<std::int64_t>((m_Lists[one] & m_Lists[other]).count());
    if (shared < 2)
    {
      return 0;
    }
    const auto values = static_cast<std::int64_t>(m_Result.pieces[one].values + m_Result.pieces[other].values);
    return (shared << 40) - (std::min<std::int64_t>(values, 0xFFFF) << 20) - GetDistance(one, other);
  }

  /** Finds the partner of a piece among those from a number on and below its own. */
  void
  FindPartner(std::size_t piece, std::size_t from)
  {
    auto & partner = m_Partners[piece];
    partner = {};
    for (auto other = from; other < piece && m_Lists[piece].any(); ++other)
    {
      const auto merit = GetMerit(piece, other);
      if (merit > partner.merit)
      {
        partner = { other, merit };
      }
    }
  }

  void
  PutTogether(std::size_t first, std::size_t second)
  {
    SharedPieces::Piece piece;
    piece.first = first;
    piece.second = second;
    piece.values = m_Result.pieces[first].values + m_Result.pieces[second].values;
    Extent middle;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      middle[axis] = (m_Positions[first][axis] + m_Positions[second][axis]) / 2;
    }
    const auto shared = m_Lists[first] & m_Lists[second];
    Add(piece, shared, middle);
    m_Lists[first] &= ~shared;
    m_Lists[second] &= ~shared;
    FindPartner(m_Lists.size() - 1, 0);
    for (std::size_t other = 0; other + 1 < m_Lists.size(); ++other)
    {
      const auto partner = m_Partners[other].piece;
      if (m_Partners[other].merit > 0 && (other == first || other == second || partner == first || partner == second))
      {
        FindPartner(other, 0);
      }
    }
  }

  Extent               m_Footprint;
  Division             m_Division;
  SharedPieces         m_Result;
  std::vector<ListSet> m_Lists;     ///< of each piece: those that still have it by itself
  std::vector<Extent>  m_Positions; ///< of each piece: twice its middle
  std::vector<Partner> m_Partners;
};

} // namespace

SharedPieces
FindSharedPieces(const std::vector<PixelCounts> & lists, const Extent & footprint, Division division)
{
  return Finder(lists, footprint, division).Find();
}

} // namespace cudamedian
