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

#include "CopierShare.h"
#include "CudaError.h"
#include "HostCopy.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

namespace cudamedian
{
namespace
{

Extent
GetPackedStride(const Extent & extent)
{
  Extent stride{ { 1, 0, 0, 0 } };
  for (int axis = 1; axis < Dimension; ++axis)
  {
    stride[axis] = stride[axis - 1] * extent[axis - 1];
  }
  return stride;
}

std::int64_t
GetOffset(const Extent & position, const Extent & stride)
{
  std::int64_t offset = 0;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    offset += position[axis] * stride[axis];
  }
  return offset;
}

/** Makes one row of rows that follow each other without gaps in both of two images, and so on for slices. */
void
MergeRows(Extent & extent, Extent & oneStride, Extent & otherStride)
{
  while (extent[1] * extent[2] * extent[3] > 1 && oneStride[1] == extent[0] && otherStride[1] == extent[0])
  {
    extent = { { extent[0] * extent[1], extent[2], extent[3], 1 } };
    oneStride = { { 1, oneStride[2], oneStride[3], oneStride[3] } };
    otherStride = { { 1, otherStride[2], otherStride[3], otherStride[3] } };
  }
}

/** Bytes from row to row that CUDA copies in one call: cudaDevAttrMaxPitch of all devices. */
constexpr std::int64_t largestPitch = std::numeric_limits<std::int32_t>::max();

/** Copies rows between host and device memory; pitches in bytes. */
void
TransferRows(char *         target,
             std::int64_t   targetPitch,
             const char *   source,
             std::int64_t   sourcePitch,
             std::int64_t   width,
             std::int64_t   rows,
             cudaMemcpyKind kind,
             cudaStream_t   stream)
{
  if (std::max({ targetPitch, sourcePitch, width }) > largestPitch)
  {
    for (std::int64_t row = 0; row < rows; ++row)
    {
      CheckCuda(
        cudaMemcpyAsync(
          target + row * targetPitch, source + row * sourcePitch, static_cast<std::size_t>(width), kind, stream),
        "cudaMemcpyAsync");
    }
    return;
  }
  CheckCuda(cudaMemcpy2DAsync(target,
                              static_cast<std::size_t>(targetPitch),
                              source,
                              static_cast<std::size_t>(sourcePitch),
                              static_cast<std::size_t>(width),
                              static_cast<std::size_t>(rows),
                              kind,
                              stream),
            "cudaMemcpy2DAsync");
}

/** Copies a box between strided images in host and device memory. */
void
TransferBox(char *         target,
            Extent         targetStride,
            const char *   source,
            Extent         sourceStride,
            Extent         extent,
            std::size_t    pixelBytes,
            cudaMemcpyKind kind,
            cudaStream_t   stream)
{
  if (Volume(extent) == 0)
  {
    return;
  }
  MergeRows(extent, targetStride, sourceStride);
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  if (Volume(extent) == extent[0])
  {
    CheckCuda(cudaMemcpyAsync(target, source, static_cast<std::size_t>(extent[0] * bytes), kind, stream),
              "cudaMemcpyAsync");
    return;
  }
  for (std::int64_t w = 0; w < extent[3]; ++w)
  {
    for (std::int64_t z = 0; z < extent[2]; ++z)
    {
      TransferRows(target + (w * targetStride[3] + z * targetStride[2]) * bytes,
                   std::max(targetStride[1], extent[0]) * bytes,
                   source + (w * sourceStride[3] + z * sourceStride[2]) * bytes,
                   std::max(sourceStride[1], extent[0]) * bytes,
                   extent[0] * bytes,
                   extent[1],
                   kind,
                   stream);
    }
  }
}

/** Calls copy(target, source, count) for the rows of a part of a box, which has as many pixels as every other part,
 * with where a row's pixels start in either image. Rows are as long as the images allow: threads copied 2 KiB at a
 * time past the caches at 0.7 of the rate of 32 KiB, and at 0.45 with an end of such stores after each. */
template <typename TCopy>
void
ForEachRowOfPart(Extent        extent,
                 Extent        targetStride,
                 Extent        sourceStride,
                 std::size_t   part,
                 std::size_t   parts,
                 const TCopy & copy)
{
  MergeRows(extent, targetStride, sourceStride);
  // Parts end at multiples of 64 pixels, whatever the type: no cache line of a packed row has two writers.
  const auto total = static_cast<std::size_t>(Volume(extent));
  const auto blocks = (total + 63) / 64;
  const auto first = std::min(total, blocks * part / parts * 64);
  const auto last = std::min(total, blocks * (part + 1) / parts * 64);
  const auto width = static_cast<std::size_t>(extent[0]);
  for (auto next = first; next < last;)
  {
    const auto   row = next / width;
    const auto   x = next % width;
    const auto   count = std::min(width - x, last - next);
    const auto   y = static_cast<std::int64_t>(row) % extent[1];
    const auto   slices = static_cast<std::int64_t>(row) / extent[1];
    const Extent position{ { static_cast<std::int64_t>(x), y, slices % extent[2], slices / extent[2] } };
    copy(GetOffset(position, targetStride), GetOffset(position, sourceStride), count);
    next += count;
  }
}

/** The bytes that pieces of a copy have: enough to be worth starting, and few enough that all threads are done at the
 * same time. */
constexpr std::size_t pieceBytes = std::size_t{ 256 } << 10;

std::size_t
CountPieces(const Extent & extent, std::size_t pixelBytes)
{
  return (static_cast<std::size_t>(Volume(extent)) * pixelBytes + pieceBytes - 1) / pieceBytes;
}

} // namespace

