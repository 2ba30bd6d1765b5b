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
#ifndef LineKernel_h
#define LineKernel_h

#include "Clamp.h"
#include "ColumnKeys.h"
#include "DivideUp.h"
#include "LinePlace.h"

namespace cudamedian
{

/** What kernels of windows along one axis take from a program. */
template <typename TProgram>
struct LineShape
{
  static constexpr int Axis = TProgram::RadiusX > 0 ? 0 : TProgram::RadiusY > 0 ? 1 : TProgram::RadiusZ > 0 ? 2 : 3;
  static constexpr int Radius = TProgram::RadiusX + TProgram::RadiusY + TProgram::RadiusZ + TProgram::RadiusW;
  /** Outputs of a tile, which lie along the axis, and its inputs. */
  static constexpr int Tile = TProgram::TileX * TProgram::TileY * TProgram::TileZ * TProgram::TileW;
  static constexpr int Inputs = Tile + 2 * Radius;
  static constexpr int Lanes = 32;
  static constexpr int Warps = TProgram::BlockY;
  static constexpr int Threads = Lanes * Warps;
};

/** A tile's inputs as its program reads them, and its medians. */
template <typename TKeys, int VInputs, int VTile, int VFirst>
class LineAccess
{
public:
  /** Neighbours from an input on. */
  struct View
  {
    const TKeys (&keys)[VInputs];
    int first;

    CUDAMEDIAN_HOST_DEVICE TKeys
    Get(int i) const
    {
      return keys[first + i];
    }
  };

  CUDAMEDIAN_HOST_DEVICE
  LineAccess(const TKeys (&keys)[VInputs], TKeys (&medians)[VTile])
    : m_Keys(keys)
    , m_Medians(medians)
  {}

  CUDAMEDIAN_HOST_DEVICE View
  Load(int x, int y, int z, int w) const
  {
    return { m_Keys, VFirst + x + y + z + w };
  }
  CUDAMEDIAN_HOST_DEVICE View
  LoadAgain(int x, int y, int z, int w) const
  {
    return Load(x, y, z, w);
  }

  template <int VWidth>
  CUDAMEDIAN_HOST_DEVICE void
  Store(int y, int z, int w, const TKeys (&medians)[VWidth]) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VWidth; ++i)
    {
      m_Medians[y + z + w + i] = medians[i];
    }
  }

private:
  const TKeys (&m_Keys)[VInputs];
  TKeys (&m_Medians)[VTile];
};

/** The kernel of a window along axis 1, 2 or 3: a thread has some columns, side by side in one access, and a tile of
 * rows, slices or volumes. All their inputs are in its registers at once; the warps of a block lie one behind the other
 * along the axis, and what two of them read comes from the cache. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
class WalkKernel : public LineShape<TProgram>
{
public:
  using Shape = LineShape<TProgram>;
  using Key = PixelKey<TPixelBits, VMapping>;
  static constexpr int Width = TProgram::LineBytes / static_cast<int>(sizeof(TPixelBits));
  using Columns = ColumnKeys<TPixelBits, VPacking, Width>;
  using Registers = typename Columns::Registers;
  using Keys = typename Columns::Keys;

  /** Outputs of a block along an axis. */
  static CUDAMEDIAN_HOST_DEVICE constexpr int
  GetBlock(int axis)
  {
    return axis == 0 ? Shape::Lanes * Width : axis == Shape::Axis ? Shape::Warps * Shape::Tile : 1;
  }

  template <typename TRegisters>
  static CUDAMEDIAN_HOST_DEVICE void
  RunTile(const TRegisters &      registers,
          const KernelArguments & arguments,
          TPixelBits              signMask,
          std::uint32_t           x,
          std::uint32_t           y,
          std::uint32_t           z,
          unsigned int            thread)
  {
    constexpr int      axis = Shape::Axis;
    const LinePlace    place(arguments, x, y, z, thread, Shape::Warps, Width, axis, Shape::Tile);
    const std::int32_t lines = arguments.outputExtent[axis] - place.first[axis];
    if (place.columns <= 0 || lines <= 0)
    {
      return;
    }
    Keys keys[Columns::Count][Shape::Inputs];
    Load(arguments, place, signMask, keys);
    Keys medians[Columns::Count][Shape::Tile];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Columns::Count; ++i)
    {
      const LineAccess<Keys, Shape::Inputs, Shape::Tile, 0> access(keys[i], medians[i]);
      TProgram::template Run<0>(registers, access);
    }
    Store(arguments, place, signMask, lines, medians);
  }

