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

#include "ExtremumRuns.h"
#include "ExtremumWords.h"
#include "KernelArguments.h"

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

  CUDAMEDIAN_HOST_DEVICE
  ExtremumPacks(const KernelArguments & slab, bool isLast)
    : m_IsLast(isLast)
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

  /** Vectors as what is compared. */
  struct Vectors
  {
    using Held = Vector;

    static CUDAMEDIAN_HOST_DEVICE Vector
    Min(const Vector & a, const Vector & b)
    {
      return ExtremumPacks::Min(a, b);
    }

    static CUDAMEDIAN_HOST_DEVICE Vector
    Min(const Vector & a, const Vector & b, const Vector & c)
    {
      Vector least;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        least.held[i] = Words::Min(a.held[i], b.held[i], c.held[i]);
      }
      return least;
    }
  };

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

  CUDAMEDIAN_HOST_DEVICE Word
  ToKeys(Word pixels) const
  {
    return MapBits(pixels) ^ m_Mask;
  }

  CUDAMEDIAN_HOST_DEVICE Pack
  ToKeys(Pack pack) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pack.words[i] = ToKeys(pack.words[i]);
    }
    return pack;
  }

  /** The same, or neutral keys in place of the pixels'. */
  CUDAMEDIAN_HOST_DEVICE Pack
  ToKeys(Pack pack, bool isNeutral) const
  {
    if constexpr (VMapping == KeyMapping::Float && sizeof(Word) == 4)
    {
      // Key or complement, -1 - key, by a multiply-add, which has a pipe of its own.
      const Word zero = Key::FromBits(0, 0);
      const Word factor = isNeutral ? 0 : m_Mask != 0 ? GetNeutral() : 1;
      const Word addend = isNeutral ? GetNeutral() : zero * factor + m_Mask;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VCount; ++i)
      {
        pack.words[i] = (Key::FromBits(pack.words[i], 0) - zero) * factor + addend;
      }
      return pack;
    }
    const Word neutral = isNeutral ? GetNeutral() : 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VCount; ++i)
    {
      pack.words[i] = Words::XorOr(MapBits(pack.words[i]), m_Mask, neutral);
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
    Word last = pack.words[0]; // of which only some pixels are there
    if constexpr (Keys > 1)
    {
      CUDAMEDIAN_UNROLL
      for (int key = 0; key < Keys - 1; ++key)
      {
        const int i = count / Keys * Keys + key;
        if (i < count)
        {
          const Word mask = static_cast<Word>(static_cast<TPixelBits>(~TPixelBits{ 0 })) << (key * pixelBits);
          last = (last & ~mask) | static_cast<Word>(static_cast<Word>(pixels[i]) << (key * pixelBits));
        }
      }
    }
    CUDAMEDIAN_UNROLL
    for (int word = 0; word < VCount; ++word)
    {
      if ((word + 1) * Keys <= count)
      {
        pack.words[word] = reinterpret_cast<const Word *>(pixels)[word];
      }
      else if (word == count / Keys)
      {
        pack.words[word] = last;
      }
    }
    return pack;
  }

  /** Stores the pixels of a pack of keys. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(TPixelBits * pixels, const Pack & keys) const
  {
    Write(pixels, ToPixels(keys));
  }

  /** Stores the pixels from one up to another of a pack of keys. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(TPixelBits * pixels, const Pack & keys, int first, int beyond) const
  {
    const auto pack = ToPixels(keys);
    if (first <= 0 && beyond >= Pixels)
    {
      Write(pixels, pack);
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
  /** Stores a pack at once, which the compiler does not do for words as large as a pixel. */
  CUDAMEDIAN_HOST_DEVICE void
  Write(TPixelBits * pixels, const Pack & pack) const
  {
#ifdef __CUDA_ARCH__
    if constexpr (VCount == 4)
    {
      if (m_IsLast)
      {
        __stcs(reinterpret_cast<uint4 *>(pixels),
               make_uint4(pack.words[0], pack.words[1], pack.words[2], pack.words[3]));
        return;
      }
      asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(pixels)),
                   "r"(pack.words[0]),
                   "r"(pack.words[1]),
                   "r"(pack.words[2]),
                   "r"(pack.words[3])
                   : "memory");
      return;
    }
    else if constexpr (VCount == 2)
    {
      if (m_IsLast)
      {
        __stcs(reinterpret_cast<ulonglong2 *>(pixels), make_ulonglong2(pack.words[0], pack.words[1]));
        return;
      }
      asm volatile("st.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(pixels)),
                   "l"(pack.words[0]),
                   "l"(pack.words[1])
                   : "memory");
      return;
    }
#endif
    *reinterpret_cast<Pack *>(pixels) = pack;
  }

  static constexpr int pixelBits = 8 * static_cast<int>(sizeof(TPixelBits));

  static CUDAMEDIAN_HOST_DEVICE Word
  MapBits(Word pixels)
  {
    if constexpr (VMapping == KeyMapping::Float)
    {
      return Key::FromBits(pixels, 0);
    }
    return pixels;
  }

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
  bool m_IsLast; ///< whether nobody reads what is stored: caches need not keep it
};

} // namespace cudamedian

#endif
