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
// What a pixel type is made of, and the arithmetic that all rooms share.

#include "DivideUp.h"
#include "PixelFormat.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

using namespace cudamedian;

TEST(CudaMedianPixelFormat, TypesDifferAndAgreeWithTheirNames)
{
  std::set<std::pair<KeyFormat, bool>> formats;
  for (const PixelType type : allPixelTypes)
  {
    const PixelFormat format = GetPixelFormat(type);
    const std::string name = ToString(type);
    formats.insert({ format.keys, format.isSigned });
    EXPECT_EQ(format.isSigned, name[0] != 'u') << name;
    EXPECT_EQ(GetKeyMapping(format.keys) == KeyMapping::Float, name[0] == 'f') << name;
    EXPECT_EQ(std::to_string(8 * GetPixelBytes(format.keys)), name.substr(name.find_first_of("0123456789"))) << name;
    EXPECT_EQ(PixelBytes(type), static_cast<std::size_t>(GetPixelBytes(format.keys))) << name;
  }
  EXPECT_EQ(formats.size(), std::size(allPixelTypes));
}

TEST(CudaMedianPixelFormat, KeysAreThoseOfTheFormat)
{
  for (const PixelType type : allPixelTypes)
  {
    const KeyFormat format = GetKeyFormat(type);
    const int       bytes = DispatchKeys(format, [](auto key) { return int{ sizeof(typename decltype(key)::Bits) }; });
    const auto      mapping = DispatchKeys(format, [](auto key) { return decltype(key)::mapping; });
    EXPECT_EQ(bytes, GetPixelBytes(format)) << ToString(type);
    EXPECT_EQ(mapping, GetKeyMapping(format)) << ToString(type);
  }
}

TEST(CudaMedianPixelFormat, OnlySignedIntegersHaveASignMask)
{
  EXPECT_EQ(GetSignMask(PixelType::Int8), 0x80U);
  EXPECT_EQ(GetSignMask(PixelType::Int64), std::uint64_t{ 1 } << 63);
  EXPECT_EQ(GetSignMask(PixelType::UInt32), 0U);
  EXPECT_EQ(GetSignMask(PixelType::Float32), 0U);
}

TEST(CudaMedianDivideUp, RoundsUp)
{
  EXPECT_EQ(DivideUp(0, 4), 0);
  EXPECT_EQ(DivideUp(1, 4), 1);
  EXPECT_EQ(DivideUp(4, 4), 1);
  EXPECT_EQ(DivideUp(5, 4), 2);
  EXPECT_EQ(DivideUp(std::int64_t{ 1 } << 40, 3), 366503875926);
  EXPECT_EQ(RoundUp(0, 16), 0);
  EXPECT_EQ(RoundUp(17, 16), 32);
}
