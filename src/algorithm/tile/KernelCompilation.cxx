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
#include "KernelCompilation.h"

#include "Extents.h"
#include "KernelCache.h"
#include "MadeOnce.h"
#include "PolicySearch.h"
#include "itkCudaMedianFootprint.h"
#include "ProcessNumber.h"
#include "ProgramEmitter.h"
#include "TunedPolicy.h"

#include <atomic>
#include <exception>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

namespace cudamedian
{
namespace
{

/** Goes into every cache key. */
constexpr char projectVersion[] = "CudaMedian " CUDAMEDIAN_VERSION;

std::string
ListSources()
{
  std::string text;
  for (const auto & header : GetKernelSources())
  {
    text += header.text;
  }
  return text;
}

std::string
GetKeyOfSource(const std::string & source, const KernelTarget & target)
{
  return std::string(projectVersion) + "\n" + RuntimeCompiler::Get().GetDescription() + "\n" + target.GetName() + "\n" +
         source + ListSources();
}

/** The key of the policy that a wish leads to: what policies are chosen by. */
std::string
GetKeyOfPolicy(const KernelWish & wish)
{
  const auto &       traits = wish.traits;
  const auto &       pipes = traits.pipes;
  std::ostringstream key;
  key << projectVersion << " search " << policySearch << "\npolicy of " << wish.target.GetName() << ' '
      << wish.kind.pixelBytes << ' ' << ToString(wish.kind.packing) << "\nwindow";
  for (int axis = 0; axis < Dimension; ++axis)
  {
    key << ' ' << wish.window.GetSize(axis);
  }
  key << " rank " << wish.window.rank << " of " << wish.window.ranks;
  if (wish.window.footprint != nullptr)
  {
    for (const auto & pixel : wish.window.footprint->GetPixels())
    {
      key << "\n" << Join(pixel.offset) << ": " << pixel.weight;
    }
  }
  key << "\nmeasured " << DescribeTuning(wish.window, wish.kind, traits) << "\ndevice";
  for (const auto value : { traits.computeCapability,
                            traits.blockSharedBytes,
                            traits.sharedBytes,
                            traits.reservedSharedBytes,
                            traits.registers,
                            traits.warps,
                            traits.blocks,
                            pipes.mostSumPercent,
                            pipes.threeInput ? 1 : 0 })
  {
    key << ' ' << value;
  }
  key << ' ' << pipes.cachedInstructions << "\n" << ListSources();
  return key.str();
}

/** Gives each number of a policy to a function, in an order that stays. */
template <typename TPolicy, typename TFunction>
void
ForEachNumber(TPolicy & policy, const TFunction & function)
{
  for (int axis = 0; axis < Dimension; ++axis)
  {
    function(policy.tile[static_cast<std::size_t>(axis)]);
    function(policy.tiling.root[static_cast<std::size_t>(axis)]);
  }
  function(policy.phases.sharedPhases);
  function(policy.phases.firstColumn);
  function(policy.phases.columns);
  function(policy.lowering.sumPercent);
  function(policy.blockX);
  function(policy.blockY);
  function(policy.registers);
  function(policy.residentBlocks);
  function(policy.lowering.excessPercent);
  function(policy.lineBytes);
  function(policy.steps);
  function(policy.tiling.ranks);
}

std::string
WritePolicy(const KernelPolicy & policy)
{
  std::ostringstream text;
  ForEachNumber(policy, [&text](const auto & number) { text << number << ' '; });
  text << static_cast<int>(policy.tiling.division) << ' ' << (policy.lowering.threeInput ? 1 : 0);
  return text.str();
}

std::optional<KernelPolicy>
ReadPolicy(const std::string & given)
{
  std::istringstream text(given);
  KernelPolicy       policy;
  int                division = 0;
  int                threeInput = 0;
  ForEachNumber(policy, [&text](auto & number) { text >> number; });
  text >> division >> threeInput;
  policy.tiling.division = static_cast<Division>(division);
  policy.lowering.threeInput = threeInput != 0;
  return text ? std::optional<KernelPolicy>(policy) : std::nullopt;
}

/** A kernel but for its binary, and what it is compiled from. */
struct KernelDraft
{
  CompiledKernel kernel;
  std::string    source;
  std::string    key;
  std::string    how;
};

KernelDraft
DraftKernel(const TileProgram &  tileProgram,
            KeyFormat            keyFormat,
            const KernelKind &   kind,
            const KernelPolicy & policy,
            const KernelTarget & target,
            KernelTask           task)
{
  const bool     isFloat = GetKeyMapping(keyFormat) == KeyMapping::Float;
  const auto     program = BuildKernelProgram(tileProgram, policy, kind);
  EmittedProgram count;
  KernelDraft    draft;
  const auto &   window = tileProgram.GetWindow();
  if (task == KernelTask::ValidMedians && !CanReadMasks(window, policy, kind, program))
  {
    throw std::invalid_argument("kernels of such windows, pixels or devices read no masks");
  }
  if (task == KernelTask::Outliers && !CanTellOutliers(policy, kind))
  {
    throw std::invalid_argument("kernels of such windows or devices tell no outliers");
  }
  draft.source = MakeKernelSource(program, policy, kind, isFloat, count, task);
  draft.key = GetKeyOfSource(draft.source, target);
  draft.how = target.isPtx ? " as PTX for " + target.GetName() : "";
  draft.kernel.policy = policy;
  draft.kernel.shape = task == KernelTask::ValidMedians ? GetMaskedShape(window, policy, kind, program)
                                                        : GetKernelShape(window, policy, kind, program);
  draft.kernel.operations = count.operations;
  draft.kernel.instructions = count.instructions;
  return draft;
}

/** Fills in the binary from the cache on disk. \returns whether it is there. */
bool
LoadBinary(const KernelCache & cache, KernelDraft & draft)
{
  auto binary = cache.Load(draft.key);
  if (binary)
  {
    draft.kernel.binary = std::move(*binary);
    draft.kernel.explanation = "from the cache on disk" + draft.how;
  }
  return binary.has_value();
}

/** What the cache on disk has for a wish, whose policy was found before. */
std::optional<CompiledKernel>
LoadKernel(const KernelWish & wish)
{
  const KernelCache cache(KernelCache::GetDefaultFolder());
  const auto        text = cache.Load(GetKeyOfPolicy(wish));
  const auto        policy = text ? ReadPolicy(*text) : std::nullopt;
  if (!policy)
  {
    return std::nullopt;
  }
  try
  {
    auto draft =
      DraftKernel(BuildTileProgram(wish.window, *policy), wish.keyFormat, wish.kind, *policy, wish.target, wish.task);
    return LoadBinary(cache, draft) ? std::optional<CompiledKernel>(std::move(draft.kernel)) : std::nullopt;
  }
  catch (const std::exception &)
  {
    return std::nullopt; // a policy that no program can be built by: it is searched for again
  }
}

/** Chooses the policy, and compiles; a failure is in the explanation. */
CompiledKernel
CompileKernel(const KernelWish & wish, const std::atomic<bool> & isStopped)
{
  try
  {
    const auto policy = GetKernelPolicy(wish.window, wish.kind, wish.traits);
    const auto kernel = CompileProgram(
      BuildTileProgram(wish.window, policy), wish.keyFormat, wish.kind, policy, wish.target, &isStopped, wish.task);
    if (!kernel.binary.empty())
    {
      KernelCache(KernelCache::GetDefaultFolder()).Store(GetKeyOfPolicy(wish), WritePolicy(policy));
    }
    return kernel;
  }
  catch (const std::exception & error)
  {
    CompiledKernel kernel;
    kernel.explanation = std::string("not compiled: ") + error.what();
    return kernel;
  }
}

using Key = std::tuple<Window, KeyFormat, int, std::string, std::string, KernelTask>;

Key
GetKey(const KernelWish & wish)
{
  return { wish.window,      wish.keyFormat,        wish.traits.computeCapability,
           wish.traits.name, wish.target.GetName(), wish.task };
}

/** The kernels of a process: after a fork there is another one, since a thread of the parent may have been at work. */
struct ProcessKernels
{
  /** Whether a kernel has not been looked for on disk. A plan looks once: to look takes longer than to filter a small
   * image. */
  bool
  IsNew(const Key & key)
  {
    const std::lock_guard<std::mutex> lock(mutex);
    return lookedFor.insert(key).second;
  }

