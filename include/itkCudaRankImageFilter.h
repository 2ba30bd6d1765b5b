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
#ifndef itkCudaRankImageFilter_h
#define itkCudaRankImageFilter_h

// Nothing is here where ITK's module ITKMathematicalMorphology is not: the filter derives from one of its classes, and
// this module depends on no more than the median filter does.
#if __has_include("itkRankImageFilter.h")

#  include "itkCudaMedianImageFilter.h"
#  include "itkFlatStructuringElement.h"
#  include "itkRankImageFilter.h"

#  include <vector>

namespace itk
{

/** \class CudaRankImageFilter
 * \brief The exact rank filter of itk::RankImageFilter, on an NVIDIA GPU or with tile programs on the CPU.
 *
 * \image html CudaRankImageFilter.png "A slice, and of 3x3 pixels the least, both quartiles and the greatest"
 *
 * Rank 0 is the minimum of the window, 0.5 its median, 1 its maximum. The rank counts as in ITK: of the N pixels of the
 * window that lie in the image, sorted, the one with the index Rank * (N - 1), without its fraction and counted from 0,
 * in single precision. At the border windows are clipped, and have fewer pixels. The result equals that of
 * itk::RankImageFilter for every input without NaN. It is also right where ITK's moving histogram loses its place: in
 * regions of one or two pixels along an axis. For floating point pixels this filter defines what ITK leaves
 * undefined: -0 orders before +0 and every NaN after +infinity.
 *
 * Kernels of any shape run on this module's engine, with pixels from char to long long, float and double, in images of
 * one to four dimensions. Pixels whose windows are clipped are found one by one on the host, but for the minimum and
 * the maximum of boxes, which are the engine's everywhere. A window none of whose pixels lies in the image has its own
 * pixel. Other pixels and dimensions run ITK's own implementation; GetExecutionReport() says so.
 *
 * Images that have their pixels in device memory too, as in CudaMedianImageFilter, are filtered there where no window
 * is clipped: for the minimum and the maximum of boxes.
 *
 * \sa RankImageFilter
 * \sa CudaMedianImageFilter
 * \ingroup CudaMedian
 * \ingroup ITKMathematicalMorphology */
template <typename TInputImage,
          typename TOutputImage = TInputImage,
          typename TKernel = FlatStructuringElement<TInputImage::ImageDimension>>
class ITK_TEMPLATE_EXPORT CudaRankImageFilter : public RankImageFilter<TInputImage, TOutputImage, TKernel>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaRankImageFilter);

  /** Standard class type aliases. */
  using Self = CudaRankImageFilter;
  using Superclass = RankImageFilter<TInputImage, TOutputImage, TKernel>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
#  ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaRankImageFilter);
#  else
  itkTypeMacro(CudaRankImageFilter, RankImageFilter);
