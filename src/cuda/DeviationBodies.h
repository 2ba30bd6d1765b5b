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
#ifndef DeviationBodies_h
#define DeviationBodies_h

#include "KeyPairs.h"
#include "MaskedBodies.h"
#include "PixelFormat.h"

/** How far the values of each window lie from its median: the middle one of these distances, by a thread for each
 * output, which reads its window once more. */
namespace cudamedian
{

/** Integers, as unsigned ones of the same distances. */
template <typename TBits>
struct IntegerDistances
{
  using Bits = TBits;
  using Value = std::uint32_t;
  static constexpr int bitsOfDistance = 8 * sizeof(TBits);

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetValue(TBits bits, std::uint32_t signMask)
  {
    return bits ^ signMask;
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetDistance(std::uint32_t a, std::uint32_t b)
  {
    return a < b ? b - a : a - b;
  }
};

/** Floats: the bits of distances, which have no sign, are in their order, with every NaN behind infinity. */
template <typename TTraits>
struct FloatDistances
{
  using Bits = typename TTraits::Bits;
  using Value = float;
  static constexpr int bitsOfDistance = 31;

  static CUDAMEDIAN_HOST_DEVICE float
  GetValue(Bits bits, std::uint32_t)
  {
    return TTraits::Get(bits);
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetDistance(float a, float b)
  {
    const float   difference = a - b;
    std::uint32_t bits;
    memcpy(&bits, &difference, sizeof(bits));
    return bits & 0x7FFFFFFFU;
  }
};

/** A value of its own in each register. */
struct SingleValues
{
  static CUDAMEDIAN_HOST_DEVICE void
  Exchange(std::uint32_t & lesser, std::uint32_t & greater)
  {
    const std::uint32_t least = lesser < greater ? lesser : greater;
    greater = lesser < greater ? greater : lesser;
    lesser = least;
  }
};

/** Two values of 16 bits, each of which is compared with its like. */
struct PairedValues
{
  static CUDAMEDIAN_HOST_DEVICE void
  Exchange(std::uint32_t & lesser, std::uint32_t & greater)
  {
    const auto least = MinOfPairs(lesser, greater);
    greater = MaxOfPairs(lesser, greater);
    lesser = least;
  }
};

/** The middle one of an odd number of values. Of one more than half of them the least and the greatest are none of the
 * middle: each other value takes the place of both in turn.
 * \tparam TValues what registers have: SingleValues or PairedValues.
 * \tparam VStep values that have taken a place; all indices are known to the compiler, so that values stay in
 * registers. */
template <typename TValues, int VStep, int VCount>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       GetMiddle(std::uint32_t (&values)[VCount])
{
  static_assert(VCount % 2 == 1 && VCount >= 3, "an odd number of values");
  constexpr int most = VCount / 2 + 2;
  constexpr int size = most - VStep;
  constexpr int last = size - 1;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < size / 2; ++i)
  {
    TValues::Exchange(values[i], values[last - i]);
  }
  CUDAMEDIAN_UNROLL
  for (int i = 1; i < (size + 1) / 2; ++i)
  {
    TValues::Exchange(values[0], values[i]);
  }
  CUDAMEDIAN_UNROLL
  for (int i = size / 2; i < last; ++i)
  {
    TValues::Exchange(values[i], values[last]);
  }
  if constexpr (VStep == VCount - most)
  {
    return values[1];
  }
  else
  {
    values[0] = values[most + VStep];
    return GetMiddle<TValues, VStep + 1>(values);
  }
}

/** The middle one of the distances of an output's valid pixels from its median, the upper one of two.
 * \tparam VX, VY, VZ the size of a box whose distances are in registers at once; 0 is any window, whose values are
 * counted for each bit of the result.
 * \tparam VHasInvalid whether some pixels may not be valid. */
template <typename TDistances, int VX, int VY, int VZ, bool VHasInvalid>
struct DeviationBody : PixelsOf<DeviationArguments>
{
  using PixelsOf<DeviationArguments>::PixelsOf;
  using Bits = typename TDistances::Bits;
  using Value = typename TDistances::Value;

  /** To look for a row's place takes as long as an output of 3x3 does; to count takes longer than all else. */
  static constexpr int columnsOfThread = VX > 0 ? 4 : 1;

