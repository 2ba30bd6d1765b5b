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
#ifndef OutlierBodies_h
#define OutlierBodies_h

#include "DeviationBound.h"
#include "MaskedBodies.h"
#include "MultiplyAdd.h"
#include "PackedLanes.h"
#include "PixelFormat.h"

/** Outputs that are their window's median where the pixel lies too many median absolute deviations from it, and the
 * pixel elsewhere. Windows are read once more, and values next to the median are counted; see DeviationBound.h. */
namespace cudamedian
{

/** Writes the bounds of all distances of integers of up to 16 bits. */
template <typename TBits>
struct BoundBody : PixelsOf<BoundArguments>
{
  using PixelsOf<BoundArguments>::PixelsOf;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const RowPlace &, std::int64_t x) const
  {
    const auto distance = static_cast<TBits>(x);
    static_cast<TBits *>(arguments.bounds)[x] = distance == 0 ? distance : arguments.bound.Get(distance);
  }
};

/** What distances of pixels' values are. Integers are read as such without a sign, in whose order they are. */
template <typename TTraits>
struct OutlierValues
{
  using Bits = typename TTraits::Bits;
  using Value = typename TTraits::Value;
  using Bound = Distance<Value>;

  /** Whether bounds are looked up in those of BoundBody. */
  static constexpr bool hasTable = std::is_integral_v<Value> && sizeof(Value) <= 2;

  CUDAMEDIAN_HOST_DEVICE explicit OutlierValues(const OutlierArguments & arguments)
    : given(arguments)
  {}

  /** The value of a pixel of the copy. */
  CUDAMEDIAN_HOST_DEVICE Value
  GetCopied(Bits bits) const
  {
    return GetOwn(GetPixel(bits));
  }

  /** The bits of a pixel of the copy as they are in the image. */
  CUDAMEDIAN_HOST_DEVICE Bits
  GetPixel(Bits bits) const
  {
    if constexpr (std::is_integral_v<Value>)
    {
      return bits;
    }
    else
    {
      return DecodeBits(given.finish.pixelType, bits);
    }
  }

  /** The value of a pixel of the image. */
  CUDAMEDIAN_HOST_DEVICE Value
  GetOwn(Bits bits) const
  {
    if constexpr (std::is_integral_v<Value>)
    {
      return static_cast<Value>(bits ^ static_cast<Bits>(given.signMask));
    }
    else
    {
      return TTraits::Get(bits);
    }
  }

  /** \param distance of an output's own pixel from the median. No value is as near as the bound of 0 or NaN, unless
   * the median is the pixel itself. */
  CUDAMEDIAN_HOST_DEVICE Bound
  GetBound(Bound distance) const
  {
    if constexpr (hasTable)
    {
      return static_cast<const Bits *>(given.bounds)[distance];
    }
    else
    {
      return distance > 0 ? given.bound.Get(distance) : static_cast<Bound>(-1);
    }
  }

  const OutlierArguments & given;
};

/** Where a row of outputs is. */
template <typename TBits>
struct OutlierRow
{
  const TBits * pixels; ///< of the first window: its first pixel, or a footprint's own; the image's row of that
  const TBits * medians;
  const TBits * input;
  TBits *       output;
  std::int64_t  flags; ///< the bit of the first window's pixel
  std::int64_t  own;   ///< the bit of the first output's own pixel
  RowPlace      place;
};

/** The box of all outputs. */
template <typename TTraits>
struct OutlierBox : PixelsOf<OutlierArguments>
{
  using PixelsOf<OutlierArguments>::PixelsOf;
  using Values = OutlierValues<TTraits>;
  using Bits = typename Values::Bits;
  using Value = typename Values::Value;
  using Bound = typename Values::Bound;
  using Row = OutlierRow<Bits>;

  static constexpr int columnsOfThread = 1;

  std::int64_t
  GetWidth() const
  {
    return arguments.finish.extent[0];
  }

  std::int64_t
  GetHeight() const
  {
    return arguments.finish.extent[1];
  }

  std::int64_t
  CountSlices() const
  {
    return arguments.finish.extent[2] * arguments.finish.extent[3];
  }

