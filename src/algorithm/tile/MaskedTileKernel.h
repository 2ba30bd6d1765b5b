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
#ifndef MaskedTileKernel_h
#define MaskedTileKernel_h

#include "FlagWords.h"
#include "MaskRules.h"
#include "MaskedLayout.h"
#include "TileBlock.h"

namespace cudamedian
{

/** All bits of the keys of a register that have a flag: of two keys the second one's is in the upper half. */
template <int VParts>
CUDAMEDIAN_HOST_DEVICE std::uint32_t
                       SpreadFlag(std::uint32_t flags, int flag)
{
  if constexpr (VParts == 1)
  {
    return 0U - (flags >> flag & 1U);
  }
  else
  {
    const auto shifted = flag < 8 ? flags << (7 - flag) : flags >> (flag - 7);
    return RepeatSigns(shifted, shifted, 0x2200U);
  }
}

/** The ranks of a row of a tile's outputs, as RankChoice has them, but by flags: each word has one bit of the ranks of
 * all outputs. With two keys to a register, a word's upper half has those of the second part. */
template <typename TRegisters, int VBits>
class FlaggedRankChoice
{
public:
  using Keys = typename TRegisters::Keys;
  static_assert(TRegisters::Pixels <= 2 && sizeof(Keys) == 4, "masks are made of one word");

  /** Sets a bit of all ranks; the first output's is the lowest one. */
  CUDAMEDIAN_HOST_DEVICE void
  Set(int bit, std::uint32_t flags)
  {
    m_Flags[bit] = flags;
  }

  /** Of the values of an output, `less` where a bit of its rank is 0, `greater` where it is 1. */
  CUDAMEDIAN_HOST_DEVICE Keys
  Choose(Keys less, Keys greater, int output, int bit) const
  {
    const auto mask = SpreadFlag<TRegisters::Pixels>(m_Flags[bit], output);
    return (greater & mask) | (less & ~mask);
  }

private:
  std::uint32_t m_Flags[VBits];
};

/** A TileKernel that reads an image some of whose pixels are not valid, and its mask, and finds the medians of those
 * that are. There are two ways.
 *
 * With turns, pixels that are not valid get the least and the greatest key in turn along rows, by which the ranks of
 * all windows are next to each other (RankBodies.h says which a window has). A block needs nothing of what lies beyond
 * what it stages: whose turn it is where a row begins is the same to all of its windows, and may differ from block to
 * block. So it stages flags, finds turns, stages keys, finds the rank of each output, and runs the program, which finds
 * all of these ranks.
 *
 * Without turns all of them get the greatest key, and a window's rank is half of how many valid pixels it has. There
 * are half as many ranks as a window has pixels, but they are the lower ones, which small windows find by no more
 * operations than those in the middle: 3x3 26.3 a pixel for 28.8, 3x3x3 155 for 157.
 *
 * Flags lie in shared memory behind the rest (MaskedLayout.h). Lines of the second part, of two keys to a register, lie
 * behind those of the first. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking, bool VHasTurns>
class MaskedTileKernel : public TileKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>
{
public:
  using Tiles = TileKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>;
  using Tiles::BlockWidth;
  using Tiles::Halo;
  using Tiles::Lines;
  using Tiles::PartHeight;
  using Tiles::Parts;
  using Tiles::Pitch;
  using Tiles::Rows;
  using Tiles::Slices;
  using Tiles::StagePixels;
  using Tiles::Threads;
  using typename Tiles::Key;
  using typename Tiles::Keys;
  using typename Tiles::Registers;

  static constexpr bool HasTurns = VHasTurns;
  static constexpr int  WindowLines =
    (2 * TProgram::RadiusY + 1) * (2 * TProgram::RadiusZ + 1) * (2 * TProgram::RadiusW + 1);
  static constexpr int          WindowWidth = 2 * TProgram::RadiusX + 1;
  static constexpr MaskedLayout Layout = MakeMaskedLayout(Pitch,
                                                          Lines * Parts,
                                                          Parts,
                                                          BlockWidth,
                                                          PartHeight * TProgram::TileZ * TProgram::TileW,
                                                          WindowLines,
                                                          WindowWidth,
                                                          VHasTurns);
  /** What the kernel asks of it, as constants. */
  static constexpr int Words = Layout.GetWords();
  static constexpr int Digits = Layout.GetDigits();
  static constexpr int RankBits = Digits - 1;
  static constexpr int OutputFlags = Layout.GetOutputFlags();
  static constexpr int OutputWords = Layout.GetOutputWords();
  static constexpr int OutputsOfWord = Layout.outputsOfWord;
  static constexpr int OutputLines = Layout.outputLines;
  static constexpr int FlagCount = Layout.CountFlags();
  static constexpr int OutputOffset = Layout.GetOutputOffset();
  /** Where flags begin, in words. */
  static constexpr int FlagOffset = Tiles::SharedBytes / 4;
  static constexpr int SharedBytes = Tiles::SharedBytes + 4 * Layout.CountWords();
  static_assert(TProgram::MarchAxis == 0 && !Tiles::IsNumbered && sizeof(Keys) == 4, "a block of one place, run once");
  static_assert(BlockWidth % bitsOfWord == 0 && OutputsOfWord % TProgram::TileX == 0, "whole words of outputs");
  static_assert(WindowWidth <= bitsOfWord, "a window's row is in two words");
  static_assert(Halo < bitsOfWord, "what a window begins with is in the first word");

