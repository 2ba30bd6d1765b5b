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
#ifndef StripKernel_h
#define StripKernel_h

#include "BFloatRegisters.h"
#include "Clamp.h"
#include "OutlierStore.h"

namespace cudamedian
{

/** Where a thread's strip begins: its first output, relative to the output box but for the column, which is relative
 * to the first block. */
struct StripPlace
{
  std::int32_t  column;
  std::int32_t  row;
  std::int32_t  slice;
  std::uint32_t volume;
  std::int32_t  lane;
};

/** The kernel of the 3x3 window: each thread filters a strip of pixels from top to bottom and keeps the rows it needs
 * in registers. Nothing is staged, no thread waits for another; what a thread needs of the columns beside its strip it
 * gets from the neighbouring lanes of its warp.
 *
 * The median of 3x3 pixels is that of three values: the greatest of the three columns' least, the median of their
 * medians and the least of their greatest (J. L. Smith, "Implementing median filters in XC4000E FPGAs", Xcell 23,
 * 1996). Two rows are filtered at once, whose columns have two pixels in common.
 *
 * Written so that the host can run it too: there, a thread reads its neighbours' columns from the image. */
template <typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
class StripKernel
{
public:
  using Registers = KeyRegisters<TPixelBits, VPacking>;
  using Keys = typename Registers::Keys;
  using Key = PixelKey<TPixelBits, VMapping>;

  static constexpr int Threads = 128;
  static constexpr int Lanes = 32;
  static constexpr int Halves = Registers::Pixels;
  /** Columns of a strip: what one access moves, 16 bytes or 8 of 8-bit pixels. */
  static constexpr int Width = sizeof(TPixelBits) == 1 ? 8 : 16 / static_cast<int>(sizeof(TPixelBits));
  /** Strips of a block one below the other: those of its warps, and with two keys to a register two of each warp. */
  static constexpr int Strips = Threads / Lanes * Halves;
  /** Columns of a block. */
  static constexpr int BlockWidth = Lanes * Width;
  /** Rows that are filtered at once, and of a block whose strips have one. */
  static constexpr int Rows = 2;
  static constexpr int BlockHeight = Strips;
  /** Blocks that a multiprocessor has registers for. */
  static constexpr int ResidentBlocks = 5;
  /** Min and max of two operands for a strip of two rows. */
  static constexpr int Operations = 10 * (Width + 2) + 2 * 11 * Width;

  /** What is written where outliers alone are replaced. */
  using Outliers = OutliersAlone<TPixelBits, VMapping>;

  /** The strip of a thread of a block. \param written EveryMedian, or Outliers */
  template <typename TWritten = EveryMedian>
  static CUDAMEDIAN_HOST_DEVICE void
  Run(const KernelArguments & arguments,
      std::uint32_t           x,
      std::uint32_t           y,
      std::uint32_t           z,
      unsigned int            thread,
      const TWritten &        written = {})
  {
    if constexpr (VPacking == KeyPacking::Pair)
    {
      // Pairs have signed instructions too, which spare the way to keys and back.
      constexpr auto noMask = TPixelBits{ 0 };
      if (arguments.signMask != 0)
      {
        RunStrip(SignedPairRegisters<TPixelBits>(arguments), arguments, noMask, x, y, z, thread, written);
      }
      else
      {
        RunStrip(Registers(arguments), arguments, noMask, x, y, z, thread, written);
      }
    }
    else
    {
      RunStrip(Registers(arguments), arguments, static_cast<TPixelBits>(arguments.signMask), x, y, z, thread, written);
    }
  }

