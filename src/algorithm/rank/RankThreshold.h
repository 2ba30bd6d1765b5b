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
#ifndef RankThreshold_h
#define RankThreshold_h

#include "FootprintBits.h"
#include "RankPlaces.h"
#include "WordBits.h"

/** Windows that keep no counters of their pixels: see ThresholdWindows. For kernels and the host. */
namespace cudamedian
{

/** What windows of a footprint read. */
struct FootprintLists
{
  const std::uint32_t * steps{ nullptr };
  const std::uint32_t * runs{ nullptr };
  const std::uint32_t * bits{ nullptr };

  FootprintLists() = default;

  /** \param lists MakeRankLists(), where they are read fastest. */
  CUDAMEDIAN_HOST_DEVICE
  FootprintLists(const std::uint32_t * lists, const RankShape & shape)
    : steps(lists)
    , runs(lists + CountStepWords(shape))
    , bits(runs + shape.runs)
  {}
};

/** Copies the lists of a footprint's windows to where a block's threads read them fastest; they have to wait for each
 * other then. \tparam TBits the FootprintBits behind the lists. \param shared for as many words as there are.
 * \returns the first word behind them. */
template <typename TBits>
CUDAMEDIAN_HOST_DEVICE std::uint32_t *
                       CopyLists(const RankArguments & arguments, int thread, int threads, std::uint32_t * shared)
{
  const auto & shape = arguments.shape;
  const int    count = CountStepWords(shape) + shape.runs + TBits::CountWords(shape);
  for (int i = thread; i < count; i += threads)
  {
    shared[i] = arguments.lists[i];
  }
  return shared + count;
}

/** The windows of a warp, which slide over the ranks of a region without counters of their pixels.
 *
 * Each keeps a threshold, a rank, and how many of its pixels are below: those that enter and leave are compared with
 * it, two by one instruction. The wanted pixel's rank is then looked for from the threshold on, eight ranks at a time,
 * by whether their pixels lie in the window: `places` has each rank's pixel. The threshold is the first of such eight,
 * and moves along. Ranks are packed like those of RankWindow<1>.
 *
 * Wide pixels may be sorted but for some that follow each other (RankValueSort.h). Where the rank is one of such, the
 * window's pixels among them are compared.
 *
 * In a large region pixels have the word of their rank in place of it, which is all that they are compared with, and
 * ranks are looked through 32 at a time. Where a median moves far, all lanes look for it, since memory takes its time
 * to answer.
 *
 * What a step costs depends on how many ranks of the region the median moves by. Those of boxes along three axes move
 * by too many (benchmark/README.md); windows of a footprint have nothing faster. */
template <typename TPixelBits, WindowForm VWindow, RegionForm VForm, typename TThreads>
class ThresholdWindows
{
public:
  static constexpr bool IsSolid = VForm == RegionForm::Solid;
  static constexpr bool IsLarge = VForm == RegionForm::Large || IsSolid;
  static constexpr bool HasEvenRows = VWindow == WindowForm::EvenRows;
  static constexpr bool IsFootprint = VWindow == WindowForm::Footprint;
  /** The one whose first window the threshold of a warp suits, of a footprint. */
  static constexpr int middleLane = 16;
  static_assert(IsFootprint || !IsSolid, "windows of boxes lie in planes");
  using Places = RankPlaces<VForm>;
  using Bits = FootprintBits<VForm>;
  /** Ranks that are looked through at a time; a threshold is the first of them. */
  static constexpr int Group = IsLarge ? 32 : 8;

  /** Words that a warp needs to sum up its first windows. */
  CUDAMEDIAN_HOST_DEVICE static int
  CountSums(const RankShape & shape)
  {
    return (32 + shape.window[0]) / 2;
  }

  CUDAMEDIAN_HOST_DEVICE
  ThresholdWindows(const TThreads &       threads,
                   const RankArguments &  arguments,
                   const RankBlock &      block,
                   int                    warp,
                   const std::uint16_t *  ranks,
                   const std::uint32_t *  places,
                   std::uint32_t *        sums,
                   std::uint32_t *        unordered,
                   const TPixelBits *     sorted,
                   const FootprintLists & lists = {})
    : m_Threads(threads)
    , m_Arguments(arguments)
    , m_Block(block)
    , m_Warp(warp)
    , m_Ranks(ranks)
    , m_Places(places)
    , m_Sums(sums)
    , m_Unordered(unordered)
    , m_Sorted(sorted)
    , m_Lists(lists)
    , m_Input(static_cast<const TPixelBits *>(arguments.slab.input) +
              (IsSolid ? 0 : GetOffsetAlong(arguments, block, 1, 0)) + GetOffsetAlong(arguments, block, 3, 0))
    , m_Columns(arguments, block, 0)
    , m_Rows(arguments, block, 1)
    , m_Slices(arguments, block, 2)
  {}

  CUDAMEDIAN_HOST_DEVICE void
  Run()
  {
    FindLanes();
    FindStart();
    if constexpr (IsFootprint)
    {
      CountMembers();
    }
    if constexpr (IsLarge)
    {
      SlideTogether();
    }
    else
    {
      m_Threads.ForEachThread([&](int lane) { Slide(lane); });
    }
  }

private:
  template <typename T>
  using Value = typename TThreads::template Value<T>;

  CUDAMEDIAN_HOST_DEVICE void
  FindLanes()
  {
    const auto & shape = m_Arguments.shape;
    const auto & slab = m_Arguments.slab;
    for (int i = 0; i < 3; ++i)
    {
      const int axis = shape.axes[i];
      const int shorter = i == 0 && !HasEvenRows ? 0 : slab.shorter[axis];
      m_Window[i] = i == 1 && !IsSolid ? 1 : 2 * static_cast<int>(slab.radius[axis]) + 1 - shorter;
    }
    m_Bits = Bits(m_Lists.bits, m_Window, m_Arguments.shape.disk);
    m_Pixels = IsFootprint ? shape.members : m_Window[0] * m_Window[2];
    // As far as 32 ranks where a window's pixels are spread evenly over them.
    m_Far = 32 * m_Pixels / shape.pixels;
    m_Threads.ForEachThread([&](int lane) {
      auto & corner = m_Corner[lane];
      GetCorner(32 * m_Warp + lane, corner);
      const bool isBeyond = CountLeft(corner, 0) <= 0 || (IsSolid && CountLeft(corner, 1) <= 0);
      const auto left = CountLeft(corner, 2);
      m_Steps[lane] = isBeyond ? 0 : static_cast<int>(left < shape.steps ? left : shape.steps);
    });
  }

