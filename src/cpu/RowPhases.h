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
#ifndef RowPhases_h
#define RowPhases_h

#include <cstddef>
#include <cstdint>

namespace cudamedian
{

/** Both functions move whole vectors of 64 bytes: `count`, the keys of one phase, is a multiple of that. */
constexpr std::size_t rowPhaseBytes = 64;

/** The functions behind the templates below, for keys of 1, 2, 4 or 8 bytes. */
void
SplitBytes(const void * row, void * phases, std::size_t keyBytes, std::size_t number, std::size_t count);
void
JoinBytes(const void * phases, void * row, std::size_t keyBytes, std::size_t number, std::size_t count);

/** Splits a row into phases: phase p gets keys p, p + number, p + 2 number, ...
 * \param row number * count keys
 * \param phases phase p starts at phases + p * count */
template <typename TKey>
void
SplitIntoPhases(const TKey * row, TKey * phases, std::size_t number, std::size_t count)
{
  SplitBytes(row, phases, sizeof(TKey), number, count);
}

/** Joins phases to a row: the other way round, each phase in a place of its own. */
template <typename TKey>
void
JoinPhases(const TKey * const * phases, TKey * row, std::size_t number, std::size_t count)
{
  JoinBytes(phases, row, sizeof(TKey), number, count);
}

} // namespace cudamedian

#endif