  struct Row
  {
    const Bits *    pixels;
    const Bits *    medians;
    std::uint32_t * deviations;
    std::int64_t    flags; ///< the bit of the first window's
  };

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(arguments.extent, y, slice);
    return { static_cast<const Bits *>(arguments.pixels) + place.GetOffset(arguments.stride),
             static_cast<const Bits *>(arguments.medians) + place.GetOffset(arguments.medianStride),
             arguments.deviations + this->CountBefore(y, slice),
             arguments.first + place.GetOffset(arguments.invalid.stride) * bitsOfWord };
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const Output output{ row.pixels + x, row.flags + x, GetValue(row.medians[x]) };
    if constexpr (VX > 0)
    {
      row.deviations[x] = SelectInRegisters(output);
    }
    else
    {
      row.deviations[x] = SelectByCounting(output);
    }
  }

protected:
  CUDAMEDIAN_HOST_DEVICE Value
  GetValue(Bits bits) const
  {
    return TDistances::GetValue(DecodeBits(arguments.pixelType, bits), arguments.signMask);
  }

private:
  /** A window, from its first pixel on or from a footprint's own, and its median. */
  struct Output
  {
    const Bits * pixels;
    std::int64_t flag; ///< the bit of the same pixel
    Value        median;
  };

  /** The flags of 32 pixels of a window's row, none of which is set where all are valid. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInvalid(const Output & output, std::int64_t y, std::int64_t z, std::int64_t w) const
  {
    const auto * stride = arguments.invalid.stride;
    const auto   words = w * stride[3] + z * stride[2] + y * stride[1];
    return arguments.invalid.words == nullptr ? 0U
                                              : GetFlags(arguments.invalid.words, output.flag + words * bitsOfWord);
  }

  /** Pixels that are not valid become as many zeros and greatest distances as leave the middle where it is. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         SelectInRegisters(const Output & output) const
  {
    constexpr int count = VX * VY * VZ;
    std::uint32_t distances[count];
    std::uint32_t isInvalid[count];
    int           valid = 0;
    CUDAMEDIAN_UNROLL
    for (int line = 0; line < VY * VZ; ++line)
    {
      const int    y = line % VY;
      const int    z = line / VY;
      const auto   invalid = VHasInvalid ? FindInvalid(output, y, z, 0) : 0U;
      const auto * pixels = output.pixels + y * arguments.stride[1] + z * arguments.stride[2];
      CUDAMEDIAN_UNROLL
      for (int x = 0; x < VX; ++x)
      {
        const int i = line * VX + x;
        isInvalid[i] = invalid >> x & 1U;
        valid += isInvalid[i] != 0 ? 0 : 1;
        distances[i] = TDistances::GetDistance(GetValue(pixels[x]), output.median);
      }
    }
    if constexpr (VHasInvalid)
    {
      int zeros = count / 2 - valid / 2;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < count; ++i)
      {
        const std::uint32_t filling = zeros > 0 ? 0U : ~0U;
        zeros -= isInvalid[i] != 0 ? 1 : 0;
        distances[i] = isInvalid[i] != 0 ? filling : distances[i];
      }
    }
    return GetMiddle<SingleValues, 0>(distances);
  }

  /** The greatest number that no more distances are below than the middle one's rank. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         SelectByCounting(const Output & output) const
  {
    const std::int64_t rank = CountBelow(output, ~0U, true) / 2;
    std::uint32_t      deviation = 0;
    for (int bit = TDistances::bitsOfDistance - 1; bit >= 0; --bit)
    {
      const std::uint32_t candidate = deviation | (std::uint32_t{ 1 } << bit);
      deviation = CountBelow(output, candidate, false) <= rank ? candidate : deviation;
    }
    return deviation;
  }

  /** Valid values whose distance is below a number, or all of them. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         CountBelow(const Output & output, std::uint32_t most, bool isAny) const
  {
    std::int64_t count = 0;
    const auto   add = [&](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w, std::int64_t weight) {
      const auto * stride = arguments.invalid.stride;
      const auto   flag = output.flag + x + (w * stride[3] + z * stride[2] + y * stride[1]) * bitsOfWord;
      if (arguments.invalid.words != nullptr && IsFlagged(arguments.invalid.words, flag))
      {
        return;
      }
      const auto offset = x + y * arguments.stride[1] + z * arguments.stride[2] + w * arguments.stride[3];
      const bool isBelow = TDistances::GetDistance(GetValue(output.pixels[offset]), output.median) < most;
      count += isAny || isBelow ? weight : 0;
    };
    if (arguments.members != nullptr)
    {
      for (std::int64_t i = 0; i < arguments.count; ++i)
      {
        const auto & member = arguments.members[i];
        add(member.offset[0], member.offset[1], member.offset[2], member.offset[3], member.weight);
      }
      return count;
    }
    for (std::int64_t w = 0; w < arguments.window[3]; ++w)
      for (std::int64_t z = 0; z < arguments.window[2]; ++z)
        for (std::int64_t y = 0; y < arguments.window[1]; ++y)
          for (std::int64_t x = 0; x < arguments.window[0]; ++x)
          {
            add(x, y, z, w, 1);
          }
    return count;
  }
};

/** The same for two outputs next to each other, where pixels have up to 16 bits and all are valid. Columns are pairs of
 * outputs. \pre rows have two outputs or more */
template <typename TDistances, int VX, int VY, int VZ>
struct DeviationPairBody : DeviationBody<TDistances, VX, VY, VZ, false>
{
  using Base = DeviationBody<TDistances, VX, VY, VZ, false>;
  using Base::arguments;
  using Base::Base;
  using Row = typename Base::Row;

