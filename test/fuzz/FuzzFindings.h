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
#ifndef FuzzFindings_h
#define FuzzFindings_h

#include "FuzzFilters.h"
#include "FuzzOptions.h"

#include <string>

namespace cudamedianfuzz
{

/** What is wrong with a case; no kind: nothing. */
struct Finding
{
  std::string kind;
  std::string text;
};

/** What failures that look alike have in common: the kind, what was asked for, and the text without numbers. */
std::string
GetSignature(const Case & c, const Finding & finding);

/** Says of an output what it is, what it must be, and what ran. */
std::string
DescribeDifference(const Case &              c,
                   std::int64_t              number,
                   const std::vector<char> & expected,
                   const std::vector<char> & actual,
                   const FilterResult &      result);

/** Counts what is asked for beyond medians of boxes. */
void
CountRules(const Case & c, Counts & counts);

} // namespace cudamedianfuzz

#endif
