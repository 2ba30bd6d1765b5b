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
#include "FuzzCover.h"

#include "FuzzWindow.h"

#include <algorithm>
#include <vector>

namespace cudamedianfuzz
{
namespace
{

Cover
OnlyIf(bool covered)
{
  return covered ? Cover::Must : Cover::Never;
}

std::int64_t
GetLargest(const Extent & radius)
{
  return *std::max_element(radius.begin(), radius.end());
}

int
CountAxes(const WindowMeasures & window)
{
  return static_cast<int>(std::count_if(window.radius.begin(), window.radius.end(), [](auto r) { return r > 0; }));
}

/** Whether a window that is no box has a tile program. */
bool
HasProgram(const WindowMeasures & window, bool isOnHost)
{
  const auto axes = CountAxes(window);
  return window.values <= (isOnHost ? 160 : 128) && axes <= 3 && GetLargest(window.radius) <= (axes <= 2 ? 15 : 5);
}

/** Of windows that are no boxes. */
Cover
GetFootprintCover(const Case & c, const WindowMeasures & window, bool isOnHost)
{
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return OnlyIf(HasProgram(window, isOnHost));
    case Algorithm::LocalRank:
      return window.values == window.pixels ? Cover::May : Cover::Never;
    case Algorithm::SlidingHistogram:
    case Algorithm::MergeTiling:
      return Cover::Never;
    default:
      return Cover::Must;
  }
}

/** Of boxes on the CPU. */
Cover
GetHostBoxCover(const Case & c, const WindowMeasures & measures)
{
  const auto largest = GetLargest(measures.radius);
  const auto window = measures.pixels;
  const auto axes = CountAxes(measures);
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return OnlyIf(axes <= 2 ? largest <= 15 : axes == 3 && (largest <= 4 || (largest <= 7 && window <= 343)));
    case Algorithm::LocalRank:
      // Blocks extend along the first axis, whether or not the window does; where windows keep a threshold, along all.
      return axes > (measures.radius[0] == 0 ? 2 : 3)
               ? (cudamedian::PixelBytes(c.type) == 1 ? Cover::Never : Cover::May)
             : largest <= (axes <= 2 ? 127 : 19) ? Cover::Must
             : window > 65536                    ? Cover::Never
                                                 : Cover::May;
    case Algorithm::SlidingHistogram:
      return largest <= 1000 && window <= 65535 ? Cover::Must : Cover::May;
    case Algorithm::MergeTiling:
      return Cover::Never;
    default:
      return Cover::Must;
  }
}

/** Of boxes on CUDA. */
Cover
GetDeviceBoxCover(const Case & c, const WindowMeasures & measures)
{
  const auto largest = GetLargest(measures.radius);
  const auto window = measures.pixels;
  const bool wide = cudamedian::PixelBytes(c.type) == 8;
  const bool flat = CountAxes(measures) <= 2;
  if (CountAxes(measures) > 3)
  {
    return OnlyIf(c.algorithm == Algorithm::Automatic || c.algorithm == Algorithm::Selection);
  }
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return OnlyIf(largest <= (flat ? 5 : 2) || (largest <= 31 && window <= 289));
    case Algorithm::LocalRank:
      // Between these it depends on the shared memory of the device; the first are those of 64 KiB.
      return largest <= (flat ? (wide ? 24 : 30) : (wide ? 4 : 6)) ? Cover::Must
             : window > (wide ? 8192 : 16384)                      ? Cover::Never
                                                                   : Cover::May;
    case Algorithm::SlidingHistogram:
      // Beyond that it depends on the shared memory of the device.
      return largest <= 20 ? Cover::Must : Cover::May;
    case Algorithm::MergeTiling:
      return flat ? Cover::May : Cover::Never; // the lists have to fit in the budget
    default:
      return Cover::Must;
  }
}

/** Whether some copies may be filtered by other algorithms than the one that is asked for: those with pixels that are
 * not valid have a rank for each output, which is found by whatever finds any. */
bool
MayRunOthers(const Case & c, const WindowMeasures & window)
{
  return c.HasValidity() || c.outlierRule != OutlierRule::None || (window.isFootprint && c.HasShrunkBorder());
}

Cover
GetCover(const Case & c, bool isOnHost)
{
  const auto window = MeasureWindow(c);
  const auto cover = window.isFootprint ? GetFootprintCover(c, window, isOnHost)
                     : isOnHost         ? GetHostBoxCover(c, window)
                                        : GetDeviceBoxCover(c, window);
  return cover == Cover::Never && MayRunOthers(c, window) ? Cover::May : cover;
}