#  endif

  static constexpr unsigned int InputImageDimension = TInputImage::ImageDimension;

  using InputImageType = TInputImage;
  using OutputImageType = TOutputImage;
  using InputPixelType = typename TInputImage::PixelType;
  using OutputPixelType = typename TOutputImage::PixelType;
  using InputImageRegionType = typename TInputImage::RegionType;
  using RadiusType = typename Superclass::RadiusType;
  using BackendEnum = CudaMedianImageFilterEnums::Backend;
  using AlgorithmEnum = CudaMedianImageFilterEnums::Algorithm;

  /** Where to run, as in CudaMedianImageFilter. Default: `Auto`. */
  itkSetEnumMacro(Backend, BackendEnum);
  itkGetEnumMacro(Backend, BackendEnum);

  /** How the values are found, as in CudaMedianImageFilter. Default: `Automatic`. */
  itkSetEnumMacro(Algorithm, AlgorithmEnum);
  itkGetEnumMacro(Algorithm, AlgorithmEnum);

  /** Whether to wait for kernels that are not compiled yet, as in CudaMedianImageFilter. Off by default. */
  itkSetMacro(WaitForKernels, bool);
  itkGetConstMacro(WaitForKernels, bool);
  itkBooleanMacro(WaitForKernels);

  /** Bytes of memory the filter may use on each device; 0, the default, allows a share of what is free. */
  itkSetMacro(DeviceMemoryBudget, SizeValueType);
  itkGetConstMacro(DeviceMemoryBudget, SizeValueType);

  /** Bytes of pinned memory of the host that slabs may pass through; 0, the default, allows a share of the host's. */
  itkSetMacro(HostMemoryBudget, SizeValueType);
  itkGetConstMacro(HostMemoryBudget, SizeValueType);

  /** Numbers of the CUDA devices that share the work; empty, the default, is the current device. */
  virtual void
  SetDevices(std::vector<int> devices);
  itkGetConstReferenceMacro(Devices, std::vector<int>);

  /** The CUDA stream of images in device memory, as in CudaMedianImageFilter. Default: the default stream. */
  virtual void
  SetStream(void * stream)
  {
    if (m_Stream != stream)
    {
      m_Stream = stream;
      this->Modified();
    }
  }
  virtual void *
  GetStream() const
  {
    return m_Stream;
  }

  /** What the last Update() ran, where, and why. Its `backend` is empty before the first. */
  const cudamedian::ExecutionReport &
  GetExecutionReport() const
  {
    return m_ExecutionReport;
  }

  /** The execution report as text, one "name: value" line per entry. */
  std::string
  GetExecutionReportAsString() const;

#  if !defined(ITK_WRAPPING_PARSER)
  /** The filter's request for others to carry out, as in CudaMedianImageFilter. */
  std::string
  DescribeStep(cudamedian::MedianRequest & request);
#  endif

protected:
  CudaRankImageFilter() = default;
  ~CudaRankImageFilter() override = default;

  void
  PrintSelf(std::ostream & os, Indent indent) const override;

  void
  GenerateData() override;

private:
  using RegionList = std::vector<InputImageRegionType>;

  using WeightsType = Neighborhood<SizeValueType, InputImageDimension>;

  /** Whether all pixels of the kernel count. */
  bool
  HasBoxKernel() const;

  /** The kernel's pixels as weights: 1 where they are on. */
  WeightsType
  MakeWeights() const;

  /** The pixels that windows are clipped to. */
  InputImageRegionType
  GetClipRegion() const;

  /** The index of the wanted value among so many sorted ones. */
  SizeValueType
  GetRankIndex(SizeValueType count) const;

  /** Takes out of the outputs those whose windows are clipped. \returns the others. */
  InputImageRegionType
  SplitBorder(RegionList & border) const;

  /** Writes the output, with the engine or with ITK's own filter. */
  void
  Generate();

  /** Whether the least or the greatest pixel of a box is wanted, which clipped windows have as those that are extended
   * to the nearest pixels. */
  bool
  IsExtremeOfBox() const;

  /** The request for a region, without the places of the images. */
  cudamedian::MedianRequest
  MakeRequest(const InputImageRegionType & region) const;

  /** The engine's part. */
  void
  RunEngine(const InputImageRegionType & region, float end);

  /** The pixels with clipped windows, in parallel. */
  void
  SelectBorder(const RegionList & border);

  /** Finds pixels with clipped windows one by one. */
  void
  SelectRegion(const InputImageRegionType & region);

  /** Whether ITK's moving histogram is right for a region of the border, and done before each window is listed. */
  bool
  IsHistogramFaster(const InputImageRegionType & region) const;

  BackendEnum                 m_Backend{ BackendEnum::Auto };
  AlgorithmEnum               m_Algorithm{ AlgorithmEnum::Automatic };
  bool                        m_WaitForKernels{ false };
  SizeValueType               m_DeviceMemoryBudget{ 0 };
  SizeValueType               m_HostMemoryBudget{ 0 };
  std::vector<int>            m_Devices;
  void *                      m_Stream{ nullptr };
  cudamedian::ExecutionReport m_ExecutionReport;
};

} // namespace itk

#  ifndef ITK_MANUAL_INSTANTIATION
#    include "itkCudaRankImageFilter.hxx"
#  endif

#endif // __has_include

#endif
