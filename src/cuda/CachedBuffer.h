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
#ifndef CachedBuffer_h
#define CachedBuffer_h

#include <cuda_runtime_api.h>

#include <cstddef>

namespace cudamedian
{

/** Memory of the device, or pinned memory of the host. It grows when asked for more than it has. Its device must be the
 * current one. */
class CachedBuffer
{
public:
  /** Where the memory is. */
  enum class Kind
  {
    Device,
    Pinned
  };

  explicit CachedBuffer(Kind kind)
    : m_Kind(kind)
  {}
  ~CachedBuffer() { Release(); }
  CachedBuffer(const CachedBuffer &) = delete;
  CachedBuffer &
  operator=(const CachedBuffer &) = delete;

  /** Makes room for some bytes. The content is lost. \returns false where the memory is not to be had.
   * \throws DeviceError when CUDA fails otherwise. */
  bool
  Reserve(std::size_t bytes);

  /** Makes room in ordinary memory, where pinned memory is not to be had. \returns false where that is not either. */
  bool
  ReserveOrdinary(std::size_t bytes);

  /** Gives the memory back. \returns CUDA's error. The memory counts as given back all the same. */
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

} // namespace cudamedian

#endif
