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
#ifndef CudaFaults_h
#define CudaFaults_h

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <vector>

/** Stands between the library's code and the CUDA runtime, a real one or HostRuntime.cxx: the tests are linked with
 * --wrap for each call in CudaCalls.cmake, so that the library as it is delivered has nothing of this. */
namespace cudamediantest
{

constexpr int forEver = 1 << 30;

/** Lets calls fail: `count` of them from number `first` on, where 1 is the next. Those that end something, or wait for
 * an end, do so all the same; the others are not carried out.
 * \param calls the names of the calls that count; all where none is listed. */
void
SetCudaFaults(int first, int count, cudaError_t error = cudaErrorUnknown, const std::vector<std::string> & calls = {});

/** Lets allocations of either kind fail, as if memory were short. */
void
SetAllocationFaults(int first, int count);

/** Lets copies fail. */
void
SetCopyFaults(int first, int count);

/** From now on nothing fails. */
void
ClearCudaFaults();

/** How many calls have been let fail since SetCudaFaults(). */
int
CountFailedCalls();

/** The name of the first of these. */
std::string
GetFailedCall();

/** Bytes that copies took over the bus. */
struct Transfers
{
  std::size_t upload{ 0 };
  std::size_t download{ 0 };
};

Transfers
GetTransfers();

void
ForgetTransfers();

/** What was made and has not been given back. */
struct LiveObjects
{
  std::size_t deviceAllocations{ 0 };
  std::size_t deviceBytes{ 0 };
  std::size_t pinnedAllocations{ 0 };
  std::size_t pinnedBytes{ 0 };
  std::size_t streams{ 0 };
  std::size_t events{ 0 };
  std::size_t pools{ 0 };

  std::size_t
  Count() const
  {
    return deviceAllocations + pinnedAllocations + streams + events + pools;
  }
};

LiveObjects
CountLiveObjects();

/** After a cudaDeviceReset() nothing that was made is left. */
void
ForgetLiveObjects();

} // namespace cudamediantest

#endif
