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
#include "FaultyRun.h"

#include "CommandLineProgram.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <thread>

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

namespace cudamediantest
{
namespace
{

using Clock = std::chrono::steady_clock;
constexpr std::chrono::seconds LongestRun{ 60 };

[[noreturn]] void
Start(const std::vector<std::string> & command, const Fault & fault, const std::string & errorPath, bool traced)
{
  std::vector<std::string> texts = command;
  std::vector<char *>      argv;
  for (std::string & text : texts)
  {
    argv.push_back(text.data());
  }
  argv.push_back(nullptr);
  dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
  dup2(open(errorPath.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
  const rlimit noCore = { 0, 0 };
  setrlimit(RLIMIT_CORE, &noCore);
  if (fault.largestFile > 0)
  {
    const rlimit limit = { fault.largestFile, fault.largestFile };
    setrlimit(RLIMIT_FSIZE, &limit);
  }
#ifndef __SANITIZE_ADDRESS__ // whose shadow takes terabytes of addresses
  if (fault.memory > 0)
  {
    const rlimit limit = { fault.memory, fault.memory };
    setrlimit(RLIMIT_AS, &limit);
  }
#endif
  if (traced)
  {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
  }
  execv(argv.front(), argv.data());
  _exit(127);
}

void
SetStatus(int status, RunOutcome & outcome)
{
  outcome.exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  outcome.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/** Waits for the end of a program that is not traced. */
void
WaitForEnd(pid_t child, RunOutcome & outcome)
{
  const auto end = Clock::now() + LongestRun;
  int        status = 0;
  while (waitpid(child, &status, WNOHANG) == 0)
  {
    if (Clock::now() > end && !outcome.timedOut)
    {
      outcome.timedOut = true;
      kill(child, SIGKILL);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  SetStatus(status, outcome);
}

#ifdef __x86_64__

std::string
TextOf(pid_t child, unsigned long long address)
{
  char        text[512] = "";
  const iovec here = { text, sizeof(text) - 1 };
  const iovec there = { reinterpret_cast<void *>(address), sizeof(text) - 1 };
  // Reads up to the first page that is not there.
  process_vm_readv(child, &here, 1, &there, 1, 0);
  return text;
}

/** Follows the calls of a program's main thread, and of the copies that it makes of itself but the first: that is the
 * process that waits for the program's end, and is left alone. */
class Tracer
{
public:
  Tracer(pid_t child, const Fault & fault)
    : m_Main(child)
    , m_Fault(fault)
  {}

  void
  Run(RunOutcome & outcome)
  {
    int status = 0;
    waitpid(m_Main, &status, 0); // stops at exec
    ptrace(PTRACE_SETOPTIONS, m_Main, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_EXITKILL);
    if (!this->RunToEntry(status))
    {
      SetStatus(status, outcome);
      return;
    }
    m_Processes[m_Main];
    ptrace(PTRACE_SYSCALL, m_Main, nullptr, 0);
    while (!m_Processes.empty())
    {
      const pid_t process = waitpid(-1, &status, __WALL);
      if (process < 0)
      {
        break;
      }
      if (WIFEXITED(status) || WIFSIGNALED(status))
      {
        if (process == m_Main)
        {
          SetStatus(status, outcome);
        }
        m_Processes.erase(process);
        continue;
      }
      if (m_Processes.count(process) == 0)
      {
        // A copy that stops before its original does; it waits until that tells of it.
        m_Early.insert(process);
        continue;
      }
      int pass = 0;
      if (status >> 8 == (SIGTRAP | (PTRACE_EVENT_FORK << 8)))
      {
        this->AtFork(process);
      }
      else if (WSTOPSIG(status) == (SIGTRAP | 0x80))
      {
        this->AtCall(process);
      }
      else if (WSTOPSIG(status) != SIGTRAP)
      {
        pass = WSTOPSIG(status);
      }
      // What comes after the fault takes its time untraced.
      ptrace(m_Done ? PTRACE_CONT : PTRACE_SYSCALL, process, nullptr, pass);
    }
    outcome.calls = m_Count;
  }

private:
  struct Process
  {
    bool inCall{ false };
    bool opening{ false };
    bool failing{ false };
  };

  /** Lets the program run untraced until its libraries are loaded, which takes most of its calls. \returns false if it
   * has ended before. */
  bool
  RunToEntry(int & status)
  {
    const auto entry = this->FindEntry();
    errno = 0;
    const long original = ptrace(PTRACE_PEEKTEXT, m_Main, entry, 0);
    if (entry == 0 || errno != 0)
    {
      throw std::runtime_error("the program's entry cannot be read");
    }
    constexpr unsigned long breakpoint = 0xCC;
    ptrace(PTRACE_POKETEXT, m_Main, entry, (static_cast<unsigned long>(original) & ~0xFFUL) | breakpoint);
    int pass = 0;
    do
    {
      ptrace(PTRACE_CONT, m_Main, nullptr, pass);
      waitpid(m_Main, &status, __WALL);
      if (WIFEXITED(status) || WIFSIGNALED(status))
      {
        return false;
      }
      pass = WSTOPSIG(status);
    } while (pass != SIGTRAP);
    ptrace(PTRACE_POKETEXT, m_Main, entry, original);
    user_regs_struct registers = {};
    ptrace(PTRACE_GETREGS, m_Main, nullptr, &registers);
    registers.rip = entry;
    ptrace(PTRACE_SETREGS, m_Main, nullptr, &registers);
    return true;
  }

  /** Where the program starts once its libraries are loaded; 0 if that is not told. */
  unsigned long
  FindEntry() const
  {
    std::ifstream file("/proc/" + std::to_string(m_Main) + "/auxv", std::ios::binary);
    unsigned long pair[2] = {};
    while (file.read(reinterpret_cast<char *>(pair), sizeof(pair)))
    {
      if (pair[0] == AT_ENTRY)
      {
        return pair[1];
      }
    }
    return 0;
  }

  void
  AtFork(pid_t process)
  {
    unsigned long message = 0;
    ptrace(PTRACE_GETEVENTMSG, process, nullptr, &message);
    const auto copy = static_cast<pid_t>(message);
    if (m_Early.erase(copy) == 0)
    {
      int status = 0;
      waitpid(copy, &status, __WALL);
    }
    if (m_Forks++ == 0)
    {
      ptrace(PTRACE_DETACH, copy, nullptr, 0);
      return;
    }
    m_Processes[copy];
    ptrace(PTRACE_SYSCALL, copy, nullptr, 0);
  }

  bool
  Counts(const user_regs_struct & registers)
  {
    const auto call = registers.orig_rax;
    if (m_Fault.calls == Fault::Calls::Reads)
    {
      const bool reads = call == SYS_read || call == SYS_pread64 || call == SYS_readv;
      return reads && m_Inputs.count(static_cast<int>(registers.rdi)) > 0;
    }
    m_Writing = m_Writing || call == SYS_mkdir || call == SYS_mkdirat;
    if (!m_Writing)
    {
      return false;
    }
    switch (call)
    {
      case SYS_write:
      case SYS_writev:
      case SYS_pwrite64:
        return registers.rdi > STDERR_FILENO && !IsOfSanitizer(registers.rdi);
      case SYS_openat:
        return (registers.rdx & (O_WRONLY | O_RDWR)) != 0;
      case SYS_mkdir:
      case SYS_mkdirat:
      case SYS_rename:
      case SYS_renameat:
      case SYS_renameat2:
      case SYS_link:
      case SYS_linkat:
      case SYS_unlink:
      case SYS_unlinkat:
      case SYS_rmdir:
      case SYS_fsync:
      case SYS_fdatasync:
      case SYS_ftruncate:
      case SYS_fchmodat:
      case SYS_fchownat:
        return true;
      default:
        return false;
    }
  }

  /** A sanitizer writes to pipes of its own, to find out what memory can be read, and ends the program when that fails.
   */
  bool
  IsOfSanitizer([[maybe_unused]] unsigned long long file) const
  {
#  ifdef __SANITIZE_ADDRESS__
    char       target[16] = {};
    const auto link = "/proc/" + std::to_string(m_Main) + "/fd/" + std::to_string(file);
    return readlink(link.c_str(), target, sizeof(target) - 1) > 5 && std::strncmp(target, "pipe:", 5) == 0;
#  else
    return false;
#  endif
  }

  void
  AtCall(pid_t number)
  {
    Process &        process = m_Processes[number];
    user_regs_struct registers = {};
    ptrace(PTRACE_GETREGS, number, nullptr, &registers);
    process.inCall = !process.inCall;
    if (!process.inCall)
    {
      if (process.failing)
      {
        process.failing = false;
        registers.rax = static_cast<unsigned long long>(-static_cast<long long>(m_Fault.error));
        ptrace(PTRACE_SETREGS, number, nullptr, &registers);
        m_Done = true;
      }
      else if (process.opening)
      {
        m_Inputs.insert(static_cast<int>(registers.rax));
      }
      return;
    }
    process.opening =
      registers.orig_rax == SYS_openat && !m_Fault.input.empty() && TextOf(number, registers.rsi) == m_Fault.input;
    if (registers.orig_rax == SYS_close)
    {
      m_Inputs.erase(static_cast<int>(registers.rdi));
    }
    if (!this->Counts(registers) || m_Count++ != m_Fault.call)
    {
      return;
    }
    if (m_Fault.kind == Fault::Kind::FailedCall)
    {
      process.failing = true;
      // A call that there is not.
      registers.orig_rax = static_cast<unsigned long long>(-1);
      ptrace(PTRACE_SETREGS, number, nullptr, &registers);
    }
    else if (m_Fault.kind == Fault::Kind::SignalAtCall)
    {
      kill(m_Main, m_Fault.signal);
      m_Done = true;
    }
  }

  pid_t                    m_Main;
  const Fault &            m_Fault;
  std::map<pid_t, Process> m_Processes;
  std::set<pid_t>          m_Early;
  std::set<int>            m_Inputs;
  std::size_t              m_Forks{ 0 };
  std::size_t              m_Count{ 0 };
  bool                     m_Writing{ false };
  bool                     m_Done{ false }; ///< the fault has happened
};

#endif

} // namespace

bool
CanTrace()
{
#ifdef __x86_64__
  static const bool can = [] {
    const pid_t child = fork();
    if (child == 0)
    {
      _exit(ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0 ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }();
  return can;
#else
  return false;
#endif
}

RunOutcome
RunWithFault(const std::vector<std::string> & command, const Fault & fault, const std::string & errorPath)
{
  const bool  traced = fault.count || fault.kind == Fault::Kind::SignalAtCall || fault.kind == Fault::Kind::FailedCall;
  const pid_t child = fork();
  if (child < 0)
  {
    throw std::runtime_error("fork: " + std::string(std::strerror(errno)));
  }
  if (child == 0)
  {
    Start(command, fault, errorPath, traced);
  }
  RunOutcome outcome;
  if (fault.kind == Fault::Kind::SignalAfter)
  {
    std::this_thread::sleep_for(std::chrono::duration<double>(fault.seconds));
    kill(child, fault.signal);
  }
#ifdef __x86_64__
  if (traced)
  {
    Tracer(child, fault).Run(outcome);
  }
  else
#endif
  {
    WaitForEnd(child, outcome);
  }
  outcome.error = ReadText(errorPath);
  return outcome;
}

} // namespace cudamediantest
