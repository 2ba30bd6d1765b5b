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
#ifndef itkCudaVectorMedianImageFilter_h
#define itkCudaVectorMedianImageFilter_h

#include "itkBoxImageFilter.h"
#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianVectorMedian.h"
#include "itkVectorImage.h"

#include <vector>

namespace itk
{

/** \class CudaVectorMedianImageFilterEnums
 * \brief Enumerations of CudaVectorMedianImageFilter.
 * \ingroup CudaMedian */
class CudaVectorMedianImageFilterEnums
{
public:
  /** \class Norm
   * \ingroup CudaMedian
   * How far two pixels are apart: the sum of the absolute differences of their components, or the root of the sum of
   * the squared ones. */
  enum class Norm : uint8_t
  {
    L1,
    L2
  };
};

/** Writes the name of the norm. */
inline std::ostream &
operator<<(std::ostream & out, CudaVectorMedianImageFilterEnums::Norm value)
{
  return out << cudamedian::ToString(static_cast<cudamedian::VectorNorm>(value));
}

/** \class CudaVectorMedianImageFilter
 * \brief The vector median of images whose pixels have two to four components, on an NVIDIA GPU or on the CPU.
 *
 * \image html CudaVectorMedianImageFilter.png "Noise in components, the median of each, and the vector median"
 *
 * Every output pixel is the pixel of the window around it whose distances to the others have the least sum (J. Astola,
 * P. Haavisto and Y. Neuvo, "Vector Median Filters", 1990); of several the first in the window's raster order. No
 * output is a colour or a vector that the window does not have. Windows hold 25 pixels at most: 5x5, or 3x3 in the
 * slices of a volume. Coordinates are clamped to the input's buffered region (zero-flux Neumann border).
 *
 * Pixels are those of Image with RGBPixel, RGBAPixel, Vector, CovariantVector or std::complex, and of VectorImage, in
 * one to four dimensions; components are scalars from char to long long, float and double. An alpha value is a
 * component like the others. Both backends yield the same image to the last bit: cudamedian::RunVectorMedian() says how
 * sums are rounded, and what NaN does.
 *
 * Requested regions, streaming, progress, abort and the number of work units behave as in itk::MedianImageFilter. An
 * exception leaves the filter reusable.
 *
 * \sa CudaMedianImageFilter
 * \ingroup CudaMedian
 * \ingroup IntensityImageFilters */
template <typename TImage>
class ITK_TEMPLATE_EXPORT CudaVectorMedianImageFilter : public BoxImageFilter<TImage, TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaVectorMedianImageFilter);

  using Self = CudaVectorMedianImageFilter;
  using Superclass = BoxImageFilter<TImage, TImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaVectorMedianImageFilter);
#else
  itkTypeMacro(CudaVectorMedianImageFilter, BoxImageFilter);
#endif

  static constexpr unsigned int ImageDimension = TImage::ImageDimension;

  using ImageType = TImage;
  using PixelType = typename TImage::PixelType;
  using ComponentType = typename NumericTraits<PixelType>::ValueType;
  using BackendEnum = CudaMedianImageFilterEnums::Backend;
  using NormEnum = CudaVectorMedianImageFilterEnums::Norm;

  /** How far two pixels are apart. Default: `L1`. */
  itkSetEnumMacro(Norm, NormEnum);
  itkGetEnumMacro(Norm, NormEnum);

  /** Where to run. Default: `Auto`, which takes CUDA where a device can be used. `Cuda` without a usable device throws
   * at Update(). When CUDA fails on the way, `Auto` has the CPU filter the image from the start, and the report's
   * backendReason says why. */
  itkSetEnumMacro(Backend, BackendEnum);
  itkGetEnumMacro(Backend, BackendEnum);

  /** Bytes of memory the filter may use on each device; 0, the default, allows a share of what is free. A budget that
   * cannot hold the smallest slab throws at Update(), unless the backend is `Auto`, which takes the CPU then. */
  itkSetMacro(DeviceMemoryBudget, SizeValueType);
  itkGetConstMacro(DeviceMemoryBudget, SizeValueType);

  /** Numbers of the CUDA devices that share the work; empty, the default, is the current device. */
  virtual void
  SetDevices(std::vector<int> devices);
  itkGetConstReferenceMacro(Devices, std::vector<int>);

  /** What the last Update() ran, where, and why. Its `backend` is empty before the first. */
  const cudamedian::ExecutionReport &
  GetExecutionReport() const
  {
    return m_ExecutionReport;
  }

  /** The execution report as text, one "name: value" line per entry. */
  std::string
  GetExecutionReportAsString() const;

protected:
  CudaVectorMedianImageFilter() = default;
  ~CudaVectorMedianImageFilter() override = default;

  void
  PrintSelf(std::ostream & os, Indent indent) const override;

  void
  GenerateData() override;

private:
  void
  Generate();

  cudamedian::VectorMedianRequest
  DescribeImages();

  NormEnum                    m_Norm{ NormEnum::L1 };
  BackendEnum                 m_Backend{ BackendEnum::Auto };
  SizeValueType               m_DeviceMemoryBudget{ 0 };
  std::vector<int>            m_Devices;
  cudamedian::ExecutionReport m_ExecutionReport;
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkCudaVectorMedianImageFilter.hxx"
#endif

#endif
