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
#include "CudaMedianLoopedThreads.h"
#include "CudaMedianTestSeed.h"
#include "DivideUp.h"
#include "RankBucketSort.h"
#include "RankDigitSort.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

/** The sorts of the local ranks, their kernels' own code run by the host: a block's threads are a loop, in any order.
 */
namespace
{

using namespace cudamedian;
using cudamediantest::LoopedThreads;

/** What the keys of a region are like. */
enum class Content
{
  FullRange,
  Even,
  Narrow,
  Equal,
  Few,
  Sorted,
  Reversed,
  OneBucket,
  Extremes,
  Repeated,
  Concentrated
};
constexpr Content contents[] = { Content::FullRange, Content::Even,     Content::Narrow,      Content::Equal,
                                 Content::Few,       Content::Sorted,   Content::Reversed,    Content::OneBucket,
                                 Content::Extremes,  Content::Repeated, Content::Concentrated };

template <typename TBits>
std::vector<TBits>
MakePixels(Content content, std::size_t count, std::mt19937_64 & generator)
{
  std::vector<TBits> pixels(count);
  constexpr int      width = 8 * sizeof(TBits);
  const auto         step = static_cast<TBits>(static_cast<TBits>(~TBits{ 0 }) / count);
  const auto         base = static_cast<TBits>(generator());
  std::vector<TBits> some(count / 20 + 1);
  std::generate(some.begin(), some.end(), [&]() { return static_cast<TBits>(generator()); });
  for (std::size_t i = 0; i < count; ++i)
  {
    const auto any = generator();
    switch (content)
    {
      case Content::Even:
        pixels[i] = static_cast<TBits>(i * step);
        break;
      case Content::Narrow:
        pixels[i] = static_cast<TBits>(base + any % 1000);
        break;
      case Content::Equal:
        pixels[i] = base;
        break;
      case Content::Few:
        pixels[i] = static_cast<TBits>(base * (any % 5));
        break;
      case Content::OneBucket:
        // One key far away makes the buckets so wide that all others are in the same.
        pixels[i] = static_cast<TBits>(i == count / 2 ? TBits{ 1 } << (width - 2) : any % (TBits{ 1 } << (width / 4)));
        break;
      case Content::Extremes:
        pixels[i] = static_cast<TBits>(any % 3 == 0 ? 0 : any % 3 == 1 ? ~std::uint64_t{ 0 } : any >> 8);
        break;
      case Content::Repeated:
        // As where a border repeats pixels. Some other keys are between.
        pixels[i] = any % 8 == 0 ? static_cast<TBits>(generator()) : some[any / 8 % some.size()];
        break;
      case Content::Concentrated:
        pixels[i] = static_cast<TBits>(any);
        pixels[i] >>= generator() % 4 == 0 ? 0 : 12;
        break;
      default:
        pixels[i] = static_cast<TBits>(any);
    }
  }
  if (content == Content::Even)
  {
    std::shuffle(pixels.begin(), pixels.end(), generator);
  }
  if (content == Content::Sorted || content == Content::Reversed)
  {
    std::sort(pixels.begin(), pixels.end());
  }
  if (content == Content::Reversed)
  {
    std::reverse(pixels.begin(), pixels.end());
  }
  return pixels;
}

/** A launch of some regions that lie side by side; the last one reaches beyond the image. */
template <typename TBits>
class SortCase
{
public:
  static constexpr int Regions = 3;

