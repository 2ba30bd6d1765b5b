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
// Every format that ITK writes or reads here, and every fault that can hit its files: a table of what happened.
//
//   CudaMedianFilesCampaign writers|readers [--full] [extension...]
//
// Of a program that writes, whatever hits it: the destination is the old file or the whole new one, nothing else is
// left beside it, an error is one line and an exit code that is not 0. Of a program that reads a damaged file: it says
// so in one line, or, where nothing of the image was damaged, its result is that of the whole file.
// CUDAMEDIAN_TEST_SEED repeats a run. --full takes every call of the program instead of a sample.

#include "CommandLineProgram.h"
#include "FaultyRun.h"

#include "itkImage.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <iostream>
#include <map>
#include <random>
#include <set>
#include <thread>

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

namespace
{

namespace fs = std::filesystem;
using cudamediantest::CanTrace;
using cudamediantest::Fault;
using cudamediantest::ProgramPath;
using cudamediantest::ReadText;
using cudamediantest::RunOutcome;

struct Format
{
  std::string extension;
  bool        isPicture;             ///< two dimensions of 8 bits, not three of 16
  bool        isCompressed{ false }; ///< written with compression where there is a choice
  std::string dataExtension{};       ///< of formats of two files

  std::string
  Name() const
  {
    return extension + (isCompressed ? " packed" : "");
  }
};

const std::vector<Format> Formats = {
  { ".mha", false },
  { ".mhd", false, false, ".raw" },
  { ".nii", false },
  { ".nii.gz", false },
  { ".hdr", false, false, ".img" },
  { ".img.gz", false, false, ".hdr.gz" },
  { ".nrrd", false },
  { ".nhdr", false, false, ".raw" },
  { ".vtk", false },
  { ".tif", false },
  { ".gipl", false },
  { ".gipl.gz", false },
  { ".mrc", false },
  { ".h5", false },
  { ".mnc", false },
  { ".png", true },
  { ".jpg", true },
  { ".bmp", true },
  { ".pic", true },
  { ".dcm", true },
  { ".jp2", true },
  { ".mha", false, true },
  { ".nrrd", false, true },
  { ".tif", false, true },
};

/** Files of a folder by name, with their content; folders have none. */
using Files = std::map<std::string, std::string>;

Files
ReadFiles(const fs::path & folder)
{
  Files files;
  for (const fs::directory_entry & entry : fs::directory_iterator(folder))
  {
    files[entry.path().filename()] = entry.is_regular_file() ? ReadText(entry.path()) : "";
  }
  return files;
}

void
WriteFiles(const fs::path & folder, const Files & files)
{
  for (const fs::directory_entry & entry : fs::directory_iterator(folder))
  {
    fs::remove_all(entry.path());
  }
  for (const auto & [name, content] : files)
  {
    std::ofstream(folder / name, std::ios::binary) << content;
  }
}

/** Counts of what happened, and what must not have. */
class Cell
{
public:
  void
  Count(const std::string & what)
  {
    ++m_Counts[what];
  }

  void
  Violate(const std::string & what)
  {
    m_Violations.push_back(what);
  }

  std::string
  Text() const
  {
    std::string text;
    for (const auto & [what, count] : m_Counts)
    {
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    }
    return m_Violations.empty() ? text : text + " VIOLATED";
  }

