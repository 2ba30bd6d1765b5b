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
// The filter as an ITK object: defaults, properties, metadata, modification time, report.

#include "CudaMedianTestAgainstItk.h"

#include "itkCommand.h"

#include <sstream>
#include <string>
#include <vector>

namespace
{

using ImageType = itk::Image<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using cudamediantest::BackendEnum;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

ImageType::Pointer
SmallImage()
{
  return MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 23, 11, 5 } }), Pattern::FullRange);
}

std::string
Printed(const itk::Object & object)
{
  std::ostringstream text;
  object.Print(text);
  return text.str();
}

} // namespace

TEST(CudaMedianImageFilterObject, Defaults)
{
  const auto filter = FilterType::New();
  EXPECT_EQ(filter->GetRadius(), ImageType::SizeType::Filled(1));
  EXPECT_EQ(filter->GetEffectiveRadius(), ImageType::SizeType::Filled(1));
  EXPECT_FALSE(filter->GetSliceWise());
  EXPECT_FALSE(filter->GetWaitForKernels());
  EXPECT_EQ(filter->GetBackend(), BackendEnum::Auto);
  EXPECT_EQ(filter->GetDeviceMemoryBudget(), 0u);
  EXPECT_EQ(filter->GetHostMemoryBudget(), 0u);
  EXPECT_TRUE(filter->GetDevices().empty());
  EXPECT_TRUE(filter->GetExecutionReport().backend.empty());
}

TEST(CudaMedianImageFilterObject, IsAMedianImageFilter)
{
  const auto          filter = FilterType::New();
  const itk::Object * object = filter;
  EXPECT_NE((dynamic_cast<const itk::MedianImageFilter<ImageType, ImageType> *>(object)), nullptr);
  EXPECT_STREQ(filter->GetNameOfClass(), "CudaMedianImageFilter");
}

TEST(CudaMedianImageFilterObject, PropertiesAreKept)
{
  const auto filter = FilterType::New();
  filter->SetRadius(ImageType::SizeType{ { 1, 2, 3 } });
  EXPECT_EQ(filter->GetRadius(), (ImageType::SizeType{ { 1, 2, 3 } }));
  filter->SliceWiseOn();
  EXPECT_TRUE(filter->GetSliceWise());
  EXPECT_EQ(filter->GetRadius(), (ImageType::SizeType{ { 1, 2, 3 } }));
  EXPECT_EQ(filter->GetEffectiveRadius(), (ImageType::SizeType{ { 1, 2, 0 } }));
  filter->SetRadius(4);
  EXPECT_EQ(filter->GetRadius(), ImageType::SizeType::Filled(4));
  EXPECT_EQ(filter->GetEffectiveRadius(), (ImageType::SizeType{ { 4, 4, 0 } }));
  filter->SliceWiseOff();
  EXPECT_EQ(filter->GetEffectiveRadius(), ImageType::SizeType::Filled(4));
  filter->WaitForKernelsOn();
  EXPECT_TRUE(filter->GetWaitForKernels());
  filter->SetDeviceMemoryBudget(123456789);
  EXPECT_EQ(filter->GetDeviceMemoryBudget(), 123456789u);
  filter->SetHostMemoryBudget(987654321);
  EXPECT_EQ(filter->GetHostMemoryBudget(), 987654321u);
  filter->SetDevices({ 2, 0 });
  EXPECT_EQ(filter->GetDevices(), (std::vector<int>{ 2, 0 }));
  filter->SetBackend(BackendEnum::Cuda);
  EXPECT_EQ(filter->GetBackend(), BackendEnum::Cuda);
}

TEST(CudaMedianImageFilterObject, MetadataIsKept)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto               image = SmallImage();
  const double             spacing[] = { 0.5, 0.25, 3.0 };
  const double             origin[] = { -120.5, 33.0, 7.25 };
  ImageType::DirectionType direction;
  direction.Fill(0.0);
  direction[0][1] = -1.0;
  direction[1][0] = 1.0;
  direction[2][2] = 1.0;
  image->SetSpacing(spacing);
  image->SetOrigin(origin);
  image->SetDirection(direction);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = FilterType::New();
    filter->SetBackend(backend);
    filter->SetInput(image);
    filter->Update();
    EXPECT_EQ(filter->GetOutput()->GetSpacing(), image->GetSpacing());
    EXPECT_EQ(filter->GetOutput()->GetOrigin(), image->GetOrigin());
    EXPECT_EQ(filter->GetOutput()->GetDirection(), image->GetDirection());
  }
}

TEST(CudaMedianImageFilterObject, PrintSelfShowsTheReport)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto filter = FilterType::New();
  filter->SetBackend(BackendEnum::Cpu);
  EXPECT_NE(Printed(*filter).find("SliceWise"), std::string::npos);
  EXPECT_NE(Printed(*filter).find("DeviceMemoryBudget"), std::string::npos);
  EXPECT_NE(Printed(*filter).find("HostMemoryBudget"), std::string::npos);
  EXPECT_NE(Printed(*filter).find("Devices: (the current one)"), std::string::npos);
  filter->SetDevices({ 0, 1 });
  EXPECT_NE(Printed(*filter).find("Devices: 0 1"), std::string::npos);
  filter->SetInput(SmallImage());
  filter->Update();
  const std::string printed = Printed(*filter);
  EXPECT_NE(printed.find("Algorithm: " + filter->GetExecutionReport().algorithm), std::string::npos) << printed;
  EXPECT_NE(printed.find(filter->GetExecutionReport().algorithmReason), std::string::npos) << printed;
}

