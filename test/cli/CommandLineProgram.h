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
#ifndef CommandLineProgram_h
#define CommandLineProgram_h

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace cudamediantest
{

/** A directory for one test that takes its content with it. */
class TemporaryDirectory
{
public:
  TemporaryDirectory()
  {
    std::string name = (std::filesystem::temp_directory_path() / "CudaMedianCommandLine.XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr)
    {
      throw std::runtime_error("no temporary directory: " + std::string(std::strerror(errno)));
    }
    m_Path = name;
  }
  TemporaryDirectory(const TemporaryDirectory &) = delete;
  TemporaryDirectory &
  operator=(const TemporaryDirectory &) = delete;
  ~TemporaryDirectory()
  {
    std::error_code ignored;
    std::filesystem::remove_all(m_Path, ignored);
  }

  const std::filesystem::path &
  Path() const
  {
    return m_Path;
  }

private:
  std::filesystem::path m_Path;
};

inline std::string
ReadText(const std::filesystem::path & path)
{
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/** What a run of the program left behind. */
struct ProgramResult
{
  int         exitCode; ///< -1 when a signal ended the program
  std::string output;
  std::string error;
  int         signal; ///< the signal that ended the program, or 0
};

/** What is done to a run of the program. */
struct RunOptions
{
  std::function<void()>      prepare; ///< called in the new process before the program takes it over
  std::function<void(pid_t)> disturb; ///< called while the program runs
};

/** The program under test. An environment variable names another one, so that the tests also run where they were not
 * built. */
inline std::string
ProgramPath()
{
  const char * const path = std::getenv("CUDAMEDIAN_COMMAND_LINE_PROGRAM");
  return (path == nullptr || *path == '\0') ? CUDAMEDIAN_COMMAND_LINE_PROGRAM : path;
}

/** Runs the program, without a shell in between, and waits for its end. */
inline ProgramResult
RunProgram(const std::vector<std::string> & arguments, const RunOptions & options = {})
{
  const TemporaryDirectory streams;
  const std::string        outputPath = streams.Path() / "output";
  const std::string        errorPath = streams.Path() / "error";
  std::string              program = ProgramPath();
  std::vector<std::string> texts = arguments;
  std::vector<char *>      argv{ program.data() };
  for (std::string & text : texts)
  {
    argv.push_back(text.data());
  }
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0)
  {
    throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  }
  if (child == 0)
  {
    constexpr int flags = O_WRONLY | O_CREAT | O_TRUNC;
    dup2(open(outputPath.c_str(), flags, 0600), STDOUT_FILENO);
    dup2(open(errorPath.c_str(), flags, 0600), STDERR_FILENO);
    if (options.prepare)
    {
      options.prepare();
    }
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  if (options.disturb)
  {
    options.disturb(child);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
  {
    if (errno != EINTR)
    {
      throw std::runtime_error("waitpid: " + std::string(std::strerror(errno)));
    }
  }
  return { WIFEXITED(status) ? WEXITSTATUS(status) : -1,
           ReadText(outputPath),
           ReadText(errorPath),
           WIFSIGNALED(status) ? WTERMSIG(status) : 0 };
}

} // namespace cudamediantest

#endif
