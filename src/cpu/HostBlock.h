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
#ifndef HostBlock_h
#define HostBlock_h

#include "HostBlockShape.h"
#include "KeyedImage.h"

#include <algorithm>

namespace cudamedian
{

/** Blocks over a box of outputs. */
struct HostBlockWork
{
  PixelBox       output;
  HostBlockShape shape;
};

/** One of them at a time: where it lies in the image, and the keys of its region. */
template <typename TKey, KeyMapping VMapping>
class HostBlock
{
public:
  HostBlock(const KeyedImage<TKey, VMapping> & image, const Window & window, const HostBlockWork & work)
    : m_Image(image)
    , m_Window(window)
    , m_Work(work)
  {}

  static std::size_t
  Count(const HostBlockWork & work)
  {
    return static_cast<std::size_t>(work.shape.CountBlocks(work.output.extent));
  }

  /** Goes to a block, which is cut off where the output box ends. */
  void
  Locate(std::int64_t block)
  {
    const auto & shape = m_Work.shape;
    m_Origin = m_Work.output.origin;
    for (int i = 0; i < Dimension; ++i)
    {
      const int  axis = shape.axes[i];
      const auto tiles = DivideUp(m_Work.output.extent[axis], shape.tile[i]);
      const auto first = block % tiles * shape.tile[i];
      block /= tiles;
      m_Origin[axis] += first;
      m_Tile[i] = std::min(shape.tile[i], m_Work.output.extent[axis] - first);
    }
  }

  /** Outputs along the region's axes. */
  std::int64_t
  GetTile(int i) const
  {
    return m_Tile[i];
  }

  /** Pixels of the region along its axes. */
  std::int64_t
  GetRegion(int i) const
  {
    return m_Tile[i] + m_Work.shape.window[i] - 1;
  }

  /** Pixels of the window along the region's axes. */
  std::int64_t
  GetWindow(int i) const
  {
    return m_Work.shape.window[i];
  }

  /** The image position of an output, by its positions in the block along the region's axes. */
  Extent
  GetPosition(const std::int64_t (&place)[Dimension]) const
  {
    Extent position = m_Origin;
    for (int i = 0; i < Dimension; ++i)
    {
      position[m_Work.shape.axes[i]] += place[i];
    }
    return position;
  }

  /** Loads the region's keys, along axis 0 first. */
  void
  Load(TKey * keys) const
  {
    const auto & axes = m_Work.shape.axes;
    const auto   first = m_Origin[0] - m_Window.radius[0];
    Extent       position{ { 0, 0, 0, 0 } };
    for (std::int64_t d = 0; d < GetRegion(3); ++d)
    {
      position[axes[3]] = FindInImage(3, d);
      for (std::int64_t c = 0; c < GetRegion(2); ++c)
      {
        position[axes[2]] = FindInImage(2, c);
        for (std::int64_t b = 0; b < GetRegion(1); ++b, keys += GetRegion(0))
        {
          position[axes[1]] = FindInImage(1, b);
          m_Image.LoadRow(m_Image.GetRow(position[1], position[2], position[3]), first, GetRegion(0), keys);
        }
      }
    }
  }

private:
  /** Where the image has what the region has at a position along an axis: its border is repeated outwards. */
  std::int64_t
  FindInImage(int i, std::int64_t position) const
  {
    const int axis = m_Work.shape.axes[i];
    return m_Image.Clamp(axis, m_Origin[axis] - m_Window.radius[axis] + position);
  }

  const KeyedImage<TKey, VMapping> & m_Image;
  const Window &                     m_Window;
  HostBlockWork                      m_Work;
  Extent                             m_Origin{ { 0, 0, 0, 0 } };
  std::int64_t                       m_Tile[Dimension]{};
};

} // namespace cudamedian

#endif
