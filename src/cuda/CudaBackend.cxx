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
#include <optional>
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

/** Reserves what a plan needs on all devices. \returns what is short on the first device that has too little. */
MemoryShortage
ReserveOnAll(const MedianRequest & request, const Plan & plan, bool ordinaryStaging, DeviceRuns & runs)
{
  auto shortage = MemoryShortage::None;
  for (auto run = runs.begin(); run != runs.end() && shortage == MemoryShortage::None; ++run)
  {
    OnDevice(run->device, [&] { shortage = SlabPipeline::Reserve(request, plan, ordinaryStaging, *run->context); });
  }
  return shortage;
}

void
ReleaseOnAll(DeviceRuns & runs)
{
  for (auto & run : runs)
  {
    OnDevice(run.device, [&run] { CheckCuda(run.context->ReleaseBuffers(), "cudaFree"); });
  }
}

/** Reserves what a plan needs on all devices; where memory is short once more without what is idle. */
MemoryShortage
ReserveOrReleaseOnAll(const MedianRequest & request, const Plan & plan, bool ordinaryStaging, DeviceRuns & runs)
{
  auto shortage = ReserveOnAll(request, plan, ordinaryStaging, runs);
  if (shortage != MemoryShortage::None)
  {
    ReleaseOnAll(runs);
    ReleaseIdleContexts();
    shortage = ReserveOnAll(request, plan, ordinaryStaging, runs);
  }
  if (shortage != MemoryShortage::None)
  {
    ReleaseOnAll(runs);
  }
  return shortage;
}

/** A plan with half the staging memory, or null where that would not be worth it. */
std::optional<Plan>
PlanWithLessStaging(const MedianRequest & request, const Plan & plan)
{
  constexpr std::size_t worthPinning = std::size_t{ 4 } << 20;
  auto                  staging = plan.staging;
  staging.budget = plan.GetStagedBytes() / 2;
  try
  {
    return staging.budget < worthPinning
             ? std::nullopt
             : std::optional<Plan>(PlanMedian(request, Backend::Cuda, plan.deviceMemoryBudget, staging));
  }
  catch (const RequestError &)
  {
    return std::nullopt;
  }
}

/** Reserves what the plan needs on all devices. \returns the plan, or where memory is short one of smaller slabs, which
 * the report then describes. */
Plan
Reserve(const MedianRequest & request, const Plan & givenPlan, DeviceRuns & runs, ExecutionReport & report)
{
  Plan plan = givenPlan;
  bool ordinaryStaging = false;
  for (;;)
  {
    const auto shortage = ReserveOrReleaseOnAll(request, plan, ordinaryStaging, runs);
    if (shortage == MemoryShortage::None)
    {
      return plan;
    }
    std::string problem;
    if (shortage == MemoryShortage::Device)
    {
      const auto needed = plan.GetDeviceBytes();
      problem = "an allocation of " + std::to_string(needed) + " bytes of device memory failed";
      try
      {
        plan = PlanMedian(request, Backend::Cuda, needed / 2, plan.staging);
      }
      catch (const RequestError &)
      {
        throw DeviceError("Allocating " + std::to_string(needed) +
                          " bytes of device memory, which the smallest slab needs, failed; " + "the budget is " +
                          std::to_string(givenPlan.deviceMemoryBudget) + " bytes, and " +
                          std::to_string(GetFreeDeviceMemory(request.devices)) + " are free now");
      }
    }
    else
    {
      const auto staged = std::to_string(plan.GetStagedBytes());
      if (ordinaryStaging)
      {
        throw DeviceError("Allocating " + staged + " bytes of the host's memory, pinned or not, failed");
      }
      problem = staged + " bytes of pinned memory of the host were not to be had";
      const auto smaller = PlanWithLessStaging(request, plan);
      ordinaryStaging = !smaller;
      plan = smaller ? *smaller : plan;
      problem += ordinaryStaging ? ", so that slabs pass through ordinary memory" : "";
    }
    DescribePlan(plan, report);
    report.slabReason += ", after " + problem;
  }
}

