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
#include "FuzzSimpler.h"

#include "FuzzWindow.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cudamedianfuzz
{
namespace
{

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

/** Changes the radius along an axis, with what depends on it. */
void
SetRadius(Case & c, int axis, std::int64_t radius)
{
  auto smaller = c;
  smaller.radius[axis] = radius;
  if (c.shape == Shape::List)
  {
    // What the smaller box has of the weights.
    smaller.weights.assign(static_cast<std::size_t>(smaller.CountWindow()), 0);
    for (const auto & pixel : ListWindow(c))
    {
      std::int64_t place = 0;
      bool         isInside = true;
      for (int i = cudamedian::Dimension - 1; i >= 0; --i)
      {
        isInside = isInside && std::abs(pixel.offset[i]) <= smaller.radius[i];
        place = place * (2 * smaller.radius[i] + 1) + pixel.offset[i] + smaller.radius[i];
      }
      if (isInside)
      {
        smaller.weights[static_cast<std::size_t>(place)] = pixel.weight;
      }
    }
  }
  smaller.shorter[axis] = std::min(smaller.shorter[axis], radius);
  smaller.shift[axis] = std::clamp(smaller.shift[axis], smaller.shorter[axis] - radius, radius);
  c = smaller;
}

/** Gathers changes of a case that do change it. */
class SimplerCases
{
public:
  explicit SimplerCases(const Case & c)
    : m_Case(c)
  {}

  template <typename TChange>
  void
  Add(const TChange & change)
  {
    auto other = m_Case;
    change(other);
    if (other.ToText() != m_Case.ToText() && IsAccepted(other))
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
      o.reach[o.dimension - 1] = 0;
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

  /** A box and its median, as plain as they come. */
  void
  AddPlainerWindows()
  {
    const Case plain;
    Add([&plain](Case & o) {
      const auto radius = o.GetEffectiveRadius();
      o.SetWindow(plain);
      o.radius = radius;
    });
    Add([](Case & o) {
      o.radius = o.GetEffectiveRadius();
      o.shape = Shape::Box;
    });
    // Never back to what another change made of it.
    Add([](Case & o) { o.shape = o.shape > Shape::Cross ? Shape::Cross : o.shape; });
    Add([](Case & o) { o.shift = {}; });
    Add([](Case & o) { o.shorter = {}; });
    Add([](Case & o) { o.rank = -1; });
    Add([](Case & o) { o.rank = std::min<std::int64_t>(o.rank, 0); });
    Add([](Case & o) { o.evenMedian = EvenMedian::Upper; });
    for (int axis = 0; axis < m_Case.dimension; ++axis)
    {
      Add([axis](Case & o) { o.shift[axis] -= o.shift[axis] > 0 ? 1 : o.shift[axis] < 0 ? -1 : 0; });
      Add([axis](Case & o) { o.shorter[axis] = 0; });
    }
    for (std::size_t i = 0; i < m_Case.weights.size(); ++i)
    {
      Add([i](Case & o) { o.weights[i] = 0; });
      Add([i](Case & o) { o.weights[i] = std::min<std::int64_t>(o.weights[i], 1); });
    }
  }

  /** Fewer rules, and simpler ones. */
  void
  AddPlainerRules()
  {
    const Case plain;
    Add([&plain](Case & o) { o.SetRules(plain); });
    Add([&plain](Case & o) { o.border = plain.border; });
    Add([](Case & o) { o.mask = Mask::None; });
    Add([](Case & o) { o.hasIgnored = false; });
    Add([](Case & o) { o.omitsNaN = false; });
    Add([](Case & o) { o.hasEmptyValue = false; });
    Add([](Case & o) { o.invalidOutput = InvalidOutput::Computed; });
    Add([](Case & o) { o.outlierRule = OutlierRule::None; });
    Add([](Case & o) { o.outlierRule = std::min(o.outlierRule, OutlierRule::Absolute); });
    Add([](Case & o) { o.threshold = 0; });
    Add([](Case & o) { o.maskBytes = 1; });
    Add([](Case & o) { o.maskBlock = 1; });
    for (int axis = 0; axis < m_Case.dimension; ++axis)
    {
      Add([axis](Case & o) { o.border[axis] = Border::ZeroFluxNeumann; });
    }
    for (std::size_t i = 0; i < m_Case.valid.size(); ++i)
    {
      Add([i](Case & o) { o.valid[i] = '1'; });
    }
  }

  /** Fewer axes, smaller extents. */
  void
  AddSmallerExtents()
  {
    Add([](Case & o) { o.region = { { 1, 1, 1, 1 } }; });
    const int last = m_Case.dimension - 1;
    if (last > 0 && m_Case.size[last] == 1 && m_Case.radius[last] == 0 && m_Case.reach[last] == 0 && !m_Case.sliceWise)
    {
      Add([last](Case & o) {
        o.dimension = last;
        o.index[last] = 0;
        o.border[last] = Border::ZeroFluxNeumann;
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
        Add([&](Case & o) { SetRadius(o, axis, less(o.radius[axis])); });
        Add([&](Case & o) { o.reach[axis] = less(o.reach[axis]); });
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
  simpler.AddPlainerRules();
  simpler.AddPlainerWindows();
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

Case
ListShape(const Case & c)
{
  auto listed = c;
  if (c.shape != Shape::Box && c.shape != Shape::List)
  {
    listed.weights = ListWeights(c);
    listed.radius = c.GetEffectiveRadius();
    listed.sliceWise = false;
    listed.reach = {};
    listed.shape = Shape::List;
  }
  return listed;
}

} // namespace cudamedianfuzz
