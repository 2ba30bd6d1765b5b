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

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

namespace itk
{
namespace CudaMedianImageFilterDetail
{

/** The engine's name for a pixel type; `supported` is false for types the engine has no keys for. */
template <typename TPixel>
struct EnginePixel
{
  static constexpr bool isInteger =
    std::is_integral<TPixel>::value && !std::is_same<TPixel, bool>::value && sizeof(TPixel) <= 8;
  static constexpr bool supported =
    isInteger || std::is_same<TPixel, float>::value || std::is_same<TPixel, double>::value;

  static cudamedian::PixelType
  GetType()
  {
    using Type = cudamedian::PixelType;
    if (std::is_floating_point<TPixel>::value)
    {
      return sizeof(TPixel) == 4 ? Type::Float32 : Type::Float64;
    }
    const bool isSigned = std::numeric_limits<TPixel>::is_signed;
    switch (sizeof(TPixel))
    {
      case 1:
        return isSigned ? Type::Int8 : Type::UInt8;
      case 2:
        return isSigned ? Type::Int16 : Type::UInt16;
      case 4:
        return isSigned ? Type::Int32 : Type::UInt32;
      default:
        return isSigned ? Type::Int64 : Type::UInt64;
    }
  }
};

template <typename TInputPixel, typename TOutputPixel>
void
ConvertRow(const void * source, void * destination, std::size_t count)
{
  const auto * input = static_cast<const TInputPixel *>(source);
  std::transform(input, input + count, static_cast<TOutputPixel *>(destination), [](const TInputPixel pixel) {
    return static_cast<TOutputPixel>(pixel);
  });
}

} // namespace CudaMedianImageFilterDetail

template <typename TInputImage, typename TOutputImage>
auto
CudaMedianImageFilter<TInputImage, TOutputImage>::GetRadius() const -> const RadiusType &
{
  // The superclass reads its radius here; while it stands in for the engine that is the effective one.
  return m_SuperclassRadius != nullptr ? *m_SuperclassRadius : Superclass::GetRadius();
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetDevices(std::vector<int> devices)
{
  if (m_Devices != devices)
  {
    m_Devices = std::move(devices);
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
auto
CudaMedianImageFilter<TInputImage, TOutputImage>::GetEffectiveRadius() const -> RadiusType
{
  auto radius = this->GetRadius();
  if (m_SliceWise)
  {
    radius[InputImageDimension - 1] = 0;
  }
  return radius;
}

template <typename TInputImage, typename TOutputImage>
std::string
CudaMedianImageFilter<TInputImage, TOutputImage>::GetExecutionReportAsString() const
{
  std::ostringstream text;
  m_ExecutionReport.Print(text);
  return text.str();
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion()
{
  if (!m_SliceWise)
  {
    Superclass::GenerateInputRequestedRegion();
    return;
  }
  // Skips BoxImageFilter, which would pad by the whole radius.
  ImageToImageFilter<TInputImage, TOutputImage>::GenerateInputRequestedRegion();
  auto * input = const_cast<TInputImage *>(this->GetInput());
  if (input == nullptr)
  {
    return;
  }
  auto region = input->GetRequestedRegion();
  region.PadByRadius(this->GetEffectiveRadius());
  const bool cropped = region.Crop(input->GetLargestPossibleRegion());
  input->SetRequestedRegion(region);
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
  using Pixel = CudaMedianImageFilterDetail::EnginePixel<InputPixelType>;
  const auto radius = this->GetEffectiveRadius();
  m_ExecutionReport = cudamedian::ExecutionReport();

  unsigned int axes = 0;
  for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
  {
    axes += radius[axis] > 0 ? 1 : 0;
  }
  if constexpr (!Pixel::supported || !std::is_arithmetic<OutputPixelType>::value)
  {
    this->RunSuperclass(radius, "the engine has no keys for this pixel type");
  }
  else if constexpr (InputImageDimension > cudamedian::Dimension)
  {
    this->RunSuperclass(radius, "the engine takes images of up to four dimensions");
  }
  else if (axes > 3)
  {
    this->RunSuperclass(radius, "the engine takes up to three axes with a radius above 0");
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
  m_ExecutionReport.backend = "ITK";
  m_ExecutionReport.backendReason = reason;
  m_ExecutionReport.device = "host";
  m_ExecutionReport.algorithm = "itk::MedianImageFilter";
  m_ExecutionReport.algorithmReason = reason;
  m_ExecutionReport.workUnits = this->GetNumberOfWorkUnits();
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

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::RunEngine(const RadiusType & radius)
{
  using Pixel = CudaMedianImageFilterDetail::EnginePixel<InputPixelType>;
  this->AllocateOutputs();
  const auto * input = this->GetInput();
  auto *       output = this->GetOutput();
  const auto   inputRegion = input->GetBufferedRegion();
  const auto   bufferedRegion = output->GetBufferedRegion();
  const auto   requestedRegion = output->GetRequestedRegion();

  cudamedian::MedianRequest request;
  request.pixelType = Pixel::GetType();
  request.input = input->GetBufferPointer();
  request.inputExtent = { { 1, 1, 1, 1 } };
  request.outputExtent = { { 1, 1, 1, 1 } };
  std::int64_t stride = 1;
  for (unsigned int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    request.outputStride[axis] = stride;
    if (axis < InputImageDimension)
    {
      constexpr auto most = static_cast<SizeValueType>(std::numeric_limits<std::int64_t>::max());
      request.radius[axis] = static_cast<std::int64_t>(std::min(static_cast<SizeValueType>(radius[axis]), most));
      request.inputExtent[axis] = static_cast<std::int64_t>(inputRegion.GetSize(axis));
      request.outputOrigin[axis] = requestedRegion.GetIndex(axis) - inputRegion.GetIndex(axis);
      request.outputExtent[axis] = static_cast<std::int64_t>(requestedRegion.GetSize(axis));
      stride *= static_cast<std::int64_t>(bufferedRegion.GetSize(axis));
    }
  }
  request.outputPixelBytes = sizeof(OutputPixelType);
  if (requestedRegion.GetNumberOfPixels() > 0)
  {
    request.output = output->GetBufferPointer() + output->ComputeOffset(requestedRegion.GetIndex());
  }
  if (!std::is_same<InputPixelType, OutputPixelType>::value)
  {
    request.convertRow = &CudaMedianImageFilterDetail::ConvertRow<InputPixelType, OutputPixelType>;
  }
  request.backend = static_cast<cudamedian::Backend>(m_Backend);
  request.algorithm = static_cast<cudamedian::Algorithm>(m_Algorithm);
  request.deviceMemoryBudget = m_DeviceMemoryBudget;
  request.hostMemoryBudget = m_HostMemoryBudget;
  request.devices = m_Devices;
  request.workUnits = static_cast<unsigned int>(this->GetNumberOfWorkUnits());
  request.parallelFor = [this](std::size_t count, const std::function<void(std::size_t)> & body) {
    auto * threader = this->GetMultiThreader();
    threader->SetNumberOfWorkUnits(static_cast<ThreadIdType>(count));
    threader->ParallelizeArray(
      0, count, [&body](SizeValueType unit) { body(static_cast<std::size_t>(unit)); }, nullptr);
  };
  request.progress = [this](float fraction) {
    this->UpdateProgress(fraction);
    if (this->GetAbortGenerateData())
    {
      ProcessAborted aborted(__FILE__, __LINE__);
      aborted.SetDescription("Filter execution was aborted by an external request");
      throw aborted;
    }
  };

  request.progress(0.0F);
  try
  {
    m_ExecutionReport = cudamedian::RunMedian(request);
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

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "SliceWise: " << (m_SliceWise ? "On" : "Off") << std::endl;
  os << indent << "Backend: " << m_Backend << std::endl;
  os << indent << "Algorithm: " << m_Algorithm << std::endl;
  os << indent << "DeviceMemoryBudget: " << m_DeviceMemoryBudget << std::endl;
  os << indent << "HostMemoryBudget: " << m_HostMemoryBudget << std::endl;
  os << indent << "Devices:" << (m_Devices.empty() ? " (the current one)" : "");
  for (const int device : m_Devices)
  {
    os << " " << device;
  }
  os << std::endl;
  os << indent << "ExecutionReport: " << (m_ExecutionReport.backend.empty() ? "(none)" : "") << std::endl;
  if (!m_ExecutionReport.backend.empty())
  {
    std::ostringstream next;
    next << indent.GetNextIndent();
    m_ExecutionReport.Print(os, next.str());
  }
}

} // namespace itk

#endif
