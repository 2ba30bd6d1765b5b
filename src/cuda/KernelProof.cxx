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
#include "KernelProof.h"

#include "CudaBackend.h"
#include "PixelFormat.h"
#include "RuntimeCompiler.h"
#include "SelfTestChecks.h"
#include "SlabPipeline.h"
#include "TrialImage.h"

#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace cudamedian
{

const char *
ToString(KernelMeans means)
{
  switch (means)
  {
    case KernelMeans::Ahead:
      return "the kernel compiled ahead";
    case KernelMeans::AtFirstUse:
      return "the kernel compiled at first use";
    case KernelMeans::Interpreter:
      return "the kernel that interprets the program";
    case KernelMeans::Ranks:
      return "the kernels of local ranks";
    case KernelMeans::Histograms:
      return "the kernels of sliding histograms";
    case KernelMeans::Merges:
      return "the kernels of merge tiling";
    default:
      return "the kernel of selection";
  }
}

namespace
{

using Subject = std::tuple<int, KernelMeans, Window, KeyFormat>;

/** What was found out about kernels: "" where they are right. Never destroyed: a thread may be at work when the process
 * ends. */
struct Verdicts
{
  std::mutex                     mutex;
  std::map<Subject, std::string> found;
};

Verdicts &
GetVerdicts()
{
  static auto * const verdicts = new Verdicts;
  return *verdicts;
}

Algorithm
GetAlgorithm(KernelMeans means)
{
  switch (means)
  {
    case KernelMeans::Ranks:
      return Algorithm::LocalRank;
    case KernelMeans::Histograms:
      return Algorithm::SlidingHistogram;
    case KernelMeans::Merges:
      return Algorithm::MergeTiling;
    case KernelMeans::Selection:
      return Algorithm::Selection;
    default:
      return Algorithm::TileProgram;
  }
}

/** There is no memory for the proof, which says nothing about the kernel. */
class NoMemory : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** More than any plan for the small image takes. */
constexpr std::size_t proofBudget = std::size_t{ 256 } << 20;

/** Filters a small image with the kernels. \returns "" if the result is the host's, else what was wrong. */
std::string
TryOut(const Window & window, PixelType type, int device, KernelMeans means)
{
  TrialImage image(window, type);
  auto &     request = image.request;
  request.backend = Backend::Cpu;
  RunMedian(request);
  std::vector<char> expected(image.result.size(), 0);
  expected.swap(image.result);
  request.output = image.result.data();

  request.backend = Backend::Cuda;
  request.algorithm = GetAlgorithm(means);
  request.devices = { device };
  const auto            plan = PlanMedian(request, Backend::Cuda, proofBudget);
  const DeviceScope     scope(device);
  const BorrowedContext context(device);
  constexpr bool        ordinaryStaging = false;
  if (SlabPipeline::Reserve(request, plan, ordinaryStaging, *context) != MemoryShortage::None)
  {
    throw NoMemory(std::string(ToString(means)) + " was not tried out, since allocating " +
                   std::to_string(plan.GetDeviceBytes()) + " bytes for that failed");
  }
  ExecutionReport  report;
  const SlabKernel kernel(request, plan, *context, report, means);
  SlabDealer       dealer(plan.slabs.size(), 1);
  SlabHand         hand(dealer);
  SlabPipeline(request, plan, *context, kernel, report).Run(hand);
  return image.Compare(expected);
}

/** The same, where what fails is a finding too. \throws NoMemory, and DeviceError when the device is lost. */
std::string
FindWrong(const Window & window, PixelType type, int device, KernelMeans means)
{
  try
  {
    return TryOut(window, type, device, means);
  }
  catch (const NoMemory &)
  {
    throw;
  }
  catch (const RequestError & error)
  {
    return error.what();
  }
  catch (const DeviceError & error)
  {
    // An error that stays is thrown by the next call, and is nothing about the kernel.
    const DeviceScope scope(device);
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return error.what();
  }
}

} // namespace

std::string
ProveKernel(const MedianRequest & request, int device, KernelMeans means, bool isNative)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const Subject                     subject(device, means, GetWindow(request), GetKeyFormat(request.pixelType));
  const auto                        known = verdicts.found.find(subject);
  if (known != verdicts.found.end())
  {
    return known->second;
  }
  if (isNative)
  {
    return "";
  }
  std::string wrong;
  try
  {
    wrong = FindWrong(GetWindow(request), request.pixelType, device, means);
  }
  catch (const NoMemory & error)
  {
    return error.what(); // which says nothing about the kernel
  }
  if (!wrong.empty())
  {
    wrong = std::string(ToString(means)) + " is out of use, since a small image was filtered wrong with it: " + wrong;
  }
  return verdicts.found.emplace(subject, wrong).first->second;
}

void
TakeOutOfUse(const Window & window, PixelType type, int device, KernelMeans means, const std::string & why)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const Subject                     subject(device, means, window, GetKeyFormat(type));
  if (why.empty())
  {
    verdicts.found.erase(subject);
  }
  else
  {
    verdicts.found[subject] = std::string(ToString(means)) + " is out of use: " + why;
  }
}

void
CheckDevices(const std::vector<int> & givenDevices, const AddCheck & add)
{
  auto devices = givenDevices;
  if (devices.empty())
  {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
    {
      cudaGetLastError(); // no driver is no error
    }
    for (int device = 0; device < count; ++device)
    {
      devices.push_back(device);
    }
  }
  for (const int device : devices)
  {
    const auto available = QueryCudaDevices({ device });
    if (!available.usable)
    {
      if (!givenDevices.empty())
      {
        throw DeviceError(available.description);
      }
      continue;
    }
    const auto check = [&](const Extent & radius, PixelType type, KernelMeans means) {
      add("CUDA device " + std::to_string(device), radius, type, [&](std::string & kernel) -> std::string {
        kernel = ToString(means);
        try
        {
          return FindWrong(radius, type, device, means);
        }
        catch (const NoMemory & error)
        {
          return error.what();
        }
      });
    };
    for (const auto type : allPixelTypes)
    {
      std::set<Extent> ahead;
      for (const auto & kernel : GetEmittedKernels())
      {
        if (kernel.keyFormat == GetKeyFormat(type))
        {
          ahead.insert(kernel.window.radius);
        }
      }
      for (const auto & radius : ahead)
      {
        check(radius, type, KernelMeans::Ahead);
      }
      for (const auto & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
      {
        check(radius, type, KernelMeans::Interpreter);
        check(radius, type, KernelMeans::Selection);
      }
      for (const auto & radius : { Extent{ { 10, 10, 0, 0 } }, Extent{ { 3, 3, 3, 0 } } })
      {
        check(radius, type, KernelMeans::Ranks);
      }
      for (const auto & radius : { Extent{ { 50, 50, 0, 0 } }, Extent{ { 7, 7, 7, 0 } } })
      {
        check(radius, type, KernelMeans::Histograms);
      }
      check({ { 15, 15, 0, 0 } }, type, KernelMeans::Merges);
    }
    if (RuntimeCompiler::Get().IsAvailable())
    {
      check({ { 2, 1, 0, 0 } }, PixelType::UInt16, KernelMeans::AtFirstUse);
    }
  }
}

} // namespace cudamedian
