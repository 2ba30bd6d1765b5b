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
#include "VectorDevice.h"

#include "BorrowedContext.h"
#include "BoxTransfer.h"
#include "CurrentDevice.h"
#include "DeviceQuery.h"
#include "SlabDealer.h"
#include "VectorHost.h"
#include "VectorLaunch.h"
#include "VectorSlabs.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <functional>
#include <thread>

namespace cudamedian
{
namespace
{

/** Share of the free device memory that an automatic budget allows, as RunMedian() does. */
constexpr double automaticBudgetShare = 0.8;

/** What one device has done. */
struct DeviceShare
{
  explicit DeviceShare(int number)
    : device(number)
  {}

  int                device;
  std::size_t        bytes{ 0 };
  double             kernelSeconds{ 0 };
  std::exception_ptr failure;
};

/** Makes room for the largest slab. Where memory is short, idle contexts give theirs back. */
void
ReserveSlab(DeviceContext & context, std::size_t inputBytes, std::size_t outputBytes)
{
  auto &     place = context.places[0];
  const auto reserve = [&] {
    return context.ReservePixels(place.input, inputBytes) && context.ReservePixels(place.output, outputBytes);
  };
  if (reserve())
  {
    return;
  }
  CheckCuda(context.ReleaseBuffers(), "cudaFree");
  ReleaseIdleContexts();
  if (!reserve())
  {
    throw DeviceError("There is not enough device memory: a slab takes " + std::to_string(inputBytes + outputBytes) +
                      " bytes");
  }
}

/** Passes a slab through a device: upload, kernel, download. */
void
FilterSlab(const VectorMedianRequest & request, const VectorSlab & slab, DeviceContext & context, DeviceShare & share)
{
  auto &     place = context.places[0];
  const auto stream = context.compute;
  const auto bytes = static_cast<std::size_t>(request.components) * PixelBytes(request.componentType);
  const auto inputStride = GetPackedStride(request.inputExtent);
  const auto packedOutput = GetPackedStride(slab.outputExtent);
  auto       arguments = GetVectorArguments(request);
  arguments.input = place.input.Get();
  arguments.output = place.output.Get();
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputExtent[axis] = slab.inputExtent[axis];
    arguments.outputOrigin[axis] = request.outputOrigin[axis] + slab.outputOrigin[axis] - slab.inputOrigin[axis];
    arguments.outputExtent[axis] = slab.outputExtent[axis];
    arguments.outputStride[axis] = packedOutput[axis];
  }
  TransferBox(static_cast<char *>(place.input.Get()),
              GetPackedStride(slab.inputExtent),
              static_cast<const char *>(request.input) +
                GetOffset(slab.inputOrigin, inputStride) * static_cast<std::int64_t>(bytes),
              inputStride,
              slab.inputExtent,
              bytes,
              cudaMemcpyHostToDevice,
              stream);
  CheckCuda(cudaEventRecord(place.started, stream), "cudaEventRecord");
  CheckCuda(LaunchVectorMedian(arguments, request.componentType, request.norm, stream), "the vector median's kernel");
  CheckCuda(cudaEventRecord(place.filtered, stream), "cudaEventRecord");
  TransferBox(static_cast<char *>(request.output) +
                GetOffset(slab.outputOrigin, request.outputStride) * static_cast<std::int64_t>(bytes),
              request.outputStride,
              static_cast<const char *>(place.output.Get()),
              packedOutput,
              slab.outputExtent,
              bytes,
              cudaMemcpyDeviceToHost,
              stream);
  CheckCuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  float milliseconds = 0;
  CheckCuda(cudaEventElapsedTime(&milliseconds, place.started, place.filtered), "cudaEventElapsedTime");
  share.kernelSeconds += milliseconds * 1e-3;
}

/** Filters the slabs of a hand on the current device, and calls a function after each. */
void
FilterSlabs(const VectorMedianRequest &   request,
            const VectorSlabs &           slabs,
            SlabHand &                    hand,
            DeviceShare &                 share,
            const std::function<void()> & tell)
{
  BorrowedContext context(share.device);
  try
  {
    std::size_t inputBytes = 0;
    std::size_t outputBytes = 0;
    for (std::size_t number = 0; number < slabs.count; ++number)
    {
      const auto slab =
        GetVectorSlab(request, slabs.axis, static_cast<std::int64_t>(number) * slabs.planes, slabs.planes);
      inputBytes = std::max(inputBytes, GetInputBytes(request, slab));
      outputBytes = std::max(outputBytes, GetOutputBytes(request, slab));
    }
    ReserveSlab(*context, inputBytes, outputBytes);
    share.bytes = context->GetDeviceBytes();
    for (auto number = hand.Next(true); number != noSlab && !hand.IsStopped(); number = hand.Next(true))
    {
      const auto first = static_cast<std::int64_t>(number) * slabs.planes;
      FilterSlab(request, GetVectorSlab(request, slabs.axis, first, slabs.planes), *context, share);
      hand.Finish();
      tell();
    }
  }
  catch (...)
  {
    // Nothing may be on its way to the image any more when others filter these slabs.
    context->Synchronize();
    throw;
  }
}

/** The device that is the current one: in the thread that calls, which tells of progress. */
void
FilterOnCurrent(const VectorMedianRequest & request, const VectorSlabs & slabs, DeviceShare & share)
{
  SlabDealer  dealer(slabs.count, 1);
  SlabHand    hand(dealer);
  std::size_t done = 0;
  const auto  tell = [&] {
    ++done;
    if (request.progress)
    {
      request.progress(static_cast<float>(done) / static_cast<float>(slabs.count));
    }
  };
  OnDevice(share.device, [&] { FilterSlabs(request, slabs, hand, share, tell); });
}

/** Several devices, or another one: a thread for each. What one that fails gives back, the others filter. */
void
FilterSideBySide(const VectorMedianRequest & request, const VectorSlabs & slabs, std::deque<DeviceShare> & shares)
{
  SlabDealer               dealer(slabs.count, shares.size());
  std::deque<SlabHand>     hands;
  std::vector<std::thread> threads;
  std::exception_ptr       failure;
  std::size_t              done = 0;
  try
  {
    for (auto & share : shares)
    {
      auto & hand = hands.emplace_back(dealer);
      threads.emplace_back([&request, &slabs, &hand, &share] {
        try
        {
          CheckCuda(cudaSetDevice(share.device), "cudaSetDevice");
          OnDevice(share.device, [&] { FilterSlabs(request, slabs, hand, share, [] {}); });
        }
        catch (...)
        {
          share.failure = std::current_exception();
        }
        hand.Leave();
      });
    }
    for (auto before = done; (done = dealer.WaitForMore(before)) != before && done < slabs.count; before = done)
    {
      if (request.progress)
      {
        request.progress(static_cast<float>(done) / static_cast<float>(slabs.count));
      }
    }
  }
  catch (...)
  {
    failure = std::current_exception();
  }
  dealer.Stop();
  for (auto & thread : threads)
  {
    thread.join();
  }
  for (const auto & share : shares)
  {
    failure = failure == nullptr && done < slabs.count ? share.failure : failure;
  }
  if (failure != nullptr)
  {
    std::rethrow_exception(failure);
  }
  if (request.progress)
  {
    request.progress(1.0F);
  }
}

} // namespace

