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
#include "Remembered.h"

#include "DeviceProfiles.h"

#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

using cudamedian::DeviceTraits;
using cudamedian::Remembered;

TEST(CudaMedianRemembered, FindsEachThingOnce)
{
  Remembered<int, std::string> known(8);
  int                          found = 0;
  for (int round = 0; round < 3; ++round)
  {
    for (int key = 0; key < 8; ++key)
    {
      EXPECT_EQ(known.Get(key,
                          [&] {
                            ++found;
                            return std::to_string(key);
                          }),
                std::to_string(key));
    }
  }
  EXPECT_EQ(found, 8);
}

TEST(CudaMedianRemembered, ForgetsAllWhenThereAreTooMany)
{
  Remembered<int, int> known(3);
  int                  found = 0;
  const auto           get = [&](int key) { return known.Get(key, [&] { return ++found; }); };
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(get(2), 2);
  EXPECT_EQ(get(3), 3);
  EXPECT_EQ(get(1), 1);
  EXPECT_EQ(get(4), 4);
  EXPECT_EQ(get(4), 4);
  EXPECT_EQ(get(1), 5);
}

TEST(CudaMedianRemembered, KeepsNothingOfWhatThrows)
{
  Remembered<int, int> known(3);
  EXPECT_THROW(known.Get(1, []() -> int { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_EQ(known.Get(1, [] { return 7; }), 7);
}

TEST(CudaMedianRemembered, MayBeAskedFromAnyThread)
{
  Remembered<int, int>     known(5);
  std::vector<std::thread> threads;
  std::vector<int>         wrong(4);
  for (std::size_t number = 0; number < wrong.size(); ++number)
  {
    threads.emplace_back([&known, &wrong, number] {
      for (int i = 0; i < 2000; ++i)
      {
        wrong[number] += known.Get(i % 7, [i] { return i % 7 * 3; }) != i % 7 * 3;
      }
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4));
}

// What is remembered of one device is not taken for another.
TEST(CudaMedianRemembered, TellsDevicesApartByAllThatIsKnownOfThem)
{
  const auto                                             one = cudamedian::GetH200Traits();
  const std::vector<std::function<void(DeviceTraits &)>> changes{
    [](DeviceTraits & traits) { traits.name += "!"; },
    [](DeviceTraits & traits) { ++traits.computeCapability; },
    [](DeviceTraits & traits) { ++traits.multiprocessors; },
    [](DeviceTraits & traits) { ++traits.kilohertz; },
    [](DeviceTraits & traits) { ++traits.blockSharedBytes; },
    [](DeviceTraits & traits) { ++traits.sharedBytes; },
    [](DeviceTraits & traits) { ++traits.reservedSharedBytes; },
    [](DeviceTraits & traits) { ++traits.registers; },
    [](DeviceTraits & traits) { ++traits.warps; },
    [](DeviceTraits & traits) { ++traits.blocks; },
    [](DeviceTraits & traits) { ++traits.cacheBytes; },
    [](DeviceTraits & traits) { traits.copyBytes *= 2; },
    [](DeviceTraits & traits) { ++traits.pipes.mostSumPercent; },
    [](DeviceTraits & traits) { traits.pipes.threeInput = !traits.pipes.threeInput; },
    [](DeviceTraits & traits) { traits.pipes.cachedInstructions *= 2; },
    [](DeviceTraits & traits) { ++traits.pretendedOn; },
  };
  EXPECT_FALSE(one < one);
  for (std::size_t number = 0; number < changes.size(); ++number)
  {
    auto other = one;
    changes[number](other);
    EXPECT_NE(one < other, other < one) << "change " << number;
  }
}

} // namespace
