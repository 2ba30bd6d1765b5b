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
// The filters between those of ITKCudaCommon, with its own images. All copies that the CUDA runtime is asked for are
// counted, those of either module.

#include "CudaMedianTestAgainstItk.h"

#include "itkCudaImage.h"
#include "itkCudaSquareImageFilter.h"

#include <algorithm>
#include <atomic>
#include <string>

namespace
{

std::atomic<int> uploads{ 0 };
std::atomic<int> downloads{ 0 };

void
Count(cudaMemcpyKind kind)
{
  uploads += kind == cudaMemcpyHostToDevice ? 1 : 0;
  downloads += kind == cudaMemcpyDeviceToHost ? 1 : 0;
}

} // namespace

// The linker has calls of the runtime come here (--wrap).
extern "C"
{

  cudaError_t
  __real_cudaMemcpy(void *, const void *, std::size_t, cudaMemcpyKind);
  cudaError_t
  __real_cudaMemcpyAsync(void *, const void *, std::size_t, cudaMemcpyKind, cudaStream_t);
  cudaError_t
  __real_cudaMemcpy2DAsync(void *,
                           std::size_t,
                           const void *,
                           std::size_t,
                           std::size_t,
                           std::size_t,
                           cudaMemcpyKind,
                           cudaStream_t);

  cudaError_t
  __wrap_cudaMemcpy(void * target, const void * source, std::size_t bytes, cudaMemcpyKind kind)
  {
    Count(kind);
    return __real_cudaMemcpy(target, source, bytes, kind);
  }

  cudaError_t
  __wrap_cudaMemcpyAsync(void *         target,
                         const void *   source,
                         std::size_t    bytes,
                         cudaMemcpyKind kind,
                         cudaStream_t   stream)
  {
    Count(kind);
    return __real_cudaMemcpyAsync(target, source, bytes, kind, stream);
  }

  cudaError_t
  __wrap_cudaMemcpy2DAsync(void *         target,
                           std::size_t    targetPitch,
                           const void *   source,
                           std::size_t    sourcePitch,
                           std::size_t    width,
                           std::size_t    height,
                           cudaMemcpyKind kind,
                           cudaStream_t   stream)
  {
    Count(kind);
    return __real_cudaMemcpy2DAsync(target, targetPitch, source, sourcePitch, width, height, kind, stream);
  }

} // extern "C"

namespace
{

using cudamediantest::BackendEnum;
using cudamediantest::ExpectEqualImages;
using cudamediantest::ItkMedian;
using Size = itk::Size<3>;
using PlainType = itk::Image<float, 3>;
using ImageType = itk::CudaImage<float, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;

constexpr Size oddSize{ { 131, 77, 33 } };

template <typename TPlain>
typename TPlain::Pointer
MakePlain(const Size & size = oddSize)
{
  return cudamediantest::MakeRandomImage<TPlain>(size, cudamediantest::Pattern::FullRange);
}

/** The same pixels in an image that has them on the host, or on the device as well. */
template <typename TPixel>
typename itk::CudaImage<TPixel, 3>::Pointer
MakeCudaImage(const itk::Image<TPixel, 3> & plain, bool onDevice)
{
  const auto image = itk::CudaImage<TPixel, 3>::New();
  image->SetRegions(plain.GetBufferedRegion());
  image->Allocate();
  std::copy_n(plain.GetBufferPointer(), plain.GetBufferedRegion().GetNumberOfPixels(), image->GetBufferPointer());
  if (onDevice)
  {
    image->GetCudaDataManager()->GetGPUBufferPointer();
  }
  return image;
}

void
ForgetCopies()
{
  uploads = 0;
  downloads = 0;
}

void
ExpectCopies(int up, int down)
{
  EXPECT_EQ(uploads, up);
  EXPECT_EQ(downloads, down);
}

/** Two medians and a kernel of ITKCudaCommon, from device to device. */
template <typename TPixel>
void
ExpectRowOfFilters(const Size & size, const Size & radius, cudaStream_t stream, bool isGrafted)
{
  using Image = itk::CudaImage<TPixel, 3>;
  using Plain = itk::Image<TPixel, 3>;
  const auto plain = MakePlain<Plain>(size);
  const auto image = MakeCudaImage<TPixel>(*plain, true);
  const auto first = itk::CudaMedianImageFilter<Image>::New();
  const auto second = itk::CudaMedianImageFilter<Image>::New();
  const auto square = itk::CudaSquareImageFilter<Image>::New();
  const auto outer = Image::New();
  first->SetInput(image);
  first->SetRadius(radius);
  first->SetStream(stream);
  first->ReleaseDataFlagOn();
  second->SetInput(first->GetOutput());
  second->SetStream(stream);
  if (isGrafted)
  {
    outer->SetRegions(size);
    outer->Allocate();
    second->GraftOutput(outer);
  }
  square->SetInput(second->GetOutput());
  square->InPlaceOff();
  ForgetCopies();
  square->Update();
  ExpectCopies(0, 0);
  EXPECT_EQ(first->GetExecutionReport().backendReason, "the image is in device memory");
  EXPECT_EQ(second->GetExecutionReport().backendReason, "the image is in device memory");
  EXPECT_FALSE(image->GetCudaDataManager()->IsGPUBufferDirty());
  EXPECT_TRUE(square->GetOutput()->GetCudaDataManager()->IsCPUBufferDirty());
  const auto expected = ItkMedian<Plain>(*ItkMedian<Plain>(*plain, radius), Size::Filled(1));
  ExpectEqualImages<Plain>(*expected, *second->GetOutput());
  const auto * medians = expected->GetBufferPointer();
  const auto * squares = square->GetOutput()->GetBufferPointer();
  EXPECT_TRUE(std::equal(
    medians, medians + expected->GetBufferedRegion().GetNumberOfPixels(), squares, [](TPixel median, TPixel found) {
      return static_cast<TPixel>(median * median) == found;
    }));
}

} // namespace

