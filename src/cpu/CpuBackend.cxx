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
#include "CpuBackend.h"

#include "KeyedImage.h"
#include "LaneInterpreter.h"
#include "RankBlockRunner.h"
#include "RankSelection.h"
#include "RowPhases.h"
#include "RowPrograms.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <exception>
#include <mutex>
#include <new>

namespace cudamedian
{
namespace
{

/** One row of tiles: all tiles along axis 0 at a tile position of the other axes. */
Extent
GetTileRowOrigin(const PixelBox & output, const Extent & tile, std::size_t index)
{
  Extent origin = output.origin;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const auto tiles = static_cast<std::size_t>((output.extent[axis] + tile[axis] - 1) / tile[axis]);
    origin[axis] += static_cast<std::int64_t>(index % tiles) * tile[axis];
    index /= tiles;
  }
  return origin;
}

std::size_t
CountTileRows(const PixelBox & output, const Extent & tile)
{
  std::size_t rows = 1;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    rows *= static_cast<std::size_t>((output.extent[axis] + tile[axis] - 1) / tile[axis]);
  }
  return rows;
}

/** Memory that starts at a cache line, so that no vector lies across two. */
template <typename TValue>
struct CacheLineAllocator
{
  using value_type = TValue;
  static constexpr std::align_val_t alignment{ 64 };

  CacheLineAllocator() = default;
  template <typename TOther>
  CacheLineAllocator(const CacheLineAllocator<TOther> &)
  {}
  TValue *
  allocate(std::size_t count)
  {
    return static_cast<TValue *>(::operator new(count * sizeof(TValue), alignment));
  }
  void
  deallocate(TValue * values, std::size_t)
  {
    ::operator delete(values, alignment);
  }
  friend bool
  operator==(const CacheLineAllocator &, const CacheLineAllocator &)
  {
    return true;
  }
  friend bool
  operator!=(const CacheLineAllocator &, const CacheLineAllocator &)
  {
    return false;
  }
};

template <typename TValue>
using AlignedVector = std::vector<TValue, CacheLineAllocator<TValue>>;

/** Runs a tile program along a row of tiles. One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class TileRowRunner
{
public:
  TileRowRunner(const MedianRequest & request, const Plan & plan)
    : m_Image(request), m_Extent(request.inputExtent), m_Radius(request.radius), m_Output(plan.slabs.front().output),
      m_Schedule(plan.compiled->schedule), m_Tile(plan.compiled->program.GetTile()),
      m_Footprint(plan.compiled->program.GetFootprint())
  {
    m_Program = FindRowProgram(request.radius, m_Tile);
    // Short rows need no more lanes than they have tiles; a lane count is a whole number of 64-byte vectors.
    constexpr std::int64_t step = rowPhaseBytes / static_cast<std::int64_t>(sizeof(TKey));
    const std::int64_t     most =
      (m_Program == nullptr ? InterpretedBytes : CompiledBytes) / static_cast<std::int64_t>(sizeof(TKey));
    const auto tiles = (m_Output.extent[0] + m_Tile[0] - 1) / m_Tile[0];
    m_Lanes = std::min(most, (tiles + step - 1) / step * step);

    // The rows of the footprint, each as tile[0] phases: phase p holds pixels p, p + tile[0], p + 2 tile[0], ...
    m_PhaseLength = (m_Lanes + (m_Footprint[0] - 1) / m_Tile[0] + step - 1) / step * step;
    const auto rows = m_Footprint[1] * m_Footprint[2] * m_Footprint[3];
    m_Phases.resize(static_cast<std::size_t>(rows * m_Tile[0] * m_PhaseLength));
    const std::int64_t slots =
      m_Program == nullptr ? m_Schedule.numberOfSlots : static_cast<std::int64_t>(m_Schedule.outputs.size());
    m_Slots.resize(static_cast<std::size_t>(slots * m_Lanes));
    m_Linear.resize(static_cast<std::size_t>(m_Tile[0] * m_PhaseLength));
    for (std::int64_t row = 0; row < rows; ++row)
    {
      for (std::int64_t x = 0; x < m_Footprint[0]; ++x)
      {
        m_Operands.push_back(GetPhase(row, x % m_Tile[0]) + x / m_Tile[0]);
      }
    }
    for (std::int64_t slot = 0; slot < slots; ++slot)
    {
      m_Operands.push_back(m_Slots.data() + slot * m_Lanes);
    }
    for (std::size_t output = 0; output < m_Schedule.outputs.size(); ++output)
    {
      m_Results.push_back(
        m_Operands[m_Program == nullptr ? m_Schedule.outputs[output] : m_Schedule.numberOfInputs + output]);
    }
  }

  static std::size_t
  CountRows(const Plan & plan)
  {
    return CountTileRows(plan.slabs.front().output, plan.compiled->program.GetTile());
  }

  /** Steps of about a nanosecond or less: vectors of keys that are compared. */
  static double
  CountWork(const Plan & plan, const MedianRequest &)
  {
    const auto & program = plan.compiled->program;
    return static_cast<double>(Volume(plan.slabs.front().output.extent)) *
           (10 +
            static_cast<double>(program.GetInstructions().size()) / static_cast<double>(Volume(program.GetTile()))) *
           sizeof(TKey) / 16;
  }

  void
  Run(std::size_t tileRow)
  {
    auto       origin = GetTileRowOrigin(m_Output, m_Tile, tileRow);
    const auto end = m_Output.origin[0] + m_Output.extent[0];
    for (; origin[0] < end; origin[0] += m_Lanes * m_Tile[0])
    {
      LoadFootprint(origin);
      if (m_Program != nullptr)
      {
        RunRowProgram(*m_Program, m_Operands.data(), m_Results.data(), static_cast<std::size_t>(m_Lanes));
      }
      else
      {
        InterpretLanes(m_Schedule, m_Operands.data(), static_cast<std::size_t>(m_Lanes));
      }
      StoreTile(origin, std::min(end - origin[0], m_Lanes * m_Tile[0]));
    }
  }

