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
#ifndef FuzzCover_h
#define FuzzCover_h

#include "FuzzCase.h"

#include <string>

/** What the documentation of the filter and the texts of its errors promise, written down once more. */
namespace cudamedianfuzz
{

/** Whether an algorithm that is asked for runs. */
enum class Cover
{
  Must,
  May, ///< what is promised leaves it open
  Never
};

/** For the CPU. */
Cover
GetHostCover(const Case & c);

/** For CUDA. */
Cover
GetDeviceCover(const Case & c);

/** Whether an error says, as documented, that the algorithm that was asked for does not cover the window. */
bool
SaysNotCovered(const Case & c, const std::string & error);

/** What a report says that is not so; empty: nothing. */
std::string
FindWrongReport(const Case & c, const cudamedian::ExecutionReport & report);

} // namespace cudamedianfuzz

#endif
