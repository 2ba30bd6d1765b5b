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
#include "GatheredRun.h"

#include "Gather.h"
#include "GatheredCopies.h"
#include "HalfFloat.h"
#include "LentMemory.h"
#include "MaskedCopy.h"
#include "MiddleValues.h"
#include "RequestWindow.h"
#include "ValidPixels.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace cudamedian
{
namespace
{

using Runner = std::function<ExecutionReport(const MedianRequest &)>;

/** Whether the lower one of two middle values is wanted, which is no default of the algorithms. */
bool
IsLowerOfEven(const MedianRequest & request)
{
  return request.evenMedian == EvenMedian::Lower && GetWindow(request).CountPixels() % 2 == 0;
}

/** Ends the work of a thread where another one's failed; never the failure of a run. */
class Stopped : public std::exception
{};

/** Runs a request part by part. */
class PartedRun
{
public:
  PartedRun(const MedianRequest & request, const Runner & run)
    : m_Request(request)
    , m_Run(run)
    , m_PixelBytes(PixelBytes(request.pixelType))
  {}

  ExecutionReport
  Run()
  {
    const PixelBox whole{ m_Request.outputOrigin, m_Request.outputExtent };
    const auto     parts = CutBetweenEnds(m_Request, whole);
    if (m_Request.backend != Backend::Cpu && !HasRules(m_Request) &&
        std::all_of(parts.begin(), parts.end(), [this](const PixelBox & part) {
          return FindSingleFill(TakeOutputs(m_Request, part)).has_value();
        }))
    {
      return RunParts(parts);
    }
    const auto interior = GetInterior(m_Request);
    m_Total = static_cast<double>(Volume(whole.extent));
    // Of a small interior the bands around it take longer than one copy of all.
    const bool isMean = m_Request.evenMedian == EvenMedian::Mean && GetWindow(m_Request).CountPixels() % 2 == 0;
    const bool hasInterior = IsPlain(m_Request) && !isMean && !HasRules(m_Request) &&
                             4 * static_cast<double>(Volume(interior.extent)) >= 3 * m_Total;
    if (!hasInterior)
    {
      m_Copies = CutIntoCopies(m_Request, whole);
    }
    else
    {
      RunInterior(interior);
      m_Copies = CutRimIntoCopies(m_Request, whole, interior);
    }
    RunCopies();
    m_Report.slabReason += std::string(m_Report.slabReason.empty() ? "" : "; ") +
                           (hasInterior ? "the image's rim" : "the image") + " is copied with its border (" +
                           std::to_string(m_Copies.size()) + " copies)";
    if (m_Request.progress)
    {
      m_Request.progress(1.0F);
    }
    return m_Report;
  }

private:
  /** Outputs whose windows are clipped with one fill: uploads have it beyond the image. */
  ExecutionReport
  RunParts(const std::vector<PixelBox> & parts)
  {
    m_Total = static_cast<double>(Volume(m_Request.outputExtent));
    for (const auto & part : parts)
    {
      RunPart(TakeOutputs(m_Request, part), static_cast<double>(Volume(part.extent)) / m_Total);
    }
    m_Report.slabReason += std::string(m_Report.slabReason.empty() ? "" : "; ") + "windows are clipped in " +
                           std::to_string(parts.size()) + " parts of the image";
    if (m_Request.progress)
    {
      m_Request.progress(1.0F);
    }
    return m_Report;
  }

  /** Outputs whose windows see no border. */
  void
  RunInterior(const PixelBox & box)
  {
    auto request = TakeOutputs(m_Request, box);
    request.border = {};
    request.rank = IsLowerOfEven(request) ? GetWindow(request).rank - 1 : request.rank;
    request.evenMedian = EvenMedian::Upper;
    request.inputStride = {};
    RunPart(request, static_cast<double>(Volume(box.extent)) / m_Total);
  }

  /** Runs all copies: on the CPU, and where pixels may not be valid, each by one of the threads, else one after the
   * other by all of them. */
  void
  RunCopies()
  {
    const bool isOnCpu = m_Request.backend == Backend::Cpu;
    const bool isShared = isOnCpu || HasRules(m_Request);
    const auto preparing = static_cast<unsigned int>(std::min<std::size_t>(m_Copies.size(), mostPreparingThreads));
    const auto units = std::max(1U, isOnCpu ? m_Request.workUnits : std::min(m_Request.workUnits, preparing));
    if (!isShared || units == 1 || !m_Request.parallelFor || m_Copies.size() < units)
    {
      const LentMemory memory;
      std::for_each(m_Copies.begin(), m_Copies.end(), [&](const GatheredCopy & copy) {
        RunCopy(copy.request, copy.outputs, *memory);
      });
      return;
    }
    for (auto & copy : m_Copies)
    {
      copy.request.workUnits = 1;
      copy.request.parallelFor = nullptr;
    }
    std::atomic<std::size_t> next{ 0 };
    std::exception_ptr       failure;
    std::mutex               mutex;
    m_Request.parallelFor(units, [&](std::size_t) {
      try
      {
        const LentMemory memory;
        for (auto copy = next++; copy < m_Copies.size() && !m_IsStopped; copy = next++)
        {
          RunCopy(m_Copies[copy].request, m_Copies[copy].outputs, *memory);
        }
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = failure ? failure : std::current_exception();
        m_IsStopped = true; // after the first failure: what others end with is none
      }
    });
    if (failure)
    {
      std::rethrow_exception(failure);
    }
  }

  void
  RunCopy(const MedianRequest & request, const PixelBox & outputs, MaskedCopy::Memory & memory)
  {
    if (HasRules(request))
    {
      const double all = static_cast<double>(Volume(outputs.extent)) / m_Total;
      MaskedCopy   copy(
        request,
        outputs,
        [this, all](const MedianRequest & part, double share) { RunPart(part, share * all); },
        [this, all](double share) { Advance(share * all); },
        memory);
      if (const auto * result = copy.Find())
      {
        Scatter(request, outputs, *result);
      }
      return;
    }
    Scatter(request, outputs, FindOfAll(request, outputs));
  }

  static void
  Scatter(const MedianRequest & request, const PixelBox & outputs, const Pixels & result)
  {
    const Gatherer gatherer(request);
    ForRows(request, outputs, [&](std::int64_t first, std::int64_t last) {
      gatherer.ScatterRows(outputs, first, last, result.data());
    });
  }

  Pixels
  FindOfAll(const MedianRequest & request, const PixelBox & outputs)
  {
    const auto   part = TakeOutputs(request, outputs);
    const auto   recipe = GetRecipe(part);
    const double runs =
      static_cast<double>(recipe.upper.fills.size() + (recipe.isMean ? recipe.lower.fills.size() : 0));
    const double share = static_cast<double>(Volume(outputs.extent)) / m_Total / runs;
    auto         result = FindMiddle(part, recipe.upper, share);
    if (recipe.isMean)
    {
      TakeMeans(request.pixelType, result, FindMiddle(part, recipe.lower, share));
    }
    return result;
  }

  Pixels
  FindMiddle(const MedianRequest & request, const Middle & middle, double share)
  {
    Pixels kept;
    for (const auto fill : middle.fills)
    {
      auto found = RunFilled(request, fill, middle.rank, share);
      if (kept.empty())
      {
        kept = std::move(found);
        continue;
      }
      KeepOne(request.pixelType, kept, found, middle.isGreater);
    }
    return kept;
  }

  /** The values of a rank, for outputs without gaps. */
  Pixels
  RunFilled(const MedianRequest & given, ShrinkFill fill, std::int64_t rank, double share)
  {
    const PixelBox outputs{ given.outputOrigin, given.outputExtent };
    const auto     copied = GetInputBox(given, outputs);
    Pixels         input(static_cast<std::size_t>(Volume(copied.extent)) * m_PixelBytes);
    Pixels         output(static_cast<std::size_t>(Volume(outputs.extent)) * m_PixelBytes);
    const Gatherer gatherer(given, fill);
    ForRows(given, copied, [&](std::int64_t first, std::int64_t last) {
      gatherer.GatherRows(copied, first, last, input.data());
    });
    auto request = given;
    request.pixelType = IsHalfFloat(given.pixelType) ? PixelType::Int16 : given.pixelType;
    request.border = {};
    request.shift = {};
    request.inputStride = {};
    request.evenMedian = EvenMedian::Upper;
    request.input = input.data();
    request.inputExtent = copied.extent;
    request.rank = rank;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      request.outputOrigin[axis] = outputs.origin[axis] + given.shift[axis] - copied.origin[axis];
    }
    request.outputExtent = outputs.extent;
    request.output = output.data();
    request.outputStride = GetPackedStride(outputs.extent);
    request.outputPixelBytes = m_PixelBytes;
    request.convertRow = nullptr;
    RunPart(request, share);
    return output;
  }

  /** Runs a request that is a share of all. */
  void
  RunPart(MedianRequest request, double share)
  {
    request.progress = nullptr;
    const bool isCaller = std::this_thread::get_id() == m_Caller;
    if (m_Request.progress && isCaller)
    {
      request.progress = [this, share](float fraction) { Tell(m_Done + share * static_cast<double>(fraction)); };
    }
    auto report = m_Run(request);
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      AddReport(report, share);
    }
    Advance(share);
  }

  /** Adds a share that has been done, and ends the thread's work where another one's failed. */
  void
  Advance(double share)
  {
    if (m_IsStopped)
    {
      throw Stopped();
    }
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      m_Done = std::min(m_Done.load() + share, 1.0);
    }
    if (std::this_thread::get_id() == m_Caller)
    {
      Tell(m_Done);
    }
  }

  /** Tells the caller, in his thread, how far all is. */
  void
  Tell(double done) const
  {
    if (m_Request.progress && done < 1)
    {
      m_Request.progress(static_cast<float>(done));
    }
  }

  void
  AddReport(ExecutionReport & report, double share)
  {
    const bool isLargest = share > m_Largest;
    auto &     kept = isLargest ? report : m_Report;
    auto &     added = isLargest ? m_Report : report;
    kept.numberOfSlabs += added.numberOfSlabs;
    kept.kernelSeconds += added.kernelSeconds;
    kept.transferSeconds += added.transferSeconds;
    kept.deviceBytes = std::max(kept.deviceBytes, added.deviceBytes);
    kept.pinnedBytes = std::max(kept.pinnedBytes, added.pinnedBytes);
    kept.hostScratchBytes = std::max(kept.hostScratchBytes, added.hostScratchBytes);
    if (isLargest)
    {
      m_Largest = share;
      m_Report = std::move(report);
    }
  }

  /** Calls body(first, last) for parts of a box's rows, by all of the request's work units. */
  static void
  ForRows(const MedianRequest &                                   request,
          const PixelBox &                                        box,
          const std::function<void(std::int64_t, std::int64_t)> & body)
  {
    constexpr std::int64_t fewPixels = std::int64_t{ 1 } << 15;
    const auto             rows = box.extent[1] * box.extent[2] * box.extent[3];
    const auto             units = std::max(1U, request.workUnits);
    if (units == 1 || !request.parallelFor || Volume(box.extent) < fewPixels)
    {
      body(0, rows);
      return;
    }
    const auto                parts = std::min<std::int64_t>(rows, 4 * static_cast<std::int64_t>(units));
    std::atomic<std::int64_t> next{ 0 };
    std::exception_ptr        failure;
    std::mutex                mutex;
    request.parallelFor(units, [&](std::size_t) {
      try
      {
        for (auto part = next++; part < parts; part = next++)
        {
          body(rows * part / parts, rows * (part + 1) / parts);
        }
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(mutex);
        failure = std::current_exception();
      }
    });
    if (failure)
    {
      std::rethrow_exception(failure);
    }
  }

  const MedianRequest &     m_Request;
  const Runner &            m_Run;
  std::size_t               m_PixelBytes;
  ExecutionReport           m_Report;
  double                    m_Total{ 1 };
  std::atomic<double>       m_Done{ 0 };
  std::atomic<bool>         m_IsStopped{ false };
  double                    m_Largest{ -1 };
  std::vector<GatheredCopy> m_Copies;
  std::thread::id           m_Caller{ std::this_thread::get_id() };
  std::mutex                m_Mutex;
};

} // namespace

bool
IsGathered(const MedianRequest & request)
{
  const bool isMean = request.evenMedian == EvenMedian::Mean && GetWindow(request).CountPixels() % 2 == 0;
  return HasRules(request) || IsLowerOfEven(request) || !IsPlain(request) || isMean ||
         GetInterior(request).extent != request.outputExtent;
}

bool
IsGatheredForCuda(const MedianRequest & request)
{
  const bool isMean = request.evenMedian == EvenMedian::Mean && GetWindow(request).CountPixels() % 2 == 0;
  return HasRules(request) || IsLowerOfEven(request) || isMean ||
         (HasShrunkBorder(request) && !FindSingleFill(request));
}

ExecutionReport
RunGathered(const MedianRequest & request, const Runner & run)
{
  return PartedRun(request, run).Run();
}

} // namespace cudamedian