  /** Pixels whose flags are in a byte, the vectors that they are, and how many times a thread stages as many. */
  static constexpr int UnitPixels = 8;
  static constexpr int UnitVectors = UnitPixels / StagePixels;
  static constexpr int Units = Pitch / UnitPixels;
  static constexpr int Rounds = DivideUp(Lines * Units, Threads);
  static_assert(Pitch % UnitPixels == 0, "lines are whole bytes of flags");

  /** A block, and what its pixels are valid by. */
  struct Block : Tiles::Block
  {
    const MaskRules * rules;
    bool              hasBorder;
  };

  static CUDAMEDIAN_HOST_DEVICE Block
  GetBlock(const KernelArguments & arguments,
           const MaskRules &       rules,
           std::uint32_t           x,
           std::uint32_t           y,
           std::uint32_t           z)
  {
    Block block{ Tiles::GetBlock(arguments, x, y, z), &rules, false };
    block.hasBorder = Tiles::HasBorder(arguments, block);
    return block;
  }

  /** What a thread stages: pixels, until it is known which keys those get that are not valid. */
  struct Staged
  {
    PixelVector<TPixelBits, StagePixels> pixels[Rounds][UnitVectors][Parts];
  };

  /** Loads a thread's share of the footprint, as TileKernel::Stage() does, and leaves a flag in shared memory for each
   * pixel that is not valid. Without turns it leaves keys there, too. */
  static CUDAMEDIAN_HOST_DEVICE void
  Stage(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared, Staged & staged)
  {
    const MaskRules &  rules = *block.rules;
    const std::int32_t left = block.first[0] - Halo;
    const auto *       input = static_cast<const TPixelBits *>(arguments.input);
    const auto *       mask = static_cast<const std::uint8_t *>(rules.mask);
    if constexpr (Slices == 1)
    {
      input += block.first[2] * arguments.inputPitch[2];
      mask += mask == nullptr ? 0 : block.first[2] * rules.maskPitch[2];
    }
    if constexpr (Tiles::Volumes == 1)
    {
      input += block.first[3] * arguments.inputPitch[3];
      mask += mask == nullptr ? 0 : block.first[3] * rules.maskPitch[3];
    }
    // All loads are on their way before the first is waited for.
    PixelVector<std::uint8_t, StagePixels> valid[Rounds][UnitVectors][Parts];
    ForEachUnit(thread, [&](int round, unsigned int line, unsigned int unit) {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < UnitVectors; ++i)
      {
        const auto column = Tiles::template ClampColumn<StagePixels>(
          arguments, left + static_cast<std::int32_t>(unit * UnitPixels) + i * StagePixels);
        Tiles::LoadLine(arguments, block, input + column, arguments.inputPitch, line, staged.pixels[round][i]);
        if (mask != nullptr)
        {
          Tiles::LoadLine(arguments, block, mask + column, rules.maskPitch, line, valid[round][i]);
        }
      }
    });
    ForEachUnit(thread, [&](int round, unsigned int line, unsigned int unit) {
      std::uint32_t joined = 0;
      CUDAMEDIAN_UNROLL
      for (unsigned int part = 0; part < Parts; ++part)
      {
        std::uint32_t flags = 0;
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < UnitVectors; ++i)
        {
          auto found = FindInvalid(rules, staged.pixels[round][i][part], valid[round][i][part]);
          if (block.hasBorder)
          {
            found = AddBeyond(rules.isClipped,
                              found,
                              left + static_cast<std::int32_t>(unit * UnitPixels) + i * StagePixels,
                              arguments.inputExtent[0]);
          }
          flags |= found << (i * StagePixels);
        }
        if (rules.isClipped && IsBeyond(arguments, block, line, part))
        {
          flags = 0xFFU;
        }
        GetByte(GetInvalid(shared), line + part * Lines, unit) = static_cast<std::uint8_t>(flags);
        joined |= flags << (16 * part);
      }
      if constexpr (!VHasTurns)
      {
        StoreKeys(arguments, joined, joined, staged.pixels[round], shared + line * Pitch + unit * UnitPixels);
      }
    });
  }

  /** Finds, for a thread's share of words of flags, whose turn it is. \pre all threads have staged. */
  static CUDAMEDIAN_HOST_DEVICE void
  FindTurns(unsigned int thread, Keys * shared)
  {
    for (unsigned int index = thread; index < FlagCount; index += Threads)
    {
      const unsigned int line = index / Words;
      const unsigned int word = index - line * Words;
      const auto * const invalid = GetInvalid(shared) + line * Words;
      std::uint32_t      before = GetFirstTurn(line);
      for (unsigned int i = 0; i < word; ++i)
      {
        before ^= CountFlags(invalid[i]);
      }
      GetTurns(shared)[index] = (0U - (before & 1U)) ^ (CountOdd(invalid[word]) << 1);
    }
  }

  /** Brings a thread's share of keys into shared memory. \pre all turns are found. */
  static CUDAMEDIAN_HOST_DEVICE void
  StageKeys(const KernelArguments & arguments, unsigned int thread, Keys * shared, const Staged & staged)
  {
    ForEachUnit(thread, [&](int round, unsigned int line, unsigned int unit) {
      std::uint32_t invalid = 0;
      std::uint32_t turns = 0;
      CUDAMEDIAN_UNROLL
      for (unsigned int part = 0; part < Parts; ++part)
      {
        invalid |= std::uint32_t{ GetByte(GetInvalid(shared), line + part * Lines, unit) } << (16 * part);
        turns |= std::uint32_t{ GetByte(GetTurns(shared), line + part * Lines, unit) } << (16 * part);
      }
      StoreKeys(arguments, invalid, invalid & turns, staged.pixels[round], shared + line * Pitch + unit * UnitPixels);
    });
  }

  /** Fills a thread's share of the staged columns beyond the input box with the nearest column inside, but for those
   * that are not valid. \pre all keys are staged. */
  static CUDAMEDIAN_HOST_DEVICE void
  StageBorder(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    constexpr int      columns = TProgram::RadiusX > 0 ? TProgram::RadiusX : 1;
    const std::int32_t first = Halo - block.first[0]; // where the input box's first column is staged
    const std::int32_t last = first + arguments.inputExtent[0] - 1;
    for (int index = static_cast<int>(thread); index < Lines * columns; index += Threads)
    {
      const int          line = index / columns;
      const std::int32_t distance = 1 + index % columns;
      CopyBorder(shared, line, first - distance, first);
      CopyBorder(shared, line, last + distance, last);
    }
  }

  /** Finds the bits of the ranks of a thread's share of the outputs, and which of them are no medians. \pre all flags
   * are there. */
  static CUDAMEDIAN_HOST_DEVICE void
  FindRanks(const Block & block, unsigned int thread, Keys * shared)
  {
    constexpr unsigned int words = BlockWidth / bitsOfWord;
    for (unsigned int index = thread; index < OutputLines * words; index += Threads)
    {
      const unsigned int output = index / words;
      const unsigned int word = index - output * words;
      const unsigned int row = output % PartHeight;
      const unsigned int slice = output / PartHeight % TProgram::TileZ;
      const unsigned int volume = output / (PartHeight * TProgram::TileZ);
      std::uint32_t      found[Parts][OutputFlags];
      CUDAMEDIAN_UNROLL
      for (int part = 0; part < Parts; ++part)
      {
        const auto first = (volume * Slices + slice) * Rows + row + part * Lines;
        FindRanksOfWord(*block.rules, first * Words + word, shared, found[part]);
      }
      auto * const target = GetOutputs(shared) + (output * OutputWords + word * Parts) * OutputFlags;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < OutputFlags; ++i)
      {
        if constexpr (Parts == 1)
        {
          target[i] = found[0][i];
        }
        else
        {
          target[i] = SelectBytes(found[0][i], found[1][i], 0x5410U);
          target[OutputFlags + i] = SelectBytes(found[0][i], found[1][i], 0x7632U);
        }
      }
    }
  }

  /** One thread's view of its outputs' ranks besides. */
  class Access : public Tiles::Access
  {
  public:
    using Base = typename Tiles::Access;

    CUDAMEDIAN_HOST_DEVICE
    Access(const KernelArguments & arguments,
           const Block &           block,
           unsigned int            thread,
           int                     position,
           int                     tileRow,
           Keys *                  shared)
      : Base(arguments, block, thread, position, tileRow, shared)
      , m_Block(block)
      , m_Column(position * TProgram::TileX)
      , m_Row(tileRow * TProgram::TileY)
      , m_Flags(GetOutputs(shared) + m_Column / OutputsOfWord * OutputFlags)
    {}

    /** The ranks of a row of the tile's outputs. */
    CUDAMEDIAN_HOST_DEVICE FlaggedRankChoice<Registers, RankBits>
                           LoadRanks(int y, int z, int w) const
    {
      const auto *                           flags = GetFlagsOfRow(y, z, w);
      FlaggedRankChoice<Registers, RankBits> choice;
      CUDAMEDIAN_UNROLL
      for (int bit = 0; bit < RankBits; ++bit)
      {
        choice.Set(bit, flags[bit] >> GetShift());
      }
      return choice;
    }

    /** Writes a row of the tile's medians, and what is none. */
    CUDAMEDIAN_HOST_DEVICE void
    Store(int y, int z, int w, const Keys (&keys)[TProgram::TileX]) const
    {
      Base::Store(y, z, w, keys);
      constexpr std::uint32_t ofPart = (1U << TProgram::TileX) - 1;
      const auto *            flags = GetFlagsOfRow(y, z, w);
      const auto exceptions = flags[RankBits] >> GetShift() & (Parts == 1 ? ofPart : ofPart | ofPart << 16);
      if (exceptions != 0)
      {
        WriteExceptions(y, z, w, exceptions, flags[RankBits + 1] >> GetShift());
      }
    }

  private:
    CUDAMEDIAN_HOST_DEVICE int
    GetShift() const
    {
      return m_Column % OutputsOfWord;
    }

    CUDAMEDIAN_HOST_DEVICE const std::uint32_t *
                                 GetFlagsOfRow(int y, int z, int w) const
    {
      const int line = (w * TProgram::TileZ + z) * PartHeight + m_Row + y;
      return m_Flags + line * (OutputWords * OutputFlags);
    }

    /** Writes the outputs that have a flag. \param invalid those of pixels that are not valid, if these are not
     * computed */
    CUDAMEDIAN_HOST_DEVICE void
    WriteExceptions(int y, int z, int w, std::uint32_t exceptions, std::uint32_t invalid) const
    {
      CUDAMEDIAN_KEEP_LOOP
      for (; exceptions != 0; exceptions &= exceptions - 1)
      {
        const int          flag = GetLowestFlag(exceptions);
        const int          part = flag / OutputsOfWord;
        const int          x = flag - part * OutputsOfWord;
        const std::int32_t row = part * Tiles::GetPartRows(this->m_Arguments) + y;
        if (x >= this->m_Skip && x < this->m_Columns && row < this->m_Rows && z < this->m_Slices && w < this->m_Volumes)
        {
          const auto & pitch = this->m_Arguments.outputPitch;
          this->m_Output[w * pitch[3] + z * pitch[2] + row * pitch[1] + x] =
            GetException(x, row, z, w, (invalid >> flag & 1U) != 0);
        }
      }
    }

    CUDAMEDIAN_HOST_DEVICE TPixelBits
    GetException(int x, std::int32_t row, int z, int w, bool isInvalid) const
    {
      const auto & rules = *m_Block.rules;
      if (isInvalid ? !rules.invalidIsInput : !rules.emptyIsInput)
      {
        return static_cast<TPixelBits>(isInvalid ? rules.invalidValue : rules.emptyValue);
      }
      const auto & pitch = this->m_Arguments.inputPitch;
      const auto * input = static_cast<const TPixelBits *>(this->m_Arguments.input);
      return input[(m_Block.first[3] + w) * pitch[3] + (m_Block.first[2] + z) * pitch[2] +
                   (m_Block.first[1] + m_Row + row) * pitch[1] + m_Block.first[0] + m_Column + x];
    }

    const Block &         m_Block;
    int                   m_Column;
    int                   m_Row;
    const std::uint32_t * m_Flags;
  };

  template <int VPhase>
  static CUDAMEDIAN_HOST_DEVICE bool
  RunPhase(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    return Tiles::template RunPhase<VPhase, Access>(arguments, block, thread, shared);
  }

