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
#ifndef PixelValues_h
#define PixelValues_h

#include "HalfFloat.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace cudamedian
{

/** Calls function(T()) with the type of pixels that copies have. */
template <typename TFunction>
auto
DispatchPixel(PixelType type, const TFunction & function)
{
  switch (type)
  {
    case PixelType::Int8:
      return function(std::int8_t());
    case PixelType::UInt8:
      return function(std::uint8_t());
    case PixelType::Int16:
    case PixelType::Float16:
    case PixelType::BFloat16:
      return function(std::int16_t());
    case PixelType::UInt16:
      return function(std::uint16_t());
    case PixelType::Int32:
      return function(std::int32_t());
    case PixelType::UInt32:
      return function(std::uint32_t());
    case PixelType::Int64:
      return function(std::int64_t());
    case PixelType::UInt64:
      return function(std::uint64_t());
    case PixelType::Float32:
      return function(float());
    case PixelType::Float64:
      break;
  }
  return function(double());
}

/** The value of a half float in a copy. */
inline double
GetCopiedHalf(PixelType type, std::int16_t copied)
{
  return GetHalfFloat(type, DecodeHalfFloat(type, static_cast<std::uint16_t>(copied)));
}

/** A value that the request gives, as copies have it. */
template <typename T>
T
ReadValue(PixelType type, const std::array<unsigned char, 8> & bytes)
{
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  if constexpr (std::is_same_v<T, std::int16_t>)
  {
    value = IsHalfFloat(type) ? static_cast<T>(EncodeHalfFloat(type, static_cast<std::uint16_t>(value))) : value;
  }
  return value;
}

} // namespace cudamedian

#endif
