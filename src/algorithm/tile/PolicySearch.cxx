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
#include "PolicySearch.h"

#include "KernelProgram.h"
#include "itkCudaMedianFootprint.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cudamedian
{
namespace
{

/** Values that a thread can keep in 32-bit registers: 255 less addresses, operands on their way and what the compiler's
 * order needs beyond the program's. With 200, no window up to 17x17 has more than 48 bytes in local memory. */
constexpr std::size_t registerValues = 200;

/** Registers that a thread has at most. */
constexpr double registersOfThread = 255;

/** Code that the instruction cache does not hold (PipeTraits) is fetched anew by each warp, at 1.14 instructions a
 * clock and SM. Measured on an H200, befe859, with 13x13 in tiles of 4x4 and 16-bit pixels, Gpixel/s: 6,860
 * instructions 65, 7,710 instructions 42, 10,500 instructions 33. */
constexpr double fetchedPerClock = 1.14 * 32;

/** Beyond these live values two blocks of four warps are all that an SM holds, and one of eight stages less and waits
 * no longer. Measured on an H200, befe859, Gpixel/s with four and eight warps: 9x9 139 and 146, 11x11 96 and 99, 5x5x5
 * 42 and 51; but 7x7, with fewer values, 232 and 201. */
constexpr std::size_t valuesOfLargeBlocks = 105;

/** Phases that are tried: sorted columns, pairs of them, or whatever there is, in one shared phase or two. A third one
 * gains less than its room and its barrier cost. */
constexpr PhaseOptions triedPhases[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 1, 0, 2 }, { 1, 0, 0 }, { 2, 0, 2 }, { 2, 0, 0 } };

/** Values that a thread of a kernel can keep in registers. */
std::size_t
GetRegisterValues(const KernelKind & kind)
{
  return kind.pixelBytes == 8 ? registerValues / 2 : registerValues;
}

/** Whether a footprint leaves pixels of its box out. */
bool
HasGaps(const Window & window)
{
  return window.footprint != nullptr &&
         static_cast<std::int64_t>(window.footprint->GetPixels().size()) < window.CountBoxPixels();
}

/** Sizes of a root tile along an axis: the powers of two below the window, up to 16. A window that is long along one
 * axis shares most with its neighbours there: 47x3 takes 117 instructions of min and max in tiles of 16x1, 348 in 4x1.
 * Of footprints with gaps the two largest up to 4, which share more than smaller ones and are not too long. */
std::vector<std::int64_t>
GetRootSizes(std::int64_t radius, bool hasGaps)
{
  std::int64_t size = 1;
  while (2 * size <= std::min<std::int64_t>(2 * radius, hasGaps ? 4 : 16))
  {
    size *= 2;
  }
  const auto                least = hasGaps ? std::max<std::int64_t>(1, size / 2) : 1;
  std::vector<std::int64_t> sizes;
  for (; size >= least; size /= 2)
  {
    sizes.push_back(size);
  }
  return { sizes.rbegin(), sizes.rend() };
}

/** Root tiles that are worth counting: not more than 16 pixels, and not a program that takes minutes to compile. */
std::vector<Extent>
GetRootTiles(const Window & window)
{
  const auto &        radius = window.radius;
  const bool          hasGaps = HasGaps(window);
  std::vector<Extent> roots;
  for (const auto x : GetRootSizes(radius[0], hasGaps))
    for (const auto y : GetRootSizes(radius[1], hasGaps))
      for (const auto z : GetRootSizes(radius[2], hasGaps))
        for (const auto w : GetRootSizes(radius[3], hasGaps))
        {
          const auto pixels = x * y * z * w;
          if (pixels == 1 || (pixels <= 16 && pixels * window.CountPixels() <= 16 * largestKernelWindow))
          {
            roots.push_back({ { x, y, z, w } });
          }
        }
  // The smallest first, which is taken where no other can be, then the largest.
  std::reverse(roots.begin() + 1, roots.end());
  return roots;
}

/** Rows of threads of the smallest block that is tried, where its shared memory suffices. */
constexpr int leastBlockRows = 4;

/** Rows of a block's threads at most, by the number of live values. */
int
GetBlockRows(const KernelKind & kind, std::size_t liveValues)
{
  return liveValues * static_cast<std::size_t>(kind.GetRegisterBytes() / 4) > valuesOfLargeBlocks ? 8 : leastBlockRows;
}

/** Outputs along axis 0 of a block that is as narrow as is worth it. */
constexpr std::int64_t narrowBlock = 32;

/** Whether the footprint of the smallest block worth running fits in a block's shared memory. */
bool
FitsNarrowBlock(const Window & window, const KernelKind & kind, const Extent & tile, const DeviceTraits & traits)
{
  std::int64_t keys = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto outputs = axis == 0 ? std::max(narrowBlock, tile[0]) : tile[axis];
    keys *= outputs + window.GetSize(axis) - 1;
  }
  return keys * kind.GetRegisterBytes() <= traits.blockSharedBytes;
}