  const std::vector<std::string> &
  Violations() const
  {
    return m_Violations;
  }

private:
  std::map<std::string, std::size_t> m_Counts;
  std::vector<std::string>           m_Violations;
};

/** The pixels of an image file as ITK reads it; empty if it does not. */
std::vector<double>
ReadPixels(const fs::path & path)
{
  using ImageType = itk::Image<double, 3>;
  try
  {
    const auto image = itk::ReadImage<ImageType>(path.string());
    const auto count = image->GetBufferedRegion().GetNumberOfPixels();
    return { image->GetBufferPointer(), image->GetBufferPointer() + count };
  }
  catch (const itk::ExceptionObject &)
  {
    return {};
  }
}

template <typename TImage>
void
WriteImage(const typename TImage::SizeType & size, const fs::path & path, bool compressed, std::uint64_t seed)
{
  const auto image = TImage::New();
  image->SetRegions(size);
  image->Allocate();
  std::mt19937_64 random(seed);
  for (itk::SizeValueType i = 0; i < image->GetBufferedRegion().GetNumberOfPixels(); ++i)
  {
    // Never 0, which readers put where a file has no more: what is missing would be found there.
    image->GetBufferPointer()[i] = static_cast<typename TImage::PixelType>(1 + random() % 250);
  }
  itk::WriteImage(image, path.string(), compressed);
}

void
WriteInput(const Format & format, const fs::path & path, bool large, std::uint64_t seed)
{
  if (format.isPicture)
  {
    const itk::SizeValueType side = large ? 200 : 150;
    WriteImage<itk::Image<unsigned char, 2>>({ { side, 180 } }, path, format.isCompressed, seed);
  }
  else
  {
    const itk::SizeValueType slices = large ? 12 : 9;
    WriteImage<itk::Image<short, 3>>({ { 40, 36, slices } }, path, format.isCompressed, seed);
  }
}

bool
IsOneLine(const std::string & text)
{
  return text.rfind("CudaMedianImageFilter: ", 0) == 0 && std::count(text.begin(), text.end(), '\n') == 1 &&
         text.back() == '\n';
}

/** Whether AddressSanitizer ended the program since there was no memory for an image, where `new` throws without it. */
bool
HadNoMemory(const RunOutcome & outcome)
{
  return outcome.signal == SIGABRT && outcome.error.find("AddressSanitizer: out-of-memory") != std::string::npos;
}

std::string
SignalName(int signal)
{
  return signal == SIGABRT                       ? "abort"
         : signal == SIGSEGV || signal == SIGBUS ? "crash"
                                                 : "signal " + std::to_string(signal);
}

/** A disk of this process alone, which is small enough to be filled. \returns whether there is one */
bool
MountDisk(const fs::path & folder)
{
  const uid_t user = geteuid();
  const gid_t group = getegid();
  if (unshare(CLONE_NEWNS) != 0)
  {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    {
      return false;
    }
    std::ofstream("/proc/self/setgroups") << "deny";
    std::ofstream("/proc/self/uid_map") << user << " " << user << " 1";
    std::ofstream("/proc/self/gid_map") << group << " " << group << " 1";
  }
  return mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("none", folder.c_str(), "tmpfs", 0, "size=4m") == 0;
}

/** One row of the table: one format. */
class Row
{
public:
  Row(const Format & format, bool full, std::uint64_t seed)
    : m_Format(format)
    , m_Full(full)
    , m_Random(seed)
    , m_Seed(seed)
  {
    m_Destination = m_Folder.Path() / "destination";
    m_Input = m_Folder.Path() / "input";
    fs::create_directory(m_Destination);
    fs::create_directory(m_Input);
  }
  ~Row() { umount2(m_Destination.c_str(), MNT_DETACH); }
  Row(const Row &) = delete;
  Row &
  operator=(const Row &) = delete;

  std::vector<Cell>
  Writers()
  {
    Cell       nothing, disk, limit, call, term, kill, randomTerm, randomKill;
    const bool hasDisk = MountDisk(m_Destination);
    if (!this->WriteBefore(nothing))
    {
      return { nothing };
    }
    Fault counting;
    counting.count = CanTrace();
    const auto       start = std::chrono::steady_clock::now();
    const RunOutcome whole = this->Run(m_Command, counting);
    m_After = ReadFiles(m_Destination);
    m_PixelsAfter = ReadPixels(m_Command.back());
    this->Judge(nothing, whole, "no fault");
    this->Run(m_Command, {});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / 2;

    if (hasDisk)
    {
      this->FillDisk(disk);
    }
    else
    {
      disk.Count("skipped: no disk of its own permitted");
    }
    this->LimitFiles(limit);
    if (CanTrace())
    {
      this->FailCalls(call, whole.calls);
      this->SignalAtCalls(term, kill, whole.calls);
    }
    else
    {
      call.Count("skipped: tracing not permitted");
    }
    this->SignalAtAnyTime(randomTerm, randomKill, seconds);
    return { nothing, disk, limit, call, term, kill, randomTerm, randomKill };
  }

