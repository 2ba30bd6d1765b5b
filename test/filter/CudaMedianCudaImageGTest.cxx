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
// Images that have their pixels on a device too: filtered there where they lie, and by way of the host where that
// cannot be. On a GPU, and on devices that are threads of the host.

#include "CudaMedianTestAgainstItk.h"
#include "CudaMedianTestCudaImage.h"

#ifdef CUDAMEDIAN_TEST_ON_HOST
#  include "CudaFaults.h"
#endif

#include "itkCudaMedianChainImageFilter.h"
#include "itkCudaRankImageFilter.h"
#include "itkObjectFactoryBase.h"
#include "itkRGBPixel.h"
#include "itkVersion.h"

#include <algorithm>
#include <string>
#include <vector>

namespace
{

using cudamediantest::BackendEnum;
using cudamediantest::CudaImage;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ItkMedian;
using Enums = itk::CudaMedianImageFilterEnums;
using PlainType = itk::Image<short, 3>;
using ImageType = CudaImage<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;

const PlainType::RegionType oddRegion({ { 5, -3, 0 } }, { { 37, 29, 11 } });
const std::string           inPlace = "the image is in device memory";

/** A random image with the last values of its pixels on the host. */
template <typename TPlain>
typename TPlain::Pointer
MakePlain(const typename TPlain::RegionType & region = oddRegion)
{
  return cudamediantest::MakeRandomImage<TPlain>(region, cudamediantest::Pattern::FullRange);
}

/** The same pixels, with those on the host. */
template <typename TImage>
typename TImage::Pointer
CopyToHost(const typename TImage::Superclass & plain)
{
  const auto image = TImage::New();
  image->CopyInformation(&plain);
  image->SetRegions(plain.GetBufferedRegion());
  image->Allocate();
  std::copy_n(plain.GetBufferPointer(), plain.GetBufferedRegion().GetNumberOfPixels(), image->GetBufferPointer());
  image->GetCudaDataManager()->ForgetCounts();
  return image;
}

/** The same pixels on the device alone; those of the host are wrong. */
template <typename TImage>
typename TImage::Pointer
CopyToDevice(const typename TImage::Superclass & plain)
{
  const auto image = CopyToHost<TImage>(plain);
  image->GetCudaDataManager()->GetGPUBufferPointer();
  auto * const stale = image->GetPixelContainer()->GetImportPointer();
  std::fill_n(stale, plain.GetBufferedRegion().GetNumberOfPixels(), typename TImage::PixelType{});
  image->GetCudaDataManager()->ForgetCounts();
  return image;
}

/** No pixel of an image went to the host or came from there. */
template <typename TImage>
void
ExpectNoTransfer(const TImage & image)
{
  const auto manager = image.GetCudaDataManager();
  EXPECT_EQ(manager->uploads, 0);
  EXPECT_EQ(manager->downloads, 0);
  EXPECT_EQ(manager->hostAccesses, 0);
}

/** The filter's output is on the device alone. */
template <typename TImage>
void
ExpectLeftOnDevice(const TImage & output)
{
  ExpectNoTransfer(output);
  EXPECT_FALSE(output.GetCudaDataManager()->IsGPUBufferDirty());
  EXPECT_TRUE(output.GetCudaDataManager()->IsCPUBufferDirty());
}

/** Makes plain images of a type images that may be on a device, as itk::CudaImageFactory does. */
template <typename TPixel, unsigned int VDimension>
class Factory : public itk::ObjectFactoryBase
{
public:
  using Self = Factory;
  using Pointer = itk::SmartPointer<Self>;

  itkFactorylessNewMacro(Self);

  const char *
  GetITKSourceVersion() const override
  {
    return ITK_SOURCE_VERSION;
  }

  const char *
  GetDescription() const override
  {
    return "images on a device";
  }

protected:
  Factory()
  {
    using Managed = CudaImage<TPixel, VDimension>;
    this->RegisterOverride(typeid(itk::Image<TPixel, VDimension>).name(),
                           typeid(Managed).name(),
                           "",
                           true,
                           itk::CreateObjectFunction<Managed>::New());
  }
};

} // namespace

