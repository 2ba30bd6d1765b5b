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
#include "UploadedRun.h"

#include "BorrowedContext.h"
#include "CudaError.h"
#include "CurrentDevice.h"
#include "DeviceQuery.h"
#include "DivideUp.h"
#include "Gather.h"
#include "RequestWindow.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace cudamedian
{
namespace
{

/** Calls body(position) with the first position of each row of a box. */
template <typename TBody>
void
ForEachRowOf(const PixelBox & box, const TBody & body)
{
  const auto rows = box.extent[1] * box.extent[2] * box.extent[3];
  for (std::int64_t row = 0; row < rows; ++row)
  {
    body(GetRowOfBox(box, row));
  }
}

/** How far a position of the image lies behind a box's first one, in pixels. */
std::int64_t
GetPlaceInBox(const Extent & position, const PixelBox & box, const Extent & stride)
{
  Extent place;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] = position[axis] - box.origin[axis];
  }
  return GetOffset(place, stride);
}

/** A box on its way: its images lie in a place of a context. The mask follows the image. */
struct BoxOnItsWay
{
  UploadedBox            box;
  MedianRequest          request; ///< of the box's images in device memory
  DeviceContext::Place * place;
  std::size_t            imageBytes;
  std::size_t            maskFirst; ///< bytes before the mask
  std::size_t            maskBytes;
};

class UploadedRun
{
public:
  UploadedRun(const MedianRequest &            request,
              const std::vector<UploadedBox> & boxes,
              const RequestMaker &             make,
              const DeviceImageRunner &        run)
    : m_Request(request)
    , m_Boxes(boxes)
    , m_Make(make)
    , m_Run(run)
    , m_Devices(ResolveDevices(request.devices))
    , m_PixelBytes(PixelBytes(request.pixelType))
    , m_Total(static_cast<double>(Volume(request.outputExtent)))
  {}

  ExecutionReport
  Run()
  {
    m_Workers = std::max<std::size_t>(
      1,
      std::min(
        { m_Boxes.size(), static_cast<std::size_t>(m_Request.workUnits), mostUploadingThreads * m_Devices.size() }));
    if (m_Workers == 1 || !m_Request.parallelFor)
    {
      Work(0);
    }
    else
    {
      m_Request.parallelFor(m_Workers, [this](std::size_t worker) { WorkOrStop(worker); });
    }
    if (m_Failure)
    {
      std::rethrow_exception(m_Failure);
    }
    m_Report.numberOfSlabs = m_Boxes.size();
    m_Report.slabReason = std::to_string(m_Boxes.size()) + " boxes of the image" +
                          (m_Request.validity.mask != nullptr ? " and of its mask" : "") + " are uploaded; " +
                          m_Report.slabReason;
    if (m_Request.progress)
    {
      m_Request.progress(1.0F);
    }
    return m_Report;
  }

private:
  void
  WorkOrStop(std::size_t worker)
  {
    try
    {
      Work(worker);
    }
    catch (...)
    {
      m_IsStopped = true;
      const std::lock_guard<std::mutex> lock(m_Mutex);
      m_Failure = m_Failure ? m_Failure : std::current_exception();
    }
  }

  /** Takes boxes until there is none left, two of them under way at a time. */
  void
  Work(std::size_t worker)
  {
    const int                  device = m_Devices[worker % m_Devices.size()];
    BorrowedContext            context(device);
    const DeviceScope          scope(device);
    std::optional<BoxOnItsWay> before;
    std::size_t                turn = 0;
    if (m_Request.hostMemoryBudget != 0 && context->GetPinnedBytes() > m_Request.hostMemoryBudget / m_Workers)
    {
      // An earlier request left too much for this budget.
      CheckCuda(context->ReleaseStaging(), "cudaFreeHost");
    }
    for (auto next = m_Next++; next < m_Boxes.size() && !m_IsStopped; next = m_Next++)
    {
      auto box = Begin(m_Boxes[next], *context, turn++ % 2);
      if (before)
      {
        Finish(*before);
      }
      before = std::move(box);
    }
    if (before && !m_IsStopped)
    {
      Finish(*before);
    }
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Report.pinnedBytes += context->GetPinnedBytes();
    m_Report.deviceBytes += context->GetDeviceBytes();
  }