private:
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                                GetInvalid(Keys * shared)
  {
    return reinterpret_cast<std::uint32_t *>(shared) + FlagOffset;
  }
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                                GetTurns(Keys * shared)
  {
    return GetInvalid(shared) + FlagCount;
  }
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                                GetOutputs(Keys * shared)
  {
    return GetInvalid(shared) + OutputOffset;
  }

  /** The flags of a unit. */
  static CUDAMEDIAN_HOST_DEVICE std::uint8_t &
                                GetByte(std::uint32_t * flags, unsigned int line, unsigned int unit)
  {
    return reinterpret_cast<std::uint8_t *>(flags + line * Words)[unit];
  }

  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                CountFlags(std::uint32_t flags)
  {
#ifdef __CUDA_ARCH__
    return static_cast<std::uint32_t>(__popc(flags));
#else
    return CountOdd(flags) >> (bitsOfWord - 1); // whether it is odd is all that is asked
#endif
  }

  /** The flags of what is staged at once. \param mask its bytes of the mask, if there is one */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                FindInvalid(const MaskRules &                              rules,
                                            const PixelVector<TPixelBits, StagePixels> &   pixels,
                                            const PixelVector<std::uint8_t, StagePixels> & mask)
  {
    std::uint32_t flags = 0;
    if (rules.mask != nullptr)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < StagePixels / 4; ++i)
      {
        flags |= FindZeros(mask.words[i]) << (4 * i);
      }
    }
    // Pixels of fewer than 32 bits are integers, which have no NaN, and no other zero.
    if (sizeof(TPixelBits) < 4 || rules.magnitudes == 0)
    {
      return rules.hasIgnored ? flags | FindEqual(pixels, rules.ignored) : flags;
    }
    if (rules.hasIgnored || rules.omitsNaN)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < StagePixels; ++i)
      {
        flags |= IsRuledOut(rules, pixels.Get(i)) ? 1U << i : 0U;
      }
    }
    return flags;
  }

  /** The flags of those of a vector's pixels whose bits are these. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                FindEqual(const PixelVector<TPixelBits, StagePixels> & pixels, std::uint32_t bits)
  {
    std::uint32_t flags = 0;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < StagePixels * static_cast<int>(sizeof(TPixelBits)) / 4; ++i)
    {
      if constexpr (sizeof(TPixelBits) == 1)
      {
        flags |= FindZeros(pixels.words[i] ^ (bits * 0x01010101U)) << (4 * i);
      }
      else if constexpr (sizeof(TPixelBits) == 2)
      {
        const auto word = pixels.words[i] ^ (bits * 0x00010001U);
        const auto upper = ~(((word & 0x7FFF7FFFU) + 0x7FFF7FFFU) | word);
        flags |= ((upper >> 15 & 1U) | (upper >> 30 & 2U)) << (2 * i);
      }
      else
      {
        flags |= pixels.words[i] == bits ? 1U << i : 0U;
      }
    }
    return flags;
  }

  /** The flags of those bytes of a word that are 0: of the upper bits of them, those of four next to each other by a
   * product. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                FindZeros(std::uint32_t word)
  {
    const auto upper = ~(((word & 0x7F7F7F7FU) + 0x7F7F7F7FU) | word) & 0x80808080U;
    return (upper * 0x00204081U) >> 28;
  }

  /** Of lines next to each other one begins with either key. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetFirstTurn(unsigned int line)
  {
    line = line < Lines ? line : line - Lines;
    const unsigned int slices = line / Rows;
    return line - slices * Rows + slices;
  }

  /** Stores a unit's keys. \param extreme which pixels get an extreme key \param greatest which of these the greatest
   */
  static CUDAMEDIAN_HOST_DEVICE void
  StoreKeys(const KernelArguments & arguments,
            std::uint32_t           extreme,
            std::uint32_t           greatest,
            const PixelVector<TPixelBits, StagePixels> (&pixels)[UnitVectors][Parts],
            Keys * destination)
  {
    constexpr std::uint32_t bits = VPacking == KeyPacking::HalfPair ? 0x00FF00FFU : ~0U;
    const auto              signMask = static_cast<TPixelBits>(arguments.signMask);
    CUDAMEDIAN_UNROLL
    for (int vector = 0; vector < UnitVectors; ++vector)
    {
      auto keys = Registers::template MakeKeys<Key>(pixels[vector], signMask);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < StagePixels; ++i)
      {
        const int flag = vector * StagePixels + i;
        keys.words[i] =
          (keys.words[i] & ~SpreadFlag<Parts>(extreme, flag)) | (SpreadFlag<Parts>(greatest, flag) & bits);
      }
      keys.Store(destination + vector * StagePixels);
    }
  }

  /** Whether a staged line lies beyond the image. */
  static CUDAMEDIAN_HOST_DEVICE bool
  IsBeyond(const KernelArguments & arguments, const Block & block, unsigned int line, unsigned int part)
  {
    const auto         slices = static_cast<std::int32_t>(line / Rows);
    const std::int32_t y = block.first[1] + static_cast<std::int32_t>(line) - slices * Rows - TProgram::RadiusY +
                           (part == 0 ? 0 : Tiles::GetPartRows(arguments));
    const std::int32_t z = block.first[2] + slices % Slices - TProgram::RadiusZ;
    const std::int32_t w = block.first[3] + slices / Slices - TProgram::RadiusW;
    return y < 0 || y >= arguments.inputExtent[1] || z < 0 || z >= arguments.inputExtent[2] || w < 0 ||
           w >= arguments.inputExtent[3];
  }

  /** The flags of a vector that begins in a column, of which some may lie beyond the image: those of the nearest pixel,
   * which is the first one of the vector that was loaded, or one of it. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                AddBeyond(bool isClipped, std::uint32_t flags, std::int32_t column, std::int32_t extent)
  {
    constexpr std::uint32_t all = (1U << StagePixels) - 1;
    const auto              before = column < 0 ? all : 0U; // vectors begin at multiples of their size
    const auto              behind = all & ~GetLowBits(extent - column);
    const auto              last = (extent - 1) % StagePixels;
    if (isClipped)
    {
      return flags | before | behind;
    }
    flags = before != 0 ? before & (0U - (flags & 1U)) : flags;
    return (flags & ~behind) | ((0U - (flags >> last & 1U)) & behind);
  }

  /** Calls call(round, line, unit) with a thread's share of the units. */
  template <typename TCall>
  static CUDAMEDIAN_HOST_DEVICE void
  ForEachUnit(unsigned int thread, const TCall & call)
  {
    CUDAMEDIAN_UNROLL
    for (int round = 0; round < Rounds; ++round)
    {
      const unsigned int index = thread + static_cast<unsigned int>(round) * Threads;
      const unsigned int line = index / Units;
      if ((round + 1) * Threads <= Lines * Units || line < Lines)
      {
        call(round, line, index - line * Units);
      }
    }
  }

  /** Copies a key to a column beyond the input box, in each part that is valid there. */
  static CUDAMEDIAN_HOST_DEVICE void
  CopyBorder(Keys * shared, int line, std::int32_t column, std::int32_t from)
  {
    if (column < 0 || column >= Pitch)
    {
      return;
    }
    const auto * const invalid = GetInvalid(shared) + line * Words + column / bitsOfWord;
    auto               flags = invalid[0] >> (column % bitsOfWord) & 1U;
    if constexpr (Parts == 2)
    {
      flags |= (invalid[Lines * Words] >> (column % bitsOfWord) & 1U) << 16;
    }
    const auto kept = SpreadFlag<Parts>(flags, 0);
    auto &     key = shared[line * Pitch + column];
    key = (key & kept) | (shared[line * Pitch + from] & ~kept);
  }

  /** The bits of the ranks of 32 outputs of a part, whose windows begin in a word of flags; then which of them are no
   * medians, and which of these since their own pixel is not valid. */
  static CUDAMEDIAN_HOST_DEVICE void
  FindRanksOfWord(const MaskRules & rules, unsigned int first, Keys * shared, std::uint32_t (&found)[OutputFlags])
  {
    constexpr int      middle = ((TProgram::RadiusW * Slices + TProgram::RadiusZ) * Rows + TProgram::RadiusY) * Words;
    const auto * const invalid = GetInvalid(shared) + first;
    const auto         added = static_cast<std::uint32_t>(VHasTurns ? rules.added : rules.isLower ? -1 : 0);
    DigitWords<Digits> sums;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Digits; ++i)
    {
      sums.digits[i] = 0U - (added >> i & 1U);
    }
    std::uint32_t empty;
    if constexpr (VHasTurns)
    {
      empty = SumTurns(invalid, GetTurns(shared) + first, sums);
    }
    else
    {
      empty = CountValid(invalid, added, sums);
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < RankBits; ++i)
    {
      found[i] = sums.digits[i + 1];
    }
    const auto own = rules.writesInvalid ? ShiftWords(invalid[middle], invalid[middle + 1], Halo) : 0U;
    found[RankBits] = empty | own;
    found[RankBits + 1] = own;
  }

  /** How far the flags of a window's line lie behind those of its first. */
  static CUDAMEDIAN_HOST_DEVICE constexpr int
  GetLineOffset(int line)
  {
    constexpr int rows = 2 * TProgram::RadiusY + 1;
    constexpr int slices = 2 * TProgram::RadiusZ + 1;
    return ((line / rows / slices * Slices + line / rows % slices) * Rows + line % rows) * Words;
  }

  /** Adds the turns at both ends of all lines. \returns which windows have no valid pixel. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
  SumTurns(const std::uint32_t * invalidOfFirst, const std::uint32_t * turnsOfFirst, DigitWords<Digits> & sums)
  {
    constexpr unsigned int begin = Halo - TProgram::RadiusX;
    constexpr unsigned int end = begin + WindowWidth;
    std::uint32_t          lower = ~0U;
    std::uint32_t          upper = ~0U;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < WindowLines; ++i)
    {
      const auto * turns = turnsOfFirst + GetLineOffset(i);
      const auto * invalid = invalidOfFirst + GetLineOffset(i);
      sums.AddPair(ShiftWords(turns[end / bitsOfWord], turns[end / bitsOfWord + 1], end % bitsOfWord),
                   ~ShiftWords(turns[0], turns[1], begin));
      lower &= ShiftWords(invalid[0], invalid[1], begin);
      upper &= ShiftWords(invalid[1], invalid[2], begin);
    }
    auto columns = std::uint64_t{ upper } << bitsOfWord | lower;
    int  joined = 1;
    CUDAMEDIAN_UNROLL
    for (; 2 * joined <= WindowWidth; joined *= 2)
    {
      columns &= columns >> joined;
    }
    return static_cast<std::uint32_t>(columns & columns >> (WindowWidth - joined));
  }

  /** Adds the valid pixels. \returns which windows have none. */
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
  CountValid(const std::uint32_t * invalidOfFirst, std::uint32_t added, DigitWords<Digits> & sums)
  {
    constexpr unsigned int begin = Halo - TProgram::RadiusX;
    constexpr int          pixels = WindowLines * WindowWidth;
    const auto             getValid = [&](int pixel) {
      const auto * invalid = invalidOfFirst + GetLineOffset(pixel / WindowWidth);
      const auto   column = begin + static_cast<unsigned int>(pixel % WindowWidth);
      return ~ShiftWords(invalid[column / bitsOfWord], invalid[column / bitsOfWord + 1], column % bitsOfWord);
    };
    CUDAMEDIAN_UNROLL
    for (int pixel = 0; pixel < pixels; pixel += 2)
    {
      sums.AddPair(getValid(pixel), pixel + 1 < pixels ? getValid(pixel + 1) : 0U);
    }
    std::uint32_t empty = ~0U;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Digits; ++i)
    {
      empty &= ~(sums.digits[i] ^ (0U - (added >> i & 1U)));
    }
    return empty;
  }
};

