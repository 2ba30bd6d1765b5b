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
// Every scalar pixel type in three dimensions: all pixels equal to itk::MedianImageFilter's.

#include "CudaMedianTestAgainstItk.h"

namespace
{

template <typename TPixel>
class CudaMedianImageFilterAgainstItk3D : public testing::Test
{};

using PixelTypes = testing::Types<char,
                                  signed char,
                                  unsigned char,
                                  short,
                                  unsigned short,
                                  int,
                                  unsigned int,
                                  long,
                                  unsigned long,
                                  long long,
                                  unsigned long long,
                                  float,
                                  double>;
TYPED_TEST_SUITE(CudaMedianImageFilterAgainstItk3D, PixelTypes);

using Sizes = std::vector<itk::Size<3>>;

// One pixel, one pixel wide, smaller than a tile, and multiples of nothing.
const Sizes thinSizes{ { { 1, 1, 1 } }, { { 1, 7, 5 } }, { { 9, 1, 3 } }, { { 5, 6, 1 } }, { { 3, 2, 3 } } };
const Sizes oddSizes{ { { 21, 13, 7 } }, { { 37, 5, 3 } } };

} // namespace

TYPED_TEST(CudaMedianImageFilterAgainstItk3D, IsotropicRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 1, 1 } }, { { 2, 2, 2 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk3D, AnisotropicRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 2, 1 } }, { { 2, 1, 1 } }, { { 1, 1, 2 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk3D, RadiusZeroOnSomeAxes)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 0, 0, 0 } }, { { 2, 2, 0 } }, { { 1, 0, 2 } }, { { 0, 1, 1 } }, { { 0, 0, 3 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk3D, RadiusLargerThanTheImage)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 2, 2, 2 } }, { { 3, 4, 5 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 2, 2, 2 } }, { { 1, 3, 2 } } });
}

TYPED_TEST(CudaMedianImageFilterAgainstItk3D, WindowsBeyondTilePrograms)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 3, 3, 3 } }, { { 1, 5, 2 } }, { { 7, 1, 1 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 11, 9, 5 } }, { { 1, 13, 4 } } });
}

// Backends work through a row in segments of at most some thousand pixels, and through an image in many blocks.
TYPED_TEST(CudaMedianImageFilterAgainstItk3D, LongRowsAndManyTiles)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 1, 1 } }, { { 2, 2, 2 } }, { { 1, 0, 1 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 2101, 3, 2 } }, { { 43, 41, 19 } } });
}
