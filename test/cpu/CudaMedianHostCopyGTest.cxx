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
#include "CopierShare.h"
#include "HostCopy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace
{

/** Copies between all places of lines, a few vectors and many; what lies around the copy stays. */
template <typename TCopy>
void
CheckCopies(const TCopy & copy)
{
  std::mt19937      generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  std::vector<char> source(5000);
  for (auto & value : source)
  {
    value = static_cast<char>(generator());
  }
  for (std::size_t offset = 0; offset < 70; ++offset)
  {
    for (const std::size_t bytes : { 0, 1, 63, 64, 255, 256, 257, 319, 320, 383, 384, 447, 448, 512, 1000, 4800 })
    {
      const std::size_t from = generator() % 100;
      std::vector<char> target(5000, 'x');
      auto              expected = target;
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(offset));
      copy(target.data() + offset, source.data() + from, bytes);
      cudamedian::FinishCopiesPastCaches();
      ASSERT_EQ(target, expected) << bytes << " bytes from " << from << " to " << offset;
    }
  }
}

} // namespace

TEST(CudaMedianHostCopy, EveryAlignmentAndLength)
{
  CUDAMEDIAN_TRACE_SEED();
  CheckCopies(
    [](void * target, const void * source, std::size_t bytes) { cudamedian::CopyPastCaches(target, source, bytes); });
}

/** Also those that this machine would not choose. */
TEST(CudaMedianHostCopy, EveryInstructionSet)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto found = cudamedian::GetCopyInstructions();
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(found.back(), cudamedian::CopyInstructions::Plain);
#ifdef __x86_64__
  ASSERT_GE(found.size(), 2U);
  EXPECT_EQ(found[found.size() - 2], cudamedian::CopyInstructions::Sse2);
  EXPECT_EQ(found.front() == cudamedian::CopyInstructions::Avx512,
            static_cast<bool>(__builtin_cpu_supports("avx512f")));
#endif
  for (const auto instructions : found)
  {
    SCOPED_TRACE(static_cast<int>(instructions));
    CheckCopies([instructions](void * target, const void * source, std::size_t bytes) {
      cudamedian::CopyPastCaches(instructions, target, source, bytes);
    });
  }
}

TEST(CudaMedianHostCopy, PagesAreGivenAndKeepWhatIsThere)
{
  constexpr std::size_t page = cudamedian::largePageBytes;
  std::vector<char>     written(2 * page, 'a');
  void *                aligned = written.data();
  std::size_t           space = written.size();
  ASSERT_NE(std::align(page, page, aligned, space), nullptr);
  cudamedian::GetPages(aligned, page);
  EXPECT_EQ(written, std::vector<char>(2 * page, 'a'));

  const std::unique_ptr<char[]> fresh(new char[8 * page]);
  aligned = fresh.get();
  space = 8 * page;
  ASSERT_NE(std::align(page, 7 * page, aligned, space), nullptr);
  cudamedian::AdviseLargePages(aligned, 7 * page);
  for (std::size_t number = 0; number < 7; ++number)
  {
    cudamedian::GetPages(static_cast<char *>(aligned) + number * page, page);
  }
  std::fill_n(static_cast<char *>(aligned), 7 * page, 'b');
  EXPECT_EQ(std::count(static_cast<char *>(aligned), static_cast<char *>(aligned) + 7 * page, 'b'), 7 * page);
}

TEST(CudaMedianHostCopy, LargePagesKeepWhatIsThere)
{
  std::vector<char> memory(std::size_t{ 40 } << 20, 'a');
  cudamedian::AdviseLargePages(memory.data(), memory.size());
  cudamedian::AdviseLargePages(memory.data(), 0);
  cudamedian::AdviseLargePages(nullptr, 0);
  EXPECT_EQ(memory, std::vector<char>(memory.size(), 'a'));
}

TEST(CudaMedianHostCopy, DevicesShareTheThreadsThatCopy)
{
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(16, 1), 16U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(64, 1), 24U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(64, 2), 24U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(64, 4), 12U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(7, 2), 2U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(3, 4), 1U);
  EXPECT_EQ(cudamedian::CountCopiersPerDevice(0, 1), 1U);
}
