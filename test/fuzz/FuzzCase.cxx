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

#include <algorithm>
#include <cmath>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace cudamedianfuzz
{
namespace
{

constexpr const char * patternNames[] = { "list",    "constant", "two",  "few",      "special", "sorted", "reverse",
                                          "columns", "rows",     "step", "clusters", "smooth",  "nan",    "full" };
constexpr const char * algorithmNames[] = { "auto", "tile", "rank", "histogram", "selection", "merge" };
constexpr const char * backendNames[] = { "auto", "cuda", "cpu" };

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

/** What a case may say, by name. */
constexpr struct
{
  const char * name;
  void (*set)(Case & c, const std::string & value);
} fields[] = {
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
  const auto found =
    std::find_if(std::begin(fields), std::end(fields), [&name](const auto & field) { return name == field.name; });
  if (found == std::end(fields))
  {
    throw std::invalid_argument(name);
  }
  found->set(c, value);
}

/** Keeps the requested region inside an image that has become smaller. */
void
KeepRegionInside(Case & c)
{
  for (int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    c.offset[axis] = std::min(c.offset[axis], std::max<std::int64_t>(0, c.size[axis] - 1));
    c.region[axis] = std::min(c.region[axis], c.size[axis] - c.offset[axis]);
  }
}

} // namespace

Extent
Case::GetEffectiveRadius() const
{
  auto effective = radius;
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
  for (const auto r : GetEffectiveRadius())
  {
    if (r > most / 4 || pixels > most / (2 * r + 1))
    {
      return most;
    }
    pixels *= 2 * r + 1;
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

std::string
Case::ToText() const
{
  const Case         plain;
  std::ostringstream text;
  text << "type=" << cudamedian::ToString(type) << " size=" << Join(size, dimension)
       << " radius=" << Join(radius, dimension);
  if (index != plain.index)
  {
    text << " index=" << Join(index, dimension);
  }
  if (offset != plain.offset)
  {
    text << " offset=" << Join(offset, dimension);
  }
  if (region != size)
  {
    text << " region=" << Join(region, dimension);
  }
  text << " backend=" << backendNames[static_cast<int>(backend)];
  const auto number = [&](const char * name, auto value, auto usual) {
    if (value != usual)
    {
      text << " " << name << "=" << value;
    }
  };
  if (algorithm != plain.algorithm)
  {
    text << " algorithm=" << algorithmNames[static_cast<int>(algorithm)];
  }
  number("other", otherOutput, plain.otherOutput);
  number("slices", sliceWise, plain.sliceWise);
  number("pinned", pinned, plain.pinned);
  number("again", again, plain.again);
  number("budget", budget, plain.budget);
  number("units", units, plain.units);
  number("target", target, plain.target);
  for (std::size_t i = 0; i < devices.size(); ++i)
  {
    text << (i == 0 ? " devices=" : ",") << devices[i];
  }
  if (pattern == Pattern::List)
  {
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      text << (i == 0 ? " keys=" : ",") << keys[i];
    }
  }
  else
  {
    text << " pattern=" << patternNames[static_cast<int>(pattern)] << " seed=" << seed;
  }
  return text.str();
}

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
  return c;
}

CaseSource::CaseSource(const Choices & choices, std::uint64_t seed) : m_Choices(choices), m_Random(seed)
{
  // What is compiled ahead, interpreted, ranked, slid and merged on a device.
  for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } },
                                 Extent{ { 2, 2, 0, 0 } },
                                 Extent{ { 3, 3, 0, 0 } },
                                 Extent{ { 4, 4, 0, 0 } },
                                 Extent{ { 5, 5, 0, 0 } },
                                 Extent{ { 8, 8, 0, 0 } },
                                 Extent{ { 10, 10, 0, 0 } },
                                 Extent{ { 20, 20, 0, 0 } },
                                 Extent{ { 3, 1, 0, 0 } },
                                 Extent{ { 0, 3, 0, 0 } },
                                 Extent{ { 4, 0, 0, 0 } },
                                 Extent{ { 0, 0, 0, 0 } },
                                 Extent{ { 1, 1, 1, 0 } },
                                 Extent{ { 2, 2, 2, 0 } },
                                 Extent{ { 3, 3, 3, 0 } },
                                 Extent{ { 2, 1, 0, 1 } },
                                 Extent{ { 1, 0, 2, 0 } } })
  {
    m_Windows.push_back(radius);
  }
}

