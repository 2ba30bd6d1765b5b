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
#ifndef BenchmarkTable_h
#define BenchmarkTable_h

#include "BackendRows.h"
#include "BenchmarkCase.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <iomanip>
#include <iterator>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

/** What CudaMedianBenchmark measured, as tables, JSON and rows of measurements. */
namespace cudamedianbenchmark
{

using Json = nlohmann::ordered_json;

/** One case on one backend. Times are medians over the repeats, in seconds. */
struct Row
{
  BenchmarkCase               benchmarkCase;
  cudamedian::ExecutionReport report;
  double                      wholeSeconds{ 0 };
  double                      kernelSeconds{ 0 };
  double                      transferSeconds{ 0 };
  std::size_t                 itkPixels{ 0 };       ///< 0: ITK's filter was not timed
  double                      itkPixelSeconds{ 0 }; ///< seconds per pixel

  bool
  OnDevice() const
  {
    return report.backend == "CUDA";
  }

  /** How many times longer ITK takes per pixel. */
  double
  Ratio() const
  {
    return itkPixelSeconds * benchmarkCase.Pixels() / wholeSeconds;
  }
};

inline std::string
PixelText(CasePixel pixel)
{
  switch (pixel)
  {
    case CasePixel::UInt8:
      return "uint8";
    case CasePixel::Int16:
      return "int16";
    default:
      return "float32";
  }
}

/** Extents joined by "x", or a single number when an isotropic radius is meant. */
inline std::string
ExtentText(const std::array<std::size_t, 3> & values, unsigned int dimensions)
{
  std::string text = std::to_string(values[0]);
  for (unsigned int axis = 1; axis < dimensions; ++axis)
  {
    text += "x" + std::to_string(values[axis]);
  }
  return text;
}

/** The pixels, the window and the size of a case, as "uint8 5x5 of 2048x2048". */
inline std::string
CaseText(const BenchmarkCase & benchmarkCase)
{
  const unsigned int         dimensions = benchmarkCase.Dimensions();
  std::array<std::size_t, 3> window{};
  for (unsigned int axis = 0; axis < dimensions; ++axis)
  {
    window[axis] = 2 * benchmarkCase.radius[axis] + 1;
  }
  return PixelText(benchmarkCase.pixel) + " " + ExtentText(window, dimensions) + " of " +
         ExtentText(benchmarkCase.size, dimensions);
}

inline std::string
NumberText(double value, int decimals)
{
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

/** Times on a CPU belong to the machine they were taken on: only their ratio to ITK's is recorded. */
inline Json
RowAsJson(const Row & row)
{
  const unsigned int dimensions = row.benchmarkCase.Dimensions();
  const double       pixels = static_cast<double>(row.benchmarkCase.Pixels());
  Json               json;
  json["note"] = row.benchmarkCase.note;
  json["pixel"] = PixelText(row.benchmarkCase.pixel);
  json["size"] = ExtentText(row.benchmarkCase.size, dimensions);
  json["radius"] = ExtentText(row.benchmarkCase.radius, dimensions);
  json["backend"] = row.report.backend;
  json["algorithm"] = row.report.algorithm;
  json["tile"] = row.report.tile;
  json["operations"] = row.report.operations;
  json["slabs"] = row.report.numberOfSlabs;
  if (row.OnDevice())
  {
    json["whole_seconds"] = row.wholeSeconds;
    json["kernel_seconds"] = row.kernelSeconds;
    json["transfer_seconds"] = row.transferSeconds;
    json["whole_gigapixels_per_second"] = pixels / row.wholeSeconds * 1e-9;
    json["kernel_gigapixels_per_second"] = pixels / row.kernelSeconds * 1e-9;
  }
  if (row.itkPixels != 0)
  {
    json["itk_pixels"] = row.itkPixels;
    json["times_faster_than_itk"] = row.Ratio();
  }
  return json;
}

inline std::vector<std::string>
RowAsText(const Row & row)
{
  const unsigned int dimensions = row.benchmarkCase.Dimensions();
  const double       gigapixels = row.benchmarkCase.Pixels() * 1e-9;
  const bool         hasItk = row.itkPixels != 0;
  return { PixelText(row.benchmarkCase.pixel),
           ExtentText(row.benchmarkCase.size, dimensions),
           ExtentText(row.benchmarkCase.radius, dimensions),
           row.report.backend,
           row.OnDevice() ? NumberText(gigapixels / row.kernelSeconds, 3) : "-",
           row.OnDevice() ? NumberText(gigapixels / row.wholeSeconds, 3) : "-",
           hasItk ? std::to_string(row.itkPixels) : "-",
           hasItk ? NumberText(row.Ratio(), 1) : "-",
           row.report.algorithm,
           row.benchmarkCase.note };
}

inline std::vector<std::vector<std::string>>
MakeTable(const std::vector<Row> & rows)
{
  std::vector<std::vector<std::string>> table{ { "pixel",
                                                 "size",
                                                 "radius",
                                                 "backend",
                                                 "kernel Gpixel/s",
                                                 "whole Gpixel/s",
                                                 "itk_pixels",
                                                 "times ITK",
                                                 "algorithm",
                                                 "note" } };
  std::transform(rows.begin(), rows.end(), std::back_inserter(table), RowAsText);
  return table;
}

/** The automatic choice beside the two backends; the rows are the CPU's, CUDA's and the choice's of each case. */
inline std::vector<std::vector<std::string>>
MakeTableOfChoices(const std::vector<Row> & rows)
{
  std::vector<std::vector<std::string>> table{
    { "pixel", "size", "radius", "CPU ms", "estimated", "CUDA ms", "estimated", "chosen", "times the faster" }
  };
  for (std::size_t first = 0; first + 2 < rows.size(); first += 3)
  {
    const Row &        cpu = rows[first];
    const Row &        cuda = rows[first + 1];
    const Row &        choice = rows[first + 2];
    const unsigned int dimensions = cpu.benchmarkCase.Dimensions();
    const double       chosen = choice.OnDevice() ? cuda.wholeSeconds : cpu.wholeSeconds;
    table.push_back({ PixelText(cpu.benchmarkCase.pixel),
                      ExtentText(cpu.benchmarkCase.size, dimensions),
                      ExtentText(cpu.benchmarkCase.radius, dimensions),
                      NumberText(cpu.wholeSeconds * 1e3, 3),
                      NumberText(choice.report.estimatedCpuSeconds * 1e3, 3),
                      NumberText(cuda.wholeSeconds * 1e3, 3),
                      NumberText(choice.report.estimatedCudaSeconds * 1e3, 3),
                      choice.report.backend,
                      NumberText(chosen / std::min(cpu.wholeSeconds, cuda.wholeSeconds), 2) });
  }
  return table;
}

/** The same as rows of src/plan/BackendRows.inc. */
inline void
PrintBackendRows(std::ostream & os, const std::vector<Row> & rows, const std::string & host, const std::string & commit)
{
  const auto round = [](double seconds) { return std::round(seconds * 1e6) / 1e3; };
  for (std::size_t first = 0; first + 2 < rows.size(); first += 3)
  {
    const auto & benchmarkCase = rows[first].benchmarkCase;
    const auto & report = rows[first + 2].report;

    cudamedian::BackendRow row{ host.c_str(),
                                commit.c_str(),
                                benchmarkCase.pixel == CasePixel::UInt8   ? cudamedian::PixelType::UInt8
                                : benchmarkCase.pixel == CasePixel::Int16 ? cudamedian::PixelType::Int16
                                                                          : cudamedian::PixelType::Float32,
                                { { 1, 1, 1, 1 } },
                                { { 1, 1, 1, 1 } },
                                round(rows[first].wholeSeconds),
                                round(rows[first + 1].wholeSeconds),
                                round(report.estimatedCpuSeconds),
                                round(report.estimatedCudaSeconds) };
    for (unsigned int axis = 0; axis < benchmarkCase.Dimensions(); ++axis)
    {
      row.extent[axis] = static_cast<std::int64_t>(benchmarkCase.size[axis]);
      row.window[axis] = static_cast<std::int64_t>(2 * benchmarkCase.radius[axis] + 1);
    }
    os << cudamedian::ToRow(row) << '\n';
  }
}

inline void
PrintTable(std::ostream & os, const std::vector<std::vector<std::string>> & table)
{
  std::vector<std::size_t> widths(table.front().size(), 0);
  for (const auto & line : table)
  {
    for (std::size_t column = 0; column < line.size(); ++column)
    {
      widths[column] = std::max(widths[column], line[column].size());
    }
  }
  for (const auto & line : table)
  {
    for (std::size_t column = 0; column < line.size(); ++column)
    {
      os << "| " << line[column] << std::string(widths[column] - line[column].size() + 1, ' ');
    }
    os << "|\n";
    if (&line == &table.front())
    {
      for (const std::size_t width : widths)
      {
        os << "| " << std::string(width, '-') << ' ';
      }
      os << "|\n";
    }
  }
}

} // namespace cudamedianbenchmark

#endif
