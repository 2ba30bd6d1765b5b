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
#include "ValidCounts.h"
#include "ValidPixels.h"
#include "Window.h"

#include <functional>

namespace cudamedian
{

/** Filters a box of outputs in a copy of what their windows see, some of whose pixels are not valid. Where all are, and
 * windows see nothing that copies would have to hold, medians are those of the image itself.
 *
 * Pixels that are not valid get the least and the greatest key in turn. Where a window has N values, L of them such a
 * least one and H such a greatest one, the upper one of the two middle values of its valid pixels has the rank
 * floor((N + L - H) / 2) among all of them, and the lower one floor((N + L - H - 1) / 2). Least and greatest nearly
 * balance each other in every window, so few ranks occur, next to the median's: a map says which output has which.
 *
 * Outliers are told in the same copy: those by deviations by how many values of their window are next to the median
 * (DeviationBound.h). */
class MaskedCopy
{
public:
  /** Memory that copies of a thread have one after the other: to ask for it takes longer than some steps. */
  struct Memory
  {
    Pixels     copy;  ///< of pixels; those that are not valid get extreme keys
    PixelFlags valid; ///< which pixels of the copy are valid
    PixelFlags turns;
    PixelFlags empty; ///< which outputs have windows without a valid pixel; empty where none has
    FoundRanks ranks;
    FoundRanks lowerRanks;
    Pixels     result;
  };

  /** Runs a request that has no rules, as a share of the work. */
  using Run = std::function<void(const MedianRequest & request, double share)>;

  /** Is told what share of the work has been done since it was told last, but for what Run did. It may throw. */
  using Tell = std::function<void(double share)>;

  MaskedCopy(const MedianRequest & request, const PixelBox & outputs, Run run, Tell tell, Memory & memory);

  /** The results of all outputs, without gaps; half floats as integers of their order. Null: they are in the output. */
  const Pixels *
  Find();

private:
  /** How many pixels of the copy are valid. */
  enum class ValidPart : std::uint8_t
  {
    All,
    Some,
    None
  };

  /** Where results are written: the first one's place, and the pixels from one to the next along each axis. */
  struct Target
  {
    char * first;
    Extent stride;
  };

  /** A row of outputs whose medians have been found. */
  struct OutputRow
  {
    std::int64_t         number; ///< of its first output
    const void *         own;    ///< the outputs' own pixels in the image, half floats as copies have them
    std::int64_t         place;  ///< of these in the copy
    const std::uint8_t * valid;  ///< their flags; null: all are valid
    void *               medians;
  };

  /** Where ranks are found: the lower or the upper ones of two middle values. */
  struct RanksOfRule
  {
    bool         isLower;
    FoundRanks * found;
  };

  /** Finds which pixels are valid. */
  void
  MarkPixels();

  /** Copies pixels as they are. */
  void
  CopyPixels();

  /** Copies pixels, but for those that are not valid, which get extreme keys; finds ranks, and which windows have no
   * valid pixel. */
  void
  FillAndCount(const std::vector<RanksOfRule> & wanted);

  void
  FindMedians();

  /** Runs one output for the report, where none has a valid pixel. */
  void
  TryOnePixel();

  /** Memory that has results without gaps. */
  Target
  MakeTarget(Pixels & memory) const;
  Target
  GetOutput() const;
  void
  RunRank(std::int64_t rank, double share, const Target & target);
  void
  RunRanks(FoundRanks & ranks, bool isLower, double share, const Target & target);
  void
  FindMeans();
  MedianRequest
  MakeInnerRequest() const;

  void
  KeepInliers();
  template <typename T, typename TGetValue>
  void
  KeepInliersByDeviations(const TGetValue & getValue);
  /** Calls function(row) for each row of outputs. */
  void
  ForEachOutputRow(const std::function<void(const OutputRow & row)> & function);
  void
  WriteExceptions();

  /** The first of the copied pixels that are the outputs' own ones, by the number of the first of a row of outputs. */
  std::int64_t
  GetOwnPlace(std::int64_t output) const;

  /** A row of the outputs' own pixels as they are in the image, half floats as copies have them. */
  const void *
  GetOwnRow(const Extent & row);

  const MedianRequest & m_Request;
  PixelBox              m_Outputs;
  Run                   m_Run;
  Tell                  m_Tell;
  double                m_ShareOfMedians; ///< of the work
  Window                m_Window;
  PixelBox              m_Copied;
  std::size_t           m_PixelBytes;
  std::int64_t          m_Count; ///< of outputs
  ValidPart             m_ValidPart{ ValidPart::All };
  bool                  m_IsReadInPlace; ///< whether medians are those of the image where all pixels are valid
  bool                  m_IsDirect;      ///< whether results are written to the output at once
  Gatherer              m_Gatherer;
  std::vector<char>     m_Scratch;
  Memory &              m_Memory;
};

} // namespace cudamedian

#endif
