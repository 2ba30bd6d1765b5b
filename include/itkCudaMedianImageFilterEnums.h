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
#ifndef itkCudaMedianImageFilterEnums_h
#define itkCudaMedianImageFilterEnums_h

#include "itkCudaMedianEngine.h"

#include <cstdint>
#include <ostream>

namespace itk
{

/** \class CudaMedianImageFilterEnums
 * \brief Enumerations of CudaMedianImageFilter.
 * \ingroup CudaMedian */
class CudaMedianImageFilterEnums
{
public:
  /** \class Backend
   * \ingroup CudaMedian
   * Where the filter runs: `Auto` takes the CPU where no CUDA device can be used, else the one estimated to be done
   * first.
   */
  enum class Backend : uint8_t
  {
    Auto,
    Cuda,
    Cpu
  };

  /** \class Algorithm
   * \ingroup CudaMedian
   * How the medians are found. All yield the same image. Which windows each covers on which backend is said in
   * documentation/support.md.
   * - `Automatic`: the fastest for the window, by measurement.
   * - `TileProgram`: one list of min and max operations for all pixels of a tile.
   * - `LocalRank`: sorts the pixels of a block once and slides windows over their ranks.
   * - `SlidingHistogram`: slides windows of 256 bins over the histograms of columns. The cost does not depend on the
   *   radius.
   * - `Selection`: each window on its own, of any size.
   * - `MergeTiling`: hierarchical tiling with sorted lists in memory that are merged. The cost is in proportion to the
   *   radius. */
  enum class Algorithm : uint8_t
  {
    Automatic,
    TileProgram,
    LocalRank,
    SlidingHistogram,
    Selection,
    MergeTiling
  };

  /** \class Boundary
   * \ingroup CudaMedian
   * What windows see beyond the image; behind each, what a row of pixels a b c d is taken for.
   * - `ZeroFluxNeumann`: the nearest pixel, a a a | a b c d | d d d, as itk::ZeroFluxNeumannBoundaryCondition.
   * - `Constant`: one value, k k k | a b c d | k k k, as itk::ConstantBoundaryCondition.
   * - `Reflect`: the image mirrored at its edge, c b a | a b c d | d c b, as itk::MirrorPadImageFilter.
   * - `Mirror`: the image mirrored at its last pixel, d c b | a b c d | c b a.
   * - `Wrap`: the image again, b c d | a b c d | a b c, as itk::PeriodicBoundaryCondition.
   * - `Shrink`: nothing: the window is clipped to the image and has fewer pixels, whose median is taken. Along all axes
   * with a radius, or along none. */
  enum class Boundary : uint8_t
  {
    ZeroFluxNeumann,
    Constant,
    Reflect,
    Mirror,
    Wrap,
    Shrink
  };

  /** \class EvenMedian
   * \ingroup CudaMedian
   * What the median of an even number of values is: the upper one of the two in the middle, the mean of both, of
   * integers rounded down, or the lower one. */
  enum class EvenMedian : uint8_t
  {
    Upper,
    Mean,
    Lower
  };

  /** \class NaNPolicy
   * \ingroup CudaMedian
   * What a NaN is: a value after +infinity, or a pixel that is not valid. */
  enum class NaNPolicy : uint8_t
  {
    Order,
    Omit
  };

  /** \class EmptyWindow
   * \ingroup CudaMedian
   * What is written where no pixel of a window is valid: the output's own pixel of the input, or a value. */
  enum class EmptyWindow : uint8_t
  {
    Input,
    Value
  };

  /** \class InvalidOutput
   * \ingroup CudaMedian
   * What is written for outputs whose own pixel is not valid: the median of the valid pixels around it, the pixel
   * itself, or a value. */
  enum class InvalidOutput : uint8_t
  {
    Computed,
    Copied,
    Value
  };

  /** \class OutlierRule
   * \ingroup CudaMedian
   * Which pixels are replaced by their median: all; those whose distance from it is above a threshold; or those whose
   * distance is above so many median absolute deviations of their window. */
  enum class OutlierRule : uint8_t
  {
    None,
    Absolute,
    Deviations
  };
};

/** Writes the name of the backend. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::Backend value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::Backend>(value));
}

/** Writes the name of the algorithm. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::Algorithm value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::Algorithm>(value));
}

/** Writes the name of the boundary. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::Boundary value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::Border>(value));
}

/** Writes the name of the median of even numbers of values. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::EvenMedian value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::EvenMedian>(value));
}

/** Writes the name of the rule for empty windows. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::EmptyWindow value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::EmptyWindow>(value));
}

/** Writes the name of the rule for outputs that are not valid. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::InvalidOutput value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::InvalidOutput>(value));
}

/** Writes the name of the rule for outliers. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::OutlierRule value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::OutlierRule>(value));
}

/** Writes the name of the rule for NaN. */
inline std::ostream &
operator<<(std::ostream & out, CudaMedianImageFilterEnums::NaNPolicy value)
{
  return out << (value == CudaMedianImageFilterEnums::NaNPolicy::Omit ? "omit" : "order");
}

} // namespace itk

#endif
