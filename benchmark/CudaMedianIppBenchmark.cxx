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
// Times of the engine on the CPU against Intel IPP's ippiFilterMedianBorder, in one process, with one thread each, and
// against a copy of the image.

#include "BenchmarkTiming.h"

#include "itkCudaMedianEngine.h"

#include <CLI/CLI.hpp>
#include <ippcore.h>
#include <ippi.h>

#include <cstring>
#include <iomanip>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace
{

using cudamedianbenchmark::Median;

struct Options
{
  int              size{ 2048 };
  std::vector<int> windows{ 3, 5, 7, 9, 11, 17 };
  unsigned         repeats{ 9 };
  std::uint64_t    seed{ 20260101 };
};

/** IPP's function for a type of pixels. */
template <typename TPixel>
struct Ipp;

template <>
struct Ipp<Ipp8u>
{
  static constexpr auto type = ipp8u;
  static constexpr auto filter = ippiFilterMedianBorder_8u_C1R;
  static constexpr auto pixelType = cudamedian::PixelType::UInt8;
};
template <>
struct Ipp<Ipp16u>
{
  static constexpr auto type = ipp16u;
  static constexpr auto filter = ippiFilterMedianBorder_16u_C1R;
  static constexpr auto pixelType = cudamedian::PixelType::UInt16;
};
template <>
struct Ipp<Ipp32f>
{
  static constexpr auto type = ipp32f;
  static constexpr auto filter = ippiFilterMedianBorder_32f_C1R;
  static constexpr auto pixelType = cudamedian::PixelType::Float32;
};

void
Check(IppStatus status)
{
  if (status != ippStsNoErr)
  {
    throw std::runtime_error(std::string("IPP: ") + ippGetStatusString(status));
  }
}

template <typename TCall>
double
GetSeconds(const TCall & call)
{
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/** Rates of a window, in megapixels a second, and how many times longer IPP takes. */
template <typename TPixel>
void
Compare(int window, const Options & options)
{
  const auto          count = static_cast<std::size_t>(options.size) * static_cast<std::size_t>(options.size);
  std::vector<TPixel> input(count);
  std::vector<TPixel> ours(count);
  std::vector<TPixel> theirs(count);
  std::mt19937_64     random(options.seed);
  // Floats have as many values as 16-bit pixels.
  constexpr auto most = std::numeric_limits<TPixel>::max() < 256 ? 255 : 65535;
  for (auto & pixel : input)
  {
    pixel = static_cast<TPixel>(random() & most);
  }

  cudamedian::MedianRequest request;
  request.pixelType = Ipp<TPixel>::pixelType;
  request.input = input.data();
  request.inputExtent = { { options.size, options.size, 1, 1 } };
  request.radius = { { window / 2, window / 2, 0, 0 } };
  request.outputExtent = request.inputExtent;
  request.output = ours.data();
  request.outputStride = { { 1, options.size, static_cast<std::int64_t>(count), static_cast<std::int64_t>(count) } };
  request.backend = cudamedian::Backend::Cpu;

  const IppiSize roi{ options.size, options.size };
  const IppiSize mask{ window, window };
  const auto     rowBytes = static_cast<int>(sizeof(TPixel)) * options.size;
  int            bufferBytes = 0;
  Check(ippiFilterMedianBorderGetBufferSize(roi, mask, Ipp<TPixel>::type, 1, &bufferBytes));
  std::vector<Ipp8u> buffer(static_cast<std::size_t>(bufferBytes) + 64);
  const auto         runIpp = [&] {
    Check(Ipp<TPixel>::filter(
      input.data(), rowBytes, theirs.data(), rowBytes, roi, mask, ippBorderRepl, TPixel{}, buffer.data()));
  };

  // In turns, so that a machine that slows down slows all.
  std::vector<double> ourTimes;
  std::vector<double> theirTimes;
  std::vector<double> copyTimes;
  for (unsigned i = 0; i <= options.repeats; ++i)
  {
    const auto copySeconds = GetSeconds([&] { std::memcpy(ours.data(), input.data(), count * sizeof(TPixel)); });
    const auto ourSeconds = GetSeconds([&] { cudamedian::RunMedian(request); });
    const auto theirSeconds = GetSeconds(runIpp);
    if (i > 0)
    {
      copyTimes.push_back(copySeconds);
      ourTimes.push_back(ourSeconds);
      theirTimes.push_back(theirSeconds);
    }
  }
  const auto rate = [&](const std::vector<double> & times) { return static_cast<double>(count) / Median(times) / 1e6; };
  const bool isEqual = ours == theirs;
  std::cout << " " << std::setprecision(0) << rate(ourTimes) << " / " << rate(theirTimes) << " / " << rate(copyTimes)
            << " | " << std::setprecision(2);
  if (isEqual)
  {
    std::cout << Median(theirTimes) / Median(ourTimes) << " |";
  }
  else
  {
    std::cout << "different |";
  }
}

void
Run(const Options & options)
{
  Check(ippInit());
  std::cout
    << std::fixed << ippGetLibVersion()->Name << " " << ippGetLibVersion()->Version << ", " << options.size << "x"
    << options.size << ", one thread, median of " << options.repeats
    << " runs: megapixels a second of this library, of IPP and of a copy, and how many times longer IPP takes\n\n"
    << "| window | 8-bit | | 16-bit | | float | |\n| --- | --- | --- | --- | --- | --- | --- |\n";
  for (const int window : options.windows)
  {
    std::cout << "| " << window << "x" << window << " |";
    Compare<Ipp8u>(window, options);
    Compare<Ipp16u>(window, options);
    Compare<Ipp32f>(window, options);
    std::cout << std::endl;
  }
}

} // namespace

int
main(int argc, char * argv[])
{
  Options  options;
  CLI::App app("Times the engine on the CPU against Intel IPP's median filter.");
  app.add_option("--size", options.size, "pixels along each axis")->check(CLI::Range(64, 32768))->capture_default_str();
  app
    .add_option("--windows", options.windows, "pixels along each axis of the windows: odd numbers, with commas between")
    ->delimiter(',')
    ->check(CLI::Range(1, 31))
    ->capture_default_str();
  app.add_option("--repeats", options.repeats, "timed runs of each case")
    ->check(CLI::Range(1, 1000))
    ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the random images")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try
  {
    Run(options);
    return EXIT_SUCCESS;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianIppBenchmark: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
