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
#ifndef FuzzFilters_hxx
#define FuzzFilters_hxx

#include "FuzzFilters.h"
#include "FuzzImage.h"

#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianPinnedImageContainer.h"
#include "itkImage.h"
#include "itkMedianImageFilter.h"

#include <algorithm>
#include <cstring>

/** Included by one source file for each dimension: the filters of all pixel types are much to compile. */
namespace cudamedianfuzz
{

template <typename TImage>
typename TImage::Pointer
MakeInput(const Case & c, const std::vector<char> & pixels, bool pinned)
{
  using Pixel = typename TImage::PixelType;
  const auto image = TImage::New();
  if (pinned)
  {
    image->SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, Pixel>::New());
  }
  typename TImage::RegionType region;
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    region.SetIndex(axis, c.index[axis]);
    region.SetSize(axis, static_cast<itk::SizeValueType>(c.size[axis]));
  }
  image->SetRegions(region);
  image->Allocate();
  if (!pixels.empty())
  {
    std::memcpy(image->GetBufferPointer(), pixels.data(), pixels.size());
  }
  return image;
}

/** The requested region's pixels, once the filter has been updated. */
template <typename TImage>
std::vector<char>
TakePixels(const TImage & image, const typename TImage::RegionType & region, std::string & wrong)
{
  // ITK takes a region without pixels for one that has not been set.
  if (image.GetBufferedRegion() != region &&
      region.GetNumberOfPixels() + image.GetBufferedRegion().GetNumberOfPixels() > 0)
  {
    wrong = "the buffered region is not the requested one";
    return {};
  }
  const auto        bytes = region.GetNumberOfPixels() * sizeof(typename TImage::PixelType);
  std::vector<char> pixels(bytes);
  if (bytes > 0)
  {
    std::memcpy(pixels.data(), image.GetBufferPointer(), bytes);
  }
  return pixels;
}

/** What an exception says, without the address of the filter that ITK puts before it. */
inline std::string
GetText(const itk::ExceptionObject & error)
{
  const std::string text = error.GetDescription();
  const auto        address = text.find("): ");
  return text.compare(0, 3, "ITK") == 0 && address != std::string::npos ? text.substr(address + 3) : text;
}

template <typename TFilter>
void
UpdateFilter(TFilter & filter, const Case & c, FilterResult & result)
{
  using OutputImage = typename TFilter::OutputImageType;
  typename OutputImage::RegionType region;
  for (unsigned int axis = 0; axis < OutputImage::ImageDimension; ++axis)
  {
    region.SetIndex(axis, c.index[axis] + c.offset[axis]);
    region.SetSize(axis, static_cast<itk::SizeValueType>(c.region[axis]));
  }
  try
  {
    filter.UpdateOutputInformation();
    filter.GetOutput()->SetRequestedRegion(region);
    filter.Update();
    result.pixels = TakePixels(*filter.GetOutput(), region, result.wrong);
    if (c.again)
    {
      filter.Modified();
      filter.Update();
      if (result.wrong.empty() && TakePixels(*filter.GetOutput(), region, result.wrong) != result.pixels)
      {
        result.wrong = "the second update differs from the first";
      }
    }
  }
  catch (const itk::InvalidRequestedRegionError & error)
  {
    result.error = GetText(error);
    result.regionError = true;
  }
  catch (const itk::ExceptionObject & error)
  {
    result.error = GetText(error);
  }
  catch (const std::exception & error)
  {
    result.error = std::string("not an itk::ExceptionObject: ") + error.what();
  }
}

template <typename TPixel, typename TOutput, unsigned int VDimension>
FilterResult
RunFilter(const Case & c, const std::vector<char> & pixels, bool byItk)
{
  using InputImage = itk::Image<TPixel, VDimension>;
  using OutputImage = itk::Image<TOutput, VDimension>;
  using Filter = itk::CudaMedianImageFilter<InputImage, OutputImage>;
  using ItkFilter = itk::MedianImageFilter<InputImage, OutputImage>;

  FilterResult                  result;
  typename InputImage::Pointer  input = MakeInput<InputImage>(c, pixels, c.pinned && !byItk);
  typename InputImage::SizeType radius;
  const auto                    given = byItk ? c.GetEffectiveRadius() : c.radius;
  for (unsigned int axis = 0; axis < VDimension; ++axis)
  {
    radius[axis] = static_cast<itk::SizeValueType>(given[axis]);
  }
  if (byItk)
  {
    const auto filter = ItkFilter::New();
    filter->SetInput(input);
    filter->SetRadius(radius);
    filter->SetNumberOfWorkUnits(1);
    UpdateFilter(*filter, c, result);
    return result;
  }
  const auto filter = Filter::New();
  filter->SetInput(input);
  filter->SetRadius(radius);
  filter->SetSliceWise(c.sliceWise);
  filter->SetBackend(static_cast<typename Filter::BackendEnum>(c.backend));
  filter->SetAlgorithm(static_cast<typename Filter::AlgorithmEnum>(c.algorithm));
  filter->SetDeviceMemoryBudget(c.budget);
  filter->SetDevices(c.devices);
  filter->SetNumberOfWorkUnits(c.units);
  if (c.pinned)
  {
    filter->GetOutput()->SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, TOutput>::New());
  }
  UpdateFilter(*filter, c, result);
  result.report = filter->GetExecutionReport();
  // An image without pixels has no memory.
  if (!pixels.empty() && std::memcmp(input->GetBufferPointer(), pixels.data(), pixels.size()) != 0)
  {
    result.wrong = "the input was written to";
  }
  return result;
}

template <unsigned int VDimension, typename TPixel>
FilterRunner
ChooseRunner(bool otherOutput)
{
  return otherOutput ? &RunFilter<TPixel, typename OtherOutput<TPixel>::Type, VDimension>
                     : &RunFilter<TPixel, TPixel, VDimension>;
}

template <unsigned int VDimension>
FilterRunner
ChooseRunner(PixelType type, bool otherOutput)
{
  switch (type)
  {
    case PixelType::Int8:
      return ChooseRunner<VDimension, std::int8_t>(otherOutput);
    case PixelType::UInt8:
      return ChooseRunner<VDimension, std::uint8_t>(otherOutput);
    case PixelType::Int16:
      return ChooseRunner<VDimension, std::int16_t>(otherOutput);
    case PixelType::UInt16:
      return ChooseRunner<VDimension, std::uint16_t>(otherOutput);
    case PixelType::Int32:
      return ChooseRunner<VDimension, std::int32_t>(otherOutput);
    case PixelType::UInt32:
      return ChooseRunner<VDimension, std::uint32_t>(otherOutput);
    case PixelType::Int64:
      return ChooseRunner<VDimension, std::int64_t>(otherOutput);
    case PixelType::UInt64:
      return ChooseRunner<VDimension, std::uint64_t>(otherOutput);
    case PixelType::Float32:
      return ChooseRunner<VDimension, float>(otherOutput);
    default:
      return ChooseRunner<VDimension, double>(otherOutput);
  }
}

} // namespace cudamedianfuzz

#endif
