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

#include "ProgramEmitter.h"

#include <deque>
#include <map>
#include <mutex>
#include <tuple>

namespace cudamedian
{
namespace
{

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

/** Loads what was compiled. */
RuntimeKernel
Load(const Window &         window,
     KeyFormat              keyFormat,
     const KernelKind &     kind,
     const KernelTarget &   target,
     const CompiledKernel & compiled)
{
  RuntimeKernel result;
  result.explanation = compiled.explanation;
  result.isNative = !target.isPtx;
  if (compiled.binary.empty())
  {
    return result;
  }
  EmittedKernel kernel{
    window,         keyFormat, target.architecture, kind.packing, compiled.policy.tile, compiled.operations,
    compiled.shape, nullptr
  };
  const auto error = LoadKernel(compiled.binary, kernel.function);
  if (error != cudaSuccess)
  {
    result.explanation = std::string("a kernel compiled at first use does not load: ") + cudaGetErrorString(error);
    result.loads = false;
    return result;
  }
  result.kernel = Keep(kernel);
  return result;
}

} // namespace

RuntimeKernel
CompileRuntimeKernel(const Window &       window,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target)
{
  return CompileRuntimeKernel(BuildTileProgram(window, policy), keyFormat, kind, policy, target);
}

RuntimeKernel
CompileRuntimeKernel(const TileProgram &  tileProgram,
                     KeyFormat            keyFormat,
                     const KernelKind &   kind,
                     const KernelPolicy & policy,
                     const KernelTarget & target)
{
  return Load(
    tileProgram.GetWindow(), keyFormat, kind, target, CompileProgram(tileProgram, keyFormat, kind, policy, target));
}

RuntimeKernel
FindRuntimeKernel(const Window &       window,
                  KeyFormat            keyFormat,
                  int                  pixelBytes,
                  const DeviceTraits & traits,
                  KernelTask           task)
{
  using Key = std::tuple<Window, KeyFormat, int, std::string, KernelTask>;
  static auto & mutex = *new std::mutex;
  static auto & loaded = *new std::map<Key, RuntimeKernel>;
  const Key     key(window, keyFormat, traits.computeCapability, traits.name, task);
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto                        entry = loaded.find(key);
    if (entry != loaded.end())
    {
      return entry->second;
    }
  }
  // Without the lock: others need not wait while one is compiled.
  auto wish = MakeKernelWish(window, keyFormat, pixelBytes, traits);
  wish.task = task;
  auto kernel = Load(window, keyFormat, wish.kind, wish.target, *GetCompiledKernel(wish));
  if (!kernel.loads && !wish.target.isPtx)
  {
    wish = MakeKernelWish(window, keyFormat, pixelBytes, traits, true);
    wish.task = task;
    kernel = Load(window, keyFormat, wish.kind, wish.target, *GetCompiledKernel(wish));
  }
  const std::lock_guard<std::mutex> lock(mutex);
  return loaded.emplace(key, std::move(kernel)).first->second;
}

} // namespace cudamedian
