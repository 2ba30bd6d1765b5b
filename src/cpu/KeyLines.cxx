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
#include "KeyLines.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "KeyLines.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "KeyVectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

template <typename TKey, KeyMapping VMapping>
HWY_INLINE void
Split(const void * row, void * const * rowLines, int number, std::size_t count, std::uint64_t keyMask)
{
  const KeyTag<TKey>               d;
  const KeyVectors<TKey, VMapping> keys(keyMask);
  const std::size_t                n = hn::Lanes(d);
  const auto *                     pixels = static_cast<const TKey *>(row);
  const auto                       line = [&](int i) HWY_ATTR { return static_cast<TKey *>(rowLines[i]); };
  hn::Vec<KeyTag<TKey>>            p, q, r, s;
  switch (number)
  {
    case 1:
      for (std::size_t i = 0; i < count; i += n)
      {
        hn::StoreU(keys.ToKeys(hn::LoadU(d, pixels + i)), d, line(0) + i);
      }
      return;
    case 2:
      for (std::size_t i = 0; i < count; i += n)
      {
        hn::LoadInterleaved2(d, pixels + 2 * i, p, q);
        hn::StoreU(keys.ToKeys(p), d, line(0) + i);
        hn::StoreU(keys.ToKeys(q), d, line(1) + i);
      }
      return;
    case 4:
      for (std::size_t i = 0; i < count; i += n)
      {
        FourColumns<TKey>::Load(pixels + 4 * i, p, q, r, s);
        hn::StoreU(keys.ToKeys(p), d, line(0) + i);
        hn::StoreU(keys.ToKeys(q), d, line(1) + i);
        hn::StoreU(keys.ToKeys(r), d, line(2) + i);
        hn::StoreU(keys.ToKeys(s), d, line(3) + i);
      }
      return;
    default:
      for (int column = 0; column < number; ++column)
      {
        for (std::size_t i = 0; i < count; ++i)
        {
          const auto bits = pixels[i * static_cast<std::size_t>(number) + static_cast<std::size_t>(column)];
          line(column)[i] = static_cast<TKey>(PixelKey<TKey, VMapping>::FromBits(bits, 0) ^ static_cast<TKey>(keyMask));
        }
      }
  }
}

template <typename TKey, KeyMapping VMapping>
HWY_INLINE void
Join(const void * const * rowLines, void * row, int number, std::size_t count, std::uint64_t keyMask)
{
  const KeyTag<TKey>               d;
  const KeyVectors<TKey, VMapping> keys(keyMask);
  const std::size_t                n = hn::Lanes(d);
  auto *                           pixels = static_cast<TKey *>(row);
  const auto                       line = [&](int i) HWY_ATTR { return static_cast<const TKey *>(rowLines[i]); };
  const auto load = [&](int column, std::size_t i) HWY_ATTR { return keys.ToBits(hn::LoadU(d, line(column) + i)); };
  switch (number)
  {
    case 1:
      for (std::size_t i = 0; i < count; i += n)
      {
        StoreColumns<TKey>(pixels + i, load(0, i));
      }
      return;
    case 2:
      for (std::size_t i = 0; i < count; i += n)
      {
        StoreColumns<TKey>(pixels + 2 * i, load(0, i), load(1, i));
      }
      return;
    case 4:
      for (std::size_t i = 0; i < count; i += n)
      {
        StoreColumns<TKey>(pixels + 4 * i, load(0, i), load(1, i), load(2, i), load(3, i));
      }
      return;
    default:
      for (int column = 0; column < number; ++column)
      {
        for (std::size_t i = 0; i < count; ++i)
        {
          pixels[i * static_cast<std::size_t>(number) + static_cast<std::size_t>(column)] =
            PixelKey<TKey, VMapping>::ToBits(static_cast<TKey>(line(column)[i] ^ static_cast<TKey>(keyMask)), 0);
        }
      }
  }
}

// Highway dispatches functions, not templates.
void
SplitAny(const PixelFormat & format,
         const void *        pixels,
         void * const *      lines,
         int                 number,
         std::size_t         count,
         bool                isComplemented)
{
  DispatchKeys(format.keys, [&](auto key) HWY_ATTR {
    Split<typename decltype(key)::Bits, decltype(key)::mapping>(
      pixels, lines, number, count, GetKeyMask(format, isComplemented));
  });
}
void
JoinAny(const PixelFormat & format, const void * const * lines, void * pixels, int number, std::size_t count)
{
  DispatchKeys(format.keys, [&](auto key) HWY_ATTR {
    Join<typename decltype(key)::Bits, decltype(key)::mapping>(lines, pixels, number, count, GetKeyMask(format, false));
  });
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
PixelsToLines(const PixelFormat & format,
              const void *        pixels,
              void * const *      lines,
              int                 number,
              std::size_t         count,
              bool                isComplemented)
{
  HWY_DYNAMIC_DISPATCH(SplitAny)(format, pixels, lines, number, count, isComplemented);
}
void
LinesToPixels(const PixelFormat & format, const void * const * lines, void * pixels, int number, std::size_t count)
{
  HWY_DYNAMIC_DISPATCH(JoinAny)(format, lines, pixels, number, count);
}

} // namespace cudamedian
#endif