  std::vector<Cell>
  Readers()
  {
    Cell           whole, cut, cutData, failed, flipped;
    const fs::path input = m_Input / ("input" + m_Format.extension);
    const fs::path data = m_Input / ("input" + m_Format.dataExtension);
    const fs::path output = m_Destination / (m_Format.isPicture ? "output.nrrd" : "output.mha");
    try
    {
      WriteInput(m_Format, input, true, m_Seed);
    }
    catch (const itk::ExceptionObject &)
    {
      whole.Count("not written");
      return { whole };
    }
    m_Command = { ProgramPath(), "--backend", "cpu", input, output };
    m_Inputs = ReadFiles(m_Input);
    Fault counting;
    counting.count = CanTrace();
    counting.calls = Fault::Calls::Reads;
    counting.input = input;
    const RunOutcome made = this->Run(m_Command, counting);
    m_PixelsAfter = ReadPixels(output);
    if (made.exitCode != 0)
    {
      whole.Count("not read: " + made.error.substr(0, made.error.size() - 1));
      return { whole };
    }
    whole.Count("read");

    this->Cut(cut, input);
    if (!m_Format.dataExtension.empty())
    {
      this->Cut(cutData, data);
    }
    if (CanTrace())
    {
      for (const std::size_t number : this->SampleOf(made.calls))
      {
        Fault fault = counting;
        fault.count = false;
        fault.kind = Fault::Kind::FailedCall;
        fault.error = EIO;
        fault.call = number;
        this->TryRead(failed, fault, "read " + std::to_string(number) + " fails", true);
      }
    }
    const std::string content = m_Inputs[input.filename()];
    const std::size_t headerBytes = std::min<std::size_t>(content.size(), 400);
    for (int i = 0; i < (m_Full ? 400 : 12); ++i)
    {
      const std::size_t   position = m_Random() % headerBytes;
      const unsigned char bit = static_cast<unsigned char>(1U << (m_Random() % 8));
      Files               files = m_Inputs;
      files[input.filename()][position] = static_cast<char>(content[position] ^ bit);
      WriteFiles(m_Input, files);
      Fault fault;
      // A header can ask for more memory than this machine has.
      fault.memory = std::size_t{ 4 } << 30;
      this->TryRead(
        flipped, fault, "byte " + std::to_string(position) + " with bit " + std::to_string(bit) + " flipped", false);
    }
    return { whole, cut, cutData, failed, flipped };
  }

private:
  RunOutcome
  Run(const std::vector<std::string> & command, const Fault & fault)
  {
    return cudamediantest::RunWithFault(command, fault, m_Folder.Path() / "error");
  }

  /** All calls, or some of them with the last: there files take their places. */
  std::set<std::size_t>
  SampleOf(std::size_t calls)
  {
    std::set<std::size_t> sample;
    for (std::size_t i = 0; i < calls && (m_Full || i < 3); ++i)
    {
      sample.insert(m_Full ? i : m_Random() % calls);
    }
    for (std::size_t i = 0; i < std::min<std::size_t>(calls, m_Format.dataExtension.empty() ? 4 : 12); ++i)
    {
      sample.insert(calls - 1 - i);
    }
    return sample;
  }

  void
  Try(Cell & cell, const Fault & fault, const std::string & what)
  {
    WriteFiles(m_Destination, m_Before);
    this->Judge(cell, this->Run(m_Command, fault), what);
  }

