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
#ifndef ByteStripKernel_h
#define ByteStripKernel_h

#include "Clamp.h"
#include "ColumnKeys.h"
#include "LinePlace.h"
#include "OutlierStore.h"

namespace cudamedian
{

/** The kernel of the 3x3 window for 8-bit pixels where registers hold pairs: each thread filters 16 columns of four
 * rows, all of whose inputs it has in registers at once.
 *
 * The median is found as StripKernel finds it. The keys of a register are columns at even places, or at odd ones
 * (ColumnKeys), so columns are sorted as memory holds them; a register more has the column on either side. What an even
 * column has on its left and an odd one on its right are halves of two registers, which one instruction joins. */
class ByteStripKernel
{
public:
  using TPixelBits = std::uint8_t;
  static constexpr int Width = 16;
  static constexpr int Rows = 4;
  using Columns = ColumnKeys<TPixelBits, KeyPacking::Pair, Width>;
  using Registers = Columns::Registers;
  using Keys = Columns::Keys;

  static constexpr int Warps = 4;
  static constexpr int Threads = 32 * Warps;
  /** No strip is as long as the launch says, and registers are left to the compiler: see KernelShape. */
  static constexpr int Strips = 0;
  static constexpr int ResidentBlocks = 0;
  /** Columns and rows of a block. */
  static constexpr int BlockWidth = 32 * Width;
  static constexpr int BlockHeight = Warps * Rows;
  /** Min and max of two operands for a tile. */
  static constexpr int Operations = Rows / 2 * (10 * (Width + 2) + 2 * 11 * Width);

  /** What is written where outliers alone are replaced. */
  using Outliers = OutliersAlone<TPixelBits, KeyMapping::Integer>;

  /** The tile of a thread of a block. \param written EveryMedian, or Outliers */
  template <typename TWritten = EveryMedian>
  static CUDAMEDIAN_HOST_DEVICE void
  Run(const KernelArguments & arguments,
      std::uint32_t           x,
      std::uint32_t           y,
      std::uint32_t           z,
      unsigned int            thread,
      const TWritten &        written = {})
  {
    if (arguments.signMask != 0)
    {
      RunTile(SignedPairRegisters<TPixelBits>(arguments), arguments, x, y, z, thread, written);
    }
    else
    {
      RunTile(Registers(arguments), arguments, x, y, z, thread, written);
    }
  }

private:
  using Key = PixelKey<TPixelBits, KeyMapping::Integer>;
  using Pixels = Columns::Pixels;
  /** Pairs have signed instructions. */
  static constexpr TPixelBits NoMask = 0;
  /** The register of the columns beside the strip, that on the right in the low half; those before it are the strip's.
   */
  static constexpr int Beside = Columns::Count;

  /** A row as it comes from memory. */
  struct Row
  {
    Pixels        inner;
    std::uint32_t left;
    std::uint32_t right;
  };

  /** The keys of a row, or what is made of them. */
  struct Line
  {
    Keys keys[Columns::Count + 1];

    /** The pixels of the strip's columns. */
    CUDAMEDIAN_HOST_DEVICE Pixels
    GetPixels(TPixelBits signs) const
    {
      Keys inner[Columns::Count];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Columns::Count; ++i)
      {
        inner[i] = keys[i];
      }
      Pixels pixels{};
      Columns::GetPixels<Key>(inner, signs, pixels);
      return pixels;
    }

    /** The columns to the left of register `i`, which has even ones. */
    CUDAMEDIAN_HOST_DEVICE Keys
    GetLeft(int i) const
    {
      return SelectBytes(keys[i == 0 ? Beside : i - 1], keys[i + 1], 0x5432U);
    }
    /** The columns to the right of register `i`, which has odd ones. */
    CUDAMEDIAN_HOST_DEVICE Keys
    GetRight(int i) const
    {
      return SelectBytes(keys[i - 1], keys[i + 1], 0x5432U);
    }
  };

  /** Least, median and greatest of three in each column. */
  struct SortedColumns
  {
    Line low;
    Line middle;
    Line high;
  };

