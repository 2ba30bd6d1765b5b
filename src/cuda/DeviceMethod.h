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
#ifndef DeviceMethod_h
#define DeviceMethod_h

#include "DeviceContext.h"
#include "KernelArguments.h"
#include "KernelMeans.h"
#include "MaskRules.h"
#include "OutlierDistance.h"
#include "Plan.h"

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>

namespace cudamedian
{

/** A kernel that cannot be had on a device. It says why. Another plan may do without it. */
class KernelMissing : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** Whether there are kernels for what a slab's own cannot do. */
struct Preparation
{
  std::string missing;            ///< why there are none, or nothing
  bool        isAwaited{ false }; ///< whether there will be, since they are being compiled
};

/** What a method has become on one device: kernels that are ready to be launched. */
class SlabLauncher
{
public:
  virtual ~SlabLauncher() = default;

  /** Launches them for a slab, or a part of one. Asynchronous on the stream.
   * \param scratch device memory, as much as the candidate's scratchBytes; nothing in it outlives the launch.
   * \returns CUDA's error. */
  virtual cudaError_t
  Launch(const KernelArguments & arguments, void * scratch, cudaStream_t stream) const = 0;

  /** The most pixels of a launch that ends soon enough for a display driver's watchdog. Larger launches are cut. */
  virtual std::int64_t
  GetLargestLaunch() const
  {
    return std::numeric_limits<std::int64_t>::max(); // the kernels keep their own launches short
  }

  /** Whether the kernels are machine code of the device. False where the method knows that they are not; KernelImage.h
   * tells what holds for all of the library. */
  virtual bool
  IsNative() const
  {
    return true;
  }

  /** Whether it may outlive the context that it was prepared with, and threads may launch it at the same time: it has
   * nothing of that context. */
  virtual bool
  IsIndependent() const
  {
    return false;
  }

  /** Prepares kernels that read an image some of whose pixels are not valid, and its mask, where these lie, in place
   * of those that look up ranks in a map.
   * \param waits whether they are compiled now, where they are not there; else that is begun in the background. */
  virtual Preparation
  PrepareMasked(bool)
  {
    return { "there is no such kernel of this algorithm" };
  }

  /** Launches them. \pre PrepareMasked() */
  virtual cudaError_t
  LaunchMasked(const KernelArguments &, const MaskRules &, cudaStream_t) const
  {
    return cudaErrorNotSupported;
  }

  /** Prepares kernels that write medians of outliers alone, and else the pixels themselves, likewise. */
  virtual Preparation
  PrepareOutliers(bool)
  {
    return { "there is no such kernel of this algorithm" };
  }

  /** Launches them. \pre PrepareOutliers() */
  virtual cudaError_t
  LaunchOutliers(const KernelArguments &, const OutlierDistance &, cudaStream_t) const
  {
    return cudaErrorNotSupported;
  }

  /** Adds to the report what is known of the algorithm here alone. */
  virtual void
  Describe(ExecutionReport &) const
  {}
};

/** What an algorithm hands to the CUDA backend: the kernels of one candidate. */
class DeviceMethod
{
public:
  virtual ~DeviceMethod() = default;

  /** Which kernels these are. */
  virtual KernelMeans
  GetMeans() const = 0;

  /** Prepares them for a request on the current device, whose context has the candidate's program memory.
   * \throws KernelMissing, DeviceError */
  virtual std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext & context) const = 0;
};

} // namespace cudamedian

#endif
