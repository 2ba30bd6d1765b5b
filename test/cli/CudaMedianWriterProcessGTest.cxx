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
// The copy of the program that writes an output, and what becomes of it.

#include "WriterProcess.h"

#include "Options.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace
{

constexpr std::uint64_t Few = 1000;

/** What WriteApart() says of a writer; empty: nothing. */
std::string
ProblemOf(const std::function<void(const std::string &)> & write)
{
  try
  {
    WriteApart(write, "/dev/null", Few);
    return "";
  }
  catch (const UserError & error)
  {
    return error.what();
  }
}

void
ReadByte()
{
  static const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  char             byte = 1;
  if (read(zeros, &byte, 1) != 1)
  {
    throw std::runtime_error("no zeros");
  }
}

TEST(CudaMedianWriterProcess, SaysWhatWentWrong)
{
  EXPECT_EQ(ProblemOf([](const std::string &) {}), "");
  EXPECT_EQ(ProblemOf([](const std::string & path) { throw std::runtime_error("not " + path); }), "not /dev/null");
  EXPECT_EQ(ProblemOf([](const std::string &) { _exit(3); }), "its format's writer gave up");
  EXPECT_EQ(ProblemOf([](const std::string &) { abort(); }), "its format's writer was ended by SIGABRT");
}

// As libtiff does where a write that failed has bent a file's list of images to a circle.
TEST(CudaMedianWriterProcess, EndsAWriterThatReadsForEver)
{
  const auto read = [](const std::string &) {
    for (;;)
    {
      ReadByte();
    }
  };
  EXPECT_EQ(ProblemOf(read), "its format's writer read 1000 times in a row and wrote nothing, and was ended");
}

TEST(CudaMedianWriterProcess, LeavesAWriterThatReadsALotAlone)
{
  const auto write = [](const std::string & path) {
    const int  file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1800);
    while (std::chrono::steady_clock::now() < end)
    {
      for (std::uint64_t i = 0; i < Few / 2; ++i)
      {
        ReadByte();
      }
      if (::write(file, "x", 1) != 1)
      {
        throw std::runtime_error("not written");
      }
    }
  };
  EXPECT_EQ(ProblemOf(write), "");
}

TEST(CudaMedianWriterProcess, WaitsForAWriterThatThinks)
{
  EXPECT_EQ(ProblemOf([](const std::string &) { std::this_thread::sleep_for(std::chrono::milliseconds(1800)); }), "");
}

} // namespace
