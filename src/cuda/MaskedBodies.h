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
#ifndef MaskedBodies_h
#define MaskedBodies_h

#include "MarkBodies.h"
#include "PixelArithmetic.h"

#include <cstring>

/** The bodies of the kernels in MaskedKernels.h that count, rank and write, which the host's tests run too: what is
 * done for each column and row of a box. Each says how large its box is. */
namespace cudamedian
{

/** The value of a half float. */
template <PixelType VType>
struct HalfValue
{
  using Bits = std::uint16_t;
  using Value = float;

  static CUDAMEDIAN_HOST_DEVICE float
  Get(std::uint16_t bits)
  {
    std::uint32_t word = std::uint32_t{ bits } << 16;
    if constexpr (VType == PixelType::Float16)
    {
      const std::uint32_t magnitude = bits & 0x7FFFU;
      const std::uint32_t exponent = magnitude >> 10;
      if (exponent == 0)
      {
        const float small = static_cast<float>(magnitude) * 5.9604644775390625e-8F; // 2^-24
        return (bits & 0x8000U) != 0 ? -small : small;
      }
      // The exponent's bias is 127 for 15; that of infinity and NaN is the greatest one.
      word = (word & 0x80000000U) | ((magnitude << 13) + ((exponent == 31 ? 224U : 112U) << 23));
    }
    float value;
    memcpy(&value, &word, sizeof(value));
    return value;
  }
};

/** That of other pixels, as it is. */
template <typename T>
struct PlainValue
{
  using Bits = std::conditional_t<sizeof(T) == 1,
                                  std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2,
                                                     std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;
  using Value = T;

  static CUDAMEDIAN_HOST_DEVICE T
  Get(Bits bits)
  {
    T value;
    memcpy(&value, &bits, sizeof(value));
    return value;
  }
};

/** A box of pixels. */
template <typename TArguments>
struct PixelsOf
{
  CUDAMEDIAN_HOST_DEVICE explicit PixelsOf(const TArguments & given) : arguments(given)
  {}

  TArguments arguments;

protected:
  static std::int64_t
  CountRowsOf(const std::int64_t (&extent)[Dimension])
  {
    return extent[1] * extent[2] * extent[3];
  }
};

/** Adds what belongs to a window, or to a part of it. \tparam TFrom marks, or TSum. */
template <typename TFrom, typename TSum>
struct SumBody : PixelsOf<SumArguments>
{
  using PixelsOf<SumArguments>::PixelsOf;

  std::int64_t
  GetWidth() const
  {
    return arguments.toExtent[0];
  }

  std::int64_t
  CountRows() const
  {
    return CountRowsOf(arguments.toExtent);
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const RowPlace place(arguments.toExtent, row);
    const auto *   from = static_cast<const TFrom *>(arguments.from) + place.GetPackedOffset(arguments.fromExtent) + x;
    TSum           sum = 0;
    if (arguments.members != nullptr)
    {
      const auto & extent = arguments.fromExtent;
      for (std::int64_t i = 0; i < arguments.count; ++i)
      {
        const auto & member = arguments.members[i];
        const auto   offset =
          ((member.offset[3] * extent[2] + member.offset[2]) * extent[1] + member.offset[1]) * extent[0] +
          member.offset[0];
        sum = static_cast<TSum>(sum + Count(from[offset]) * static_cast<TSum>(member.weight));
      }
    }
    else
    {
      for (std::int64_t i = 0; i < arguments.count; ++i)
      {
        sum = static_cast<TSum>(sum + Count(from[i * arguments.step]));
      }
    }
    static_cast<TSum *>(arguments.to)[row * arguments.toExtent[0] + x] = sum;
  }

private:
  static CUDAMEDIAN_HOST_DEVICE TSum
  Count(TFrom value)
  {
    if constexpr (sizeof(TFrom) == 1)
    {
      return value > 0 ? TSum{ 1 } : value < 0 ? static_cast<TSum>(TSum{ 1 } << (4 * sizeof(TSum))) : TSum{ 0 };
    }
    else
    {
      return value;
    }
  }
};

/** Keys of a window that are the least, and the greatest. */
template <typename TSum>
struct Balance
{
  std::int64_t least;
  std::int64_t greatest;

