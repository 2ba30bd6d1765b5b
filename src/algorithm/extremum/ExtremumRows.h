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
#ifndef ExtremumRows_h
#define ExtremumRows_h

#include <cstddef>

namespace cudamedian
{

/** The most rows that are taken together. */
constexpr int mostExtremumRows = 5;

/** Writes the least, or the greatest, of the keys that rows have at each place. The target may be the first row, also
 * where the others begin behind it in the same memory.
 *
 * \param rows their number is 1 to mostExtremumRows
 * \param count keys of a row
 * \param keyBytes 1, 2, 4 or 8
 * \param isSigned whether keys are signed integers, or else unsigned ones */
void
TakeExtremes(void *               target,
             const void * const * rows,
             int                  number,
             std::size_t          count,
             std::size_t          keyBytes,
             bool                 isMax,
             bool                 isSigned = false);

} // namespace cudamedian

#endif