  CUDAMEDIAN_HOST_DEVICE Row
  GetRow(std::int64_t y, std::int64_t slice) const
  {
    const auto &   finish = arguments.finish;
    const RowPlace place(finish.extent, y, slice);
    const RowPlace seen = arguments.isImage ? GetFirstSeen(place) : place;
    return { static_cast<const Bits *>(arguments.pixels) + seen.GetOffset(arguments.stride),
             static_cast<const Bits *>(finish.results) + place.GetOffset(finish.resultStride),
             static_cast<const Bits *>(finish.input) + place.GetOffset(finish.inputStride),
             static_cast<Bits *>(finish.output) + place.GetOffset(finish.outputStride),
             arguments.first + place.GetOffset(finish.invalid.stride) * bitsOfWord,
             finish.own + place.GetOffset(finish.invalid.stride) * bitsOfWord,
             place };
  }

private:
  /** The first row of an image that windows of a row see. */
  CUDAMEDIAN_HOST_DEVICE RowPlace
  GetFirstSeen(RowPlace place) const
  {
    CUDAMEDIAN_UNROLL
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto before = arguments.window[axis] / 2;
      place.place[axis] = place.place[axis] < before ? 0 : place.place[axis] - before;
    }
    return place;
  }
};

/** Some pixels of windows may not be valid, or count several times. Columns are outputs. */
template <typename TTraits>
struct OutlierBody : OutlierBox<TTraits>
{
  using Box = OutlierBox<TTraits>;
  using Box::arguments;
  using Box::Box;
  using typename Box::Bits;
  using typename Box::Bound;
  using typename Box::Row;
  using typename Box::Value;
  using typename Box::Values;

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const Values values(arguments);
    const auto & finish = arguments.finish;
    const Bits   own = row.input[x * finish.inputStride[0]];
    const Value  value = values.GetOwn(own);
    const Value  median = values.GetCopied(row.medians[x]);
    const bool   isValid = finish.invalid.words == nullptr || !IsFlagged(finish.invalid.words, row.own + x);
    const Bound  distance = GetDistance(value, median);
    bool         isFar = !isValid || value != value;
    if (!isFar && distance > 0)
    {
      isFar = HasMostNear(values, { row.pixels + x, row.flags + x, median, values.GetBound(distance) });
    }
    row.output[x * finish.outputStride[0]] = isFar ? values.GetPixel(row.medians[x]) : own;
  }

private:
  /** A window, and which of its values are near its median. */
  struct Window
  {
    const Bits * pixels;
    std::int64_t flags;
    Value        median;
    Bound        bound;
  };

  /** Values, or those of them that are near. */
  struct Counts
  {
    std::int64_t valid{ 0 };
    std::int64_t near{ 0 };
  };

  CUDAMEDIAN_HOST_DEVICE bool
  HasMostNear(const Values & values, const Window & window) const
  {
    const auto counts = arguments.members != nullptr ? CountMembers(values, window) : CountBox(values, window);
    return counts.near > counts.valid / 2;
  }

  /** The flags of 32 pixels of a row from a place on. */
  template <typename TPlace>
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInvalid(const Window & window, const TPlace & place) const
  {
    const auto & invalid = arguments.finish.invalid;
    const auto   words = place[3] * invalid.stride[3] + place[2] * invalid.stride[2] + place[1] * invalid.stride[1];
    return invalid.words == nullptr ? 0U : GetFlags(invalid.words, window.flags + place[0] + words * bitsOfWord);
  }

  template <typename TPlace>
  CUDAMEDIAN_HOST_DEVICE const Bits *
  GetPixels(const Window & window, const TPlace & place) const
  {
    const auto * stride = arguments.stride;
    return window.pixels + place[0] + place[1] * stride[1] + place[2] * stride[2] + place[3] * stride[3];
  }

  static CUDAMEDIAN_HOST_DEVICE bool
  IsNearMedian(const Values & values, const Window & window, Bits bits)
  {
    return GetDistance(values.GetCopied(bits), window.median) <= window.bound;
  }

  CUDAMEDIAN_HOST_DEVICE Counts
  CountMembers(const Values & values, const Window & window) const
  {
    Counts counts;
    for (std::int64_t i = 0; i < arguments.memberCount; ++i)
    {
      const auto & member = arguments.members[i];
      if ((FindInvalid(window, member.offset) & 1U) == 0)
      {
        counts.valid += member.weight;
        counts.near += IsNearMedian(values, window, *GetPixels(window, member.offset)) ? member.weight : 0;
      }
    }
    return counts;
  }

  CUDAMEDIAN_HOST_DEVICE Counts
  CountBox(const Values & values, const Window & window) const
  {
    const auto * size = arguments.window;
    Counts       counts;
    for (std::int64_t w = 0; w < size[3]; ++w)
      for (std::int64_t z = 0; z < size[2]; ++z)
        for (std::int64_t y = 0; y < size[1]; ++y)
          for (std::int64_t x = 0; x < size[0]; x += bitsOfWord)
          {
            const std::int64_t place[] = { x, y, z, w };
            const auto *       pixels = GetPixels(window, place);
            const auto         invalid = FindInvalid(window, place);
            const auto         count = size[0] - x < bitsOfWord ? static_cast<int>(size[0] - x) : bitsOfWord;
            int                valid = 0;
            int                near = 0;
            for (int i = 0; i < count; ++i)
            {
              const bool isValid = (invalid >> i & 1U) == 0;
              valid += isValid ? 1 : 0;
              near += isValid && IsNearMedian(values, window, pixels[i]) ? 1 : 0;
            }
            counts.valid += valid;
            counts.near += near;
          }
    return counts;
  }
};

