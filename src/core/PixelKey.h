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
#ifndef PixelKey_h
#define PixelKey_h

#include "HostDevice.h"

// NVRTC compiles this file too, and has neither the standard library nor the engine's header.
#ifdef __CUDACC_RTC__
namespace std
{
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
} // namespace std
#else
#  include "itkCudaMedianEngine.h"

#  include <cstdint>
#endif

namespace cudamedian
{

/** How pixels become unsigned keys of the same width that compare as the pixels do.
 *
 * - `Integer`: key = bits ^ mask, where the mask is the sign bit of signed types and 0 of unsigned ones.
 * - `Float`: IEEE bits, mapped so that -infinity is 0, then the finite values with -0 below +0, +infinity, and every
 *   NaN of either sign above it. The mapping is a bijection: a NaN comes back with its sign and payload. */
enum class KeyMapping : std::uint8_t
{
  Integer,
  Float
};

/** Maps the bits of a pixel to its key and back. `TKey` is the unsigned type of the pixel's width. */
template <typename TKey, KeyMapping VMapping>
struct PixelKey
{
  static_assert(static_cast<TKey>(-1) > 0, "keys are unsigned");
  static_assert(VMapping == KeyMapping::Integer || sizeof(TKey) == 4 || sizeof(TKey) == 8, "IEEE float or double");

  using Bits = TKey;
  static constexpr KeyMapping mapping = VMapping;

  static CUDAMEDIAN_HOST_DEVICE TKey
  FromBits(TKey bits, TKey signMask)
  {
    if (VMapping == KeyMapping::Integer)
    {
      return static_cast<TKey>(bits ^ signMask);
    }
    return static_cast<TKey>(FlipNegative(bits) - NegativeInfinity());
  }

  static CUDAMEDIAN_HOST_DEVICE TKey
  ToBits(TKey key, TKey signMask)
  {
    if (VMapping == KeyMapping::Integer)
    {
      return static_cast<TKey>(key ^ signMask);
    }
    return FlipNegative(static_cast<TKey>(key + NegativeInfinity()));
  }

private:
  static constexpr int Width = 8 * sizeof(TKey);

  /** Turns IEEE's sign and magnitude into two's complement order, and back. */
  static CUDAMEDIAN_HOST_DEVICE TKey
  FlipNegative(TKey bits)
  {
    constexpr TKey magnitude = static_cast<TKey>(~TKey{ 0 }) >> 1;
    return static_cast<TKey>(bits ^ ((TKey{ 0 } - static_cast<TKey>(bits >> (Width - 1))) & magnitude));
  }

  /** Image of -infinity under FlipNegative: subtracting it makes -infinity 0 and sends negative NaN, which lie below,
   * around to the top. */
  static CUDAMEDIAN_HOST_DEVICE TKey
  NegativeInfinity()
  {
    return sizeof(TKey) == 4 ? static_cast<TKey>(0x807FFFFFU) : static_cast<TKey>(0x800FFFFFFFFFFFFFULL);
  }
};

} // namespace cudamedian

#endif