  /** Writes the output that each run of the command finds. \returns whether this format is written at all */
  bool
  WriteBefore(Cell & cell)
  {
    WriteInput(m_Format, m_Input / "input.mha", true, m_Seed);
    WriteInput(m_Format, m_Input / "before.mha", false, m_Seed + 1);
    const fs::path output = m_Destination / ("output" + m_Format.extension);
    m_Command = { ProgramPath(), "--backend", "cpu", m_Input / "input.mha", output };
    std::vector<std::string> first = m_Command;
    first[3] = m_Input / "before.mha";
    const RunOutcome made = this->Run(first, {});
    m_Before = ReadFiles(m_Destination);
    if (made.exitCode != 0)
    {
      cell.Count("not written: " + made.error.substr(0, made.error.size() - 1));
      if (!IsOneLine(made.error) || !m_Before.empty())
      {
        cell.Violate("left something behind");
      }
    }
    return made.exitCode == 0;
  }

  /** Leaves each eighth of the room that a run needs, from none to all. */
  void
  FillDisk(Cell & cell)
  {
    std::size_t needed = 1 << 14;
    for (const auto & [name, content] : m_After)
    {
      needed += content.size() + (1 << 12);
    }
    for (std::size_t eighth = 0; eighth <= 8; ++eighth)
    {
      WriteFiles(m_Destination, m_Before);
      struct statvfs status = {};
      statvfs(m_Destination.c_str(), &status);
      const std::size_t room = status.f_bavail * status.f_frsize;
      const fs::path    ballast = m_Destination / "ballast";
      const int         file = open(ballast.c_str(), O_WRONLY | O_CREAT, 0600);
      const int         error = posix_fallocate(file, 0, static_cast<off_t>(room - needed * eighth / 8));
      close(file);
      const RunOutcome outcome = this->Run(m_Command, {});
      fs::remove(ballast);
      if (error != 0)
      {
        cell.Violate("the disk could not be filled");
      }
      this->Judge(cell, outcome, "disk full at " + std::to_string(eighth) + "/8");
    }
  }

  /** Lets no file grow to the size of the largest. */
  void
  LimitFiles(Cell & cell)
  {
    std::size_t largest = 0;
    for (const auto & [name, content] : m_After)
    {
      largest = std::max(largest, content.size());
    }
    for (const std::size_t eighth : { 1, 3, 5, 7 })
    {
      Fault fault;
      fault.largestFile = std::max<std::size_t>(1, largest * eighth / 8);
      this->Try(cell, fault, "file size limit at " + std::to_string(eighth) + "/8");
    }
  }

  void
  FailCalls(Cell & cell, std::size_t calls)
  {
    for (const std::size_t number : this->SampleOf(calls))
    {
      Fault fault;
      fault.call = number;
      fault.kind = Fault::Kind::FailedCall;
      fault.error = number % 2 == 0 ? ENOSPC : EIO;
      this->Try(cell, fault, "call " + std::to_string(number) + " fails");
    }
  }

  void
  SignalAtCalls(Cell & term, Cell & kill, std::size_t calls)
  {
    for (const std::size_t number : this->SampleOf(calls))
    {
      Fault fault;
      fault.call = number;
      fault.kind = Fault::Kind::SignalAtCall;
      fault.signal = SIGTERM;
      this->Try(term, fault, "SIGTERM at call " + std::to_string(number));
      fault.signal = SIGKILL;
      this->Try(kill, fault, "SIGKILL at call " + std::to_string(number));
    }
  }

  /** Signals while the program runs, which takes so many seconds. */
  void
  SignalAtAnyTime(Cell & term, Cell & kill, double seconds)
  {
    for (int i = 0; i < (m_Full ? 20 : 2); ++i)
    {
      Fault fault;
      fault.kind = Fault::Kind::SignalAfter;
      fault.seconds = std::uniform_real_distribution<double>(0, seconds)(m_Random);
      fault.signal = i % 2 == 0 ? SIGTERM : SIGINT;
      this->Try(term, fault, "signal after " + std::to_string(fault.seconds) + " s");
      fault.signal = SIGKILL;
      this->Try(kill, fault, "SIGKILL after " + std::to_string(fault.seconds) + " s");
    }
  }

  /** What takes the problems of a run. */
  static auto
  ViolationsOf(Cell & cell, const RunOutcome & outcome, const std::string & what)
  {
    return [&](const std::string & problem) {
      cell.Violate(what + ": " + problem + " (exit code " + std::to_string(outcome.exitCode) + ", signal " +
                   std::to_string(outcome.signal) + ", '" + outcome.error + "')");
    };
  }

