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
// Draws the pictures that Doxygen's pages of the filters show, from a scan of a head.
//
// CudaMedianClassFigures input.nii.gz folder

#include "FigurePanels.h"

#include "itkCudaMedianChainImageFilter.h"
#include "itkCudaMedianImageFilter.h"
#include "itkCudaRankImageFilter.h"
#include "itkCudaVectorMedianImageFilter.h"
#include "itkImageFileReader.h"
#include "itkImageFileWriter.h"
#include "itkRGBPixel.h"

#include <CLI/CLI.hpp>

#include <cmath>
#include <iostream>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace cudamedianexample;
using PictureType = itk::Image<unsigned char, 2>;
using ColorType = itk::RGBPixel<unsigned char>;
using ColorPictureType = itk::Image<ColorType, 2>;
using ColorScanType = itk::Image<ColorType, 3>;
using RankType = itk::CudaRankImageFilter<ScanType>;

constexpr double noiseFraction = 0.1;

void
WriteSlices(const std::vector<ScanType::Pointer> & scans, const IntensityWindow & window, const std::string & path)
{
  const auto   picture = MakePicture<PictureType>(scans[0], static_cast<unsigned int>(scans.size()), 255);
  const double scale = 1 / std::max(window.high - window.low, 1.0);
  for (std::size_t i = 0; i < scans.size(); ++i)
  {
    DrawPanel(picture.GetPointer(), scans[i], static_cast<unsigned int>(i), [&](const ScanType::IndexType & index) {
      return GreyOf(scale * (scans[i]->GetPixel(index) - window.low));
    });
  }
  itk::WriteImage(picture, path);
}

RankType::Pointer
MakeRank(double rank, const RankType::RadiusType & radius)
{
  const auto filter = RankType::New();
  filter->SetRank(rank);
  filter->SetRadius(radius);
  return filter;
}

/** The scan, and the least, the lower quartile, the upper quartile and the greatest of 3x3x1. */
void
DrawRanks(ScanType * scan, const IntensityWindow & window, const std::string & path)
{
  std::vector<ScanType::Pointer> scans{ scan };
  for (const double rank : { 0.0, 0.25, 0.75, 1.0 })
  {
    const auto filter = MakeRank(rank, { { 1, 1, 0 } });
    filter->SetInput(scan);
    filter->Update();
    scans.push_back(filter->GetOutput());
  }
  WriteSlices(scans, window, path);
}

/** The scan with noise, its median, and the minimum and then the maximum of that, which remove what is thin and bright.
 */
void
DrawChain(ScanType * noisy, const IntensityWindow & window, const std::string & path)
{
  const auto median = itk::CudaMedianImageFilter<ScanType>::New();
  median->SetRadius(1);
  const auto chain = itk::CudaMedianChainImageFilter<ScanType>::New();
  chain->SetInput(noisy);
  std::vector<ScanType::Pointer> scans{ noisy };
  const auto                     addStep = [&](const auto & filter) {
    chain->AddFilter(filter);
    chain->Update();
    scans.push_back(chain->GetOutput());
    scans.back()->DisconnectPipeline();
  };
  addStep(median);
  addStep(MakeRank(0, { { 2, 2, 0 } }));
  addStep(MakeRank(1, { { 2, 2, 0 } }));
  WriteSlices(scans, window, path);
}

/** The scan in colors, with components replaced at random. */
ColorScanType::Pointer
MakeNoisyColors(const ScanType * scan, const IntensityWindow & window)
{
  const auto colors = ColorScanType::New();
  colors->SetRegions(scan->GetLargestPossibleRegion());
  colors->Allocate();
  std::mt19937                                     random(20261126);
  itk::ImageRegionIteratorWithIndex<ColorScanType> color(colors, colors->GetLargestPossibleRegion());
  for (; !color.IsAtEnd(); ++color)
  {
    const double part =
      std::clamp((scan->GetPixel(color.GetIndex()) - window.low) / std::max(window.high - window.low, 1.0), 0.0, 1.0);
    ColorType    value;
    const double exponents[] = { 0.6, 1.0, 1.7 };
    for (unsigned int component = 0; component < 3; ++component)
    {
      const auto number = random();
      value[component] = number < noiseFraction * std::mt19937::max() ? (number % 2) * 255
                                                                      : GreyOf(std::pow(part, exponents[component]));
    }
    color.Set(value);
  }
  return colors;
}

/** Colors with noise in single components, the median of each component, and the vector median, of 3x3x1. */
void
DrawVectorMedian(const ScanType * scan, const IntensityWindow & window, const std::string & path)
{
  const auto                    noisy = MakeNoisyColors(scan, window);
  const ColorScanType::SizeType radius{ { 1, 1, 0 } };
  const auto                    components = itk::CudaMedianImageFilter<ColorScanType>::New();
  components->SetInput(noisy);
  components->SetRadius(radius);
  components->Update();
  const auto vectors = itk::CudaVectorMedianImageFilter<ColorScanType>::New();
  vectors->SetInput(noisy);
  vectors->SetRadius(radius);
  vectors->Update();
  ColorType white;
  white.Fill(255);
  const auto            picture = MakePicture<ColorPictureType>(scan, 3, white);
  const ColorScanType * images[] = { noisy, components->GetOutput(), vectors->GetOutput() };
  for (unsigned int i = 0; i < 3; ++i)
  {
    DrawPanel(
      picture.GetPointer(), scan, i, [&](const ScanType::IndexType & index) { return images[i]->GetPixel(index); });
  }
  itk::WriteImage(picture, path);
}

void
Run(const std::string & input, const std::string & folder)
{
  const ScanType::Pointer scan = itk::ReadImage<ScanType>(input);
  const auto              window = WindowOf(scan);
  const ScanType::Pointer noisy = AddNoise(scan, window, noiseFraction);
  DrawRanks(scan, window, folder + "/CudaRankImageFilter.png");
  DrawChain(noisy, window, folder + "/CudaMedianChainImageFilter.png");
  DrawVectorMedian(scan, window, folder + "/CudaVectorMedianImageFilter.png");
}

} // namespace

int
main(int argc, char * argv[])
{
  std::string input;
  std::string folder;
  CLI::App    app("Draws the pictures of the filters' pages.", "CudaMedianClassFigures");
  app.add_option("input", input, "3-D scan to read")->required();
  app.add_option("folder", folder, "where to write the pictures")->required();
  CLI11_PARSE(app, argc, argv);
  try
  {
    Run(input, folder);
    return 0;
  }
  catch (const std::exception & error)
  {
    std::cerr << "CudaMedianClassFigures: " << error.what() << std::endl;
    return 1;
  }
}
