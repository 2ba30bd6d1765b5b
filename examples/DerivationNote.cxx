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
#include "DerivationNote.h"

#include <algorithm>
#include <locale>
#include <sstream>
#include <vector>

namespace
{

using cudamedian::Border;

/** A number as a person writes it. */
std::string
ToText(double number)
{
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << number;
  return text.str();
}

/** The parts with a separator between them. */
std::string
Join(const std::vector<std::string> & parts, const std::string & separator)
{
  std::string text;
  for (const std::string & part : parts)
  {
    text += (text.empty() ? "" : separator) + part;
  }
  return text;
}

/** The size of the windows' box, as in 3x3x1. */
std::string
GetSize(const AxisWindows & windows)
{
  std::vector<std::string> sizes;
  for (std::size_t axis = 0; axis < windows.radius.size(); ++axis)
  {
    sizes.push_back(std::to_string(2 * windows.radius[axis] + (windows.even[axis] ? 0 : 1)));
  }
  return Join(sizes, "x");
}

/** The number of values in a window that lies in the image. */
std::int64_t
CountValues(const AxisWindows & windows)
{
  if (windows.footprint != nullptr)
  {
    return windows.footprint->CountValues();
  }
  std::int64_t values = 1;
  for (std::size_t axis = 0; axis < windows.radius.size(); ++axis)
  {
    values *= static_cast<std::int64_t>(2 * windows.radius[axis] + (windows.even[axis] ? 0 : 1));
  }
  return values;
}

/** Which of a window's sorted values is taken. */
std::string
NameRank(const Options & options, const AxisWindows & windows)
{
  if (windows.rank < 0)
  {
    return "median";
  }
  const std::int64_t last = CountValues(windows) - 1;
  if (windows.rank == 0)
  {
    return "minimum";
  }
  if (windows.rank == last)
  {
    return "maximum";
  }
  return options.percentile ? "percentile " + ToText(*options.percentile)
                            : "rank " + std::to_string(windows.rank) + " of 0 to " + std::to_string(last);
}

/** The shape that takes the place of the box; empty for the box. No name of a file is told. */
std::string
NameShape(const Options & options)
{
  using Kind = WindowShape::Kind;
  if (!options.footprint)
  {
    return "";
  }
  switch (options.footprint->kind)
  {
    case Kind::Disk:
      return "disk";
    case Kind::Ball:
      return "ball";
    case Kind::Ellipsoid:
      return "ellipsoid";
    case Kind::Cross:
      return "cross";
    case Kind::File:
      break;
  }
  return "footprint";
}

std::string
DescribeWindow(const Options & options, const AxisWindows & windows)
{
  const std::string box = "a window of " + GetSize(windows) + " voxels";
  if (options.footprint)
  {
    std::vector<std::string> radii;
    for (const double radius : options.footprint->radius)
    {
      radii.push_back(ToText(radius));
    }
    const std::string radius =
      radii.empty() ? "" : " of radius " + Join(radii, ", ") + (options.footprint->isPhysical ? " mm" : " voxels");
    return "the " + std::to_string(CountValues(windows)) + " values of a " + NameShape(options) + radius + " in " + box;
  }
  return box + (options.centerWeight > 1 ? " whose center counts " + std::to_string(options.centerWeight) + " times"
                                         : std::string());
}

const char *
DescribeBorder(Border border)
{
  switch (border)
  {
    case Border::Constant:
      return "a constant beyond the border";
    case Border::Reflect:
      return "mirrored at the edge of the border";
    case Border::Mirror:
      return "mirrored at the last voxel";
    case Border::Wrap:
      return "continued at the other end beyond the border";
    case Border::Shrink:
      return "windows clipped at the border";
    case Border::ZeroFluxNeumann:
      break;
  }
  return "the nearest voxel repeated beyond the border";
}

std::string
DescribeBorders(const std::vector<Border> & borders)
{
  if (std::count(borders.begin(), borders.end(), borders.front()) == static_cast<std::ptrdiff_t>(borders.size()))
  {
    return DescribeBorder(borders.front());
  }
  std::vector<std::string> parts;
  for (std::size_t axis = 0; axis < borders.size(); ++axis)
  {
    parts.push_back("along axis " + std::to_string(axis + 1) + " " + DescribeBorder(borders[axis]));
  }
  return Join(parts, ", ");
}

/** Which voxels did not count, and which were replaced, each part by itself. */
std::vector<std::string>
DescribeRules(const Options & options)
{
  std::vector<std::string> leftOut;
  if (!options.mask.empty())
  {
    leftOut.push_back("outside of a mask");
  }
  if (options.ignored)
  {
    leftOut.push_back("of value " + *options.ignored);
  }
  if (options.omitsNaN)
  {
    leftOut.push_back("that are no numbers");
  }
  std::vector<std::string> parts;
  if (!leftOut.empty())
  {
    parts.push_back("voxels " + Join(leftOut, " and ") + " left out" +
                    (options.invalidOutput == "copied" ? " and kept as they are" : ""));
  }
  using cudamedian::OutlierRule;
  if (options.outlierRule != OutlierRule::None)
  {
    parts.push_back("only in place of voxels farther from it than " + ToText(options.outlierThreshold) +
                    (options.outlierRule == OutlierRule::Deviations ? " median absolute deviations" : ""));
  }
  return parts;
}

/** Of what may make new values, the first; empty if there is nothing. */
std::string
FindMakerOfValues(const Options & options, const AxisWindows & windows)
{
  if (std::count(windows.border.begin(), windows.border.end(), Border::Constant) > 0)
  {
    return "--border constant";
  }
  if (options.evenMedian == cudamedian::EvenMedian::Mean)
  {
    return "--even-median mean";
  }
  if (options.emptyWindow != "input")
  {
    return "--empty " + options.emptyWindow;
  }
  return options.invalidOutput != "computed" && options.invalidOutput != "copied" ? "--invalid " + options.invalidOutput
                                                                                  : "";
}

} // namespace

DerivationNote
MakeDerivationNote(const Options & options, const AxisWindows & windows, const std::string & path)
{
  const std::string maker = FindMakerOfValues(options, windows);
  if (!maker.empty())
  {
    throw UserError("cannot write '" + path + "': " + maker +
                    " makes values that no voxel of the series has, and slices cannot store every value; write to a "
                    "file such as .nrrd");
  }
  const std::string rank = NameRank(options, windows);
  const bool        isOfOutliers = options.outlierRule != cudamedian::OutlierRule::None;
  const std::string shape = NameShape(options);
  DerivationNote    note;
  note.name = rank + " " + GetSize(windows) + (shape.empty() ? "" : " " + shape) +
              (options.mask.empty() ? "" : " masked") + (isOfOutliers ? " outliers" : "");
  std::vector<std::string> parts{ rank + " of " + DescribeWindow(options, windows) };
  if (windows.rank < 0 && (CountValues(windows) % 2 == 0 || options.evenMedian))
  {
    parts.push_back(options.evenMedian == cudamedian::EvenMedian::Lower ? "the lower of two middle values"
                                                                        : "the upper of two middle values");
  }
  const auto rules = DescribeRules(options);
  parts.insert(parts.end(), rules.begin(), rules.end());
  parts.push_back(DescribeBorders(windows.border));
  note.description = Join(parts, ", ");
  note.isSmoothing = rank != "minimum" && rank != "maximum";
  note.slicesBefore = windows.radius[2];
  note.slicesBehind = windows.radius[2] - (windows.even[2] ? 1 : 0);
  note.wraps = windows.border[2] == Border::Wrap;
  return note;
}
