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
#include "Interruption.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace
{

constexpr int Threads = 8;

/** The life of a process whose threads all crash at the same moment. */
[[noreturn]] void
CrashTogether()
{
  const Interruption       interruption;
  std::atomic<int>         ready{ 0 };
  std::vector<std::thread> threads;
  for (int i = 0; i < Threads; ++i)
  {
    threads.emplace_back([&ready] {
      ++ready;
      while (ready < Threads)
      {
      }
      raise(SIGABRT);
    });
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  _exit(0);
}

} // namespace

// As the threads of an image library do where one of its readers stumbles over a damaged file.
TEST(CudaMedianInterruption, SaysInOneLineThatSeveralThreadsCrashed)
{
  for (int i = 0; i < 20; ++i)
  {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0)
    {
      dup2(ends[1], STDERR_FILENO);
      close(ends[0]);
      close(ends[1]);
      CrashTogether();
    }
    close(ends[1]);
    std::string said;
    char        text[256];
    for (ssize_t size = 0; (size = read(ends[0], text, sizeof(text))) > 0;)
    {
      said.append(text, static_cast<std::size_t>(size));
    }
    close(ends[0]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
    ASSERT_EQ(said, "CudaMedianImageFilter: ended by SIGABRT\n");
  }
}
