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
#ifndef PixelBits_h
#define PixelBits_h

#include "PixelArithmetic.h"
#include "PixelFormat.h"
#include "itkCudaMedianEngine.h"

#include <array>
#include <cstring>

/** Values of pixels as kernels are told them: bits in 64 bits. */
namespace cudamedian
{

/** The bits of a pixel, or of a distance. */
template <typename TBytes>
std::uint64_t
ToBits(const TBytes & bytes)
{
  std::uint64_t bits = 0;
  std::memcpy(&bits, &bytes, sizeof(bytes));
  return bits;
}

/** Bytes that a pixel has, of as many that were given. */
inline std::uint64_t
GetPixelBits(const std::array<unsigned char, 8> & bytes, std::size_t count)
{
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data(), count);
  return bits;
}

/** The bits of a float type's infinity; 0 for integers. */
inline std::uint64_t
GetInfinity(PixelType type)
{
  switch (type)
  {
    case PixelType::Float16:
      return 0x7C00;
    case PixelType::BFloat16:
      return 0x7F80;
    case PixelType::Float32:
      return 0x7F800000;
    case PixelType::Float64:
      return 0x7FF0000000000000;
    default:
      return 0;
  }
}

template <typename TDistance>
std::uint64_t
RoundToBits(double threshold)
{
  return ToBits(RoundDown<TDistance>(static_cast<Number<TDistance>>(threshold)));
}

/** The bits of the greatest distance up to which pixels of a type are no outliers. */
inline std::uint64_t
GetFarthest(PixelType type, double threshold)
{
  if (GetInfinity(type) != 0)
  {
    return type == PixelType::Float64 ? RoundToBits<double>(threshold) : RoundToBits<float>(threshold);
  }
  return DispatchBits(GetKeyFormat(type), [=](auto bits) { return RoundToBits<decltype(bits)>(threshold); });
}

} // namespace cudamedian

#endif
