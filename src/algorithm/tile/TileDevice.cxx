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
#include "TileDevice.h"

#include "CurrentDevice.h"
#include "DeviceMethod.h"
#include "DeviceQuery.h"
#include "EmittedKernel.h"
#include "InterpretedLaunch.h"
#include "KernelImage.h"
#include "KernelProgram.h"
#include "RuntimeKernels.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

namespace cudamedian
{
namespace
{

/** Why there is no kernel compiled ahead, where nothing but that is wrong. */
constexpr const char * noneAhead = "none was compiled ahead";

/** Whether an error says that code cannot be loaded, and no more: other kernels can. */
bool
IsUnusableCode(cudaError_t error)
{
  return error == cudaErrorInvalidPtx || error == cudaErrorUnsupportedPtxVersion ||
         error == cudaErrorJitCompilerNotFound || error == cudaErrorJitCompilationDisabled ||
         error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidKernelImage ||
         error == cudaErrorInvalidDeviceFunction;
}

/** Whether a block has the shared memory that a kernel takes; says what is missing. */
bool
FitsSharedMemory(std::size_t needed, int limit, const char * what, std::string & missing)
{
  if (needed <= static_cast<std::size_t>(limit))
  {
    return true;
  }
  missing += std::string(missing.empty() ? "" : "; ") + what + " takes " + std::to_string(needed) +
             " bytes of shared memory where a block of the device has " + std::to_string(limit);
  return false;
}

/** Compiled programs: at most 0.03 s of 15 Gpixel/s, the slowest that was measured on an H200, which leaves room for
 * slower devices. Slabs on their way at the same time have fewer pixels, images in device memory may have more. */
constexpr std::int64_t largestCompiledLaunch = std::int64_t{ 1 } << 28;
/** The same of interpreted ones, 0.16 Gpixel/s (9x9 and 5x5x5 of 64-bit pixels). */
constexpr std::int64_t largestInterpretedLaunch = std::int64_t{ 1 } << 22;

class EmittedLauncher : public SlabLauncher
{
public:
  EmittedLauncher(const EmittedKernel & kernel, const std::string & how, bool isNative, int pixelBytes)
    : m_Kernel(kernel)
    , m_How(how)
    , m_IsNative(isNative)
    , m_PixelBytes(pixelBytes)
  {
    CheckCuda(PrepareEmittedKernel(kernel, m_Launch), "cudaFuncSetAttribute");
  }

  cudaError_t
  Launch(const KernelArguments & arguments, void *, cudaStream_t stream) const override
  {
    return LaunchEmittedKernel(m_Kernel, m_Launch, arguments, stream);
  }
  std::int64_t
  GetLargestLaunch() const override
  {
    return largestCompiledLaunch;
  }
  bool
  IsNative() const override
  {
    return m_IsNative;
  }
  bool
  IsIndependent() const override
  {
    return true;
  }
  Preparation
  PrepareMasked(bool waits) override
  {
    return PrepareTask(KernelTask::ValidMedians, GetMaskedWindow(m_Kernel.window), waits, m_Masked);
  }
  cudaError_t
  LaunchMasked(const KernelArguments & arguments, const MaskRules & rules, cudaStream_t stream) const override
  {
    return LaunchEmittedKernel(m_Masked.kernel, m_Masked.launch, arguments, stream, &rules);
  }
  Preparation
  PrepareOutliers(bool waits) override
  {
    KernelImage image;
    CheckCuda(GetKernelImage(image), "cudaFuncGetAttributes");
    if (m_Kernel.ofOutliers != nullptr && image.isNative) // else nobody has tried it on such a device
    {
      m_Outliers = { m_Kernel, m_Launch };
      m_Outliers.kernel.function = m_Kernel.ofOutliers;
      return {};
    }
    return PrepareTask(KernelTask::Outliers, m_Kernel.window, waits, m_Outliers);
  }
  cudaError_t
  LaunchOutliers(const KernelArguments & arguments,
                 const OutlierDistance & distance,
                 cudaStream_t            stream) const override
  {
    return LaunchEmittedKernel(m_Outliers.kernel, m_Outliers.launch, arguments, stream, &distance);
  }
  void
  Describe(ExecutionReport & report) const override
  {
    report.algorithm += ", " + m_How;
    report.tile = m_Kernel.tile;
    report.operations = m_Kernel.operations;
  }

private:
  struct Prepared
  {
    EmittedKernel kernel{};
    EmittedLaunch launch;
  };

