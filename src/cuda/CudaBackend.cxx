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
#include "CudaBackend.h"

#include "DeviceContext.h"
#include "SlabPipeline.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <limits>
#include <thread>

namespace cudamedian
{
namespace
{

DeviceAvailability
MakeUnusable(cudaError_t error, const std::string & what)
{
  cudaGetLastError();
  return { false, what + " (" + cudaGetErrorName(error) + ": " + cudaGetErrorString(error) + ")" };
}

/** Calls a function with a device as the current one; a DeviceError of it then names the device. */
template <typename TFunction>
auto
OnDevice(int device, const TFunction & function)
{
  try
  {
    const DeviceScope scope(device);
    return function();
  }
  catch (const DeviceError & error)
  {
    throw DeviceError("CUDA device " + std::to_string(device) + ": " + error.what());
  }
}

/** What one device has and does of a run. */
struct DeviceRun
{
  DeviceRun(int number, const ExecutionReport & start) : device(number), context(number), report(start)
  {}

  int                device;
  BorrowedContext    context;
  ExecutionReport    report;
  std::size_t        slabs{ 0 }; ///< that it filtered
  std::exception_ptr failure;
};

using DeviceRuns = std::deque<DeviceRun>;

bool
ReserveOnAll(const MedianRequest & request, const Plan & plan, DeviceRuns & runs)
{
  return std::all_of(runs.begin(), runs.end(), [&](DeviceRun & run) {
    return OnDevice(run.device, [&] { return SlabPipeline::Reserve(request, plan, *run.context); });
  });
}

void
ReleaseOnAll(DeviceRuns & runs)
{
  for (auto & run : runs)
  {
    run.context->ReleaseBuffers();
  }
}

/** Reserves what the plan needs on all devices. \returns the plan, or where memory is short one of smaller slabs. */
Plan
Reserve(const MedianRequest & request, const Plan & givenPlan, DeviceRuns & runs, ExecutionReport & report)
{
  Plan plan = givenPlan;
  while (!ReserveOnAll(request, plan, runs))
  {
    // First without what is idle, then with slabs of half the size, down to the smallest.
    ReleaseOnAll(runs);
    ReleaseIdleContexts();
    if (ReserveOnAll(request, plan, runs))
    {
      break;
    }
    ReleaseOnAll(runs);
    const auto needed = plan.GetDeviceBytes();
    try
    {
      plan = PlanMedian(request, Backend::Cuda, needed / 2);
    }
    catch (const RequestError &)
    {
      throw DeviceError("Allocating " + std::to_string(needed) +
                        " bytes of device memory, which the smallest slab needs, failed; " + "the budget is " +
                        std::to_string(givenPlan.deviceMemoryBudget) + " bytes, and " +
                        std::to_string(GetFreeDeviceMemory(request.devices)) + " are free now");
    }
    report.slabReason = plan.slabReason + ", after an allocation of " + std::to_string(needed) + " bytes failed";
    report.numberOfSlabs = plan.slabs.size();
  }
  return plan;
}

/** Filters slabs on one device until there are no more. */
void
FilterSlabs(const MedianRequest & request, const Plan & plan, SlabHand & hand, DeviceRun & run)
{
  OnDevice(run.device, [&] {
    const SlabKernel kernel(request, plan, *run.context, run.report);
    run.report.deviceBytes = run.context->GetDeviceBytes();
    SlabPipeline(request, plan, *run.context, kernel, run.report).Run(hand);
  });
}

/** The body of a device's thread: what fails is kept for later, and what is not finished goes to the other devices. */
void
FilterSlabsInThread(const MedianRequest & request,
                    const Plan &          plan,
                    unsigned              copiers,
                    SlabHand &            hand,
                    DeviceRun &           run)
{
  try
  {
    MedianRequest own = request;
    own.workUnits = copiers;
    own.progress = nullptr;
    FilterSlabs(own, plan, hand, run);
  }
  catch (...)
  {
    run.failure = std::current_exception();
    // Nothing may be on its way to the image any more when others filter these slabs.
    run.context->Synchronize();
    cudaGetLastError();
  }
  run.slabs = hand.GetNumberOfFinished();
  hand.Leave();
}

/** The threads of the devices: at the end of the scope they are told to stop, and waited for. */
class DeviceThreads
{
public:
  explicit DeviceThreads(SlabDealer & dealer) : m_Dealer(dealer)
  {}
  ~DeviceThreads()
  {
    m_Dealer.Stop();
    for (auto & thread : m_Threads)
    {
      thread.join();
    }
  }
  DeviceThreads(const DeviceThreads &) = delete;
  DeviceThreads &
  operator=(const DeviceThreads &) = delete;

