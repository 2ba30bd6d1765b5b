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
#ifndef KeyPacking_h
#define KeyPacking_h

namespace cudamedian
{

/** How the keys of a kernel lie in registers. */
enum class KeyPacking
{
  Pair,     ///< two 16-bit keys, compared by one integer instruction: sm_90 and later
  Quad,     ///< four 8-bit keys, compared by one integer instruction: sm_120f and sm_121f
  HalfPair, ///< two 8-bit keys as the bits of two halves, compared by one half2 instruction: sm_80 to sm_89
  /** Two 16-bit keys as the bits of two numbers of bfloat16, compared by one instruction: sm_80 to sm_89. */
  BFloatPair,
  Single ///< one key of 32 or 64 bits
};
#ifndef __CUDACC_RTC__ // which takes no functions of the host
/** The packing of the code for a pixel width that is compiled for an architecture (major * 10 + minor).
 *
 * Before sm_90, min and max of 16-bit pairs are emulated by four instructions each (CUDA 13). half2 has min and max
 * from sm_80 on, and orders all 8-bit values as integers.
 *
 * Min and max of four 8-bit keys belong to what the family of sm_120 alone has: PTX since 9.2, that is CUDA 13.2, has
 * them for sm_120f, and not for sm_120. `isForFamily` says that such a compiler makes code for the family.
 *
 * Kernels ask with the architecture that they are compiled for, the host with the one that the loaded kernel says it
 * was compiled for: so both have the same answer whatever the device is. */
constexpr KeyPacking
GetKeyPacking(int pixelBytes, int architecture, bool isForFamily = false)
{
  return pixelBytes == 1 && architecture / 10 == 12 && isForFamily ? KeyPacking::Quad
         : pixelBytes <= 2 && architecture >= 90                   ? KeyPacking::Pair
         : pixelBytes == 1 && architecture >= 80                   ? KeyPacking::HalfPair
         : pixelBytes == 2 && architecture >= 80                   ? KeyPacking::BFloatPair
                                                                   : KeyPacking::Single;
}

/** The packing of a kernel that filters along one axis (LineKernel.h), in code that has another one for tile kernels.
 * Memory is what lines wait for, and four keys to a register have no minimum of three. Keys of 16 bits that have no
 * number in bfloat16 would take a second pass: all get a register each. */
constexpr KeyPacking
GetLinePacking(KeyPacking packing)
{
  return packing == KeyPacking::Quad         ? KeyPacking::Pair
         : packing == KeyPacking::BFloatPair ? KeyPacking::Single
                                             : packing;
}
#endif
} // namespace cudamedian

#endif