/** Instructions of a program of several ranks that are as bad as twice the clocks: such kernels are compiled at first
 * use alone, which takes 1.2 ms for each. Reasoned. */
constexpr double longRanksProgram = 10000;

/** Keys that a block stages for each of its outputs. */
double
CountStagedKeys(const Window & window, const KernelPolicy & policy)
{
  const double width = policy.blockX * static_cast<int>(policy.tile[0]);
  double       staged = (width + 2 * static_cast<double>(window.radius[0])) / width;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const auto size = static_cast<double>(policy.tile[axis]) * (axis == 1 ? policy.blockY : 1);
    staged *= (size + 2 * static_cast<double>(window.radius[axis])) / size;
  }
  return staged;
}

/** Instructions beside the program's, and how long a kernel waits. Fitted to kernels that an H200 ran, 15be72b with
 * wider root tiles: 299 with 16-bit pixels of 90 windows, of whose times the score is off by 10 % (rms), 171 with float
 * (9 %), 76 with double (9 %). The kernel that it puts first has 0.98 to 0.99 of the rate of the fastest that was
 * measured. */
struct KernelWork
{
  double staged;    ///< for each key that a block stages
  double loaded;    ///< for each vector of 16 bytes that a thread loads from shared memory
  double stored;    ///< for each that it leaves there for its neighbours
  double output;    ///< for each output
  double wait;      ///< warps that would halve the rate of a kernel that has as many
  double enough;    ///< warps that more would gain nothing over
  double results;   ///< registers for each output …
  double addresses; ///< … and for anything else that is no value of the program
};
constexpr KernelWork workOf32Bits{ 3, 1.5, 10, 18, 3.2, 64, 2, 8 };
constexpr KernelWork workOf64Bits{ 10, 4.5, 6, 11, 4.2, 64, 4, 8 };
/** Of footprints with gaps, which have few instructions for what they load. With the others a cross of 3x3x3 would have
 * tiles of 4x2x2 for 8x2x2, and 0.9 of the rate. */
constexpr KernelWork workOfGaps{ 4, 1.6, 1.6, 0, 4, 16, 0, 30 };

/** How many times the clocks of its instructions a kernel takes, by the warps that an SM holds, which hide each other's
 * latencies. With fewer than 8 each scheduler waits for its one or two: of 200 random windows on an H200, ac38186,
 * 16-bit pixels, programs that the instruction cache holds reached 0.5 to 0.7 of their floor with 8 warps and 0.33 with
 * 4. A barrier finds few other warps at work: phases that share cost the windows fitted 5 % with up to 12 warps, but
 * gain where a minimum of three takes two instructions (as an RTX 4090, 16 bits, 11x11: 95 Gpixel/s with and 83
 * without). */
double
GetWaiting(double warps, const KernelWork & work, bool hasBarriers)
{
  constexpr double few = 8;
  const auto       most = std::max(warps, few);
  const auto       working = std::min(most, work.enough);
  return (working + work.wait) / working * most / warps * (hasBarriers && warps <= 12 ? 1.05 : 1.0);
}

/** Vectors that a thread moves for each output: pixels and shared values that it loads, and shared values that it
 * stores. */
struct MovedVectors
{
  double loaded;
  double stored;
};

/** Vectors of the footprint that a program reads. */
std::size_t
CountReadVectors(const TileProgram & program, int loadKeys)
{
  const auto      isRead = FindReadPixels(program);
  std::size_t     vectors = 0;
  FootprintVector last{ 0, 0, 0 };
  for (std::size_t pixel = 0; pixel < isRead.size(); ++pixel)
  {
    const auto vector = GetFootprintVector(program, static_cast<TileProgram::Value>(pixel), loadKeys);
    if (isRead[pixel] && (vectors == 0 || vector.line != last.line || vector.column != last.column))
    {
      ++vectors;
      last = vector;
    }
  }
  return vectors;
}

