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
#include "WindowShape.h"

#include "ImageFile.h"
#include "Options.h"

#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <utility>

namespace
{

using cudamedian::Dimension;
using cudamedian::Extent;
using cudamedian::Footprint;

/** \throws UserError where the engine refuses. */
template <typename TCall>
const Footprint *
Call(const std::string & option, const TCall & call)
{
  try
  {
    return call();
  }
  catch (const cudamedian::RequestError & error)
  {
    throw UserError(option + ": " + error.what());
  }
}

/** Numbers separated by commas. \throws UserError */
std::vector<double>
ParseRadii(const std::string & option, const std::string & text)
{
  std::vector<double> radii;
  std::istringstream  stream(text + ",");
  for (std::string part; std::getline(stream, part, ',');)
  {
    char *       end = nullptr;
    const double value = std::strtod(part.c_str(), &end);
    if (part.empty() || *end != '\0' || !std::isfinite(value) || value < 0)
    {
      throw UserError(option + ": '" + part + "' is not a radius, zero or more");
    }
    radii.push_back(value);
  }
  return radii;
}

/** The integers of an image file, which was opened. \throws UserError */
std::vector<std::int64_t>
ReadWeights(itk::ImageIOBase & imageIO, const std::string & option)
{
  using ComponentEnum = itk::IOComponentEnum;
  const auto        type = imageIO.GetComponentType();
  const auto        count = static_cast<std::size_t>(NumberOfPixels(imageIO));
  const std::size_t bytes = imageIO.GetComponentSize();
  if (imageIO.GetNumberOfComponents() != 1 || type == ComponentEnum::FLOAT || type == ComponentEnum::DOUBLE ||
      type == ComponentEnum::LDOUBLE || bytes > sizeof(std::int64_t))
  {
    throw UserError(option + ": its pixels are " + std::to_string(imageIO.GetNumberOfComponents()) + " of type " +
                    itk::ImageIOBase::GetComponentTypeAsString(type) + "; weights are integers, one for each pixel");
  }
  if (count > Footprint::largestCount)
  {
    throw UserError(option + ": it has " + std::to_string(count) + " pixels; a footprint may have at most " +
                    std::to_string(Footprint::largestCount));
  }
  const bool isSigned = type == ComponentEnum::CHAR || type == ComponentEnum::SHORT || type == ComponentEnum::INT ||
                        type == ComponentEnum::LONG || type == ComponentEnum::LONGLONG;
  std::vector<unsigned char> pixels(count * bytes);
  ReadPixels(imageIO, pixels.data(), pixels.size());
  std::vector<std::int64_t> weights(count);
  for (std::size_t i = 0; i < count; ++i)
  {
    // The bytes of a number are the low ones of a longer one, on machines that store those first.
    std::uint64_t value = 0;
    std::memcpy(&value, pixels.data() + i * bytes, bytes);
    const auto unused = static_cast<int>(64 - 8 * bytes);
    weights[i] = isSigned ? static_cast<std::int64_t>(value << unused) >> unused : static_cast<std::int64_t>(value);
  }
  return weights;
}

const Footprint *
ReadFootprint(const std::string & path, std::size_t dimension)
{
  const std::string               option = "--footprint " + path;
  const itk::ImageIOBase::Pointer imageIO = OpenImage(path);
  if (imageIO->GetNumberOfDimensions() > dimension)
  {
    throw UserError(option + ": it has " + std::to_string(imageIO->GetNumberOfDimensions()) +
                    " dimensions, and the image has " + std::to_string(dimension));
  }
  Extent extent{ { 1, 1, 1, 1 } };
  Extent center{};
  for (unsigned int axis = 0; axis < imageIO->GetNumberOfDimensions(); ++axis)
  {
    extent[axis] = static_cast<std::int64_t>(imageIO->GetDimensions(axis));
    center[axis] = extent[axis] / 2;
  }
  const auto weights = ReadWeights(*imageIO, option);
  return Call(option, [&] { return Footprint::MakeFromImage(extent, weights, center); });
}

} // namespace

