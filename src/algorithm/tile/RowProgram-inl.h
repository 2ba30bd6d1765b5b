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
// Included once per instruction set (Google Highway).
#if defined(RowProgram_inl_h) == defined(HWY_TARGET_TOGGLE)
#  ifdef RowProgram_inl_h
#    undef RowProgram_inl_h
#  else
#    define RowProgram_inl_h
#  endif

#  include "KeyVectors-inl.h"
#  include "PixelFormat.h"
#  include "RowPrograms.h"

#  include "hwy/highway.h"

#  include <type_traits>
#  include <utility>

HWY_BEFORE_NAMESPACE();
namespace cudamedian
{
namespace HWY_NAMESPACE
{
namespace
{

namespace hn = hwy::HWY_NAMESPACE;

/** What the chunks of a program read and write, in vectors: a vector of neighbouring tiles of a run. A tile has so many
 * columns. */
template <typename TDescriptor, int VColumns>
class Row
{
public:
  using Key = hn::TFromD<TDescriptor>;
  using Keys = hn::Vec<TDescriptor>;

  HWY_INLINE
  Row(const RowArguments & arguments, std::size_t tile)
    : m_Lines(static_cast<const Key * const *>(arguments.lines))
    , m_Shared(static_cast<Key * const *>(arguments.shared))
    , m_Medians(static_cast<Key * const *>(arguments.medians))
    , m_Ranks(static_cast<const std::uint8_t * const *>(arguments.ranks))
    , m_Slots(static_cast<Key *>(arguments.slots))
    , m_Tile(tile)
    , m_KeyMask(arguments.keyMask)
    , m_IsFloat(arguments.isFloat)
  {}

  static HWY_INLINE Keys
  Min(Keys a, Keys b)
  {
    return hn::Min(a, b);
  }
  static HWY_INLINE Keys
  Max(Keys a, Keys b)
  {
    return hn::Max(a, b);
  }
  /** The max, given the min. AVX-512 compares on one port; the three-input exclusive or runs beside it on another. */
  static HWY_INLINE Keys
  MaxBySum(Keys a, Keys b, Keys min)
  {
#  if HWY_TARGET <= HWY_AVX3
    return hn::Xor3(a, b, min);
#  else
    (void)min;
    return hn::Max(a, b);
#  endif
  }

  /** Loads a pixel's keys, once: compilers are kept from loading them again for each use. */
  HWY_INLINE Keys
  Pixel(int line, int column) const
  {
    auto keys = hn::LoadU(TDescriptor(), m_Lines[line * VColumns + column % VColumns] + column / VColumns + m_Tile);
#  if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
    asm("" : "+v"(keys.raw));
#  endif
    return keys;
  }
  HWY_INLINE Keys
  Shared(int value, int position) const
  {
    return hn::LoadU(TDescriptor(), m_Shared[value] + position + m_Tile);
  }
  HWY_INLINE void
  Share(int value, Keys keys) const
  {
    hn::StoreU(keys, TDescriptor(), m_Shared[value] + m_Tile);
  }
  /** Writes the medians of a row of pixels, given for each column of the tile. */
  template <typename... TKeys>
  HWY_INLINE void
  Medians(int row, TKeys... keys) const
  {
    auto * pixels = m_Medians[row] + m_Tile * VColumns;
    if constexpr (VColumns == 1)
    {
      StoreColumns<Key>(pixels, keys...);
    }
    else
    {
      if constexpr (sizeof(Key) >= 4)
      {
        if (m_IsFloat)
        {
          const KeyVectors<Key, KeyMapping::Float> mapping(m_KeyMask);
          return StoreColumns<Key>(pixels, mapping.ToBits(keys)...);
        }
      }
      const KeyVectors<Key, KeyMapping::Integer> mapping(m_KeyMask);
      StoreColumns<Key>(pixels, mapping.ToBits(keys)...);
    }
  }
  /** Of the values that are found for an output, one for each of several ranks, takes that of its own rank. */
  template <int VRow, int VColumn, typename... TKeys>
  HWY_INLINE Keys
  Choose(std::integral_constant<int, VRow>, std::integral_constant<int, VColumn>, Keys least, TKeys... others) const
  {
    return Take(LoadRanks<VColumn>(m_Ranks[VRow] + m_Tile * VColumns), 1, least, others...);
  }
  HWY_INLINE void
  Keep(int slot, Keys keys) const
  {
    hn::StoreU(keys, TDescriptor(), GetSlot(slot));
  }
  HWY_INLINE Keys
  Kept(int slot) const
  {
    return hn::LoadU(TDescriptor(), GetSlot(slot));
  }

private:
  /** Takes the first value where the rank is this one, the next where it is the next, and so on. */
  template <typename... TKeys>
  static HWY_INLINE Keys
  Take(Keys ranks, int rank, Keys chosen, Keys value, TKeys... others)
  {
    const auto isWanted = hn::Eq(ranks, hn::Set(TDescriptor(), static_cast<Key>(rank)));
    return Take(ranks, rank + 1, hn::IfThenElse(isWanted, value, chosen), others...);
  }
  static HWY_INLINE Keys
  Take(Keys, int, Keys chosen)
  {
    return chosen;
  }
  /** The ranks of a column of so many tiles' pixels, as keys. */
  template <int VColumn>
  static HWY_INLINE Keys
  LoadRanks(const std::uint8_t * ranks)
  {
    const hn::Rebind<std::uint8_t, TDescriptor> d;
    if constexpr (VColumns == 1)
    {
      return Promote(hn::LoadU(d, ranks));
    }
    else
    {
      hn::Vec<decltype(d)> p, q, r, s;
      if constexpr (VColumns == 2)
      {
        hn::LoadInterleaved2(d, ranks, p, q);
        return Promote(VColumn == 0 ? p : q);
      }
      else
      {
        hn::LoadInterleaved4(d, ranks, p, q, r, s);
        return Promote(VColumn == 0 ? p : VColumn == 1 ? q : VColumn == 2 ? r : s);
      }
    }
  }
  template <typename TBytes>
  static HWY_INLINE Keys
  Promote(TBytes bytes)
  {
    if constexpr (sizeof(Key) == 1)
    {
      return hn::BitCast(TDescriptor(), bytes);
    }
    else if constexpr (sizeof(Key) == 8)
    {
      return hn::PromoteTo(TDescriptor(), hn::PromoteTo(hn::Rebind<std::uint32_t, TDescriptor>(), bytes));
    }
    else
    {
      return hn::PromoteTo(TDescriptor(), bytes);
    }
  }
  HWY_INLINE Key *
  GetSlot(int slot) const
  {
    return m_Slots + slot * rowSlotBytes / sizeof(Key) + m_Tile % (rowSlotBytes / sizeof(Key));
  }

