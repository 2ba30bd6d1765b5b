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
#ifndef CompareWithITK_h
#define CompareWithITK_h

#include "itkMedianImageFilter.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <ostream>
#include <type_traits>
#include <vector>

/** What itk::MedianImageFilter says about a result. */
struct Comparison
{
  std::uint64_t differingVoxels{ 0 };
  std::uint64_t windowsWithNaN{ 0 }; ///< windows where ITK's filter is undefined
  double        itkSeconds{ 0 };
};

/** Windows that hold NaN: ITK's filter compares with `<`, by which NaN has no place in an order. So such windows are
 * compared with the median by this project's order, which has −0 below +0 and every NaN above +infinity. */
namespace CompareWithITKDetail
{

template <typename TValue>
bool
IsLess(TValue one, TValue other)
{
  if (std::isnan(one) || std::isnan(other))
  {
    return !std::isnan(one) && std::isnan(other);
  }
  return one < other || (one == other && std::signbit(one) && !std::signbit(other));
}

/** Marks the pixels whose windows hold a marked pixel. The border repeats pixels that a window holds anyway. */
template <typename TImage>
void
Widen(std::vector<char> & marks, const typename TImage::SizeType & size, const typename TImage::SizeType & radius)
{
  std::size_t stride = 1;
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    const std::size_t        length = size[axis];
    std::vector<std::size_t> marked(length + 1, 0);
    for (std::size_t first = 0; first < marks.size(); ++first)
    {
      if (first / stride % length != 0)
      {
        continue;
      }
      for (std::size_t i = 0; i < length; ++i)
      {
        marked[i + 1] = marked[i] + (marks[first + i * stride] != 0 ? 1 : 0);
      }
      for (std::size_t i = 0; i < length; ++i)
      {
        const std::size_t begin = i - std::min<std::size_t>(i, radius[axis]);
        const std::size_t end = i + std::min<std::size_t>(length - 1 - i, radius[axis]) + 1;
        marks[first + i * stride] = marked[end] != marked[begin] ? 1 : 0;
      }
    }
    stride *= length;
  }
}

/** The median around a pixel, from all pixels of its window in order. */
template <typename TImage>
typename TImage::PixelType
PlainMedian(const TImage * image, const typename TImage::IndexType & center, const typename TImage::SizeType & radius)
{
  constexpr unsigned int                  dimension = TImage::ImageDimension;
  const auto                              region = image->GetBufferedRegion();
  std::vector<typename TImage::PixelType> window;
  typename TImage::OffsetType             offset;
  for (unsigned int axis = 0; axis < dimension; ++axis)
  {
    offset[axis] = -static_cast<itk::OffsetValueType>(radius[axis]);
  }
  for (unsigned int axis = 0; axis < dimension;)
  {
    typename TImage::IndexType index = center + offset;
    for (unsigned int i = 0; i < dimension; ++i)
    {
      index[i] = std::clamp(index[i], region.GetIndex(i), region.GetUpperIndex()[i]);
    }
    window.push_back(image->GetPixel(index));
    // Counts up through the window.
    for (axis = 0; axis < dimension && ++offset[axis] > static_cast<itk::OffsetValueType>(radius[axis]); ++axis)
    {
      offset[axis] = -static_cast<itk::OffsetValueType>(radius[axis]);
    }
  }
  const auto middle = window.begin() + static_cast<std::ptrdiff_t>(window.size() / 2);
  std::nth_element(window.begin(), middle, window.end(), &IsLess<typename TImage::PixelType>);
  return *middle;
}

} // namespace CompareWithITKDetail

/** Runs itk::MedianImageFilter on `input` and compares every voxel with `result` by ==; NaN equals NaN. Windows that
 * hold NaN are compared with a plain median instead. */
template <typename TImage>
Comparison
CompareWithITK(const TImage * input, const TImage * result, const typename TImage::SizeType & radius)
{
  using PixelType = typename TImage::PixelType;
  const auto        count = result->GetBufferedRegion().GetNumberOfPixels();
  std::vector<char> holdsNaN;
  // ITK's filter gets the image without its NaN: with them it may read where there is nothing.
  typename TImage::ConstPointer forITK = input;
  if constexpr (std::is_floating_point<PixelType>::value)
  {
    const auto * pixels = input->GetBufferPointer();
    if (std::any_of(pixels, pixels + count, [](PixelType pixel) { return std::isnan(pixel); }))
    {
      holdsNaN.resize(count);
      std::transform(
        pixels, pixels + count, holdsNaN.begin(), [](PixelType pixel) { return std::isnan(pixel) ? 1 : 0; });
      CompareWithITKDetail::Widen<TImage>(holdsNaN, input->GetBufferedRegion().GetSize(), radius);
      const auto copy = TImage::New();
      copy->CopyInformation(input);
      copy->SetRegions(input->GetBufferedRegion());
      copy->Allocate();
      std::transform(pixels, pixels + count, copy->GetBufferPointer(), [](PixelType pixel) {
        return std::isnan(pixel) ? PixelType(0) : pixel;
      });
      forITK = copy;
    }
  }

  const auto reference = itk::MedianImageFilter<TImage, TImage>::New();
  reference->SetInput(forITK);
  reference->SetRadius(radius);
  const auto start = std::chrono::steady_clock::now();
  reference->Update();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  Comparison comparison;
  comparison.itkSeconds = seconds.count();
  const auto * expected = reference->GetOutput()->GetBufferPointer();
  const auto * actual = result->GetBufferPointer();
  for (itk::SizeValueType i = 0; i < count; ++i)
  {
    PixelType value = expected[i];
    if constexpr (std::is_floating_point<PixelType>::value)
    {
      if (!holdsNaN.empty() && holdsNaN[i] != 0)
      {
        ++comparison.windowsWithNaN;
        const auto index = input->ComputeIndex(static_cast<itk::OffsetValueType>(i));
        value = CompareWithITKDetail::PlainMedian(input, index, radius);
      }
    }
    const bool bothNaN = value != value && actual[i] != actual[i];
    comparison.differingVoxels += (value == actual[i] || bothNaN) ? 0 : 1;
  }
  return comparison;
}

/** Prints the number of differing voxels, both times and their ratio. */
inline void
PrintComparison(std::ostream & os, const Comparison & comparison, double seconds)
{
  os << comparison.differingVoxels << (comparison.differingVoxels == 1 ? " voxel differs" : " voxels differ")
     << " from itk::MedianImageFilter\n"
     << "CudaMedianImageFilter: " << seconds << " s\n"
     << "itk::MedianImageFilter: " << comparison.itkSeconds << " s\n"
     << "ratio: " << comparison.itkSeconds / seconds << "\n";
  if (comparison.windowsWithNaN > 0)
  {
    os << comparison.windowsWithNaN << (comparison.windowsWithNaN == 1 ? " window holds" : " windows hold")
       << " NaN, where itk::MedianImageFilter is undefined: compared with the middle value of an order that has NaN "
          "last\n";
  }
}

#endif
