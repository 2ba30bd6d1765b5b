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
#include "ThresholdRows.h"

#include "CudaMedianTestSeed.h"

#ifdef CUDAMEDIAN_TEST_HIGHWAY
#  include "hwy/targets.h"
#endif

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>
#include <vector>

namespace
{

using cudamedian::RankedPixels;
using cudamedian::ThresholdWindows;

using Sizes = std::array<int, RankedPixels::axes>;

/** A region whose pixels have ranks that a test gives them. */
class Region
{
public:
  /** \param ranks of the pixels, along axis 0 first: each from 0 on once */
  Region(const Sizes & extent, const std::vector<int> & ranks)
    : m_Extent(extent)
    , m_Ranks(ranks)
  {
    int shift = 0;
    for (const int axis : { 1, 2, 3, 0 })
    {
      const int first = shift;
      for (; 1 << (shift - first) < extent[axis]; ++shift)
      {
      }
      m_Pixels.shift[axis] = shift > first ? first : 0; // as PixelNumbers have it
    }
    m_Places.resize((std::size_t{ 1 } << shift) + RankedPixels::padding / 2);
    for (auto & positions : m_Positions)
    {
      positions.assign(ranks.size() + 2 * RankedPixels::padding, RankedPixels::outside);
    }
    for (std::size_t i = 0; i < ranks.size(); ++i)
    {
      const auto  position = Locate(i);
      std::size_t place = 0;
      for (int axis = 0; axis < RankedPixels::axes; ++axis)
      {
        place |= static_cast<std::size_t>(position[axis]) << m_Pixels.shift[axis];
        m_Positions[axis][RankedPixels::padding + ranks[i]] = static_cast<std::uint8_t>(position[axis]);
      }
      m_Places[place] = static_cast<std::int16_t>(ranks[i] - RankedPixels::offset);
    }
    m_Pixels.ranks = m_Places.data();
    m_Pixels.count = static_cast<std::uint32_t>(ranks.size());
  }

  /** Finds the wanted pixels of all windows of a size, plane by plane, and compares them with what sorting finds. */
  void
  Check(const Sizes & size, const std::vector<int> & fractions)
  {
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
    {
      const bool isNeeded = axis < 2 || size[axis] < m_Extent[axis];
      m_Pixels.positions[axis] = isNeeded ? m_Positions[axis].data() + RankedPixels::padding : nullptr;
    }
    Sizes outputs;
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
    {
      outputs[axis] = m_Extent[axis] - size[axis] + 1;
    }
    const auto    pixels = size[0] * size[1] * size[2] * size[3];
    std::uint16_t nearest = static_cast<std::uint16_t>(m_Ranks.size() / 2);
    std::size_t   number = 0;
    for (int w = 0; w < outputs[3]; ++w)
    {
      for (int z = 0; z < outputs[2]; ++z)
      {
        ThresholdWindows windows{};
        windows.corner[2] = static_cast<std::uint8_t>(z);
        windows.corner[3] = static_cast<std::uint8_t>(w);
        std::transform(size.begin(), size.end(), windows.size, [](int n) { return static_cast<std::uint8_t>(n); });
        windows.columns = static_cast<std::size_t>(outputs[0]);
        windows.rows = static_cast<std::size_t>(outputs[1]);
        std::vector<std::uint16_t> wanted(windows.columns * windows.rows);
        for (auto & entry : wanted)
        {
          entry = static_cast<std::uint16_t>((pixels - 1) * fractions[number++ % fractions.size()] / 100);
        }
        std::vector<std::uint16_t> found(wanted.size());
        cudamedian::FindByThresholds(m_Pixels, windows, wanted.data(), nearest, found.data());
        ASSERT_EQ(nearest, found[0]);
        for (std::size_t i = 0; i < found.size(); ++i)
        {
          const Sizes corner{ { static_cast<int>(i % windows.columns), static_cast<int>(i / windows.columns), z, w } };
          ASSERT_EQ(found[i], Select(corner, size, wanted[i]))
            << "window " << corner[0] << ", " << corner[1] << ", " << z << ", " << w << " of " << size[0] << "x"
            << size[1] << "x" << size[2] << "x" << size[3];
        }
      }
    }
  }

private:
  Sizes
  Locate(std::size_t number) const
  {
    Sizes position;
    auto  rest = static_cast<int>(number);
    for (int axis = 0; axis < RankedPixels::axes; ++axis)
    {
      position[axis] = rest % m_Extent[axis];
      rest /= m_Extent[axis];
    }
    return position;
  }

  int
  Select(const Sizes & corner, const Sizes & size, int wanted) const
  {
    std::vector<int> ranks;
    for (int d = 0; d < size[3]; ++d)
      for (int c = 0; c < size[2]; ++c)
        for (int b = 0; b < size[1]; ++b)
          for (int a = 0; a < size[0]; ++a)
          {
            const auto slice = (corner[3] + d) * m_Extent[2] + corner[2] + c;
            ranks.push_back(
              m_Ranks[static_cast<std::size_t>((slice * m_Extent[1] + corner[1] + b) * m_Extent[0] + corner[0] + a)]);
          }
    std::nth_element(ranks.begin(), ranks.begin() + wanted, ranks.end());
    return ranks[static_cast<std::size_t>(wanted)];
  }

  Sizes                                                     m_Extent;
  std::vector<int>                                          m_Ranks;
  RankedPixels                                              m_Pixels{};
  std::vector<std::int16_t>                                 m_Places;
  std::array<std::vector<std::uint8_t>, RankedPixels::axes> m_Positions;
};

/** Random ranks. */
std::vector<int>
Shuffle(const Sizes & extent, std::mt19937_64 & random)
{
  std::vector<int> ranks(static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3]));
  std::iota(ranks.begin(), ranks.end(), 0);
  std::shuffle(ranks.begin(), ranks.end(), random);
  return ranks;
}

