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
#include <sstream>

namespace cudamedianfuzz
{
namespace
{

std::string
Join(const Extent & extent, int dimension)
{
  std::string text;
  for (int axis = 0; axis < dimension; ++axis)
  {
    text += (axis > 0 ? "," : "") + std::to_string(extent[axis]);
  }
  return text;
}

/** Writes what a case says. */
class CaseText
{
public:
  explicit CaseText(const Case & c)
    : m_Case(c)
  {
    m_Text.precision(17);
  }

  template <typename TValue, typename TUsual>
  void
  Add(const char * name, const TValue & value, const TUsual & usual)
  {
    if (value != usual)
    {
      m_Text << (m_Text.tellp() > 0 ? " " : "") << name << "=" << value;
    }
  }

  void
  AddExtent(const char * name, const Extent & value, const Extent & usual)
  {
    if (value != usual)
    {
      Add(name, Join(value, m_Case.dimension), "");
    }
  }

  template <typename TValue>
  void
  AddList(const char * name, const std::vector<TValue> & values)
  {
    for (std::size_t i = 0; i < values.size(); ++i)
    {
      m_Text << (i == 0 ? " " + std::string(name) + "=" : ",") << values[i];
    }
  }

  void
  AddWindow()
  {
    const Case   plain;
    const auto & c = m_Case;
    AddExtent("shorter", c.shorter, plain.shorter);
    AddExtent("shift", c.shift, plain.shift);
    Add("rank", c.rank, plain.rank);
    Add("middle", middleNames[static_cast<int>(c.evenMedian)], middleNames[0]);
    if (c.shape == Shape::List)
    {
      AddList("weights", c.weights);
      return;
    }
    Add("shape", shapeNames[static_cast<int>(c.shape)], shapeNames[0]);
    if (c.shape == Shape::Ellipsoid)
    {
      AddExtent("reach", c.reach, plain.reach);
    }
    if (c.shape == Shape::Centered)
    {
      Add("center", c.centerWeight, plain.centerWeight);
    }
    if (c.shape == Shape::Holes || c.shape == Shape::Weighted)
    {
      Add("share", c.shapeShare, plain.shapeShare);
      Add("shapeseed", c.shapeSeed, plain.shapeSeed);
    }
  }

  void
  AddRules()
  {
    const Case   plain;
    const auto & c = m_Case;
    const auto   has = [&c](Border border) {
      return std::find(c.border.begin(), c.border.end(), border) != c.border.end();
    };
    std::string borders;
    for (int axis = 0; axis < c.dimension; ++axis)
    {
      borders += (axis > 0 ? "," : "") + std::string(borderNames[static_cast<int>(c.border[axis])]);
    }
    if (c.border != plain.border)
    {
      Add("border", borders, "");
    }
    Add("constant", has(Border::Constant) ? c.constant : plain.constant, plain.constant);
    if (c.mask == Mask::Random)
    {
      Add("mask", c.maskShare, -1);
      Add("maskblock", c.maskBlock, plain.maskBlock);
      Add("maskseed", c.maskSeed, plain.maskSeed);
    }
    if (c.mask != Mask::None)
    {
      Add("maskbytes", c.maskBytes, plain.maskBytes);
    }
    if (c.mask == Mask::List)
    {
      Add("valid", c.valid, "-"); // also where there is no pixel
    }
    if (c.hasIgnored)
    {
      Add("ignored", std::to_string(c.ignored), "");
    }
    Add("omitnan", c.omitsNaN, plain.omitsNaN);
    if (c.hasEmptyValue)
    {
      Add("empty", std::to_string(c.emptyValue), "");
    }
    Add("invalid", invalidNames[static_cast<int>(c.invalidOutput)], invalidNames[0]);
    Add("invalidvalue",
        c.invalidOutput == InvalidOutput::Value ? c.invalidValue : plain.invalidValue,
        plain.invalidValue);
    Add("outliers", outlierNames[static_cast<int>(c.outlierRule)], outlierNames[0]);
    Add("threshold", c.outlierRule != OutlierRule::None ? c.threshold : plain.threshold, plain.threshold);
  }

  void
  AddRequest()
  {
    const Case   plain;
    const auto & c = m_Case;
    AddExtent("index", c.index, plain.index);
    AddExtent("offset", c.offset, plain.offset);
    AddExtent("region", c.region, c.size);
    AddWindow();
    AddRules();
    Add("backend", std::string(backendNames[static_cast<int>(c.backend)]), "");
    Add("algorithm", algorithmNames[static_cast<int>(c.algorithm)], algorithmNames[0]);
    Add("other", c.otherOutput, plain.otherOutput);
    Add("slices", c.sliceWise, plain.sliceWise);
    Add("pinned", c.pinned, plain.pinned);
    Add("again", c.again, plain.again);
    Add("budget", c.budget, plain.budget);
    Add("units", c.units, plain.units);
    Add("target", c.target, plain.target);
    AddList("devices", c.devices);
    if (c.pattern == Pattern::List)
    {
      AddList("keys", c.keys);
      return;
    }
    Add("pattern", std::string(patternNames[static_cast<int>(c.pattern)]), "");
    Add("seed", std::to_string(c.seed), "");
  }

  std::string
  Get() const
  {
    return m_Text.str();
  }

private:
  const Case &       m_Case;
  std::ostringstream m_Text;
};

} // namespace

bool
CaseRules::HasShrunkBorder() const
{
  return std::find(border.begin(), border.end(), Border::Shrink) != border.end();
}

Extent
Case::GetEffectiveRadius() const
{
  auto effective = radius;
  for (int axis = 0; axis < cudamedian::Dimension && shape == Shape::Ellipsoid; ++axis)
  {
    effective[axis] = reach[axis] / 4;
  }
  if (sliceWise)
  {
    effective[static_cast<std::size_t>(dimension - 1)] = 0;
  }
  return effective;
}

int
Case::CountAxes() const
{
  const auto effective = GetEffectiveRadius();
  return static_cast<int>(std::count_if(effective.begin(), effective.end(), [](auto r) { return r > 0; }));
}

std::int64_t
Case::CountWindow() const
{
  constexpr auto most = std::int64_t{ 1 } << 62;
  std::int64_t   pixels = 1;
  const auto     effective = GetEffectiveRadius();
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    const auto r = effective[axis];
    if (r > most / 4 || pixels > most / (2 * r + 1))
    {
      return most;
    }
    pixels *= 2 * r + 1 - shorter[axis];
  }
  return pixels;
}

std::int64_t
Case::CountPixels() const
{
  return CountBox(size);
}

std::int64_t
Case::CountOutputs() const
{
  return CountBox(region);
}

bool
Case::IsPlain() const
{
  const Extent none{};
  return shape == Shape::Box && shorter == none && shift == none && rank < 0 && !HasValidity() &&
         outlierRule == OutlierRule::None &&
         std::all_of(border.begin(), border.end(), [](Border one) { return one == Border::ZeroFluxNeumann; });
}

std::string
Case::ToText() const
{
  CaseText text(*this);
  text.Add("type", std::string(cudamedian::ToString(type)), "");
  text.AddExtent("size", size, {});
  text.Add("radius", Join(radius, dimension), "");
  text.AddRequest();
  return text.Get();
}

} // namespace cudamedianfuzz
