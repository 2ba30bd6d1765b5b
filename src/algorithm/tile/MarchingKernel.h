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
#ifndef MarchingKernel_h
#define MarchingKernel_h

#include "DivideUp.h"
#include "TileKernel.h"

namespace cudamedian
{

/** A TileKernel whose blocks go along an axis in steps: axis 1 for windows of rows and columns, axis 2 for windows of
 * slices. What a step stages beyond the one before is one step of lines, while the lines that both need stay where they
 * are: they are staged in slots, each as long as a tile along that axis, which are taken in turn. TileBlock.h says what
 * a block does one after the other. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking, int VBlockX, int VBlockY>
class MarchingKernel : public TileKernel<TProgram, TPixelBits, VMapping, VPacking, VBlockX, VBlockY>
{
public:
  using Tiles = TileKernel<TProgram, TPixelBits, VMapping, VPacking, VBlockX, VBlockY>;
  using Tiles::Lines;
  using Tiles::MarchAxis;
  using Tiles::Parts;
  using Tiles::Pitch;
  using Tiles::Rows;
  using Tiles::StagePixels;
  using Tiles::Threads;
  using typename Tiles::Keys;

  /** Along the axis: outputs of a slot and of a step, and pixels that a window has beyond its output. */
  static constexpr int SlotLength = MarchAxis == 1 ? TProgram::TileY : TProgram::TileZ;
  static constexpr int StepLength = MarchAxis == 1 ? Tiles::PartHeight : TProgram::TileZ;
  static constexpr int Reach = 2 * (MarchAxis == 1 ? TProgram::RadiusY : TProgram::RadiusZ);
  /** Staged lines of a slot and of a step. */
  static constexpr int SlotLines = MarchAxis == 1 ? TProgram::TileY : TProgram::TileZ * Rows;
  static constexpr int StepLines = MarchAxis == 1 ? Tiles::PartHeight : TProgram::TileZ * Rows;
  /** Slots of shared memory, of a tile's footprint, of a step, and of what lies before the lines of a step. */
  static constexpr int Slots = Lines / SlotLines;
  static constexpr int TileSlots = (SlotLength + Reach) / SlotLength;
  static constexpr int StepSlots = StepLength / SlotLength;
  static constexpr int ReachSlots = Reach / SlotLength;
  /** Steps that only stage, before the first outputs. */
  static constexpr int StepsAhead = DivideUp(Reach, StepLength);
  static_assert(MarchAxis == 1 ? Tiles::Slices * Tiles::Volumes == 1 : Tiles::Volumes == 1, "one axis to go along");
  static_assert(Reach % SlotLength == 0, "slots are whole");
  static_assert(!Tiles::IsNumbered, "a block runs once");

  /** Pixels that a thread stages at once beside the block's columns. */
  static constexpr int HaloPixels = TProgram::Margin <= 4 && StagePixels > 4 ? 4 : StagePixels;
  static constexpr int HaloVectors = 2 * DivideUp(TProgram::Margin, HaloPixels);
  static constexpr int Vectors = Tiles::BlockWidth / StagePixels;
  static constexpr int LinesAtOnce = Threads / Vectors;
  static constexpr int Rounds = DivideUp(StepLines, LinesAtOnce);
  static constexpr int HaloRounds = DivideUp(StepLines * HaloVectors, Threads);
  static_assert(Threads % Vectors == 0, "the threads stage whole lines at once");

  /** A block at one of its steps. */
  struct Block : Tiles::Block
  {
    int slot; ///< where its footprint begins
  };

  /** A block before its first step. */
  static CUDAMEDIAN_HOST_DEVICE Block
  GetBlock(const KernelArguments & arguments, std::uint32_t x, std::uint32_t y, std::uint32_t z)
  {
    Block block{ Tiles::GetBlock(arguments, x, y, z), 0 };
    block.first[MarchAxis] -= StepsAhead * StepLength;
    return block;
  }

