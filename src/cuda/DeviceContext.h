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

#include "MergeStreams.h"
#include "ThreadTeam.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace cudamedian
{

/** Throws a DeviceError that names the call when a CUDA call failed, and clears the error so that it is not found again
 * by a later call. An error that stays, as after a kernel that wrote where it must not, is said to need a new process.
 */
void
CheckCuda(cudaError_t error, const char * call);

/** Makes a device the current one of this thread, until the end of the scope. \throws DeviceError */
class DeviceScope
{
public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &
  operator=(const DeviceScope &) = delete;

private:
  int m_Before{ 0 };
};

/** The devices that are listed, or the current one of this thread where none is. \throws DeviceError */
std::vector<int>
ResolveDevices(const std::vector<int> & devices);

/** Memory of the device or pinned memory of the host that grows when asked for more than it has. */
class CachedBuffer
{
public:
  enum class Kind
  {
    Device,
    Pinned
  };

  explicit CachedBuffer(Kind kind) : m_Kind(kind)
  {}
  ~CachedBuffer()
  {
    Release();
  }
  CachedBuffer(const CachedBuffer &) = delete;
  CachedBuffer &
  operator=(const CachedBuffer &) = delete;

  /** Makes room for some bytes; what was there is lost. \returns false when the memory is not to be had. */
  bool
  Reserve(std::size_t bytes);

  void
  Release();

  void *
  Get() const
  {
    return m_Pointer;
  }
  std::size_t
  GetBytes() const
  {
    return m_Bytes;
  }

private:
  Kind        m_Kind;
  void *      m_Pointer{ nullptr };
  std::size_t m_Bytes{ 0 };
};

/** Slabs that are on their way at the same time. */
constexpr int largestRing = 4;

/** What one Update() uses of a device: streams for either direction and for kernels, events, buffers and threads that
 * copy, which the next Update() takes over. */
class DeviceContext
{
public:
  /** A place of the ring: one slab on its way. */
  struct Place
  {
    CachedBuffer input{ CachedBuffer::Kind::Device };
    CachedBuffer output{ CachedBuffer::Kind::Device };
    CachedBuffer stagedInput{ CachedBuffer::Kind::Pinned };
    CachedBuffer stagedOutput{ CachedBuffer::Kind::Pinned };
    cudaEvent_t  uploaded{ nullptr };
    cudaEvent_t  started{ nullptr };
    cudaEvent_t  filtered{ nullptr };
    cudaEvent_t  downloaded{ nullptr };
  };

  /** Of a device, which must be the current one now and when buffers are reserved. */
  explicit DeviceContext(int device);
  ~DeviceContext();
  DeviceContext(const DeviceContext &) = delete;
  DeviceContext &
  operator=(const DeviceContext &) = delete;

  int
  GetDevice() const
  {
    return m_Device;
  }

  /** Device memory that the buffers hold. */
  std::size_t
  GetDeviceBytes() const;

  /** Gives all buffers back. */
  void
  ReleaseBuffers();

  /** Waits until nothing is under way. \returns the first error of what was. */
  cudaError_t
  Synchronize();

  /** The threads that copy, so many together with the calling one. */
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
  std::unique_ptr<ThreadTeam> m_Team;
};

/** A context of a device, from those that are idle or a new one. At its end, idle again, or, after a CUDA error, no
 * more. Thread-safe; each user has its own. */
class BorrowedContext
{
public:
  explicit BorrowedContext(int device);
  ~BorrowedContext();
  BorrowedContext(const BorrowedContext &) = delete;
  BorrowedContext &
  operator=(const BorrowedContext &) = delete;

  DeviceContext &
  operator*() const
  {
    return *m_Context;
  }
  DeviceContext *
  operator->() const
  {
    return m_Context.get();
  }

private:
  std::unique_ptr<DeviceContext> m_Context;
};

/** Device memory that idle contexts of a device hold, in bytes. */
std::size_t
GetIdleDeviceBytes(int device);

/** Gives back what idle contexts hold. */
void
ReleaseIdleContexts();

} // namespace cudamedian

#endif
