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
#ifndef ExtremumSweep_h
#define ExtremumSweep_h

#include "ExtremumOffers.h"
#include "ExtremumTuning.h"
#include "KernelMeasurement.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

/** Shapes of the passes that find least values, measured one by one. */
namespace cudamedianbenchmark
{

using namespace cudamedian;

/** Shapes to measure for one pass: the fastest by the model, of each way to work no more than two lengths of a march,
 * and all others than strips, which are few. */
inline std::vector<ExtremumOffer>
ListSweptOffers(const ExtremumReach & reach,
                const Extent &        size,
                int                   pixelBytes,
                const DeviceTraits &  device,
                std::size_t           most)
{
  auto offers = ListExtremumOffers(reach, size, pixelBytes, device);
  std::stable_sort(
    offers.begin(), offers.end(), [](const auto & one, const auto & other) { return one.seconds < other.seconds; });
  using Way = std::tuple<ExtremumMeans, int, int, int, int, int>;
  std::map<Way, int>         taken;
  std::vector<ExtremumOffer> swept;
  for (const auto & offer : offers)
  {
    const auto & shape = offer.shape;
    const bool   isTeam = shape.means == ExtremumMeans::Bands || shape.means == ExtremumMeans::Columns;
    const Way way{ shape.means, shape.isWide, shape.along, shape.across, shape.run, isTeam ? shape.warps : shape.band };
    if (++taken[way] > 2)
    {
      continue;
    }
    for (const int factor : { 1, 2, 4 })
    {
      if (isTeam && factor > 1)
      {
        continue; // its warps are what it is
      }
      // The model's own number of warps first.
      auto other = offer;
      other.shape.warps = shape.warps == 1 ? factor : shape.warps / factor;
      if ((swept.size() < most || shape.means != ExtremumMeans::Strip) &&
          other.shape.warps * other.shape.warpBytes <= device.blockSharedBytes)
      {
        swept.push_back(other);
      }
    }
  }
  return swept;
}

inline std::string
Describe(const ExtremumOffer & offer, const Extent & size)
{
  const auto & shape = offer.shape;
  const auto   model = static_cast<double>(Volume(size)) / offer.seconds * 1e-9;
  const auto   text =
    shape.means == ExtremumMeans::Columns ? "columns"
      : shape.means == ExtremumMeans::Bands ? "bands of " + std::to_string(shape.run * shape.warps) + " rows"
      : shape.means == ExtremumMeans::Tile
        ? "tiles of " + std::to_string(shape.run) + " rows along " + std::to_string(shape.along)
        : std::string(shape.isWide != 0 ? "wide" : "narrow") + " strips along " + std::to_string(shape.along) +
          ", runs of " + std::to_string(shape.run) + " along " + std::to_string(shape.across) + ", " +
          std::to_string(shape.bands) + " bands of " + std::to_string(shape.band);
  return text + ", " + std::to_string(shape.warps) + " warps, model " + std::to_string(model).substr(0, 5);
}

/** A row for ExtremumTuning.inc: the fastest of the shapes that were right. */
inline std::string
MakeExtremumRow(const std::vector<ExtremumOffer> & offers,
                const std::vector<Row> &           rows,
                const Extent &                     size,
                const DeviceTraits &               device,
                const std::string &                commit)
{
  std::size_t best = rows.size();
  for (std::size_t n = 0; n < rows.size(); ++n)
  {
    best = rows[n].differences == 0 && (best == rows.size() || rows[n].gigapixels > rows[best].gigapixels) ? n : best;
  }
  if (best == rows.size())
  {
    return "// no shape was right";
  }
  const auto & shape = offers[best].shape;
  return ToRow(ExtremumTuningRow{ device.name.c_str(),
                                  commit.c_str(),
                                  Window(rows[best].radius).GetExtent(),
                                  size,
                                  rows[best].pixelBytes,
                                  shape.means,
                                  shape.isWide,
                                  shape.along,
                                  shape.across,
                                  shape.run,
                                  shape.band,
                                  shape.bands,
                                  shape.warps,
                                  GetRate(rows[best]),
                                  GetRate(rows.front()) });
}

/** Measures and prints shapes for each set of a window's axes, which passes may take by themselves. \returns a row for
 * ExtremumTuning.inc of each set */
inline std::vector<std::string>
SweepExtremes(Benchmark &         benchmark,
              const Extent &      radius,
              const PixelKind &   pixel,
              const Extent &      size,
              std::size_t         most,
              int                 launches,
              const std::string & commit,
              std::vector<Row> &  measured)
{
  std::vector<std::string> texts;
  for (unsigned int axes = 1; axes < 1U << Dimension; ++axes)
  {
    Extent part;
    bool   isPart = true;
    for (std::size_t axis = 0; axis < Dimension; ++axis)
    {
      part[axis] = (axes >> axis & 1U) != 0 ? radius[axis] : 0;
      isPart = isPart && ((axes >> axis & 1U) == 0 || radius[axis] > 0);
    }
    const ExtremumReach reach{ part, part };
    const auto          offers =
      isPart ? ListSweptOffers(reach, size, static_cast<int>(PixelBytes(pixel.type)), benchmark.GetDevice(), most)
                      : std::vector<ExtremumOffer>();
    if (offers.empty())
    {
      continue;
    }
    std::vector<Row> rows;
    for (const auto & offer : offers)
    {
      rows.push_back(benchmark.MeasureExtremumShape(offer.shape, part, pixel, size, launches));
      rows.back().how = Describe(offer, size);
      Print(rows.back());
    }
    texts.push_back(MakeExtremumRow(offers, rows, size, benchmark.GetDevice(), commit));
    measured.insert(measured.end(), rows.begin(), rows.end());
  }
  return texts;
}

} // namespace cudamedianbenchmark

#endif
