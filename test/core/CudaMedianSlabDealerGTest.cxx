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
// Slabs dealt to devices, which are threads here.

#include "CudaMedianTestSeed.h"
#include "SlabDealer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace
{

using cudamedian::noSlab;
using cudamedian::SlabDealer;
using cudamedian::SlabHand;

/** Takes slabs like a pipeline, several on their way at a time, and counts each that is finished. */
void
Play(SlabHand & hand, std::vector<std::atomic<int>> & finished, std::size_t failAfter, std::mt19937 & generator)
{
  std::vector<std::size_t> onTheirWay;
  while (!hand.IsStopped() && hand.GetNumberOfFinished() < failAfter)
  {
    const auto slab = hand.Next(onTheirWay.empty());
    if (slab == noSlab && onTheirWay.empty())
    {
      break;
    }
    if (slab != noSlab)
    {
      onTheirWay.push_back(slab);
    }
    if (onTheirWay.size() == 3 || slab == noSlab)
    {
      if (generator() % 4 == 0)
      {
        std::this_thread::yield();
      }
      ++finished[onTheirWay.front()];
      onTheirWay.erase(onTheirWay.begin());
      hand.Finish();
    }
  }
  hand.Leave();
}

/** Deals slabs to as many threads as are listed, each of which fails after so many slabs. \returns how many are done.
 */
std::size_t
Deal(std::size_t slabs, const std::vector<std::size_t> & failAfter, std::vector<std::atomic<int>> & finished)
{
  SlabDealer               dealer(slabs, failAfter.size());
  std::vector<std::thread> threads;
  for (std::size_t device = 0; device < failAfter.size(); ++device)
  {
    threads.emplace_back([&, device] {
      std::mt19937 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed() + device));
      SlabHand     hand(dealer);
      Play(hand, finished, failAfter[device], generator);
    });
  }
  std::size_t done = 0;
  for (auto before = slabs; done < slabs && before != done;)
  {
    before = done;
    done = dealer.WaitForMore(before);
    EXPECT_GE(done, before);
  }
  for (auto & thread : threads)
  {
    thread.join();
  }
  return done;
}

/** The next slabs of a hand are those from `first` up to, but without, `last`. */
void
ExpectRun(SlabHand & hand, std::size_t first, std::size_t last)
{
  for (auto slab = first; slab < last; ++slab)
  {
    EXPECT_EQ(hand.Next(false), slab);
  }
}

} // namespace

TEST(CudaMedianSlabDealer, OneDeviceGetsAllSlabsInOrder)
{
  SlabDealer dealer(7, 1);
  SlabHand   hand(dealer);
  for (std::size_t slab = 0; slab < 7; ++slab)
  {
    EXPECT_EQ(hand.Next(true), slab);
  }
  EXPECT_EQ(hand.Next(false), noSlab);
  for (std::size_t slab = 0; slab < 7; ++slab)
  {
    hand.Finish();
  }
  EXPECT_EQ(hand.Next(true), noSlab);
  EXPECT_EQ(dealer.WaitForMore(0), 7U);
  EXPECT_EQ(hand.GetNumberOfFinished(), 7U);
}

TEST(CudaMedianSlabDealer, WhoIsDoneTakesHalfOfWhatAnotherHas)
{
  SlabDealer dealer(64, 2);
  SlabHand   slow(dealer);
  SlabHand   fast(dealer);
  EXPECT_EQ(slow.Next(true), 0U);
  ExpectRun(fast, 32, 64);
  ExpectRun(fast, 17, 32);
  ExpectRun(fast, 9, 17);
  ExpectRun(fast, 5, 9);
  ExpectRun(fast, 3, 5);
  EXPECT_EQ(fast.Next(false), noSlab);
  ExpectRun(slow, 1, 3);
  EXPECT_EQ(slow.Next(false), noSlab);
}