/** A block of MaskedTileKernel from its beginning to its end, as in TileBlock.h. */
template <typename TKernel, typename TThreads>
CUDAMEDIAN_BLOCK void
RunMaskedTileBlock(const TThreads &                threads,
                   const KernelArguments &         arguments,
                   const typename TKernel::Block & block,
                   typename TKernel::Keys *        shared)
{
  auto own = threads.template MakeOwn<typename TKernel::Staged>();
  threads.ForEachThread(
    [&](unsigned int thread) { TKernel::Stage(arguments, block, thread, shared, own.Get(thread)); });
  threads.Synchronize();
  if constexpr (TKernel::HasTurns)
  {
    threads.ForEachThread([&](unsigned int thread) { TKernel::FindTurns(thread, shared); });
    threads.Synchronize();
    threads.ForEachThread([&](unsigned int thread) { TKernel::StageKeys(arguments, thread, shared, own.Get(thread)); });
  }
  threads.ForEachThread([&](unsigned int thread) { TKernel::FindRanks(block, thread, shared); });
  threads.Synchronize();
  if (block.hasBorder)
  {
    threads.ForEachThread([&](unsigned int thread) { TKernel::StageBorder(arguments, block, thread, shared); });
    threads.Synchronize();
  }
  RunTileKernelPhases<TKernel, 0>(threads, arguments, block, shared);
}

#ifdef __CUDACC__
/** The block that a kernel runs. */
template <typename TKernel>
__device__ __forceinline__ void
RunMaskedTileBlock(const KernelArguments & arguments, const MaskRules & rules)
{
  extern __shared__ __align__(16) unsigned char sharedMemory[];
  auto * const                                  shared = reinterpret_cast<typename TKernel::Keys *>(sharedMemory);
  const auto block = TKernel::GetBlock(arguments, rules, blockIdx.x, blockIdx.y, blockIdx.z);
  RunMaskedTileBlock<TKernel>(DeviceThreads{}, arguments, block, shared);
}
#endif

} // namespace cudamedian

#endif
