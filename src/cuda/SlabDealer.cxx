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
#include "SlabDealer.h"

#include <algorithm>

namespace cudamedian
{

SlabDealer::SlabDealer(std::size_t slabs, std::size_t devices) : m_NumberOfSlabs(slabs), m_Devices(devices)
{
  if (slabs > 0)
  {
    m_Left.push_back({ 0, slabs });
  }
}

SlabDealer::Run
SlabDealer::Take(bool wait)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  if (wait)
  {
    m_Changed.wait(lock, [this] { return !m_Left.empty() || m_Stopped || m_Done == m_NumberOfSlabs; });
  }
  if (m_Left.empty() || m_Stopped)
  {
    return { 0, 0 };
  }
  auto &     left = m_Left.front();
  const auto count = left.last - left.first;
  const auto share = m_Devices == 1 ? count : std::max(ShortestRun, count / (RunsPerDevice * m_Devices));
  const Run  run{ left.first, left.first + std::min(share, count) };
  left.first = run.last;
  if (left.IsEmpty())
  {
    m_Left.pop_front();
  }
  return run;
}

void
SlabDealer::GiveBack(const Run & run)
{
  if (run.IsEmpty())
  {
    return;
  }
  const std::lock_guard<std::mutex> lock(m_Mutex);
  m_Left.push_front(run);
  m_Changed.notify_all();
}

void
SlabDealer::Finish()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ++m_Done;
  m_Changed.notify_all();
}

void
SlabDealer::Leave()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  --m_Devices;
  m_Changed.notify_all();
}

void
SlabDealer::Stop()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  m_Stopped = true;
  m_Changed.notify_all();
}

bool
SlabDealer::IsStopped() const
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  return m_Stopped;
}

std::size_t
SlabDealer::WaitForMore(std::size_t done) const
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  m_Changed.wait(lock, [this, done] { return m_Done > done || m_Devices == 0; });
  return m_Done;
}

std::size_t
SlabHand::Next(bool wait)
{
  if (m_Run.IsEmpty())
  {
    m_Run = m_Dealer.Take(wait);
  }
  if (m_Run.IsEmpty() || IsStopped())
  {
    return noSlab;
  }
  m_Unfinished.push_back(m_Run.first);
  return m_Run.first++;
}

void
SlabHand::Finish()
{
  m_Unfinished.pop_front();
  ++m_Finished;
  m_Dealer.Finish();
}

void
SlabHand::Leave()
{
  if (m_Left)
  {
    return;
  }
  m_Left = true;
  m_Dealer.GiveBack(m_Run);
  m_Run = { 0, 0 };
  for (; !m_Unfinished.empty(); m_Unfinished.pop_back())
  {
    m_Dealer.GiveBack({ m_Unfinished.back(), m_Unfinished.back() + 1 });
  }
  m_Dealer.Leave();
}

} // namespace cudamedian