bool
IsPinnedMemory(const void * memory)
{
  cudaPointerAttributes attributes{};
  const auto            error = cudaPointerGetAttributes(&attributes, memory);
  if (error == cudaErrorInvalidValue)
  {
    // What CUDA says of memory that it does not know.
    cudaGetLastError();
    return false;
  }
  CheckCuda(error, "cudaPointerGetAttributes");
  return attributes.type == cudaMemoryTypeHost;
}

unsigned
CountCopiers(const MedianRequest & request, std::size_t devices)
{
  const auto threads = request.parallelFor ? std::min(request.workUnits, std::thread::hardware_concurrency()) : 1;
  return CountCopiersPerDevice(threads, devices);
}

/** The part of a slab's input that the slab before it in the image has not brought to the device: all of it, or what
 * lies behind the overlap along the outermost axis. */
SlabPipeline::Fresh
SlabPipeline::GetFresh(const Passage & passage) const
{
  const auto & slab = *passage.slab;
  Fresh        fresh{ slab.input, 0, 0 };
  if (passage.before == nullptr)
  {
    return fresh;
  }
  const auto & before = passage.before->input;
  int          axis = Dimension - 1;
  while (axis > 0 && before.extent[axis] == 1 && slab.input.extent[axis] == 1 &&
         before.origin[axis] == slab.input.origin[axis])
  {
    --axis;
  }
  for (int inner = 0; inner < axis; ++inner)
  {
    if (before.origin[inner] != slab.input.origin[inner] || before.extent[inner] != slab.input.extent[inner])
    {
      return fresh;
    }
  }
  const auto overlap =
    std::min(before.origin[axis] + before.extent[axis] - slab.input.origin[axis], slab.input.extent[axis]);
  if (axis > 0 && overlap > 0 && slab.input.origin[axis] >= before.origin[axis])
  {
    const auto stride = GetDeviceInputStride(slab, m_PixelBytes)[axis];
    fresh.box.origin[axis] += overlap;
    fresh.box.extent[axis] -= overlap;
    fresh.overlap = overlap * stride;
    fresh.overlapSource = (slab.input.origin[axis] - before.origin[axis]) * stride;
  }
  return fresh;
}

/** A slab's box in the image. */
struct SlabPipeline::HostBox
{
  char * first;
  Extent stride;
};

SlabPipeline::SlabPipeline(const MedianRequest & request,
                           const Plan &          plan,
                           DeviceContext &       context,
                           const SlabKernel &    kernel,
                           ExecutionReport &     report)
  : m_Request(request), m_Plan(plan), m_Context(context), m_Kernel(kernel), m_Report(report),
    m_PixelBytes(PixelBytes(request.pixelType)), m_InputIsPinned(IsPinnedMemory(request.input)),
    m_OutputIsPinned(request.convertRow == nullptr && IsPinnedMemory(request.output)), m_NoThreads(1),
    m_Team(ChooseTeam())
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
  const auto            copied =
    (m_InputIsPinned ? 0 : m_Plan.deviceInputBytes) + (m_OutputIsPinned ? 0 : m_Plan.deviceOutputBytes);
  return copied < alone ? m_NoThreads : m_Context.GetTeam(CountCopiers(m_Request, 1));
}

