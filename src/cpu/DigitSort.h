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
#include "DivideUp.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

namespace cudamedian
{

/** Sorts keys, and numbers along with them, digit by digit from the lowest on: of how much a key is greater than the
 * least one, without the bits that are zero in all of these. Equal keys stay in their order.
 *
 * Digits have 8 bits, since so many places, which are written to in turn, stay in the nearest cache. Where it holds all
 * that is sorted, they have 11 or 12 if that saves a pass, as with scans of 12 bits. One thread with AVX-512, ns for a
 * pixel of 94x94, beside bytes of keys in two arrays: scans 2.0 and 3.9 (16 bits), 4.1 and 5.0 (float), random pixels
 * 3.0 and 3.2, 5.6 and 5.7; of 240x240 with numbers of 32 bits scans 4.1 and 5.3, 4.5 and 8.3, 6.4 and 9.2 (double).
 *
 * \tparam VKeepsKeys whether keys are found by their places: else the last pass writes numbers alone */
template <typename TKey, typename TNumber, bool VKeepsKeys>
class DigitSort
{
  struct Entry
  {
    TKey    digits;
    TNumber number;
  };

  using Sorted = std::conditional_t<VKeepsKeys, Entry, TNumber>;

public:
  /** Numbers that are sorted, until others are. */
  struct Numbers
  {
    const Sorted * sorted;

    TNumber
    operator[](std::size_t place) const
    {
      if constexpr (VKeepsKeys)
      {
        return sorted[place].number;
      }
      else
      {
        return sorted[place];
      }
    }
  };

  /** \pre there is a key.
   * \param keys what they are sorted by takes their place: see ToKey()
   * \param forEachNumber forEachNumber(body) calls body(number) for each of the keys, in their order
   * \param take take(place, number) is called for each of them in any order: which place it has when sorted */
  template <typename TForEachNumber, typename TTake>
  void
  Sort(std::vector<TKey> & keys, const TForEachNumber & forEachNumber, const TTake & take)
  {
    const auto count = keys.size();
    m_Sorted.resize(count);
    m_Counts.resize(2 * mostDigits);
    const int  width = MakeDigits(keys);
    const bool isNear = count * sizeof(Entry) <= nearBytes;
    if (isNear && width > 8 && width <= 12)
    {
      Run<12>(keys, 1, forEachNumber, take);
      return;
    }
    const int longPasses = DivideUp(width, 11);
    const int passes = std::max(1, DivideUp(width, 8));
    if (longPasses < passes && longPasses > 1 && (isNear || passes > 3))
    {
      Run<11>(keys, longPasses, forEachNumber, take);
    }
    else
    {
      Run<8>(keys, passes, forEachNumber, take);
    }
  }

  /** The key whose place these digits took. */
  TKey
  ToKey(TKey digits) const
  {
    return static_cast<TKey>((digits << m_Shift) + m_Least);
  }

  /** The key at a place of the order. */
  TKey
  GetKey(std::size_t place) const
  {
    static_assert(VKeepsKeys, "there are numbers alone");
    return ToKey(m_Sorted[place].digits);
  }

  /** The numbers in that order. */
  Numbers
  GetNumbers() const
  {
    return { m_Sorted.data() };
  }

  /** Memory that is kept from one sort to the next. */
  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Entries[0]) + GetBytes(m_Entries[1]) + GetBytes(m_Sorted) + GetBytes(m_Counts);
  }

