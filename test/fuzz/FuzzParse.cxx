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
#include "FuzzCase.h"
#include "FuzzNames.h"

#include <algorithm>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace cudamedianfuzz
{
namespace
{

std::vector<std::string>
Split(const std::string & text, char separator)
{
  std::vector<std::string> words;
  std::istringstream       stream(text);
  for (std::string word; std::getline(stream, word, separator);)
  {
    if (!word.empty())
    {
      words.push_back(word);
    }
  }
  return words;
}

std::int64_t
ToNumber(const std::string & text)
{
  std::size_t end = 0;
  const auto  number = std::stoll(text, &end, 0);
  if (end != text.size())
  {
    throw std::invalid_argument(text);
  }
  return number;
}

Extent
ToExtent(const std::string & text, std::int64_t rest)
{
  Extent     extent{ { rest, rest, rest, rest } };
  const auto words = Split(text, ',');
  if (words.empty() || words.size() > cudamedian::Dimension)
  {
    throw std::invalid_argument(text);
  }
  for (std::size_t axis = 0; axis < words.size(); ++axis)
  {
    extent[axis] = ToNumber(words[axis]);
  }
  return extent;
}

template <typename TEnum, std::size_t VCount>
TEnum
ToEnum(const std::string & text, const char * const (&names)[VCount])
{
  const auto found = std::find(std::begin(names), std::end(names), text);
  if (found == std::end(names))
  {
    throw std::invalid_argument(text);
  }
  return static_cast<TEnum>(found - std::begin(names));
}

PixelType
ToPixelType(const std::string & text)
{
  for (int number = 0; number <= static_cast<int>(PixelType::Float64); ++number)
  {
    if (text == cudamedian::ToString(static_cast<PixelType>(number)))
    {
      return static_cast<PixelType>(number);
    }
  }
  throw std::invalid_argument(text);
}

template <auto VMember, int VRest>
void
SetExtent(Case & c, const std::string & value)
{
  c.*VMember = ToExtent(value, VRest);
}

/** Of a member that is a number without a sign. */
template <auto VMember>
void
SetUnsigned(Case & c, const std::string & value)
{
  c.*VMember = std::stoull(value, nullptr, 0);
}

template <auto VMember>
void
SetFlag(Case & c, const std::string & value)
{
  c.*VMember = ToNumber(value) != 0;
}

/** Of a member that is a number with a sign. */
template <auto VMember>
void
SetNumber(Case & c, const std::string & value)
{
  c.*VMember = ToNumber(value);
}

/** Of a value that has its default where the case does not name it. */
template <auto VMember, auto VHasMember>
void
SetOptional(Case & c, const std::string & value)
{
  c.*VMember = std::stoull(value, nullptr, 0);
  c.*VHasMember = true;
}

void
SetBorders(Case & c, const std::string & value)
{
  const auto names = Split(value, ',');
  for (std::size_t axis = 0; axis < c.border.size(); ++axis)
  {
    // One name is for all axes that the image has.
    const auto name = names.size() == 1 ? 0 : axis;
    c.border[axis] = name < names.size() ? ToEnum<Border>(names[name], borderNames) : Border::ZeroFluxNeumann;
  }
}

/** What a case may say, by name. */
struct Field
{
  const char * name;
  void (*set)(Case & c, const std::string & value);
};

/** What it may say of its window and its rules. */
constexpr Field ruleFields[] = {
  { "shorter", SetExtent<&Case::shorter, 0> },
  { "shift", SetExtent<&Case::shift, 0> },
  { "rank", SetNumber<&Case::rank> },
  { "middle", [](Case & c, const std::string & value) { c.evenMedian = ToEnum<EvenMedian>(value, middleNames); } },
  { "shape", [](Case & c, const std::string & value) { c.shape = ToEnum<Shape>(value, shapeNames); } },
  { "reach", SetExtent<&Case::reach, 0> },
  { "center", SetNumber<&Case::centerWeight> },
  { "share", SetNumber<&Case::shapeShare> },
  { "shapeseed", SetUnsigned<&Case::shapeSeed> },
  { "weights",
    [](Case & c, const std::string & value) {
      c.shape = Shape::List;
      for (const auto & word : Split(value, ','))
      {
        c.weights.push_back(ToNumber(word));
      }
    } },
  { "border", SetBorders },
  { "constant", SetUnsigned<&Case::constant> },
  { "mask",
    [](Case & c, const std::string & value) {
      c.mask = Mask::Random;
      c.maskShare = ToNumber(value);
    } },
  { "maskblock", SetNumber<&Case::maskBlock> },
  { "maskbytes", SetNumber<&Case::maskBytes> },
  { "maskseed", SetUnsigned<&Case::maskSeed> },
  { "valid",
    [](Case & c, const std::string & value) {
      c.mask = Mask::List;
      c.valid = value;
    } },
  { "ignored", SetOptional<&Case::ignored, &Case::hasIgnored> },
  { "omitnan", SetFlag<&Case::omitsNaN> },
  { "empty", SetOptional<&Case::emptyValue, &Case::hasEmptyValue> },
  { "invalid",
    [](Case & c, const std::string & value) { c.invalidOutput = ToEnum<InvalidOutput>(value, invalidNames); } },
  { "invalidvalue", SetUnsigned<&Case::invalidValue> },
  { "outliers", [](Case & c, const std::string & value) { c.outlierRule = ToEnum<OutlierRule>(value, outlierNames); } },
  { "threshold", [](Case & c, const std::string & value) { c.threshold = std::stod(value); } },
};

/** What it may say else. */
constexpr Field fields[] = {
  { "size",
    [](Case & c, const std::string & value) {
      c.dimension = static_cast<int>(Split(value, ',').size());
      c.size = c.region = ToExtent(value, 1);
    } },
  { "index", SetExtent<&Case::index, 0> },
  { "radius", SetExtent<&Case::radius, 0> },
  { "offset", SetExtent<&Case::offset, 0> },
  { "region", SetExtent<&Case::region, 1> },
  { "type", [](Case & c, const std::string & value) { c.type = ToPixelType(value); } },
  { "algorithm", [](Case & c, const std::string & value) { c.algorithm = ToEnum<Algorithm>(value, algorithmNames); } },
  { "backend", [](Case & c, const std::string & value) { c.backend = ToEnum<Backend>(value, backendNames); } },
  { "pattern", [](Case & c, const std::string & value) { c.pattern = ToEnum<Pattern>(value, patternNames); } },
  { "devices",
    [](Case & c, const std::string & value) {
      for (const auto & word : Split(value, ','))
      {
        c.devices.push_back(static_cast<int>(ToNumber(word)));
      }
    } },
  { "keys",
    [](Case & c, const std::string & value) {
      c.pattern = Pattern::List;
      for (const auto & word : Split(value, ','))
      {
        c.keys.push_back(std::stoull(word, nullptr, 0));
      }
    } },
  { "seed", SetUnsigned<&Case::seed> },
  { "budget", SetUnsigned<&Case::budget> },
  { "units", [](Case & c, const std::string & value) { c.units = static_cast<unsigned>(ToNumber(value)); } },
  { "target", [](Case & c, const std::string & value) { c.target = ToNumber(value); } },
  { "other", SetFlag<&Case::otherOutput> },
  { "slices", SetFlag<&Case::sliceWise> },
  { "pinned", SetFlag<&Case::pinned> },
  { "again", SetFlag<&Case::again> },
};

void
Set(Case & c, const std::string & name, const std::string & value)
{
  const auto isNamed = [&name](const Field & field) { return name == field.name; };
  const auto found = std::find_if(std::begin(fields), std::end(fields), isNamed);
  const auto rule = std::find_if(std::begin(ruleFields), std::end(ruleFields), isNamed);
  if (found == std::end(fields) && rule == std::end(ruleFields))
  {
    throw std::invalid_argument(name);
  }
  (found != std::end(fields) ? *found : *rule).set(c, value);
}

} // namespace

Case
Case::Parse(const std::string & text)
{
  Case c;
  c.size = { { 0, 0, 0, 0 } };
  for (const auto & word : Split(text, ' '))
  {
    const auto equals = word.find('=');
    try
    {
      Set(c, word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1));
    }
    catch (const std::exception &)
    {
      throw std::invalid_argument("\"" + word + "\" of a case is not understood");
    }
  }
  // A border for axes that the image has not means nothing.
  for (int axis = c.dimension; axis < cudamedian::Dimension; ++axis)
  {
    c.border[axis] = Border::ZeroFluxNeumann;
  }
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    if (c.size[axis] < 0 || c.radius[axis] < 0 || c.offset[axis] < 0 || c.region[axis] < 0)
    {
      throw std::invalid_argument("sizes, radii and offsets of a case start at 0");
    }
  }
  if (c.pattern == Pattern::List && static_cast<std::int64_t>(c.keys.size()) != c.CountPixels())
  {
    throw std::invalid_argument("a case lists " + std::to_string(c.keys.size()) + " keys for " +
                                std::to_string(c.CountPixels()) + " pixels");
  }
  if (c.mask == Mask::List && static_cast<std::int64_t>(c.valid.size()) != c.CountPixels())
  {
    throw std::invalid_argument("a case says of " + std::to_string(c.valid.size()) +
                                " pixels whether they are valid, of " + std::to_string(c.CountPixels()));
  }
  return c;
}

} // namespace cudamedianfuzz