/** The medians of the outputs of a vector that are outliers, which a function says of values that are numbers, and else
 * their own pixels. */
template <typename TTraits, typename TIsFar>
CUDAMEDIAN_HOST_DEVICE Vector
ChooseOutputs(const OutlierValues<TTraits> & values, const Vector & medians, const Vector & own, const TIsFar & isFar)
{
  using Bits = typename TTraits::Bits;
  Vector chosen;
  CUDAMEDIAN_UNROLL
  for (int i = 0; i < pixelsOfVector<Bits>; ++i)
  {
    const auto bits = own.template Get<Bits>(i);
    const auto value = values.GetOwn(bits);
    const bool isMedian = value != value || isFar(i);
    chosen.template Set<Bits>(i, isMedian ? values.GetPixel(medians.template Get<Bits>(i)) : bits);
  }
  return chosen;
}

/** Counts values next to the medians of the outputs of a vector: of integers of up to 16 bits, as many in each register
 * as it has room for. In pairs those are counted that are not next to it. */
template <typename TTraits>
struct PackedCounts
{
  using Values = OutlierValues<TTraits>;
  using Bits = typename Values::Bits;

  using Lanes = PackedLanes<Bits>;

  static constexpr int           outputs = pixelsOfVector<Bits>;
  static constexpr int           perWord = Lanes::perWord;
  static constexpr int           bitsOfLane = Lanes::bitsOfLane;
  static constexpr std::uint32_t tops = Lanes::tops;
  static constexpr int           mostAtOnce = perWord == 4 ? 255 : 65535; ///< values that lanes can count

  CUDAMEDIAN_HOST_DEVICE
  PackedCounts(const Values & values, const Vector & givenMedians, const Vector & own)
    : signs(static_cast<std::uint32_t>(static_cast<Bits>(values.given.signMask)) * Lanes::ones)
    , one(values.given.one)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Vector::count; ++i)
    {
      const auto median = givenMedians.words[i] ^ signs;
      const auto bounds = GetBounds(values, median, own.words[i] ^ signs);
      least.words[i] = median - Lanes::GetLesser(bounds, median);
      most.words[i] = median + Lanes::GetLesser(bounds, ~median);
      if constexpr (Lanes::hasPairs)
      {
        span.words[i] = most.words[i] - least.words[i];
        minusSpan.words[i] = Lanes::Negate(span.words[i]);
        minusLeast.words[i] = Lanes::Negate(least.words[i] ^ signs);
      }
    }
  }

  /** Counts pixels of a row: those of the first window from pixel VFirst of the row's vectors on. Those of the next one
   * lie a pixel behind. \param limit pixels of a window, up to VMost */
  template <int VFirst, int VMost, int VVectors>
  CUDAMEDIAN_HOST_DEVICE void
  AddRow(const Values &, const Vector (&row)[VVectors], int limit)
  {
    std::uint32_t words[VVectors * Vector::count];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VVectors * Vector::count; ++i)
    {
      const auto word = row[i / Vector::count].words[i % Vector::count];
      words[i] = Lanes::hasPairs ? word : word ^ signs;
    }
    CUDAMEDIAN_UNROLL
    for (int x = 0; x < VMost; ++x)
    {
      if (x < limit)
      {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Vector::count; ++i)
        {
          const int  word = i + (VFirst + x) / perWord;
          const int  shift = (VFirst + x) % perWord * bitsOfLane;
          const auto next = shift == 0 ? 0U : words[word + 1];
          Add(i, static_cast<std::uint32_t>((std::uint64_t{ next } << bitsOfWord | words[word]) >> shift));
        }
      }
    }
    added += static_cast<std::uint32_t>(limit);
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetCount(int i) const
  {
    const std::uint32_t count = counts.Get<Bits>(i);
    return Lanes::hasPairs ? added - count : count;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Clear()
  {
    counts = {};
    added = 0;
  }

  /** The median where more values have been counted than these, and the pixel elsewhere. \pre windows have fewer values
   * than half of what lanes can count */
  CUDAMEDIAN_HOST_DEVICE Vector
  Choose(const Values &, const Vector & givenMedians, const Vector & own, std::uint32_t than) const
  {
    Vector chosen;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Vector::count; ++i)
    {
      const auto isFar = Lanes::hasPairs ? ((added - than - 1) * Lanes::ones | tops) - counts.words[i]
                                         : (counts.words[i] | tops) - (than + 1) * Lanes::ones;
      chosen.words[i] = Lanes::Choose(isFar, givenMedians.words[i], own.words[i]);
    }
    return chosen;
  }

