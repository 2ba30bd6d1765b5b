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
#ifndef RuledRun_h
#define RuledRun_h

#include "itkCudaMedianEngine.h"

#include <optional>

namespace cudamedian
{

/** Runs a checked request for the CPU whose rules are applied to rows as they pass (RowRules.h), without a copy.
 * \returns nothing where its rules are others, or no algorithm for its window takes such rows: nothing was done. */
std::optional<ExecutionReport>
RunInRuledRows(const MedianRequest & request);

} // namespace cudamedian

#endif