  /** How many outputs there are from a window on along a region axis. */
  CUDAMEDIAN_HOST_DEVICE std::int64_t
                         CountLeft(const int (&corner)[3], int axis) const
  {
    return m_Arguments.slab.outputExtent[m_Arguments.shape.axes[axis]] - (m_Block.origin[axis] + corner[axis]);
  }

  /** Where a thread's first window starts within the region. */
  CUDAMEDIAN_HOST_DEVICE void
  GetCorner(int thread, int (&corner)[3]) const
  {
    const auto & shape = m_Arguments.shape;
    const int    row = thread / shape.lanes[0];
    corner[0] = thread % shape.lanes[0];
    corner[1] = IsSolid ? row % shape.lanes[1] : 0;
    corner[2] = (IsSolid ? row / shape.lanes[1] : row) * shape.steps;
  }

  /** How far a pixel's rank is behind that of the one before along region axis 2. */
  CUDAMEDIAN_HOST_DEVICE int
  GetPitch() const
  {
    const auto & region = m_Arguments.shape.region;
    return IsSolid ? region[0] * region[1] : region[0];
  }

  /** The rank of a window's first corner. */
  CUDAMEDIAN_HOST_DEVICE const std::uint16_t *
                               GetRanksAt(const int (&corner)[3]) const
  {
    const auto * ranks = m_Ranks + corner[2] * GetPitch() + corner[0];
    return IsSolid ? ranks + corner[1] * m_Arguments.shape.region[0] : ranks;
  }

