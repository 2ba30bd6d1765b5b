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
#include "BorrowedContext.h"
#include "CudaStart.h"
#include "CurrentDevice.h"
#include "DevicePool.h"
#include "DeviceQuery.h"
#include "MedianBackend.h"
#include "SlabPipeline.h"
#include "SlabRun.h"
#include "UploadedRun.h"

namespace cudamedian
{
namespace
{

class CudaBackend : public MedianBackend
{
public:
  DeviceAvailability
  Query(const std::vector<int> & devices) const override
  {
    return QueryCudaDevices(devices);
  }
  int
  CountDevices() const override
  {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess)
    {
      cudaGetLastError(); // no driver is no error
    }
    return count;
  }
  std::vector<int>
  Resolve(const std::vector<int> & devices) const override
  {
    return ResolveDevices(devices);
  }
  DeviceTraits
  GetTraits(const std::vector<int> & devices) const override
  {
    return GetDeviceTraits(devices);
  }
  double
  MeasureCopyBytes(const std::vector<int> & devices) const override
  {
    return MeasureBuses(devices);
  }
  std::size_t
  GetFreeMemory(const std::vector<int> & devices) const override
  {
    return GetFreeDeviceMemory(devices);
  }
  ImageMemory
  FindImageMemory(const MedianRequest & request) const override
  {
    ImageMemory memory;
    OnDevice(ResolveDevices(request.devices).front(), [&] { memory = cudamedian::FindImageMemory(request); });
    return memory;
  }
  double
  GetStartSeconds() const override
  {
    return CudaStart::Get().GetSeconds();
  }
  void
  AddLostSeconds(double seconds, const std::vector<int> & devices) const override
  {
    CudaStart::Get().AddLostSeconds(seconds, devices);
  }
  void
  Synchronize(int device) const override
  {
    const DeviceScope scope(device);
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  void
  ReleaseMemory() const override
  {
    ReleaseIdleContexts();
    ReleaseDevicePools();
  }
  std::unique_ptr<BackendRun>
  Start(const MedianRequest & request, std::size_t slabs) const override
  {
    return StartSlabRun(request, slabs);
  }
  ExecutionReport
  RunUploaded(const MedianRequest &            request,
              const std::vector<UploadedBox> & boxes,
              const RequestMaker &             make,
              const DeviceImageRunner &        run) const override
  {
    return RunUploadedBoxes(request, boxes, make, run);
  }
};

} // namespace

const MedianBackend &
GetCudaBackend()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & backend = *new CudaBackend;
  return backend;
}

} // namespace cudamedian
