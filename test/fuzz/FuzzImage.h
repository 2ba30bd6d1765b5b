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
#ifndef FuzzImage_h
#define FuzzImage_h

#include "FuzzCase.h"

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace cudamedianfuzz
{

/** The pixel type of an output that differs from the input's: wider, narrower, signed for unsigned, floating point for
 * integers. None of these conversions is undefined for any value. */
template <typename TPixel>
struct OtherOutput
{
  using Type = std::conditional_t<
    std::is_same<TPixel, std::int8_t>::value,
    float,
    std::conditional_t<
      std::is_same<TPixel, std::uint8_t>::value,
      std::uint16_t,
      std::conditional_t<
        std::is_same<TPixel, std::int16_t>::value,
        std::uint8_t,
        std::conditional_t<
          std::is_same<TPixel, std::uint16_t>::value,
          float,
          std::conditional_t<std::is_same<TPixel, std::int32_t>::value,
                             std::int64_t,
                             std::conditional_t<
                               std::is_same<TPixel, std::uint32_t>::value,
                               std::int16_t,
                               std::conditional_t<
                                 std::is_same<TPixel, std::uint64_t>::value,
                                 std::uint32_t,
                                 std::conditional_t<std::is_same<TPixel, double>::value, float, double>>>>>>>>;
};

/** The same as a value. */
PixelType
GetOutputType(const Case & c);

/** The keys of a case's image, axis 0 fastest. */
std::vector<std::uint64_t>
MakeKeys(const Case & c);

/** The key of the largest number of a type, +infinity where there is one. */
std::uint64_t
GetTopKey(PixelType type);

/** Which pixels a case's mask has on, as in CaseRules::valid; empty without a mask. */
std::string
MakeMask(const Case & c);

/** Whether one of the keys is that of a NaN. */
bool
HasNan(PixelType type, const std::vector<std::uint64_t> & keys);

/** The pixels that have these keys, in the type's own bytes. */
std::vector<char>
ToPixels(PixelType type, const std::vector<std::uint64_t> & keys);

/** Pixels in the case's output type, each by static_cast. */
std::vector<char>
ToOutput(const Case & c, const std::vector<char> & pixels);

/** What makes two pixels equal. */
enum class Equality
{
  Bits,
  BitsOrNaN, ///< their bits, or that both are NaN
  Numbers    ///< as ==: -0 is +0
};

/** The first pixel in which two images differ, or -1. */
std::int64_t
FindDifference(PixelType type, const std::vector<char> & a, const std::vector<char> & b, Equality equality);

/** One pixel as text. */
std::string
PixelToText(PixelType type, const std::vector<char> & pixels, std::int64_t number);

/** The same image and mask, listed; small: with keys that are the numbers 0, 1, 2 … from the key of zero on, in the
 * same order. */
Case
ListKeys(const Case & c, bool small);

/** The keys of the requested region's results, from the definition alone. */
std::vector<std::uint64_t>
GetReferenceKeys(const Case & c, const std::vector<std::uint64_t> & keys);

} // namespace cudamedianfuzz

#endif