  CUDAMEDIAN_HOST_DEVICE explicit Balance(TSum sum)
    : least(static_cast<std::int64_t>(sum & ((TSum{ 1 } << (4 * sizeof(TSum))) - 1))),
      greatest(static_cast<std::int64_t>(sum >> (4 * sizeof(TSum))))
  {}
};

template <typename TSum>
struct RankBody : PixelsOf<RankArguments>
{
  using PixelsOf<RankArguments>::PixelsOf;

  std::int64_t
  GetWidth() const
  {
    return arguments.extent[0];
  }

  std::int64_t
  CountRows() const
  {
    return CountRowsOf(arguments.extent);
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const Balance<TSum> keys(static_cast<const TSum *>(arguments.sums)[row * arguments.extent[0] + x]);
    const auto rank = GetRankOfValid(arguments.values, keys.least - keys.greatest, arguments.isLower) - arguments.first;
    const auto to = RowPlace(arguments.extent, row).GetOffset(arguments.stride) + x;
    if (arguments.rankBytes == 1)
    {
      static_cast<std::uint8_t *>(arguments.ranks)[to] = static_cast<std::uint8_t>(rank);
    }
    else
    {
      static_cast<std::int32_t *>(arguments.ranks)[to] = static_cast<std::int32_t>(rank);
    }
  }
};

template <typename TTraits, typename TSum>
struct FinishBody : PixelsOf<FinishArguments>
{
  using PixelsOf<FinishArguments>::PixelsOf;
  using Bits = typename TTraits::Bits;
  using Value = typename TTraits::Value;

  std::int64_t
  GetWidth() const
  {
    return arguments.extent[0];
  }

  std::int64_t
  CountRows() const
  {
    return CountRowsOf(arguments.extent);
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const RowPlace place(arguments.extent, row);
    const auto     from = place.GetOffset(arguments.resultStride) + x;
    const Bits     own =
      static_cast<const Bits *>(arguments.input)[place.GetOffset(arguments.inputStride) + x * arguments.inputStride[0]];
    const bool isValid = arguments.sums == nullptr || arguments.marks[place.GetOffset(arguments.markStride) + x] == 0;
    Bits       bits = DecodeBits(arguments.pixelType, static_cast<const Bits *>(arguments.results)[from]);
    if (arguments.keepsNear && isValid &&
        IsInlier(TTraits::Get(own), TTraits::Get(bits), row * arguments.extent[0] + x))
    {
      bits = own;
    }
    if (arguments.sums != nullptr)
    {
      const Balance<TSum> keys(static_cast<const TSum *>(arguments.sums)[row * arguments.extent[0] + x]);
      if (keys.least + keys.greatest == arguments.values)
      {
        bits = arguments.emptyWindow == EmptyWindow::Input ? own : static_cast<Bits>(arguments.emptyValue);
      }
      if (!isValid && arguments.invalidOutput != InvalidOutput::Computed)
      {
        bits = arguments.invalidOutput == InvalidOutput::Copied ? own : static_cast<Bits>(arguments.invalidValue);
      }
    }
    static_cast<Bits *>(arguments.output)[place.GetOffset(arguments.outputStride) + x * arguments.outputStride[0]] =
      bits;
  }

private:
  CUDAMEDIAN_HOST_DEVICE bool
  IsInlier(Value own, Value median, std::int64_t output) const
  {
    Distance<Value> distance;
    if (arguments.deviations == nullptr)
    {
      memcpy(&distance, &arguments.farthest, sizeof(distance));
      return IsNear(own, median, distance);
    }
    if constexpr (sizeof(distance) <= sizeof(*arguments.deviations))
    {
      // Integers of fewer bits are in the lower ones.
      memcpy(&distance, arguments.deviations + output, sizeof(distance));
      const double allowed = arguments.times * static_cast<double>(distance);
      return own == own && !(static_cast<double>(GetDistance(own, median)) > allowed);
    }
    return false; // deviations of wider pixels are found on the host alone
  }
};

/** Replaces the upper middle values by the means of both. Equal values keep their bits. */
template <typename TTraits>
struct MeanBody : PixelsOf<FinishArguments>
{
  using PixelsOf<FinishArguments>::PixelsOf;
  using Bits = typename TTraits::Bits;

