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
#ifndef VectorTile_h
#define VectorTile_h

#include "DivideUp.h"
#include "VectorPixel.h"

/** The vector median of 8-bit components in a window of 3x3 or 5x5, for a block of threads.
 *
 * A thread takes pixels as candidates rather than windows: the distances of a candidate to the pixels around it are
 * found once for all windows that it is in, and its sums are box sums of these. Sums are integers, so running sums are
 * exact. Then each window takes the least of the keys that its candidates have for it. A key is the sum, and below it
 * the candidate's position in the window. */
namespace cudamedian
{

/** Distances of pixels whose components are the bytes of a word. Those of L2 are roots, in units of the last place of
 * the float 1: exactly the floats of VectorDistance. */
template <VectorNorm VNorm>
struct PackedDistance
{
  using Sum = std::conditional_t<VNorm == VectorNorm::L1, std::uint32_t, std::uint64_t>;

  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  GetDifferences(std::uint32_t a, std::uint32_t b)
  {
    std::uint32_t differences = 0;
    for (int shift = 0; shift < 32; shift += 8)
    {
      const auto one = a >> shift & 0xFF;
      const auto other = b >> shift & 0xFF;
      differences |= (one > other ? one - other : other - one) << shift;
    }
    return differences;
  }

  /** A sum and the distance of two pixels. */
  CUDAMEDIAN_HOST_DEVICE static Sum
  Add(Sum sum, std::uint32_t a, std::uint32_t b)
  {
    if constexpr (VNorm == VectorNorm::L1)
    {
#ifdef __CUDA_ARCH__
      asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(sum) : "r"(a), "r"(b), "r"(sum));
      return sum;
#else
      const auto differences = GetDifferences(a, b);
      return sum + (differences & 0xFF) + (differences >> 8 & 0xFF) + (differences >> 16 & 0xFF) + (differences >> 24);
#endif
    }
    else
    {
#ifdef __CUDA_ARCH__
      // The sum of squares has 18 bits: added to the bits of 2^23 it makes the float that is so much larger. From there
      // it is the compiler's own way to a correctly rounded root, without its way out for other numbers.
      constexpr std::uint32_t start = 0x4B000000;
      const auto              differences = __vabsdiffu4(a, b);
      const float squares = __fadd_rn(__uint_as_float(__dp4a(differences, differences, start)), -8388608.0F);
      float       inverse;
      asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(squares));
      const float near = __fmul_rn(squares, inverse);
      const float rest = __fmaf_rn(-near, near, squares);
      const float root = squares == 0 ? 0 : __fmaf_rn(rest, __fmul_rn(inverse, 0.5F), near);
#else
      const auto    differences = GetDifferences(a, b);
      std::uint32_t squares = 0;
      for (int shift = 0; shift < 32; shift += 8)
      {
        squares += (differences >> shift & 0xFF) * (differences >> shift & 0xFF);
      }
      const float root = GetRoot(static_cast<float>(squares));
#endif
      // The root is at most 510, and at least 1 or 0: the product is an integer of 32 bits.
      constexpr float unit = 1 << 23;
      return sum + static_cast<std::uint32_t>(root * unit);
    }
  }
};

/** A block: candidates in 32 columns and in strips of rows, a strip of a column for each thread. */
template <VectorNorm VNorm, int VRadius>
struct VectorTile
{
  using Distance = PackedDistance<VNorm>;
  using Sum = typename Distance::Sum;
  static constexpr int radius = VRadius;
  static constexpr int width = 2 * VRadius + 1;
  static constexpr int reach = 2 * VRadius;           ///< from a candidate to the farthest pixel of a window with it
  static constexpr int strip = 4;                     ///< candidates of a thread
  static constexpr int windows = strip + 2 * VRadius; ///< rows of windows that they are in
  static constexpr int columns = 32;
  static constexpr int strips = 8;
  static constexpr int threads = columns * strips;
  static constexpr int rows = strip * strips;
  static constexpr int outputColumns = columns - 2 * VRadius;
  static constexpr int outputRows = rows - 2 * VRadius;
  static constexpr int pixelColumns = columns + 2 * reach;
  static constexpr int pixelRows = rows + 2 * reach;
  static constexpr int positionBits = 5;
  static_assert(strip >= VRadius, "a window is in three strips at most");

  /** What the threads share. Two sets of keys: one is read while the other is written. */
  struct Shared
  {
    std::uint32_t pixels[pixelRows * pixelColumns];
    Sum           keys[2][strips][windows][columns];
  };

  /** What a thread keeps from one step to the next. */
  struct State
  {
    Sum keys[width][windows]; ///< the least of its candidates, for windows that many columns to one side
    Sum least[strip];         ///< of its outputs
  };

  /** Where a block is: its first output, and the first of its input's and output's plane. */
  struct Place
  {
    std::int32_t         x;
    std::int32_t         y;
    const std::uint8_t * input;
    std::uint8_t *       output;
  };

