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
#ifndef KernelRow_h
#define KernelRow_h

#include "KernelPolicy.h"
#include "KernelProgram.h"
#include "PixelFormat.h"
#include "PublishedPrograms.h"
#include "TileTuning.h"
#include "Traits.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

/** What is measured of a kernel, and how it is printed. */
namespace cudamedianbenchmark
{

using namespace cudamedian;

using Json = nlohmann::ordered_json;

/** A type of pixels that is measured, with its name and the format of its keys. */
struct PixelKind
{
  const char * name;
  PixelType    type;
  KeyFormat    keyFormat;
};
constexpr PixelKind pixelKinds[] = { { "uint8", PixelType::UInt8, KeyFormat::Integer8 },
                                     { "int16", PixelType::Int16, KeyFormat::Integer16 },
                                     { "float32", PixelType::Float32, KeyFormat::Float32 },
                                     { "float64", PixelType::Float64, KeyFormat::Float64 } };

/** "3x3" or "5x5x3" as radii. */
inline Extent
ParseWindow(const std::string & text)
{
  Extent             radius{ { 0, 0, 0, 0 } };
  std::istringstream stream(text);
  std::string        part;
  for (int axis = 0; axis < Dimension && std::getline(stream, part, 'x'); ++axis)
  {
    radius[axis] = std::stoll(part) / 2;
  }
  return radius;
}

/** What was measured of a kernel: a row of the table that is printed. */
struct Row
{
  std::string  pixel;
  std::string  window;
  std::string  size;
  KernelPolicy policy;
  std::string  published; ///< the name of a published program that was run (PublishedPrograms.h), or ""
  ProgramCost  cost;
  double       gigapixels{ 0 };
  double       floorGigapixels{ 0 };
  double       seconds{ 0 };
  int          registers{ 0 };
  std::size_t  localBytes{ 0 };
  int          warps{ 0 };
  std::size_t  differences{ 0 };
  std::string  how;
  Extent       radius{ { 0, 0, 0, 0 } };
  int          pixelBytes{ 0 };
};

inline std::string
JoinShort(const Extent & extent)
{
  std::string text;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (axis < 2 || extent[axis] > 1 || (axis == 2 && extent[3] > 1))
    {
      text += (text.empty() ? "" : "x") + std::to_string(extent[axis]);
    }
  }
  return text;
}

/** Root tile, order of merging and phases as --tiles takes them. */
inline std::string
Describe(const KernelPolicy & policy)
{
  const auto division = policy.tiling.division;
  auto       text = JoinShort(policy.tiling.root) + (division == Division::Halves       ? ""
                                                     : division == Division::PowerFirst ? "p"
                                                                                        : "q");
  if (policy.phases.sharedPhases > 0)
  {
    text += "@" + std::to_string(policy.phases.sharedPhases) + "/" + std::to_string(policy.phases.firstColumn) + "/" +
            std::to_string(policy.phases.columns);
  }
  return text;
}

/** The published program of a row, or how its program was put together. */
inline std::string
Describe(const Row & row)
{
  return row.published.empty() ? Describe(row.policy) : row.published;
}

inline void
PrintHeader()
{
  std::printf("%-8s %-7s %-12s %-6s %-12s %-3s %-6s %3s %7s %7s %7s %5s %5s %6s %6s %9s %9s %6s %s\n",
              "pixel",
              "window",
              "size",
              "tile",
              "root",
              "sum",
              "block",
              "val",
              "ops",
              "minmax",
              "mad",
              "live",
              "regs",
              "local",
              "warps",
              "Gpixel/s",
              "floor",
              "ratio",
              "kernel");
}

inline void
Print(const Row & row)
{
  std::printf("%-8s %-7s %-12s %-6s %-12s %3d %-6s %3zu %7.1f %7.1f %7.1f %5zu %5d %6zu %6d %9.2f %9.1f %6.2f %s%s\n",
              row.pixel.c_str(),
              row.window.c_str(),
              row.size.c_str(),
              JoinShort(row.policy.tile).c_str(),
              Describe(row).c_str(),
              row.policy.lowering.sumPercent,
              (std::to_string(row.policy.blockX) + "x" + std::to_string(row.policy.blockY)).c_str(),
              row.policy.registers,
              row.cost.operations,
              row.cost.minMax,
              row.cost.multiplyAdd,
              row.cost.liveValues,
              row.registers,
              row.localBytes,
              row.warps,
              row.gigapixels,
              row.floorGigapixels,
              row.gigapixels / row.floorGigapixels,
              row.how.c_str(),
              row.differences == 0 ? "" : (" WRONG " + std::to_string(row.differences)).c_str());
  std::fflush(stdout);
}

