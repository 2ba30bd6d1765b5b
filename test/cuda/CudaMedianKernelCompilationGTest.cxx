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
// Kernels that NVRTC compiles at first use, without a device: in the background, once, and kept on disk.
#include "BackgroundWorker.h"
#include "DeviceProfiles.h"
#include "KernelCompilation.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#ifndef _WIN32

#  include <sys/wait.h>
#  include <unistd.h>

namespace
{

using namespace cudamedian;

/** An empty cache on disk, and a compiler. */
class CudaMedianKernelCompilation : public testing::Test
{
protected:
  void
  SetUp() override
  {
    if (!RuntimeCompiler::Get().IsAvailable())
    {
      ASSERT_STRNE(std::getenv("CUDAMEDIAN_REQUIRE_GPU"), "1") << RuntimeCompiler::Get().GetDescription();
      GTEST_SKIP() << RuntimeCompiler::Get().GetDescription();
    }
    std::string folder = (std::filesystem::temp_directory_path() / "cudamedianXXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    m_Folder = folder;
    const char * const before = std::getenv("XDG_CACHE_HOME");
    m_Before = before == nullptr ? "" : before;
    setenv("XDG_CACHE_HOME", folder.c_str(), 1);
  }
  void
  TearDown() override
  {
    if (!m_Folder.empty())
    {
      setenv("XDG_CACHE_HOME", m_Before.c_str(), 1);
      std::filesystem::remove_all(m_Folder);
    }
  }

  std::size_t
  CountFiles() const
  {
    std::size_t     count = 0;
    std::error_code error;
    for (std::filesystem::directory_iterator next(m_Folder / "cudamedian", error), end; !error && next != end;
         next.increment(error))
    {
      ++count;
    }
    return count;
  }

  /** Runs in a process of its own, which has compiled nothing yet. \returns its exit code, within a minute; -1 when it
   * did not end by itself. */
  template <typename TRun>
  static int
  RunInChild(const TRun & run)
  {
    const auto child = fork();
    if (child == 0)
    {
      alarm(60);
      exit(run());
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  static KernelWish
  Wish(const Window & window, PixelType type = PixelType::Int16)
  {
    return MakeKernelWish(window,
                          GetKeyFormat(type),
                          GetPixelBytes(GetKeyFormat(type)),
                          GetArchitectureTraits(RuntimeCompiler::Get().GetNewestArchitecture(90)));
  }

private:
  std::filesystem::path m_Folder;
  std::string           m_Before;
};

bool
IsBinary(const CompiledKernel & kernel)
{
  return kernel.binary.substr(0, 4) == "\177ELF" && kernel.shape.threads > 0 && kernel.operations > 0;
}

} // namespace

TEST_F(CudaMedianKernelCompilation, IsDoneInTheBackgroundAndKeptOnDisk)
{
  const auto wish = Wish(Extent{ { 2, 0, 0, 0 } });
  EXPECT_EQ(RunInChild([&] {
              if (FindCompiledKernel(wish) != nullptr)
              {
                return 1;
              }
              CompileInBackground(wish);
              CompileInBackground(wish);
              const auto kernel = GetCompiledKernel(wish);
              return IsBinary(*kernel) && kernel->explanation.rfind("compiled with NVRTC", 0) == 0 &&
                         FindCompiledKernel(wish) == kernel
                       ? 0
                       : 2;
            }),
            0);
  EXPECT_EQ(CountFiles(), 2U) << "the kernel, and the policy that it was found by";
  // Another process has it at once.
  EXPECT_EQ(RunInChild([&] {
              const auto kernel = FindCompiledKernel(wish);
              return kernel != nullptr && IsBinary(*kernel) && kernel->explanation == "from the cache on disk" ? 0 : 1;
            }),
            0);
  // Other windows, ranks, pixels and devices have not.
  EXPECT_EQ(RunInChild([&] {
              auto other = wish;
              other.traits.blockSharedBytes /= 2;
              return FindCompiledKernel(Wish(Extent{ { 0, 2, 0, 0 } })) == nullptr &&
                         FindCompiledKernel(Wish(Window(Extent{ { 2, 0, 0, 0 } }, 1))) == nullptr &&
                         FindCompiledKernel(Wish(Window({ { 2, 0, 0, 0 } }, { { 1, 0, 0, 0 } }, -1))) == nullptr &&
                         FindCompiledKernel(Wish(Extent{ { 2, 0, 0, 0 } }, PixelType::Float32)) == nullptr &&
                         FindCompiledKernel(other) == nullptr
                       ? 0
                       : 1;
            }),
            0);
}

/** A plan is made for each image, and looks for a kernel on disk once. Who needs the kernel finds it there all the
 * same. */
TEST_F(CudaMedianKernelCompilation, APlanLooksOnDiskOnce)
{
  const auto wish = Wish(Extent{ { 2, 0, 0, 0 } });
  EXPECT_EQ(RunInChild([&] { return IsBinary(*GetCompiledKernel(wish)) ? 0 : 1; }), 0);
  EXPECT_EQ(RunInChild([&] {
              const std::string folder = std::getenv("XDG_CACHE_HOME");
              setenv("XDG_CACHE_HOME", (folder + "/empty").c_str(), 1);
              const bool isThere = FindCompiledKernel(wish) != nullptr;
              setenv("XDG_CACHE_HOME", folder.c_str(), 1);
              return !isThere && FindCompiledKernel(wish) == nullptr &&
                         GetCompiledKernel(wish)->explanation == "from the cache on disk"
                       ? 0
                       : 1;
            }),
            0);
}

// NVRTC takes the headers of kernels that read masks, with turns and without, and keeps them apart from others.
TEST_F(CudaMedianKernelCompilation, KernelsThatReadMasks)
{
  const auto getWish = [](const Extent & radius, PixelType type, KernelTask task) {
    Window     window(radius);
    const auto lines = window.CountPixels() / window.GetSize(0);
    window.rank = (window.CountPixels() - lines) / 2;
    window.ranks = lines + 1;
    auto wish = Wish(GetMaskedWindow(window), type);
    wish.task = task;
    return wish;
  };
  EXPECT_EQ(RunInChild([&] {
              for (const auto type : { PixelType::UInt8, PixelType::UInt16, PixelType::Float32 })
              {
                for (const auto & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } } })
                {
                  if (!IsBinary(*GetCompiledKernel(getWish(radius, type, KernelTask::ValidMedians))) ||
                      FindCompiledKernel(getWish(radius, type, KernelTask::Medians)) != nullptr)
                  {
                    return 1;
                  }
                }
              }
              // Pixels of 64 bits have none.
              const auto wide =
                GetCompiledKernel(getWish({ { 1, 1, 0, 0 } }, PixelType::Float64, KernelTask::ValidMedians));
              return wide->binary.empty() && wide->explanation.find("read no masks") != std::string::npos ? 0 : 2;
            }),
            0);
}