private:
  /** Bytes of one slot of the interpreter: 224 slots, the most of any program here, then stay within a second-level
   * cache. */
  static constexpr std::int64_t InterpretedBytes = 512;
  /** Bytes of one phase of a footprint's row for compiled programs, which keep their values in registers. */
  static constexpr std::int64_t CompiledBytes = 1024;

  TKey *
  GetPhase(std::int64_t row, std::int64_t phase)
  {
    return m_Phases.data() + (row * m_Tile[0] + phase) * m_PhaseLength;
  }

  static std::int64_t
  Clamp(std::int64_t position, std::int64_t extent)
  {
    return std::min(std::max<std::int64_t>(position, 0), extent - 1);
  }

  void
  LoadFootprint(const Extent & origin)
  {
    std::int64_t row = 0;
    for (std::int64_t w = 0; w < m_Footprint[3]; ++w)
    {
      for (std::int64_t z = 0; z < m_Footprint[2]; ++z)
      {
        for (std::int64_t y = 0; y < m_Footprint[1]; ++y, ++row)
        {
          LoadLinear(m_Image.GetRow(Clamp(origin[1] - m_Radius[1] + y, m_Extent[1]),
                                    Clamp(origin[2] - m_Radius[2] + z, m_Extent[2]),
                                    Clamp(origin[3] - m_Radius[3] + w, m_Extent[3])),
                     origin[0] - m_Radius[0]);
          SplitIntoPhases(m_Linear.data(),
                          GetPhase(row, 0),
                          static_cast<std::size_t>(m_Tile[0]),
                          static_cast<std::size_t>(m_PhaseLength));
        }
      }
    }
  }

  /** The keys of a row from position `first` on, clamped at both ends. */
  void
  LoadLinear(const TKey * pixels, std::int64_t first)
  {
    const auto count = static_cast<std::int64_t>(m_Linear.size());
    const auto extent = m_Extent[0];
    const auto inside = std::min(std::max<std::int64_t>(-first, 0), count);
    const auto outside = std::max(inside, std::min(extent - first, count));
    std::fill_n(m_Linear.begin(), inside, m_Image.ToKey(pixels[0]));
    m_Image.ToKeys(pixels + first + inside, m_Linear.data() + inside, outside - inside);
    std::fill(m_Linear.begin() + outside, m_Linear.end(), m_Image.ToKey(pixels[extent - 1]));
  }

  void
  StoreTile(const Extent & origin, std::int64_t count)
  {
    std::size_t output = 0;
    Extent      o;
    for (o[3] = 0; o[3] < m_Tile[3]; ++o[3])
    {
      for (o[2] = 0; o[2] < m_Tile[2]; ++o[2])
      {
        for (o[1] = 0; o[1] < m_Tile[1]; ++o[1], output += static_cast<std::size_t>(m_Tile[0]))
        {
          Extent position = origin;
          bool   inside = true;
          for (int axis = 1; axis < Dimension; ++axis)
          {
            position[axis] += o[axis];
            inside = inside && position[axis] < m_Output.origin[axis] + m_Output.extent[axis];
          }
          if (inside)
          {
            JoinPhases<TKey>(m_Results.data() + output,
                             m_Linear.data(),
                             static_cast<std::size_t>(m_Tile[0]),
                             static_cast<std::size_t>(m_Lanes));
            m_Image.ToBits(m_Linear.data(), count);
            m_Image.StoreRow(position, m_Linear.data(), count);
          }
        }
      }
    }
  }

  KeyedImage<TKey, VMapping> m_Image;
  Extent                     m_Extent;
  Extent                     m_Radius;
  PixelBox                   m_Output;
  const ProgramSchedule &    m_Schedule;
  Extent                     m_Tile;
  Extent                     m_Footprint;
  std::int64_t               m_Lanes;
  std::int64_t               m_PhaseLength;
  AlignedVector<TKey>        m_Phases;
  AlignedVector<TKey>        m_Slots;
  std::vector<TKey>          m_Linear;
  const RowProgram *         m_Program{ nullptr };
  std::vector<TKey *>        m_Operands;
  std::vector<TKey *>        m_Results; ///< where each pixel of the tile ends up
};

