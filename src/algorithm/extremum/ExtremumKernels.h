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
#ifndef ExtremumKernels_h
#define ExtremumKernels_h

#include "Clamp.h"
#include "ExtremumPolicy.h"
#include "ExtremumWords.h"
#include "KernelArguments.h"

namespace cudamedian
{

/** What a kernel is told. */
struct ExtremumArguments
{
  KernelArguments slab; ///< its radius is not asked
  ExtremumShape   shape;
  std::int64_t    blocks[4];
};

/** Extremes of windows of so many elements in a row, for VRun outputs side by side, no more than the window has.
 *
 * The windows share a core. Its extreme is extended to both ends, as van Herk (1992) and Gil and Werman (1993) do with
 * blocks as long as the window: here the blocks fit in registers.
 * \param load load(i) is an element of the first window or beyond it. \param store store(extremes) takes all of them */
template <typename TWords, int VRun, typename TLoad, typename TStore>
CUDAMEDIAN_HOST_DEVICE void
RunExtremes(int window, const TLoad & load, const TStore & store)
{
  typename TWords::Held before[VRun];
  auto                  core = load(VRun - 1);
  for (int i = VRun; i < window; ++i)
  {
    core = TWords::Min(core, load(i));
  }
  before[VRun - 1] = core;
  CUDAMEDIAN_UNROLL
  for (int i = VRun - 2; i >= 0; --i)
  {
    before[i] = TWords::Min(before[i + 1], load(i));
  }
  // Stores come last, so that elements that several loads need are read once.
  typename TWords::Held found[VRun];
  found[0] = before[0];
  auto behind = core;
  CUDAMEDIAN_UNROLL
  for (int i = 1; i < VRun; ++i)
  {
    behind = i == 1 ? load(window) : TWords::Min(behind, load(window + i - 1));
    found[i] = TWords::Min(before[i], behind);
  }
  store(found);
}

/** A block: stages the keys of its footprint, and finds extremes along one axis after the other, from one buffer in
 * shared memory to the other and at last to the output. */
template <typename TPixelBits, KeyMapping VMapping>
class ExtremumBlock
{
public:
  using Key = PixelKey<TPixelBits, VMapping>;
  using Words = ExtremumWords<TPixelBits>;
  using Word = typename Words::Word;
  using Held = typename Words::Held;
  static constexpr int Keys = Words::Keys;

  CUDAMEDIAN_HOST_DEVICE
  ExtremumBlock(const ExtremumArguments & arguments, std::int64_t number, Word * shared)
    : m_Arguments(arguments), m_Shared(shared)
  {
    const auto & slab = arguments.slab;
    const auto & shape = arguments.shape;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto pixels = axis == 0 ? shape.block[0] * Keys : shape.block[axis];
      const auto origin = axis == 0 ? slab.gridOrigin : slab.outputOrigin[axis];
      m_Output[axis] = origin + static_cast<std::int32_t>(number % arguments.blocks[axis]) * pixels;
      number /= arguments.blocks[axis];
      m_Input[axis] = m_Output[axis] - shape.before[axis];
    }
    // The first word begins at a multiple of its pixels.
    m_Offset = (m_Input[0] % Keys + Keys) % Keys;
    m_Input[0] -= m_Offset;
    const auto signMask = static_cast<TPixelBits>(VMapping == KeyMapping::Integer ? slab.signMask : 0);
    const auto mask =
      static_cast<TPixelBits>(signMask ^ (slab.rank > 0 ? static_cast<TPixelBits>(~TPixelBits{ 0 }) : 0));
    m_Mask = static_cast<Word>(mask * (static_cast<Word>(~Word{ 0 }) / static_cast<TPixelBits>(~TPixelBits{ 0 })));
  }

