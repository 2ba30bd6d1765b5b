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

#include "CudaBackend.h"
#include "FaultInjection.h"
#include "HostCopy.h"

#include <algorithm>
#include <chrono>

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
  CheckCuda(InjectCopyFault() ? cudaErrorUnknown : cudaSuccess, "cudaMemcpyAsync");
  if (Volume(extent) == 0)
  {
    return;
  }
  // Rows that follow each other without gaps are one row, and so on for slices.
  while (extent[1] * extent[2] * extent[3] > 1 && targetStride[1] == extent[0] && sourceStride[1] == extent[0])
  {
    extent = { { extent[0] * extent[1], extent[2], extent[3], 1 } };
    targetStride = { { 1, targetStride[2], targetStride[3], targetStride[3] } };
    sourceStride = { { 1, sourceStride[2], sourceStride[3], sourceStride[3] } };
  }
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
      CheckCuda(cudaMemcpy2DAsync(target + (w * targetStride[3] + z * targetStride[2]) * bytes,
                                  static_cast<std::size_t>(std::max(targetStride[1], extent[0]) * bytes),
                                  source + (w * sourceStride[3] + z * sourceStride[2]) * bytes,
                                  static_cast<std::size_t>(std::max(sourceStride[1], extent[0]) * bytes),
                                  static_cast<std::size_t>(extent[0] * bytes),
                                  static_cast<std::size_t>(extent[1]),
                                  kind,
                                  stream),
                "cudaMemcpy2DAsync");
    }
  }
}

/** Calls copy(row, first, count) for the pixels of a part of a box, as many as of every other part. */
template <typename TCopy>
void
ForEachRowOfPart(const Extent & extent, std::size_t part, std::size_t parts, const TCopy & copy)
{
  // Parts end at multiples of 64 pixels, whatever the type: no cache line of a packed row has two writers.
  const auto total = static_cast<std::size_t>(Volume(extent));
  const auto blocks = (total + 63) / 64;
  const auto first = std::min(total, blocks * part / parts * 64);
  const auto last = std::min(total, blocks * (part + 1) / parts * 64);
  const auto width = static_cast<std::size_t>(extent[0]);
  for (auto next = first; next < last;)
  {
    const auto row = next / width;
    const auto x = next % width;
    const auto count = std::min(width - x, last - next);
    const auto y = static_cast<std::int64_t>(row) % extent[1];
    const auto slices = static_cast<std::int64_t>(row) / extent[1];
    copy(Extent{ { static_cast<std::int64_t>(x), y, slices % extent[2], slices / extent[2] } }, count);
    next += count;
  }
}

} // namespace

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
    m_OutputIsPinned(request.convertRow == nullptr && IsPinnedMemory(request.output))
{}