  /** A threshold for each window that is near to its wanted rank, and how many of its pixels are below.
   *
   * All windows of a warp count with the same threshold, which takes little, since columns are summed up once for all.
   * It is the one that suits the window best that is farthest off: where its wanted rank would lie if its pixels were
   * spread evenly over the ranks between the nearest ones that have been tried. Others may gain from it too.
   *
   * Of a footprint its box is taken, and the rank that is as far among the box's pixels; the threshold is one for all,
   * which suits the window in the middle. Of a box along three axes every other row of every other slice is enough. */
  CUDAMEDIAN_HOST_DEVICE void
  FindStart()
  {
    constexpr int mostTries = 6;
    // Windows this near, in groups of ranks, find their wanted rank as fast by themselves.
    constexpr auto near = IsLarge ? 12.0F : 24.0F;
    const auto &   shape = m_Arguments.shape;
    const int      pixels = m_Window[0] * CountRows() * CountSlices();
    const auto     rank = static_cast<std::int64_t>(m_Arguments.slab.rank);
    const auto     wanted = static_cast<int>(IsFootprint ? rank * pixels / m_Pixels : rank);
    const int      least = 32 / Group;
    const int      last = 32 / Group * (shape.words - 1);
    const auto     groups = static_cast<float>(shape.pixels) / static_cast<float>(Group * pixels);
    // The nearest thresholds on either side, and how many pixels are below them: at first the ends of all ranks.
    Value<int> lower;
    Value<int> upper;
    Value<int> lowerBelow;
    Value<int> upperBelow;
    m_Threads.ForEachThread([&](int lane) {
      lower[lane] = -shape.firstRank / Group;
      upper[lane] = (shape.pixels - shape.firstRank) / Group;
      lowerBelow[lane] = 0;
      upperBelow[lane] = pixels;
      m_Groups[lane] = m_Below[lane] = 1 << 24;
    });
    int start = (least + last) / 2;
    CUDAMEDIAN_KEEP_LOOP
    for (int tries = 1;; ++tries)
    {
      SumColumns(start);
      Value<int> farthest;
      Value<int> next;
      m_Threads.ForEachThread([&](int lane) {
        const int  below = AddColumns(lane);
        const bool isNearer = GetDistance(below, wanted) < GetDistance(m_Below[lane], wanted);
        m_Groups[lane] = isNearer ? start : m_Groups[lane];
        m_Below[lane] = isNearer ? below : m_Below[lane];
        const bool isLower = below <= wanted && start > lower[lane];
        const bool isUpper = below > wanted && start < upper[lane];
        lower[lane] = isLower ? start : lower[lane];
        lowerBelow[lane] = isLower ? below : lowerBelow[lane];
        upper[lane] = isUpper ? start : upper[lane];
        upperBelow[lane] = isUpper ? below : upperBelow[lane];
        const bool matters = IsFootprint ? lane == middleLane : m_Steps[lane] > 0;
        farthest[lane] = (matters ? 32 * GetDistance(m_Below[lane], wanted) : 0) + lane;
        const auto part =
          static_cast<float>(wanted - lowerBelow[lane]) / static_cast<float>(upperBelow[lane] - lowerBelow[lane]);
        next[lane] = lower[lane] + static_cast<int>(part * static_cast<float>(upper[lane] - lower[lane]) + 0.5F);
      });
      m_Threads.Synchronize();
      CUDAMEDIAN_UNROLL
      for (int distance = 16; distance > 0; distance /= 2)
      {
        const auto across = m_Threads.GetAcross(farthest, distance);
        m_Threads.ForEachThread(
          [&](int lane) { farthest[lane] = across[lane] > farthest[lane] ? across[lane] : farthest[lane]; });
      }
      const int  farthestLane = m_Threads.GetCommon(farthest);
      const auto owner = farthestLane % 32;
      const int  tried = start;
      start = m_Threads.GetCommon(m_Threads.GetFrom(next, owner));
      start = start < least ? least : start > last ? last : start;
      if (static_cast<float>(farthestLane / 32) * groups <= near || tries == mostTries || start == tried)
      {
        return;
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE static int
  GetDistance(int a, int b)
  {
    return a < b ? b - a : a - b;
  }

  /** Rows of the box that are summed up, and slices of such. */
  CUDAMEDIAN_HOST_DEVICE int
  CountRows() const
  {
    return IsSolid ? (m_Window[1] + 1) / 2 : m_Window[2];
  }
  CUDAMEDIAN_HOST_DEVICE int
  CountSlices() const
  {
    return IsSolid ? (m_Window[2] + 1) / 2 : 1;
  }

  /** Counts the ranks below a threshold in each column that the warp's first windows have. */
  CUDAMEDIAN_HOST_DEVICE void
  SumColumns(int start) const
  {
    const int  row = m_Arguments.shape.region[0] * (IsSolid ? 2 : 1);
    const int  rows = CountRows();
    const int  count = CountSums(m_Arguments.shape);
    const auto threshold = GetThreshold(start);
    int        corner[3];
    GetCorner(32 * m_Warp, corner);
    const auto * first = GetRanksAt(corner);
    m_Threads.ForEachThread([&](int lane) {
      for (int i = lane; i < count; i += 32)
      {
        std::uint32_t sum = 0;
        const auto *  ranks = first + 2 * i;
        CUDAMEDIAN_KEEP_LOOP
        for (int slice = 0; slice < CountSlices(); ++slice, ranks += 2 * GetPitch())
        {
          sum += SumColumn(ranks, row, rows, threshold);
        }
        const auto lower = GetLower(sum);
        m_Sums[i] = static_cast<std::uint32_t>(lower | (lower - GetDifference(sum)) << 16);
      }
    });
    m_Threads.Synchronize();
  }

  /** Compares the pairs of some rows. \param row from one to the next. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  SumColumn(const std::uint16_t * ranks, int row, int rows, std::uint32_t threshold)
  {
    std::uint32_t sum = 0;
    int           y = 0;
    if constexpr (IsLarge)
    {
      // Memory takes its time to answer.
      constexpr int loads = IsSolid ? 8 : 16;
      CUDAMEDIAN_KEEP_LOOP
      for (; y + loads <= rows; y += loads)
      {
        std::uint32_t pairs[loads];
        CUDAMEDIAN_UNROLL
        for (int k = 0; k < loads; ++k)
        {
          pairs[k] = LoadPair(ranks + (y + k) * row);
        }
        CUDAMEDIAN_UNROLL
        for (int k = 0; k < loads; ++k)
        {
          sum += CompareBoth(pairs[k], threshold);
        }
      }
    }
    for (; y < rows; ++y)
    {
      sum += CompareBoth(LoadPair(ranks + y * row), threshold);
    }
    return sum;
  }

  /** Adds up the columns of a lane's first window. */
  CUDAMEDIAN_HOST_DEVICE int
  AddColumns(int lane) const
  {
    const int     odd = lane % 2;
    const int     whole = (m_Window[0] - odd) / 2;
    const auto *  words = m_Sums + lane / 2;
    std::uint32_t both = odd != 0 ? words[0] & 0xFFFF0000U : 0;
    std::uint32_t upper = 0;
    words += odd;
    for (int i = 0; i < whole; ++i)
    {
      both += words[i];
      if constexpr (IsLarge)
      {
        // Halves have room for no more.
        upper += both >> 16;
        both &= 0xFFFFU;
      }
    }
    both += (m_Window[0] - odd) % 2 != 0 ? words[whole] & 0xFFFFU : 0;
    return static_cast<int>((both & 0xFFFFU) + (both >> 16) + upper);
  }

  /** Counts how many pixels of the warp's first windows are below the threshold, of a footprint: of the first window
   * row by row, a few by each lane, and of the others by what enters and leaves from window to window. */
  CUDAMEDIAN_HOST_DEVICE void
  CountMembers()
  {
    int corner[3];
    GetCorner(32 * m_Warp, corner);
    const auto * first = GetRanksAt(corner);
    const auto   groups = m_Threads.GetFrom(m_Groups, middleLane);
    Value<int>   parts;
    m_Threads.ForEachThread([&](int lane) {
      m_Groups[lane] = groups[lane];
      const auto threshold = GetThreshold(groups[lane]);
      parts[lane] = CountRuns(first, lane, threshold);
      m_Below[lane] = lane == 0 ? 0 : CountChanges(first + (lane - 1), threshold);
    });
    CUDAMEDIAN_UNROLL
    for (int distance = 1; distance < 32; distance *= 2)
    {
      const auto across = m_Threads.GetAcross(parts, distance);
      const auto before = m_Threads.GetBefore(m_Below, distance);
      m_Threads.ForEachThread([&](int lane) {
        parts[lane] += across[lane];
        m_Below[lane] += lane >= distance ? before[lane] : 0;
      });
    }
    m_Threads.ForEachThread([&](int lane) { m_Below[lane] += parts[lane]; });
  }

  /** How many pixels of a window are below a threshold, of the rows that a lane counts. */
  CUDAMEDIAN_HOST_DEVICE int
  CountRuns(const std::uint16_t * corner, int lane, std::uint32_t threshold) const
  {
    std::uint32_t sum = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = lane; i < m_Arguments.shape.runs; i += 32)
    {
      const auto   run = m_Lists.runs[i];
      auto         left = static_cast<int>(run >> runShift);
      const auto * ranks = corner + (run & ((1U << runShift) - 1));
      // No rank is as great as what stands in for one that is missing.
      constexpr std::uint32_t none = 0xFFFF0000U;
      if (left > 0 && IsSecondOfPair(ranks))
      {
        sum += CompareBoth(*ranks | none, threshold);
        ++ranks;
        --left;
      }
      for (; left >= 2; left -= 2, ranks += 2)
      {
        sum += CompareBoth(LoadPair(ranks), threshold);
      }
      sum += left > 0 ? CompareBoth(*ranks | none, threshold) : 0;
    }
    return 2 * GetLower(sum) - GetDifference(sum);
  }

  /** How many more pixels below a threshold the window beside another along the region's rows has. */
  CUDAMEDIAN_HOST_DEVICE int
  CountChanges(const std::uint16_t * corner, std::uint32_t threshold) const
  {
    std::uint32_t sum = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = 0; i < m_Arguments.shape.runs; i += 4)
    {
      std::uint32_t runs[4];
      LoadFour(m_Lists.runs + i, runs);
      CUDAMEDIAN_UNROLL
      for (const auto run : runs)
      {
        const auto *        leaving = corner + (run & ((1U << runShift) - 1));
        const std::uint32_t entering = leaving[run >> runShift];
        sum += CompareBoth(entering | static_cast<std::uint32_t>(*leaving) << 16, threshold);
      }
    }
    return GetDifference(sum);
  }

  /** Where a lane's first window has its output. */
  CUDAMEDIAN_HOST_DEVICE TPixelBits *
  GetOutput(int lane) const
  {
    const auto & slab = m_Arguments.slab;
    const auto & axes = m_Arguments.shape.axes;
    const auto & corner = m_Corner[lane];
    return static_cast<TPixelBits *>(slab.output) + slab.outputOrigin[0] - slab.gridOrigin +
           (m_Block.origin[0] + corner[0]) * slab.outputPitch[axes[0]] +
           (m_Block.origin[1] + corner[1]) * slab.outputPitch[axes[1]] +
           (m_Block.origin[2] + corner[2]) * slab.outputPitch[axes[2]] + m_Block.origin[3] * slab.outputPitch[axes[3]];
  }

  /** The first corner of a lane's first window, as places are compared with it. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetLowest(int lane) const
  {
    return Places::Pack(m_Corner[lane][0], m_Corner[lane][1], m_Corner[lane][2]);
  }
  /** From there to the last corner. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         GetReach() const
  {
    return Places::Pack(m_Window[0] - 1, m_Window[1] - 1, m_Window[2] - 1) + 2 * Places::Guards;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Slide(int lane)
  {
    const auto & shape = m_Arguments.shape;
    int          steps = m_Steps[lane];
    if (steps <= 0)
    {
      return;
    }
    const int             row = shape.region[0];
    const std::uint16_t * leaving = GetRanksAt(m_Corner[lane]);
    const std::uint16_t * entering = leaving + m_Window[2] * row;
    std::uint32_t         lowest = GetLowest(lane);
    std::uint32_t         highest = lowest + GetReach();

    const auto & slab = m_Arguments.slab;
    const auto   pitch = slab.outputPitch[shape.axes[2]];
    auto *       pixels = GetOutput(lane);
    const auto   wanted = static_cast<int>(slab.rank);
    int          below = m_Below[lane];
    int          eight = m_Groups[lane];
    TPixelBits   median = GetPixel(FindRank(eight, below, wanted, lowest, highest), lowest);
    CUDAMEDIAN_KEEP_LOOP
    while (--steps > 0)
    {
      below +=
        IsFootprint ? ReplaceListed(leaving, GetThreshold(eight)) : Replace(entering, leaving, GetThreshold(eight));
      entering += row;
      leaving += row;
      lowest += Places::Pack(0, 0, 1);
      highest += Places::Pack(0, 0, 1);
      // Now that memory has had the time to answer.
      *pixels = median;
      pixels += pitch;
      median = GetPixel(FindRank(eight, below, wanted, lowest, highest), lowest);
    }
    *pixels = median;
  }

  /** The windows of all lanes, one output a step each. */
  CUDAMEDIAN_HOST_DEVICE void
  SlideTogether()
  {
    const auto & shape = m_Arguments.shape;
    const int    row = GetPitch();
    const auto   pitch = m_Arguments.slab.outputPitch[shape.axes[2]];
    int          corner[3];
    GetCorner(32 * m_Warp, corner);
    const auto * leaving = GetRanksAt(corner);
    const auto * entering = leaving + m_Window[2] * row;
    const auto   left = CountLeft(corner, 2);
    const int    steps = static_cast<int>(left < shape.steps ? left : shape.steps);

    Value<TPixelBits *> pixels;
    Value<TPixelBits>   medians;
    m_Threads.ForEachThread([&](int lane) {
      m_Lowest[lane] = GetLowest(lane);
      pixels[lane] = GetOutput(lane);
    });
    CUDAMEDIAN_KEEP_LOOP
    for (int step = 0; step < steps; ++step)
    {
      if (step > 0)
      {
        m_Threads.ForEachThread([&](int lane) {
          if (m_Steps[lane] > 0)
          {
            const auto threshold = GetThreshold(m_Groups[lane]);
            if constexpr (IsFootprint)
            {
              m_Below[lane] += ReplaceListed(leaving + lane, threshold);
            }
            else
            {
              // The rows of the next step are on their way meanwhile: each lane asks for 64 ranks.
              const int ahead = lane % 16 * 64;
              if (ahead < 32 + m_Window[0])
              {
                m_Threads.Prefetch((lane < 16 ? entering : leaving) + (row + ahead));
              }
              m_Below[lane] += Replace(entering + lane, leaving + lane, threshold);
            }
            m_Lowest[lane] += Places::Pack(0, 0, 1);
            // Now that memory has had the time to answer.
            *pixels[lane] = medians[lane];
            pixels[lane] += pitch;
          }
        });
        entering += row;
        leaving += row;
      }
      FindWords();
      m_Threads.ForEachThread([&](int lane) {
        if (m_Steps[lane] > 0)
        {
          const int left = static_cast<int>(m_Arguments.slab.rank) - m_Below[lane];
          medians[lane] = GetPixel(32 * m_Groups[lane] + FindBit<32>(m_Inside[lane], left), m_Lowest[lane]);
        }
      });
    }
    m_Threads.ForEachThread([&](int lane) {
      if (m_Steps[lane] > 0)
      {
        *pixels[lane] = medians[lane];
      }
    });
  }

  /** Moves the thresholds to the words of the wanted ranks: each lane its own a little, and all together those that are
   * far. */
  CUDAMEDIAN_HOST_DEVICE void
  FindWords()
  {
    constexpr int near = 12;
    Value<bool>   isFar;
    m_Threads.ForEachThread([&](int lane) { isFar[lane] = m_Steps[lane] > 0 && !Walk(lane, near); });
    CUDAMEDIAN_KEEP_LOOP
    for (;;)
    {
      const int owner = m_Threads.FindFirst(isFar);
      if (owner == 32)
      {
        return;
      }
      Leap(owner);
      m_Threads.ForEachThread([&](int lane) { isFar[lane] = isFar[lane] && lane != owner; });
    }
  }

  /** Finds which ranks of a group lie in the window, of the one below the threshold where that is too high, and moves
   * the threshold on unless the wanted rank is one of them.
   *
   * \param below pixels of the window below the threshold. \param findInside the ranks of a group, a bit each.
   * \returns whether it is. */
  template <typename TFindInside>
  CUDAMEDIAN_HOST_DEVICE static bool
  LookAtGroup(int & group, int & below, std::uint32_t & inside, int wanted, const TFindInside & findInside)
  {
    const bool down = below > wanted;
    group -= down ? 1 : 0;
    inside = findInside(group);
    const int count = CountBits(inside);
    below -= down ? count : 0;
    const bool isFound = below <= wanted && below + count > wanted;
    const bool up = !isFound && !down;
    below += up ? count : 0;
    group += up ? 1 : 0;
    return isFound;
  }

  /** Moves a lane's threshold until the wanted rank is one of its word, at most so many times. \returns whether it is.
   */
  CUDAMEDIAN_HOST_DEVICE bool
  Walk(int lane, int most)
  {
    const auto wanted = static_cast<int>(m_Arguments.slab.rank);
    const auto lowest = m_Lowest[lane];
    int        word = m_Groups[lane];
    int        below = m_Below[lane];
    bool       isFound = false;
    CUDAMEDIAN_KEEP_LOOP
    for (int i = 0; i < most && !isFound; ++i)
    {
      isFound = LookAtGroup(word, below, m_Inside[lane], wanted, [&](int group) { return FindInside(group, lowest); });
    }
    m_Groups[lane] = word;
    m_Below[lane] = below;
    return isFound;
  }

  /** Which of a word's ranks lie in a window. */
  CUDAMEDIAN_HOST_DEVICE std::uint32_t
                         FindInside(int word, std::uint32_t lowest) const
  {
    const auto * places = m_Places + 32 * word;
    if constexpr (IsFootprint)
    {
      return m_Bits.FindAllInside(places, lowest, lowest + GetReach());
    }
    else
    {
      return Places::FindAllInside(places, lowest, lowest + GetReach());
    }
  }

  /** Moves the threshold of a lane to the word of the wanted rank: each lane looks through another. */
  CUDAMEDIAN_HOST_DEVICE void
  Leap(int owner)
  {
    const auto wanted = static_cast<int>(m_Arguments.slab.rank);
    const int  end = m_Arguments.shape.words - 1;
    Value<int> words = m_Threads.GetFrom(m_Groups, owner);
    Value<int> below = m_Threads.GetFrom(m_Below, owner);
    const auto lowest = m_Threads.GetFrom(m_Lowest, owner);
    const bool down = m_Threads.GetCommon(below) > wanted;
    CUDAMEDIAN_KEEP_LOOP
    for (;;)
    {
      Value<std::uint32_t> inside;
      Value<int>           counts;
      Value<int>           sums;
      Value<bool>          isReached;
      m_Threads.ForEachThread([&](int lane) {
        const int  word = words[lane] + (down ? -(lane + 1) : lane);
        const bool exists = word >= 1 && word < end;
        const auto found = FindInside(exists ? word : 1, lowest[lane]);
        inside[lane] = exists ? found : 0;
        sums[lane] = counts[lane] = CountBits(inside[lane]);
      });
      CUDAMEDIAN_UNROLL
      for (int distance = 1; distance < 32; distance *= 2)
      {
        const auto before = m_Threads.GetBefore(sums, distance);
        m_Threads.ForEachThread([&](int lane) { sums[lane] += lane >= distance ? before[lane] : 0; });
      }
      m_Threads.ForEachThread([&](int lane) {
        isReached[lane] = down ? below[lane] - sums[lane] <= wanted : below[lane] + sums[lane] > wanted;
      });
      const int  reached = m_Threads.FindFirst(isReached);
      const int  lane = reached < 32 ? reached : 31;
      const auto sum = m_Threads.GetFrom(sums, lane);
      const auto count = m_Threads.GetFrom(counts, lane);
      const auto found = m_Threads.GetFrom(inside, lane);
      m_Threads.ForEachThread([&](int other) {
        words[other] += down ? -(lane + 1) : reached < 32 ? lane : 32;
        below[other] += down ? -sum[other] : sum[other] - (reached < 32 ? count[other] : 0);
        m_Inside[other] = other == owner ? found[other] : m_Inside[other];
      });
      if (reached < 32)
      {
        break;
      }
    }
    m_Threads.ForEachThread([&](int lane) {
      m_Groups[lane] = lane == owner ? words[lane] : m_Groups[lane];
      m_Below[lane] = lane == owner ? below[lane] : m_Below[lane];
    });
  }

  /** The pixel of a packed rank: from the sorted ones, or where it is in the image. \param lowest of the window. */
  CUDAMEDIAN_HOST_DEVICE TPixelBits
  GetPixel(int rank, std::uint32_t lowest) const
  {
    if (m_Sorted != nullptr)
    {
      return m_Sorted[rank + m_Arguments.shape.firstRank];
    }
    if constexpr (sizeof(TPixelBits) > 2 || IsLarge)
    {
      if (m_Unordered != nullptr && (IsUnordered(rank) || IsUnordered(rank + 1)))
      {
        return CallWithMapping<TPixelBits>(m_Arguments.keyFormat, [&](auto mapping) {
          return mapping.ToBits(FindUnordered(mapping, rank, lowest), GetSignMask());
        });
      }
    }
    return LoadPixel(Places::Load(m_Places, static_cast<unsigned int>(rank)));
  }

  CUDAMEDIAN_HOST_DEVICE TPixelBits
  LoadPixel(const RegionPlace & place) const
  {
    const auto offset = m_Columns.GetOffset(place.x) + m_Slices.GetOffset(place.z);
    return m_Input[IsSolid ? offset + m_Rows.GetOffset(place.y) : offset];
  }

  CUDAMEDIAN_HOST_DEVICE TPixelBits
  GetSignMask() const
  {
    return static_cast<TPixelBits>(m_Arguments.slab.signMask);
  }

  CUDAMEDIAN_HOST_DEVICE bool
  IsUnordered(int rank) const
  {
    return (m_Unordered[rank / 32] >> rank % 32 & 1) != 0;
  }

  /** The first of the ranks that are unordered with one, itself if it is no such. */
  CUDAMEDIAN_HOST_DEVICE int
  FindFirst(int rank) const
  {
    int  word = rank / 32;
    auto ends = ~m_Unordered[word] & (0xFFFFFFFFU >> (31 - rank % 32));
    while (ends == 0 && word > 0)
    {
      ends = ~m_Unordered[--word];
    }
    return 32 * word + 31 - CountLeadingZeros(ends);
  }

  /** The next rank from one on that is ordered. */
  CUDAMEDIAN_HOST_DEVICE int
  FindOrdered(int rank) const
  {
    int  word = rank / 32;
    auto ends = ~m_Unordered[word] & (0xFFFFFFFFU << rank % 32);
    while (ends == 0 && word < m_Arguments.shape.words - 1)
    {
      ends = ~m_Unordered[++word];
    }
    return 32 * word + CountTrailingZeros(ends);
  }

  /** The pixel of a rank, and whether it lies in the window with a corner. */
  CUDAMEDIAN_HOST_DEVICE TPixelBits
  LoadPlace(int rank, const RegionPlace & corner, bool & isInside) const
  {
    const auto        place = Places::Load(m_Places, static_cast<unsigned int>(rank));
    const RegionPlace within{ place.x - corner.x, place.y - corner.y, place.z - corner.z };
    isInside = within.x >= 0 && within.x < m_Window[0] && within.z >= 0 && within.z < m_Window[2];
    isInside = isInside && (!IsSolid || (within.y >= 0 && within.y < m_Window[1]));
    if constexpr (IsFootprint)
    {
      isInside = isInside && m_Bits.Has(within);
    }
    return LoadPixel(place);
  }

  /** Calls visit(key, rank, isInside) for the pixels of some ranks, some of which are loaded at once. */
  template <typename TMapping, typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachKey(const TMapping & mapping, int first, int end, const RegionPlace & corner, const TVisit & visit) const
  {
    constexpr int loads = IsLarge ? 8 : 4;
    CUDAMEDIAN_KEEP_LOOP
    for (; first < end; first += loads)
    {
      TPixelBits pixels[loads];
      bool       inside[loads];
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < loads; ++i)
      {
        pixels[i] = LoadPlace(first + i < end ? first + i : end - 1, corner, inside[i]);
      }
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < loads; ++i)
      {
        if (first + i < end)
        {
          visit(mapping.FromBits(pixels[i], GetSignMask()), first + i, inside[i]);
        }
      }
    }
  }