void
RunVectorMedianOnDevices(const VectorMedianRequest & request, ExecutionReport & report)
{
  auto           devices = ResolveDevices(request.devices);
  std::ptrdiff_t sharers = 1;
  for (const int device : devices)
  {
    sharers = std::max(sharers, std::count(devices.begin(), devices.end(), device));
  }
  report.deviceMemoryBudget = request.deviceMemoryBudget;
  if (report.deviceMemoryBudget == 0)
  {
    report.deviceMemoryBudget =
      static_cast<std::size_t>(automaticBudgetShare * static_cast<double>(GetFreeDeviceMemory(devices)));
  }
  const auto slabs =
    CutVectorSlabs(request, report.deviceMemoryBudget / static_cast<std::size_t>(sharers), devices.size());
  devices.resize(std::min(devices.size(), slabs.count));
  std::deque<DeviceShare> shares;
  for (const int device : devices)
  {
    shares.emplace_back(device);
  }
  if (shares.size() == 1 && ResolveDevices({}).front() == shares.front().device)
  {
    FilterOnCurrent(request, slabs, shares.front());
  }
  else
  {
    FilterSideBySide(request, slabs, shares);
  }
  report.algorithm = "vector median";
  report.numberOfSlabs = slabs.count;
  report.slabReason = std::to_string(slabs.planes) + " planes along axis " + std::to_string(slabs.axis);
  for (const auto & share : shares)
  {
    report.deviceBytes = std::max(report.deviceBytes, share.bytes * static_cast<std::size_t>(sharers));
    report.kernelSeconds = std::max(report.kernelSeconds, share.kernelSeconds);
    report.slabReason +=
      share.failure ? "; device " + std::to_string(share.device) + " failed, and others filtered its slabs" : "";
  }
}

} // namespace cudamedian
