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

#include "FlagBodies.h"
#include "HalfFloat.h"
#include "PackedLanes.h"
#include "PixelArithmetic.h"

#include <cstring>

#include <type_traits>

/** The bodies of the kernels in MaskedKernels.h that bring results to the output. */
namespace cudamedian
{

/** The bits of a pixel in a copy as they are in the image. */
template <typename TBits>
CUDAMEDIAN_HOST_DEVICE TBits
DecodeBits(PixelType type, TBits bits)
{
  if constexpr (sizeof(TBits) == 2)
  {
    return IsHalfFloat(type) ? DecodeHalfFloat(type, bits) : bits;
  }
  return bits;
}

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

/** Where a row of outputs is, in each of the boxes. */
struct FinishRow
{
  std::int64_t          result;
  std::int64_t          input;
  std::int64_t          output;
  std::int64_t          own; ///< the bit of its first pixel's flag
  const std::uint32_t * empty;
};

/** The box of all outputs, and what is read and written of each. */
template <typename TBits>
struct FinishBox : PixelsOf<FinishArguments>
{
  using PixelsOf<FinishArguments>::PixelsOf;
  using Row = FinishRow;
  using Bits = TBits;

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const RowPlace place(arguments.extent, y, slice);
    return { place.GetOffset(arguments.resultStride),
             place.GetOffset(arguments.inputStride),
             place.GetOffset(arguments.outputStride),
             arguments.own + place.GetOffset(arguments.invalid.stride) * bitsOfWord,
             HasFlags() ? arguments.empty.words + place.GetOffset(arguments.empty.stride) : nullptr };
  }

protected:
  CUDAMEDIAN_HOST_DEVICE bool
  HasFlags() const
  {
    return arguments.invalid.words != nullptr;
  }

  CUDAMEDIAN_HOST_DEVICE Bits
  GetOwn(const Row & row, std::int64_t x) const
  {
    return static_cast<const Bits *>(arguments.input)[row.input + x * arguments.inputStride[0]];
  }

  CUDAMEDIAN_HOST_DEVICE Bits &
  GetOutput(const Row & row, std::int64_t x) const
  {
    return static_cast<Bits *>(arguments.output)[row.output + x * arguments.outputStride[0]];
  }

  /** What is written for a window without any valid pixel, or for a pixel that is not valid. */
  CUDAMEDIAN_HOST_DEVICE Bits
  GetException(const Row & row, std::int64_t x, bool isInvalid) const
  {
    if (isInvalid && arguments.invalidOutput != InvalidOutput::Computed)
    {
      return arguments.invalidOutput == InvalidOutput::Copied ? GetOwn(row, x)
                                                              : static_cast<Bits>(arguments.invalidValue);
    }
    return arguments.emptyWindow == EmptyWindow::Input ? GetOwn(row, x) : static_cast<Bits>(arguments.emptyValue);
  }
};

/** Writes the outputs. Columns are vectors. */
template <typename TTraits>
struct FinishBody : FinishBox<typename TTraits::Bits>
{
  using Box = FinishBox<typename TTraits::Bits>;
  using Box::arguments;
  using Box::Box;
  using Bits = typename TTraits::Bits;
  using Value = typename TTraits::Value;

  static constexpr int atOnce = pixelsOfVector<Bits>;

  std::int64_t
  GetWidth() const
  {
    return (arguments.extent[0] + atOnce - 1) / atOnce;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const FinishRow & row, std::int64_t x) const
  {
    const auto first = x * atOnce;
    auto *     output = &this->GetOutput(row, first);
    if (first + atOnce <= arguments.extent[0] && arguments.inputStride[0] == 1 && arguments.outputStride[0] == 1 &&
        GetVectorShift(output) == 0)
    {
      *reinterpret_cast<Vector *>(output) = FinishVector(row, first);
      return;
    }
    const auto * results = static_cast<const Bits *>(arguments.results) + row.result;
    CUDAMEDIAN_KEEP_LOOP
    for (auto i = first; i < first + atOnce && i < arguments.extent[0]; ++i)
    {
      this->GetOutput(row, i) = Finish(row, i, results[i], arguments.keepsNear ? this->GetOwn(row, i) : Bits{});
    }
  }

private:
  CUDAMEDIAN_HOST_DEVICE Vector
  FinishVector(const FinishRow & row, std::int64_t first) const
  {
    Vector results[1];
    Vector own[1] = { {} };
    Read(static_cast<const Bits *>(arguments.results) + row.result, first, results);
    if (arguments.keepsNear)
    {
      Read(static_cast<const Bits *>(arguments.input) + row.input, first, own);
    }
    Vector outputs;
    if (!this->HasFlags() && arguments.keepsNear)
    {
      return KeepNear(own[0], results[0]);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < atOnce; ++i)
    {
      outputs.template Set<Bits>(
        i, Finish(row, first + i, results[0].template Get<Bits>(i), own[0].template Get<Bits>(i)));
    }
    return outputs;
  }

