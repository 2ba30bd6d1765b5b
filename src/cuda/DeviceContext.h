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
#include "itkCudaMedianEngine.h"

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace cudamedian
{

/** A CUDA call that failed. */
class CudaError : public DeviceError
{
public:
  CudaError(cudaError_t code, const std::string & text) : DeviceError(text), m_Code(code)
  {}

  cudaError_t
  GetCode() const
  {
    return m_Code;
  }

private:
  cudaError_t m_Code;
};

/** Throws a CudaError that names the call when a CUDA call failed, and clears the error so that it is not found again
 * by a later call. An error that stays, as after a kernel that wrote where it must not, is said to need a new process.
 */
void
CheckCuda(cudaError_t error, const char * call);

/** Whether this process was forked from one in which this library had started CUDA, which does not work here then, and
 * whose memory, streams and threads are not this process's. */
bool
IsForkedFromCuda();

/** Remembers that CUDA was started by this process. \throws DeviceError in a process that was forked after that. */
void
StartCuda();

/** Calls a function with a device as the current one.
 *
 * The calling thread's current device stays what it is, and is not touched: where it is another, the function runs in a
 * thread of its own, for setting a device as the current one, be it to go back to it, starts CUDA on it. An exception
 * of the function is passed on; a DeviceError then names the device. */
void
OnDevice(int device, const std::function<void()> & function);

/** Makes a device the current one of this thread, until the end of the scope. For devices that are in use already: see
 * OnDevice(). \throws DeviceError */
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
  int m_Device{ 0 };
};

/** The devices that are listed, or the current one of this thread where none is. \throws DeviceError */
std::vector<int>
ResolveDevices(const std::vector<int> & devices);

/** Memory of the device or pinned memory of the host that grows when asked for more than it has. Its device must be the
 * current one. */
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

  /** Makes room for some bytes; what was there is lost. \returns false when the memory is not to be had.
   * \throws DeviceError when CUDA fails otherwise. */
  bool
  Reserve(std::size_t bytes);

  /** Makes room in ordinary memory, where pinned memory is not to be had. \returns false when that is not either. */
  bool
  ReserveOrdinary(std::size_t bytes);

  /** Gives the memory back. \returns CUDA's error; the memory counts as given back all the same. */
  cudaError_t
  Release();

  /** Forgets memory that went with its CUDA context. */
  void
  Forget();

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
  /** Whether it is ordinary memory in the place of pinned memory. */
  bool
  IsOrdinary() const
  {
    return m_IsOrdinary;
  }

private:
  Kind        m_Kind;
  void *      m_Pointer{ nullptr };
  std::size_t m_Bytes{ 0 };
  bool        m_IsOrdinary{ false };
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

  /** Whether this lives in the current device's CUDA context, and not in one that someone has reset. \throws
   * DeviceError
   */
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

  /** Makes room in device memory for pixels or for what kernels keep beside them, and fills new memory with zeros: the
   * columns between rows pass to the host with the pixels, and kernels load whole vectors of sorted ranks. \returns
   * false when the memory is not to be had. */
  bool
  ReservePixels(CachedBuffer & buffer, std::size_t bytes);

  /** Gives all buffers back. \returns CUDA's first error. */
  cudaError_t
  ReleaseBuffers();

  /** Gives back the buffers in the host's memory. \returns CUDA's first error. */
  cudaError_t
  ReleaseStaging();

  /** Whether a part of the staging memory is not pinned. */
  bool
  HasOrdinaryStaging() const;

  /** Forgets all handles and buffers, which went with their CUDA context. */
  void
  Abandon();

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
  unsigned long long          m_CudaContext;
  std::unique_ptr<ThreadTeam> m_Team;
};

/** A number of the current device's CUDA context that no other of this process has or had, so that it tells after a
 * cudaDeviceReset() by someone else; always 0 where the driver does not know. \throws DeviceError */
unsigned long long
GetCudaContext();

/** Pinned memory that idle contexts keep for the next update, all together. */
constexpr std::size_t mostIdlePinnedBytes = std::size_t{ 512 } << 20;

/** A context of a device, from those that are idle or a new one. At its end, idle again, or, after a CUDA error, no
 * more. Thread-safe; each user has its own. \throws DeviceError */
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

/** Gives back what idle contexts hold. Does nothing in a process that was forked after CUDA was started. */
void
ReleaseIdleContexts();

} // namespace cudamedian

#endif
