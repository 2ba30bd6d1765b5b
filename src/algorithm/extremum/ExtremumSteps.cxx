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
#include "ExtremumSteps.h"

#include <algorithm>
#include <iterator>

namespace cudamedian
{

std::int64_t
CountExtremumBuffer(const std::vector<ExtremumShape> & shapes,
                    const Extent &                     region,
                    const Extent &                     inputExtent,
                    std::int64_t                       vector)
{
  // The first has the widest halo: all that is left of the window.
  Extent extent = region;
  for (std::size_t number = 1; number < shapes.size(); ++number)
  {
    for (int axis = 0; axis < Dimension; ++axis)
    {
      extent[axis] += shapes[number].size[axis] - 1;
    }
  }
  extent[0] += vector - 1; // its first column is a multiple of the vector
  for (int axis = 0; axis < Dimension; ++axis)
  {
    extent[axis] = std::min(extent[axis], inputExtent[axis]);
  }
  extent[0] = RoundUp(extent[0], vector);
  return Volume(extent);
}

Extent
ChooseExtremumRegion(const std::vector<ExtremumShape> & shapes,
                     const Extent &                     outputExtent,
                     const Extent &                     inputExtent,
                     std::size_t                        pixelBytes,
                     std::size_t                        scratchBytes)
{
  const auto vector = GetDevicePitch(1, pixelBytes);
  const auto most = static_cast<std::int64_t>(scratchBytes / 2 / deviceAlignment * deviceAlignment / pixelBytes);
  Extent     region = outputExtent;
  while (CountExtremumBuffer(shapes, region, inputExtent, vector) > most)
  {
    // The axis whose halves take the least, with their halo. Rows are cut where that is well worth it: their parts
    // begin and end within vectors.
    constexpr double cutRows = 1.4;
    int              cut = -1;
    double           least = 0;
    for (int axis = Dimension - 1; axis >= 0; --axis)
    {
      if (region[axis] == 1)
      {
        continue;
      }
      auto half = region;
      half[axis] = DivideUp(half[axis], 2);
      const auto pixels = static_cast<double>(CountExtremumBuffer(shapes, half, inputExtent, vector)) /
                          static_cast<double>(Volume(half)) * (axis == 0 ? cutRows : 1);
      if (cut < 0 || pixels < least)
      {
        cut = axis;
        least = pixels;
      }
    }
    if (cut < 0)
    {
      return {};
    }
    region[cut] = DivideUp(region[cut], 2);
  }
  return region;
}

void
CountExtremumItems(ExtremumArguments & arguments, int pixelBytes)
{
  const auto & slab = arguments.slab;
  const auto & shape = arguments.shape;
  const auto   beyond = slab.outputOrigin[0] + slab.outputExtent[0];
  const auto   pixels = GetExtremumVectorPixels(shape, pixelBytes);
  arguments.halo[0] = DivideUp(shape.before[0], pixels);
  arguments.halo[1] = DivideUp(shape.size[0] - 1 - shape.before[0], pixels);
  const auto halo = arguments.halo[0] + arguments.halo[1];
  const auto first = slab.outputOrigin[0] / pixels - arguments.halo[0];
  const auto end = std::min(DivideUp(slab.inputExtent[0], pixels), DivideUp(beyond, pixels) + arguments.halo[1]);
  const auto setDivisors = [&](std::int32_t first, std::int32_t second, std::int32_t third, std::int32_t fourth) {
    const std::int32_t counts[]{ first, second, third, fourth };
    std::transform(std::begin(counts), std::end(counts), arguments.divisors, [](std::int32_t count) {
      return MakeExtremumDivisor(static_cast<std::uint32_t>(count));
    });
  };
  if (shape.means == ExtremumMeans::Columns)
  {
    arguments.firstVector = slab.outputOrigin[0] / pixels;
    const auto parts = CountExtremumParts(shape, beyond - arguments.firstVector * pixels, pixelBytes);
    arguments.halo[0] = parts.halo[0];
    arguments.halo[1] = parts.halo[1];
    arguments.strips = parts.parts;
    arguments.staged = parts.staged;
    arguments.rows = parts.rows;
    arguments.segments = slab.outputExtent[1] * slab.outputExtent[2] * slab.outputExtent[3];
    arguments.items = std::int64_t{ arguments.strips } *
                      DivideUp(arguments.segments, arguments.rows * GetExtremumWordPixels(pixelBytes));
    setDivisors(arguments.strips, arguments.staged, slab.outputExtent[1], slab.outputExtent[2]);
    return;
  }
  if (shape.means == ExtremumMeans::Bands)
  {
    arguments.firstVector = first;
    arguments.strips = DivideUp(end - first, extremumLanes);
    arguments.segments = DivideUp(slab.outputExtent[shape.along], shape.run * shape.warps);
    arguments.groups = slab.outputExtent[shape.across];
    arguments.items = std::int64_t{ arguments.strips } * arguments.segments * arguments.groups *
                      slab.outputExtent[6 - shape.along - shape.across];
    setDivisors(arguments.strips, arguments.segments, arguments.groups, 1);
    return;
  }
  if (shape.means == ExtremumMeans::Tile)
  {
    arguments.firstVector = std::max(0, first);
    arguments.strips = CountExtremumStrips(end - arguments.firstVector, halo);
    arguments.segments = DivideUp(slab.outputExtent[shape.along], shape.run * shape.warps);
    arguments.groups = DivideUp(slab.outputExtent[shape.across], std::max(1, shape.band));
    setDivisors(shape.warps, arguments.strips, arguments.segments, arguments.groups);
    arguments.items = std::int64_t{ arguments.strips } * arguments.segments * shape.warps * arguments.groups *
                      slab.outputExtent[6 - shape.along - shape.across];
    return;
  }
  // Lanes before the image cost nothing where there are no more strips for them.
  arguments.firstVector = std::max(0, first);
  arguments.strips = CountExtremumStrips(end - arguments.firstVector, halo);
  if (shape.before[0] > 0 && 2 * shape.before[0] <= shape.size[0] &&
      CountExtremumStrips(end - first, halo) == arguments.strips)
  {
    arguments.isOneSided = 1;
    arguments.firstVector = first;
  }
  arguments.segments = DivideUp(slab.outputExtent[shape.along], shape.band * shape.bands);
  arguments.groups = DivideUp(slab.outputExtent[shape.across], shape.run);
  arguments.items = std::int64_t{ arguments.strips } * arguments.segments * arguments.groups *
                    slab.outputExtent[6 - shape.along - shape.across];
}

ExtremumSteps::Pixels
ExtremumSteps::GetSlab() const
{
  Pixels pixels{};
  // Kernels only read it.
  pixels.data = const_cast<char *>(static_cast<const char *>(m_Slab.input));
  for (int axis = 0; axis < Dimension; ++axis)
  {
    pixels.box.extent[axis] = m_Slab.inputExtent[axis];
    pixels.pitch[axis] = m_Slab.inputPitch[axis];
  }
  return pixels;
}

ExtremumSteps::Pixels
ExtremumSteps::GetOutputs(const PixelBox & region) const
{
  Pixels pixels{};
  pixels.box = region;
  pixels.grid = region.origin[0] / m_Vector * m_Vector;
  auto offset = pixels.grid - m_Slab.gridOrigin;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    pixels.pitch[axis] = m_Slab.outputPitch[axis];
    offset += axis > 0 ? (region.origin[axis] - m_Slab.outputOrigin[axis]) * m_Slab.outputPitch[axis] : 0;
  }
  pixels.data = static_cast<char *>(m_Slab.output) + offset * static_cast<std::int64_t>(m_PixelBytes);
  return pixels;
}

