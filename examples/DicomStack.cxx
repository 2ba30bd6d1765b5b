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
#include "DicomStack.h"

#include "Options.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>
#include <sstream>

namespace
{

/** Two positions are the same below this distance in mm, which no scanner resolves. */
constexpr double SamePosition = 1e-4;
/** How far a slice may be from where even spacing puts it, as a part of the spacing. Positions are written as decimals,
 * and some devices round them. */
constexpr double SpacingTolerance = 0.01;
/** How far the numbers of two directions may be apart. */
constexpr double DirectionTolerance = 1e-4;
/** How much a stack of slices may lean, as a tangent: the rounding of directions, and far less than any gantry. */
constexpr double LeanTolerance = 1e-3;

using Vector = std::array<double, 3>;

double
Dot(const Vector & one, const Vector & other)
{
  return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
}

Vector
Difference(const std::vector<double> & one, const std::vector<double> & other)
{
  return { one[0] - other[0], one[1] - other[1], one[2] - other[2] };
}

Vector
Normal(const std::vector<double> & orientation)
{
  const double * const row = orientation.data();
  const double * const column = row + 3;
  Vector               normal = { row[1] * column[2] - row[2] * column[1],
                                  row[2] * column[0] - row[0] * column[2],
                                  row[0] * column[1] - row[1] * column[0] };
  const double         length = std::sqrt(Dot(normal, normal));
  for (double & number : normal)
  {
    number /= length;
  }
  return normal;
}

std::string
Name(const DicomHeader & slice)
{
  return "'" + slice.path + "'";
}

/** A number as people write it. */
std::string
Number(double value)
{
  std::ostringstream text;
  text.precision(6);
  text << (std::abs(value) < 1e-9 ? 0.0 : value);
  return text.str();
}

std::string
List(const std::vector<double> & values)
{
  std::string text;
  for (const double value : values)
  {
    text += (text.empty() ? "" : "\\") + Number(value);
  }
  return text;
}

std::string
Size(const DicomHeader & slice)
{
  return std::to_string(slice.columns) + "x" + std::to_string(slice.rows);
}

std::string
PixelType(const DicomHeader & slice)
{
  return std::to_string(slice.bitsStored) + " bits in " + std::to_string(slice.bitsAllocated) +
         (slice.isSigned ? ", signed" : ", unsigned");
}

bool
AreParallel(const DicomHeader & one, const DicomHeader & other)
{
  return std::equal(one.orientation.begin(),
                    one.orientation.end(),
                    other.orientation.begin(),
                    other.orientation.end(),
                    [](double first, double second) { return std::abs(first - second) <= DirectionTolerance; });
}

[[noreturn]] void
Refuse(const std::string & reason)
{
  throw UserError("cannot read the series: " + reason);
}

/** \throws UserError when a slice is not of a form that a volume can be made of, or differs from the first. */
void
CheckForms(const std::vector<DicomHeader> & slices)
{
  const DicomHeader & first = slices.front();
  for (const DicomHeader & slice : slices)
  {
    if (!slice.damage.empty())
    {
      throw UserError("cannot read '" + slice.path + "': " + slice.damage);
    }
    if (slice.frames > 1)
    {
      Refuse(Name(slice) + " holds " + std::to_string(slice.frames) +
             " frames, and a volume is made of files of one; name that file as the input");
    }
    if (slice.samples != 1)
    {
      Refuse(Name(slice) + " has pixels of " + std::to_string(slice.samples) + " components; series of one are taken");
    }
    const auto differ = [&](const std::string & what, const std::string & one, const std::string & other) {
      Refuse("its slices differ in " + what + ": " + Name(first) + " has " + one + ", " + Name(slice) + " has " +
             other);
    };
    if (slice.columns != first.columns || slice.rows != first.rows)
    {
      differ("size", Size(first), Size(slice));
    }
    if (slice.bitsAllocated != first.bitsAllocated || slice.bitsStored != first.bitsStored ||
        slice.isSigned != first.isSigned)
    {
      differ("pixel type", PixelType(first), PixelType(slice));
    }
    if (slices.size() == 1)
    {
      return;
    }
    if (slice.position.empty() || slice.orientation.empty())
    {
      Refuse(Name(slice) + " does not say where it is: it has no " +
             (slice.position.empty() ? "ImagePositionPatient" : "ImageOrientationPatient"));
    }
    const Vector     row = { slice.orientation[0], slice.orientation[1], slice.orientation[2] };
    const Vector     column = { slice.orientation[3], slice.orientation[4], slice.orientation[5] };
    constexpr double tolerance = 1e-2;
    if (std::abs(Dot(row, row) - 1) > tolerance || std::abs(Dot(column, column) - 1) > tolerance ||
        std::abs(Dot(row, column)) > tolerance)
    {
      Refuse(Name(slice) + " has an orientation of " + List(slice.orientation) +
             ", which is not two directions at right angles");
    }
    if (!AreParallel(slice, first))
    {
      differ("orientation", List(first.orientation), List(slice.orientation));
    }
  }
}

/** \throws UserError when a slice is beside the line through the first along the normal. */
void
CheckLean(const std::vector<DicomHeader> & slices, const Vector & normal)
{
  const auto aside = [&](const DicomHeader & slice, double & along) {
    const Vector way = Difference(slice.position, slices.front().position);
    along = Dot(way, normal);
    return std::sqrt(std::max(0.0, Dot(way, way) - along * along));
  };
  constexpr double degrees = 57.29577951308232;
  double           whole = 0;
  const double     wholeAside = aside(slices.back(), whole);
  for (const DicomHeader & slice : slices)
  {
    double       along = 0;
    const double distance = aside(slice, along);
    if (distance <= LeanTolerance * along + SamePosition)
    {
      continue;
    }
    // A stack that leans as a whole, or one slice that is out of place.
    if (std::abs(distance - wholeAside * along / whole) <= SpacingTolerance * distance)
    {
      Refuse("the stack of its slices leans by " + Number(std::atan2(wholeAside, whole) * degrees) +
             " degrees, as with a tilted gantry: " + Name(slices.back()) + " is " + Number(wholeAside) + " mm beside " +
             Name(slices.front()) +
             "; expected are slices that are straight above each other, so resample the series first");
    }
    Refuse(Name(slice) + " is " + Number(distance) + " mm beside " + Name(slices.front()) +
           "; expected are slices that are straight above each other");
  }
}

} // namespace

