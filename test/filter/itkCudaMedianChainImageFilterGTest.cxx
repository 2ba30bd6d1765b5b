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
// Filters one behind the other in a chain give what they give in a pipeline, on CUDA with what is between them in
// device memory, and without a GPU. Where ITK's own build runs the tests, on devices that are threads of the host, and
// on a GPU.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestFailedRegion.h"
#include "CudaMedianTestRegionSource.h"

#include "itkCudaMedianChainImageFilter.h"
#ifdef CUDAMEDIAN_TEST_ON_HOST
#  include "CudaFaults.h"
#endif
#include "itkMeanImageFilter.h"
#include "itkRGBPixel.h"
#include "itkStreamingImageFilter.h"
#include "itkVectorImage.h"

#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendEnum;
using cudamediantest::BackendsUnderTest;
using cudamediantest::BackendText;
using cudamediantest::ExpectEqualImages;
using cudamediantest::MakeRandomImage;
using cudamediantest::Pattern;
using Enums = itk::CudaMedianImageFilterEnums;
using ImageType = itk::Image<short, 3>;
using MedianType = itk::CudaMedianImageFilter<ImageType>;
using ChainType = itk::CudaMedianChainImageFilter<ImageType>;

const ImageType::RegionType region({ { 5, -3, 0 } }, { { 37, 29, 23 } });

template <typename TImage = ImageType>
typename itk::CudaMedianImageFilter<TImage>::Pointer
MakeMedian(BackendEnum backend, itk::SizeValueType radius)
{
  const auto filter = itk::CudaMedianImageFilter<TImage>::New();
  filter->SetBackend(backend);
  filter->SetRadius(radius);
  return filter;
}

/** Two medians, of which the second is slice by slice and mirrors the image at its border. */
template <typename TChain>
void
AddTwo(TChain & chain, BackendEnum backend)
{
  using TImage = typename TChain::ImageType;
  const auto second = MakeMedian<TImage>(backend, 2);
  second->SetSliceWise(TImage::ImageDimension == 3);
  second->SetBoundaryMode(Enums::Boundary::Mirror);
  chain.AddFilter(MakeMedian<TImage>(backend, 1));
  chain.AddFilter(second);
}

/** What the two give in a pipeline, on the CPU. */
template <typename TImage>
typename TImage::Pointer
FilterTwice(TImage & image)
{
  const auto first = MakeMedian<TImage>(BackendEnum::Cpu, 1);
  const auto second = MakeMedian<TImage>(BackendEnum::Cpu, 2);
  second->SetSliceWise(TImage::ImageDimension == 3);
  second->SetBoundaryMode(Enums::Boundary::Mirror);
  first->SetInput(&image);
  second->SetInput(first->GetOutput());
  second->Update();
  return second->GetOutput();
}

/** A chain of the two for an image. */
ChainType::Pointer
MakeChain(BackendEnum backend, ImageType & image)
{
  const auto chain = ChainType::New();
  AddTwo(*chain, backend);
  chain->SetInput(&image);
  return chain;
}

/** A chain keeps what is between its filters on the device where these are to run on CUDA, and else says why not. */
template <typename TChain>
void
ExpectKept(const TChain & chain, BackendEnum backend)
{
  EXPECT_EQ(chain.IsKeptOnDevice(), backend == BackendEnum::Cuda) << chain.GetReason();
  EXPECT_EQ(chain.GetReason().empty(), chain.IsKeptOnDevice());
  EXPECT_EQ(chain.GetChainReport().steps.size(), chain.GetNumberOfFilters());
  const auto text = chain.GetExecutionReportAsString();
  EXPECT_NE(text.find(chain.IsKeptOnDevice() ? "in device memory" : "is to run on the CPU"), std::string::npos) << text;
}

} // namespace

