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
// Kernels that prove themselves, and what happens to those that do not.

#include "CudaMedianTestDevice.h"
#include "itkCudaMedianSelfTest.h"
#include "TrialImage.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#ifdef CUDAMEDIAN_TEST_HAS_CUDA
#  include "KernelMeans.h"
#  include "RuntimeCompiler.h"
#endif

namespace
{

using namespace cudamedian;

/** Filters a trial image and compares it with the CPU's selection. */
ExecutionReport
ExpectRight(const Extent & radius,
            PixelType      type,
            Backend        backend,
            Algorithm      algorithm = Algorithm::Automatic,
            Compilation    compilation = Compilation::Wait)
{
  TrialImage image(radius, type);
  image.request.backend = Backend::Cpu;
  image.request.algorithm = Algorithm::Selection;
  RunMedian(image.request);
  const auto expected = image.result;
  image.result.assign(image.result.size(), 0);
  image.request.backend = backend;
  image.request.algorithm = algorithm;
  image.request.compilation = compilation;
  const auto report = RunMedian(image.request);
  EXPECT_EQ(image.Compare(expected), "");
  return report;
}

} // namespace

TEST(CudaMedianSelfTest, EveryAlgorithmOfTheHostIsRight)
{
  std::set<std::string> kernels;
  std::size_t           reported = 0;
  const auto            results = SelfTest({}, [&](const SelfTestResult &) { ++reported; });
  EXPECT_EQ(reported, results.size());
  for (const auto & result : results)
  {
    EXPECT_EQ(result.wrong, "") << result.device << ", " << result.kernel << ", " << result.window[0] << "x"
                                << result.window[1] << "x" << result.window[2] << ", " << ToString(result.pixelType);
    kernels.insert(result.device == "host" ? result.kernel.substr(0, result.kernel.find(" for ")) : result.kernel);
  }
  EXPECT_EQ(kernels.count("tile program, interpreted"), 1U);
  EXPECT_EQ(kernels.count("local ranks"), 1U);
  EXPECT_EQ(kernels.count("sliding histograms"), 1U);
  EXPECT_EQ(kernels.count("selection"), 1U);
  if (cudamediantest::GpuIsRequired())
  {
    EXPECT_EQ(kernels.count("the kernel compiled ahead"), 1U);
    EXPECT_EQ(kernels.count("the kernels of merge tiling"), 1U);
  }
}

TEST(CudaMedianSelfTest, TheTableNamesWhatIsWrong)
{
  SelfTestResult right;
  right.device = "host";
  right.kernel = "selection";
  right.window = { { 3, 3, 1, 1 } };
  auto wrong = right;
  wrong.device = "CUDA device 7";
  wrong.window = { { 3, 1, 5, 1 } };
  wrong.pixelType = PixelType::Int16;
  wrong.wrong = "9 of 10 pixels are wrong";
  std::ostringstream text;
  PrintSelfTest({ right, wrong }, text);
  EXPECT_NE(text.str().find("wrong: CUDA device 7, selection, 3x1x5, int16: 9 of 10 pixels are wrong"),
            std::string::npos)
    << text.str();
  EXPECT_NE(text.str().find("1 of 2 checks are right"), std::string::npos) << text.str();
}

TEST(CudaMedianSelfTest, ADeviceThatIsNotThereIsNamed)
{
  try
  {
    SelfTest({ 4711 });
    FAIL() << "there cannot be so many devices";
  }
  catch (const DeviceError & error)
  {
    EXPECT_NE(std::string(error.what()), "");
  }
}

TEST(CudaMedianTrialImage, OnePixelThatDiffersIsFound)
{
  TrialImage image({ { 1, 1, 0, 0 } }, PixelType::UInt16);
  auto       expected = image.pixels;
  image.result = expected;
  EXPECT_EQ(image.Compare(expected), "");
  expected[2 * 331 + 1] = static_cast<char>(expected[2 * 331 + 1] ^ 1);
  EXPECT_EQ(image.Compare(expected), "1 of " + std::to_string(expected.size() / 2) + " pixels are wrong");
}

