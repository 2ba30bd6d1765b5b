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
#include "SlicerModule.h"

#include "Options.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace
{

// Parts of the progress: most of the time goes into the filter, the rest into files.
constexpr double ReadFraction = 0.05;
constexpr double FilteredFraction = 0.9;

constexpr double                    SmallestStep = 0.01;
constexpr std::chrono::milliseconds LongestWait(100);

/** The lines of a text as one: Slicer reads one line for each parameter. */
std::string
JoinLines(const std::string & text)
{
  std::istringstream lines(text);
  std::string        joined;
  for (std::string line; std::getline(lines, line);)
  {
    joined += (joined.empty() || line.empty() ? "" : "; ") + line;
  }
  return joined;
}

} // namespace

bool
AsksForModuleDescription(int argc, const char * const argv[])
{
  return argc == 2 && std::strcmp(argv[1], "--xml") == 0;
}

bool
IsRunBySlicer(int argc, const char * const argv[])
{
  const std::string flag = "--returnparameterfile";
  return std::any_of(argv + 1, argv + std::max(argc, 1), [&](const char * argument) {
    return std::strncmp(argument, flag.c_str(), flag.size()) == 0;
  });
}

int
PrintModuleDescription()
{
  if (!(std::cout << ModuleDescriptionXml).flush())
  {
    std::cerr << "CudaMedianImageFilter: standard output cannot be written" << std::endl;
    return 1;
  }
  return 0;
}

SlicerModule::SlicerModule(const std::string & parameterFile)
  : m_ParameterFile(parameterFile)
{
  std::cout << "<filter-start>\n<filter-name>CudaMedianImageFilter</filter-name>\n"
            << "<filter-comment>Median filter</filter-comment>\n</filter-start>\n";
  Print(0);
}

void
SlicerModule::Begin(const std::string & comment)
{
  std::cout << "<filter-comment>" << comment << "</filter-comment>" << std::endl;
}

void
SlicerModule::ShowFiltered(double fraction)
{
  const double progress = ReadFraction + (FilteredFraction - ReadFraction) * std::clamp(fraction, 0.0, 1.0);
  const bool   isDue = Clock::now() - m_LastPrint >= LongestWait;
  if (progress > m_Progress && (isDue || progress - m_Progress >= SmallestStep))
  {
    Print(progress);
  }
}

void
SlicerModule::SetReport(const std::string & report)
{
  m_Report = JoinLines(report);
}

void
SlicerModule::End()
{
  const std::string content = "report = " + m_Report + "\n";
  m_ParameterFile.Write(
    [&](const std::string & path) {
      std::ofstream file(path, std::ios::binary);
      errno = 0;
      if (!(file << content).flush())
      {
        throw UserError("cannot write '" + m_ParameterFile.Destination().string() + "': " + std::strerror(errno));
      }
    },
    [&](const std::string & path) {
      std::ostringstream written;
      written << std::ifstream(path, std::ios::binary).rdbuf();
      if (written.str() != content)
      {
        throw UserError("cannot write '" + m_ParameterFile.Destination().string() +
                        "': what was written is not what is read back");
      }
    });
  Print(1);
  const std::chrono::duration<double> seconds = Clock::now() - m_Start;
  std::cout << "<filter-end>\n<filter-name>CudaMedianImageFilter</filter-name>\n<filter-time>" << std::fixed
            << std::setprecision(3) << seconds.count() << "</filter-time>\n</filter-end>" << std::endl;
}

void
SlicerModule::Print(double progress)
{
  m_Progress = progress;
  m_LastPrint = Clock::now();
  std::cout << "<filter-progress>" << std::fixed << std::setprecision(4) << progress << "</filter-progress>"
            << std::endl;
}