TEST(CudaMedianChainImageFilter, EqualsTheFiltersInAPipeline)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto expected = FilterTwice(*image);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = MakeChain(backend, *image);
    chain->Update();
    ExpectKept(*chain, backend);
    ExpectEqualImages(*expected, *chain->GetOutput());
    EXPECT_EQ(chain->GetOutput()->GetLargestPossibleRegion(), region);
    EXPECT_EQ(chain->GetOutput()->GetSpacing(), image->GetSpacing());
    for (itk::SizeValueType i = 0; i < 2; ++i)
    {
      EXPECT_EQ(chain->GetFilter(i)->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U) << "filter " << i;
    }
  }
}

TEST(CudaMedianChainImageFilter, OtherImagesEqualThePipeline)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto check = [](auto image) {
    using TImage = typename decltype(image)::ObjectType;
    const auto expected = FilterTwice(*image);
    for (const auto backend : BackendsUnderTest())
    {
      SCOPED_TRACE(BackendText(backend));
      const auto chain = itk::CudaMedianChainImageFilter<TImage>::New();
      AddTwo(*chain, backend);
      chain->SetInput(image);
      chain->Update();
      ExpectKept(*chain, backend);
      ExpectEqualImages(*expected, *chain->GetOutput());
    }
  };
  check(MakeRandomImage<itk::Image<float, 2>>(itk::ImageRegion<2>(itk::Size<2>{ { 61, 45 } }), Pattern::FullRange));
  check(MakeRandomImage<itk::Image<unsigned char, 3>>(itk::ImageRegion<3>(itk::Size<3>{ { 64, 20, 11 } }),
                                                      Pattern::FewValues));
  check(MakeRandomImage<itk::Image<long long, 2>>(itk::ImageRegion<2>(itk::Size<2>{ { 33, 45 } }), Pattern::FullRange));
}

TEST(CudaMedianChainImageFilter, ComponentsAreFilteredTogether)
{
  CUDAMEDIAN_TRACE_SEED();
  using RgbType = itk::Image<itk::RGBPixel<unsigned char>, 2>;
  const auto image = RgbType::New();
  image->SetRegions(itk::ImageRegion<2>(itk::Size<2>{ { 37, 25 } }));
  image->Allocate();
  std::mt19937_64 random(cudamediantest::Seed());
  for (std::size_t i = 0; i < 3 * 37 * 25; ++i)
  {
    image->GetBufferPointer()[i / 3][i % 3] = static_cast<unsigned char>(random());
  }
  const auto expected = FilterTwice(*image);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = itk::CudaMedianChainImageFilter<RgbType>::New();
    AddTwo(*chain, backend);
    chain->SetInput(image);
    chain->Update();
    ExpectKept(*chain, backend);
    for (std::size_t i = 0; i < 37 * 25; ++i)
    {
      ASSERT_EQ(chain->GetOutput()->GetBufferPointer()[i], expected->GetBufferPointer()[i]) << i;
    }
  }
}

// The input that is asked for reaches as far as all windows together.
TEST(CudaMedianChainImageFilter, RegionsReachAsFarAsAllWindows)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto whole = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto expected = FilterTwice(*whole);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = MakeChain(backend, *whole);
    for (const auto & part : { ImageType::RegionType({ { 15, 8, 10 } }, { { 11, 7, 4 } }),
                               ImageType::RegionType({ { 5, -3, 0 } }, { { 1, 1, 1 } }),
                               ImageType::RegionType({ { 40, 20, 21 } }, { { 2, 6, 2 } }) })
    {
      chain->GetOutput()->SetRequestedRegion(part);
      chain->Update();
      auto needed = part;
      needed.PadByRadius(ImageType::SizeType{ { 3, 3, 1 } });
      needed.Crop(region);
      EXPECT_EQ(whole->GetRequestedRegion(), needed);
      EXPECT_EQ(chain->GetOutput()->GetBufferedRegion(), part);
      EXPECT_EQ(chain->GetOutput()->GetLargestPossibleRegion(), region);
      ExpectKept(*chain, backend);
      cudamediantest::ExpectEqualPixels(*expected, *chain->GetOutput(), part);
    }
    chain->GetOutput()->SetRequestedRegion(ImageType::RegionType({ { 90, 0, 0 } }, { { 1, 1, 1 } }));
    EXPECT_THROW(chain->Update(), itk::InvalidRequestedRegionError);
    chain->UpdateLargestPossibleRegion();
    ExpectEqualImages(*expected, *chain->GetOutput());
  }
}

