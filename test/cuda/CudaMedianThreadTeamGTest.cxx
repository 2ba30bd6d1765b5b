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
#include "ThreadTeam.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

using cudamedian::ThreadTeam;

TEST(CudaMedianThreadTeam, EveryBodyRunsOnce)
{
  for (const std::size_t members : { 1, 2, 5 })
  {
    ThreadTeam team(members);
    for (std::size_t count = 0; count < 300; ++count)
    {
      std::vector<std::atomic<int>> runs(count);
      team.Run(count, [&runs](std::size_t number) { ++runs[number]; });
      for (const auto & run : runs)
      {
        ASSERT_EQ(run, 1) << count << " bodies, " << members << " members";
      }
    }
  }
}

TEST(CudaMedianThreadTeam, BodiesRunAtTheSameTime)
{
  ThreadTeam       team(3);
  std::atomic<int> arrived{ 0 };
  team.Run(3, [&arrived](std::size_t) {
    ++arrived;
    while (arrived < 3)
    {
      std::this_thread::yield();
    }
  });
  EXPECT_EQ(arrived, 3);
}

TEST(CudaMedianThreadTeam, AnExceptionReachesTheCallerAndTheTeamWorksOn)
{
  ThreadTeam team(3);
  for (std::size_t thrower = 0; thrower < 20; ++thrower)
  {
    EXPECT_THROW(team.Run(20,
                          [thrower](std::size_t number) {
                            if (number == thrower)
                            {
                              throw std::runtime_error("thrown by a body");
                            }
                          }),
                 std::runtime_error);
  }
  std::atomic<int> runs{ 0 };
  team.Run(50, [&runs](std::size_t) { ++runs; });
  EXPECT_EQ(runs, 50);
}

TEST(CudaMedianThreadTeam, ATeamWithoutWorkEnds)
{
  const ThreadTeam team(4);
}
