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
// Every scalar pixel type in two dimensions: all pixels equal to itk::MedianImageFilter's.

#include "CudaMedianTestAgainstItk.h"

namespace
{

template <typename TPixel>
class CudaMedianImageFilterAgainstItk2D : public testing::Test
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
TYPED_TEST_SUITE(CudaMedianImageFilterAgainstItk2D, PixelTypes);

using Sizes = std::vector<itk::Size<2>>;

// One pixel, one pixel wide, smaller than a tile, smaller than a vector, and multiples of nothing.
const Sizes thinSizes{ { { 1, 1 } }, { { 1, 9 } }, { { 13, 1 } }, { { 2, 3 } }, { { 3, 2 } } };
const Sizes oddSizes{ { { 5, 31 } }, { { 37, 29 } }, { { 131, 7 } } };

} // namespace

TYPED_TEST(CudaMedianImageFilterAgainstItk2D, IsotropicRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 1 } }, { { 2, 2 } }, { { 3, 3 } }, { { 5, 5 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk2D, AnisotropicRadii)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 2 } }, { { 4, 1 } }, { { 2, 5 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk2D, RadiusZeroOnSomeAxes)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 0, 0 } }, { { 3, 0 } }, { { 0, 2 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, oddSizes);
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, thinSizes);
}

TYPED_TEST(CudaMedianImageFilterAgainstItk2D, RadiusLargerThanTheImage)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 2, 2 } }, { { 4, 5 } }, { { 9, 9 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 2, 2 } }, { { 1, 3 } }, { { 4, 3 } } });
}

TYPED_TEST(CudaMedianImageFilterAgainstItk2D, WindowsBeyondTilePrograms)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 6, 6 } }, { { 11, 3 } }, { { 1, 17 } }, { { 8, 9 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 23, 19 } }, { { 1, 29 } } });
}

// Backends work through a row in segments of at most some thousand pixels, and through an image in many blocks.
TYPED_TEST(CudaMedianImageFilterAgainstItk2D, LongRowsAndManyTiles)
{
  CUDAMEDIAN_TRACE_SEED();
  const Sizes radii{ { { 1, 1 } }, { { 3, 3 } }, { { 5, 5 } }, { { 0, 2 } } };
  cudamediantest::ExpectEqualToItk<TypeParam>(radii, Sizes{ { { 4201, 3 } }, { { 203, 101 } } });
}
