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
// Images that are filtered in their own memory: equal to those that have memory of their own, whatever the slabs, and
// as they were where that cannot be. On a GPU and on devices that are threads of the host.

#include "CudaMedianTestDeviceRuns.h"
#include "Slab.h"
#include "SlabRun.h"
#include "itkCudaMedianInPlace.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

using Bytes = std::vector<char>;

/** A random image in its own memory, and its median. */
class Image
{
public:
  Image(const Extent & extent, PixelType type, const Extent & radius)
    : m_Pixels(MakeFewValues(extent, type))
  {
    m_Before = m_Pixels;
    m_Expected = m_Pixels;
    m_Request.pixelType = type;
    m_Request.inputExtent = extent;
    m_Request.outputExtent = extent;
    m_Request.outputStride = GetPackedStride(extent);
    m_Request.outputPixelBytes = PixelBytes(type);
    m_Request.radius = radius;
    m_Request.workUnits = 3;
    m_Request.parallelFor = RunInThreads;
    m_Request.backend = Backend::Cpu;
    m_Request.input = m_Before.data();
    m_Request.output = m_Expected.data();
    RunMedian(m_Request);
    m_Request.input = m_Pixels.data();
    m_Request.output = m_Pixels.data();
    m_Request.backend = Backend::Cuda;
  }

  MedianRequest &
  GetRequest()
  {
    return m_Request;
  }

  ExecutionReport &
  GetReport()
  {
    return m_Report;
  }

  std::size_t
  GetBytes() const
  {
    return m_Pixels.size();
  }

  std::string
  Run()
  {
    std::copy(m_Before.begin(), m_Before.end(), m_Pixels.begin());
    const auto report = RunMedianInPlace(m_Request);
    m_Report = report.whole;
    return report.whyNot;
  }

  bool
  IsDone() const
  {
    return m_Pixels == m_Expected;
  }

  bool
  IsAsItWas() const
  {
    return m_Pixels == m_Before;
  }

  /** Expects that it is filtered. */
  void
  Check()
  {
    EXPECT_EQ(Run(), "");
    EXPECT_TRUE(IsDone());
    EXPECT_EQ(m_Report.backend, "CUDA");
  }

  /** Expects that it is not filtered, and why. */
  void
  CheckObstacle(const std::string & text)
  {
    const auto why = Run();
    EXPECT_NE(why.find(text), std::string::npos) << why;
    EXPECT_TRUE(IsAsItWas()) << why;
  }

private:
  Bytes           m_Pixels;
  Bytes           m_Before;
  Bytes           m_Expected;
  MedianRequest   m_Request;
  ExecutionReport m_Report;
};

class CudaMedianInPlace : public DeviceRuns
{};

} // namespace

TEST_F(CudaMedianInPlace, RandomImagesEqualThoseWithMemoryOfTheirOwn)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(Seed());
  int             done = 0;
  for (int repeat = 0; repeat < 60 && !HasFailure(); ++repeat)
  {
    DrawnImage   drawn(random);
    const auto & extent = drawn.extent;
    const auto   type = drawn.type;
    const bool   isDeep = drawn.isDeep;
    const auto   draw = [&drawn](std::int64_t first, std::int64_t last) { return drawn.Draw(first, last); };
    Image        image(extent, type, { { draw(0, 3), draw(0, 3), isDeep ? draw(0, 2) : 0, 0 } });
    const auto   budget = static_cast<std::size_t>(draw(0, 1) * draw(20000, 200000));
    image.GetRequest().deviceMemoryBudget = budget;
    SCOPED_TRACE("image " + std::to_string(repeat) + ": " + Join(extent) + ", budget " + std::to_string(budget));
    const auto why = image.Run();
    EXPECT_TRUE(why.empty() ? image.IsDone() : image.IsAsItWas()) << why;
    EXPECT_TRUE(budget != 0 || why.empty()) << why; // a small budget leaves one slab at a time, which read a halo again
    done += why.empty() ? 1 : 0;
  }
  EXPECT_GT(done, 20);
}

// What slabs share stays on the device, and so nothing that was written is read again.
TEST_F(CudaMedianInPlace, SlabsOnTheirWayAtTheSameTime)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const std::int64_t radius : { 1, 5 })
  {
    Image image({ { 1024, 20000, 1, 1 } }, PixelType::UInt8, { { 1, radius, 0, 0 } });
    image.Check();
    ForgetTransfers();
    std::vector<float> told;
    image.GetRequest().progress = [&](float fraction) { told.push_back(fraction); };
    image.Check();
    EXPECT_GT(image.GetReport().numberOfSlabs, 1U);
    EXPECT_EQ(GetTransfers().upload, image.GetBytes());
    EXPECT_EQ(GetTransfers().download, image.GetBytes());
    EXPECT_EQ(told.size(), image.GetReport().numberOfSlabs);
    EXPECT_EQ(told.back(), 1.0F);
  }
  Image volume({ { 256, 256, 300, 1 } }, PixelType::Int16, { { 1, 1, 2, 0 } });
  volume.Check();
  EXPECT_GT(volume.GetReport().numberOfSlabs, 1U);
}

