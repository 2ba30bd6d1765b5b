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
// itk::MedianImageFilter and itk::CudaMedianImageFilter on one image, with the arguments, the window and the report of
// the program MedianBenchmark of ITK's module PerformanceBenchmarking.

#include "ProbeReport.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkMedianImageFilter.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace
{

using ImageType = itk::Image<unsigned char, 3>;
using BackendEnum = itk::CudaMedianImageFilterEnums::Backend;

struct Options
{
  std::string  timingsFile;
  unsigned int iterations{ 1 };
  unsigned int threads{ 0 };
  std::string  inputFile;
  std::string  outputFile;
  std::string  backend{ "auto" };
};

/** Runs the filter as often as asked, each run by the probe. */
void
Time(itk::ProcessObject &           filter,
     itk::Object &                  image,
     unsigned int                   iterations,
     const char *                   name,
     itk::TimeProbesCollectorBase & probes)
{
  for (unsigned int i = 0; i < iterations; ++i)
  {
    image.Modified();
    probes.Start(name);
    filter.UpdateLargestPossibleRegion();
    probes.Stop(name);
  }
}

bool
AreEqual(const ImageType & expected, const ImageType & found)
{
  const auto * const pixels = expected.GetBufferPointer();
  return expected.GetBufferedRegion() == found.GetBufferedRegion() &&
         std::equal(pixels, pixels + expected.GetBufferedRegion().GetNumberOfPixels(), found.GetBufferPointer());
}

void
Run(const Options & options)
{
  if (options.threads > 0)
  {
    itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(options.threads);
  }
  const auto                       image = itk::ReadImage<ImageType>(options.inputFile);
  cudamedianbenchmark::ProbeReport report(options.timingsFile);

  const auto radius = ImageType::SizeType::Filled(2);
  const auto median = itk::MedianImageFilter<ImageType, ImageType>::New();
  median->SetInput(image);
  median->SetRadius(radius);
  const auto cudaMedian = itk::CudaMedianImageFilter<ImageType>::New();
  cudaMedian->SetInput(image);
  cudaMedian->SetRadius(radius);
  cudaMedian->SetBackend(options.backend == "cpu"    ? BackendEnum::Cpu
                         : options.backend == "cuda" ? BackendEnum::Cuda
                                                     : BackendEnum::Auto);

  itk::TimeProbesCollectorBase probes;
  Time(*median, *image, options.iterations, "Median", probes);
  Time(*cudaMedian, *image, options.iterations, "CudaMedian", probes);
  if (!AreEqual(*median->GetOutput(), *cudaMedian->GetOutput()))
  {
    throw std::runtime_error("the two filters differ");
  }
  probes.Report(std::cout, true, true);
  std::cout << cudaMedian->GetExecutionReportAsString();
  report.Write(probes, CUDAMEDIAN_COMMIT);
  itk::WriteImage(cudaMedian->GetOutput(), options.outputFile);
}

} // namespace

int
main(int argc, char * argv[])
{
  Options  options;
  CLI::App app("Times both median filters with radius 2 on an image of 8 bits, for ITK's performance benchmarks.");
  app.add_option("timingsFile", options.timingsFile, "receives the probes as JSON; __DATESTAMP__ is replaced")
    ->required();
  app.add_option("iterations", options.iterations, "timed runs of each filter")
    ->required()
    ->check(CLI::Range(1, 100000));
  app.add_option("threads", options.threads, "ITK's default number of threads; 0: as it is")
    ->required()
    ->check(CLI::Range(0, 4096));
  app.add_option("inputImageFile", options.inputFile, "image to filter, read as unsigned char")->required();
  app.add_option("outputImageFile", options.outputFile, "receives the median")->required();
  app.add_option("--backend", options.backend, "of itk::CudaMedianImageFilter")
    ->check(CLI::IsMember({ "auto", "cpu", "cuda" }))
    ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try
  {
    Run(options);
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianProbeBenchmark: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
