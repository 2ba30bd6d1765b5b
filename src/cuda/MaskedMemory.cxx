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
#include "MaskedMemory.h"

namespace cudamedian
{
namespace
{

constexpr std::int64_t bitsOfWord = 32;
constexpr std::int64_t wordBytes = 4;

/** Words of a row. One is behind that of the place behind the last pixel, since flags are read out of two words. */
std::int64_t
GetRowWords(const Extent & extent)
{
  return extent[0] / bitsOfWord + 2;
}

Flags
MakeFlags(std::int64_t rowWords, const Extent & rows, void * memory)
{
  Flags flags{};
  flags.words = static_cast<std::uint32_t *>(memory);
  flags.stride[0] = 1;
  flags.stride[1] = rowWords;
  flags.stride[2] = flags.stride[1] * rows[1];
  flags.stride[3] = flags.stride[2] * rows[2];
  return flags;
}

/** With the place behind each line. */
Extent
GetFlagExtent(Extent extent, int axis)
{
  ++extent[axis];
  return extent;
}

} // namespace

std::size_t
MaskedMemory::Add(std::size_t count)
{
  constexpr std::size_t alignment = 256;
  const auto            first = bytes;
  bytes += RoundUp(count, alignment);
  return first;
}

Flags
GetCopyFlags(const Extent & extent, int axis, void * memory)
{
  return MakeFlags(GetRowWords(extent), GetFlagExtent(extent, axis), memory);
}

std::size_t
GetCopyFlagBytes(const Extent & extent, int axis)
{
  return static_cast<std::size_t>(GetCopyFlags(extent, axis, nullptr).stride[3] * GetFlagExtent(extent, axis)[3] *
                                  wordBytes);
}

Flags
GetOutputFlags(const Extent & extent, void * memory)
{
  return MakeFlags(DivideUp(extent[0], bitsOfWord), extent, memory);
}

std::size_t
GetOutputFlagBytes(const Extent & extent)
{
  return static_cast<std::size_t>(GetOutputFlags(extent, nullptr).stride[3] * extent[3] * wordBytes);
}

SegmentCut
CutIntoSegments(const Extent & extent, int axis)
{
  SegmentCut cut{ extent, 1, 0 };
  cut.segments[0] = GetRowWords(extent);
  cut.lineWords = cut.segments[axis];
  // A thread reads its segment, and what was counted in those before it: there are as many as each has words.
  while (cut.length * cut.length < cut.lineWords)
  {
    ++cut.length;
  }
  cut.segments[axis] = DivideUp(cut.lineWords, cut.length);
  return cut;
}

std::size_t
GetParityBytes(const Extent & extent, int axis)
{
  return static_cast<std::size_t>(Volume(CutIntoSegments(extent, axis).segments) * wordBytes);
}

} // namespace cudamedian