/** The borders along the axes that the window has, or one for all. */
std::string
DescribeBorders(const Case & c, const WindowMeasures & window)
{
  std::vector<std::string> names;
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    if (window.radius[axis] > 0)
    {
      names.emplace_back(cudamedian::ToString(c.border[axis]));
    }
  }
  if (names.empty())
  {
    return cudamedian::ToString(Border::ZeroFluxNeumann);
  }
  std::string text = names.front();
  if (std::count(names.begin(), names.end(), text) < static_cast<std::ptrdiff_t>(names.size()))
  {
    std::for_each(names.begin() + 1, names.end(), [&text](const auto & name) { text += ", " + name; });
  }
  return text;
}

std::string
DescribeFootprint(const WindowMeasures & window)
{
  return !window.isFootprint
           ? "box"
           : std::to_string(window.pixels) + " of " + std::to_string(CountBox(window.extent)) + " pixels" +
               (window.values != window.pixels ? ", " + std::to_string(window.values) + " values" : "");
}

} // namespace

Cover
GetHostCover(const Case & c)
{
  return GetCover(c, true);
}

Cover
GetDeviceCover(const Case & c)
{
  return GetCover(c, false);
}

bool
SaysNotCovered(const Case & c, const std::string & error)
{
  const auto has = [&error](const std::string & text) { return error.find(text) != std::string::npos; };
  if (MeasureWindow(c).isFootprint)
  {
    return has(std::string("no footprint is covered by ") + cudamedian::ToString(c.algorithm) + " on ") ||
           (c.algorithm == Algorithm::LocalRank && has("Local ranks count each pixel of a footprint once")) ||
           (c.algorithm == Algorithm::LocalRank && has("No block of local ranks covers a window of radius ")) ||
           (c.algorithm == Algorithm::TileProgram && has("No tile program covers a footprint of "));
  }
  switch (c.algorithm)
  {
    case Algorithm::TileProgram:
      return has("No tile program covers a window of radius ");
    case Algorithm::LocalRank:
      return has("No block of local ranks covers a window of radius ");
    case Algorithm::SlidingHistogram:
      return has("Sliding histograms do not cover a window of radius ");
    default:
      return has("Merge tiling does not cover a window of radius ");
  }
}

std::string
FindWrongReport(const Case & c, const cudamedian::ExecutionReport & report)
{
  const auto window = MeasureWindow(c);
  const auto backend = std::string(cudamedian::ToString(c.backend));
  if (c.backend == Backend::Auto ? report.backend != "CPU" && report.backend != "CUDA" : report.backend != backend)
  {
    return "the backend is " + report.backend;
  }
  const auto algorithm = std::string(cudamedian::ToString(c.algorithm));
  // A program that takes too long to compile and cannot be interpreted is replaced, and the report has the reason.
  const bool isReplaced = c.algorithm == Algorithm::TileProgram && report.backend == "CUDA" &&
                          (report.algorithm == cudamedian::ToString(Algorithm::LocalRank) ||
                           report.algorithm == cudamedian::ToString(Algorithm::Selection)) &&
                          report.algorithmReason.find("no kernel of the window's tile program (") != std::string::npos;
  if (c.algorithm != Algorithm::Automatic && !isReplaced && !MayRunOthers(c, window) &&
      report.algorithm.compare(0, algorithm.size(), algorithm) != 0)
  {
    return "the algorithm is " + report.algorithm;
  }
  if (report.window != window.extent)
  {
    return "the window is another";
  }
  if (report.footprint != DescribeFootprint(window))
  {
    return "the footprint is " + report.footprint;
  }
  if (report.border != DescribeBorders(c, window))
  {
    return "the border is " + report.border;
  }
  const auto has = [&report](const char * words) { return report.validity.find(words) != std::string::npos; };
  if (has("mask") != (c.mask != Mask::None) || has("ignored") != c.hasIgnored || has("NaN") != c.omitsNaN ||
      has("outliers") != (c.outlierRule != OutlierRule::None))
  {
    return "valid are " + report.validity;
  }
  if (c.budget > 0 && report.backend == "CUDA" && report.deviceBytes > c.budget)
  {
    return "the budget is " + std::to_string(c.budget) + " and " + std::to_string(report.deviceBytes) +
           " bytes were allocated";
  }
  return "";
}

} // namespace cudamedianfuzz
