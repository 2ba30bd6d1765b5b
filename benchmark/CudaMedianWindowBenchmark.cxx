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
// Other ranks, borders, even sizes, footprints and components beside the median of the same window, in the same run:
// the engine's kernels on a GPU, or the whole call on the CPU, of which ratios alone mean something.

#include "BenchmarkThreads.h"
#include "ScanImages.h"
#include "itkCudaMedianEngine.h"
#include "itkCudaMedianFootprint.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace cudamedian;

struct Options
{
  std::vector<std::string>  groups{ "ranks", "extremes", "even", "borders", "footprints", "components" };
  std::string               backend{ "cuda" };
  unsigned                  threads{ 2 };
  int                       repeats{ 5 };
  std::vector<std::int64_t> radii{ 7, 15, 30 };
  bool                      scans{ false };
};

/** An image in memory, and a place for what is found in it. */
struct Images
{
  std::vector<char> input;
  std::vector<char> output;
};

/** Times requests in turn. Images of random bits, of floats below those of NaN, or like scans. */
class Comparison
{
public:
  explicit Comparison(const Options & options)
    : m_Options(options)
  {}

  /** Prints how many times as fast as the first the second request is, by kernels and in whole, and the rate of its
   * pixels. */
  void
  Print(const std::string & name, const MedianRequest & median, const MedianRequest & other)
  {
    const auto   first = Time(median);
    const auto   second = Time(other);
    const double pixels = CountPixels(other);
    const double scale = pixels / CountPixels(median);
    std::printf("%-44s %9.4f %8.2f %9.4f   %s\n",
                name.c_str(),
                first.kernels / second.kernels * scale,
                m_Options.backend == "cuda" ? pixels / second.kernels * 1e-9 : 0.0,
                first.whole / second.whole * scale,
                m_Report.algorithm.c_str());
    std::fflush(stdout);
  }

  MedianRequest
  MakeRequest(PixelType type, const Extent & extent, const Extent & radius) const
  {
    MedianRequest request;
    request.pixelType = type;
    request.backend = m_Options.backend == "cuda" ? Backend::Cuda : Backend::Cpu;
    request.compilation = Compilation::Wait;
    request.inputExtent = request.outputExtent = extent;
    request.radius = radius;
    request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
    request.workUnits = m_Options.threads;
    request.parallelFor = cudamedianbenchmark::RunInThreads;
    return request;
  }

private:
  static double
  CountPixels(const MedianRequest & request)
  {
    double pixels = 1;
    for (const auto size : request.outputExtent)
    {
      pixels *= static_cast<double>(size);
    }
    return pixels;
  }

  /** Seconds of a request. */
  struct Times
  {
    double kernels; ///< on the CPU the whole
    double whole;   ///< with transfers, and what the host does besides
  };

  /** The middle of the times of some runs, after one that warms up. */
  Times
  Time(MedianRequest request)
  {
    const auto bytes = static_cast<std::size_t>(CountPixels(request)) * PixelBytes(request.pixelType);
    if (m_Images.input.size() != bytes)
    {
      m_Images.input.resize(bytes);
      m_Images.output.assign(bytes, 0);
      m_Options.scans ? FillLikeScan(request) : FillWithBits(request.pixelType);
    }
    request.input = m_Images.input.data();
    request.output = m_Images.output.data();
    std::vector<double> kernels;
    std::vector<double> whole;
    for (int i = 0; i <= m_Options.repeats; ++i)
    {
      m_Report = RunMedian(request);
      if (i > 0)
      {
        kernels.push_back(request.backend == Backend::Cuda ? m_Report.kernelSeconds : m_Report.totalSeconds);
        whole.push_back(m_Report.totalSeconds);
      }
    }
    std::sort(kernels.begin(), kernels.end());
    std::sort(whole.begin(), whole.end());
    return { kernels[kernels.size() / 2], whole[whole.size() / 2] };
  }

  void
  FillWithBits(PixelType type)
  {
    std::mt19937_64     random(1);
    const std::uint64_t mask = type == PixelType::Float32 ? 0xbfffffffbfffffffU : ~std::uint64_t{ 0 };
    for (std::size_t i = 0; i + 8 <= m_Images.input.size(); i += 8)
    {
      const auto bits = random() & mask;
      std::memcpy(m_Images.input.data() + i, &bits, 8);
    }
  }

