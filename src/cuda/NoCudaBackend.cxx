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
// The CUDA backend of a build without CUDA. It says that there is none.
#include "DeviceImage.h"
#include "SlabRun.h"
#include "itkCudaMedianDevice.h"

namespace cudamedian
{
namespace
{

[[noreturn]] void
Refuse()
{
  throw DeviceError(QueryCudaDevice().description);
}

class NoCudaBackend : public MedianBackend
{
public:
  DeviceAvailability
  Query(const std::vector<int> &) const override
  {
    return QueryCudaDevice();
  }
  int
  CountDevices() const override
  {
    return 0;
  }
  std::vector<int>
  Resolve(const std::vector<int> &) const override
  {
    Refuse();
  }
  DeviceTraits
  GetTraits(const std::vector<int> &) const override
  {
    Refuse();
  }
  double
  MeasureCopyBytes(const std::vector<int> &) const override
  {
    Refuse();
  }
  std::size_t
  GetFreeMemory(const std::vector<int> &) const override
  {
    Refuse();
  }
  ImageMemory
  FindImageMemory(const MedianRequest &) const override
  {
    Refuse();
  }
  void
  Synchronize(int) const override
  {
    Refuse();
  }
  std::unique_ptr<BackendRun>
  Start(const MedianRequest &, std::size_t) const override
  {
    Refuse();
  }
};

} // namespace

const MedianBackend &
GetCudaBackend()
{
  static const auto & backend = *new NoCudaBackend;
  return backend;
}

DeviceAvailability
QueryCudaDevice()
{
  return { false, "this build of CudaMedian has no CUDA backend (no CUDA compiler when it was configured)" };
}

void *
AllocatePinnedMemory(std::size_t)
{
  return nullptr;
}

void
FreePinnedMemory(void *)
{}

int
FindImageDevice(const MedianRequest &)
{
  Refuse();
}

bool
RunKeptCall(const MedianRequest &, void *, ExecutionReport *)
{
  return false;
}

std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest &, const MedianRequest &, int, void *, std::uint64_t)
{
  Refuse();
}

std::unique_ptr<BackendRun>
StartChainRun(const MedianRequest &, const std::vector<MedianRequest> &, std::size_t, std::vector<ExecutionReport> &)
{
  Refuse();
}

std::string
FindOverwrittenInput(const MedianRequest &, const Plan &)
{
  Refuse();
}

void
OrderStreams(const void *, void *, void *)
{
  Refuse();
}

} // namespace cudamedian