  /** Filters the rows of a strip from one on. \returns the first that was not filtered, since there are keys without a
   * number, or medians that may be such keys, or that of the next strip. */
  template <typename TRegisters, typename TWritten = EveryMedian>
  static CUDAMEDIAN_HOST_DEVICE int
  RunRows(const TRegisters &      registers,
          const KernelArguments & arguments,
          TPixelBits              signMask,
          const StripPlace &      place,
          int                     firstRow,
          const TWritten &        written = {})
  {
    const auto  stripRows = arguments.stripRows;
    const Strip strip(arguments,
                      arguments.gridOrigin + place.column,
                      arguments.outputOrigin[1] + place.row,
                      arguments.outputOrigin[2] + place.slice,
                      arguments.outputOrigin[3] + static_cast<std::int32_t>(place.volume),
                      place.lane,
                      signMask);

    TPixelBits * output = static_cast<TPixelBits *>(arguments.output) +
                          static_cast<std::int64_t>(place.volume) * arguments.outputPitch[3] +
                          place.slice * arguments.outputPitch[2] + place.row * arguments.outputPitch[1] + place.column;
    const std::int32_t skip = arguments.outputOrigin[0] - arguments.gridOrigin - place.column;
    const std::int32_t columns = skip + arguments.outputExtent[0];
    const bool         isWhole = skip <= 0 && columns >= Width;
    const std::int32_t rows = arguments.outputExtent[1] - place.row;

    Pixels pixels[2];
    Line   lines[4];
    Keys   seen = 0;
    strip.Load(firstRow - 1, pixels[0]);
    strip.Load(firstRow, pixels[1]);
    strip.MakeLine(pixels[0], lines[0], seen);
    strip.MakeLine(pixels[1], lines[1], seen);
    strip.Load(firstRow + 1, pixels[0]);
    strip.Load(firstRow + 2, pixels[1]);
    CUDAMEDIAN_KEEP_LOOP
    for (int row = firstRow; row < stripRows; row += 2)
    {
      if (row >= rows)
      {
        break; // rows of the second half are further down
      }
      strip.MakeLine(pixels[0], lines[2], seen);
      strip.MakeLine(pixels[1], lines[3], seen);
      if constexpr (IsNumbered)
      {
        if (IsTrueOfWarp(bfloat::HasNaN(seen)))
        {
          return row;
        }
      }
      if (row + 2 < stripRows)
      {
        strip.Load(row + 3, pixels[0]);
        strip.Load(row + 4, pixels[1]);
      }
      Keys medians[2][Width];
      Filter(registers, lines, medians);
      if constexpr (IsNumbered)
      {
        if (strip.GetNumbered().isMiddle && IsTrueOfWarp(HasLimit(strip.GetNumbered(), medians)))
        {
          return row;
        }
      }
      const auto make = [&](int i, int half, [[maybe_unused]] int ofRow) {
        if constexpr (TWritten::areAll)
        {
          return MakePixels(medians[i], half, signMask);
        }
        else if constexpr (IsNumbered)
        {
          // Keys are clamped, so pixels are read again.
          return written.KeepNear(
            strip.GetPixels(ofRow), MakePixels(medians[i], half, signMask), isWhole, skip, columns);
        }
        else
        {
          constexpr auto signs = static_cast<TPixelBits>(signsOfKeys<TRegisters>);
          return written.KeepNear(lines[1 + i].GetPixels(half, signs),
                                  MakePixels(medians[i], half, signs),
                                  static_cast<TPixelBits>(signs ^ signMask));
        }
      };
      StoreRows(make, isWhole, skip, columns, row, rows, stripRows, arguments.outputPitch[1], output);
      lines[0] = lines[2];
      lines[1] = lines[3];
    }
    return stripRows;
  }

private:
  /** Whether registers have more keys than they can tell apart: see NumberedKeys. */
  static constexpr bool IsNumbered = VPacking == KeyPacking::BFloatPair;

  template <typename TRegisters, typename TWritten>
  static CUDAMEDIAN_HOST_DEVICE void
  RunStrip(const TRegisters &      registers,
           const KernelArguments & arguments,
           TPixelBits              signMask,
           std::uint32_t           x,
           std::uint32_t           y,
           std::uint32_t           z,
           unsigned int            thread,
           const TWritten &        written)
  {
    y += arguments.firstBlock[0];
    z += arguments.firstBlock[1];
    const std::uint32_t volume = z < arguments.blocksZ ? 0 : z / arguments.blocksZ;
    StripPlace          place;
    place.volume = volume;
    place.slice = static_cast<std::int32_t>(z - volume * arguments.blocksZ);
    place.lane = static_cast<std::int32_t>(thread % Lanes);
    place.row = (static_cast<std::int32_t>(y) * Strips + static_cast<std::int32_t>(thread / Lanes) * Halves) *
                arguments.stripRows;
    if (place.row >= arguments.outputExtent[1])
    {
      return; // the whole warp
    }
    place.column = static_cast<std::int32_t>(x) * BlockWidth + place.lane * Width;
    const int row = RunRows(registers, arguments, signMask, place, 0, written);
    if constexpr (IsNumbered)
    {
      // Where a key has no number, the rest of both strips is filtered with one key to a register.
      CUDAMEDIAN_KEEP_LOOP
      for (int half = 0; half < Halves && row < arguments.stripRows; ++half)
      {
        using Single = StripKernel<TPixelBits, VMapping, KeyPacking::Single>;
        Single::RunRows(typename Single::Registers(arguments), arguments, signMask, place, row, written);
        place.row += arguments.stripRows;
      }
    }
  }

  /** How a strip's keys are numbered, if they are: signed ones in the middle. */
  static CUDAMEDIAN_HOST_DEVICE NumberedKeys
  GetNumbered(TPixelBits signMask)
  {
    NumberedKeys numbered;
    numbered.isMiddle = signMask != 0;
    return numbered;
  }

