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
#ifndef Plan_h
#define Plan_h

#include "Slab.h"

#include <functional>
#include <limits>
#include <memory>
#include <string>

namespace cudamedian
{

class DeviceMethod;
class HostMethod;

/** What was measured of an algorithm for windows such as the one it is offered for. */
enum class Standing : std::uint8_t
{
  Fastest,  ///< nobody else has to be asked
  Unknown,  ///< estimates decide
  Overtaken ///< others that cover the window are faster
};

/** An algorithm's offer: what it would take to filter a request's outputs on a machine, and what would do it. */
struct Candidate
{
  Algorithm   algorithm{ Algorithm::Selection };
  double      seconds{ 0 }; ///< that the kernels of one device take for all outputs, or one thread of the host
  Standing    standing{ Standing::Unknown };
  Extent      tile{ { 0, 0, 0, 0 } }; ///< outputs that are computed together; 0 where each is on its own
  std::size_t operations{ 0 };        ///< min and max operations of a tile program
  std::size_t programBytes{ 0 };      ///< device memory of a program
  std::size_t scratchBytes{ 0 };      ///< device memory that kernels work in
  /** Pixels of a slab whose kernel ends soon enough for an abort. */
  std::int64_t mostPixels{ std::numeric_limits<std::int64_t>::max() };
  bool         hasLongBlocks{ false }; ///< its blocks are few and long, so that small slabs would wait for the last
  std::string  reason;                 ///< why it suits the window
  std::string  shortcoming;            ///< why it is not what it could be: the faster kernels that are out of use
  std::string  tileReason;
  std::shared_ptr<const DeviceMethod> onDevice; ///< what runs it on a device …
  std::shared_ptr<const HostMethod>   onHost;   ///< … or on the host
};

/** What of the host's memory slabs may pass through on their way from and to an image that the bus does not read and
 * write where it lies: with each context, a buffer for the input and one for the output of each slab on its way. A map
 * of ranks has one in any case. */
struct Staging
{
  bool        input{ true };
  bool        output{ true };
  std::size_t budget{ std::numeric_limits<std::size_t>::max() }; ///< bytes
};

/** A faster kernel than a plan's, which is not compiled yet. */
struct AwaitedKernel
{
  std::string           name;                          ///< "the kernel of the window's tile program"
  Standing              standing{ Standing::Unknown }; ///< as a candidate's
  double                seconds{ 0 };                  ///< that it takes for all outputs
  double                compileSeconds{ 0 };           ///< until it can be used, about
  std::function<void()> compile; ///< has it compiled in the background, unless that is under way; throws nothing
};

/** What a backend is to do. */
struct Plan
{
  Backend                              backend{ Backend::Cpu };
  Candidate                            candidate;
  std::shared_ptr<const AwaitedKernel> awaited; ///< null where there is no faster one
  std::vector<Slab>                    slabs;
  int                                  slabsInFlight{ 1 }; ///< slabs that have buffers on the device at the same time
  std::size_t                          deviceMemoryBudget{ 0 };
  Staging                              staging;
  /** A buffer that holds the input of any slab, and where the budget allows that of any slab of the same extent in
   * other pieces of a stream, so that they find their memory allocated. */
  std::size_t deviceInputBytes{ 0 };
  std::size_t deviceOutputBytes{ 0 }; ///< a buffer that holds the output of any slab
  std::size_t deviceRankBytes{ 0 };   ///< a buffer that holds a rank for each place of it; 0 without a map of ranks
  std::string algorithmReason;
  std::string slabReason;

  /** Bytes of device memory that the slabs on their way and the kernels take together. */
  std::size_t
  GetDeviceBytes() const
  {
    return static_cast<std::size_t>(slabsInFlight) * (deviceInputBytes + deviceOutputBytes + deviceRankBytes) +
           candidate.programBytes + candidate.scratchBytes;
  }

  /** Memory of the host that slabs pass through. */
  std::size_t
  GetStagedBytes() const
  {
    return static_cast<std::size_t>(slabsInFlight) *
           ((staging.input ? deviceInputBytes : 0) + (staging.output ? deviceOutputBytes : 0) + deviceRankBytes);
  }
};

} // namespace cudamedian

#endif