SlabPipeline::~SlabPipeline()
{
  // After an exception copies may be under way that read and write what is about to go.
  for (auto & passage : m_Passages)
  {
    m_Team.Finish(passage.copyIn);
    m_Team.Finish(passage.getPages);
    m_Team.Finish(passage.copyOut);
  }
}

MemoryShortage
SlabPipeline::Reserve(const MedianRequest & request, const Plan & plan, bool ordinaryStaging, DeviceContext & context)
{
  const auto inFlight = static_cast<std::size_t>(plan.slabsInFlight);
  const bool pinnedInput = IsPinnedMemory(request.input);
  const bool pinnedOutput = request.convertRow == nullptr && IsPinnedMemory(request.output);
  const auto stagedInputBytes = pinnedInput ? 0 : plan.deviceInputBytes;
  const auto stagedOutputBytes = pinnedOutput ? 0 : plan.deviceOutputBytes;
  auto       device = std::max(context.program.GetBytes(), plan.candidate.programBytes) +
                std::max(context.scratch.GetBytes(), plan.candidate.scratchBytes);
  std::size_t staged = 0;
  for (std::size_t i = 0; i < context.places.size(); ++i)
  {
    const auto & place = context.places[i];
    device += std::max(place.input.GetBytes(), i < inFlight ? plan.deviceInputBytes : 0) +
              std::max(place.output.GetBytes(), i < inFlight ? plan.deviceOutputBytes : 0);
    staged += std::max(place.stagedInput.GetBytes(), i < inFlight ? stagedInputBytes : 0) +
              std::max(place.stagedOutput.GetBytes(), i < inFlight ? stagedOutputBytes : 0);
  }
  // What an earlier request left may be too much for these budgets.
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
        !context.ReservePixels(place.output, plan.deviceOutputBytes))
    {
      return MemoryShortage::Device;
    }
    if (!stage(place.stagedInput, stagedInputBytes) || !stage(place.stagedOutput, stagedOutputBytes))
    {
      return MemoryShortage::Host;
    }
  }
  return MemoryShortage::None;
}

SlabPipeline::HostBox
SlabPipeline::GetInputBox(const PixelBox & box) const
{
  const auto stride = GetPackedStride(m_Request.inputExtent);
  auto *     pixels = const_cast<char *>(static_cast<const char *>(m_Request.input));
  return { pixels + GetOffset(box.origin, stride) * static_cast<std::int64_t>(m_PixelBytes), stride };
}

SlabPipeline::HostBox
SlabPipeline::GetOutputBox(const Slab & slab) const
{
  Extent position;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    position[axis] = slab.output.origin[axis] - m_Request.outputOrigin[axis];
  }
  return { static_cast<char *>(m_Request.output) +
             GetOffset(position, m_Request.outputStride) * static_cast<std::int64_t>(m_Request.outputPixelBytes),
           m_Request.outputStride };
}

void
SlabPipeline::StartCopyIn(Passage & passage)
{
  if (!m_InputIsPinned)
  {
    m_Team.Start(passage.copyIn,
                 CountPieces(GetFresh(passage).box.extent, m_PixelBytes),
                 [this, &passage](std::size_t piece) { CopyIn(passage, piece); });
  }
}

/** A piece of what a slab needs of the image, to its place: with stores that go through the caches, from which the bus
 * then reads. With 16 MiB in each of four places 16 threads took 22 ms for 1 GiB in and 1 GiB out, and 27 ms with
 * stores past the caches both ways. */
