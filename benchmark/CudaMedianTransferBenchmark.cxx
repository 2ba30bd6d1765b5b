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

struct Options
{
  itk::SizeValueType budget{ 0 };
  bool               pinned{ false };
  bool               fresh{ false };
};

/** One row of the table. */
void
Measure(const char *                name,
        const ImageType::SizeType & size,
        const ImageType::SizeType & radius,
        const Options &             options,
        double                      transferSeconds,
        int                         repeats)
{
  const auto input = ImageType::New();
  Allocate(*input, size, options.pinned);
  const auto    pixels = input->GetBufferedRegion().GetNumberOfPixels();
  std::uint64_t state = 0x9E3779B97F4A7C15ULL;
  for (itk::SizeValueType i = 0; i < pixels; ++i)
  {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    input->GetBufferPointer()[i] = static_cast<short>(state >> 48);
  }
  const auto filter = FilterType::New();
  filter->SetInput(input);
  filter->SetRadius(radius);
  filter->SetBackend(itk::CudaMedianImageFilterEnums::Backend::Cuda);
  filter->SetDeviceMemoryBudget(options.budget);
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
    CLI11_PARSE(application, argc, argv);
    if (threads > 0)
    {
      itk::MultiThreaderBase::SetGlobalDefaultNumberOfThreads(threads);
    }
    const ImageType::SizeType flat{ { 16384, 32768, 1 } };
    const ImageType::SizeType deep{ { 1024, 1024, 512 } };
    const double              transfer = TimeTransfer(std::size_t{ 1 } << 30, repeats);
    std::printf("1 GiB both ways at once: %.2f ms, %.1f GB/s each way; %u work units\n\n",
                transfer * 1e3,
                (1 << 30) / transfer * 1e-9,
                static_cast<unsigned>(itk::MultiThreaderBase::GetGlobalDefaultNumberOfThreads()));
    std::printf(
      "| case | window | slabs | ms | transfer ms | R | kernel ms | device MiB |\n| --- | --- | --- | --- | --- | "
      "--- | --- | --- |\n");
    for (const itk::SizeValueType r : { 1, 2, 5 })
    {
      Measure("pinned, repeated", flat, { { r, r, 0 } }, { 0, true, false }, transfer, repeats);
    }
    for (const itk::SizeValueType r : { 1, 2 })
    {
      Measure("pinned, repeated", deep, { { r, r, r } }, { 0, true, false }, transfer, repeats);
    }
    const itk::SizeValueType budget = itk::SizeValueType{ 256 } << 20;
    Measure("pinned, repeated, 256 MiB", flat, { { 2, 2, 0 } }, { budget, true, false }, transfer, repeats);
    for (const itk::SizeValueType r : { 1, 5 })
    {
      Measure("ordinary, repeated", flat, { { r, r, 0 } }, { 0, false, false }, transfer, repeats);
    }
    Measure("ordinary, repeated", deep, { { 1, 1, 1 } }, { 0, false, false }, transfer, repeats);
    Measure("ordinary, repeated, 256 MiB", flat, { { 1, 1, 0 } }, { budget, false, false }, transfer, repeats);
    Measure("ordinary, fresh output", flat, { { 1, 1, 0 } }, { 0, false, true }, transfer, repeats);
    const ImageType::SizeType small{ { 512, 512, 64 } };
    Measure("ordinary, repeated, 512x512x64",
            small,
            { { 1, 1, 1 } },
            { 0, false, false },
            TimeTransfer(std::size_t{ 1 } << 25, repeats),
            repeats);
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
