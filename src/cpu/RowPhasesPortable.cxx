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
// Without Highway. With a constant stride compilers find vector shuffles.
#include "RowPhases.h"

namespace cudamedian
{
namespace
{

template <std::size_t VNumber, typename TKey>
void
SplitBy(const TKey * row, TKey * phases, std::size_t number, std::size_t count)
{
  const std::size_t stride = VNumber == 0 ? number : VNumber;
  for (std::size_t phase = 0; phase < stride; ++phase)
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      phases[phase * count + i] = row[i * stride + phase];
    }
  }
}

template <std::size_t VNumber, typename TKey>
void
JoinBy(const TKey * const * phases, TKey * row, std::size_t number, std::size_t count)
{
  const std::size_t stride = VNumber == 0 ? number : VNumber;
  for (std::size_t phase = 0; phase < stride; ++phase)
  {
    for (std::size_t i = 0; i < count; ++i)
    {
      row[i * stride + phase] = phases[phase][i];
    }
  }
}

template <typename TKey>
void
Split(const TKey * row, TKey * phases, std::size_t number, std::size_t count)
{
  number == 1   ? SplitBy<1>(row, phases, number, count)
  : number == 2 ? SplitBy<2>(row, phases, number, count)
  : number == 4 ? SplitBy<4>(row, phases, number, count)
                : SplitBy<0>(row, phases, number, count);
}

template <typename TKey>
void
Join(const TKey * const * phases, TKey * row, std::size_t number, std::size_t count)
{
  number == 1   ? JoinBy<1>(phases, row, number, count)
  : number == 2 ? JoinBy<2>(phases, row, number, count)
  : number == 4 ? JoinBy<4>(phases, row, number, count)
                : JoinBy<0>(phases, row, number, count);
}

} // namespace

void
SplitBytes(const void * row, void * phases, std::size_t keyBytes, std::size_t number, std::size_t count)
{
  switch (keyBytes)
  {
    case 1:
      return Split(static_cast<const std::uint8_t *>(row), static_cast<std::uint8_t *>(phases), number, count);
    case 2:
      return Split(static_cast<const std::uint16_t *>(row), static_cast<std::uint16_t *>(phases), number, count);
    case 4:
      return Split(static_cast<const std::uint32_t *>(row), static_cast<std::uint32_t *>(phases), number, count);
    default:
      return Split(static_cast<const std::uint64_t *>(row), static_cast<std::uint64_t *>(phases), number, count);
  }
}
void
JoinBytes(const void * phases, void * row, std::size_t keyBytes, std::size_t number, std::size_t count)
{
  switch (keyBytes)
  {
    case 1:
      return Join(static_cast<const std::uint8_t * const *>(phases), static_cast<std::uint8_t *>(row), number, count);
    case 2:
      return Join(static_cast<const std::uint16_t * const *>(phases), static_cast<std::uint16_t *>(row), number, count);
    case 4:
      return Join(static_cast<const std::uint32_t * const *>(phases), static_cast<std::uint32_t *>(row), number, count);
    default:
      return Join(static_cast<const std::uint64_t * const *>(phases), static_cast<std::uint64_t *>(row), number, count);
  }
}

} // namespace cudamedian
