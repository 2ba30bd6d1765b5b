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
#ifndef InterpretedTile_h
#define InterpretedTile_h

#include "InterpretedProgram.h"
#include "KernelArguments.h"
#include "KeyPairs.h"
#include "PixelKey.h"

/** What one thread of the kernel that interprets a program does, written so that the host can run it too: blocks and
 * threads become loops. Plain data in, no CUDA types. */
namespace cudamedian
{

/** A register of keys and its min and max. 8- and 16-bit pixels are widened to 16-bit keys, two to a register, which
 * one instruction of sm_90 compares (`__vminu2`; `__vminu4` is emulated there); other pixels have a register each. */
template <typename TPixelBits, bool VPacked = (sizeof(TPixelBits) <= 2)>
struct InterpretedKey
{
  using Type = TPixelBits;
  static constexpr int Pixels = 1;

  static CUDAMEDIAN_HOST_DEVICE Type
  Min(Type a, Type b)
  {
    return a < b ? a : b;
  }
  static CUDAMEDIAN_HOST_DEVICE Type
  Max(Type a, Type b)
  {
    return a < b ? b : a;
  }
};

template <typename TPixelBits>
struct InterpretedKey<TPixelBits, true>
{
  using Type = std::uint32_t;
  static constexpr int Pixels = 2;

  static CUDAMEDIAN_HOST_DEVICE Type
  Min(Type a, Type b)
  {
    return MinOfPairs(a, b);
  }
  static CUDAMEDIAN_HOST_DEVICE Type
  Max(Type a, Type b)
  {
    return MaxOfPairs(a, b);
  }
  static CUDAMEDIAN_HOST_DEVICE Type
  Pack(std::uint32_t low, std::uint32_t high)
  {
    return low | (high << 16);
  }
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetLow(Type keys)
  {
    return keys & 0xFFFFU;
  }
  static CUDAMEDIAN_HOST_DEVICE std::uint32_t
                                GetHigh(Type keys)
  {
    return keys >> 16;
  }
};

/** Reads the footprint and writes the outputs of one thread's tile, or pair of tiles side by side along axis 0. */
template <typename TPixelBits, KeyMapping VMapping>
class TileAccess
{
public:
  using Register = InterpretedKey<TPixelBits>;
  using Keys = typename Register::Type;
  using Key = PixelKey<TPixelBits, VMapping>;

  template <typename TInteger>
  CUDAMEDIAN_HOST_DEVICE
  TileAccess(const KernelArguments & arguments, const std::int64_t * tileIndex, const TInteger * tile)
    : m_Arguments(arguments)
    , m_TileWidth(tile[0])
  {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      m_Output[axis] = tileIndex[axis] * tile[axis] * (axis == 0 ? Register::Pixels : 1);
      m_Footprint[axis] = m_Output[axis] + arguments.outputOrigin[axis] - arguments.radius[axis];
    }
  }

  /** The keys at a position of the footprint, clamped to the slab's input box. */
  CUDAMEDIAN_HOST_DEVICE Keys
  Load(int x, int y, int z, int w) const
  {
    const TPixelBits * row = static_cast<const TPixelBits *>(m_Arguments.input) +
                             Clamp(3, w) * m_Arguments.inputPitch[3] + Clamp(2, z) * m_Arguments.inputPitch[2] +
                             Clamp(1, y) * m_Arguments.inputPitch[1];
    if constexpr (Register::Pixels == 2)
    {
      return Register::Pack(GetKey(row, x), GetKey(row, x + m_TileWidth));
    }
    else
    {
      return GetKey(row, x);
    }
  }

