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
#include "ExtremumOffers.h"

#include "DivideUp.h"
#include "ExtremumModel.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

using Offers = std::vector<ExtremumOffer>;

/** Blocks of several warps, where they need no more shared memory. Tiles of 8 bits have the longest code: more of their
 * warps, which start together, read it together. */
void
SetWarps(ExtremumShape & shape, int pixelBytes, const DeviceTraits & device)
{
  if (shape.means == ExtremumMeans::Columns)
  {
    return;
  }
  if (shape.means == ExtremumMeans::Bands)
  {
    shape.warps = std::min(GetMostBandWarps(shape.run), std::max(1, shape.size[shape.along] / shape.run));
    return;
  }
  const int warps = shape.means == ExtremumMeans::Tile && pixelBytes == 1 ? mostExtremumWarps : 4;
  shape.warps = warps * shape.warpBytes <= std::min(device.blockSharedBytes, device.sharedBytes / 3) ? warps : 1;
}

/** Adds a shape that fits, and how long it takes. */
void
Add(Offers & offers, ExtremumShape shape, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  SetWarps(shape, pixelBytes, device);
  offers.push_back({ shape, EstimateExtremumSeconds(shape, outputExtent, pixelBytes, device) });
}

/** Lanes of a strip or tile at its ends whose outputs its neighbours find. */
int
CountHaloLanes(const ExtremumShape & shape, int pixelBytes)
{
  const int pixels = GetExtremumVectorPixels(shape, pixelBytes);
  return DivideUp(shape.before[0], pixels) + DivideUp(shape.size[0] - 1 - shape.before[0], pixels);
}

/** Finds out what shared memory a warp takes. \returns whether a block has it. */
bool
SetWarpBytes(ExtremumShape & shape, int pixelBytes, const DeviceTraits & device)
{
  std::int64_t bytes = 0;
  const int    wordBytes = std::max(4, pixelBytes);
  if (shape.means == ExtremumMeans::Bands)
  {
    bytes = std::int64_t{ 2 } * extremumLanes * 16;
  }
  else if (shape.means == ExtremumMeans::Columns)
  {
    // The first columns of lanes, windows, and extremes of whole lanes twice; all warps have it together.
    const int  columns = GetLaneColumns(pixelBytes);
    const auto words = std::int64_t{ 2 } * columns * (extremumLanes * shape.run + columnPadding) +
                       std::int64_t{ 2 } * extremumLanes * shape.run;
    bytes = RoundUp(DivideUp(words * wordBytes, std::max(1, shape.warps)), 16);
  }
  else if (shape.means == ExtremumMeans::Tile)
  {
    const int slots = extremumLanes + CountHaloLanes(shape, pixelBytes);
    if (shape.band > 0)
    {
      bytes = std::int64_t{ 16 } * extremumLanes * shape.run * (shape.size[shape.across] - fewestMarchPlanes);
    }
    else if (KnowsTileWindow(shape, pixelBytes))
    {
      bytes = IsStagedTile(pixelBytes, shape.run, shape.size[0]) ? std::int64_t{ 16 } * extremumLanes * shape.run : 0;
    }
    else if (shape.size[0] > 1)
    {
      bytes = RoundUp(std::int64_t{ slots } * GetExtremumTileStride(wordBytes) * wordBytes, 16);
    }
  }
  else
  {
    bytes =
      std::int64_t{ shape.band } * shape.run * extremumLanes * GetExtremumVectorPixels(shape, pixelBytes) * pixelBytes;
  }
  if (bytes > device.blockSharedBytes)
  {
    return false;
  }
  shape.warpBytes = static_cast<std::int32_t>(bytes);
  return true;
}

/** Strips that march along an axis, with runs along another or without. */
void
OfferStrips(Offers &             offers,
            ExtremumShape        shape,
            const Extent &       outputExtent,
            int                  pixelBytes,
            const DeviceTraits & device)
{
  shape.means = ExtremumMeans::Strip;
  if (CountHaloLanes(shape, pixelBytes) > extremumLanes / 2)
  {
    return;
  }
  const int window = shape.size[shape.along];
  for (int parts = 1; parts <= 8 && parts <= window; ++parts)
  {
    shape.band = DivideUp(window, parts);
    if (!SetWarpBytes(shape, pixelBytes, device))
    {
      continue;
    }
    const auto longest = std::min<std::int64_t>(2 * outputExtent[shape.along], 1 << 16);
    for (shape.bands = 1; shape.bands == 1 || std::int64_t{ shape.band } * shape.bands < longest;
         shape.bands = shape.bands < 4 ? shape.bands + 1 : shape.bands * 3 / 2)
    {
      Add(offers, shape, outputExtent, pixelBytes, device);
    }
  }
}

