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
#ifndef FlagWords_h
#define FlagWords_h

#include "HostDevice.h"
#include "PixelKey.h"

/** Flags of 32 pixels in a word, and numbers of which each word has one digit: what passes over flags do with words. */
namespace cudamedian
{

constexpr int bitsOfWord = 32;

/** 32 bits of two words, from one on of the first of them. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       ShiftWords(std::uint32_t first, std::uint32_t second, unsigned int shift)
{
  return static_cast<std::uint32_t>((std::uint64_t{ second } << bitsOfWord | first) >> shift);
}

/** The number of the lowest flag that is set. \pre there is one */
CUDAMEDIAN_HOST_DEVICE int
GetLowestFlag(std::uint32_t flags)
{
#ifdef __CUDA_ARCH__
  return __ffs(static_cast<int>(flags)) - 1;
#else
  int number = 0;
  for (; (flags & 1U) == 0; flags >>= 1)
  {
    ++number;
  }
  return number;
#endif
}

/** The lowest bits, as many as these. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetLowBits(std::int64_t count)
{
  return count >= bitsOfWord ? ~0U : count <= 0 ? 0U : (1U << count) - 1;
}

/** At each bit, whether an odd number of the bits up to it are set. */
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       CountOdd(std::uint32_t word)
{
  CUDAMEDIAN_UNROLL
  for (int step = 1; step < bitsOfWord; step *= 2)
  {
    word ^= word << step;
  }
  return word;
}

/** A number for each of 32 pixels: each word has one digit of all of them. */
template <int VDigits>
struct DigitWords
{
  std::uint32_t digits[VDigits];

  /** Adds 1 where a flag is set, for both words. */
  CUDAMEDIAN_HOST_DEVICE void
  AddPair(std::uint32_t one, std::uint32_t other)
  {
    auto carry = AddDigits(digits[0], one, other);
    CUDAMEDIAN_UNROLL
    for (int i = 1; i < VDigits; ++i)
    {
      const auto next = digits[i] & carry;
      digits[i] ^= carry;
      carry = next;
    }
  }

  /** Adds a weight where a flag is set. */
  CUDAMEDIAN_HOST_DEVICE void
  Add(std::uint32_t flags, std::uint32_t weight)
  {
    std::uint32_t carry = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VDigits; ++i)
    {
      carry = AddDigits(digits[i], flags & (0U - (weight >> i & 1U)), carry);
    }
  }

private:
  /** \returns what is carried. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                AddDigits(std::uint32_t & sum, std::uint32_t a, std::uint32_t b)
  {
    const auto carry = (sum & a) | (b & (sum ^ a));
    sum ^= a ^ b;
    return carry;
  }
};

} // namespace cudamedian

#endif
