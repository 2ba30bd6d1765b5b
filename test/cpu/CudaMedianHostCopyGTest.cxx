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
#include "HostCopy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

TEST(CudaMedianHostCopy, EveryAlignmentAndLength)
{
  std::mt19937      generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
  std::vector<char> source(5000);
  for (auto & value : source)
  {
    value = static_cast<char>(generator());
  }
  for (std::size_t offset = 0; offset < 70; ++offset)
  {
    for (const std::size_t bytes : { 0, 1, 63, 64, 255, 256, 257, 319, 320, 1000, 4800 })
    {
      const std::size_t from = generator() % 100;
      std::vector<char> target(5000, 'x');
      auto              expected = target;
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(offset));
      cudamedian::CopyPastCaches(target.data() + offset, source.data() + from, bytes);
      ASSERT_EQ(target, expected) << bytes << " bytes from " << from << " to " << offset;
    }
  }
}

TEST(CudaMedianHostCopy, LargePagesKeepWhatIsThere)
{
  std::vector<char> memory(std::size_t{ 40 } << 20, 'a');
  cudamedian::AdviseLargePages(memory.data(), memory.size());
  cudamedian::AdviseLargePages(memory.data(), 0);
  cudamedian::AdviseLargePages(nullptr, 0);
  EXPECT_EQ(memory, std::vector<char>(memory.size(), 'a'));
}
