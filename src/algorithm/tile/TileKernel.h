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
#ifndef TileKernel_h
#define TileKernel_h

#include "BFloatRegisters.h"
#include "Clamp.h"
#include "DivideUp.h"
#include "QuadRegisters.h"
#include "StagedAccess.h"

namespace cudamedian
{

/** The kernel that runs a tile program: a block stages the footprint of its tiles in shared memory as keys, then each
 * thread runs the program on its tile, phase by phase if there are values that neighbouring tiles share. What a block
 * does in turn is in TileBlock.h, which the tests run on the host.
 *
 * With several keys to a register, the block's outputs are as many parts along axis 1: a register holds a pixel and
 * those one part of a block below each other, so that no value moves within registers until the medians are stored,
 * and neighbouring keys lie side by side in shared memory, to be read four at a time. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking, int VBlockX, int VBlockY>
class TileKernel
{
public:
  using Program = TProgram;
  using PixelBits = TPixelBits;
  using Registers = KeyRegisters<TPixelBits, VPacking>;
  using Keys = typename Registers::Keys;
  using Key = PixelKey<TPixelBits, VMapping>;

  static constexpr int Threads = VBlockX * VBlockY;
  static constexpr int Phases = TProgram::Phases;
  static constexpr int Parts = Registers::Pixels;
  /** The axis that a block goes along in steps (MarchingKernel.h), or 0 where it has one step. */
  static constexpr int MarchAxis = TProgram::MarchAxis;
  /** Whether registers have more keys than they can tell apart at once: see NumberedKeys. */
  static constexpr bool IsNumbered = VPacking == KeyPacking::BFloatPair;
  /** Outputs of a block along axes 0 and 1, and of one part of it. */
  static constexpr int BlockWidth = VBlockX * TProgram::TileX;
  static constexpr int PartHeight = VBlockY * TProgram::TileY;
  static constexpr int BlockHeight = Parts * PartHeight;
  /** Pixels that a thread stages at once: 16 bytes, or 8 of 8-bit pixels, whose keys are twice as wide. */
  static constexpr int StagePixels = sizeof(TPixelBits) == 1 ? 8 : 16 / static_cast<int>(sizeof(TPixelBits));
  /** Columns staged on either side, whole vectors. */
  static constexpr int Halo = RoundUp(TProgram::Margin, StagePixels);
  /** Keys of a staged line, and lines: axes 1, 2 and 3 of the footprint, axis 1 fastest. */
  static constexpr int Pitch = BlockWidth + 2 * Halo;
  static constexpr int Rows = PartHeight + 2 * TProgram::RadiusY;
  static constexpr int Slices = TProgram::TileZ + 2 * TProgram::RadiusZ;
  static constexpr int Volumes = TProgram::TileW + 2 * TProgram::RadiusW;
  static constexpr int Lines = Rows * Slices * Volumes;
  /** Tiles of a row that leave values for others: the block's and some beside it. */
  static constexpr int Positions = VBlockX + TProgram::LastPosition - TProgram::FirstPosition;
  /** Keys from a vector of shared values to the next one of the same tile. */
  static constexpr int SharedPitch = VBlockY * Positions * TProgram::SharedKeys;
  /** Keys in shared memory: the footprint, then the shared values, then what each thread saves. */
  static constexpr int FootprintKeys = Pitch * Lines;
  static constexpr int SavedOffset = FootprintKeys + TProgram::SharedVectors * SharedPitch;
  static constexpr int SharedBytes = (SavedOffset + TProgram::SavedKeys * Threads) * static_cast<int>(sizeof(Keys));

  /** Where a block is. */
  struct Block
  {
    std::int32_t first[4]; ///< output, relative to the input box
    NumberedKeys numbered; ///< if IsNumbered
  };

  /** Rows from a part of a block to the next. */
  static CUDAMEDIAN_HOST_DEVICE std::int32_t
                                GetPartRows(const KernelArguments & arguments)
  {
    if constexpr (MarchAxis == 1)
    {
      return arguments.stripRows;
    }
    return PartHeight;
  }

  static CUDAMEDIAN_HOST_DEVICE Block
  GetBlock(const KernelArguments & arguments, std::uint32_t x, std::uint32_t y, std::uint32_t z)
  {
    y += arguments.firstBlock[0];
    z += arguments.firstBlock[1];
    const std::uint32_t volume = z < arguments.blocksZ ? 0 : z / arguments.blocksZ;
    z -= volume * arguments.blocksZ;
    return { { arguments.gridOrigin + static_cast<std::int32_t>(x) * BlockWidth,
               arguments.outputOrigin[1] +
                 static_cast<std::int32_t>(y) * (MarchAxis == 1 ? Parts * arguments.stripRows : BlockHeight),
               arguments.outputOrigin[2] +
                 static_cast<std::int32_t>(z) * (MarchAxis == 2 ? arguments.stripRows : TProgram::TileZ),
               arguments.outputOrigin[3] + static_cast<std::int32_t>(volume) * TProgram::TileW },
             {} };
  }