// A map of ranks goes with a copy, which has integers for half floats.
TEST(CudaMedianTrialImage, MapsOfHalfFloatsAreTriedToo)
{
  for (const auto type : { PixelType::Float16, PixelType::BFloat16 })
  {
    Window window(Extent{ { 1, 1, 0, 0 } });
    window.rank = 3;
    window.ranks = 4;
    TrialImage image(window, type);
    image.request.backend = Backend::Cpu;
    EXPECT_NO_THROW(RunMedian(image.request));
    EXPECT_EQ(image.request.pixelType, PixelType::Int16);
  }
}

TEST(CudaMedianTrialImage, HasSeveralRowsAndFitsEveryWindow)
{
  for (const auto & radius : { Extent{ { 0, 0, 0, 0 } },
                               Extent{ { 1, 1, 1, 0 } },
                               Extent{ { 0, 0, 0, 2 } },
                               Extent{ { 113, 113, 0, 0 } },
                               Extent{ { 19, 19, 19, 0 } } })
  {
    EXPECT_EQ(ExpectRight(radius, PixelType::Float32, Backend::Cpu).backend, "CPU");
  }
}

#ifdef CUDAMEDIAN_TEST_HAS_CUDA

/** Takes kernels out of use for 5x5 and 16 bits, and all back at the end. */
class CudaMedianKernelProof : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    CUDAMEDIAN_NEEDS_GPU();
  }
  void
  TearDown() override
  {
    for (const auto means : { KernelMeans::Ahead,
                              KernelMeans::AtFirstUse,
                              KernelMeans::Interpreter,
                              KernelMeans::Ranks,
                              KernelMeans::Histograms,
                              KernelMeans::Merges,
                              KernelMeans::Selection })
    {
      TakeOutOfUse(radius, type, 0, means, "");
    }
  }

  static void
  Break(KernelMeans means)
  {
    TakeOutOfUse(radius, type, 0, means, "broken for a test");
  }

  static constexpr PixelType type = PixelType::UInt16;
  static inline const Extent radius{ { 2, 2, 0, 0 } };
};

TEST_F(CudaMedianKernelProof, WhatIsOutOfUseIsReplacedAndReported)
{
  EXPECT_EQ(ExpectRight(radius, type, Backend::Cuda).algorithm, "tile program, compiled ahead");
  Break(KernelMeans::Ahead);
  auto report = ExpectRight(radius, type, Backend::Cuda);
  if (RuntimeCompiler::Get().IsAvailable())
  {
    EXPECT_TRUE(report.algorithm.find("compiled with NVRTC") != std::string::npos ||
                report.algorithm.find("from the cache on disk") != std::string::npos)
      << report.algorithm;
    EXPECT_NE(report.algorithmReason.find("the kernel compiled ahead is out of use: broken for a test"),
              std::string::npos)
      << report.algorithmReason;
  }
  Break(KernelMeans::AtFirstUse);
  report = ExpectRight(radius, type, Backend::Cuda);
  EXPECT_EQ(report.algorithm, "local ranks") << "faster than an interpreted program";
  EXPECT_NE(report.algorithmReason.find("the kernel compiled ahead is out of use: broken for a test"),
            std::string::npos)
    << report.algorithmReason;
  Break(KernelMeans::Ranks);
  report = ExpectRight(radius, type, Backend::Cuda);
  EXPECT_NE(report.algorithmReason.find("broken for a test"), std::string::npos) << report.algorithmReason;
  Break(KernelMeans::Interpreter);
  EXPECT_EQ(ExpectRight(radius, type, Backend::Cuda).algorithm, "sliding histograms");
  Break(KernelMeans::Histograms);
  Break(KernelMeans::Merges);
  report = ExpectRight(radius, type, Backend::Cuda);
  EXPECT_EQ(report.algorithm, "selection");
  EXPECT_NE(report.algorithmReason.find("broken for a test"), std::string::npos) << report.algorithmReason;
  Break(KernelMeans::Selection);
  try
  {
    ExpectRight(radius, type, Backend::Cuda);
    FAIL() << "no kernel is left";
  }
  catch (const DeviceError & error)
  {
    EXPECT_NE(std::string(error.what()).find("No kernel gives right results on this device"), std::string::npos)
      << error.what();
  }
  // Other windows and pixels go on as before.
  EXPECT_EQ(ExpectRight({ { 1, 1, 0, 0 } }, type, Backend::Cuda).algorithm, "tile program, compiled ahead");
  EXPECT_EQ(ExpectRight(radius, PixelType::Float32, Backend::Cuda).algorithm, "tile program, compiled ahead");
}