void
SlabPipeline::CopyIn(const Passage & passage, std::size_t piece) const
{
  const auto fresh = GetFresh(passage);
  const auto box = GetInputBox(fresh.box);
  const auto stride = GetDeviceInputStride(*passage.slab, m_PixelBytes);
  const auto bytes = static_cast<std::int64_t>(m_PixelBytes);
  auto *     staged = static_cast<char *>(passage.place->stagedInput.Get()) + fresh.overlap * bytes;
  const auto pieces = CountPieces(fresh.box.extent, m_PixelBytes);
  ForEachRowOfPart(fresh.box.extent,
                   stride,
                   box.stride,
                   piece,
                   pieces,
                   [&](std::int64_t target, std::int64_t source, std::size_t count) {
                     std::memcpy(staged + target * bytes, box.first + source * bytes, count * m_PixelBytes);
                   });
}

/** Has pages given to the part of the image that a slab's output is copied to, if it has none. */
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
  char * const slab = GetOutputBox(*passage.slab).first;
  const auto   getPage = [](const char * memory) {
    return (reinterpret_cast<std::uintptr_t>(memory) + largePageBytes - 1) / largePageBytes;
  };
  // Large pages that start in the slab and end in the output.
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
    m_Team.Start(passage.copyOut,
                 CountPieces(passage.slab->output.extent, m_PixelBytes),
                 [this, &passage](std::size_t piece) { CopyOut(passage, piece); });
  }
}

/** A piece of a slab's output, from its place to the image. */
void
SlabPipeline::CopyOut(const Passage & passage, std::size_t piece) const
{
  const auto & slab = *passage.slab;
  const auto   box = GetOutputBox(slab);
  const auto   stride = GetDeviceOutputStride(slab, m_PixelBytes);
  const auto   bytes = static_cast<std::int64_t>(m_PixelBytes);
  const auto   outputBytes = static_cast<std::int64_t>(m_Request.outputPixelBytes);
  const auto * staged =
    static_cast<const char *>(passage.place->stagedOutput.Get()) + GetOutputLead(slab, m_PixelBytes) * bytes;
  const auto pieces = CountPieces(slab.output.extent, m_PixelBytes);
  ForEachRowOfPart(slab.output.extent,
                   box.stride,
                   stride,
                   piece,
                   pieces,
                   [&](std::int64_t target, std::int64_t source, std::size_t count) {
                     if (m_Request.convertRow != nullptr)
                     {
                       m_Request.convertRow(staged + source * bytes, box.first + target * outputBytes, count);
                     }
                     else
                     {
                       CopyPastCaches(box.first + target * outputBytes, staged + source * bytes, count * m_PixelBytes);
                     }
                   });
  FinishCopiesPastCaches();
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
    // The slab that this place had before gave its halo to the next one's place.
    const auto & next = GetPlace(m_Enqueued + 1);
    CheckCuda(cudaStreamWaitEvent(m_Context.upload, next.started, 0), "cudaStreamWaitEvent");
  }
  const auto   input = GetInputBox(fresh.box);
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
  CheckCuda(cudaEventRecord(place.uploaded, m_Context.upload), "cudaEventRecord");

  if (fresh.overlap > 0)
  {
    // Beside the upload, between two kernels: in the stream of the uploads each would wait for a kernel to end.
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
  CheckCuda(m_Kernel.Launch(slab, place.input.Get(), place.output.Get(), m_Context.compute), "The kernel launch");
  CheckCuda(cudaEventRecord(place.filtered, m_Context.compute), "cudaEventRecord");

  CheckCuda(cudaStreamWaitEvent(m_Context.download, place.filtered, 0), "cudaStreamWaitEvent");
  const auto   lead = GetOutputLead(slab, m_PixelBytes) * bytes;
  const auto   output = GetOutputBox(slab);
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
    // It counts as an error to the next call that asks for the last one, such as the launch of a kernel.
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
  if (m_InputIsPinned && m_OutputIsPinned)
  {
    // There is nothing else to do.
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
  if (m_Enqueued < m_Taken && m_Enqueued < m_Finished + inFlight && GetPassage(m_Enqueued).copyIn.IsDone())
  {
    Enqueue(GetPassage(m_Enqueued));
    ++m_Enqueued;
    advanced = true;
  }
  // IsBack() may wait, but only when no more slabs can be sent.
  const bool maySendMore = m_InputIsPinned && m_OutputIsPinned && advanced;
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
    // While the device is busy this thread helps nobody: the bus would wait for a piece to be copied.
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
