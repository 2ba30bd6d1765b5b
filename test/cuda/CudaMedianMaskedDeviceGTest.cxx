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
// Masked requests for images in device memory, beside a brute force on sorted keys. Built for GPUs and for devices that
// are threads of the host.

#include "itkCudaMedianDevice.h"

#include "CudaMedianTestDevice.h"
#include "CudaMedianTestMaskedCases.h"
#include "CudaMedianTestSeed.h"

#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

/** Device memory with a copy of what lies in the host's, between bytes that nobody must write to. */
class DeviceCopy
{
public:
  /** \param shift bytes between an address at which vectors can be read and the copy. */
  DeviceCopy(const std::vector<char> & bytes, std::size_t shift)
    : m_First(guardBytes + shift)
    , m_Bytes(bytes.size())
    , m_Guarded(m_First + bytes.size() + guardBytes, guard)
  {
    std::copy(bytes.begin(), bytes.end(), m_Guarded.begin() + static_cast<std::ptrdiff_t>(m_First));
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void **>(&m_Memory), m_Guarded.size()), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(m_Memory, m_Guarded.data(), m_Guarded.size(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~DeviceCopy() { cudaFree(m_Memory); }
  DeviceCopy(const DeviceCopy &) = delete;
  DeviceCopy &
  operator=(const DeviceCopy &) = delete;

  char *
  Get() const
  {
    return m_Memory + m_First;
  }

  void
  Read(std::vector<char> & bytes) const
  {
    auto found = m_Guarded;
    EXPECT_EQ(cudaMemcpy(found.data(), m_Memory, found.size(), cudaMemcpyDeviceToHost), cudaSuccess);
    const auto first = found.begin() + static_cast<std::ptrdiff_t>(m_First);
    const auto last = first + static_cast<std::ptrdiff_t>(m_Bytes);
    const auto isGuard = [](char byte) { return byte == guard; };
    EXPECT_TRUE(std::all_of(found.begin(), first, isGuard) && std::all_of(last, found.end(), isGuard))
      << "written beside the output";
    bytes.assign(first, last);
  }

private:
  static constexpr std::size_t guardBytes = 256;
  static constexpr char        guard = 0x5A;

  char *            m_Memory{ nullptr };
  std::size_t       m_First;
  std::size_t       m_Bytes;
  std::vector<char> m_Guarded;
};

/** Runs a case in device memory, in some budget. \returns the report.
 * \param mayShift whether images may begin where no vectors can be read. */
ExecutionReport
RunOnDevice(std::mt19937_64 & random, MaskedCase & drawn, bool mayShift = true)
{
  const std::size_t shifts = mayShift ? 2 : 1;
  const DeviceCopy  input(drawn.base.input, random() % shifts * drawn.base.bytes);
  const DeviceCopy  output(drawn.base.output, random() % shifts * drawn.base.bytes);
  const DeviceCopy  mask(drawn.mask, random() % shifts * drawn.base.request.validity.maskPixelBytes);
  auto              request = drawn.base.request;
  request.input = input.Get();
  request.output = output.Get();
  request.validity.mask = request.validity.mask != nullptr ? mask.Get() : nullptr;
  request.deviceMemoryBudget = random() % 2 == 0 ? 4096 + random() % 100000 : 0;
  ExecutionReport report;
  try
  {
    report = RunMedianOnDevice(request, nullptr);
  }
  catch (const RequestError &)
  {
    // Too little for the smallest piece.
    EXPECT_NE(request.deviceMemoryBudget, 0U);
    request.deviceMemoryBudget = 0;
    report = RunMedianOnDevice(request, nullptr);
  }
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  output.Read(drawn.base.output);
  return report;
}

/** Asks for all outputs of a case, as is done in device memory, and for nothing that is not. */
void
AskForAll(MaskedCase & drawn)
{
  auto & request = drawn.base.request;
  request.outputOrigin = {};
  request.outputExtent = request.inputExtent;
  request.outputStride = GetPackedStride(request.inputExtent);
  drawn.base.output.assign(static_cast<std::size_t>(Volume(request.inputExtent)) * drawn.base.bytes, 0);
  request.output = drawn.base.output.data();
  const bool hasDeviations = request.outlierRule == OutlierRule::Deviations;
  request.outlierRule = hasDeviations && drawn.base.bytes == 8 ? OutlierRule::Absolute : request.outlierRule;
  if (IsHalfFloat(request.pixelType) && request.evenMedian == EvenMedian::Mean)
  {
    request.evenMedian = EvenMedian::Lower;
  }
}

} // namespace

TEST(CudaMedianMaskedDevice, EqualsBruteForce)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (int i = 0; i < 1000 && !HasFailure(); ++i)
  {
    auto drawn = DrawMaskedCase(random, types[random() % std::size(types)], 9, 2);
    AskForAll(drawn);
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunOnDevice(random, drawn));
    CompareValid(drawn.base);
  }
}