TEST(CudaMedianCudaImage, InAndOutWithoutTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  for (const auto & size : { PlainType::SizeType{ { 37, 29, 11 } }, PlainType::SizeType{ { 64, 33, 7 } } })
  {
    const auto plain = MakePlain<PlainType>({ oddRegion.GetIndex(), size });
    for (const auto backend : { BackendEnum::Auto, BackendEnum::Cuda })
    {
      for (const auto & radius : { PlainType::SizeType{ { 1, 1, 1 } }, PlainType::SizeType{ { 2, 1, 0 } } })
      {
        const auto image = CopyToDevice<ImageType>(*plain);
        const auto filter = FilterType::New();
        filter->SetInput(image);
        filter->SetBackend(backend);
        filter->SetRadius(radius);
        filter->Update();
        ExpectNoTransfer(*image);
        EXPECT_FALSE(image->GetCudaDataManager()->IsGPUBufferDirty());
        EXPECT_TRUE(image->GetCudaDataManager()->IsCPUBufferDirty());
        ExpectLeftOnDevice(*filter->GetOutput());
        EXPECT_EQ(filter->GetExecutionReport().backendReason, inPlace);
        EXPECT_EQ(filter->GetExecutionReport().backend, "CUDA");
        ExpectEqualImages<PlainType>(*ItkMedian(*plain, radius), *filter->GetOutput());
        EXPECT_EQ(filter->GetOutput()->GetCudaDataManager()->downloads, 1);
      }
    }
  }
}

TEST(CudaMedianCudaImage, PixelsOfTheHostAreUploadedAndStayGood)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = CopyToHost<ImageType>(*plain);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  for (int update = 0; update < 2; ++update)
  {
    filter->Modified();
    filter->Update();
    EXPECT_EQ(image->GetCudaDataManager()->uploads, 1);
    EXPECT_EQ(image->GetCudaDataManager()->downloads, 0);
    EXPECT_FALSE(image->GetCudaDataManager()->IsCPUBufferDirty());
    EXPECT_FALSE(image->GetCudaDataManager()->IsGPUBufferDirty());
    ExpectLeftOnDevice(*filter->GetOutput());
  }
  ExpectEqualImages<PlainType>(*ItkMedian(*plain, PlainType::SizeType::Filled(1)), *filter->GetOutput());
}

TEST(CudaMedianCudaImage, FiltersInARowKeepWhatIsBetweenThemOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = CopyToDevice<ImageType>(*plain);
  const auto first = FilterType::New();
  const auto second = FilterType::New();
  first->SetInput(image);
  first->ReleaseDataFlagOn();
  second->SetInput(first->GetOutput());
  second->SetRadius(2);
  const auto between = first->GetOutput()->GetCudaDataManager();
  second->Update();
  EXPECT_EQ(between->uploads + between->downloads + between->hostAccesses, 0);
  EXPECT_NE(first->GetOutput()->GetCudaDataManager(), between) << "the first output was not released";
  ExpectNoTransfer(*image);
  ExpectLeftOnDevice(*second->GetOutput());
  const auto once = ItkMedian(*plain, PlainType::SizeType::Filled(1));
  ExpectEqualImages<PlainType>(*ItkMedian(*once, PlainType::SizeType::Filled(2)), *second->GetOutput());
}

// In a chain, too: its filters run one after the other, and the images stay where they are.
TEST(CudaMedianCudaImage, ChainsLeaveThemOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = CopyToDevice<ImageType>(*plain);
  const auto chain = itk::CudaMedianChainImageFilter<ImageType>::New();
  const auto first = FilterType::New();
  const auto second = FilterType::New();
  second->SetRadius(2);
  chain->AddFilter(first);
  chain->AddFilter(second);
  chain->SetInput(image);
  chain->Update();
  EXPECT_EQ(chain->GetReason(), "the images have pixels on a device, where each filter leaves its output");
  EXPECT_EQ(first->GetExecutionReport().backendReason, inPlace);
  EXPECT_EQ(second->GetExecutionReport().backendReason, inPlace);
  ExpectNoTransfer(*image);
  ExpectLeftOnDevice(*chain->GetOutput());
  const auto once = ItkMedian(*plain, PlainType::SizeType::Filled(1));
  ExpectEqualImages<PlainType>(*ItkMedian(*once, PlainType::SizeType::Filled(2)), *chain->GetOutput());
}