  const Key * const * m_Lines;
  Key * const *       m_Shared;
  Key * const *       m_Medians;

  const std::uint8_t * const * m_Ranks;

  Key *         m_Slots;
  std::size_t   m_Tile;
  std::uint64_t m_KeyMask;
  bool          m_IsFloat;
};

#  if HWY_TARGET <= HWY_AVX3
/** Two neighbouring vectors of tiles at once. The operations of one fill the waits of the other. */
template <typename TRow>
class RowPair
{
public:
  /** A vector of keys of each. */
  struct Keys
  {
    typename TRow::Keys first;
    typename TRow::Keys second;
  };

  HWY_INLINE
  RowPair(const RowArguments & arguments, std::size_t tile, std::size_t lanes)
    : m_First(arguments, tile)
    , m_Second(arguments, tile + lanes)
  {}

  static HWY_INLINE Keys
  Min(Keys a, Keys b)
  {
    return { TRow::Min(a.first, b.first), TRow::Min(a.second, b.second) };
  }
  static HWY_INLINE Keys
  Max(Keys a, Keys b)
  {
    return { TRow::Max(a.first, b.first), TRow::Max(a.second, b.second) };
  }
  static HWY_INLINE Keys
  MaxBySum(Keys a, Keys b, Keys min)
  {
    return { TRow::MaxBySum(a.first, b.first, min.first), TRow::MaxBySum(a.second, b.second, min.second) };
  }
  HWY_INLINE Keys
  Pixel(int line, int column) const
  {
    return { m_First.Pixel(line, column), m_Second.Pixel(line, column) };
  }
  template <typename TNumber, typename TColumn, typename... TKeys>
  HWY_INLINE Keys
  Choose(TNumber row, TColumn column, TKeys... keys) const
  {
    return { m_First.Choose(row, column, keys.first...), m_Second.Choose(row, column, keys.second...) };
  }
  template <typename... TKeys>
  HWY_INLINE void
  Medians(int row, TKeys... keys) const
  {
    m_First.Medians(row, keys.first...);
    m_Second.Medians(row, keys.second...);
  }

private:
  TRow m_First;
  TRow m_Second;
};
#  endif

/** Runs a program (RowEmitter.h) for keys of the least to the most bytes. */
template <typename TProgram, std::size_t VLeastKeyBytes, std::size_t VMostKeyBytes, bool VIsLong>
class RowProgramRunner
{
public:
  /** Without vectors the interpreter is as fast; and with those of 16 bytes that every x86-64 has, the time to compile
   * long programs is better spent. */
  static constexpr bool hasVectors =
    HWY_TARGET != HWY_SCALAR && !(HWY_ARCH_X86 != 0 && VIsLong && HWY_TARGET > HWY_AVX2);

