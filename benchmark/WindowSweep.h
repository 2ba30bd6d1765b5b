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
#ifndef WindowSweep_h
#define WindowSweep_h

#include "KernelRow.h"

#include <algorithm>
#include <cstdio>
#include <random>
#include <set>
#include <string>
#include <vector>

/** Random windows that no table was made for, each beside the next larger one: cliffs of the policies. */
namespace cudamedianbenchmark
{

using namespace cudamedian;

/** Windows of which no two are the same and none is as long along all axes, half of them along two axes and half along
 * three; small radii are more likely than large ones. The same seed gives the same windows everywhere. */
inline std::vector<Extent>
ListRandomWindows(std::size_t count, unsigned int seed)
{
  std::mt19937     generator(seed);
  std::set<Extent> radii;
  const auto       draw = [&generator](std::int64_t least, std::int64_t most) {
    const auto range = static_cast<double>(most + 1 - least);
    const auto share = static_cast<double>(generator()) / 4294967296.0;
    return least + static_cast<std::int64_t>(range * share * share);
  };
  while (radii.size() < count)
  {
    const bool isDeep = radii.size() >= count / 2;
    Extent     radius{ { 0, 0, 0, 0 } };
    for (std::size_t axis = 0; axis < (isDeep ? 3U : 2U); ++axis)
    {
      radius[axis] = isDeep ? draw(1, 7) : draw(0, 30);
    }
    if (radius[0] != radius[1] || (isDeep && radius[1] != radius[2]))
    {
      radii.insert(radius);
    }
  }
  return { radii.begin(), radii.end() };
}

/** Prints rows by the number of a window's pixels, each with its rate as a multiple of that of the next larger window
 * of the same number of axes and pixel type. \returns how many are below the least multiple that is wanted. */
inline std::size_t
PrintNeighbours(std::vector<Row> rows, double least)
{
  std::stable_sort(rows.begin(), rows.end(), [](const Row & one, const Row & other) {
    const Window first(one.radius);
    const Window second(other.radius);
    return one.pixel != other.pixel                  ? one.pixel < other.pixel
           : first.CountAxes() != second.CountAxes() ? first.CountAxes() < second.CountAxes()
                                                     : first.CountPixels() < second.CountPixels();
  });
  std::size_t below = 0;
  std::printf("pixel    window      pixels   Gpixel/s  next larger    ratio\n");
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const auto & row = rows[i];
    const bool   hasNext = i + 1 < rows.size() && rows[i + 1].pixel == row.pixel &&
                         Window(rows[i + 1].radius).CountAxes() == Window(row.radius).CountAxes();
    const double ratio = hasNext ? row.gigapixels / rows[i + 1].gigapixels : 1;
    below += ratio < least ? 1 : 0;
    std::printf("%-8s %-11s %6lld %10.2f  %-11s %8.2f  %s%s%s\n",
                row.pixel.c_str(),
                row.window.c_str(),
                static_cast<long long>(Window(row.radius).CountPixels()),
                row.gigapixels,
                hasNext ? rows[i + 1].window.c_str() : "-",
                ratio,
                row.how.c_str(),
                ratio < least ? " BELOW" : "",
                row.differences == 0 ? "" : " WRONG");
  }
  std::printf("%zu of %zu windows are slower than %.2f of the next larger one\n", below, rows.size(), least);
  return below;
}

} // namespace cudamedianbenchmark

#endif
