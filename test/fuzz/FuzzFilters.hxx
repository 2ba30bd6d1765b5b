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
#include "FuzzWindow.h"

#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianPinnedImageContainer.h"
#include "itkImage.h"
#include "itkMedianImageFilter.h"

#include <algorithm>
#include <cstring>

/** Included by one source file for each dimension: the filters of all pixel types are much to compile. */
namespace cudamedianfuzz
{

/** Radii in the units of the spacing are exact: all are powers of 2. */
constexpr double spacings[] = { 0.5, 2, 1, 0.25 };

template <typename TImage>
void
SetSpacing(TImage & image)
{
  auto spacing = image.GetSpacing();
  for (unsigned int axis = 0; axis < TImage::ImageDimension; ++axis)
  {
    spacing[axis] = spacings[axis];
  }
  image.SetSpacing(spacing);
}

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
  SetSpacing(*image);
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

/** The filter with what only classes that derive from it ask of the engine: other ranks, and shifted windows. */
template <typename TInputImage, typename TOutputImage>
class RequestingFilter : public itk::CudaMedianImageFilter<TInputImage, TOutputImage>
{
public:
  ITK_DISALLOW_COPY_AND_ASSIGN(RequestingFilter);

  using Self = RequestingFilter;
  using Superclass = itk::CudaMedianImageFilter<TInputImage, TOutputImage>;
  using Pointer = itk::SmartPointer<Self>;

  itkNewMacro(Self);

  std::int64_t m_Rank{ -1 };
  Extent       m_Shift{ { 0, 0, 0, 0 } };

protected:
  RequestingFilter() = default;

