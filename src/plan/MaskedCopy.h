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
#ifndef MaskedCopy_h
#define MaskedCopy_h

#include "MiddleValues.h"
#include "Window.h"

#include <functional>
#include <vector>

namespace cudamedian
{

/** Filters a box of outputs in a copy of what their windows see, some of whose pixels are not valid.
 *
 * Pixels that are not valid get the least and the greatest key in turn. Where a window has N values, L of them such a
 * least one and H such a greatest one, the upper one of the two middle values of its valid pixels has the rank
 * floor((N + L - H) / 2) among all of them, and the lower one floor((N + L - H - 1) / 2). Least and greatest nearly
 * balance each other in every window, so few ranks occur, next to the median's: a map says which output has which.
 *
 * Outliers are taken from the same copy: the median absolute deviation of each window is the median of a column of
 * deviations, which is found as any window's. */
class MaskedCopy
{
public:
  /** Runs a request that has no rules, as a share of the work. */
  using Run = std::function<void(const MedianRequest & request, double share)>;

  MaskedCopy(const MedianRequest & request, const PixelBox & outputs, Run run);

  /** The results of all outputs, without gaps; half floats as integers of their order. */
  Pixels
  Find();

private:
  void
  ReadPixels();
  Pixels
  FindMedians();
  /** The ranks of the upper middle values, or of the lower ones, where so many more keys are the least than are the
   * greatest. */
  std::vector<std::int32_t>
  FindRanks(const std::vector<std::int32_t> & balance, bool isLower) const;
  Pixels
  RunRank(std::int64_t rank, double share);
  Pixels
  RunRanks(const std::vector<std::int32_t> & ranks, bool isLower, double share);
  MedianRequest
  MakeInnerRequest() const;

  void
  KeepInliers(Pixels & result);
  template <typename T, typename TGetValue>
  void
  KeepInliersOf(Pixels & result, const TGetValue & getValue);
  template <typename T, typename TGetValue, typename TDistance>
  void
  FindDeviations(const T * medians, const TGetValue & getValue, std::vector<TDistance> & deviations);
  void
  WriteExceptions(Pixels & result) const;

  /** The place of an output's own pixel in the copy, by the output's number. */
  std::int64_t
  GetOwnPlace(std::int64_t output) const;

  const MedianRequest &     m_Request;
  PixelBox                  m_Outputs;
  Run                       m_Run;
  Window                    m_Window;
  PixelBox                  m_Copied;
  std::size_t               m_PixelBytes;
  std::int64_t              m_Count;  ///< of outputs
  Pixels                    m_Input;  ///< the copy …
  Pixels                    m_Filled; ///< … and what it is where pixels that are not valid have extreme keys
  std::vector<std::int8_t>  m_Valid;  ///< 1 or 0 for each pixel of the copy
  std::vector<std::int8_t>  m_Colour; ///< 1 where a pixel got the least key, -1 where the greatest, 0 where it is valid
  bool                      m_IsAllValid{ true };
  std::vector<std::int32_t> m_ValidCount; ///< values of each output's window that are valid; empty: all
};

} // namespace cudamedian

#endif
