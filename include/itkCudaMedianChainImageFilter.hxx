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
#ifndef itkCudaMedianChainImageFilter_hxx
#define itkCudaMedianChainImageFilter_hxx

#include "itkCudaMedianChainImageFilter.h"

#include <algorithm>
#include <sstream>
#include <utility>

namespace itk
{
namespace CudaMedianFilterDetail
{

/** Whether a filter tells its request. */
template <typename TFilter, typename = void>
struct IsStep : std::false_type
{};

template <typename TFilter>
struct IsStep<
  TFilter,
  std::void_t<decltype(std::declval<TFilter &>().DescribeStep(std::declval<cudamedian::MedianRequest &>()))>>
  : std::true_type
{};

/** \class AtEnd
 * Calls a function at the end of a scope.
 *
 * \ingroup CudaMedian */
template <typename TCall>
class AtEnd
{
public:
  explicit AtEnd(TCall call)
    : m_Call(std::move(call))
  {}
  ~AtEnd() { m_Call(); }
  AtEnd(const AtEnd &) = delete;
  AtEnd &
  operator=(const AtEnd &) = delete;

private:
  TCall m_Call;
};

} // namespace CudaMedianFilterDetail

template <typename TImage>
template <typename TFilter>
void
CudaMedianChainImageFilter<TImage>::AddFilter(TFilter * filter)
{
  static_assert(std::is_base_of<FilterType, TFilter>::value, "filters of a chain have its images as input and output");
  if (filter == nullptr || static_cast<FilterType *>(filter) == this)
  {
    itkExceptionMacro(<< "A chain has no filter that is " << (filter == nullptr ? "null" : "the chain itself"));
  }
  for (const auto & step : m_Steps)
  {
    if (step.filter == filter)
    {
      itkExceptionMacro(<< "The " << filter->GetNameOfClass() << " is in the chain already; each filter is there once");
    }
  }
  Step step;
  step.filter = filter;
  if constexpr (CudaMedianFilterDetail::IsStep<TFilter>::value)
  {
    step.describe = [filter](cudamedian::MedianRequest & request) { return filter->DescribeStep(request); };
    step.report = [filter] { return &filter->GetExecutionReport(); };
  }
  if (!m_Steps.empty())
  {
    step.filter->SetInput(m_Steps.back().filter->GetOutput());
    m_Steps.back().filter->ReleaseDataFlagOn();
  }
  m_Steps.push_back(std::move(step));
  this->Modified();
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::ClearFilters()
{
  for (auto & step : m_Steps)
  {
    step.filter->SetInput(nullptr);
    step.filter->ReleaseDataFlagOff();
  }
  m_Steps.clear();
  this->Modified();
}

template <typename TImage>
auto
CudaMedianChainImageFilter<TImage>::GetFilter(SizeValueType number) const -> FilterType *
{
  if (number >= m_Steps.size())
  {
    itkExceptionMacro(<< "There is no filter " << number << "; the chain has " << m_Steps.size());
  }
  return m_Steps[number].filter;
}

template <typename TImage>
ModifiedTimeType
CudaMedianChainImageFilter<TImage>::GetMTime() const
{
  auto time = Superclass::GetMTime();
  for (const auto & step : m_Steps)
  {
    time = std::max(time, step.filter->GetMTime());
  }
  if (!m_Steps.empty())
  {
    // What the filters have seen of their other inputs, such as masks.
    time = std::max(time, m_Steps.back().filter->GetOutput()->GetPipelineMTime());
  }
  return time;
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::AskLast(void (DataObject::*question)())
{
  auto & last = *m_Steps.back().filter;
  try
  {
    (last.GetOutput()->*question)();
  }
  catch (...)
  {
    // The filters behind the one that failed wait for it, and would take their images for made ever after.
    last.ResetPipeline();
    throw;
  }
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::UpdateOutputInformation()
{
  // Changes of other inputs than the chain's are seen by the filters alone.
  if (!m_Steps.empty() && this->GetInput() != nullptr)
  {
    m_Steps.front().filter->SetInput(this->GetInput());
    this->AskLast(&DataObject::UpdateOutputInformation);
  }
  Superclass::UpdateOutputInformation();
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::VerifyPreconditions() const
{
  Superclass::VerifyPreconditions();
  if (m_Steps.empty())
  {
    itkExceptionMacro(<< "The chain has no filter; AddFilter() adds one");
  }
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::GenerateOutputInformation()
{
  // Before this is called, the pipeline has called VerifyPreconditions(): there is a filter, and an input.
  m_Steps.front().filter->SetInput(this->GetInput());
  this->AskLast(&DataObject::UpdateOutputInformation);
  this->GetOutput()->CopyInformation(m_Steps.back().filter->GetOutput());
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::GenerateInputRequestedRegion()
{
  Superclass::GenerateInputRequestedRegion();
  this->ReleaseImages(); // a filter that has run by itself would not ask for what its window reaches
  m_Steps.back().filter->GetOutput()->SetRequestedRegion(this->GetOutput()->GetRequestedRegion());
  this->AskLast(&DataObject::PropagateRequestedRegion); // to the input, which is the first filter's as well
}

template <typename TImage>
std::string
CudaMedianChainImageFilter<TImage>::DescribeSteps(std::vector<cudamedian::MedianRequest> & requests)
{
  const auto & input = *this->GetInput();
  auto &       output = *this->GetOutput();
  if (m_Steps.size() < 2)
  {
    return "there is one filter alone";
  }
  if (CudaMedianFilterDetail::DeviceImages<TImage, TImage>(input, output).IsAny())
  {
    return "the images have pixels on a device, where each filter leaves its output";
  }
  for (const auto & step : m_Steps)
  {
    const std::string         name = step.filter->GetNameOfClass();
    cudamedian::MedianRequest request;
    const auto                obstacle = step.describe ? step.describe(request) : "it runs by itself";
    if (!obstacle.empty())
    {
      return "filter " + std::to_string(requests.size()) + ", " + name + ": " + obstacle;
    }
    requests.push_back(request);
  }
  if constexpr (CudaMedianFilterDetail::IsForEngine<TImage, TImage>())
  {
    auto &     first = requests.front();
    const auto radius = first.radius;
    const auto region = output.GetRequestedRegion();
    CudaMedianFilterDetail::DescribeImages(input, output, region, TImage::SizeType::Filled(0), first);
    CudaMedianFilterDetail::SetPixels(input, output, region, first);
    first.radius = radius;
    CudaMedianFilterDetail::UseThreads(*this, first);
  }
  return "";
}

template <typename TImage>
bool
CudaMedianChainImageFilter<TImage>::RunChain()
{
  std::vector<cudamedian::MedianRequest> requests;
  m_Report = cudamedian::ChainReport();
  m_Report.whyNot = this->DescribeSteps(requests);
  if (!m_Report.whyNot.empty())
  {
    return false;
  }
  requests.front().progress = [this](float fraction) { CudaMedianFilterDetail::TellProgress(*this, fraction); };
  requests.front().progress(0.0F);
  m_Report = cudamedian::RunMedianChain(requests);
  return m_Report.whyNot.empty();
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::RunOneByOne()
{
  // What a chain has done before it failed is not taken back.
  const auto                                          start = this->GetProgress();
  std::vector<std::pair<FilterType *, unsigned long>> observers;
  const auto                                          forget = [&observers] {
    for (const auto & observer : observers)
    {
      observer.first->RemoveObserver(observer.second);
    }
  };
  const CudaMedianFilterDetail::AtEnd<decltype(forget)> atEnd(forget);
  for (std::size_t i = 0; i < m_Steps.size(); ++i)
  {
    FilterType * const filter = m_Steps[i].filter;
    observers.emplace_back(filter, filter->AddObserver(ProgressEvent(), [this, filter, i, start](const EventObject &) {
      const auto done = (static_cast<float>(i) + filter->GetProgress()) / static_cast<float>(m_Steps.size());
      this->UpdateProgress(std::max(this->GetProgress(), start + (1 - start) * done));
      if (this->GetAbortGenerateData())
      {
        filter->AbortGenerateDataOn();
      }
    }));
  }
  FilterType * const last = m_Steps.back().filter;
  last->GraftOutput(this->GetOutput());
  try
  {
    last->Update();
  }
  catch (...)
  {
    // The filter that failed has done so for itself. Those behind it would wait for it for ever.
    last->ResetPipeline();
    throw;
  }
  this->GraftOutput(last->GetOutput());
  this->AddReports();
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::AddReports()
{
  auto & whole = m_Report.whole;
  whole = cudamedian::ExecutionReport();
  m_Report.steps.clear();
  whole.algorithmReason = "one filter after the other";
  whole.backendReason = m_Report.whyNot;
  for (const auto & step : m_Steps)
  {
    cudamedian::ExecutionReport report;
    report.backend = "ITK";
    report.algorithm = std::string("itk::") + step.filter->GetNameOfClass();
    report = step.report ? *step.report() : report;
    whole.backend += (whole.backend.empty() ? "" : ", then ") + report.backend;
    whole.algorithm += (whole.algorithm.empty() ? "" : ", then ") + report.algorithm;
    whole.numberOfSlabs += report.numberOfSlabs;
    whole.deviceBytes = std::max(whole.deviceBytes, report.deviceBytes);
    whole.pinnedBytes = std::max(whole.pinnedBytes, report.pinnedBytes);
    whole.transferSeconds += report.transferSeconds;
    whole.kernelSeconds += report.kernelSeconds;
    whole.totalSeconds += report.totalSeconds;
    m_Report.steps.push_back(report);
  }
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::ReleaseImages()
{
  for (const auto & step : m_Steps)
  {
    try
    {
      step.filter->GetOutput()->ReleaseData();
    }
    catch (const ExceptionObject &)
    {
      // An image on a device that is lost cannot be released. What failed first is told.
    }
  }
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::GenerateData()
{
  m_IsKeptOnDevice = false;
  const auto                                             release = [this] { this->ReleaseImages(); };
  const CudaMedianFilterDetail::AtEnd<decltype(release)> atEnd(release);
  CudaMedianFilterDetail::GenerateOrRelease(*this, [this] {
    this->AllocateOutputs();
    m_IsKeptOnDevice = this->RunChain();
    if (!m_IsKeptOnDevice)
    {
      this->RunOneByOne();
    }
  });
}

template <typename TImage>
std::string
CudaMedianChainImageFilter<TImage>::GetExecutionReportAsString() const
{
  std::ostringstream text;
  text << "Between the filters: "
       << (m_IsKeptOnDevice ? "in device memory" : "by way of the host, because " + m_Report.whyNot) << "\n";
  m_Report.whole.Print(text);
  for (std::size_t i = 0; i < m_Report.steps.size(); ++i)
  {
    text << "Filter " << i << ":\n";
    m_Report.steps[i].Print(text, "  ");
  }
  return text.str();
}

template <typename TImage>
void
CudaMedianChainImageFilter<TImage>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
  os << indent << "Filters:" << (m_Steps.empty() ? " (none)" : "") << std::endl;
  for (const auto & step : m_Steps)
  {
    step.filter->Print(os, indent.GetNextIndent());
  }
  os << indent << "KeptOnDevice: " << (m_IsKeptOnDevice ? "On" : "Off") << std::endl;
  os << indent << "Reason: " << m_Report.whyNot << std::endl;
}

} // namespace itk

#endif
