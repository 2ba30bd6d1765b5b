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
#include <tuple>

/** What a policy knows of a machine. A policy has no other way to know one. */
namespace cudamedian
{

/** How a multiprocessor's pipes and its instruction cache suit tile programs. A column of Architectures.inc each. */
struct PipeTraits
{
  /** Of the maxima, the percentage that is worth trying to make by sums (a + b - min), on another pipe than min and
   * max. A measured policy may have more. */
  int  mostSumPercent{ 60 };
  bool threeInput{ true }; ///< whether min and max of three keys take one instruction
  /** Instructions of 16 bytes that a multiprocessor's cache holds beside what else runs. */
  double cachedInstructions{ 7800 };
};

/** Shared memory that a block of every device has without asking for it. Kernels that need more call
 * AllowSharedMemory(). */
constexpr int unaskedSharedBytes = 48 << 10;

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
  int         warps{ 64 };                 ///< that a multiprocessor holds at once
  int         blocks{ 32 };                ///< that a multiprocessor holds at once
  std::size_t cacheBytes{ 0 };             ///< the second-level cache
  double      copyBytes{ 0 };              ///< read and written in a second by a copy in device memory
  PipeTraits  pipes;
  /** The compute capability of the device at hand where these traits are another's (CUDAMEDIAN_PRETEND_DEVICE), whose
   * code it takes as PTX alone if it is newer; otherwise 0. */
  int pretendedOn{ 0 };

  /** Blocks of so many threads with so much shared memory that a multiprocessor holds at once. */
  int
  CountBlocks(int bytes, int threads) const
  {
    return std::min({ blocks, warps * 32 / threads, sharedBytes / std::max(1, bytes + reservedSharedBytes) });
  }
};

/** All that is known of a device. One more thing does not compile until it is here too. */
inline auto
GetAll(const DeviceTraits & traits)
{
  const auto & [name,
                capability,
                multiprocessors,
                kilohertz,
                blockShared,
                shared,
                reserved,
                registers,
                warps,
                blocks,
                cache,
                copy,
                pipes,
                on] = traits;
  const auto & [sums, threeInput, instructions] = pipes;
  return std::tie(name,
                  capability,
                  multiprocessors,
                  kilohertz,
                  blockShared,
                  shared,
                  reserved,
                  registers,
                  warps,
                  blocks,
                  cache,
                  copy,
                  sums,
                  threeInput,
                  instructions,
                  on);
}

/** An order for maps. */
inline bool
operator<(const DeviceTraits & one, const DeviceTraits & other)
{
  return GetAll(one) < GetAll(other);
}

/** A processor and its memory. */
struct HostTraits
{
  unsigned    cores{ 1 };
  std::size_t vectorBytes{ 16 }; ///< a vector of its widest instruction set
  double      laneBytes{ 0 };    ///< bytes of keys that a thread compares in a second while each core has one
  double      copyBytes{ 0 };    ///< bytes that one thread copies in a second, past the caches
};

/** The host of an H200 that the tables of benchmark/README.md were taken on: an Intel Xeon with AVX-512. Its rates are
 * those that the estimates were fitted with. */
inline const HostTraits &
GetH200HostTraits()
{
  static const auto & traits = *new HostTraits{ 16, 64, 9.5e10, 15.7e9 };
  return traits;
}

} // namespace cudamedian

#endif
