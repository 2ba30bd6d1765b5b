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
// Footprints by tile programs beside selection, through the whole engine.

#include "PixelFormat.h"
#include "Slab.h"
#include "CudaMedianTestSeed.h"
#include "itkCudaMedianEngine.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace
{

using namespace cudamedian;

constexpr PixelType allTypes[] = { PixelType::UInt8,   PixelType::Int8,    PixelType::Int16,   PixelType::UInt16,
                                   PixelType::Int32,   PixelType::UInt32,  PixelType::Int64,   PixelType::UInt64,
                                   PixelType::Float32, PixelType::Float64, PixelType::Float16, PixelType::BFloat16 };

std::int64_t
Draw(std::mt19937_64 & random, std::int64_t first, std::int64_t last)
{
  return std::uniform_int_distribution<std::int64_t>(first, last)(random);
}

/** Pixels of a random box, or one of the shapes that have programs compiled ahead. */
const Footprint *
DrawFootprint(std::mt19937_64 & random, bool isDeep)
{
  const std::int64_t deep = isDeep ? 1 : 0;
  switch (Draw(random, 0, 8))
  {
    case 0:
      return Footprint::MakeCross({ { 1, 1, deep, 0 } });
    case 1:
    {
      constexpr double radii[] = { 2, 3, 4, 5, 7 };
      const double     radius = isDeep ? 2 : radii[Draw(random, 0, 4)];
      return Footprint::MakeEllipsoid({ { radius, radius, isDeep ? radius : 0, 0 } });
    }
    case 2:
      return Footprint::MakeCentreWeighted({ { 1 + 1 - deep, 1 + 1 - deep, deep, 0 } }, 3);
    case 3:
      return Footprint::MakeEllipsoid({ { isDeep ? 2.3 : 4.6, isDeep ? 2.0 : 4.6, isDeep ? 1.5 : 0.0, 0 } });
    default:
      break;
  }
  const auto                  pixels = Draw(random, 1, 14);
  const auto                  heaviest = Draw(random, 1, 3);
  std::vector<FootprintPixel> list;
  for (std::int64_t i = 0; i < pixels; ++i)
  {
    const Extent offset{ { Draw(random, -3, 3), Draw(random, -2, 3), isDeep ? Draw(random, -2, 1) : 0, 0 } };
    list.push_back({ offset, Draw(random, 1, heaviest) });
  }
  return Footprint::Make(list);
}

std::string
Describe(const MedianRequest & request)
{
  std::string text = std::string(ToString(request.pixelType)) + " image " + Join(request.inputExtent) + " outputs " +
                     Join(request.outputOrigin) + " + " + Join(request.outputExtent) + " rank " +
                     std::to_string(request.rank) + " borders";
  for (const auto border : request.border)
  {
    text += std::string(" ") + ToString(border);
  }
  for (const auto & pixel : request.footprint->GetPixels())
  {
    text += " (" + Join(pixel.offset) + ") x " + std::to_string(pixel.weight);
  }
  return text;
}

/** A request for a footprint, and its input. */
struct Drawn
{
  MedianRequest     request;
  std::vector<char> input;

  std::vector<char>
  Run(Algorithm algorithm, ExecutionReport & report)
  {
    std::vector<char> output(static_cast<std::size_t>(Volume(request.outputExtent)) * PixelBytes(request.pixelType));
    request.input = input.data();
    request.output = output.data();
    request.algorithm = algorithm;
    report = RunMedian(request);
    return output;
  }
};

Drawn
DrawRequest(std::mt19937_64 & random, PixelType type, bool hasBorders)
{
  Drawn      drawn;
  auto &     request = drawn.request;
  const bool isDeep = Draw(random, 0, 1) == 1;
  request.pixelType = type;
  request.backend = Backend::Cpu;
  request.footprint = DrawFootprint(random, isDeep);
  request.radius = request.footprint->GetRadius();
  request.rank = Draw(random, 0, 2) == 0 ? Draw(random, 0, request.footprint->CountValues() - 1) : -1;
  request.inputExtent = {
    { Draw(random, 1, 70), Draw(random, 1, isDeep ? 12 : 40), isDeep ? Draw(random, 1, 9) : 1, 1 }
  };
  request.inputExtent[3] = Draw(random, 0, 5) == 0 ? 2 : 1;
  request.outputExtent = request.inputExtent;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    if (Draw(random, 0, 2) == 0)
    {
      request.outputOrigin[axis] = Draw(random, 0, request.inputExtent[axis] - 1);
      request.outputExtent[axis] -= request.outputOrigin[axis];
    }
    request.border[axis] = hasBorders ? static_cast<Border>(Draw(random, 0, 4)) : Border::ZeroFluxNeumann;
  }
  request.outputStride = GetPackedStride(request.outputExtent);
  request.workUnits = static_cast<unsigned>(Draw(random, 1, 3));
  drawn.input.resize(static_cast<std::size_t>(Volume(request.inputExtent)) * PixelBytes(type));
  const auto distinct = Draw(random, 0, 3) == 0 ? 3 : 256;
  for (auto & byte : drawn.input)
  {
    byte = static_cast<char>(random() % static_cast<std::uint64_t>(distinct));
  }
  for (auto & byte : request.borderValue)
  {
    byte = static_cast<unsigned char>(random());
  }
  return drawn;
}

