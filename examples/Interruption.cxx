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

#include "Options.h"
#include "TemporaryFolder.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace
{

struct NamedSignal
{
  int          number;
  const char * name;
};

/** What ends a program from outside: a user, a terminal, a batch system. */
constexpr NamedSignal Requests[] = { { SIGHUP, "SIGHUP" },   { SIGINT, "SIGINT" },   { SIGQUIT, "SIGQUIT" },
                                     { SIGTERM, "SIGTERM" }, { SIGALRM, "SIGALRM" }, { SIGUSR1, "SIGUSR1" },
                                     { SIGUSR2, "SIGUSR2" }, { SIGXCPU, "SIGXCPU" } };
/** What ends it from inside, as when an image library stumbles over a damaged file. */
constexpr NamedSignal Crashes[] = { { SIGABRT, "SIGABRT" },
                                    { SIGBUS, "SIGBUS" },
                                    { SIGFPE, "SIGFPE" },
                                    { SIGILL, "SIGILL" },
                                    { SIGSEGV, "SIGSEGV" } };

/** The folder to put away. In memory that the watching process shares, so that it knows what was last set. */
char * folder = nullptr;
/** Standard error as it was at the start; image libraries' text is kept from it now and then. */
int   standardError = -1;
pid_t mainThread = 0;
/** The copy of this process that works for it; 0: none. */
volatile pid_t worker = 0;
/** What the main thread is doing; empty: nothing worth to be told. */
char task[1024] = "";
/** The thread that ends the process; 0: none yet. */
std::atomic<pid_t> endingThread{ 0 };
static_assert(std::atomic<pid_t>::is_always_lock_free, "It is changed where a signal is handled.");

pid_t
ThisThread()
{
  return static_cast<pid_t>(syscall(SYS_gettid));
}

void
Print(const char * text)
{
  const ssize_t ignored = write(standardError, text, std::strlen(text));
  static_cast<void>(ignored);
}

[[noreturn]] void
DieBySignal(int signal)
{
  std::signal(signal, SIG_DFL);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, signal);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  raise(signal);
  // The first process of a container does not die of its signals.
  _exit(128 + signal);
}

[[noreturn]] void
EndBySignal(int signal)
{
  // Several threads may stumble over the same damaged file: one puts the folder away and says so, and ends them all.
  // Should that one crash on its way, it ends at once.
  const pid_t thread = ThisThread();
  pid_t       other = 0;
  if (!endingThread.compare_exchange_strong(other, thread))
  {
    while (other != thread)
    {
      pause();
    }
    DieBySignal(signal);
  }
  if (worker > 0)
  {
    kill(worker, SIGKILL);
    waitpid(worker, nullptr, 0);
  }
  if (folder != nullptr)
  {
    AbandonFolder(folder);
  }
  // A progress bar may stand on the line.
  Print(isatty(standardError) == 1 ? "\r\033[K" : "");
  Print("CudaMedianImageFilter: ended by ");
  Print(Interruption::NameOf(signal));
  Print(*task == '\0' ? "" : " while ");
  Print(task);
  Print("\n");
  DieBySignal(signal);
}

extern "C" void
OnRequest(int signal)
{
  if (ThisThread() != mainThread)
  {
    // The main thread is the one that writes files: it must not go on while its folder is put away.
    const int error = errno;
    syscall(SYS_tgkill, getpid(), mainThread, signal);
    errno = error;
    return;
  }
  EndBySignal(signal);
}

extern "C" void
OnCrash(int signal)
{
  EndBySignal(signal);
}

/** Handles a signal unless it was set to something else, such as to be ignored under nohup. */
void
Handle(int signal, void (*handler)(int))
{
  struct sigaction action = {};
  if (sigaction(signal, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_DFL)
  {
    return;
  }
  action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

/** Waits for the end of a child; of none, if the number is not positive. */
void
WaitFor(pid_t child)
{
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR)
  {
  }
}

/** The life of the process that waits for the end of this one. */
[[noreturn]] void
Watch(int alive)
{
  prctl(PR_SET_NAME, "CudaMedianWatch");
  setsid();
  for (const NamedSignal & known : Requests)
  {
    std::signal(known.number, SIG_IGN);
  }
  // Nobody who reads what the program prints should have to wait for this process.
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  dup2(nothing, STDERR_FILENO);
  char byte = 0;
  while (read(alive, &byte, 1) < 0 && errno == EINTR)
  {
  }
  if (*folder != '\0')
  {
    // The lock falls when the last of the program's threads is gone, and with it the last change.
    const int descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    flock(descriptor, LOCK_EX);
    AbandonFolder(folder);
  }
  _exit(0);
}

} // namespace

