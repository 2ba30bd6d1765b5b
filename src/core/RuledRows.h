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
#ifndef RuledRows_h
#define RuledRows_h

#include "Slab.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace cudamedian
{

/** What row runners read in place of an image's rows, and do to rows of medians, where some pixels do not count or some
 * outputs are no medians. Each work unit has an object of its own.
 *
 * Positions are those of the request that is run. Of a box of outputs, rows are asked for slice by slice along axis 2,
 * and in a slice along axis 1; those of the windows of a tile before its ranks, and these before it is finished. */
class RuledRows
{
public:
  virtual ~RuledRows() = default;

  /** Whether rows are those of GetRow(), and not the image's. */
  virtual bool
  HasRows() const = 0;

  /** Memory that rows and what is found of them take. */
  virtual std::size_t
  GetScratchBytes() const = 0;

  /** Begins with a box of outputs, which is cut into tiles from its first pixel on.
   * \param padding pixels behind each row that may be read */
  virtual void
  Start(const PixelBox & outputs, const Extent & tile, std::int64_t padding) = 0;

  /** The pixels of a row, at a position along axes 1 to 3 that windows of the box see, from the first column that they
   * see on. */
  virtual const void *
  GetRow(std::int64_t y, std::int64_t z, std::int64_t w) = 0;

  /** Finds the ranks of a row of outputs, as bytes counted from the least. \param number of the row in its tile.
   * \returns null: none of their windows has a valid pixel, and any do */
  virtual const std::uint8_t *
  FindRanks(const Extent & output, std::size_t number) = 0;

  /** Writes what is no median over a row of them. */
  virtual void
  Finish(const Extent & output, std::size_t number, void * medians) = 0;
};

using RuledRowsMaker = std::function<std::unique_ptr<RuledRows>()>;

} // namespace cudamedian

#endif
