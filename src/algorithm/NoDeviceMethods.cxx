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
// What algorithms have of devices in a build without CUDA: plans can be made for them, and none can be run.
#include "ExtremumDevice.h"
#include "HistogramDevice.h"
#include "MergeDevice.h"
#include "RankDevice.h"
#include "SelectionDevice.h"
#include "TileDevice.h"

namespace cudamedian
{

TileMeans
ChooseTileMeans(const Problem &, const std::shared_ptr<const ScheduledProgram> &)
{
  return { KernelMeans::Ahead, "", nullptr };
}

PreparedKernel
PrepareTileKernel(const Problem &)
{
  return { false, "this build of CudaMedian has no CUDA" };
}

std::vector<DeviceCheck>
ListTileChecks(PixelType)
{
  return {};
}

std::size_t
GetRankSharedBytes(const RankShape & shape, KeyFormat)
{
  return static_cast<std::size_t>(shape.sharedBytes);
}

std::shared_ptr<const DeviceMethod>
MakeRankDeviceMethod(const RankShape &)
{
  return nullptr;
}

std::shared_ptr<const DeviceMethod>
MakeHistogramDeviceMethod(const HistogramShape &)
{
  return nullptr;
}

std::shared_ptr<const DeviceMethod>
MakeMergeDeviceMethod(const MergeShape &)
{
  return nullptr;
}

std::shared_ptr<const DeviceMethod>
MakeExtremumDeviceMethod(const std::vector<ExtremumShape> &)
{
  return nullptr;
}

std::shared_ptr<const DeviceMethod>
MakeSelectionDeviceMethod()
{
  return nullptr;
}

std::shared_ptr<const DeviceMethod>
MakeFootprintSelectionMethod()
{
  return nullptr;
}

std::size_t
GetFootprintBytes(const Footprint &)
{
  return 0;
}

} // namespace cudamedian