  SortCase(PixelType type, int width, int height, const std::vector<TBits> & pixels)
    : m_Width(width)
    , m_Columns(Regions * width - width / 2)
    , m_Image(pixels)
  {
    const int       rows = height;
    KernelArguments slab{};
    slab.input = m_Image.data();
    slab.signMask = GetSignMask(type);
    const std::int32_t extent[] = { m_Columns, rows, 1, 1 };
    const std::int64_t pitch[] = { 1, m_Columns, std::int64_t{ m_Columns } * rows, std::int64_t{ m_Columns } * rows };
    RankShape          shape{};
    for (int axis = 0; axis < Dimension; ++axis)
    {
      slab.inputExtent[axis] = slab.outputExtent[axis] = extent[axis];
      slab.inputPitch[axis] = slab.outputPitch[axis] = pitch[axis];
      shape.axes[axis] = axis;
    }
    const int region[] = { width, height, 1 };
    for (int axis = 0; axis < 3; ++axis)
    {
      shape.tile[axis] = shape.region[axis] = region[axis];
    }
    shape.pixels = width * height;
    // Packed ranks are 32 more than the ranks.
    shape.rankShift = 5;
    shape.firstRank = -32;
    shape.words = shape.pixels / 32 + 3;
    m_Arguments = MakeRankArguments(slab, shape, GetKeyFormat(type));
    m_Arguments.ranks = Align(m_Ranks, 2 * Guard);
    m_Arguments.sorted = m_Sorted.data() + Guard;
    m_Arguments.left = m_Left;
    DispatchKeys(m_Arguments.keyFormat, [&](auto key) {
      if constexpr (sizeof(typename decltype(key)::Bits) == sizeof(TBits))
      {
        for (int i = 0; i < Regions * shape.pixels; ++i)
        {
          const int  number = i % shape.pixels;
          const int  column = std::min(i / shape.pixels * width + number % width, m_Columns - 1);
          const auto bits = m_Image[static_cast<std::size_t>(number / width * m_Columns + column)];
          m_Bits.push_back(bits);
          m_Keys.push_back(key.FromBits(bits, static_cast<TBits>(slab.signMask)));
        }
      }
    });
  }

  /** Pixels of an image that has the regions. */
  static std::size_t
  CountPixels(int width, int height)
  {
    return static_cast<std::size_t>(Regions * width - width / 2) * static_cast<std::size_t>(height);
  }

  /** Sorts each region by buckets and those that are left by digits, as the kernels do. \returns how many were left. */
  template <typename TBuckets, typename TDigits, typename TBucketThreads, typename TDigitThreads>
  std::uint32_t
  Run(const TBucketThreads & bucketThreads, const TDigitThreads & digitThreads)
  {
    Clear();
    for (std::uint32_t region = 0; region < Regions; ++region)
    {
      const auto shared = MakeShared(sizeof(typename TBuckets::Storage));
      TBuckets(bucketThreads, m_Arguments, region, shared).Run();
      CheckShared();
    }
    const auto left = m_Left[0];
    EXPECT_LE(left, static_cast<std::uint32_t>(Regions));
    for (std::uint32_t region = 0; region < Regions; ++region)
    {
      auto * const end = m_Left + 1 + left;
      if (std::find(m_Left + 1, end, region) == end)
      {
        CheckRegion(region, false);
      }
      else
      {
        CheckUntouched(region);
      }
    }
    RunDigits<TDigits>(digitThreads, left);
    CheckGuards();
    // All regions by digits, whatever the buckets did.
    Clear();
    m_Left[0] = Regions;
    std::iota(m_Left + 1, m_Left + 1 + Regions, 0U);
    RunDigits<TDigits>(digitThreads, Regions);
    CheckGuards();
    return left;
  }

private:
  static constexpr std::size_t Guard = 16;

  static std::uint16_t *
  Align(std::vector<std::uint16_t> & ranks, std::size_t guard)
  {
    const auto place = reinterpret_cast<std::uintptr_t>(ranks.data()) % 16 / 2;
    return ranks.data() + guard - place;
  }
  template <typename T>
  static T
  Unwritten()
  {
    return static_cast<T>(0x5A5A5A5A5A5A5A5AULL);
  }

  void
  Clear()
  {
    std::fill(m_Ranks.begin(), m_Ranks.end(), Unwritten<std::uint16_t>());
    std::fill(m_Sorted.begin(), m_Sorted.end(), Unwritten<TBits>());
    std::fill(std::begin(m_Left), std::end(m_Left), 0U);
  }

  unsigned char *
  MakeShared(std::size_t storageBytes)
  {
    const auto offsets = static_cast<std::size_t>(m_Width + m_Arguments.GetRows()) * sizeof(std::int64_t);
    m_SharedBytes = RoundUp(std::max(storageBytes, offsets), 16);
    m_Shared.assign(m_SharedBytes / sizeof(WordVector) + 1, WordVector{ ~0U, 0x5A5A5A5AU, 0x80808080U, 0x12345678U });
    return reinterpret_cast<unsigned char *>(m_Shared.data());
  }
  void
  CheckShared() const
  {
    const WordVector & end = m_Shared.back();
    EXPECT_TRUE(end.x == ~0U && end.y == 0x5A5A5A5AU && end.z == 0x80808080U && end.w == 0x12345678U);
  }

