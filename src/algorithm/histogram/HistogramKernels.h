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
#ifndef HistogramKernels_h
#define HistogramKernels_h

#include "ByteHistogramColumns.h"
#include "HistogramRegion.h"

/** Medians, or values of any other rank, of the largest windows by histograms of columns.
 *
 * The threads of a block share a histogram of each column of pixels that its windows touch, in shared memory, or in
 * scratch memory where that has no room for them. A row further down, each column has one row of pixels more and one
 * less (Perreault and Hebert, "Median Filtering in Constant Time", 2007).
 *
 * No window has a histogram. A warp looks for the medians of 32 windows side by side at once, one to a lane, from a
 * bin on that was the median of one before: it counts the pixels of the next four bins in the first of the windows,
 * column by column; what the others have more or less are the columns that enter and leave, summed up across the lanes.
 * It goes up and down from there, 16 bins at a time where no median is among them, until each lane has found its bin.
 * An output costs more the further apart the medians of 32 neighbours are, and grows with 1/32 of a window's columns.
 * Where some are left after a few steps and windows have few columns, the lanes find their groups of 16 bins in the
 * same way, and then each adds up what the columns of its own window have of its group and of four bins.
 *
 * Pixels of 8 bits are bins themselves. Of wider ones a region, the footprint of a tile of outputs, is sorted, and bin
 * b has the pixels from the b-th 256th of the sorted list on, as many as every other bin, whatever the image. Which
 * pixel of its bin a median is, HistogramRuns.h finds.
 *
 * ByteHistogramColumns.h has the histograms, HistogramRegion.h where pixels and outputs lie, and how a region is sorted
 * into bins.
 *
 * Written so that the host can run it. What a warp does is written for all its lanes. A TWarp has
 * - Value<T>: a T for each lane; value[lane] is that of a lane;
 * - ForEachLane(f): f(lane) for each;
 * - Sum, Scan (inclusive sums), Get (one lane's value), Ballot (a bit for each lane): on values of all lanes.
 * What a TMemory has, in which the columns' histograms lie, says ByteHistogramColumns. */
namespace cudamedian
{

/** Everything that a block does, in steps between which it waits for all its threads:
 * FillColumns and FindRow for row 0; for each further row MoveColumns, then FindRow. The first of what enters and
 * leaves the columns is loaded before the row before is done: LoadFirstMoves for row 1, then LoadNextMoves.
 *
 * \tparam VSource what is counted.
 * \tparam VColumnBits of a count of the columns' histograms. \tparam TCounter of what windows have of a bin.
 * \tparam TMemory see ByteHistogramColumns.
 * \tparam VHasMap whether each output has a rank of its own. */
template <BinSource VSource, int VColumnBits, typename TCounter, typename TMemory, bool VHasMap>
class HistogramBlock
{
private:
  static constexpr bool HasRegion = VSource == BinSource::SortedRegion;

  /** Loads that are under way at once. */
  static constexpr int Batch = 8;
  static constexpr int MovesOfBatch = Batch / 2;

public:
  /** Where a warp first looks for medians: in the middle. */
  static constexpr int FirstQuad = histogramBins / 8;

