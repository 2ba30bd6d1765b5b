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
#include "Terminal.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <sstream>

#include <sys/mman.h>
#include <unistd.h>

namespace
{

void
FlushStandardStreams()
{
  std::cout.flush();
  std::cerr.flush();
  std::fflush(stdout);
  std::fflush(stderr);
}

/** A file that needs no disk, which may be full. */
std::FILE *
MemoryFile()
{
  const int descriptor = memfd_create("CudaMedianImageFilter", MFD_CLOEXEC);
  return descriptor >= 0 ? fdopen(descriptor, "w+") : std::tmpfile();
}

} // namespace

QuietScope::QuietScope()
  : m_StandardOutput(dup(STDOUT_FILENO))
  , m_StandardError(dup(STDERR_FILENO))
  , m_Collected(MemoryFile())
{
  FlushStandardStreams();
  if (m_Collected != nullptr)
  {
    dup2(fileno(m_Collected), STDOUT_FILENO);
    dup2(fileno(m_Collected), STDERR_FILENO);
  }
}

QuietScope::~QuietScope()
{
  FlushStandardStreams();
  if (m_StandardOutput >= 0)
  {
    dup2(m_StandardOutput, STDOUT_FILENO);
    close(m_StandardOutput);
  }
  if (m_StandardError >= 0)
  {
    dup2(m_StandardError, STDERR_FILENO);
    close(m_StandardError);
  }
  if (m_Collected != nullptr)
  {
    std::fclose(m_Collected);
  }
}

std::string
QuietScope::Text() const
{
  FlushStandardStreams();
  std::string text;
  if (m_Collected != nullptr)
  {
    std::rewind(m_Collected);
    for (int character = std::fgetc(m_Collected); character != EOF; character = std::fgetc(m_Collected))
    {
      text += static_cast<char>(character);
    }
  }
  return OneLine(text);
}

ProgressBar::ProgressBar()
  : m_IsTerminal(isatty(STDERR_FILENO) == 1)
{}

ProgressBar::~ProgressBar()
{
  if (m_Percent >= 0)
  {
    // Leave no half bar behind: whatever is printed next starts on an empty line.
    std::cerr << "\r\033[K" << std::flush;
  }
}

void
ProgressBar::Show(float fraction)
{
  const int percent = std::clamp(static_cast<int>(100 * fraction), 0, 100);
  if (!m_IsTerminal || percent == m_Percent)
  {
    return;
  }
  m_Percent = percent;
  constexpr int width = 50;
  const int     filled = percent * width / 100;
  std::cerr << "\r[" << std::string(filled, '#') << std::string(width - filled, ' ') << "] " << percent << " %"
            << std::flush;
}

std::string
OneLine(const std::string & text)
{
  std::istringstream words(text);
  std::string        line;
  for (std::string word; words >> word;)
  {
    line += line.empty() ? word : " " + word;
  }
  return line;
}

std::string
Description(const itk::ExceptionObject & error)
{
  const std::string text = OneLine(error.GetDescription());
  const std::string end = "): ";
  const auto        position = text.find(end);
  return text.rfind("ITK ERROR:", 0) == 0 && position != std::string::npos ? text.substr(position + end.size()) : text;
}