/** Selects each median of a row on its own. One object per work unit. */
template <typename TKey, KeyMapping VMapping>
class SelectionRowRunner
{
public:
  SelectionRowRunner(const MedianRequest & request, const Plan & plan)
    : m_Image(request), m_Extent(request.inputExtent), m_Radius(request.radius), m_Output(plan.slabs.front().output),
      m_Row(static_cast<std::size_t>(m_Output.extent[0]))
  {
    for (const auto radius : m_Radius)
    {
      m_WindowVolume *= 2 * radius + 1;
    }
  }

  static std::size_t
  CountRows(const Plan & plan)
  {
    return CountTileRows(plan.slabs.front().output, { { 1, 1, 1, 1 } });
  }

  /** Steps of about a nanosecond: pixels of windows. */
  static double
  CountWork(const Plan & plan, const MedianRequest & request)
  {
    double work = static_cast<double>(Volume(plan.slabs.front().output.extent));
    for (const auto radius : request.radius)
    {
      work *= static_cast<double>(2 * radius + 1);
    }
    return work;
  }

  void
  Run(std::size_t row)
  {
    const auto origin = GetTileRowOrigin(m_Output, { { 1, 1, 1, 1 } }, row);
    auto       center = origin;
    for (auto & result : m_Row)
    {
      result = m_Image.ToBits(Select(ClampedWindow(center.data(), m_Radius.data(), m_Extent.data())));
      ++center[0];
    }
    m_Image.StoreRow(origin, m_Row.data(), m_Output.extent[0]);
  }

private:
  TKey
  Select(const ClampedWindow & window)
  {
    std::int64_t inside = 1;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      inside *= window.last[axis] - window.first[axis] + 1;
    }
    // Counting reads the inside once per bit of the key and needs no memory; listing repeats the clamped pixels.
    if (m_WindowVolume > 8 * static_cast<std::int64_t>(sizeof(TKey)) * inside)
    {
      return SelectByCounting<TKey>(
        window, m_WindowVolume / 2, [this](std::int64_t x, std::int64_t y, std::int64_t z, std::int64_t w) {
          return m_Image.ToKey(m_Image.GetRow(y, z, w)[x]);
        });
    }
    m_Keys.resize(static_cast<std::size_t>(m_WindowVolume));
    TKey * next = m_Keys.data();
    ForEachClamped(window, 3, [&](std::int64_t w) {
      ForEachClamped(window, 2, [&](std::int64_t z) {
        ForEachClamped(window, 1, [&](std::int64_t y) { next = ListRow(window, m_Image.GetRow(y, z, w), next); });
      });
    });
    const auto median = m_Keys.begin() + m_WindowVolume / 2;
    std::nth_element(m_Keys.begin(), median, m_Keys.end());
    return *median;
  }

  /** Appends the keys of one row of the window. */
  TKey *
  ListRow(const ClampedWindow & window, const TKey * row, TKey * next) const
  {
    next = std::fill_n(next, window.before[0], m_Image.ToKey(row[window.first[0]]));
    for (auto x = window.first[0]; x <= window.last[0]; ++x)
    {
      *next++ = m_Image.ToKey(row[x]);
    }
    return std::fill_n(next, window.after[0], m_Image.ToKey(row[window.last[0]]));
  }

  template <typename TBody>
  static void
  ForEachClamped(const ClampedWindow & window, int axis, const TBody & body)
  {
    for (auto position = window.first[axis] - window.before[axis]; position <= window.last[axis] + window.after[axis];
         ++position)
    {
      body(std::min(std::max(position, window.first[axis]), window.last[axis]));
    }
  }

  KeyedImage<TKey, VMapping> m_Image;
  Extent                     m_Extent;
  Extent                     m_Radius;
  PixelBox                   m_Output;
  std::int64_t               m_WindowVolume{ 1 };
  std::vector<TKey>          m_Row;
  std::vector<TKey>          m_Keys;
};