  /** The wanted key of a window, which one of the ranks has that are unordered with the packed one. */
  template <typename TMapping>
  CUDAMEDIAN_HOST_DEVICE TPixelBits
  FindUnordered(const TMapping & mapping, int rank, std::uint32_t lowest) const
  {
    const auto corner = Places::Unpack(lowest);
    const int  first = FindFirst(rank);
    const int  end = FindOrdered(rank + 1);
    // Both ends of the packed ranks are of many pixels.
    if (first < 32 || end >= 32 * m_Arguments.shape.words)
    {
      return FindInWindow(mapping, corner);
    }
    constexpr int few = 8;
    if (end - first <= (IsLarge ? 6 : 2) * few)
    {
      // The least keys, in order.
      TPixelBits keys[few];
      CUDAMEDIAN_UNROLL
      for (auto & key : keys)
      {
        key = static_cast<TPixelBits>(~TPixelBits{ 0 });
      }
      int before = 0;
      ForEachKey(mapping, first, end, corner, [&](TPixelBits key, int other, bool isInside) {
        before += isInside && other < rank ? 1 : 0;
        key = isInside ? key : static_cast<TPixelBits>(~TPixelBits{ 0 });
        CUDAMEDIAN_UNROLL
        for (auto & held : keys)
        {
          const auto greater = key > held ? key : held;
          held = key > held ? held : key;
          key = greater;
        }
      });
      auto found = keys[0];
      CUDAMEDIAN_UNROLL
      for (int i = 1; i < few; ++i)
      {
        found = before == i ? keys[i] : found;
      }
      if (before < few)
      {
        return found;
      }
    }
    return FindAmongMany(mapping, rank, first, end, corner);
  }

