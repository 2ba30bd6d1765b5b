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
#include "CudaMedianTestSeed.h"
#include "CudaMedianTestSlabs.h"
#include "DeviceProfiles.h"
#include "ExtremumHostKernels.h"
#include "ExtremumOffers.h"

/** Tiles of a few rows that find extremes in registers. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckShape;
using cudamediantest::GetReach;

/** A tile's shape for a window. */
template <typename TBits>
ExtremumShape
MakeTile(const Window & window, const Extent & extent, int rows)
{
  auto shape = MakeExtremumShape(GetReach(window, extent));
  shape.means = ExtremumMeans::Tile;
  shape.isWide = 1;
  shape.along = 1;
  shape.across = 2;
  shape.run = rows;
  EXPECT_TRUE(FitExtremumShape(shape, sizeof(TBits), GetH200Traits()));
  return shape;
}

template <typename TBits, KeyMapping VMapping>
void
CheckTiles(PixelType type)
{
  const auto most = static_cast<std::int64_t>(128 / sizeof(TBits));
  for (std::int64_t size = 1; size <= most; size = size < 40 ? size + 1 : size + 17)
  {
    for (const int rows : { 4, 8 })
    {
      Window window(Extent{ { size / 2, rows == 8 ? 4 + size % 11 : size % 6, 0, 0 } },
                    Extent{ { size % 2 == 0 ? 1 : 0, size % 5 == 3 && size % 6 > 0 ? 1 : 0, 0, 0 } },
                    0);
      if (window.CountPixels() == 1)
      {
        continue;
      }
      window.rank = size % 3 == 0 ? window.CountPixels() - 1 : 0;
      // One warp, and several side by side; rows that end within a vector, and at its end.
      for (const std::int64_t width :
           { std::int64_t{ 83 }, std::int64_t{ 96 }, static_cast<std::int64_t>(608 + size % 2) })
      {
        SCOPED_TRACE(testing::Message() << rows << " rows, window " << Join(window.GetExtent()) << ", width " << width);
        const Extent extent{ { width, 19, 1, 1 } };
        CheckShape<TBits, VMapping>(MakeTile<TBits>(window, extent, rows), extent, window, type);
      }
    }
  }
}

/** Tiles for every size of a window along axis 0, and many along the other one. */
TEST(CudaMedianExtremumTiles, EverySize)
{
  CheckTiles<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
  CheckTiles<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
  CheckTiles<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckTiles<std::uint64_t, KeyMapping::Float>(PixelType::Float64);
}

template <typename TBits, KeyMapping VMapping>
void
CheckRowsThatWait(PixelType type)
{
  constexpr int rows = 8;
  for (const std::int64_t size : { 13, 19, 25, 31 })
  {
    if (!IsStagedTile(sizeof(TBits), rows, static_cast<int>(size)))
    {
      continue;
    }
    Window window(Extent{ { size / 2, size == 25 ? 9 : 5, 0, 0 } }, Extent{ { 0, size % 3 == 1 ? 1 : 0, 0, 0 } }, 0);
    window.rank = size % 4 == 1 ? window.CountPixels() - 1 : 0;
    // Strips in the middle of the image; rows of whole vectors, and of one that is cut.
    const auto vectors = static_cast<std::int64_t>(16 / sizeof(TBits));
    for (const std::int64_t width : { 76 * vectors, 75 * vectors + 1 })
    {
      SCOPED_TRACE(testing::Message() << "window " << Join(window.GetExtent()) << ", width " << width);
      // Some tile reads no row beyond the image.
      const Extent extent{ { width, window.GetExtent()[1] + 2 * rows + 5, 1, 1 } };
      const auto   shape = MakeTile<TBits>(window, extent, rows);
      EXPECT_EQ(shape.warpBytes, rows * extremumLanes * 16);
      CheckShape<TBits, VMapping>(shape, extent, window, type);
    }
  }
}