  template <typename TDigits, typename TDigitThreads>
  void
  RunDigits(const TDigitThreads & threads, std::uint32_t left)
  {
    for (std::uint32_t i = 0; i < left; ++i)
    {
      const auto shared = MakeShared(sizeof(typename TDigits::Storage));
      TDigits(threads, m_Arguments, m_Left[1 + i], shared).Run();
      CheckShared();
      CheckRegion(m_Left[1 + i], true);
    }
  }

  std::size_t
  GetPlace(std::uint32_t region) const
  {
    return region * static_cast<std::size_t>(m_Arguments.GetPaddedPixels());
  }

  /** \param stable equal keys have ranks in the order of their pixels; else in any order. */
  void
  CheckRegion(std::uint32_t region, bool stable) const
  {
    const auto               count = static_cast<std::size_t>(m_Arguments.shape.pixels);
    const auto *             keys = m_Keys.data() + region * count;
    const auto *             bits = m_Bits.data() + region * count;
    const auto *             sorted = static_cast<const TBits *>(m_Arguments.sorted) + GetPlace(region);
    const auto *             ranks = m_Arguments.ranks + GetPlace(region);
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{ 0 });
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    std::vector<bool> taken(count);
    for (std::size_t rank = 0; rank < count; ++rank)
    {
      const auto number = order[rank];
      ASSERT_EQ(sorted[rank], bits[number]) << "region " << region << " of " << count << " pixels, rank " << rank;
      const auto found = static_cast<std::size_t>(ranks[number]) - 32;
      ASSERT_LT(found, count) << "region " << region << " of " << count << " pixels, pixel " << number;
      ASSERT_FALSE(taken[found]) << "region " << region << " of " << count << " pixels, pixel " << number;
      ASSERT_EQ(keys[order[found]], keys[number]) << "region " << region << ", pixel " << number;
      ASSERT_TRUE(!stable || found == rank) << "region " << region << ", pixel " << number;
      taken[found] = true;
    }
  }

  void
  CheckUntouched(std::uint32_t region) const
  {
    const auto * sorted = static_cast<const TBits *>(m_Arguments.sorted) + GetPlace(region);
    const auto * ranks = m_Arguments.ranks + GetPlace(region);
    for (int i = 0; i < m_Arguments.GetPaddedPixels(); ++i)
    {
      ASSERT_EQ(sorted[i], Unwritten<TBits>());
      ASSERT_EQ(ranks[i], Unwritten<std::uint16_t>());
    }
  }

  void
  CheckGuards() const
  {
    const auto end = GetPlace(Regions);
    for (std::size_t i = 0; i < Guard / 2; ++i)
    {
      ASSERT_EQ(*(m_Arguments.ranks - 1 - i), Unwritten<std::uint16_t>());
      ASSERT_EQ(m_Arguments.ranks[end + i], Unwritten<std::uint16_t>());
      ASSERT_EQ(m_Sorted[i], Unwritten<TBits>());
      ASSERT_EQ(m_Sorted[Guard + end + i], Unwritten<TBits>());
    }
  }

  int                        m_Width;
  int                        m_Columns;
  std::vector<TBits>         m_Image;
  std::vector<TBits>         m_Bits; ///< of the regions' pixels
  std::vector<TBits>         m_Keys;
  std::vector<std::uint16_t> m_Ranks = std::vector<std::uint16_t>(Regions * 16384 + 4 * Guard);
  std::vector<TBits>         m_Sorted = std::vector<TBits>(Regions * 16384 + 2 * Guard);
  std::uint32_t              m_Left[1 + Regions]{};
  std::vector<WordVector>    m_Shared;
  std::size_t                m_SharedBytes{ 0 };
  RankArguments              m_Arguments{};
};

/** A width of regions that have a number of pixels: some divisor. */
int
ChooseWidth(int pixels, std::mt19937_64 & generator)
{
  const auto most = static_cast<int>(generator() % static_cast<std::uint64_t>(pixels)) + 1;
  int        width = most;
  while (pixels % width != 0)
  {
    --width;
  }
  return width;
}

