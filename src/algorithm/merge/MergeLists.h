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
#ifndef MergeLists_h
#define MergeLists_h

#include "DivideUp.h"
#include "MergePolicy.h"
#include "PixelFormat.h"

namespace cudamedian
{

/** Sorted keys in memory. */
template <typename TKey>
struct SortedList
{
  const TKey * keys;
  int          count;
};

/** Writes `count` keys of the merger of two lists, from the key on that `first` others are before. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
MergePart(const SortedList<TKey> & a, const SortedList<TKey> & b, int first, int count, TKey * destination)
{
  // How many of the keys before come from a: where a[i] and b[first - 1 - i] change sides.
  int fromA = first > b.count ? first - b.count : 0;
  int most = first < a.count ? first : a.count;
  while (fromA < most)
  {
    const int middle = (fromA + most) / 2;
    if (a.keys[middle] <= b.keys[first - 1 - middle])
    {
      fromA = middle + 1;
    }
    else
    {
      most = middle;
    }
  }
  int  fromB = first - fromA;
  TKey nextA = fromA < a.count ? a.keys[fromA] : TKey{ 0 };
  TKey nextB = fromB < b.count ? b.keys[fromB] : TKey{ 0 };
  for (int i = 0; i < count; ++i)
  {
    const bool takeA = fromB >= b.count || (fromA < a.count && nextA <= nextB);
    destination[i] = takeA ? nextA : nextB;
    fromA += takeA ? 1 : 0;
    fromB += takeA ? 0 : 1;
    const bool   left = takeA ? fromA < a.count : fromB < b.count;
    const TKey * next = takeA ? a.keys + fromA : b.keys + fromB;
    const TKey   key = left ? *next : TKey{ 0 };
    nextA = takeA ? key : nextA;
    nextB = takeA ? nextB : key;
  }
}

/** The same for a list of sorted runs, of which two each are merged to one twice as long. The last may be shorter. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
MergeRuns(const TKey * source, int length, int run, int first, int count, TKey * destination)
{
  while (count > 0)
  {
    const int  pair = first / (2 * run) * (2 * run);
    const int  left = length - pair;
    const int  countA = left < run ? left : run;
    const int  countB = left - countA < run ? left - countA : run;
    const int  here = pair + countA + countB - first;
    const int  part = here < count ? here : count;
    const auto a = SortedList<TKey>{ source + pair, countA };
    MergePart(a, SortedList<TKey>{ a.keys + countA, countB }, first - pair, part, destination);
    first += part;
    count -= part;
    destination += part;
  }
}

/** Sorts up to mergePart keys by odd-even transposition. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE void
SortPart(const TKey * source, int count, TKey * destination)
{
  TKey keys[mergePart];
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < mergePart; ++i)
  {
    keys[i] = i < count ? source[i] : static_cast<TKey>(~TKey{ 0 });
  }
  CUDAMEDIAN_UNROLL
  for (int round = 0; round < mergePart; ++round)
  {
    CUDAMEDIAN_UNROLL
    for (int i = round % 2; i + 1 < mergePart; i += 2)
    {
      const TKey lower = keys[i] < keys[i + 1] ? keys[i] : keys[i + 1];
      keys[i + 1] = keys[i] < keys[i + 1] ? keys[i + 1] : keys[i];
      keys[i] = lower;
    }
  }
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < mergePart; ++i)
  {
    if (i < count)
    {
      destination[i] = keys[i];
    }
  }
}

/** Finds the key that `rank` others are before in sorted lists, of which the last has at most one key. */
template <typename TKey>
CUDAMEDIAN_HOST_DEVICE TKey
SelectKey(SortedList<TKey> (&lists)[4], int rank)
{
  for (;;)
  {
    // A third of those before in each list: of all first thirds the one whose last key is lowest is before the rank,
    // for the others hold no more than two thirds of what is below that key. Rounded by hand: of DivideUp() nvcc makes
    // other code, which no GPU has timed.
    const int step = (rank + 2) / 3;
    int       lowest = -1;
    TKey      pivot{ 0 };
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      if (lists[i].count > 0)
      {
        const int  taken = step < 1 ? 1 : step < lists[i].count ? step : lists[i].count;
        const TKey key = lists[i].keys[taken - 1];
        if (lowest < 0 || key < pivot)
        {
          lowest = i;
          pivot = key;
        }
      }
    }
    if (rank == 0)
    {
      return pivot;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 4; ++i)
    {
      if (lowest == i)
      {
        const int taken = step < lists[i].count ? step : lists[i].count;
        lists[i].keys += taken;
        lists[i].count -= taken;
        rank -= taken;
      }
    }
  }
}

/** The parts of a number of keys that threads merge, one each. */
CUDAMEDIAN_HOST_DEVICE int
CountMergeParts(int keys)
{
  return DivideUp(keys, mergePart);
}

/** Keys of one of them. */
CUDAMEDIAN_HOST_DEVICE int
GetPartLength(int keys, int first)
{
  return keys - first < mergePart ? keys - first : mergePart;
}

} // namespace cudamedian

#endif
