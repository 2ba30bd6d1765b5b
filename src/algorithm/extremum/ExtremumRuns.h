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
#ifndef ExtremumRuns_h
#define ExtremumRuns_h

#include "PixelKey.h"

/** Loops of kernels: unrolled by four. */
#ifdef __CUDACC__
#  define CUDAMEDIAN_UNROLL_4 _Pragma("unroll 4")
#else
#  define CUDAMEDIAN_UNROLL_4
#endif

namespace cudamedian
{

/** Extremes of windows of elements in a row, for VRun outputs side by side, from that of the elements that they share.
 *
 * \param before before(i) is element i of the first window \param behind behind(i) is the one so far behind that window
 * \param store store(extremes) takes all of them */
template <typename TWords, int VRun, typename TBefore, typename TBehind, typename TStore>
CUDAMEDIAN_HOST_DEVICE void
ExtendCore(const typename TWords::Held & core, const TBefore & before, const TBehind & behind, const TStore & store)
{
  typename TWords::Held found[VRun];
  found[VRun - 1] = core;
  CUDAMEDIAN_UNROLL
  for (int i = VRun - 2; i >= 0; --i)
  {
    found[i] = TWords::Min(found[i + 1], before(i));
  }
  auto least = core;
  CUDAMEDIAN_UNROLL
  for (int i = 1; i < VRun; ++i)
  {
    least = i == 1 ? behind(0) : TWords::Min(least, behind(i - 1));
    found[i] = TWords::Min(found[i], least);
  }
  // Stores come last, so that elements that several loads need are read once.
  store(found);
}

/** Extremes of windows of so many elements in a row, for VRun outputs side by side, no more than the window has.
 *
 * The windows share a core. Its extreme is extended to both ends, as van Herk (1992) and Gil and Werman (1993) do with
 * blocks as long as the window: here the blocks fit in registers.
 * \param load load(i) is an element of the first window or beyond it. \param store store(extremes) takes all of them */
template <typename TWords, int VRun, typename TLoad, typename TStore>
CUDAMEDIAN_HOST_DEVICE void
RunExtremes(int window, const TLoad & load, const TStore & store)
{
  auto core = load(VRun - 1);
  int  next = VRun;
  // Four are read before the first is needed; two are compared at once.
  CUDAMEDIAN_KEEP_LOOP
  for (; next + 4 <= window; next += 4)
  {
    const auto first = load(next);
    const auto second = load(next + 1);
    const auto third = load(next + 2);
    const auto fourth = load(next + 3);
    core = TWords::Min(TWords::Min(core, first, second), third, fourth);
  }
  CUDAMEDIAN_KEEP_LOOP
  for (; next < window; ++next)
  {
    core = TWords::Min(core, load(next));
  }
  ExtendCore<TWords, VRun>(core, load, [&](int i) { return load(window + i); }, store);
}

/** Replaces elements, of which there are VCount, by the extremes of windows of so many that begin with them; the last
 * ones, whose windows end beyond, are of no use. Three windows, which may overlap, make one of three times the size. */
template <typename TWords, int VWindow, int VCount>
CUDAMEDIAN_HOST_DEVICE void ReduceFew(typename TWords::Held (&held)[VCount])
{
  if constexpr (VWindow > 1)
  {
    constexpr int part = (VWindow + 2) / 3;
    ReduceFew<TWords, part>(held);
    CUDAMEDIAN_UNROLL
    for (int i = 0; i + VWindow <= VCount; ++i)
    {
      if constexpr (2 * part >= VWindow)
      {
        held[i] = TWords::Min(held[i], held[i + VWindow - part]);
      }
      else
      {
        held[i] = TWords::Min(held[i], held[i + part], held[i + VWindow - part]);
      }
    }
  }
}

/** Extremes of windows of up to VFew elements in a row, for VRun outputs side by side; code of its own for each size.
 * \returns whether the window has no more. */
template <typename TWords, int VRun, int VFew, typename TLoad, typename TStore>
CUDAMEDIAN_HOST_DEVICE bool
RunFewExtremes(int window, const TLoad & load, const TStore & store)
{
  if constexpr (VFew == 0)
  {
    return false;
  }
  else if (window == VFew)
  {
    typename TWords::Held held[VRun + VFew - 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRun + VFew - 1; ++i)
    {
      held[i] = load(i);
    }
    ReduceFew<TWords, VFew>(held);
    store(held);
    return true;
  }
  else
  {
    return RunFewExtremes<TWords, VRun, VFew - 1>(window, load, store);
  }
}

/** Extremes of windows of VWindow elements in a row, for VRun outputs side by side. Elements are read as early as there
 * is room for them. */
template <typename TWords, int VRun, int VWindow, typename TLoad, typename TStore>
CUDAMEDIAN_HOST_DEVICE void
RunKnownExtremes(const TLoad & load, const TStore & store)
{
  if constexpr (VWindow < VRun)
  {
    RunFewExtremes<TWords, VRun, VWindow>(VWindow, load, store);
  }
  else
  {
    typename TWords::Held before[VRun > 1 ? VRun - 1 : 1];
    CUDAMEDIAN_UNROLL
    for (int i = 0; i < VRun - 1; ++i)
    {
      before[i] = load(i);
    }
    auto          core = load(VRun - 1);
    constexpr int pairs = (VWindow - VRun) / 2;
    if constexpr (pairs > 4)
    {
      CUDAMEDIAN_UNROLL_4
      for (int pair = 0; pair < pairs; ++pair)
      {
        core = TWords::Min(core, load(VRun + 2 * pair), load(VRun + 2 * pair + 1));
      }
    }
    else
    {
      CUDAMEDIAN_UNROLL
      for (int pair = 0; pair < pairs; ++pair)
      {
        core = TWords::Min(core, load(VRun + 2 * pair), load(VRun + 2 * pair + 1));
      }
    }
    if constexpr ((VWindow - VRun) % 2 != 0)
    {
      core = TWords::Min(core, load(VWindow - 1));
    }
    ExtendCore<TWords, VRun>(core, [&](int i) { return before[i]; }, [&](int i) { return load(VWindow + i); }, store);
  }
}

} // namespace cudamedian

#endif