  /** The same where there are many: most of them are often equal. */
  template <typename TMapping>
  CUDAMEDIAN_HOST_DEVICE TPixelBits
  FindAmongMany(const TMapping & mapping, int rank, int first, int end, const RegionPlace & corner) const
  {
    bool isInside = false;
    auto tried = mapping.FromBits(LoadPlace(rank, corner, isInside), GetSignMask());
    auto least = tried;
    auto greatest = tried;
    int  before = 0;
    ForEachKey(mapping, first, end, corner, [&](TPixelBits key, int other, bool inside) {
      before += inside && other < rank ? 1 : 0;
      least = key < least ? key : least;
      greatest = key > greatest ? key : greatest;
    });
    if (least == greatest)
    {
      // Nobody has to look at them again. Another thread may see some marks gone, and others not: it finds the same.
      for (int i = first + 1; i < end; ++i)
      {
        m_Threads.ClearBits(m_Unordered + i / 32, 1U << i % 32);
      }
      return least;
    }
    // Hoare's selection (1961): they are in no order, so that some key divides what is left as well as another.
    CUDAMEDIAN_KEEP_LOOP
    for (;;)
    {
      int        less = 0;
      int        lessOrEqual = 0;
      TPixelBits lower = 0;
      TPixelBits higher = 0;
      ForEachKey(mapping, first, end, corner, [&](TPixelBits key, int, bool inside) {
        less += inside && key < tried ? 1 : 0;
        lessOrEqual += inside && key <= tried ? 1 : 0;
        lower = inside && key < tried && key >= least ? key : lower;
        higher = inside && key > tried && key <= greatest ? key : higher;
      });
      if (before < less)
      {
        greatest = static_cast<TPixelBits>(tried - 1);
        tried = lower;
      }
      else if (before >= lessOrEqual)
      {
        least = static_cast<TPixelBits>(tried + 1);
        tried = higher;
      }
      else
      {
        return tried;
      }
    }
  }

