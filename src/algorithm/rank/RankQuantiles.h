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
#ifndef RankQuantiles_h
#define RankQuantiles_h

#include "RankSort.h"

/** Numbers of 16 bits for pixels, which rise with them: what a region is counted by in place of its values
 * (RankValueSort.h).
 *
 * A random sample of the region, sorted, divides its pixels into as many parts as it has pixels, whatever the image is.
 * Each part has 16 numbers or 32: the first for pixels that are equal to the sample's, the others divide the range up
 * to the next one evenly. So a value that many pixels have is told apart from all others, and few other pixels share a
 * number: some 26 lie in a part of a region of 52,000 pixels.
 *
 * Samplesort: Frazer and McKellar (1970), with numbers of their own for equal keys. */
namespace cudamedian
{

/** \tparam TBits of keys, unsigned integers of 4 or 8 bytes. \tparam VSamples pixels that divide the others, the least
 * of which is not used. \tparam VTaken pixels of the sample, each so many of which give one of those: parts differ less
 * the more there are. \tparam VNumbers that there are. */
template <typename TBits, int VSamples, int VTaken, int VNumbers, typename TThreads>
class RankQuantiles
{
public:
  /** Numbers of a part. */
  static constexpr unsigned int Own = VNumbers / VSamples;

  /** Keys that a sample takes in shared memory: behind each 32 stands the one that follows, so that a search finds the
   * halves of halves in different banks. */
  static constexpr int Keys = VTaken / 32 * 33;
  static_assert(VTaken % (2 * TThreads::Count) == 0, "as many pairs of keys for each thread");

  /** \param sample shared memory for Keys keys. */
  CUDAMEDIAN_HOST_DEVICE explicit RankQuantiles(TBits * sample)
    : m_Sample(sample)
  {}

  /** Takes a sample. The threads wait for each other. \param getKey the key of a pixel of the region. */
  template <typename TGetKey>
  CUDAMEDIAN_HOST_DEVICE void
  TakeSample(const TThreads & threads, int pixels, const TGetKey & getKey) const
  {
    threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = thread; i < VTaken; i += TThreads::Count)
      {
        m_Sample[GetSlot(i)] = getKey(GetPlace(static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(pixels)));
      }
    });
    threads.Synchronize();
    Sort(threads);
    if constexpr (VTaken > VSamples)
    {
      Thin(threads);
    }
    threads.ForEachThread([&](int thread) {
      for (int i = thread; i < VSamples / 32; i += TThreads::Count)
      {
        m_Sample[33 * i + 32] = m_Sample[33 * i + (i < VSamples / 32 - 1 ? 33 : 31)];
      }
    });
    threads.Synchronize();
  }

  /** The number of a key. */
  CUDAMEDIAN_HOST_DEVICE unsigned int
  GetNumber(TBits key) const
  {
    // Behind the last one that is less.
    int bytes = 0;
    CUDAMEDIAN_UNROLL
    for (int step = VSamples / 2; step > 0; step /= 2)
    {
      constexpr int size = sizeof(TBits);
      TThreads::CountIfLess(bytes, GetKey(bytes + size * GetSlot(step)), key, size * GetSlot(step));
    }
    const auto low = GetKey(bytes);
    const auto high = GetKey(bytes + static_cast<int>(sizeof(TBits)));
    const auto slot = static_cast<unsigned int>(bytes) / static_cast<unsigned int>(sizeof(TBits));
    const auto part = slot - slot / 33;
    // Pixels below the sample, and those above it, have a number each.
    const bool inside = part > 0 && part < VSamples - 1;
    const auto at = inside ? GetRatio(static_cast<TBits>(key - low), static_cast<TBits>(high - low)) : 0;
    return Own * part + (key == high ? Own : 1 + (at < Own - 2 ? at : Own - 2));
  }

  /** Whether all pixels that have a number are equal. */
  CUDAMEDIAN_HOST_DEVICE static bool
  IsOfEqualPixels(unsigned int number)
  {
    return number % Own == 0;
  }

private:
  CUDAMEDIAN_HOST_DEVICE TBits
  GetKey(int bytes) const
  {
    return *reinterpret_cast<const TBits *>(reinterpret_cast<const char *>(m_Sample) + bytes);
  }

  CUDAMEDIAN_HOST_DEVICE static constexpr int
  GetSlot(int i)
  {
    return i + i / 32;
  }

  /** Which of a region's pixels is in the sample: one of each as many that follow each other, in no order. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetPlace(std::uint32_t i, std::uint32_t pixels)
  {
    std::uint32_t mixed = (i + 1) * 0x9E3779B1U;
    mixed = (mixed ^ mixed >> 15) * 0x85EBCA77U;
    const auto at = static_cast<std::uint64_t>(i) << 16 | (mixed >> 16);
    return static_cast<int>(at * pixels / (std::uint64_t{ VTaken } << 16));
  }

  /** Keeps the last one of each so many keys. */
  CUDAMEDIAN_HOST_DEVICE void
  Thin(const TThreads & threads) const
  {
    constexpr int                                 own = VSamples / TThreads::Count;
    typename TThreads::template Value<TBits[own]> kept;
    threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < own; ++i)
      {
        kept[thread][i] = m_Sample[GetSlot((thread + i * TThreads::Count + 1) * (VTaken / VSamples) - 1)];
      }
    });
    threads.Synchronize();
    threads.ForEachThread([&](int thread) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < own; ++i)
      {
        m_Sample[GetSlot(thread + i * TThreads::Count)] = kept[thread][i];
      }
    });
    threads.Synchronize();
  }

  /** How many of Own - 1 equal parts of a range lie below a place in it, rounded alike for all places. */
  CUDAMEDIAN_HOST_DEVICE static unsigned int
  GetRatio(TBits place, TBits range)
  {
#ifdef __CUDA_ARCH__
    float reciprocal;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(reciprocal) : "f"(static_cast<float>(range)));
    return static_cast<unsigned int>(static_cast<float>(place) * (static_cast<float>(Own - 1) * reciprocal));
#else
    return static_cast<unsigned int>(static_cast<float>(place) *
                                     (static_cast<float>(Own - 1) / static_cast<float>(range)));
#endif
  }

  /** Bitonic, by Batcher (1968): pairs of keys to a thread. Those that lie less than 64 apart are of one warp's keys.
   */
  CUDAMEDIAN_HOST_DEVICE void
  Sort(const TThreads & threads) const
  {
    CUDAMEDIAN_KEEP_LOOP
    for (int size = 2; size <= VTaken; size *= 2)
    {
      CUDAMEDIAN_KEEP_LOOP
      for (int distance = size / 2; distance > 0; distance /= 2)
      {
        const int slots = GetSlot(distance);
        threads.ForEachThread([&](int thread) {
          CUDAMEDIAN_UNROLL
          for (int pair = thread; pair < VTaken / 2; pair += TThreads::Count)
          {
            const int  lower = 2 * pair - (pair & (distance - 1));
            TBits *    keys = m_Sample + GetSlot(lower);
            const auto first = keys[0];
            const auto second = keys[slots];
            if ((first > second) == ((lower & size) == 0))
            {
              keys[0] = second;
              keys[slots] = first;
            }
          }
        });
        if (distance > 32 || (distance == 1 && size > 32))
        {
          threads.Synchronize();
        }
        else
        {
          threads.SynchronizeWarps();
        }
      }
    }
  }

  TBits * m_Sample;
};

} // namespace cudamedian

#endif
