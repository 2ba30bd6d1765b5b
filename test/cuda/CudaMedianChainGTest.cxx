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
// Steps one after the other, with what is between them in device memory: equal to the steps by themselves, with one
// upload and one download, and a reason in words where they are not run. On a GPU and on devices that are threads of
// the host.

#include "CudaMedianTestDeviceRuns.h"
#include "Slab.h"
#include "itkCudaMedianChain.h"
#ifdef CUDAMEDIAN_TEST_ON_HOST
#  include "HostRuntime.h"
#endif

#include <cstring>
#include <memory>
#include <string>

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

using Bytes = std::vector<char>;

/** A random image, steps for it, and what they give on the CPU one by one. */
class Chain
{
public:
  Chain(const Extent & extent, PixelType type, std::vector<MedianRequest> windows)
    : m_Steps(std::move(windows))
    , m_Input(MakeFewValues(extent, type))
    , m_Output(m_Input.size(), 0)
  {
    for (auto & step : m_Steps)
    {
      step.pixelType = type;
      step.inputExtent = extent;
      step.outputExtent = extent;
      step.outputStride = GetPackedStride(extent);
      step.outputPixelBytes = PixelBytes(type);
      step.backend = Backend::Cuda;
      step.workUnits = 3;
      step.parallelFor = RunInThreads;
    }
    m_Steps.front().input = m_Input.data();
    m_Steps.front().output = m_Output.data();
    m_Expected = m_Input;
    for (auto step : m_Steps)
    {
      const auto before = m_Expected;
      step.backend = Backend::Cpu;
      step.deviceMemoryBudget = 0;
      step.input = before.data();
      step.output = m_Expected.data();
      RunMedian(step);
    }
  }

  std::vector<MedianRequest> &
  GetSteps()
  {
    return m_Steps;
  }

  std::size_t
  GetBytes() const
  {
    return m_Input.size();
  }

  /** Wants a box of the image alone. */
  void
  Crop(const Extent & origin, const Extent & extent)
  {
    m_Steps.front().outputOrigin = origin;
    m_Steps.front().outputExtent = extent;
    m_Steps.front().outputStride = GetPackedStride(extent);
    const auto bytes = PixelBytes(m_Steps.front().pixelType);
    const auto stride = GetPackedStride(m_Steps.front().inputExtent);
    Bytes      cropped;
    ForEachBox(extent, { { extent[0], 1, 1, 1 } }, [&](const PixelBox & row) {
      Extent first;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        first[axis] = origin[axis] + row.origin[axis];
      }
      const auto * pixels = m_Expected.data() + static_cast<std::size_t>(GetOffset(first, stride)) * bytes;
      cropped.insert(cropped.end(), pixels, pixels + static_cast<std::size_t>(extent[0]) * bytes);
    });
    m_Expected = cropped;
    m_Output.assign(cropped.size(), 0);
    m_Steps.front().output = m_Output.data();
  }

  ChainReport
  Run()
  {
    std::fill(m_Output.begin(), m_Output.end(), static_cast<char>(77));
    return RunMedianChain(m_Steps);
  }

  bool
  IsDone() const
  {
    return m_Output == m_Expected;
  }

  /** Runs the chain, which has to be done. */
  ChainReport
  Check()
  {
    auto report = Run();
    EXPECT_EQ(report.whyNot, "");
    EXPECT_EQ(report.steps.size(), m_Steps.size());
    EXPECT_TRUE(IsDone());
    EXPECT_LE(report.whole.deviceBytes, report.whole.deviceMemoryBudget);
    EXPECT_EQ(report.whole.backend, "CUDA");
    return report;
  }

private:
  std::vector<MedianRequest> m_Steps;
  Bytes                      m_Input;
  Bytes                      m_Output;
  Bytes                      m_Expected;
};

/** A step that has nothing but a window. */
MedianRequest
MakeWindow(const Extent & radius, std::int64_t rank = -1)
{
  MedianRequest step;
  step.radius = radius;
  step.rank = rank;
  return step;
}

class CudaMedianChain : public DeviceRuns
{};

} // namespace