  /** A thread's share of the footprint: warps take rows, and lanes neighbouring words. */
  CUDAMEDIAN_HOST_DEVICE void
  Stage(int thread) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & shape = m_Arguments.shape;
    const int    rows = shape.footprint[1] * shape.footprint[2] * shape.footprint[3];
    for (int row = thread / 32; row < rows; row += extremumThreads / 32)
    {
      const int    slice = row / shape.footprint[1];
      const int    place[3] = { row % shape.footprint[1], slice % shape.footprint[2], slice / shape.footprint[2] };
      std::int64_t offset = 0;
      for (int axis = 1; axis < Dimension; ++axis)
      {
        offset += Clamp(m_Input[axis] + place[axis - 1], slab.inputExtent[axis] - 1) * slab.inputPitch[axis];
      }
      const auto * const pixels = static_cast<const TPixelBits *>(slab.input) + offset;
      Word * const       words = m_Shared + static_cast<std::int64_t>(row) * shape.pitch[0];
      for (int i = thread % 32; i < shape.footprint[0]; i += 32)
      {
        words[i] = LoadWord(pixels, m_Input[0] + i * Keys);
      }
    }
  }

  /** Whether extremes along axis 0 are found in shared memory, before those along the others. */
  CUDAMEDIAN_HOST_DEVICE bool
  HasRows() const
  {
    return m_Arguments.shape.size[0] > 1;
  }

  /** A thread's share of extremes along axis 0. Lanes take rows. */
  CUDAMEDIAN_HOST_DEVICE void
  ReduceRows(int thread) const
  {
    const int size = m_Arguments.shape.size[0] / Keys;
    ForRun(size < m_Arguments.shape.block[0] ? size : m_Arguments.shape.block[0],
           [&](auto run) { ReduceRowsBy<decltype(run)::Length>(thread); });
  }

  /** The next axis from one on that the window has more than one pixel along, else Dimension. */
  CUDAMEDIAN_HOST_DEVICE int
  GetNextAxis(int axis) const
  {
    while (axis < Dimension && m_Arguments.shape.size[axis] == 1)
    {
      ++axis;
    }
    return axis;
  }

  /** A thread's share of extremes along another axis. Lanes take neighbouring words.
   *
   * \param steps how many axes were before: which of the buffers they lie in
   * \param toOutput whether these are the last */
  CUDAMEDIAN_HOST_DEVICE void
  ReduceAxis(int thread, int axis, int steps, bool toOutput) const
  {
    const auto & shape = m_Arguments.shape;
    const int    longest = axis < Dimension ? shape.size[axis] : 1;
    const int    outputs = axis < Dimension ? shape.block[axis] : 1;
    ForRun(longest < outputs ? longest : outputs, [&](auto run) {
      if (toOutput)
      {
        ReduceAxisBy<decltype(run)::Length, true>(thread, axis, steps);
      }
      else
      {
        ReduceAxisBy<decltype(run)::Length, false>(thread, axis, steps);
      }
    });
  }

