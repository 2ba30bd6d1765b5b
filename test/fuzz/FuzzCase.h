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

#include <array>
#include <cstdint>
#include <string>
#include <vector>

/** Random requests to the filter, as one line of text each. */
namespace cudamedianfuzz
{

using cudamedian::Algorithm;
using cudamedian::Backend;
using cudamedian::Border;
using cudamedian::EvenMedian;
using cudamedian::Extent;
using cudamedian::InvalidOutput;
using cudamedian::OutlierRule;
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

/** What a window's pixels are: a box, or some pixels of the box of the radius. */
enum class Shape
{
  Box,
  Ellipsoid, ///< of the reach instead of the radius
  Cross,     ///< the pixels along the axes
  Ring,      ///< the rim of an ellipsoid
  Holes,     ///< random pixels
  Weighted,  ///< random pixels with random weights
  Centered,  ///< all, of which the output's own counts several times
  List       ///< those that the case lists, with their weights
};

/** Which pixels a case's mask has on. */
enum class Mask
{
  None,
  Random, ///< a share of the blocks that the image is cut into
  List    ///< those that the case lists
};

/** The window of a case: its pixels, and what is wanted of their values. */
struct CaseWindow
{
  Extent                    radius{ { 0, 0, 0, 0 } };
  Extent                    shorter{ { 0, 0, 0, 0 } }; ///< 1 where the size is even
  Extent                    shift{ { 0, 0, 0, 0 } };   ///< of boxes
  std::int64_t              rank{ -1 };                ///< -1: the median
  EvenMedian                evenMedian{ EvenMedian::Upper };
  Shape                     shape{ Shape::Box };
  Extent                    reach{ { 0, 0, 0, 0 } }; ///< radii of an ellipsoid, in quarters of a pixel
  std::int64_t              centerWeight{ 3 };
  std::int64_t              shapeShare{ 50 }; ///< of random pixels, in percent
  std::uint64_t             shapeSeed{ 0 };
  std::vector<std::int64_t> weights; ///< of Shape::List: of the pixels of the box, axis 0 fastest
};

/** What a case says beyond windows: what lies around the image, which pixels count, and which are replaced. All values
 * are keys. */
struct CaseRules
{
  std::array<Border, cudamedian::Dimension> border{};
  std::uint64_t                             constant{ 0 };
  Mask                                      mask{ Mask::None };
  std::int64_t                              maskShare{ 50 }; ///< of blocks that are on, in percent
  std::int64_t                              maskBlock{ 1 };  ///< pixels of a block along each axis
  std::int64_t                              maskBytes{ 1 };  ///< of a pixel
  std::uint64_t                             maskSeed{ 0 };
  std::string                               valid; ///< of Mask::List: a digit for each pixel, 1 where it is on
  bool                                      hasIgnored{ false };
  std::uint64_t                             ignored{ 0 };
  bool                                      omitsNaN{ false };
  bool                                      hasEmptyValue{ false }; ///< else an empty window has its own pixel
  std::uint64_t                             emptyValue{ 0 };
  InvalidOutput                             invalidOutput{ InvalidOutput::Computed };
  std::uint64_t                             invalidValue{ 0 };
  OutlierRule                               outlierRule{ OutlierRule::None };
  double                                    threshold{ 0 };

  /** Whether some pixel may not be valid by a rule that the case gives. */
  bool
  HasValidity() const
  {
    return mask != Mask::None || hasIgnored || omitsNaN;
  }

  /** Whether windows are clipped to the image. */
  bool
  HasShrunkBorder() const;
};

/** One request to the filter with the image that it is for. */
struct Case
  : CaseWindow
  , CaseRules
{
  int                        dimension{ 2 };
  PixelType                  type{ PixelType::UInt8 };
  bool                       otherOutput{ false }; ///< the output's pixel type is GetOtherType()
  Extent                     size{ { 1, 1, 1, 1 } };
  Extent                     index{ { 0, 0, 0, 0 } };  ///< of the image's first pixel
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

  /** The radius of the window's box: 0 along the last axis where slices are filtered, and of an ellipsoid that of its
   * reach. A footprint's own may be smaller, see FuzzWindow.h. */
  Extent
  GetEffectiveRadius() const;

  /** How many axes it is along. */
  int
  CountAxes() const;

  /** Pixels of the window's box, which may be shorter; at most 2^62. */
  std::int64_t
  CountWindow() const;

  std::int64_t
  CountPixels() const;

  std::int64_t
  CountOutputs() const;

  /** Whether it is one for itk::MedianImageFilter: a box of odd size, the nearest pixel around the image, and no rules.
   */
  bool
  IsPlain() const;

  /** Takes another case's window. */
  void
  SetWindow(const CaseWindow & window)
  {
    static_cast<CaseWindow &>(*this) = window;
  }

  /** Takes another case's rules. */
  void
  SetRules(const CaseRules & rules)
  {
    static_cast<CaseRules &>(*this) = rules;
  }

  /** One line, which Parse() reads; what has its default is left out. */
  std::string
  ToText() const;

  /** \throws std::invalid_argument with the word that is not understood. */
  static Case
  Parse(const std::string & text);
};

} // namespace cudamedianfuzz

#endif
