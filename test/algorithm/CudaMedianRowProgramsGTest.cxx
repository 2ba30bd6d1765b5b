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
#include "CudaMedianTestSeed.h"
#include "KeyLines.h"
#include "RowPrograms.h"
#include "Slab.h"
#include "TileProgram.h"

#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#ifdef CUDAMEDIAN_TEST_HIGHWAY
#  include "hwy/targets.h"
#endif
#ifdef __SSE2__
#  include <xmmintrin.h>
#endif

namespace
{

using namespace cudamedian;

/** Calls body() once for each instruction set of this machine, forced, and once with the choice left free. */
template <typename TBody>
void
ForEachInstructionSet(const TBody & body)
{
#ifdef CUDAMEDIAN_TEST_HIGHWAY
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1)
  {
    hwy::SetSupportedTargetsForTest(targets & -targets);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    SCOPED_TRACE(hwy::TargetName(targets & -targets));
    body();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
#endif
  body();
}

/** Whole blocks of lines for so many tiles. */
template <typename TKey>
std::size_t
RoundToBlocks(std::size_t tiles)
{
  return static_cast<std::size_t>(RoundUpToBlocks<TKey>(static_cast<std::int64_t>(tiles)));
}

/** Runs all phases of a program for so many tiles. */
template <typename TKey>
void
RunPhases(const RowProgram &                        program,
          const std::vector<const TKey *> &         lines,
          const std::vector<const std::uint8_t *> & ranks,
          const std::vector<TKey *> &               medians,
          std::size_t                               tiles)
{
  const auto                     first = program.phases.front().first;
  const auto                     spare = static_cast<std::size_t>(program.phases.front().last - first);
  std::vector<TKey>              slots(program.slots * rowSlotBytes / sizeof(TKey));
  std::vector<std::vector<TKey>> shared(program.sharedValues,
                                        std::vector<TKey>(RoundToBlocks<TKey>(tiles + spare) + 1));
  for (std::size_t number = 0; number < program.phases.size(); ++number)
  {
    const auto &              phase = program.phases[number];
    std::vector<const TKey *> phaseLines(lines);
    std::vector<TKey *>       phaseShared;
    for (auto & line : phaseLines)
    {
      line += phase.first;
    }
    for (auto & line : shared)
    {
      phaseShared.push_back(line.data() + 1 + phase.first - first);
    }
    program.run(sizeof(TKey),
                static_cast<int>(number),
                { phaseLines.data(),
                  phaseShared.data(),
                  medians.data(),
                  slots.data(),
                  RoundToBlocks<TKey>(tiles + static_cast<std::size_t>(phase.last - phase.first)),
                  0,
                  false,
                  std::is_signed<TKey>::value,
                  ranks.data() });
  }
}

/** The pixels of a window, from its middle, and how often each counts. */
std::vector<FootprintPixel>
ListMembers(const Window & window)
{
  if (window.footprint != nullptr)
  {
    return window.footprint->GetPixels();
  }
  std::vector<FootprintPixel> members;
  ForEachBox(window.GetExtent(), { { 1, 1, 1, 1 } }, [&](const PixelBox & pixel) {
    members.push_back({ pixel.origin, 1 });
    for (int axis = 0; axis < Dimension; ++axis)
    {
      members.back().offset[axis] -= window.radius[axis];
    }
  });
  return members;
}

/** The program's medians against sorted windows, with lines that start at odd places. */
template <typename TKey>
void
CheckProgram(const RowProgram & program, std::size_t tiles, std::uint64_t seed)
{
  std::mt19937_64 generator(seed);
  Extent          footprint;
  Extent          window;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    window[axis] = program.window.GetSize(axis);
    footprint[axis] = window[axis] + program.tile[axis] - 1;
  }
  const auto columns = program.tile[0];
  const auto lead = -program.phases.front().first;
  const auto spare = static_cast<std::size_t>(program.phases.front().last + lead);
  const auto lineTiles = RoundToBlocks<TKey>(tiles + spare) + static_cast<std::size_t>((footprint[0] - 1) / columns);
  const auto lines = static_cast<std::size_t>(Volume(footprint) / footprint[0] * columns);
  const auto outputs = static_cast<std::size_t>(Volume(program.tile) / columns); // rows of medians
  const auto rowPixels = tiles * static_cast<std::size_t>(columns);