  /** All pixels are valid: the same for all of them, without a branch. */
  CUDAMEDIAN_HOST_DEVICE Vector
  KeepNear(const Vector & own, const Vector & results) const
  {
    Distance<Value> farthest;
    memcpy(&farthest, &arguments.farthest, sizeof(farthest));
    Vector outputs;
    if constexpr (std::is_integral_v<Value> && sizeof(Value) <= 2)
    {
      using Lanes = PackedLanes<Bits>;
      constexpr std::uint32_t signs = std::is_signed_v<Value> ? Lanes::tops : 0U;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Vector::count; ++i)
      {
        outputs.words[i] =
          Lanes::KeepNear(own.words[i] ^ signs, results.words[i] ^ signs, farthest * Lanes::ones) ^ signs;
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < atOnce; ++i)
      {
        const Bits bits = DecodeBits(arguments.pixelType, results.template Get<Bits>(i));
        const Bits itself = own.template Get<Bits>(i);
        outputs.template Set<Bits>(i, IsNear(TTraits::Get(itself), TTraits::Get(bits), farthest) ? itself : bits);
      }
    }
    return outputs;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Read(const Bits * row, std::int64_t first, Vector (&vectors)[1]) const
  {
    ReadVectors(PixelRow<Bits>{ row, row + arguments.extent[0] }, row + first, vectors);
  }

  /** The output for a result. \param own its pixel, where outliers alone are replaced */
  CUDAMEDIAN_HOST_DEVICE Bits
  Finish(const FinishRow & row, std::int64_t x, Bits result, Bits own) const
  {
    const bool isInvalid = this->HasFlags() && IsFlagged(arguments.invalid.words, row.own + x);
    const bool isEmpty = this->HasFlags() && IsFlagged(row.empty, x);
    if (isEmpty || (isInvalid && arguments.invalidOutput != InvalidOutput::Computed))
    {
      return this->GetException(row, x, isInvalid);
    }
    const Bits bits = DecodeBits(arguments.pixelType, result);
    const bool isKept = arguments.keepsNear && !isInvalid && IsInlier(TTraits::Get(own), TTraits::Get(bits));
    return isKept ? own : bits;
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsInlier(Value own, Value median) const
  {
    Distance<Value> distance;
    memcpy(&distance, &arguments.farthest, sizeof(distance));
    return IsNear(own, median, distance);
  }
};

/** Writes the outputs that are no medians. Columns are words of 32 outputs, most of which have none. */
template <typename TBits>
struct ExceptionBody : FinishBox<TBits>
{
  using Box = FinishBox<TBits>;
  using Box::arguments;
  using Box::Box;

  static constexpr int columnsOfThread = 4;

  std::int64_t
  GetWidth() const
  {
    return (arguments.extent[0] + bitsOfWord - 1) / bitsOfWord;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const FinishRow & row, std::int64_t word) const
  {
    const auto          first = word * bitsOfWord;
    const bool          isComputed = arguments.invalidOutput == InvalidOutput::Computed;
    const std::uint32_t invalid = isComputed ? 0U : GetFlags(arguments.invalid.words, row.own + first);
    CUDAMEDIAN_KEEP_LOOP
    for (auto left = (row.empty[word] | invalid) & GetLowBits(arguments.extent[0] - first); left != 0; left &= left - 1)
    {
      const int i = GetLowestFlag(left);
      this->GetOutput(row, first + i) = this->GetException(row, first + i, (invalid >> i & 1U) != 0);
    }
  }
};

/** Replaces the upper middle values by the means of both. Equal values keep their bits. */
template <typename TTraits>
struct MeanBody : FinishBox<typename TTraits::Bits>
{
  using Box = FinishBox<typename TTraits::Bits>;
  using Box::arguments;
  using Box::Box;
  using Bits = typename TTraits::Bits;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const FinishRow & row, std::int64_t x) const
  {
    const auto offset = row.result + x;
    auto &     result = static_cast<Bits *>(arguments.results)[offset];
    const Bits lower = static_cast<const Bits *>(arguments.others)[offset];
    if (result != lower)
    {
      const auto mean = GetMean(TTraits::Get(result), TTraits::Get(lower));
      memcpy(&result, &mean, sizeof(result));
    }
  }
};

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
  return DispatchValue(arguments.pixelType,
                       [&](auto traits) { return launch(FinishBody<decltype(traits)>(arguments)); });
}

} // namespace cudamedian

#endif
