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
// The kernels of devices that are threads of the host: each is the CPU's median of what lies in a slab's input buffer.
#include "DeviceMethod.h"
#include "ExtremumDevice.h"
#include "HistogramDevice.h"
#include "HalfFloat.h"
#include "HostRuntime.h"
#include "KernelImage.h"
#include "MadeOnce.h"
#include "MergeDevice.h"
#include "RankDevice.h"
#include "RankMap.h"
#include "SelectionDevice.h"
#include "TileDevice.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

namespace cudamedian
{
namespace
{

/** Filters what kernel arguments describe.
 * \param mostRanks that a kernel was made for: as on a device, others are not found. */
void
Filter(PixelType type, const Footprint * footprint, std::int64_t mostRanks, const KernelArguments & arguments)
{
  const auto    bytes = PixelBytes(type);
  MedianRequest request;
  request.pixelType = type;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    request.inputExtent[axis] = arguments.inputExtent[axis];
    request.radius[axis] = arguments.radius[axis];
    request.shorter[axis] = arguments.shorter[axis];
    request.outputOrigin[axis] = arguments.outputOrigin[axis];
    request.outputExtent[axis] = arguments.outputExtent[axis];
    request.outputStride[axis] = arguments.outputPitch[axis];
  }
  const auto &      extent = request.inputExtent;
  std::vector<char> packed(static_cast<std::size_t>(Volume(extent)) * bytes);
  const auto        row = static_cast<std::size_t>(extent[0]) * bytes;
  for (std::size_t number = 0; number * row < packed.size(); ++number)
  {
    // Pitched rows follow each other without gaps between slices.
    std::memcpy(packed.data() + number * row,
                static_cast<const char *>(arguments.input) +
                  number * static_cast<std::size_t>(arguments.inputPitch[1]) * bytes,
                row);
  }
  request.input = packed.data();
  const auto lead = arguments.outputOrigin[0] - arguments.gridOrigin;
  request.output = static_cast<char *>(arguments.output) + static_cast<std::size_t>(lead) * bytes;
  request.rank = arguments.rank;
  std::vector<std::int32_t> ranks;
  std::vector<std::uint8_t> map;
  if (arguments.rankMap != nullptr)
  {
    const auto & outputs = request.outputExtent;
    for (std::int64_t w = 0; w < outputs[3]; ++w)
      for (std::int64_t z = 0; z < outputs[2]; ++z)
        for (std::int64_t y = 0; y < outputs[1]; ++y)
          for (std::int64_t x = 0; x < outputs[0]; ++x)
          {
            const auto place = lead + x + GetOffset({ { 0, y, z, w } }, request.outputStride);
            const auto rank = std::min(GetWantedRank<true>(arguments, place), arguments.rank + mostRanks - 1);
            ranks.push_back(static_cast<std::int32_t>(rank));
          }
    request.rank = *std::min_element(ranks.begin(), ranks.end());
    request.greatestRank = *std::max_element(ranks.begin(), ranks.end());
    map = PackRanks(ranks, request);
    request.rankMap = map.data();
  }
  request.footprint = footprint;
  request.backend = Backend::Cpu;
  RunMedian(request);
  const auto & filtered = request.outputExtent;
  for (std::int64_t w = 0; w < filtered[3]; ++w)
    for (std::int64_t z = 0; z < filtered[2]; ++z)
      for (std::int64_t y = 0; y < filtered[1]; ++y)
      {
        const auto offset = y * request.outputStride[1] + z * request.outputStride[2] + w * request.outputStride[3];
        hostruntime::MarkInitialized(static_cast<const char *>(request.output) +
                                       static_cast<std::size_t>(offset) * bytes,
                                     static_cast<std::size_t>(filtered[0]) * bytes);
      }
}

class HostLauncher : public SlabLauncher
{
public:
  HostLauncher(PixelType         type,
               const Footprint * footprint,
               std::int64_t      mostRanks,
               std::size_t       scratchBytes,
               bool              isIndependent)
    : m_Type(type)
    , m_Footprint(footprint)
    , m_MostRanks(mostRanks)
    , m_ScratchBytes(scratchBytes)
    , m_IsIndependent(isIndependent)
  {}

  /** Checked like the kernels that nvcc compiles: the launch says nothing, and the last error is asked. */
  cudaError_t
  Launch(const KernelArguments & arguments, void * scratch, cudaStream_t stream) const override
  {
    std::function<void()> work =
      [type = m_Type, footprint = m_Footprint, ranks = m_MostRanks, scratch, scratchBytes = m_ScratchBytes, arguments] {
        if (scratchBytes > 0)
        {
          std::memset(scratch, 0x5A, scratchBytes); // there has to be as much
        }
        Filter(type, footprint, ranks, arguments);
      };
    void * pointers[] = { &work };
    static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), pointers, 0, stream));
    return cudaGetLastError();
  }

  bool
  IsIndependent() const override
  {
    return m_IsIndependent;
  }

private:
  PixelType         m_Type;
  const Footprint * m_Footprint;
  std::int64_t      m_MostRanks;
  std::size_t       m_ScratchBytes;
  bool              m_IsIndependent;
};

/** The compiler of tests, and what it has compiled: "", or what is wrong with a window's kernel. */
struct HostCompiler
{
  std::function<std::string(const std::atomic<bool> & isStopped)> compile;
  std::atomic<int>                                                count{ 0 };
  MadeOnce<std::pair<int, Window>, std::string>                   kernels{ BackgroundWorker::Get() };

  std::string
  Compile(const std::atomic<bool> & isStopped)
  {
    ++count;
    return compile(isStopped);
  }
};

