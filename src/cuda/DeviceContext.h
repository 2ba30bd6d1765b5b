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
#ifndef DeviceContext_h
#define DeviceContext_h

#include "CachedBuffer.h"
#include "MergeStreams.h"
#include "ThreadTeam.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>

namespace cudamedian
{

/** The most slabs that are on their way at the same time. */
constexpr int largestRing = 4;

/** What one run uses of a device: streams for either direction and for kernels, events, buffers, and threads that copy.
 * The next run takes it over (BorrowedContext.h). */
class DeviceContext
{
public:
  /** A place of the ring: one slab on its way. */
  struct Place
  {
    CachedBuffer input{ CachedBuffer::Kind::Device };
    CachedBuffer output{ CachedBuffer::Kind::Device };
    CachedBuffer ranks{ CachedBuffer::Kind::Device };
    CachedBuffer stagedInput{ CachedBuffer::Kind::Pinned };
    CachedBuffer stagedOutput{ CachedBuffer::Kind::Pinned };
    CachedBuffer stagedRanks{ CachedBuffer::Kind::Pinned };
    cudaEvent_t  uploaded{ nullptr };
    cudaEvent_t  started{ nullptr };
    cudaEvent_t  filtered{ nullptr };
    cudaEvent_t  downloaded{ nullptr };
  };

  /** Of a device, which must be the current one now, when buffers are reserved and at the end.
   * \param cudaContext what GetCudaContext() returned. */
  DeviceContext(int device, unsigned long long cudaContext);
  ~DeviceContext();
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &
  operator=(const DeviceContext &) = delete;

  int
  GetDevice() const
  {
    return m_Device;
  }

  /** Whether this lives in the CUDA context that the current device has now. Someone may have reset the device since.
   * \throws DeviceError */
  bool
  IsAlive() const;

  /** Whether CUDA tells one context from another. */
  bool
  KnowsCudaContext() const
  {
    return m_CudaContext != 0;
  }

  /** Device memory that the buffers hold. */
  std::size_t
  GetDeviceBytes() const;

  /** Pinned memory of the host that they hold. */
  std::size_t
  GetPinnedBytes() const;

  /** Makes room in device memory for pixels, or for what kernels keep beside them. New memory is filled with zeros: the
   * columns between rows pass to the host with the pixels, and kernels load whole vectors of sorted ranks.
   * \returns false where the memory is not to be had. */
  bool
  ReservePixels(CachedBuffer & buffer, std::size_t bytes);

  /** Gives all buffers back. \returns CUDA's first error. */
  cudaError_t
  ReleaseBuffers();

  /** Gives the buffers in the host's memory back. \returns CUDA's first error. */
  cudaError_t
  ReleaseStaging();

  /** Whether a part of the staging memory is not pinned. */
  bool
  HasOrdinaryStaging() const;

  /** Forgets all handles and buffers, after they went with their CUDA context. */
  void
  Abandon();

  /** Waits until nothing is under way. \returns the first error of what was. */
  cudaError_t
  Synchronize();

  /** The threads that copy. With the calling one they are so many. */
  ThreadTeam &
  GetTeam(std::size_t members);

  cudaStream_t                   upload{ nullptr };
  cudaStream_t                   compute{ nullptr };
  cudaStream_t                   download{ nullptr };
  std::array<Place, largestRing> places;
  CachedBuffer                   program{ CachedBuffer::Kind::Device };
  CachedBuffer                   scratch{ CachedBuffer::Kind::Device };
  MergeStreams                   mergeStreams; ///< made when they are needed first

private:
  void
  Destroy();

  int                         m_Device;
  unsigned long long          m_CudaContext;
  std::unique_ptr<ThreadTeam> m_Team;
};

/** The number of the current device's CUDA context. No other context of this process has or had it, so it tells when
 * someone has called cudaDeviceReset(). Always 0 where the driver has no such numbers. \throws DeviceError */
unsigned long long
GetCudaContext();

/** The same of the context that this thread has at present, 0 where it has none: it makes none. \throws DeviceError */
unsigned long long
FindCudaContext();

} // namespace cudamedian

#endif