  /** \param block number within the launch. \param columns shape.GetColumnsBytes() of memory, at a multiple of 16
   * bytes. */
  CUDAMEDIAN_HOST_DEVICE
  HistogramBlock(const HistogramArguments & arguments, std::int64_t block, void * columns)
    : m_Arguments(arguments)
    , m_Columns(columns, arguments.shape.GetColumns())
    , m_RegionNumber(HasRegion ? static_cast<int>(block / arguments.shape.CountBlocks()) : 0)
    , m_Region(arguments, arguments.firstRegion + (HasRegion ? m_RegionNumber : block))
    , m_Threads(arguments.shape.GetThreads())
    , m_ColumnCount(arguments.shape.GetColumns())
  {
    const auto & slab = arguments.slab;
    const auto & shape = arguments.shape;
    const auto * axes = shape.axes;
    m_Output = slab.outputOrigin[0] - slab.gridOrigin + m_Region.origin[3] * slab.outputPitch[axes[3]];
    LocateInRegion(static_cast<int>(block - std::int64_t{ m_RegionNumber } * shape.CountBlocks()));
    CUDAMEDIAN_UNROLL
    for (int axis = 0; axis < 3; ++axis)
    {
      const int imageAxis = axes[axis];
      m_Output += (m_Region.origin[axis] + m_First[axis]) * slab.outputPitch[imageAxis];
      if constexpr (HasRegion)
      {
        m_Start[axis] = m_First[axis];
        m_Last[axis] = shape.region[axis] - 1;
        m_Pitch[axis] = axis == 0 ? 1 : m_Pitch[axis - 1] * shape.region[axis - 1];
      }
      else
      {
        m_Start[axis] = m_Region.origin[axis] + slab.outputOrigin[imageAxis] - static_cast<int>(slab.radius[imageAxis]);
        m_Last[axis] = slab.inputExtent[imageAxis] - 1;
        m_Pitch[axis] = slab.inputPitch[imageAxis];
      }
    }
    m_Bins = HasRegion ? arguments.bins + std::int64_t{ m_RegionNumber } * shape.pixels
                       : static_cast<const std::uint8_t *>(slab.input) + m_Region.origin[3] * slab.inputPitch[axes[3]];
    m_FirstSlice = GetOffset(2, 0);
  }

  /** Rows of outputs that the block has, none if it lies beyond the slab. */
  CUDAMEDIAN_HOST_DEVICE int
  GetRows() const
  {
    const int  left = GetOutputsLeft(1);
    const bool inside = GetOutputsLeft(0) > 0 && GetOutputsLeft(2) > 0;
    return !inside || left < 0 ? 0 : left < m_Arguments.shape.rows ? left : m_Arguments.shape.rows;
  }

