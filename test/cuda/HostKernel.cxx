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
#include "DeviceImage.h"
#include "DeviceMethod.h"
#include "ExtremumDevice.h"
#include "HistogramDevice.h"
#include "HalfFloat.h"
#include "HostRuntime.h"
#include "KernelImage.h"
#include "MergeDevice.h"
#include "RankDevice.h"
#include "SelectionDevice.h"
#include "TileDevice.h"

#include <cstring>
#include <functional>
#include <vector>

namespace cudamedian
{
namespace
{

/** Filters what kernel arguments describe. */
void
Filter(PixelType type, const Footprint * footprint, const KernelArguments & arguments)
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
  HostLauncher(PixelType type, const Footprint * footprint) : m_Type(type), m_Footprint(footprint)
  {}

  /** Checked like the kernels that nvcc compiles: the launch says nothing, and the last error is asked. */
  cudaError_t
  Launch(const KernelArguments & arguments, cudaStream_t stream) const override
  {
    std::function<void()> work = [type = m_Type, footprint = m_Footprint, arguments] {
      Filter(type, footprint, arguments);
    };
    void * pointers[] = { &work };
    static_cast<void>(cudaLaunchKernel(nullptr, dim3(), dim3(), pointers, 0, stream));
    return cudaGetLastError();
  }

private:
  PixelType         m_Type;
  const Footprint * m_Footprint;
};

class HostForm : public DeviceMethod
{
public:
  explicit HostForm(KernelMeans means) : m_Means(means)
  {}

  KernelMeans
  GetMeans() const override
  {
    return m_Means;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext &) const override
  {
    // Kernels see half floats as integers of their order.
    return std::make_unique<HostLauncher>(IsHalfFloat(request.pixelType) ? PixelType::Int16 : request.pixelType,
                                          request.footprint);
  }

private:
  KernelMeans m_Means;
};

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
  const auto wrong = FindVerdict(problem, KernelMeans::Ahead);
  return wrong.empty() ? TileMeans{ KernelMeans::Ahead, "", std::make_shared<HostForm>(KernelMeans::Ahead) }
                       : TileMeans{ std::nullopt, wrong, nullptr };
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

// Images in device memory are filtered on GPUs alone (CudaMedianDeviceImageTest).

int
FindImageDevice(const MedianRequest &)
{
  throw DeviceError("no images in the memory of devices that are threads of the host");
}

std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest &, int, void *)
{
  throw DeviceError("no images in the memory of devices that are threads of the host");
}

} // namespace cudamedian
