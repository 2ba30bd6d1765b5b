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
#ifndef Options_h
#define Options_h

#include "WindowShape.h"

#include "itkCudaMedianEngine.h"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

class SlicerModule;

/** An error the user can act on. The text is one line, without the name of the program. */
class UserError : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** What the command line asks for. */
struct Options
{
  std::string                     input;
  std::string                     output;
  std::string                     series; ///< of a folder of DICOM slices, the UID or the number of the series to take
  std::vector<std::uint64_t>      radius{ 1 }; ///< one number for all axes, or one per axis
  std::vector<std::uint64_t>      size;        ///< of the window, as the radius; empty: the radius says it
  bool                            sliceWise{ false };
  std::optional<std::uint64_t>    rank;       ///< of the wanted value in the window, from 0; none: the median
  std::optional<double>           percentile; ///< the same as a percentage
  std::vector<cudamedian::Border> border{ cudamedian::Border::ZeroFluxNeumann }; ///< for all axes, or per axis
  std::string                     borderValue{ "0" }; ///< of Border::Constant, as it was written
  std::optional<cudamedian::EvenMedian> evenMedian;
  std::optional<WindowShape>            footprint;
  std::uint64_t                         centerWeight{ 1 };
  std::string                           mask;    ///< the file of a mask; empty: none
  std::optional<std::string>            ignored; ///< the value of pixels that are not valid, as it was written
  bool                                  omitsNaN{ false };
  std::string                           emptyWindow{ "input" };      ///< "input", or a value
  std::string                           invalidOutput{ "computed" }; ///< "computed", "copied", or a value
  cudamedian::OutlierRule               outlierRule{ cudamedian::OutlierRule::None };
  double                                outlierThreshold{ 0 };
  cudamedian::Backend                   backend{ cudamedian::Backend::Auto };
  cudamedian::Algorithm                 algorithm{ cudamedian::Algorithm::Automatic };
  bool                                  waitsForKernels{ false };
  std::vector<int>                      devices;                 ///< numbers of CUDA devices; empty: the current one
  std::uint64_t                         deviceMemoryBudget{ 0 }; ///< bytes; 0: the filter's default
  bool                                  verify{ false };
  bool                                  report{ false };
  bool                                  selfTest{ false };
  std::optional<std::string>            parameterFile; ///< where 3D Slicer is told what ran
  SlicerModule * module{ nullptr }; ///< what 3D Slicer is told; null: Slicer does not run this program
};

/** Reads "2" or "2,2,1". \throws UserError */
std::vector<std::uint64_t>
ParseRadius(const std::string & text);

/** Reads "0" or "0,1". \throws UserError */
std::vector<int>
ParseDevices(const std::string & text);

/** Reads "auto", "cuda" or "cpu". \throws UserError */
cudamedian::Backend
ParseBackend(const std::string & text);

/** Reads the name of an algorithm, such as "automatic" or "localRank". \throws UserError */
cudamedian::Algorithm
ParseAlgorithm(const std::string & text);

/** Reads a number of bytes such as "4096", "64K", "512M" or "2G"; the suffixes are powers of 1024. \throws UserError */
std::uint64_t
ParseByteCount(const std::string & text);

/** The radius along each of `dimension` axes. \throws UserError when the counts differ. */
std::vector<std::uint64_t>
RadiusPerAxis(const std::vector<std::uint64_t> & radius, unsigned int dimension);

/** Reads the size of a window, "3" or "2,2,1". \throws UserError */
std::vector<std::uint64_t>
ParseSize(const std::string & text);

/** Reads a rank, a whole number. \throws UserError */
std::uint64_t
ParseRank(const std::string & text);

/** Reads a percentage from 0 to 100. \throws UserError */
double
ParsePercentile(const std::string & text);

/** Reads what lies beyond the image, such as "mirror", "constant:7" or "nearest,wrap". \throws UserError */
void
ParseBorder(const std::string & text, Options & options);

/** Reads "upper", "mean" or "lower". \throws UserError */
cudamedian::EvenMedian
ParseEvenMedian(const std::string & text);

/** Reads how often a center counts, from 1. \throws UserError */
std::uint64_t
ParseCenterWeight(const std::string & text);

/** Reads "omit" or "order". \throws UserError */
bool
ParseNaN(const std::string & text);

/** Reads a threshold: "100" of values, "3mad" of median absolute deviations. \throws UserError */
void
ParseOutliers(const std::string & text, Options & options);

/** What is filtered with, along each axis of an image. */
struct AxisWindows
{
  std::vector<std::uint64_t>      radius;
  std::vector<bool>               even; ///< whether the window has one pixel fewer behind its output than before
  std::vector<cudamedian::Border> border;
  std::int64_t                    rank{ -1 }; ///< -1: the median's
  const cudamedian::Footprint *   footprint{ nullptr };
  bool                            hasRules{ false }; ///< whether some pixels are not valid, or stay as they are
};

/** The windows for an image with a spacing along each of its axes. \throws UserError when the options do not fit to it
 * or to each other */
AxisWindows
GetWindows(const Options & options, const std::vector<double> & spacing);

/** Whether the options ask for what itk::MedianImageFilter does. */
bool
IsPlainMedian(const AxisWindows & windows);

#endif