  /** Finds the kernel of a task, which is compiled at first use. */
  Preparation
  PrepareTask(KernelTask task, const Window & window, bool waits, Prepared & result)
  {
    const auto traits = GetDeviceTraits({});
    auto       wish = MakeKernelWish(window, m_Kernel.keyFormat, m_PixelBytes, traits);
    wish.task = task;
    if (!m_IsNative || wish.target.isPtx)
    {
      return { "it would be no machine code of the device" };
    }
    if (!waits && FindCompiledKernel(wish) == nullptr)
    {
      CompileInBackground(wish);
      return { "it is not compiled yet", true };
    }
    const auto found = FindRuntimeKernel(window, m_Kernel.keyFormat, m_PixelBytes, traits, task);
    if (found.kernel == nullptr || !found.isNative)
    {
      return { found.explanation };
    }
    Preparation preparation;
    const auto  needed = static_cast<std::size_t>(found.kernel->shape.sharedBytes);
    if (FitsSharedMemory(needed, traits.blockSharedBytes, "it", preparation.missing))
    {
      CheckCuda(PrepareEmittedKernel(*found.kernel, result.launch), "cudaFuncSetAttribute");
      result.kernel = *found.kernel;
    }
    return preparation;
  }

  const EmittedKernel & m_Kernel;
  std::string           m_How;
  bool                  m_IsNative;
  int                   m_PixelBytes;
  EmittedLaunch         m_Launch;
  Prepared              m_Masked;   ///< if it was …
  Prepared              m_Outliers; ///< … likewise
};

/** Looks for the kernel compiled ahead on the current device. \returns null, and why, where there is none. */
const EmittedKernel *
FindKernelAhead(const MedianRequest & request, std::string & missing)
{
  const auto            traits = GetDeviceTraits({}); // its own: the request's other devices may have less
  const EmittedKernel * kernel = nullptr;
  const auto            error = FindEmittedKernel(GetWindow(request), GetKeyFormat(request.pixelType), kernel);
  if (IsUnusableCode(error))
  {
    cudaGetLastError();
    missing = std::string("the one compiled ahead does not load: ") + cudaGetErrorString(error);
    return nullptr;
  }
  CheckCuda(error, "cudaFuncGetAttributes");
  if (kernel != nullptr && traits.pretendedOn != 0 && kernel->architecture > traits.computeCapability)
  {
    missing = "the one compiled ahead is for sm_" + std::to_string(kernel->architecture);
    return nullptr;
  }
  const auto needed = kernel == nullptr ? 0 : static_cast<std::size_t>(kernel->shape.sharedBytes);
  return kernel != nullptr && FitsSharedMemory(needed, traits.blockSharedBytes, "the one compiled ahead", missing)
           ? kernel
           : nullptr;
}

class AheadMethod : public DeviceMethod
{
public:
  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Ahead;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext &) const override
  {
    std::string missing;
    const auto  kernel = FindKernelAhead(request, missing);
    if (kernel == nullptr)
    {
      throw KernelMissing(missing.empty() ? noneAhead : missing);
    }
    return std::make_unique<EmittedLauncher>(
      *kernel, "compiled ahead", true, static_cast<int>(PixelBytes(request.pixelType)));
  }
};

class FirstUseMethod : public DeviceMethod
{
public:
  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::AtFirstUse;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext &) const override
  {
    // For the device that it is prepared on, whatever the others are.
    const auto pixelBytes = static_cast<int>(PixelBytes(request.pixelType));
    const auto found =
      FindRuntimeKernel(GetWindow(request), GetKeyFormat(request.pixelType), pixelBytes, GetDeviceTraits({}));
    if (found.kernel == nullptr)
    {
      throw KernelMissing(found.explanation);
    }
    return std::make_unique<EmittedLauncher>(*found.kernel, found.explanation, found.isNative, pixelBytes);
  }
};