  std::vector<std::vector<TKey>> line(lines, std::vector<TKey>(lineTiles + 3));
  std::vector<std::vector<TKey>> output(outputs, std::vector<TKey>(rowPixels + 4, 77));
  std::vector<const TKey *>      linePointers;
  std::vector<TKey *>            outputPointers;
  for (std::size_t i = 0; i < lines; ++i)
  {
    for (auto & key : line[i])
    {
      key = static_cast<TKey>(generator() % 3 == 0 ? generator() % 4 : generator());
    }
    linePointers.push_back(line[i].data() + i % 3 + lead);
  }
  for (std::size_t i = 0; i < outputs; ++i)
  {
    outputPointers.push_back(output[i].data() + i % 3);
  }
  // Of several ranks each output has one, whose rows start at odd places, too.
  std::vector<std::vector<std::uint8_t>> ranks(outputs, std::vector<std::uint8_t>(rowPixels + 2));
  std::vector<const std::uint8_t *>      rankPointers;
  for (std::size_t i = 0; i < outputs; ++i)
  {
    for (auto & rank : ranks[i])
    {
      rank = static_cast<std::uint8_t>(generator() % static_cast<std::uint64_t>(program.window.ranks));
    }
    rankPointers.push_back(ranks[i].data() + i % 3);
  }
  RunPhases(program, linePointers, rankPointers, outputPointers, tiles);

  const auto pixelAt = [&](std::size_t tile, std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto number = static_cast<std::size_t>((z * footprint[1] + y) * columns + x % columns);
    return linePointers[number][tile + static_cast<std::size_t>(x / columns)];
  };
  const auto        members = ListMembers(program.window);
  std::vector<TKey> keys;
  for (std::size_t tile = 0; tile < tiles; ++tile)
  {
    for (std::int64_t pixel = 0; pixel < Volume(program.tile); ++pixel)
    {
      const auto left = pixel % columns;
      const auto top = pixel / columns % program.tile[1];
      const auto front = pixel / columns / program.tile[1];
      keys.clear();
      for (const auto & member : members)
      {
        const auto & offset = member.offset;
        const auto & radius = program.window.radius;
        keys.insert(
          keys.end(),
          static_cast<std::size_t>(member.weight),
          pixelAt(tile, left + radius[0] + offset[0], top + radius[1] + offset[1], front + radius[2] + offset[2]));
      }
      const auto row = static_cast<std::size_t>(pixel / columns);
      const auto place = tile * static_cast<std::size_t>(columns) + static_cast<std::size_t>(left);
      const auto rank = program.window.rank + rankPointers[row][place];
      std::nth_element(keys.begin(), keys.begin() + rank, keys.end());
      ASSERT_EQ(outputPointers[row][place], keys[static_cast<std::size_t>(rank)])
        << "tile " << tile << ", pixel " << pixel;
    }
  }
  for (std::size_t i = 0; i < outputs; ++i)
  {
    EXPECT_EQ(outputPointers[i][rowPixels], 77) << "written beyond the tiles";
  }
}

/** A request to the CPU that lacks the output. */
MedianRequest
MakeRequest(PixelType type, const std::vector<char> & input, const Extent & extent, const Extent & radius)
{
  MedianRequest request;
  request.pixelType = type;
  request.input = input.data();
  request.inputExtent = extent;
  request.radius = radius;
  request.backend = Backend::Cpu;
  return request;
}

/** The upper middle values of the valid pixels of each window, whose border is the nearest pixel; of pixels without a
 * sign whose keys are their bits. */
void
FindValidMedians(const MedianRequest & request, const std::vector<std::uint8_t> & mask, char * medians)
{
  const auto bytes = PixelBytes(request.pixelType);
  const auto stride = GetPackedStride(request.inputExtent);
  const auto window = GetWindow(request);
  ForEachBox(request.outputExtent, { { 1, 1, 1, 1 } }, [&](const PixelBox & output) {
    std::vector<std::uint64_t> values;
    ForEachBox(window.GetExtent(), { { 1, 1, 1, 1 } }, [&](const PixelBox & pixel) {
      std::int64_t place = 0;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        const auto position = output.origin[axis] + pixel.origin[axis] - window.radius[axis];
        place += std::clamp<std::int64_t>(position, 0, request.inputExtent[axis] - 1) * stride[axis];
      }
      std::uint64_t value = 0;
      std::memcpy(&value, static_cast<const char *>(request.input) + place * static_cast<std::int64_t>(bytes), bytes);
      values.insert(values.end(), mask[static_cast<std::size_t>(place)] != 0 ? 1 : 0, value);
    });
    const auto own = GetOffset(output.origin, stride) * static_cast<std::int64_t>(bytes);
    std::memcpy(medians + own, static_cast<const char *>(request.input) + own, bytes);
    if (!values.empty())
    {
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::nth_element(values.begin(), middle, values.end());
      std::memcpy(medians + own, &*middle, bytes);
    }
  });
}