void
CompareWithSelection(std::mt19937_64 & random, bool hasBorders, int count)
{
  for (int i = 0; i < count; ++i)
  {
    auto            drawn = DrawRequest(random, allTypes[i % std::size(allTypes)], hasBorders);
    ExecutionReport report;
    const auto      expected = drawn.Run(Algorithm::Selection, report);
    const auto      found = drawn.Run(Algorithm::TileProgram, report);
    ASSERT_EQ(report.algorithm.rfind(ToString(Algorithm::TileProgram), 0), 0U) << report.algorithm;
    ASSERT_TRUE(found == expected) << Describe(drawn.request);
  }
}

} // namespace

TEST(CudaMedianFootprintPrograms, TileProgramsEqualSelection)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  CompareWithSelection(random, false, 360);
}

TEST(CudaMedianFootprintPrograms, TileProgramsEqualSelectionBeyondAnyBorder)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 1);
  CompareWithSelection(random, true, 180);
}

TEST(CudaMedianFootprintPrograms, BoxesAsFootprintsEqualBoxes)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 2);
  for (int i = 0; i < 100; ++i)
  {
    auto drawn = DrawRequest(random, allTypes[i % std::size(allTypes)], false);
    drawn.request.footprint = Footprint::MakeBox({ { i % 3, i % 4, 0, 0 } });
    drawn.request.radius = drawn.request.footprint->GetRadius();
    drawn.request.rank = -1;
    ExecutionReport report;
    const auto      found = drawn.Run(Algorithm::TileProgram, report);
    drawn.request.footprint = nullptr;
    const auto expected = drawn.Run(Algorithm::TileProgram, report);
    ASSERT_TRUE(found == expected) << Join(drawn.request.inputExtent) << " radius " << Join(drawn.request.radius);
  }
}

TEST(CudaMedianFootprintPrograms, TileProgramsAreTakenByThemselves)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed() + 3);
  for (const auto * footprint : { Footprint::MakeCross({ { 1, 1, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 5, 5, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 7, 7, 0, 0 } }),
                                  Footprint::MakeEllipsoid({ { 2.6, 2.6, 2.6, 0 } }) })
  {
    auto drawn = DrawRequest(random, PixelType::Int16, false);
    drawn.request.footprint = footprint;
    drawn.request.radius = footprint->GetRadius();
    drawn.request.rank = -1;
    ExecutionReport report;
    drawn.Run(Algorithm::Automatic, report);
    EXPECT_EQ(report.algorithm.rfind(ToString(Algorithm::TileProgram), 0), 0U) << report.algorithm;
  }
}

TEST(CudaMedianFootprintPrograms, LargerOnesAreRefusedInWords)
{
  Drawn  drawn;
  auto & request = drawn.request;
  request.backend = Backend::Cpu;
  request.inputExtent = request.outputExtent = { { 5, 5, 1, 1 } };
  request.outputStride = GetPackedStride(request.outputExtent);
  request.footprint = Footprint::MakeEllipsoid({ { 9, 9, 0, 0 } });
  request.radius = request.footprint->GetRadius();
  drawn.input.resize(25 * PixelBytes(request.pixelType));
  ExecutionReport report;
  try
  {
    drawn.Run(Algorithm::TileProgram, report);
    FAIL() << report.algorithm;
  }
  catch (const RequestError & error)
  {
    EXPECT_NE(std::string(error.what()).find("253 of 361 pixels"), std::string::npos) << error.what();
  }
  drawn.Run(Algorithm::Automatic, report);
  EXPECT_NE(report.algorithm.rfind(ToString(Algorithm::TileProgram), 0), 0U) << report.algorithm;
}
