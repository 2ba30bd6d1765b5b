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
#include "FuzzSource.h"

#include "FuzzImage.h"
#include "FuzzWindow.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cudamedianfuzz
{

namespace
{

/** Whether the same window can be one of an image of fewer or more dimensions. */
bool
FitsDimension(const CaseWindow & window, int dimension)
{
  for (int axis = dimension; axis < cudamedian::Dimension; ++axis)
  {
    if (window.radius[axis] > 0 || window.reach[axis] > 0)
    {
      return false;
    }
  }
  return true;
}

} // namespace

CaseSource::CaseSource(const Choices & choices, std::uint64_t seed)
  : m_Choices(choices)
  , m_Random(seed)
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
    CaseWindow window;
    window.radius = radius;
    m_Windows.push_back({ true, window });
  }
  for (const Extent & reach : { Extent{ { 8, 8, 0, 0 } }, Extent{ { 8, 8, 8, 0 } } })
  {
    CaseWindow window;
    window.shape = Shape::Ellipsoid;
    window.radius = { { reach[0] / 4, reach[1] / 4, reach[2] / 4, 0 } };
    window.reach = reach;
    m_Windows.push_back({ false, window });
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

bool
CaseSource::TakeMetWindow(Case & c, bool isPlain)
{
  if (c.backend == Backend::Cpu || !m_Choices.device || OneIn(m_Choices.newWindows))
  {
    return false;
  }
  // One that fits the dimension; that of one pixel does.
  const MetWindow * met = nullptr;
  do
  {
    met = &m_Windows[static_cast<std::size_t>(Below(static_cast<std::int64_t>(m_Windows.size())))];
  } while (!FitsDimension(met->window, c.dimension) || (isPlain && !met->isPlain));
  c.SetWindow(met->window);
  c.sliceWise = c.sliceWise && IsAccepted(c);
  if (!IsAccepted(c))
  {
    c.rank = -1; // it was that of a slice
  }
  return true;
}

void
CaseSource::DrawWindow(Case & c, bool isPlain)
{
  // The kernels of least and greatest values are there for any box.
  if (!isPlain && c.backend != Backend::Cpu && m_Choices.device && OneIn(10))
  {
    c.radius = DrawRadius(c.dimension);
    BoundWindow(c);
    DrawEvenSizes(c);
    c.rank = OneIn(2) ? 0 : MeasureWindow(c).values - 1;
    return;
  }
  if (TakeMetWindow(c, isPlain))
  {
    return;
  }
  c.radius = DrawRadius(c.dimension);
  if (!isPlain)
  {
    BoundWindow(c);
    if (OneIn(3))
    {
      DrawShape(c);
    }
    else
    {
      DrawEvenSizes(c);
    }
    DrawRank(c);
  }
  if (c.backend != Backend::Cpu && m_Choices.device)
  {
    m_Windows.push_back({ isPlain, c });
  }
}

/** Makes the box of a window that is listed pixel by pixel one of some thousand pixels at most. */
void
CaseSource::BoundWindow(Case & c)
{
  const auto most = OneIn(10) ? 20000 : 1500;
  while (c.CountWindow() > most)
  {
    auto & largest = *std::max_element(c.radius.begin(), c.radius.end());
    largest /= 2;
  }
}

void
CaseSource::DrawEvenSizes(Case & c)
{
  const bool isEven = OneIn(3);
  const bool isShifted = OneIn(4);
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    const auto radius = c.GetEffectiveRadius()[axis];
    c.shorter[axis] = radius > 0 && isEven && !OneIn(3) ? 1 : 0;
    const auto places = 2 * radius + 1 - c.shorter[axis];
    c.shift[axis] = isShifted && OneIn(2) ? c.shorter[axis] - radius + Below(places) : 0;
  }
}

void
CaseSource::DrawShape(Case & c)
{
  c.shape = static_cast<Shape>(1 + Below(static_cast<int>(Shape::List) - 1));
  c.shapeSeed = m_Random() >> 40;
  c.shapeShare = 1 + Below(100);
  c.centerWeight = OneIn(4) ? UpTo(1000) : 2 + Below(8);
  // Random pixels of large boxes are work for the library too, and find no more than those of small ones.
  const auto most = OneIn(10) ? 1500 : 130;
  while (c.CountWindow() > most)
  {
    *std::max_element(c.radius.begin(), c.radius.end()) /= 2;
  }
  for (int axis = 0; axis < c.dimension && c.shape == Shape::Ellipsoid; ++axis)
  {
    c.reach[axis] = 4 * c.radius[axis] + Below(4);
  }
}