/** Sorts regions of all kinds by a pair of kernels of RankKernels.cu. */
template <int VBucketThreads, int VBucketItems, int VDigitThreads, int VDigitItems, typename TBits>
void
CheckSort(PixelType type)
{
  static_assert(VBucketThreads * VBucketItems == VDigitThreads * VDigitItems, "kernels of the same size");
  constexpr int bits = 8 * sizeof(TBits);
  using Buckets = BucketSort<bits, VBucketItems, LoopedThreads<VBucketThreads>>;
  using Digits = DigitSort<bits, VDigitItems, LoopedThreads<VDigitThreads>>;
  constexpr int size = VBucketThreads * VBucketItems;
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64                     generator(cudamediantest::Seed());
  const LoopedThreads<VBucketThreads> bucketThreads(generator);
  const LoopedThreads<VDigitThreads>  digitThreads(generator);
  const auto                          any = static_cast<int>(generator() % static_cast<std::uint64_t>(size)) + 1;
  for (const auto content : contents)
  {
    for (const int pixels : { size, size - 1, size / 2 + 1, any, 33, 1 })
    {
      if (pixels != size && pixels != any && content != Content::FullRange && content != Content::OneBucket)
      {
        continue;
      }
      SCOPED_TRACE("size " + std::to_string(size) + ", " + std::to_string(pixels) + " pixels of " +
                   std::to_string(bits) + " bits, content " + std::to_string(static_cast<int>(content)));
      const int       width = ChooseWidth(pixels, generator);
      const auto      count = SortCase<TBits>::CountPixels(width, pixels / width);
      SortCase<TBits> sortCase(type, width, pixels / width, MakePixels<TBits>(content, count, generator));
      const auto      left = sortCase.template Run<Buckets, Digits>(bucketThreads, digitThreads);
      if (testing::Test::HasFailure())
      {
        return;
      }
      if (content == Content::Equal)
      {
        EXPECT_EQ(left, 0U) << "where a bucket is one value nothing is compared";
      }
      if (content == Content::Repeated || content == Content::Concentrated)
      {
        // The region that reaches beyond the image may have more equal keys, and another between them.
        EXPECT_LE(left, 1U) << "where buckets have many keys they are divided";
      }
      if (content == Content::OneBucket && pixels == size && bits > 16)
      {
        EXPECT_GT(left, 0U) << "one bucket has nearly all keys";
      }
    }
  }
}

template <typename TBits>
void
CheckSmallerSorts(PixelType type)
{
  CheckSort<256, 8, 128, 16, TBits>(type);
  CheckSort<256, 12, 128, 24, TBits>(type);
  CheckSort<256, 16, 128, 32, TBits>(type);
  CheckSort<512, 12, 256, 24, TBits>(type);
  CheckSort<512, 16, 256, 32, TBits>(type);
  CheckSort<1024, 12, 512, 24, TBits>(type);
  CheckSort<1024, 16, 512, 32, TBits>(type);
}

} // namespace

TEST(CudaMedianRankSort, Keys16)
{
  CheckSmallerSorts<std::uint16_t>(PixelType::Int16);
  CheckSort<256, 8, 128, 16, std::uint16_t>(PixelType::UInt16);
}
TEST(CudaMedianRankSort, Keys32)
{
  CheckSmallerSorts<std::uint32_t>(PixelType::Float32);
  CheckSort<256, 8, 128, 16, std::uint32_t>(PixelType::Int32);
  CheckSort<256, 8, 128, 16, std::uint32_t>(PixelType::UInt32);
}
TEST(CudaMedianRankSort, Keys64)
{
  CheckSort<256, 8, 256, 8, std::uint64_t>(PixelType::Int64);
  CheckSort<256, 8, 256, 8, std::uint64_t>(PixelType::UInt64);
  CheckSort<256, 12, 256, 12, std::uint64_t>(PixelType::Float64);
  CheckSort<256, 16, 256, 16, std::uint64_t>(PixelType::Float64);
  CheckSort<512, 12, 512, 12, std::uint64_t>(PixelType::Float64);
  CheckSort<512, 16, 512, 16, std::uint64_t>(PixelType::Float64);
}

/** Keys some of which are the least and the greatest ones of their type, as those of pixels that do not count: half of
 * them, or all but a few; and, in some regions, keys beside them in the same bucket. */