  static HWY_INLINE void
  Run(std::size_t keyBytes, int phase, const RowArguments & arguments)
  {
    if constexpr (hasVectors)
    {
      switch (keyBytes)
      {
        case 1:
          return RunKeys<std::uint8_t>(phase, arguments);
        case 2:
          return RunKeys<std::uint16_t>(phase, arguments);
        case 4:
          return RunKeys<std::uint32_t>(phase, arguments);
        case 8:
          return RunKeys<std::uint64_t>(phase, arguments);
        default:
          ThrowUnknown("width of keys in bytes", keyBytes);
      }
    }
  }

  /** What there is to know of the program, but for its functions.
   * \param rank of the wanted values, or -1 for medians. */
  static RowProgram
  Describe(const Extent & shorter, std::int64_t rank)
  {
    RowProgram program{};
    program.window = { { { TProgram::RadiusX, TProgram::RadiusY, TProgram::RadiusZ, TProgram::RadiusW } },
                       shorter,
                       rank };
    program.tile = { { TProgram::TileX, TProgram::TileY, TProgram::TileZ, TProgram::TileW } };
    program.leastKeyBytes = VLeastKeyBytes;
    program.mostKeyBytes = VMostKeyBytes;
    for (int phase = 0; phase < TProgram::Phases; ++phase)
    {
      program.phases.push_back({ TProgram::FirstTile[phase], TProgram::LastTile[phase] });
    }
    program.sharedValues = TProgram::SharedValues;
    program.slots = TProgram::Slots;
    program.operations = TProgram::Operations;
    return program;
  }

private:
  /** Whether the registers of AVX-512 hold the values of two vectors. A processor looks ahead about as far as one
   * vector's operations at 3x3, which wait for each other: two at once take 0.88 of the time (8 bits), 0.92 (16) and
   * 0.98 (float). */
  static constexpr bool isShort = TProgram::Chunks == 1 && TProgram::SharedValues == 0 && TProgram::Operations <= 200;

  template <typename TKey>
  static HWY_INLINE void
  RunKeys(int phase, const RowArguments & arguments)
  {
    if constexpr (VLeastKeyBytes <= sizeof(TKey) && sizeof(TKey) <= VMostKeyBytes)
    {
      constexpr std::make_index_sequence<TProgram::Chunks> chunks{};
      if constexpr (TProgram::TileX == 1)
      {
        if (arguments.isSigned)
        {
          return RunChunks<std::make_signed_t<TKey>>(chunks, phase, arguments);
        }
      }
      RunChunks<TKey>(chunks, phase, arguments);
    }
  }

  template <typename TKey, std::size_t... VChunks>
  static HWY_INLINE void
  RunChunks(std::index_sequence<VChunks...>, int phase, const RowArguments & arguments)
  {
    using Chunk = void (*)(const RowArguments &, std::size_t, std::size_t);
    static constexpr Chunk chunks[] = { RunChunk<TKey, static_cast<int>(VChunks)>... };
    const int              first = TProgram::FirstChunk[phase];
    const int              last = TProgram::FirstChunk[phase + 1];
    // Values pass from chunk to chunk through slots, which hold so many tiles.
    const std::size_t step = last - first == 1 ? arguments.tiles : rowSlotBytes / sizeof(TKey);
    for (std::size_t tile = 0; tile < arguments.tiles; tile += step)
    {
      const auto end = tile + step < arguments.tiles ? tile + step : arguments.tiles;
      for (int chunk = first; chunk < last; ++chunk)
      {
        chunks[chunk](arguments, tile, end);
      }
    }
  }

  /** Runs a chunk on the tiles from one to another. */
  template <typename TKey, int VChunk>
  static HWY_NOINLINE void
  RunChunk(const RowArguments & arguments, std::size_t first, std::size_t last)
  {
    using Descriptor = KeyTag<TKey>;
    using TileRow = Row<Descriptor, TProgram::TileX>;
    constexpr std::integral_constant<int, VChunk> chunk{};

    const std::size_t lanes = hn::Lanes(Descriptor());
    std::size_t       tile = first;
#  if HWY_TARGET <= HWY_AVX3
    if constexpr (isShort)
    {
      for (; tile + 2 * lanes <= last; tile += 2 * lanes)
      {
        TProgram::Run(chunk, RowPair<TileRow>(arguments, tile, lanes));
      }
    }
#  endif
    for (; tile < last; tile += lanes)
    {
      TProgram::Run(chunk, TileRow(arguments, tile));
    }
  }
};

} // namespace
} // namespace HWY_NAMESPACE
} // namespace cudamedian
HWY_AFTER_NAMESPACE();

#endif