TEST(CudaMedianCudaImage, BoundariesFootprintsAndSlicesEqualTheHosts)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = CopyToDevice<ImageType>(*plain);
  for (const auto boundary :
       { Enums::Boundary::Constant, Enums::Boundary::Reflect, Enums::Boundary::Mirror, Enums::Boundary::Wrap })
  {
    for (const int shape : { 0, 1, 2 })
    {
      const auto onDevice = FilterType::New();
      const auto onHost = itk::CudaMedianImageFilter<PlainType>::New();
      const auto prepare = [&](auto & filter) {
        filter.SetBoundaryMode(boundary);
        filter.SetBoundaryConstant(77);
        filter.SetRadius(2);
        filter.SetSliceWise(shape == 1);
        if (shape == 2)
        {
          filter.SetPhysicalRadius(2.0);
        }
      };
      prepare(*onDevice);
      prepare(*onHost);
      onDevice->SetInput(image);
      onHost->SetInput(plain);
      onHost->SetBackend(BackendEnum::Cpu);
      onDevice->Update();
      onHost->Update();
      ExpectLeftOnDevice(*onDevice->GetOutput());
      EXPECT_EQ(onDevice->GetExecutionReport().border, onHost->GetExecutionReport().border);
      EXPECT_EQ(onDevice->GetExecutionReport().footprint, onHost->GetExecutionReport().footprint);
      ExpectEqualImages<PlainType>(*onHost->GetOutput(), *onDevice->GetOutput());
    }
  }
  ExpectNoTransfer(*image);
}

// What images in device memory do not take goes by way of the host, and the report says why.
TEST(CudaMedianCudaImage, WhatTheDeviceDoesNotTakeIsFilteredOnTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto check = [&](const char * why, const auto & change) {
    SCOPED_TRACE(why);
    const auto filter = FilterType::New();
    const auto expected = itk::CudaMedianImageFilter<PlainType>::New();
    filter->SetInput(CopyToDevice<ImageType>(*plain));
    expected->SetInput(plain);
    expected->SetBackend(BackendEnum::Cpu);
    change(*filter);
    change(*expected);
    filter->Update();
    expected->Update();
    EXPECT_NE(filter->GetExecutionReport().backendReason.find(why), std::string::npos)
      << filter->GetExecutionReport().backendReason;
    ExpectEqualImages<PlainType>(*expected->GetOutput(), *filter->GetOutput());
  };
  check("the output is as large as the input", [](auto & filter) {
    filter.GetOutput()->SetRequestedRegion(PlainType::RegionType({ { 9, 0, 2 } }, { { 8, 7, 3 } }));
  });
  check("The mask has no pixels on a device", [&](auto & filter) { filter.SetMaskImage(plain); });
}

// A mask whose pixels are on the device alone is read there, and one of the host is uploaded by its manager.
TEST(CudaMedianCudaImage, MasksAreReadOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using PlainMask = itk::Image<unsigned char, 3>;
  using MaskType = CudaImage<unsigned char, 3>;
  const auto plain = MakePlain<PlainType>();
  const auto plainMask = MakePlain<PlainMask>();
  std::transform(plainMask->GetBufferPointer(),
                 plainMask->GetBufferPointer() + plainMask->GetBufferedRegion().GetNumberOfPixels(),
                 plainMask->GetBufferPointer(),
                 [](unsigned char value) { return static_cast<unsigned char>(value & 1); });
  const auto expected = itk::CudaMedianImageFilter<PlainType>::New();
  expected->SetInput(plain);
  expected->SetMaskImage(plainMask);
  expected->SetBackend(BackendEnum::Cpu);
  expected->Update();
  const auto check = [&](const MaskType * mask) {
    const auto filter = FilterType::New();
    filter->SetInput(CopyToDevice<ImageType>(*plain));
    filter->SetMaskImage(mask);
    filter->Update();
    ExpectEqualImages<PlainType>(*expected->GetOutput(), *filter->GetOutput());
    return filter->GetExecutionReport().backendReason;
  };
  const auto mask = CopyToDevice<MaskType>(*plainMask);
  itk::CudaMedianRegisterDeviceImage<MaskType>();
  EXPECT_EQ(check(mask).find("the host's copy"), std::string::npos);
  ExpectNoTransfer(*mask);
  const auto onHost = CopyToHost<MaskType>(*plainMask);
  EXPECT_EQ(check(onHost).find("the host's copy"), std::string::npos);
  EXPECT_EQ(onHost->GetCudaDataManager()->downloads, 0);
}