template <int VThreads, int VItems, int VDigitThreads, int VDigitItems, typename TBits>
void
CheckLongEnds(PixelType type)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr int                      bits = 8 * sizeof(TBits);
  constexpr int                      width = 64;
  std::mt19937_64                    generator(cudamediantest::Seed());
  const LoopedThreads<VThreads>      bucketThreads(generator);
  const LoopedThreads<VDigitThreads> digitThreads(generator);
  using Case = SortCase<TBits>;
  using Buckets = BucketSort<bits, VItems, LoopedThreads<VThreads>>;
  using Digits = DigitSort<bits, VDigitItems, LoopedThreads<VDigitThreads>>;
  for (int number = 0; number < 40; ++number)
  {
    const auto         height = 1 + static_cast<int>(generator() % (VThreads * VItems / width));
    const auto         percent = number % 4 == 0 ? 99U : 50U;
    const auto         ends = number % 3; // the lower one, the upper one, both
    const auto         beside = number % 5 == 0 ? 20U : 0U;
    std::vector<TBits> pixels(Case::CountPixels(width, height));
    for (auto & pixel : pixels)
    {
      const auto drawn = generator();
      const auto isUpper = ends == 1 || (ends == 2 && drawn % 2 == 0);
      const auto off = static_cast<TBits>(drawn >> 40 & 3);
      pixel = static_cast<TBits>(generator());
      if (drawn / 2 % 100 < percent)
      {
        pixel = isUpper ? static_cast<TBits>(~TBits{ 0 }) : TBits{ 0 };
      }
      else if (drawn / 256 % 100 < beside)
      {
        pixel = isUpper ? static_cast<TBits>(~TBits{ 0 } - off) : off;
      }
    }
    SCOPED_TRACE(std::to_string(number) + " of height " + std::to_string(height));
    Case sortCase(type, width, height, pixels);
    sortCase.template Run<Buckets, Digits>(bucketThreads, digitThreads);
  }
}

TEST(CudaMedianRankSort, EndsOfOneValue)
{
  CheckLongEnds<256, 8, 128, 16, std::uint16_t>(PixelType::UInt16);
  CheckLongEnds<512, 12, 256, 24, std::uint16_t>(PixelType::UInt16);
  CheckLongEnds<256, 16, 128, 32, std::uint32_t>(PixelType::UInt32);
  CheckLongEnds<512, 12, 256, 24, std::uint32_t>(PixelType::UInt32);
  CheckLongEnds<256, 8, 256, 8, std::uint64_t>(PixelType::UInt64);
}

TEST(CudaMedianRankSort, BucketsAsLongAsAreComparedAreNotLeft)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64          generator(cudamediantest::Seed());
  const LoopedThreads<256> bucketThreads(generator);
  const LoopedThreads<128> digitThreads(generator);
  constexpr int            size = 2048;
  constexpr int            width = 64;
  using Case = SortCase<std::uint32_t>;
  using Buckets = BucketSort<32, 8, LoopedThreads<256>>;
  using Digits = DigitSort<32, 16, LoopedThreads<128>>;
  using Storage = Buckets::Storage;
  for (const int length : { Storage::Longest - 1,
                            Storage::Longest,
                            Storage::Longest + 1,
                            Storage::LongestMixed - 1,
                            Storage::LongestMixed,
                            Storage::LongestMixed + 1 })
  {
    // The first region has a key in each bucket, but for one bucket that has more of them. The others have equal keys.
    std::vector<std::uint32_t> keys(size);
    for (int i = 0; i < size; ++i)
    {
      keys[static_cast<std::size_t>(i)] = static_cast<std::uint32_t>(i) << 21;
    }
    for (int i = 1; i < length; ++i)
    {
      keys[static_cast<std::size_t>(1000 + i)] = (1000U << 21) + static_cast<std::uint32_t>(length - i);
    }
    std::shuffle(keys.begin(), keys.end(), generator);
    std::vector<std::uint32_t> pixels(Case::CountPixels(width, size / width));
    const auto                 columns = pixels.size() / (size / width);
    for (std::size_t i = 0; i < keys.size(); ++i)
    {
      pixels[i / width * columns + i % width] = keys[i];
    }
    Case sortCase(PixelType::UInt32, width, size / width, pixels);
    EXPECT_EQ((sortCase.Run<Buckets, Digits>(bucketThreads, digitThreads)), length > Storage::LongestMixed ? 1U : 0U)
      << "a bucket of " << length;
  }
}