// Lines of several segments, and windows of many ranks.
TEST(CudaMedianMaskedDevice, LargeWindowsAndLongLines)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (int i = 0; i < 30 && !HasFailure(); ++i)
  {
    auto drawn = DrawMaskedCase(random, types[random() % std::size(types)], 100, 6);
    AskForAll(drawn);
    const auto pixels = GetWindow(drawn.base.request).CountPixels();
    if (pixels * Volume(drawn.base.request.inputExtent) > 5000000)
    {
      continue;
    }
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunOnDevice(random, drawn));
    CompareValid(drawn.base);
  }
}

/** A random case in rows without gaps, most of them of whole vectors and of a word's 32 pixels or more, some of
 * thousands of pixels. */
MaskedCase
DrawLongRows(std::mt19937_64 & random, PixelType type)
{
  const auto draw = [&random](std::int64_t largest) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(largest + 1));
  };
  MaskedCase drawn;
  auto &     request = drawn.base.request;
  drawn.base.bytes = PixelBytes(type);
  request.pixelType = type;
  request.inputExtent = { { 16 * (1 + draw(8)) + (draw(3) == 0 ? draw(15) : 0), 1 + draw(9), 1 + draw(3), 1 } };
  if (draw(4) == 0) // more words of flags than a warp has lanes
  {
    request.inputExtent[0] = 1000 + draw(2200);
  }
  request.radius = { { draw(draw(5) == 0 ? 40 : 3), draw(2), draw(1), 0 } };
  const auto border = static_cast<Border>(draw(5));
  request.border.fill(border);
  std::generate(
    request.borderValue.begin(), request.borderValue.end(), [&] { return static_cast<unsigned char>(random()); });
  drawn.base.input.resize(static_cast<std::size_t>(Volume(request.inputExtent)) * drawn.base.bytes);
  std::generate(drawn.base.input.begin(), drawn.base.input.end(), [&] { return static_cast<char>(random()); });
  if (draw(1) == 0)
  {
    DrawFewValues(random, drawn.base);
  }
  request.input = drawn.base.input.data();
  DrawRules(random, drawn);
  request.validity.maskStride = {};
  const auto kind = draw(5);
  request.rank = kind == 0 ? 0 : kind == 1 ? GetWindow(request).CountPixels() - 1 : -1;
  request.evenMedian = request.rank < 0 && draw(3) == 0 ? EvenMedian::Lower : EvenMedian::Upper;
  AskForAll(drawn);
  const auto & rules = request.validity;
  drawn.base.text = std::string(ToString(type)) + " extent " + Join(request.inputExtent) + " radius " +
                    Join(request.radius) + " border " + ToString(border) + " rank " + std::to_string(request.rank) +
                    " mask bytes " + std::to_string(rules.mask == nullptr ? 0 : rules.maskPixelBytes) + " ignored " +
                    std::to_string(rules.hasIgnoredValue) + " NaN " + std::to_string(rules.omitsNaN) + " empty " +
                    ToString(rules.emptyWindow) + " invalid " + ToString(rules.invalidOutput);
  return drawn;
}

