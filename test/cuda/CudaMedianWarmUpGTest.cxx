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
// Kernels that are compiled before they are needed, for a device that is not at hand.
#include "itkCudaMedianWarmUp.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace
{

using namespace cudamedian;

WarmUpRequest
MakeRequest(const Extent & radius, const std::string & target)
{
  WarmUpRequest request;
  request.radii = { radius };
  request.pixelTypes = { PixelType::UInt16 };
  request.target = target;
  return request;
}

std::string
GetError(const WarmUpRequest & request)
{
  try
  {
    WarmUp(request);
  }
  catch (const std::runtime_error & error)
  {
    return error.what();
  }
  return "";
}

} // namespace

TEST(CudaMedianWarmUp, ATargetNeedsNoDevice)
{
#ifdef CUDAMEDIAN_TEST_HAS_CUDA
  const auto folder = std::filesystem::temp_directory_path() / "CudaMedianWarmUpTest";
  std::filesystem::remove_all(folder);
  const char * const before = std::getenv("XDG_CACHE_HOME");
  const std::string  kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  std::size_t reported = 0;
  auto        request = MakeRequest({ { 2, 0, 0, 0 } }, "sm_90");
  request.radii.push_back({ { 100, 100, 0, 0 } });
  const auto results = WarmUp(request, [&reported](const WarmUpResult &) { ++reported; });
  setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_EQ(reported, 2U);
  const auto & kernel = results.front();
  EXPECT_EQ(kernel.device, "sm_90");
  EXPECT_EQ(kernel.window, (Extent{ { 5, 1, 1, 1 } }));
  EXPECT_EQ(kernel.pixelType, PixelType::UInt16);
  if (kernel.isReady)
  {
    EXPECT_EQ(kernel.how.rfind("compiled with NVRTC", 0), 0U) << kernel.how;
    EXPECT_FALSE(std::filesystem::is_empty(folder / "cudamedian"));
  }
  else
  {
    EXPECT_NE(kernel.how.find("no NVRTC"), std::string::npos) << kernel.how;
  }
  EXPECT_TRUE(results.back().isReady);
  EXPECT_EQ(results.back().how, "nothing to compile: others are faster");
  std::filesystem::remove_all(folder);
#else
  const auto results = WarmUp(MakeRequest({ { 2, 0, 0, 0 } }, "sm_90"));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_FALSE(results.front().isReady);
  EXPECT_EQ(results.front().how, "this build of CudaMedian has no CUDA");
#endif
}

TEST(CudaMedianWarmUp, SaysWhatIsWrong)
{
  EXPECT_NE(GetError(MakeRequest({ { 1, 0, 0, 0 } }, "sm_1")).find("known are t4, "), std::string::npos);
  EXPECT_EQ(GetError(MakeRequest({ { 1, -1, 0, 0 } }, "sm_90")), "A radius is negative; radii start at 0");
  auto request = MakeRequest({ { 1, 0, 0, 0 } }, "");
  request.devices = { 4711 };
  EXPECT_NE(GetError(request), "");
}

TEST(CudaMedianWarmUp, WithoutTypesThereIsNothingToDo)
{
  auto request = MakeRequest({ { 1, 0, 0, 0 } }, "h100");
  request.pixelTypes.clear();
  EXPECT_TRUE(WarmUp(request).empty());
}
