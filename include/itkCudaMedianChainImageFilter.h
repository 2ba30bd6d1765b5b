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
#ifndef itkCudaMedianChainImageFilter_h
#define itkCudaMedianChainImageFilter_h

#include "itkCudaMedianChain.h"
#include "itkCudaMedianDeviceImage.h"
#include "itkCudaMedianFilterDetail.h"
#include "itkImageToImageFilter.h"

#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace itk
{
namespace CudaMedianFilterDetail
{

/** \class ChainStep
 * A filter of a chain, and what is known by its type: its request, and its report. Empty where nothing is.
 *
 * \ingroup CudaMedian */
template <typename TImage>
struct ChainStep
{
  typename ImageToImageFilter<TImage, TImage>::Pointer     filter;
  std::function<std::string(cudamedian::MedianRequest &)>  describe;
  std::function<const cudamedian::ExecutionReport *(void)> report;
};

} // namespace CudaMedianFilterDetail

/** \class CudaMedianChainImageFilter
 * \brief Filters one behind the other, with what is between them in device memory.
 *
 * \image html CudaMedianChainImageFilter.png "Noise, the median, the minimum of that, and the maximum of that"
 *
 * AddFilter() takes filters as they are set, such as CudaMedianImageFilter and CudaRankImageFilter. The output is that
 * of the last of them, as in a pipeline. Where CUDA can filter the image in slabs for all of them, it is uploaded once
 * and downloaded once, and what is between the filters never comes to the host. Otherwise the filters run one after the
 * other, each on its own backend and with all that it can do, and GetReason() says why. Pixels are the same either way,
 * with a GPU and without.
 *
 * One after the other run: masks, ignored values, NaN that is omitted, outliers, clipped windows, those that wrap
 * around, ranks of CudaRankImageFilter other than the minimum and the maximum of boxes, and other filters of ITK;
 * filters that are to run on the CPU, or on different devices; images that have pixels on a device already, as
 * itk::CudaImage, which stay there anyway; and where CUDA fails, or slabs within the budget would be little more than
 * halo. Where all filters choose their backend, so does the chain: it is run on CUDA if that is estimated to be faster
 * than one filter after the other.
 *
 * Requested regions, streaming, progress, abort and exceptions are those of the filters in a pipeline. On CUDA the
 * devices and the algorithms are the filters', the budgets the least of theirs. The filters belong to the chain: their
 * inputs, their outputs and the flags that release them are set by it. Their settings may change at any time.
 *
 * \sa CudaMedianImageFilter
 * \sa CudaRankImageFilter
 * \ingroup CudaMedian
 * \ingroup IntensityImageFilters */
template <typename TImage>
class ITK_TEMPLATE_EXPORT CudaMedianChainImageFilter : public ImageToImageFilter<TImage, TImage>
{
public:
  ITK_DISALLOW_COPY_AND_MOVE(CudaMedianChainImageFilter);

  /** Standard class type aliases. */
  using Self = CudaMedianChainImageFilter;
  using Superclass = ImageToImageFilter<TImage, TImage>;
  using Pointer = SmartPointer<Self>;
  using ConstPointer = SmartPointer<const Self>;

  itkNewMacro(Self);
#ifdef itkOverrideGetNameOfClassMacro
  itkOverrideGetNameOfClassMacro(CudaMedianChainImageFilter);
#else
  itkTypeMacro(CudaMedianChainImageFilter, ImageToImageFilter);
#endif

  using ImageType = TImage;
  using FilterType = ImageToImageFilter<TImage, TImage>;

  /** Adds a filter behind those that are there. The chain sees what it can do by its type: a pointer to a base class is
   * one to a filter that runs by itself. */
  template <typename TFilter>
  void
  AddFilter(TFilter * filter);
  template <typename TFilter>
  void
  AddFilter(const SmartPointer<TFilter> & filter)
  {
    this->AddFilter(filter.GetPointer());
  }

  /** Removes all filters, whose inputs and outputs are their own again. */
  void
  ClearFilters();

  SizeValueType
  GetNumberOfFilters() const
  {
    return m_Steps.size();
  }

  /** One of the filters, counted from 0. */
  FilterType *
  GetFilter(SizeValueType number) const;

  /** Whether the last Update() kept what is between the filters in device memory. */
  bool
  IsKeptOnDevice() const
  {
    return m_IsKeptOnDevice;
  }

  /** Why it did not; empty where it did. */
  const std::string &
  GetReason() const
  {
    return m_Report.whyNot;
  }

  /** What the last Update() ran, for each filter and for all together. Where filters ran one after the other, there is
   * a report for those that make one. */
  const cudamedian::ChainReport &
  GetChainReport() const
  {
    return m_Report;
  }

  /** The same as text. */
  std::string
  GetExecutionReportAsString() const;

  /** A change of any of the filters, or of another input of theirs such as a mask, is one of the chain. */
  ModifiedTimeType
  GetMTime() const override;

  /** Asks the filters first, who see all their inputs. */
  void
  UpdateOutputInformation() override;

protected:
  CudaMedianChainImageFilter() = default;
  ~CudaMedianChainImageFilter() override = default;

  void
  PrintSelf(std::ostream & os, Indent indent) const override;

  /** \throws ExceptionObject where there is no filter. */
  void
  VerifyPreconditions() const override;

  /** What the last filter says of its output. */
  void
  GenerateOutputInformation() override;

  /** What the first filter asks for. */
  void
  GenerateInputRequestedRegion() override;

  void
  GenerateData() override;

private:
  using Step = CudaMedianFilterDetail::ChainStep<TImage>;

  /** The requests of all filters. \returns why they are no chain; empty where they are. */
  std::string
  DescribeSteps(std::vector<cudamedian::MedianRequest> & requests);

  /** Runs the filters as a chain. \returns whether that is done; the report says why not. */
  bool
  RunChain();

  /** Runs one filter after the other. */
  void
  RunOneByOne();

  /** Adds the reports of filters that have run. */
  void
  AddReports();

  /** Lets go of all that the filters hold. */
  void
  ReleaseImages();

  /** Calls a function of the last filter's output that goes up the filters. Where one throws, all can be asked again.
   */
  void
  AskLast(void (DataObject::*question)());

  std::vector<Step>       m_Steps;
  bool                    m_IsKeptOnDevice{ false };
  cudamedian::ChainReport m_Report;
};

} // namespace itk

#ifndef ITK_MANUAL_INSTANTIATION
#  include "itkCudaMedianChainImageFilter.hxx"
#endif

#endif
