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
#include "MiddleValues.h"

#include "HalfFloat.h"
#include "PixelArithmetic.h"
#include "PixelFormat.h"
#include "PixelValues.h"
#include "RequestWindow.h"

#include <type_traits>

namespace cudamedian
{
namespace
{

/** Half floats, as integers of their order. */
template <PixelType VType>
std::int16_t
GetMeanOfHalves(std::int16_t a, std::int16_t b)
{
  const auto getValue = [](std::int16_t key) {
    return GetHalfFloat(VType, DecodeHalfFloat(VType, static_cast<std::uint16_t>(key)));
  };
  return static_cast<std::int16_t>(EncodeHalfFloat(VType, RoundToHalfFloat(VType, (getValue(a) + getValue(b)) / 2)));
}

} // namespace

Recipe
GetRecipe(const MedianRequest & request)
{
  const auto                    window = GetWindow(request);
  const auto                    pixels = window.CountPixels();
  const std::vector<ShrinkFill> both{ ShrinkFill::Chessboard, ShrinkFill::OppositeChessboard };
  const bool                    isEven = pixels % 2 == 0;
  Recipe                        recipe;
  recipe.upper.rank = window.rank;
  recipe.lower.rank = isEven ? window.rank - 1 : window.rank;
  recipe.isMean = request.evenMedian == EvenMedian::Mean && isEven;
  const bool isLower = request.evenMedian == EvenMedian::Lower;
  if (isLower && !HasShrunkBorder(request))
  {
    recipe.upper.rank = recipe.lower.rank;
  }
  if (!HasShrunkBorder(request) || pixels == 1)
  {
    return recipe;
  }
  // Two pixels are the only window whose median is a maximum.
  if (const auto fill = FindSingleFill(request))
  {
    recipe.upper.fills = { *fill };
    return recipe;
  }
  recipe.isMean = request.evenMedian == EvenMedian::Mean;
  auto upper = request;
  upper.evenMedian = EvenMedian::Upper;
  if (recipe.isMean && FindSingleFill(upper))
  {
    recipe.upper.fills = { ShrinkFill::Balanced };
    recipe.lower.fills = { ShrinkFill::OppositeBalanced };
    return recipe;
  }
  recipe.upper.fills = both;
  recipe.lower.fills = both;
  recipe.upper.isGreater = !isEven;
  recipe.lower.isGreater = isEven;
  recipe.upper = isLower ? recipe.lower : recipe.upper;
  return recipe;
}

void
KeepOne(PixelType type, Pixels & kept, const Pixels & other, bool isGreater)
{
  const auto copied = IsHalfFloat(type) ? PixelType::Int16 : type;
  DispatchKeys(GetKeyFormat(copied), [&](auto keys) {
    using Key = decltype(keys);
    using Bits = typename Key::Bits;
    const auto   mask = static_cast<Bits>(GetSignMask(copied));
    auto *       ours = reinterpret_cast<Bits *>(kept.data());
    const auto * theirs = reinterpret_cast<const Bits *>(other.data());
    for (std::size_t i = 0; i < kept.size() / PixelBytes(type); ++i)
    {
      const bool isLess = Key::FromBits(ours[i], mask) < Key::FromBits(theirs[i], mask);
      ours[i] = isLess == isGreater ? theirs[i] : ours[i];
    }
  });
}

void
TakeMeans(PixelType type, Pixels & kept, const Pixels & other)
{
  DispatchPixel(type, [&](auto pixel) {
    using Pixel = decltype(pixel);
    auto *       ours = reinterpret_cast<Pixel *>(kept.data());
    const auto * theirs = reinterpret_cast<const Pixel *>(other.data());
    for (std::size_t i = 0; i < kept.size() / PixelBytes(type); ++i)
    {
      if constexpr (std::is_same_v<Pixel, std::int16_t>)
      {
        ours[i] = type == PixelType::Float16    ? GetMeanOfHalves<PixelType::Float16>(ours[i], theirs[i])
                  : type == PixelType::BFloat16 ? GetMeanOfHalves<PixelType::BFloat16>(ours[i], theirs[i])
                                                : GetMean(ours[i], theirs[i]);
      }
      else
      {
        ours[i] = GetMean(ours[i], theirs[i]);
      }
    }
  });
}

} // namespace cudamedian