  void
  ChangeRequest(cudamedian::MedianRequest & request) const override
  {
    request.rank = m_Rank;
    request.shift = m_Shift;
  }
};

/** The pixel of a key. */
template <typename TPixel>
TPixel
ToPixel(const Case & c, std::uint64_t key)
{
  const auto bytes = ToPixels(c.type, { key });
  TPixel     pixel;
  std::memcpy(&pixel, bytes.data(), sizeof(pixel));
  return pixel;
}

template <typename TFilter>
void
SetWindow(TFilter & filter, const Case & c)
{
  constexpr unsigned int       dimension = TFilter::InputImageDimension;
  typename TFilter::RadiusType radius;
  for (unsigned int axis = 0; axis < dimension; ++axis)
  {
    radius[axis] = static_cast<itk::SizeValueType>(c.radius[axis]);
    if (c.shorter[axis] > 0)
    {
      filter.SetEvenWindow(axis, true);
    }
  }
  filter.SetRadius(radius);
  filter.SetEvenMedian(static_cast<typename TFilter::EvenMedianEnum>(c.evenMedian));
  filter.m_Rank = c.rank;
  filter.m_Shift = c.shift;
  if (c.shape == Shape::Box)
  {
    return;
  }
  if (c.shape == Shape::Ellipsoid)
  {
    typename TFilter::PhysicalRadiusType reach;
    for (unsigned int axis = 0; axis < dimension; ++axis)
    {
      reach[axis] = static_cast<double>(c.reach[axis]) / 4 * spacings[axis];
    }
    filter.SetPhysicalRadius(reach);
    return;
  }
  if (c.shape == Shape::Centered)
  {
    filter.SetCenterWeight(static_cast<itk::SizeValueType>(c.centerWeight));
    return;
  }
  const auto                      effective = c.GetEffectiveRadius();
  typename TFilter::WeightsType   weights;
  typename TFilter::FootprintType isOn;
  std::copy_n(effective.begin(), dimension, radius.begin());
  weights.SetRadius(radius);
  isOn.SetRadius(radius);
  itk::SizeValueType number = 0;
  for (const auto weight : ListWeights(c))
  {
    weights[number] = static_cast<itk::SizeValueType>(weight);
    isOn[number++] = weight > 0;
  }
  if (c.shape == Shape::Cross)
  {
    filter.SetFootprint(cudamedian::Footprint::MakeCross(effective));
  }
  else if (c.shape == Shape::Ring || c.shape == Shape::Holes)
  {
    filter.SetFootprint(isOn);
  }
  else
  {
    filter.SetWeights(weights);
  }
}

/** An image of integers that is not 0 where the case says that pixels are valid. */
template <typename TMask>
typename TMask::Pointer
MakeMaskImage(const Case & c)
{
  const auto        valid = MakeMask(c);
  std::vector<char> bytes(valid.size() * sizeof(typename TMask::PixelType));
  const auto        mask = MakeInput<TMask>(c, bytes, false);
  for (std::size_t i = 0; i < valid.size(); ++i)
  {
    // Any bit makes a pixel valid.
    const auto bit = (i * 5 + c.maskSeed) % (8 * sizeof(typename TMask::PixelType));
    mask->GetBufferPointer()[i] =
      valid[i] == '1' ? static_cast<typename TMask::PixelType>(std::uint64_t{ 1 } << bit) : 0;
  }
  return mask;
}

template <unsigned int VDimension, typename TFilter>
void
SetMask(TFilter & filter, const Case & c)
{
  switch (c.mask == Mask::None ? 0 : c.maskBytes)
  {
    case 0:
      break;
    case 1:
      filter.SetMaskImage(MakeMaskImage<itk::Image<unsigned char, VDimension>>(c));
      break;
    case 2:
      filter.SetMaskImage(MakeMaskImage<itk::Image<short, VDimension>>(c));
      break;
    case 4:
      filter.SetMaskImage(MakeMaskImage<itk::Image<unsigned int, VDimension>>(c));
      break;
    default:
      filter.SetMaskImage(MakeMaskImage<itk::Image<long, VDimension>>(c));
      break;
  }
}

template <typename TFilter>
void
SetRules(TFilter & filter, const Case & c)
{
  using Pixel = typename TFilter::InputPixelType;
  for (unsigned int axis = 0; axis < TFilter::InputImageDimension; ++axis)
  {
    filter.SetBoundaryMode(axis, static_cast<typename TFilter::BoundaryEnum>(c.border[axis]));
  }
  filter.SetBoundaryConstant(ToPixel<Pixel>(c, c.constant));
  SetMask<TFilter::InputImageDimension>(filter, c);
  if (c.hasIgnored)
  {
    filter.SetIgnoredValue(ToPixel<Pixel>(c, c.ignored));
  }
  filter.SetNaNPolicy(c.omitsNaN ? TFilter::NaNPolicyEnum::Omit : TFilter::NaNPolicyEnum::Order);
  filter.SetEmptyWindow(c.hasEmptyValue ? TFilter::EmptyWindowEnum::Value : TFilter::EmptyWindowEnum::Input);
  filter.SetEmptyValue(ToPixel<Pixel>(c, c.emptyValue));
  filter.SetInvalidOutput(static_cast<typename TFilter::InvalidOutputEnum>(c.invalidOutput));
  filter.SetInvalidValue(ToPixel<Pixel>(c, c.invalidValue));
  filter.SetOutlierRule(static_cast<typename TFilter::OutlierRuleEnum>(c.outlierRule));
  filter.SetOutlierThreshold(c.threshold);
}

template <typename TPixel, typename TOutput, unsigned int VDimension>
FilterResult
RunFilter(const Case & c, const std::vector<char> & pixels, bool byItk)
{
  using InputImage = itk::Image<TPixel, VDimension>;
  using OutputImage = itk::Image<TOutput, VDimension>;
  using Filter = RequestingFilter<InputImage, OutputImage>;
  using ItkFilter = itk::MedianImageFilter<InputImage, OutputImage>;

  FilterResult                 result;
  typename InputImage::Pointer input = MakeInput<InputImage>(c, pixels, c.pinned && !byItk);
  if (byItk)
  {
    typename InputImage::SizeType radius;
    const auto                    effective = c.GetEffectiveRadius();
    std::copy_n(effective.begin(), VDimension, radius.begin());
    const auto filter = ItkFilter::New();
    filter->SetInput(input);
    filter->SetRadius(radius);
    filter->SetNumberOfWorkUnits(1);
    UpdateFilter(*filter, c, result);
    return result;
  }
  const auto filter = Filter::New();
  filter->SetInput(input);
  SetWindow(*filter, c);
  SetRules(*filter, c);
  filter->SetSliceWise(c.sliceWise);
  filter->SetBackend(static_cast<typename Filter::BackendEnum>(c.backend));
  filter->SetAlgorithm(static_cast<typename Filter::AlgorithmEnum>(c.algorithm));
  filter->WaitForKernelsOn(); // it is the kernels that are tested, and a case is to run as it did before
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