MovedVectors
CountMovedVectors(const ProgramPhases & phases, const SharedLayout & layout, int loadKeys, int tilesOfRow)
{
  const auto countDistinct = [](auto & values) {
    std::sort(values.begin(), values.end());
    return static_cast<double>(std::unique(values.begin(), values.end()) - values.begin());
  };
  MovedVectors sum{ 0, 0 };
  for (const auto & phase : phases.phases)
  {
    std::vector<std::pair<std::size_t, int>> imports;
    for (const auto & import : phase.imports)
    {
      imports.push_back({ layout.places[import.value].vector, import.position });
    }
    std::vector<std::size_t> exports;
    for (const auto value : phase.exports)
    {
      exports.push_back(layout.places[value].vector);
    }
    const auto runs = static_cast<double>(tilesOfRow + phase.last - phase.first) / tilesOfRow /
                      static_cast<double>(Volume(phase.program.GetTile()));
    const auto read = static_cast<double>(CountReadVectors(phase.program, loadKeys));
    sum.loaded += (read + countDistinct(imports)) * runs;
    sum.stored += countDistinct(exports) * runs;
  }
  return sum;
}

/** Clocks of an SM that a pixel takes by the cost model: the program's floor, with what staging, sharing, cramped
 * registers and code beyond the instruction cache add. Blocks have as many rows as the policy, or fewer where their
 * shared memory is too small, which it has then. */
double
ScoreBlock(const Window &       window,
           const KernelKind &   kind,
           const SharedLayout & layout,
           const MovedVectors & moved,
           const PhasesCost &   counted,
           KernelPolicy &       policy,
           const DeviceTraits & traits)
{
  // Comparing and choosing 64 bits takes three instructions.
  const auto each = kind.pixelBytes == 8 ? 3.0 : 1.0;
  auto       clocks = each * counted.cost.clocks;
  if (each * counted.code > traits.pipes.cachedInstructions)
  {
    clocks = std::max(clocks, (each * counted.cost.minMax + counted.cost.multiplyAdd) / fetchedPerClock);
  }
  const auto keyBytes = kind.GetRegisterBytes();
  // Keys in shared memory for each thread: what phases share, values that registers do not hold, and the staged
  // footprint.
  const auto   live = static_cast<double>(counted.cost.liveValues);
  const auto   values = static_cast<double>(GetRegisterValues(kind));
  const double positions = policy.blockX + layout.lastPosition - layout.firstPosition;
  const auto   outputs = static_cast<double>(Volume(policy.tile));
  const auto   kept = static_cast<double>(layout.numberOfVectors) * layout.keys * positions / policy.blockX +
                    std::max(0.0, live - values);
  // Rows have margins besides. Kernels whose blocks of 8 warps seemed to fit with 2 % left had 4.
  const auto countKeys = [&] { return 1.05 * (kept + CountStagedKeys(window, policy) * outputs); };
  // The rows that a block can have (FitSharedMemory() in KernelPolicy.cxx).
  while (policy.blockY > 1 && countKeys() * keyBytes * policy.blockX * policy.blockY > traits.blockSharedBytes)
  {
    policy.blockY /= 2;
  }
  const auto & work = HasGaps(window) ? workOfGaps : keyBytes == 8 ? workOf64Bits : workOf32Bits;
  clocks += (work.staged * CountStagedKeys(window, policy) + work.loaded * moved.loaded + work.stored * moved.stored +
             work.output) /
            62;
  if (window.ranks > 1)
  {
    clocks *= 1 + counted.code / longRanksProgram;
  }

  // Warps of whole blocks that an SM holds, by its registers and its shared memory. Of 250 kernels with 16 bits nvcc
  // gave a thread as many registers as this, with 16 more or less (rms).
  const auto registers = std::min(live, values) * keyBytes / 4 + work.results * outputs + work.addresses;
  const auto byRegisters = traits.registers / 32 / std::min(registers, registersOfThread);
  const auto byShared = traits.blockSharedBytes / (32 * countKeys() * keyBytes);
  const auto fitting = std::min({ byRegisters, byShared, static_cast<double>(traits.warps) });
  const auto blockWarps = policy.blockX * policy.blockY / 32.0;
  return clocks * GetWaiting(blockWarps * std::max(1.0, std::floor(fitting / blockWarps)),
                             work,
                             policy.lowering.threeInput && policy.phases.sharedPhases > 0);
}