bool
SlabPipeline::Reserve(const MedianRequest & request, const Plan & plan, DeviceContext & context)
{
  const auto inFlight = static_cast<std::size_t>(plan.slabsInFlight);
  auto       total = std::max(context.program.GetBytes(), plan.deviceProgramBytes) +
               std::max(context.scratch.GetBytes(), plan.deviceScratchBytes);
  for (std::size_t i = 0; i < context.places.size(); ++i)
  {
    const auto & place = context.places[i];
    total += std::max(place.input.GetBytes(), i < inFlight ? plan.deviceInputBytes : 0) +
             std::max(place.output.GetBytes(), i < inFlight ? plan.deviceOutputBytes : 0);
  }
  if (total > plan.deviceMemoryBudget)
  {
    // What an earlier request left is too much for this budget.
    context.ReleaseBuffers();
  }
  const bool pinnedInput = IsPinnedMemory(request.input);
  const bool pinnedOutput = request.convertRow == nullptr && IsPinnedMemory(request.output);
  bool enough = context.program.Reserve(plan.deviceProgramBytes) && context.scratch.Reserve(plan.deviceScratchBytes);
  for (std::size_t i = 0; i < inFlight; ++i)
  {
    auto & place = context.places[i];
    enough = enough && place.input.Reserve(plan.deviceInputBytes) && place.output.Reserve(plan.deviceOutputBytes) &&
             (pinnedInput || place.stagedInput.Reserve(plan.deviceInputBytes)) &&
             (pinnedOutput || place.stagedOutput.Reserve(plan.deviceOutputBytes));
  }
  return enough;
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

/** One slab from the image to its place and one from its place to the image, by all work units. */
void
SlabPipeline::CopyThroughHost(const Passage & incoming, const Passage & outgoing) const
{
  const bool in = incoming.slab != nullptr && !m_InputIsPinned;
  const bool out = outgoing.slab != nullptr && !m_OutputIsPinned;
  if (!in && !out)
  {
    return;
  }
  const auto bytes = static_cast<std::int64_t>(m_PixelBytes);
  const auto copyIn = [&](std::size_t part, std::size_t parts) {
    const auto fresh = GetFresh(incoming);
    const auto box = GetInputBox(fresh.box);
    const auto stride = GetDeviceInputStride(*incoming.slab, m_PixelBytes);
    auto *     staged = static_cast<char *>(incoming.place->stagedInput.Get()) + fresh.overlap * bytes;
    ForEachRowOfPart(fresh.box.extent, part, parts, [&](const Extent & position, std::size_t count) {
      CopyPastCaches(staged + GetOffset(position, stride) * bytes,
                     box.first + GetOffset(position, box.stride) * bytes,
                     count * m_PixelBytes);
    });
  };
  const auto copyOut = [&](std::size_t part, std::size_t parts) {
    const auto & slab = *outgoing.slab;
    const auto   box = GetOutputBox(slab);
    const auto   stride = GetDeviceOutputStride(slab, m_PixelBytes);
    const auto * staged =
      static_cast<const char *>(outgoing.place->stagedOutput.Get()) + GetOutputLead(slab, m_PixelBytes) * bytes;
    const auto outputBytes = static_cast<std::int64_t>(m_Request.outputPixelBytes);
    ForEachRowOfPart(slab.output.extent, part, parts, [&](const Extent & position, std::size_t count) {
      const auto * source = staged + GetOffset(position, stride) * bytes;
      auto *       target = box.first + GetOffset(position, box.stride) * outputBytes;
      if (m_Request.convertRow != nullptr)
      {
        m_Request.convertRow(source, target, count);
      }
      else
      {
        CopyPastCaches(target, source, count * m_PixelBytes);
      }
    });
  };
  // Waking threads takes as long as copying some hundred kilobytes.
  constexpr std::size_t alone = std::size_t{ 1 } << 19;
  const std::size_t     units = std::max(1U, m_Request.workUnits);
  const auto            total = (in ? m_Plan.deviceInputBytes : 0) + (out ? m_Plan.deviceOutputBytes : 0);
  const auto            body = [&](std::size_t part, std::size_t parts) {
    if (out)
    {
      copyOut(part, parts);
    }
    if (in)
    {
      copyIn(part, parts);
    }
  };
  if (units == 1 || !m_Request.parallelFor || total < alone)
  {
    body(0, 1);
  }
  else
  {
    m_Request.parallelFor(units, [&](std::size_t unit) { body(unit, units); });
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
  if (fresh.overlap > 0)
  {
    // The slab before lies on the device until its place is uploaded to again, on this same stream.
    const auto * before = static_cast<const char *>(passage.placeBefore->input.Get());
    CheckCuda(cudaMemcpyAsync(target,
                              before + fresh.overlapSource * bytes,
                              static_cast<std::size_t>(fresh.overlap * bytes),
                              cudaMemcpyDeviceToDevice,
                              m_Context.upload),
              "cudaMemcpyAsync on the device");
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

/** Waits until a slab is back, and counts the time of its kernel. */
void
SlabPipeline::Finish(const Passage & passage) const
{
  const auto & place = *passage.place;
  CheckCuda(cudaEventSynchronize(place.downloaded), "cudaEventSynchronize");
  float milliseconds = 0;
  CheckCuda(cudaEventElapsedTime(&milliseconds, place.started, place.filtered), "cudaEventElapsedTime");
  m_Report.kernelSeconds += milliseconds / 1e3;
}

void
SlabPipeline::Run(SlabHand & hand)
{
  const auto start = std::chrono::steady_clock::now();
  if (!m_OutputIsPinned)
  {
    const auto last =
      GetOffset(m_Request.outputExtent, m_Request.outputStride) - GetOffset({ { 1, 1, 1, 1 } }, m_Request.outputStride);
    AdviseLargePages(m_Request.output, static_cast<std::size_t>(last + 1) * m_Request.outputPixelBytes);
  }
  const auto  inFlight = static_cast<std::size_t>(m_Plan.slabsInFlight);
  const auto  lag = inFlight - 1;
  std::size_t started = 0;
  std::size_t finished = 0;
  std::size_t last = noSlab;

  std::array<Passage, largestRing> passages;
  const Passage                    none;
  const auto                       take = [&](std::size_t slab) {
    Passage & passage = passages[started % inFlight];
    passage = { &m_Plan.slabs[slab], &m_Context.places[started % inFlight], nullptr, nullptr };
    if (lag > 0 && slab > 0 && last == slab - 1)
    {
      const Passage & before = passages[(started - 1) % inFlight];
      passage.before = before.slab;
      passage.placeBefore = before.place;
    }
    last = slab;
    ++started;
    return passage;
  };
  const auto finish = [&] {
    ++finished;
    hand.Finish();
    if (m_Request.progress)
    {
      m_Request.progress(static_cast<float>(finished) / static_cast<float>(m_Plan.slabs.size()));
    }
  };
  while (!hand.IsStopped())
  {
    const auto onTheirWay = started - finished;
    const auto slab = hand.Next(onTheirWay == 0);
    if (slab == noSlab && onTheirWay == 0)
    {
      break;
    }
    const bool ends = onTheirWay > 0 && (slab == noSlab || onTheirWay == lag);
    const auto outgoing = ends ? passages[finished % inFlight] : none;
    const auto incoming = slab == noSlab ? none : take(slab);
    if (ends)
    {
      Finish(outgoing);
    }
    CopyThroughHost(incoming, outgoing);
    if (incoming.slab != nullptr)
    {
      Enqueue(incoming);
    }
    if (ends)
    {
      finish();
    }
    if (lag == 0)
    {
      Finish(incoming);
      CopyThroughHost(none, incoming);
      finish();
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  m_Report.transferSeconds = std::max(0.0, seconds - m_Report.kernelSeconds);
}

} // namespace cudamedian
