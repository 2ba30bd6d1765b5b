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
#include "SelectionDevice.h"

#include "LaunchedMethod.h"
#include "SelectionLaunch.h"

#include "CudaError.h"
#include "DeviceMethod.h"

#include <vector>

namespace cudamedian
{
namespace
{

/** Selection of a footprint's pixels, whose list is in the device's memory. */
class FootprintLauncher : public SlabLauncher
{
public:
  FootprintLauncher(const MedianRequest & request, DeviceContext & context)
    : m_KeyFormat(GetKeyFormat(request.pixelType))
    , m_Members(context.program.Get())
    , m_Count(static_cast<std::int32_t>(request.footprint->GetPixels().size()))
    , m_LargestLaunch(GetSelectedPixels(request))
  {
    std::vector<FootprintMember> members;
    for (const auto & pixel : request.footprint->GetPixels())
    {
      FootprintMember member{};
      for (int axis = 0; axis < Dimension; ++axis)
      {
        member.offset[axis] = static_cast<std::int32_t>(pixel.offset[axis]);
      }
      member.weight = pixel.weight;
      members.push_back(member);
    }
    CheckCuda(cudaMemcpy(m_Members, members.data(), members.size() * sizeof(FootprintMember), cudaMemcpyHostToDevice),
              "cudaMemcpy");
  }

  cudaError_t
  Launch(const KernelArguments & slab, void *, cudaStream_t stream) const override
  {
    auto arguments = slab;
    arguments.footprint = static_cast<const FootprintMember *>(m_Members);
    arguments.footprintPixels = m_Count;
    return LaunchSelection(arguments, m_KeyFormat, stream);
  }

  std::int64_t
  GetLargestLaunch() const override
  {
    return m_LargestLaunch;
  }

private:
  KeyFormat    m_KeyFormat;
  void *       m_Members;
  std::int32_t m_Count;
  std::int64_t m_LargestLaunch;
};

class FootprintMethod : public DeviceMethod
{
public:
  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Selection;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext & context) const override
  {
    return std::make_unique<FootprintLauncher>(request, context);
  }
};

} // namespace

std::shared_ptr<const DeviceMethod>
MakeFootprintSelectionMethod()
{
  return std::make_shared<FootprintMethod>();
}

std::size_t
GetFootprintBytes(const Footprint & footprint)
{
  return footprint.GetPixels().size() * sizeof(FootprintMember);
}

std::shared_ptr<const DeviceMethod>
MakeSelectionDeviceMethod()
{
  return MakeLaunchedMethod(
    KernelMeans::Selection,
    [](const KernelArguments & slab, const LaunchSetting & given, cudaStream_t stream) {
      return LaunchSelection(slab, given.keyFormat, stream);
    },
    GetSelectedPixels);
}

} // namespace cudamedian
