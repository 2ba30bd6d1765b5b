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
// What is seen of a driver without starting it. The driver here is one of tests (DriverOfTests.cxx), which the library
// finds by the name of the real one since it has been loaded before; without that one, there is none.

#include "CudaDriver.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cstdlib>

namespace
{

bool hasStarted = false;

} // namespace

// What CurrentDevice.cxx says.
namespace cudamedian
{
bool
HasStartedCuda();
}

bool
cudamedian::HasStartedCuda()
{
  return hasStarted;
}

namespace
{

using namespace cudamedian;

class CudaMedianDriver : public testing::Test
{
protected:
  CudaMedianDriver()
  {
    unsetenv("CUDA_VISIBLE_DEVICES");
    EXPECT_NE(dlopen(CUDAMEDIAN_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
  }
  ~CudaMedianDriver() override
  {
    unsetenv("CUDA_VISIBLE_DEVICES");
    hasStarted = false;
  }

  static DriverState
  GetStateOf(const char * driver)
  {
    setenv("CUDAMEDIAN_DRIVER_OF_TESTS", driver, 1);
    return GetDriverState();
  }
};

TEST_F(CudaMedianDriver, IsSeenWithoutAStart)
{
  EXPECT_EQ(GetStateOf("asleep"), DriverState::Waiting);
  EXPECT_EQ(GetStateOf("awake"), DriverState::Waiting);
  EXPECT_EQ(GetStateOf("used"), DriverState::Started) << "another library has a context on the second device";
  EXPECT_EQ(GetStateOf("asleep"), DriverState::Waiting);
  hasStarted = true;
  EXPECT_EQ(GetStateOf("asleep"), DriverState::Started);
}

TEST_F(CudaMedianDriver, ShowsNoDevice)
{
  for (const char * const none : { "", "-1", "-1,0" })
  {
    setenv("CUDA_VISIBLE_DEVICES", none, 1);
    EXPECT_EQ(GetStateOf("asleep"), DriverState::None) << none;
    hasStarted = true;
    EXPECT_EQ(GetStateOf("asleep"), DriverState::Started) << none;
    hasStarted = false;
  }
  for (const char * const some : { "0", "1,-1", "GPU-1234" })
  {
    setenv("CUDA_VISIBLE_DEVICES", some, 1);
    EXPECT_EQ(GetStateOf("asleep"), DriverState::Waiting) << some;
  }
}

TEST_F(CudaMedianDriver, ThatWasAskedAndHasNoDeviceIsNotWaitedFor)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
    {
      const bool isRight = GetStateOf("asleep") == DriverState::Waiting;
      RememberNoDevice();
      std::_Exit(isRight && GetStateOf("awake") == DriverState::None ? 0 : 1);
    },
    testing::ExitedWithCode(0),
    "");
}

} // namespace