  void
  FillLikeScan(const MedianRequest & request)
  {
    const auto fill = [&](const auto & scan) {
      std::memcpy(m_Images.input.data(), scan.data(), m_Images.input.size());
    };
    switch (request.pixelType)
    {
      case PixelType::UInt8:
        return fill(cudamedianbenchmark::MakeScan<std::uint8_t>(request.outputExtent, 1));
      case PixelType::Int16:
        return fill(cudamedianbenchmark::MakeScan<std::int16_t>(request.outputExtent, 1));
      case PixelType::Float32:
        return fill(cudamedianbenchmark::MakeScan<float>(request.outputExtent, 1));
      default:
        throw std::runtime_error(std::string("no scans of ") + ToString(request.pixelType));
    }
  }

  const Options & m_Options;
  Images          m_Images;
  ExecutionReport m_Report;
};

Extent
GetSize(const Extent & radius, bool isOnCuda)
{
  return radius[2] > 0 ? (isOnCuda ? Extent{ { 512, 512, 128, 1 } } : Extent{ { 256, 256, 64, 1 } })
                       : (isOnCuda ? Extent{ { 6720, 4480, 1, 1 } } : Extent{ { 2048, 2048, 1, 1 } });
}

std::string
Name(const Extent & radius)
{
  std::string text = std::to_string(2 * radius[0] + 1) + "x" + std::to_string(2 * radius[1] + 1);
  return radius[2] > 0 ? text + "x" + std::to_string(2 * radius[2] + 1) : text;
}

/** Calls function with the windows of some radii, in 2D and then in 3D. */
template <typename TFunction>
void
ForEachWindow(const std::vector<std::int64_t> & flat,
              const std::vector<std::int64_t> & deep,
              const TFunction &                 function)
{
  for (const auto r : flat)
  {
    function(Extent{ { r, r, 0, 0 } });
  }
  for (const auto r : deep)
  {
    function(Extent{ { r, r, r, 0 } });
  }
}

void
CompareRanks(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 3, 4, 5 }, { 1, 2 }, [&](const Extent & radius) {
    const auto median = comparison.MakeRequest(PixelType::Int16, GetSize(radius, isOnCuda), radius);
    const auto pixels = (2 * radius[0] + 1) * (2 * radius[1] + 1) * (2 * radius[2] + 1);
    for (int eighth = 1; eighth < 8; ++eighth)
    {
      auto other = median;
      other.rank = pixels * eighth / 8;
      comparison.Print("rank " + std::to_string(other.rank) + " of " + Name(radius), median, other);
    }
  });
}

void
CompareExtremes(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 5, 15, 40 }, { 1, 4 }, [&](const Extent & radius) {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto median = comparison.MakeRequest(type, GetSize(radius, isOnCuda), radius);
      auto       other = median;
      other.rank = 0;
      comparison.Print(std::string("minimum of ") + Name(radius) + " " + ToString(type), median, other);
    }
  });
}

void
CompareEven(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 3, 4, 5, 6, 7, 8 }, { 1, 2 }, [&](const Extent & radius) {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto median = comparison.MakeRequest(type, GetSize(radius, isOnCuda), radius);
      auto       other = median;
      other.shorter = { { 1, 1, radius[2] > 0 ? 1 : 0, 0 } };
      const auto size = std::to_string(2 * radius[0]);
      comparison.Print("even " + size + "x" + size + (radius[2] > 0 ? "x" + size : "") + " beside " + Name(radius) +
                         " " + ToString(type),
                       median,
                       other);
    }
  });
}

void
CompareBorders(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 5, 15 }, { 1, 2 }, [&](const Extent & radius) {
    const auto median = comparison.MakeRequest(PixelType::Int16, GetSize(radius, isOnCuda), radius);
    for (const auto border : { Border::Constant, Border::Reflect, Border::Mirror, Border::Wrap, Border::Shrink })
    {
      auto other = median;
      other.border.fill(border);
      comparison.Print(std::string(ToString(border)) + " " + Name(radius), median, other);
    }
  });
}

