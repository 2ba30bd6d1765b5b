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

namespace cudamedian
{

/** Stands for the slab that is not there. */
constexpr std::size_t noSlab = ~std::size_t{ 0 };

/** Deals the slabs of a plan to the devices that filter them.
 *
 * Slabs are dealt in runs of consecutive ones, since a device that has a slab has the halo of the next. A run is a
 * share of what is left, so that runs are long at first and short at the end, when devices are to be done at the same
 * time; a single device gets all slabs at once. What a device gives back is dealt again. Thread-safe. */
class SlabDealer
{
public:
  /** The slabs from `first` up to, but without, `last`. */
  struct Run
  {
    std::size_t first;
    std::size_t last;

    bool
    IsEmpty() const
    {
      return first == last;
    }
  };

  SlabDealer(std::size_t slabs, std::size_t devices);

  /** Takes a run of slabs. \returns an empty one when there is none; with `wait` only when there will be none, that is,
   * when all slabs are done or after Stop(). */
  Run
  Take(bool wait);

  /** Returns slabs that were taken and are not done. */
  void
  GiveBack(const Run & run);

  /** Counts a slab that is done. */
  void
  Finish();

  /** A device takes no more slabs. */
  void
  Leave();

  /** Deals no more. */
  void
  Stop();

  bool
  IsStopped() const;

  /** Waits until more than so many slabs are done, or no device is left. \returns how many are done. */
  std::size_t
  WaitForMore(std::size_t done) const;

private:
  /** No run is shorter, but the last: the first slab of a run is uploaded with its whole halo. */
  static constexpr std::size_t ShortestRun = 2;
  /** Runs that each device gets at least while the slabs last: a device that is slower than the others holds them up by
   * this part of its share. */
  static constexpr std::size_t RunsPerDevice = 4;

  mutable std::mutex              m_Mutex;
  mutable std::condition_variable m_Changed;
  std::deque<Run>                 m_Left; ///< what nobody has
  std::size_t                     m_NumberOfSlabs;
  std::size_t                     m_Devices; ///< that have not left
  std::size_t                     m_Done{ 0 };
  bool                            m_Stopped{ false };
};

/** The slabs that one device has taken from a dealer, in the order in which it filters them. For one thread; the dealer
 * must be told of the device when it is made. */
class SlabHand
{
public:
  explicit SlabHand(SlabDealer & dealer) : m_Dealer(dealer)
  {}
  ~SlabHand()
  {
    Leave();
  }
  SlabHand(const SlabHand &) = delete;
  SlabHand &
  operator=(const SlabHand &) = delete;

  /** The next slab, or noSlab; see SlabDealer::Take(). */
  std::size_t
  Next(bool wait);

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
  SlabDealer &            m_Dealer;
  SlabDealer::Run         m_Run{ 0, 0 };
  std::deque<std::size_t> m_Unfinished;
  std::size_t             m_Finished{ 0 };
  bool                    m_Left{ false };
};

} // namespace cudamedian

#endif