TEST_F(CudaMedianChain, RandomChainsEqualTheirSteps)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(Seed());
  int             inSlabs = 0;
  for (int repeat = 0; repeat < 60 && !HasFailure(); ++repeat)
  {
    DrawnImage   drawn(random);
    const auto & extent = drawn.extent;
    const auto   type = drawn.type;
    const bool   isDeep = drawn.isDeep;
    const auto   draw = [&drawn](std::int64_t first, std::int64_t last) { return drawn.Draw(first, last); };
    std::vector<MedianRequest> steps;
    for (auto count = draw(2, 4); count > 0; --count)
    {
      auto step = MakeWindow({ { draw(0, 3), draw(0, 3), isDeep ? draw(0, 2) : 0, 0 } });
      if (draw(0, 3) == 0)
      {
        step.shorter[0] = step.radius[0] > 0 ? 1 : 0;
      }
      std::int64_t pixels = 1;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        pixels *= 2 * step.radius[axis] + 1 - step.shorter[axis];
      }
      const auto kind = draw(0, 4);
      step.rank = kind == 0 ? 0 : kind == 1 ? pixels - 1 : kind == 2 ? draw(0, pixels - 1) : -1;
      step.border.fill(std::vector<Border>{ Border::ZeroFluxNeumann,
                                            Border::ZeroFluxNeumann,
                                            Border::Constant,
                                            Border::Reflect,
                                            Border::Mirror }[static_cast<std::size_t>(draw(0, 4))]);
      steps.push_back(step);
    }
    Chain chain(extent, type, steps);
    if (draw(0, 2) == 0)
    {
      Extent origin;
      Extent part;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        origin[axis] = draw(0, extent[axis] - 1);
        part[axis] = draw(1, extent[axis] - origin[axis]);
      }
      chain.Crop(origin, part);
    }
    const auto budget = static_cast<std::size_t>(draw(0, 1) * draw(60000, 400000));
    chain.GetSteps().back().deviceMemoryBudget = budget;
    SCOPED_TRACE("chain " + std::to_string(repeat) + ": " + Join(extent) + ", budget " + std::to_string(budget));
    const auto report = chain.Run();
    if (budget != 0 && report.whyNot.find("memory budget") != std::string::npos)
    {
      continue; // the smallest slab has the halo of all steps
    }
    EXPECT_EQ(report.whyNot, "");
    EXPECT_TRUE(chain.IsDone());
    EXPECT_LE(report.whole.deviceBytes, report.whole.deviceMemoryBudget);
    inSlabs += report.whole.numberOfSlabs > 1 ? 1 : 0;
  }
  EXPECT_GT(inSlabs, 3);
}

TEST_F(CudaMedianChain, TheImageIsTransferredOnceEachWay)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain({ { 256, 100, 3, 1 } },
              PixelType::Int16,
              { MakeWindow({ { 1, 1, 1, 0 } }), MakeWindow({ { 2, 2, 0, 0 } }, 0), MakeWindow({ { 1, 1, 0, 0 } }) });
  chain.Check(); // what kernels need once is there
  ForgetTransfers();
  const auto report = chain.Check();
  EXPECT_EQ(report.whole.numberOfSlabs, 1U);
  EXPECT_EQ(GetTransfers().upload, chain.GetBytes());
  EXPECT_EQ(GetTransfers().download, chain.GetBytes());
  EXPECT_NE(report.whole.algorithm.find(", then "), std::string::npos) << report.whole.algorithm;
  EXPECT_GT(report.whole.kernelSeconds, 0);
}

// The halo of all steps passes from slab to slab on the device.
TEST_F(CudaMedianChain, SlabsOnTheirWayAtTheSameTimeUploadOnce)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain({ { 1024, 20000, 1, 1 } },
              PixelType::UInt8,
              { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 1, 2, 0, 0 } }), MakeWindow({ { 0, 3, 0, 0 } }) });
  chain.Check();
  ForgetTransfers();
  std::vector<float> told;
  chain.GetSteps().front().progress = [&](float fraction) { told.push_back(fraction); };
  const auto report = chain.Check();
  EXPECT_GT(report.whole.numberOfSlabs, 1U);
  EXPECT_NE(report.whole.slabReason.find("at the same time"), std::string::npos) << report.whole.slabReason;
  EXPECT_EQ(GetTransfers().upload, chain.GetBytes());
  EXPECT_EQ(GetTransfers().download, chain.GetBytes());
  EXPECT_EQ(told.size(), report.whole.numberOfSlabs);
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(told.back(), 1.0F);
}

