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
// Least and greatest values of windows by reduction along axes, beside the ranks of sorted windows.

#include "Clamp.h"
#include "CudaMedianTestSeed.h"
#include "ExtremumPolicy.h"
#include "MaskedRequest.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "Slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace
{

using namespace cudamedian;

/** A random image, and what is found in it. */
struct Run
{
  MedianRequest     request;
  std::vector<char> input;
  std::vector<char> output;
};

Run
MakeRun(std::mt19937_64 & random, PixelType type, const Extent & extent, const Extent & radius, bool isMax)
{
  Run        run;
  auto &     request = run.request;
  const auto bytes = static_cast<std::size_t>(Volume(extent)) * PixelBytes(type);
  run.input.resize(bytes);
  run.output.assign(bytes, 0);
  std::generate(run.input.begin(), run.input.end(), [&] { return static_cast<char>(random()); });
  request.pixelType = type;
  request.backend = Backend::Cpu;
  request.inputExtent = request.outputExtent = extent;
  request.outputStride = GetPackedStride(extent);
  request.radius = radius;
  request.rank = isMax ? GetWindow(request).CountPixels() - 1 : 0;
  return run;
}

/** The bits of the least or greatest pixel of a window. */
std::uint64_t
FindExtreme(const Run & run, const Extent & place, bool isMax)
{
  const auto & request = run.request;
  const auto   window = GetWindow(request);
  const auto   stride = GetPackedStride(request.inputExtent);
  return DispatchKeys(GetKeyFormat(request.pixelType), [&](auto keys) -> std::uint64_t {
    using Key = decltype(keys);
    using Bits = typename Key::Bits;
    const auto mask = static_cast<Bits>(GetSignMask(request.pixelType));
    Bits       found = 0;
    bool       isFirst = true;
    ForEachBox(window.GetExtent(), { { 1, 1, 1, 1 } }, [&](const PixelBox & box) {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] =
          Clamp<std::int64_t>(place[axis] + box.origin[axis] - request.radius[axis], request.inputExtent[axis] - 1);
      }
      Bits bits;
      std::memcpy(
        &bits, run.input.data() + GetOffset(position, stride) * static_cast<std::int64_t>(sizeof(Bits)), sizeof(Bits));
      const bool isMore = Key::FromBits(bits, mask) > Key::FromBits(found, mask);
      found = isFirst || isMore == isMax ? bits : found;
      isFirst = false;
    });
    return found;
  });
}

void
ExpectExtremes(Run & run, bool isMax)
{
  run.request.input = run.input.data();
  run.request.output = run.output.data();
  const auto report = RunMedian(run.request);
  EXPECT_EQ(report.algorithm, "reduction along axes") << report.algorithmReason;
  const auto bytes = static_cast<std::int64_t>(PixelBytes(run.request.pixelType));
  const auto stride = GetPackedStride(run.request.inputExtent);
  int        differences = 0;
  ForEachBox(run.request.inputExtent, { { 1, 1, 1, 1 } }, [&](const PixelBox & box) {
    std::uint64_t found = 0;
    std::memcpy(&found, run.output.data() + GetOffset(box.origin, stride) * bytes, static_cast<std::size_t>(bytes));
    differences += found != FindExtreme(run, box.origin, isMax) ? 1 : 0;
  });
  EXPECT_EQ(differences, 0) << ToString(run.request.pixelType) << " " << Join(run.request.inputExtent) << " radius "
                            << Join(run.request.radius) << (isMax ? " maximum" : " minimum");
}

TEST(CudaMedianExtremum, EveryTypeAndAxis)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto type : allPixelTypes)
  {
    for (int i = 0; i < 24; ++i)
    {
      Extent extent;
      Extent radius;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        extent[axis] = 1 + static_cast<std::int64_t>(random() % (axis == 0 ? 70 : 7));
        radius[axis] = random() % 3 == 0 ? 0 : static_cast<std::int64_t>(random() % 4);
      }
      // A window of one pixel has a median.
      radius[0] = std::max<std::int64_t>(radius[0], 1);
      const bool isMax = random() % 2 == 0;
      auto       run = MakeRun(random, type, extent, radius, isMax);
      ExpectExtremes(run, isMax);
    }
  }
}

TEST(CudaMedianExtremum, LongWindowsAndManyBlocks)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  for (std::int64_t r = 1; r <= 36; ++r)
  {
    auto run = MakeRun(random, PixelType::Int16, { { 90, 5, 1, 1 } }, { { r, 0, 0, 0 } }, r % 2 == 0);
    ExpectExtremes(run, r % 2 == 0);
    auto column = MakeRun(random, PixelType::UInt8, { { 5, 90, 1, 1 } }, { { 0, r, 0, 0 } }, r % 2 != 0);
    ExpectExtremes(column, r % 2 != 0);
  }
  auto wide = MakeRun(random, PixelType::Float32, { { 2100, 60, 1, 1 } }, { { 2, 2, 0, 0 } }, false);
  wide.request.workUnits = 2;
  ExpectExtremes(wide, false);
  auto deep = MakeRun(random, PixelType::UInt16, { { 60, 40, 33, 1 } }, { { 3, 3, 3, 0 } }, true);
  ExpectExtremes(deep, true);
}

TEST(CudaMedianExtremum, OtherRanksAreRefused)
{
  std::mt19937_64 random(1);
  auto            run = MakeRun(random, PixelType::UInt8, { { 9, 9, 1, 1 } }, { { 1, 1, 0, 0 } }, true);
  run.request.input = run.input.data();
  run.request.output = run.output.data();
  run.request.algorithm = Algorithm::Extremum;
  EXPECT_NO_THROW(RunMedian(run.request));
  run.request.rank = 4;
  try
  {
    RunMedian(run.request);
    FAIL() << "not refused";
  }
  catch (const RequestError & error)
  {
    EXPECT_NE(std::string(error.what()).find("the rank is 4 of 9"), std::string::npos) << error.what();
  }
}

// A window is cut off where an image ends, but a copy of a masked image has its border too: along an axis of one pixel,
// or beside pixels that a shift leaves behind, all that a window sees may be there.
TEST(CudaMedianExtremum, WindowsReachIntoTheBordersOfMaskedCopies)
{
  MedianRequest request;
  request.pixelType = PixelType::Int16;
  request.inputExtent = request.outputExtent = { { 1, 7, 1, 9 } };
  request.radius = { { 2, 2, 1, 0 } };
  request.rank = 0;
  EXPECT_EQ(GetExtremumReach(request).before, (Extent{ { 0, 2, 0, 0 } })) << "nothing else lies along those axes";
  request.validity.hasIgnoredValue = true;
  request.border = { { Border::Constant, Border::Constant, Border::Mirror, Border::Constant } };
  for (const auto shift : { 0, 2, -1 })
  {
    request.shift = { { shift, 0, 0, 0 } };
    const auto reach = GetExtremumReach(MakeCopiedRequest(request));
    EXPECT_EQ(reach.before, request.radius) << shift;
    EXPECT_EQ(reach.behind, request.radius) << shift;
  }
}

} // namespace
