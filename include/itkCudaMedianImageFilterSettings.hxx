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
#ifndef itkCudaMedianImageFilterSettings_hxx
#define itkCudaMedianImageFilterSettings_hxx

#include "itkCudaMedianImageFilter.h"

#include <algorithm>
#include <sstream>
#include <utility>

// What the filter is told and what it tells: settings, reports and its description.
namespace itk
{
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
void
CudaMedianImageFilter<TInputImage, TOutputImage>::ChangeShape(Shape shape)
{
  m_Shape = shape;
  this->Modified();
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetFootprint(const cudamedian::Footprint * footprint)
{
  const auto shape = footprint != nullptr ? Shape::Footprint : Shape::Box;
  if (m_Shape != shape || m_Footprint != footprint)
  {
    m_Footprint = footprint;
    this->ChangeShape(shape);
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetFootprint(const FootprintType & footprint)
{
  this->SetFootprint(CudaMedianFilterDetail::MakeFootprint(*this, footprint));
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetWeights(const WeightsType & weights)
{
  this->SetFootprint(CudaMedianFilterDetail::MakeFootprint(*this, weights));
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetPhysicalRadius(const PhysicalRadiusType & radius)
{
  if (m_Shape != Shape::Ellipsoid || m_PhysicalRadius != radius)
  {
    m_PhysicalRadius = radius;
    this->ChangeShape(Shape::Ellipsoid);
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetPhysicalRadius(double radius)
{
  this->SetPhysicalRadius(PhysicalRadiusType::Filled(radius));
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetCenterWeight(SizeValueType weight)
{
  const auto shape = weight == 1 ? Shape::Box : Shape::CenterWeighted;
  if (m_Shape != shape || m_CenterWeight != weight)
  {
    m_CenterWeight = weight;
    this->ChangeShape(shape);
  }
}

template <typename TInputImage, typename TOutputImage>
SizeValueType
CudaMedianImageFilter<TInputImage, TOutputImage>::GetCenterWeight() const
{
  return m_Shape == Shape::CenterWeighted ? m_CenterWeight : 1;
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::ClearFootprint()
{
  this->SetFootprint(static_cast<const cudamedian::Footprint *>(nullptr));
}

template <typename TInputImage, typename TOutputImage>
const cudamedian::Footprint *
CudaMedianImageFilter<TInputImage, TOutputImage>::GetFootprint() const
{
  const auto * footprint = m_Footprint;
  switch (m_Shape)
  {
    case Shape::Box:
      return nullptr;
    case Shape::Footprint:
      break;
    case Shape::Ellipsoid:
    {
      const auto * input = this->GetInput();
      if (input == nullptr)
      {
        itkExceptionMacro(<< "The physical radius " << m_PhysicalRadius << " needs the spacing of an input");
      }
      const auto spacing = input->GetSpacing();
      auto       radius = m_PhysicalRadius;
      for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
      {
        radius[axis] = m_SliceWise && axis == InputImageDimension - 1 ? 0 : radius[axis] / spacing[axis];
      }
      footprint = CudaMedianFilterDetail::MakeEllipsoid(*this, radius);
      break;
    }
    case Shape::CenterWeighted:
    {
      auto radius = Superclass::GetRadius();
      radius[InputImageDimension - 1] = m_SliceWise ? 0 : radius[InputImageDimension - 1];
      footprint = CudaMedianFilterDetail::MakeCenterWeighted(*this, radius, m_CenterWeight);
      break;
    }
  }
  const auto alongLast = footprint->GetRadius()[std::min<int>(InputImageDimension, cudamedian::Dimension) - 1];
  if (m_SliceWise && alongLast > 0)
  {
    itkExceptionMacro(<< "The footprint reaches " << alongLast
                      << " pixels along the last axis, and slice by slice it may reach 0");
  }
  return footprint;
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetMaskImage(const MaskImageType * mask)
{
  this->ProcessObject::SetInput("MaskImage", const_cast<MaskImageType *>(mask));
}

template <typename TInputImage, typename TOutputImage>
auto
CudaMedianImageFilter<TInputImage, TOutputImage>::GetMaskImage() const -> const MaskImageType *
{
  return dynamic_cast<const MaskImageType *>(this->ProcessObject::GetInput("MaskImage"));
}

template <typename TInputImage, typename TOutputImage>
template <typename TValue>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetValue(TValue & member, const TValue & value)
{
  // As numbers -0 would be no change of 0, and a NaN that is set again would be one.
  if (!CudaMedianFilterDetail::AreSameBits(member, value))
  {
    member = value;
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetBoundaryConstant(const InputPixelType & constant)
{
  this->SetValue(m_BoundaryConstant, constant);
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetEmptyValue(InputValueType value)
{
  this->SetValue(m_EmptyValue, value);
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetInvalidValue(InputValueType value)
{
  this->SetValue(m_InvalidValue, value);
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetIgnoredValue(InputValueType value)
{
  if (!m_HasIgnoredValue)
  {
    m_HasIgnoredValue = true;
    this->Modified();
  }
  this->SetValue(m_IgnoredValue, value);
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::ClearIgnoredValue()
{
  if (m_HasIgnoredValue)
  {
    m_HasIgnoredValue = false;
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
std::string
CudaMedianImageFilter<TInputImage, TOutputImage>::GetExecutionReportAsString() const
{
  std::ostringstream text;
  m_ExecutionReport.Print(text);
  if (m_IsFilteredInPlace || !m_InPlaceReason.empty())
  {
    text << "In place: " << (m_IsFilteredInPlace ? "yes" : m_InPlaceReason) << "\n";
  }
  return text.str();
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::CheckAxis(unsigned int axis) const
{
  if (axis >= InputImageDimension)
  {
    itkExceptionMacro(<< "Axis " << axis << " is none of an image of " << InputImageDimension << " dimensions");
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetBoundaryMode(BoundaryEnum mode)
{
  for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
  {
    this->SetBoundaryMode(axis, mode);
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetBoundaryMode(unsigned int axis, BoundaryEnum mode)
{
  this->CheckAxis(axis);
  if (m_BoundaryMode[axis] != mode)
  {
    m_BoundaryMode[axis] = mode;
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
auto
CudaMedianImageFilter<TInputImage, TOutputImage>::GetBoundaryMode(unsigned int axis) const -> BoundaryEnum
{
  this->CheckAxis(axis);
  return m_BoundaryMode[axis];
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetEvenWindow(bool even)
{
  for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
  {
    this->SetEvenWindow(axis, even);
  }
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::SetEvenWindow(unsigned int axis, bool even)
{
  this->CheckAxis(axis);
  if (m_EvenWindow[axis] != even)
  {
    m_EvenWindow[axis] = even;
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage>
bool
CudaMedianImageFilter<TInputImage, TOutputImage>::GetEvenWindow(unsigned int axis) const
{
  this->CheckAxis(axis);
  return m_EvenWindow[axis];
}

template <typename TInputImage, typename TOutputImage>
void
CudaMedianImageFilter<TInputImage, TOutputImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "SliceWise: " << (m_SliceWise ? "On" : "Off") << std::endl;
  os << indent << "InPlace: " << (m_InPlace ? "On" : "Off") << std::endl;
  os << indent << "BoundaryMode: " << m_BoundaryMode << std::endl;
  os << indent
     << "BoundaryConstant: " << static_cast<typename NumericTraits<InputPixelType>::PrintType>(m_BoundaryConstant)
     << std::endl;
  os << indent << "EvenWindow: " << m_EvenWindow << std::endl;
  os << indent << "EvenMedian: " << m_EvenMedian << std::endl;
  os << indent << "Footprint: "
     << (m_Shape == Shape::Footprint        ? m_Footprint->Describe()
         : m_Shape == Shape::Ellipsoid      ? "an ellipsoid of physical radius"
         : m_Shape == Shape::CenterWeighted ? "a box with a weight of its center"
                                            : "box")
     << std::endl;
  os << indent << "PhysicalRadius: " << m_PhysicalRadius << std::endl;
  os << indent << "CenterWeight: " << m_CenterWeight << std::endl;
  using ValuePrintType = typename NumericTraits<InputValueType>::PrintType;
  os << indent << "IgnoredValue: " << (m_HasIgnoredValue ? "" : "(none) ")
     << static_cast<ValuePrintType>(m_IgnoredValue) << std::endl;
  os << indent << "NaNPolicy: " << m_NaNPolicy << std::endl;
  os << indent << "EmptyWindow: " << m_EmptyWindow << std::endl;
  os << indent << "EmptyValue: " << static_cast<ValuePrintType>(m_EmptyValue) << std::endl;
  os << indent << "InvalidOutput: " << m_InvalidOutput << std::endl;
  os << indent << "InvalidValue: " << static_cast<ValuePrintType>(m_InvalidValue) << std::endl;
  os << indent << "OutlierRule: " << m_OutlierRule << std::endl;
  os << indent << "OutlierThreshold: " << m_OutlierThreshold << std::endl;
  os << indent << "Backend: " << m_Backend << std::endl;
  os << indent << "Algorithm: " << m_Algorithm << std::endl;
  os << indent << "WaitForKernels: " << (m_WaitForKernels ? "On" : "Off") << std::endl;
  os << indent << "DeviceMemoryBudget: " << m_DeviceMemoryBudget << std::endl;
  os << indent << "HostMemoryBudget: " << m_HostMemoryBudget << std::endl;
  CudaMedianFilterDetail::PrintDevices(os, indent, m_Devices);
  os << indent << "Stream: " << m_Stream << std::endl;
  CudaMedianFilterDetail::PrintReport(os, indent, m_ExecutionReport);
}

} // namespace itk

#endif
