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
#ifndef StagedAccess_h
#define StagedAccess_h

#include "BFloatRegisters.h"
#include "RankChoice.h"

namespace cudamedian
{

/** One thread's view of what a block of TKernel (TileKernel.h) has staged, of the shared values and of its outputs: all
 * that a program reads and writes. */
template <typename TKernel>
class StagedAccess
{
public:
  using Program = typename TKernel::Program;
  using PixelBits = typename TKernel::PixelBits;
  using Registers = typename TKernel::Registers;
  using Keys = typename TKernel::Keys;
  /** Pixels of a row of the tile. */
  using Row = PixelVector<PixelBits, Program::TileX>;

  /** For the tile at `position` of row `tileRow`; the block's tiles have the positions from 0 to before BlockX. */
  CUDAMEDIAN_HOST_DEVICE
  StagedAccess(const KernelArguments &         arguments,
               const typename TKernel::Block & block,
               unsigned int                    thread,
               int                             position,
               int                             tileRow,
               Keys *                          shared)
    : m_Arguments(arguments)
    , m_Numbered(block.numbered)
    , m_Saved(shared + TKernel::SavedOffset + thread)
    , m_Shared(shared + TKernel::FootprintKeys +
               (tileRow * TKernel::Positions + position - Program::FirstPosition) * Program::SharedKeys)
  {
    const int x = position * Program::TileX;
    const int y = tileRow * Program::TileY;
    m_Keys = shared + y * TKernel::Pitch + x + (TKernel::Halo - Program::RadiusX);
    const std::int32_t row = block.first[1] - arguments.outputOrigin[1] + y;
    const std::int32_t slice = block.first[2] - arguments.outputOrigin[2];
    const std::int32_t volume = block.first[3] - arguments.outputOrigin[3];
    const std::int32_t column = block.first[0] + x;
    m_Output = static_cast<PixelBits *>(arguments.output) + volume * arguments.outputPitch[3] +
               slice * arguments.outputPitch[2] + row * arguments.outputPitch[1] + (column - arguments.gridOrigin);
    m_Skip = arguments.outputOrigin[0] - column;
    m_Columns = m_Skip + arguments.outputExtent[0];
    m_Rows = arguments.outputExtent[1] - row;
    m_Slices = arguments.outputExtent[2] - slice;
    m_Volumes = arguments.outputExtent[3] - volume;
    m_Whole = m_Skip <= 0 && m_Columns >= Program::TileX;
  }

  /** Neighbouring keys, Program::LoadKeys of them, from column x of the footprint on. x may be negative: columns up to
   * the next multiple of LoadKeys before the footprint are staged too. */
  CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, Program::LoadKeys>
                         Load(int x, int y, int z, int w) const
  {
    PixelVector<Keys, Program::LoadKeys> keys;
    keys.Load(m_Keys + ((w * TKernel::Slices + z) * TKernel::Rows + y) * TKernel::Pitch + x);
    return keys;
  }

  /** The same for a vector that was loaded before: not to be joined with that load by the compiler, which would keep
   * the keys in registers in between. */
  CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, Program::LoadKeys>
                         LoadAgain(int x, int y, int z, int w) const
  {
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#endif
    return Load(x, y, z, w);
  }

  /** A vector of shared values of the tile that is `position` to the right. */
  CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, Program::SharedKeys>
                         LoadShared(int vector, int position) const
  {
    PixelVector<Keys, Program::SharedKeys> keys;
    keys.Load(m_Shared + vector * TKernel::SharedPitch + position * Program::SharedKeys);
    return keys;
  }

  /** The same for a vector that was loaded before, like LoadAgain. */
  CUDAMEDIAN_HOST_DEVICE PixelVector<Keys, Program::SharedKeys>
                         LoadSharedAgain(int vector, int position) const
  {
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#endif
    return LoadShared(vector, position);
  }

  /** Leaves a vector of shared values. */
  CUDAMEDIAN_HOST_DEVICE void
  StoreShared(int vector, const Keys (&keys)[Program::SharedKeys]) const
  {
    PixelVector<Keys, Program::SharedKeys> values;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Program::SharedKeys; ++i)
    {
      values.Set(i, keys[i]);
    }
    values.Store(m_Shared + vector * TKernel::SharedPitch);
  }

  /** Saves a key in the thread's own part of shared memory. */
  CUDAMEDIAN_HOST_DEVICE void
  Save(int slot, Keys key) const
  {
    *const_cast<volatile Keys *>(m_Saved + slot * TKernel::Threads) = key;
  }
  /** The key that was saved in a slot. */
  CUDAMEDIAN_HOST_DEVICE Keys
  Restore(int slot) const
  {
    return *const_cast<const volatile Keys *>(m_Saved + slot * TKernel::Threads);
  }

