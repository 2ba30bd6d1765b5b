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
#ifndef CopierShare_h
#define CopierShare_h

#include <algorithm>
#include <cstddef>

namespace cudamedian
{

/** How many of the host's threads copy for each device: no more than 24, at least 1; for several devices an equal share
 * of three quarters of them, so that the threads that look after the devices find a core. On 64 cores one H200's
 * ordinary image of 1 GiB took 23.4, 24.2, 24.9 and 26.8 ms with 16, 20, 24 and 32 threads, and some 60 with 64, which
 * are in each other's way; a fresh output, whose pages they clear, 41.5, 37.6, 35.6 and 36.3. Four took 23.4 ms with 16
 * each and 21.4 with 12. */
inline unsigned
CountCopiersPerDevice(unsigned threads, std::size_t devices)
{
  constexpr std::size_t most = 24;
  const std::size_t     share = devices > 1 ? std::size_t{ threads } * 3 / 4 / devices : threads;
  return static_cast<unsigned>(std::clamp<std::size_t>(share, 1, most));
}

} // namespace cudamedian

#endif