  /** The wanted key of a window, bit by bit, from all its pixels: where there is no faster way. */
  template <typename TMapping>
  CUDAMEDIAN_HOST_DEVICE TPixelBits
  FindInWindow(const TMapping & mapping, const RegionPlace & corner) const
  {
    const auto wanted = static_cast<int>(m_Arguments.slab.rank);
    TPixelBits key = 0;
    CUDAMEDIAN_KEEP_LOOP
    for (int bit = 8 * static_cast<int>(sizeof(TPixelBits)) - 1; bit >= 0; --bit)
    {
      const auto tried = static_cast<TPixelBits>(key | TPixelBits{ 1 } << bit);
      int        below = 0;
      ForEachPlace([&](const RegionPlace & place) {
        if (!IsFootprint || m_Bits.Has(place))
        {
          const auto pixel = LoadPixel({ corner.x + place.x, corner.y + place.y, corner.z + place.z });
          below += mapping.FromBits(pixel, GetSignMask()) < tried ? 1 : 0;
        }
      });
      key = below <= wanted ? tried : key;
    }
    return key;
  }

  /** Calls visit(place) for each place of a window's box. */
  template <typename TVisit>
  CUDAMEDIAN_HOST_DEVICE void
  ForEachPlace(const TVisit & visit) const
  {
    RegionPlace place{ 0, 0, 0 };
    CUDAMEDIAN_KEEP_LOOP
    for (place.z = 0; place.z < m_Window[2]; ++place.z)
    {
      CUDAMEDIAN_KEEP_LOOP
      for (place.y = 0; place.y < (IsSolid ? m_Window[1] : 1); ++place.y)
      {
        CUDAMEDIAN_KEEP_LOOP
        for (place.x = 0; place.x < m_Window[0]; ++place.x)
        {
          visit(place);
        }
      }
    }
  }