private:
  static CUDAMEDIAN_HOST_DEVICE void
  Load(const KernelArguments & arguments,
       const LinePlace &       place,
       TPixelBits              signMask,
       Keys (&keys)[Columns::Count][Shape::Inputs])
  {
    constexpr int      axis = Shape::Axis;
    const std::int32_t lastColumn = (arguments.inputExtent[0] - 1) / Width * Width;
    const auto *       input =
      place.template GetInput<TPixelBits>(arguments, axis) + Clamp(arguments.gridOrigin + place.first[0], lastColumn);
    const std::int32_t       first = arguments.outputOrigin[axis] + place.first[axis] - Shape::Radius;
    const std::int64_t       pitch = arguments.inputPitch[axis];
    typename Columns::Pixels pixels[Shape::Inputs];
    if (first >= 0 && first <= arguments.inputExtent[axis] - Shape::Inputs)
    {
      input += first * pitch;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Shape::Inputs; ++i)
      {
        pixels[i].Load(input);
        input += pitch;
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Shape::Inputs; ++i)
      {
        pixels[i].Load(input + Clamp(first + i, arguments.inputExtent[axis] - 1) * pitch);
      }
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Shape::Inputs; ++i)
    {
      Keys row[Columns::Count];
      Columns::template MakeKeys<Key>(pixels[i], signMask, row);
      CUDAMEDIAN_UNROLL
      for (int j = 0; j < Columns::Count; ++j)
      {
        keys[j][i] = row[j];
      }
    }
  }

  static CUDAMEDIAN_HOST_DEVICE void
  Store(const KernelArguments & arguments,
        const LinePlace &       place,
        TPixelBits              signMask,
        std::int32_t            lines,
        const Keys (&medians)[Columns::Count][Shape::Tile])
  {
    const std::int64_t       pitch = arguments.outputPitch[Shape::Axis];
    auto *                   output = place.template GetOutput<TPixelBits>(arguments);
    typename Columns::Pixels pixels[Shape::Tile];
    CUDAMEDIAN_UNROLL
    for (int line = 0; line < Shape::Tile; ++line)
    {
      Keys row[Columns::Count];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Columns::Count; ++i)
      {
        row[i] = medians[i][line];
      }
      Columns::template GetPixels<Key>(row, signMask, pixels[line]);
    }
    if (place.isWhole && lines >= Shape::Tile)
    {
      CUDAMEDIAN_UNROLL
      for (int line = 0; line < Shape::Tile; ++line)
      {
        pixels[line].Store(output);
        output += pitch;
      }
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int line = 0; line < Shape::Tile; ++line)
    {
      if (line < lines)
      {
        place.Store(pixels[line], output + line * pitch);
      }
    }
  }
};

/** The kernel of a window along axis 0: a thread has a tile of columns, and with two keys to a register those of two
 * rows. It reads the columns beside its own too, which its neighbours have in the cache. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
class RowKernel : public LineShape<TProgram>
{
public:
  using Shape = LineShape<TProgram>;
  using Key = PixelKey<TPixelBits, VMapping>;
  using Registers = KeyRegisters<TPixelBits, VPacking>;
  using Keys = typename Registers::Keys;
  static constexpr int Width = Shape::Tile;
  static constexpr int Halves = Registers::Pixels;
  /** Pixels that one access moves. */
  static constexpr int VectorPixels = TProgram::LineBytes / static_cast<int>(sizeof(TPixelBits));
  static_assert(Width % VectorPixels == 0, "a tile is some vectors");
  /** Columns read on either side. */
  static constexpr int Halo = RoundUp(Shape::Radius, VectorPixels);
  static constexpr int Loaded = Width + 2 * Halo;

  /** Outputs of a block along an axis. */
  static CUDAMEDIAN_HOST_DEVICE constexpr int
  GetBlock(int axis)
  {
    return axis == 0 ? Shape::Lanes * Width : axis == 1 ? Shape::Warps * Halves : 1;
  }

  template <typename TRegisters>
  static CUDAMEDIAN_HOST_DEVICE void
  RunTile(const TRegisters &      registers,
          const KernelArguments & arguments,
          TPixelBits              signMask,
          std::uint32_t           x,
          std::uint32_t           y,
          std::uint32_t           z,
          unsigned int            thread)
  {
    const LinePlace    place(arguments, x, y, z, thread, Shape::Warps, Width, 1, Halves);
    const std::int32_t rows = arguments.outputExtent[1] - place.first[1];
    if (place.columns <= 0 || rows <= 0)
    {
      return;
    }
    Keys keys[Loaded];
    Load(arguments, place, signMask, keys);
    Keys                                                        medians[Width];
    const LineAccess<Keys, Loaded, Width, Halo - Shape::Radius> access(keys, medians);
    TProgram::template Run<0>(registers, access);
    auto * const output = place.template GetOutput<TPixelBits>(arguments);
    CUDAMEDIAN_UNROLL
    for (int half = 0; half < Halves; ++half)
    {
      if (half < rows)
      {
        PixelVector<TPixelBits, Width> pixels;
        Registers::template GetPixels<Key>(medians, half, signMask, pixels);
        place.Store(pixels, output + half * arguments.outputPitch[1]);
      }
    }
  }