TEST(CudaMedianCudaImage, RulesForPixelsStayOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = CopyToDevice<ImageType>(*plain);
  const auto check = [&](const char * what, const auto & change) {
    SCOPED_TRACE(what);
    const auto filter = FilterType::New();
    const auto expected = itk::CudaMedianImageFilter<PlainType>::New();
    filter->SetInput(image);
    expected->SetInput(plain);
    expected->SetBackend(BackendEnum::Cpu);
    change(*filter);
    change(*expected);
    filter->Update();
    expected->Update();
    ExpectLeftOnDevice(*filter->GetOutput());
    EXPECT_EQ(filter->GetExecutionReport().validity, expected->GetExecutionReport().validity);
    ExpectEqualImages<PlainType>(*expected->GetOutput(), *filter->GetOutput());
  };
  check("ignored value", [](auto & filter) { filter.SetIgnoredValue(3); });
  check("outliers", [](auto & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Absolute);
    filter.SetOutlierThreshold(20000);
  });
  check("outliers by deviations", [](auto & filter) {
    filter.SetOutlierRule(Enums::OutlierRule::Deviations);
    filter.SetOutlierThreshold(2);
  });
  check("clipped", [](auto & filter) { filter.SetBoundaryMode(Enums::Boundary::Shrink); });
  check("mean", [](auto & filter) {
    filter.SetEvenWindow(true);
    filter.SetEvenMedian(Enums::EvenMedian::Mean);
  });
  ExpectNoTransfer(*image);
}

TEST(CudaMedianCudaImage, OtherKindsOfImagesGoByWayOfTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto expected = ItkMedian(*plain, PlainType::SizeType::Filled(1));
  const auto check = [&](const auto & filter, const char * why) {
    filter->Update();
    EXPECT_NE(filter->GetExecutionReport().backendReason.find(why), std::string::npos)
      << filter->GetExecutionReport().backendReason;
  };
  const auto toPlain = itk::CudaMedianImageFilter<ImageType, PlainType>::New();
  toPlain->SetInput(CopyToDevice<ImageType>(*plain));
  check(toPlain, "The output has no pixels on a device");
  ExpectEqualImages(*expected, *toPlain->GetOutput());

  const auto fromPlain = itk::CudaMedianImageFilter<PlainType, ImageType>::New();
  fromPlain->SetInput(plain);
  check(fromPlain, "The input has no pixels on a device");
  ExpectEqualImages<PlainType>(*expected, *fromPlain->GetOutput());

  const auto toFloat = itk::CudaMedianImageFilter<ImageType, CudaImage<float, 3>>::New();
  toFloat->SetInput(CopyToDevice<ImageType>(*plain));
  check(toFloat, "the output has the input's pixel type");
  ExpectEqualImages<itk::Image<float, 3>>(
    *ItkMedian<PlainType, itk::Image<float, 3>>(*plain, PlainType::SizeType::Filled(1)), *toFloat->GetOutput());

  const auto onCpu = FilterType::New();
  onCpu->SetInput(CopyToDevice<ImageType>(*plain));
  onCpu->SetBackend(BackendEnum::Cpu);
  onCpu->Update();
  EXPECT_EQ(onCpu->GetExecutionReport().backend, "CPU");
  EXPECT_EQ(onCpu->GetExecutionReport().backendReason.find("host's copy"), std::string::npos);
  ExpectEqualImages<PlainType>(*expected, *onCpu->GetOutput());
}