TEST_F(CudaMedianKernelProof, ForcedAlgorithmsAreReplacedTooAndReported)
{
  for (const auto & [means, algorithm] :
       { std::pair<KernelMeans, Algorithm>{ KernelMeans::Ranks, Algorithm::LocalRank },
         std::pair<KernelMeans, Algorithm>{ KernelMeans::Histograms, Algorithm::SlidingHistogram },
         std::pair<KernelMeans, Algorithm>{ KernelMeans::Merges, Algorithm::MergeTiling } })
  {
    EXPECT_EQ(ExpectRight(radius, type, Backend::Cuda, algorithm).algorithm, ToString(algorithm));
    Break(means);
    const auto report = ExpectRight(radius, type, Backend::Cuda, algorithm);
    EXPECT_EQ(report.algorithm, "tile program, compiled ahead") << "the fastest of the others";
    EXPECT_NE(report.algorithmReason.find("broken for a test"), std::string::npos) << report.algorithmReason;
  }
}

/** A window that no other test compiles, with an empty cache on disk. */
TEST_F(CudaMedianKernelProof, AKernelIsCompiledInTheBackground)
{
  if (!RuntimeCompiler::Get().IsAvailable())
  {
    GTEST_SKIP() << RuntimeCompiler::Get().GetDescription();
  }
  const auto folder = std::filesystem::temp_directory_path() / "CudaMedianSelfTest";
  std::filesystem::remove_all(folder);
  const char * const before = std::getenv("XDG_CACHE_HOME");
  const std::string  kept = before == nullptr ? "" : before;
  setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  const Extent unusual{ { 3, 0, 1, 0 } };
  const auto   run = [&unusual] {
    return ExpectRight(unusual, type, Backend::Cuda, Algorithm::Automatic, Compilation::Background);
  };
  auto report = run();
  EXPECT_EQ(report.algorithm.find("compiled"), std::string::npos) << report.algorithm;
  EXPECT_EQ(report.compiling, "the kernel of the window's tile program");
  const auto start = std::chrono::steady_clock::now();
  while (!report.compiling.empty() && std::chrono::steady_clock::now() - start < std::chrono::minutes(2))
  {
    report = run();
  }
  EXPECT_EQ(report.algorithm.rfind("tile program, compiled with NVRTC", 0), 0U) << report.algorithm;
  EXPECT_EQ(run().algorithm, report.algorithm);
  setenv("XDG_CACHE_HOME", kept.c_str(), 1);
  std::filesystem::remove_all(folder);
}

TEST_F(CudaMedianKernelProof, CodeThatTheDriverTranslatedIsReported)
{
  const char * const forced = std::getenv("CUDA_FORCE_PTX_JIT");
  const auto         report = ExpectRight(radius, type, Backend::Cuda);
  const bool isReported = report.algorithmReason.find("this build has no machine code for") != std::string::npos;
  EXPECT_TRUE(isReported || forced == nullptr || std::string(forced) == "0") << report.algorithmReason;
}

#endif
