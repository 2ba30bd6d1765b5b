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
#include "SlabPipeline.h"

#include "BoxTransfer.h"
#include "CopierShare.h"
#include "CudaError.h"
#include "DivideUp.h"
#include "Gather.h"
#include "HostCopy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <utility>

namespace cudamedian
{

bool
IsPinnedMemory(const void * memory)
{
  cudaPointerAttributes attributes{};
  const auto            error = cudaPointerGetAttributes(&attributes, memory);
  if (error == cudaErrorInvalidValue)
  {
    // CUDA says so of memory that it does not know.
    cudaGetLastError();
    return false;
  }
  CheckCuda(error, "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeHost;
}

ImageMemory
FindImageMemory(const MedianRequest & request)
{
  return { IsReadAsItIs(request) && IsPinnedMemory(request.input),
           request.convertRow == nullptr && IsWrittenInRows(request) && IsPinnedMemory(request.output) };
}

unsigned
CountCopiers(const MedianRequest & request, std::size_t devices)
{
  const auto threads = request.parallelFor ? std::min(request.workUnits, std::thread::hardware_concurrency()) : 1;
  return CountCopiersPerDevice(threads, devices);
}

SlabPipeline::SlabPipeline(const MedianRequest & request,
                           const Plan &          plan,
                           DeviceContext &       context,
                           SlabWork              work,
                           ExecutionReport &     report)
  : m_Request(request)
  , m_Plan(plan)
  , m_Context(context)
  , m_Work(std::move(work))
  , m_Report(report)
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_InputIsPinned(FindImageMemory(request).pinnedInput)
  , m_OutputIsPinned(FindImageMemory(request).pinnedOutput)
  , m_RankBytes(GetRankBytes(request))
  , m_NoThreads(1)
  , m_Team(ChooseTeam())
{
  const auto last =
    GetOffset(request.outputExtent, request.outputStride) - GetOffset({ { 1, 1, 1, 1 } }, request.outputStride);
  m_OutputFirst = static_cast<char *>(request.output);
  m_OutputLast = m_OutputFirst + (last + 1) * static_cast<std::int64_t>(request.outputPixelBytes);
}

ThreadTeam &
SlabPipeline::ChooseTeam()
{
  // Waking threads takes as long as copying some hundred kilobytes.
  constexpr std::size_t alone = std::size_t{ 1 } << 19;
  const auto            copied = (m_InputIsPinned ? 0 : m_Plan.deviceInputBytes) +
                      (m_OutputIsPinned ? 0 : m_Plan.deviceOutputBytes) + m_Plan.deviceRankBytes;
  return copied < alone ? m_NoThreads : m_Context.GetTeam(CountCopiers(m_Request, 1));
}

SlabPipeline::~SlabPipeline()
{
  // After an exception, copies may be under way in memory that is about to go.
  for (auto & passage : m_Passages)
  {
    m_Team.Finish(passage.copyIn);
    m_Team.Finish(passage.copyRanks);
    m_Team.Finish(passage.getPages);
    m_Team.Finish(passage.copyOut);
  }
}

MemoryShortage
SlabPipeline::Reserve(const MedianRequest & request, const Plan & plan, bool ordinaryStaging, DeviceContext & context)
{
  const auto inFlight = static_cast<std::size_t>(plan.slabsInFlight);
  const auto memory = FindImageMemory(request);
  const auto stagedInputBytes = memory.pinnedInput ? 0 : plan.deviceInputBytes;
  const auto stagedOutputBytes = memory.pinnedOutput ? 0 : plan.deviceOutputBytes;
  auto       device = std::max(context.program.GetBytes(), plan.candidate.programBytes) +
                std::max(context.scratch.GetBytes(), plan.candidate.scratchBytes);
  std::size_t staged = 0;
  for (std::size_t i = 0; i < context.places.size(); ++i)
  {
    const auto & place = context.places[i];
    device += std::max(place.input.GetBytes(), i < inFlight ? plan.deviceInputBytes : 0) +
              std::max(place.output.GetBytes(), i < inFlight ? plan.deviceOutputBytes : 0) +
              std::max(place.ranks.GetBytes(), i < inFlight ? plan.deviceRankBytes : 0);
    staged += std::max(place.stagedInput.GetBytes(), i < inFlight ? stagedInputBytes : 0) +
              std::max(place.stagedOutput.GetBytes(), i < inFlight ? stagedOutputBytes : 0) +
              std::max(place.stagedRanks.GetBytes(), i < inFlight ? plan.deviceRankBytes : 0);
  }
  // An earlier request may have left too much for these budgets.
  if (device > plan.deviceMemoryBudget)
  {
    CheckCuda(context.ReleaseBuffers(), "cudaFree");
  }
  else if (staged > plan.staging.budget)
  {
    CheckCuda(context.ReleaseStaging(), "cudaFreeHost");
  }
  const auto stage = [ordinaryStaging](CachedBuffer & buffer, std::size_t bytes) {
    return bytes == 0 || (ordinaryStaging ? buffer.ReserveOrdinary(bytes) : buffer.Reserve(bytes));
  };
  if (!context.program.Reserve(plan.candidate.programBytes) ||
      !context.ReservePixels(context.scratch, plan.candidate.scratchBytes))
  {
    return MemoryShortage::Device;
  }
  for (std::size_t i = 0; i < inFlight; ++i)
  {
    auto & place = context.places[i];
    if (!context.ReservePixels(place.input, plan.deviceInputBytes) ||
        !context.ReservePixels(place.output, plan.deviceOutputBytes) ||
        !context.ReservePixels(place.ranks, plan.deviceRankBytes))
    {
      return MemoryShortage::Device;
    }
    if (!stage(place.stagedInput, stagedInputBytes) || !stage(place.stagedOutput, stagedOutputBytes) ||
        !stage(place.stagedRanks, plan.deviceRankBytes))
    {
      return MemoryShortage::Host;
    }
  }
  return MemoryShortage::None;
}

void
SlabPipeline::StartCopyIn(Passage & passage)
{
  if (!m_InputIsPinned)
  {
    m_Team.Start(
      passage.copyIn, CountPieces(GetFresh(passage).box.extent, m_PixelBytes), [this, &passage](std::size_t piece) {
        CopyPieceIn(m_Request, *passage.slab, GetFresh(passage), passage.place->stagedInput.Get(), piece);
      });
  }
  if (m_RankBytes > 0)
  {
    m_Team.Start(passage.copyRanks,
                 CountPieces(passage.slab->output.extent, sizeof(std::int32_t)),
                 [this, &passage](std::size_t piece) {
                   CopyRanksIn(m_Request, *passage.slab, passage.place->stagedRanks.Get(), piece);
                 });
  }
}

/** Has the system give pages to the part of the image that a slab's output is copied to. */
void
SlabPipeline::StartGettingPages(Passage & passage)
{
  if (m_OutputIsPinned)
  {
    return;
  }
  const auto & extent = passage.slab->output.extent;
  const auto   pixels =
    GetOffset({ { extent[0] - 1, extent[1] - 1, extent[2] - 1, extent[3] - 1 } }, m_Request.outputStride) + 1;
  char * const slab = LocateOutput(m_Request, *passage.slab).first;
  const auto   getPage = [](const char * memory) {
    return DivideUp(reinterpret_cast<std::uintptr_t>(memory), largePageBytes);
  };
  // These large pages start in the slab and end in the output.
  const auto first = getPage(slab);
  const auto last = std::min(getPage(slab + pixels * static_cast<std::int64_t>(m_Request.outputPixelBytes)),
                             reinterpret_cast<std::uintptr_t>(m_OutputLast) / largePageBytes);
  if (first < last)
  {
    m_Team.Start(passage.getPages, last - first, [first](std::size_t page) {
      GetPages(reinterpret_cast<void *>((first + page) * largePageBytes), largePageBytes);
    });
  }
}

void
SlabPipeline::StartCopyOut(Passage & passage)
{
  if (!m_OutputIsPinned)
  {
    m_Team.Start(
      passage.copyOut, CountPieces(passage.slab->output.extent, m_PixelBytes), [this, &passage](std::size_t piece) {
        CopyPieceOut(m_Request, *passage.slab, passage.place->stagedOutput.Get(), piece);
      });
  }
}

/** Uploads the ranks of a slab's outputs, if there is a map. */
void
SlabPipeline::UploadRanks(const Passage & passage) const
{
  if (m_RankBytes > 0)
  {
    const auto & extent = passage.slab->output.extent;
    const auto   stride = GetDeviceOutputStride(*passage.slab, m_PixelBytes);
    TransferBox(static_cast<char *>(passage.place->ranks.Get()),
                stride,
                static_cast<const char *>(passage.place->stagedRanks.Get()),
                stride,
                { { stride[1], extent[1], extent[2], extent[3] } },
                m_RankBytes,
                cudaMemcpyHostToDevice,
                m_Context.upload);
  }
}

void
SlabPipeline::Enqueue(const Passage & passage) const
{
  const auto & slab = *passage.slab;
  auto &       place = *passage.place;
  const auto   inputStride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto   outputStride = GetDeviceOutputStride(slab, m_PixelBytes);
  const auto   bytes = static_cast<std::int64_t>(m_PixelBytes);
  auto *       target = static_cast<char *>(place.input.Get());
  const auto   fresh = GetFresh(passage);
  if (m_Plan.slabsInFlight > 1)
  {
    // The slab that was here before gave its halo to the next place. That copy must have ended.
    const auto & next = GetPlace(m_Enqueued + 1);
    CheckCuda(cudaStreamWaitEvent(m_Context.upload, next.started, 0), "cudaStreamWaitEvent");
  }
  const auto   input = LocateInput(m_Request, fresh.box);
  const auto & extent = fresh.box.extent;
  TransferBox(target + fresh.overlap * bytes,
              inputStride,
              m_InputIsPinned ? input.first
                              : static_cast<const char *>(place.stagedInput.Get()) + fresh.overlap * bytes,
              m_InputIsPinned ? input.stride : inputStride,
              m_InputIsPinned ? extent : Extent{ { inputStride[1], extent[1], extent[2], extent[3] } },
              m_PixelBytes,
              cudaMemcpyHostToDevice,
              m_Context.upload);
  UploadRanks(passage);
  CheckCuda(cudaEventRecord(place.uploaded, m_Context.upload), "cudaEventRecord");

  if (fresh.overlap > 0)
  {
    // The copy lies between two kernels, beside the upload. In the stream of uploads it would wait for a kernel to end.
    const auto * before = static_cast<const char *>(passage.placeBefore->input.Get());
    CheckCuda(cudaMemcpyAsync(target,
                              before + fresh.overlapSource * bytes,
                              static_cast<std::size_t>(fresh.overlap * bytes),
                              cudaMemcpyDeviceToDevice,
                              m_Context.compute),
              "cudaMemcpyAsync on the device");
  }
  CheckCuda(cudaStreamWaitEvent(m_Context.compute, place.uploaded, 0), "cudaStreamWaitEvent");
  CheckCuda(cudaEventRecord(place.started, m_Context.compute), "cudaEventRecord");
  m_Work(slab, place, m_Context.compute);
  CheckCuda(cudaEventRecord(place.filtered, m_Context.compute), "cudaEventRecord");

  CheckCuda(cudaStreamWaitEvent(m_Context.download, place.filtered, 0), "cudaStreamWaitEvent");
  const auto   lead = GetOutputLead(slab, m_PixelBytes) * bytes;
  const auto   output = LocateOutput(m_Request, slab);
  const auto * filtered = static_cast<const char *>(place.output.Get());
  TransferBox(m_OutputIsPinned ? output.first : static_cast<char *>(place.stagedOutput.Get()),
              m_OutputIsPinned ? output.stride : outputStride,
              m_OutputIsPinned ? filtered + lead : filtered,
              outputStride,
              m_OutputIsPinned
                ? slab.output.extent
                : Extent{ { outputStride[1], slab.output.extent[1], slab.output.extent[2], slab.output.extent[3] } },
              m_PixelBytes,
              cudaMemcpyDeviceToHost,
              m_Context.download);
  CheckCuda(cudaEventRecord(place.downloaded, m_Context.download), "cudaEventRecord");
}

/** Whether an event that was recorded has happened. */
bool
SlabPipeline::HasHappened(cudaEvent_t event)
{
  const auto state = cudaEventQuery(event);
  if (state == cudaErrorNotReady)
  {
    // Cleared, or the next call that asks for the last error would find it, such as the launch of a kernel.
    cudaGetLastError();
    return false;
  }
  CheckCuda(state, "cudaEventQuery");
  return true;
}

/** Whether a slab's output has been downloaded. */
bool
SlabPipeline::IsBack(const Passage & passage) const
{
  if (IsPinnedAlone())
  {
    // Nothing else is to be done meanwhile.
    CheckCuda(cudaEventSynchronize(passage.place->downloaded), "cudaEventSynchronize");
    return true;
  }
  return HasHappened(passage.place->downloaded);
}

/** Whether there is room for the input of one more slab. */
bool
SlabPipeline::CanTake()
{
  const auto inFlight = static_cast<std::size_t>(m_Plan.slabsInFlight);
  if (m_Taken < m_Finished + inFlight)
  {
    return true;
  }
  if (m_InputIsPinned || m_Taken - inFlight >= m_Enqueued)
  {
    return false;
  }
  return HasHappened(GetPassage(m_Taken - inFlight).place->uploaded);
}

void
SlabPipeline::Take(std::size_t number)
{
  const auto inFlight = static_cast<std::size_t>(m_Plan.slabsInFlight);
  auto &     passage = GetPassage(m_Taken);
  passage.number = number;
  passage.slab = &m_Plan.slabs[number];
  passage.place = &GetPlace(m_Taken);
  passage.before = nullptr;
  passage.placeBefore = nullptr;
  if (inFlight > 1 && m_Taken > 0 && GetPassage(m_Taken - 1).number + 1 == number)
  {
    passage.before = GetPassage(m_Taken - 1).slab;
    passage.placeBefore = GetPassage(m_Taken - 1).place;
  }
  ++m_Taken;
  StartCopyIn(passage);
  StartGettingPages(passage);
}

/** Takes those slabs further that can be. \returns whether there were any. */
bool
SlabPipeline::Advance(SlabHand & hand)
{
  const auto inFlight = static_cast<std::size_t>(m_Plan.slabsInFlight);
  bool       advanced = false;
  if (CanTake())
  {
    const bool isIdle = m_Taken == m_Finished;
    const auto slab = hand.Next(isIdle);
    m_NoMore = isIdle && slab == noSlab;
    if (slab != noSlab)
    {
      Take(slab);
      advanced = true;
    }
  }
  if (m_Enqueued < m_Taken && m_Enqueued < m_Finished + inFlight && GetPassage(m_Enqueued).copyIn.IsDone() &&
      GetPassage(m_Enqueued).copyRanks.IsDone())
  {
    Enqueue(GetPassage(m_Enqueued));
    ++m_Enqueued;
    advanced = true;
  }
  // IsBack() may wait, but only when no more slabs can be sent.
  const bool maySendMore = IsPinnedAlone() && advanced;
  if (m_Returned < m_Enqueued && !maySendMore && IsBack(GetPassage(m_Returned)))
  {
    auto & passage = GetPassage(m_Returned);
    float  milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, passage.place->started, passage.place->filtered),
              "cudaEventElapsedTime");
    m_Report.kernelSeconds += milliseconds / 1e3;
    StartCopyOut(passage);
    ++m_Returned;
    advanced = true;
  }
  if (m_Finished < m_Returned && GetPassage(m_Finished).getPages.IsDone() && GetPassage(m_Finished).copyOut.IsDone())
  {
    ++m_Finished;
    hand.Finish();
    if (m_Request.progress)
    {
      m_Request.progress(static_cast<float>(m_Finished) / static_cast<float>(m_Plan.slabs.size()));
    }
    advanced = true;
  }
  return advanced;
}

void
SlabPipeline::Run(SlabHand & hand)
{
  const auto start = std::chrono::steady_clock::now();
  if (!m_OutputIsPinned)
  {
    AdviseLargePages(m_OutputFirst, static_cast<std::size_t>(m_OutputLast - m_OutputFirst));
  }
  while (!m_NoMore && !hand.IsStopped())
  {
    // While the device is busy this thread helps nobody: the bus would wait until a piece is copied.
    const bool isFree = m_Returned == m_Enqueued || !m_Team.HasThreads();
    if (!Advance(hand) && !(isFree && m_Team.Help()))
    {
      std::this_thread::yield();
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  m_Report.transferSeconds = std::max(0.0, seconds - m_Report.kernelSeconds);
}

} // namespace cudamedian
