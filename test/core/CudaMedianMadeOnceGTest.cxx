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
// What is made in the background: once, whoever needs it meanwhile, and over before the process is.
#include "MadeOnce.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>
#include <vector>

#ifndef _WIN32
#  include <csignal>
#  include <sys/wait.h>
#  include <unistd.h>
#endif

namespace
{

using namespace cudamedian;
using Things = MadeOnce<int, std::string>;

/** Something that is made as soon as the test allows it. */
class Gate
{
public:
  void
  Open()
  {
    m_Open.set_value();
  }
  void
  Pass()
  {
    m_Began = true;
    m_Opened.wait();
  }
  void
  WaitUntilSomebodyIsThere() const
  {
    while (!m_Began)
    {
      std::this_thread::yield();
    }
  }

private:
  std::promise<void>       m_Open;
  std::shared_future<void> m_Opened{ m_Open.get_future().share() };
  std::atomic<bool>        m_Began{ false };
};

#ifndef _WIN32
/** Has a process of its own leave main() or be ended otherwise. \returns the status that it ended with, within 20
 * seconds. */
template <typename TRun>
int
GetStatusOfChild(const TRun & run)
{
  const auto child = fork();
  if (child == 0)
  {
    alarm(20);
    run();
    exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

/** Makes until it is told to stop, as a compilation that takes long. */
std::string
MakeUntilStopped(const std::atomic<bool> & isStopped)
{
  while (!isStopped)
  {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "stopped";
}
#endif

} // namespace

TEST(CudaMedianMadeOnce, IsMadeInTheBackgroundAndOnce)
{
  BackgroundWorker worker;
  Things           things(worker);
  Gate             gate;
  std::atomic<int> count{ 0 };
  const auto       make = [&](const std::atomic<bool> &) {
    ++count;
    gate.Pass();
    return std::string("made");
  };
  EXPECT_EQ(things.Find(1), nullptr);
  EXPECT_FALSE(things.IsUnderWay(1));
  things.MakeInBackground(1, make);
  things.MakeInBackground(1, make);
  EXPECT_TRUE(things.IsUnderWay(1));
  EXPECT_EQ(things.Find(1), nullptr);
  EXPECT_FALSE(things.IsUnderWay(2));
  gate.WaitUntilSomebodyIsThere();
  // Who waits meanwhile gets what the worker makes.
  std::vector<std::future<Things::Product>> waiting;
  for (int i = 0; i < 4; ++i)
  {
    waiting.push_back(std::async(std::launch::async, [&] { return things.GetOrMake(1, make); }));
  }
  gate.Open();
  for (auto & result : waiting)
  {
    EXPECT_EQ(*result.get(), "made");
  }
  EXPECT_EQ(*things.Find(1), "made");
  EXPECT_FALSE(things.IsUnderWay(1));
  things.MakeInBackground(1, make);
  worker.End();
  EXPECT_EQ(count, 1);
}

TEST(CudaMedianMadeOnce, WhatWaitsForTheWorkerIsMadeByWhoeverNeedsIt)
{
  BackgroundWorker worker;
  Things           things(worker);
  Gate             gate;
  std::atomic<int> count{ 0 };
  things.MakeInBackground(1, [&](const std::atomic<bool> &) {
    gate.Pass();
    return std::string("first");
  });
  gate.WaitUntilSomebodyIsThere();
  const auto make = [&](const std::atomic<bool> &) { return "second " + std::to_string(++count); };
  things.MakeInBackground(2, make);
  EXPECT_EQ(*things.GetOrMake(2, make), "second 1") << "the worker is not done with the first";
  gate.Open();
  EXPECT_EQ(*things.GetOrMake(1, make), "first");
  worker.End();
  EXPECT_EQ(count, 1);
}

TEST(CudaMedianMadeOnce, WhoThrowsHasMadeNothing)
{
  BackgroundWorker worker;
  Things           things(worker);
  const auto       fail = [](const std::atomic<bool> &) -> std::string { throw std::runtime_error("no"); };
  EXPECT_THROW(things.GetOrMake(1, fail), std::runtime_error);
  EXPECT_FALSE(things.IsUnderWay(1));
  things.MakeInBackground(2, fail);
  while (things.IsUnderWay(2))
  {
    std::this_thread::yield();
  }
  EXPECT_EQ(things.Find(2), nullptr);
  for (const int key : { 1, 2 })
  {
    EXPECT_EQ(*things.GetOrMake(key, [](const std::atomic<bool> &) { return std::string("made"); }), "made");
  }
  worker.End();
}

TEST(CudaMedianMadeOnce, WhatIsKeptTakesNoOthersPlace)
{
  BackgroundWorker worker;
  Things           things(worker);
  things.Keep(1, "kept");
  things.Keep(1, "kept later");
  EXPECT_EQ(*things.Find(1), "kept");
  EXPECT_EQ(*things.GetOrMake(1, [](const std::atomic<bool> &) { return std::string("made"); }), "kept");
}

TEST(CudaMedianBackgroundWorker, HasNoThreadWithoutWorkAndTakesMoreLater)
{
  BackgroundWorker worker;
  for (int i = 0; i < 100; ++i)
  {
    std::promise<int> done;
    ASSERT_TRUE(worker.Add([&done, i](const std::atomic<bool> & isStopped) { done.set_value(isStopped ? -1 : i); }));
    EXPECT_EQ(done.get_future().get(), i);
  }
}

TEST(CudaMedianBackgroundWorker, StopsAtItsEnd)
{
  BackgroundWorker  worker;
  Gate              gate;
  std::atomic<bool> wasStopped{ false };
  bool              hasBegun = false;
  worker.Add([&](const std::atomic<bool> & isStopped) {
    gate.Pass();
    while (!isStopped)
    {
      std::this_thread::yield();
    }
    wasStopped = true;
  });
  worker.Add([&](const std::atomic<bool> &) { hasBegun = true; });
  gate.Open();
  gate.WaitUntilSomebodyIsThere();
  worker.End();
  EXPECT_TRUE(wasStopped);
  EXPECT_FALSE(hasBegun) << "what had not begun never does";
  EXPECT_FALSE(worker.Add([](const std::atomic<bool> &) {}));
  worker.End();
}

#ifndef _WIN32
TEST(CudaMedianBackgroundWorker, AProcessEndsWhileItWorks)
{
  // Never destroyed, as those of the library.
  const auto start = [] {
    auto & things = *new Things(BackgroundWorker::Get());
    things.MakeInBackground(1, MakeUntilStopped);
    things.MakeInBackground(2, MakeUntilStopped);
    return &things;
  };
  const auto exited = GetStatusOfChild([&] { start(); });
  EXPECT_TRUE(WIFEXITED(exited)) << exited;
  EXPECT_EQ(WEXITSTATUS(exited), 0);
  for (const int signal : { SIGINT, SIGABRT, SIGTERM })
  {
    const auto ended = GetStatusOfChild([&] {
      std::signal(signal, SIG_DFL);
      start();
      raise(signal);
    });
    EXPECT_TRUE(WIFSIGNALED(ended)) << ended;
    EXPECT_EQ(WTERMSIG(ended), signal);
  }
}

/** The worker's thread is the parent's: a child of a fork has one of its own, and waits for none at its end. */
TEST(CudaMedianBackgroundWorker, AForkHasAWorkerOfItsOwn)
{
  const auto outer = GetStatusOfChild([] {
    // Never destroyed, as the worker may be at them when the process ends; and no leak.
    static auto & things = *new Things(BackgroundWorker::Get());
    things.MakeInBackground(1, MakeUntilStopped);
    const auto inner = GetStatusOfChild([] {
      static auto & own = *new Things(BackgroundWorker::Get());
      own.MakeInBackground(1, [](const std::atomic<bool> &) { return std::string("made"); });
      while (own.Find(1) == nullptr)
      {
        std::this_thread::yield();
      }
    });
    if (!WIFEXITED(inner) || WEXITSTATUS(inner) != 0 || things.Find(1) != nullptr)
    {
      _exit(1);
    }
  });
  EXPECT_TRUE(WIFEXITED(outer)) << outer;
  EXPECT_EQ(WEXITSTATUS(outer), 0);
}

TEST(CudaMedianBackgroundWorker, LeavesSignalsToOthers)
{
  BackgroundWorker   worker;
  std::promise<bool> blocked;
  worker.Add([&](const std::atomic<bool> &) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked.set_value(sigismember(&mask, SIGINT) == 1 && sigismember(&mask, SIGTERM) == 1);
  });
  EXPECT_TRUE(blocked.get_future().get());
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0);
}
#endif
