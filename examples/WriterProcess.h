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
#ifndef WriterProcess_h
#define WriterProcess_h

#include <cstdint>
#include <functional>
#include <string>

/** Reads after which a writer that has written nothing meanwhile is taken for one that never ends. Writers of TIFF read
 * two numbers of each image of a file that is written on, of at most a million images. */
constexpr std::uint64_t MostReadsWithoutWrite = 4'000'000;

/** Calls `write` in a copy of this process: of ITK's writers some crash when a disk is full, some end the program, and
 * some do so when it ends by itself. One of them may never end: after a write that failed, libtiff 4.7 can search
 * for the last image of a file in a circle. So a writer that reads `mostReads` times and writes nothing is ended, where
 * the system tells what a process reads.
 * \throws UserError with what went wrong */
void
WriteApart(const std::function<void(const std::string &)> & write,
           const std::string &                              path,
           std::uint64_t                                    mostReads = MostReadsWithoutWrite);

#endif
