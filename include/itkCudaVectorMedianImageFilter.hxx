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
#ifndef itkCudaVectorMedianImageFilter_hxx
#define itkCudaVectorMedianImageFilter_hxx

#include "itkCudaVectorMedianImageFilter.h"

#include <algorithm>
#include <limits>
#include <sstream>
#include <utility>

namespace itk
{

template <typename TImage>
void
CudaVectorMedianImageFilter<TImage>::SetDevices(std::vector<int> devices)
{
  if (m_Devices != devices)
  {
    m_Devices = std::move(devices);
    this->Modified();
  }
}

template <typename TImage>
std::string
CudaVectorMedianImageFilter<TImage>::GetExecutionReportAsString() const
{
  std::ostringstream text;
  m_ExecutionReport.Print(text);
  return text.str();
}

/** Says where pixels lie. VectorImage has components where other images have pixels. */
template <typename TImage>
cudamedian::VectorMedianRequest
CudaVectorMedianImageFilter<TImage>::DescribeImages()
{
  const auto *   input = this->GetInput();
  auto *         output = this->GetOutput();
  const auto     inputRegion = input->GetBufferedRegion();
  const auto     bufferedRegion = output->GetBufferedRegion();
  const auto     requestedRegion = output->GetRequestedRegion();
  constexpr auto inElement = sizeof(typename TImage::InternalPixelType) / sizeof(ComponentType);
  static_assert(inElement * sizeof(ComponentType) == sizeof(typename TImage::InternalPixelType),
                "a pixel is its components, one after the other");
  constexpr bool isVectorImage = inElement == 1;

  cudamedian::VectorMedianRequest request;
  request.componentType = CudaMedianFilterDetail::EnginePixel<ComponentType>::GetType();
  request.components =
    isVectorImage ? static_cast<int>(input->GetNumberOfComponentsPerPixel()) : static_cast<int>(inElement);
  request.input = input->GetBufferPointer();
  request.inputExtent = { { 1, 1, 1, 1 } };
  request.outputExtent = { { 1, 1, 1, 1 } };
  std::int64_t stride = 1;
  for (unsigned int axis = 0; axis < cudamedian::Dimension; ++axis)
  {
    request.outputStride[axis] = stride;
    if (axis < ImageDimension)
    {
      constexpr auto most = static_cast<SizeValueType>(std::numeric_limits<std::int64_t>::max());
      request.radius[axis] =
        static_cast<std::int64_t>(std::min(static_cast<SizeValueType>(this->GetRadius()[axis]), most));
      request.inputExtent[axis] = static_cast<std::int64_t>(inputRegion.GetSize(axis));
      request.outputOrigin[axis] = requestedRegion.GetIndex(axis) - inputRegion.GetIndex(axis);
      request.outputExtent[axis] = static_cast<std::int64_t>(requestedRegion.GetSize(axis));
      stride *= static_cast<std::int64_t>(bufferedRegion.GetSize(axis));
    }
  }
  if (requestedRegion.GetNumberOfPixels() > 0)
  {
    request.output = output->GetBufferPointer() +
                     output->ComputeOffset(requestedRegion.GetIndex()) * (isVectorImage ? request.components : 1);
  }
  return request;
}

template <typename TImage>
void
CudaVectorMedianImageFilter<TImage>::GenerateData()
{
  static_assert(CudaMedianFilterDetail::EnginePixel<ComponentType>::supported, "components are scalars");
  static_assert(ImageDimension <= cudamedian::Dimension, "images have one to four dimensions");
  m_ExecutionReport = cudamedian::ExecutionReport();
  CudaMedianFilterDetail::GenerateOrRelease(*this, [this] { this->Generate(); });
}

template <typename TImage>
void
CudaVectorMedianImageFilter<TImage>::Generate()
{
  this->AllocateOutputs();
  auto request = this->DescribeImages();
  request.norm = static_cast<cudamedian::VectorNorm>(m_Norm);
  request.backend = static_cast<cudamedian::Backend>(m_Backend);
  request.deviceMemoryBudget = m_DeviceMemoryBudget;
  request.devices = m_Devices;
  CudaMedianFilterDetail::UseThreads(*this, request);
  request.progress = [this](float fraction) { CudaMedianFilterDetail::TellProgress(*this, fraction); };

  request.progress(0.0F);
  try
  {
    m_ExecutionReport = cudamedian::RunVectorMedian(request);
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

template <typename TImage>
void
CudaVectorMedianImageFilter<TImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Norm: " << m_Norm << std::endl;
  os << indent << "Backend: " << m_Backend << std::endl;
  os << indent << "DeviceMemoryBudget: " << m_DeviceMemoryBudget << std::endl;
  CudaMedianFilterDetail::PrintDevices(os, indent, m_Devices);
  CudaMedianFilterDetail::PrintReport(os, indent, m_ExecutionReport);
}

} // namespace itk

#endif