HostCompiler * hostCompiler = nullptr; // never destroyed: a thread may be at work when the process ends

class HostForm : public DeviceMethod
{
public:
  explicit HostForm(KernelMeans means)
    : m_Means(means)
  {}

  KernelMeans
  GetMeans() const override
  {
    return m_Means;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext &) const override
  {
    // Kernels see half floats as integers of their order.
    return std::make_unique<HostLauncher>(GetCopiedType(request.pixelType),
                                          request.footprint,
                                          GetWindow(request).ranks,
                                          candidate.scratchBytes,
                                          candidate.programBytes == 0 && m_Means != KernelMeans::Merges);
  }

private:
  KernelMeans m_Means;
};

/** A kernel that is waited for. */
class CompiledForm : public HostForm
{
public:
  CompiledForm()
    : HostForm(KernelMeans::AtFirstUse)
  {}

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext & context) const override
  {
    int device = 0;
    static_cast<void>(cudaGetDevice(&device));
    const auto wrong =
      hostCompiler->kernels.GetOrMake({ device, GetWindow(request) }, [](const std::atomic<bool> & isStopped) {
        return hostCompiler->Compile(isStopped);
      });
    if (!wrong->empty())
    {
      throw KernelMissing(*wrong);
    }
    return HostForm::Prepare(request, candidate, context);
  }
};

/** Tile programs as in the library where none is compiled ahead: the same decisions, of what the tests' compiler has.
 */
TileMeans
ChooseCompiledMeans(const Problem & problem)
{
  const auto wrong = FindVerdict(problem, KernelMeans::AtFirstUse);
  if (!wrong.empty())
  {
    return { std::nullopt, wrong, nullptr };
  }
  std::vector<std::pair<int, Window>> missing;
  for (const int device : problem.devices)
  {
    if (hostCompiler->kernels.Find({ device, problem.GetWindow() }) == nullptr)
    {
      missing.emplace_back(device, problem.GetWindow());
    }
  }
  if (problem.waits || missing.empty())
  {
    return { KernelMeans::AtFirstUse, "", std::make_shared<CompiledForm>() };
  }
  return { std::nullopt, "it is not compiled yet", nullptr, [missing] {
            for (const auto & kernel : missing)
            {
              hostCompiler->kernels.MakeInBackground(
                kernel, [](const std::atomic<bool> & isStopped) { return hostCompiler->Compile(isStopped); });
            }
          } };
}

} // namespace

cudaError_t
CheckKernelImage()
{
  cudaFuncAttributes attributes;
  return cudaFuncGetAttributes(&attributes, nullptr);
}

cudaError_t
GetKernelImage(KernelImage & image)
{
  image.isNative = true;
  return CheckKernelImage();
}

std::string
KernelImage::Describe() const
{
  return "";
}

TileMeans
ChooseTileMeans(const Problem & problem, const std::shared_ptr<const ScheduledProgram> &)
{
  if (hostCompiler != nullptr)
  {
    return ChooseCompiledMeans(problem);
  }
  const auto wrong = FindVerdict(problem, KernelMeans::Ahead);
  return wrong.empty() ? TileMeans{ KernelMeans::Ahead, "", std::make_shared<HostForm>(KernelMeans::Ahead) }
                       : TileMeans{ std::nullopt, wrong, nullptr };
}

PreparedKernel
PrepareTileKernel(const Problem &)
{
  return { true, "compiled ahead" };
}

std::vector<DeviceCheck>
ListTileChecks(PixelType)
{
  return { { KernelMeans::Ahead, { { 1, 1, 0, 0 } } } };
}

std::size_t
GetRankSharedBytes(const RankShape & shape, KeyFormat)
{
  return static_cast<std::size_t>(shape.sharedBytes);
}

std::shared_ptr<const DeviceMethod>
MakeRankDeviceMethod(const RankShape &)
{
  return std::make_shared<HostForm>(KernelMeans::Ranks);
}

std::shared_ptr<const DeviceMethod>
MakeHistogramDeviceMethod(const HistogramShape &)
{
  return std::make_shared<HostForm>(KernelMeans::Histograms);
}

std::shared_ptr<const DeviceMethod>
MakeMergeDeviceMethod(const MergeShape &)
{
  return std::make_shared<HostForm>(KernelMeans::Merges);
}

std::shared_ptr<const DeviceMethod>
MakeExtremumDeviceMethod(const std::vector<ExtremumShape> &)
{
  return std::make_shared<HostForm>(KernelMeans::Extremes);
}

std::shared_ptr<const DeviceMethod>
MakeSelectionDeviceMethod()
{
  return std::make_shared<HostForm>(KernelMeans::Selection);
}

std::shared_ptr<const DeviceMethod>
MakeFootprintSelectionMethod()
{
  return std::make_shared<HostForm>(KernelMeans::Selection);
}

std::size_t
GetFootprintBytes(const Footprint & footprint)
{
  return footprint.GetPixels().size() * sizeof(FootprintMember);
}

} // namespace cudamedian

namespace hostruntime
{

void
SetCompiler(std::function<std::string(const std::atomic<bool> & isStopped)> compile)
{
  // None is destroyed: the worker may be at one when the process ends.
  static auto & compilers = *new std::vector<std::unique_ptr<cudamedian::HostCompiler>>;
  cudamedian::hostCompiler = nullptr;
  if (compile)
  {
    compilers.push_back(std::make_unique<cudamedian::HostCompiler>());
    cudamedian::hostCompiler = compilers.back().get();
    cudamedian::hostCompiler->compile = std::move(compile);
  }
}

int
CountCompilations()
{
  return cudamedian::hostCompiler->count;
}

} // namespace hostruntime
