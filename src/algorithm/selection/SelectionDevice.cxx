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

#include "DeviceMethod.h"
#include "SelectionLaunch.h"

namespace cudamedian
{
namespace
{

class SelectionLauncher : public SlabLauncher
{
public:
  explicit SelectionLauncher(const MedianRequest & request)
    : m_KeyFormat(GetKeyFormat(request.pixelType)), m_LargestLaunch(GetSelectedPixels(request))
  {}

  cudaError_t
  Launch(const KernelArguments & arguments, cudaStream_t stream) const override
  {
    return LaunchSelection(arguments, m_KeyFormat, stream);
  }

  std::int64_t
  GetLargestLaunch() const override
  {
    return m_LargestLaunch;
  }

private:
  KeyFormat    m_KeyFormat;
  std::int64_t m_LargestLaunch;
};

class SelectionDeviceMethod : public DeviceMethod
{
public:
  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Selection;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate &, DeviceContext &) const override
  {
    return std::make_unique<SelectionLauncher>(request);
  }
};

} // namespace

std::shared_ptr<const DeviceMethod>
MakeSelectionDeviceMethod()
{
  return std::make_shared<SelectionDeviceMethod>();
}

} // namespace cudamedian