/** Calls body() with each instruction set of the processor. */
template <typename TBody>
void
ForEachTarget(const TBody & body)
{
#ifdef CUDAMEDIAN_TEST_HIGHWAY
  hwy::SetSupportedTargetsForTest(0);
  const auto targets = hwy::SupportedTargets();
  for (auto rest = targets; rest != 0; rest &= rest - 1)
  {
    hwy::SetSupportedTargetsForTest(rest & -rest);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(rest & -rest));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#else
  body();
#endif
}

} // namespace

TEST(CudaMedianThresholdRows, RandomRegionsAndWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  ForEachTarget([] {
    std::mt19937_64 random(cudamediantest::Seed());
    const auto      draw = [&](int least, int most) { return least + static_cast<int>(random() % (most - least + 1)); };
    for (int n = 0; n < 60; ++n)
    {
      const int   axes = draw(2, 4);
      const Sizes extent{ { draw(1, axes == 2 ? 90 : 24),
                            draw(1, axes == 2 ? 70 : 20),
                            axes > 2 ? draw(1, 9) : 1,
                            axes > 3 ? draw(1, 4) : 1 } };
      Sizes       size;
      std::transform(extent.begin(), extent.end(), size.begin(), [&](int most) { return draw(1, most); });
      // Few windows of many pixels, or many of few.
      size[0] = std::max(size[0], extent[0] - 20);
      size[1] = std::max(size[1], extent[1] - 9);
      Region region(extent, Shuffle(extent, random));
      ASSERT_NO_FATAL_FAILURE(region.Check(size, { 50 }));
      ASSERT_NO_FATAL_FAILURE(region.Check(size, { draw(0, 100), draw(0, 100), draw(0, 100) }));
    }
  });
}

// Of one slice, which has no bits, in several volumes.
TEST(CudaMedianThresholdRows, OneSliceOfVolumes)
{
  CUDAMEDIAN_TRACE_SEED();
  ForEachTarget([] {
    std::mt19937_64 random(cudamediantest::Seed());
    const Sizes     extent{ { 30, 20, 1, 3 } };
    Region          region(extent, Shuffle(extent, random));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 5, 7, 1, 1 } }, { 50 }));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 5, 7, 1, 2 } }, { 50 }));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 5, 1, 1, 3 } }, { 50, 20 }));
  });
}

// The wanted rank goes from one end to the other, so that thousands of ranks lie between one window's pixel and the
// next's: they are found by halves.
TEST(CudaMedianThresholdRows, FarRanks)
{
  CUDAMEDIAN_TRACE_SEED();
  ForEachTarget([] {
    std::mt19937_64 random(cudamediantest::Seed());
    const Sizes     extent{ { 200, 120, 1, 1 } };
    Region          region(extent, Shuffle(extent, random));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 3, 3, 1, 1 } }, { 0, 100 }));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 5, 1, 1, 1 } }, { 0, 100, 50 }));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 1, 7, 1, 1 } }, { 100, 0 }));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 1, 1, 1, 1 } }, { 50 }));

    const Sizes cube{ { 40, 14, 12, 1 } };
    Region      deep(cube, Shuffle(cube, random));
    ASSERT_NO_FATAL_FAILURE(deep.Check({ { 3, 3, 3, 1 } }, { 0, 100 }));
    ASSERT_NO_FATAL_FAILURE(deep.Check({ { 5, 3, 7, 1 } }, { 0, 50, 100, 40 }));
    ASSERT_NO_FATAL_FAILURE(deep.Check({ { 2, 1, 1, 1 } }, { 100, 0, 0 }));
  });
}

// The largest region: positions up to 254, and all 65,536 places that 16 bits tell.
TEST(CudaMedianThresholdRows, LargestRegions)
{
  CUDAMEDIAN_TRACE_SEED();
  ForEachTarget([] {
    std::mt19937_64 random(cudamediantest::Seed());
    const Sizes     flat{ { 255, 255, 1, 1 } };
    Region          plane(flat, Shuffle(flat, random));
    ASSERT_NO_FATAL_FAILURE(plane.Check({ { 251, 253, 1, 1 } }, { 50, 0, 100 }));
    const Sizes cube{ { 64, 32, 32, 1 } };
    Region      volume(cube, Shuffle(cube, random));
    ASSERT_NO_FATAL_FAILURE(volume.Check({ { 61, 31, 30, 1 } }, { 50, 0, 100 }));
  });
}

// Ranks in the order of rows and of columns, up and down, as ramps have them.
TEST(CudaMedianThresholdRows, Ramps)
{
  const Sizes extent{ { 60, 50, 1, 1 } };
  ForEachTarget([&] {
    for (const bool isAlongRows : { false, true })
    {
      for (const bool isDown : { false, true })
      {
        std::vector<int> ranks(3000);
        for (int i = 0; i < 3000; ++i)
        {
          const int up = isAlongRows ? i : i % 60 * 50 + i / 60;
          ranks[static_cast<std::size_t>(i)] = isDown ? 2999 - up : up;
        }
        Region region(extent, ranks);
        ASSERT_NO_FATAL_FAILURE(region.Check({ { 9, 9, 1, 1 } }, { 50 }));
        ASSERT_NO_FATAL_FAILURE(region.Check({ { 7, 40, 1, 1 } }, { 50 }));
      }
    }
  });
}