void
CaseSource::DrawRank(Case & c)
{
  const auto values = MeasureWindow(c).values;
  const auto kind = Below(10);
  c.rank = kind < 6 ? -1 : kind == 6 ? values / 2 : kind == 7 ? (OneIn(2) ? 0 : values - 1) : Below(values);
  if (c.rank < 0 && OneIn(2))
  {
    c.evenMedian = static_cast<EvenMedian>(Below(3));
  }
  else if (c.rank == values / 2 && OneIn(3))
  {
    c.evenMedian = EvenMedian::Mean;
  }
}

void
CaseSource::DrawBorder(Case & c)
{
  const auto mode = static_cast<Border>(Below(6));
  const bool isOne = mode == Border::Shrink || OneIn(2);
  for (int axis = 0; axis < c.dimension; ++axis)
  {
    c.border[axis] = isOne ? mode : static_cast<Border>(Below(5));
  }
  c.constant = DrawKey(c);
}

std::uint64_t
CaseSource::DrawKey(const Case & c)
{
  const auto top = GetTopKey(c.type);
  if (OneIn(2) && c.CountPixels() > 0 && c.CountPixels() <= 5000)
  {
    const auto keys = MakeKeys(c);
    return keys[static_cast<std::size_t>(Below(c.CountPixels()))];
  }
  // A NaN is the next one, where there is one.
  const auto key = top == ~std::uint64_t{ 0 } ? m_Random() : m_Random() % (top + 1);
  const bool hasNaN = c.type == PixelType::Float32 || c.type == PixelType::Float64;
  return hasNaN && OneIn(5) ? top + 1 : key;
}

void
CaseSource::DrawValidity(Case & c)
{
  if (!OneIn(3))
  {
    constexpr std::int64_t shares[] = { 0, 3, 20, 50, 80, 97, 100 };
    c.mask = Mask::Random;
    c.maskShare = OneIn(3) ? Below(101) : shares[Below(7)];
    c.maskBlock = OneIn(2) ? 1 : UpTo(30);
    c.maskBytes = std::int64_t{ 1 } << Below(4);
    c.maskSeed = m_Random() >> 40;
  }
  if (OneIn(3))
  {
    c.hasIgnored = true;
    c.ignored = DrawKey(c);
  }
  c.omitsNaN = OneIn(c.pattern == Pattern::Nan ? 2 : 4);
  if (OneIn(2))
  {
    c.hasEmptyValue = true;
    c.emptyValue = DrawKey(c);
  }
  c.invalidOutput = static_cast<InvalidOutput>(Below(3));
  c.invalidValue = DrawKey(c);
}

void
CaseSource::DrawOutliers(Case & c)
{
  c.outlierRule = OneIn(2) ? OutlierRule::Absolute : OutlierRule::Deviations;
  // Few binary digits: products with deviations are exact.
  const auto digits = static_cast<double>(Below(1 << 10)) / 256;
  const auto bits = static_cast<std::int64_t>(8 * cudamedian::PixelBytes(c.type));
  c.threshold = OneIn(50)                                ? std::numeric_limits<double>::infinity()
                : c.outlierRule == OutlierRule::Absolute ? std::ldexp(digits, static_cast<int>(Below(bits)))
                                                         : digits;
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
  const auto most = OneIn(100) ? 3000000 : OneIn(20) ? 400000 : 60000;
  const bool isPlain = c.IsPlain();
  auto       window = isPlain ? std::min<std::int64_t>(c.CountWindow(), 64 * c.CountPixels()) : c.CountWindow();
  // The reference walks the whole image instead of windows that are larger.
  if (isPlain && c.algorithm != Algorithm::Selection && c.CountWindow() < 65536)
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

/** Draws what lies around the image, which pixels count and which are replaced, as far as the window allows it: medians
 * have all of that, other ranks little. */
void
CaseSource::DrawRules(Case & c)
{
  const auto take = [&c](const auto & change) {
    auto other = c;
    change(other);
    c = IsAccepted(other) ? other : c;
  };
  if (OneIn(2))
  {
    take([this](Case & o) { DrawBorder(o); });
  }
  if (OneIn(2))
  {
    take([this](Case & o) { DrawValidity(o); });
  }
  if (OneIn(3))
  {
    take([this](Case & o) { DrawOutliers(o); });
  }
}

Case
CaseSource::Next()
{
  Case c;
  DrawSize(c);
  DrawOptions(c);
  const bool isPlain = m_Choices.isPlainOnly || OneIn(3);
  DrawWindow(c, isPlain);
  if (!isPlain)
  {
    DrawRules(c);
  }
  DrawRegion(c);
  BoundWork(c);
  return c;
}

} // namespace cudamedianfuzz
