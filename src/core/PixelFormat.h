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
#ifndef PixelFormat_h
#define PixelFormat_h

#include "PixelKey.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

/** The one place that takes pixel types apart. A type without a case here does not compile (-Werror=switch). */
namespace cudamedian
{

/** The types that algorithms compare as they are stored: all but half floats. */
constexpr PixelType allPixelTypes[] = { PixelType::Int8,    PixelType::UInt8,  PixelType::Int16, PixelType::UInt16,
                                        PixelType::Int32,   PixelType::UInt32, PixelType::Int64, PixelType::UInt64,
                                        PixelType::Float32, PixelType::Float64 };

/** How pixels are stored and keyed; each kernel and each row runner exists once for each. */
enum class KeyFormat : std::uint8_t
{
  Integer8,
  Integer16,
  Integer32,
  Integer64,
  Float32,
  Float64
};

/** What a pixel type is: how it is stored and keyed, and whether it has a sign. */
struct PixelFormat
{
  KeyFormat keys{ KeyFormat::Integer8 };
  bool      isSigned{ false };
};

/** For a value that no caller has: without this it would be taken for a type that it is not. */
[[noreturn]] inline void
ThrowUnknown(const char * what, std::size_t value)
{
  throw std::logic_error(std::string("There is no ") + what + " " + std::to_string(value));
}

/** What a pixel type is. */
constexpr PixelFormat
GetPixelFormat(PixelType type)
{
  switch (type)
  {
    case PixelType::Int8:
      return { KeyFormat::Integer8, true };
    case PixelType::UInt8:
      return { KeyFormat::Integer8, false };
    case PixelType::Int16:
      return { KeyFormat::Integer16, true };
    case PixelType::UInt16:
      return { KeyFormat::Integer16, false };
    case PixelType::Int32:
      return { KeyFormat::Integer32, true };
    case PixelType::UInt32:
      return { KeyFormat::Integer32, false };
    case PixelType::Int64:
      return { KeyFormat::Integer64, true };
    case PixelType::UInt64:
      return { KeyFormat::Integer64, false };
    case PixelType::Float32:
      return { KeyFormat::Float32, true };
    case PixelType::Float64:
      return { KeyFormat::Float64, true };
    // Their bits become integers of the same order before any algorithm sees them (HalfFloat.h).
    case PixelType::Float16:
    case PixelType::BFloat16:
      return { KeyFormat::Integer16, true };
  }
  ThrowUnknown("pixel type", static_cast<std::size_t>(type));
}

/** How pixels of a type are stored and keyed. */
constexpr KeyFormat
GetKeyFormat(PixelType type)
{
  return GetPixelFormat(type).keys;
}

/** Calls function(PixelKey<bits, mapping>()) with the unsigned type that holds a pixel's bits and the way they become
 * keys, and returns what it returns. */
template <typename TFunction>
auto
DispatchKeys(KeyFormat format, const TFunction & function)
{
  switch (format)
  {
    case KeyFormat::Integer8:
      return function(PixelKey<std::uint8_t, KeyMapping::Integer>());
    case KeyFormat::Integer16:
      return function(PixelKey<std::uint16_t, KeyMapping::Integer>());
    case KeyFormat::Integer32:
      return function(PixelKey<std::uint32_t, KeyMapping::Integer>());
    case KeyFormat::Integer64:
      return function(PixelKey<std::uint64_t, KeyMapping::Integer>());
    case KeyFormat::Float32:
      return function(PixelKey<std::uint32_t, KeyMapping::Float>());
    case KeyFormat::Float64:
      return function(PixelKey<std::uint64_t, KeyMapping::Float>());
  }
  ThrowUnknown("format of keys", static_cast<std::size_t>(format));
}

/** Calls function(T()) with the unsigned type that holds a pixel's bits, and returns what it returns. */
template <typename TFunction>
auto
DispatchBits(KeyFormat format, const TFunction & function)
{
  return DispatchKeys(format, [&](auto key) { return function(typename decltype(key)::Bits()); });
}

/** The same where no more is known of pixels or keys than how many bytes they have: 1, 2, 4 or 8. */
template <typename TFunction>
auto
DispatchBytes(std::size_t bytes, const TFunction & function)
{
  switch (bytes)
  {
    case 1:
      return function(std::uint8_t());
    case 2:
      return function(std::uint16_t());
    case 4:
      return function(std::uint32_t());
    case 8:
      return function(std::uint64_t());
    default:
      ThrowUnknown("width in bytes", bytes);
  }
}

/** Bytes of a pixel. */
constexpr int
GetPixelBytes(KeyFormat format)
{
  switch (format)
  {
    case KeyFormat::Integer8:
      return 1;
    case KeyFormat::Integer16:
      return 2;
    case KeyFormat::Integer32:
    case KeyFormat::Float32:
      return 4;
    case KeyFormat::Integer64:
    case KeyFormat::Float64:
      return 8;
  }
  ThrowUnknown("format of keys", static_cast<std::size_t>(format));
}

/** How the bits of pixels become keys. */
CUDAMEDIAN_HOST_DEVICE constexpr KeyMapping
GetKeyMapping(KeyFormat format)
{
  return format == KeyFormat::Float32 || format == KeyFormat::Float64 ? KeyMapping::Float : KeyMapping::Integer;
}

/** Calls function(PixelKey<TBits, mapping>()) in code that exists once for each width of pixels, and returns what it
 * returns. */
template <typename TBits, typename TFunction>
CUDAMEDIAN_HOST_DEVICE auto
CallWithMapping(KeyFormat format, const TFunction & function)
{
  if constexpr (sizeof(TBits) >= 4)
  {
    if (GetKeyMapping(format) == KeyMapping::Float)
    {
      return function(PixelKey<TBits, KeyMapping::Float>{});
    }
  }
  return function(PixelKey<TBits, KeyMapping::Integer>{});
}

/** The mask of KeyMapping::Integer: the sign bit of signed types, else 0. */
constexpr std::uint64_t
GetSignMask(const PixelFormat & format)
{
  return format.isSigned && GetKeyMapping(format.keys) == KeyMapping::Integer
           ? std::uint64_t{ 1 } << (8 * GetPixelBytes(format.keys) - 1)
           : 0;
}

/** The same for a pixel type. */
constexpr std::uint64_t
GetSignMask(PixelType type)
{
  return GetSignMask(GetPixelFormat(type));
}

} // namespace cudamedian

#endif
