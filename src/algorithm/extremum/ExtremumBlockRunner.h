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
#ifndef ExtremumBlockRunner_h
#define ExtremumBlockRunner_h

#include "AlignedVector.h"
#include "DivideUp.h"
#include "ExtremumRows.h"
#include "KeyedImage.h"
#include "RequestWindow.h"

#include <algorithm>

namespace cudamedian
{

/** Finds least or greatest values block by block: the keys of a block with its halo are reduced along one axis after
 * the other, since the extreme of a box is that of its rows' extremes. One object per work unit.
 *
 * Along an axis extremes of 5 neighbours are taken, then of 5 such that lie 5 apart, and so on, the last ones
 * overlapping: a window of w takes some 1.7 log2 w comparisons (in the way of doubling; van Herk 1992 takes 3, with
 * more traffic). The first step reads the image where it can, and the last one
 * writes to it. */
template <typename TKey, KeyMapping VMapping>
class ExtremumBlockRunner
{
public:
  ExtremumBlockRunner(const MedianRequest & request, const PixelBox & output)
    : m_Image(request)
    , m_Window(GetWindow(request))
    , m_Output(output)
    , m_Block(ChooseBlock(request, output))
    , m_InputRow(request.inputExtent[0])
    , m_Step(MakeStep(request, m_Window))
  {
    m_Keys.resize(static_cast<std::size_t>(Volume(PadRows(m_Window.GetFootprint(m_Block)))));
  }

  static std::size_t
  CountRows(const MedianRequest & request, const PixelBox & output)
  {
    const auto  block = ChooseBlock(request, output);
    std::size_t blocks = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      blocks *= static_cast<std::size_t>(DivideUp(output.extent[axis], block[axis]));
    }
    return blocks;
  }

  std::size_t
  GetScratchBytes() const
  {
    return GetBytes(m_Keys);
  }

  void
  Run(std::size_t number)
  {
    auto     rest = static_cast<std::int64_t>(number);
    PixelBox outputs;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      const auto blocks = DivideUp(m_Output.extent[axis], m_Block[axis]);
      const auto first = rest % blocks * m_Block[axis];
      rest /= blocks;
      outputs.origin[axis] = m_Output.origin[axis] + first;
      outputs.extent[axis] = std::min(m_Block[axis], m_Output.extent[axis] - first);
    }
    m_Size = m_Window.GetFootprint(outputs.extent);
    m_Stride = GetPackedStride(PadRows(m_Size));
    const int first = AreLong(m_Size) ? FindOutermostAxis() : 0;
    m_AreKeys = isInteger;
    if (first == 0)
    {
      LoadKeys(outputs.origin);
    }
    for (int axis = Dimension - 1; axis > 0; --axis)
    {
      Reduce(axis, outputs.extent[axis], axis == first ? TakeFromImage(axis, outputs) : 1);
    }
    const bool isDirect = m_Image.StoresBits() && m_Window.GetSize(0) > 1;
    Reduce(0, outputs.extent[0], 1, isDirect ? &outputs : nullptr);
    if (!isDirect)
    {
      StoreKeys(outputs);
    }
  }

