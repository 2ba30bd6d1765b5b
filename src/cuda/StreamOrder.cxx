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
#include "itkCudaMedianDevice.h"

#include "CurrentDevice.h"

namespace cudamedian
{
namespace
{

/** An event that is destroyed at the end of the scope, come what may. CUDA keeps it until the streams are past it. */
class Event
{
public:
  Event() { CheckCuda(cudaEventCreateWithFlags(&m_Event, cudaEventDisableTiming), "cudaEventCreateWithFlags"); }
  ~Event() { cudaEventDestroy(m_Event); }
  Event(const Event &) = delete;
  Event &
  operator=(const Event &) = delete;

  cudaEvent_t
  Get() const
  {
    return m_Event;
  }

private:
  cudaEvent_t m_Event{ nullptr };
};

} // namespace

void
OrderStreams(const void * memory, void * first, void * then)
{
  cudaPointerAttributes attributes{};
  CheckCuda(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  const DeviceScope scope(attributes.device);
  const Event       event;
  CheckCuda(cudaEventRecord(event.Get(), static_cast<cudaStream_t>(first)), "cudaEventRecord");
  CheckCuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(then), event.Get(), 0), "cudaStreamWaitEvent");
}

} // namespace cudamedian
