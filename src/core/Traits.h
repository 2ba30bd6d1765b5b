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
#ifndef Traits_h
#define Traits_h

#include <algorithm>
#include <cstddef>
#include <string>

/** What a policy knows of a machine. A policy has no other way to know one. */
namespace cudamedian
{

/** A device of CUDA. */
struct DeviceTraits
{
  std::string name;                        ///< as the driver says it; rows of tuning tables name devices so
  int         computeCapability{ 0 };      ///< major * 10 + minor
  int         multiprocessors{ 0 };        ///< of the device
  int         kilohertz{ 0 };              ///< the clock of a multiprocessor
  int         blockSharedBytes{ 0 };       ///< shared memory that a block can ask for
  int         sharedBytes{ 0 };            ///< shared memory of a multiprocessor
  int         reservedSharedBytes{ 1024 }; ///< of it, what each block takes besides what it asks for
  int         registers{ 0 };              ///< of a multiprocessor, 32 bits each
  std::size_t cacheBytes{ 0 };             ///< the second-level cache
  double      copyBytes{ 0 };              ///< read and written in a second by a copy in device memory

  /** Blocks with so much shared memory that a multiprocessor holds at once. */
  int
  CountBlocks(int bytes) const
  {
    constexpr int most = 32;
    return std::min(most, sharedBytes / (bytes + reservedSharedBytes));
  }
};

/** A processor and its memory. */
struct HostTraits
{
  unsigned    cores{ 1 };
  std::size_t vectorBytes{ 16 }; ///< a vector of its widest instruction set
  double      laneBytes{ 0 };    ///< bytes of keys that a thread compares in a second while each core has one
  double      copyBytes{ 0 };    ///< bytes that one thread copies in a second, past the caches
};

/** An H200 as its driver describes it. Its copies were timed by CudaMedianKernelBenchmark. Programs that are compiled
 * ahead, where no device is at hand, are chosen for it. */
inline const DeviceTraits &
GetH200Traits()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & traits =
    *new DeviceTraits{ "NVIDIA H200", 90, 132, 1980000, 232448, 233472, 1024, 65536, 62914560, 4.26e12 };
  return traits;
}

/** The host of an H200 that the tables of benchmark/README.md were taken on: an Intel Xeon with AVX-512. Its rates are
 * those that the estimates were fitted with. */
inline const HostTraits &
GetH200HostTraits()
{
  static const auto & traits = *new HostTraits{ 16, 64, 9.5e10, 15.7e9 };
  return traits;
}

/** How fast a device issues instructions, as a multiple of an H200, whose times the models of the kernels tell.
 * Reasoned: by multiprocessors and clock. */
inline double
GetRelativeSpeed(const DeviceTraits & traits)
{
  const auto & known = GetH200Traits();
  return static_cast<double>(traits.multiprocessors) / known.multiprocessors * traits.kilohertz / known.kilohertz;
}

} // namespace cudamedian

#endif