void
CompareFootprints(Comparison & comparison, bool isOnCuda)
{
  const std::pair<const char *, const Footprint *> shapes[] = {
    { "cross 3x3", Footprint::MakeCross({ { 1, 1, 0, 0 } }) },
    { "disk 2", Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } }) },
    { "disk 3", Footprint::MakeEllipsoid({ { 3, 3, 0, 0 } }) },
    { "disk 5", Footprint::MakeEllipsoid({ { 5, 5, 0, 0 } }) },
    { "cross 3x3x3", Footprint::MakeCross({ { 1, 1, 1, 0 } }) },
    { "ball 2", Footprint::MakeEllipsoid({ { 2, 2, 2, 0 } }) },
    { "ball 2.5", Footprint::MakeEllipsoid({ { 2.5, 2.5, 2.5, 0 } }) },
    { "centre-weighted 3x3", Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3) },
    { "centre-weighted 5x5", Footprint::MakeCentreWeighted({ { 2, 2, 0, 0 } }, 3) }
  };
  for (const auto & [name, footprint] : shapes)
  {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto & radius = footprint->GetRadius();
      const auto   median = comparison.MakeRequest(type, GetSize(radius, isOnCuda), radius);
      auto         other = median;
      other.footprint = footprint;
      comparison.Print(std::string(name) + " beside " + Name(radius) + " " + ToString(type), median, other);
    }
  }
}

void
CompareComponents(Comparison & comparison, bool isOnCuda)
{
  const std::pair<PixelType, std::int64_t> kinds[] = {
    { PixelType::UInt8, 3 }, { PixelType::UInt8, 4 }, { PixelType::UInt32, 4 }, { PixelType::Float32, 2 }
  };
  for (const auto & [type, components] : kinds)
  {
    for (const std::int64_t r : { 1, 2, 4 })
    {
      const Extent radius{ { r, r, 0, 0 } };
      auto         extent = GetSize(radius, isOnCuda);
      const auto   median = comparison.MakeRequest(type, extent, radius);
      extent[3] = components;
      auto other = comparison.MakeRequest(type, extent, radius);
      other.inputStride =
        other.outputStride = { { components, components * extent[0], components * extent[0] * extent[1], 1 } };
      comparison.Print(std::to_string(components) + " x " + ToString(type) + " " + Name(radius), median, other);
    }
  }
}

/** Masks of an image: random ones with a share of valid pixels, and one with a large hole. */
std::vector<std::uint8_t>
MakeMask(const Extent & extent, const std::string & kind)
{
  std::vector<std::uint8_t> mask(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]), 1);
  std::mt19937_64           random(2);
  for (std::size_t i = 0; i < mask.size(); ++i)
  {
    const auto x = static_cast<std::int64_t>(i) % extent[0];
    const auto y = static_cast<std::int64_t>(i) / extent[0] % extent[1];
    const bool isInHole = x > extent[0] / 4 && x < extent[0] / 2 && y > extent[1] / 4 && y < extent[1] / 2;
    mask[i] = kind == "hole" ? (isInHole ? 0 : 1) : random() % 100 < (kind == "half" ? 50U : 95U);
  }
  return mask;
}

void
CompareMasks(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 3, 5, 15 }, { 1, 4 }, [&](const Extent & radius) {
    const auto extent = GetSize(radius, isOnCuda);
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto median = comparison.MakeRequest(type, extent, radius);
      for (const std::string kind : { "half", "most", "hole" })
      {
        const auto mask = MakeMask(extent, kind);
        auto       other = median;
        other.validity.mask = mask.data();
        comparison.Print("mask (" + kind + ") " + Name(radius) + " " + ToString(type), median, other);
      }
    }
  });
}