// Where vectors can be read and written, and results are written where they belong; beside them tails and borders.
TEST(CudaMedianMaskedDevice, RowsOfWholeVectors)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 4);
  for (int i = 0; i < 250 && !HasFailure(); ++i)
  {
    auto drawn = DrawLongRows(random, types[random() % std::size(types)]);
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunOnDevice(random, drawn));
    CompareValid(drawn.base);
  }
}

// Kernels that read masks where they lie are compiled at first use; on the host there are none, and masks are copied.
TEST(CudaMedianMaskedDevice, MasksAreReadWhereTheyLie)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 5);
  int             direct = 0;
  std::string     last;
  for (const auto & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
  {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32 })
    {
      for (int i = 0; i < 12 && !HasFailure(); ++i)
      {
        auto   drawn = DrawLongRows(random, type);
        auto & request = drawn.base.request;
        request.algorithm = Algorithm::TileProgram; // for whose kernels it waits
        request.compilation = Compilation::Wait;
        request.radius = radius;
        request.border.fill(i % 2 == 0 ? Border::ZeroFluxNeumann : Border::Shrink);
        request.rank = -1;
        request.evenMedian = EvenMedian::Upper;
        request.validity.maskPixelBytes = 1;
        drawn.base.text += " but radius " + Join(radius) + " border " + ToString(request.border[0]);
        SCOPED_TRACE(drawn.base.text);
        ExecutionReport report;
        ASSERT_NO_THROW(report = RunOnDevice(random, drawn, false));
        CompareValid(drawn.base);
        last = report.algorithm + ", " + report.slabReason;
        direct += report.slabReason.find("what tells which pixels are valid") != std::string::npos ? 1 : 0;
      }
    }
  }
#ifdef CUDAMEDIAN_TEST_ON_HOST
  EXPECT_EQ(direct, 0);
#else
  EXPECT_GT(direct, 30) << "of 108; the last one: " << last;
#endif
}

// Windows whose counts take four bytes each.
TEST(CudaMedianMaskedDevice, WindowsOfMoreValuesThan16BitsCount)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 3);
  for (const bool isDrawn : { false, true })
  {
    MaskedCase drawn;
    auto &     request = drawn.base.request;
    drawn.base.bytes = 2;
    drawn.base.input.resize(6 * 5 * 2);
    std::generate(drawn.base.input.begin(), drawn.base.input.end(), [&] { return static_cast<char>(random()); });
    drawn.mask.assign(6 * 5, 0); // none is valid, or some are
    std::generate_n(drawn.mask.begin(), isDrawn ? 6 * 5 : 0, [&] { return static_cast<char>(random() % 2); });
    request.pixelType = PixelType::Int16;
    request.inputExtent = { { 6, 5, 1, 1 } };
    request.radius = { { 150, 150, 0, 0 } };
    request.input = drawn.base.input.data();
    request.validity.mask = drawn.mask.data();
    request.validity.emptyWindow = EmptyWindow::Value;
    request.validity.emptyValue.fill(77);
    AskForAll(drawn);
    ASSERT_NO_THROW(RunOnDevice(random, drawn));
    CompareValid(drawn.base);
  }
}