TEST(CudaMedianChainImageFilter, StreamsPiecesOfASource)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto source = cudamediantest::RegionSource<ImageType>::New();
  source->SetRegion(region);
  const auto all = cudamediantest::RegionSource<ImageType>::New();
  all->SetRegion(region);
  all->Update();
  const auto expected = FilterTwice(*all->GetOutput());
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = ChainType::New();
    AddTwo(*chain, backend);
    chain->SetInput(source->GetOutput());
    const auto streamer = itk::StreamingImageFilter<ImageType, ImageType>::New();
    streamer->SetInput(chain->GetOutput());
    streamer->SetNumberOfStreamDivisions(5);
    streamer->Update();
    ExpectKept(*chain, backend);
    ExpectEqualImages(*expected, *streamer->GetOutput());
  }
}

TEST(CudaMedianChainImageFilter, RunsAgainWhereSomethingChangedAlone)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = ChainType::New();
    const auto first = MakeMedian(backend, 1);
    chain->AddFilter(first);
    chain->AddFilter(MakeMedian(backend, 1));
    chain->SetInput(image);
    int runs = 0;
    chain->AddObserver(itk::StartEvent(), [&runs](const itk::EventObject &) { ++runs; });
    chain->Update();
    chain->Update();
    EXPECT_EQ(runs, 1);
    first->SetRadius(2);
    chain->Update();
    EXPECT_EQ(runs, 2);
    const auto once = cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(2));
    ExpectEqualImages(*cudamediantest::ItkMedian(*once, ImageType::SizeType::Filled(1)), *chain->GetOutput());
    image->GetBufferPointer()[1000] ^= 1;
    image->Modified();
    chain->Update();
    EXPECT_EQ(runs, 3);
    const auto other = cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(2));
    ExpectEqualImages(*cudamediantest::ItkMedian(*other, ImageType::SizeType::Filled(1)), *chain->GetOutput());
  }
}

TEST(CudaMedianChainImageFilter, RunsAgainWhereAMaskChanged)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto mask = cudamediantest::MakeImage<itk::Image<unsigned char, 3>>(region);
  mask->FillBuffer(1);
  const auto masked = MakeMedian(BackendEnum::Auto, 1);
  masked->SetMaskImage(mask);
  const auto chain = ChainType::New();
  chain->AddFilter(masked);
  chain->AddFilter(MakeMedian(BackendEnum::Auto, 1));
  chain->SetInput(image);
  int runs = 0;
  chain->AddObserver(itk::StartEvent(), [&runs](const itk::EventObject &) { ++runs; });
  chain->Update();
  chain->Update();
  EXPECT_EQ(runs, 1);
  std::fill_n(mask->GetBufferPointer(), 500, static_cast<unsigned char>(0));
  mask->Modified();
  chain->Update();
  EXPECT_EQ(runs, 2);
  masked->SetInput(image);
  masked->Update();
  ExpectEqualImages(*cudamediantest::ItkMedian(*masked->GetOutput(), ImageType::SizeType::Filled(1)),
                    *chain->GetOutput());
}