/** Whether a program of a row of outputs keeps so few values that a thread can do with a third of what a block of 4
 * warps may have, where nvcc gives it a few registers more by itself. Measured on an H200, 4ce076c, Gpixel/s of blocks
 * of 8 warps and so, 16 bits and float: 35x3 151 and 167, 70 and 84; 39x3 141 and 155, 67 and 77; 43x3 132 and 143, 62
 * and 71; 47x3 127 and 134, 60 and 67; 53x3 111 and 114, 54 and 58; 3x51 120 and 137, 63 and 72. 59x3, with 150 values,
 * has local memory then: 103 and 100. */
bool
IsRowOfFewValues(const Window & window, const KernelKind & kind, const KernelPolicy & policy, std::size_t liveValues)
{
  constexpr std::size_t mostValues = 145;
  return kind.GetRegisterBytes() == 4 && window.CountAxes() == 2 && liveValues <= mostValues &&
         Volume(policy.tile) == *std::max_element(policy.tile.begin(), policy.tile.end());
}

/** Orders of merging that are tried. What pieces of a footprint have in common lies in any direction (SharedPieces.h).
 * Of even windows 14x14 takes 5.4 clocks with powers of two last, for 5.8. */
std::vector<Division>
ListDivisions(const Window & window)
{
  return window.footprint != nullptr ? std::vector<Division>{ Division::Halves, Division::PowerLast }
         : window.HasEvenSize() ? std::vector<Division>{ Division::Halves, Division::PowerFirst, Division::PowerLast }
                                : std::vector<Division>{ Division::Halves, Division::PowerFirst };
}

/** Instructions of a footprint's program at most, where a smaller tile has fewer: what takes a compiler some three
 * seconds. */
constexpr std::size_t longestFootprintProgram = 3200;