/** Tiles whose rows wait in shared memory: at the image's borders and away from them. */
TEST(CudaMedianExtremumTiles, RowsThatWait)
{
  CheckRowsThatWait<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8);
  CheckRowsThatWait<std::uint16_t, KeyMapping::Integer>(PixelType::Int16);
  CheckRowsThatWait<std::uint32_t, KeyMapping::Integer>(PixelType::UInt32);
  CheckRowsThatWait<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
}

template <typename TBits, KeyMapping VMapping>
void
CheckMarches(PixelType type)
{
  const auto device = GetTraits(*FindDeviceProfile("h100"));
  for (const std::int64_t size : { 3, 5, 7, 9 })
  {
    for (const auto & axes : { Extent{ { 0, 1, 2, 0 } }, Extent{ { 0, 1, 3, 0 } }, Extent{ { 0, 2, 3, 0 } } })
    {
      Window window(Extent{ { size / 2, 0, 0, 0 } }, Extent{}, 0);
      window.radius[static_cast<std::size_t>(axes[1])] = size / 2;
      window.radius[static_cast<std::size_t>(axes[2])] = 1 + (size + axes[1]) % 4;
      window.shorter[static_cast<std::size_t>(axes[2])] = axes[2] == 3 && window.radius[3] > 1 ? 1 : 0;
      window.rank = size % 4 == 1 ? window.CountPixels() - 1 : 0;
      // Rows of two vectors and a part, and of a warp.
      const auto whole = static_cast<std::int64_t>(32 * 16 / sizeof(TBits));
      for (const auto width : { whole / 16 + 3, size % 4 == 3 && axes[1] == 1 ? whole : 5 })
      {
        const Extent extent{ { width, 5, 4, 7 } };
        const auto   reach = GetReach(window, Extent{ { 600, 600, 600, 600 } });
        const auto   offers = ListExtremumOffers(reach, extent, sizeof(TBits), device);
        const auto   isMarch = [](const auto & offer) {
          return offer.shape.means == ExtremumMeans::Tile && offer.shape.band > 0;
        };
        const auto march = std::find_if(offers.begin(), offers.end(), isMarch);
        ASSERT_NE(march, offers.end());
        for (const int band : { 1, 3, 16 })
        {
          SCOPED_TRACE(testing::Message() << "window " << Join(window.GetExtent()) << ", width " << width
                                          << ", planes of a march " << band);
          auto shape = march->shape;
          shape.band = band;
          CheckShape<TBits, VMapping>(shape, extent, window, type);
        }
      }
    }
  }
}

/** Tiles that march along a third axis. */
TEST(CudaMedianExtremumTiles, Marches)
{
  CheckMarches<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8);
  CheckMarches<std::uint16_t, KeyMapping::Integer>(PixelType::Int16);
  CheckMarches<std::uint32_t, KeyMapping::Integer>(PixelType::UInt32);
  CheckMarches<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
}

/** Checks the outputs of one team's shape. */
template <typename TBits, KeyMapping VMapping>
void
CheckTeam(ExtremumShape shape, int warps, const Extent & extent, const Window & window, PixelType type)
{
  shape.warps = warps;
  EXPECT_TRUE(FitExtremumShape(shape, sizeof(TBits), GetH200Traits()));
  shape.warps = warps;
  SCOPED_TRACE(testing::Message() << warps << " warps of " << shape.run << ", window " << Join(window.GetExtent())
                                  << ", image " << Join(extent));
  CheckShape<TBits, VMapping>(shape, extent, window, type);
}

