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
#include "itkCudaMedianThreads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#ifndef _WIN32
#  include <sys/resource.h>
#  include <sys/wait.h>
#  include <unistd.h>
#endif

using cudamedian::ThreadTeam;

TEST(CudaMedianThreadTeam, EveryPieceIsDoneOnce)
{
  for (const std::size_t members : { 1, 2, 5 })
  {
    ThreadTeam       team(members);
    ThreadTeam::Task tasks[3];
    EXPECT_EQ(team.GetMembers(), members);
    for (std::size_t pieces = 0; pieces < 300; ++pieces)
    {
      // The same tasks again and again, three at a time.
      std::vector<std::atomic<int>> done(3 * pieces);
      for (std::size_t task = 0; task < 3; ++task)
      {
        team.Start(tasks[task], pieces, [&done, pieces, task](std::size_t piece) { ++done[task * pieces + piece]; });
      }
      for (const auto & task : tasks)
      {
        team.Finish(task);
        EXPECT_TRUE(task.IsDone());
      }
      EXPECT_FALSE(team.Help());
      for (const auto & count : done)
      {
        ASSERT_EQ(count, 1) << pieces << " pieces, " << members << " members";
      }
    }
  }
}

TEST(CudaMedianThreadTeam, TasksAreBegunInOrder)
{
  ThreadTeam               team(1);
  ThreadTeam::Task         tasks[2];
  std::vector<std::size_t> order;
  for (std::size_t task = 0; task < 2; ++task)
  {
    team.Start(tasks[task], 2, [&order, task](std::size_t piece) { order.push_back(2 * task + piece); });
  }
  EXPECT_FALSE(tasks[0].IsDone());
  team.Finish(tasks[0]);
  EXPECT_FALSE(tasks[1].IsDone());
  EXPECT_TRUE(team.Help());
  EXPECT_TRUE(team.Help());
  EXPECT_TRUE(tasks[1].IsDone());
  EXPECT_EQ(order, (std::vector<std::size_t>{ 0, 1, 2, 3 }));
}

TEST(CudaMedianThreadTeam, PiecesAreDoneAtTheSameTime)
{
  ThreadTeam       team(3);
  ThreadTeam::Task task;
  std::atomic<int> arrived{ 0 };
  team.Start(task, 3, [&arrived](std::size_t) {
    ++arrived;
    while (arrived < 3)
    {
      std::this_thread::yield();
    }
  });
  team.Finish(task);
  EXPECT_EQ(arrived, 3);
}

TEST(CudaMedianThreadTeam, TheCallerNeedNotHelpEvenWhenThreadsSleep)
{
  ThreadTeam       team(3);
  ThreadTeam::Task task;
  for (int pause = 0; pause < 5; ++pause)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(pause));
    std::atomic<int> done{ 0 };
    team.Start(task, 20, [&done](std::size_t) { ++done; });
    while (!task.IsDone())
    {
      std::this_thread::yield();
    }
    EXPECT_EQ(done, 20);
  }
}

TEST(CudaMedianThreadTeam, ATeamWithoutWorkEnds)
{
  const ThreadTeam       team(4);
  const ThreadTeam::Task task;
  EXPECT_TRUE(task.IsDone());
}

