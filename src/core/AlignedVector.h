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
#ifndef AlignedVector_h
#define AlignedVector_h

#include <cstddef>
#include <new>
#include <vector>

namespace cudamedian
{

/** An allocator of memory that starts at a cache line, so that no vector of keys lies across two. */
template <typename TValue>
struct CacheLineAllocator
{
  using value_type = TValue;
  static constexpr std::align_val_t alignment{ 64 };

  CacheLineAllocator() = default;
  template <typename TOther>
  CacheLineAllocator(const CacheLineAllocator<TOther> &)
  {}
  TValue *
  allocate(std::size_t count)
  {
    return static_cast<TValue *>(::operator new(count * sizeof(TValue), alignment));
  }
  void
  deallocate(TValue * values, std::size_t)
  {
    ::operator delete(values, alignment);
  }
  friend bool
  operator==(const CacheLineAllocator &, const CacheLineAllocator &)
  {
    return true;
  }
  friend bool
  operator!=(const CacheLineAllocator &, const CacheLineAllocator &)
  {
    return false;
  }
};

template <typename TValue>
using AlignedVector = std::vector<TValue, CacheLineAllocator<TValue>>;

/** Bytes that a vector holds. */
template <typename TVector>
std::size_t
GetBytes(const TVector & vector)
{
  return vector.capacity() * sizeof(typename TVector::value_type);
}

} // namespace cudamedian

#endif