private:
  template <int VLength>
  struct Run
  {
    static constexpr int Length = VLength;
  };

  /** Calls a function with the longest run that is not longer than some outputs, which are a power of two or more. */
  template <typename TFunction>
  static CUDAMEDIAN_HOST_DEVICE void
  ForRun(int longest, const TFunction & function)
  {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
    constexpr bool hasRoom = sizeof(TPixelBits) == 4; // min of pairs is emulated, and would spill
#else
    constexpr bool hasRoom = sizeof(Held) == 4;
#endif
    if constexpr (hasRoom)
    {
      if (longest >= 64)
      {
        function(Run<32>{}); // long windows are read half as often
        return;
      }
    }
    // Registers hold runs of 16 words, or 8 of two registers each, for four blocks on a multiprocessor.
    constexpr int most = sizeof(Held) == 4 ? 16 : 8;
    if (longest >= most)
    {
      function(Run<most>{});
    }
    else if (longest >= 4)
    {
      function(Run<4>{});
    }
    else if (longest >= 2)
    {
      function(Run<2>{});
    }
    else
    {
      function(Run<1>{});
    }
  }

  CUDAMEDIAN_HOST_DEVICE TPixelBits
  GetPixel(const TPixelBits * row, int column) const
  {
    return row[Clamp(column, m_Arguments.slab.inputExtent[0] - 1)];
  }

  /** The keys of the pixels from a column on, complemented where greatest values are wanted. */
  CUDAMEDIAN_HOST_DEVICE Word
  LoadWord(const TPixelBits * row, int column) const
  {
    if constexpr (Keys == 1)
    {
      return ToKeys(GetPixel(row, column));
    }
    else
    {
      if (column >= 0 && column + Keys <= m_Arguments.slab.inputExtent[0])
      {
        return ToKeys(*reinterpret_cast<const Word *>(row + column));
      }
      Word word = 0;
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < Keys; ++i)
      {
        word |= static_cast<Word>(GetPixel(row, column + i)) << (i * 32 / Keys);
      }
      return ToKeys(word);
    }
  }

  CUDAMEDIAN_HOST_DEVICE Word
  ToKeys(Word pixels) const
  {
    if constexpr (VMapping == KeyMapping::Float)
    {
      return Key::FromBits(pixels, 0) ^ m_Mask;
    }
    return pixels ^ m_Mask;
  }

  CUDAMEDIAN_HOST_DEVICE Word
  ToPixels(Word keys) const
  {
    if constexpr (VMapping == KeyMapping::Float)
    {
      return Key::ToBits(keys ^ m_Mask, 0);
    }
    return keys ^ m_Mask;
  }

  /** The least of the keys of a word's pixels and of those that follow each, as many as a word has or the window. */
  CUDAMEDIAN_HOST_DEVICE Held
  LoadLeast(const Word * row, int pixel, int size) const
  {
    const Word * const words = row + pixel / Keys;
    if constexpr (Keys == 1)
    {
      return Words::Hold(words[0]);
    }
    else
    {
      const int  shift = pixel % Keys;
      const Word first = Words::Shift(words[0], words[1], shift);
      const Word second = Words::Shift(words[1], words[2], shift);
      auto       least = Words::Hold(first);
      CUDAMEDIAN_UNROLL
      for (int i = 1; i < Keys; ++i)
      {
        if (i < size)
        {
          least = Words::Min(least, Words::Hold(Words::Shift(first, second, i)));
        }
      }
      return least;
    }
  }

  template <int VRun>
  CUDAMEDIAN_HOST_DEVICE void
  ReduceRowsBy(int thread) const
  {
    const auto & shape = m_Arguments.shape;
    const int    rows = shape.footprint[1] * shape.footprint[2] * shape.footprint[3];
    const int    runs = shape.block[0] / VRun;
    const int    size = shape.size[0];
    const int    words = size < Keys ? 1 : size / Keys;
    for (int item = thread; item < rows * runs; item += extremumThreads)
    {
      const int          row = item % rows;
      const int          first = item / rows * VRun;
      const Word * const source = m_Shared + static_cast<std::int64_t>(row) * shape.pitch[0];
      Word * const       target = m_Shared + shape.second + static_cast<std::int64_t>(row) * shape.pitch[1] + first;
      const int          start = first * Keys + m_Offset;
      RunExtremes<Words, VRun>(
        words,
        [&](int i) { return LoadLeast(source, start + i * Keys, size); },
        [&](Held(&found)[VRun]) {
          // The window's last pixels, where it is no multiple of a word.
          if (words * Keys < size)
          {
            CUDAMEDIAN_UNROLL
            for (int i = 0; i < VRun; ++i)
            {
              found[i] = Words::Min(found[i], LoadLeast(source, start + i * Keys + size - Keys, size));
            }
          }
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < VRun; ++i)
          {
            target[i] = Words::Join(found[i]);
          }
        });
    }
  }

  template <int VRun, bool VToOutput>
  CUDAMEDIAN_HOST_DEVICE void
  ReduceAxisBy(int thread, int axis, int steps) const
  {
    const auto & shape = m_Arguments.shape;
    // The axes before this one are reduced.
    int now[3];
    int then[3];
    for (int i = 1; i < Dimension; ++i)
    {
      now[i - 1] = i < axis ? shape.block[i] : shape.footprint[i];
      then[i - 1] = i == axis ? shape.block[i] : now[i - 1];
    }
    const int pitches[2] = { HasRows() && steps > 0 ? shape.pitch[1] : shape.pitch[0],
                             HasRows() ? shape.pitch[1] : shape.pitch[0] };
    const int    window = axis < Dimension ? shape.size[axis] : 1;
    const int    stride = pitches[0] * (axis == 1 || axis == Dimension ? 1 : axis == 2 ? now[0] : now[0] * now[1]);
    const int    runsAlong = axis < Dimension ? then[axis - 1] / VRun : 1;
    const int    columns[2] = { axis == 1 ? runsAlong : then[0], axis == 2 ? runsAlong : then[1] };
    const int    items = shape.block[0] * columns[0] * columns[1] * (axis == 3 ? runsAlong : then[2]);
    Word * const source = m_Shared + (steps % 2 == 0 ? 0 : shape.second);
    Word * const target = m_Shared + (steps % 2 == 0 ? shape.second : 0);
    for (int item = thread; item < items; item += extremumThreads)
    {
      const int          column = item & (shape.block[0] - 1);
      const int          line = item >> shape.blockBits;
      const int          slice = line / columns[0];
      const int          place[3] = { line % columns[0] * (axis == 1 ? VRun : 1),
                                      slice % columns[1] * (axis == 2 ? VRun : 1),
                                      slice / columns[1] * (axis == 3 ? VRun : 1) };
      const Word * const from = source + ((place[2] * now[1] + place[1]) * now[0] + place[0]) * pitches[0] + column;
      const auto         load = [&](int i) { return Words::Hold(from[i * stride]); };
      if constexpr (VToOutput)
      {
        RunExtremes<Words, VRun>(window, load, [&](const Held(&found)[VRun]) { StoreRun(axis, place, column, found); });
      }
      else
      {
        const int    targetStride = pitches[1] * (axis == 1 ? 1 : axis == 2 ? then[0] : then[0] * then[1]);
        Word * const to = target + ((place[2] * then[1] + place[1]) * then[0] + place[0]) * pitches[1] + column;
        RunExtremes<Words, VRun>(window, load, [&](const Held(&found)[VRun]) {
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < VRun; ++i)
          {
            to[i * targetStride] = Words::Join(found[i]);
          }
        });
      }
    }
  }

  /** Stores the pixels of words that follow each other along an axis, as far as they are outputs. */
  template <int VRun>
  CUDAMEDIAN_HOST_DEVICE void
  StoreRun(int along, const int * place, int column, const Held (&found)[VRun]) const
  {
    const auto & slab = m_Arguments.slab;
    const int    first = m_Output[0] + column * Keys - slab.outputOrigin[0];
    std::int64_t offset = m_Output[0] + column * Keys - slab.gridOrigin;
    std::int64_t stride = 0;
    int          count = first + Keys > 0 && first < slab.outputExtent[0] ? VRun : 0;
    CUDAMEDIAN_UNROLL
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const int position = m_Output[axis] - slab.outputOrigin[axis] + place[axis - 1];
      const int left = slab.outputExtent[axis] - position;
      const int most = axis == along ? left : left > 0 ? VRun : 0;
      count = most < count ? most : count;
      stride = axis == along ? slab.outputPitch[axis] : stride;
      offset += position * slab.outputPitch[axis];
    }
    const bool   isWhole = first >= 0 && first + Keys <= slab.outputExtent[0];
    TPixelBits * output = static_cast<TPixelBits *>(slab.output) + offset;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRun; ++i, output += stride)
    {
      if (i < count)
      {
        StoreWord(output, first, isWhole, ToPixels(Words::Join(found[i])));
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE void
  StoreWord(TPixelBits * output, int first, bool isWhole, Word pixels) const
  {
    if (isWhole)
    {
      *reinterpret_cast<Word *>(output) = pixels;
      return;
    }
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Keys; ++i)
    {
      if (first + i >= 0 && first + i < m_Arguments.slab.outputExtent[0])
      {
        output[i] = static_cast<TPixelBits>(pixels >> (i * 32 / Keys % 32));
      }
    }
  }

  const ExtremumArguments & m_Arguments;
  Word *                    m_Shared;
  std::int32_t              m_Output[Dimension];
  std::int32_t              m_Input[Dimension]; ///< of the first pixel that is staged
  std::int32_t              m_Offset;           ///< pixels before the first window in the first word
  Word                      m_Mask;
};

/** A block from its beginning to its end. ForEachThread(function) calls function(thread) for each thread, and
 * Synchronize() waits for all: in the tests threads are a loop. */
template <typename TBlock, typename TThreads>
CUDAMEDIAN_HOST_DEVICE void
RunExtremumBlock(const TThreads & threads, const TBlock & block)
{
  threads.ForEachThread([&](int thread) { block.Stage(thread); });
  threads.Synchronize();
  int steps = 0;
  if (block.HasRows())
  {
    threads.ForEachThread([&](int thread) { block.ReduceRows(thread); });
    threads.Synchronize();
    ++steps;
  }
  int axis = block.GetNextAxis(1);
  for (bool isLast = false; !isLast; ++steps)
  {
    const int next = axis < Dimension ? block.GetNextAxis(axis + 1) : Dimension;
    isLast = next == Dimension;
    threads.ForEachThread([&](int thread) { block.ReduceAxis(thread, axis, steps, isLast); });
    threads.Synchronize();
    axis = next;
  }
}

} // namespace cudamedian

#endif
