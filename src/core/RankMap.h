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
#ifndef RankMap_h
#define RankMap_h

#include "RequestWindow.h"
#include "Slab.h"

#include <cstring>
#include <vector>

namespace cudamedian
{

/** The ranks of a row of outputs, or none where all have the same. */
class RankRow
{
public:
  RankRow() = default;

  /** Those of a request's map from an output position on, along axis 0. */
  RankRow(const MedianRequest & request, const Extent & position)
    : m_Bytes(GetRankBytes(request))
    , m_Least(request.rank)
  {
    if (m_Bytes > 0)
    {
      Extent place;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        place[axis] = position[axis] - request.outputOrigin[axis];
      }
      m_First = static_cast<const std::uint8_t *>(request.rankMap) +
                GetOffset(place, GetPackedStride(request.outputExtent)) * static_cast<std::int64_t>(m_Bytes);
    }
  }

  bool
  IsEmpty() const
  {
    return m_First == nullptr;
  }

  /** Bytes of a rank. */
  std::size_t
  GetBytes() const
  {
    return m_Bytes;
  }

  /** The ranks, counted from the least of the map. */
  const void *
  GetFirst() const
  {
    return m_First;
  }

  /** A rank, counted from 0. Rows behind this one are as far from it as their outputs. */
  std::int64_t
  operator[](std::ptrdiff_t output) const
  {
    return m_Least +
           (m_Bytes == 1 ? std::int64_t{ m_First[output] } : reinterpret_cast<const std::int32_t *>(m_First)[output]);
  }

private:
  const std::uint8_t * m_First{ nullptr };
  std::size_t          m_Bytes{ 0 };
  std::int64_t         m_Least{ 0 };
};

/** Ranks, counted from 0, as the map of a request that has its least and its greatest rank. */
template <typename TRank>
std::vector<std::uint8_t>
PackRanks(const std::vector<TRank> & ranks, const MedianRequest & request)
{
  const std::size_t         bytes = CountRankBytes(request.greatestRank - request.rank + 1);
  std::vector<std::uint8_t> packed(ranks.size() * bytes);
  for (std::size_t i = 0; i < ranks.size(); ++i)
  {
    const auto rank = static_cast<std::int32_t>(static_cast<std::int64_t>(ranks[i]) - request.rank);
    const auto byte = static_cast<std::uint8_t>(rank);
    std::memcpy(packed.data() + i * bytes,
                bytes == 1 ? static_cast<const void *>(&byte) : static_cast<const void *>(&rank),
                bytes);
  }
  return packed;
}

} // namespace cudamedian

#endif
