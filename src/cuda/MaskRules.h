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
#ifndef MaskRules_h
#define MaskRules_h

#include "PixelKey.h"

namespace cudamedian
{

/** Which pixels of an image are not valid, and what outputs are that have no median, as kernels are told that read the
 * image and its mask themselves (MaskedTileKernel.h). Pixels have up to 32 bits. Plain data, passed by value. */
struct MaskRules
{
  const void *  mask; ///< a byte for each pixel of the input box, 0 where it is not valid; null: there is none
  std::int64_t  maskPitch[4];
  std::uint32_t ignored;    ///< the bits of a pixel, as those below
  std::uint32_t magnitudes; ///< all bits of a float but for its sign; 0 for integers
  std::uint32_t infinity;
  std::uint32_t emptyValue; ///< of a window without any valid pixel
  std::uint32_t invalidValue;
  std::int32_t  added;   ///< to the sum of turns, before it is halved: see RankBody
  bool          isLower; ///< whether of two middle values the lower one is wanted
  bool          hasIgnored;
  bool          omitsNaN;
  bool          isClipped;      ///< whether windows see no pixel beyond the image; else they see the nearest one
  bool          emptyIsInput;   ///< whether such a window's output is the input's pixel
  bool          writesInvalid;  ///< whether outputs of pixels that are not valid are not computed …
  bool          invalidIsInput; ///< … but are the input's pixel; else the value
};

/** Whether a pixel's own bits say that it is not valid. Of floats -0 and +0 are the same value, and every two NaN. */
CUDAMEDIAN_HOST_DEVICE bool
IsRuledOut(const MaskRules & rules, std::uint32_t bits)
{
  const auto magnitude = bits & rules.magnitudes;
  const bool isNaN = magnitude > rules.infinity; // of integers it is 0, as infinity is
  bool       isOut = rules.omitsNaN && isNaN;
  if (rules.hasIgnored)
  {
    const auto ignored = rules.ignored & rules.magnitudes;
    const bool areZero = rules.magnitudes != 0 && (magnitude | ignored) == 0;
    isOut = isOut || bits == rules.ignored || areZero || (isNaN && ignored > rules.infinity);
  }
  return isOut;
}

} // namespace cudamedian

#endif