TEST(CudaMedianCudaCommon, FiltersInARowWithoutTransfers)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ExpectRowOfFilters<float>({ { 128, 96, 64 } }, { { 1, 1, 1 } }, nullptr, false);
  ExpectRowOfFilters<float>(oddSize, { { 2, 1, 0 } }, nullptr, true);
  ExpectRowOfFilters<short>(oddSize, { { 5, 5, 0 } }, stream, false);
  ExpectRowOfFilters<short>({ { 256, 256, 16 } }, { { 12, 12, 0 } }, stream, true);
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

TEST(CudaMedianCudaCommon, PixelsOfTheHostAreUploadedOnceAndStayGood)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto plain = MakePlain<PlainType>();
  const auto image = MakeCudaImage<float>(*plain, false);
  const auto filter = FilterType::New();
  filter->SetInput(image);
  ForgetCopies();
  filter->Update();
  ExpectCopies(1, 0);
  ExpectEqualImages<PlainType>(*plain, *image);
  ExpectCopies(1, 0);
  ExpectEqualImages<PlainType>(*ItkMedian(*plain, Size::Filled(1)), *filter->GetOutput());
  ExpectCopies(1, 1);
}

TEST(CudaMedianCudaCommon, APartGoesByWayOfTheHost)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  const auto                  plain = MakePlain<PlainType>();
  const auto                  filter = FilterType::New();
  const PlainType::RegionType region({ { 10, 20, 3 } }, { { 50, 31, 9 } });
  filter->SetInput(MakeCudaImage<float>(*plain, true));
  filter->GetOutput()->SetRequestedRegion(region);
  filter->Update();
  ASSERT_EQ(filter->GetOutput()->GetBufferedRegion(), region);
  EXPECT_NE(filter->GetExecutionReport().backendReason.find("the host's copy of the pixels was filtered"),
            std::string::npos);
  cudamediantest::ExpectEqualPixels<PlainType>(*ItkMedian(*plain, Size::Filled(1)), *filter->GetOutput(), region);
}

// Last: from here on New() of images makes others.
TEST(CudaMedianCudaCommonFactory, ImagesOfARegisteredTypeStayOnTheDevice)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  itk::CudaImageFactory::RegisterOneFactory();
  const auto image = MakePlain<PlainType>();
  auto *     managed = dynamic_cast<ImageType *>(image.GetPointer());
  ASSERT_NE(managed, nullptr);
  const auto expected = ItkMedian(*image, Size::Filled(1));
  for (const bool isRegistered : { false, true })
  {
    if (isRegistered)
    {
      itk::CudaMedianRegisterDeviceImage<ImageType>();
    }
    managed->GetCudaDataManager()->GetGPUBufferPointer();
    const auto filter = itk::CudaMedianImageFilter<PlainType>::New();
    filter->SetInput(image);
    ForgetCopies();
    filter->Update();
    EXPECT_EQ(uploads + downloads == 0, isRegistered);
    ExpectEqualImages(*expected, *filter->GetOutput());
  }
}
