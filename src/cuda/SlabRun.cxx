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
#include "SlabRun.h"

#include "BorrowedContext.h"
#include "ChainLaunch.h"
#include "CudaError.h"
#include "CurrentDevice.h"
#include "OutermostAxis.h"
#include "RequestWindow.h"
#include "SlabKernel.h"
#include "SlabPipeline.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <thread>

namespace cudamedian
{
namespace
{

/** What one device has and does of a run. */
struct DeviceRun
{
  explicit DeviceRun(int number)
    : device(number)
    , context(number)
  {}

  int                        device;
  BorrowedContext            context;
  ExecutionReport            report;
  std::optional<SlabKernel>  kernel;
  std::optional<ChainLaunch> chain;      ///< instead of a kernel
  std::string                origin;     ///< of the kernels, as the report tells it
  std::size_t                slabs{ 0 }; ///< filtered so far
  std::exception_ptr         failure;
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

/** Reserves what a plan needs on all devices. Where memory is short, idle contexts give theirs back, and it is tried
 * once more. */
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

/** What a device does with a slab. */
SlabWork
GetWork(const MedianRequest & request, DeviceRun & run)
{
  if (run.chain)
  {
    return [&run](const Slab & slab, const DeviceContext::Place & place, cudaStream_t stream) {
      run.chain->Launch(slab, place, stream);
    };
  }
  const bool hasRanks = GetRankBytes(request) > 0;
  return [&run, hasRanks](const Slab & slab, const DeviceContext::Place & place, cudaStream_t stream) {
    CheckCuda(run.kernel->Launch(run.kernel->Cut(slab),
                                 place.input.Get(),
                                 place.output.Get(),
                                 hasRanks ? place.ranks.Get() : nullptr,
                                 run.context->scratch.Get(),
                                 stream),
              "The kernel launch");
  };
}

/** Filters slabs on one device until there are no more. */
void
FilterSlabs(const MedianRequest & request, const Plan & plan, SlabHand & hand, DeviceRun & run)
{
  OnDevice(run.device, [&] {
    if (run.kernel)
    {
      run.kernel->GetLauncher().Describe(run.report);
    }
    run.report.deviceBytes = run.context->GetDeviceBytes();
    run.report.pinnedBytes = run.context->GetPinnedBytes();
    SlabPipeline(request, plan, *run.context, GetWork(request, run), run.report).Run(hand);
  });
}

/** The body of a device's thread. A failure is kept for later. Slabs that are not finished go to the other devices. */
void
FilterSlabsInThread(const MedianRequest & request,
                    const Plan &          plan,
                    unsigned              copiers,
                    SlabHand &            hand,
                    DeviceRun &           run)
{
  bool isSet = false;
  if (run.failure != nullptr)
  {
    hand.Leave();
    return;
  }
  try
  {
    MedianRequest own = request;
    own.workUnits = copiers;
    own.progress = nullptr;
    const std::string what = "CUDA device " + std::to_string(run.device) + ": cudaSetDevice";
    CheckCuda(cudaSetDevice(run.device), what.c_str());
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

/** The threads of the devices. At the end of the scope they are told to stop, and are waited for. */
class DeviceThreads
{
public:
  explicit DeviceThreads(SlabDealer & dealer)
    : m_Dealer(dealer)
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

/** Filters all slabs on several devices. The calling thread reports progress. \returns how many slabs are done. */
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

/** Makes one report of those of several devices. */
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

/** A run on some devices, slab by slab: upload, kernel and download of different slabs at once. Each of several devices
 * has a thread and a context of its own. It is dealt runs of slabs as it gets through them. Where one fails on the way,
 * the others take over. */
class CudaRun : public BackendRun
{
public:
  CudaRun(const MedianRequest & request, const std::vector<int> & devices)
    : m_Request(request)
  {
    for (const int device : devices)
    {
      m_Runs.emplace_back(device);
    }
  }

  Obstacle
  Reserve(const Plan & plan, bool ordinaryStaging, bool withoutProof) override
  {
    const auto shortage = ReserveOrReleaseOnAll(m_Request, plan, ordinaryStaging, m_Runs);
    Obstacle   obstacle;
    if (shortage != MemoryShortage::None)
    {
      obstacle.kind = shortage == MemoryShortage::Device ? Obstacle::Kind::DeviceMemory : Obstacle::Kind::HostMemory;
      return obstacle;
    }
    for (auto & run : m_Runs)
    {
      run.failure = nullptr;
      try
      {
        OnDevice(run.device, [&] { obstacle = Prepare(plan, withoutProof, run); });
      }
      catch (const DeviceError &)
      {
        if (m_Runs.size() == 1)
        {
          throw;
        }
        run.failure = std::current_exception(); // other devices filter its slabs
      }
      if (obstacle.kind != Obstacle::Kind::None)
      {
        break;
      }
    }
    return obstacle;
  }

  void
  Execute(const Plan & plan, ExecutionReport & report) override
  {
    for (auto & run : m_Runs)
    {
      run.report = report;
      run.report.algorithmReason += run.origin;
    }
    if (m_Runs.size() == 1 && ResolveDevices({}).front() == m_Runs.front().device)
    {
      SlabDealer dealer(plan.slabs.size(), 1);
      SlabHand   hand(dealer);
      FilterSlabs(m_Request, plan, hand, m_Runs.front());
      report = m_Runs.front().report;
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    const auto done = FilterSideBySide(m_Request, plan, m_Runs);
    if (done < plan.slabs.size())
    {
      const auto failed =
        std::find_if(m_Runs.begin(), m_Runs.end(), [](const DeviceRun & run) { return run.failure != nullptr; });
      std::rethrow_exception(failed->failure);
    }
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report = MergeReports(m_Runs);
    report.transferSeconds = std::max(0.0, seconds - report.kernelSeconds);
  }

protected:
  /** Prepares what filters slabs on the current device. \returns what stands in the way. */
  virtual Obstacle
  Prepare(const Plan & plan, bool withoutProof, DeviceRun & run)
  {
    run.kernel.reset();
    return PrepareKernel(m_Request, plan.candidate, withoutProof, *run.context, run.kernel, run.origin);
  }

  const DeviceRuns &
  GetRuns() const
  {
    return m_Runs;
  }

private:
  const MedianRequest & m_Request;
  DeviceRuns            m_Runs;
};

/** The devices of a run: no more than there are slabs, since others would only wait. */
std::vector<int>
FindDevices(const MedianRequest & request, std::size_t slabs)
{
  auto devices = ResolveDevices(request.devices);
  devices.resize(std::min(devices.size(), slabs));
  return devices;
}

/** The same for the steps of a chain. Kernels are prepared, and prove themselves, when a step begins. */
class ChainRun : public CudaRun
{
public:
  ChainRun(const MedianRequest &              images,
           const std::vector<MedianRequest> & steps,
           const std::vector<int> &           devices,
           std::vector<ExecutionReport> &     reports)
    : CudaRun(images, devices)
    , m_Steps(steps)
    , m_Reports(reports)
  {}

  void
  Execute(const Plan & plan, ExecutionReport & report) override
  {
    CudaRun::Execute(plan, report);
    for (const auto & run : GetRuns())
    {
      if (m_Reports.empty() && run.chain && run.failure == nullptr)
      {
        m_Reports = run.chain->GetReports();
      }
    }
  }

protected:
  Obstacle
  Prepare(const Plan & plan, bool, DeviceRun & run) override
  {
    run.chain.emplace(m_Steps, plan.deviceInputBytes, *run.context);
    return {};
  }

private:
  const std::vector<MedianRequest> & m_Steps;
  std::vector<ExecutionReport> &     m_Reports;
};

} // namespace

std::unique_ptr<BackendRun>
StartSlabRun(const MedianRequest & request, std::size_t slabs)
{
  return std::make_unique<CudaRun>(request, FindDevices(request, slabs));
}

std::unique_ptr<BackendRun>
StartChainRun(const MedianRequest &              images,
              const std::vector<MedianRequest> & steps,
              std::size_t                        slabs,
              std::vector<ExecutionReport> &     reports)
{
  return std::make_unique<ChainRun>(images, steps, FindDevices(images, slabs), reports);
}

std::string
FindOverwrittenInput(const MedianRequest & request, const Plan & plan)
{
  const int axis = FindOutermostAxis(request.outputExtent);
  for (std::size_t i = 1; i < plan.slabs.size(); ++i)
  {
    const auto & before = plan.slabs[i - 1];
    const auto & slab = plan.slabs[i];
    auto         next = before.output.origin;
    next[axis] += before.output.extent[axis];
    const auto fresh = GetFreshInput(slab, plan.slabsInFlight > 1 ? &before : nullptr, PixelBytes(request.pixelType));
    if (slab.output.origin != next || fresh.box.origin[axis] < next[axis])
    {
      return "slabs read again what others have written: " + plan.slabReason;
    }
  }
  return "";
}

} // namespace cudamedian