  std::int64_t
  GetWidth() const
  {
    return (arguments.extent[0] + 1) / 2;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    // Of an odd number of outputs the last but one belongs to two pairs, which find the same.
    const auto first = 2 * x + 1 < arguments.extent[0] ? 2 * x : arguments.extent[0] - 2;
    if constexpr (comparesPairs)
    {
      const auto middle = SelectPair(row.pixels + first, Join(row.medians[first], row.medians[first + 1]));
      row.deviations[first] = middle & 0xFFFFU;
      row.deviations[first + 1] = middle >> 16;
    }
    else
    {
      Base::operator()(row, first);
      Base::operator()(row, first + 1);
    }
  }

private:
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         Join(typename Base::Bits low, typename Base::Bits high) const
  {
    return this->GetValue(low) | this->GetValue(high) << 16;
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         SelectPair(const typename Base::Bits * pixels, std::uint32_t medians) const
  {
    std::uint32_t distances[VX * VY * VZ];
    CUDAMEDIAN_UNROLL
    for (int line = 0; line < VY * VZ; ++line)
    {
      const auto * row = pixels + line % VY * arguments.stride[1] + line / VY * arguments.stride[2];
      CUDAMEDIAN_UNROLL
      for (int x = 0; x < VX; ++x)
      {
        const auto pair = Join(row[x], row[x + 1]);
        distances[line * VX + x] = MaxOfPairs(pair, medians) - MinOfPairs(pair, medians);
      }
    }
    return GetMiddle<PairedValues, 0>(distances);
  }
};

/** Calls launch(body) with what these arguments ask for, of a box of this size. */
template <typename TDistances, int VX, int VY, int VZ, typename TLaunch>
auto
DispatchDeviationsOfBox(const DeviationArguments & arguments, const TLaunch & launch)
{
  constexpr bool isPaired = TDistances::bitsOfDistance <= 16;
  if (arguments.invalid.words != nullptr || (isPaired && arguments.extent[0] == 1))
  {
    return launch(DeviationBody<TDistances, VX, VY, VZ, true>(arguments));
  }
  if constexpr (isPaired)
  {
    return launch(DeviationPairBody<TDistances, VX, VY, VZ>(arguments));
  }
  else
  {
    return launch(DeviationBody<TDistances, VX, VY, VZ, false>(arguments));
  }
}

/** The same of any window. */
template <typename TDistances, typename TLaunch>
auto
DispatchDeviationsOf(const DeviationArguments & arguments, const TLaunch & launch)
{
  const auto * window = arguments.window;
  const auto   isBox = [&](int x, int y, int z) {
    return arguments.members == nullptr && window[0] == x && window[1] == y && window[2] == z && window[3] == 1;
  };
  return isBox(3, 3, 1)   ? DispatchDeviationsOfBox<TDistances, 3, 3, 1>(arguments, launch)
         : isBox(5, 5, 1) ? DispatchDeviationsOfBox<TDistances, 5, 5, 1>(arguments, launch)
         : isBox(7, 7, 1) ? DispatchDeviationsOfBox<TDistances, 7, 7, 1>(arguments, launch)
         : isBox(3, 3, 3) ? DispatchDeviationsOfBox<TDistances, 3, 3, 3>(arguments, launch)
                          : launch(DeviationBody<TDistances, 0, 0, 0, true>(arguments));
}

template <typename TLaunch>
auto
DispatchDeviations(const DeviationArguments & arguments, const TLaunch & launch)
{
  switch (arguments.pixelType)
  {
    case PixelType::Float16:
      return DispatchDeviationsOf<FloatDistances<HalfValue<PixelType::Float16>>>(arguments, launch);
    case PixelType::BFloat16:
      return DispatchDeviationsOf<FloatDistances<HalfValue<PixelType::BFloat16>>>(arguments, launch);
    case PixelType::Float32:
      return DispatchDeviationsOf<FloatDistances<PlainValue<float>>>(arguments, launch);
    case PixelType::Int8:
    case PixelType::UInt8:
      return DispatchDeviationsOf<IntegerDistances<std::uint8_t>>(arguments, launch);
    case PixelType::Int16:
    case PixelType::UInt16:
      return DispatchDeviationsOf<IntegerDistances<std::uint16_t>>(arguments, launch);
    case PixelType::Int32:
    case PixelType::UInt32:
      return DispatchDeviationsOf<IntegerDistances<std::uint32_t>>(arguments, launch);
    case PixelType::Int64:
    case PixelType::UInt64:
    case PixelType::Float64:
      break; // FindDeviceObstacle() refuses them
  }
  ThrowUnknown("pixel type with deviations in device memory", static_cast<std::size_t>(arguments.pixelType));
}

} // namespace cudamedian

#endif
