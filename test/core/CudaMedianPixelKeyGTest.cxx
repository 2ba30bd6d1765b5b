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
#include "PixelFormat.h"

#include <gtest/gtest.h>

#include <cstring>

#include <limits>

namespace
{

template <typename TFloat, typename TBits>
TBits
GetKey(TFloat value)
{
  TBits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return cudamedian::PixelKey<TBits, cudamedian::KeyMapping::Float>::FromBits(bits, 0);
}

template <typename TFloat, typename TBits>
void
CheckFloatOrder()
{
  using Limits = std::numeric_limits<TFloat>;
  const TFloat ascending[] = { -Limits::infinity(),
                               Limits::lowest(),
                               -1,
                               -Limits::min(),
                               -Limits::denorm_min(),
                               TFloat{ -0.0 },
                               TFloat{ 0.0 },
                               Limits::denorm_min(),
                               Limits::min(),
                               1,
                               Limits::max(),
                               Limits::infinity(),
                               Limits::quiet_NaN() };
  for (std::size_t i = 1; i < std::size(ascending); ++i)
  {
    EXPECT_LT((GetKey<TFloat, TBits>(ascending[i - 1])), (GetKey<TFloat, TBits>(ascending[i]))) << i;
  }
  EXPECT_GT((GetKey<TFloat, TBits>(-Limits::quiet_NaN())), (GetKey<TFloat, TBits>(Limits::infinity())));
  EXPECT_GT((GetKey<TFloat, TBits>(-Limits::signaling_NaN())), (GetKey<TFloat, TBits>(Limits::infinity())));
  for (const auto value : ascending)
  {
    TBits bits;
    std::memcpy(&bits, &value, sizeof(bits));
    const auto key = cudamedian::PixelKey<TBits, cudamedian::KeyMapping::Float>::FromBits(bits, 0);
    EXPECT_EQ((cudamedian::PixelKey<TBits, cudamedian::KeyMapping::Float>::ToBits(key, 0)), bits);
  }
}

} // namespace

TEST(CudaMedianPixelKey, FloatKeysFollowTheDocumentedOrder)
{
  CheckFloatOrder<float, std::uint32_t>();
  CheckFloatOrder<double, std::uint64_t>();
}

TEST(CudaMedianPixelKey, SignedKeysKeepOrderAndComeBack)
{
  using Key = cudamedian::PixelKey<std::uint8_t, cudamedian::KeyMapping::Integer>;
  const auto mask = static_cast<std::uint8_t>(cudamedian::GetSignMask(cudamedian::PixelType::Int8));
  for (int value = -128; value < 128; ++value)
  {
    const auto bits = static_cast<std::uint8_t>(value);
    EXPECT_EQ(Key::FromBits(bits, mask), value + 128);
    EXPECT_EQ(Key::ToBits(Key::FromBits(bits, mask), mask), bits);
  }
  EXPECT_EQ(cudamedian::GetSignMask(cudamedian::PixelType::UInt16), 0U);
  EXPECT_EQ(cudamedian::GetSignMask(cudamedian::PixelType::Int64), std::uint64_t{ 1 } << 63);
}