WindowShape
ParseFootprint(const std::string & text)
{
  using Kind = WindowShape::Kind;
  constexpr std::pair<const char *, Kind> kinds[] = {
    { "disk", Kind::Disk }, { "ball", Kind::Ball }, { "ellipsoid", Kind::Ellipsoid }, { "cross", Kind::Cross }
  };
  WindowShape shape;
  shape.text = text;
  const std::string option = "--footprint " + text;
  const auto        colon = text.find(':');
  const auto        name = text.substr(0, colon);
  const auto        found =
    std::find_if(std::begin(kinds), std::end(kinds), [&](const auto & kind) { return name == kind.first; });
  if (found == std::end(kinds))
  {
    shape.kind = Kind::File;
    return shape;
  }
  shape.kind = found->second;
  auto radius = colon == std::string::npos ? std::string() : text.substr(colon + 1);
  if (radius.empty() && (shape.kind != Kind::Cross || colon != std::string::npos))
  {
    throw UserError(option + ": " + name + " takes a radius, as in " + name + ":2");
  }
  if (radius.size() > 2 && radius.compare(radius.size() - 2, 2, "mm") == 0)
  {
    shape.isPhysical = true;
    radius.resize(radius.size() - 2);
  }
  shape.radius = radius.empty() ? std::vector<double>{ 1 } : ParseRadii(option, radius);
  if (shape.kind == Kind::Cross && (shape.isPhysical || std::floor(shape.radius[0]) != shape.radius[0]))
  {
    throw UserError(option + ": the radius of a cross is a whole number of pixels");
  }
  if (shape.radius.size() > 1 && shape.kind != Kind::Ellipsoid && shape.kind != Kind::Cross)
  {
    throw UserError(option + ": a " + name + " has one radius; an ellipsoid has one for each axis");
  }
  return shape;
}

const Footprint *
MakeFootprint(const WindowShape & shape, const std::vector<double> & spacing, bool sliceWise)
{
  using Kind = WindowShape::Kind;
  const std::string option = "--footprint " + shape.text;
  const auto        dimension = spacing.size();
  if (shape.kind == Kind::File)
  {
    return ReadFootprint(shape.text, dimension);
  }
  if (shape.radius.size() > 1 && shape.radius.size() != dimension)
  {
    throw UserError(option + " gives " + std::to_string(shape.radius.size()) + " radii, but the image has " +
                    std::to_string(dimension) + (dimension == 1 ? " axis" : " axes"));
  }
  std::array<double, Dimension> radius{};
  for (std::size_t axis = 0; axis < dimension; ++axis)
  {
    const bool isLeftOut =
      (shape.kind == Kind::Disk && axis >= 2) || (sliceWise && axis + 1 == dimension && dimension > 1);
    const double given = shape.radius.size() > 1 ? shape.radius[axis] : shape.radius[0];
    radius[axis] = isLeftOut ? 0 : given / (shape.isPhysical ? std::abs(spacing[axis]) : 1);
  }
  if (shape.kind != Kind::Cross)
  {
    return Call(option, [&] { return Footprint::MakeEllipsoid(radius); });
  }
  Extent whole{};
  std::transform(
    radius.begin(), radius.end(), whole.begin(), [](double value) { return static_cast<std::int64_t>(value); });
  return Call(option, [&] { return Footprint::MakeCross(whole); });
}

const Footprint *
MakeCenterWeighted(const std::vector<std::uint64_t> & radius, std::uint64_t weight)
{
  Extent whole{};
  std::transform(
    radius.begin(), radius.end(), whole.begin(), [](std::uint64_t value) { return static_cast<std::int64_t>(value); });
  return Call("--center-weight " + std::to_string(weight),
              [&] { return Footprint::MakeCentreWeighted(whole, static_cast<std::int64_t>(weight)); });
}