  /** Whether some median is what keys are clamped to. */
  static CUDAMEDIAN_HOST_DEVICE bool
  HasLimit(const NumberedKeys & numbered, const Keys (&medians)[2][Width])
  {
    Keys extreme = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < 2 * Width; ++i)
    {
      extreme = numbered.GetMoreExtreme(extreme, medians[i / Width][i % Width]);
    }
    return NumberedKeys::IsAtLimit(extreme);
  }

  /** Whether something is true of a lane; the host has no warps. */
  static CUDAMEDIAN_HOST_DEVICE bool
  IsTrueOfWarp(bool isTrue)
  {
#ifdef __CUDA_ARCH__
    return __any_sync(0xFFFFFFFFU, isTrue);
#else
    return isTrue;
#endif
  }

  /** A row as it comes from memory: the strip's columns, and for the lanes at the warp's ends the column beside. */
  struct Pixels
  {
    PixelVector<TPixelBits, Width> inner[Halves];
    PixelVector<TPixelBits, 1>     left[Halves];
    PixelVector<TPixelBits, 1>     right[Halves];
  };

  /** The pixels of a row that are written. */
  using StoredRow = PixelVector<TPixelBits, Width>;

  /** The keys of a row, with one column on either side. */
  struct Line
  {
    Keys keys[Width + 2];

