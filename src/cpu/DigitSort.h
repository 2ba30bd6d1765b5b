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
#ifndef DigitSort_h
#define DigitSort_h

#include "AlignedVector.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace cudamedian
{

/** Sorts keys, and numbers along with them, byte by byte from the lowest on. Bytes in which all keys agree are passed
 * over. Equal keys stay in their order. */
template <typename TKey, typename TNumber>
class DigitSort
{
public:
  /** \pre there is a key, and as many numbers as keys. */
  void
  Sort(std::vector<TKey> & keys, std::vector<TNumber> & numbers)
  {
    const auto count = keys.size();
    m_OtherKeys.resize(count);
    m_OtherNumbers.resize(count);
    std::array<std::array<std::uint32_t, 256>, sizeof(TKey)> counts{};
    for (const auto key : keys)
    {
      for (std::size_t byte = 0; byte < sizeof(TKey); ++byte)
      {
        ++counts[byte][key >> (8 * byte) & 0xFF];
      }
    }
    for (std::size_t byte = 0; byte < sizeof(TKey); ++byte)
    {
      auto & places = counts[byte];
      if (places[keys.front() >> (8 * byte) & 0xFF] == count)
      {
        continue;
      }
      std::uint32_t place = 0;
      for (auto & entry : places)
      {
        place += std::exchange(entry, place);
      }
      for (std::size_t i = 0; i < count; ++i)
      {
        const auto to = places[keys[i] >> (8 * byte) & 0xFF]++;
        m_OtherKeys[to] = keys[i];
        m_OtherNumbers[to] = numbers[i];
      }
      keys.swap(m_OtherKeys);
      numbers.swap(m_OtherNumbers);
    }
  }

  /** Memory that is kept from one sort to the next. */
  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_OtherKeys) + GetBytes(m_OtherNumbers);
  }

private:
  std::vector<TKey>    m_OtherKeys;
  std::vector<TNumber> m_OtherNumbers;
};

} // namespace cudamedian

#endif
