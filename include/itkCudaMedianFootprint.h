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
#ifndef itkCudaMedianFootprint_h
#define itkCudaMedianFootprint_h

#include "CudaMedianExport.h"
#include "itkCudaMedianExtent.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cudamedian
{

/** One pixel of a footprint: where it lies from the output, and how many times its value counts. */
struct FootprintPixel
{
  Extent       offset{ { 0, 0, 0, 0 } };
  std::int64_t weight{ 1 };

  bool
  operator==(const FootprintPixel & other) const
  {
    return offset == other.offset && weight == other.weight;
  }
};

/** The pixels of a window that is no box, with their weights.
 *
 * A footprint is made once and lives as long as the process. Equal footprints are one object, so pointers to them can
 * be compared, and kernels and programs that were made for one are found again. All members may be called from any
 * thread.
 */
class CudaMedian_EXPORT Footprint
{
public:
  /** The most pixels that a footprint may have. */
  static constexpr std::size_t largestCount = std::size_t{ 1 } << 24;

  /** The footprint of these pixels, in any order. A pixel that is listed twice has the sum of the weights; one of
   * weight 0 is left out. \throws RequestError when no pixel is left, a weight is negative, or there are too many of
   * either. */
  static const Footprint *
  Make(const std::vector<FootprintPixel> & pixels);

  /** A box of 2r+1 pixels along each axis. */
  static const Footprint *
  MakeBox(const Extent & radius);

  /** The output's pixel and its neighbours along each axis, up to a radius. */
  static const Footprint *
  MakeCross(const Extent & radius);

  /** A disk, a ball or an ellipsoid: the pixels whose offsets are in it, the boundary included. Radii are in pixels and
   * need not be whole; along an axis whose radius is below 1 there is one pixel.
   * \throws RequestError when a radius is negative, not finite, or above 1e6. */
  static const Footprint *
  MakeEllipsoid(const std::array<double, Dimension> & radius);

  /** What is not 0 in an image of a footprint, axis 0 fastest: each value is a weight.
   * \param center the pixel of it that lies on the output. */
  static const Footprint *
  MakeFromImage(const Extent & extent, const std::vector<std::int64_t> & weights, const Extent & center);

  /** A box of 2r+1 pixels whose centre counts several times: the centre-weighted median's. */
  static const Footprint *
  MakeCentreWeighted(const Extent & radius, std::int64_t weight);

  /** The pixels, those with the least offset along axis 3 first, then axis 2, 1 and 0. */
  const std::vector<FootprintPixel> &
  GetPixels() const
  {
    return m_Pixels;
  }

  /** The radius of the least box around the output that holds all pixels. */
  const Extent &
  GetRadius() const
  {
    return m_Radius;
  }

  /** Values of a window: the sum of the weights. */
  std::int64_t
  CountValues() const
  {
    return m_Values;
  }

  /** Whether some pixel counts more than once. */
  bool
  HasWeights() const
  {
    return m_Values != static_cast<std::int64_t>(m_Pixels.size());
  }

  /** Whether all pixels of the box around it count, and once each. */
  bool
  IsBox() const;

  /** Whether all pixels of the box around it count, and once each but for the output's own, which may count more. */
  bool
  IsCentreWeighted() const;

  /** "13 of 25 pixels", and the number of values where some count more than once. */
  std::string
  Describe() const;

  Footprint(const Footprint &) = delete;
  Footprint &
  operator=(const Footprint &) = delete;

private:
  explicit Footprint(std::vector<FootprintPixel> pixels);

  bool
  FillsItsBox() const;

  std::vector<FootprintPixel> m_Pixels;
  Extent                      m_Radius{ { 0, 0, 0, 0 } };
  std::int64_t                m_Values{ 0 };
};

} // namespace cudamedian

#endif
