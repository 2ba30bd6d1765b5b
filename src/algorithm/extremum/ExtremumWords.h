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
#ifndef ExtremumWords_h
#define ExtremumWords_h

#include "KeyPairs.h"
#include "PixelKey.h"

namespace cudamedian
{

/** Neighbouring keys of a row in a word, the first in its lowest bits, and the same where they are compared at once.
 *
 * There is no maximum: kernels complement all keys where greatest values are wanted. */
template <typename TPixelBits>
struct ExtremumWords
{
  using Word = decltype(sizeof(TPixelBits) == 8 ? TPixelBits{} : std::uint32_t{});
  static constexpr int Keys = static_cast<int>(sizeof(Word) / sizeof(TPixelBits));

  /** 8-bit keys are the high bytes of two pairs: min of four bytes is emulated on sm_90, at a quarter of the rate. What
   * lies in the low bytes decides nothing but ties. */
  struct Held
  {
    Word words[sizeof(TPixelBits) == 1 ? 2 : 1];
  };

  static CUDAMEDIAN_HOST_DEVICE Held
  Hold(Word word)
  {
    if constexpr (sizeof(TPixelBits) == 1)
    {
      return { { word << 8, word } };
    }
    else
    {
      return { { word } };
    }
  }

  static CUDAMEDIAN_HOST_DEVICE Word
  Join(const Held & held)
  {
    if constexpr (sizeof(TPixelBits) == 1)
    {
#ifdef __CUDA_ARCH__
      return __byte_perm(held.words[0], held.words[1], 0x7351);
#else
      return (held.words[0] >> 8 & 0x00FF00FFU) | (held.words[1] & 0xFF00FF00U);
#endif
    }
    else
    {
      return held.words[0];
    }
  }

