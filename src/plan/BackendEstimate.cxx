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
#include "BackendEstimate.h"

#include "CopierShare.h"
#include "HostMethod.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace cudamedian
{
namespace
{

unsigned
CountThreads(const MedianRequest & request, const HostTraits & host)
{
  return std::max(1U, std::min(request.workUnits, host.cores));
}

/** Bytes that all threads that copy do together in a second between images and the ring, which stays in the host's
 * caches. They share the memory: on the host of benchmark/README.md 1, 8 and 16 threads copy 13, 74 and about 100 GB/s.
 */
double
GetRingRate(const MedianRequest & request, const HostTraits & host)
{
  const auto   devices = std::max<std::size_t>(1, request.devices.size());
  const double threads = static_cast<double>(devices * CountCopiersPerDevice(CountThreads(request, host), devices));
  return host.copyBytes * 12.2 * threads / (threads + 10.8);
}

/** Bytes of an image that all threads together read in a second while they write as many, through the caches: 0.6
 * of what they copy past them, which is 60 GB/s with 16 threads there. */
double
GetImageRate(const MedianRequest & request, const HostTraits & host)
{
  const double threads = CountThreads(request, host);
  return host.copyBytes * 3.3 * threads / (threads + 5.2);
}

constexpr double perSlab = 20e-6;

/** Seconds of the calls of a run that copies so many bytes, and of waking the threads that copy. */
double
GetCallSeconds(double copied)
{
  return copied < 1 << 19 ? 60e-6 : 120e-6;
}

/** Seconds that the CPU backend takes once its threads are awake. */
double
EstimateHostWork(const MedianRequest & request, const Plan & plan, const HostTraits & host)
{
  const auto   pixels = static_cast<double>(Volume(request.outputExtent));
  const auto   keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const double threads = CountThreads(request, host);
  // An image has to be read and written, however many cores there are.
  const double memory =
    pixels * std::max(keyBytes, static_cast<double>(request.outputPixelBytes)) / GetImageRate(request, host);
  return std::max(plan.candidate.onHost->EstimateWork(request, host, threads) / threads, memory);
}

/** Seconds to wake threads and to wait for the last, as it is from run to run where all cores work. */
double
GetWakingOfAll(double threads)
{
  return threads > 1 ? 6e-6 * threads : 0;
}

/** The same in the best of some runs, which tells apart what numbers of threads take: on the host of
 * benchmark/README.md 10 us and 4.3 for each thread with ITK's pool, 14 and 1.5 with RunInKeptThreads(). */
double
GetWakingAtBest(double threads)
{
  return threads > 1 ? 12e-6 + 3e-6 * threads : 0;
}

} // namespace

double
EstimateCpuSeconds(const MedianRequest & request, const Plan & plan, const HostTraits & host)
{
  return GetWakingOfAll(CountThreads(request, host)) + EstimateHostWork(request, plan, host);
}

unsigned
ChooseWorkUnits(const MedianRequest & request, const Plan & plan)
{
  auto host = GetH200HostTraits();
  host.cores = std::max(1U, request.workUnits);
  auto     fewer = request;
  unsigned best = 1;
  double   least = 0;
  for (unsigned units = 1;; units = std::min(units < 4 ? units + 1 : units * 3 / 2, host.cores))
  {
    fewer.workUnits = units;
    const double seconds = GetWakingAtBest(units) + EstimateHostWork(fewer, plan, host);
    if (units == 1 || seconds < least)
    {
      best = units;
      least = seconds;
    }
    if (units >= host.cores)
    {
      return best;
    }
  }
}

double
EstimateCudaSeconds(const MedianRequest & request,
                    const Plan &          plan,
                    const ImageMemory &   memory,
                    const HostTraits &    host,
                    double                copyBytes)
{
  double inputPixels = 0;
  double outputPixels = 0;
  for (const auto & slab : plan.slabs)
  {
    inputPixels += static_cast<double>(Volume(slab.input.extent));
    outputPixels += static_cast<double>(Volume(slab.output.extent));
  }
  if (plan.slabsInFlight > 1)
  {
    // Halos pass from slab to slab on the device.
    inputPixels =
      static_cast<double>(Volume(GetInputBox(request, { request.outputOrigin, request.outputExtent }).extent));
  }
  const auto   keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const double ranks = outputPixels * static_cast<double>(GetRankBytes(request));
  const double copied = (memory.pinnedInput ? 0 : inputPixels * keyBytes) +
                        (memory.pinnedOutput ? 0 : outputPixels * static_cast<double>(request.outputPixelBytes)) +
                        ranks;
  const double        copies = copied / GetRingRate(request, host);
  const double        upload = (inputPixels * keyBytes + ranks) / copyBytes;
  const double        download = outputPixels * keyBytes / copyBytes;
  const std::set<int> devices(request.devices.begin(), request.devices.end());
  const double        kernels = plan.candidate.seconds / static_cast<double>(std::max<std::size_t>(1, devices.size()));
  // Of one slab nothing overlaps; of many, all but the first and the last.
  const double longest = std::max({ copies, upload, download, kernels });
  const double slabs = plan.slabsInFlight > 1 ? static_cast<double>(plan.slabs.size()) : 1;
  return GetCallSeconds(copied) + perSlab * static_cast<double>(plan.slabs.size()) + longest +
         (copies + upload + download + kernels - longest) / slabs;
}

double
EstimateLeastCudaSeconds(const MedianRequest & request, const HostTraits & host)
{
  // No bus of today carries more in either direction.
  constexpr double most = 64e9;
  const auto       keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const auto       outputPixels = static_cast<double>(Volume(request.outputExtent));
  const auto       input = GetInputBox(request, { request.outputOrigin, request.outputExtent });
  const double     uploaded = static_cast<double>(Volume(input.extent)) * keyBytes;
  const double     copied = uploaded + outputPixels * static_cast<double>(request.outputPixelBytes);
  const auto       devices = static_cast<double>(std::max<std::size_t>(1, request.devices.size()));
  return GetCallSeconds(copied) + perSlab +
         std::max({ copied / GetRingRate(request, host),
                    uploaded / most / devices,
                    outputPixels * keyBytes / most / devices });
}

std::string
ToMilliseconds(double seconds)
{
  std::ostringstream text;
  text.precision(3);
  text << seconds * 1e3 << " ms";
  return text.str();
}

std::string
DescribeEstimates(const MedianRequest & request, double cudaSeconds, double cpuSeconds)
{
  return "CUDA estimated at " + ToMilliseconds(cudaSeconds) + ", the CPU with " +
         std::to_string(std::max(1U, request.workUnits)) + " threads at " + ToMilliseconds(cpuSeconds);
}

} // namespace cudamedian