/** Teams that have rows or parts of rows, for windows that are no shorter than a lane's columns. */
void
OfferColumns(Offers &             offers,
             ExtremumShape        shape,
             const Extent &       outputExtent,
             int                  pixelBytes,
             const DeviceTraits & device)
{
  shape.means = ExtremumMeans::Columns;
  shape.isWide = 1;
  if (shape.size[0] < GetLaneColumns(pixelBytes) ||
      outputExtent[1] * outputExtent[2] * outputExtent[3] > mostColumnRows)
  {
    return;
  }
  const auto outputs = static_cast<int>(std::min<std::int64_t>(outputExtent[0], 1 << 30));
  for (shape.warps = 1; shape.warps <= mostExtremumWarps; ++shape.warps)
  {
    shape.run = shape.warps <= 4 ? 4 : mostExtremumWarps;
    if (SetWarpBytes(shape, pixelBytes, device) && shape.warps * shape.warpBytes <= device.blockSharedBytes &&
        CountExtremumParts(shape, outputs, pixelBytes).parts > 0)
    {
      offers.push_back({ shape, EstimateExtremumSeconds(shape, outputExtent, pixelBytes, device) });
    }
  }
}

/** Teams that have bands of rows, for windows along another axis alone. */
void
OfferBands(Offers &              offers,
           const ExtremumReach & reach,
           const Extent &        outputExtent,
           int                   pixelBytes,
           const DeviceTraits &  device)
{
  auto shape = MakeExtremumShape(reach);
  shape.means = ExtremumMeans::Bands;
  shape.along = HasReach(reach, 3) ? 3 : HasReach(reach, 2) ? 2 : 1;
  shape.across = shape.along == 1 ? 2 : 1;
  shape.isWide = 1;
  for (const int run : { 8, 16 })
  {
    shape.run = run;
    constexpr int mostReads = 9; // of rows of the core, beside those of the band
    if (run > shape.size[shape.along] || !SetWarpBytes(shape, pixelBytes, device))
    {
      continue;
    }
    SetWarps(shape, pixelBytes, device);
    for (; shape.warps > 0; shape.warps = shape.warps > 4 ? shape.warps * 3 / 4 : shape.warps - 1)
    {
      if (shape.size[shape.along] <= mostReads * run * shape.warps &&
          shape.warps * shape.warpBytes <= device.blockSharedBytes)
      {
        offers.push_back({ shape, EstimateExtremumSeconds(shape, outputExtent, pixelBytes, device) });
      }
    }
  }
}

/** A tile's shape but for its rows and march: its rows lie along an axis, and another one is left. */
ExtremumShape
MakeTileShape(const ExtremumReach & reach, int along, int across)
{
  auto shape = MakeExtremumShape(reach);
  shape.means = ExtremumMeans::Tile;
  shape.isWide = 1;
  shape.along = along;
  shape.across = across;
  return shape;
}

/** Adds a tile where it fits, and where its window is not so long that rows are read too often. */
void
AddTile(Offers & offers, ExtremumShape shape, const Extent & outputExtent, int pixelBytes, const DeviceTraits & device)
{
  constexpr int mostReads = 9;
  if (shape.size[shape.along] <= mostReads * shape.run && SetWarpBytes(shape, pixelBytes, device))
  {
    Add(offers, shape, outputExtent, pixelBytes, device);
  }
}

/** Tiles for windows along axis 0 and another one, or along one of them. */
void
OfferAllTiles(Offers &              offers,
              const ExtremumReach & reach,
              const Extent &        outputExtent,
              int                   pixelBytes,
              const DeviceTraits &  device)
{
  const int along = HasReach(reach, 3) ? 3 : HasReach(reach, 2) ? 2 : 1;
  auto      shape = MakeTileShape(reach, along, along == 1 ? 2 : 1);
  // Bands were faster for windows of 25 pixels and more along another axis than 0, and no slower from 21 on.
  constexpr int mostWithoutColumns = 24;
  if (CountHaloLanes(shape, pixelBytes) > extremumLanes / 2 ||
      (shape.size[0] == 1 && shape.size[along] > mostWithoutColumns))
  {
    return;
  }
  for (const int run : { 4, 8 })
  {
    shape.run = run;
    const int window = shape.size[shape.along];
    // So measured, of windows of up to 25 pixels: long tiles of 8 bits have the longest code.
    const bool isTooLong = pixelBytes == 1 && run > 4 && window <= 25 && !KnowsTileWindow(shape, pixelBytes);
    if (!isTooLong && (run <= 4 || run <= window))
    {
      AddTile(offers, shape, outputExtent, pixelBytes, device);
    }
  }
}