  /** Brings a thread's share of the footprint into shared memory. Rows, slices and volumes are clamped to the input
   * box; columns beyond it get whatever the nearest vector holds, and StageBorder puts them right.
   * \returns whether keys are without a number, and NumberedKeys::ClampShare() has to be called. */
  static CUDAMEDIAN_HOST_DEVICE bool
  Stage(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    constexpr unsigned int vectors = BlockWidth / StagePixels;
    static_assert(BlockWidth % StagePixels == 0 && Threads % vectors == 0, "the threads stage whole lines at once");
    constexpr unsigned int linesAtOnce = Threads / vectors;
    constexpr unsigned int rounds = DivideUp(Lines, linesAtOnce);
    // Loads in flight per thread: four rounds of 16 bytes and half hide the latency within 32 registers.
    constexpr unsigned int roundsAtOnce = rounds < 4 ? rounds : 4;

    const auto         signMask = static_cast<TPixelBits>(arguments.signMask);
    const std::int32_t left = block.first[0] - Halo;
    const auto *       input = static_cast<const TPixelBits *>(arguments.input);
    if constexpr (Slices == 1)
    {
      input += block.first[2] * arguments.inputPitch[2];
    }
    if constexpr (Volumes == 1)
    {
      input += block.first[3] * arguments.inputPitch[3];
    }

    const unsigned int firstLine = thread / vectors;
    const unsigned int column = Halo + thread % vectors * StagePixels;
    const TPixelBits * inner = input + ClampColumn(arguments, left + static_cast<std::int32_t>(column));
    Keys               seen = 0;
    for (unsigned int round = 0; round < rounds; round += roundsAtOnce)
    {
      PixelVector<TPixelBits, StagePixels> pixels[roundsAtOnce][Parts];
      CUDAMEDIAN_UNROLL
      for (unsigned int i = 0; i < roundsAtOnce; ++i)
      {
        const unsigned int line = firstLine + (round + i) * linesAtOnce;
        if (line < Lines)
        {
          LoadLine(arguments, block, inner, line, pixels[i]);
        }
        else if constexpr (IsNumbered)
        {
          // A block may run twice, and what is not set would keep its registers all the time: 120 instead of 92 at 5x5.
          pixels[i][0] = pixels[i][1] = {};
        }
      }
      CUDAMEDIAN_UNROLL
      for (unsigned int i = 0; i < roundsAtOnce; ++i)
      {
        const unsigned int line = firstLine + (round + i) * linesAtOnce;
        if (line < Lines)
        {
          StageKeys(block.numbered, pixels[i], signMask, shared + line * Pitch + column, seen);
        }
      }
    }
    if constexpr (Halo > 0)
    {
      constexpr unsigned int haloVectors = 2 * Halo / StagePixels;
      for (unsigned int index = thread; index < Lines * haloVectors; index += Threads)
      {
        const unsigned int line = index / haloVectors;
        const unsigned int vector = index - line * haloVectors;
        const unsigned int haloColumn = vector * StagePixels + (vector < haloVectors / 2 ? 0 : BlockWidth);
        PixelVector<TPixelBits, StagePixels> pixels[Parts];
        LoadLine(
          arguments, block, input + ClampColumn(arguments, left + static_cast<std::int32_t>(haloColumn)), line, pixels);
        StageKeys(block.numbered, pixels, signMask, shared + line * Pitch + haloColumn, seen);
      }
    }
    if constexpr (IsNumbered)
    {
      return bfloat::HasNaN(seen);
    }
    return false;
  }

  /** Whether some staged column lies beyond the input box. */
  static CUDAMEDIAN_HOST_DEVICE bool
  HasBorder(const KernelArguments & arguments, const Block & block)
  {
    const std::int32_t left = block.first[0] - Halo;
    return TProgram::RadiusX > 0 && (left < 0 || left + Pitch > arguments.inputExtent[0]);
  }

  /** Fills a thread's share of the staged columns beyond the input box with the nearest column inside. Only what
   * outputs inside the box need is filled. \pre all threads have staged. */
  static CUDAMEDIAN_HOST_DEVICE void
  StageBorder(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    constexpr unsigned int columns = TProgram::RadiusX > 0 ? TProgram::RadiusX : 1;
    const std::int32_t     first = Halo - block.first[0]; // where the input box's first column is staged
    const std::int32_t     last = first + arguments.inputExtent[0] - 1;
    for (unsigned int index = thread; index < Lines * columns; index += Threads)
    {
      Keys * const       line = shared + index / columns * Pitch;
      const std::int32_t distance = 1 + static_cast<std::int32_t>(index % columns);
      if (first - distance >= 0)
      {
        line[first - distance] = line[first];
      }
      if (last + distance < Pitch)
      {
        line[last + distance] = line[last];
      }
    }
  }