#ifndef _WIN32
// Its threads are the parent's: the end of a team must not wait for them, whether they slept or looked for work.
TEST(CudaMedianThreadTeam, ATeamEndsInAForkedProcess)
{
  for (const int milliseconds : { 0, 20 })
  {
    auto team = std::make_unique<ThreadTeam>(4);
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    const auto child = fork();
    if (child == 0)
    {
      alarm(20);
      team.reset();
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ThreadTeam::Task task;
    std::atomic<int> done{ 0 };
    team->Start(task, 10, [&done](std::size_t) { ++done; });
    team->Finish(task);
    EXPECT_EQ(done, 10);
  }
}
#endif

TEST(CudaMedianKeptThreads, EveryBodyRunsOnce)
{
  // More than before, and fewer.
  for (const std::size_t count : { 0, 1, 2, 7, 3, 1, 12, 2 })
  {
    for (int repeat = 0; repeat < 200; ++repeat)
    {
      std::vector<std::atomic<int>> done(count);
      std::thread::id               first;
      cudamedian::RunInKeptThreads(count, [&](std::size_t number) {
        if (number == 0)
        {
          first = std::this_thread::get_id();
        }
        ++done[number];
      });
      for (const auto & runs : done)
      {
        ASSERT_EQ(runs, 1) << count << " bodies";
      }
      ASSERT_TRUE(count == 0 || first == std::this_thread::get_id());
    }
  }
}

// One in the other, and several threads at once.
TEST(CudaMedianKeptThreads, CallsAtTheSameTimeHaveThreadsOfTheirOwn)
{
  std::atomic<int> done{ 0 };
  const auto       call = [&done] {
    for (int repeat = 0; repeat < 50; ++repeat)
    {
      cudamedian::RunInKeptThreads(3,
                                   [&](std::size_t) { cudamedian::RunInKeptThreads(2, [&](std::size_t) { ++done; }); });
    }
  };
  std::thread other(call);
  call();
  other.join();
  EXPECT_EQ(done, 2 * 50 * 3 * 2);
}

TEST(CudaMedianKeptThreads, AnExceptionWaitsForTheOthers)
{
  for (int repeat = 0; repeat < 50; ++repeat)
  {
    std::atomic<int> done{ 0 };
    EXPECT_THROW(cudamedian::RunInKeptThreads(4,
                                              [&](std::size_t number) {
                                                if (number == 0)
                                                {
                                                  throw std::runtime_error("of the first");
                                                }
                                                std::this_thread::sleep_for(std::chrono::microseconds(100));
                                                ++done;
                                              }),
                 std::runtime_error);
    ASSERT_EQ(done, 3);
  }
}

#ifdef __linux__
// Stacks of threads do not take the last of a process's addresses: threads allocate, and so does the C library for
// their data, which ends the process where it cannot.
TEST(CudaMedianKeptThreads, ThreadsLeaveAddressesToTheirWork)
{
#  if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer has more addresses than any limit";
#  endif
  for (std::size_t more = 0; more < std::size_t{ 8 } << 20; more += std::size_t{ 256 } << 10)
  {
    const auto child = fork();
    if (child == 0)
    {
      alarm(60);
      std::size_t pages = 0;
      std::ifstream("/proc/self/statm") >> pages;
      const auto   limit = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{ 100 } << 20) + more;
      const rlimit stack{ std::size_t{ 8 } << 20, std::size_t{ 8 } << 20 };
      const rlimit addresses{ limit, limit };
      if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &addresses) != 0)
      {
        _exit(2);
      }
      std::atomic<std::size_t> bytes{ 0 };
      cudamedian::RunInKeptThreads(200, [&](std::size_t) { bytes += std::vector<char>(512 << 10, 1).size(); });
      _exit(bytes == std::size_t{ 200 } * (512 << 10) ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status << " with " << more << " bytes more";
  }
}
#endif

#ifndef _WIN32
// The threads do not come along, whether or not a call had them when the process was forked.
TEST(CudaMedianKeptThreads, AForkedProcessHasItsOwn)
{
#  ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "a process that was forked with threads may start none under ThreadSanitizer";
#  endif
  const auto forkOne = [] {
    const auto child = fork();
    if (child == 0)
    {
      alarm(60); // a child that never ends is a failure, and not a test that never ends
      std::atomic<int> done{ 0 };
      for (int repeat = 0; repeat < 20; ++repeat)
      {
        cudamedian::RunInKeptThreads(4, [&](std::size_t) { ++done; });
      }
      _exit(done == 80 ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  };
  cudamedian::RunInKeptThreads(4, [](std::size_t) {});
  forkOne();
  // AddressSanitizer's allocator has locks that other threads may hold at that moment, and nobody opens in the child.
#  ifndef __SANITIZE_ADDRESS__
  cudamedian::RunInKeptThreads(4, [&](std::size_t number) {
    if (number == 0)
    {
      forkOne();
    }
  });
#  endif
  std::atomic<int> done{ 0 };
  cudamedian::RunInKeptThreads(2, [&](std::size_t) { ++done; });
  EXPECT_EQ(done, 2);
}
#endif