TEST_F(CudaMedianInPlace, WhatCannotBeLeavesTheImageAsItWas)
{
  CUDAMEDIAN_TRACE_SEED();
  const Extent extent{ { 64, 100, 1, 1 } };
  const auto   check = [&](const std::string & text, const std::function<void(MedianRequest &)> & change) {
    Image image(extent, PixelType::Int16, { { 1, 2, 0, 0 } });
    change(image.GetRequest());
    image.CheckObstacle(text);
  };
  check("the CPU reads pixels again", [](MedianRequest & request) { request.backend = Backend::Cpu; });
  check("the nearest pixel", [](MedianRequest & request) { request.border[1] = Border::Reflect; });
  check("the nearest pixel", [](MedianRequest & request) { request.border.fill(Border::Shrink); });
  check("the nearest pixel", [](MedianRequest & request) { request.shift[0] = 1; });
  check("copies, which read pixels again", [](MedianRequest & request) { request.validity.hasIgnoredValue = true; });
  check("copies, which read pixels again", [](MedianRequest & request) {
    request.outlierRule = OutlierRule::Absolute;
    request.outlierThreshold = 3;
  });
  check("several devices", [](MedianRequest & request) { request.devices = { 0, 0 }; });
  check("not the whole input", [](MedianRequest & request) { request.outputExtent[1] = 50; });
  check("do not follow each other", [](MedianRequest & request) {
    request.inputExtent[0] = 32;
    request.outputExtent[0] = 32;
    request.outputStride = { { 1, 64, 6400, 6400 } };
  });
  check("cannot hold the smallest slab", [](MedianRequest & request) { request.deviceMemoryBudget = 100; });
  check("1000", [](MedianRequest & request) { request.rank = 1000; });
}

// Slabs that go one after the other read their halo again.
TEST_F(CudaMedianInPlace, ABudgetForOneSlabAtATimeIsAReason)
{
  CUDAMEDIAN_TRACE_SEED();
  Image image({ { 64, 300, 1, 1 } }, PixelType::Int16, { { 1, 2, 0, 0 } });
  image.GetRequest().deviceMemoryBudget = 30000;
  image.CheckObstacle("slabs read again what others have written");
}

// Before anything is written the image is as it was, and the reason is told. Afterwards it is lost, which is an error.
TEST_F(CudaMedianInPlace, CallsThatFailAreAReasonOrAnError)
{
  CUDAMEDIAN_TRACE_SEED();
  Image image({ { 64, 100, 1, 1 } }, PixelType::Int16, { { 1, 1, 0, 0 } });
  image.Check();
  ReleaseCachedMemory();
  const auto before = CountLiveObjects();
  int        reasons = 0;
  int        errors = 0;
  bool       failed = true;
  for (int number = 1; failed && !HasFailure(); ++number)
  {
    SCOPED_TRACE("call " + std::to_string(number));
    SetCudaFaults(number, 1, cudaErrorUnknown);
    try
    {
      const auto why = image.Run();
      EXPECT_TRUE(why.empty() ? image.IsDone() : image.IsAsItWas()) << why;
      reasons += why.empty() ? 0 : 1;
    }
    catch (const DeviceError & error)
    {
      EXPECT_NE(std::string(error.what()).find("is lost"), std::string::npos) << error.what();
      ++errors;
    }
    failed = CountFailedCalls() > 0;
    ClearCudaFaults();
    image.Check();
    ReleaseCachedMemory();
    EXPECT_EQ(CountLiveObjects().Count(), before.Count());
  }
  EXPECT_GT(reasons, 3);
  EXPECT_GT(errors, 3);
}

TEST_F(CudaMedianInPlace, WhatTheProgressThrowsReachesTheCaller)
{
  CUDAMEDIAN_TRACE_SEED();
  Image image({ { 1024, 20000, 1, 1 } }, PixelType::UInt8, { { 1, 1, 0, 0 } });
  struct Stop : std::runtime_error
  {
    using std::runtime_error::runtime_error;
  };
  int calls = 0;
  image.GetRequest().progress = [&](float) {
    ++calls;
    throw Stop("stop");
  };
  EXPECT_THROW(image.Run(), Stop);
  EXPECT_EQ(calls, 1);
  image.GetRequest().progress = nullptr;
  image.Check();
}

TEST(CudaMedianInPlacePlan, SlabsFollowEachOtherAndShareNothingThatIsWritten)
{
  MedianRequest request;
  request.pixelType = PixelType::UInt8;
  request.inputExtent = { { 32, 32, 40, 1 } };
  request.outputExtent = request.inputExtent;
  request.radius = { { 1, 1, 3, 0 } };
  const auto makePlan = [&](const Extent & slab) {
    Plan plan;
    ForEachBox(request.outputExtent, slab, [&](const PixelBox & box) {
      Slab one;
      one.output = box;
      one.input = GetInputBox(request, box);
      plan.slabs.push_back(one);
    });
    return plan;
  };
  auto plan = makePlan({ { 32, 32, 8, 1 } });
  plan.slabsInFlight = 2;
  EXPECT_EQ(FindOverwrittenInput(request, plan), "");
  plan.slabsInFlight = 1;
  EXPECT_NE(FindOverwrittenInput(request, plan), "");
  request.radius[2] = 0; // no halo
  plan = makePlan({ { 32, 32, 8, 1 } });
  plan.slabsInFlight = 1;
  EXPECT_EQ(FindOverwrittenInput(request, plan), "");
  request.radius[2] = 3;
  plan = makePlan({ { 32, 8, 40, 1 } }); // another axis
  plan.slabsInFlight = 2;
  EXPECT_NE(FindOverwrittenInput(request, plan), "");
  plan = makePlan({ { 32, 16, 8, 1 } }); // two axes
  plan.slabsInFlight = 2;
  EXPECT_NE(FindOverwrittenInput(request, plan), "");
  plan = makePlan(request.outputExtent);
  plan.slabsInFlight = 1;
  EXPECT_EQ(FindOverwrittenInput(request, plan), "");
}