TEST(CudaMedianCudaImage, PixelsOfSeveralValuesStayOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using Pixel = itk::RGBPixel<unsigned char>;
  using PlainColours = itk::Image<Pixel, 2>;
  using Colours = CudaImage<Pixel, 2>;
  const auto plain = PlainColours::New();
  plain->SetRegions(PlainColours::SizeType{ { 41, 23 } });
  plain->Allocate();
  std::mt19937_64 random(cudamediantest::Seed());
  auto * const    bytes = reinterpret_cast<unsigned char *>(plain->GetBufferPointer());
  std::generate_n(bytes, 3 * 41 * 23, [&] { return static_cast<unsigned char>(random()); });
  const auto onHost = itk::CudaMedianImageFilter<PlainColours>::New();
  onHost->SetInput(plain);
  onHost->SetBackend(BackendEnum::Cpu);
  onHost->SetRadius(2);
  onHost->Update();
  const auto onDevice = itk::CudaMedianImageFilter<Colours>::New();
  const auto image = CopyToDevice<Colours>(*plain);
  onDevice->SetInput(image);
  onDevice->SetRadius(2);
  onDevice->Update();
  ExpectNoTransfer(*image);
  ExpectLeftOnDevice(*onDevice->GetOutput());
  const auto * found = onDevice->GetOutput()->GetBufferPointer();
  EXPECT_TRUE(std::equal(found, found + 41 * 23, onHost->GetOutput()->GetBufferPointer()));
}

// A filter of plain images, whose New() makes others.
TEST(CudaMedianCudaImage, TypesThatAreRegisteredAreKnown)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  using Plain = itk::Image<float, 2>;
  using Managed = CudaImage<float, 2>;
  const auto plain = MakePlain<Plain>(Plain::SizeType{ { 53, 31 } });
  const auto expected = ItkMedian(*plain, Plain::SizeType::Filled(1));
  const auto factory = Factory<float, 2>::New();
  itk::ObjectFactoryBase::RegisterFactory(factory);
  const auto run = [&](const Managed & image, BackendEnum backend, bool staysOnDevice) {
    const auto filter = itk::CudaMedianImageFilter<Plain>::New();
    filter->SetInput(&image);
    filter->SetBackend(backend);
    filter->Update();
    const auto * output = dynamic_cast<const Managed *>(filter->GetOutput());
    ASSERT_NE(output, nullptr);
    EXPECT_EQ(filter->GetExecutionReport().backendReason == inPlace, staysOnDevice)
      << filter->GetExecutionReport().backendReason;
    if (staysOnDevice)
    {
      ExpectLeftOnDevice(*output);
      EXPECT_EQ(image.GetCudaDataManager()->downloads, 0);
    }
    ExpectEqualImages<Plain>(*expected, *output);
  };
  run(*CopyToDevice<Managed>(*plain), BackendEnum::Auto, false);
  itk::CudaMedianRegisterDeviceImage<Managed>();
  run(*CopyToDevice<Managed>(*plain), BackendEnum::Auto, true);
  run(*CopyToHost<Managed>(*plain), BackendEnum::Auto, false);
  run(*CopyToHost<Managed>(*plain), BackendEnum::Cuda, true);

  // Functions of itk::Image that are not virtual write to the host, and tell the manager nothing.
  const auto filled = Plain::New();
  filled->SetRegions(Plain::SizeType{ { 53, 31 } });
  filled->Allocate();
  filled->FillBuffer(7);
  const auto filter = itk::CudaMedianImageFilter<Plain>::New();
  filter->SetInput(filled);
  filter->SetBackend(BackendEnum::Cuda);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().backendReason, inPlace);
  for (const Plain * image : { static_cast<const Plain *>(filter->GetOutput()), static_cast<const Plain *>(filled) })
  {
    const auto * found = dynamic_cast<const Managed &>(*image).GetBufferPointer();
    EXPECT_EQ(std::count(found, found + 53 * 31, 7.0F), 53 * 31);
  }
  itk::ObjectFactoryBase::UnRegisterFactory(factory);
}

// What CUDA alone does not cover is no error where the CPU may do it.
TEST(CudaMedianCudaImage, ABudgetThatIsTooSmallLeavesTheImageToTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto filter = FilterType::New();
  filter->SetInput(CopyToDevice<ImageType>(*plain));
  filter->SetDeviceMemoryBudget(1);
  filter->SetBackend(BackendEnum::Cuda);
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  filter->SetBackend(BackendEnum::Auto);
  filter->Update();
  const auto reason = filter->GetExecutionReport().backendReason;
  EXPECT_NE(reason.find("the host's copy of the pixels was filtered"), std::string::npos) << reason;
  ExpectEqualImages<PlainType>(*ItkMedian(*plain, PlainType::SizeType::Filled(1)), *filter->GetOutput());
}

