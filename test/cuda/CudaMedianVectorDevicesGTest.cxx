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
// The vector median's way over devices that are threads of the host (HostRuntime.cxx): slabs, several devices,
// failures.
#include "CudaFaults.h"
#include "CudaMedianTestVectors.h"
#include "HostRuntime.h"

namespace
{

using namespace cudamedian;
using namespace cudamediantest;

class CudaMedianVectorDevices : public testing::Test
{
protected:
  void
  TearDown() override
  {
    ClearCudaFaults();
    for (int device = 0; device < hostruntime::numberOfDevices; ++device)
    {
      hostruntime::LoseDevice(device, cudaSuccess);
    }
    ReleaseCachedMemory();
    EXPECT_EQ(CountLiveObjects().Count(), 0U);
  }

  /** An image of 60 rows. */
  static VectorCase<std::uint16_t>
  MakeRows(std::mt19937_64 & generator)
  {
    VectorCase<std::uint16_t> test;
    test.request.componentType = PixelType::UInt16;
    test.request.backend = Backend::Cuda;
    test.request.radius = { { 1, 2, 0, 0 } };
    test.request.inputExtent = test.request.outputExtent = { { 20, 60, 1, 1 } };
    test.Fill(generator);
    return test;
  }
};

TEST_F(CudaMedianVectorDevices, EqualBruteForceInSlabs)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed());
  std::size_t     slabs = 0;
  ForEachVectorCase(generator, [&](auto & test) {
    test.request.backend = Backend::Cuda;
    EXPECT_EQ(test.Run().numberOfSlabs, 1U);
    EXPECT_EQ(test.CountWrong(), 0U);
    test.request.deviceMemoryBudget = test.input.size() * sizeof(test.input[0]) * 3 / 2;
    try
    {
      slabs += test.Run().numberOfSlabs;
      EXPECT_EQ(test.CountWrong(), 0U);
    }
    catch (const RequestError &)
    {
      // Too little for the smallest slab with its halo.
    }
  });
  EXPECT_GT(slabs, 100U);
}

TEST_F(CudaMedianVectorDevices, ShareSlabs)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 1);
  auto            test = MakeRows(generator);
  hostruntime::ForgetTouchedDevices();
  test.request.devices = { 1, 3 };
  test.request.deviceMemoryBudget = 20 * 6 * 2 * 12;
  float last = 0;
  test.request.progress = [&last](float fraction) { last = fraction; };
  EXPECT_GT(test.Run().numberOfSlabs, 2U);
  EXPECT_EQ(last, 1.0F);
  EXPECT_EQ(test.CountWrong(), 0U);
  EXPECT_EQ(hostruntime::GetTouchedDevices(), (std::set<int>{ 1, 3 }));
}

TEST_F(CudaMedianVectorDevices, OthersFilterWhatALostDeviceHad)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 2);
  auto            test = MakeRows(generator);
  test.request.devices = { 0, 2 };
  test.request.deviceMemoryBudget = 20 * 6 * 2 * 12;
  hostruntime::LoseDeviceAtLaunch(2, 1, cudaErrorIllegalAddress);
  const auto report = test.Run();
  EXPECT_EQ(test.CountWrong(), 0U);
  EXPECT_EQ(report.backend, "CUDA");
}

TEST_F(CudaMedianVectorDevices, LostDeviceIsAnErrorOrTheCpus)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 generator(Seed() + 3);
  auto            test = MakeRows(generator);
  test.request.deviceMemoryBudget = 20 * 6 * 2 * 12;
  hostruntime::LoseDeviceAtLaunch(0, 2, cudaErrorIllegalAddress);
  EXPECT_THROW(test.Run(), DeviceError);
  hostruntime::LoseDevice(0, cudaSuccess);
  test.request.backend = Backend::Auto;
  hostruntime::LoseDeviceAtLaunch(0, 2, cudaErrorIllegalAddress);
  std::vector<float> told;
  test.request.progress = [&told](float fraction) { told.push_back(fraction); };
  const auto report = test.Run();
  EXPECT_EQ(report.backend, "CPU");
  EXPECT_NE(report.backendReason.find("CUDA failed"), std::string::npos) << report.backendReason;
  EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
  EXPECT_EQ(test.CountWrong(), 0U);
  hostruntime::LoseDevice(0, cudaSuccess);
  test.request.backend = Backend::Cuda;
  EXPECT_EQ(test.Run().backend, "CUDA");
  EXPECT_EQ(test.CountWrong(), 0U);
}

TEST_F(CudaMedianVectorDevices, ProgressStopsThem)
{
  std::mt19937_64 generator(Seed() + 4);
  auto            test = MakeRows(generator);
  test.request.backend = Backend::Auto;
  test.request.deviceMemoryBudget = 20 * 6 * 2 * 12;
  test.request.progress = [](float) { throw std::domain_error("enough"); };
  EXPECT_THROW(test.Run(), std::domain_error);
  test.request.devices = { 0, 1 };
  EXPECT_THROW(test.Run(), std::domain_error);
}

TEST_F(CudaMedianVectorDevices, NoMemoryIsAnError)
{
  std::mt19937_64 generator(Seed() + 5);
  auto            test = MakeRows(generator);
  SetAllocationFaults(1, forEver);
  EXPECT_THROW(test.Run(), DeviceError);
  test.request.backend = Backend::Auto;
  EXPECT_EQ(test.Run().backend, "CPU");
  EXPECT_EQ(test.CountWrong(), 0U);
}

} // namespace