  /** Counts the pixels of a thread's columns, as row 0 has them. */
  CUDAMEDIAN_HOST_DEVICE void
  FillColumns(int thread) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    for (int column = thread; column < m_ColumnCount; column += m_Threads)
    {
      m_Columns.Clear(column);
      const std::int64_t offset = GetOffset(0, column);
      CUDAMEDIAN_KEEP_LOOP
      for (int z = 0; z < shape.window[2]; ++z)
      {
        std::int64_t at = offset + GetOffset(2, z) + GetOffset(1, 0);
        int          y = 0;
        CUDAMEDIAN_KEEP_LOOP
        for (; y + Batch <= shape.window[1]; y += Batch)
        {
          // Several loads are under way before the first is counted.
          unsigned int bins[Batch];
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Batch; ++i)
          {
            bins[i] = GetBin(at);
            at += GetStep(1, y + i);
          }
          CUDAMEDIAN_UNROLL
          for (int i = 0; i < Batch; ++i)
          {
            m_Columns.Change(column, bins[i], 1);
          }
        }
        CUDAMEDIAN_KEEP_LOOP
        for (; y < shape.window[1]; ++y)
        {
          m_Columns.Change(column, GetBin(at), 1);
          at += GetStep(1, y);
        }
      }
    }
  }

  /** Some of the pixels that leave a thread's columns and enter them when these go a row down. */
  struct Moves
  {
    std::int64_t leavingRow;
    std::int64_t enteringRow;
    unsigned int leaving[MovesOfBatch];
    unsigned int entering[MovesOfBatch];
  };

  /** Loads the first of what moves a thread's columns to row 1, which the block need not have. */
  CUDAMEDIAN_HOST_DEVICE Moves
  LoadFirstMoves(int thread) const
  {
    Moves moves;
    moves.leavingRow = GetOffset(1, 0);
    moves.enteringRow = GetOffset(1, m_Arguments.shape.window[1]);
    LoadBatch(MoveBatch{ thread, 0 }, moves);
    return moves;
  }

  /** Loads the first of what moves a thread's columns to a row, after those of the row before. */
  CUDAMEDIAN_HOST_DEVICE void
  LoadNextMoves(int thread, int row, Moves & moves) const
  {
    moves.leavingRow += GetStep(1, row - 2);
    moves.enteringRow += GetStep(1, row - 2 + m_Arguments.shape.window[1]);
    LoadBatch(MoveBatch{ thread, 0 }, moves);
  }

  /** Moves a thread's columns a row down. \param moves what has been loaded for that row. */
  CUDAMEDIAN_HOST_DEVICE void
  MoveColumns(int thread, Moves & moves) const
  {
    MoveBatch batch{ thread, 0 };
    if (m_Arguments.shape.window[2] == 1)
    {
      while (true)
      {
        CountMoves<true>(batch, moves);
        batch.column += MovesOfBatch * m_Threads;
        if (batch.column >= m_ColumnCount)
        {
          return;
        }
        LoadMoves<true>(batch, moves);
      }
    }
    while (true)
    {
      CountMoves<false>(batch, moves);
      batch.z += MovesOfBatch;
      if (batch.z >= m_Arguments.shape.window[2])
      {
        batch.z = 0;
        batch.column += m_Threads;
        if (batch.column >= m_ColumnCount)
        {
          return;
        }
      }
      LoadMoves<false>(batch, moves);
    }
  }

  /** Finds the medians of a warp's segment of a row, and writes them.
   *
   * \param quad where it looks first, four times that bin. \returns where to look in the next row. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE int
  FindRow(const TWarp & warp, int warpNumber, int row, int quad) const
  {
    const HistogramShape & shape = m_Arguments.shape;
    const int              segment = warpNumber * shape.segment;
    const auto             step = m_Arguments.slab.outputPitch[shape.axes[0]];
    BinSearchStart         start{ quad, false, { 0 } };
    for (int first = segment; first < segment + shape.segment; first += 32)
    {
      const int left = GetOutputsLeft(0) - first;
      if (left <= 0)
      {
        break;
      }
      const std::uint32_t active = left < 32 ? (1U << left) - 1 : 0xFFFFFFFFU;
      const std::int64_t  output = GetOutputOffset(first, row);
      BinSearch<TWarp>    search;
      warp.ForEachLane([&](int lane) {
        const bool isActive = (active >> lane & 1) != 0;
        search.ranks[lane] =
          static_cast<std::uint32_t>(GetWantedRank<VHasMap>(m_Arguments.slab, output + (isActive ? lane * step : 0)));
      });
      FindBins(warp, first, active, start, search);
      const auto & found = search.found;
      const int    last = left < 32 ? left - 1 : 31;
      start = { GetQuad(warp.Get(found, last)), true, { warp.Get(search.foundBelow, last) } };
      quad = first == segment ? GetQuad(warp.Get(found, 0)) : quad;
      if constexpr (HasRegion)
      {
        StoreFound(warp, first, row, active, found);
      }
      else
      {
        warp.ForEachLane([&](int lane) {
          if ((active >> lane & 1) != 0)
          {
            static_cast<std::uint8_t *>(m_Arguments.slab.output)[output + lane * step] = static_cast<std::uint8_t>(
              (found[lane] % histogramBins) ^ static_cast<std::uint32_t>(m_Arguments.slab.signMask));
          }
        });
      }
    }
    return quad;
  }

private:
  /** The block's first output, relative to its region's. \param number of the block in the region. */
  CUDAMEDIAN_HOST_DEVICE void
  LocateInRegion(int number)
  {
    if constexpr (HasRegion)
    {
      const auto & shape = m_Arguments.shape;
      const int    blocks0 = shape.tile[0] / shape.width;
      const int    blocks1 = shape.tile[1] / shape.rows;
      m_First[0] = number % blocks0 * shape.width;
      m_First[1] = number / blocks0 % blocks1 * shape.rows;
      m_First[2] = number / (blocks0 * blocks1);
    }
    else
    {
      m_First[0] = m_First[1] = m_First[2] = 0;
    }
  }

  /** Pixels of a thread's columns in one row, MovesOfBatch of them: of so many columns where these have one slice, else
   * of so many slices of a column. The first is given. */
  struct MoveBatch
  {
    int column;
    int z;
  };

  CUDAMEDIAN_HOST_DEVICE void
  LoadBatch(const MoveBatch & batch, Moves & moves) const
  {
    m_Arguments.shape.window[2] == 1 ? LoadMoves<true>(batch, moves) : LoadMoves<false>(batch, moves);
  }

  /** Whether a batch has so many pixels and one more. */
  template <bool VIsPlane>
  CUDAMEDIAN_HOST_DEVICE bool
  HasMove(const MoveBatch & batch, int i) const
  {
    return VIsPlane ? batch.column + i * m_Threads < m_ColumnCount
                    : batch.z + i < m_Arguments.shape.window[2] && batch.column < m_ColumnCount;
  }

  /** Loads what leaves and enters columns. */
  template <bool VIsPlane>
  CUDAMEDIAN_HOST_DEVICE void
  LoadMoves(const MoveBatch & batch, Moves & moves) const
  {
    auto offset = GetOffset(0, batch.column) + (VIsPlane ? m_FirstSlice : GetOffset(2, batch.z));
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < MovesOfBatch; ++i)
    {
      if (HasMove<VIsPlane>(batch, i))
      {
        moves.leaving[i] = GetBin(offset + moves.leavingRow);
        moves.entering[i] = GetBin(offset + moves.enteringRow);
      }
      offset =
        VIsPlane ? m_FirstSlice + GetOffset(0, batch.column + (i + 1) * m_Threads) : offset + GetStep(2, batch.z + i);
    }
  }

  /** Counts it. */
  template <bool VIsPlane>
  CUDAMEDIAN_HOST_DEVICE void
  CountMoves(const MoveBatch & batch, const Moves & moves) const
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < MovesOfBatch; ++i)
    {
      if (HasMove<VIsPlane>(batch, i))
      {
        const int column = batch.column + (VIsPlane ? i * m_Threads : 0);
        m_Columns.Change(column, moves.leaving[i], -1);
        m_Columns.Change(column, moves.entering[i], 1);
      }
    }
  }

  static constexpr int GroupQuads = histogramBins / histogramGroups / 4;

  /** Times that four bins are looked at upwards, and downwards, for all lanes at once, where each can add up the
   * columns of its own window: these are so many at most. */
  static constexpr int MostLooks = 4;
  static constexpr int MostOwnColumns = 40;

  using Quad = QuadCounts<TCounter>;

  /** Outputs of the slab from the block's first on. */
  CUDAMEDIAN_HOST_DEVICE int
  GetOutputsLeft(int axis) const
  {
    return m_Arguments.GetOutputs(axis) - m_Region.origin[axis] - m_First[axis];
  }

  /** Where an output of the block goes. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOutputOffset(int x, int row) const
  {
    const auto & pitch = m_Arguments.slab.outputPitch;
    const auto * axes = m_Arguments.shape.axes;
    return m_Output + x * pitch[axes[0]] + row * pitch[axes[1]];
  }

  /** Where a position of the block's footprint along an axis lies in the image, clamped to it, or in the region. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetOffset(int axis, int position) const
  {
    return Clamp(m_Start[axis] + position, m_Last[axis]) * m_Pitch[axis];
  }

  /** From the offset of a position along an axis to that of the next. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         GetStep(int axis, int position) const
  {
    position += m_Start[axis];
    return position >= 0 && position < m_Last[axis] ? m_Pitch[axis] : 0;
  }

  CUDAMEDIAN_HOST_DEVICE unsigned int
  GetBin(std::int64_t offset) const
  {
    return HasRegion ? m_Bins[offset] : m_Bins[offset] ^ static_cast<unsigned int>(m_Arguments.slab.signMask);
  }

  /** What each of 32 windows has of something of which load(column) tells what a column has, as registers of counts.
   *
   * \param first the first column of the first window. */
  template <int VRegisters, typename TWarp, typename TLoad>
  CUDAMEDIAN_HOST_DEVICE void
  SumWindows(const TWarp & warp,
             int           first,
             const TLoad & load,
             typename TWarp::template Value<std::uint32_t> (&sums)[VRegisters]) const
  {
    const int window = m_Arguments.shape.window[0];
    warp.ForEachLane([&](int lane) {
      std::uint32_t own[VRegisters] = {};
      CUDAMEDIAN_KEEP_LOOP
      for (int x = lane; x < window; x += 32)
      {
        const auto counts = load(first + x);
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < VRegisters; ++i)
        {
          own[i] += counts.registers[i];
        }
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VRegisters; ++i)
      {
        sums[i][lane] = own[i];
      }
    });
    std::uint32_t all[VRegisters];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRegisters; ++i)
    {
      all[i] = warp.Sum(sums[i]);
    }
    AddSteps(warp, first, load, all, false, sums);
  }

  /** The same, where something is known of one window.
   *
   * \param known of the first window, or, if that \param isBefore, of the one before it. */
  template <int VRegisters, typename TWarp, typename TLoad>
  CUDAMEDIAN_HOST_DEVICE void
  AddSteps(const TWarp & warp,
           int           first,
           const TLoad & load,
           const std::uint32_t (&known)[VRegisters],
           bool isBefore,
           typename TWarp::template Value<std::uint32_t> (&sums)[VRegisters]) const
  {
    // Each further lane has what its window has more or less than that before.
    const int window = m_Arguments.shape.window[0];
    warp.ForEachLane([&](int lane) {
      const bool isKnown = lane == 0 && !isBefore;
      const int  before = first + lane - (isKnown ? 0 : 1);
      const auto leaving = load(before);
      const auto entering = load(before + (isKnown ? 0 : window));
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < VRegisters; ++i)
      {
        sums[i][lane] = entering.registers[i] - leaving.registers[i] + (lane == 0 ? known[i] : 0);
      }
    });
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRegisters; ++i)
    {
      sums[i] = warp.Scan(sums[i]);
    }
  }

  /** One register. */
  struct Count
  {
    std::uint32_t registers[1];
  };

  /** What is known of the pixels of some ranks in 32 windows. */
  template <typename TWarp>
  struct BinSearch
  {
    typename TWarp::template Value<std::uint32_t> ranks;
    typename TWarp::template Value<std::uint32_t> below;      ///< pixels of each window before the bins that come next
    typename TWarp::template Value<std::uint32_t> found;      ///< 256 times the rank within a bin, and the bin
    typename TWarp::template Value<std::uint32_t> foundBelow; ///< pixels before the four bins of which that is one
  };

  /** Where a search starts, in four bins. */
  struct BinSearchStart
  {
    int           quad;
    bool          isBefore; ///< what the window before the first has below these is known
    std::uint32_t below[1];
  };

  /** Finds the bins of the pixels of some ranks in 32 windows.
   *
   * \param first the first column of the first. \param active a bit for each lane whose window counts. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  FindBins(const TWarp & warp, int first, std::uint32_t active, const BinSearchStart & start, BinSearch<TWarp> & search)
    const
  {
    const typename ByteHistogramColumns<VColumnBits, TMemory>::Below bins(static_cast<unsigned int>(start.quad));
    const auto load = [&](int column) { return Count{ { m_Columns.CountBelow(column, bins) } }; };
    typename TWarp::template Value<std::uint32_t> before[1];
    if (start.isBefore)
    {
      AddSteps<1>(warp, first, load, start.below, true, before);
    }
    else
    {
      SumWindows<1>(warp, first, load, before);
    }
    const auto & ranks = search.ranks;
    search.below = before[0];
    const auto isLower = [&](int lane) { return ranks[lane] < search.below[lane]; };
    const auto isHigher = [&](int lane) { return ranks[lane] >= search.below[lane]; };
    auto       lower = active & SelectLanes(warp, isLower);
    auto       higher = active;
    const int  most = HasRegion && m_Arguments.shape.window[0] <= MostOwnColumns ? MostLooks : histogramBins;
    int        looks = 0;
    for (int quad = start.quad; looks < most; ++quad, ++looks)
    {
      LookAt<true>(warp, first, quad, search);
      higher = active & SelectLanes(warp, isHigher);
      if (higher == 0)
      {
        break;
      }
      while ((quad + 1) % GroupQuads == 0 && SkipGroup<true>(warp, first, (quad + 1) / GroupQuads, higher, search))
      {
        quad += GroupQuads;
      }
    }
    search.below = before[0];
    looks = 0;
    for (int quad = start.quad; lower != 0 && looks < most; lower = active & SelectLanes(warp, isLower), ++looks)
    {
      while (quad % GroupQuads == 0 && SkipGroup<false>(warp, first, quad / GroupQuads - 1, lower, search))
      {
        quad -= GroupQuads;
      }
      LookAt<false>(warp, first, --quad, search);
    }
    if constexpr (HasRegion)
    {
      if ((lower | higher) != 0)
      {
        FindEach(warp, first, search);
      }
    }
  }

  /** Finds the bins of all lanes however far apart they are. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  FindEach(const TWarp & warp, int first, BinSearch<TWarp> & search) const
  {
    typename TWarp::template Value<int>           groups;
    typename TWarp::template Value<std::uint32_t> rests; // the ranks within them
    warp.ForEachLane([&](int lane) {
      groups[lane] = 0;
      rests[lane] = 0;
      search.below[lane] = 0;
    });
    CUDAMEDIAN_KEEP_LOOP
    for (int quad = 0; quad < histogramGroups / 4; ++quad)
    {
      typename TWarp::template Value<std::uint32_t> counts[Quad::Registers];
      SumWindows<Quad::Registers>(
        warp, first, [&](int column) { return m_Columns.template GetGroups<TCounter>(column, quad); }, counts);
      warp.ForEachLane([&](int lane) {
        const auto own = JoinQuad(counts, lane);
        auto       rank = search.ranks[lane] - search.below[lane];
        if (search.ranks[lane] >= search.below[lane] && rank < own.GetSum())
        {
          groups[lane] = 4 * quad + own.FindBin(rank);
          rests[lane] = rank;
        }
        search.below[lane] += own.GetSum();
      });
    }
    const int window = m_Arguments.shape.window[0];
    warp.ForEachLane([&](int lane) {
      Quad quads{};
      for (int x = 0; x < window; ++x)
      {
        quads.Add(m_Columns.template GetQuadSums<TCounter>(first + lane + x, groups[lane]));
      }
      auto       rank = rests[lane];
      const int  quad = 4 * groups[lane] + quads.FindBin(rank);
      const auto inQuad = rank;
      Quad       bins{};
      for (int x = 0; x < window; ++x)
      {
        bins.Add(m_Columns.template GetQuad<TCounter>(first + lane + x, quad));
      }
      const int bin = bins.FindBin(rank);
      search.found[lane] = rank * histogramBins + static_cast<std::uint32_t>(4 * quad + bin);
      search.foundBelow[lane] = search.ranks[lane] - inQuad;
    });
  }

  /** Finds what lies in four bins, which `below` is before, and goes behind them; or downwards the other way round. */
  template <bool VUpwards, typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  LookAt(const TWarp & warp, int first, int quad, BinSearch<TWarp> & search) const
  {
    typename TWarp::template Value<std::uint32_t> counts[Quad::Registers];
    SumWindows<Quad::Registers>(
      warp, first, [&](int column) { return m_Columns.template GetQuad<TCounter>(column, quad); }, counts);
    warp.ForEachLane([&](int lane) {
      const auto own = JoinQuad(counts, lane);
      search.below[lane] -= VUpwards ? 0 : own.GetSum();
      FindBin(own, quad, lane, search);
      search.below[lane] += VUpwards ? own.GetSum() : 0;
    });
  }

  /** Goes beyond a group of bins, if none of the lanes that search has its pixel there. \returns whether it did. */
  template <bool VUpwards, typename TWarp>
  CUDAMEDIAN_HOST_DEVICE bool
  SkipGroup(const TWarp & warp, int first, int group, std::uint32_t searching, BinSearch<TWarp> & search) const
  {
    typename TWarp::template Value<std::uint32_t> counts[1];
    SumWindows<1>(
      warp,
      first,
      [&](int column) { return Count{ { m_Columns.GetGroup(column, static_cast<unsigned int>(group)) } }; },
      counts);
    const auto stays = searching & SelectLanes(warp, [&](int lane) {
                         return VUpwards ? search.ranks[lane] < search.below[lane] + counts[0][lane]
                                         : search.ranks[lane] + counts[0][lane] >= search.below[lane];
                       });
    if (stays != 0)
    {
      return false;
    }
    warp.ForEachLane([&](int lane) { search.below[lane] += VUpwards ? counts[0][lane] : 0 - counts[0][lane]; });
    return true;
  }

  /** Of what was found, the four bins. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetQuad(std::uint32_t found)
  {
    return static_cast<int>(found % histogramBins) / 4;
  }

  template <typename TValue>
  CUDAMEDIAN_HOST_DEVICE static Quad
  JoinQuad(const TValue (&counts)[Quad::Registers], int lane)
  {
    Quad own;
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < Quad::Registers; ++i)
    {
      own.registers[i] = counts[i][lane];
    }
    return own;
  }

  /** Notes a lane's bin, if it is one of four, which `below` is before. */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE static void
  FindBin(const Quad & counts, int quad, int lane, BinSearch<TWarp> & search)
  {
    auto rank = search.ranks[lane] - search.below[lane];
    if (search.ranks[lane] >= search.below[lane] && rank < counts.GetSum())
    {
      const int bin = counts.FindBin(rank);
      search.foundBelow[lane] = search.below[lane];
      search.found[lane] = rank * histogramBins + static_cast<std::uint32_t>(4 * quad + bin);
    }
  }

  /** Leaves what was found to be looked up in the region's sorted list (HistogramRuns.h). */
  template <typename TWarp>
  CUDAMEDIAN_HOST_DEVICE void
  StoreFound(const TWarp &                                         warp,
             int                                                   first,
             int                                                   row,
             std::uint32_t                                         active,
             const typename TWarp::template Value<std::uint32_t> & found) const
  {
    auto * const results =
      m_Arguments.found +
      GetFoundNumber(m_Arguments.shape, m_RegionNumber, m_First[0] + first, m_First[1] + row, m_First[2]);
    warp.ForEachLane([&](int lane) {
      if ((active >> lane & 1) != 0)
      {
        results[lane] = found[lane];
      }
    });
  }

  const HistogramArguments &                 m_Arguments;
  ByteHistogramColumns<VColumnBits, TMemory> m_Columns;
  int                                        m_RegionNumber; ///< within the launch
  HistogramRegion                            m_Region;
  int                                        m_Threads;     ///< of the block
  int                                        m_ColumnCount; ///< columns that its windows touch
  const std::uint8_t *                       m_Bins;        ///< the image's pixels, or those of the region
  int                                        m_First[3];    ///< the block's first output, relative to the region's
  int                                        m_Start[3];    ///< where the footprint starts in the image or the region
  int                                        m_Last[3];     ///< the last position of that
  std::int64_t                               m_Pitch[3];    ///< from a pixel to the next along an axis
  std::int64_t                               m_FirstSlice;  ///< offset of the footprint's first slice
  std::int64_t                               m_Output;      ///< where the first output goes
};

} // namespace cudamedian

#endif