// A filter of the chain that throws before any pixel is asked for leaves the others as they were.
TEST(CudaMedianChainImageFilter, IsReusableAfterAnErrorBeforeTheFirstPixel)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto chain = ChainType::New();
    const auto first = MakeMedian(backend, 1);
    chain->AddFilter(first);
    chain->AddFilter(MakeMedian(backend, 1));
    chain->SetInput(image);
    first->SetPhysicalRadius(-1.0);
    EXPECT_THROW(chain->Update(), itk::ExceptionObject);
    first->SetPhysicalRadius(2.0);
    chain->ResetPipeline();
    chain->Update();
    const auto alone = MakeMedian(BackendEnum::Cpu, 1);
    alone->SetPhysicalRadius(2.0);
    alone->SetInput(image);
    alone->Update();
    ExpectEqualImages(*cudamediantest::ItkMedian(*alone->GetOutput(), ImageType::SizeType::Filled(1)),
                      *chain->GetOutput());
  }
}

TEST(CudaMedianChainImageFilter, ProgressRisesToOne)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto         chain = MakeChain(backend, *image);
    std::vector<float> progress;
    chain->AddObserver(itk::ProgressEvent(),
                       [&](const itk::EventObject &) { progress.push_back(chain->GetProgress()); });
    chain->Update();
    ASSERT_GE(progress.size(), 2U);
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
    EXPECT_EQ(progress.back(), 1.0F);
  }
}

TEST(CudaMedianChainImageFilter, AfterAnAbortOrAnExceptionTheChainWorksAgain)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto expected = FilterTwice(*image);
  for (const auto backend : BackendsUnderTest())
  {
    for (const float after : { -1.0F, 0.0F, 0.6F })
    {
      for (const bool aborts : { false, true })
      {
        SCOPED_TRACE(BackendText(backend) + (aborts ? ", abort" : ", exception") + " after " + std::to_string(after));
        const auto          chain = MakeChain(backend, *image);
        const unsigned long tag = chain->AddObserver(itk::ProgressEvent(), [&](const itk::EventObject &) {
          if (chain->GetProgress() > after && aborts)
          {
            chain->AbortGenerateDataOn();
          }
          else if (chain->GetProgress() > after)
          {
            itkGenericExceptionMacro("thrown by the observer");
          }
        });
        EXPECT_THROW(chain->Update(), itk::ExceptionObject);
        EXPECT_EQ(chain->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U);
        chain->RemoveObserver(tag);
        chain->ResetPipeline();
        chain->AbortGenerateDataOff();
        chain->Update();
        ExpectEqualImages(*expected, *chain->GetOutput());
      }
    }
  }
}

TEST(CudaMedianChainImageFilter, ARegionThatFailedIsGeneratedWhenItIsAskedForAgain)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto expected = FilterTwice(*image);
  for (const auto backend : BackendsUnderTest())
  {
    for (const bool aborts : { false, true })
    {
      SCOPED_TRACE(BackendText(backend) + (aborts ? ", aborted" : ", an exception"));
      const auto chain = MakeChain(backend, *image);
      cudamediantest::ExpectFailedRegionIsGeneratedAgain(*chain, aborts);
      const auto * output = chain->GetOutput();
      cudamediantest::ExpectEqualPixels(*expected, *output, output->GetBufferedRegion());
    }
  }
}

