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
#include "CudaBackend.h"

#include "DeviceContext.h"
#include "SlabPipeline.h"

namespace cudamedian
{

DeviceAvailability
QueryCudaDevice()
{
  const auto unusable = [](cudaError_t error, const std::string & what) {
    cudaGetLastError();
    return DeviceAvailability{ false, what + " (" + cudaGetErrorName(error) + ": " + cudaGetErrorString(error) + ")" };
  };
  int        count = 0;
  const auto countError = cudaGetDeviceCount(&count);
  if (countError != cudaSuccess || count == 0)
  {
    return unusable(countError, "no CUDA device");
  }
  int            device = 0;
  cudaDeviceProp properties;
  auto           error = cudaGetDevice(&device);
  error = error == cudaSuccess ? cudaGetDeviceProperties(&properties, device) : error;
  if (error != cudaSuccess)
  {
    return unusable(error, "a CUDA device that does not answer");
  }
  const std::string name = std::string(properties.name) + ", compute capability " + std::to_string(properties.major) +
                           "." + std::to_string(properties.minor);
  error = CheckKernelImage();
  if (error != cudaSuccess)
  {
    return unusable(error, name + ", which this build has no kernels for");
  }
  return { true, name };
}

std::size_t
GetFreeDeviceMemory()
{
  std::size_t available = 0;
  std::size_t total = 0;
  CheckCuda(cudaMemGetInfo(&available, &total), "cudaMemGetInfo");
  return available + GetIdleDeviceBytes();
}

void
ReleaseCachedMemory()
{
  ReleaseIdleContexts();
}

void *
AllocatePinnedMemory(std::size_t bytes)
{
  void * memory = nullptr;
  if (cudaMallocHost(&memory, bytes) != cudaSuccess)
  {
    cudaGetLastError();
    return nullptr;
  }
  return memory;
}

void
FreePinnedMemory(void * memory)
{
  cudaFreeHost(memory);
}

void
RunOnCuda(const MedianRequest & request, const Plan & givenPlan, ExecutionReport & report)
{
  BorrowedContext context;
  Plan            plan = givenPlan;
  while (!SlabPipeline::Reserve(request, plan, *context))
  {
    // First without what is idle, then with slabs of half the size, down to the smallest.
    context->ReleaseBuffers();
    ReleaseIdleContexts();
    if (SlabPipeline::Reserve(request, plan, *context))
    {
      break;
    }
    context->ReleaseBuffers();
    const auto needed = plan.GetDeviceBytes();
    try
    {
      plan = PlanMedian(request, Backend::Cuda, needed / 2);
    }
    catch (const RequestError &)
    {
      throw DeviceError("Allocating " + std::to_string(needed) +
                        " bytes of device memory, which the smallest slab needs, failed; " + "the budget is " +
                        std::to_string(givenPlan.deviceMemoryBudget) + " bytes, and " +
                        std::to_string(GetFreeDeviceMemory()) + " are free now");
    }
    report.slabReason = plan.slabReason + ", after an allocation of " + std::to_string(needed) + " bytes failed";
    report.numberOfSlabs = plan.slabs.size();
  }
  const SlabKernel kernel(request, plan, *context, report);
  report.deviceBytes = context->GetDeviceBytes();
  SlabPipeline(request, plan, *context, kernel, report).Run();
}

} // namespace cudamedian