  std::int64_t
  GetWidth() const
  {
    return arguments.extent[0];
  }

  std::int64_t
  CountRows() const
  {
    return CountRowsOf(arguments.extent);
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(std::int64_t x, std::int64_t row) const
  {
    const auto offset = RowPlace(arguments.extent, row).GetOffset(arguments.resultStride) + x;
    auto &     result = static_cast<Bits *>(arguments.results)[offset];
    const Bits lower = static_cast<const Bits *>(arguments.others)[offset];
    if (result != lower)
    {
      const auto mean = GetMean(TTraits::Get(result), TTraits::Get(lower));
      memcpy(&result, &mean, sizeof(result));
    }
  }
};

/** Calls call(TSum()) with the sums of so many bytes. */
template <typename TCall>
auto
DispatchSumType(int bytes, const TCall & call)
{
  return bytes == 2 ? call(std::uint16_t()) : bytes == 4 ? call(std::uint32_t()) : call(std::uint64_t());
}

/** Calls launch(body) with what these arguments ask for. */
template <typename TLaunch>
auto
DispatchSum(const SumArguments & arguments, const TLaunch & launch)
{
  return DispatchSumType(arguments.sumBytes, [&](auto sum) {
    using Sum = decltype(sum);
    return arguments.readsMarks ? launch(SumBody<std::int8_t, Sum>(arguments)) : launch(SumBody<Sum, Sum>(arguments));
  });
}

template <typename TLaunch>
auto
DispatchRanks(const RankArguments & arguments, const TLaunch & launch)
{
  return DispatchSumType(arguments.sumBytes, [&](auto sum) { return launch(RankBody<decltype(sum)>(arguments)); });
}

/** Calls call(traits) with how values of a type are read. */
template <typename TCall>
auto
DispatchValue(PixelType type, const TCall & call)
{
  switch (type)
  {
    case PixelType::Int8:
      return call(PlainValue<std::int8_t>());
    case PixelType::UInt8:
      return call(PlainValue<std::uint8_t>());
    case PixelType::Int16:
      return call(PlainValue<std::int16_t>());
    case PixelType::UInt16:
      return call(PlainValue<std::uint16_t>());
    case PixelType::Int32:
      return call(PlainValue<std::int32_t>());
    case PixelType::UInt32:
      return call(PlainValue<std::uint32_t>());
    case PixelType::Int64:
      return call(PlainValue<std::int64_t>());
    case PixelType::UInt64:
      return call(PlainValue<std::uint64_t>());
    case PixelType::Float16:
      return call(HalfValue<PixelType::Float16>());
    case PixelType::BFloat16:
      return call(HalfValue<PixelType::BFloat16>());
    case PixelType::Float32:
      return call(PlainValue<float>());
    case PixelType::Float64:
      break;
  }
  return call(PlainValue<double>());
}

/** Of half floats none is made: their means are found on the host alone. */
template <typename TLaunch>
auto
DispatchMeans(const FinishArguments & arguments, const TLaunch & launch)
{
  return DispatchValue(arguments.pixelType, [&](auto traits) {
    using Traits = decltype(traits);
    using Values = std::
      conditional_t<sizeof(typename Traits::Value) == sizeof(typename Traits::Bits), Traits, PlainValue<std::uint16_t>>;
    return launch(MeanBody<Values>(arguments));
  });
}

template <typename TLaunch>
auto
DispatchFinish(const FinishArguments & arguments, const TLaunch & launch)
{
  return DispatchValue(arguments.pixelType, [&](auto traits) {
    using Traits = decltype(traits);
    return DispatchSumType(arguments.sumBytes,
                           [&](auto sum) { return launch(FinishBody<Traits, decltype(sum)>(arguments)); });
  });
}

} // namespace cudamedian

#endif
