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
#ifndef MedianBackend_h
#define MedianBackend_h

#include "KernelMeans.h"
#include "Plan.h"
#include "Slab.h"
#include "Traits.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cudamedian
{

/** Where the images of a request lie: pinned memory is transferred without a copy by the host. */
struct ImageMemory
{
  bool pinnedInput{ false };
  bool pinnedOutput{ false };
};

/** What stands in the way of a plan, so that there has to be another one. */
struct Obstacle
{
  /** What it is that stands in the way. */
  enum class Kind : std::uint8_t
  {
    None,
    DeviceMemory, ///< there is less than the plan takes
    HostMemory,   ///< the same, of the memory that slabs pass through
    Kernel,       ///< the kernel cannot be had
    Proof         ///< nobody has tested the kernel on such a device: it has to filter a small image first
  };
  Kind        kind{ Kind::None };
  int         device{ 0 };                     ///< that has no such kernel, or has to prove it
  KernelMeans means{ KernelMeans::Selection }; ///< which kernel that is
  std::string text;                            ///< why there is no such kernel
};

/** One run of a request. Holds what it reserved until its end. */
class BackendRun
{
public:
  virtual ~BackendRun() = default;

  /** Reserves what a plan needs, and prepares its kernels. What stands in the way is none of the run's business: there
   * is another plan then, or none.
   * \param withoutProof whether kernels are taken as they are: one of them is about to prove itself.
   * \param ordinaryStaging whether slabs pass through ordinary memory, since pinned memory is not to be had. */
  virtual Obstacle
  Reserve(const Plan & plan, bool ordinaryStaging, bool withoutProof) = 0;

  /** Does what the plan says that was reserved for last, and completes the report: device, memory, times.
   * Progress is reported, and may stop the run.
   * \throws DeviceError */
  virtual void
  Execute(const Plan & plan, ExecutionReport & report) = 0;
};

/** A box of outputs, and what of the image has to be on a device for them. */
struct UploadedBox
{
  PixelBox outputs;
  PixelBox input;
};

/** Threads of a device at most that bring boxes there and back. */
constexpr unsigned int mostUploadingThreads = 4;

/** Makes the request for a box's images, whose addresses are set afterwards. */
using RequestMaker = std::function<MedianRequest(const MedianRequest &, const UploadedBox &)>;

/** Filters an image in device memory, in the order of a stream's work. */
using DeviceImageRunner = std::function<ExecutionReport(const MedianRequest &, void * stream)>;

/** What the planner and the engine need of a place where medians are computed. It runs plans; it makes none. */
class MedianBackend
{
public:
  virtual ~MedianBackend() = default;

  /** Whether all of these devices, or the current one where none is listed, can be used; and their names, or what was
   * found instead. Never throws. Here and below no device is touched that is not listed. */
  virtual DeviceAvailability
  Query(const std::vector<int> & devices) const = 0;

  /** How many devices there are; they are numbered from 0. */
  virtual int
  CountDevices() const = 0;

  /** The devices' numbers. */
  virtual std::vector<int>
  Resolve(const std::vector<int> & devices) const = 0;

  /** What can be relied upon on each of the devices. \throws DeviceError */
  virtual DeviceTraits
  GetTraits(const std::vector<int> & devices) const = 0;

  /** Bytes a second over the buses of all of them, in either direction, both at once. Measured once for each device and
   * process, in some ten milliseconds. \throws DeviceError */
  virtual double
  MeasureCopyBytes(const std::vector<int> & devices) const = 0;

  /** Free memory of the devices in bytes: the least of one. \throws DeviceError */
  virtual std::size_t
  GetFreeMemory(const std::vector<int> & devices) const = 0;

  /** Which images of a request the devices reach without a copy. \throws DeviceError */
  virtual ImageMemory
  FindImageMemory(const MedianRequest & request) const = 0;

  /** Seconds that the start of the backend would add to a run now, once in a process; 0 where it has started, and where
   * there is none. Starts nothing. Never throws. */
  virtual double
  GetStartSeconds() const
  {
    return 0;
  }

  /** Adds seconds that runs took longer elsewhere, since the backend has not started. Once they would have paid for its
   * start, it starts in the background, on these devices or on the current one where none is listed. */
  virtual void
  AddLostSeconds(double, const std::vector<int> &) const
  {}

  /** Waits for a device. \throws DeviceError where it is lost. */
  virtual void
  Synchronize(int device) const = 0;

  /** Gives back what is kept between calls: see ReleaseCachedMemory(). */
  virtual void
  ReleaseMemory() const
  {}

  /** Starts a run, on no more devices than there are slabs. The request outlives it. \throws DeviceError */
  virtual std::unique_ptr<BackendRun>
  Start(const MedianRequest & request, std::size_t slabs) const = 0;

  /** Uploads boxes of a request's images, has each filtered in device memory by the last argument, as a request that
   * the one before it makes, and downloads its outputs. Several boxes
   * are under way at a time, on all of the request's devices. Progress is reported from the calling thread, and may
   * stop the run. \throws DeviceError, also where the backend has no memory of its own */
  virtual ExecutionReport
  RunUploaded(const MedianRequest &,
              const std::vector<UploadedBox> &,
              const RequestMaker &,
              const DeviceImageRunner &) const
  {
    throw DeviceError("This backend has no device that images could be uploaded to");
  }
};

/** The backend that runs on CUDA devices; without CUDA one that says so. */
const MedianBackend &
GetCudaBackend();

/** The backend that runs on the host. Makes no CUDA call. */
const MedianBackend &
GetCpuBackend();

} // namespace cudamedian

#endif
