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
#include "CudaStart.h"

#include "BackgroundWorker.h"
#include "CudaDriver.h"
#include "CurrentDevice.h"
#include "DeviceQuery.h"
#include "ProcessNumber.h"

#include <algorithm>

namespace cudamedian
{

CudaStart &
CudaStart::Get()
{
  // Never destroyed: a thread may be at work when the process ends.
  static auto & start = *new CudaStart;
  return start;
}

double
CudaStart::GetSeconds() const
{
  const long process = GetProcessNumber();
  if (m_Tried == process || IsForkedFromCuda())
  {
    return 0;
  }
  return m_Starting == process || GetDriverState() == DriverState::Waiting ? cudaStartSeconds : 0;
}

void
CudaStart::AddLostSeconds(double seconds, const std::vector<int> & devices)
{
  const auto added = static_cast<std::int64_t>(std::max(0.0, seconds) * 1e9);
  const auto lost = m_LostNanoseconds.fetch_add(added) + added;
  const long process = GetProcessNumber();
  long       none = 0;
  if (static_cast<double>(lost) < cudaStartSeconds * 1e9 || m_Starting == process || GetSeconds() == 0 ||
      !m_Starting.compare_exchange_strong(none, process))
  {
    return;
  }
  // A process that is forked from now on has no CUDA, however far the thread has got.
  StartCuda();
  if (!BackgroundWorker::Get().Add([this, devices](const std::atomic<bool> & isStopped) {
        if (!isStopped)
        {
          Run(devices);
        }
      }))
  {
    // No thread is to be had: the next call starts CUDA itself.
    m_Tried = process;
    m_Starting = 0;
  }
}

void
CudaStart::Run(const std::vector<int> & devices)
{
  // To look whether the devices can be used makes contexts on them, and no others. What is wrong the next call tells.
  QueryCudaDevices(devices);
  m_Tried = GetProcessNumber();
  m_Starting = 0;
}

} // namespace cudamedian
