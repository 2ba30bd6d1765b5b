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
#ifndef Terminal_h
#define Terminal_h

#include "itkMacro.h"

#include <cstdio>
#include <string>

/** \class QuietScope
 * Collects what image libraries print to standard output and standard error while the object lives.
 * When they also throw, this program reports that in one line and their text is not wanted; when they do not, their
 * text may be the only sign of a damaged file. */
class QuietScope
{
public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope &) = delete;
  QuietScope &
  operator=(const QuietScope &) = delete;

  /** What was printed so far, in one line. */
  std::string
  Text() const;

private:
  int         m_StandardOutput;
  int         m_StandardError;
  std::FILE * m_Collected;
};

/** \class ProgressBar
 * A line on standard error that shows the fraction done, if standard error is a terminal. */
class ProgressBar
{
public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar &) = delete;
  ProgressBar &
  operator=(const ProgressBar &) = delete;

  void
  Show(float fraction);

private:
  bool m_IsTerminal;
  int  m_Percent{ -1 };
};

/** What an ITK exception says, in one line and without the name and address of the object that threw it. */
std::string
Description(const itk::ExceptionObject & error);

/** The text with every run of white space, line breaks included, made one blank. */
std::string
OneLine(const std::string & text);

#endif