/** Maps of all ranks that masks make in windows of a size: as many as there are lines along an axis, and one more. */
void
CompareMaps(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 3, 5, 15 }, { 1, 4 }, [&](const Extent & radius) {
    const auto                extent = GetSize(radius, isOnCuda);
    const auto                lines = (2 * radius[1] + 1) * (2 * radius[2] + 1);
    const auto                pixels = (2 * radius[0] + 1) * lines;
    const auto                least = (pixels - lines) / 2;
    std::vector<std::uint8_t> map(static_cast<std::size_t>(extent[0] * extent[1] * extent[2]));
    std::mt19937              random(3);
    std::generate(
      map.begin(), map.end(), [&] { return static_cast<std::uint8_t>(random() % static_cast<unsigned>(lines + 1)); });
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto median = comparison.MakeRequest(type, extent, radius);
      auto       other = median;
      other.rankMap = map.data();
      other.rank = least;
      other.greatestRank = least + lines;
      comparison.Print(std::to_string(lines + 1) + " ranks of " + Name(radius) + " " + ToString(type), median, other);
    }
  });
}

void
CompareOutliers(Comparison & comparison, bool isOnCuda)
{
  ForEachWindow({ 1, 2, 3 }, { 1 }, [&](const Extent & radius) {
    const auto median = comparison.MakeRequest(PixelType::Int16, GetSize(radius, isOnCuda), radius);
    for (const auto rule : { OutlierRule::Absolute, OutlierRule::Deviations })
    {
      auto other = median;
      other.outlierRule = rule;
      other.outlierThreshold = rule == OutlierRule::Absolute ? 10000 : 2;
      comparison.Print(std::string("outliers, ") + ToString(rule) + ", " + Name(radius), median, other);
    }
  });
}

void
CompareRound(Comparison & comparison, const std::vector<std::int64_t> & radii, bool areBalls, bool isOnCuda)
{
  for (const auto r : radii)
  {
    const Extent radius{ { r, r, areBalls ? r : 0, 0 } };
    const auto   size = static_cast<double>(r);
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      const auto median = comparison.MakeRequest(type, GetSize(radius, isOnCuda), radius);
      auto       other = median;
      other.footprint = Footprint::MakeEllipsoid({ { size, size, areBalls ? size : 0, 0 } });
      comparison.Print((areBalls ? "ball " : "disk ") + std::to_string(r) + " " + ToString(type), median, other);
    }
  }
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App application{
      "Other ranks, borders, sizes, components, footprints and masks beside the median of the same window."
    };
    Options options;
    application
      .add_option("--groups",
                  options.groups,
                  "ranks, extremes, even, borders, components, footprints, masks, maps, outliers, disks, balls")
      ->delimiter(',');
    application.add_option("--radii", options.radii, "radii of disks and balls, pixels")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
    application.add_flag("--scans", options.scans, "images that are like scans for random bits");
    application.add_option("--backend", options.backend, "cuda or cpu")->check(CLI::IsMember({ "cuda", "cpu" }));
    application.add_option("--threads", options.threads, "threads of the host")->check(CLI::Range(1, 1024));
    application.add_option("--repeats", options.repeats, "runs to take the middle of")->check(CLI::Range(1, 1000));
    CLI11_PARSE(application, argc, argv);
    Comparison comparison(options);
    const bool isOnCuda = options.backend == "cuda";
    std::printf("%-44s %9s %8s %9s   %s\n", "", "ratio", "Gpixel/s", "in whole", "algorithm");
    for (const auto & group : options.groups)
    {
      group == "ranks"        ? CompareRanks(comparison, isOnCuda)
      : group == "extremes"   ? CompareExtremes(comparison, isOnCuda)
      : group == "even"       ? CompareEven(comparison, isOnCuda)
      : group == "borders"    ? CompareBorders(comparison, isOnCuda)
      : group == "footprints" ? CompareFootprints(comparison, isOnCuda)
      : group == "masks"      ? CompareMasks(comparison, isOnCuda)
      : group == "maps"       ? CompareMaps(comparison, isOnCuda)
      : group == "outliers"   ? CompareOutliers(comparison, isOnCuda)
      : group == "disks"      ? CompareRound(comparison, options.radii, false, isOnCuda)
      : group == "balls"      ? CompareRound(comparison, options.radii, true, isOnCuda)
                              : CompareComponents(comparison, isOnCuda);
    }
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianWindowBenchmark: " << error.what() << std::endl;
    return 1;
  }
}