  const long                    process{ GetProcessNumber() };
  MadeOnce<Key, CompiledKernel> kernels{ BackgroundWorker::Get() };
  std::mutex                    mutex;
  std::set<Key>                 lookedFor;
};

ProcessKernels &
GetProcessKernels()
{
  // Never destroyed: a thread may be at work when the process ends.
  static std::atomic<ProcessKernels *> mine{ nullptr };
  auto *                               known = mine.load();
  while (known == nullptr || known->process != GetProcessNumber())
  {
    auto * const made = new ProcessKernels;
    if (mine.compare_exchange_strong(known, made))
    {
      return *made;
    }
    delete made;
  }
  return *known;
}

MadeOnce<Key, CompiledKernel> &
GetKernels()
{
  return GetProcessKernels().kernels;
}

} // namespace

KernelWish
MakeKernelWish(const Window & window, KeyFormat keyFormat, int pixelBytes, const DeviceTraits & traits, bool asPtx)
{
  const auto & compiler = RuntimeCompiler::Get();
  const auto   known = compiler.GetNewestArchitecture(traits.computeCapability);
  const auto   newest = known == 0 ? traits.computeCapability : known;
  KernelWish   wish{ window, keyFormat, traits, {}, { newest } };
  wish.target.isPtx = asPtx || newest != traits.computeCapability || traits.pretendedOn > newest;
  // What is made for a family runs on no other one.
  const auto device = traits.pretendedOn != 0 ? traits.pretendedOn : traits.computeCapability;
  wish.kind =
    GetKernelKind(pixelBytes, newest, compiler.KnowsFamilies() && device / 10 == newest / 10 && window.ranks == 1);
  wish.target.isForFamily = wish.kind.packing == KeyPacking::Quad;
  return wish;
}

CompiledKernel
CompileProgram(const TileProgram &       program,
               KeyFormat                 keyFormat,
               const KernelKind &        kind,
               const KernelPolicy &      policy,
               const KernelTarget &      target,
               const std::atomic<bool> * isStopped,
               KernelTask                task)
{
  auto              draft = DraftKernel(program, keyFormat, kind, policy, target, task);
  const KernelCache cache(KernelCache::GetDefaultFolder());
  if (LoadBinary(cache, draft))
  {
    return draft.kernel;
  }
  const auto & compiler = RuntimeCompiler::Get();
  std::string  error;
  draft.kernel.binary = compiler.Compile(draft.source, target, error, isStopped);
  draft.kernel.explanation =
    draft.kernel.binary.empty()
      ? "not compiled: " + error
      : "compiled with " + compiler.GetDescription() + draft.how +
          (cache.Store(draft.key, draft.kernel.binary) ? "" : " and not kept, since the cache cannot be written");
  return draft.kernel;
}

std::shared_ptr<const CompiledKernel>
FindCompiledKernel(const KernelWish & wish)
{
  auto &     mine = GetProcessKernels();
  auto &     kernels = mine.kernels;
  const auto key = GetKey(wish);
  auto       found = kernels.Find(key);
  if (found || kernels.IsUnderWay(key) || !mine.IsNew(key))
  {
    return found;
  }
  if (auto loaded = LoadKernel(wish))
  {
    kernels.Keep(key, std::move(*loaded));
  }
  return kernels.Find(key);
}

void
CompileInBackground(const KernelWish & wish)
{
  const auto & compiler = RuntimeCompiler::Get();
  if (!compiler.IsAvailable())
  {
    return;
  }
  // Before the worker is told: what the compiler destroys when the process ends is destroyed after the worker has
  // ended. Otherwise NVRTC 13.0 goes on with what is gone, and crashes or never ends.
  compiler.Settle(wish.target);
  GetKernels().MakeInBackground(GetKey(wish),
                                [wish](const std::atomic<bool> & isStopped) { return CompileKernel(wish, isStopped); });
}

std::shared_ptr<const CompiledKernel>
GetCompiledKernel(const KernelWish & wish)
{
  if (auto found = FindCompiledKernel(wish))
  {
    return found;
  }
  return GetKernels().GetOrMake(
    GetKey(wish), [&wish](const std::atomic<bool> & isStopped) { return CompileKernel(wish, isStopped); });
}

} // namespace cudamedian
