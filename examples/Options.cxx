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
#include "Options.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <system_error>
#include <type_traits>
#include <utility>

namespace
{

/** Beyond this 2r+1 could not be counted in 32 bits, and no image has such an axis. */
constexpr std::uint64_t LargestRadius = std::numeric_limits<std::int32_t>::max() / 2;

/** The most pixels of a window: what the engine counts. */
constexpr std::uint64_t MostWindowPixels = std::numeric_limits<std::int64_t>::max() / 16;

bool
ParseWhole(const char * first, const char * last, std::uint64_t & value)
{
  const auto [end, error] = std::from_chars(first, last, value);
  return error == std::errc() && end == last;
}

/** Whole numbers separated by commas; `meaning` says what each stands for. \throws UserError */
std::vector<std::uint64_t>
ParseNumbers(const std::string & option, const std::string & text, const std::string & meaning, std::uint64_t largest)
{
  std::vector<std::uint64_t> numbers;
  std::istringstream         stream(text + ",");
  for (std::string part; std::getline(stream, part, ',');)
  {
    std::uint64_t value = 0;
    if (!ParseWhole(part.data(), part.data() + part.size(), value))
    {
      throw UserError(option + " " + text + ": '" + part + "' is not " + meaning + ", zero or more");
    }
    if (value > largest)
    {
      throw UserError(option + " " + text + ": " + part + " is above the largest, " + std::to_string(largest));
    }
    numbers.push_back(value);
  }
  return numbers;
}

} // namespace

std::vector<std::uint64_t>
ParseRadius(const std::string & text)
{
  return ParseNumbers("--radius", text, "a whole number of pixels", LargestRadius);
}

std::vector<int>
ParseDevices(const std::string & text)
{
  const auto numbers = ParseNumbers("--devices", text, "the number of a device", std::numeric_limits<int>::max());
  return std::vector<int>(numbers.begin(), numbers.end());
}

cudamedian::Backend
ParseBackend(const std::string & text)
{
  if (text == "auto")
  {
    return cudamedian::Backend::Auto;
  }
  if (text == "cuda")
  {
    return cudamedian::Backend::Cuda;
  }
  if (text == "cpu")
  {
    return cudamedian::Backend::Cpu;
  }
  throw UserError("--backend " + text + ": not one of auto, cuda and cpu");
}

cudamedian::Algorithm
ParseAlgorithm(const std::string & text)
{
  using cudamedian::Algorithm;
  constexpr std::pair<const char *, Algorithm> algorithms[] = {
    { "automatic", Algorithm::Automatic },     { "tileProgram", Algorithm::TileProgram },
    { "localRank", Algorithm::LocalRank },     { "slidingHistogram", Algorithm::SlidingHistogram },
    { "mergeTiling", Algorithm::MergeTiling }, { "selection", Algorithm::Selection },
  };
  std::string names;
  for (const auto & [name, algorithm] : algorithms)
  {
    if (text == name)
    {
      return algorithm;
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw UserError("--algorithm " + text + ": not one of " + names);
}

std::uint64_t
ParseByteCount(const std::string & text)
{
  const std::size_t digits = text.find_first_not_of("0123456789");
  const std::string number = text.substr(0, digits);
  const std::string suffix = digits == std::string::npos ? "" : text.substr(digits);
  unsigned int      shift = 0;
  if (suffix == "K" || suffix == "k")
  {
    shift = 10;
  }
  else if (suffix == "M" || suffix == "m")
  {
    shift = 20;
  }
  else if (suffix == "G" || suffix == "g")
  {
    shift = 30;
  }
  std::uint64_t value = 0;
  if (!ParseWhole(number.data(), number.data() + number.size(), value) || value == 0 ||
      (shift == 0 && !suffix.empty()) || value > (std::numeric_limits<std::uint64_t>::max() >> shift))
  {
    throw UserError("--memory " + text + ": not a number of bytes such as 4096, 64K, 512M or 2G");
  }
  return value << shift;
}

std::vector<std::uint64_t>
ParseSize(const std::string & text)
{
  const auto size = ParseNumbers("--size", text, "a whole number of pixels", 2 * LargestRadius);
  if (std::find(size.begin(), size.end(), 0) != size.end())
  {
    throw UserError("--size " + text + ": a window has at least one pixel along each axis");
  }
  return size;
}

std::uint64_t
ParseRank(const std::string & text)
{
  std::uint64_t rank = 0;
  if (!ParseWhole(text.data(), text.data() + text.size(), rank))
  {
    throw UserError("--rank " + text + ": not a whole number, zero or more");
  }
  return rank;
}

double
ParsePercentile(const std::string & text)
{
  char *       end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value <= 100))
  {
    throw UserError("--percentile " + text + ": not a number from 0 to 100");
  }
  return value;
}