  /** The ranks that are wanted of a row of the tile's outputs, where the program finds several; 0 beyond the output
   * box. */
  CUDAMEDIAN_HOST_DEVICE RankChoice<Registers, Program::TileX>
                         LoadRanks(int y, int z, int w) const
  {
    const bool                            isInside = z < m_Slices && w < m_Volumes;
    RankChoice<Registers, Program::TileX> choice;
    CUDAMEDIAN_UNROLL
    for (int part = 0; part < TKernel::Parts; ++part)
    {
      const int          row = part * TKernel::GetPartRows(m_Arguments) + y;
      const std::int64_t place = w * m_Arguments.outputPitch[3] + z * m_Arguments.outputPitch[2] +
                                 row * m_Arguments.outputPitch[1] +
                                 (m_Output - static_cast<PixelBits *>(m_Arguments.output));
      choice.Set(part, LoadRanksOfRow(isInside && row < m_Rows, place));
    }
    return choice;
  }

  /** Writes a row of the tile's medians; those beyond the output box are left out. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(int y, int z, int w, const Keys (&keys)[Program::TileX]) const
  {
    if constexpr (TKernel::IsNumbered)
    {
      if (m_Numbered.HasLimit())
      {
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Program::TileX; ++i)
        {
          m_Extreme = m_Numbered.GetMoreExtreme(m_Extreme, keys[i]);
        }
      }
    }
    StoreParts(y, z, w, [&](int part) { return MakePixels(keys, part, static_cast<PixelBits>(m_Arguments.signMask)); });
  }

  /** Whether some median is what keys are clamped to. */
  CUDAMEDIAN_HOST_DEVICE bool
  IsAtLimit() const
  {
    return m_Numbered.IsAtLimit(m_Extreme);
  }

protected:
  /** The pixels of a row of keys in a part of the block. */
  CUDAMEDIAN_HOST_DEVICE Row
  MakePixels(const Keys (&keys)[Program::TileX], int part, PixelBits signMask) const
  {
    if constexpr (TKernel::IsNumbered)
    {
      return m_Numbered.MakePixels(keys, part, signMask);
    }
    else
    {
      Row pixels{}; // which GCC 12 does not see to be set whole
      Registers::template GetPixels<typename TKernel::Key>(keys, part, signMask, pixels);
      return pixels;
    }
  }

  /** Writes a row of pixels in each part of the block: those of make(part). */
  template <typename TMake>
  CUDAMEDIAN_HOST_DEVICE void
  StoreParts(int y, int z, int w, const TMake & make) const
  {
    if ((Program::TileZ > 1 && z >= m_Slices) || (Program::TileW > 1 && w >= m_Volumes))
    {
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int part = 0; part < TKernel::Parts; ++part)
    {
      const int row = part * TKernel::GetPartRows(m_Arguments) + y;
      if (row >= m_Rows)
      {
        return;
      }
      PixelBits * const output =
        m_Output + w * m_Arguments.outputPitch[3] + z * m_Arguments.outputPitch[2] + row * m_Arguments.outputPitch[1];
      const auto pixels = make(part);
      if constexpr (TKernel::IsNumbered)
      {
        const auto signMask = static_cast<PixelBits>(m_Arguments.signMask);
        StorePixels(pixels, m_Whole && !m_Numbered.isSecond, m_Skip, m_Columns, output, [&](std::uint32_t pixel) {
          return m_Numbered.IsWanted(pixel ^ signMask);
        });
      }
      else
      {
        StorePixels(pixels, m_Whole, m_Skip, m_Columns, output);
      }
    }
  }

  const KernelArguments & m_Arguments;
  PixelBits *             m_Output; // the tile's first one, and how many of it and of what follows are to be written
  std::int32_t            m_Skip;
  std::int32_t            m_Columns;
  std::int32_t            m_Rows;
  std::int32_t            m_Slices;
  std::int32_t            m_Volumes;

private:
  /** The ranks of a row of pixels, from so many behind the first of the map on, where it has them. */
  CUDAMEDIAN_HOST_DEVICE PixelVector<std::uint8_t, Program::TileX>
                         LoadRanksOfRow(bool isInside, std::int64_t place) const
  {
    // Rows of the map start where those of the output do: at multiples of so many bytes.
    constexpr int aligned = 16 / static_cast<int>(sizeof(PixelBits));
    constexpr int atOnce = Program::TileX < aligned ? Program::TileX : aligned;
    const auto *  ranks = static_cast<const std::uint8_t *>(m_Arguments.rankMap) + place;

    PixelVector<std::uint8_t, Program::TileX> row{};
    if (isInside && m_Whole)
    {
      CUDAMEDIAN_UNROLL
      for (int x = 0; x < Program::TileX; x += atOnce)
      {
        PixelVector<std::uint8_t, atOnce> some;
        some.Load(ranks + x);
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < atOnce; ++i)
        {
          row.Set(x + i, some.Get(i));
        }
      }
    }
    else if (isInside)
    {
      CUDAMEDIAN_UNROLL
      for (int x = 0; x < Program::TileX; ++x)
      {
        row.Set(x, x >= m_Skip && x < m_Columns ? ranks[x] : std::uint8_t{ 0 });
      }
    }
    return row;
  }

  const NumberedKeys & m_Numbered;
  const Keys *         m_Keys;
  Keys *               m_Saved;
  Keys *               m_Shared;
  bool                 m_Whole;
  mutable Keys         m_Extreme{ 0 }; // of the medians, if keys are clamped
};

} // namespace cudamedian

#endif
