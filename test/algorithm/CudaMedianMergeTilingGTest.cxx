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
#include "CudaMedianTestSlabs.h"
#include "MergeKernels.h"

#include <numeric>

/** Merge tiling, its kernels' own code run by the host: blocks, rounds and threads are loops. */
namespace
{

using namespace cudamedian;
using cudamediantest::CheckImage;
using cudamediantest::CheckSlabs;
using cudamediantest::ForEachOtherWindow;
using cudamediantest::MakeHardImages;

/** Runs a pass; what tasks keep between their rounds lies between guards.
 *
 * \param spread some tasks at a time go from round to round together, as where shared memory is too small. */
template <typename TKey, MergePassKind VKind>
void
RunPass(MergeArguments<TKey> arguments, bool spread)
{
  using Task = MergeTask<TKey, VKind>;
  constexpr std::size_t guard = 8;
  const int             together = spread ? 3 : 1;
  arguments.pass.threads *= spread ? 2 : 1;
  const MergePass & pass = arguments.pass;
  const auto        keys = static_cast<std::size_t>(pass.workKeys) + guard;
  const auto        unwritten = static_cast<TKey>(0x5A5A5A5A5A5A5A5AULL);
  std::vector<TKey> work(guard + static_cast<std::size_t>(together) * keys, unwritten);
  for (int first = 0; first < pass.tasks; first += together)
  {
    for (int round = 0; round < Task(arguments, first, nullptr).GetRounds(); ++round)
    {
      for (int number = 0; number < together && first + number < pass.tasks; ++number)
      {
        const Task task(arguments, first + number, work.data() + guard + static_cast<std::size_t>(number) * keys);
        for (int i = 0; i < pass.threads; ++i)
        {
          task.Run(round, spread ? pass.threads - 1 - i : i); // no thread depends on another's turn
        }
      }
    }
  }
  for (int number = 0; number <= together; ++number)
  {
    for (std::size_t i = 0; i < guard; ++i)
    {
      ASSERT_EQ(work[static_cast<std::size_t>(number) * keys + i], unwritten);
    }
  }
}

template <typename TKey>
void
RunMergeTiling(const KernelArguments & slab, const MergeShape & givenShape, KeyFormat keyFormat, bool spread)
{
  const Extent outputExtent{
    { slab.outputExtent[0], slab.outputExtent[1], slab.outputExtent[2], slab.outputExtent[3] }
  };
  const auto        shape = FitMergeRegion(givenShape, outputExtent, sizeof(TKey));
  const auto        passes = ListMergePasses(shape);
  const auto        memory = GetMergeMemory(passes, sizeof(TKey));
  std::vector<TKey> scratch(static_cast<std::size_t>(memory.end), static_cast<TKey>(0x5A5A5A5A5A5A5A5AULL));
  ASSERT_LE(shape.scratchBytes, givenShape.scratchBytes);
  ASSERT_EQ(scratch.size() * sizeof(TKey), static_cast<std::size_t>(shape.scratchBytes));
  auto arguments = MakeMergeArguments<TKey>(slab, shape, keyFormat, memory, scratch.data());
  for (std::int64_t region = 0; region < CountMergeRegions(shape, outputExtent); ++region)
  {
    const auto origin = GetMergeRegionOrigin(shape, outputExtent, region);
    std::copy(origin.begin(), origin.end(), arguments.origin);
    for (const auto & pass : passes)
    {
      arguments.pass = pass;
      switch (pass.kind)
      {
        case MergePassKind::CopyKeys:
          RunPass<TKey, MergePassKind::CopyKeys>(arguments, spread && pass.workKeys > 0);
          break;
        case MergePassKind::SortLines:
          RunPass<TKey, MergePassKind::SortLines>(arguments, spread && pass.workKeys > 0);
          break;
        case MergePassKind::SortCores:
          RunPass<TKey, MergePassKind::SortCores>(arguments, spread && pass.workKeys > 0);
          break;
        case MergePassKind::ExtendLines:
          RunPass<TKey, MergePassKind::ExtendLines>(arguments, spread && pass.workKeys > 0);
          break;
        case MergePassKind::SplitCores:
          RunPass<TKey, MergePassKind::SplitCores>(arguments, spread && pass.workKeys > 0);
          break;
        case MergePassKind::SelectKeys:
          RunPass<TKey, MergePassKind::SelectKeys>(arguments, spread && pass.workKeys > 0);
          break;
      }
    }
  }
}

/** The shape that is chosen for an image, or one of a given root tile and number of them, where the window allows. */
template <typename TKey>
MergeShape
FindShape(const Window & window, const Extent & size, int side, int tiles)
{
  MergeShape shape{};
  EXPECT_TRUE(FindMergeShape(window, sizeof(TKey), size, std::size_t{ 1 } << 28, shape));
  EXPECT_LE(shape.scratchBytes, std::int64_t{ 1 } << 28);
  if (side > 0)
  {
    int tile[2] = { side, side };
    for (int axis = 0; axis < 2; ++axis)
    {
      while (tile[axis] > shape.window[axis])
      {
        tile[axis] /= 2;
      }
    }
    SetMergeRegion(tile, { tiles, tiles + 1 }, sizeof(TKey), shape);
  }
  return shape;
}

template <typename TKey, KeyMapping VMapping>
void
CheckMergeTiling(PixelType type)
{
  const std::vector<std::pair<Extent, Extent>> cases{
    { { { 1, 1, 1, 1 } }, { { 9, 9, 0, 0 } } },    { { { 3, 2, 1, 1 } }, { { 0, 0, 0, 0 } } },
    { { { 41, 37, 1, 1 } }, { { 1, 1, 0, 0 } } },  { { { 67, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },
    { { { 41, 37, 1, 1 } }, { { 0, 6, 0, 0 } } },  { { { 41, 37, 1, 1 } }, { { 7, 0, 0, 0 } } },
    { { { 13, 19, 1, 1 } }, { { 1, 20, 0, 0 } } }, { { { 3, 4, 1, 1 } }, { { 15, 12, 0, 0 } } },
    { { { 45, 39, 1, 1 } }, { { 8, 3, 0, 0 } } },  { { { 7, 9, 11, 2 } }, { { 0, 2, 3, 0 } } },
    { { { 5, 9, 4, 8 } }, { { 2, 0, 0, 3 } } },    { { { 1, 5, 33, 2 } }, { { 0, 0, 5, 0 } } }
  };
  for (const auto & [size, radius] : cases)
  {
    for (const int side : { 0, 2, 8, 32 })
    {
      const auto shape = FindShape<TKey>(radius, size, side, 2);
      for (const std::size_t budget : { std::size_t{ 1 } << 30, std::size_t{ 20000 } })
      {
        CheckSlabs<TKey, VMapping>(size, radius, type, budget, [&](const KernelArguments & arguments) {
          RunMergeTiling<TKey>(arguments, shape, GetKeyFormat(type), side == 8);
        });
      }
    }
  }
}

/** Windows' smallest and largest pixels and those of the first quarter, whose cores are cut at one end more than at the
 * other. */
template <typename TKey, KeyMapping VMapping>
void
CheckRanksOfMergeTiling(PixelType type)
{
  const std::vector<std::pair<Extent, Extent>> cases{ { { { 67, 41, 1, 1 } }, { { 9, 9, 0, 0 } } },
                                                      { { { 41, 37, 1, 1 } }, { { 0, 6, 0, 0 } } },
                                                      { { { 3, 4, 1, 1 } }, { { 15, 12, 0, 0 } } },
                                                      { { { 5, 9, 4, 8 } }, { { 2, 0, 0, 3 } } } };
  for (const auto & [size, radius] : cases)
  {
    ForEachOtherWindow(radius, [&, &size = size](const Window & window) {
      for (const int side : { 0, 2, 8, 32 })
      {
        const auto shape = FindShape<TKey>(window, size, side, 2);
        CheckSlabs<TKey, VMapping>(size, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
          RunMergeTiling<TKey>(arguments, shape, GetKeyFormat(type), side == 8);
        });
      }
    });
  }
}

template <typename TKey, KeyMapping VMapping>
void
CheckHardMergeTiling(PixelType type)
{
  const Extent radius{ { 7, 6, 0, 0 } };
  for (auto & image : MakeHardImages<TKey>())
  {
    for (const int side : { 0, 8 })
    {
      const auto shape = FindShape<TKey>(radius, image.extent, side, 3);
      CheckImage<TKey, VMapping>(image, radius, type, std::size_t{ 1 } << 30, [&](const KernelArguments & arguments) {
        RunMergeTiling<TKey>(arguments, shape, GetKeyFormat(type), side == 8);
      });
    }
  }
}

} // namespace

TEST(CudaMedianMergeTiling, Keys8)
{
  CheckMergeTiling<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
  CheckHardMergeTiling<std::uint8_t, KeyMapping::Integer>(PixelType::UInt8);
}
TEST(CudaMedianMergeTiling, Keys16)
{
  CheckMergeTiling<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
  CheckHardMergeTiling<std::uint16_t, KeyMapping::Integer>(PixelType::Int16);
}
TEST(CudaMedianMergeTiling, Keys32)
{
  CheckMergeTiling<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckHardMergeTiling<std::uint32_t, KeyMapping::Integer>(PixelType::Int32);
}
TEST(CudaMedianMergeTiling, Keys64)
{
  CheckMergeTiling<std::uint64_t, KeyMapping::Integer>(PixelType::UInt64);
  CheckHardMergeTiling<std::uint64_t, KeyMapping::Float>(PixelType::Float64);
}

TEST(CudaMedianMergeTiling, OtherRanks)
{
  CheckRanksOfMergeTiling<std::uint8_t, KeyMapping::Integer>(PixelType::Int8);
  CheckRanksOfMergeTiling<std::uint16_t, KeyMapping::Integer>(PixelType::UInt16);
  CheckRanksOfMergeTiling<std::uint32_t, KeyMapping::Float>(PixelType::Float32);
  CheckRanksOfMergeTiling<std::uint64_t, KeyMapping::Integer>(PixelType::Int64);
}

TEST(CudaMedianMergeTiling, PartsOfMergersAreThoseOfTheWhole)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(cudamediantest::Seed());
  for (int repeat = 0; repeat < 200; ++repeat)
  {
    // Few values and one list empty or all below the other, among others.
    const std::uint64_t        values = std::uint64_t{ 1 } << generator() % 12;
    std::vector<std::uint16_t> a(generator() % 40);
    std::vector<std::uint16_t> b(generator() % 40);
    const auto                 shift = repeat % 3 == 0 ? values : 0;
    for (auto & key : a)
    {
      key = static_cast<std::uint16_t>(generator() % values);
    }
    for (auto & key : b)
    {
      key = static_cast<std::uint16_t>(generator() % values + shift);
    }
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    std::vector<std::uint16_t> expected(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), expected.begin());
    const SortedList<std::uint16_t> lists[2] = { { a.data(), static_cast<int>(a.size()) },
                                                 { b.data(), static_cast<int>(b.size()) } };
    const auto                      all = static_cast<int>(expected.size());
    for (int first = 0; first <= all; ++first)
    {
      const auto                 count = all - first < mergePart ? all - first : mergePart;
      std::vector<std::uint16_t> part(static_cast<std::size_t>(count));
      MergePart(lists[0], lists[1], first, count, part.data());
      ASSERT_EQ(part, std::vector<std::uint16_t>(expected.begin() + first, expected.begin() + first + count));
      SortedList<std::uint16_t> left[4] = { lists[0], lists[1], { nullptr, 0 }, { nullptr, 0 } };
      if (first < all)
      {
        ASSERT_EQ(SelectKey(left, first), expected[static_cast<std::size_t>(first)]);
      }
    }
  }
}
