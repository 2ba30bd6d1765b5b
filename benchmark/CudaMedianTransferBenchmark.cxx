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

#include "CopierShare.h"
#include "HostCopy.h"
#include "ThreadTeam.h"
#include "itkCudaMedianImageFilter.h"
#include "itkCudaMedianPinnedImageContainer.h"

#include <CLI/CLI.hpp>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
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

/** What one device needs to copy both ways at once. */
struct Transfer
{
  int          number{ 0 };
  void *       host[2];
  void *       device[2];
  cudaStream_t streams[2];
};

/** Seconds to copy so many bytes to devices and as many back, at once, a part by each, from and to pinned memory. */
double
TimeTransfer(std::size_t bytes, const std::vector<int> & devices, int repeats)
{
  const std::size_t     part = bytes / devices.size();
  std::vector<Transfer> transfers(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i)
  {
    auto & transfer = transfers[i];
    transfer.number = devices[i];
    Check(cudaSetDevice(transfer.number), "cudaSetDevice");
    for (int way = 0; way < 2; ++way)
    {
      Check(cudaMallocHost(&transfer.host[way], part), "cudaMallocHost");
      Check(cudaMalloc(&transfer.device[way], part), "cudaMalloc");
      Check(cudaStreamCreateWithFlags(&transfer.streams[way], cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    }
  }
  const auto seconds = MedianSeconds(repeats, [&] {
    for (const auto & [number, host, device, streams] : transfers)
    {
      Check(cudaSetDevice(number), "cudaSetDevice");
      Check(cudaMemcpyAsync(device[0], host[0], part, cudaMemcpyHostToDevice, streams[0]), "cudaMemcpyAsync");
      Check(cudaMemcpyAsync(host[1], device[1], part, cudaMemcpyDeviceToHost, streams[1]), "cudaMemcpyAsync");
    }
    for (const auto & transfer : transfers)
    {
      Check(cudaStreamSynchronize(transfer.streams[0]), "cudaStreamSynchronize");
      Check(cudaStreamSynchronize(transfer.streams[1]), "cudaStreamSynchronize");
    }
  });
  for (const auto & transfer : transfers)
  {
    for (int way = 0; way < 2; ++way)
    {
      Check(cudaFreeHost(transfer.host[way]), "cudaFreeHost");
      Check(cudaFree(transfer.device[way]), "cudaFree");
      Check(cudaStreamDestroy(transfer.streams[way]), "cudaStreamDestroy");
    }
  }
  Check(cudaSetDevice(devices.front()), "cudaSetDevice");
  return seconds;
}

/** Seconds in which threads copy so many bytes from an image to rings like those of several devices, and as many from
 * there to another image, while no device does anything. */
double
TimeHostCopies(std::size_t bytes, std::size_t devices, unsigned threads, int repeats)
{
  constexpr std::size_t  piece = std::size_t{ 256 } << 10;
  constexpr std::size_t  ring = std::size_t{ 32 } << 20; // of a device, one way; of four and more devices half as large
  const std::size_t      rings = std::min<std::size_t>(devices, 2) * ring;
  std::vector<char>      from(bytes, 1);
  std::vector<char>      to(bytes, 1);
  std::vector<char>      in(rings, 1);
  std::vector<char>      out(rings, 1);
  cudamedian::ThreadTeam team(static_cast<unsigned>(devices) * cudamedian::CountCopiersPerDevice(threads, devices));
  return MedianSeconds(repeats, [&] {
    cudamedian::ThreadTeam::Task task;
    team.Start(task, 2 * (bytes / piece), [&](std::size_t number) {
      const auto at = number / 2 * piece;
      if (number % 2 == 0)
      {
        std::memcpy(&in[at % rings], &from[at], piece);
      }
      else
      {
        cudamedian::CopyPastCaches(&to[at], &out[at % rings], piece);
        cudamedian::FinishCopiesPastCaches();
      }
    });
    team.Finish(task);
  });
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

/** Touches and gives back as much memory of the host as a case takes: on a virtual machine the first touch of a page
 * may be the host system's work, which is not what is to be timed. */
void
WarmUpHostMemory()
{
  const std::vector<char> memory(std::size_t{ 6 } << 30, 1);
  static_cast<void>(memory);
}

struct Options
{
  itk::SizeValueType budget{ 0 };
  bool               pinned{ false };
  bool               fresh{ false };
  std::vector<int>   devices;
  bool               inPlace{ false };
};

/** Cases whose names do not contain this are left out. */
std::string only;

bool
IsLeftOut(const std::string & name)
{
  return name.find(only) == std::string::npos;
}

/** One row of the table. \returns the seconds of an Update(). */
double
MeasureImage(const char *                name,
             ImageType &                 input,
             const ImageType::SizeType & radius,
             const Options &             options,
             double                      transferSeconds,
             int                         repeats)
{
  const auto filter = FilterType::New();
  filter->SetInput(&input);
  filter->SetRadius(radius);
  filter->SetBackend(itk::CudaMedianImageFilterEnums::Backend::Cuda);
  filter->WaitForKernelsOn();
  filter->SetDeviceMemoryBudget(options.budget);
  filter->SetDevices(options.devices);
  filter->SetNumberOfWorkUnits(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads());
  if (options.pinned)
  {
    filter->GetOutput()->SetPixelContainer(itk::CudaMedianPinnedImageContainer<itk::SizeValueType, short>::New());
  }
  filter->SetInPlace(options.inPlace);
  const auto update = [&] {
    if (options.inPlace && filter->GetOutput()->GetBufferPointer() != nullptr)
    {
      // What was written over the input is the next input.
      input.SetBufferedRegion(input.GetLargestPossibleRegion());
      input.SetPixelContainer(filter->GetOutput()->GetPixelContainer());
    }
    if (options.fresh || options.inPlace)
    {
      filter->GetOutput()->Initialize();
    }
    filter->Modified();
    filter->Update();
  };
  update();
  if (filter->IsFilteredInPlace() != options.inPlace)
  {
    throw std::runtime_error("not in place: " + filter->GetInPlaceReason());
  }
  const auto   seconds = MedianSeconds(repeats, update);
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

/** The same with a random image of its own, unless the case is left out, which takes 0 seconds. */
double
Measure(const char *                name,
        const ImageType::SizeType & size,
        const ImageType::SizeType & radius,
        const Options &             options,
        double                      transferSeconds,
        int                         repeats)
{
  if (IsLeftOut(name))
  {
    return 0;
  }
  return MeasureImage(name, *MakeRandomImage(size, options.pinned), radius, options, transferSeconds, repeats);
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

/** The same on one device, on two, on four and so on up to all. */
void
MeasureDevices(const std::vector<int> & devices, double transferSeconds, int repeats)
{
  std::printf("\nSeveral devices\n\n");
  std::vector<std::vector<int>> groups;
  for (std::size_t count = 1; count < devices.size(); count *= 2)
  {
    groups.emplace_back(devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count));
  }
  groups.push_back(devices);
  for (const auto & group : groups)
  {
    std::printf("bare transfer of 1 GiB both ways by %zu: %.2f ms\n",
                group.size(),
                TimeTransfer(std::size_t{ 1 } << 30, group, repeats) * 1e3);
    std::printf("copies of 1 GiB to and from rings of %zu by the host's threads alone: %.2f ms\n",
                group.size(),
                TimeHostCopies(std::size_t{ 1 } << 30,
                               group.size(),
                               static_cast<unsigned>(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads()),
                               repeats) *
                  1e3);
  }
  std::printf("\n");
  PrintHeader();
  std::string speedUps;
  for (const bool pinned : { true, false })
  {
    for (const auto & [size, radius] : { std::pair{ flat, ImageType::SizeType{ { 1, 1, 0 } } },
                                         std::pair{ flat, ImageType::SizeType{ { 5, 5, 0 } } },
                                         std::pair{ deep, ImageType::SizeType{ { 2, 2, 2 } } } })
    {
      const auto input = MakeRandomImage(size, pinned);
      double     one = 0;
      for (const auto & group : groups)
      {
        const auto name =
          std::string(pinned ? "pinned, devices: " : "ordinary, devices: ") + std::to_string(group.size());
        if (IsLeftOut(name))
        {
          continue;
        }
        const double seconds =
          MeasureImage(name.c_str(), *input, radius, { 0, pinned, false, group, false }, transferSeconds, repeats);
        one = group.size() == 1 ? seconds : one;
        char text[32];
        std::snprintf(text, sizeof(text), " %.2f", one / seconds);
        speedUps += group.size() == 1 ? "" : text;
      }
    }
  }
  std::printf("\ntimes as fast as one, in this order:%s\n", speedUps.c_str());
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
                                     { 0, pinned, false, {}, false },
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
    application.add_option("--only", only, "only the cases whose names contain this, such as fresh");
    application
      .add_option("--devices", devices, "also times one device beside two, four and so on of these, as in 0,1")
      ->delimiter(',');
    application.add_flag("--against-itk", againstItk, "also times itk::MedianImageFilter");
    CLI11_PARSE(application, argc, argv);
    if (threads > 0)
    {
      itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
    }
    WarmUpHostMemory();
    const double transfer = TimeTransfer(std::size_t{ 1 } << 30, { 0 }, repeats);
    std::printf("1 GiB both ways at once: %.2f ms, %.1f GB/s each way; %u work units\n\n",
                transfer * 1e3,
                (1 << 30) / transfer * 1e-9,
                static_cast<unsigned>(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads()));
    PrintHeader();
    for (const itk::SizeValueType r : { 1, 2, 5 })
    {
      Measure("pinned, repeated", flat, { { r, r, 0 } }, { 0, true, false, {}, false }, transfer, repeats);
    }
    for (const itk::SizeValueType r : { 1, 2 })
    {
      Measure("pinned, repeated", deep, { { r, r, r } }, { 0, true, false, {}, false }, transfer, repeats);
    }
    const itk::SizeValueType budget = itk::SizeValueType{ 256 } << 20;
    Measure("pinned, repeated, 256 MiB", flat, { { 2, 2, 0 } }, { budget, true, false, {}, false }, transfer, repeats);
    for (const itk::SizeValueType r : { 1, 5 })
    {
      Measure("ordinary, repeated", flat, { { r, r, 0 } }, { 0, false, false, {}, false }, transfer, repeats);
    }
    Measure("ordinary, repeated", deep, { { 1, 1, 1 } }, { 0, false, false, {}, false }, transfer, repeats);
    Measure(
      "ordinary, repeated, 256 MiB", flat, { { 1, 1, 0 } }, { budget, false, false, {}, false }, transfer, repeats);
    Measure("ordinary, fresh output", flat, { { 1, 1, 0 } }, { 0, false, true, {}, false }, transfer, repeats);
    Measure("ordinary, in place", flat, { { 1, 1, 0 } }, { 0, false, false, {}, true }, transfer, repeats);
    Measure("ordinary, fresh output", deep, { { 1, 1, 1 } }, { 0, false, true, {}, false }, transfer, repeats);
    Measure("ordinary, in place", deep, { { 1, 1, 1 } }, { 0, false, false, {}, true }, transfer, repeats);
    const ImageType::SizeType small{ { 512, 512, 64 } };
    const double              smallTransfer = TimeTransfer(std::size_t{ 1 } << 25, { 0 }, repeats);
    for (const auto & [name, isFresh, isInPlace] : { std::tuple{ "ordinary, repeated, 512x512x64", false, false },
                                                     std::tuple{ "ordinary, fresh output, 512x512x64", true, false },
                                                     std::tuple{ "ordinary, in place, 512x512x64", false, true } })
    {
      Measure(name, small, { { 1, 1, 1 } }, { 0, false, isFresh, {}, isInPlace }, smallTransfer, repeats);
    }
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
