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
#ifndef BorrowedContext_h
#define BorrowedContext_h

#include "DeviceContext.h"

#include <cstddef>
#include <memory>

namespace cudamedian
{

/** The most pinned memory that idle contexts keep for the next run, all together. */
constexpr std::size_t mostIdlePinnedBytes = std::size_t{ 512 } << 20;

/** A context of a device, for one user: an idle one, or else a new one. At the end of the loan it is idle again; after
 * a CUDA error it is destroyed. Thread-safe. \throws DeviceError */
class BorrowedContext
{
public:
  /** \param stages whether pixels pass through the context's memory of the host */
  explicit BorrowedContext(int device, bool stages = true);
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

/** Destroys the idle contexts of all devices. Does nothing in a process that was forked after CUDA was started. */
void
ReleaseIdleContexts();

} // namespace cudamedian

#endif
