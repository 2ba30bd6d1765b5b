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

#include <charconv>
#include <limits>
#include <sstream>
#include <system_error>
#include <utility>

namespace
{

/** Beyond this 2r+1 could not be counted in 32 bits, and no image has such an axis. */
constexpr std::uint64_t LargestRadius = std::numeric_limits<std::int32_t>::max() / 2;

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
RadiusPerAxis(const std::vector<std::uint64_t> & radius, unsigned int dimension)
{
  if (radius.size() == 1)
  {
    return std::vector<std::uint64_t>(dimension, radius.front());
  }
  if (radius.size() != dimension)
  {
    throw UserError("--radius gives " + std::to_string(radius.size()) + " numbers, but the image has " +
                    std::to_string(dimension) + (dimension == 1 ? " axis" : " axes"));
  }
  return radius;
}
