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
#include "PublishedPrograms.h"

#include "ForgetfulSelection.h"
#include "PublishedNetworks.h"

#include <cctype>
#include <sstream>
#include <stdexcept>

namespace cudamedian
{
namespace
{

constexpr char forgetful[] = "forgetful";

const Window threeByThree(Extent{ { 1, 1, 0, 0 } });
const Window fiveByFive(Extent{ { 2, 2, 0, 0 } });

/** "2x1" as a tile. */
Extent
ParseTile(const std::string & name, const std::string & text)
{
  Extent             tile{ { 1, 1, 1, 1 } };
  std::istringstream stream(text);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const char separator = axis == 0 ? 'x' : static_cast<char>(stream.get());
    if (separator != 'x' || std::isdigit(stream.peek()) == 0 || !(stream >> tile[axis]))
    {
      break;
    }
    if (stream.peek() == std::istringstream::traits_type::eof())
    {
      return tile;
    }
  }
  throw std::invalid_argument("no published program is named " + name + ": a tile such as 2x1 follows forgetful");
}

} // namespace

TileProgram
BuildPublishedProgram(const std::string & name, const Window & window)
{
  const auto need = [&](const Window & only, const char * text) {
    if (window != only)
    {
      throw std::invalid_argument("the published program " + name + " is for the median of " + text + " alone");
    }
  };
  if (name.rfind(forgetful, 0) == 0)
  {
    return BuildForgetfulProgram(window, ParseTile(name, name.substr(sizeof(forgetful) - 1)));
  }
  if (name == "partialsort")
  {
    return BuildPartialSortProgram(window);
  }
  if (name == "bitonic")
  {
    return BuildBitonicProgram(window);
  }
  if (name == "network94" || name == "network99")
  {
    need(fiveByFive, "5x5");
    return BuildFiveByFiveNetworkProgram(name == "network99");
  }
  if (name == "steps22")
  {
    need(threeByThree, "3x3");
    return BuildTwentyTwoStepProgram();
  }
  throw std::invalid_argument("no published program is named " + name);
}

std::vector<std::string>
ListPublishedPrograms(const Window & window)
{
  if (window.footprint != nullptr || window.HasEvenSize() || !window.IsMedian() || window.CountPixels() < 2)
  {
    return {};
  }
  std::vector<std::string> names{ "forgetful1x1" };
  const bool               isWide = window.GetSize(0) > 1;
  const bool               isHigh = window.GetSize(1) > 1;
  if (isWide)
  {
    names.push_back("forgetful2x1");
  }
  if (isHigh)
  {
    names.push_back("forgetful1x2");
  }
  if (isWide && isHigh)
  {
    names.push_back("forgetful2x2");
  }
  names.push_back("partialsort");
  if (window == fiveByFive)
  {
    names.push_back("network99");
  }
  names.push_back("bitonic");
  if (window == threeByThree)
  {
    names.push_back("steps22");
  }
  return names;
}

KernelPolicy
AdaptPolicy(KernelPolicy policy, const TileProgram & program)
{
  policy.tile = program.GetTile();
  policy.tiling = { program.GetTile() };
  policy.phases = {};
  // That many were counted for the window's own program.
  policy.residentBlocks = 0;
  policy.lineBytes = 0;
  policy.steps = 0;
  return policy;
}

} // namespace cudamedian