void
ParseBorder(const std::string & text, Options & options)
{
  using cudamedian::Border;
  constexpr std::pair<const char *, Border> borders[] = {
    { "nearest", Border::ZeroFluxNeumann }, { "constant", Border::Constant }, { "reflect", Border::Reflect },
    { "mirror", Border::Mirror },           { "wrap", Border::Wrap },         { "shrink", Border::Shrink },
  };
  options.border.clear();
  std::istringstream stream(text + ",");
  for (std::string part; std::getline(stream, part, ',');)
  {
    const auto  colon = part.find(':');
    const auto  name = part.substr(0, colon);
    std::string names;
    for (const auto & [known, border] : borders)
    {
      names += (names.empty() ? "" : ", ") + std::string(known);
      if (name == known)
      {
        options.border.push_back(border);
        names.clear();
        break;
      }
    }
    if (!names.empty())
    {
      throw UserError("--border " + text + ": '" + name + "' is not one of " + names);
    }
    if (colon != std::string::npos)
    {
      if (options.border.back() != Border::Constant)
      {
        throw UserError("--border " + text + ": only constant takes a value");
      }
      options.borderValue = part.substr(colon + 1);
    }
  }
}

cudamedian::EvenMedian
ParseEvenMedian(const std::string & text)
{
  if (text == "upper")
  {
    return cudamedian::EvenMedian::Upper;
  }
  if (text == "mean")
  {
    return cudamedian::EvenMedian::Mean;
  }
  if (text == "lower")
  {
    return cudamedian::EvenMedian::Lower;
  }
  throw UserError("--even-median " + text + ": not one of upper, mean and lower");
}

std::uint64_t
ParseCenterWeight(const std::string & text)
{
  std::uint64_t weight = 0;
  if (!ParseWhole(text.data(), text.data() + text.size(), weight) || weight < 1 || weight > LargestRadius)
  {
    throw UserError("--center-weight " + text + ": not a whole number from 1 to " + std::to_string(LargestRadius));
  }
  return weight;
}

bool
ParseNaN(const std::string & text)
{
  if (text != "omit" && text != "order")
  {
    throw UserError("--nan " + text + ": not one of omit and order");
  }
  return text == "omit";
}

void
ParseOutliers(const std::string & text, Options & options)
{
  auto       number = text;
  const bool isOfDeviations = number.size() > 3 && number.compare(number.size() - 3, 3, "mad") == 0;
  if (isOfDeviations)
  {
    number.resize(number.size() - 3);
  }
  char *       end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !std::isfinite(value) || value < 0)
  {
    throw UserError("--outliers " + text +
                    ": neither a distance of values such as 100, nor a number of deviations such as 3mad");
  }
  options.outlierRule = isOfDeviations ? cudamedian::OutlierRule::Deviations : cudamedian::OutlierRule::Absolute;
  options.outlierThreshold = value;
}

namespace
{

/** One value for each of `dimension` axes. \throws UserError when the counts differ. */
template <typename TValue>
std::vector<TValue>
Spread(const char * option, const std::vector<TValue> & values, unsigned int dimension)
{
  if (values.size() == 1)
  {
    return std::vector<TValue>(dimension, values.front());
  }
  if (values.size() != dimension)
  {
    const char * const kind = std::is_same<TValue, cudamedian::Border>::value ? " names" : " numbers";
    throw UserError(std::string(option) + " gives " + std::to_string(values.size()) + kind + ", but the image has " +
                    std::to_string(dimension) + (dimension == 1 ? " axis" : " axes"));
  }
  return values;
}

/** The rank that the options ask for in a window of so many pixels, -1 for the median's. \throws UserError */
std::int64_t
GetRank(const Options & options, std::uint64_t pixels)
{
  if (options.percentile)
  {
    // As scipy.ndimage.percentile_filter counts.
    const double rank = static_cast<double>(pixels) * *options.percentile / 100;
    return static_cast<std::int64_t>(*options.percentile == 100 ? pixels - 1 : static_cast<std::uint64_t>(rank));
  }
  if (options.rank && *options.rank >= pixels)
  {
    throw UserError("--rank " + std::to_string(*options.rank) + ": the window has " + std::to_string(pixels) +
                    " pixels, whose ranks go from 0 to " + std::to_string(pixels - 1));
  }
  return options.rank ? static_cast<std::int64_t>(*options.rank) : -1;
}

} // namespace