  /** Uploads a box, and has it filtered and downloaded. */
  BoxOnItsWay
  Begin(const UploadedBox & box, DeviceContext & context, std::size_t turn)
  {
    constexpr std::size_t alignment = 256;
    auto &                place = context.places[turn];
    BoxOnItsWay           way{ box, m_Make(m_Request, box), &place, 0, 0, 0 };
    const auto            pixels = static_cast<std::size_t>(way.request.inputStride[3] * way.request.inputExtent[3]);
    way.imageBytes = pixels * m_PixelBytes;
    way.maskFirst = RoundUp(way.imageBytes, alignment);
    way.maskBytes = m_Request.validity.mask != nullptr ? pixels * m_Request.validity.maskPixelBytes : 0;
    Reserve(way, context);
    StageBox(way);
    const auto * mask = static_cast<const char *>(place.input.Get()) + way.maskFirst;
    way.request.input = place.input.Get();
    way.request.output = place.output.Get();
    way.request.validity.mask = way.maskBytes > 0 ? mask : nullptr;
    CheckCuda(cudaMemcpyAsync(place.input.Get(),
                              place.stagedInput.Get(),
                              way.maskFirst + way.maskBytes,
                              cudaMemcpyHostToDevice,
                              context.upload),
              "cudaMemcpyAsync");
    CheckCuda(cudaEventRecord(place.uploaded, context.upload), "cudaEventRecord");
    CheckCuda(cudaStreamWaitEvent(context.compute, place.uploaded, 0), "cudaStreamWaitEvent");
    CheckCuda(cudaEventRecord(place.started, context.compute), "cudaEventRecord");
    const auto report = m_Run(way.request, context.compute);
    CheckCuda(cudaEventRecord(place.filtered, context.compute), "cudaEventRecord");
    CheckCuda(cudaStreamWaitEvent(context.download, place.filtered, 0), "cudaStreamWaitEvent");
    const auto first = GetFirstByte(way, box.outputs.origin);
    CheckCuda(cudaMemcpyAsync(static_cast<char *>(place.stagedOutput.Get()) + first,
                              static_cast<const char *>(place.output.Get()) + first,
                              GetEndByte(way) - first,
                              cudaMemcpyDeviceToHost,
                              context.download),
              "cudaMemcpyAsync");
    CheckCuda(cudaEventRecord(place.downloaded, context.download), "cudaEventRecord");
    AddReport(report);
    return way;
  }

  /** Makes room for a box. What is under way in the place's buffers has ended. \throws DeviceError */
  static void
  Reserve(const BoxOnItsWay & way, DeviceContext & context)
  {
    auto &     place = *way.place;
    const auto input = way.maskFirst + way.maskBytes;
    const auto reserve = [&context](CachedBuffer & buffer, std::size_t bytes) {
      if (!context.ReservePixels(buffer, bytes))
      {
        throw DeviceError("Allocating " + std::to_string(bytes) + " bytes of device memory, which a box of the image " +
                          "needs, failed");
      }
    };
    const auto reserveStaging = [](CachedBuffer & buffer, std::size_t bytes) {
      if (!buffer.Reserve(bytes) && !buffer.ReserveOrdinary(bytes))
      {
        throw DeviceError("Allocating " + std::to_string(bytes) + " bytes of the host's memory, pinned or not, failed");
      }
    };
    reserve(place.input, input);
    reserve(place.output, way.imageBytes);
    reserveStaging(place.stagedInput, input);
    reserveStaging(place.stagedOutput, way.imageBytes);
  }

  void
  StageBox(const BoxOnItsWay & way) const
  {
    auto * const staged = static_cast<char *>(way.place->stagedInput.Get());
    StageRows(way, m_Request.input, GetInputStride(m_Request), m_PixelBytes, staged);
    if (way.maskBytes > 0)
    {
      StageRows(way,
                m_Request.validity.mask,
                GetMaskStride(m_Request),
                m_Request.validity.maskPixelBytes,
                staged + way.maskFirst);
    }
  }

