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
#ifndef KeyedImage_h
#define KeyedImage_h

#include "Clamp.h"
#include "PixelFormat.h"
#include "Slab.h"

#include <algorithm>
#include <cstring>

namespace cudamedian
{

/** Where a row of pixels of a tile begins. Rows are numbered along axis 1 first. */
inline Extent
GetRowOfTile(const Extent & origin, const Extent & tile, std::size_t number)
{
  auto   rest = static_cast<std::int64_t>(number);
  Extent position = origin;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    position[axis] += rest % tile[axis];
    rest /= tile[axis];
  }
  return position;
}

/** Whether a row, given by any position in it, has the box's positions along all axes but axis 0. */
inline bool
IsRowOf(const PixelBox & box, const Extent & position)
{
  for (int axis = 1; axis < Dimension; ++axis)
  {
    if (position[axis] < box.origin[axis] || position[axis] >= box.origin[axis] + box.extent[axis])
    {
      return false;
    }
  }
  return true;
}

/** Reads keys from the request's input and writes keys to its output. */
template <typename TKey, KeyMapping VMapping>
class KeyedImage
{
public:
  explicit KeyedImage(const MedianRequest & request)
    : m_Request(request)
    , m_SignMask(static_cast<TKey>(GetSignMask(request.pixelType)))
    , m_OutputPixelBytes(request.outputPixelBytes)
  {
    m_InputStride[0] = 1;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      m_InputStride[axis] = m_InputStride[axis - 1] * request.inputExtent[axis - 1];
    }
  }

  /** First pixel of the input row at (y, z, w). */
  const TKey *
  GetRow(std::int64_t y, std::int64_t z, std::int64_t w) const
  {
    return static_cast<const TKey *>(m_Request.input) + y * m_InputStride[1] + z * m_InputStride[2] +
           w * m_InputStride[3];
  }

  /** Whether so many pixels, from a position of a row on, lie in the image's memory. They may lie in other rows. */
  bool
  Contains(const TKey * row, std::int64_t first, std::int64_t count) const
  {
    const auto begin = row - static_cast<const TKey *>(m_Request.input) + first;
    return begin >= 0 && begin + count <= m_InputStride[Dimension - 1] * m_Request.inputExtent[Dimension - 1];
  }

  /** The position inside the image that is the nearest along an axis. */
  std::int64_t
  Clamp(int axis, std::int64_t position) const
  {
    return cudamedian::Clamp<std::int64_t>(position, m_Request.inputExtent[axis] - 1);
  }

  TKey
  ToKey(TKey bits) const
  {
    return PixelKey<TKey, VMapping>::FromBits(bits, m_SignMask);
  }

  TKey
  ToBits(TKey key) const
  {
    return PixelKey<TKey, VMapping>::ToBits(key, m_SignMask);
  }

  /** The pixels of so many positions of a row from one on; beyond the image that is the nearest one in it. */
  void
  CopyRow(const TKey * row, std::int64_t first, std::int64_t count, TKey * pixels) const
  {
    // Values, not references: pixels that are written might change what these refer to.
    const InsidePart inside(first, count, m_Request.inputExtent[0]);
    const TKey       before = row[0];
    const TKey       behind = row[m_Request.inputExtent[0] - 1];
    std::fill_n(pixels, inside.begin, before);
    std::copy(row + first + inside.begin, row + first + inside.end, pixels + inside.begin);
    std::fill_n(pixels + inside.end, count - inside.end, behind);
  }

  /** The keys of these pixels. */
  void
  LoadRow(const TKey * row, std::int64_t first, std::int64_t count, TKey * keys) const
  {
    const InsidePart inside(first, count, m_Request.inputExtent[0]);
    std::fill_n(keys, inside.begin, ToKey(row[0]));
    ToKeys(row + first + inside.begin, keys + inside.begin, inside.end - inside.begin);
    std::fill_n(keys + inside.end, count - inside.end, ToKey(row[m_Request.inputExtent[0] - 1]));
  }

  /** Turns a row of pixels into keys. The mask is a copy: 8-bit keys may alias everything, this object included. */
  void
  ToKeys(const TKey * bits, TKey * keys, std::int64_t count) const
  {
    const TKey signMask = m_SignMask;
    for (std::int64_t i = 0; i < count; ++i)
    {
      keys[i] = PixelKey<TKey, VMapping>::FromBits(bits[i], signMask);
    }
  }

  /** Turns a row of keys into pixels, where they are. */
  void
  ToBits(TKey * keys, std::int64_t count) const
  {
    const TKey signMask = m_SignMask;
    for (std::int64_t i = 0; i < count; ++i)
    {
      keys[i] = PixelKey<TKey, VMapping>::ToBits(keys[i], signMask);
    }
  }

  /** Whether pixels are stored as they are, and not converted to another type. */
  bool
  StoresBits() const
  {
    return m_Request.convertRow == nullptr;
  }

  /** Where the output's pixel at a position lies in memory. */
  void *
  GetOutput(const Extent & position) const
  {
    std::int64_t offset = 0;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      offset += (position[axis] - m_Request.outputOrigin[axis]) * m_Request.outputStride[axis];
    }
    return static_cast<char *>(m_Request.output) + offset * static_cast<std::int64_t>(m_OutputPixelBytes);
  }

  /** Writes `count` pixels, given as bits, from the output position on along axis 0. */
  void
  StoreRow(const Extent & position, const TKey * bits, std::int64_t count) const
  {
    if (m_Request.convertRow != nullptr)
    {
      m_Request.convertRow(bits, GetOutput(position), static_cast<std::size_t>(count));
    }
    else
    {
      std::memcpy(GetOutput(position), bits, static_cast<std::size_t>(count) * sizeof(TKey));
    }
  }

private:
  const MedianRequest & m_Request;
  TKey                  m_SignMask;
  std::size_t           m_OutputPixelBytes;
  Extent                m_InputStride;
};

} // namespace cudamedian

#endif