/** Tries policies of a window, and keeps the one with the lowest score. */
class PolicySearch
{
public:
  PolicySearch(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
    : m_Window(window)
    , m_Kind(kind)
    , m_Traits(traits)
  {}

  /** Tries all tiles that are a row of a root's. */
  void
  TryRoot(const Extent & root)
  {
    auto       lowest = none;
    const auto narrowest = HasGaps(m_Window) ? std::max<std::int64_t>(2, root[0]) : root[0];
    for (auto tileX = narrowest; tileX <= std::max<std::int64_t>(8, root[0]); tileX *= 2)
    {
      for (const auto division : ListDivisions(m_Window))
      {
        // The others of this root differ by less.
        if (lowest < none && lowest > 1.5 * m_LowestScore)
        {
          return;
        }
        lowest = std::min(lowest, TryTile(root, tileX, division));
      }
    }
  }

  const KernelPolicy &
  GetBest() const
  {
    return m_Best;
  }

private:
  static constexpr double none = std::numeric_limits<double>::max();

  /** Whether a program is too long to be worth more than what was found. */
  bool
  IsTooLong(const TileProgram & program) const
  {
    const auto size = program.GetInstructions().size();
    // Three operands to an instruction and phases make a program shorter, by a tenth where it is best. Nearly all
    // kernels of footprints are compiled at first use.
    return static_cast<double>(size) > 1.3 * m_Traits.pipes.cachedInstructions ||
           (m_Window.footprint != nullptr && size > longestFootprintProgram);
  }

  /** Tries a tile. \returns its lowest score */
  double
  TryTile(const Extent & root, std::int64_t tileX, Division division)
  {
    KernelPolicy policy;
    policy.tiling = { root, division, m_Window.ranks };
    policy.tile = root;
    policy.tile[0] = tileX;
    policy.lowering.threeInput = HasThreeInputs(m_Kind, m_Traits);
    // The smallest tile stays, whatever it takes.
    if (m_LowestScore < none && !FitsNarrowBlock(m_Window, m_Kind, policy.tile, m_Traits))
    {
      return none;
    }
    const auto program = BuildHierarchicalTilingProgram(m_Window, policy.tile, policy.tiling);
    if (m_LowestScore < none && IsTooLong(program))
    {
      return none;
    }
    auto lowest = none;
    for (const auto & phaseOptions : triedPhases)
    {
      // Pieces of a footprint are not the same from tile to tile, and what a row of root tiles shares by itself, phases
      // share better. They make the best kernels 2.2 times as fast at most (17x17).
      if (phaseOptions.sharedPhases > 0 &&
          (m_Window.footprint != nullptr || tileX > root[0] || lowest > 2.5 * m_LowestScore))
      {
        break;
      }
      policy.phases = phaseOptions;
      const auto phases = CutIntoPhases(program, policy.phases);
      if (phases.phases.size() > static_cast<std::size_t>(policy.phases.sharedPhases)) // else there is nothing to share
      {
        lowest = std::min(lowest, TrySums(policy, phases));
      }
    }
    return lowest;
  }

  /** The score of a policy, which gets blocks of as many rows as its live values ask for. Where blocks of fewer are
   * better, it gets those: of 16-bit 25x3 in tiles of 16x1 three of 4 warps find room for one of 8, 221 Gpixel/s for
   * 180 on an H200. They do not count in the score, as they would choose tiles that are slower: 3x3x5 146 for 179. */
  double
  ScorePolicy(const SharedLayout & layout,
              const MovedVectors & moved,
              const PhasesCost &   counted,
              KernelPolicy &       policy) const
  {
    const auto score = [&](KernelPolicy & of) {
      return ScoreBlock(m_Window, m_Kind, layout, moved, counted, of, m_Traits);
    };
    const auto live = counted.cost.liveValues;
    policy.registers = GetRegisterLimit(m_Kind, live);
    policy.blockY = GetBlockRows(m_Kind, live);
    policy.residentBlocks = 0;
    const auto result = score(policy);
    if (policy.blockY > leastBlockRows)
    {
      auto smaller = policy;
      smaller.blockY = leastBlockRows;
      const auto isFewValues = IsRowOfFewValues(m_Window, m_Kind, policy, live);
      if (score(smaller) < result || isFewValues)
      {
        policy.blockY = smaller.blockY;
        policy.residentBlocks = isFewValues ? 3 : 0;
      }
    }
    return result;
  }

  /** Tries shares of maxima by sums. \returns the lowest score */
  double
  TrySums(KernelPolicy & policy, const ProgramPhases & phases)
  {
    // Counted once: a maximum by sum takes two instructions on one pipe for one on the other.
    const int mostSums = m_Kind.pixelBytes == 8 ? 0 : m_Traits.pipes.mostSumPercent;
    policy.lowering.sumPercent = mostSums;
    const auto counted = CountPhases(phases, policy.lowering, policy.blockX);
    const auto layout = LayOut(phases, m_Kind);
    const auto moved = CountMovedVectors(phases, layout, GetLoadKeys(policy.tile, m_Kind), policy.blockX);
    auto       lowest = none;
    for (const int sumPercent : { mostSums, mostSums / 2, 0 })
    {
      auto       cost = counted;
      const auto fewer = counted.cost.multiplyAdd * (mostSums - sumPercent) / std::max(1, mostSums);
      cost.cost.multiplyAdd -= fewer;
      cost.cost.minMax += fewer / 2;
      cost.cost.clocks = GetFloorClocks(cost.cost);
      cost.code -= (instructionsOfAdd - 0.5) * fewer * static_cast<double>(Volume(policy.tile));
      policy.lowering.sumPercent = sumPercent;
      const auto score = ScorePolicy(layout, moved, cost, policy);
      lowest = std::min(lowest, score);
      if (score < m_LowestScore)
      {
        m_Best = policy;
        m_LowestScore = score;
      }
    }
    return lowest;
  }

  const Window &       m_Window;
  const KernelKind &   m_Kind;
  const DeviceTraits & m_Traits;
  KernelPolicy         m_Best;
  double               m_LowestScore{ none };
};

} // namespace

std::size_t
GetRegisterLimit(const KernelKind & kind, std::size_t liveValues)
{
  const auto values = GetRegisterValues(kind);
  return liveValues > values ? values : 0;
}

KernelPolicy
SearchPolicy(const Window & window, const KernelKind & kind, const DeviceTraits & traits)
{
  PolicySearch search(window, kind, traits);
  for (const auto & root : GetRootTiles(window))
  {
    search.TryRoot(root);
  }
  return search.GetBest();
}

} // namespace cudamedian