  /** How many more pixels below the threshold a window has once a row has left and another has entered. */
  CUDAMEDIAN_HOST_DEVICE int
  Replace(const std::uint16_t * entering, const std::uint16_t * leaving, std::uint32_t threshold) const
  {
    const int     last = HasEvenRows ? m_Window[0] - 1 : m_Window[0];
    const int     odd = IsSecondOfPair(entering) ? 1 : 0;
    const int     single = odd != 0 ? 0 : last - 1;
    std::uint32_t pairs = 0;
    std::uint32_t singles =
      CompareBoth(entering[single] | static_cast<std::uint32_t>(leaving[single]) << 16, threshold);
    if (HasEvenRows)
    {
      singles += CompareBoth(entering[last] | static_cast<std::uint32_t>(leaving[last]) << 16, threshold);
    }
    ReplacePairs(entering + odd, leaving + odd, last / 2, threshold, pairs);
    return 2 * GetLower(pairs) - GetDifference(pairs) + GetDifference(singles);
  }

  /** The same for a footprint: pixels that are listed as places from a window's corner replace others. */
  CUDAMEDIAN_HOST_DEVICE int
  ReplaceListed(const std::uint16_t * corner, std::uint32_t threshold) const
  {
    const auto &  shape = m_Arguments.shape;
    const auto *  list = m_Lists.steps + (IsSecondOfPair(corner) ? 2 * (shape.pairs + shape.edges) : 0);
    std::uint32_t pairs = 0;
    ForEachFour(list, shape.pairs, [&](std::uint32_t entering, std::uint32_t leaving) {
      pairs += CompareBoth(LoadPair(GetBehind(corner, entering)), threshold) -
               CompareBoth(LoadPair(GetBehind(corner, leaving)), threshold);
    });
    std::uint32_t singles = 0;
    ForEachFour(list + 2 * shape.pairs, shape.edges, [&](std::uint32_t entering, std::uint32_t leaving) {
      const std::uint32_t in = *GetBehind(corner, entering);
      const std::uint32_t out = *GetBehind(corner, leaving);
      singles += CompareBoth(in | out << 16, threshold);
    });
    return 2 * GetLower(pairs) - GetDifference(pairs) + GetDifference(singles);
  }