/** Deals rows to work units batch by batch; between batches, and from the calling thread, reports progress. */
template <typename TRunner>
void
RunRows(const MedianRequest & request, const Plan & plan)
{
  // A batch ends with all work units waiting for each other, so a short run has few.
  const auto        rows = TRunner::CountRows(plan);
  const std::size_t units = std::max(1U, request.workUnits);
  const auto        work = TRunner::CountWork(plan, request) / static_cast<double>(units);
  const auto        batches = static_cast<std::size_t>(std::min(20.0, 4 + work / 1e8));
  const auto        batchRows = std::max((rows + batches - 1) / batches, std::min(rows, 4 * units));

  std::vector<std::unique_ptr<TRunner>> runners(units);
  std::exception_ptr                    failure;
  std::mutex                            failureMutex;
  for (std::size_t first = 0; first < rows; first += batchRows)
  {
    std::atomic<std::size_t> next{ first };
    const auto               last = std::min(rows, first + batchRows);
    const auto               body = [&](std::size_t unit) {
      try
      {
        if (!runners[unit])
        {
          runners[unit] = std::make_unique<TRunner>(request, plan);
        }
        for (auto row = next++; row < last; row = next++)
        {
          runners[unit]->Run(row);
        }
      }
      catch (...)
      {
        const std::lock_guard<std::mutex> lock(failureMutex);
        failure = failure ? failure : std::current_exception();
      }
    };
    if (units > 1 && request.parallelFor)
    {
      request.parallelFor(units, body);
    }
    else
    {
      body(0);
    }
    if (failure)
    {
      std::rethrow_exception(failure);
    }
    if (request.progress)
    {
      request.progress(static_cast<float>(last) / static_cast<float>(rows));
    }
  }
}

template <typename TKey, KeyMapping VMapping>
void
RunKeyed(const MedianRequest & request, const Plan & plan)
{
  if (plan.algorithm == Algorithm::TileProgram)
  {
    RunRows<TileRowRunner<TKey, VMapping>>(request, plan);
  }
  else if (plan.algorithm == Algorithm::LocalRank)
  {
    RunRows<RankBlockRunner<TKey, VMapping>>(request, plan);
  }
  else
  {
    RunRows<SelectionRowRunner<TKey, VMapping>>(request, plan);
  }
}

} // namespace

void
RunOnCpu(const MedianRequest & request, const Plan & plan, ExecutionReport & report)
{
  const auto start = std::chrono::steady_clock::now();
  const bool isFloat = GetKeyMapping(request.pixelType) == KeyMapping::Float;
  switch (PixelBytes(request.pixelType))
  {
    case 1:
      RunKeyed<std::uint8_t, KeyMapping::Integer>(request, plan);
      break;
    case 2:
      RunKeyed<std::uint16_t, KeyMapping::Integer>(request, plan);
      break;
    case 4:
      isFloat ? RunKeyed<std::uint32_t, KeyMapping::Float>(request, plan)
              : RunKeyed<std::uint32_t, KeyMapping::Integer>(request, plan);
      break;
    default:
      isFloat ? RunKeyed<std::uint64_t, KeyMapping::Float>(request, plan)
              : RunKeyed<std::uint64_t, KeyMapping::Integer>(request, plan);
      break;
  }
  const auto * program = plan.compiled ? FindRowProgram(request.radius, plan.compiled->program.GetTile()) : nullptr;
  if (plan.algorithm == Algorithm::TileProgram)
  {
    report.algorithm +=
      program == nullptr ? ", interpreted" : std::string(", compiled ahead for ") + program->getInstructionSet();
  }
  report.device = "host";
  report.workUnits = std::max(1U, request.workUnits);
  report.kernelSeconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace cudamedian