  /** Compares what a run left at the destination with what may be there. */
  void
  Judge(Cell & cell, const RunOutcome & outcome, const std::string & what)
  {
    const auto violate = ViolationsOf(cell, outcome, what);
    Files      files = ReadFiles(m_Destination);
    // A second process clears up after SIGKILL; it needs a moment.
    for (int i = 0; i < 500 && outcome.signal == SIGKILL && HasHidden(files); ++i)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      files = ReadFiles(m_Destination);
    }
    std::string state;
    if (files == m_Before)
    {
      state = "old";
    }
    else if (files == m_After || (this->NamesOf(files) == this->NamesOf(m_After) &&
                                  ReadPixels(m_Command.back()) == m_PixelsAfter && !m_PixelsAfter.empty()))
    {
      state = "new";
    }
    else
    {
      std::string names;
      for (const auto & [name, content] : files)
      {
        names += " " + name;
      }
      violate("neither the old files nor the new:" + names);
      return;
    }
    if (outcome.timedOut)
    {
      violate("took too long");
    }
    if (outcome.exitCode == 0)
    {
      if (state != "new" || !outcome.error.empty())
      {
        violate("success, but the files are " + state);
      }
    }
    else if (outcome.signal != SIGKILL && !IsOneLine(outcome.error))
    {
      // A signal may come before the program has begun, when nobody can say anything.
      if (outcome.signal == 0 || !outcome.error.empty() || state != "old")
      {
        violate("not one line");
      }
    }
    if (outcome.exitCode > 0 && state == "new" && outcome.error.find("is in place") == std::string::npos)
    {
      violate("an error, but the files are new");
    }
    cell.Count(state);
  }

  static bool
  HasHidden(const Files & files)
  {
    return std::any_of(files.begin(), files.end(), [](const auto & file) { return file.first.front() == '.'; });
  }

  static std::set<std::string>
  NamesOf(const Files & files)
  {
    std::set<std::string> names;
    for (const auto & [name, content] : files)
    {
      names.insert(name);
    }
    return names;
  }

  void
  Cut(Cell & cell, const fs::path & path)
  {
    const std::string & content = m_Inputs[path.filename()];
    for (std::size_t eighth = 0; eighth <= 8; ++eighth)
    {
      const std::size_t size = eighth == 8 ? content.size() - 1 : content.size() * eighth / 8;
      Files             files = m_Inputs;
      files[path.filename()].resize(size);
      WriteFiles(m_Input, files);
      this->TryRead(cell, {}, "cut to " + std::to_string(size) + " of " + std::to_string(content.size()), true);
    }
  }

  void
  TryRead(Cell & cell, const Fault & fault, const std::string & what, bool mustBeSame)
  {
    WriteFiles(m_Destination, {});
    const RunOutcome outcome = this->Run(m_Command, fault);
    WriteFiles(m_Input, m_Inputs);
    const Files files = ReadFiles(m_Destination);
    const auto  violate = ViolationsOf(cell, outcome, what);
    if (outcome.timedOut)
    {
      violate("took too long");
    }
    else if (outcome.exitCode == 0)
    {
      const bool same = files.size() == 1 && ReadPixels(m_Command.back()) == m_PixelsAfter;
      if (!same && mustBeSame)
      {
        violate("read as if it were whole");
      }
      cell.Count(same ? "same" : "other image");
    }
    else
    {
      if (!files.empty())
      {
        violate("left something behind");
      }
      const bool hadNoMemory = HadNoMemory(outcome);
      if (!hadNoMemory && !IsOneLine(outcome.error))
      {
        violate("not one line");
      }
      cell.Count(outcome.signal == 0 || hadNoMemory ? "error" : SignalName(outcome.signal));
    }
  }

  const Format &                     m_Format;
  bool                               m_Full;
  std::mt19937_64                    m_Random;
  std::uint64_t                      m_Seed;
  cudamediantest::TemporaryDirectory m_Folder;
  fs::path                           m_Destination;
  fs::path                           m_Input;
  std::vector<std::string>           m_Command;
  Files                              m_Before;
  Files                              m_After;
  Files                              m_Inputs;
  std::vector<double>                m_PixelsAfter;
};