private:
  /** The bounds of the distances of the outputs of a word. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetBounds(const Values & values, std::uint32_t medians, std::uint32_t own)
  {
    const auto distances = Lanes::GetDistance(own, medians);
    auto       bounds = 0U;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < bitsOfWord; i += bitsOfLane)
    {
      bounds |= static_cast<std::uint32_t>(values.GetBound(static_cast<Bits>(distances >> i))) << i;
    }
    return bounds;
  }

  /** Counts the values that lie from the least one to the most: Lanes::IsAtLeast() twice. In pairs it counts the
   * others, by how far they lie from the least one on, where those below it come last. */
  CUDAMEDIAN_HOST_DEVICE void
  Add(int i, std::uint32_t values)
  {
    if constexpr (Lanes::hasPairs)
    {
      const auto seen = Lanes::GetGreaterOfSum(values, minusLeast.words[i], span.words[i]);
      const auto isFar = Lanes::GetLesserOfSum(seen, minusSpan.words[i], Lanes::ones);
      counts.words[i] = MultiplyAdd(isFar, one, counts.words[i]);
    }
    else
    {
      const auto lower = values & ~tops;
      const auto isAbove = Lanes::JoinTops(values, least.words[i], lower + (tops - (least.words[i] & ~tops)));
      const auto isBelow = Lanes::JoinTops(most.words[i], values, (most.words[i] | tops) - lower);
      counts.words[i] += (isAbove & isBelow & tops) >> (bitsOfLane - 1);
    }
  }

  Vector        least;
  Vector        most;
  Vector        minusLeast; ///< of pairs 0 less the least value …
  Vector        span;       ///< … how far the greatest one lies from that …
  Vector        minusSpan;  ///< … and 0 less that
  Vector        counts{};
  std::uint32_t signs;
  std::uint32_t one;
  std::uint32_t added{ 0 };
};

/** The same of other pixels, a value in each register. */
template <typename TTraits>
struct SingleCounts
{
  using Values = OutlierValues<TTraits>;
  using Bits = typename Values::Bits;
  using Value = typename Values::Value;
  using Bound = typename Values::Bound;

  static constexpr int outputs = pixelsOfVector<Bits>;
  static constexpr int perWord = outputs / Vector::count;
  static constexpr int mostAtOnce = 1 << 30;

  CUDAMEDIAN_HOST_DEVICE
  SingleCounts(const Values & values, const Vector & givenMedians, const Vector & own)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs; ++i)
    {
      medians[i] = values.GetCopied(givenMedians.Get<Bits>(i));
      bounds[i] = values.GetBound(GetDistance(values.GetOwn(own.Get<Bits>(i)), medians[i]));
    }
  }

  template <int VFirst, int VMost, int VVectors>
  CUDAMEDIAN_HOST_DEVICE void
  AddRow(const Values & values, const Vector (&row)[VVectors], int limit)
  {
    Value pixels[outputs + VMost - 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs + VMost - 1; ++i)
    {
      const int place = VFirst + i;
      pixels[i] = values.GetCopied(row[place / outputs].template Get<Bits>(place % outputs));
    }
    CUDAMEDIAN_UNROLL
    for (int x = 0; x < VMost; ++x)
    {
      if (x < limit)
      {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < outputs; ++i)
        {
          counts[i] += GetDistance(pixels[x + i], medians[i]) <= bounds[i] ? 1 : 0;
        }
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetCount(int i) const
  {
    return counts[i];
  }

  CUDAMEDIAN_HOST_DEVICE void
  Clear()
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs; ++i)
    {
      counts[i] = 0;
    }
  }

  CUDAMEDIAN_HOST_DEVICE Vector
  Choose(const Values & values, const Vector & medians, const Vector & own, std::uint32_t than) const
  {
    return ChooseOutputs(values, medians, own, [&](int i) { return counts[i] > than; });
  }