// … and of kernels that replace outliers alone, in blocks that stand and that go on in steps.
TEST_F(CudaMedianKernelCompilation, KernelsThatTellOutliers)
{
  const auto getWish = [](const Extent & radius, PixelType type) {
    auto wish = Wish(Window(radius), type);
    wish.task = KernelTask::Outliers;
    return wish;
  };
  EXPECT_EQ(RunInChild([&] {
              for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float32, PixelType::Float64 })
              {
                const auto wish = getWish({ { 2, 2, 0, 0 } }, type);
                if (!IsBinary(*GetCompiledKernel(wish)) || FindCompiledKernel(Wish(wish.window, type)) != nullptr)
                {
                  return 1;
                }
              }
              // Windows along one axis have kernels of their own.
              const auto line = GetCompiledKernel(getWish({ { 2, 0, 0, 0 } }, PixelType::UInt8));
              return line->binary.empty() && line->explanation.find("tell no outliers") != std::string::npos ? 0 : 2;
            }),
            0);
}

TEST_F(CudaMedianKernelCompilation, FootprintsAreKeptByTheirPixels)
{
  const auto cross = Wish(Window(Footprint::MakeCross({ { 1, 1, 0, 0 } }), -1));
  EXPECT_EQ(RunInChild([&] { return IsBinary(*GetCompiledKernel(cross)) ? 0 : 1; }), 0);
  EXPECT_EQ(RunInChild([&] {
              const auto * const heavy = Footprint::MakeCentreWeighted({ { 1, 1, 0, 0 } }, 3);
              return FindCompiledKernel(cross) != nullptr && FindCompiledKernel(Wish(Window(heavy, -1))) == nullptr ? 0
                                                                                                                    : 1;
            }),
            0);
}

TEST_F(CudaMedianKernelCompilation, ADamagedPolicyIsFoundAgain)
{
  const auto wish = Wish(Extent{ { 1, 0, 0, 0 } });
  const auto get = [&] { return IsBinary(*GetCompiledKernel(wish)) ? 0 : 1; };
  EXPECT_EQ(RunInChild(get), 0);
  for (const auto & file :
       std::filesystem::directory_iterator(std::filesystem::path(std::getenv("XDG_CACHE_HOME")) / "cudamedian"))
  {
    std::filesystem::resize_file(file.path(), file.file_size() - 1);
  }
  EXPECT_EQ(RunInChild([&] { return FindCompiledKernel(wish) == nullptr ? 0 : 1; }), 0);
  EXPECT_EQ(RunInChild(get), 0);
}