Interruption::Interruption(Watcher watcher)
{
  // A file that is written must not get the number of a standard stream that somebody closed.
  for (int descriptor = open("/dev/null", O_RDWR); descriptor >= 0; descriptor = open("/dev/null", O_RDWR))
  {
    if (descriptor > STDERR_FILENO)
    {
      close(descriptor);
      break;
    }
  }
  standardError = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  mainThread = ThisThread();

  void * const shared = mmap(nullptr, PATH_MAX, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  int          ends[2] = { -1, -1 };
  int          gone[2] = { -1, -1 };
  folder = shared == MAP_FAILED ? nullptr : static_cast<char *>(shared);
  if (folder != nullptr && pipe2(ends, O_CLOEXEC) == 0)
  {
    if (watcher == Watcher::Apart && pipe2(gone, O_CLOEXEC) != 0)
    {
      watcher = Watcher::Child;
    }
    m_Watcher = fork();
    if (m_Watcher == 0)
    {
      close(ends[1]);
      close(gone[0]);
      // The child of a process that has ended belongs to nobody who is killed with this one.
      if (watcher == Watcher::Apart && fork() != 0)
      {
        _exit(0);
      }
      Watch(ends[0]);
    }
    close(ends[0]);
    m_Alive = ends[1];
    if (watcher == Watcher::Apart)
    {
      WaitFor(m_Watcher);
      m_Watcher = -1;
      close(gone[1]);
      m_Gone = gone[0];
    }
  }
  // Without that process, where no more are allowed, the signals below still put the folder away.

  // A stack of its own, for the crash that comes of a stack that is full.
  static char   stack[1 << 16];
  const stack_t alternative = { stack, 0, sizeof(stack) };
  sigaltstack(&alternative, nullptr);
  for (const NamedSignal & known : Requests)
  {
    Handle(known.number, OnRequest);
  }
  for (const NamedSignal & known : Crashes)
  {
    Handle(known.number, OnCrash);
  }
  // A file that must not grow and a reader that went away are errors of the call that writes, and reported as such.
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

Interruption::~Interruption()
{
  close(m_Alive);
  WaitFor(m_Watcher);
  // Its end of the pipe is closed when it ends.
  char byte = 0;
  while (m_Gone >= 0 && read(m_Gone, &byte, 1) < 0 && errno == EINTR)
  {
  }
  close(m_Gone);
}

void
Interruption::SetFolder(const std::string & path)
{
  if (path.size() >= PATH_MAX)
  {
    throw UserError("cannot write to directory '" + path + "': " + std::strerror(ENAMETOOLONG));
  }
  if (folder != nullptr)
  {
    std::memcpy(folder, path.c_str(), path.size() + 1);
  }
}

int
Interruption::Fork()
{
  // Between the fork and the note of it no signal may come.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0)
  {
    for (const NamedSignal & known : Requests)
    {
      std::signal(known.number, SIG_IGN);
    }
    for (const NamedSignal & known : Crashes)
    {
      struct sigaction action = {};
      if (sigaction(known.number, nullptr, &action) == 0 && action.sa_handler == OnCrash)
      {
        std::signal(known.number, SIG_DFL);
      }
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
    {
      _exit(1);
    }
  }
  else if (child > 0)
  {
    worker = child;
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return child;
}

int
Interruption::WaitForFork()
{
  int status = 0;
  while (waitpid(worker, &status, 0) < 0 && errno == EINTR)
  {
  }
  worker = 0;
  return status;
}

const char *
Interruption::NameOf(int signal)
{
  for (const NamedSignal & known : Requests)
  {
    if (known.number == signal)
    {
      return known.name;
    }
  }
  for (const NamedSignal & known : Crashes)
  {
    if (known.number == signal)
    {
      return known.name;
    }
  }
  return "a signal";
}

Interruption::Task::Task(const std::string & text)
{
  // The end is set first and the begin last, so that the text is whole at any moment.
  const std::size_t length = std::min(text.size(), sizeof(task) - 1);
  task[0] = '\0';
  task[length] = '\0';
  std::memcpy(task + 1, text.data() + 1, length - 1);
  task[0] = text[0];
}

Interruption::Task::~Task() { task[0] = '\0'; }