private:
  Value         medians[outputs];
  Bound         bounds[outputs];
  std::uint32_t counts[outputs]{};
};

/** All pixels of windows are valid, and count once. Columns are vectors of outputs.
 * \tparam VWidth the size along axis 0 of windows that are boxes, and of which vectors of outputs have their own pixels
 * in vectors of the copy; 0 is any window anywhere
 * \tparam VIsImage whether windows are read in the image where it lies, whose rows are vectors. Beyond it is the
 * nearest pixel. */
template <typename TTraits, int VWidth, bool VIsImage = false>
struct OutlierVectorBody : OutlierBox<TTraits>
{
  using Box = OutlierBox<TTraits>;
  using Box::arguments;
  using Box::Box;
  using typename Box::Bits;
  using typename Box::Row;
  using typename Box::Values;
  using Counts = std::conditional_t<Values::hasTable, PackedCounts<TTraits>, SingleCounts<TTraits>>;

  static constexpr int outputs = pixelsOfVector<Bits>;

  /** To look for a row's place takes as long as a row of a window does. */
  static constexpr int columnsOfThread = VWidth > 0 ? 4 : 1;

  std::int64_t
  GetWidth() const
  {
    return (arguments.finish.extent[0] + outputs - 1) / outputs;
  }

  CUDAMEDIAN_HOST_DEVICE void
  operator()(const Row & row, std::int64_t x) const
  {
    const auto & finish = arguments.finish;
    const auto   first = x * outputs;
    const Values values(arguments);
    const auto   medians = ReadOutputs(row.medians, first, 1);
    const auto   own = ReadOutputs(row.input, first, VIsImage ? 1 : finish.inputStride[0]);
    const auto   chosen = Choose(values, row, first, medians, own);
    auto * const output = row.output + first * finish.outputStride[0];
    const bool   isWhole = VIsImage || first + outputs <= finish.extent[0];
    if (isWhole && finish.outputStride[0] == 1 && GetVectorShift(output) == 0)
    {
      *reinterpret_cast<Vector *>(output) = chosen;
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs; ++i)
    {
      if (first + i < finish.extent[0])
      {
        output[i * finish.outputStride[0]] = chosen.template Get<Bits>(i);
      }
    }
  }

private:
  /** A row of the copy, and where a vector's first window has its first pixel of it. */
  struct Line
  {
    PixelRow<Bits> row;
    const Bits *   first;
  };

  /** Reads a pixel of each output, and 0 behind the last one. */
  CUDAMEDIAN_HOST_DEVICE Vector
  ReadOutputs(const Bits * row, std::int64_t first, std::int64_t stride) const
  {
    if constexpr (VIsImage)
    {
      return *reinterpret_cast<const Vector *>(row + first); // of whole vectors, as medians are
    }
    const auto width = arguments.finish.extent[0];
    if (stride == 1)
    {
      Vector vectors[1];
      ReadLine({ { row, row + width }, row + first }, vectors);
      return vectors[0];
    }
    return MakeVector<Bits>([&](int i) { return first + i < width ? row[(first + i) * stride] : Bits{}; });
  }

  /** Reads pixels of a line, and 0 behind it. */
  template <int VVectors>
  static CUDAMEDIAN_HOST_DEVICE void
  ReadLine(const Line & line, Vector (&vectors)[VVectors])
  {
    if (line.first + VVectors * outputs <= line.row.end)
    {
      ReadVectors(line.row, line.first, vectors);
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VVectors; ++i)
    {
      const auto * pixels = line.first + i * outputs;
      vectors[i] = MakeVector<Bits>([&](int k) { return pixels + k < line.row.end ? pixels[k] : Bits{}; });
    }
  }