bool
HasDistinctPositions(const std::vector<DicomHeader> & slices)
{
  std::vector<double> distances;
  for (const DicomHeader & slice : slices)
  {
    if (slice.position.empty() || slice.orientation.empty() || !AreParallel(slice, slices.front()))
    {
      return true;
    }
    distances.push_back(Dot(Difference(slice.position, slices.front().position), Normal(slices.front().orientation)));
  }
  std::sort(distances.begin(), distances.end());
  return std::adjacent_find(distances.begin(), distances.end(), [](double one, double other) {
           return other - one < SamePosition;
         }) == distances.end();
}

double
OrderSlices(std::vector<DicomHeader> & slices)
{
  CheckForms(slices);
  if (slices.size() == 1)
  {
    return 0;
  }
  const Vector              normal = Normal(slices.front().orientation);
  const std::vector<double> start = slices.front().position;
  const auto along = [&](const DicomHeader & slice) { return Dot(Difference(slice.position, start), normal); };
  std::stable_sort(slices.begin(), slices.end(), [&](const DicomHeader & one, const DicomHeader & other) {
    return along(one) < along(other);
  });

  std::vector<double> gaps;
  for (std::size_t i = 0; i + 1 < slices.size(); ++i)
  {
    gaps.push_back(along(slices[i + 1]) - along(slices[i]));
    if (gaps.back() < SamePosition)
    {
      Refuse(Name(slices[i]) + " and " + Name(slices[i + 1]) + " are at the same position, " +
             List(slices[i].position) + " mm");
    }
  }
  std::vector<double> sorted = gaps;
  std::sort(sorted.begin(), sorted.end());
  const double usual = sorted[(sorted.size() - 1) / 2];
  const double spacing = (along(slices.back()) - along(slices.front())) / static_cast<double>(gaps.size());
  bool         isEven = true;
  for (std::size_t i = 0; i < slices.size(); ++i)
  {
    const double expected = along(slices.front()) + spacing * static_cast<double>(i);
    isEven = isEven && std::abs(along(slices[i]) - expected) <= SpacingTolerance * spacing;
  }
  if (!isEven)
  {
    const auto farther = [&](double one, double other) { return std::abs(one - usual) < std::abs(other - usual); };
    const auto worst =
      static_cast<std::size_t>(std::distance(gaps.begin(), std::max_element(gaps.begin(), gaps.end(), farther)));
    const double missing = std::round(gaps[worst] / usual) - 1;
    const bool   isMissing =
      missing >= 1 && std::abs(gaps[worst] - (missing + 1) * usual) <= 2 * SpacingTolerance * gaps[worst];
    const std::string where = "from " + Name(slices[worst]) + " to " + Name(slices[worst + 1]) + " it is " +
                              Number(gaps[worst]) + " mm, where " + Number(usual) + " mm are expected";
    Refuse(isMissing ? Number(missing) + (missing == 1 ? " slice is" : " slices are") + " missing: " + where
                     : "its slices are not evenly spaced: " + where);
  }
  CheckLean(slices, normal);
  return spacing;
}