/** Each number of a policy is kept: of lines, of blocks that go on in steps, of excesses and of several ranks. */
TEST_F(CudaMedianKernelCompilation, PoliciesAreKeptWhole)
{
  Window ranks(Extent{ { 1, 1, 0, 0 } }, 3);
  ranks.ranks = 4;
  const auto wishes = { Wish(Extent{ { 0, 0, 2, 0 } }),
                        Wish(Extent{ { 2, 2, 0, 0 } }),
                        Wish(Extent{ { 1, 1, 1, 0 } }, PixelType::Float32),
                        Wish(ranks) };
  bool       lines = false;
  bool       steps = false;
  bool       excesses = false;
  for (const auto & wish : wishes)
  {
    const auto policy = GetKernelPolicy(wish.window, wish.kind, wish.traits);
    lines = lines || policy.lineBytes > 0;
    steps = steps || policy.steps > 0;
    excesses = excesses || policy.lowering.excessPercent > 0;
    EXPECT_EQ(RunInChild([&] { return IsBinary(*GetCompiledKernel(wish)) ? 0 : 1; }), 0);
    EXPECT_EQ(RunInChild([&] {
                const auto kernel = FindCompiledKernel(wish);
                return kernel != nullptr && kernel->policy.lineBytes == policy.lineBytes &&
                           kernel->policy.steps == policy.steps &&
                           kernel->policy.residentBlocks == policy.residentBlocks &&
                           kernel->policy.lowering.excessPercent == policy.lowering.excessPercent &&
                           kernel->policy.tiling.ranks == policy.tiling.ranks
                         ? 0
                         : 1;
              }),
              0)
      << "window of " << wish.window.GetSize(0) << "x" << wish.window.GetSize(1) << "x" << wish.window.GetSize(2);
  }
  EXPECT_TRUE(lines && steps && excesses) << lines << steps << excesses;
}

/** NVRTC is at work in a thread when main() is left, at one moment or another: it stops and is waited for. */
TEST_F(CudaMedianKernelCompilation, AProcessEndsWhileNvrtcWorks)
{
  for (const int milliseconds : { 0, 1, 5, 20, 80, 150, 200, 250, 300, 350, 450, 550, 700 })
  {
    EXPECT_EQ(RunInChild([&] {
                CompileInBackground(Wish(Extent{ { 4, 4, 0, 0 } }));
                CompileInBackground(Wish(Extent{ { 4, 3, 0, 0 } }));
                std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
                return 7;
              }),
              7)
      << "after " << milliseconds << " ms";
  }
}

#endif

/** What compiles slowly is not the question, but what runs slower than local ranks: KernelPolicy.cxx has the rates. */
TEST(CudaMedianKernelPolicy, LongProgramsAreLeftToRanks)
{
  using namespace cudamedian;
  struct Case
  {
    Extent           radius;
    std::vector<int> pixelBytes; ///< of those pixels whose program is faster
  };
  for (const Case & is : { Case{ { { 2, 2, 2, 0 } }, { 1, 2, 4 } },
                           { { { 3, 3, 1, 0 } }, { 1, 2, 4 } },
                           { { { 4, 2, 1, 0 } }, { 1, 2, 4 } },
                           { { { 5, 2, 1, 0 } }, { 1, 2, 4 } },
                           { { { 4, 3, 1, 0 } }, { 2 } },
                           { { { 6, 2, 1, 0 } }, { 2 } },
                           { { { 12, 1, 1, 0 } }, { 1, 2, 4 } },
                           { { { 3, 2, 2, 0 } }, { 2 } },
                           { { { 4, 4, 1, 0 } }, { 2 } },
                           { { { 7, 2, 1, 0 } }, { 2 } },
                           { { { 8, 2, 1, 0 } }, { 2 } },
                           { { { 4, 2, 2, 0 } }, { 2 } },
                           { { { 3, 3, 2, 0 } }, { 2 } },
                           { { { 15, 1, 1, 0 } }, { 2 } },
                           { { { 7, 3, 1, 0 } }, {} },
                           { { { 1, 1, 15, 0 } }, { 2 } },
                           { { { 9, 1, 2, 0 } }, { 2 } },
                           { { { 2, 9, 1, 0 } }, {} },
                           { { { 3, 6, 1, 0 } }, {} },
                           { { { 2, 5, 2, 0 } }, {} },
                           { { { 4, 1, 4, 0 } }, { 2 } },
                           { { { 5, 1, 3, 0 } }, { 2 } },
                           { { { 5, 2, 2, 0 } }, {} },
                           { { { 21, 2, 0, 0 } }, { 1, 2, 4 } },
                           { { { 30, 1, 0, 0 } }, { 1, 2, 4 } },
                           { { { 8, 8, 0, 0 } }, { 2 } },
                           { { { 15, 4, 0, 0 } }, { 2 } },
                           { { { 4, 2, 0, 0 } }, { 1, 2, 4, 8 } },
                           { { { 1, 7, 0, 0 } }, { 1, 2, 4, 8 } },
                           { { { 3, 3, 0, 0 } }, { 1, 2, 4 } },
                           { { { 1, 1, 1, 0 } }, { 1, 2, 4, 8 } },
                           { { { 1, 1, 2, 0 } }, { 1, 2, 4 } } })
  {
    for (const int pixelBytes : { 1, 2, 4, 8 })
    {
      const bool isFaster = std::count(is.pixelBytes.begin(), is.pixelBytes.end(), pixelBytes) > 0;
      EXPECT_EQ(IsTileProgramFastestOnDevice(Window(is.radius), pixelBytes, GetH200Traits()), isFaster)
        << "radius " << testing::PrintToString(is.radius) << ", " << pixelBytes << " bytes";
    }
  }
}