  /** Calls call(row) for each row of the box, where the first output's window has it. */
  template <typename TCall>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachRow(const Row & given, const TCall & call) const
  {
    // Steps instead of products: those of 64 bits are several instructions each.
    const auto * size = arguments.window;
    const auto * stride = arguments.stride;
    const auto * volume = given.pixels;
    for (auto w = static_cast<int>(size[3]); w > 0; --w, volume += stride[3])
    {
      const auto * slice = volume;
      const Steps  slices = GetSteps(given, 2);
      for (int z = 0; z < static_cast<int>(size[2]); slice += slices.Has(z) ? stride[2] : 0, ++z)
      {
        const auto * row = slice;
        const Steps  rows = GetSteps(given, 1);
        for (int y = 0; y < static_cast<int>(size[1]); row += rows.Has(y) ? stride[1] : 0, ++y)
        {
          call(row);
        }
      }
    }
  }

  /** Positions of a window behind which another one of the image is. Copies have all of them. */
  struct Steps
  {
    int first;
    int behind;

    CUDAMEDIAN_HOST_DEVICE bool
    Has(int position) const
    {
      return !VIsImage || (position >= first && position < behind);
    }
  };

  CUDAMEDIAN_HOST_DEVICE Steps
  GetSteps(const Row & row, int axis) const
  {
    const auto before = arguments.window[axis] / 2 - row.place.place[axis];
    const auto last = arguments.finish.extent[axis] - 1 + before;
    const auto size = arguments.window[axis];
    return { before > 0 ? static_cast<int>(before) : 0, static_cast<int>(last < size ? last : size) };
  }

  /** A vector, and those on both sides of it, which copies have where outputs need them. */
  CUDAMEDIAN_HOST_DEVICE void
  ReadThree(const Bits * row, std::int64_t first, Vector (&vectors)[3]) const
  {
    const auto   width = arguments.finish.extent[0];
    const auto * own = VIsImage ? row + first : row + first + VWidth / 2;
    const auto * source = reinterpret_cast<const Vector *>(own);
    const bool   isLast = first + outputs >= (VIsImage ? width : width + VWidth / 2);
    vectors[1] = source[0];
    if (VIsImage && first == 0)
    {
      vectors[0] = Repeat(own[0]);
    }
    else
    {
      vectors[0] = source[-1];
    }
    if (isLast)
    {
      vectors[2] = Repeat(VIsImage ? own[outputs - 1] : Bits{});
    }
    else
    {
      vectors[2] = source[1];
    }
  }

  static CUDAMEDIAN_HOST_DEVICE Vector
  Repeat(Bits bits)
  {
    Vector vector;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs; ++i)
    {
      vector.template Set<Bits>(i, bits);
    }
    return vector;
  }

  CUDAMEDIAN_HOST_DEVICE Vector
  Choose(const Values & values, const Row & row, std::int64_t first, const Vector & medians, const Vector & own) const
  {
    const auto half = static_cast<std::uint32_t>(arguments.count / 2);
    Counts     counts(values, medians, own);
    if constexpr (VWidth > 0)
    {
      ForEachRow(row, [&](const Bits * pixels) {
        Vector vectors[3];
        ReadThree(pixels, first, vectors);
        counts.template AddRow<outputs - VWidth / 2, VWidth>(values, vectors, VWidth);
      });
      return counts.Choose(values, medians, own, half);
    }
    else
    {
      std::uint32_t totals[outputs]{};
      CountAll(values, row, first, counts, totals);
      return ChooseOutputs(values, medians, own, [&](int i) { return totals[i] > half; });
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  CountAll(const Values & values,
           const Row &    given,
           std::int64_t   first,
           Counts &       counts,
           std::uint32_t (&totals)[outputs]) const
  {
    const auto width = arguments.finish.extent[0];
    int        waiting = 0;
    const auto reserve = [&](int more) {
      waiting += more;
      if (waiting > Counts::mostAtOnce)
      {
        AddTo(totals, counts);
        waiting = more;
      }
    };
    if (arguments.members != nullptr)
    {
      for (std::int64_t i = 0; i < arguments.memberCount; ++i)
      {
        const auto * place = arguments.members[i].offset;
        const auto * stride = arguments.stride;
        const auto * row = given.pixels + place[0] + place[1] * stride[1] + place[2] * stride[2] + place[3] * stride[3];
        Vector       vectors[1];
        reserve(1);
        ReadLine({ { row, row + width }, row + first }, vectors);
        counts.template AddRow<0, 1>(values, vectors, 1);
      }
    }
    else
    {
      ForEachRow(given, [&](const Bits * row) {
        CUDAMEDIAN_KEEP_LOOP
        for (std::int64_t x = 0; x < arguments.window[0]; x += outputs)
        {
          const auto left = arguments.window[0] - x;
          const int  some = left < outputs ? static_cast<int>(left) : outputs;
          Vector     vectors[2];
          reserve(some);
          ReadLine({ { row, row + width + arguments.window[0] - 1 }, row + first + x }, vectors);
          counts.template AddRow<0, outputs>(values, vectors, some);
        }
      });
    }
    AddTo(totals, counts);
  }

  static CUDAMEDIAN_HOST_DEVICE void
  AddTo(std::uint32_t (&totals)[outputs], Counts & counts)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < outputs; ++i)
    {
      totals[i] += counts.GetCount(i);
    }
    counts.Clear();
  }
};

