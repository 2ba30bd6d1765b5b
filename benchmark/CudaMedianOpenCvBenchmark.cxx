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
// Times of the whole filter on the CPU against OpenCV's medianBlur, in one process and with as many threads.

#include "BenchmarkTiming.h"

#include "itkCudaMedianImageFilter.h"
#include "itkMultiThreaderBase.h"

#include <CLI/CLI.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>

#include <iomanip>
#include <iostream>
#include <sstream>
#include <string>

namespace
{

using cudamedianbenchmark::FillRandomly;
using cudamedianbenchmark::Median;
using cudamedianbenchmark::TimedUpdate;

struct Options
{
  unsigned int  size{ 2048 };
  unsigned int  threads{ 2 };
  unsigned int  repeats{ 9 };
  std::uint64_t seed{ 20250810 };
};

/** How many times longer OpenCV takes for an image, as text; "different" when the medians are not the same. */
template <typename TPixel>
std::string
Compare(unsigned int window, const Options & options)
{
  using ImageType = itk::Image<TPixel, 2>;
  const auto image = ImageType::New();
  image->SetRegions(typename ImageType::SizeType{ { options.size, options.size } });
  image->Allocate();
  FillRandomly(*image, options.seed);

  const auto filter = itk::CudaMedianImageFilter<ImageType>::New();
  filter->SetBackend(itk::CudaMedianImageFilterEnums::Backend::Cpu);
  filter->SetInput(image);
  filter->SetRadius(window / 2);
  filter->SetNumberOfWorkUnits(options.threads);
  filter->Update();

  const auto asMatrix = [&](TPixel * pixels) {
    const auto extent = static_cast<int>(options.size);
    return cv::Mat(extent, extent, cv::DataType<TPixel>::type, pixels);
  };
  const cv::Mat input = asMatrix(image->GetBufferPointer());
  cv::Mat       result;
  cv::medianBlur(input, result, static_cast<int>(window));

  // In turns, so that a machine that slows down slows both.
  std::vector<double> ours;
  std::vector<double> theirs;
  for (unsigned int i = 0; i < options.repeats; ++i)
  {
    ours.push_back(TimedUpdate(*filter));
    const auto start = std::chrono::steady_clock::now();
    cv::medianBlur(input, result, static_cast<int>(window));
    theirs.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  if (cv::norm(result, asMatrix(filter->GetOutput()->GetBufferPointer()), cv::NORM_INF) != 0)
  {
    return "different";
  }
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << Median(theirs) / Median(ours);
  return text.str();
}

int
Run(const Options & options)
{
  cv::setNumThreads(static_cast<int>(options.threads));
  itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(options.threads);
  std::cout << "OpenCV " << CV_VERSION << ", " << options.size << "x" << options.size << ", " << options.threads
            << " threads, median of " << options.repeats << " runs: how many times longer medianBlur takes\n\n"
            << "| window | 8-bit | 16-bit | float |\n| --- | --- | --- | --- |\n";
  for (const unsigned int window : { 3, 5, 7, 9, 11, 13, 15, 17, 21, 31 })
  {
    std::cout << "| " << window << "x" << window << " | " << Compare<unsigned char>(window, options) << " | ";
    // OpenCV has larger windows for 8-bit pixels only.
    if (window <= 5)
    {
      std::cout << Compare<unsigned short>(window, options) << " | " << Compare<float>(window, options) << " |\n";
    }
    else
    {
      std::cout << "- | - |\n";
    }
  }
  return EXIT_SUCCESS;
}

} // namespace

int
main(int argc, char * argv[])
{
  Options  options;
  CLI::App app("Times itk::CudaMedianImageFilter on the CPU against OpenCV's medianBlur.");
  app.add_option("--size", options.size, "pixels along each axis")->check(CLI::Range(64, 32768))->capture_default_str();
  app.add_option("--threads", options.threads, "threads of both")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--repeats", options.repeats, "timed runs of each case")
    ->check(CLI::Range(1, 1000))
    ->capture_default_str();
  app.add_option("--seed", options.seed, "seed of the random images")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try
  {
    return Run(options);
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianOpenCvBenchmark: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
}
