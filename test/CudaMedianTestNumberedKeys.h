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
#ifndef CudaMedianTestNumberedKeys_h
#define CudaMedianTestNumberedKeys_h

#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"

#include <functional>
#include <string>
#include <vector>

/** 16-bit images that are hard for kernels that have a number for 65,282 keys only (NumberedKeys). */
namespace cudamediantest
{

struct NumberedImage
{
  std::string              name;
  BitsImage<std::uint16_t> image;
  bool                     isSigned;

  /** Whether keys are above 65281, the highest that has a number in most blocks. */
  bool
  HasBrightKeys() const
  {
    return std::any_of(image.pixels.begin(), image.pixels.end(), [this](std::uint16_t pixel) {
      return (isSigned ? pixel ^ 0x8000U : pixel) > 65281U;
    });
  }
};

/** Images of several blocks. Those whose name has a range have its least and greatest key in each block: 65,282 keys
 * wide, so that each has a number one way or the other, and one key wider. */
inline std::vector<NumberedImage>
MakeNumberedImages(cudamedian::PixelType type, bool isDeep)
{
  using Random = std::mt19937_64;
  using Position = std::uint64_t;
  using Key = std::function<std::uint64_t(Random &, Position x, Position y)>;
  const auto range = [](std::uint64_t first, std::uint64_t last) -> Key {
    return [=](Random & generator, Position x, Position y) {
      // Both ends in every few pixels, and with them as many values from between.
      const auto kind = (x + 3 * y) % 8;
      return kind == 0 ? first : kind == 1 ? last : first + generator() % (last - first + 1);
    };
  };
  // Left half dark, right half bright, with pixels of the other kind strewn in.
  const auto strewn = [](std::uint64_t dark, std::uint64_t bright, std::uint64_t each) -> Key {
    return [=](Random & generator, Position x, Position) {
      const auto isOther = generator() % each == 0;
      return ((x / 160 % 2 == 0) != isOther ? dark : bright) + generator() % 3;
    };
  };
  // In the midst of the upper half of some blocks, and of the lower half of others.
  const auto patches = [](bool isDark) -> Key {
    return [=](Random & generator, Position x, Position y) {
      const bool isPatch = x % 64 < 12 && (y + 28 + 16 * (x / 128 % 2)) % 32 < 8;
      const auto key = !isPatch ? generator() % 300 : x % 64 < 6 ? 65535 : 65279 + generator() % 257;
      return isDark ? 65535 - key : key;
    };
  };
  const std::pair<const char *, Key> kinds[] = {
    { "all keys", range(0, 65535) },
    { "range 0 to 65281", range(0, 65281) },
    { "range 0 to 65282", range(0, 65282) },
    { "range 100 to 65381", range(100, 65381) },
    { "range 100 to 65382", range(100, 65382) },
    { "range 254 to 65535", range(254, 65535) },
    { "range 253 to 65535", range(253, 65535) },
    { "dark only", range(0, 255) },
    { "bright only", range(65280, 65535) },
    { "two values", [](Random & generator, Position, Position) { return generator() % 2 * 65535; } },
    { "the limits and their neighbours",
      [](Random & generator, Position, Position) {
        const std::uint64_t          keys[] = { 253, 254, 255, 65280, 65281, 65282 };
        return keys[generator() % 6];
      } },
    { "dark beside bright", strewn(0, 65533, 9) },
    { "dark beside bright, strewn at random", strewn(120, 65400, 3) },
    { "bright patches in the dark", patches(false) },
    { "dark patches in the bright", patches(true) },
    { "a bright line beside a block",
      [](Random & generator, Position x, Position) { return x / 2 == 64 ? 65400 : generator() % 300; } },
    { "medians that come up to the brightest",
      [](Random & generator, Position x, Position) { return 65535 - std::min<std::uint64_t>(x, generator() % 600); } },
    { "medians that come down to the darkest, one bright pixel in each block",
      [](Random & generator, Position x, Position y) {
        return x % 64 == 5 && y % 32 == 7 ? 65535 : std::min<std::uint64_t>(x, generator() % 600);
      } }
  };
  const bool isSigned = cudamedian::GetSignMask(type) != 0;
  Random     generator(Seed());

  std::vector<NumberedImage> images;
  for (const auto & kind : kinds)
  {
    const Extent extent = isDeep ? Extent{ { 330, 37, 3, 1 } } : Extent{ { 330, 67, 1, 1 } };
    images.push_back({ kind.first, BitsImage<std::uint16_t>(extent), isSigned });
    ForEachPosition(extent, [&](const Extent & p) {
      const auto key = kind.second(generator, static_cast<std::uint64_t>(p[0]), static_cast<std::uint64_t>(p[1]));
      images.back().image.At(p) = static_cast<std::uint16_t>(key ^ (isSigned ? 0x8000U : 0U));
    });
  }
  return images;
}

} // namespace cudamediantest

#endif