/** Whether outputs' own pixels begin a vector of the copy wherever outputs do. */
template <typename TBits>
bool
HasAlignedRows(const OutlierArguments & arguments)
{
  const auto * own = static_cast<const TBits *>(arguments.pixels) + arguments.window[0] / 2;
  const auto & stride = arguments.stride;
  return GetVectorShift(own) == 0 && (stride[1] | stride[2] | stride[3]) % pixelsOfVector<TBits> == 0;
}

template <typename TTraits, typename TLaunch>
auto
DispatchOutliersOf(const OutlierArguments & arguments, const TLaunch & launch)
{
  const auto * window = arguments.window;
  // Lanes of 8 bits tell counts of fewer than 128 values apart.
  const bool isKnown =
    arguments.members == nullptr && arguments.count < 128 && HasAlignedRows<typename TTraits::Bits>(arguments);
  if constexpr (sizeof(typename TTraits::Bits) == sizeof(typename TTraits::Value))
  {
    if (arguments.isImage)
    {
      return window[0] == 3   ? launch(OutlierVectorBody<TTraits, 3, true>(arguments))
             : window[0] == 5 ? launch(OutlierVectorBody<TTraits, 5, true>(arguments))
                              : launch(OutlierVectorBody<TTraits, 7, true>(arguments));
    }
  }
  return arguments.finish.invalid.words != nullptr || arguments.isWeighted ? launch(OutlierBody<TTraits>(arguments))
         : isKnown && window[0] == 3 ? launch(OutlierVectorBody<TTraits, 3>(arguments))
         : isKnown && window[0] == 5 ? launch(OutlierVectorBody<TTraits, 5>(arguments))
         : isKnown && window[0] == 7 ? launch(OutlierVectorBody<TTraits, 7>(arguments))
                                     : launch(OutlierVectorBody<TTraits, 0>(arguments));
}

template <typename TLaunch>
auto
DispatchOutliers(const OutlierArguments & arguments, const TLaunch & launch)
{
  switch (arguments.finish.pixelType)
  {
    case PixelType::Float16:
      return DispatchOutliersOf<HalfValue<PixelType::Float16>>(arguments, launch);
    case PixelType::BFloat16:
      return DispatchOutliersOf<HalfValue<PixelType::BFloat16>>(arguments, launch);
    case PixelType::Float32:
      return DispatchOutliersOf<PlainValue<float>>(arguments, launch);
    case PixelType::Int8:
    case PixelType::UInt8:
      return DispatchOutliersOf<PlainValue<std::uint8_t>>(arguments, launch);
    case PixelType::Int16:
    case PixelType::UInt16:
      return DispatchOutliersOf<PlainValue<std::uint16_t>>(arguments, launch);
    case PixelType::Int32:
    case PixelType::UInt32:
      return DispatchOutliersOf<PlainValue<std::uint32_t>>(arguments, launch);
    case PixelType::Int64:
    case PixelType::UInt64:
    case PixelType::Float64:
      break; // FindDeviceObstacle() refuses them
  }
  ThrowUnknown("pixel type with deviations in device memory", static_cast<std::size_t>(arguments.finish.pixelType));
}

template <typename TLaunch>
auto
DispatchBounds(const BoundArguments & arguments, const TLaunch & launch)
{
  return arguments.extent[0] == 256 ? launch(BoundBody<std::uint8_t>(arguments))
                                    : launch(BoundBody<std::uint16_t>(arguments));
}

} // namespace cudamedian

#endif