class InterpreterLauncher : public SlabLauncher
{
public:
  InterpreterLauncher(const ScheduledProgram & scheduled, KeyFormat keyFormat, DeviceContext & context)
    : m_KeyFormat(keyFormat)
    , m_SharedBytes(GetInterpreterSharedBytes(scheduled.schedule, keyFormat))
  {
    const auto & schedule = scheduled.schedule;
    const auto   codeBytes = schedule.instructions.size() * sizeof(ProgramSchedule::Instruction);
    auto *       outputs = static_cast<char *>(context.program.Get()) + codeBytes;
    if (codeBytes != 0)
    {
      CheckCuda(cudaMemcpy(context.program.Get(), schedule.instructions.data(), codeBytes, cudaMemcpyHostToDevice),
                "cudaMemcpy");
    }
    CheckCuda(
      cudaMemcpy(
        outputs, schedule.outputs.data(), schedule.outputs.size() * sizeof(std::uint16_t), cudaMemcpyHostToDevice),
      "cudaMemcpy");
    m_Program.instructions = static_cast<const ProgramSchedule::Instruction *>(context.program.Get());
    m_Program.outputs = reinterpret_cast<const std::uint16_t *>(outputs);
    m_Program.numberOfInstructions = static_cast<std::uint32_t>(schedule.instructions.size());
    m_Program.numberOfInputs = schedule.numberOfInputs;
    m_Program.numberOfSlots = schedule.numberOfSlots;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      m_Program.tile[axis] = static_cast<std::int32_t>(scheduled.program.GetTile()[axis]);
      m_Program.footprint[axis] = static_cast<std::int32_t>(scheduled.program.GetFootprint()[axis]);
    }
  }

  cudaError_t
  Launch(const KernelArguments & arguments, void *, cudaStream_t stream) const override
  {
    return LaunchInterpreter(arguments, m_Program, m_KeyFormat, m_SharedBytes, stream);
  }
  std::int64_t
  GetLargestLaunch() const override
  {
    return largestInterpretedLaunch;
  }
  void
  Describe(ExecutionReport & report) const override
  {
    report.algorithm += ", interpreted";
  }

private:
  KeyFormat          m_KeyFormat;
  std::size_t        m_SharedBytes;
  InterpretedProgram m_Program{};
};

class InterpreterMethod : public DeviceMethod
{
public:
  explicit InterpreterMethod(std::shared_ptr<const ScheduledProgram> scheduled)
    : m_Scheduled(std::move(scheduled))
  {}

  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Interpreter;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext & context) const override
  {
    return std::make_unique<InterpreterLauncher>(*m_Scheduled, GetKeyFormat(request.pixelType), context);
  }

private:
  std::shared_ptr<const ScheduledProgram> m_Scheduled;
};

/** Kernels compiled ahead that devices were found to have. What the driver loads does not change in a process. */
class KernelsAhead
{
public:
  /** Whether a device has the kernel of a request; says what is missing. \throws DeviceError */
  bool
  Has(int device, const Problem & problem, std::string & missing)
  {
    const Key key(device, problem.GetWindow(), GetKeyFormat(problem.request.pixelType));
    {
      const std::lock_guard<std::mutex> lock(m_Mutex);
      const auto                        known = m_Missing.find(key);
      if (known != m_Missing.end())
      {
        missing = known->second;
        return missing.empty();
      }
    }
    OnDevice(device, [&] {
      std::string why;
      const bool  has = FindKernelAhead(problem.request, why) != nullptr;
      missing = has ? "" : why.empty() ? noneAhead : why;
    });
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Missing[key] = missing;
    return missing.empty();
  }

private:
  using Key = std::tuple<int, Window, KeyFormat>;
  std::mutex                 m_Mutex;
  std::map<Key, std::string> m_Missing; ///< "" where there is one
};

bool
AllHaveKernelAhead(const Problem & problem, std::string & missing)
{
  static auto & kernels = *new KernelsAhead; // never destroyed: a thread may be at work when the process ends
  for (const int device : problem.devices)
  {
    if (!kernels.Has(device, problem, missing))
    {
      return false;
    }
  }
  return true;
}

/** The kernels to compile at first use that a problem's devices have not got yet. */
std::vector<KernelWish>
ListMissingKernels(const Problem & problem)
{
  std::vector<KernelWish> missing;
  for (const int device : problem.devices)
  {
    auto wish = MakeKernelWish(problem.GetWindow(),
                               GetKeyFormat(problem.request.pixelType),
                               problem.GetPixelBytes(),
                               GetDeviceTraits({ device }));
    if (FindCompiledKernel(wish) == nullptr)
    {
      missing.push_back(std::move(wish));
    }
  }
  return missing;
}

