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
#include "RuntimeKernels.h"

#include "KernelCache.h"
#include "ProgramEmitter.h"
#include "RuntimeCompiler.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <mutex>
#include <tuple>

namespace cudamedian
{
namespace
{

/** Goes into every cache key. */
constexpr char projectVersion[] = "CudaMedian " CUDAMEDIAN_VERSION;

/** Makes a kernel out of a cubin. */
cudaError_t
LoadKernel(const std::string & binary, const void *& function)
{
#if CUDART_VERSION >= 12080
  // Never unloaded: the kernel may be in use by any filter until the process ends.
  cudaLibrary_t library = nullptr;
  auto          error = cudaLibraryLoadData(&library, binary.data(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  if (error != cudaSuccess)
  {
    cudaGetLastError();
    return error;
  }
  cudaKernel_t kernel = nullptr;
  error = cudaLibraryGetKernel(&kernel, library, runtimeKernelName);
  function = reinterpret_cast<const void *>(kernel);
  cudaGetLastError();
  return error;
#else
  (void)binary;
  function = nullptr;
  return cudaErrorNotSupported;
#endif
}

/** Gives a kernel a place for as long as the process lives. */
const EmittedKernel *
Keep(const EmittedKernel & kernel)
{
  // Never destroyed: a thread may be at work when the process ends. Grows without moving what it holds.
  static auto &                     mutex = *new std::mutex;
  static auto &                     kernels = *new std::deque<EmittedKernel>;
  const std::lock_guard<std::mutex> lock(mutex);
  kernels.push_back(kernel);
  return &kernels.back();
}

} // namespace

RuntimeKernel
CompileRuntimeKernel(const Window &       window,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target,
                     std::size_t          largestProgram)
{
  return CompileRuntimeKernel(BuildTileProgram(window, policy), keyFormat, kind, policy, target, largestProgram);
}

RuntimeKernel
CompileRuntimeKernel(const TileProgram &  tileProgram,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target,
                     std::size_t          largestProgram)
{
  const auto &   window = tileProgram.GetWindow();
  const bool     isFloat = GetKeyMapping(keyFormat) == KeyMapping::Float;
  const auto     program = BuildKernelProgram(tileProgram, policy, kind);
  EmittedProgram count;
  const auto     source = MakeKernelSource(program, policy, kind, isFloat, count);
  const auto &   compiler = RuntimeCompiler::Get();

  std::string key =
    std::string(projectVersion) + "\n" + compiler.GetDescription() + "\n" + target.GetName() + "\n" + source;
  for (const auto & header : GetKernelSources())
  {
    key += header.text;
  }
  const KernelCache cache(KernelCache::GetDefaultFolder());
  EmittedKernel     kernel{
    window, keyFormat, target.architecture, kind.packing, policy.tile, count.operations, {}, nullptr
  };
  kernel.shape = GetKernelShape(window, policy, kind, program);

  const std::string how = target.isPtx ? " as PTX for " + target.GetName() : "";
  const auto        cached = cache.Load(key);
  // One that does not load is compiled again.
  if (cached && LoadKernel(*cached, kernel.function) == cudaSuccess)
  {
    return { Keep(kernel), "from the cache on disk" + how, !target.isPtx };
  }
  if (count.instructions > largestProgram)
  {
    return { nullptr,
             "a program of " + std::to_string(count.instructions) +
               " instructions takes too long to compile at first use (at most " + std::to_string(largestProgram) +
               ")" };
  }
  std::string error;
  const auto  binary = compiler.Compile(source, target, error);
  if (binary.empty())
  {
    return { nullptr, "not compiled: " + error };
  }
  const auto loaded = LoadKernel(binary, kernel.function);
  if (loaded != cudaSuccess)
  {
    return { nullptr,
             std::string("a kernel compiled at first use does not load: ") + cudaGetErrorString(loaded),
             !target.isPtx,
             false };
  }
  return { Keep(kernel),
           "compiled with " + compiler.GetDescription() + how +
             (cache.Store(key, binary) ? "" : " and not kept, since the cache cannot be written"),
           !target.isPtx };
}

RuntimeKernel
FindRuntimeKernel(const Window & window, KeyFormat keyFormat, int pixelBytes, const DeviceTraits & traits)
{
  using Key = std::tuple<Window, KeyFormat, int, std::string>;
  static auto &                     mutex = *new std::mutex;
  static auto &                     found = *new std::map<Key, RuntimeKernel>;
  const std::lock_guard<std::mutex> lock(mutex);
  const Key                         key(window, keyFormat, traits.computeCapability, traits.name);
  const auto                        entry = found.find(key);
  if (entry != found.end())
  {
    return entry->second;
  }
  const auto   known = RuntimeCompiler::Get().GetNewestArchitecture(traits.computeCapability);
  const auto   newest = known == 0 ? traits.computeCapability : known;
  KernelTarget target{ newest, newest != traits.computeCapability || traits.pretendedOn > newest };
  // What is made for a family runs on no other one.
  const auto device = traits.pretendedOn != 0 ? traits.pretendedOn : traits.computeCapability;
  const auto kind =
    GetKernelKind(pixelBytes, newest, RuntimeCompiler::Get().KnowsFamilies() && device / 10 == newest / 10);
  target.isForFamily = kind.packing == KeyPacking::Quad;
  const auto policy = GetKernelPolicy(window, kind, traits);
  // A device that is taken for another stands for a build that has this one's kernels.
  const auto & ahead = GetEmittedKernels();
  const bool   isAhead = std::any_of(ahead.begin(), ahead.end(), [&](const EmittedKernel & kernel) {
    return kernel.window == window && kernel.keyFormat == keyFormat;
  });
  const auto   largest =
    traits.pretendedOn != 0 && isAhead ? std::numeric_limits<std::size_t>::max() : largestProgramAtFirstUse;
  auto kernel = CompileRuntimeKernel(window, keyFormat, kind, policy, target, largest);
  if (!kernel.loads && !target.isPtx)
  {
    target.isPtx = true;
    kernel = CompileRuntimeKernel(window, keyFormat, kind, policy, target, largest);
  }
  return found.emplace(key, std::move(kernel)).first->second;
}

} // namespace cudamedian
