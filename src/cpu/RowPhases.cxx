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
#include "RowPhases.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "RowPhases.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

template <typename TKey>
HWY_INLINE void
Split(const TKey * row, TKey * phases, std::size_t number, std::size_t count)
{
  const hn::ScalableTag<TKey> d;
  hn::Vec<decltype(d)>        a, b, c, e;
  switch (number)
  {
    case 1:
      std::memcpy(phases, row, count * sizeof(TKey));
      return;
    case 2:
      for (std::size_t i = 0; i < count; i += hn::Lanes(d))
      {
        hn::LoadInterleaved2(d, row + 2 * i, a, b);
        hn::StoreU(a, d, phases + i);
        hn::StoreU(b, d, phases + count + i);
      }
      return;
    case 4:
      for (std::size_t i = 0; i < count; i += hn::Lanes(d))
      {
        hn::LoadInterleaved4(d, row + 4 * i, a, b, c, e);
        hn::StoreU(a, d, phases + i);
        hn::StoreU(b, d, phases + count + i);
        hn::StoreU(c, d, phases + 2 * count + i);
        hn::StoreU(e, d, phases + 3 * count + i);
      }
      return;
    default:
      for (std::size_t phase = 0; phase < number; ++phase)
      {
        for (std::size_t i = 0; i < count; ++i)
        {
          phases[phase * count + i] = row[i * number + phase];
        }
      }
  }
}

template <typename TKey>
HWY_INLINE void
Join(const TKey * const * phases, TKey * row, std::size_t number, std::size_t count)
{
  const hn::ScalableTag<TKey> d;
  switch (number)
  {
    case 1:
      std::memcpy(row, phases[0], count * sizeof(TKey));
      return;
    case 2:
      for (std::size_t i = 0; i < count; i += hn::Lanes(d))
      {
        hn::StoreInterleaved2(hn::LoadU(d, phases[0] + i), hn::LoadU(d, phases[1] + i), d, row + 2 * i);
      }
      return;
    case 4:
      for (std::size_t i = 0; i < count; i += hn::Lanes(d))
      {
        hn::StoreInterleaved4(hn::LoadU(d, phases[0] + i),
                              hn::LoadU(d, phases[1] + i),
                              hn::LoadU(d, phases[2] + i),
                              hn::LoadU(d, phases[3] + i),
                              d,
                              row + 4 * i);
      }
      return;
    default:
      for (std::size_t phase = 0; phase < number; ++phase)
      {
        for (std::size_t i = 0; i < count; ++i)
        {
          row[i * number + phase] = phases[phase][i];
        }
      }
  }
}

// Highway dispatches functions, not templates.
void
SplitAny(const void * row, void * phases, std::size_t keyBytes, std::size_t number, std::size_t count)
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
JoinAny(const void * phases, void * row, std::size_t keyBytes, std::size_t number, std::size_t count)
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

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(SplitAny);
HWY_EXPORT(JoinAny);

void
SplitBytes(const void * row, void * phases, std::size_t keyBytes, std::size_t number, std::size_t count)
{
  HWY_DYNAMIC_DISPATCH(SplitAny)(row, phases, keyBytes, number, count);
}
void
JoinBytes(const void * phases, void * row, std::size_t keyBytes, std::size_t number, std::size_t count)
{
  HWY_DYNAMIC_DISPATCH(JoinAny)(phases, row, keyBytes, number, count);
}

} // namespace cudamedian
#endif
