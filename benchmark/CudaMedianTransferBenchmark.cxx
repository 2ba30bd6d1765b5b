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
// Times Update() on images of ordinary and of pinned memory beside the transfer of the same bytes both ways at once.

#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianPinnedImageContainer.h"

#include <CLI/CLI.hpp>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace
{

using ImageType = itk::Image<short, 3>;
using FilterType = itk::CudaMedianImageFilter<ImageType>;

void
Check(cudaError_t error, const char * call)
{
  if (error != cudaSuccess)
  {
    throw std::runtime_error(std::string(call) + ": " + cudaGetErrorString(error));
  }
}

template <typename TBody>
double
MedianSeconds(int repeats, const TBody & body)
{
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i)
  {
    const auto start = std::chrono::steady_clock::now();
    body();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

/** Seconds to copy so many bytes to the device and as many back, at once, from and to pinned memory. */
double
TimeTransfer(std::size_t bytes, int repeats)
{
  void *       host[2];
  void *       device[2];
  cudaStream_t streams[2];
  for (int i = 0; i < 2; ++i)
  {
    Check(cudaMallocHost(&host[i], bytes), "cudaMallocHost");
    Check(cudaMalloc(&device[i], bytes), "cudaMalloc");
    Check(cudaStreamCreate(&streams[i]), "cudaStreamCreate");
  }
  const auto seconds = MedianSeconds(repeats, [&] {
    Check(cudaMemcpyAsync(device[0], host[0], bytes, cudaMemcpyHostToDevice, streams[0]), "cudaMemcpyAsync");
    Check(cudaMemcpyAsync(host[1], device[1], bytes, cudaMemcpyDeviceToHost, streams[1]), "cudaMemcpyAsync");
    Check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  });
  for (int i = 0; i < 2; ++i)
  {
    Check(cudaFreeHost(host[i]), "cudaFreeHost");
    Check(cudaFree(device[i]), "cudaFree");
    Check(cudaStreamDestroy(streams[i]), "cudaStreamDestroy");
  }
  return seconds;
}

void
Allocate(ImageType & image, const ImageType::SizeType & size, bool pinned)
{
  if (pinned)
  {
    image.SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>::New());
  }
  image.SetRegions(size);
  image.Allocate();
}

ImageType::Pointer
MakeRandomImage(const ImageType::SizeType & size, bool pinned)
{
  const auto image = ImageType::New();
  Allocate(*image, size, pinned);
  const auto    pixels = image->GetBufferedRegion().GetNumberOfPixels();
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (itk::SizeValueType i = 0; i < pixels; ++i)
  {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    image->GetBufferPointer()[i] = static_cast<short>(state >> 48);
  }
  return image;
}

struct Options
{
  itk::SizeValueType budget{ 0 };
  bool               pinned{ false };
  bool               fresh{ false };
  std::vector<int>   devices;
};

/** One row of the table. \returns the seconds of an Update(). */
double
Measure(const char *                name,
        const ImageType::SizeType & size,
        const ImageType::SizeType & radius,
        const Options &             options,
        double                      transferSeconds,
        int                         repeats)
{
  const auto input = MakeRandomImage(size, options.pinned);
  const auto filter = FilterType::New();
  filter->SetInput(input);
  filter->SetRadius(radius);
  filter->SetBackend(itk::CudaMedianImageFilterEnums::Backend::Cuda);
  filter->SetDeviceMemoryBudget(options.budget);
  filter->SetDevices(options.devices);
  if (options.pinned)
  {
    filter->GetOutput()->SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>::New());
  }
  filter->Update();
  const auto   seconds = MedianSeconds(repeats, [&] {
    if (options.fresh)
    {
      filter->GetOutput()->Initialize();
    }
    filter->Modified();
    filter->Update();
  });
  const auto & report = filter->GetExecutionReport();
  std::printf("| %-34s | %zux%zux%zu | %4zu | %8.2f | %8.2f | %5.2f | %8.2f | %8.1f |\n",
              name,
              2 * radius[0] + 1,
              2 * radius[1] + 1,
              2 * radius[2] + 1,
              report.numberOfSlabs,
              seconds * 1e3,
              transferSeconds * 1e3,
              seconds / transferSeconds,
              report.kernelSeconds * 1e3,
              static_cast<double>(report.deviceBytes) / (1 << 20));
  std::fflush(stdout);
  return seconds;
}

void
PrintHeader()
{
  std::printf(
    "| case | window | slabs | ms | transfer ms | R | kernel ms | device MiB |\n| --- | --- | --- | --- | --- | "
    "--- | --- | --- |\n");
}

const ImageType::SizeType flat{ { 16384, 32768, 1 } };
const ImageType::SizeType deep{ { 1024, 1024, 512 } };

/** The same on one device and on several. */
void
MeasureDevices(const std::vector<int> & devices, double transferSeconds, int repeats)
{
  std::printf("\n%zu devices beside the first of them\n\n", devices.size());
  PrintHeader();
  std::string speedUps;
  for (const bool pinned : { true, false })
  {
    for (const auto & [size, radius] : { std::pair{ flat, ImageType::SizeType{ { 1, 1, 0 } } },
                                         std::pair{ flat, ImageType::SizeType{ { 5, 5, 0 } } },
                                         std::pair{ deep, ImageType::SizeType{ { 2, 2, 2 } } } })
    {
      const std::string name = pinned ? "pinned" : "ordinary";
      const double      one = Measure((name + ", one device").c_str(),
                                 size,
                                 radius,
                                 { 0, pinned, false, { devices.front() } },
                                 transferSeconds,
                                 repeats);
      const double      several = Measure(
        (name + ", all devices").c_str(), size, radius, { 0, pinned, false, devices }, transferSeconds, repeats);
      char text[32];
      std::snprintf(text, sizeof(text), " %.2f", one / several);
      speedUps += text;
    }
  }
  std::printf("\ntimes as fast, in this order:%s\n", speedUps.c_str());
}

