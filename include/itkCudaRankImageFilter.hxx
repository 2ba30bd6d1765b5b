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
#ifndef itkCudaRankImageFilter_hxx
#define itkCudaRankImageFilter_hxx

#include "itkCudaRankImageFilter.h"

// As there: ITK's tests of headers include this file by itself.
#if __has_include("itkRankImageFilter.h")

#  include "itkTotalProgressReporter.h"

#  include <algorithm>
#  include <cmath>
#  include <cstring>
#  include <sstream>
#  include <utility>

namespace itk
{
namespace CudaRankImageFilterDetail
{

/** An integer that orders as a pixel does, -0 before +0 and every NaN last. */
template <typename TPixel>
auto
ToKey(TPixel pixel)
{
  if constexpr (std::is_floating_point<TPixel>::value)
  {
    using Key = std::conditional_t<sizeof(TPixel) == 4, std::int32_t, std::int64_t>;
    constexpr auto mask = std::numeric_limits<Key>::max();
    Key            bits;
    std::memcpy(&bits, &pixel, sizeof(bits));
    return std::isnan(pixel) ? mask : bits < 0 ? static_cast<Key>(bits ^ mask) : bits;
  }
  else if constexpr (std::is_same<TPixel, bool>::value)
  {
    return static_cast<unsigned char>(pixel); // a vector of bool holds no pixels that could be found by address
  }
  else
  {
    return pixel;
  }
}

/** The pixel of a key. */
template <typename TPixel, typename TKey>
TPixel
ToPixel(TKey key)
{
  if constexpr (std::is_floating_point<TPixel>::value)
  {
    const TKey bits = key < 0 ? static_cast<TKey>(key ^ std::numeric_limits<TKey>::max()) : key;
    TPixel     pixel;
    std::memcpy(&pixel, &bits, sizeof(pixel));
    return pixel;
  }
  else
  {
    return static_cast<TPixel>(key);
  }
}

/** Writes the keys of a region's pixels. */
template <typename TImage, typename TKey>
void
ListKeys(const TImage & image, const typename TImage::RegionType & region, TKey * keys)
{
  constexpr unsigned int dimension = TImage::ImageDimension;
  const auto             length = region.GetSize(0);
  auto                   index = region.GetIndex();
  for (SizeValueType row = 0; row < region.GetNumberOfPixels() / length; ++row)
  {
    const auto * pixels = image.GetBufferPointer() + image.ComputeOffset(index);
    keys = std::transform(pixels, pixels + length, keys, [](typename TImage::PixelType pixel) { return ToKey(pixel); });
    for (unsigned int axis = 1; axis < dimension && ++index[axis] > region.GetUpperIndex()[axis]; ++axis)
    {
      index[axis] = region.GetIndex(axis);
    }
  }
}

} // namespace CudaRankImageFilterDetail

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::SetDevices(std::vector<int> devices)
{
  if (m_Devices != devices)
  {
    m_Devices = std::move(devices);
    this->Modified();
  }
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
std::string
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::GetExecutionReportAsString() const
{
  std::ostringstream text;
  m_ExecutionReport.Print(text);
  return text.str();
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
bool
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::HasBoxKernel() const
{
  const auto & kernel = this->GetKernel();
  return std::all_of(kernel.Begin(), kernel.End(), [](const auto & value) { return static_cast<bool>(value); });
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
auto
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::MakeWeights() const -> WeightsType
{
  const auto & kernel = this->GetKernel();
  WeightsType  weights;
  weights.SetRadius(kernel.GetRadius());
  for (SizeValueType i = 0; i < kernel.Size(); ++i)
  {
    weights[i] = static_cast<bool>(kernel[i]) ? 1 : 0;
  }
  return weights;
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
auto
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::GetClipRegion() const -> InputImageRegionType
{
  // ITK clips to what was requested of the input, which a source may exceed.
  auto region = this->GetInput()->GetRequestedRegion();
  region.Crop(this->GetInput()->GetBufferedRegion());
  return region;
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
SizeValueType
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::GetRankIndex(SizeValueType count) const
{
  // In single precision, as in itk::Function::RankHistogram; beyond 2^24 pixels that may round up.
  const auto index = static_cast<SizeValueType>(this->GetRank() * static_cast<float>(count - 1));
  return std::min(index, count - 1);
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
auto
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::SplitBorder(RegionList & border) const -> InputImageRegionType
{
  InputImageRegionType inside = this->GetOutput()->GetRequestedRegion();
  const auto           clip = this->GetClipRegion();
  const auto           radius = this->GetRadius();
  for (int axis = static_cast<int>(InputImageDimension) - 1; axis >= 0; --axis)
  {
    const auto first = inside.GetIndex(axis);
    const auto end = first + static_cast<IndexValueType>(inside.GetSize(axis));
    const auto r = static_cast<IndexValueType>(std::min<SizeValueType>(radius[axis], clip.GetSize(axis)));
    const auto clipEnd = clip.GetIndex(axis) + static_cast<IndexValueType>(clip.GetSize(axis));
    // Outputs before `low` and from `high` on have clipped windows along this axis.
    const auto low = std::clamp(clip.GetIndex(axis) + r, first, end);
    const auto high = std::clamp(clipEnd - r, low, end);
    for (const auto & part : { std::make_pair(first, low), std::make_pair(high, end) })
    {
      auto region = inside;
      region.SetIndex(axis, part.first);
      region.SetSize(axis, static_cast<SizeValueType>(part.second - part.first));
      if (region.GetNumberOfPixels() > 0)
      {
        border.push_back(region);
      }
    }
    inside.SetIndex(axis, low);
    inside.SetSize(axis, static_cast<SizeValueType>(high - low));
  }
  return inside;
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
bool
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::IsExtremeOfBox() const
{
  const auto window = std::max<SizeValueType>(1, this->GetKernel().Size());
  return this->HasBoxKernel() && (this->GetRankIndex(window) == 0 || this->GetRank() == 1);
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
cudamedian::MedianRequest
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::MakeRequest(const InputImageRegionType & region) const
{
  cudamedian::MedianRequest request;
  const auto                radius = this->GetRadius();
  CudaMedianFilterDetail::DescribeImages(*this->GetInput(), *this->GetOutput(), region, radius, request);
  SizeValueType count = 1;
  for (unsigned int axis = 0; axis < InputImageDimension; ++axis)
  {
    count *= 2 * radius[axis] + 1;
  }
  if (!this->HasBoxKernel())
  {
    request.footprint = CudaMedianFilterDetail::MakeFootprint(*this, this->MakeWeights());
    count = static_cast<SizeValueType>(request.footprint->CountValues());
    // Windows lie inside the image: a kernel's box may be larger than what is on in it.
    request.radius = request.footprint->GetRadius();
  }
  request.rank = static_cast<std::int64_t>(this->GetRankIndex(count));
  request.backend = static_cast<cudamedian::Backend>(m_Backend);
  request.algorithm = static_cast<cudamedian::Algorithm>(m_Algorithm);
  request.compilation = m_WaitForKernels ? cudamedian::Compilation::Wait : cudamedian::Compilation::Background;
  request.deviceMemoryBudget = m_DeviceMemoryBudget;
  request.hostMemoryBudget = m_HostMemoryBudget;
  request.devices = m_Devices;
  return request;
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
std::string
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::DescribeStep(cudamedian::MedianRequest & request)
{
  if constexpr (!CudaMedianFilterDetail::IsForEngine<TInputImage, TOutputImage>())
  {
    static_cast<void>(request);
    return "the engine has no keys for this pixel type, or no images of so many dimensions";
  }
  else
  {
    request = this->MakeRequest(this->GetOutput()->GetRequestedRegion());
    return this->IsExtremeOfBox() ? "" : "In device memory no windows are clipped as ITK's are";
  }
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::RunEngine(const InputImageRegionType & region, float end)
{
  auto        request = this->MakeRequest(region);
  const bool  isWhole = region == this->GetOutput()->GetRequestedRegion();
  std::string obstacle = isWhole ? "" : "In device memory no windows are clipped as ITK's are";
  try
  {
    if (!CudaMedianFilterDetail::RunOnDevice(*this, request, m_Stream, obstacle, m_ExecutionReport))
    {
      CudaMedianFilterDetail::SetPixels(*this->GetInput(), *this->GetOutput(), region, request);
      m_ExecutionReport = CudaMedianFilterDetail::RunRequest(*this, request, 0, end);
      CudaMedianFilterDetail::AddObstacle(obstacle, m_ExecutionReport);
    }
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

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::SelectRegion(const InputImageRegionType & region)
{
  using Key = decltype(CudaRankImageFilterDetail::ToKey(InputPixelType{}));
  const auto &          input = *this->GetInput();
  auto &                output = *this->GetOutput();
  const auto            clip = this->GetClipRegion();
  const auto            radius = this->GetRadius();
  TotalProgressReporter progress(this, output.GetRequestedRegion().GetNumberOfPixels());
  std::vector<Key>      keys;
  auto                  index = region.GetIndex();
  auto * const          pixels = output.GetBufferPointer();
  const bool            isBox = this->HasBoxKernel();

  std::vector<typename InputImageType::OffsetType> offsets;
  const auto &                                     kernel = this->GetKernel();
  for (SizeValueType i = 0; i < kernel.Size(); ++i)
  {
    if (static_cast<bool>(kernel[i]))
    {
      offsets.push_back(kernel.GetOffset(i));
    }
  }
  for (SizeValueType i = 0; i < region.GetNumberOfPixels(); ++i)
  {
    if (isBox)
    {
      InputImageRegionType window(index, InputImageRegionType::SizeType::Filled(1));
      window.PadByRadius(radius);
      window.Crop(clip);
      keys.resize(window.GetNumberOfPixels());
      CudaRankImageFilterDetail::ListKeys(input, window, keys.data());
    }
    else
    {
      keys.clear();
      for (const auto & offset : offsets)
      {
        if (clip.IsInside(index + offset))
        {
          keys.push_back(CudaRankImageFilterDetail::ToKey(input.GetPixel(index + offset)));
        }
      }
      if (keys.empty())
      {
        // No pixel of the kernel lies in the image.
        keys.push_back(CudaRankImageFilterDetail::ToKey(input.GetPixel(index)));
      }
    }
    const auto wanted = keys.begin() + static_cast<std::ptrdiff_t>(this->GetRankIndex(keys.size()));
    std::nth_element(keys.begin(), wanted, keys.end());
    const auto pixel = CudaRankImageFilterDetail::ToPixel<InputPixelType>(*wanted);
    pixels[output.ComputeOffset(index)] = static_cast<OutputPixelType>(pixel);
    progress.CompletedPixel();
    for (unsigned int axis = 0; axis < InputImageDimension && ++index[axis] > region.GetUpperIndex()[axis]; ++axis)
    {
      index[axis] = region.GetIndex(axis);
    }
  }
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
bool
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::IsHistogramFaster(const InputImageRegionType & region) const
{
  const auto radius = this->GetRadius();
  const auto axis = static_cast<unsigned int>(this->m_Axes[InputImageDimension - 1]);
  // ITK's moving histogram loses its place between lines of one pixel, and between planes of two lines.
  bool   isRight = this->GetClipRegion().GetSize(axis) > 1;
  double window = 1;
  for (unsigned int i = 0; i < InputImageDimension; ++i)
  {
    window *= static_cast<double>(2 * radius[i] + 1);
    isRight = isRight && (i == axis || region.GetSize(i) != 2);
  }
  // The histogram moves along one axis and is copied from line to line. One of 256 bins is an array. That of more
  // values is a map, which takes a microsecond for each pixel that enters or leaves it: never the faster one.
  const auto entering = window / static_cast<double>(2 * radius[axis] + 1);
  const auto line = static_cast<double>(region.GetSize(axis));
  // Nanoseconds for a pixel, rounded from measurements on an x86-64 host.
  const double moved = 2 * entering * 10 + 150 + 500 / line;
  return isRight && this->GetUseVectorBasedAlgorithm() && moved < 3 * window;
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::SelectBorder(const RegionList & border)
{
  auto * threader = this->GetMultiThreader();
  threader->SetNumberOfWorkUnits(this->GetNumberOfWorkUnits());
  for (const auto & region : border)
  {
    threader->template ParallelizeImageRegion<InputImageDimension>(
      region,
      [this](const InputImageRegionType & part) {
        if (this->IsHistogramFaster(part))
        {
          Superclass::DynamicThreadedGenerateData(part);
        }
        else
        {
          this->SelectRegion(part);
        }
      },
      nullptr);
  }
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::GenerateData()
{
  m_ExecutionReport = cudamedian::ExecutionReport();
  CudaMedianFilterDetail::GenerateOrRelease(*this, [this] { this->Generate(); });
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::Generate()
{
  std::string reason;
  if constexpr (!CudaMedianFilterDetail::EnginePixel<InputPixelType>::supported ||
                !std::is_arithmetic<OutputPixelType>::value)
  {
    reason = "the engine has no keys for this pixel type";
  }
  else if constexpr (InputImageDimension > cudamedian::Dimension)
  {
    reason = "the engine takes images of up to four dimensions";
  }
  else
  {
    this->AllocateOutputs();
    const auto   all = this->GetOutput()->GetRequestedRegion();
    const double pixels = static_cast<double>(std::max<SizeValueType>(1, all.GetNumberOfPixels()));
    RegionList   border;
    const auto   inside = this->IsExtremeOfBox() ? all : this->SplitBorder(border);
    // The border's threads add to the progress, rounded. Were their sum more than 1, ITK's count would start again at 0
    // for a moment. So the last step is told when they are done.
    constexpr double most = 0.999;
    this->RunEngine(inside, static_cast<float>(most * static_cast<double>(inside.GetNumberOfPixels()) / pixels));
    this->SelectBorder(border);
    CudaMedianFilterDetail::TellProgress(*this, 1.0F);
    m_ExecutionReport.border = cudamedian::ToString(cudamedian::Border::Shrink);
    const auto clipped = all.GetNumberOfPixels() - inside.GetNumberOfPixels();
    if (clipped > 0)
    {
      m_ExecutionReport.algorithmReason +=
        "; " + std::to_string(clipped) + " pixels with clipped windows one by one on the host";
    }
    return;
  }
  m_ExecutionReport.backend = "ITK";
  m_ExecutionReport.backendReason = reason;
  m_ExecutionReport.device = "host";
  m_ExecutionReport.algorithm = "itk::RankImageFilter";
  m_ExecutionReport.algorithmReason = reason;
  m_ExecutionReport.border = cudamedian::ToString(cudamedian::Border::Shrink);
  m_ExecutionReport.workUnits = this->GetNumberOfWorkUnits();
  Superclass::GenerateData();
}

template <typename TInputImage, typename TOutputImage, typename TKernel>
void
CudaRankImageFilter<TInputImage, TOutputImage, TKernel>::PrintSelf(std::ostream & os, Indent indent) const
{
  Superclass::PrintSelf(os, indent);
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

#endif // __has_include

#endif
