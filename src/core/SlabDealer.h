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
#ifndef SlabDealer_h
#define SlabDealer_h

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace cudamedian
{

/** Stands for the slab that is not there. */
constexpr std::size_t noSlab = ~std::size_t{ 0 };

class SlabHand;

/** Deals the slabs of a plan to the devices that filter them.
 *
 * Slabs are dealt in runs of consecutive ones, since a device that has a slab has the halo of the next: at first each
 * device gets an equal share, and one that is done with its run takes the second half of the longest that another
 * still has. So the first slab of a run, whose halo is uploaded with it, is rare, and all devices are done at about the
 * same time, however unlike they are. What a device gives back is dealt again. Thread-safe. */
class SlabDealer
{
public:
  SlabDealer(std::size_t slabs, std::size_t devices);
  SlabDealer(const SlabDealer &) = delete;
  SlabDealer &
  operator=(const SlabDealer &) = delete;

  /** Deals no more. */
  void
  Stop();

  bool
  IsStopped() const;

  /** Waits until more than so many slabs are done, or no device is left. \returns how many are done. */
  std::size_t
  WaitForMore(std::size_t done) const;

private:
  friend class SlabHand;

  /** The slabs from `first` up to, but without, `last`. */
  struct Run
  {
    std::size_t first;
    std::size_t last;

    std::size_t
    Count() const
    {
      return last - first;
    }
  };

  /** No shorter run is taken from another device: it would have filtered these slabs itself in the time that the first
   * one's halo takes. */
  static constexpr std::size_t ShortestRun = 2;

  void
  Join(SlabHand & hand);
  std::size_t
  Take(SlabHand & hand, bool wait);
  void
  Finish();
  void
  Leave(SlabHand & hand);
  bool
  FindRun(SlabHand & hand);

  mutable std::mutex              m_Mutex; ///< of all below, and of what hands have
  mutable std::condition_variable m_Changed;
  std::deque<Run>                 m_Left;  ///< what nobody has
  std::vector<SlabHand *>         m_Hands; ///< that have not left
  std::size_t                     m_NumberOfSlabs;
  std::size_t                     m_Devices; ///< that have not left
  std::size_t                     m_Done{ 0 };
  bool                            m_Stopped{ false };
};

/** The slabs that one device has from a dealer, in the order in which it filters them. For one thread; the dealer must
 * be told of the device when it is made. */
class SlabHand
{
public:
  explicit SlabHand(SlabDealer & dealer)
    : m_Dealer(dealer)
  {
    m_Dealer.Join(*this);
  }
  ~SlabHand() { Leave(); }
  SlabHand(const SlabHand &) = delete;
  SlabHand &
  operator=(const SlabHand &) = delete;

  /** The next slab, or noSlab when there is none; with `wait` only when there will be none, that is, when all slabs are
   * done or after SlabDealer::Stop(). */
  std::size_t
  Next(bool wait)
  {
    return m_Left ? noSlab : m_Dealer.Take(*this, wait);
  }

  /** The first of the slabs from Next() that were not finished is done. */
  void
  Finish();

  /** Gives back what is not finished, and takes no more. */
  void
  Leave();

  bool
  IsStopped() const
  {
    return m_Dealer.IsStopped();
  }
  std::size_t
  GetNumberOfFinished() const
  {
    return m_Finished;
  }

private:
  friend class SlabDealer;

  SlabDealer &            m_Dealer;
  SlabDealer::Run         m_Run{ 0, 0 }; ///< what this device is to filter next, as far as no other takes it
  std::deque<std::size_t> m_Unfinished;  ///< what Next() returned
  std::size_t             m_Finished{ 0 };
  bool                    m_Left{ false };
};

} // namespace cudamedian

#endif
