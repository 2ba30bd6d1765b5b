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
#ifndef FuzzCase_h
#define FuzzCase_h

#include "itkCudaMedianEngine.h"

#include <cstdint>
#include <random>
#include <string>
#include <vector>

/** Random requests to the filter, as one line of text each. */
namespace cudamedianfuzz
{

using cudamedian::Algorithm;
using cudamedian::Backend;
using cudamedian::Extent;
using cudamedian::PixelType;

/** Pixels of a box. */
inline std::int64_t
CountBox(const Extent & extent)
{
  return extent[0] * extent[1] * extent[2] * extent[3];
}

/** What the pixels of an image look like; all is said of keys, which order as the pixels do. */
enum class Pattern
{
  List,     ///< the keys that the case lists
  Constant, ///< one value
  Two,      ///< the 0-1 images of sorting networks
  Few,      ///< many duplicates, the type's limits among them
  Special,  ///< infinities, subnormal numbers, zeros of both signs, limits
  Sorted,   ///< rising along axis 0
  Reverse,  ///< falling along axis 0
  Columns,  ///< rising along the last axis first
  Rows,     ///< rows that alternate between the extremes
  Step,     ///< one half low, one half high
  Clusters, ///< two narrow ranges far apart
  Smooth,   ///< neighbours that hardly differ
  Nan,      ///< full range and NaN of both signs; integers are full range
  Full      ///< any number
};
constexpr int numberOfPatterns = static_cast<int>(Pattern::Full) + 1;

/** One request to the filter with the image that it is for. */
struct Case
{
  int                        dimension{ 2 };
  PixelType                  type{ PixelType::UInt8 };
  bool                       otherOutput{ false }; ///< the output's pixel type is GetOtherType()
  Extent                     size{ { 1, 1, 1, 1 } };
  Extent                     index{ { 0, 0, 0, 0 } }; ///< of the image's first pixel
  Extent                     radius{ { 0, 0, 0, 0 } };
  Extent                     offset{ { 0, 0, 0, 0 } }; ///< of the requested region from the image's first pixel
  Extent                     region{ { 1, 1, 1, 1 } }; ///< size of the requested region
  Algorithm                  algorithm{ Algorithm::Automatic };
  Backend                    backend{ Backend::Cpu };
  std::uint64_t              budget{ 0 };
  unsigned                   units{ 1 };
  std::vector<int>           devices;
  bool                       sliceWise{ false };
  bool                       pinned{ false }; ///< input and output in pinned memory
  bool                       again{ false };  ///< the same filter is updated a second time
  std::int64_t               target{ 0 };     ///< the instruction set, as Highway numbers them; 0: the best
  Pattern                    pattern{ Pattern::Full };
  std::uint64_t              seed{ 0 };
  std::vector<std::uint64_t> keys; ///< of Pattern::List

  /** The radius that the filter uses. */
  Extent
  GetEffectiveRadius() const;

  /** How many axes it is along. */
  int
  CountAxes() const;

  /** Pixels of the window; at most 2^62. */
  std::int64_t
  CountWindow() const;

  std::int64_t
  CountPixels() const;

  std::int64_t
  CountOutputs() const;

  /** One line, which Parse() reads; what has its default is left out. */
  std::string
  ToText() const;

  /** \throws std::invalid_argument with the word that is not understood. */
  static Case
  Parse(const std::string & text);
};

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
  unsigned largeImages{ 500 }; ///< one case in so many has an image of up to 300,000 pixels, the others 2,000
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

  void
  DrawWindow(Case & c);

  void
  DrawRegion(Case & c);

  void
  DrawOptions(Case & c);

  void
  BoundWork(Case & c);

  Choices             m_Choices;
  std::mt19937_64     m_Random;
  std::vector<Extent> m_Windows; ///< that devices have met
};

/** Cases that are a little simpler than one, the boldest first. */
std::vector<Case>
GetSimplerCases(const Case & c);

} // namespace cudamedianfuzz

#endif