/** Lines of a row of pixels and back, key by key. */
template <typename TKey, KeyMapping VMapping>
void
CheckLines(int number, std::size_t blocks)
{
  // Signed pixels: their keys are the bits with another sign.
  constexpr PixelType types[] = { PixelType::Int8,  PixelType::Int16,   PixelType::Int32,
                                  PixelType::Int64, PixelType::Float32, PixelType::Float64 };
  const PixelFormat format = GetPixelFormat(*std::find_if(std::begin(types), std::end(types), [](const PixelType type) {
    const KeyFormat keys = GetKeyFormat(type);
    return GetPixelBytes(keys) == int{ sizeof(TKey) } && GetKeyMapping(keys) == VMapping;
  }));
  const auto        mask = static_cast<TKey>(GetSignMask(format));
  const auto        columns = static_cast<std::size_t>(number);
  const auto        count = blocks * lineBlockBytes / sizeof(TKey);
  std::mt19937_64   generator(blocks);
  std::vector<TKey> row(columns * count + 1);
  for (auto & bits : row)
  {
    bits = static_cast<TKey>(generator());
  }
  std::vector<std::vector<TKey>> lines(columns, std::vector<TKey>(count + 2, 99));
  std::vector<void *>            pointers;
  for (auto & line : lines)
  {
    pointers.push_back(line.data() + 1);
  }
  PixelsToLines(format, row.data(), pointers.data(), number, count);
  for (std::size_t column = 0; column < columns; ++column)
  {
    EXPECT_EQ(lines[column].front(), 99);
    EXPECT_EQ(lines[column].back(), 99);
    for (std::size_t i = 0; i < count; ++i)
    {
      const auto key = PixelKey<TKey, VMapping>::FromBits(row[i * columns + column], mask);
      ASSERT_EQ(lines[column][i + 1], key) << number << " columns of " << count;
    }
  }
  std::vector<TKey> joined(columns * count + 1, 99);
  LinesToPixels(format, pointers.data(), joined.data(), number, count);
  EXPECT_EQ(joined.back(), 99);
  joined.back() = row.back();
  EXPECT_EQ(joined, row) << number << " columns of " << count;
}

} // namespace

TEST(CudaMedianRowPrograms, YieldWhatTheProgramYields)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  ForEachInstructionSet([&] {
    for (const auto & program : GetRowPrograms())
    {
      if (!program.hasVectors())
      {
        EXPECT_EQ(FindRowProgram(program.window, 1), nullptr);
        continue;
      }
      const auto & window = program.window;
      SCOPED_TRACE("window " + std::to_string(window.GetSize(0)) + "x" + std::to_string(window.GetSize(1)) + "x" +
                   std::to_string(window.GetSize(2)) + ", rank " + std::to_string(window.rank));
      if (program.leastKeyBytes == 1)
      {
        CheckProgram<std::uint8_t>(program, 64, seed);
        CheckProgram<std::uint8_t>(program, 192, seed);
        CheckProgram<std::uint16_t>(program, 96, seed);
      }
      if (program.HasOneColumn())
      {
        CheckProgram<std::int8_t>(program, 192, seed);
        CheckProgram<std::int16_t>(program, 96, seed);
      }
      if (program.mostKeyBytes >= 4)
      {
        CheckProgram<std::uint32_t>(program, 48, seed);
      }
      if (program.mostKeyBytes == 8)
      {
        CheckProgram<std::uint64_t>(program, 24, seed);
      }
    }
  });
}

/** Programs compiled ahead are there exactly where Highway is: a build that loses them is right, and slow. */
TEST(CudaMedianRowPrograms, AreThereWithHighwayAlone)
{
#if defined(CUDAMEDIAN_TEST_PORTABLE)
  EXPECT_TRUE(GetRowPrograms().empty());
#elif defined(CUDAMEDIAN_TEST_HIGHWAY)
  EXPECT_FALSE(GetRowPrograms().empty());
#endif
}