  CUDAMEDIAN_HOST_DEVICE static Place
  GetPlace(const VectorArguments & arguments, std::uint32_t block)
  {
    // A launch has fewer than 2^31 blocks, and so there are of each kind. Division of 64 bits takes long.
    const auto blocksX = static_cast<std::uint32_t>(DivideUp(arguments.outputExtent[0], outputColumns));
    const auto blocksY = static_cast<std::uint32_t>(DivideUp(arguments.outputExtent[1], outputRows));
    const auto planes = static_cast<std::uint32_t>(arguments.outputExtent[2]);
    const auto row = block / blocksX;
    const auto plane = row / blocksY;
    const auto z = static_cast<std::int64_t>(plane % planes);
    const auto w = static_cast<std::int64_t>(plane / planes);
    const auto inputPlane = (arguments.outputOrigin[3] + w) * arguments.inputExtent[2] + arguments.outputOrigin[2] + z;
    Place      place;
    place.x = static_cast<std::int32_t>(block % blocksX * outputColumns);
    place.y = static_cast<std::int32_t>(row % blocksY * outputRows);
    place.input = static_cast<const std::uint8_t *>(arguments.input) +
                  inputPlane * arguments.inputExtent[0] * arguments.inputExtent[1] * arguments.components;
    place.output = static_cast<std::uint8_t *>(arguments.output) +
                   (z * arguments.outputStride[2] + w * arguments.outputStride[3]) * arguments.components;
    return place;
  }

  static std::int64_t
  CountBlocks(const VectorArguments & arguments)
  {
    return DivideUp(arguments.outputExtent[0], outputColumns) * DivideUp(arguments.outputExtent[1], outputRows) *
           arguments.outputExtent[2] * arguments.outputExtent[3];
  }

  /** First step: pixels of the image become words. The first candidate is `radius` before the first output. */
  template <int VComponents>
  CUDAMEDIAN_HOST_DEVICE static void
  Stage(const VectorArguments & arguments, const Place & place, int thread, Shared & shared)
  {
    const auto lastX = static_cast<std::int32_t>(arguments.inputExtent[0]) - 1;
    const auto lastY = static_cast<std::int32_t>(arguments.inputExtent[1]) - 1;
    const auto firstX = static_cast<std::int32_t>(arguments.outputOrigin[0]) + place.x - radius - reach;
    const auto firstY = static_cast<std::int32_t>(arguments.outputOrigin[1]) + place.y - radius - reach;
    const auto flip = static_cast<std::uint32_t>(arguments.signMask);
    const auto rowBytes = static_cast<std::int32_t>(arguments.inputExtent[0]) * VComponents;
    for (int number = thread; number < pixelRows * pixelColumns; number += threads)
    {
      const auto    x = Clamp(firstX + number % pixelColumns, lastX);
      const auto    y = Clamp(firstY + number / pixelColumns, lastY);
      const auto *  pixel = place.input + static_cast<std::int64_t>(y) * rowBytes + x * VComponents;
      std::uint32_t word = 0;
      CUDAMEDIAN_UNROLL
      for (int component = 0; component < VComponents; ++component)
      {
        word |= (pixel[component] ^ flip) << (8 * component);
      }
      shared.pixels[number] = word;
    }
  }

  /** A window's sums while the rows of a candidate's neighbours come one by one. */
  struct Candidate
  {
    Sum           rows[2 * reach + 1][width];
    Sum           box[width];
    std::uint32_t pixel;
  };

  /** Adds a row of neighbours. The sums of a row are differences of sums from its start. */
  CUDAMEDIAN_HOST_DEVICE static void
  AddRow(Candidate & candidate, int row, const std::uint32_t * neighbours)
  {
    Sum fromStart[2 * reach + 1];
    CUDAMEDIAN_UNROLL
    for (int column = 0; column <= 2 * reach; ++column)
    {
      fromStart[column] =
        Distance::Add(column == 0 ? Sum{ 0 } : fromStart[column - 1], candidate.pixel, neighbours[column]);
    }
    CUDAMEDIAN_UNROLL
    for (int column = 0; column < width; ++column)
    {
      auto & sum = candidate.rows[row][column];
      sum = fromStart[column + reach] - (column == 0 ? Sum{ 0 } : fromStart[column - 1]);
      auto & box = candidate.box[column];
      box = row == 0 ? sum : row < width ? box + sum : box + sum - candidate.rows[row - width][column];
    }
  }

  /** Second step: a thread's candidates, two at a time, and their keys. */
  CUDAMEDIAN_HOST_DEVICE static void
  FindKeys(int thread, const Shared & shared, State & state)
  {
    const int     firstRow = thread / columns * strip;
    const int     column = thread % columns;
    constexpr int together = 2;
    CUDAMEDIAN_UNROLL
    for (int first = 0; first < strip; first += together)
    {
      Candidate candidates[together];
      CUDAMEDIAN_UNROLL
      for (int number = 0; number < together; ++number)
      {
        candidates[number].pixel = shared.pixels[(firstRow + first + number + reach) * pixelColumns + column + reach];
      }
      CUDAMEDIAN_UNROLL
      for (int line = 0; line < 2 * reach + together; ++line)
      {
        std::uint32_t neighbours[2 * reach + 1];
        CUDAMEDIAN_UNROLL
        for (int offset = 0; offset <= 2 * reach; ++offset)
        {
          neighbours[offset] = shared.pixels[(firstRow + first + line) * pixelColumns + column + offset];
        }
        CUDAMEDIAN_UNROLL
        for (int number = 0; number < together; ++number)
        {
          const int row = line - number;
          if (row >= 0 && row <= 2 * reach)
          {
            AddRow(candidates[number], row, neighbours);
            if (row >= reach)
            {
              TakeKeys(candidates[number], first + number, row - reach, state);
            }
          }
        }
      }
    }
  }

