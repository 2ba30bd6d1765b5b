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
#ifndef FigurePanels_h
#define FigurePanels_h

// Pictures of slices side by side, which the documentation shows.

#include "itkImage.h"
#include "itkImageRegionIteratorWithIndex.h"
#include "itkSaltAndPepperNoiseImageFilter.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cudamedianexample
{

using ScanType = itk::Image<short, 3>;

/** Pixels of the picture for each pixel of the slice, along both axes. */
inline constexpr unsigned int Magnification = 3;
/** Pixels between two panels. */
inline constexpr unsigned int Gap = 6;

struct IntensityWindow
{
  double low;
  double high;
};

/** From the darkest value to the one that all but two of a thousand voxels stay below: a few bright voxels would
 * otherwise darken the whole picture. */
inline IntensityWindow
WindowOf(const ScanType * scan)
{
  const auto         count = scan->GetBufferedRegion().GetNumberOfPixels();
  std::vector<short> values(scan->GetBufferPointer(), scan->GetBufferPointer() + count);
  const auto         high = values.begin() + static_cast<std::ptrdiff_t>(0.998 * (values.size() - 1));
  std::nth_element(values.begin(), high, values.end());
  return { static_cast<double>(*std::min_element(values.begin(), high + 1)), static_cast<double>(*high) };
}

inline ScanType::Pointer
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
inline bool
RowsRunUpwards(const ScanType::DirectionType & direction)
{
  return std::abs(direction(2, 1)) > std::abs(direction(1, 1)) ? direction(2, 1) > 0 : direction(1, 1) < 0;
}

/** A white picture for panels of slices of a scan, side by side. */
template <typename TPicture>
typename TPicture::Pointer
MakePicture(const ScanType * scan, unsigned int panels, const typename TPicture::PixelType & white)
{
  const auto size = scan->GetLargestPossibleRegion().GetSize();
  const auto picture = TPicture::New();
  picture->SetRegions(
    typename TPicture::SizeType{ { panels * (Magnification * size[0] + Gap) - Gap, Magnification * size[1] } });
  picture->Allocate();
  picture->FillBuffer(white);
  return picture;
}

/** Draws the middle slice of `pixelOf(index)`, as the picture's panel of that number. */
template <typename TPicture, typename TPixelOf>
void
DrawPanel(TPicture * picture, const ScanType * scan, unsigned int panel, const TPixelOf & pixelOf)
{
  const auto                region = scan->GetLargestPossibleRegion();
  const auto                slice = region.GetIndex(2) + static_cast<itk::IndexValueType>(region.GetSize(2) / 2);
  const auto                width = static_cast<itk::IndexValueType>(Magnification * region.GetSize(0));
  const itk::IndexValueType height = region.GetSize(1);
  const itk::IndexValueType left = panel * (width + Gap);
  const bool                upsideDown = RowsRunUpwards(scan->GetDirection());
  itk::ImageRegionIteratorWithIndex<TPicture> pixel(
    picture,
    typename TPicture::RegionType({ { left, 0 } },
                                  { { Magnification * region.GetSize(0), Magnification * region.GetSize(1) } }));
  for (; !pixel.IsAtEnd(); ++pixel)
  {
    const itk::IndexValueType column = (pixel.GetIndex()[0] - left) / Magnification;
    const itk::IndexValueType row = pixel.GetIndex()[1] / Magnification;
    pixel.Set(pixelOf(ScanType::IndexType{
      { region.GetIndex(0) + column, region.GetIndex(1) + (upsideDown ? height - 1 - row : row), slice } }));
  }
}

/** A grey value for a part of the range of grey values. */
inline unsigned char
GreyOf(double part)
{
  return static_cast<unsigned char>(std::lround(255 * std::clamp(part, 0.0, 1.0)));
}

} // namespace cudamedianexample

#endif
