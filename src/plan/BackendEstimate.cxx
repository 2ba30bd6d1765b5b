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

#include "HostCopy.h"

#include <algorithm>
#include <cmath>

namespace cudamedian
{
namespace
{

unsigned
CountThreads(const MedianRequest & request, const HostRates & host)
{
  return std::max(1U, std::min(request.workUnits, host.cores));
}

/** Bytes that all threads that copy do together in a second between images and the ring, which stays in the host's
 * caches. They share the memory: on the host of benchmark/README.md 1, 8 and 16 threads copy 13, 74 and about 100 GB/s.
 */
double
GetRingRate(const MedianRequest & request, const HostRates & host)
{
  const auto   devices = std::max<std::size_t>(1, request.devices.size());
  const double threads = static_cast<double>(devices * CountCopiersPerDevice(CountThreads(request, host), devices));
  return host.copyBytes * 12.2 * threads / (threads + 10.8);
}

/** Bytes of an image that all threads together read in a second while they write as many, through the caches: 0.6
 * of what they copy past them, which is 60 GB/s with 16 threads there. */
double
GetImageRate(const MedianRequest & request, const HostRates & host)
{
  const double threads = CountThreads(request, host);
  return host.copyBytes * 3.3 * threads / (threads + 5.2);
}

/** Seconds of an H200's kernels for a number of pixels; the rates are those of benchmark/README.md. */
double
EstimateKernelSeconds(const MedianRequest & request, const Plan & plan, double pixels, bool hasPackedKeys)
{
  const auto bytes = PixelBytes(request.pixelType);
  if (plan.algorithm == Algorithm::Selection)
  {
    return pixels * EstimateSelectionPicoseconds(request) * 1e-12;
  }
  if (plan.rank)
  {
    return pixels * EstimateRankPicoseconds(*plan.rank, request.radius, static_cast<int>(bytes)) * 1e-12;
  }
  if (plan.histogram)
  {
    return pixels * EstimateHistogramPicoseconds(*plan.histogram, static_cast<int>(bytes)) * 1e-12;
  }
  if (plan.merge)
  {
    return pixels * EstimateMergePicoseconds(*plan.merge, request.outputExtent, static_cast<int>(bytes)) * 1e-12;
  }
  // A program's operations for a pixel are 2.4 for each pixel of the window in 2D (3x3 17, 5x5 60, 11x11 283, 17x17
  // 772) and about twice as many in 3D (3x3x3 107, 5x5x5 638).
  const auto   axes = std::count_if(request.radius.begin(), request.radius.end(), [](auto r) { return r > 0; });
  const double operations = CountWindowPixels(request) * (axes > 2 ? 4.6 : 2.4);
  const double rate = bytes == 8 ? 3.2e12 : bytes <= 2 && hasPackedKeys ? 30e12 : 15.5e12;
  const double memory = pixels * 2 * static_cast<double>(bytes) / 3e12;
  return std::max(pixels * operations / rate, memory);
}

} // namespace

double
EstimateCpuSeconds(const MedianRequest & request, const Plan & plan, const HostRates & host)
{
  const auto   pixels = static_cast<double>(Volume(request.outputExtent));
  const auto   keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const double threads = CountThreads(request, host);
  // An image has to be read and written, however many cores there are.
  const double memory =
    pixels * std::max(keyBytes, static_cast<double>(request.outputPixelBytes)) / GetImageRate(request, host);
  constexpr double nanosecond = 1e-9;
  double           work = 0;
  if (plan.algorithm == Algorithm::Selection)
  {
    // Windows are listed and partly sorted, or counted once per bit of a key where most of them is clamped.
    double listed = 1;
    for (const auto radius : request.radius)
    {
      listed *= 2.0 * static_cast<double>(radius) + 1;
    }
    const double counted = CountWindowPixels(request) * 8 * keyBytes;
    work = pixels * (listed > counted ? 0.4 * counted : 10 * listed) * nanosecond;
  }
  else if (plan.rank)
  {
    // The model that shapes are chosen by leaves out what all shapes have in common.
    work = 1.6 * static_cast<double>(CountRankBlocks(*plan.rank, request.outputExtent)) *
           EstimateHostRankNanoseconds(*plan.rank, request.radius, static_cast<int>(keyBytes)) * nanosecond;
  }
  else if (plan.algorithm == Algorithm::SlidingHistogram)
  {
    // The window slides, and a row down, where there are further axes, more than one pixel enters each column: as long
    // as so many bytes are compared.
    const auto rim = (2 * request.radius[2] + 1) * (2 * request.radius[3] + 1);
    work = pixels * (1200 + 900 * static_cast<double>(rim)) / host.laneBytes;
  }
  else
  {
    // Making keys of rows and splitting them takes as long as 20 operations for a pixel, and reading them where they
    // are as long as 5. The rate is the interpreter's in the first cache; most of its values leave that. Compiled
    // programs have theirs in registers, and compare and form maxima on two ports.
    const auto & tile = plan.GetHostTile();
    const double operations = static_cast<double>(plan.CountHostOperations()) / static_cast<double>(Volume(tile));
    const double rows = plan.rowProgram != nullptr && plan.rowProgram->HasOneColumn() ? 5 : 20;
    work = pixels * (rows + (plan.rowProgram != nullptr ? 0.5 : 1.8) * operations) * keyBytes / host.laneBytes;
    // The narrower an image, the shorter the rows of tiles, and the more threads share it, the smaller the parts and
    // the longer they wait for each other. Fitted to measured times from 64x64x64 to 4096x4096.
    const double tiles = std::ceil(static_cast<double>(request.outputExtent[0]) / static_cast<double>(tile[0]));
    work *= 1 + 16 * threads / std::min(1024.0, tiles * keyBytes);
  }
  // Threads are woken, and the last one is waited for.
  const double waiting = threads > 1 ? 6e-6 * threads : 0;
  return waiting + std::max(work / threads, memory);
}

double
EstimateCudaSeconds(const MedianRequest & request,
                    const Plan &          plan,
                    const ImageMemory &   memory,
                    const HostRates &     host,
                    const DeviceRates &   devices)
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
  const double copied = (memory.pinnedInput ? 0 : inputPixels * keyBytes) +
                        (memory.pinnedOutput ? 0 : outputPixels * static_cast<double>(request.outputPixelBytes));
  const double copies = copied / GetRingRate(request, host);
  const double upload = inputPixels * keyBytes / devices.busBytes;
  const double download = outputPixels * keyBytes / devices.busBytes;
  const double kernels =
    EstimateKernelSeconds(request, plan, outputPixels, devices.hasPackedKeys) / devices.kernelSpeed;
  // Of one slab nothing overlaps; of many, all but the first and the last.
  const double     longest = std::max({ copies, upload, download, kernels });
  const double     slabs = plan.slabsInFlight > 1 ? static_cast<double>(plan.slabs.size()) : 1;
  constexpr double perSlab = 20e-6;
  // Calls, and waking the threads that copy.
  const double start = copied < 1 << 19 ? 60e-6 : 120e-6;
  return start + perSlab * static_cast<double>(plan.slabs.size()) + longest +
         (copies + upload + download + kernels - longest) / slabs;
}

} // namespace cudamedian
