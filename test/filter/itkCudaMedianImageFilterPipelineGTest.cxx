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
// Progress, abort, exceptions and work units.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestFailedRegion.h"

#include "itkCommand.h"

#include <algorithm>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace
{

using ImageType = itk::Image<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;
using cudamediantest::BackendEnum;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::Device;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ItkMedian;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;

const ImageType::SizeType imageSize{ { 96, 64, 24 } };

/** Less than the image: a run on a device takes several slabs. */
constexpr itk::SizeValueType smallBudget = 160 * 1024;

ImageType::Pointer
LargerImage()
{
  return MakeRandomImage<ImageType>(ImageType::RegionType(imageSize), Pattern::FullRange);
}

FilterType::Pointer
NewFilter(BackendEnum backend, const ImageType & image)
{
  const auto filter = FilterType::New();
  filter->SetBackend(backend);
  filter->SetInput(&image);
  filter->SetRadius(1);
  filter->SetDeviceMemoryBudget(smallBudget);
  return filter;
}

} // namespace

TEST(CudaMedianImageFilterPipeline, ProgressRisesToOneOnTheCallingThread)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  for (const auto backend : BackendsUnderTest())
  {
    for (const itk::ThreadIdType workUnits : { 1u, 4u })
    {
      SCOPED_TRACE(BackendText(backend) + ", work units " + std::to_string(workUnits));
      const auto         filter = NewFilter(backend, *image);
      std::vector<float> progress;
      bool               otherThread = false;
      const auto         caller = std::this_thread::get_id();
      filter->SetNumberOfWorkUnits(workUnits);
      filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
        progress.push_back(filter->GetProgress());
        otherThread = otherThread || std::this_thread::get_id() != caller;
      });
      filter->Update();
      EXPECT_FALSE(otherThread);
      // Of several threads of the CPU others may be done with an image so small before this one has begun.
      ASSERT_GE(progress.size(), backend == BackendEnum::Cpu && workUnits > 1 ? 2u : 3u)
        << "no event between the first and the last";
      for (std::size_t i = 1; i < progress.size(); ++i)
      {
        EXPECT_LE(progress[i - 1], progress[i]);
      }
      EXPECT_GE(progress.front(), 0.0f);
      EXPECT_EQ(progress.back(), 1.0f);
    }
  }
}

TEST(CudaMedianImageFilterPipeline, AbortThrowsAndTheFilterWorksAgain)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    for (const float abortAfter : { -1.0f, 0.0f })
    {
      SCOPED_TRACE(BackendText(backend) + (abortAfter < 0 ? ", abort at the first event" : ", abort on the way"));
      const auto filter = NewFilter(backend, *image);
      float      seen = -1.0f;
      filter->SetNumberOfWorkUnits(1);
      const unsigned long tag = filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
        seen = filter->GetProgress();
        if (seen > abortAfter)
        {
          filter->AbortGenerateDataOn();
        }
      });
      int                 aborts = 0;
      filter->AddObserver(itk::AbortEvent(), [&aborts](const itk::EventObject &) { ++aborts; });
      EXPECT_THROW(filter->Update(), itk::ProcessAborted);
      EXPECT_LT(seen, 1.0f) << "the run went on to the end";
      EXPECT_EQ(aborts, 1);

      filter->RemoveObserver(tag);
      filter->ResetPipeline();
      filter->AbortGenerateDataOff();
      ASSERT_NO_THROW(filter->Update());
      ExpectEqualImages(*expected, *filter->GetOutput());
    }
  }
}

// ITK's own implementation reports and aborts through the same filter.
TEST(CudaMedianImageFilterPipeline, AbortOfItksOwnImplementation)
{
  CUDAMEDIAN_TRACE_SEED();
  using Image4DType = itk::Image<unsigned char, 4>;
  const auto filter = itk::CudaMedianImageFilter<Image4DType>::New();
  const auto image = MakeRandomImage<Image4DType>(Image4DType::RegionType(Image4DType::SizeType{ { 12, 10, 8, 6 } }),
                                                  Pattern::FullRange);
  filter->SetInput(image);
  const unsigned long tag =
    filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) { filter->AbortGenerateDataOn(); });
  EXPECT_THROW(filter->Update(), itk::ProcessAborted);
  filter->RemoveObserver(tag);
  filter->ResetPipeline();
  filter->AbortGenerateDataOff();
  filter->Update();
  ExpectEqualImages(*ItkMedian(*image, Image4DType::SizeType::Filled(1)), *filter->GetOutput());
}

TEST(CudaMedianImageFilterPipeline, ExceptionOfAnObserverReachesTheCaller)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto          filter = NewFilter(backend, *image);
    const unsigned long tag = filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
      if (filter->GetProgress() > 0.0f)
      {
        itkGenericExceptionMacro("thrown by the observer");
      }
    });
    EXPECT_THROW(filter->Update(), itk::ExceptionObject);
    filter->RemoveObserver(tag);
    filter->ResetPipeline();
    ASSERT_NO_THROW(filter->Update());
    ExpectEqualImages(*expected, *filter->GetOutput());
  }
}