/** Whoever knows the processor says what it must run: a slower choice yields the same medians. */
TEST(CudaMedianRowPrograms, RunWithTheInstructionSetThatIsExpected)
{
  const char * const expected = std::getenv("CUDAMEDIAN_EXPECTED_INSTRUCTION_SET");
  if (expected == nullptr)
  {
    GTEST_SKIP() << "CUDAMEDIAN_EXPECTED_INSTRUCTION_SET names none";
  }
  const Extent            extent{ { 300, 5, 1, 1 } };
  const std::vector<char> input(static_cast<std::size_t>(Volume(extent)), 1);
  std::vector<char>       output(input.size());
  auto                    request = MakeRequest(PixelType::UInt8, input, extent, { { 1, 1, 0, 0 } });
  request.outputExtent = extent;
  request.outputStride = { { 1, extent[0], Volume(extent), Volume(extent) } };
  request.output = output.data();
  request.algorithm = Algorithm::TileProgram;
  EXPECT_EQ(RunMedian(request).algorithm, std::string("tile program, compiled ahead for ") + expected);
}

TEST(CudaMedianRowPrograms, AreFoundByWindowAndWidthOfKeys)
{
  for (const auto & program : GetRowPrograms())
  {
    for (const std::size_t bytes : { 1, 2, 4, 8 })
    {
      const auto * found = FindRowProgram(program.window, bytes);
      const bool   isFor = program.leastKeyBytes <= bytes && bytes <= program.mostKeyBytes;
      EXPECT_EQ(found == &program, isFor && program.hasVectors()) << bytes << " bytes";
      EXPECT_TRUE(found == nullptr || found->window == program.window) << bytes << " bytes";
    }
    EXPECT_EQ(FindRowProgram(program.window, program.mostKeyBytes) != nullptr, program.hasVectors());
    EXPECT_NE(std::string(program.getInstructionSet()), "");
    // Whoever wants the rank as far from the other end gets the same program, or has one of its own.
    const auto & window = program.window;
    auto         other = window;
    if (window.ranks > 1)
    {
      EXPECT_EQ(FindComplementProgram(window, program.mostKeyBytes), nullptr);
      continue;
    }
    other.rank = window.CountAbove();
    const auto * complement = FindComplementProgram(other, program.mostKeyBytes);
    EXPECT_EQ(complement == &program, program.hasVectors() && !program.HasOneColumn());
    EXPECT_TRUE(complement == &program || complement == nullptr);
    EXPECT_TRUE(!program.hasVectors() || complement != nullptr ||
                FindRowProgram(other, program.mostKeyBytes) != nullptr);
  }
  EXPECT_EQ(FindRowProgram({ { 9, 1, 0, 0 } }, 1), nullptr);
}

