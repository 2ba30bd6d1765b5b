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

SlabDealer::SlabDealer(std::size_t slabs, std::size_t devices)
  : m_NumberOfSlabs(slabs)
  , m_Devices(devices)
{
  for (std::size_t device = 0; device < devices; ++device)
  {
    const Run share{ slabs * device / devices, slabs * (device + 1) / devices };
    if (share.Count() > 0)
    {
      m_Left.push_back(share);
    }
  }
}

void
SlabDealer::Join(SlabHand & hand)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  m_Hands.push_back(&hand);
}

/** Gives a hand slabs if it has none: those that nobody has, or half of what another has. \returns whether it has some
 * now. */
bool
SlabDealer::FindRun(SlabHand & hand)
{
  auto & run = hand.m_Run;
  if (run.Count() == 0 && !m_Left.empty())
  {
    run = m_Left.front();
    m_Left.pop_front();
  }
  if (run.Count() == 0)
  {
    auto & longest =
      (*std::max_element(m_Hands.begin(),
                         m_Hands.end(),
                         [](const SlabHand * a, const SlabHand * b) { return a->m_Run.Count() < b->m_Run.Count(); }))
        ->m_Run;
    const auto half = longest.Count() / 2;
    if (half >= ShortestRun)
    {
      run = { longest.last - half, longest.last };
      longest.last = run.first;
    }
  }
  return run.Count() > 0;
}

std::size_t
SlabDealer::Take(SlabHand & hand, bool wait)
{
  std::unique_lock<std::mutex> lock(m_Mutex);
  if (wait)
  {
    m_Changed.wait(lock, [&] { return m_Stopped || m_Done == m_NumberOfSlabs || FindRun(hand); });
  }
  if (m_Stopped || !FindRun(hand))
  {
    return noSlab;
  }
  hand.m_Unfinished.push_back(hand.m_Run.first);
  return hand.m_Run.first++;
}

void
SlabDealer::Finish()
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  ++m_Done;
  m_Changed.notify_all();
}

void
SlabDealer::Leave(SlabHand & hand)
{
  const std::lock_guard<std::mutex> lock(m_Mutex);
  m_Hands.erase(std::find(m_Hands.begin(), m_Hands.end(), &hand));
  --m_Devices;
  if (hand.m_Run.Count() > 0)
  {
    m_Left.push_front(hand.m_Run);
  }
  std::for_each(hand.m_Unfinished.rbegin(), hand.m_Unfinished.rend(), [this](std::size_t slab) {
    m_Left.push_front({ slab, slab + 1 });
  });
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
  if (!m_Left)
  {
    m_Left = true;
    m_Dealer.Leave(*this);
  }
}

} // namespace cudamedian