  /** Writes the medians at a position of the tile; positions beyond the output box are left out. */
  CUDAMEDIAN_HOST_DEVICE void
  Store(int x, int y, int z, int w, Keys keys) const
  {
    const std::int64_t outputY = m_Output[1] + y;
    const std::int64_t outputZ = m_Output[2] + z;
    const std::int64_t outputW = m_Output[3] + w;
    if (outputY >= m_Arguments.outputExtent[1] || outputZ >= m_Arguments.outputExtent[2] ||
        outputW >= m_Arguments.outputExtent[3])
    {
      return;
    }
    TPixelBits * row = static_cast<TPixelBits *>(m_Arguments.output) + outputW * m_Arguments.outputPitch[3] +
                       outputZ * m_Arguments.outputPitch[2] + outputY * m_Arguments.outputPitch[1] +
                       (m_Arguments.outputOrigin[0] - m_Arguments.gridOrigin);
    if constexpr (Register::Pixels == 2)
    {
      StoreKey(row, m_Output[0] + x, static_cast<TPixelBits>(Register::GetLow(keys)));
      StoreKey(row, m_Output[0] + x + m_TileWidth, static_cast<TPixelBits>(Register::GetHigh(keys)));
    }
    else
    {
      StoreKey(row, m_Output[0] + x, keys);
    }
  }

private:
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         Clamp(int axis, int offset) const
  {
    const std::int64_t position = m_Footprint[axis] + offset;
    const std::int64_t last = m_Arguments.inputExtent[axis] - 1;
    return position < 0 ? 0 : position > last ? last : position;
  }

  CUDAMEDIAN_HOST_DEVICE TPixelBits
  GetKey(const TPixelBits * row, int x) const
  {
    return Key::FromBits(row[Clamp(0, x)], static_cast<TPixelBits>(m_Arguments.signMask));
  }

  CUDAMEDIAN_HOST_DEVICE void
  StoreKey(TPixelBits * row, std::int64_t x, TPixelBits key) const
  {
    if (x < m_Arguments.outputExtent[0])
    {
      row[x] = Key::ToBits(key, static_cast<TPixelBits>(m_Arguments.signMask));
    }
  }

  const KernelArguments & m_Arguments;
  int                     m_TileWidth;
  std::int64_t            m_Output[Dimension];
  std::int64_t            m_Footprint[Dimension];
};

/** One thread of the kernel that interprets a schedule.
 * \param slots this thread's slots: slot s is slots[s * slotStride]. */
template <typename TPixelBits, KeyMapping VMapping>
CUDAMEDIAN_HOST_DEVICE void
RunInterpretedTile(const KernelArguments &                     arguments,
                   const InterpretedProgram &                  program,
                   const std::int64_t *                        tileIndex,
                   typename InterpretedKey<TPixelBits>::Type * slots,
                   int                                         slotStride)
{
  using Register = InterpretedKey<TPixelBits>;
  using Keys = typename Register::Type;
  using Operation = ProgramSchedule::Operation;
  const TileAccess<TPixelBits, VMapping> access(arguments, tileIndex, program.tile);
  const auto                             load = [&](std::uint32_t operand) -> Keys {
    if (operand >= program.numberOfInputs)
    {
      return slots[(operand - program.numberOfInputs) * slotStride];
    }
    const int input = static_cast<int>(operand);
    const int rows = input / program.footprint[0];
    const int slices = rows / program.footprint[1];
    return access.Load(input % program.footprint[0],
                       rows % program.footprint[1],
                       slices % program.footprint[2],
                       slices / program.footprint[2]);
  };
  for (std::uint32_t n = 0; n < program.numberOfInstructions; ++n)
  {
    const ProgramSchedule::Instruction instruction = program.instructions[n];
    const Keys                         a = load(instruction.a);
    const Keys                         b = load(instruction.b);
    if (instruction.operation != Operation::Max)
    {
      slots[instruction.low * slotStride] = Register::Min(a, b);
    }
    if (instruction.operation != Operation::Min)
    {
      slots[instruction.high * slotStride] = Register::Max(a, b);
    }
  }
  int output = 0;
  for (int w = 0; w < program.tile[3]; ++w)
  {
    for (int z = 0; z < program.tile[2]; ++z)
    {
      for (int y = 0; y < program.tile[1]; ++y)
      {
        for (int x = 0; x < program.tile[0]; ++x, ++output)
        {
          access.Store(x, y, z, w, load(program.outputs[output]));
        }
      }
    }
  }
}

} // namespace cudamedian

#endif