TEST_F(CudaMedianChain, SeveralDevicesShareTheSlabs)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain(
    { { 1024, 20000, 1, 1 } }, PixelType::UInt8, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 1, 2, 0, 0 } }) });
  for (auto & step : chain.GetSteps())
  {
    step.devices = { 0, 0 };
  }
  const auto report = chain.Check();
  EXPECT_NE(report.whole.slabReason.find("dealt to device 0"), std::string::npos) << report.whole.slabReason;
}

TEST_F(CudaMedianChain, WhatTheProgressThrowsReachesTheCaller)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain(
    { { 1024, 20000, 1, 1 } }, PixelType::UInt8, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 1, 2, 0, 0 } }) });
  struct Stop : std::runtime_error
  {
    using std::runtime_error::runtime_error;
  };
  // Of several slabs, so that something is left to do when the first one is told.
  chain.GetSteps().front().deviceMemoryBudget = std::size_t{ 4 } << 20;
  int calls = 0;
  chain.GetSteps().front().progress = [&](float) {
    ++calls;
    throw Stop("stop");
  };
  EXPECT_THROW(chain.Run(), Stop);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(chain.IsDone());
  chain.GetSteps().front().progress = nullptr;
  chain.Check();
}

TEST_F(CudaMedianChain, ASmallBudgetCutsSlabsAndATooSmallOneIsAReason)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain(
    { { 200, 300, 1, 1 } }, PixelType::Int16, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 2, 2, 0, 0 } }) });
  chain.GetSteps()[1].deviceMemoryBudget = 200000;
  const auto report = chain.Check();
  EXPECT_GT(report.whole.numberOfSlabs, 1U);
  EXPECT_EQ(report.whole.deviceMemoryBudget, 200000U);
  for (const int budget : { 1600, 90 })
  {
    chain.GetSteps()[0].deviceMemoryBudget = static_cast<std::size_t>(budget);
    const auto why = chain.Run().whyNot;
    EXPECT_NE(why.find("A device memory budget of "), std::string::npos) << why;
#ifdef CUDAMEDIAN_TEST_ON_HOST // whose kernels have no tiles, so that the smallest slab is a pixel with its halo
    EXPECT_NE(why.find(budget == 1600 ? "pixels are filtered for 60000; the limit is 3 times" : "the smallest slab"),
              std::string::npos)
      << why;
#endif
  }
}

// Of local ranks, sliding histograms and such. They end before the next step begins.
TEST_F(CudaMedianChain, KernelsThatNeedMemoryOfTheirOwnKeepToTheBudget)
{
  CUDAMEDIAN_TRACE_SEED();
  for (const std::int64_t radius : { 12, 40 })
  {
    for (const std::size_t mebibytes : { 0, 64 })
    {
      Chain chain({ { 201, 150, 1, 1 } },
                  PixelType::Int16,
                  { MakeWindow({ { radius, radius, 0, 0 } }),
                    MakeWindow({ { 1, 1, 0, 0 } }),
                    MakeWindow({ { radius, 1, 0, 0 } }) });
      chain.GetSteps().front().deviceMemoryBudget = mebibytes << 20;
      chain.Check();
    }
  }
}

// The report says why; the next run is right, and nothing is left behind.
TEST_F(CudaMedianChain, CallsThatFailAreAReason)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain(
    { { 64, 100, 1, 1 } }, PixelType::Int16, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 2, 2, 0, 0 } }) });
  for (auto & step : chain.GetSteps())
  {
    step.deviceMemoryBudget = 60000;
  }
  EXPECT_GT(chain.Check().whole.numberOfSlabs, 1U);
  ReleaseCachedMemory();
  const auto before = CountLiveObjects();
  for (const auto error : { cudaErrorUnknown, cudaErrorMemoryAllocation })
  {
    for (const int count : { 1, forEver })
    {
      int  reasons = 0;
      bool failed = true;
      for (int number = 1; failed && !HasFailure(); number += 3)
      {
        SCOPED_TRACE("from call " + std::to_string(number) + " on, " + std::to_string(count) + " times");
        SetCudaFaults(number, count, error);
        const auto report = chain.Run();
        failed = CountFailedCalls() > 0;
        const auto call = GetFailedCall();
        ClearCudaFaults();
        EXPECT_TRUE(!report.whyNot.empty() || chain.IsDone()) << call << " failed";
        EXPECT_TRUE(failed || report.whyNot.empty()) << report.whyNot;
        reasons += report.whyNot.empty() ? 0 : 1;
        chain.Check();
        ReleaseCachedMemory();
        EXPECT_EQ(CountLiveObjects().Count(), before.Count()) << "left behind after " << call << " failed";
      }
      EXPECT_GT(reasons, 5);
    }
  }
}