// Windows some of whose pixels do not count, or count several times.
TEST(CudaMedianMaskedDevice, Deviations)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  for (int i = 0; i < 400 && !HasFailure(); ++i)
  {
    auto   drawn = DrawMaskedCase(random, types[random() % std::size(types)], 9, 1);
    auto & request = drawn.base.request;
    AskForAll(drawn);
    if (drawn.base.bytes == 8)
    {
      continue;
    }
    const Extent radii[] = { { { 1, 1, 0, 0 } }, { { 2, 2, 0, 0 } }, { { 3, 3, 0, 0 } },
                             { { 1, 1, 1, 0 } }, { { 4, 4, 0, 0 } }, { { 1, 0, 2, 0 } } };
    const bool   isBox = random() % 4 != 0;
    request.footprint = isBox ? nullptr : request.footprint;
    request.radius = isBox ? radii[random() % std::size(radii)] : request.radius;
    request.shorter = {};
    request.shift = {};
    request.rank = -1;
    if (random() % 2 == 0) // all pixels count
    {
      request.validity = {};
      std::replace(request.border.begin(), request.border.end(), Border::Shrink, Border::Reflect);
    }
    request.outlierRule = OutlierRule::Deviations;
    request.outlierThreshold = static_cast<double>(random() % 3000) / 1000;
    drawn.base.text += std::string(" but radius ") + Join(request.radius) + " and deviations" +
                       (request.validity.mask == nullptr ? ", no mask" : "");
    SCOPED_TRACE(drawn.base.text);
    ASSERT_NO_THROW(RunOnDevice(random, drawn));
    CompareValid(drawn.base);
  }
}

// Vectors of outputs of which all pixels count, the last ones of rows beside them.
TEST(CudaMedianMaskedDevice, DeviationsInLongRows)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 6);
  const Extent    radii[] = { { { 1, 1, 0, 0 } }, { { 2, 2, 0, 0 } }, { { 3, 3, 0, 0 } },  { { 1, 1, 1, 0 } },
                              { { 0, 3, 1, 0 } }, { { 4, 1, 0, 0 } }, { { 20, 2, 0, 0 } }, { { 8, 8, 0, 0 } } };
  int             inPlace = 0;
  for (int i = 0; i < 160 && !HasFailure(); ++i)
  {
    auto   drawn = DrawLongRows(random, types[random() % std::size(types)]);
    auto & request = drawn.base.request;
    if (drawn.base.bytes == 8)
    {
      continue;
    }
    request.validity = {};
    std::replace(request.border.begin(), request.border.end(), Border::Shrink, Border::Reflect);
    if (random() % 2 == 0)
    {
      request.border.fill(Border::ZeroFluxNeumann);
    }
    request.radius = radii[random() % std::size(radii)];
    if (random() % 4 == 0)
    {
      request.footprint = Footprint::MakeEllipsoid({ { 1 + static_cast<double>(random() % 9), 2, 1, 0 } });
      request.radius = request.footprint->GetRadius();
    }
    request.rank = -1;
    request.outlierRule = OutlierRule::Deviations;
    request.outlierThreshold =
      random() % 9 == 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(random() % 3000) / 1000;
    drawn.base.text += " but radius " + Join(request.radius) + (request.footprint != nullptr ? " ellipsoid" : "") +
                       " beyond " + std::to_string(request.outlierThreshold) + " deviations";
    SCOPED_TRACE(drawn.base.text);
    ExecutionReport report;
    ASSERT_NO_THROW(report = RunOnDevice(random, drawn, random() % 2 == 0));
    CompareValid(drawn.base);
    inPlace += report.slabReason == "filtered where it lies" && request.outlierThreshold < 3 ? 1 : 0;
  }
  EXPECT_GT(inPlace, 0);
}