  static CUDAMEDIAN_HOST_DEVICE Held
  Min(const Held & a, const Held & b)
  {
    Held least;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(Held) / sizeof(Word)); ++i)
    {
      least.words[i] = MinOfWords(a.words[i], b.words[i]);
    }
    return least;
  }

  static CUDAMEDIAN_HOST_DEVICE Held
  Min(const Held & a, const Held & b, const Held & c)
  {
    Held least;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(Held) / sizeof(Word)); ++i)
    {
      least.words[i] = MinOfWords(a.words[i], b.words[i], c.words[i]);
    }
    return least;
  }

  /** The first of two where something holds, else the second. */
  static CUDAMEDIAN_HOST_DEVICE Held
  Choose(bool isFirst, const Held & first, const Held & second)
  {
    Held chosen;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < static_cast<int>(sizeof(Held) / sizeof(Word)); ++i)
    {
      chosen.words[i] = isFirst ? first.words[i] : second.words[i];
    }
    return chosen;
  }

  /** The keys from one of a word on, and those of the next word that follow them. */
  static CUDAMEDIAN_HOST_DEVICE Word
  Shift(Word word, Word next, int keys)
  {
    if constexpr (Keys == 1)
    {
      return keys == 0 ? word : next;
    }
    else
    {
      const auto bits = static_cast<unsigned int>(keys) * 8U * static_cast<unsigned int>(sizeof(TPixelBits));
#ifdef __CUDA_ARCH__
      return __funnelshift_r(word, next, bits);
#else
      return static_cast<Word>(((static_cast<std::uint64_t>(next) << 32) | word) >> bits);
#endif
    }
  }

  /** The same of what is compared, for a number that the compiler knows. */
  template <int VKeys>
  static CUDAMEDIAN_HOST_DEVICE Held
  ShiftHeld(const Held & held, const Held & next)
  {
    static_assert(VKeys >= 0 && VKeys < Keys, "within a word");
    if constexpr (VKeys == 0)
    {
      return held;
    }
    else if constexpr (sizeof(TPixelBits) == 2)
    {
      return { { Shift(held.words[0], next.words[0], 1) } };
    }
    else if constexpr (VKeys == 1)
    {
      return { { held.words[1], ShiftPair(held.words[0], next.words[0]) } };
    }
    else if constexpr (VKeys == 2)
    {
      return { { ShiftPair(held.words[0], next.words[0]), ShiftPair(held.words[1], next.words[1]) } };
    }
    else
    {
      return { { ShiftPair(held.words[1], next.words[1]), next.words[0] } };
    }
  }

  /** The extremes of as many neighbouring keys as a word has, from each of its keys on. */
  static CUDAMEDIAN_HOST_DEVICE Held
  FindPiece(const Held & held, const Held & next)
  {
    if constexpr (Keys == 1)
    {
      return held;
    }
    else
    {
      const auto pairs = Min(held, ShiftHeld<1>(held, next));
      if constexpr (Keys == 4)
      {
        // What lies in the word after the next is not asked.
        const auto nextPairs = Min(next, ShiftHeld<1>(next, next));
        return Min(pairs, ShiftHeld<2>(pairs, nextPairs));
      }
      else
      {
        return pairs;
      }
    }
  }

  /** The extremes of windows of 3 or 5 keys in the middle of which a word's keys are. */
  template <int VWindow>
  static CUDAMEDIAN_HOST_DEVICE Held
  FindNear(const Held & before, const Held & held, const Held & behind)
  {
    static_assert((VWindow == 3 || VWindow == 5) && Keys > 1, "no further than in the words next to it");
    if constexpr (sizeof(TPixelBits) == 2)
    {
      const auto least =
        MinOfWords(Shift(before.words[0], held.words[0], 1), held.words[0], Shift(held.words[0], behind.words[0], 1));
      return { { VWindow == 3 ? least : MinOfWords(least, before.words[0], behind.words[0]) } };
    }
    else
    {
      // Keys 0 and 2 of a word, and 1 and 3; those before and behind are keys -1 and 1, -2 and 0, 2 and 4, 3 and 5.
      const Word evens = held.words[0];
      const Word odds = held.words[1];
      const Word oddsBefore = ShiftPair(before.words[1], odds);
      const Word evensBehind = ShiftPair(evens, behind.words[0]);
      const auto least = MinOfWords(oddsBefore, evens, odds);
      if constexpr (VWindow == 3)
      {
        return { { least, MinOfWords(evens, odds, evensBehind) } };
      }
      else
      {
        return { { MinOfWords(least, ShiftPair(before.words[0], evens), evensBehind),
                   MinOfWords(least, evensBehind, ShiftPair(odds, behind.words[1])) } };
      }
    }
  }

  /** Makes words of the first keys of as many words as a word has keys, of their second ones, and so on. */
  static CUDAMEDIAN_HOST_DEVICE void
  Transpose(Word (&words)[Keys])
  {
#ifdef __CUDA_ARCH__
    if constexpr (Keys == 4)
    {
      const Word first = __byte_perm(words[0], words[1], 0x5140);
      const Word second = __byte_perm(words[2], words[3], 0x5140);
      const Word third = __byte_perm(words[0], words[1], 0x7362);
      const Word fourth = __byte_perm(words[2], words[3], 0x7362);
      words[0] = __byte_perm(first, second, 0x5410);
      words[1] = __byte_perm(first, second, 0x7632);
      words[2] = __byte_perm(third, fourth, 0x5410);
      words[3] = __byte_perm(third, fourth, 0x7632);
    }
    else if constexpr (Keys == 2)
    {
      const Word first = __byte_perm(words[0], words[1], 0x5410);
      words[1] = __byte_perm(words[0], words[1], 0x7632);
      words[0] = first;
    }
#else
    if constexpr (Keys > 1)
    {
      constexpr int bits = 8 * static_cast<int>(sizeof(TPixelBits));
      Word          made[Keys]{};
      for (int word = 0; word < Keys; ++word)
      {
        for (int key = 0; key < Keys; ++key)
        {
          made[key] |= static_cast<Word>(static_cast<TPixelBits>(words[word] >> (key * bits))) << (word * bits);
        }
      }
      for (int word = 0; word < Keys; ++word)
      {
        words[word] = made[word];
      }
    }
#endif
  }

  /** (a ^ b) | c, for which the compiler does not find the one instruction. */
  static CUDAMEDIAN_HOST_DEVICE Word
  XorOr(Word a, Word b, Word c)
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(Word) == 4)
    {
      Word result;
      asm("lop3.b32 %0, %1, %2, %3, 0xBE;" : "=r"(result) : "r"(a), "r"(b), "r"(c));
      return result;
    }
#endif
    return (a ^ b) | c;
  }

private:
  /** The second 16-bit key of a pair, and the first of the next. */
  static CUDAMEDIAN_HOST_DEVICE Word
  ShiftPair(Word pair, Word next)
  {
#ifdef __CUDA_ARCH__
    return __funnelshift_r(pair, next, 16);
#else
    return static_cast<Word>(((static_cast<std::uint64_t>(next) << 32) | pair) >> 16);
#endif
  }

  static CUDAMEDIAN_HOST_DEVICE Word
  MinOfWords(Word a, Word b)
  {
    if constexpr (sizeof(TPixelBits) >= 4)
    {
      return b < a ? b : a;
    }
    else
    {
      return MinOfPairs(a, b);
    }
  }

  /** One instruction from sm_90 on, but for 64 bits. */
  static CUDAMEDIAN_HOST_DEVICE Word
  MinOfWords(Word a, Word b, Word c)
  {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(TPixelBits) < 4)
    {
      return __vimin3_u16x2(a, b, c);
    }
    else if constexpr (sizeof(TPixelBits) == 4)
    {
      return __vimin3_u32(a, b, c);
    }
#endif
    return MinOfWords(MinOfWords(a, b), c);
  }
};

} // namespace cudamedian

#endif
