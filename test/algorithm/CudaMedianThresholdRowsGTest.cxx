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
#include "HostThresholdPolicy.h"
#include "itkCudaMedianFootprint.h"

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

/** The pixels of a footprint in each row of a window: none of a box. */
struct Rows
{
  std::vector<std::uint8_t> first;
  std::vector<std::uint8_t> length;

  bool
  HasPixel(int column, int row) const
  {
    const auto i = static_cast<std::size_t>(row);
    return length.empty() || (column >= first[i] && column < first[i] + length[i]);
  }
};

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
  Check(const Sizes & size, const std::vector<int> & fractions, const Rows & rows = {})
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
    const auto    pixels = rows.length.empty() ? size[0] * size[1] * size[2] * size[3]
                                               : std::accumulate(rows.length.begin(), rows.length.end(), 0);
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
        windows.first = rows.length.empty() ? nullptr : rows.first.data();
        windows.length = rows.length.empty() ? nullptr : rows.length.data();
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
          ASSERT_EQ(found[i], Select(corner, size, wanted[i], rows))
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
  Select(const Sizes & corner, const Sizes & size, int wanted, const Rows & rows) const
  {
    std::vector<int> ranks;
    for (int d = 0; d < size[3]; ++d)
      for (int c = 0; c < size[2]; ++c)
        for (int b = 0; b < size[1]; ++b)
          for (int a = 0; a < size[0]; ++a)
          {
            if (!rows.HasPixel(a, b))
            {
              continue;
            }
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

/** Rows of any place and length, some without a pixel; of all pixels of the box, if so. */
Rows
DrawRows(const Sizes & size, bool isWhole, std::mt19937_64 & random)
{
  Rows       rows;
  const auto count = static_cast<std::size_t>((size[1] + 15) / 16 * 16);
  rows.first.resize(count);
  rows.length.resize(count);
  const auto draw = [&](int end) { return static_cast<int>(random() % static_cast<std::uint64_t>(end)); };
  for (std::size_t row = 0; row < static_cast<std::size_t>(size[1]); ++row)
  {
    const int first = isWhole ? 0 : draw(size[0]);
    rows.first[row] = static_cast<std::uint8_t>(first);
    rows.length[row] = static_cast<std::uint8_t>(isWhole ? size[0] : draw(size[0] - first + 1));
  }
  rows.length[0] = std::max<std::uint8_t>(rows.length[0], 1);
  return rows;
}

TEST(CudaMedianThresholdRows, Footprints)
{
  CUDAMEDIAN_TRACE_SEED();
  ForEachTarget([] {
    std::mt19937_64 random(cudamediantest::Seed());
    const auto      draw = [&](int least, int most) { return least + static_cast<int>(random() % (most - least + 1)); };
    for (int n = 0; n < 40; ++n)
    {
      const Sizes extent{ { draw(1, 90), draw(1, 100), 1, 1 } };
      const Sizes size{
        { draw(std::max(1, extent[0] - 20), extent[0]), draw(std::max(1, extent[1] - 40), extent[1]), 1, 1 }
      };
      const auto rows = DrawRows(size, n % 8 == 0, random);
      Region     region(extent, Shuffle(extent, random));
      ASSERT_NO_FATAL_FAILURE(region.Check(size, { 50 }, rows));
      ASSERT_NO_FATAL_FAILURE(region.Check(size, { draw(0, 100), draw(0, 100), draw(0, 100) }, rows));
    }
    // Far ranks, and more pixels than a signed word counts.
    const Sizes extent{ { 200, 60, 1, 1 } };
    Region      region(extent, Shuffle(extent, random));
    ASSERT_NO_FATAL_FAILURE(region.Check({ { 5, 3, 1, 1 } }, { 0, 100 }, DrawRows({ { 5, 3, 1, 1 } }, false, random)));
    const Sizes flat{ { 255, 255, 1, 1 } };
    const Sizes large{ { 253, 254, 1, 1 } };
    Region      plane(flat, Shuffle(flat, random));
    ASSERT_NO_FATAL_FAILURE(plane.Check(large, { 50, 0, 100 }, DrawRows(large, true, random)));
  });
}

// Footprints of which each row has pixels that follow each other, in blocks of one plane.
TEST(CudaMedianThresholdRows, FootprintsOfRowsHaveBlocks)
{
  using cudamedian::Extent;
  using cudamedian::Footprint;
  const auto find = [](const Footprint * footprint, int pixelBytes) {
    cudamedian::HostBlockShape shape{};
    const Extent               outputs{ { 64, 64, 30, 1 } };
    const bool isFound = FindHostThresholdShape(cudamedian::Window(footprint, -1), pixelBytes, outputs, 2, shape);
    EXPECT_TRUE(!isFound || (shape.tile[2] == 1 && shape.tile[3] == 1));
    return isFound;
  };
  const auto * disk = Footprint::MakeEllipsoid({ { 9, 9, 0, 0 } });
  for (const int pixelBytes : { 1, 2, 4, 8 })
  {
    EXPECT_TRUE(find(disk, pixelBytes));
    EXPECT_TRUE(find(Footprint::MakeEllipsoid({ { 8, 0, 12, 0 } }), pixelBytes));
    EXPECT_TRUE(find(Footprint::MakeCross({ { 9, 9, 0, 0 } }), pixelBytes));
    EXPECT_FALSE(find(Footprint::MakeEllipsoid({ { 4, 4, 4, 0 } }), pixelBytes)) << "a ball";
    EXPECT_FALSE(find(Footprint::MakeCentreWeighted({ { 9, 9, 0, 0 } }, 3), pixelBytes)) << "weights";
  }
  auto ring = disk->GetPixels();
  ring.erase(std::remove_if(
               ring.begin(), ring.end(), [](const auto & pixel) { return pixel.offset == Extent{ { 0, 0, 0, 0 } }; }),
             ring.end());
  EXPECT_FALSE(find(Footprint::Make(ring), 2)) << "a hole";
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