private:
  static CUDAMEDIAN_HOST_DEVICE void
  Load(const KernelArguments & arguments, const LinePlace & place, TPixelBits signMask, Keys (&keys)[Loaded])
  {
    const std::int32_t first = arguments.gridOrigin + place.first[0] - Halo;
    const std::int32_t last = arguments.inputExtent[0] - 1;
    const auto *       input = place.template GetInput<TPixelBits>(arguments, 1);
    using Vector = PixelVector<TPixelBits, VectorPixels>;
    PixelVector<TPixelBits, Loaded> pixels[Halves];
    CUDAMEDIAN_UNROLL
    for (int half = 0; half < Halves; ++half)
    {
      const auto   row = Clamp(arguments.outputOrigin[1] + place.first[1] + half, arguments.inputExtent[1] - 1);
      const auto * line = input + row * arguments.inputPitch[1];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Loaded / VectorPixels; ++i)
      {
        Vector vector;
        vector.Load(line + Clamp(first + i * VectorPixels, last / VectorPixels * VectorPixels));
        CUDAMEDIAN_UNROLL
        for (int word = 0; word < Vector::Bytes / 4; ++word)
        {
          pixels[half].words[i * (Vector::Bytes / 4) + word] = vector.words[word];
        }
      }
    }
    const auto made = Registers::template MakeKeys<Key>(pixels, signMask);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Loaded; ++i)
    {
      keys[i] = made.Get(i);
    }
    // Columns beyond the image repeat its first or last one.
    if (first < 0)
    {
      CUDAMEDIAN_UNROLL
      for (int i = Halo - 1; i >= 0; --i)
      {
        keys[i] = first + i < 0 ? keys[i + 1] : keys[i];
      }
    }
    if (first > last + 1 - Loaded)
    {
      CUDAMEDIAN_UNROLL
      for (int i = Halo + 1; i < Loaded; ++i)
      {
        keys[i] = first + i > last ? keys[i - 1] : keys[i];
      }
    }
  }
};

/** The kernel of a program whose window lies along one axis. The packing is one that GetLinePacking() returns. */
template <typename TProgram, typename TPixelBits, KeyMapping VMapping, KeyPacking VPacking>
class LineKernel
{
  static constexpr bool IsRow = TProgram::RadiusX > 0;
  /** The kernel of windows along axis 0, or along another axis. */
  template <bool VIsRow, typename TNothing = void>
  struct Of
  {
    using Type = WalkKernel<TProgram, TPixelBits, VMapping, VPacking>;
  };
  template <typename TNothing>
  struct Of<true, TNothing>
  {
    using Type = RowKernel<TProgram, TPixelBits, VMapping, VPacking>;
  };

public:
  using Kernel = typename Of<IsRow>::Type;
  static constexpr int Threads = Kernel::Threads;

  /** The tile of a thread of a block. */
  static CUDAMEDIAN_HOST_DEVICE void
  Run(const KernelArguments & arguments, std::uint32_t x, std::uint32_t y, std::uint32_t z, unsigned int thread)
  {
    if constexpr (VPacking == KeyPacking::Pair)
    {
      // Pairs have signed instructions too, which spare the way to keys and back.
      constexpr auto noMask = TPixelBits{ 0 };
      if (arguments.signMask != 0)
      {
        Kernel::RunTile(SignedPairRegisters<TPixelBits>(arguments), arguments, noMask, x, y, z, thread);
      }
      else
      {
        Kernel::RunTile(typename Kernel::Registers(arguments), arguments, noMask, x, y, z, thread);
      }
    }
    else
    {
      const auto signMask = static_cast<TPixelBits>(arguments.signMask);
      Kernel::RunTile(typename Kernel::Registers(arguments), arguments, signMask, x, y, z, thread);
    }
  }
};

} // namespace cudamedian

#endif
