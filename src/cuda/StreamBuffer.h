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
#ifndef StreamBuffer_h
#define StreamBuffer_h

#include "CudaError.h"
#include "DevicePool.h"

namespace cudamedian
{

/** Device memory that is taken and given back in the order of a stream's work. */
class StreamBuffer
{
public:
  StreamBuffer(std::size_t bytes, cudaStream_t stream)
    : m_Stream(stream)
  {
    m_Pointer = AllocateFromPool(bytes, stream);
  }
  ~StreamBuffer()
  {
    if (cudaFreeAsync(m_Pointer, m_Stream) != cudaSuccess)
    {
      cudaGetLastError(); // else the next launch would be taken to have failed
    }
  }
  StreamBuffer(const StreamBuffer &) = delete;
  StreamBuffer &
  operator=(const StreamBuffer &) = delete;

  void *
  Get() const
  {
    return m_Pointer;
  }

private:
  void *       m_Pointer{ nullptr };
  cudaStream_t m_Stream;
};

} // namespace cudamedian

#endif