/** Tiles that march along the second of two axes. */
void
OfferMarches(Offers &              offers,
             const ExtremumReach & reach,
             const Extent &        outputExtent,
             int                   pixelBytes,
             const DeviceTraits &  device)
{
  auto       shape = MakeTileShape(reach, HasReach(reach, 1) ? 1 : 2, HasReach(reach, 3) ? 3 : 2);
  const int  planes = shape.size[shape.across];
  const bool areFew = IsIn(shape.size[0], FewMarchWindows());
  if (pixelBytes > 4 || planes < fewestMarchPlanes || planes > mostMarchPlanes ||
      2 * shape.before[0] + 1 != shape.size[0] || (!areFew && !IsIn(shape.size[0], ManyMarchWindows())))
  {
    return;
  }
  shape.run = areFew ? 4 : 2;
  for (const int band : { 16, 32, 64 })
  {
    shape.band = band;
    AddTile(offers, shape, outputExtent, pixelBytes, device);
  }
}

/** Strips for windows along some axes: one that they march along, perhaps one of runs, perhaps axis 0. */
void
OfferAllStrips(Offers &              offers,
               const ExtremumReach & reach,
               const Extent &        outputExtent,
               int                   pixelBytes,
               const DeviceTraits &  device)
{
  auto shape = MakeExtremumShape(reach);
  for (shape.along = Dimension - 1; shape.along > 0; --shape.along)
  {
    for (shape.across = 1; shape.across < Dimension; ++shape.across)
    {
      const int other = 6 - shape.along - shape.across;
      if (shape.across == shape.along || shape.size[other] > 1)
      {
        continue;
      }
      for (const int run : { 1, 2 })
      {
        shape.run = run;
        if (shape.size[shape.across] == 1 ? run > 1 : run == 1 || run > shape.size[shape.across])
        {
          continue;
        }
        shape.isWide = 1;
        OfferStrips(offers, shape, outputExtent, pixelBytes, device);
        if (run == 1 && shape.size[0] == 1)
        {
          shape.isWide = 0;
          OfferStrips(offers, shape, outputExtent, pixelBytes, device);
        }
      }
    }
  }
}

/** Kernels for windows along axis 0 alone. */
void
OfferAllRows(Offers &              offers,
             const ExtremumReach & reach,
             const Extent &        outputExtent,
             int                   pixelBytes,
             const DeviceTraits &  device)
{
  auto shape = MakeExtremumShape(reach);
  OfferColumns(offers, shape, outputExtent, pixelBytes, device);
  shape.isWide = 1;
  shape.along = 1;
  shape.across = 2;
  shape.run = 1;
  OfferStrips(offers, shape, outputExtent, pixelBytes, device);
}

} // namespace

ExtremumShape
MakeExtremumShape(const ExtremumReach & reach)
{
  ExtremumShape shape{};
  for (int axis = 0; axis < Dimension; ++axis)
  {
    shape.before[axis] = static_cast<std::int32_t>(reach.before[axis]);
    shape.size[axis] = static_cast<std::int32_t>(reach.before[axis] + 1 + reach.behind[axis]);
  }
  return shape;
}

bool
FitExtremumShape(ExtremumShape & shape, int pixelBytes, const DeviceTraits & device)
{
  const bool fits = SetWarpBytes(shape, pixelBytes, device);
  SetWarps(shape, pixelBytes, device);
  return fits;
}

std::vector<ExtremumOffer>
ListExtremumOffers(const ExtremumReach & reach,
                   const Extent &        outputExtent,
                   int                   pixelBytes,
                   const DeviceTraits &  device)
{
  Offers    offers;
  const int deep = (HasReach(reach, 1) ? 1 : 0) + (HasReach(reach, 2) ? 1 : 0) + (HasReach(reach, 3) ? 1 : 0);
  if (HasReach(reach, 0) && deep == 0)
  {
    OfferAllRows(offers, reach, outputExtent, pixelBytes, device);
  }
  else if (deep < 3)
  {
    OfferAllStrips(offers, reach, outputExtent, pixelBytes, device);
  }
  if (deep == 1 && !HasReach(reach, 0))
  {
    OfferBands(offers, reach, outputExtent, pixelBytes, device);
  }
  if (deep < 2)
  {
    OfferAllTiles(offers, reach, outputExtent, pixelBytes, device);
  }
  else if (deep == 2 && HasReach(reach, 0))
  {
    OfferMarches(offers, reach, outputExtent, pixelBytes, device);
  }
  return offers;
}

} // namespace cudamedian
