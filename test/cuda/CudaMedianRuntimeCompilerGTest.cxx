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
#include "DeviceProfiles.h"
#include "ProgramEmitter.h"
#include "RuntimeCompiler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace
{

using namespace cudamedian;

void
CheckCompiles(const Extent &       radius,
              int                  pixelBytes,
              bool                 isFloat,
              int                  architecture,
              bool                 isForFamily = false,
              const DeviceTraits & traits = GetH200Traits())
{
  const auto     kind = GetKernelKind(pixelBytes, architecture, isForFamily);
  const auto     policy = GetKernelPolicy(radius, kind, traits);
  EmittedProgram count;
  const auto     source = MakeKernelSource(BuildKernelProgram(radius, policy, kind), policy, kind, isFloat, count);
  std::string    error;
  const auto     binary = RuntimeCompiler::Get().Compile(source, { architecture, false, isForFamily }, error);
  EXPECT_EQ(error, "");
  EXPECT_EQ(binary.substr(0, 4), "\177ELF");
  EXPECT_NE(binary.find(runtimeKernelName), std::string::npos);
}

#define REQUIRE_NVRTC()                                                                                  \
  if (!RuntimeCompiler::Get().IsAvailable())                                                             \
  {                                                                                                      \
    ASSERT_STRNE(std::getenv("CUDAMEDIAN_REQUIRE_GPU"), "1") << RuntimeCompiler::Get().GetDescription(); \
    GTEST_SKIP() << RuntimeCompiler::Get().GetDescription();                                             \
  }                                                                                                      \
  static_assert(true, "")

} // namespace

/** Whoever chooses a release says which: the loader may find another one first. */
TEST(CudaMedianRuntimeCompiler, IsOfTheReleaseThatIsExpected)
{
  REQUIRE_NVRTC();
  const char * const expected = std::getenv("CUDAMEDIAN_EXPECTED_NVRTC");
  if (expected == nullptr)
  {
    GTEST_SKIP() << "CUDAMEDIAN_EXPECTED_NVRTC names none";
  }
  EXPECT_EQ(RuntimeCompiler::Get().GetDescription(), std::string("NVRTC ") + expected);
}

TEST(CudaMedianRuntimeCompiler, CompilesEveryPackingOfEveryWidth)
{
  REQUIRE_NVRTC();
  // Every release that is taken knows these; those of CUDA 12 learned of newer ones later.
  EXPECT_EQ(RuntimeCompiler::Get().GetNewestArchitecture(90), 90);
  for (const int architecture : { 75, 80, 90, 100 })
  {
    if (RuntimeCompiler::Get().GetNewestArchitecture(architecture) < architecture)
    {
      continue;
    }
    for (const int pixelBytes : { 1, 2, 4, 8 })
    {
      SCOPED_TRACE("sm_" + std::to_string(architecture) + ", " + std::to_string(pixelBytes) + " bytes");
      CheckCompiles({ { 1, 1, 0, 0 } }, pixelBytes, pixelBytes >= 4, architecture);
    }
  }
}

TEST(CudaMedianRuntimeCompiler, CompilesQuadsForAFamily)
{
  REQUIRE_NVRTC();
  if (!RuntimeCompiler::Get().KnowsFamilies())
  {
    GTEST_SKIP() << RuntimeCompiler::Get().GetDescription() << " compares pairs";
  }
  for (const int architecture : { 120, 121 })
  {
    ASSERT_EQ(GetKernelKind(1, architecture, true).packing, KeyPacking::Quad);
    CheckCompiles({ { 1, 1, 0, 0 } }, 1, false, architecture, true);
  }
}

TEST(CudaMedianRuntimeCompiler, CompilesEveryPackingAlongOneAxis)
{
  REQUIRE_NVRTC();
  for (const int architecture : { 75, 80, 90 })
  {
    for (const int pixelBytes : { 1, 2, 4, 8 })
    {
      SCOPED_TRACE("sm_" + std::to_string(architecture) + ", " + std::to_string(pixelBytes) + " bytes");
      CheckCompiles({ { 2, 0, 0, 0 } }, pixelBytes, pixelBytes >= 4, architecture);
      CheckCompiles({ { 0, 0, 2, 0 } }, pixelBytes, pixelBytes >= 4, architecture);
    }
  }
}

TEST(CudaMedianRuntimeCompiler, CompilesStepsAndExcesses)
{
  REQUIRE_NVRTC();
  CheckCompiles({ { 2, 2, 0, 0 } }, 2, false, 90, false, GetArchitectureTraits(90));
  CheckCompiles({ { 2, 2, 0, 0 } }, 4, true, 90, false, GetArchitectureTraits(90));
  CheckCompiles({ { 1, 1, 1, 0 } }, 4, false, 90, false, GetArchitectureTraits(90));
}

TEST(CudaMedianRuntimeCompiler, CompilesUnusualWindows)
{
  REQUIRE_NVRTC();
  CheckCompiles({ { 0, 0, 0, 0 } }, 2, false, 90);
  CheckCompiles({ { 15, 0, 0, 0 } }, 2, false, 90);
  CheckCompiles({ { 0, 2, 0, 1 } }, 1, false, 90);
  CheckCompiles({ { 2, 0, 1, 0 } }, 4, true, 90);
}

TEST(CudaMedianRuntimeCompiler, SaysWhatIsWrong)
{
  REQUIRE_NVRTC();
  std::string error;
  EXPECT_EQ(RuntimeCompiler::Get().Compile("this is no CUDA", { 90 }, error), "");
  EXPECT_NE(error.find("error"), std::string::npos) << error;
  error.clear();
  EXPECT_EQ(RuntimeCompiler::Get().Compile("__global__ void k() {}", { 1 }, error), "");
  EXPECT_NE(error, "");
}