  /** The keys of a candidate for a row of windows: the box sums that its last rows of neighbours make. */
  CUDAMEDIAN_HOST_DEVICE static void
  TakeKeys(const Candidate & candidate, int number, int row, State & state)
  {
    CUDAMEDIAN_UNROLL
    for (int column = 0; column < width; ++column)
    {
      const int  position = (2 * radius - row) * width + 2 * radius - column;
      const auto key = (candidate.box[column] << positionBits) + static_cast<Sum>(position);
      auto &     least = state.keys[column][number + row];
      // The first candidate that a window has is the lowest row of windows of the first, and the last row of each.
      least = number == 0 || row == 2 * radius || key < least ? key : least;
    }
  }

  /** Third step, for each column of windows: the threads tell their keys, ... */
  CUDAMEDIAN_HOST_DEVICE static void
  TellKeys(int thread, int column, const State & state, Shared & shared)
  {
    CUDAMEDIAN_UNROLL
    for (int window = 0; window < windows; ++window)
    {
      shared.keys[column % 2][thread / columns][window][thread % columns] = state.keys[column][window];
    }
  }

  /** ... and after that each takes those for its outputs. */
  CUDAMEDIAN_HOST_DEVICE static void
  HearKeys(int thread, int column, const Shared & shared, State & state)
  {
    const int own = thread / columns;
    const int from = thread % columns + radius - column; // the column of the candidates
    if (from < 0 || from >= columns)
    {
      return; // no output is there
    }
    CUDAMEDIAN_UNROLL
    for (int output = 0; output < strip; ++output)
    {
      CUDAMEDIAN_UNROLL
      for (int distance = -1; distance <= 1; ++distance)
      {
        const int window = output + radius - distance * strip;
        const int other = own + distance;
        if (window >= 0 && window < windows && other >= 0 && other < strips)
        {
          const auto key = shared.keys[column % 2][other][window][from];
          auto &     least = state.least[output];
          least = key < least ? key : least;
        }
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE static void
  Start(State & state)
  {
    CUDAMEDIAN_UNROLL
    for (int output = 0; output < strip; ++output)
    {
      state.least[output] = ~Sum{ 0 };
    }
  }

  /** Last step: each output is the pixel at the position in its least key. */
  template <int VComponents>
  CUDAMEDIAN_HOST_DEVICE static void
  Write(const VectorArguments & arguments, const Place & place, int thread, const Shared & shared, const State & state)
  {
    const int  column = thread % columns;
    const int  x = place.x + column - radius;
    const auto flip = static_cast<std::uint32_t>(arguments.signMask);
    if (column < radius || column >= columns - radius || x >= arguments.outputExtent[0])
    {
      return;
    }
    const int  firstRow = thread / columns * strip;
    const auto outputRowBytes = arguments.outputStride[1] * VComponents;
    auto *     target = place.output + (place.y + firstRow - radius) * outputRowBytes + x * VComponents;
    CUDAMEDIAN_UNROLL
    for (int output = 0; output < strip; ++output, target += outputRowBytes)
    {
      const int row = firstRow + output;
      const int y = place.y + row - radius;
      if (row >= radius && row < rows - radius && y < arguments.outputExtent[1])
      {
        const auto position = static_cast<int>(state.least[output] & ((1U << positionBits) - 1));
        const auto word =
          shared.pixels[(row + radius + position / width) * pixelColumns + column + radius + position % width];
        CUDAMEDIAN_UNROLL
        for (int component = 0; component < VComponents; ++component)
        {
          target[component] = static_cast<std::uint8_t>((word >> (8 * component)) ^ flip);
        }
      }
    }
  }
};

/** Whether VectorTile covers what is asked: 8-bit components, and the window's two axes are the image's first. */
inline int
GetVectorTileRadius(const VectorArguments & arguments, int bytes)
{
  const auto radius = arguments.radius[0];
  const bool isSquare = radius == arguments.radius[1] && arguments.radius[2] == 0 && arguments.radius[3] == 0;
  // Positions along an axis and in a row's bytes are of 32 bits, with the block's own added.
  constexpr std::int64_t longest = 0x7FFF0000 / mostVectorComponents;
  const bool             fits = arguments.inputExtent[0] < longest && arguments.inputExtent[1] < longest;
  return bytes == 1 && isSquare && fits && (radius == 1 || radius == 2) ? radius : 0;
}

} // namespace cudamedian

#endif