TEST(CudaMedianSlabDealer, TheLongestRunIsHalved)
{
  SlabDealer dealer(30, 3);
  SlabHand   hands[]{ SlabHand(dealer), SlabHand(dealer), SlabHand(dealer) };
  ExpectRun(hands[0], 0, 5);
  ExpectRun(hands[1], 10, 11);
  ExpectRun(hands[2], 20, 30);
  ExpectRun(hands[2], 16, 20);
  ExpectRun(hands[1], 11, 16);
  ExpectRun(hands[1], 8, 10);
  ExpectRun(hands[0], 5, 8);
  EXPECT_EQ(hands[2].Next(false), noSlab);
}

TEST(CudaMedianSlabDealer, AShareThatNobodyBeganIsTakenAsAWhole)
{
  SlabDealer dealer(9, 3);
  SlabHand   early(dealer);
  ExpectRun(early, 0, 4);
  SlabHand late(dealer);
  ExpectRun(late, 6, 9);
  ExpectRun(early, 4, 6);
  EXPECT_EQ(early.Next(false), noSlab);
  EXPECT_EQ(late.Next(false), noSlab);
}

TEST(CudaMedianSlabDealer, MoreDevicesThanSlabs)
{
  SlabDealer dealer(2, 5);
  SlabHand   hand(dealer);
  ExpectRun(hand, 0, 2);
  EXPECT_EQ(hand.Next(false), noSlab);
}

TEST(CudaMedianSlabDealer, WhatIsGivenBackIsDealtAgain)
{
  SlabDealer dealer(4, 2);
  SlabHand   works(dealer);
  {
    SlabHand fails(dealer);
    EXPECT_EQ(fails.Next(true), 0U);
    EXPECT_EQ(works.Next(true), 2U);
    EXPECT_EQ(works.Next(true), 3U);
    EXPECT_EQ(works.Next(false), noSlab);
  }
  EXPECT_EQ(works.Next(false), 0U);
  EXPECT_EQ(works.Next(false), 1U);
  for (int slab = 0; slab < 4; ++slab)
  {
    works.Finish();
  }
  EXPECT_EQ(works.Next(true), noSlab);
  EXPECT_EQ(dealer.WaitForMore(0), 4U);
}

TEST(CudaMedianSlabDealer, NothingIsDealtAfterAStop)
{
  SlabDealer dealer(9, 2);
  SlabHand   hand(dealer);
  EXPECT_EQ(hand.Next(true), 0U);
  dealer.Stop();
  EXPECT_EQ(hand.Next(true), noSlab);
  EXPECT_EQ(hand.Next(false), noSlab);
  EXPECT_TRUE(hand.IsStopped());
}

TEST(CudaMedianSlabDealer, AStopWakesWhoWaits)
{
  SlabDealer dealer(1, 2);
  SlabHand   holds(dealer);
  EXPECT_EQ(holds.Next(true), 0U);
  std::thread waits([&dealer] {
    SlabHand hand(dealer);
    EXPECT_EQ(hand.Next(true), noSlab);
  });
  dealer.Stop();
  waits.join();
}

TEST(CudaMedianSlabDealer, EverySlabIsFinishedOnceWhoeverFails)
{
  CUDAMEDIAN_TRACE_SEED();
  constexpr std::size_t never = 1000;
  for (const std::size_t slabs : { 1, 2, 3, 16, 65, 200 })
  {
    for (const auto & failAfter : { std::vector<std::size_t>{ never },
                                    std::vector<std::size_t>{ never, never },
                                    std::vector<std::size_t>{ 0, never },
                                    std::vector<std::size_t>{ 1, never, 5, 2 },
                                    std::vector<std::size_t>{ never, never, never, never, never } })
    {
      SCOPED_TRACE(std::to_string(slabs) + " slabs, " + std::to_string(failAfter.size()) + " devices");
      std::vector<std::atomic<int>> finished(slabs);
      EXPECT_EQ(Deal(slabs, failAfter, finished), slabs);
      for (const auto & count : finished)
      {
        EXPECT_EQ(count, 1);
      }
    }
  }
}

TEST(CudaMedianSlabDealer, WhenAllFailTheRestIsNotDone)
{
  CUDAMEDIAN_TRACE_SEED();
  std::vector<std::atomic<int>> finished(50);
  EXPECT_EQ(Deal(50, { 3, 0, 7 }, finished), 10U);
}