  /** What a thread reads and writes. */
  using Access = StagedAccess<TileKernel>;

  /** Runs a thread's share of a phase. \pre the footprint is staged, and all threads have run the phase before.
   * \returns whether medians are what keys are clamped to, and the block has to be run with its keys numbered the other
   * way. */
  template <int VPhase, typename TAccess = Access, typename TBlock = Block>
  static CUDAMEDIAN_HOST_DEVICE bool
  RunPhase(const KernelArguments & arguments, const TBlock & block, unsigned int thread, Keys * shared)
  {
    const Registers registers(arguments);
    if constexpr (VPhase == TProgram::Phases - 1)
    {
      const TAccess access(
        arguments, block, thread, static_cast<int>(thread % VBlockX), static_cast<int>(thread / VBlockX), shared);
      TProgram::template Run<VPhase, Registers>(registers, access);
      if constexpr (IsNumbered)
      {
        return access.IsAtLimit();
      }
    }
    else
    {
      constexpr int          first = TProgram::GetFirstPosition(VPhase);
      constexpr unsigned int positions = VBlockX + TProgram::GetLastPosition(VPhase) - first;
      CUDAMEDIAN_KEEP_LOOP
      for (unsigned int tile = thread; tile < positions * VBlockY; tile += Threads)
      {
        const TAccess access(arguments,
                             block,
                             thread,
                             static_cast<int>(tile % positions) + first,
                             static_cast<int>(tile / positions),
                             shared);
        TProgram::template Run<VPhase, Registers>(registers, access);
      }
    }
    return false;
  }

protected:
  /** Stages a vector, and keeps in mind whether keys are without a number. */
  template <int VPixels>
  static CUDAMEDIAN_HOST_DEVICE void
  StageKeys([[maybe_unused]] const NumberedKeys & numbered,
            const PixelVector<TPixelBits, VPixels> (&pixels)[Parts],
            TPixelBits              signMask,
            Keys *                  destination,
            [[maybe_unused]] Keys & seen)
  {
    if constexpr (IsNumbered)
    {
      if (numbered.isMiddle)
      {
        NumberedKeys::NumberMiddle(pixels).Store(destination);
        return;
      }
    }
    const auto keys = Registers::template MakeKeys<Key>(pixels, signMask);
    if constexpr (IsNumbered)
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VPixels; ++i)
      {
        seen = bfloat::KeepNaN(seen, keys.words[i]);
      }
    }
    keys.Store(destination);
  }

  /** The vector nearest to a column that is the first of a vector. */
  template <int VPixels = StagePixels>
  static CUDAMEDIAN_HOST_DEVICE std::int32_t
                                ClampColumn(const KernelArguments & arguments, std::int32_t column)
  {
    return Clamp(column, (arguments.inputExtent[0] - 1) / VPixels * VPixels);
  }

  /** Loads a vector of a staged line, one for each part. */
  template <int VPixels>
  static CUDAMEDIAN_HOST_DEVICE void
  LoadLine(const KernelArguments & arguments,
           const Block &           block,
           const TPixelBits *      input,
           unsigned int            line,
           PixelVector<TPixelBits, VPixels> (&pixels)[Parts])
  {
    LoadLine(arguments, block, input, arguments.inputPitch, line, pixels);
  }

  /** The same of an image of the input's extent. \param pitch its pixels from one position along an axis to the next */
  template <typename TBits, int VPixels>
  static CUDAMEDIAN_HOST_DEVICE void
  LoadLine(const KernelArguments & arguments,
           const Block &           block,
           const TBits *           input,
           const std::int64_t (&pitch)[4],
           unsigned int line,
           PixelVector<TBits, VPixels> (&pixels)[Parts])
  {
    unsigned int row = line;
    if constexpr (Slices * Volumes > 1)
    {
      const unsigned int slices = line / Rows;
      row = line - slices * Rows;
      const unsigned int volume = Volumes == 1 ? 0 : slices / Slices;
      const auto         slice = static_cast<std::int32_t>(slices - volume * Slices);
      if constexpr (Slices > 1)
      {
        input += Clamp(block.first[2] + slice - TProgram::RadiusZ, arguments.inputExtent[2] - 1) * pitch[2];
      }
      if constexpr (Volumes > 1)
      {
        input +=
          Clamp(block.first[3] + static_cast<std::int32_t>(volume) - TProgram::RadiusW, arguments.inputExtent[3] - 1) *
          pitch[3];
      }
    }
    const std::int32_t y = block.first[1] + static_cast<std::int32_t>(row) - TProgram::RadiusY;
    CUDAMEDIAN_UNROLL
    for (int part = 0; part < Parts; ++part)
    {
      pixels[part].Load(input + Clamp(y + part * GetPartRows(arguments), arguments.inputExtent[1] - 1) * pitch[1]);
    }
  }
};

} // namespace cudamedian

#endif