std::int64_t
CaseSource::Below(std::int64_t limit)
{
  return static_cast<std::int64_t>(m_Random() % static_cast<std::uint64_t>(limit));
}

bool
CaseSource::OneIn(std::int64_t count)
{
  return Below(count) == 0;
}

std::int64_t
CaseSource::UpTo(std::int64_t limit)
{
  const auto share = static_cast<double>(m_Random() >> 11) / 9007199254740992.0;
  return std::clamp<std::int64_t>(std::llround(std::exp(share * std::log(static_cast<double>(limit)))), 1, limit);
}

void
CaseSource::DrawSize(Case & c)
{
  constexpr int shares[] = { 1, 1, 2, 2, 2, 2, 3, 3, 3, 4 };
  c.dimension = shares[Below(10)];
  std::int64_t left = OneIn(m_Choices.largeImages) ? 300000 : OneIn(3) ? UpTo(2000) : 100 * UpTo(20);
  // In any order, so that each axis has its turn at being long.
  int order[] = { 0, 1, 2, 3 };
  std::shuffle(order, order + c.dimension, m_Random);
  for (int i = 0; i < c.dimension; ++i)
  {
    const auto size = i + 1 == c.dimension ? left : UpTo(left);
    c.size[static_cast<std::size_t>(order[i])] = size;
    left = std::max<std::int64_t>(1, left / size);
  }
  if (OneIn(200))
  {
    c.size[static_cast<std::size_t>(Below(c.dimension))] = 0;
  }
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    if (OneIn(3))
    {
      constexpr std::int64_t far[] = { 10, 1000, std::int64_t{ 1 } << 31, std::int64_t{ 1 } << 40 };
      const auto             most = far[Below(4)];
      c.index[axis] = Below(2 * most + 1) - most;
    }
  }
}

Extent
CaseSource::DrawRadius(int dimension)
{
  Extent       radius{ { 0, 0, 0, 0 } };
  const auto   kind = Below(100);
  const auto   axes = std::min(dimension, 3);
  const auto   equal = 1 + Below(kind < 70 ? 3 : axes == 3 ? 7 : 17);
  std::int64_t volume = 1;
  for (int axis = 0; axis < dimension; ++axis)
  {
    auto & r = radius[axis];
    r = kind < 40   ? Below(4)                  // small, any axes
        : kind < 75 ? (axis < axes ? equal : 0) // equal
        : kind < 90 ? Below(16)
        : kind < 98 ? UpTo(45) - 1
                    : UpTo(420) - 1;
    if (((kind < 40 || kind >= 75) && OneIn(5)) || volume > 100000)
    {
      r = 0;
    }
    volume *= 2 * r + 1;
  }
  // Windows along four axes are selected one by one, which takes long.
  if (dimension == 4 && !OneIn(20))
  {
    radius[static_cast<std::size_t>(Below(4))] = 0;
  }
  return radius;
}

void
CaseSource::DrawWindow(Case & c)
{
  const bool device = c.backend != Backend::Cpu && m_Choices.device;
  if (!device || OneIn(m_Choices.newWindows))
  {
    c.radius = DrawRadius(c.dimension);
    if (device)
    {
      m_Windows.push_back(c.radius);
    }
    return;
  }
  // One that fits the dimension; the first does.
  do
  {
    c.radius = m_Windows[static_cast<std::size_t>(Below(static_cast<std::int64_t>(m_Windows.size())))];
    if (c.dimension == 1)
    {
      c.radius = { { c.radius[0], 0, 0, 0 } };
    }
  } while (std::any_of(c.radius.begin() + c.dimension, c.radius.end(), [](auto r) { return r > 0; }));
}

