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
#ifndef FuzzSource_h
#define FuzzSource_h

#include "FuzzCase.h"

#include <cstdint>
#include <random>
#include <vector>

namespace cudamedianfuzz
{

/** What cases are drawn from. */
struct Choices
{
  std::vector<Backend>      backends{ Backend::Cpu };
  bool                      device{ false }; ///< one is usable
  std::vector<int>          devices;         ///< lists of devices are drawn from these
  std::vector<std::int64_t> targets;         ///< instruction sets
  /** A device compiles a kernel for a window that it has not met, which takes up to seconds: one case in so many has
   * such a window, the others one of before. */
  unsigned newWindows{ 1 };
  unsigned largeImages{ 500 };   ///< one case in so many has an image of up to 300,000 pixels, the others 2,000
  bool     isPlainOnly{ false }; ///< boxes of odd size, the nearest pixel around the image, and no rules
};

/** Draws cases. */
class CaseSource
{
public:
  CaseSource(const Choices & choices, std::uint64_t seed);

  Case
  Next();

private:
  std::int64_t
  Below(std::int64_t limit);

  bool
  OneIn(std::int64_t count);

  /** Log-uniform from 1 to a limit. */
  std::int64_t
  UpTo(std::int64_t limit);

  void
  DrawSize(Case & c);

  Extent
  DrawRadius(int dimension);

  /** A window that devices have met, if there is a device. \returns whether it is one. */
  bool
  TakeMetWindow(Case & c, bool isPlain);

  void
  DrawWindow(Case & c, bool isPlain);

  void
  DrawShape(Case & c);

  void
  DrawEvenSizes(Case & c);

  void
  DrawRank(Case & c);

  void
  DrawRegion(Case & c);

  void
  DrawOptions(Case & c);

  void
  DrawRules(Case & c);

  void
  DrawBorder(Case & c);

  void
  DrawValidity(Case & c);

  void
  DrawOutliers(Case & c);

  /** A key that occurs in the image, or any. */
  std::uint64_t
  DrawKey(const Case & c);

  void
  BoundWindow(Case & c);

  void
  BoundWork(Case & c);

  struct MetWindow
  {
    bool       isPlain; ///< an odd box, and its median
    CaseWindow window;
  };

  Choices                m_Choices;
  std::mt19937_64        m_Random;
  std::vector<MetWindow> m_Windows; ///< that devices have met
};

} // namespace cudamedianfuzz

#endif
