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

/** Splits a row into phases: phase p gets keys p, p + number, p + 2 number, ...
 * \param row number * count keys
 * \param phases phase p starts at phases + p * count */
void
SplitIntoPhases(const std::uint8_t * row, std::uint8_t * phases, std::size_t number, std::size_t count);
void
SplitIntoPhases(const std::uint16_t * row, std::uint16_t * phases, std::size_t number, std::size_t count);
void
SplitIntoPhases(const std::uint32_t * row, std::uint32_t * phases, std::size_t number, std::size_t count);
void
SplitIntoPhases(const std::uint64_t * row, std::uint64_t * phases, std::size_t number, std::size_t count);

/** Joins phases to a row: the other way round, each phase in a place of its own. */
void
JoinPhases(const std::uint8_t * const * phases, std::uint8_t * row, std::size_t number, std::size_t count);
void
JoinPhases(const std::uint16_t * const * phases, std::uint16_t * row, std::size_t number, std::size_t count);
void
JoinPhases(const std::uint32_t * const * phases, std::uint32_t * row, std::size_t number, std::size_t count);
void
JoinPhases(const std::uint64_t * const * phases, std::uint64_t * row, std::size_t number, std::size_t count);

} // namespace cudamedian

#endif