void
CaseSource::DrawRegion(Case & c)
{
  c.region = c.size;
  if (OneIn(2))
  {
    return;
  }
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    if (c.size[axis] > 0 && !OneIn(3))
    {
      c.offset[axis] = Below(c.size[axis]);
      c.region[axis] = 1 + Below(c.size[axis] - c.offset[axis]);
    }
  }
}

void
CaseSource::DrawOptions(Case & c)
{
  c.type = static_cast<PixelType>(Below(10));
  c.otherOutput = OneIn(6);
  c.backend = m_Choices.backends[static_cast<std::size_t>(Below(static_cast<std::int64_t>(m_Choices.backends.size())))];
  const bool device = c.backend != Backend::Cpu && m_Choices.device;
  if (!OneIn(3))
  {
    c.algorithm = static_cast<Algorithm>(1 + Below(5));
    if ((c.algorithm == Algorithm::MergeTiling && !device && !OneIn(20)) ||
        (c.algorithm == Algorithm::SlidingHistogram && !device && cudamedian::PixelBytes(c.type) > 1 && !OneIn(20)))
    {
      c.algorithm = OneIn(2) ? Algorithm::TileProgram : Algorithm::Automatic; // else errors in most cases
    }
  }
  c.units = OneIn(4) ? static_cast<unsigned>(1 + Below(9)) : 1;
  c.sliceWise = OneIn(12);
  c.again = OneIn(20);
  if (device)
  {
    c.pinned = OneIn(4);
    if (OneIn(2))
    {
      // Too small for anything, large, or such that the image is cut into slabs.
      const auto image = c.CountPixels() * static_cast<std::int64_t>(cudamedian::PixelBytes(c.type));
      c.budget = static_cast<std::uint64_t>(OneIn(2) ? 256 * UpTo(1 << (8 + Below(10))) : 256 + UpTo(2 * image + 1));
    }
    if (!m_Choices.devices.empty() && OneIn(2))
    {
      for (auto count = 1 + Below(4); count > 0; --count)
      {
        c.devices.push_back(
          m_Choices.devices[static_cast<std::size_t>(Below(static_cast<std::int64_t>(m_Choices.devices.size())))]);
      }
    }
  }
  else if (OneIn(10))
  {
    c.budget = static_cast<std::uint64_t>(UpTo(1 << 20)); // the CPU has none
    c.pinned = OneIn(2);
  }
  if (!m_Choices.targets.empty() && !OneIn(3))
  {
    c.target = m_Choices.targets[static_cast<std::size_t>(Below(static_cast<std::int64_t>(m_Choices.targets.size())))];
  }
  c.pattern = static_cast<Pattern>(OneIn(4) ? static_cast<int>(Pattern::Full) : 1 + Below(numberOfPatterns - 1));
  c.seed = m_Random() >> 32;
}

/** Makes the requested region smaller where the window is large: many small cases find more than a few large ones. */
void
CaseSource::BoundWork(Case & c)
{
  const auto most = OneIn(100) ? 3000000 : 60000;
  auto       window = std::min<std::int64_t>(c.CountWindow(), 64 * c.CountPixels());
  // The reference walks the whole image instead of windows that are larger.
  if (c.algorithm != Algorithm::Selection && c.CountWindow() < 65536)
  {
    window = std::min(window, c.CountPixels());
  }
  for (int axis = cudamedian::Dimension - 1; axis >= 0; --axis)
  {
    while (c.region[axis] > 1 && c.CountOutputs() * window > most)
    {
      c.region[axis] = (c.region[axis] + 1) / 2;
    }
  }
}

Case
CaseSource::Next()
{
  Case c;
  DrawSize(c);
  DrawOptions(c);
  DrawWindow(c);
  DrawRegion(c);
  BoundWork(c);
  return c;
}