template <typename TBits, KeyMapping VMapping>
void
CheckBands(PixelType type)
{
  std::int64_t number = 0;
  for (const int run : { 8, 16 })
  {
    for (const int warps : { 1, 2, 3, 5 })
    {
      // No core, a core of fewer rows than warps, and one of several rows for each.
      for (const std::int64_t core : { 0, 1, 2, 11, 40 })
      {
        ++number;
        const auto axis = static_cast<std::size_t>(1 + number % 3);
        const auto size = run * warps + core;
        Extent     radius{};
        Extent     shorter{};
        radius[axis] = size / 2;
        shorter[axis] = size % 2 == 0 ? 1 : 0;
        Window window(radius, shorter, 0);
        window.rank = number % 4 == 0 ? window.CountPixels() - 1 : 0;
        // A vector and a part of one, and more than a warp's vectors; the outputs end within a band.
        const auto vector = static_cast<std::int64_t>(16 / sizeof(TBits));
        Extent     extent{ { number % 3 == 0 ? 33 * vector + 1 : 2 * vector - 1, 2, 2, 1 } };
        extent[axis] = number % 5 == 0 ? 3 : size + run * warps + 3 + number % 7;
        auto shape = MakeExtremumShape(GetReach(window, Extent{ { 900, 900, 900, 900 } }));
        shape.means = ExtremumMeans::Bands;
        shape.isWide = 1;
        shape.along = static_cast<int>(axis);
        shape.across = axis == 1 ? 2 : 1;
        shape.run = run;
        CheckTeam<TBits, VMapping>(shape, warps, extent, window, type);
      }
    }
  }
}

/** Teams that have bands of rows. */
TEST(CudaMedianExtremumTiles, Bands)
{
  CheckBands<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
  CheckBands<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
  CheckBands<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckBands<std::uint64_t, KeyMapping::Float>(PixelType::Float64);
}

template <typename TBits, KeyMapping VMapping>
void
CheckColumns(PixelType type)
{
  constexpr std::int64_t columns = GetLaneColumns(sizeof(TBits));
  // Every number of columns of a lane, and of doublings.
  for (std::int64_t size = columns; size <= 15 * columns; size += size < 60 ? 1 : 13)
  {
    Window window(Extent{ { size / 2, 0, 0, 0 } }, Extent{ { size % 2 == 0 ? 1 : 0, 0, 0, 0 } }, 0);
    window.rank = size % 4 == 0 ? window.CountPixels() - 1 : 0;
    auto shape = MakeExtremumShape(GetReach(window, Extent{ { 5000, 1, 1, 1 } }));
    shape.means = ExtremumMeans::Columns;
    shape.isWide = 1;
    // Several rows for a team, a part of one, and rows that end within a vector and at its end.
    const Extent extents[]{ { { 3 * columns, 5, 2, 2 } },
                            { { 7 * columns + 1 + size % columns, 3, 3, 2 } },
                            { { 130 * columns - size % 3, 2, 1, 1 } } };
    for (const int warps : { 1, size % 5 == 0 ? 7 : 2 })
    {
      shape.run = warps <= 4 ? 4 : mostExtremumWarps;
      CheckTeam<TBits, VMapping>(shape, warps, extents[size % 3], window, type);
    }
  }
}

/** Teams that have rows and parts of rows. */
TEST(CudaMedianExtremumTiles, Columns)
{
  CheckColumns<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
  CheckColumns<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
  CheckColumns<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckColumns<std::uint64_t, KeyMapping::Float>(PixelType::Float64);
}

/** Kernels divide by multiplying. */
TEST(CudaMedianExtremumTiles, DivisorsDivide)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64         random(cudamediantest::Seed());
  constexpr std::uint32_t most = (std::uint32_t{ 1 } << 31) - 1;
  for (int i = 0; i < 20000; ++i)
  {
    const auto divisor = i < 300    ? static_cast<std::uint32_t>(i + 1)
                         : i == 300 ? most
                                    : 1 + static_cast<std::uint32_t>(random() % most >> random() % 31);
    const auto made = MakeExtremumDivisor(divisor);
    const auto number = static_cast<std::uint32_t>(random() % most);
    const auto multiple = number / divisor * divisor;
    for (const auto one : { number, multiple, multiple > 0 ? multiple - 1 : 0, most })
    {
      ASSERT_EQ(made.Divide(one), one / divisor) << one << " / " << divisor;
    }
  }
}

} // namespace