/** Medians of valid pixels, whose steps and programs of several ranks are compiled for each instruction set. */
TEST(CudaMedianRowPrograms, MasksAreExactWithEveryInstructionSet)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(seed));
  const Extent extent{ { 203, 11, 3, 1 } };
  const auto   pixels = Volume(extent);
  for (const auto type : { PixelType::Int8, PixelType::UInt16, PixelType::Float32, PixelType::Float64 })
  {
    const auto                bytes = PixelBytes(type);
    std::vector<char>         input(static_cast<std::size_t>(pixels) * bytes);
    std::vector<std::uint8_t> mask(static_cast<std::size_t>(pixels));
    std::generate(input.begin(), input.end(), [&] { return static_cast<char>(generator() % 120); });
    std::generate(mask.begin(), mask.end(), [&] { return static_cast<std::uint8_t>(generator() % 3 != 0 ? 200 : 0); });
    for (const Extent & radius :
         { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 3, 3, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
    {
      auto request = MakeRequest(type, input, extent, radius);
      request.outputExtent = extent;
      request.outputStride = GetPackedStride(extent);
      request.validity.mask = mask.data();
      std::vector<char> expected(input.size());
      FindValidMedians(request, mask, expected.data());
      ForEachInstructionSet([&] {
        std::vector<char> output(expected.size(), 99);
        request.output = output.data();
        RunMedian(request);
        ASSERT_EQ(output, expected) << bytes << " bytes, radius " << radius[0] << ", " << radius[2];
      });
    }
  }
}

/** Rows of every length around those of vectors, cut out of wider images at every place: no row is aligned. */
TEST(CudaMedianRowPrograms, TheEngineIsExactWithEveryInstructionSet)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(seed));
  const Extent extent{ { 211, 13, 3, 1 } };
  const auto   pixels = static_cast<std::size_t>(Volume(extent));
  for (const auto type : { PixelType::Int8, PixelType::UInt16, PixelType::Float32, PixelType::Float64 })
  {
    const auto        bytes = PixelBytes(type);
    std::vector<char> input(pixels * bytes);
    for (auto & byte : input)
    {
      byte = static_cast<char>(generator() % 200); // no NaN with a payload, which sorts by payload
    }
    for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } },
                                   Extent{ { 2, 2, 0, 0 } },
                                   Extent{ { 5, 5, 0, 0 } },
                                   Extent{ { 6, 6, 0, 0 } },
                                   Extent{ { 1, 1, 1, 0 } },
                                   Extent{ { 2, 2, 2, 0 } },
                                   Extent{ { 6, 0, 0, 0 } },
                                   Extent{ { 0, 3, 1, 0 } } })
    {
      auto       request = MakeRequest(type, input, extent, radius);
      const auto first = static_cast<std::int64_t>(generator() % 70);
      const auto length = static_cast<std::int64_t>(1 + generator() % 140);
      request.outputOrigin = { { first, 1, 0, 0 } };
      request.outputExtent = { { length, 11, 3, 1 } };
      request.outputStride = { { 1, length, length * 11, length * 33 } };
      std::vector<char> expected(static_cast<std::size_t>(length * 33) * bytes);
      request.output = expected.data();
      request.algorithm = Algorithm::Selection;
      RunMedian(request);
      ForEachInstructionSet([&] {
        for (const unsigned units : { 1U, 2U, 3U, 7U })
        {
          std::vector<char> actual(expected.size(), 1);
          request.output = actual.data();
          request.algorithm = Algorithm::TileProgram;
          request.workUnits = units;
          request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
            std::vector<std::thread> threads;
            for (std::size_t i = 0; i < count; ++i)
            {
              threads.emplace_back(body, i);
            }
            for (auto & thread : threads)
            {
              thread.join();
            }
          };
          const auto report = RunMedian(request);
          ASSERT_EQ(actual, expected) << ToString(type) << ", radius " << radius[0] << "x" << radius[1] << "x"
                                      << radius[2] << ", " << length << " columns from " << first << ", "
                                      << report.algorithm;
          EXPECT_GT(report.hostScratchBytes, 0);
          if (bytes == 1)
          {
            request.algorithm = Algorithm::SlidingHistogram;
            RunMedian(request);
            ASSERT_EQ(actual, expected) << "sliding histograms, radius " << radius[0] << "x" << radius[1] << "x"
                                        << radius[2] << ", " << length << " columns from " << first;
          }
        }
      });
    }
  }
}

/** Sets this thread's floating point unit to take denormal numbers for zeros, and back. */
class DenormalsAreZero
{
public:
  explicit DenormalsAreZero(bool isOn)
  {
#if defined(__SSE2__)
    _mm_setcsr(isOn ? m_Before | 0x40U : m_Before);
#else
    (void)isOn;
#endif
  }
  ~DenormalsAreZero()
  {
#if defined(__SSE2__)
    _mm_setcsr(m_Before);
#endif
  }
  DenormalsAreZero(const DenormalsAreZero &) = delete;
  DenormalsAreZero &
  operator=(const DenormalsAreZero &) = delete;

private:
#if defined(__SSE2__)
  const unsigned m_Before{ _mm_getcsr() };
#endif
};

/** Zeros of both signs, denormal numbers, infinities and NaN have their places, whatever the processor takes them for.
 */
