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
#include "FuzzOptions.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>
#include <unistd.h>

extern "C"
{
  /** Of the sanitizers' run-time libraries, where the program is built with one. */
  __attribute__((weak)) void
  __sanitizer_set_death_callback(void (*callback)(void));
}

namespace cudamedianfuzz
{
namespace
{

constexpr std::size_t mostText = 1 << 16;
char                  currentCase[mostText];
volatile std::size_t  currentLength = 0;

void
WriteCurrentCase(const char * why)
{
  // Whether all of it could be written makes no difference any more.
  static_cast<void>(!::write(1, why, std::strlen(why)));
  static_cast<void>(!::write(1, currentCase, currentLength));
  static_cast<void>(!::write(1, "\n", 1));
}

void
WriteCrash()
{
  WriteCurrentCase("FAILED, the program died in: ");
}

void
HandleSignal(int number)
{
  WriteCurrentCase(number == SIGALRM ? "FAILED, it takes too long: " : "FAILED, the program died in: ");
  std::signal(number, SIG_DFL);
  std::raise(number);
  ::_exit(3);
}

std::uint64_t
ToCount(const std::string & text)
{
  std::size_t end = 0;
  const auto  value = std::stoull(text, &end, 0);
  if (end != text.size() || text[0] == '-')
  {
    throw std::invalid_argument(text);
  }
  return value;
}

const char *
GetVariable(const char * name)
{
  const char * const text = std::getenv(name);
  return text == nullptr ? "" : text;
}

void
Read(Options & options, const std::string & name, const std::string & value)
{
  if (name == "--seconds")
  {
    options.seconds = std::stod(value);
  }
  else if (name == "--cases")
  {
    options.cases = ToCount(value);
  }
  else if (name == "--seed")
  {
    options.seed = ToCount(value);
  }
  else if (name == "--replay")
  {
    options.replay = value;
  }
  else if (name == "--backend")
  {
    std::istringstream stream(value);
    for (std::string word; std::getline(stream, word, ',');)
    {
      options.backends.push_back(word == "cpu"    ? Backend::Cpu
                                 : word == "cuda" ? Backend::Cuda
                                 : word == "auto" ? Backend::Auto
                                                  : throw std::invalid_argument(word));
    }
  }
  else if (name == "--devices")
  {
    std::istringstream stream(value);
    for (std::string word; std::getline(stream, word, ',');)
    {
      options.devices.push_back(static_cast<int>(ToCount(word)));
    }
  }
  else if (name == "--jobs")
  {
    options.jobs = std::max(1U, static_cast<unsigned>(ToCount(value)));
  }
  else if (name == "--case-seconds")
  {
    options.caseSeconds = static_cast<unsigned>(ToCount(value));
  }
  else if (name == "--shrink-seconds")
  {
    options.shrinkSeconds = static_cast<unsigned>(ToCount(value));
  }
  else if (name == "--new-windows")
  {
    options.newWindows = std::max(1U, static_cast<unsigned>(ToCount(value)));
  }
  else if (name == "--threads")
  {
    options.threads = std::max(1U, static_cast<unsigned>(ToCount(value)));
  }
  else
  {
    throw std::invalid_argument(name);
  }
}

/** What a process tells its parent. */
std::string
ToText(const Tally & tally)
{
  std::ostringstream text;
  text << tally.cases << " " << tally.failures << "\n";
  for (const auto & count : tally.counts)
  {
    text << count.second << " " << count.first << "\n";
  }
  return text.str();
}

void
Add(Tally & tally, std::istream & text)
{
  std::uint64_t cases = 0;
  std::uint64_t failures = 0;
  if (!(text >> cases >> failures))
  {
    ++tally.failures;
    return;
  }
  tally.cases += cases;
  tally.failures += failures;
  std::uint64_t count = 0;
  for (std::string name; text >> count && std::getline(text >> std::ws, name);)
  {
    tally.counts[name] += count;
  }
}

} // namespace

Options
ReadOptions(int count, char ** words, const char * usage)
{
  Options    options;
  const auto seed = std::string(GetVariable("CUDAMEDIAN_TEST_SEED"));
  try
  {
    options.requireGpu = std::strcmp(GetVariable("CUDAMEDIAN_REQUIRE_GPU"), "1") == 0;
    options.seed = seed.empty() ? std::random_device{}() : ToCount(seed);
    for (int i = 1; i < count; ++i)
    {
      const std::string name = words[i];
      if (name == "--require-gpu")
      {
        options.requireGpu = true;
      }
      else if (name == "--inject-difference")
      {
        options.injectsDifference = true;
      }
      else if (i + 1 < count)
      {
        Read(options, name, words[++i]);
      }
      else
      {
        throw std::invalid_argument(name);
      }
    }
  }
  catch (const std::exception & error)
  {
    std::cerr << "not understood: " << error.what() << "\n" << usage;
    std::exit(2);
  }
  if (options.seconds == 0 && options.cases == 0)
  {
    options.seconds = 30;
  }
  return options;
}

Tally
RunJobs(const Options & options, const std::function<Tally(std::uint64_t seed, bool first)> & body)
{
  if (options.jobs == 1)
  {
    return body(options.seed, true);
  }
  struct Job
  {
    pid_t process;
    int   result;
  };
  std::vector<Job> jobs;
  std::cout.flush();
  for (unsigned number = 0; number < options.jobs; ++number)
  {
    int ends[2];
    if (::pipe(ends) != 0)
    {
      throw std::runtime_error("no pipe to another process");
    }
    const auto process = ::fork();
    if (process == 0)
    {
      ::close(ends[0]);
      const auto text = ToText(body(options.seed + number * std::uint64_t{ 0x9E3779B97F4A7C15 }, number == 0));
      for (std::size_t written = 0; written < text.size();)
      {
        const auto bytes = ::write(ends[1], text.data() + written, text.size() - written);
        written += bytes > 0 ? static_cast<std::size_t>(bytes) : text.size();
      }
      ::_exit(0);
    }
    if (process < 0)
    {
      throw std::runtime_error("no further process");
    }
    ::close(ends[1]);
    jobs.push_back({ process, ends[0] });
  }
  Tally tally;
  for (const auto & job : jobs)
  {
    std::string text;
    char        part[4096];
    for (ssize_t bytes = 0; (bytes = ::read(job.result, part, sizeof(part))) > 0;)
    {
      text.append(part, static_cast<std::size_t>(bytes));
    }
    ::close(job.result);
    int status = 0;
    ::waitpid(job.process, &status, 0);
    std::istringstream stream(text);
    Add(tally, stream);
  }
  return tally;
}

void
PrintTally(const char * program, const Options & options, const Tally & tally, double seconds)
{
  std::ostringstream text;
  std::string        group;
  for (const auto & count : tally.counts)
  {
    const auto colon = count.first.find(": ");
    const auto name = count.first.substr(0, colon);
    text << (name == group ? "; " : "\n" + name + ": ") << count.first.substr(colon + 2) << " " << count.second;
    group = name;
  }
  text.precision(4);
  text << "\n"
       << program << ": seed " << options.seed << (options.jobs > 1 ? ", jobs " + std::to_string(options.jobs) : "")
       << ", " << tally.cases << " cases in " << seconds << " s, "
       << static_cast<std::uint64_t>(static_cast<double>(tally.cases) / std::max(seconds, 1e-9)) << " a second, "
       << tally.failures << " failures";
  PrintLine(text.str());
}

void
SetCurrentCase(const std::string & line, unsigned seconds)
{
  currentLength = 0;
  std::memcpy(currentCase, line.data(), std::min(line.size(), mostText));
  currentLength = std::min(line.size(), mostText);
  ::alarm(seconds);
}

void
WatchForCrashes()
{
  if (__sanitizer_set_death_callback != nullptr)
  {
    __sanitizer_set_death_callback(&WriteCrash);
  }
  else
  {
    for (const int number : { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT })
    {
      std::signal(number, &HandleSignal);
    }
  }
  std::signal(SIGALRM, &HandleSignal);
}

void
PrintLine(const std::string & line)
{
  const auto text = line + "\n";
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

} // namespace cudamedianfuzz
