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
#ifndef MaskedLayout_h
#define MaskedLayout_h

#include "FlagWords.h"

namespace cudamedian
{

/** Where a block of MaskedTileKernel has its flags in shared memory, in words one after the other: whether pixels are
 * not valid, with turns whose turn it is, and what is known of each output. The host counts by it what a block takes.
 */
struct MaskedLayout
{
  int  pitch;         ///< staged keys of a line
  int  lines;         ///< staged, of all parts
  int  outputsOfWord; ///< of each part, in a word of what is known of outputs
  int  blockWidth;    ///< outputs of a block along axis 0
  int  outputLines;   ///< lines of a part's outputs
  int  mostSum;       ///< the greatest sum that is halved for a rank
  bool hasTurns;

  /** Words of a line's flags: with one more column behind the last, and one more word, since two are read at once. */
  CUDAMEDIAN_HOST_DEVICE constexpr int
  GetWords() const
  {
    return pitch / bitsOfWord + 2;
  }
  /** Digits in which the sums have room. */
  CUDAMEDIAN_HOST_DEVICE constexpr int
  GetDigits() const
  {
    int digits = 1;
    for (int most = mostSum; most > 1; most /= 2)
    {
      ++digits;
    }
    return digits;
  }
  /** Words of what is known of outputs: the bits of their ranks, and two of what is no median. */
  CUDAMEDIAN_HOST_DEVICE constexpr int
  GetOutputFlags() const
  {
    return GetDigits() + 1;
  }
  CUDAMEDIAN_HOST_DEVICE constexpr int
  GetOutputWords() const
  {
    return blockWidth / outputsOfWord;
  }
  CUDAMEDIAN_HOST_DEVICE constexpr int
  CountFlags() const
  {
    return lines * GetWords();
  }
  /** Where what is known of outputs begins. */
  CUDAMEDIAN_HOST_DEVICE constexpr int
  GetOutputOffset() const
  {
    return (hasTurns ? 2 : 1) * CountFlags();
  }
  CUDAMEDIAN_HOST_DEVICE constexpr int
  CountWords() const
  {
    return GetOutputOffset() + outputLines * GetOutputWords() * GetOutputFlags();
  }
};

/** \param windowLines the window's lines along axis 0, each of `windowWidth` pixels. */
CUDAMEDIAN_HOST_DEVICE constexpr MaskedLayout
MakeMaskedLayout(int  pitch,
                 int  lines,
                 int  parts,
                 int  blockWidth,
                 int  outputLines,
                 int  windowLines,
                 int  windowWidth,
                 bool hasTurns)
{
  return { pitch,      lines,       bitsOfWord / parts,
           blockWidth, outputLines, hasTurns ? 2 * windowLines + 1 : windowLines * windowWidth,
           hasTurns };
}

} // namespace cudamedian

#endif
