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
// Included once per instruction set (Google Highway): masks of vectors as bits.
#if defined(MaskBits_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef MaskBits_inl_h
#    undef MaskBits_inl_h
#  else
#    define MaskBits_inl_h
#  endif

#  include "DivideUp.h"

#  include "hwy/highway.h"

#  include <algorithm>
#  include <cstdint>
#  include <cstring>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

/** The place of the set bit that has so many below it. */
HWY_INLINE std::uint32_t
           FindBit(std::uint64_t bits, std::uint32_t below)
{
#  if HWY_ARCH_X86_64 && HWY_TARGET <= HWY_AVX2
  bits = _pdep_u64(std::uint64_t{ 1 } << below, bits);
#  else
  for (; below > 0; --below)
  {
    bits &= bits - 1;
  }
#  endif
  return static_cast<std::uint32_t>(hwy::Num0BitsBelowLS1Bit_Nonzero64(bits));
}

/** A mask's bits, of at most 64 lanes. */
template <typename TDescriptor>
HWY_INLINE std::uint64_t
           GetBits(TDescriptor d, hwy::HWY_NAMESPACE::Mask<TDescriptor> mask, std::size_t lanes)
{
  // At most 2048 bits long; whole bytes are written. Bytes that are read as they were written are found in registers.
  std::uint8_t  bytes[256 / 8 + 8];
  std::uint64_t bits = 0;
  hwy::HWY_NAMESPACE::StoreMaskBits(d, mask, bytes);
  switch (lanes)
  {
    case 64:
      std::memcpy(&bits, bytes, sizeof(bits));
      return bits;
    case 32:
    {
      std::uint32_t word;
      std::memcpy(&word, bytes, sizeof(word));
      return word;
    }
    case 16:
    {
      std::uint16_t word;
      std::memcpy(&word, bytes, sizeof(word));
      return word;
    }
    case 8:
      return bytes[0];
    default:
      std::memcpy(&bits, bytes, std::min<std::size_t>(DivideUp(lanes, 8), sizeof(bits)));
      return lanes < 8 ? bits & ((std::uint64_t{ 1 } << lanes) - 1) : bits;
  }
}

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