std::uint64_t
Seed()
{
  const char * const text = std::getenv("CUDAMEDIAN_TEST_SEED");
  return text == nullptr || *text == '\0' ? std::random_device()() : std::strtoull(text, nullptr, 0);
}

/** Makes a row in a process of its own, with a disk of its own, and leaves its text in a file.
 * The exit code of the process is 1 if anything was violated. */
pid_t
StartRow(const Format & format, bool writers, bool full, std::uint64_t seed, const fs::path & text)
{
  const pid_t child = fork();
  if (child != 0)
  {
    return child;
  }
  // What image libraries print in this process is not of interest.
  dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
  dup2(STDOUT_FILENO, STDERR_FILENO);
  int exitCode = 1;
  try
  {
    std::ofstream           stream(text);
    Row                     row(format, full, seed);
    const std::vector<Cell> cells = writers ? row.Writers() : row.Readers();
    stream << "| " << format.Name();
    for (const Cell & cell : cells)
    {
      stream << " | " << cell.Text();
    }
    stream << " |\n";
    exitCode = 0;
    for (const Cell & cell : cells)
    {
      for (const std::string & violation : cell.Violations())
      {
        stream << "  VIOLATED: " << format.Name() << ": " << violation << "\n";
        exitCode = 1;
      }
    }
  }
  catch (const std::exception & error)
  {
    std::ofstream(text) << "| " << format.Name() << " | VIOLATED: " << error.what() << " |\n";
  }
  _exit(exitCode);
}

} // namespace

int
main(int argc, char * argv[])
{
  bool                  writers = false;
  bool                  readers = false;
  bool                  full = false;
  std::set<std::string> extensions;
  for (int i = 1; i < argc; ++i)
  {
    const std::string argument = argv[i];
    writers = writers || argument == "writers";
    readers = readers || argument == "readers";
    full = full || argument == "--full";
    if (argument.front() == '.')
    {
      extensions.insert(argument);
    }
  }
  if (writers == readers)
  {
    std::cerr << "CudaMedianFilesCampaign writers|readers [--full] [extension...]" << std::endl;
    return 1;
  }
  itk::Object::GlobalWarningDisplayOff();
  const std::uint64_t seed = Seed();
  std::cout << "CUDAMEDIAN_TEST_SEED=" << seed << "\n"
            << (writers
                  ? "| format | no fault | disk full at each eighth | file size limit | failing call | SIGTERM at a "
                    "call | SIGKILL at a call | SIGTERM, SIGINT at random | SIGKILL at random |\n"
                    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
                  : "| format | whole | cut at each eighth | data file cut | failing read | bit flipped in the "
                    "header |\n| --- | --- | --- | --- | --- | --- |\n")
            << std::flush;

  const cudamediantest::TemporaryDirectory texts;
  std::vector<fs::path>                    rows;
  bool                                     violated = false;
  std::size_t                              running = 0;
  const auto                               wait = [&] {
    int status = 0;
    if (::wait(&status) > 0)
    {
      violated = violated || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
      --running;
    }
  };
  for (std::size_t i = 0; i < Formats.size(); ++i)
  {
    const Format & format = Formats[i];
    // The program writes without compression: what is packed is only read.
    if ((!extensions.empty() && extensions.count(format.extension) == 0) || (writers && format.isCompressed))
    {
      continue;
    }
    if (running >= std::max(1U, std::thread::hardware_concurrency()))
    {
      wait();
    }
    rows.push_back(texts.Path() / std::to_string(i));
    StartRow(format, writers, full, seed + i, rows.back());
    ++running;
  }
  while (running > 0)
  {
    wait();
  }
  for (const fs::path & row : rows)
  {
    const std::string text = ReadText(row);
    violated = violated || text.empty();
    std::cout << text;
  }
  std::cout << (violated ? "violated" : "all held") << std::endl;
  return violated ? 1 : 0;
}