  /** Calls replace(entering, leaving) for all of a list. */
  template <typename TReplace>
  CUDAMEDIAN_HOST_DEVICE static void
  ForEachFour(const std::uint32_t * list, int count, const TReplace & replace)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (; count > 0; count -= 4, list += 8)
    {
      std::uint32_t entering[4];
      std::uint32_t leaving[4];
      LoadFour(list, entering);
      LoadFour(list + 4, leaving);
      CUDAMEDIAN_UNROLL
      for (int i = 0; i < 4; ++i)
      {
        replace(entering[i], leaving[i]);
      }
    }
  }

  CUDAMEDIAN_HOST_DEVICE static void
  ReplacePairs(const std::uint16_t * entering,
               const std::uint16_t * leaving,
               int                   count,
               std::uint32_t         threshold,
               std::uint32_t &       changes)
  {
    CUDAMEDIAN_KEEP_LOOP
    for (; count >= 8; count -= 8, entering += 16, leaving += 16)
    {
      ReplaceSome<8>(entering, leaving, threshold, changes);
    }
    if ((count & 4) != 0)
    {
      ReplaceSome<4>(entering, leaving, threshold, changes);
      entering += 8;
      leaving += 8;
    }
    if ((count & 2) != 0)
    {
      ReplaceSome<2>(entering, leaving, threshold, changes);
      entering += 4;
      leaving += 4;
    }
    if ((count & 1) != 0)
    {
      ReplaceSome<1>(entering, leaving, threshold, changes);
    }
  }

  template <int VPairs>
  CUDAMEDIAN_HOST_DEVICE static void
  ReplaceSome(const std::uint16_t * entering,
              const std::uint16_t * leaving,
              std::uint32_t         threshold,
              std::uint32_t &       changes)
  {
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VPairs; ++i)
    {
      changes += CompareBoth(LoadPair(entering + 2 * i), threshold) - CompareBoth(LoadPair(leaving + 2 * i), threshold);
    }
  }

  /** The packed rank that `wanted` pixels of a window are below. Moves the threshold to the eight ranks that it is one
   * of. */
  CUDAMEDIAN_HOST_DEVICE int
  FindRank(int & eight, int & below, int wanted, std::uint32_t lowest, std::uint32_t highest) const
  {
    GoFar(eight, below, wanted, lowest, highest);
    std::uint32_t inside = 0;
    bool          isFound = false;
    CUDAMEDIAN_KEEP_LOOP
    while (!isFound)
    {
      isFound = LookAtGroup(eight, below, inside, wanted, [&](int group) {
        const auto * places = m_Places + Places::Words * group;
        return IsFootprint ? m_Bits.FindInside(places, lowest, highest) : Places::FindInside(places, lowest, highest);
      });
    }
    return 8 * eight + FindBit<8>(IsFootprint ? inside : Places::Order(inside), wanted - below);
  }

  /** Moves a threshold that is far from the wanted rank by 32 ranks at a time, whose places are loaded together. */
  CUDAMEDIAN_HOST_DEVICE void
  GoFar(int & eight, int & below, int wanted, std::uint32_t lowest, std::uint32_t highest) const
  {
    const int end = 4 * m_Arguments.shape.words;
    CUDAMEDIAN_KEEP_LOOP
    for (;;)
    {
      const bool lower = below > wanted;
      const int  first = lower ? eight - 4 : eight;
      if (GetDistance(below, wanted) < m_Far || first < 0 || first + 4 > end)
      {
        return;
      }
      const auto * places = m_Places + Places::Words * first;
      const int    count =
        IsFootprint ? m_Bits.CountInside(places, lowest, highest) : Places::CountInside(places, lowest, highest);
      const int next = lower ? below - count : below + count;
      if (lower ? next <= wanted : next > wanted)
      {
        return;
      }
      below = next;
      eight = lower ? first : first + 4;
    }
  }

  /** The first rank of a group as pixels have it, twice. */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  GetThreshold(int group)
  {
    return static_cast<std::uint32_t>(group) * (IsLarge ? 0x00010001U : 0x00080008U);
  }

  /** -1 for either of two ranks below the threshold, summed up for both halves together: see GetLower(). */
  CUDAMEDIAN_HOST_DEVICE static std::uint32_t
  CompareBoth(std::uint32_t pair, std::uint32_t threshold)
  {
#ifdef __CUDA_ARCH__
    // Ranks below those that would be infinite are numbers of 16 bits that compare as they do.
    std::uint32_t below;
    asm("set.lt.u32.f16x2 %0, %1, %2;" : "=r"(below) : "r"(pair), "r"(threshold));
    return below;
#else
    return ((pair & 0xFFFFU) < (threshold & 0xFFFFU) ? 0xFFFFU : 0U) |
           (pair >> 16 < threshold >> 16 ? 0xFFFF0000U : 0U);
#endif
  }

  /** The lower half of such a sum is the number of its ranks, negated, and the upper half has a carry for each. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetLower(std::uint32_t sum)
  {
    return -static_cast<std::int16_t>(sum);
  }
  /** How many more ranks of lower halves than of upper ones a sum has. */
  CUDAMEDIAN_HOST_DEVICE static int
  GetDifference(std::uint32_t sum)
  {
    return static_cast<int>(sum + static_cast<std::uint32_t>(GetLower(sum))) >> 16;
  }

  const TThreads &      m_Threads;
  const RankArguments & m_Arguments;
  const RankBlock &     m_Block;
  int                   m_Warp;
  const std::uint16_t * m_Ranks;
  const std::uint32_t * m_Places;
  std::uint32_t *       m_Sums;
  std::uint32_t *       m_Unordered; ///< a bit for each packed rank that may be before the last one; null: none may
  const TPixelBits *    m_Sorted;
  FootprintLists        m_Lists;
  const TPixelBits *    m_Input;   ///< where the region's places of 0 along axes 1 and 3 are
  RegionAxis            m_Columns; ///< of the region
  RegionAxis            m_Rows;
  RegionAxis            m_Slices;
  int                   m_Window[3];   ///< pixels along the region's axes
  int                   m_Pixels{ 0 }; ///< of a window
  Bits                  m_Bits;        ///< of a footprint
  int                   m_Far{ 0 };    ///< pixels of a window that mostly have more than 32 ranks between them
  Value<int[3]>         m_Corner;      ///< of the first windows within the region
  Value<int>            m_Steps;       ///< outputs, none or fewer beyond the image
  Value<int>            m_Below;
  Value<int>            m_Groups; ///< of ranks below the thresholds
  Value<std::uint32_t>  m_Inside; ///< which ranks of the word lie in the window
  Value<std::uint32_t>  m_Lowest; ///< see GetLowest()
};

} // namespace cudamedian

#endif