  /** Steps of a block with those that only stage. */
  static CUDAMEDIAN_HOST_DEVICE int
  CountSteps(const KernelArguments & arguments, const Block & block)
  {
    const auto first = block.first[MarchAxis] + StepsAhead * StepLength - arguments.outputOrigin[MarchAxis];
    const auto left = arguments.outputExtent[MarchAxis] - first;
    return StepsAhead + DivideUp(left < arguments.stripRows ? left : arguments.stripRows, StepLength);
  }

  /** Goes on by a step. */
  static CUDAMEDIAN_HOST_DEVICE void
  Advance(Block & block)
  {
    block.first[MarchAxis] += StepLength;
    block.slot = Wrap(block.slot + StepSlots, Slots);
  }

  /** Brings a thread's share of the lines that a step adds into their slots. \pre all threads are through with the step
   * before. */
  static CUDAMEDIAN_HOST_DEVICE void
  Stage(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    const std::int32_t left = block.first[0] - Tiles::Halo;
    const auto *       input = static_cast<const TPixelBits *>(arguments.input);
    if constexpr (Tiles::Slices == 1)
    {
      input += block.first[2] * arguments.inputPitch[2];
    }
    input += block.first[3] * arguments.inputPitch[3];

    // All loads are on their way before the first is waited for.
    PixelVector<TPixelBits, StagePixels> inner[Rounds][Parts];
    PixelVector<TPixelBits, HaloPixels>  beside[HaloRounds][Parts];
    const unsigned int                   column = Tiles::Halo + thread % Vectors * StagePixels;
    const TPixelBits * const             innerInput =
      input + Tiles::template ClampColumn<StagePixels>(arguments, left + static_cast<std::int32_t>(column));
    CUDAMEDIAN_UNROLL
    for (unsigned int round = 0; round < Rounds; ++round)
    {
      const unsigned int line = thread / Vectors + round * LinesAtOnce;
      if ((round + 1) * LinesAtOnce <= StepLines || line < StepLines)
      {
        Tiles::LoadLine(arguments, block, innerInput, ReachSlots * SlotLines + line, inner[round]);
      }
    }
    CUDAMEDIAN_UNROLL
    for (unsigned int round = 0; round < HaloRounds; ++round)
    {
      const unsigned int index = thread + round * Threads;
      if (index < StepLines * HaloVectors)
      {
        const auto haloColumn = left + static_cast<std::int32_t>(GetHaloColumn(index % HaloVectors));
        Tiles::LoadLine(arguments,
                        block,
                        input + Tiles::template ClampColumn<HaloPixels>(arguments, haloColumn),
                        ReachSlots * SlotLines + index / HaloVectors,
                        beside[round]);
      }
    }

    const auto signMask = static_cast<TPixelBits>(arguments.signMask);
    Keys       seen = 0;
    CUDAMEDIAN_UNROLL
    for (unsigned int round = 0; round < Rounds; ++round)
    {
      const unsigned int line = thread / Vectors + round * LinesAtOnce;
      if ((round + 1) * LinesAtOnce <= StepLines || line < StepLines)
      {
        Tiles::StageKeys(
          block.numbered, inner[round], signMask, shared + GetStagedLine(block, line) * Pitch + column, seen);
      }
    }
    CUDAMEDIAN_UNROLL
    for (unsigned int round = 0; round < HaloRounds; ++round)
    {
      const unsigned int index = thread + round * Threads;
      if (index < StepLines * HaloVectors)
      {
        Tiles::StageKeys(block.numbered,
                         beside[round],
                         signMask,
                         shared + GetStagedLine(block, index / HaloVectors) * Pitch +
                           GetHaloColumn(index % HaloVectors),
                         seen);
      }
    }
  }