private:
  static constexpr std::size_t mostDigits = 1 << 12;
  static constexpr std::size_t nearBytes = 40 << 10; ///< of the nearest cache

  /** Replaces keys by what is sorted. \returns its bits */
  int
  MakeDigits(std::vector<TKey> & keys)
  {
    // In their order as signed numbers, which all processors compare a vector at a time.
    using Signed = std::make_signed_t<TKey>;
    constexpr auto highest = static_cast<TKey>(TKey{ 1 } << (8 * sizeof(TKey) - 1));
    const auto     flip = [](TKey key) { return static_cast<Signed>(static_cast<TKey>(key ^ highest)); };
    const auto     unflip = [](Signed flipped) { return static_cast<TKey>(static_cast<TKey>(flipped) ^ highest); };
    const TKey     front = keys.front();
    Signed         lowest = flip(front);
    Signed         uppermost = flip(front);
    TKey           differing = 0;
    for (const auto key : keys)
    {
      lowest = std::min(lowest, flip(key));
      uppermost = std::max(uppermost, flip(key));
      differing = static_cast<TKey>(differing | (key ^ front));
    }
    const auto least = unflip(lowest);
    const auto most = unflip(uppermost);
    m_Least = least;
    m_Shift = 0;
    while (differing != 0 && (differing >> m_Shift & 1) == 0)
    {
      ++m_Shift;
    }
    for (auto & key : keys)
    {
      key = static_cast<TKey>(static_cast<TKey>(key - least) >> m_Shift);
    }
    int width = 0;
    for (auto range = static_cast<TKey>(static_cast<TKey>(most - least) >> m_Shift); range != 0;
         range = static_cast<TKey>(range >> 1))
    {
      ++width;
    }
    return width;
  }

  /** One of the digits, from the lowest on. */
  template <int VBits, int VDigit>
  static std::size_t
  GetDigit(TKey digits)
  {
    if constexpr (VBits * VDigit >= 8 * static_cast<int>(sizeof(TKey)))
    {
      return 0;
    }
    else
    {
      return static_cast<std::size_t>(digits >> (VBits * VDigit) & ((TKey{ 1 } << VBits) - 1));
    }
  }

  static Sorted
  ToSorted(const Entry & entry)
  {
    if constexpr (VKeepsKeys)
    {
      return entry;
    }
    else
    {
      return entry.number;
    }
  }

  /** Makes places of counts: where the first with each digit goes. */
  template <int VBits>
  static void
  FindPlaces(std::uint32_t * counts)
  {
    std::uint32_t place = 0;
    for (std::size_t digit = 0; digit < std::size_t{ 1 } << VBits; ++digit)
    {
      place += std::exchange(counts[digit], place);
    }
  }

  /** Sorts by the lowest digit what was given, then by the others. */
  template <int VBits, typename TForEachNumber, typename TTake>
  void
  Run(const std::vector<TKey> & keys, int passes, const TForEachNumber & forEachNumber, const TTake & take)
  {
    std::uint32_t * const places = m_Counts.data();
    std::uint32_t * const next = places + mostDigits;
    std::fill_n(places, std::size_t{ 1 } << VBits, 0);
    for (const auto digits : keys)
    {
      ++places[GetDigit<VBits, 0>(digits)];
    }
    FindPlaces<VBits>(places);
    const TKey * given = keys.data();
    if (passes == 1)
    {
      auto * const sorted = m_Sorted.data();
      forEachNumber([&](TNumber number) {
        const Entry entry{ *given++, number };
        const auto  place = places[GetDigit<VBits, 0>(entry.digits)]++;
        sorted[place] = ToSorted(entry);
        take(place, number);
      });
      return;
    }
    m_Entries[0].resize(keys.size());
    Entry * to = m_Entries[0].data();
    Entry * other = nullptr;
    if constexpr (VKeepsKeys)
    {
      // What is sorted in the end is one of the two in turn.
      other = m_Sorted.data();
      if (passes % 2 != 0)
      {
        std::swap(to, other);
      }
    }
    else if (passes > 2)
    {
      m_Entries[1].resize(keys.size());
      other = m_Entries[1].data();
    }
    std::fill_n(next, std::size_t{ 1 } << VBits, 0);
    forEachNumber([&](TNumber number) {
      const auto digits = *given++;
      to[places[GetDigit<VBits, 0>(digits)]++] = { digits, number };
      ++next[GetDigit<VBits, 1>(digits)];
    });
    Go<VBits, 1>(to, other, next, places, passes, take);
  }

  /** Sorts by a digit and those above it.
   * \param places counts of the digit \param next room for those of the digit above */
  template <int VBits, int VDigit, typename TTake>
  void
  Go(Entry * from, Entry * to, std::uint32_t * places, std::uint32_t * next, int passes, const TTake & take)
  {
    if constexpr (VBits * VDigit < 8 * static_cast<int>(sizeof(TKey)))
    {
      const auto count = m_Sorted.size();
      FindPlaces<VBits>(places);
      if (VDigit + 1 < passes)
      {
        std::fill_n(next, std::size_t{ 1 } << VBits, 0);
        for (std::size_t i = 0; i < count; ++i)
        {
          const auto entry = from[i];
          to[places[GetDigit<VBits, VDigit>(entry.digits)]++] = entry;
          ++next[GetDigit<VBits, VDigit + 1>(entry.digits)];
        }
        Go<VBits, VDigit + 1>(to, from, next, places, passes, take);
        return;
      }
      auto * const sorted = m_Sorted.data();
      for (std::size_t i = 0; i < count; ++i)
      {
        const auto entry = from[i];
        const auto place = places[GetDigit<VBits, VDigit>(entry.digits)]++;
        sorted[place] = ToSorted(entry);
        take(place, entry.number);
      }
    }
  }

  std::vector<Entry>         m_Entries[2]; ///< by some of the digits
  std::vector<Sorted>        m_Sorted;     ///< by all of them
  std::vector<std::uint32_t> m_Counts;     ///< of two digits
  TKey                       m_Least{ 0 };
  int                        m_Shift{ 0 };
};

} // namespace cudamedian

#endif