// What the default stream does before and after needs no other order than its own.
TEST(CudaMedianCudaImage, AStreamOfTheCallersIsOrderedWithTheDefaultStream)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  for (int repeat = 0; repeat < 20; ++repeat)
  {
    const auto plain =
      cudamediantest::MakeRandomImage<PlainType>(oddRegion, cudamediantest::Pattern::FullRange, 1 + repeat);
    const auto source = CopyToDevice<ImageType>(*plain);
    const auto image = CopyToDevice<ImageType>(*MakePlain<PlainType>());
    const auto bytes = oddRegion.GetNumberOfPixels() * sizeof(short);
    ASSERT_EQ(cudaMemcpyAsync(image->GetCudaDataManager()->GetGPUBufferPointer(),
                              source->GetCudaDataManager()->GetGPUBufferPointer(),
                              bytes,
                              cudaMemcpyDeviceToDevice,
                              nullptr),
              cudaSuccess);
    const auto filter = FilterType::New();
    filter->SetInput(image);
    filter->SetStream(stream);
    EXPECT_EQ(filter->GetStream(), stream);
    filter->Update();
    ExpectLeftOnDevice(*filter->GetOutput());
    ExpectEqualImages<PlainType>(*ItkMedian(*plain, PlainType::SizeType::Filled(1)), *filter->GetOutput());
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaMedianCudaImage, AnImageWithoutPixels)
{
  CUDAMEDIAN_NEEDS_GPU();
  const auto image = ImageType::New();
  image->SetRegions(ImageType::SizeType{ { 4, 0, 3 } });
  image->Allocate();
  const auto filter = FilterType::New();
  filter->SetInput(image);
  filter->Update();
  EXPECT_EQ(filter->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U);
}

#ifdef CUDAMEDIAN_TEST_ON_HOST
// Where the device fails, `Auto` filters on the host, and `Cuda` leaves no output behind.
TEST(CudaMedianCudaImage, FailuresOfTheDevice)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto expected = ItkMedian(*plain, PlainType::SizeType::Filled(1));
  const auto image = CopyToHost<ImageType>(*plain);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  filter->SetBackend(BackendEnum::Cuda);
  cudamediantest::SetCudaFaults(
    1, cudamediantest::forEver, cudaErrorUnknown, { "cudaLaunchKernel", "cudaLaunchKernelExC" });
  EXPECT_THROW(filter->Update(), itk::ExceptionObject);
  EXPECT_GT(cudamediantest::CountFailedCalls(), 0);
  EXPECT_EQ(filter->GetOutput()->GetBufferedRegion().GetNumberOfPixels(), 0U);
  filter->SetBackend(BackendEnum::Auto);
  filter->Update();
  cudamediantest::ClearCudaFaults();
  EXPECT_NE(filter->GetExecutionReport().backendReason.find("host's copy"), std::string::npos)
    << filter->GetExecutionReport().backendReason;
  ExpectEqualImages<PlainType>(*expected, *filter->GetOutput());
  filter->SetBackend(BackendEnum::Cuda);
  filter->Update();
  EXPECT_EQ(filter->GetExecutionReport().backendReason, inPlace);
  ExpectEqualImages<PlainType>(*expected, *filter->GetOutput());
}
#endif

#ifdef itkCudaRankImageFilter_hxx
// The rank filter's windows are clipped, which changes nothing of the extremes of boxes.
TEST(CudaMedianCudaImage, ExtremesStayOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  for (const float rank : { 0.0F, 0.3F, 1.0F })
  {
    const auto image = CopyToDevice<ImageType>(*plain);
    const auto filter = itk::CudaRankImageFilter<ImageType>::New();
    const auto itks = itk::RankImageFilter<PlainType, PlainType>::New();
    filter->SetInput(image);
    itks->SetInput(plain);
    filter->SetRadius(2);
    itks->SetRadius(2);
    filter->SetRank(rank);
    itks->SetRank(rank);
    filter->Update();
    itks->Update();
    if (rank == 0.3F)
    {
      EXPECT_NE(filter->GetExecutionReport().backendReason.find("no windows are clipped"), std::string::npos);
    }
    else
    {
      ExpectNoTransfer(*image);
      ExpectLeftOnDevice(*filter->GetOutput());
      EXPECT_EQ(filter->GetExecutionReport().backendReason, inPlace);
    }
    ExpectEqualImages<PlainType>(*itks->GetOutput(), *filter->GetOutput());
  }
}
#endif
