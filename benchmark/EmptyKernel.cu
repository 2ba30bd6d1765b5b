// What a launch costs by itself.
#include <cuda_runtime_api.h>

namespace
{

__global__ void
DoNothing()
{}

} // namespace

cudaError_t
LaunchNothing(cudaStream_t stream)
{
  DoNothing<<<1, 32, 0, stream>>>();
  return cudaGetLastError();
}