// What a chain does not take runs one after the other, and the reason is told.
TEST(CudaMedianChainImageFilter, WhatIsNoChainRunsOneAfterTheOther)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto mask = cudamediantest::MakeImage<itk::Image<unsigned char, 3>>(region);
  mask->FillBuffer(0);
  std::fill_n(mask->GetBufferPointer(), 9000, static_cast<unsigned char>(1));
  for (const auto backend : BackendsUnderTest())
  {
    SCOPED_TRACE(BackendText(backend));
    const auto check = [&](const char * why, const auto & change) {
      const auto first = MakeMedian(backend, 1);
      const auto second = MakeMedian(backend, 1);
      const auto chain = ChainType::New();
      change(*second);
      chain->AddFilter(first);
      chain->AddFilter(second);
      chain->SetInput(image);
      chain->Update();
      EXPECT_FALSE(chain->IsKeptOnDevice());
      EXPECT_NE(chain->GetReason().find(backend == BackendEnum::Cpu ? "step 0 is to run on the CPU" : why),
                std::string::npos)
        << chain->GetReason();
      const auto alone = MakeMedian(BackendEnum::Cpu, 1);
      change(*alone);
      alone->SetBackend(BackendEnum::Cpu);
      alone->SetInput(cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(1)));
      alone->Update();
      ExpectEqualImages(*alone->GetOutput(), *chain->GetOutput());
    };
    check("step 1: In a chain all pixels are valid", [](auto & filter) { filter.SetIgnoredValue(7); });
    check("step 1: windows that wrap", [](auto & filter) { filter.SetBoundaryMode(Enums::Boundary::Wrap); });
    check("windows are not clipped", [](auto & filter) { filter.SetBoundaryMode(Enums::Boundary::Shrink); });
    check("step 1 is to run on the CPU", [](auto & filter) { filter.SetBackend(BackendEnum::Cpu); });
#ifdef CUDAMEDIAN_TEST_ON_HOST // whose kernels have no tiles, so that one filter alone does with so little
    check("budget", [&](auto & filter) { filter.SetDeviceMemoryBudget(1700); });
#endif
    const auto masked = MakeMedian(backend, 1);
    const auto chain = ChainType::New();
    masked->SetMaskImage(mask);
    chain->AddFilter(MakeMedian(backend, 1));
    chain->AddFilter(masked);
    chain->SetInput(image);
    chain->Update();
    EXPECT_EQ(chain->GetReason(), "filter 1, CudaMedianImageFilter: A chain's steps have no mask");
    EXPECT_EQ(chain->GetChainReport().steps[0].backend,
              cudamedian::ToString(static_cast<cudamedian::Backend>(backend)));
  }
}

TEST(CudaMedianChainImageFilter, OtherFiltersOfItkRunBetween)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto mean = itk::MeanImageFilter<ImageType, ImageType>::New();
  const auto chain = ChainType::New();
  chain->AddFilter(MakeMedian(BackendEnum::Auto, 1));
  chain->AddFilter(mean);
  chain->AddFilter(MakeMedian(BackendEnum::Auto, 2));
  chain->SetInput(image);
  chain->Update();
  EXPECT_EQ(chain->GetReason(), "filter 1, MeanImageFilter: it runs by itself");
  EXPECT_EQ(chain->GetChainReport().steps[1].algorithm, "itk::MeanImageFilter");
  const auto expected = itk::MeanImageFilter<ImageType, ImageType>::New();
  expected->SetInput(cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(1)));
  expected->Update();
  ExpectEqualImages(*cudamediantest::ItkMedian(*expected->GetOutput(), ImageType::SizeType::Filled(2)),
                    *chain->GetOutput());
}

// Where filters choose their backend, so does the chain, and the pixels are the same.
TEST(CudaMedianChainImageFilter, TheAutomaticChoiceGivesItsReason)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto chain = MakeChain(BackendEnum::Auto, *image);
  chain->Update();
  const auto & report = chain->GetChainReport();
  const auto   text = chain->IsKeptOnDevice() ? report.whole.backendReason : chain->GetReason();
  EXPECT_TRUE(text.find("automatic") != std::string::npos || text.find("no usable CUDA device") != std::string::npos)
    << text;
  ExpectEqualImages(*FilterTwice(*image), *chain->GetOutput());
}

#ifdef CUDAMEDIAN_TEST_ON_HOST
TEST(CudaMedianChainImageFilter, TheImageIsTransferredOnceEachWay)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image =
    MakeRandomImage<ImageType>(ImageType::RegionType(ImageType::SizeType{ { 64, 29, 23 } }), Pattern::FullRange);
  const auto bytes = image->GetBufferedRegion().GetNumberOfPixels() * sizeof(short);
  for (const int filters : { 2, 4 })
  {
    const auto chain = ChainType::New();
    for (int i = 0; i < filters; ++i)
    {
      chain->AddFilter(MakeMedian(BackendEnum::Cuda, 1));
    }
    chain->SetInput(image);
    cudamediantest::ForgetTransfers();
    chain->Update();
    EXPECT_TRUE(chain->IsKeptOnDevice()) << chain->GetReason();
    EXPECT_EQ(cudamediantest::GetTransfers().upload, bytes);
    EXPECT_EQ(cudamediantest::GetTransfers().download, bytes);
  }
}