void
Add(std::string & missing, const std::string & text)
{
  missing += (missing.empty() || text.empty() ? "" : "; ") + text;
}

/** Whether a kind of kernel may be offered; adds to what is missing where it may not. */
bool
MayOffer(const Problem & problem, KernelMeans means, std::string & missing)
{
  const auto verdict = FindVerdict(problem, means);
  Add(missing, verdict);
  return verdict.empty();
}

} // namespace

TileMeans
ChooseTileMeans(const Problem & problem, const std::shared_ptr<const ScheduledProgram> & scheduled)
{
  const auto            sharedBytes = problem.device.blockSharedBytes;
  std::string           missing;
  std::function<void()> compile;
  if (!IsCoveredByKernels(problem.GetWindow()))
  {
    missing = "the window is beyond the range of kernels";
  }
  else
  {
    std::string why;
    if (MayOffer(problem, KernelMeans::Ahead, missing) && AllHaveKernelAhead(problem, why))
    {
      return { KernelMeans::Ahead, missing, std::make_shared<AheadMethod>(), nullptr };
    }
    if (!why.empty() && why != noneAhead)
    {
      Add(missing, why);
    }
    const auto & compiler = RuntimeCompiler::Get();
    if (!compiler.IsAvailable())
    {
      Add(missing, "not compiled: " + compiler.GetDescription());
    }
    else if (MayOffer(problem, KernelMeans::AtFirstUse, missing))
    {
      const auto wishes = problem.waits ? std::vector<KernelWish>() : ListMissingKernels(problem);
      if (wishes.empty())
      {
        return { KernelMeans::AtFirstUse, missing, std::make_shared<FirstUseMethod>(), nullptr };
      }
      Add(missing, "it is not compiled yet");
      compile = [wishes] { std::for_each(wishes.begin(), wishes.end(), CompileInBackground); };
    }
  }
  if (scheduled && MayOffer(problem, KernelMeans::Interpreter, missing) &&
      FitsSharedMemory(GetInterpreterSharedBytes(scheduled->schedule, GetKeyFormat(problem.request.pixelType)),
                       sharedBytes,
                       "interpreting it",
                       missing))
  {
    return { KernelMeans::Interpreter, missing, std::make_shared<InterpreterMethod>(scheduled), compile };
  }
  return { std::nullopt, missing, nullptr, compile };
}

PreparedKernel
PrepareTileKernel(const Problem & problem)
{
  std::string missing;
  if (!problem.devices.empty() && FindVerdict(problem, KernelMeans::Ahead).empty() &&
      AllHaveKernelAhead(problem, missing))
  {
    return { true, "compiled ahead" };
  }
  const auto & compiler = RuntimeCompiler::Get();
  if (!compiler.IsAvailable())
  {
    return { false, "not compiled: " + compiler.GetDescription() };
  }
  const auto wish = MakeKernelWish(
    problem.GetWindow(), GetKeyFormat(problem.request.pixelType), problem.GetPixelBytes(), problem.device);
  const auto kernel = GetCompiledKernel(wish);
  return { !kernel->binary.empty(), kernel->explanation };
}

std::vector<DeviceCheck>
ListTileChecks(PixelType type)
{
  std::set<Extent> ahead;
  for (const auto & kernel : GetEmittedKernels())
  {
    if (kernel.keyFormat == GetKeyFormat(type) && kernel.window.footprint == nullptr)
    {
      ahead.insert(kernel.window.radius);
    }
  }
  std::vector<DeviceCheck> checks;
  for (const auto & radius : ahead)
  {
    checks.push_back({ KernelMeans::Ahead, radius });
  }
  checks.push_back({ KernelMeans::Interpreter, { { 1, 1, 0, 0 } } });
  checks.push_back({ KernelMeans::Interpreter, { { 1, 1, 1, 0 } } });
  if (type == PixelType::UInt16 && RuntimeCompiler::Get().IsAvailable())
  {
    checks.push_back({ KernelMeans::AtFirstUse, { { 2, 1, 0, 0 } } });
  }
  return checks;
}

} // namespace cudamedian
