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
#ifndef ExtremumPacks_h
#define ExtremumPacks_h

#include "ExtremumWords.h"
#include "KernelArguments.h"

/** Loops of kernels: unrolled by four. */
#ifdef __CUDACC__
#  define CUDAMEDIAN_UNROLL_4 _Pragma("unroll 4")
#else
#  define CUDAMEDIAN_UNROLL_4
#endif

namespace cudamedian
{

/** So many words of pixels that are loaded and stored at once, and their keys, complemented where greatest values are
 * wanted. */
template <typename TPixelBits, KeyMapping VMapping, int VCount>
class ExtremumPacks
{
public:
  using Key = PixelKey<TPixelBits, VMapping>;
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  static constexpr int Keys = Words::Keys;
  static constexpr int Pixels = VCount * Keys;

  /** As memory holds them. */
  struct alignas(VCount * sizeof(Word)) Pack
  {
    Word words[VCount];
  };

  /** As they are compared. */
  struct Vector
  {
    typename Words::Held held[VCount];
  };

  explicit CUDAMEDIAN_HOST_DEVICE
  ExtremumPacks(const KernelArguments & slab)
  {
    const auto signMask = static_cast<TPixelBits>(VMapping == KeyMapping::Integer ? slab.signMask : 0);
    const auto mask =
      static_cast<TPixelBits>(signMask ^ (slab.rank > 0 ? static_cast<TPixelBits>(~TPixelBits{ 0 }) : 0));
    m_Mask = static_cast<Word>(mask * (static_cast<Word>(~Word{ 0 }) / static_cast<TPixelBits>(~TPixelBits{ 0 })));
  }

  /** Keys that are never less than others. */
  static CUDAMEDIAN_HOST_DEVICE Word
  GetNeutral()
  {
    return static_cast<Word>(~Word{ 0 });
  }

  static CUDAMEDIAN_HOST_DEVICE Vector
  GetNeutralVector()
  {
    Vector vector;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      vector.held[i] = Words::Hold(GetNeutral());
    }
    return vector;
  }

  static CUDAMEDIAN_HOST_DEVICE Vector
  Min(const Vector & a, const Vector & b)
  {
    Vector least;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      least.held[i] = Words::Min(a.held[i], b.held[i]);
    }
    return least;
  }

  static CUDAMEDIAN_HOST_DEVICE Vector
  Hold(const Pack & keys)
  {
    Vector vector;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      vector.held[i] = Words::Hold(keys.words[i]);
    }
    return vector;
  }

  static CUDAMEDIAN_HOST_DEVICE Pack
  Join(const Vector & vector)
  {
    Pack keys;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      keys.words[i] = Words::Join(vector.held[i]);
    }
    return keys;
  }

  CUDAMEDIAN_HOST_DEVICE Pack
  ToKeys(Pack pack) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      if constexpr (VMapping == KeyMapping::Float)
      {
        pack.words[i] = Key::FromBits(pack.words[i], 0);
      }
      pack.words[i] ^= m_Mask;
    }
    return pack;
  }

  CUDAMEDIAN_HOST_DEVICE Pack
  ToPixels(Pack pack) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pack.words[i] = ToPixels(pack.words[i]);
    }
    return pack;
  }

  /** Pixels whose keys are never less than others. */
  CUDAMEDIAN_HOST_DEVICE Pack
  GetNeutralPixels() const
  {
    Pack       pack;
    const Word neutral = ToPixels(GetNeutral());
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pack.words[i] = neutral;
    }
    return pack;
  }

  /** The first pixels of a pack, with neutral ones behind them. */
  CUDAMEDIAN_HOST_DEVICE Pack
  Load(const TPixelBits * pixels, int count) const
  {
    if (count >= Pixels)
    {
      return *reinterpret_cast<const Pack *>(pixels);
    }
    Pack pack = GetNeutralPixels();
    CUDAMEDIAN_KEEP_LOOP
    for (int i = 0; i < count; ++i)
    {
      const int  shift = i % Keys * pixelBits;
      const Word mask = static_cast<Word>(static_cast<TPixelBits>(~TPixelBits{ 0 })) << shift;
      const Word pixel = static_cast<Word>(static_cast<Word>(pixels[i]) << shift);
      CUDAMEDIAN_UNROLL
      for (int word = 0; word < VCount; ++word)
      {
        pack.words[word] = word == i / Keys ? (pack.words[word] & ~mask) | pixel : pack.words[word];
      }
    }
    return pack;
  }

  /** Stores the pixels from one up to another of a pack of keys. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(TPixelBits * pixels, const Pack & keys, int first, int beyond) const
  {
    const auto pack = ToPixels(keys);
    if (first <= 0 && beyond >= Pixels)
    {
      *reinterpret_cast<Pack *>(pixels) = pack;
      return;
    }
    CUDAMEDIAN_KEEP_LOOP
    for (int i = first < 0 ? 0 : first; i < Pixels && i < beyond; ++i)
    {
      Word pixel = 0;
      CUDAMEDIAN_UNROLL
      for (int word = 0; word < VCount; ++word)
      {
        pixel = word == i / Keys ? pack.words[word] : pixel;
      }
      pixels[i] = static_cast<TPixelBits>(pixel >> (i % Keys * pixelBits));
    }
  }

private:
  static constexpr int pixelBits = 8 * static_cast<int>(sizeof(TPixelBits));

  CUDAMEDIAN_HOST_DEVICE Word
  ToPixels(Word keys) const
  {
    if constexpr (VMapping == KeyMapping::Float)
    {
      return Key::ToBits(keys ^ m_Mask, 0);
    }
    return keys ^ m_Mask;
  }

  Word m_Mask;
};

} // namespace cudamedian

#endif