TEST(CudaMedianImageFilterPipeline, CudaWithoutADeviceThrowsAndTheFilterIsReusable)
{
  CUDAMEDIAN_TRACE_SEED();
  if (Device().usable)
  {
    GTEST_SKIP() << "there is a usable CUDA device: " << Device().description;
  }
  const auto image = LargerImage();
  const auto filter = NewFilter(BackendEnum::Cuda, *image);
  try
  {
    filter->Update();
    FAIL() << "no exception";
  }
  catch (const itk::ExceptionObject & error)
  {
    const std::string description = error.GetDescription();
    EXPECT_NE(description.find("CUDA"), std::string::npos) << description;
    EXPECT_FALSE(Device().description.empty());
    EXPECT_NE(description.find(Device().description), std::string::npos) << description;
  }
  filter->SetBackend(BackendEnum::Cpu);
  ASSERT_NO_THROW(filter->Update());
  ExpectEqualImages(*ItkMedian(*image, ImageType::SizeType::Filled(1)), *filter->GetOutput());
}

TEST(CudaMedianImageFilterPipeline, EveryNumberOfWorkUnitsGivesTheSame)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    for (const itk::ThreadIdType workUnits : { 1u, 2u, 3u, 6u })
    {
      SCOPED_TRACE(BackendText(backend) + ", work units " + std::to_string(workUnits));
      const auto filter = NewFilter(backend, *image);
      filter->GetMultiThreader()->SetMaximumNumberOfThreads(7);
      filter->SetNumberOfWorkUnits(workUnits);
      filter->Update();
      ExpectEqualImages(*expected, *filter->GetOutput());
      if (backend == BackendEnum::Cpu)
      {
        EXPECT_EQ(filter->GetExecutionReport().workUnits, workUnits);
      }
    }
  }
}

// ITK's default is several work units for each thread. Who limits them has as many; for others the engine takes no more
// than are worth waking.
TEST(CudaMedianImageFilterPipeline, NoMoreWorkUnitsThanThreads)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto filter = NewFilter(BackendEnum::Cpu, *image);
  filter->GetMultiThreader()->SetMaximumNumberOfThreads(3);
  const auto threads = filter->GetMultiThreader()->GetMaximumNumberOfThreads(); // more where a pool has more already
  for (const itk::ThreadIdType workUnits : { 2u, 40u })
  {
    filter->SetNumberOfWorkUnits(workUnits);
    filter->Modified();
    filter->Update();
    EXPECT_LE(filter->GetExecutionReport().workUnits, std::min(workUnits, threads));
    EXPECT_GE(filter->GetExecutionReport().workUnits, workUnits < threads ? workUnits : 1u);
    ExpectEqualImages(*ItkMedian(*image, ImageType::SizeType::Filled(1)), *filter->GetOutput());
  }
}

// More work units than rows: some have nothing to do.
TEST(CudaMedianImageFilterPipeline, MoreWorkUnitsThanRows)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image =
    MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 41, 1, 2 } }), Pattern::FullRange);
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto filter = NewFilter(backend, *image);
    filter->SetNumberOfWorkUnits(16);
    filter->Update();
    ExpectEqualImages(*expected, *filter->GetOutput());
  }
}

TEST(CudaMedianImageFilterPipeline, ARegionThatFailedIsGeneratedWhenItIsAskedForAgain)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    for (const bool aborts : { false, true })
    {
      SCOPED_TRACE(BackendText(backend) + (aborts ? ", aborted" : ", an exception"));
      const auto filter = NewFilter(backend, *image);
      cudamediantest::ExpectFailedRegionIsGeneratedAgain(*filter, aborts);
      const auto * output = filter->GetOutput();
      cudamediantest::ExpectEqualPixels(*expected, *output, output->GetBufferedRegion());
    }
  }
}

// Composite filters graft their output onto that of the last filter inside them.
namespace
{

/** An image that cannot be released, as one on a device that is lost. */
class LastingImage : public ImageType
{
public:
  using Self = LastingImage;
  using Pointer = itk::SmartPointer<Self>;
  itkFactorylessNewMacro(Self);

  void
  Initialize() override
  {
    if (isLost)
    {
      itkExceptionMacro("the device is lost");
    }
    ImageType::Initialize();
  }

  bool isLost{ false };
};

} // namespace

TEST(CudaMedianImageFilterPipeline, TheFirstFailureIsTold)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto filter = itk::CudaMedianImageFilter<ImageType, LastingImage>::New();
  filter->SetInput(image);
  filter->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
    filter->GetOutput()->isLost = true;
    itkGenericExceptionMacro("thrown by the observer");
  });
  try
  {
    filter->Update();
    FAIL() << "no exception";
  }
  catch (const itk::ExceptionObject & error)
  {
    EXPECT_NE(std::string(error.what()).find("thrown by the observer"), std::string::npos) << error.what();
  }
  filter->GetOutput()->isLost = false;
}

TEST(CudaMedianImageFilterPipeline, GraftedOutput)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = LargerImage();
  const auto expected = ItkMedian(*image, ImageType::SizeType::Filled(1));
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto output = ImageType::New();
    output->SetRegions(imageSize);
    output->Allocate();
    const auto filter = NewFilter(backend, *image);
    filter->GraftOutput(output);
    filter->Update();
    output->Graft(filter->GetOutput());
    ExpectEqualImages(*expected, *output);
  }
}
