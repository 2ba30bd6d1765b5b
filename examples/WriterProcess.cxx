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
#include "WriterProcess.h"

#include "Interruption.h"
#include "Options.h"
#include "Terminal.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <new>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

/** What a process has read and written so far. */
struct Transfers
{
  std::uint64_t reads{ 0 }; ///< calls
  std::uint64_t bytesWritten{ 0 };
};

/** \returns nothing done where the system does not tell */
Transfers
TransfersOf(int process)
{
  Transfers     transfers;
  std::ifstream counts("/proc/" + std::to_string(process) + "/io");
  std::string   name;
  for (std::uint64_t count = 0; counts >> name >> count;)
  {
    if (name == "syscr:")
    {
      transfers.reads = count;
    }
    else if (name == "wchar:")
    {
      transfers.bytesWritten = count;
    }
  }
  return transfers;
}

/** Takes what a writer says until it has ended. \returns whether it did so by itself */
bool
ReadToEnd(int file, int writer, std::uint64_t mostReads, std::string & text)
{
  constexpr int milliseconds = 500;
  Transfers     atLastWrite;
  for (;;)
  {
    pollfd    wanted = { file, POLLIN, 0 };
    const int ready = poll(&wanted, 1, milliseconds);
    if (ready == 0)
    {
      const Transfers now = TransfersOf(writer);
      if (now.bytesWritten != atLastWrite.bytesWritten)
      {
        atLastWrite = now;
      }
      else if (now.reads > atLastWrite.reads + mostReads)
      {
        return false;
      }
      continue;
    }
    char          buffer[512];
    const ssize_t bytes = ready < 0 ? -1 : read(file, buffer, sizeof(buffer));
    if (bytes == 0 || (bytes < 0 && errno != EINTR))
    {
      return true;
    }
    if (bytes > 0)
    {
      text.append(buffer, static_cast<std::size_t>(bytes));
    }
  }
}

/** The copy's part. \returns what went wrong; empty: nothing */
std::string
TryToWrite(const std::function<void(const std::string &)> & write, const std::string & path)
{
  try
  {
    write(path);
    return "";
  }
  catch (const itk::ExceptionObject & error)
  {
    return Description(error);
  }
  catch (const std::bad_alloc &)
  {
    return "not enough memory";
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
}

} // namespace

void
WriteApart(const std::function<void(const std::string &)> & write, const std::string & path, std::uint64_t mostReads)
{
  int ends[2] = { -1, -1 };
  if (pipe2(ends, O_CLOEXEC) != 0)
  {
    throw UserError(std::strerror(errno));
  }
  const int worker = Interruption::Fork();
  if (worker == 0)
  {
    close(ends[0]);
    const std::string text = TryToWrite(write, path);
    const ssize_t     ignored = ::write(ends[1], text.data(), text.size());
    static_cast<void>(ignored);
    // Nothing that the program set up is this process's to take down.
    _exit(text.empty() ? 0 : 1);
  }
  close(ends[1]);
  if (worker < 0)
  {
    // No more processes are allowed.
    close(ends[0]);
    write(path);
    return;
  }
  std::string text;
  const bool  ended = ReadToEnd(ends[0], worker, mostReads, text);
  if (!ended)
  {
    kill(worker, SIGKILL);
  }
  close(ends[0]);
  const int status = Interruption::WaitForFork();
  if (!ended)
  {
    throw UserError("its format's writer read " + std::to_string(mostReads) +
                    " times in a row and wrote nothing, and was ended");
  }
  if (WIFSIGNALED(status))
  {
    throw UserError(std::string("its format's writer was ended by ") + Interruption::NameOf(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) != 0)
  {
    throw UserError(text.empty() ? "its format's writer gave up" : text);
  }
}