  template <typename TRegisters, typename TWritten>
  static CUDAMEDIAN_HOST_DEVICE void
  RunTile(const TRegisters &      registers,
          const KernelArguments & arguments,
          std::uint32_t           x,
          std::uint32_t           y,
          std::uint32_t           z,
          unsigned int            thread,
          const TWritten &        written)
  {
    const LinePlace    place(arguments, x, y, z, thread, Warps, Width, 1, Rows);
    const std::int32_t rows = arguments.outputExtent[1] - place.first[1];
    if (place.columns <= 0 || rows <= 0)
    {
      return;
    }
    Line lines[Rows + 2];
    Load(arguments, place, lines);
    Pixels medians[Rows];
    CUDAMEDIAN_UNROLL
    for (int row = 0; row < Rows; row += 2)
    {
      SortedColumns columns[2];
      SortColumns(registers, lines + row, columns);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 2; ++i)
      {
        Keys keys[Columns::Count];
        FindMedians(registers, columns[i], keys);
        if constexpr (TWritten::areAll)
        {
          Columns::GetPixels<Key>(keys, NoMask, medians[row + i]);
        }
        else
        {
          constexpr auto signs = static_cast<TPixelBits>(signsOfKeys<TRegisters>);
          Pixels         found{};
          Columns::GetPixels<Key>(keys, signs, found);
          medians[row + i] = written.KeepNear(lines[1 + row + i].GetPixels(signs), found, signs);
        }
      }
    }
    Store(arguments, place, rows, medians);
  }

  static CUDAMEDIAN_HOST_DEVICE void
  Load(const KernelArguments & arguments, const LinePlace & place, Line (&lines)[Rows + 2])
  {
    const std::int32_t column = arguments.gridOrigin + place.first[0];
    const std::int32_t last = arguments.inputExtent[0] - 1;
    const std::int32_t left = Clamp(column - 1, last) - column;
    const std::int32_t right = Clamp(column + Width, last) - column;
    const std::int32_t first = arguments.outputOrigin[1] + place.first[1] - 1;
    const std::int64_t pitch = arguments.inputPitch[1];
    const auto *       input = place.GetInput<TPixelBits>(arguments, 1) + column;
    Row                rows[Rows + 2];
    if (first >= 0 && first <= arguments.inputExtent[1] - (Rows + 2))
    {
      input += first * pitch;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows + 2; ++i)
      {
        LoadRow(input, left, right, rows[i]);
        input += pitch;
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows + 2; ++i)
      {
        LoadRow(input + Clamp(first + i, arguments.inputExtent[1] - 1) * pitch, left, right, rows[i]);
      }
    }
    const std::int32_t columns = arguments.inputExtent[0] - column; // of the image from the strip's first on
    if (columns < Width)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Rows + 2; ++i)
      {
        RepeatLastColumn(columns, rows[i].inner);
      }
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Rows + 2; ++i)
    {
      Keys keys[Columns::Count];
      Columns::MakeKeys<Key>(rows[i].inner, NoMask, keys);
      CUDAMEDIAN_UNROLL
      for (int j = 0; j < Columns::Count; ++j)
      {
        lines[i].keys[j] = keys[j];
      }
      lines[i].keys[Beside] = SelectBytes(rows[i].left, rows[i].right, 0x0141U); // each the high byte of its half
    }
  }

  static CUDAMEDIAN_HOST_DEVICE void
  LoadRow(const TPixelBits * line, std::int32_t left, std::int32_t right, Row & row)
  {
    row.inner.Load(line);
    row.left = line[left];
    row.right = line[right];
  }

  /** Columns beyond the image repeat its last one. */
  static CUDAMEDIAN_HOST_DEVICE void
  RepeatLastColumn(std::int32_t columns, Pixels & pixels)
  {
    Pixels repeated;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Width; ++i)
    {
      repeated.Set(i, i == 0 || i < columns ? pixels.Get(i) : repeated.Get(i - 1));
    }
    pixels = repeated;
  }

  /** The columns of two rows, which have two of four rows of pixels in common. */
  template <typename TRegisters>
  static CUDAMEDIAN_HOST_DEVICE void
  SortColumns(const TRegisters & registers, const Line * lines, SortedColumns (&columns)[2])
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Columns::Count + 1; ++i)
    {
      const Keys low = registers.Min(lines[1].keys[i], lines[2].keys[i]);
      const Keys high = registers.MaxBySum(lines[1].keys[i], lines[2].keys[i], low);
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < 2; ++row)
      {
        const Keys third = lines[3 * row].keys[i];
        columns[row].low.keys[i] = registers.Min(low, third);
        columns[row].middle.keys[i] = registers.Max(low, registers.Min(high, third));
        columns[row].high.keys[i] = registers.Max(high, third);
      }
    }
  }

  /** The medians of a row. */
  template <typename TRegisters>
  static CUDAMEDIAN_HOST_DEVICE void
  FindMedians(const TRegisters & registers, const SortedColumns & columns, Keys (&medians)[Columns::Count])
  {
    CUDAMEDIAN_UNROLL
    for (int even = 0; even < Columns::Count; even += 2)
    {
      // An even column and the odd one beside it have each other in common.
      const int  odd = even + 1;
      const Keys low = registers.Min(columns.middle.keys[even], columns.middle.keys[odd]);
      const Keys high = registers.MaxBySum(columns.middle.keys[even], columns.middle.keys[odd], low);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 2; ++i)
      {
        const auto getThird = [&](const Line & line) { return i == 0 ? line.GetLeft(even) : line.GetRight(odd); };
        const Keys a = registers.Max3(columns.low.keys[even], columns.low.keys[odd], getThird(columns.low));
        const Keys b = registers.Max(low, registers.Min(high, getThird(columns.middle)));
        const Keys c = registers.Min3(columns.high.keys[even], columns.high.keys[odd], getThird(columns.high));
        const Keys lower = registers.Min(a, b);
        medians[even + i] = registers.Max(lower, registers.Min(registers.MaxBySum(a, b, lower), c));
      }
    }
  }

  static CUDAMEDIAN_HOST_DEVICE void
  Store(const KernelArguments & arguments, const LinePlace & place, std::int32_t rows, const Pixels (&medians)[Rows])
  {
    const std::int64_t pitch = arguments.outputPitch[1];
    auto *             output = place.GetOutput<TPixelBits>(arguments);
    if (place.isWhole && rows >= Rows)
    {
      CUDAMEDIAN_UNROLL
      for (int row = 0; row < Rows; ++row)
      {
        medians[row].Store(output);
        output += pitch;
      }
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int row = 0; row < Rows; ++row)
    {
      if (row < rows)
      {
        place.Store(medians[row], output + row * pitch);
      }
    }
  }
};

} // namespace cudamedian

#endif
