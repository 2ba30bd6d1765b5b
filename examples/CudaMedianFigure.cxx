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
// Draws the figure of the documentation: a slice of a scan with added noise, filtered, and what the filter took away.
//
// CudaMedianFigure input.nii.gz output.png [--radius r] [--noise fraction]

#include "CompareWithITK.h"
#include "FigurePanels.h"

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>

namespace
{

using namespace cudamedianexample;
using PictureType = itk::Image<unsigned char, 2>;

PictureType::Pointer
DrawFigure(const ScanType * noisy, const ScanType * filtered, const IntensityWindow & window)
{
  const auto   picture = MakePicture<PictureType>(noisy, 3, 255);
  const double scale = 1 / std::max(window.high - window.low, 1.0);
  DrawPanel(picture.GetPointer(), noisy, 0, [&](const ScanType::IndexType & index) {
    return GreyOf(scale * (noisy->GetPixel(index) - window.low));
  });
  DrawPanel(picture.GetPointer(), noisy, 1, [&](const ScanType::IndexType & index) {
    return GreyOf(scale * (filtered->GetPixel(index) - window.low));
  });
  DrawPanel(picture.GetPointer(), noisy, 2, [&](const ScanType::IndexType & index) {
    return GreyOf(scale * std::abs(static_cast<double>(noisy->GetPixel(index)) - filtered->GetPixel(index)));
  });
  return picture;
}

int
Run(const std::string & input, const std::string & output, unsigned int radius, double noiseFraction)
{
  const ScanType::Pointer scan = itk::ReadImage<ScanType>(input);
  const IntensityWindow   window = WindowOf(scan);
  const ScanType::Pointer noisy = AddNoise(scan, window, noiseFraction);

  const auto filter = itk::CudaMedianImageFilter<ScanType>::New();
  filter->SetInput(noisy);
  filter->SetRadius(radius);
  const auto start = std::chrono::steady_clock::now();
  filter->Update();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  const Comparison comparison = CompareWithITK(noisy.GetPointer(), filter->GetOutput(), filter->GetEffectiveRadius());
  itk::WriteImage(DrawFigure(noisy, filter->GetOutput(), window), output);

  std::cout << filter->GetExecutionReportAsString();
  PrintComparison(std::cout, comparison, seconds.count());
  return comparison.differingVoxels == 0 ? 0 : 2;
}

} // namespace

int
main(int argc, char * argv[])
{
  std::string  input;
  std::string  output;
  unsigned int radius = 1;
  double       noise = 0.1;
  CLI::App     app("Draws a slice of a scan with noise, filtered, and the difference.", "CudaMedianFigure");
  app.add_option("--radius", radius, "radius of the window in pixels, along every axis")->capture_default_str();
  app.add_option("--noise", noise, "fraction of voxels to replace by salt or pepper")
    ->capture_default_str()
    ->check(CLI::Range(0.0, 1.0));
  app.add_option("input", input, "3-D scan to read")->required();
  app.add_option("output", output, "picture to write")->required();
  CLI11_PARSE(app, argc, argv);
  try
  {
    return Run(input, output, radius, noise);
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianFigure: " << error.what() << std::endl;
    return 1;
  }
}