#ifdef CUDAMEDIAN_TEST_ON_HOST
// Of what is between the steps, too, with rows that are multiples of 16 bytes and others.
TEST_F(CudaMedianChain, NothingIsCopiedThatWasNotWritten)
{
  CUDAMEDIAN_TRACE_SEED();
  hostruntime::WatchInitialization(true);
  const int before = hostruntime::CountUninitializedCopies();
  for (const std::int64_t row : { 37, 64 })
  {
    for (const std::size_t budget : { 0, 50000 })
    {
      ReleaseCachedMemory();
      Chain chain(
        { { row, 29, 9, 1 } }, PixelType::UInt8, { MakeWindow({ { 1, 2, 1, 0 } }), MakeWindow({ { 1, 1, 0, 0 } }) });
      chain.GetSteps().front().deviceMemoryBudget = budget;
      EXPECT_EQ(chain.Check().whole.numberOfSlabs > 1, budget != 0);
    }
  }
  EXPECT_EQ(hostruntime::CountUninitializedCopies(), before);
  hostruntime::WatchInitialization(false);
}
#endif

TEST_F(CudaMedianChain, TheAutomaticChoiceTellsItsEstimates)
{
  CUDAMEDIAN_TRACE_SEED();
  Chain chain(
    { { 64, 64, 1, 1 } }, PixelType::UInt8, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 1, 1, 0, 0 } }) });
  for (auto & step : chain.GetSteps())
  {
    step.backend = Backend::Auto;
  }
  const auto report = chain.Run();
  const auto text = report.whyNot.empty() ? report.whole.backendReason : report.whyNot;
  EXPECT_NE(text.find("one after the other at "), std::string::npos) << text;
  EXPECT_TRUE(!report.whyNot.empty() || chain.IsDone());
}

TEST_F(CudaMedianChain, WhatAChainCannotDoIsNamed)
{
  CUDAMEDIAN_TRACE_SEED();
  const auto expect = [](const char * why, const auto & change) {
    Chain chain(
      { { 16, 16, 1, 1 } }, PixelType::UInt8, { MakeWindow({ { 1, 1, 0, 0 } }), MakeWindow({ { 1, 1, 0, 0 } }) });
    change(chain.GetSteps());
    const auto found = chain.Run().whyNot;
    EXPECT_NE(found.find(why), std::string::npos) << found;
  };
  using Steps = std::vector<MedianRequest>;
  expect("there is one", [](Steps & steps) { steps.resize(1); });
  expect("step 1 is to run on the CPU", [](Steps & steps) { steps[1].backend = Backend::Cpu; });
  expect("step 1 has other pixels", [](Steps & steps) { steps[1].pixelType = PixelType::Int8; });
  expect("or other devices", [](Steps & steps) { steps[1].devices = { 0 }; });
  expect("step 1: windows that wrap around", [](Steps & steps) { steps[1].border[1] = Border::Wrap; });
  expect("step 0: In a chain windows are not clipped", [](Steps & steps) { steps[0].border.fill(Border::Shrink); });
  expect("step 1: In a chain all pixels are valid", [](Steps & steps) {
    static const std::vector<std::uint8_t> mask(256, 1);
    steps[1].validity.mask = mask.data();
    steps[1].validity.maskPixelBytes = 1;
    steps[1].validity.maskStride = { { 1, 16, 256, 256 } };
  });
  expect("step 0: In a chain all pixels are replaced", [](Steps & steps) {
    steps[0].outlierRule = OutlierRule::Absolute;
    steps[0].outlierThreshold = 3;
  });
  expect("step 1: In a chain all pixels are valid", [](Steps & steps) { steps[1].validity.hasIgnoredValue = true; });
  expect("the request is empty", [](Steps & steps) { steps[0].outputExtent[0] = 0; });
  expect("The rank is 9; in a window of 9 pixels", [](Steps & steps) { steps[1].rank = 9; });
  expect("Merge tiling does not cover", [](Steps & steps) {
    steps[1].algorithm = Algorithm::MergeTiling;
    steps[1].radius[2] = 1;
  });
}