// A chain that fails on the way leaves the image to its filters, from the start.
TEST(CudaMedianChainImageFilter, WhatFailsOnTheDeviceRunsOneAfterTheOther)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto expected = FilterTwice(*image);
  const auto chain = MakeChain(BackendEnum::Cuda, *image);
  for (const int copy : { 1, 2, 3 })
  {
    std::vector<float>  progress;
    const unsigned long tag = chain->AddObserver(
      itk::ProgressEvent(), [&](const itk::EventObject &) { progress.push_back(chain->GetProgress()); });
    cudamediantest::SetCopyFaults(copy, 1);
    chain->Modified();
    chain->Update();
    cudamediantest::ClearCudaFaults();
    chain->RemoveObserver(tag);
    // The first copy is the upload. Those on the device are tried again where an earlier call has left its launches.
    if (copy == 1 || !chain->IsKeptOnDevice())
    {
      EXPECT_FALSE(chain->IsKeptOnDevice());
      EXPECT_NE(chain->GetReason().find("cudaMemcpy"), std::string::npos) << chain->GetReason();
      EXPECT_EQ(chain->GetChainReport().whole.backend, "CUDA, then CUDA");
    }
    EXPECT_TRUE(std::is_sorted(progress.begin(), progress.end()));
    ExpectEqualImages(*expected, *chain->GetOutput());
  }
  // Of the filters one fails as well, and that is an exception.
  cudamediantest::SetCopyFaults(1, cudamediantest::forEver);
  chain->Modified();
  EXPECT_THROW(chain->Update(), itk::ExceptionObject);
  cudamediantest::ClearCudaFaults();
  chain->Update();
  EXPECT_TRUE(chain->IsKeptOnDevice()) << chain->GetReason();
  ExpectEqualImages(*expected, *chain->GetOutput());
}
#endif

TEST(CudaMedianChainImageFilter, WrongUseIsNamed)
{
  const auto chain = ChainType::New();
  const auto image = MakeRandomImage<ImageType>(region, Pattern::FullRange);
  const auto filter = MakeMedian(BackendEnum::Cpu, 1);
  const auto expect = [](const char * text, const auto & call) {
    try
    {
      call();
      FAIL() << "no exception: " << text;
    }
    catch (const itk::ExceptionObject & error)
    {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  };
  chain->SetInput(image);
  expect("The chain has no filter", [&] { chain->Update(); });
  expect("no filter that is null", [&] { chain->AddFilter(static_cast<MedianType *>(nullptr)); });
  chain->AddFilter(filter);
  expect("is in the chain already", [&] { chain->AddFilter(filter); });
  expect("no filter 1; the chain has 1", [&] { chain->GetFilter(1); });
  chain->Update();
  EXPECT_EQ(chain->GetReason(), "there is one filter alone");
  ExpectEqualImages(*cudamediantest::ItkMedian(*image, ImageType::SizeType::Filled(1)), *chain->GetOutput());
  chain->ClearFilters();
  EXPECT_EQ(chain->GetNumberOfFilters(), 0U);
  expect("The chain has no filter", [&] { chain->Update(); });
  chain->AddFilter(filter);
  chain->SetInput(nullptr);
  expect("Input Primary is required", [&] { chain->Update(); });
  std::ostringstream printed;
  chain->Print(printed);
  EXPECT_NE(printed.str().find("CudaMedianImageFilter"), std::string::npos);
}
