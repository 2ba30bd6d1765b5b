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
  HalfPair, ///< two 8-bit keys as the bits of two halves, compared by one half2 instruction: sm_80 to sm_89
  Single    ///< one key of 32 or 64 bits
};

} // namespace cudamedian

#endif