ExtremumSteps::Pixels
ExtremumSteps::GetBuffer(const PixelBox & region, std::size_t number, char * data) const
{
  Pixels pixels{};
  pixels.data = data;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    auto first = region.origin[axis];
    auto end = first + region.extent[axis];
    for (std::size_t later = number + 1; later < m_Shapes.size(); ++later)
    {
      const auto & shape = m_Shapes[later];
      first -= shape.before[axis];
      end += shape.size[axis] - 1 - shape.before[axis];
    }
    first = std::max<std::int64_t>(0, first);
    end = std::min<std::int64_t>(end, m_Slab.inputExtent[axis]);
    first = axis == 0 ? first / m_Vector * m_Vector : first;
    pixels.box.origin[axis] = first;
    pixels.box.extent[axis] = end - first;
    pixels.pitch[axis] = axis == 0   ? 1
                         : axis == 1 ? RoundUp(pixels.box.extent[0], m_Vector)
                                     : pixels.pitch[axis - 1] * pixels.box.extent[axis - 1];
  }
  pixels.grid = pixels.box.origin[0];
  return pixels;
}

ExtremumArguments
ExtremumSteps::MakeArguments(const Pixels & from, const Pixels & to, std::size_t number) const
{
  ExtremumArguments arguments{};
  arguments.shape = m_Shapes[number];
  arguments.isLast = number + 1 == m_Shapes.size() ? 1 : 0;
  auto & slab = arguments.slab;
  slab = m_Slab;
  slab.input = from.data;
  slab.output = to.data;
  slab.gridOrigin = static_cast<std::int32_t>(to.grid - from.box.origin[0]);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    slab.inputPitch[axis] = from.pitch[axis];
    slab.outputPitch[axis] = to.pitch[axis];
    slab.inputExtent[axis] = static_cast<std::int32_t>(from.box.extent[axis]);
    slab.outputExtent[axis] = static_cast<std::int32_t>(to.box.extent[axis]);
    slab.outputOrigin[axis] = static_cast<std::int32_t>(to.box.origin[axis] - from.box.origin[axis]);
  }
  CountExtremumItems(arguments, static_cast<int>(m_PixelBytes));
  return arguments;
}

} // namespace cudamedian