private:
  static constexpr bool isInteger = VMapping == KeyMapping::Integer;

  static ExtremumRowStep
  MakeStep(const MedianRequest & request, const Window & window)
  {
    ExtremumRowStep step;
    step.keyBytes = sizeof(TKey);
    step.isMax = window.rank > 0;
    step.order = !isInteger                            ? ExtremumOrder::Float
                 : GetSignMask(request.pixelType) != 0 ? ExtremumOrder::Signed
                                                       : ExtremumOrder::Unsigned;
    return step;
  }

  /** The next step; what follows sees keys. */
  ExtremumRowStep
  BeginStep(bool writesPixels)
  {
    auto step = m_Step;
    step.readsPixels = !m_AreKeys;
    step.writesPixels = writesPixels && !isInteger;
    m_AreKeys = true;
    return step;
  }

  /** Whether rows are so long that one is worth a call, and that what is added to them is little. */
  static bool
  AreLong(const Extent & size)
  {
    return size[0] * static_cast<std::int64_t>(sizeof(TKey)) >= 512;
  }

  /** Long rows begin where lines of the caches do: a vector that lies in two of them takes twice as long. Short ones
   * follow each other without gaps. */
  static Extent
  PadRows(Extent size)
  {
    constexpr std::int64_t line = 64 / sizeof(TKey);
    size[0] = AreLong(size) ? RoundUp(size[0], line) : size[0];
    return size;
  }

  /** Blocks stay in the nearest caches, as far as their halo is not larger than they are. */
  static Extent
  ChooseBlock(const MedianRequest & request, const PixelBox & output)
  {
    constexpr std::int64_t nearBytes = 64 << 10;
    constexpr std::int64_t mostBytes = 16 << 20;
    constexpr std::int64_t longRow = 1024;
    const auto             window = GetWindow(request);
    Extent                 block{ { std::min(output.extent[0], longRow), 1, 1, 1 } };
    for (;;)
    {
      // The axis along which the halo costs most.
      int    widest = -1;
      double most = 1;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        const double cost =
          static_cast<double>(block[axis] + window.GetSize(axis) - 1) / static_cast<double>(block[axis]);
        if (block[axis] < output.extent[axis] && cost > most)
        {
          most = cost;
          widest = axis;
        }
      }
      if (widest < 0)
      {
        return block;
      }
      auto larger = block;
      larger[widest] = std::min(2 * block[widest], output.extent[widest]);
      const auto bytes = Volume(window.GetFootprint(larger)) * static_cast<std::int64_t>(sizeof(TKey));
      if (bytes > mostBytes || (bytes > nearBytes && most < 1.5))
      {
        return block;
      }
      block = larger;
    }
  }

  TKey *
  GetKeys(std::int64_t y, std::int64_t z, std::int64_t w)
  {
    return m_Keys.data() + y * m_Stride[1] + z * m_Stride[2] + w * m_Stride[3];
  }

  void
  LoadKeys(const Extent & origin)
  {
    const auto first = origin[0] - m_Window.radius[0];
    for (std::int64_t w = 0; w < m_Size[3]; ++w)
    {
      for (std::int64_t z = 0; z < m_Size[2]; ++z)
      {
        for (std::int64_t y = 0; y < m_Size[1]; ++y)
        {
          const TKey * row = m_Image.GetRow(m_Image.Clamp(1, origin[1] - m_Window.radius[1] + y),
                                            m_Image.Clamp(2, origin[2] - m_Window.radius[2] + z),
                                            m_Image.Clamp(3, origin[3] - m_Window.radius[3] + w));
          m_Image.CopyRow(row, first, m_Size[0], GetKeys(y, z, w));
        }
      }
    }
  }

  /** The outermost axis but axis 0 along which the window has several pixels; 0 where it has them along none. */
  int
  FindOutermostAxis() const
  {
    int axis = Dimension - 1;
    while (axis > 0 && m_Window.GetSize(axis) == 1)
    {
      --axis;
    }
    return axis;
  }

  /** The first step along an axis, from the pixels of the image. \returns the length of window that is reached. */
  std::int64_t
  TakeFromImage(int axis, const PixelBox & outputs)
  {
    const auto       number = std::min<std::int64_t>(mostExtremumRows, m_Window.GetSize(axis));
    const auto       first = outputs.origin[0] - m_Window.radius[0];
    const InsidePart inside(first, m_Size[0], m_InputRow);
    PixelBox         box;
    box.extent = m_Size;
    box.extent[axis] -= number - 1;
    for (int i = 0; i < Dimension; ++i)
    {
      box.origin[i] = outputs.origin[i] - m_Window.radius[i];
    }
    const auto step = BeginStep(false);
    ForEachRow(box, [&](const Extent & position, TKey * keys) {
      const void * rows[mostExtremumRows];
      auto         from = position;
      for (std::int64_t i = 0; i < number; ++i)
      {
        from[axis] = position[axis] + i;
        rows[i] = m_Image.GetRow(m_Image.Clamp(1, from[1]), m_Image.Clamp(2, from[2]), m_Image.Clamp(3, from[3])) +
                  (first + inside.begin);
      }
      TakeExtremes(
        keys + inside.begin, rows, static_cast<int>(number), static_cast<std::size_t>(inside.end - inside.begin), step);
      // Beyond the image is the nearest pixel of each of these rows, and so their extreme.
      std::fill(keys, keys + inside.begin, keys[inside.begin]);
      std::fill(keys + inside.end, keys + m_Size[0], keys[inside.end - 1]);
    });
    return number;
  }

  /** Replaces keys by the extremes of the window along an axis that begins with them, for so many positions; they are
   * those of a window of `reached` already. The last step along axis 0 writes to the image, where its outputs are
   * given.
   */
  void
  Reduce(int axis, std::int64_t positions, std::int64_t reached, const PixelBox * outputs = nullptr)
  {
    const auto window = m_Window.GetSize(axis);
    while (reached < window)
    {
      // Windows of the length reached so far, side by side; the last overlaps the one before.
      const auto   number = static_cast<int>(std::min<std::int64_t>(mostExtremumRows, DivideUp(window, reached)));
      const auto   next = std::min(window, number * reached);
      std::int64_t offsets[mostExtremumRows];
      for (int i = 0; i < number; ++i)
      {
        offsets[i] = std::min(i * reached, next - reached) * m_Stride[axis];
      }
      if (outputs != nullptr && next == window)
      {
        TakeToImage(*outputs, offsets, number);
      }
      else
      {
        TakeAlong(axis, positions + window - next, offsets, number);
      }
      reached = next;
    }
    m_Size[axis] = positions;
  }

  /** One step of it. Rows that follow each other in memory are one. */
  void
  TakeAlong(int axis, std::int64_t kept, const std::int64_t * offsets, int number)
  {
    Extent extent = m_Size;
    extent[axis] = kept;
    const int    inner = std::max(axis, 1); // positions along axes inside of this one follow each other without gaps
    std::int64_t count = axis == 0 ? kept : m_Stride[axis];
    Extent       outer = extent;
    for (int i = 0; i < inner; ++i)
    {
      outer[i] = 1;
    }
    const auto step = BeginStep(false);
    ForEachBox(outer, { { 1, 1, 1, 1 } }, [&](const PixelBox & box) {
      TKey *       target = m_Keys.data() + GetOffset(box.origin, m_Stride);
      const void * rows[mostExtremumRows];
      for (int i = 0; i < number; ++i)
      {
        rows[i] = target + offsets[i];
      }
      TakeExtremes(target, rows, number, static_cast<std::size_t>(count), step);
    });
  }

  /** Calls function(position, keys) for each row of outputs and where it begins among the keys. */
  template <typename TFunction>
  void
  ForEachRow(const PixelBox & outputs, const TFunction & function)
  {
    Extent position = outputs.origin;
    for (std::int64_t w = 0; w < outputs.extent[3]; ++w)
    {
      position[3] = outputs.origin[3] + w;
      for (std::int64_t z = 0; z < outputs.extent[2]; ++z)
      {
        position[2] = outputs.origin[2] + z;
        for (std::int64_t y = 0; y < outputs.extent[1]; ++y)
        {
          position[1] = outputs.origin[1] + y;
          function(position, GetKeys(y, z, w));
        }
      }
    }
  }

  /** The last step along axis 0. */
  void
  TakeToImage(const PixelBox & outputs, const std::int64_t * offsets, int number)
  {
    const auto step = BeginStep(true);
    ForEachRow(outputs, [&](const Extent & position, const TKey * keys) {
      const void * rows[mostExtremumRows];
      for (int i = 0; i < number; ++i)
      {
        rows[i] = keys + offsets[i];
      }
      TakeExtremes(m_Image.GetOutput(position), rows, number, static_cast<std::size_t>(outputs.extent[0]), step);
    });
  }

  void
  StoreKeys(const PixelBox & outputs)
  {
    ForEachRow(outputs, [&](const Extent & position, TKey * keys) {
      if (!isInteger && m_AreKeys)
      {
        m_Image.ToBits(keys, outputs.extent[0]);
      }
      m_Image.StoreRow(position, keys, outputs.extent[0]);
    });
  }

  KeyedImage<TKey, VMapping> m_Image;
  Window                     m_Window;
  PixelBox                   m_Output;
  Extent                     m_Block;
  std::int64_t               m_InputRow; ///< pixels of a row of the image
  ExtremumRowStep            m_Step;
  bool                m_AreKeys{ false }; ///< whether the memory of keys has keys, and not pixels of floating point
  AlignedVector<TKey> m_Keys;             ///< of a block with its halo; later extremes
  Extent              m_Size{};
  Extent              m_Stride{};
};

} // namespace cudamedian

#endif
