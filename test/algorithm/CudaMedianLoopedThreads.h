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
#ifndef CudaMedianLoopedThreads_h
#define CudaMedianLoopedThreads_h

#include "RankDigitSort.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

namespace cudamediantest
{

using cudamedian::digitBits;
using cudamedian::DigitExtractor;
using cudamedian::WordVector;

/** A block's threads as a loop: see RankSort.h. */
template <int VThreads>
class LoopedThreads
{
public:
  static constexpr int Count = VThreads;

  template <typename T>
  class Value
  {
  public:
    Value()
      : m_Held(VThreads)
    {
      std::memset(static_cast<void *>(m_Held.data()), 0x5A, VThreads * sizeof(Held));
    }
    T &
    operator[](int thread)
    {
      return m_Held[static_cast<std::size_t>(thread)].value;
    }
    const T &
    operator[](int thread) const
    {
      return m_Held[static_cast<std::size_t>(thread)].value;
    }

  private:
    struct Held
    {
      T value;
    };
    std::vector<Held> m_Held;
  };

  struct Digits
  {
    std::uint32_t counters[VThreads / 32][1 << digitBits];
  };

  explicit LoopedThreads(std::mt19937_64 & generator)
    : m_Order(VThreads)
  {
    std::iota(m_Order.begin(), m_Order.end(), 0);
    std::shuffle(m_Order.begin(), m_Order.end(), generator);
  }

  template <typename TFunction>
  void
  ForEachThread(const TFunction & function) const
  {
    for (const int thread : m_Order)
    {
      function(thread);
    }
  }
  void
  Synchronize() const
  {}
  void
  SynchronizeWarps() const
  {}
  template <typename T>
  Value<T>
  GetAcross(const Value<T> & value, int distance) const
  {
    Value<T> across;
    for (int thread = 0; thread < VThreads; ++thread)
    {
      across[thread] = value[thread ^ distance];
    }
    return across;
  }
  template <typename T>
  Value<T>
  GetBefore(const Value<T> & value, int distance) const
  {
    // The first lanes get their own.
    Value<T> before;
    for (int thread = 0; thread < VThreads; ++thread)
    {
      before[thread] = value[thread % 32 < distance ? thread : thread - distance];
    }
    return before;
  }
  template <typename T>
  Value<T>
  GetFrom(const Value<T> & value, int lane) const
  {
    Value<T> from;
    for (int thread = 0; thread < VThreads; ++thread)
    {
      from[thread] = value[thread / 32 * 32 + lane];
    }
    return from;
  }
  int
  FindFirst(const Value<bool> & flags) const
  {
    static_assert(VThreads == 32, "of one warp");
    int lane = 0;
    while (lane < 32 && !flags[lane])
    {
      ++lane;
    }
    return lane;
  }
  int
  GetCommon(const Value<int> & value) const
  {
    for (int thread = 1; thread < VThreads; ++thread)
    {
      EXPECT_EQ(value[thread], value[0]) << "thread " << thread;
    }
    return value[0];
  }
  template <typename TKey, int VItems>
  void
  RankDigits(Digits & digits, const Value<TKey[VItems]> & keys, Value<int[VItems]> & ranks, int bit) const
  {
    // What the shared memory held is lost.
    std::memset(&digits, 0xA5, sizeof(digits));
    std::vector<int> starts((1 << digitBits) + 1);
    const auto       forEachKey = [&](const auto & function) {
      for (int i = 0; i < VThreads * VItems; ++i)
      {
        const int thread = i / (32 * VItems) * 32 + i % 32;
        const int item = i / 32 % VItems;
        function(DigitExtractor{ bit }.Digit(keys[thread][item]), ranks[thread][item]);
      }
    };
    forEachKey([&](std::uint32_t digit, int &) { ++starts[digit + 1]; });
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    forEachKey([&](std::uint32_t digit, int & rank) { rank = starts[digit]++; });
  }

  static std::uint32_t
  AddTo(std::uint32_t * counter, std::uint32_t change)
  {
    const auto before = *counter;
    *counter += change;
    return before;
  }
  static void
  AddEach(std::uint32_t * const (&counters)[8], const std::uint32_t (&changes)[8], std::uint32_t (&before)[8])
  {
    for (int i = 0; i < 8; ++i)
    {
      before[i] = AddTo(counters[i], changes[i]);
    }
  }
  static void
  Prefetch(const void *)
  {}
  static void
  SetBits(std::uint32_t * word, std::uint32_t bits)
  {
    *word |= bits;
  }
  static void
  ClearBits(std::uint32_t * word, std::uint32_t bits)
  {
    *word &= ~bits;
  }
  static std::uint32_t
  AddAlike(std::uint32_t * counter, std::uint32_t change, bool inside)
  {
    return inside ? AddTo(counter, change) : 0;
  }
  static int
  CountLeadingZeros(unsigned long long number)
  {
    int zeros = 64;
    for (; number != 0; number /= 2)
    {
      --zeros;
    }
    return zeros;
  }
  static std::uint32_t
  GetHigherHalves(std::uint32_t a, std::uint32_t b)
  {
    return std::max(a & 0xFFFFU, b & 0xFFFFU) | std::max(a >> 16, b >> 16) << 16;
  }
  template <typename TElement>
  static void
  CountIfLess(int & number, TElement less, TElement than, int change)
  {
    number += less < than ? change : 0;
  }
  static WordVector
  LoadVector(const std::uint16_t * from)
  {
    WordVector words;
    std::memcpy(&words, from, sizeof(words));
    return words;
  }
  static void
  StoreVector(std::uint16_t * to, const WordVector & words)
  {
    std::memcpy(to, &words, sizeof(words));
  }
  static void
  KeepLoads()
  {}
  template <typename T>
  static void
  KeepAddress(T *&)
  {}
  template <typename T>
  static void
  KeepNumber(T &)
  {}

private:
  std::vector<int> m_Order;
};

} // namespace cudamediantest

#endif