// Kernels that replace outliers alone: 3x3 compiled ahead, others at first use. On the host there are none.
TEST(CudaMedianMaskedDevice, OutliersAreToldAsMediansAreWritten)
{
  CUDAMEDIAN_NEEDS_GPU();
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64    random(cudamediantest::Seed() + 7);
  const auto * const disk = Footprint::MakeEllipsoid({ { 2, 2, 0, 0 } });
  const Window       windows[] = {
    Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 1, 1, 1, 0 } }, Window(disk, -1)
  };
  int         direct = 0;
  std::string last;
  for (const auto & window : windows)
  {
    for (const auto type : { PixelType::UInt8,
                             PixelType::Int8,
                             PixelType::UInt16,
                             PixelType::Int16,
                             PixelType::Float32,
                             PixelType::Int64 })
    {
      for (int i = 0; i < 12 && !HasFailure(); ++i)
      {
        auto   drawn = DrawLongRows(random, type);
        auto & request = drawn.base.request;
        request.validity = {};
        request.algorithm = Algorithm::TileProgram; // for whose kernels it waits
        request.compilation = Compilation::Wait;
        request.radius = window.radius;
        request.footprint = window.footprint;
        request.border.fill(Border::ZeroFluxNeumann);
        request.rank = -1;
        request.evenMedian = EvenMedian::Upper;
        request.outlierRule = OutlierRule::Absolute;
        const double thresholds[] = { 0, 1, 3.5, 40, 1e4, 1e9, std::numeric_limits<double>::infinity() };
        request.outlierThreshold = thresholds[random() % std::size(thresholds)];
        drawn.base.text +=
          " but radius " + Join(window.radius) + " and outliers beyond " + std::to_string(request.outlierThreshold);
        SCOPED_TRACE(drawn.base.text);
        ExecutionReport report;
        ASSERT_NO_THROW(report = RunOnDevice(random, drawn, i % 4 == 0));
        CompareValid(drawn.base);
        last = report.algorithm + ", " + report.slabReason;
        direct += report.slabReason.find("outliers told as medians are written") != std::string::npos ? 1 : 0;
      }
    }
  }
#ifdef CUDAMEDIAN_TEST_ON_HOST
  EXPECT_EQ(direct, 0);
#else
  EXPECT_GT(direct, 60) << "of 288; the last one: " << last;
#endif
}

TEST(CudaMedianMaskedDevice, ReportsAndRefusals)
{
  CUDAMEDIAN_NEEDS_GPU();
  std::mt19937_64 random(7);
  MaskedCase      drawn;
  auto &          request = drawn.base.request;
  drawn.base.bytes = 2;
  request.pixelType = PixelType::Int16;
  request.inputExtent = { { 64, 32, 1, 1 } };
  request.radius = { { 2, 2, 0, 0 } };
  drawn.base.input.assign(64 * 32 * 2, 3);
  drawn.mask.assign(64 * 32, 1);
  AskForAll(drawn);
  request.input = drawn.base.input.data();
  request.validity.mask = drawn.mask.data();
  const auto report = RunOnDevice(random, drawn);
  EXPECT_EQ(report.validity, "those of a mask");
  EXPECT_NE(report.slabReason.find("extreme keys where pixels are not valid"), std::string::npos) << report.slabReason;
  CompareValid(drawn.base);

  const DeviceCopy input(drawn.base.input, 0);
  const DeviceCopy output(drawn.base.input, 0);
  const auto       getError = [&](const void * mask, OutlierRule rule, PixelType type, EvenMedian even) {
    auto wrong = request;
    wrong.input = input.Get();
    wrong.output = output.Get();
    wrong.validity.mask = mask;
    wrong.outlierRule = rule;
    wrong.pixelType = type;
    wrong.evenMedian = even;
    try
    {
      RunMedianOnDevice(wrong, nullptr);
    }
    catch (const RequestError & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  constexpr auto all = OutlierRule::None;
  constexpr auto upper = EvenMedian::Upper;
  EXPECT_EQ(getError(drawn.mask.data(), all, PixelType::Int16, upper), "The mask does not lie in device memory");
  EXPECT_EQ(getError(output.Get() + 5, all, PixelType::Int16, upper), "The output overlaps the mask");
  EXPECT_EQ(getError(nullptr, OutlierRule::Deviations, PixelType::Float64, upper),
            "In device memory outliers of 64-bit pixels are told by their distance from the median, and not by "
            "deviations");
  EXPECT_EQ(getError(input.Get(), all, PixelType::Float16, EvenMedian::Mean),
            "In device memory half floats have no mean of two middle values; take the upper or the lower one");
}
