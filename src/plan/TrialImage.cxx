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
#include "TrialImage.h"

#include "Extents.h"
#include "HalfFloat.h"
#include "RankMap.h"

#include <cstring>
#include <random>

namespace cudamedian
{
namespace
{

Extent
ChooseExtent(const Window & window)
{
  const auto & radius = window.radius;
  const bool   isLarge = window.CountPixels() > 50000;
  return { { isLarge ? 67 : 331,
             isLarge         ? 5
             : radius[2] > 0 ? 11
                             : 23,
             radius[2] > 0 ? (isLarge ? 3 : 7) : 1,
             radius[3] > 0 ? 3 : 1 } };
}

/** Random pixels. Numbers without NaN: no kernel has to keep their bits. */
std::vector<char>
MakePixels(PixelType type, std::size_t count)
{
  std::mt19937_64   random(20261122);
  const auto        bytes = PixelBytes(type);
  std::vector<char> pixels(count * bytes);
  for (std::size_t i = 0; i < count; ++i)
  {
    auto bits = random();
    if (type == PixelType::Float32)
    {
      bits &= 0xBFFFFFFF;
    }
    else if (type == PixelType::Float64)
    {
      bits &= 0xBFFFFFFFFFFFFFFF;
    }
    std::memcpy(pixels.data() + i * bytes, &bits, bytes);
  }
  return pixels;
}

} // namespace

TrialImage::TrialImage(const Window & window, PixelType ofImage)
{
  // Maps of ranks go with copies, whose half floats are integers in their order.
  const auto type = window.ranks > 1 ? GetCopiedType(ofImage) : ofImage;
  request.pixelType = type;
  request.radius = window.radius;
  request.shorter = window.shorter;
  request.rank = window.rank;
  request.footprint = window.footprint;
  request.inputExtent = request.outputExtent = ChooseExtent(window);
  request.outputPixelBytes = PixelBytes(type);
  request.outputStride = GetPackedStride(request.outputExtent);
  pixels = MakePixels(type, static_cast<std::size_t>(Volume(request.inputExtent)));
  result.resize(pixels.size());
  if (window.ranks > 1)
  {
    std::mt19937_64           random(20261124);
    std::vector<std::int64_t> drawn(static_cast<std::size_t>(Volume(request.outputExtent)));
    for (auto & rank : drawn)
    {
      rank = window.rank + static_cast<std::int64_t>(random() % window.ranks);
    }
    request.greatestRank = window.GetGreatestRank();
    ranks = PackRanks(drawn, request);
    request.rankMap = ranks.data();
  }
  request.input = pixels.data();
  request.output = result.data();
}

std::string
TrialImage::Compare(const std::vector<char> & expected) const
{
  const auto  bytes = PixelBytes(request.pixelType);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < expected.size(); i += bytes)
  {
    differences += std::memcmp(&expected[i], &result[i], bytes) != 0;
  }
  return differences == 0
           ? ""
           : std::to_string(differences) + " of " + std::to_string(expected.size() / bytes) + " pixels are wrong";
}

} // namespace cudamedian