  static void
  StageRows(const BoxOnItsWay & way, const void * image, const Extent & stride, std::size_t pixelBytes, char * staged)
  {
    const auto & input = way.box.input;
    const auto   bytes = static_cast<std::int64_t>(pixelBytes);
    const auto   width = static_cast<std::size_t>(input.extent[0]) * pixelBytes;
    ForEachRowOf(input, [&](const Extent & position) {
      std::memcpy(staged + GetPlaceInBox(position, input, way.request.inputStride) * bytes,
                  static_cast<const char *>(image) + GetOffset(position, stride) * bytes,
                  width);
    });
  }

  /** Where a position's output lies behind the first one of a box. */
  std::size_t
  GetFirstByte(const BoxOnItsWay & way, const Extent & position) const
  {
    return static_cast<std::size_t>(GetPlaceInBox(position, way.box.input, way.request.outputStride)) * m_PixelBytes;
  }

  /** Where what is downloaded of a box ends. */
  std::size_t
  GetEndByte(const BoxOnItsWay & way) const
  {
    auto last = way.box.outputs.origin;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      last[axis] += way.box.outputs.extent[axis] - 1;
    }
    return GetFirstByte(way, last) + m_PixelBytes;
  }

  /** Waits for a box, and brings its outputs to their places. */
  void
  Finish(const BoxOnItsWay & way)
  {
    CheckCuda(cudaEventSynchronize(way.place->downloaded), "cudaEventSynchronize");
    float milliseconds = 0;
    CheckCuda(cudaEventElapsedTime(&milliseconds, way.place->started, way.place->filtered), "cudaEventElapsedTime");
    const auto &   outputs = way.box.outputs;
    const auto     width = outputs.extent[0];
    const auto *   staged = static_cast<const char *>(way.place->stagedOutput.Get());
    const Extent & origin = m_Request.outputOrigin;
    ForEachRowOf(outputs, [&](const Extent & position) {
      const auto * source = staged + GetFirstByte(way, position);
      auto *       target =
        static_cast<char *>(m_Request.output) + GetPlaceInBox(position, { origin, {} }, m_Request.outputStride) *
                                                  static_cast<std::int64_t>(m_Request.outputPixelBytes);
      if (m_Request.convertRow != nullptr)
      {
        m_Request.convertRow(source, target, static_cast<std::size_t>(width));
      }
      else
      {
        std::memcpy(target, source, static_cast<std::size_t>(width) * m_PixelBytes);
      }
    });
    double done = 0;
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      m_Report.kernelSeconds += static_cast<double>(milliseconds) * 1e-3;
      m_Done += static_cast<double>(Volume(outputs.extent)) / m_Total;
      done = m_Done;
    }
    if (m_Request.progress && std::this_thread::get_id() == m_Caller && done < 1)
    {
      m_Request.progress(static_cast<float>(done));
    }
  }

  /** Keeps the report of the first box, and what others need more of. */
  void
  AddReport(const ExecutionReport & report)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (!m_HasReport)
    {
      const auto kept = std::exchange(m_Report, report);
      m_Report.kernelSeconds = kept.kernelSeconds;
      m_Report.pinnedBytes = kept.pinnedBytes;
      m_Report.deviceBytes += kept.deviceBytes;
      m_HasReport = true;
    }
    m_Report.compiling = m_Report.compiling.empty() ? report.compiling : m_Report.compiling;
  }

  const MedianRequest &            m_Request;
  const std::vector<UploadedBox> & m_Boxes;
  const RequestMaker &             m_Make;
  const DeviceImageRunner &        m_Run;
  std::vector<int>                 m_Devices;
  std::size_t                      m_PixelBytes;
  std::size_t                      m_Workers{ 1 };
  double                           m_Total;
  std::thread::id                  m_Caller{ std::this_thread::get_id() };
  std::atomic<std::size_t>         m_Next{ 0 };
  std::atomic<bool>                m_IsStopped{ false };
  std::mutex                       m_Mutex;
  std::exception_ptr               m_Failure;
  ExecutionReport                  m_Report;
  bool                             m_HasReport{ false };
  double                           m_Done{ 0 };
};

} // namespace

ExecutionReport
RunUploadedBoxes(const MedianRequest &            request,
                 const std::vector<UploadedBox> & boxes,
                 const RequestMaker &             make,
                 const DeviceImageRunner &        run)
{
  return UploadedRun(request, boxes, make, run).Run();
}

} // namespace cudamedian