  /** Like TileKernel::StageBorder() for the lines of a step. */
  static CUDAMEDIAN_HOST_DEVICE void
  StageBorder(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    constexpr unsigned int columns = TProgram::RadiusX;
    const std::int32_t     first = Tiles::Halo - block.first[0];
    const std::int32_t     last = first + arguments.inputExtent[0] - 1;
    for (unsigned int index = thread; index < StepLines * columns; index += Threads)
    {
      Keys * const       line = shared + GetStagedLine(block, index / columns) * Pitch;
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

  /** One thread's view of the slots and of its outputs. */
  class Access : public Tiles::Access
  {
  public:
    CUDAMEDIAN_HOST_DEVICE
    Access(const KernelArguments & arguments,
           const Block &           block,
           unsigned int            thread,
           int                     position,
           int                     tileRow,
           Keys *                  shared)
      : Tiles::Access(arguments, block, thread, position, tileRow, shared)
    {
      const int first = block.slot + (MarchAxis == 1 ? tileRow : 0);
      shared += position * TProgram::TileX + (Tiles::Halo - TProgram::RadiusX) +
                (MarchAxis == 1 ? 0 : tileRow * TProgram::TileY * Pitch);
      CUDAMEDIAN_UNROLL
      for (int slot = 0; slot < TileSlots; ++slot)
      {
        m_Slots[slot] = shared + Wrap(first + slot, Slots) * (SlotLines * Pitch);
      }
    }

    CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, TProgram::LoadKeys>
                           Load(int x, int y, int z, int) const
    {
      const int                             along = MarchAxis == 1 ? y : z;
      const int                             line = MarchAxis == 1 ? y % SlotLength : z % SlotLength * Rows + y;
      PixelVector<Keys, TProgram::LoadKeys> keys;
      keys.Load(m_Slots[along / SlotLength] + line * Pitch + x);
      return keys;
    }
    CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, TProgram::LoadKeys>
                           LoadAgain(int x, int y, int z, int w) const
    {
#ifdef __CUDA_ARCH__
      asm volatile("" ::: "memory");
#endif
      return Load(x, y, z, w);
    }

  private:
    const Keys * m_Slots[TileSlots];
  };

  template <int VPhase, typename TAccess = Access, typename TBlock = Block>
  static CUDAMEDIAN_HOST_DEVICE bool
  RunPhase(const KernelArguments & arguments, const TBlock & block, unsigned int thread, Keys * shared)
  {
    return Tiles::template RunPhase<VPhase, TAccess>(arguments, block, thread, shared);
  }

private:
  /** `place`, if need be from the start again. \pre place < 2 * length */
  static CUDAMEDIAN_HOST_DEVICE int
  Wrap(int place, int length)
  {
    return place < length ? place : place - length;
  }

  /** The line of shared memory where a line of the step is staged. */
  static CUDAMEDIAN_HOST_DEVICE int
  GetStagedLine(const Block & block, unsigned int line)
  {
    return Wrap((block.slot + ReachSlots) * SlotLines + static_cast<int>(line), Lines);
  }

  /** The first column of a vector beside the block's columns, those on the left first. */
  static CUDAMEDIAN_HOST_DEVICE unsigned int
  GetHaloColumn(unsigned int vector)
  {
    return Tiles::Halo + vector * HaloPixels + (vector < HaloVectors / 2 ? 0 : Tiles::BlockWidth) -
           HaloVectors / 2 * HaloPixels;
  }
};

/** The kernel of a program with the threads of its policy. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking, bool VMarches>
struct KernelOf
{
  using Type = TileKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>;
};
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
struct KernelOf<TProgram, TPixelBits, VMapping, VPacking, true>
{
  using Type = MarchingKernel<TProgram, TPixelBits, VMapping, VPacking, TProgram::BlockX, TProgram::BlockY>;
};
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
using ProgramKernel = typename KernelOf<TProgram, TPixelBits, VMapping, VPacking, (TProgram::MarchAxis > 0)>::Type;

} // namespace cudamedian

#endif