template <typename TPixel>
void
ExpectKeysOrder(PixelType type)
{
  using Limits = std::numeric_limits<TPixel>;
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE(ToString(type) + std::string(", seed ") + std::to_string(seed));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(seed));
  const Extent extent{ { 1501, 23, 1, 1 } };
  // By rows: only numbers, then with zeros of both signs, denormal numbers, infinities and NaN of both signs.
  const TPixel        special[] = { -TPixel{ 0 },       Limits::denorm_min(), -Limits::denorm_min(), TPixel{ 0 },
                                    Limits::infinity(), -Limits::infinity(),  Limits::quiet_NaN(),   -Limits::quiet_NaN() };
  std::vector<TPixel> input(static_cast<std::size_t>(Volume(extent)));
  for (std::size_t i = 0; i < input.size(); ++i)
  {
    const auto row = i / static_cast<std::size_t>(extent[0]);
    const auto kinds = static_cast<unsigned>(row % 9);
    const bool isSpecial = kinds > 0 && generator() % (row < 12 ? 40 : 3) == 0;
    input[i] = isSpecial ? special[generator() % kinds] : static_cast<TPixel>(generator() % 7) - TPixel{ 3 };
  }
  for (const auto radius : { 1, 2 })
  {
    MedianRequest request;
    request.pixelType = type;
    request.input = input.data();
    request.inputExtent = extent;
    request.radius = { { radius, radius, 0, 0 } };
    request.outputExtent = extent;
    request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] } };
    request.backend = Backend::Cpu;
    std::vector<TPixel> expected(input.size());
    request.output = expected.data();
    request.algorithm = Algorithm::Selection;
    RunMedian(request);
    ForEachInstructionSet([&] {
      for (const bool isOn : { false, true })
      {
        const DenormalsAreZero denormals(isOn);
        std::vector<TPixel>    actual(input.size());
        request.output = actual.data();
        request.algorithm = Algorithm::TileProgram;
        const auto report = RunMedian(request);
        // To the last bit.
        EXPECT_EQ(std::memcmp(actual.data(), expected.data(), input.size() * sizeof(TPixel)), 0)
          << "radius " << radius << ", " << report.algorithm << (isOn ? ", denormal numbers are zeros" : "");
      }
    });
  }
}

TEST(CudaMedianRowPrograms, FloatsAreOrderedAsTheirKeys)
{
  ExpectKeysOrder<float>(PixelType::Float32);
  ExpectKeysOrder<double>(PixelType::Float64);
}

/** Rows so long that work units share them, of a height that fills no tile. */
TEST(CudaMedianRowPrograms, LongRowsAreSharedByWorkUnits)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(static_cast<std::mt19937::result_type>(seed));
  const Extent extent{ { 3001 + static_cast<std::int64_t>(generator() % 200), 7, 3, 1 } };
  const auto   pixels = static_cast<std::size_t>(Volume(extent));
  for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
  {
    std::vector<char> input(pixels * PixelBytes(type));
    for (auto & byte : input)
    {
      byte = static_cast<char>(generator() % 100);
    }
    for (const Extent & radius :
         { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 3, 3, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
    {
      std::vector<char> expected(input.size());
      auto              request = MakeRequest(type, input, extent, radius);
      request.outputExtent = extent;
      request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
      request.output = expected.data();
      request.algorithm = Algorithm::Selection;
      RunMedian(request);
      for (const unsigned units : { 1U, 5U, 64U })
      {
        std::vector<char> actual(expected.size(), 1);
        request.output = actual.data();
        request.algorithm = Algorithm::TileProgram;
        request.workUnits = units;
        request.parallelFor = [](std::size_t count, const std::function<void(std::size_t)> & body) {
          for (std::size_t i = 0; i < count; ++i)
          {
            body(i);
          }
        };
        const auto report = RunMedian(request);
        ASSERT_EQ(actual, expected) << ToString(type) << ", radius " << radius[0] << "x" << radius[1] << "x"
                                    << radius[2] << ", " << units << " work units, " << report.algorithm;
      }
    }
  }
}

TEST(CudaMedianKeyLines, SplitAndJoin)
{
  ForEachInstructionSet([] {
    for (const int number : { 1, 2, 3, 4, 5, 8 })
    {
      for (const std::size_t blocks : { 1, 2, 3, 7 })
      {
        CheckLines<std::uint8_t, KeyMapping::Integer>(number, blocks);
        CheckLines<std::uint16_t, KeyMapping::Integer>(number, blocks);
        CheckLines<std::uint32_t, KeyMapping::Integer>(number, blocks);
        CheckLines<std::uint64_t, KeyMapping::Integer>(number, blocks);
        CheckLines<std::uint32_t, KeyMapping::Float>(number, blocks);
        CheckLines<std::uint64_t, KeyMapping::Float>(number, blocks);
      }
    }
  });
}