    /** The pixels of the strip's columns. */
    CUDAMEDIAN_HOST_DEVICE StoredRow
    GetPixels(int half, TPixelBits signMask) const
    {
      Keys inner[Width];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Width; ++i)
      {
        inner[i] = keys[1 + i];
      }
      return MakePixels(inner, half, signMask);
    }
  };

  static CUDAMEDIAN_HOST_DEVICE StoredRow
  MakePixels(const Keys (&keys)[Width], int half, TPixelBits signMask)
  {
    if constexpr (IsNumbered)
    {
      return GetNumbered(signMask).MakePixels(keys, half, signMask);
    }
    else
    {
      StoredRow pixels{}; // which GCC 12 does not see to be set whole
      Registers::template GetPixels<Key>(keys, half, signMask, pixels);
      return pixels;
    }
  }

  /** Reads the rows of a strip. */
  class Strip
  {
  public:
    CUDAMEDIAN_HOST_DEVICE
    Strip(const KernelArguments & arguments,
          std::int32_t            column,
          std::int32_t            row,
          std::int32_t            slice,
          std::int32_t            volume,
          std::int32_t            lane,
          TPixelBits              signMask)
      : m_Arguments(arguments)
      , m_Row(row)
      , m_Lane(lane)
      , m_SignMask(signMask)
      , m_Columns(arguments.inputExtent[0] - column)
    {
      m_Input = static_cast<const TPixelBits *>(arguments.input) + volume * arguments.inputPitch[3] +
                slice * arguments.inputPitch[2];
      const std::int32_t last = arguments.inputExtent[0] - 1;
      m_Inner = Clamp(column, last / Width * Width);
      m_Left = Clamp(column - 1, last);
      m_Right = Clamp(column + Width, last);
    }

    CUDAMEDIAN_HOST_DEVICE void
    Load(int row, Pixels & pixels) const
    {
      CUDAMEDIAN_UNROLL
      for (int half = 0; half < Halves; ++half)
      {
        const TPixelBits * line =
          m_Input +
          Clamp(m_Row + row + half * m_Arguments.stripRows, m_Arguments.inputExtent[1] - 1) * m_Arguments.inputPitch[1];
        pixels.inner[half].Load(line + m_Inner);
#ifdef __CUDA_ARCH__
        // One load serves both ends of the warp.
        if (m_Lane == 0 || m_Lane == Lanes - 1)
        {
          pixels.left[half].Load(line + (m_Lane == 0 ? m_Left : m_Right));
        }
#else
        pixels.left[half].Load(line + m_Left);
        pixels.right[half].Load(line + m_Right);
#endif
      }
    }

    /** The strip's first pixel of a row of the image. */
    CUDAMEDIAN_HOST_DEVICE const TPixelBits *
    GetPixels(int row) const
    {
      return m_Input + (m_Row + row) * m_Arguments.inputPitch[1] + (m_Arguments.inputExtent[0] - m_Columns);
    }

    CUDAMEDIAN_HOST_DEVICE void
    MakeLine(const Pixels & pixels, Line & line, Keys & seen) const
    {
      const auto inner = MakeKeys(pixels.inner);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Width; ++i)
      {
        line.keys[1 + i] = inner.Get(i);
      }
      const Keys left = MakeKeys(pixels.left).Get(0);
#ifdef __CUDA_ARCH__
      const Keys fromLeft = __shfl_up_sync(0xFFFFFFFFU, line.keys[Width], 1);
      const Keys fromRight = __shfl_down_sync(0xFFFFFFFFU, line.keys[1], 1);
      line.keys[0] = m_Lane == 0 ? left : fromLeft;
      line.keys[Width + 1] = m_Lane == Lanes - 1 ? left : fromRight;
#else
      line.keys[0] = left;
      line.keys[Width + 1] = MakeKeys(pixels.right).Get(0);
#endif
      if (m_Columns <= Width)
      {
        // Columns beyond the image repeat its last one.
        CUDAMEDIAN_UNROLL
        for (int i = 2; i < Width + 2; ++i)
        {
          line.keys[i] = i > m_Columns ? line.keys[i - 1] : line.keys[i];
        }
      }
      if (m_Left == m_Inner)
      {
        line.keys[0] = line.keys[1]; // the image's first column
      }
      if constexpr (IsNumbered)
      {
        if (!GetNumbered().isMiddle)
        {
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Width + 2; ++i)
          {
            seen = bfloat::KeepNaN(seen, line.keys[i]);
          }
        }
      }
    }

    CUDAMEDIAN_HOST_DEVICE NumberedKeys
    GetNumbered() const
    {
      return StripKernel::GetNumbered(m_SignMask);
    }

  private:
    template <int VCount>
    CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, VCount>
                           MakeKeys(const PixelVector<TPixelBits, VCount> (&pixels)[Halves]) const
    {
      if constexpr (IsNumbered)
      {
        if (GetNumbered().isMiddle)
        {
          return NumberedKeys::NumberMiddle(pixels);
        }
      }
      return Registers::template MakeKeys<Key>(pixels, m_SignMask);
    }

    const KernelArguments & m_Arguments;
    const TPixelBits *      m_Input;
    std::int32_t            m_Row;
    std::int32_t            m_Lane;
    TPixelBits              m_SignMask;
    std::int32_t            m_Columns; ///< of the image from the strip's first on
    std::int32_t            m_Inner;
    std::int32_t            m_Left;
    std::int32_t            m_Right;
  };

  /** Least, median and greatest of three in each column. */
  struct SortedColumns
  {
    Keys low[Width + 2];
    Keys middle[Width + 2];
    Keys high[Width + 2];
  };

  /** The medians of two rows from four rows of pixels. Where the min of two values is known, their max comes from the
   * pipe of multiply-add, which has nothing else to do. */
  template <typename TRegisters>
  static CUDAMEDIAN_HOST_DEVICE void
  Filter(const TRegisters & registers, const Line (&lines)[4], Keys (&medians)[2][Width])
  {
    SortedColumns columns[2];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Width + 2; ++i)
    {
      const Keys low = registers.Min(lines[1].keys[i], lines[2].keys[i]);
      const Keys high = registers.MaxBySum(lines[1].keys[i], lines[2].keys[i], low);
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < 2; ++row)
      {
        const Keys third = lines[3 * row].keys[i];
        columns[row].low[i] = registers.Min(low, third);
        columns[row].middle[i] = registers.Max(low, registers.Min(high, third));
        columns[row].high[i] = registers.Max(high, third);
      }
    }
    CUDAMEDIAN_UNROLL
    for (int row = 0; row < 2; ++row)
    {
      const auto & column = columns[row];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Width; i += 2)
      {
        // Two neighbours have two columns in common.
        const Keys low = registers.Min(column.middle[i + 1], column.middle[i + 2]);
        const Keys high = registers.MaxBySum(column.middle[i + 1], column.middle[i + 2], low);
        CUDAMEDIAN_UNROLL
        for (int j = 0; j < 2; ++j)
        {
          const int  n = i + j;
          const Keys a = registers.Max3(column.low[n], column.low[n + 1], column.low[n + 2]);
          const Keys b = registers.Max(low, registers.Min(high, column.middle[n + 2 * j]));
          const Keys c = registers.Min3(column.high[n], column.high[n + 1], column.high[n + 2]);
          const Keys lower = registers.Min(a, b);
          medians[row][n] = registers.Max(lower, registers.Min(registers.MaxBySum(a, b, lower), c));
        }
      }
    }
  }

  /** Writes two rows of pixels in each half, from `row` of the strip on: make(i, half, row) makes the first (0) or the
   * second (1) one. */
  template <typename TMake>
  static CUDAMEDIAN_HOST_DEVICE void
  StoreRows(const TMake & make,
            bool          isWhole,
            std::int32_t  skip,
            std::int32_t  columns,
            int           row,
            std::int32_t  rows,
            std::int32_t  stripRows,
            std::int64_t  pitch,
            TPixelBits *  output)
  {
    CUDAMEDIAN_UNROLL
    for (int half = 0; half < Halves; ++half)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 2; ++i)
      {
        const int ofRow = row + i + half * stripRows;
        if (ofRow < rows)
        {
          StorePixels(make(i, half, ofRow), isWhole, skip, columns, output + ofRow * pitch);
        }
      }
    }
  }
};

} // namespace cudamedian

#endif