/** Filters slabs on one device until there are no more. */
void
FilterSlabs(const MedianRequest & request, const Plan & plan, SlabHand & hand, DeviceRun & run)
{
  OnDevice(run.device, [&] {
    const SlabKernel kernel(request, plan, *run.context, run.report);
    run.report.deviceBytes = run.context->GetDeviceBytes();
    run.report.pinnedBytes = run.context->GetPinnedBytes();
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
  bool isSet = false;
  try
  {
    MedianRequest own = request;
    own.workUnits = copiers;
    own.progress = nullptr;
    CheckCuda(cudaSetDevice(run.device), "cudaSetDevice");
    isSet = true;
    FilterSlabs(own, plan, hand, run);
  }
  catch (...)
  {
    run.failure = std::current_exception();
    if (isSet)
    {
      // Nothing may be on its way to the image any more when others filter these slabs.
      run.context->Synchronize();
    }
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
  const auto found = std::find_if(runs.begin(), runs.end(), works);
  const auto first = found == runs.end() ? runs.begin() : found;
  auto       report = first->report;
  report.slabReason += runs.size() > 1 ? ", dealt to" : "";
  report.pinnedBytes = 0;
  std::string failures;
  for (const auto & run : runs)
  {
    if (runs.size() > 1)
    {
      report.slabReason += (&run == &runs.front() ? " device " : ", device ") + std::to_string(run.device) + " (" +
                           std::to_string(run.slabs) + ")";
    }
    report.pinnedBytes += run.report.pinnedBytes;
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

/** The device that was asked for as the current one of this thread. */
DeviceAvailability
QueryCurrentDevice(int device)
{
  cudaDeviceProp properties;
  auto           error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, "a CUDA device that does not answer");
  }
  const std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                           "." + std::to_string(properties.minor);
  error = CheckKernelImage();
  if (error != cudaSuccess)
  {
    return MakeUnusable(error, name + ", which this build has no kernels for or which does not answer");
  }
  return { true, name };
}

/** Whether there is any device. */
DeviceAvailability
CountDevices(int & count)
{
  count = 0;
  if (IsForkedFromCuda())
  {
    try
    {
      StartCuda();
    }
    catch (const DeviceError & error)
    {
      return { false, std::string("no CUDA device: ") + error.what() };
    }
  }
  const auto error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0)
  {
    return MakeUnusable(error, "no CUDA device");
  }
  StartCuda();
  return { true, "" };
}

DeviceAvailability
QueryListedDevice(int device, int count)
{
  const auto name = "device " + std::to_string(device);
  if (device < 0 || device >= count)
  {
    return { false,
             "no CUDA " + name + ": there " +
               (count == 1 ? "is 1 device" : "are " + std::to_string(count) + " devices") + ", numbered from 0" };
  }
  DeviceAvailability found;
  try
  {
    OnDevice(device, [device, &found] { found = QueryCurrentDevice(device); });
  }
  catch (const std::exception & error)
  {
    return { false, error.what() };
  }
  return { found.usable, name + ": " + found.description };
}

} // namespace

DeviceAvailability
QueryCudaDevice()
{
  return QueryCudaDevices({});
}

DeviceAvailability
QueryCudaDevices(const std::vector<int> & devices)
{
  int  count = 0;
  auto found = CountDevices(count);
  if (!found.usable)
  {
    return found;
  }
  if (devices.empty())
  {
    int        device = 0;
    const auto error = cudaGetDevice(&device);
    return error == cudaSuccess ? QueryCurrentDevice(device)
                                : MakeUnusable(error, "a CUDA device that does not answer");
  }
  for (const int device : devices)
  {
    const auto one = QueryListedDevice(device, count);
    if (!one.usable)
    {
      return one;
    }
    found.description += (found.description.empty() ? "" : "; ") + one.description;
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

ImageMemory
FindImageMemory(const MedianRequest & request)
{
  ImageMemory memory;
  OnDevice(ResolveDevices(request.devices).front(), [&] {
    memory.pinnedInput = IsPinnedMemory(request.input);
    memory.pinnedOutput = request.convertRow == nullptr && IsPinnedMemory(request.output);
  });
  return memory;
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
  int    count = 0;
  if (!CountDevices(count).usable)
  {
    return nullptr;
  }
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
  // After a fork it is the parent's.
  if (memory != nullptr && !IsForkedFromCuda() && cudaFreeHost(memory) != cudaSuccess)
  {
    cudaGetLastError();
  }
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
    runs.emplace_back(device, report);
  }
  const auto plan = Reserve(request, givenPlan, runs, report);
  for (auto & run : runs)
  {
    run.report = report;
  }
  if (runs.size() == 1 && ResolveDevices({}) == devices)
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
