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
#ifndef MedianAlgorithm_h
#define MedianAlgorithm_h

#include "KernelMeans.h"
#include "Plan.h"
#include "RequestWindow.h"
#include "Traits.h"

#include <optional>
#include <string>
#include <vector>

namespace cudamedian
{

/** What an algorithm is asked: what it offers for a request, on a machine with these traits, within a budget. */
struct Problem
{
  const MedianRequest &      request;
  DeviceTraits               device;      ///< what can be relied upon on each of the devices
  std::vector<int>           devices;     ///< their numbers; empty where none is at hand, as in a plan that is not run
  std::size_t                budget{ 0 }; ///< bytes of device memory, with each of the devices
  HostTraits                 host;
  bool                       isForced{ false }; ///< whether this algorithm was asked for, and no other will do
  std::optional<KernelMeans> only; ///< the one kind of kernel to offer, whatever is known of it: it is to prove itself
  std::vector<KernelRefusal> excluded;       ///< kinds of kernels that are without use this time
  bool                       waits{ false }; ///< whether kernels that are not compiled yet are offered, and waited for

  Window
  GetWindow() const
  {
    return cudamedian::GetWindow(request);
  }
  int
  GetPixelBytes() const
  {
    return static_cast<int>(PixelBytes(request.pixelType));
  }
  double
  CountOutputs() const
  {
    return static_cast<double>(Volume(request.outputExtent));
  }
};

/** An offer, or why there is none. */
struct Proposal
{
  std::optional<Candidate> candidate;
  std::string              whyNot; ///< a sentence without its full stop; empty where the algorithm is of no use at all
  /** Whether the algorithm covers the window, and only its kernels are missing here or out of use. */
  bool isOutOfUse{ false };
  /** A faster kernel that would have to be waited for; null where there is none. */
  std::shared_ptr<const AwaitedKernel> awaited{ nullptr };
};

/** A kind of kernel, and a window for it. */
struct DeviceCheck
{
  KernelMeans means;
  Extent      radius;
};

/** A kernel that would be compiled at first use. */
struct PreparedKernel
{
  bool        isReady{ true }; ///< whether nothing is left to compile
  std::string how;             ///< where it comes from, or what is wrong; "" where there is none to compile
};

/** One way to find medians, as the planner knows it. */
class MedianAlgorithm
{
public:
  virtual ~MedianAlgorithm() = default;

  virtual Algorithm
  GetAlgorithm() const = 0;

  /** Whether it is asked only where nobody else offers anything: it covers windows that others do not, slowly. */
  virtual bool
  IsLastResort() const
  {
    return false;
  }

  /** Whether it covers windows that are no boxes, and whether it covers a rank for each output; it is not asked
   * otherwise. */
  virtual bool
  CoversFootprints(Backend) const
  {
    return false;
  }
  virtual bool
  CoversRankMaps(Backend) const
  {
    return false;
  }

  /** What it offers on the host. */
  virtual Proposal
  ProposeOnHost(const Problem & problem) const = 0;

  /** What it offers on a device. Sees what is compiled and what is out of use: whatever is offered can be run. */
  virtual Proposal
  ProposeOnDevice(const Problem & problem) const = 0;

  /** Sees to it that the kernel of a problem is compiled and kept on disk, if it is one of first use that would be
   * taken. A problem without devices is one of any device with its traits. \throws DeviceError */
  virtual PreparedKernel
  PrepareKernel(const Problem &) const
  {
    return {};
  }

  /** Windows that a self-test filters on the host. */
  virtual std::vector<Extent>
  ListHostChecks(PixelType type) const = 0;

  /** Kernels that a self-test tries out on a device, each with a window. */
  virtual std::vector<DeviceCheck>
  ListDeviceChecks(PixelType type) const = 0;
};

/** All algorithms, those first that settle a choice at little cost. The one place that names them. */
const std::vector<const MedianAlgorithm *> &
GetMedianAlgorithms();

/** What is known against a kind of kernel on any of the problem's devices: "" where it may be used. */
std::string
FindVerdict(const Problem & problem, KernelMeans means);

/** How many times as long as on the device of the tables kernels take on the problem's. */
double
GetSlowness(const Problem & problem);

/** Pixels of the request's window, as far as it is no larger than the image. */
double
CountWindowPixels(const MedianRequest & request);

} // namespace cudamedian

#endif
