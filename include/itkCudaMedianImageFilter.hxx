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
#ifndef itkCudaMedianImageFilter_hxx
#define itkCudaMedianImageFilter_hxx

#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianImageFilterSettings.hxx"

#include <algorithm>
#include <cstring>
#include <string>

namespace itk
{
template <typename TInputImage, typename TOutputImage>
auto
CudaMedianImageFilter<TInputImage, TOutputImage>::GetEffectiveRadius() const -> RadiusType
{
  auto radius = this->GetRadius();
  if (const auto * footprint = this->GetFootprint())
  {
    for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
    {
      // Images of more dimensions than the engine's have no footprints, and are refused where it is told.
      radius[axis] = axis < cudamedian::Dimension
                       ? static_cast<SizeValueType>(footprint->GetRadius()[axis % cudamedian::Dimension])
                       : 0;
    }
  }
  if (m_SliceWise)
  {
    radius[InputImageDimension - 1] = 0;
  }
  return radius;
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::VerifyInputInformation() const
{
  Superclass::VerifyInputInformation();
  const auto * input = this->GetInput();
  const auto * mask = this->GetMaskImage();
  if (input != nullptr && mask != nullptr && mask->GetLargestPossibleRegion() != input->GetLargestPossibleRegion())
  {
    itkExceptionMacro(<< "The mask's pixels are those at " << mask->GetLargestPossibleRegion().GetIndex() << " of size "
                      << mask->GetLargestPossibleRegion().GetSize() << "; they have to be those of the input, at "
                      << input->GetLargestPossibleRegion().GetIndex() << " of size "
                      << input->GetLargestPossibleRegion().GetSize());
  }
}

template <typename TInputImage, typename TOutputImage>
bool
CudaMedianImageFilter<TInputImage, TOutputImage>::WrapsAround() const
{
  return std::find(m_BoundaryMode.Begin(), m_BoundaryMode.End(), BoundaryEnum::Wrap) != m_BoundaryMode.End();
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  auto * mask = const_cast<MaskImageType *>(this->GetMaskImage());
  if (!m_SliceWise && !this->WrapsAround() && m_Shape == Shape::Box && mask == nullptr)
  {
    Superclass::GenerateInputRequestedRegion();
    return;
  }
  // Skips BoxImageFilter, which would pad by the whole radius and crop what wraps around.
  ImageToImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion();
  auto * input = const_cast<TInputImage *>(this->GetInput());
  if (input == nullptr)
  {
    return;
  }
  const auto whole = input->GetLargestPossibleRegion();
  auto       region = input->GetRequestedRegion();
  region.PadByRadius(this->GetEffectiveRadius());
  const auto padded = region;
  const bool cropped = region.Crop(whole);
  for (unsigned int axis = 0; axis < InputImageDimension && cropped; ++axis)
  {
    // Windows that leave the image come back at its far side.
    if (m_BoundaryMode[axis] == BoundaryEnum::Wrap && region.GetSize(axis) != padded.GetSize(axis))
    {
      region.SetIndex(axis, whole.GetIndex(axis));
      region.SetSize(axis, whole.GetSize(axis));
    }
  }
  input->SetRequestedRegion(region);
  if (mask != nullptr)
  {
    mask->SetRequestedRegion(region);
  }
  if (!cropped)
  {
    InvalidRequestedRegionError error(__FILE__, __LINE__);
    error.SetLocation(std::string(this->GetNameOfClass()) + "::GenerateInputRequestedRegion()");
    error.SetDescription("Requested region is (at least partially) outside the largest possible region.");
    error.SetDataObject(input);
    throw error;
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::GenerateData()
{
  using InputTraits = CudaMedianFilterDetail::ImageTraits<TInputImage>;
  using OutputTraits = CudaMedianFilterDetail::ImageTraits<TOutputImage>;
  static_assert(InputTraits::isScalar == OutputTraits::isScalar,
                "the pixels of input and output have one value both, or several both");
  const auto radius = this->GetEffectiveRadius();
  m_ExecutionReport = cudamedian::ExecutionReport();
  m_IsFilteredInPlace = false;
  m_InPlaceReason.clear();
  CudaMedianFilterDetail::GenerateOrRelease(*this, [&] { this->Generate(radius); });
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::Generate(const RadiusType & radius)
{
  using InputTraits = CudaMedianFilterDetail::ImageTraits<TInputImage>;
  using OutputTraits = CudaMedianFilterDetail::ImageTraits<TOutputImage>;
  if constexpr (!CudaMedianFilterDetail::EnginePixel<typename InputTraits::ValueType>::supported ||
                !std::is_arithmetic<typename OutputTraits::ValueType>::value)
  {
    this->RunSuperclass(radius, "the engine has no keys for this pixel type");
  }
  else if constexpr (InputImageDimension > cudamedian::Dimension)
  {
    this->RunSuperclass(radius, "the engine takes images of up to four dimensions");
  }
  else
  {
    this->RunEngine(radius);
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::RunSuperclass(const RadiusType & radius, const std::string & reason)
{
  if constexpr (!CudaMedianFilterDetail::ImageTraits<TInputImage>::isScalar)
  {
    itkExceptionMacro(<< reason << ", and ITK has no median of pixels of several values");
  }
  else
  {
    bool plain = true;
    for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
    {
      plain =
        plain && m_BoundaryMode[axis] == BoundaryEnum::ZeroFluxNeumann && !(m_EvenWindow[axis] && radius[axis] > 0);
    }
    const bool hasRules = this->GetMaskImage() != nullptr || m_HasIgnoredValue || m_NaNPolicy != NaNPolicyEnum::Order ||
                          m_OutlierRule != OutlierRuleEnum::None;
    if (!plain || hasRules || m_Shape != Shape::Box)
    {
      itkExceptionMacro(
        << reason
        << ", and itk::MedianImageFilter has boxes of odd size and the zero-flux Neumann boundary only, "
           "and neither masks nor outliers");
    }
    m_ExecutionReport.backend = "ITK";
    m_ExecutionReport.backendReason = reason;
    m_ExecutionReport.device = "host";
    m_ExecutionReport.algorithm = "itk::MedianImageFilter";
    m_ExecutionReport.algorithmReason = reason;
    m_ExecutionReport.workUnits = this->GetNumberOfWorkUnits();
    m_InPlaceReason = m_InPlace ? reason : "";
    m_SuperclassRadius = &radius;
    try
    {
      Superclass::GenerateData();
    }
    catch (...)
    {
      m_SuperclassRadius = nullptr;
      throw;
    }
    m_SuperclassRadius = nullptr;
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetBorderValue(cudamedian::MedianRequest & request,
                                                                 unsigned int                component) const
{
  const auto value = CudaMedianFilterDetail::GetValue<TInputImage>(m_BoundaryConstant, component);
  std::memcpy(request.borderValue.data(), &value, sizeof(value));
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetMask(cudamedian::MedianRequest & request) const
{
  const auto * mask = this->GetMaskImage();
  if (mask == nullptr)
  {
    return;
  }
  auto needed = this->GetInput()->GetRequestedRegion();
  auto region = this->GetInput()->GetBufferedRegion();
  if (needed.GetNumberOfPixels() == 0)
  {
    return; // nothing is cropped to nothing, and no output asks for a pixel
  }
  needed.Crop(region);
  if (!region.Crop(mask->GetBufferedRegion()) || !region.IsInside(needed))
  {
    itkExceptionMacro(<< "The mask has the pixels at " << mask->GetBufferedRegion().GetIndex() << " of size "
                      << mask->GetBufferedRegion().GetSize() << " in memory; the input's at " << needed.GetIndex()
                      << " of size " << needed.GetSize() << " are needed");
  }
  CudaMedianFilterDetail::CropInput(this->GetInput()->GetBufferedRegion(), region, sizeof(InputValueType), request);
  if (!CudaMedianFilterDetail::DescribeMask(*mask, region, request.validity))
  {
    itkExceptionMacro(<< "The mask is an " << mask->GetNameOfClass() << " of pixels that are no integers");
  }
}

template <typename TInputImage, typename TOutputImage>
cudamedian::MedianRequest
CudaMedianImageFilter<TInputImage, TOutputImage>::MakeRequest(const RadiusType & radius)
{
  cudamedian::MedianRequest request;
  const auto *              output = this->GetOutput();
  CudaMedianFilterDetail::DescribeImages(*this->GetInput(), *output, output->GetRequestedRegion(), radius, request);
  for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
  {
    request.border[axis] = static_cast<cudamedian::Border>(m_BoundaryMode[axis]);
    request.shorter[axis] = m_EvenWindow[axis] && radius[axis] > 0 ? 1 : 0;
  }
  const auto * footprint = this->GetFootprint();
  request.footprint = footprint != nullptr && !footprint->IsBox() ? footprint : nullptr;
  request.evenMedian = static_cast<cudamedian::EvenMedian>(m_EvenMedian);
  request.outlierRule = static_cast<cudamedian::OutlierRule>(m_OutlierRule);
  request.outlierThreshold = m_OutlierThreshold;
  auto & validity = request.validity;
  validity.hasIgnoredValue = m_HasIgnoredValue;
  validity.omitsNaN = m_NaNPolicy == NaNPolicyEnum::Omit;
  validity.emptyWindow = static_cast<cudamedian::EmptyWindow>(m_EmptyWindow);
  validity.invalidOutput = static_cast<cudamedian::InvalidOutput>(m_InvalidOutput);
  std::memcpy(validity.ignoredValue.data(), &m_IgnoredValue, sizeof(m_IgnoredValue));
  std::memcpy(validity.emptyValue.data(), &m_EmptyValue, sizeof(m_EmptyValue));
  std::memcpy(validity.invalidValue.data(), &m_InvalidValue, sizeof(m_InvalidValue));
  request.backend = static_cast<cudamedian::Backend>(m_Backend);
  request.algorithm = static_cast<cudamedian::Algorithm>(m_Algorithm);
  request.compilation = m_WaitForKernels ? cudamedian::Compilation::Wait : cudamedian::Compilation::Background;
  request.deviceMemoryBudget = m_DeviceMemoryBudget;
  request.hostMemoryBudget = m_HostMemoryBudget;
  request.devices = m_Devices;
  this->SetBorderValue(request, 0);
  this->ChangeRequest(request);
  return request;
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::RunEngineForEachValue(const cudamedian::MedianRequest & request,
                                                                        std::int64_t                      count)
{
  using InputValue = typename CudaMedianFilterDetail::ImageTraits<TInputImage>::ValueType;
  for (std::int64_t i = 0; i < count; ++i)
  {
    auto one = request;
    one.input = static_cast<const InputValue *>(request.input) + i;
    one.output = static_cast<char *>(request.output) + i * static_cast<std::int64_t>(request.outputPixelBytes);
    // An axis that holds the values has one of them.
    if constexpr (InputImageDimension < cudamedian::Dimension)
    {
      one.inputExtent[cudamedian::Dimension - 1] = 1;
      one.outputExtent[cudamedian::Dimension - 1] = 1;
    }
    this->SetBorderValue(one, static_cast<unsigned int>(i));
    const auto start = static_cast<float>(i) / static_cast<float>(count);
    const auto end = static_cast<float>(i + 1) / static_cast<float>(count);
    const auto done = m_ExecutionReport;
    m_ExecutionReport = CudaMedianFilterDetail::RunRequest(*this, one, start, end);
    m_ExecutionReport.numberOfSlabs += done.numberOfSlabs;
    m_ExecutionReport.transferSeconds += done.transferSeconds;
    m_ExecutionReport.kernelSeconds += done.kernelSeconds;
    m_ExecutionReport.totalSeconds += done.totalSeconds;
  }
  m_ExecutionReport.algorithmReason += "; one component after the other";
}

template <typename TInputImage, typename TOutputImage>
bool
CudaMedianImageFilter<TInputImage, TOutputImage>::AreFilteredTogether(const cudamedian::MedianRequest & request,
                                                                      std::int64_t                      count) const
{
  const auto & border = request.border;
  const bool   hasConstant = std::find(border.begin(), border.end(), cudamedian::Border::Constant) != border.end();
  bool         together = count == 1 || InputImageDimension < cudamedian::Dimension;
  for (unsigned int i = 1; i < count; ++i)
  {
    auto other = request;
    this->SetBorderValue(other, i);
    together = together && (!hasConstant || other.borderValue == request.borderValue);
  }
  return together;
}

template <typename TInputImage, typename TOutputImage>
std::string
CudaMedianImageFilter<TInputImage, TOutputImage>::FindObstacle(bool together) const
{
  const auto * mask = this->GetMaskImage();
  if (mask != nullptr)
  {
    cudamedian::Validity validity;
    if (cudamedian::FindDeviceAccess(typeid(*mask)) == nullptr ||
        !CudaMedianFilterDetail::DescribeMaskPixels(*mask, validity))
    {
      return "The mask has no pixels on a device";
    }
    if (mask->GetBufferedRegion() != this->GetInput()->GetBufferedRegion())
    {
      return "The mask's pixels in memory are not those of the input";
    }
  }
  return together ? "" : "In device memory components are not filtered one by one";
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::AddDeviceMask(cudamedian::MedianRequest & request) const
{
  const auto * mask = this->GetMaskImage();
  if (mask != nullptr)
  {
    CudaMedianFilterDetail::DescribeMaskPixels(*mask, request.validity);
    request.validity.mask = cudamedian::FindDeviceAccess(typeid(*mask))->GetInput(*mask);
  }
}

template <typename TInputImage, typename TOutputImage>
std::string
CudaMedianImageFilter<TInputImage, TOutputImage>::DescribeStep(cudamedian::MedianRequest & request)
{
  if constexpr (!CudaMedianFilterDetail::IsForEngine<TInputImage, TOutputImage>())
  {
    static_cast<void>(request);
    return "the engine has no keys for this pixel type, or no images of so many dimensions";
  }
  else
  {
    request = this->MakeRequest(this->GetEffectiveRadius());
    const auto count = CudaMedianFilterDetail::CountValues(*this->GetInput());
    return this->GetMaskImage() != nullptr ? "A chain's steps have no mask"
                                           : this->FindObstacle(this->AreFilteredTogether(request, count));
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::RunEngine(const RadiusType & radius)
{
  m_InPlaceReason = m_InPlace ? this->RunInPlace(radius) : "";
  m_IsFilteredInPlace = m_InPlace && m_InPlaceReason.empty();
  if (!m_IsFilteredInPlace)
  {
    this->RunBeside(radius);
  }
}

template <typename TInputImage, typename TOutputImage>
std::string
CudaMedianImageFilter<TInputImage, TOutputImage>::RunInPlace(const RadiusType & radius)
{
  using ImageOfNumbers = Image<InputPixelType, InputImageDimension>;
  if constexpr (!std::is_same<TInputImage, TOutputImage>::value ||
                !std::is_base_of<ImageOfNumbers, TInputImage>::value ||
                !CudaMedianFilterDetail::ImageTraits<TInputImage>::isScalar)
  {
    static_cast<void>(radius);
    return "pixels have several values, or the input and the output are not images of one type";
  }
  else
  {
    auto *     input = const_cast<TInputImage *>(this->GetInput());
    auto *     output = this->GetOutput();
    const auto region = output->GetRequestedRegion();
    if (CudaMedianFilterDetail::DeviceImages<TInputImage, TOutputImage>(*input, *output).IsAny())
    {
      return "the images have pixels on a device";
    }
    if (this->GetMaskImage() != nullptr)
    {
      return "there is a mask";
    }
    if (input->GetBufferedRegion() != region)
    {
      return "the input in memory is not the part that is asked for";
    }
    CudaMedianFilterDetail::TellProgress(*this, 0.0F);
    const typename TOutputImage::PixelContainerPointer own = output->GetPixelContainer();
    output->SetBufferedRegion(region);
    output->SetPixelContainer(input->GetPixelContainer());
    auto request = this->MakeRequest(radius);
    CudaMedianFilterDetail::SetPixels(*input, *output, region, request);
    try
    {
      const auto report = CudaMedianFilterDetail::RunRequestInPlace(*this, request);
      if (report.whyNot.empty())
      {
        m_ExecutionReport = report.whole;
        input->ReleaseData();
      }
      else
      {
        output->SetPixelContainer(own);
      }
      return report.whyNot;
    }
    catch (const cudamedian::DeviceError & error)
    {
      input->ReleaseData();
      itkExceptionMacro(<< error.what());
    }
    catch (...)
    {
      input->ReleaseData();
      throw;
    }
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::RunBeside(const RadiusType & radius)
{
  this->AllocateOutputs();
  const auto count = CudaMedianFilterDetail::CountValues(*this->GetInput());
  if (count != CudaMedianFilterDetail::CountValues(*this->GetOutput()))
  {
    itkExceptionMacro(<< "The input's pixels have " << count << " components, those of the output "
                      << CudaMedianFilterDetail::CountValues(*this->GetOutput()));
  }
  auto        request = this->MakeRequest(radius);
  const bool  together = this->AreFilteredTogether(request, count);
  std::string obstacle = this->FindObstacle(together);
  try
  {
    const auto addMask = [this](cudamedian::MedianRequest & onDevice) { this->AddDeviceMask(onDevice); };
    if (CudaMedianFilterDetail::RunOnDevice(*this, request, m_Stream, obstacle, m_ExecutionReport, addMask))
    {
      return;
    }
    auto * output = this->GetOutput();
    CudaMedianFilterDetail::SetPixels(*this->GetInput(), *output, output->GetRequestedRegion(), request);
    this->SetMask(request);
    if (together)
    {
      m_ExecutionReport = CudaMedianFilterDetail::RunRequest(*this, request);
    }
    else
    {
      this->RunEngineForEachValue(request, count);
    }
    CudaMedianFilterDetail::AddObstacle(obstacle, m_ExecutionReport);
  }
  catch (const cudamedian::RequestError & error)
  {
    itkExceptionMacro(<< error.what());
  }
  catch (const cudamedian::DeviceError & error)
  {
    itkExceptionMacro(<< error.what());
  }
}

} // namespace itk

#endif
