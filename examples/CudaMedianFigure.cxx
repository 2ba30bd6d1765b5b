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

#include "itkCudaMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkSaltAndPepperNoiseImageFilter.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <vector>

namespace
{

using ScanType = itk::Image<short, 3>;
using PictureType = itk::Image<unsigned char, 2>;

/** Pixels of the picture for each pixel of the slice, along both axes. */
constexpr unsigned int Magnification = 3;
/** Pixels between two panels. */
constexpr unsigned int Gap = 6;

struct IntensityWindow
{
  double low;
  double high;
};

/** From the darkest value to the one that all but two of a thousand voxels stay below: a few bright voxels would
 * otherwise darken the whole picture. */
IntensityWindow
WindowOf(const ScanType * scan)
{
  const auto         count = scan->GetBufferedRegion().GetNumberOfPixels();
  std::vector<short> values(scan->GetBufferPointer(), scan->GetBufferPointer() + count);
  const auto         high = values.begin() + static_cast<std::ptrdiff_t>(0.998 * (values.size() - 1));
  std::nth_element(values.begin(), high, values.end());
  return { static_cast<double>(*std::min_element(values.begin(), high + 1)), static_cast<double>(*high) };
}

ScanType::Pointer
AddNoise(const ScanType * scan, const IntensityWindow & window, double fraction)
{
  const auto noise = itk::SaltAndPepperNoiseImageFilter<ScanType, ScanType>::New();
  noise->SetInput(scan);
  noise->SetProbability(fraction);
  noise->SetSaltValue(static_cast<short>(window.high));
  noise->SetPepperValue(static_cast<short>(window.low));
  noise->SetSeed(20250801);
  // Each work unit draws its own numbers: with one, the noise is the same on every machine.
  noise->SetNumberOfWorkUnits(1);
  noise->Update();
  return noise->GetOutput();
}

/** Whether the patient's head or front would be at the bottom. Physical z runs to the head, physical y to the back. */
bool
RowsRunUpwards(const ScanType::DirectionType & direction)
{
  return std::abs(direction(2, 1)) > std::abs(direction(1, 1)) ? direction(2, 1) > 0 : direction(1, 1) < 0;
}

/** Draws the middle slice of `value(index)` with its left edge at column `left`. */
template <typename TValue>
void
DrawPanel(PictureType * picture, const ScanType * scan, unsigned int left, double scale, const TValue & value)
{
  const auto                region = scan->GetLargestPossibleRegion();
  const auto                slice = region.GetIndex(2) + static_cast<itk::IndexValueType>(region.GetSize(2) / 2);
  const itk::IndexValueType height = region.GetSize(1);
  const bool                upsideDown = RowsRunUpwards(scan->GetDirection());
  itk::ImageRegionIteratorWithIndex<PictureType> pixel(
    picture,
    PictureType::RegionType({ { left, 0 } },
                            { { Magnification * region.GetSize(0), Magnification * region.GetSize(1) } }));
  for (; !pixel.IsAtEnd(); ++pixel)
  {
    const itk::IndexValueType column = (pixel.GetIndex()[0] - left) / Magnification;
    const itk::IndexValueType row = pixel.GetIndex()[1] / Magnification;
    const ScanType::IndexType index{
      { region.GetIndex(0) + column, region.GetIndex(1) + (upsideDown ? height - 1 - row : row), slice }
    };
    pixel.Set(static_cast<unsigned char>(std::lround(255 * std::clamp(scale * value(index), 0.0, 1.0))));
  }
}

PictureType::Pointer
DrawFigure(const ScanType * noisy, const ScanType * filtered, const IntensityWindow & window)
{
  const auto   size = noisy->GetLargestPossibleRegion().GetSize();
  const auto   width = static_cast<unsigned int>(Magnification * size[0]);
  const auto   picture = PictureType::New();
  const double scale = 1 / std::max(window.high - window.low, 1.0);
  picture->SetRegions(PictureType::SizeType{ { 3 * width + 2 * Gap, Magnification * size[1] } });
  picture->Allocate();
  picture->FillBuffer(255);
  DrawPanel(
    picture, noisy, 0, scale, [&](const ScanType::IndexType & index) { return noisy->GetPixel(index) - window.low; });
  DrawPanel(picture, noisy, width + Gap, scale, [&](const ScanType::IndexType & index) {
    return filtered->GetPixel(index) - window.low;
  });
  DrawPanel(picture, noisy, 2 * (width + Gap), scale, [&](const ScanType::IndexType & index) {
    return std::abs(static_cast<double>(noisy->GetPixel(index)) - filtered->GetPixel(index));
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