namespace
{

/** Gathers changes of a case that do change it. */
class SimplerCases
{
public:
  explicit SimplerCases(const Case & c) : m_Case(c)
  {}

  template <typename TChange>
  void
  Add(const TChange & change)
  {
    auto other = m_Case;
    change(other);
    if (other.ToText() != m_Case.ToText())
    {
      m_Simpler.push_back(other);
    }
  }

  /** Plainer ways to ask for the same. */
  void
  AddPlainerOptions()
  {
    Add([](Case & o) { o.devices.clear(); });
    Add([](Case & o) { o.again = false; });
    Add([](Case & o) { o.pinned = false; });
    Add([](Case & o) { o.units = 1; });
    Add([](Case & o) { o.budget = 0; });
    Add([](Case & o) { o.target = 0; });
    Add([](Case & o) { o.otherOutput = false; });
    Add([](Case & o) { o.index = { { 0, 0, 0, 0 } }; });
    Add([](Case & o) {
      o.radius = o.GetEffectiveRadius();
      o.sliceWise = false;
    });
    Add([](Case & o) { o.algorithm = Algorithm::Automatic; });
    Add([](Case & o) {
      if (o.devices.size() > 2)
      {
        o.devices.pop_back();
      }
    });
  }

  /** Fewer axes, smaller extents. */
  void
  AddSmallerExtents()
  {
    Add([](Case & o) { o.region = { { 1, 1, 1, 1 } }; });
    if (m_Case.dimension > 1 && m_Case.size[m_Case.dimension - 1] == 1 && m_Case.radius[m_Case.dimension - 1] == 0)
    {
      Add([](Case & o) {
        --o.dimension;
        o.index[o.dimension] = 0;
      });
    }
    for (int axis = 0; axis < m_Case.dimension; ++axis)
    {
      for (const bool bold : { true, false })
      {
        const auto less = [bold](std::int64_t value) {
          return bold ? value / 2 : std::max<std::int64_t>(value - 1, 0);
        };
        Add([&](Case & o) {
          o.size[axis] = less(o.size[axis]);
          KeepRegionInside(o);
        });
        Add([&](Case & o) {
          o.region[axis] = std::max(std::min<std::int64_t>(1, o.region[axis]), less(o.region[axis]));
        });
        Add([&](Case & o) {
          o.offset[axis] += o.region[axis] - std::max<std::int64_t>(1, less(o.region[axis]));
          o.region[axis] = std::max<std::int64_t>(1, less(o.region[axis]));
        });
        Add([&](Case & o) { o.offset[axis] = less(o.offset[axis]); });
        Add([&](Case & o) { o.radius[axis] = less(o.radius[axis]); });
      }
    }
  }

  void
  AddPlainerPatterns()
  {
    for (const auto pattern : { Pattern::Constant, Pattern::Two, Pattern::Sorted, Pattern::Few })
    {
      if (pattern < m_Case.pattern)
      {
        Add([&](Case & o) { o.pattern = pattern; });
      }
    }
  }

  /** One key fewer that is above the least. */
  void
  AddLowerKeys()
  {
    const auto least = std::min_element(m_Case.keys.begin(), m_Case.keys.end());
    for (std::size_t i = 0; i < m_Case.keys.size(); ++i)
    {
      if (m_Case.keys[i] != *least)
      {
        Add([&](Case & o) { o.keys[i] = *least; });
      }
    }
  }

  std::vector<Case>
  Take()
  {
    return std::move(m_Simpler);
  }

private:
  const Case &      m_Case;
  std::vector<Case> m_Simpler;
};

} // namespace

std::vector<Case>
GetSimplerCases(const Case & c)
{
  SimplerCases simpler(c);
  simpler.AddPlainerOptions();
  if (c.pattern == Pattern::List)
  {
    simpler.AddLowerKeys();
  }
  else
  {
    simpler.AddSmallerExtents();
    simpler.AddPlainerPatterns();
  }
  return simpler.Take();
}

} // namespace cudamedianfuzz