inline Json
AsJson(const Row & row)
{
  return { { "pixel", row.pixel },
           { "window", row.window },
           { "size", row.size },
           { "tile", JoinShort(row.policy.tile) },
           { "root", Describe(row) },
           { "sum_percent", row.policy.lowering.sumPercent },
           { "excess_percent", row.policy.lowering.excessPercent },
           { "resident_blocks", row.policy.residentBlocks },
           { "steps", row.policy.steps },
           { "block", { row.policy.blockX, row.policy.blockY } },
           { "operations_per_pixel", row.cost.operations },
           { "min_max_instructions_per_pixel", row.cost.minMax },
           { "multiply_adds_per_pixel", row.cost.multiplyAdd },
           { "live_values", row.cost.liveValues },
           { "registers", row.registers },
           { "local_bytes", row.localBytes },
           { "warps_per_multiprocessor", row.warps },
           { "gigapixels_per_second", row.gigapixels },
           { "floor_gigapixels_per_second", row.floorGigapixels },
           { "kernel_seconds", row.seconds },
           { "differing_pixels", row.differences },
           { "kernel", row.how } };
}

/** Gpixel/s as far as they can be told. */
inline double
GetRate(const Row & row)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", row.gigapixels);
  return std::stod(text);
}

/** A row for the table of the algorithm's rates. */
inline std::string
MakeRateRow(const Row & row, const DeviceTraits & device, const std::string & commit)
{
  return ToRow(
    RateRow{ device.name.c_str(), commit.c_str(), Window(row.radius).GetExtent(), row.pixelBytes, GetRate(row) });
}

/** Excesses, resident blocks and steps of a policy. */
inline std::string
DescribeWay(const KernelPolicy & policy)
{
  return std::to_string(policy.lowering.excessPercent) + " % excesses, " + std::to_string(policy.residentBlocks) +
         " blocks, " + std::to_string(policy.steps) + " steps";
}

/** A row for TileTuning.inc: the fastest of the policies that were swept for a window, with the one behind it.
 * Published programs are no policies, and have no row. */
inline std::string
MakeTuningRow(std::vector<Row> rows, const DeviceTraits & device, const std::string & commit)
{
  const auto hasNoRow = [](const Row & row) { return row.differences > 0 || !row.published.empty(); };
  rows.erase(std::remove_if(rows.begin(), rows.end(), hasNoRow), rows.end());
  if (rows.empty())
  {
    return "// no policy was right";
  }
  std::sort(rows.begin(), rows.end(), [](const Row & a, const Row & b) { return a.gigapixels > b.gigapixels; });
  const auto &      best = rows.front();
  const auto &      policy = best.policy;
  const std::string runnerUp = rows.size() == 1
                                 ? ""
                                 : JoinShort(rows[1].policy.tile) + ":" + Describe(rows[1].policy) + ", " +
                                     std::to_string(rows[1].policy.lowering.sumPercent) + " %, " +
                                     std::to_string(rows[1].policy.blockX) + "x" +
                                     std::to_string(rows[1].policy.blockY) + ", " + DescribeWay(rows[1].policy);
  return ToRow(TileTuningRow{ device.name.c_str(),
                              commit.c_str(),
                              Window(best.radius).GetExtent(),
                              best.pixelBytes,
                              policy.tile,
                              policy.tiling.root,
                              policy.tiling.division,
                              policy.phases,
                              policy.lowering.sumPercent,
                              policy.lowering.excessPercent,
                              policy.blockX,
                              policy.blockY,
                              policy.residentBlocks,
                              policy.steps,
                              GetRate(best),
                              rows.size() == 1 ? 0 : GetRate(rows[1]),
                              runnerUp.c_str() });
}

/** What a strip of 3x3 costs per pixel (StripKernel.h, ByteStripKernel.h): two rows of `width` pixels and the columns
 * beside them. */
inline ProgramCost
CountStrips(double width)
{
  ProgramCost cost;
  const auto  columns = (width + 2) / (2 * width);
  cost.operations = 10 * columns + 11;
  cost.minMax = 9 * columns + 7.5;
  cost.multiplyAdd = 2 * (columns + 1.5);
  cost.clocks = GetFloorClocks(cost);
  return cost;
}

/** What the cost model says of a policy: fills the counts and the floor of a row. */
inline void
Count(const Extent &       radius,
      const KernelPolicy & policy,
      const PixelKind &    pixel,
      const DeviceTraits & device,
      Row &                row)
{
  const auto bytes = PixelBytes(pixel.type);
  const auto kind = GetKernelKind(static_cast<int>(bytes), device.computeCapability);
  row.pixel = pixel.name;
  row.window = JoinShort(Window(radius).GetExtent());
  row.policy = policy;
  row.cost = !row.published.empty()
               ? CountPhases(CutIntoPhases(BuildPublishedProgram(row.published, radius), policy.phases),
                             policy.lowering,
                             policy.blockX)
                   .cost
             : IsFilteredInStrips(radius) && row.how != "NVRTC"
               ? CountStrips(bytes == 1 && device.computeCapability < 90 ? 8 : 16.0 / static_cast<double>(bytes))
               : CountPhases(BuildKernelPhases(radius, policy), policy.lowering, policy.blockX).cost;
  // Comparing and choosing 64 bits takes three instructions.
  const auto compute =
    device.multiprocessors * device.kilohertz * 1e3 / (row.cost.clocks / kind.GetPixels() * (bytes == 8 ? 3 : 1));
  row.floorGigapixels = std::min(compute, device.copyBytes / (2.0 * static_cast<double>(bytes))) * 1e-9;
}

} // namespace cudamedianbenchmark

#endif