/** How many times longer ITK's filter takes per pixel, on a part of the image that it is done with in some seconds. */
void
MeasureAgainstItk(int repeats, double transferSeconds)
{
  std::printf("\nitk::MedianImageFilter beside this\n\n");
  PrintHeader();
  std::string ratios;
  for (const auto & [size, radius] :
       { std::pair{ flat, ImageType::SizeType{ { 2, 2, 0 } } }, std::pair{ deep, ImageType::SizeType{ { 2, 2, 2 } } } })
  {
    const auto            input = MakeRandomImage(size, false);
    ImageType::RegionType part = input->GetLargestPossibleRegion();
    const bool            isFlat = size[2] == 1;
    part.SetSize(isFlat ? ImageType::SizeType{ { 16384, 2048, 1 } } : ImageType::SizeType{ { 1024, 1024, 8 } });
    part.SetIndex(isFlat ? 1 : 2, 200);
    const auto itkFilter = itk::MedianImageFilter<ImageType, ImageType>::New();
    itkFilter->SetInput(input);
    itkFilter->SetRadius(radius);
    itkFilter->GetOutput()->SetRequestedRegion(part);
    itkFilter->Update();
    const double itkSeconds = MedianSeconds(3, [&] {
      itkFilter->Modified();
      itkFilter->GetOutput()->SetRequestedRegion(part);
      itkFilter->Update();
    });
    const double perPixel = itkSeconds / static_cast<double>(part.GetNumberOfPixels());
    for (const bool pinned : { true, false })
    {
      const double seconds = Measure(pinned ? "pinned, repeated" : "ordinary, repeated",
                                     size,
                                     radius,
                                     { 0, pinned, false, {} },
                                     transferSeconds,
                                     repeats);
      char text[64];
      std::snprintf(text,
                    sizeof(text),
                    " %.0f (ITK %.1f Mpixel/s)",
                    perPixel * static_cast<double>(input->GetLargestPossibleRegion().GetNumberOfPixels()) / seconds,
                    1e-6 / perPixel);
      ratios += text;
    }
  }
  std::printf("\ntimes as fast per pixel, in this order:%s\n", ratios.c_str());
}

} // namespace

int
main(int argc, char * argv[])
{
  try
  {
    CLI::App application{ "Times Update() beside the transfer of the same bytes both ways at once (R is the ratio)." };
    int      repeats = 7;
    unsigned threads = 0;
    application.add_option("--repeats", repeats, "timed runs of each case")->check(CLI::Range(1, 1000));
    application.add_option("--threads", threads, "work units; 0: ITK's default");
    std::vector<int> devices;
    bool             againstItk = false;
    application.add_option("--devices", devices, "also times one device beside all of these, as in 0,1")
      ->delimiter(',');
    application.add_flag("--against-itk", againstItk, "also times itk::MedianImageFilter");
    CLI11_PARSE(application, argc, argv);
    if (threads > 0)
    {
      itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
    }
    const double transfer = TimeTransfer(std::size_t{ 1 } << 30, repeats);
    std::printf("1 GiB both ways at once: %.2f ms, %.1f GB/s each way; %u work units\n\n",
                transfer * 1e3,
                (1 << 30) / transfer * 1e-9,
                static_cast<unsigned>(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads()));
    PrintHeader();
    for (const itk::SizeValueType r : { 1, 2, 5 })
    {
      Measure("pinned, repeated", flat, { { r, r, 0 } }, { 0, true, false, {} }, transfer, repeats);
    }
    for (const itk::SizeValueType r : { 1, 2 })
    {
      Measure("pinned, repeated", deep, { { r, r, r } }, { 0, true, false, {} }, transfer, repeats);
    }
    const itk::SizeValueType budget = itk::SizeValueType{ 256 } << 20;
    Measure("pinned, repeated, 256 MiB", flat, { { 2, 2, 0 } }, { budget, true, false, {} }, transfer, repeats);
    for (const itk::SizeValueType r : { 1, 5 })
    {
      Measure("ordinary, repeated", flat, { { r, r, 0 } }, { 0, false, false, {} }, transfer, repeats);
    }
    Measure("ordinary, repeated", deep, { { 1, 1, 1 } }, { 0, false, false, {} }, transfer, repeats);
    Measure("ordinary, repeated, 256 MiB", flat, { { 1, 1, 0 } }, { budget, false, false, {} }, transfer, repeats);
    Measure("ordinary, fresh output", flat, { { 1, 1, 0 } }, { 0, false, true, {} }, transfer, repeats);
    const ImageType::SizeType small{ { 512, 512, 64 } };
    Measure("ordinary, repeated, 512x512x64",
            small,
            { { 1, 1, 1 } },
            { 0, false, false, {} },
            TimeTransfer(std::size_t{ 1 } << 25, repeats),
            repeats);
    if (!devices.empty())
    {
      MeasureDevices(devices, transfer, repeats);
    }
    if (againstItk)
    {
      MeasureAgainstItk(repeats, transfer);
    }
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
