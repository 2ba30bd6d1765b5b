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
#ifndef SlabPipeline_h
#define SlabPipeline_h

#include "DeviceContext.h"
#include "MedianBackend.h"
#include "SlabDealer.h"
#include "StagedCopy.h"
#include "ThreadTeam.h"

#include <array>
#include <functional>

namespace cudamedian
{

/** Whether memory of the host is pinned: known to CUDA, so that the bus reads and writes it where it lies.
 * \throws DeviceError */
bool
IsPinnedMemory(const void * memory);

/** Which images of a request are transferred without a copy: those in pinned memory whose pixels lie there as the
 * device is to have them. \throws DeviceError */
ImageMemory
FindImageMemory(const MedianRequest & request);

/** What there is too little of. */
enum class MemoryShortage
{
  None,
  Device,
  Host
};

/** The threads of each of several devices that copy between images and staging memory. All together they are no more
 * than the request's work units, and no more than there are cores. */
unsigned
CountCopiers(const MedianRequest & request, std::size_t devices);

/** Has the current device filter a slab whose input is in a place of the ring. Its output is to be there too, after
 * the stream's work. \throws DeviceError, RequestError */
using SlabWork = std::function<void(const Slab &, const DeviceContext::Place &, cudaStream_t)>;

/** Passes slabs of a plan through a device: upload, kernel and download of different slabs at once.
 *
 * A ring has plan.slabsInFlight places, for a slab each. A place has device memory and, for an image in ordinary
 * memory, staging memory, which the bus reads and writes at full speed. The thread that calls Run() looks after the
 * slabs. It has the next one copied to its place, starts what the device does with one that was copied, and has one
 * that came back copied to the image. The context's threads do the copies, and this one helps while the device has
 * nothing to do. An image in pinned memory is transferred from and to where it lies. A map of ranks passes through
 * staging memory beside the input, since devices have its ranks in fewer bytes. */
class SlabPipeline
{
public:
  SlabPipeline(const MedianRequest & request,
               const Plan &          plan,
               DeviceContext &       context,
               SlabWork              work,
               ExecutionReport &     report);

  /** Reserves the context's buffers for a plan.
   * \param ordinaryStaging staging memory is ordinary, because pinned memory is not to be had.
   * \returns what there was not enough of. \throws DeviceError */
  static MemoryShortage
  Reserve(const MedianRequest & request, const Plan & plan, bool ordinaryStaging, DeviceContext & context);

  ~SlabPipeline();
  SlabPipeline(const SlabPipeline &) = delete;
  SlabPipeline &
  operator=(const SlabPipeline &) = delete;

  /** Filters the slabs of a hand until there are no more, or until the dealer stops. Reports progress after each, which
   * may stop it too. */
  void
  Run(SlabHand & hand);

private:
  /** A slab on its way. */
  struct Passage
  {
    std::size_t                  number{ noSlab };
    const Slab *                 slab{ nullptr };
    DeviceContext::Place *       place{ nullptr };
    const Slab *                 before{ nullptr };      ///< null, or the slab before it in the image, if that is
    const DeviceContext::Place * placeBefore{ nullptr }; ///< still on the device, here
    ThreadTeam::Task             copyIn;
    ThreadTeam::Task             copyRanks;
    ThreadTeam::Task             getPages;
    ThreadTeam::Task             copyOut;
  };

  Passage &
  GetPassage(std::size_t count)
  {
    return m_Passages[count % m_Passages.size()];
  }
  DeviceContext::Place &
  GetPlace(std::size_t count) const
  {
    return m_Context.places[count % static_cast<std::size_t>(m_Plan.slabsInFlight)];
  }
  FreshInput
  GetFresh(const Passage & passage) const
  {
    return GetFreshInput(*passage.slab, passage.before, m_PixelBytes);
  }

  bool
  CanTake();
  void
  Take(std::size_t slab);
  void
  StartCopyIn(Passage & passage);
  void
  StartGettingPages(Passage & passage);
  void
  StartCopyOut(Passage & passage);
  void
  UploadRanks(const Passage & passage) const;
  void
  Enqueue(const Passage & passage) const;
  static bool
  HasHappened(cudaEvent_t event);
  bool
  IsBack(const Passage & passage) const;
  bool
  Advance(SlabHand & hand);
  ThreadTeam &
  ChooseTeam();
  /** Whether the host has nothing to copy. */
  bool
  IsPinnedAlone() const
  {
    return m_InputIsPinned && m_OutputIsPinned && m_RankBytes == 0;
  }

  const MedianRequest & m_Request;
  const Plan &          m_Plan;
  DeviceContext &       m_Context;
  SlabWork              m_Work;
  ExecutionReport &     m_Report;
  std::size_t           m_PixelBytes;
  bool                  m_InputIsPinned;
  bool                  m_OutputIsPinned;
  std::size_t           m_RankBytes;              ///< of a rank in the map that the device gets; 0 without a map
  char *                m_OutputFirst{ nullptr }; ///< the bytes of the image's memory between the first and the last
  char *                m_OutputLast{ nullptr };  ///< pixel of the request's output
  ThreadTeam            m_NoThreads;
  ThreadTeam &          m_Team;
  /** A slab's input may be copied while the output of the slab that had its place before still is. */
  std::array<Passage, 2 * largestRing> m_Passages;
  // Slabs that have come so far, counted from the first; each has come as far as the one after it.
  std::size_t m_Taken{ 0 };
  std::size_t m_Enqueued{ 0 };
  std::size_t m_Returned{ 0 };
  std::size_t m_Finished{ 0 };
  bool        m_NoMore{ false }; ///< whether all slabs are done, by whichever device
};

} // namespace cudamedian

#endif