TEST(CudaMedianImageFilterObject, ReportSaysWhatRanAndWhy)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = FilterType::New();
    filter->SetBackend(backend);
    filter->WaitForKernelsOn();
    filter->SetInput(SmallImage());
    filter->SetRadius(ImageType::SizeType{ { 2, 1, 1 } });
    filter->Update();
    const auto & report = filter->GetExecutionReport();
    EXPECT_EQ(report.backend, backend == BackendEnum::Cpu ? "CPU" : "CUDA");
    EXPECT_FALSE(report.device.empty());
    EXPECT_FALSE(report.algorithm.empty());
    EXPECT_EQ(report.window, (cudamedian::Extent{ { 5, 3, 3, 1 } }));
    EXPECT_GT(report.tile[0], 0);
    EXPECT_GT(report.operations, 0u);
    EXPECT_GE(report.numberOfSlabs, 1u);
    EXPECT_FALSE(report.backendReason.empty());
    EXPECT_FALSE(report.algorithmReason.empty());
    EXPECT_FALSE(report.tileReason.empty());
    EXPECT_FALSE(report.slabReason.empty());
    EXPECT_GT(report.kernelSeconds, 0.0);
    EXPECT_GE(report.totalSeconds, report.kernelSeconds);
    EXPECT_EQ(report.deviceBytes != 0, backend == BackendEnum::Cuda);
    EXPECT_EQ(report.deviceMemoryBudget != 0, backend == BackendEnum::Cuda);
    EXPECT_NE(filter->GetExecutionReportAsString().find(report.algorithmReason), std::string::npos);
  }
}

TEST(CudaMedianImageFilterObject, AutoSaysWhatItsChoiceRestsOn)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto filter = FilterType::New();
  filter->SetInput(SmallImage());
  filter->Update();
  const auto & report = filter->GetExecutionReport();
  if (cudamediantest::Device().usable)
  {
    EXPECT_GT(report.estimatedCudaSeconds, 0);
    EXPECT_GT(report.estimatedCpuSeconds, 0);
    EXPECT_EQ(report.backend, report.estimatedCudaSeconds <= report.estimatedCpuSeconds ? "CUDA" : "CPU");
    EXPECT_NE(report.backendReason.find("CUDA estimated at "), std::string::npos) << report.backendReason;
    EXPECT_NE(filter->GetExecutionReportAsString().find("Estimated time on CUDA"), std::string::npos);
  }
  else
  {
    EXPECT_EQ(report.backend, "CPU");
    EXPECT_EQ(report.estimatedCudaSeconds, 0);
    EXPECT_NE(report.backendReason.find("no usable CUDA device"), std::string::npos) << report.backendReason;
  }
}

TEST(CudaMedianImageFilterObject, ABackendThatWasAskedForIsNotEstimated)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = FilterType::New();
    filter->SetBackend(backend);
    filter->SetInput(SmallImage());
    filter->Update();
    EXPECT_EQ(filter->GetExecutionReport().estimatedCudaSeconds, 0);
    EXPECT_EQ(filter->GetExecutionReport().estimatedCpuSeconds, 0);
    EXPECT_EQ(filter->GetExecutionReportAsString().find("Estimated"), std::string::npos);
  }
}

TEST(CudaMedianImageFilterObject, RunsAgainOnlyWhenModified)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = SmallImage();
  const auto filter = FilterType::New();
  filter->SetBackend(BackendEnum::Cpu);
  filter->SetInput(image);
  int runs = 0;
  filter->AddObserver(itk::StartEvent(), [&runs](const itk::EventObject &) { ++runs; });
  filter->Update();
  EXPECT_EQ(runs, 1);
  filter->Update();
  EXPECT_EQ(runs, 1);
  filter->SetSliceWise(false);
  filter->SetBackend(BackendEnum::Cpu);
  filter->SetDeviceMemoryBudget(0);
  filter->SetDevices({});
  filter->SetRadius(filter->GetRadius());
  filter->Update();
  EXPECT_EQ(runs, 1) << "setting the same values again is no modification";
  filter->SliceWiseOn();
  filter->Update();
  EXPECT_EQ(runs, 2);
  filter->SetBackend(BackendEnum::Auto);
  filter->Update();
  EXPECT_EQ(runs, 3);
  filter->SetDeviceMemoryBudget(1u << 30);
  filter->Update();
  EXPECT_EQ(runs, 4);
  filter->SetRadius(2);
  filter->Update();
  EXPECT_EQ(runs, 5);
  image->Modified();
  filter->Update();
  EXPECT_EQ(runs, 6);
  filter->SetBackend(BackendEnum::Cpu);
  filter->SetDevices({ 0 });
  filter->Update();
  EXPECT_EQ(runs, 7);
}