  template <typename TBody>
  void
  Start(const TBody & body)
  {
    m_Threads.emplace_back(body);
  }

private:
  SlabDealer &             m_Dealer;
  std::vector<std::thread> m_Threads;
};

/** Filters all slabs on several devices; the calling thread reports progress. \returns how many slabs are done. */
std::size_t
FilterSideBySide(const MedianRequest & request, const Plan & plan, DeviceRuns & runs)
{
  const auto           copiers = CountCopiers(request, runs.size());
  const auto           slabs = plan.slabs.size();
  SlabDealer           dealer(slabs, runs.size());
  std::deque<SlabHand> hands;
  DeviceThreads        threads(dealer);
  for (auto & run : runs)
  {
    auto & hand = hands.emplace_back(dealer);
    threads.Start([&request, &plan, copiers, &hand, &run] { FilterSlabsInThread(request, plan, copiers, hand, run); });
  }
  std::size_t done = 0;
  while (done < slabs)
  {
    const auto before = done;
    done = dealer.WaitForMore(before);
    if (done == before)
    {
      break; // No device is left.
    }
    if (request.progress)
    {
      request.progress(static_cast<float>(done) / static_cast<float>(slabs));
    }
  }
  return done;
}

std::string
GetMessage(const std::exception_ptr & failure)
{
  try
  {
    std::rethrow_exception(failure);
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
}

/** One report of the reports of several devices. */
ExecutionReport
MergeReports(const DeviceRuns & runs)
{
  const auto works = [](const DeviceRun & run) { return run.failure == nullptr; };
  const auto first = std::find_if(runs.begin(), runs.end(), works);
  auto       report = first->report;
  report.slabReason += ", dealt to";
  std::string failures;
  for (const auto & run : runs)
  {
    report.slabReason += (&run == &runs.front() ? " device " : ", device ") + std::to_string(run.device) + " (" +
                         std::to_string(run.slabs) + ")";
    report.kernelSeconds = std::max(report.kernelSeconds, run.report.kernelSeconds);
    std::size_t bytes = 0;
    for (const auto & other : runs)
    {
      bytes += other.device == run.device ? other.report.deviceBytes : 0;
    }
    report.deviceBytes = std::max(report.deviceBytes, bytes);
    if (run.failure != nullptr)
    {
      failures += "; " + GetMessage(run.failure) + "; the other devices filtered its slabs";
    }
    else if (run.report.algorithm != first->report.algorithm)
    {
      report.algorithm += "; on device " + std::to_string(run.device) + " " + run.report.algorithm;
      report.algorithmReason += "; there " + run.report.algorithmReason;
    }
  }
  report.slabReason += failures;
  return report;
}

} // namespace

DeviceAvailability
QueryCudaDevice()
{
  int        count = 0;
  const auto countError = cudaGetDeviceCount(&count);
  if (countError != cudaSuccess || count == 0)
  {
    return MakeUnusable(countError, "no CUDA device");
  }
  int            device = 0;
  cudaDeviceProp properties;
  auto           error = cudaGetDevice(&device);
  error = error == cudaSuccess ? cudaGetDeviceProperties(&properties, device) : error;
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, "a CUDA device that does not answer");
  }
  const std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                           "." + std::to_string(properties.minor);
  error = CheckKernelImage();
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, name + ", which this build has no kernels for");
  }
  return { true, name };
}

DeviceAvailability
QueryCudaDevices(const std::vector<int> & devices)
{
  auto found = QueryCudaDevice();
  if (!found.usable || devices.empty())
  {
    return found;
  }
  int count = 0;
  found.description.clear();
  for (const int device : devices)
  {
    const auto name = "device " + std::to_string(device);
    const auto error = cudaGetDeviceCount(&count);
    if (error != cudaSuccess)
    {
      return MakeUnusable(error, "no CUDA " + name);
    }
    if (device < 0 || device >= count)
    {
      return { false,
               "no CUDA " + name + ": there " +
                 (count == 1 ? "is 1 device" : "are " + std::to_string(count) + " devices") + ", numbered from 0" };
    }
    try
    {
      const DeviceScope scope(device);
      const auto        one = QueryCudaDevice();
      if (!one.usable)
      {
        return { false, name + ": " + one.description };
      }
      found.description += (found.description.empty() ? "" : "; ") + name + ": " + one.description;
    }
    catch (const DeviceError & error)
    {
      return { false, name + ": " + error.what() };
    }
  }
  return found;
}

std::size_t
GetFreeDeviceMemory(const std::vector<int> & devices)
{
  auto least = std::numeric_limits<std::size_t>::max();
  for (const int device : ResolveDevices(devices))
  {
    OnDevice(device, [device, &least] {
      std::size_t available = 0;
      std::size_t total = 0;
      CheckCuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
      least = std::min(least, available + GetIdleDeviceBytes(device));
    });
  }
  return least;
}

bool
IsPinnedMemory(const void * memory)
{
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess)
  {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeHost;
}

void
ReleaseCachedMemory()
{
  ReleaseIdleContexts();
}

void *
AllocatePinnedMemory(std::size_t bytes)
{
  void * memory = nullptr;
  if (cudaMallocHost(&memory, bytes) != cudaSuccess)
  {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

void
FreePinnedMemory(void * memory)
{
  cudaFreeHost(memory);
}

void
RunOnCuda(const MedianRequest & request, const Plan & givenPlan, ExecutionReport & report)
{
  auto devices = ResolveDevices(request.devices);
  // More devices than slabs would only wait.
  devices.resize(std::min(devices.size(), givenPlan.slabs.size()));
  DeviceRuns runs;
  for (const int device : devices)
  {
    OnDevice(device, [&] { runs.emplace_back(device, report); });
  }
  const auto plan = Reserve(request, givenPlan, runs, report);
  for (auto & run : runs)
  {
    run.report = report;
  }
  if (runs.size() == 1)
  {
    SlabDealer dealer(plan.slabs.size(), 1);
    SlabHand   hand(dealer);
    FilterSlabs(request, plan, hand, runs.front());
    report = runs.front().report;
    return;
  }
  const auto start = std::chrono::steady_clock::now();
  const auto done = FilterSideBySide(request, plan, runs);
  if (done < plan.slabs.size())
  {
    const auto failed =
      std::find_if(runs.begin(), runs.end(), [](const DeviceRun & run) { return run.failure != nullptr; });
    std::rethrow_exception(failed->failure);
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  report = MergeReports(runs);
  report.transferSeconds = std::max(0.0, seconds - report.kernelSeconds);
}

} // namespace cudamedian
