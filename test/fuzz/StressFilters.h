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
#ifndef StressFilters_h
#define StressFilters_h

#include "FuzzCase.h"

#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cudamedianfuzz
{

/** How a run ended. */
struct StressResult
{
  bool              aborted{ false };
  std::string       error;  ///< of an exception that was not the abort's; empty: none
  std::vector<char> pixels; ///< of the requested region, unless there was an exception
};

/** Filters that several threads use in turn, each with its own settings. */
class StressFilters
{
public:
  StressFilters();
  ~StressFilters();

  /** Whether there are filters for the case's pixel type and dimension. */
  static bool
  Covers(const Case & c);

  /** Updates one of the filters, and asks it to stop where its progress passes `abortAt`; then, if it stopped, updates
   * the same filter again and lets it finish. */
  std::vector<StressResult>
  Run(const Case & c, const std::vector<char> & pixels, float abortAt, std::mt19937_64 & random);

private:
  struct Pools;
  std::unique_ptr<Pools> m_Pools;
};

} // namespace cudamedianfuzz

#endif
