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
#include "Planner.h"
#include "SlabDealer.h"
#include "SlabKernel.h"

namespace cudamedian
{

/** Passes slabs of a plan through a device: upload, kernel and download of different slabs at once.
 *
 * A ring of plan.slabsInFlight places holds a slab each, in device memory and, for an image in ordinary memory, in
 * pinned memory, which the bus reads and writes at full speed. In each step all work units copy the next slab from the
 * image to its place and the slab that came back from its place to the image, while the device works on those between.
 * An image in pinned memory is transferred from and to where it lies. */
class SlabPipeline
{
public:
  SlabPipeline(const MedianRequest & request,
               const Plan &          plan,
               DeviceContext &       context,
               const SlabKernel &    kernel,
               ExecutionReport &     report);

  /** Reserves the context's buffers for a plan. \returns false when there is not enough memory. */
  static bool
  Reserve(const MedianRequest & request, const Plan & plan, DeviceContext & context);

  /** Filters the slabs of a hand until there are no more, or until the dealer stops; reports progress, which may stop
   * it too, after each. */
  void
  Run(SlabHand & hand);

private:
  struct HostBox;
  struct Fresh
  {
    PixelBox     box;           ///< what has to be uploaded
    std::int64_t overlap;       ///< pixels at the start of the buffer that lie in the buffer of the slab before
    std::int64_t overlapSource; ///< where they lie there
  };
  /** A slab on its way. */
  struct Passage
  {
    const Slab *                 slab{ nullptr }; ///< null: no slab
    DeviceContext::Place *       place{ nullptr };
    const Slab *                 before{ nullptr };      ///< null, or the slab before it in the image, if that is
    const DeviceContext::Place * placeBefore{ nullptr }; ///< still on the device, here
  };

  Fresh
  GetFresh(const Passage & passage) const;
  HostBox
  GetInputBox(const PixelBox & box) const;
  HostBox
  GetOutputBox(const Slab & slab) const;
  void
  CopyThroughHost(const Passage & incoming, const Passage & outgoing) const;
  void
  Enqueue(const Passage & passage) const;
  void
  Finish(const Passage & passage) const;

  const MedianRequest & m_Request;
  const Plan &          m_Plan;
  DeviceContext &       m_Context;
  const SlabKernel &    m_Kernel;
  ExecutionReport &     m_Report;
  std::size_t           m_PixelBytes;
  bool                  m_InputIsPinned;
  bool                  m_OutputIsPinned;
};

} // namespace cudamedian

#endif