std::vector<std::uint64_t>
RadiusPerAxis(const std::vector<std::uint64_t> & radius, unsigned int dimension)
{
  return Spread("--radius", radius, dimension);
}

namespace
{

/** Makes the windows those of a footprint, where there is to be one. */
void
SetFootprint(const Options & options, const std::vector<double> & spacing, AxisWindows & windows)
{
  const bool isEven = std::count(windows.even.begin(), windows.even.end(), true) > 0;
  if (options.centerWeight > 1 && isEven)
  {
    throw UserError("--center-weight: a window of even size has no center");
  }
  if (options.footprint)
  {
    windows.footprint = MakeFootprint(*options.footprint, spacing, options.sliceWise);
    for (std::size_t axis = 0; axis < spacing.size(); ++axis)
    {
      windows.radius[axis] = static_cast<std::uint64_t>(windows.footprint->GetRadius()[axis]);
    }
    if (options.sliceWise && windows.radius.back() > 0)
    {
      throw UserError("--footprint " + options.footprint->text + ": it reaches " +
                      std::to_string(windows.radius.back()) + " pixels along the last axis, and --slice-wise is given");
    }
  }
  else if (options.centerWeight > 1)
  {
    windows.footprint = MakeCenterWeighted(windows.radius, options.centerWeight);
  }
}

} // namespace

AxisWindows
GetWindows(const Options & options, const std::vector<double> & spacing)
{
  const auto  dimension = static_cast<unsigned int>(spacing.size());
  AxisWindows windows;
  const auto  sizes = options.size.empty() ? std::vector<std::uint64_t>() : Spread("--size", options.size, dimension);
  windows.radius = options.size.empty() ? RadiusPerAxis(options.radius, dimension) : sizes;
  windows.even.assign(dimension, false);
  windows.border = Spread("--border", options.border, dimension);
  std::uint64_t pixels = 1;
  for (unsigned int axis = 0; axis < dimension; ++axis)
  {
    if (!sizes.empty())
    {
      windows.radius[axis] = sizes[axis] / 2;
      windows.even[axis] = sizes[axis] % 2 == 0;
    }
    if (options.sliceWise && axis + 1 == dimension)
    {
      windows.radius[axis] = 0;
      windows.even[axis] = false;
    }
    const std::uint64_t size = 2 * windows.radius[axis] + (windows.even[axis] ? 0 : 1);
    // The engine refuses windows of more pixels.
    pixels = size > MostWindowPixels / pixels ? MostWindowPixels : pixels * size;
  }
  SetFootprint(options, spacing, windows);
  pixels = windows.footprint != nullptr ? static_cast<std::uint64_t>(windows.footprint->CountValues()) : pixels;
  windows.rank = GetRank(options, pixels);
  const bool hasInvalid = !options.mask.empty() || options.ignored || options.omitsNaN;
  windows.hasRules = hasInvalid || options.outlierRule != cudamedian::OutlierRule::None;
  const bool shrinks =
    std::find(windows.border.begin(), windows.border.end(), cudamedian::Border::Shrink) != windows.border.end();
  if (options.evenMedian && windows.rank >= 0)
  {
    throw UserError("--even-median is for the median, not for --rank and --percentile");
  }
  if (options.evenMedian && pixels % 2 != 0 && !shrinks && !hasInvalid)
  {
    throw UserError("--even-median: the window has an odd number of pixels, " + std::to_string(pixels));
  }
  return windows;
}

bool
IsPlainMedian(const AxisWindows & windows)
{
  return windows.rank < 0 && windows.footprint == nullptr && !windows.hasRules &&
         std::count(windows.even.begin(), windows.even.end(), true) == 0 &&
         std::all_of(
           windows.border.begin(),
           windows.border.end(),
           [](cudamedian::Border border) { return border == cudamedian::Border::ZeroFluxNeumann; });
}
