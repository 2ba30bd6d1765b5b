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
#include "CachedBuffer.h"

#include "CudaError.h"

#include <cstdlib>

namespace cudamedian
{

bool
CachedBuffer::Reserve(std::size_t bytes)
{
  if (bytes <= m_Bytes && !m_IsOrdinary)
  {
    return true;
  }
  CheckCuda(Release(), m_Kind == Kind::Device ? "cudaFree" : "cudaFreeHost");
  const auto error = m_Kind == Kind::Device ? cudaMalloc(&m_Pointer, bytes) : cudaMallocHost(&m_Pointer, bytes);
  // The system may refuse to pin memory for reasons of its own, such as a limit of the process.
  if (error == cudaErrorMemoryAllocation || (m_Kind == Kind::Pinned && error == cudaErrorOperatingSystem))
  {
    cudaGetLastError();
    m_Pointer = nullptr;
    return false;
  }
  if (error != cudaSuccess)
  {
    m_Pointer = nullptr;
  }
  CheckCuda(error, m_Kind == Kind::Device ? "cudaMalloc" : "cudaMallocHost, for pinned memory of the host,");
  m_Bytes = bytes;
  return true;
}

bool
CachedBuffer::ReserveOrdinary(std::size_t bytes)
{
  if (bytes <= m_Bytes)
  {
    return true;
  }
  CheckCuda(Release(), "cudaFreeHost");
  m_Pointer = std::malloc(bytes);
  m_Bytes = m_Pointer != nullptr ? bytes : 0;
  m_IsOrdinary = m_Pointer != nullptr;
  return m_Pointer != nullptr;
}

cudaError_t
CachedBuffer::Release()
{
  auto error = cudaSuccess;
  if (m_IsOrdinary)
  {
    std::free(m_Pointer);
  }
  else if (m_Pointer != nullptr)
  {
    error = m_Kind == Kind::Device ? cudaFree(m_Pointer) : cudaFreeHost(m_Pointer);
  }
  Forget();
  if (error != cudaSuccess)
  {
    cudaGetLastError();
  }
  return error;
}

void
CachedBuffer::Forget()
{
  m_Pointer = nullptr;
  m_Bytes = 0;
  m_IsOrdinary = false;
}

} // namespace cudamedian
