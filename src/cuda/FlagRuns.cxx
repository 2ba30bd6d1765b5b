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
#include "FlagRuns.h"

#include "itkCudaMedianFootprint.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** The runs of a line that have begun and not ended. */
class OpenRuns
{
public:
  OpenRuns(int axis, std::vector<FlagRun> & ended)
    : m_Axis(axis)
    , m_Ended(ended)
  {}

  /** Goes on to a pixel that counts so often: begins runs, or ends those that it is not of. */
  void
  GoTo(const FootprintMember & pixel)
  {
    while (m_Weight > pixel.weight)
    {
      auto &     last = m_Open.back();
      const auto ending = std::min<std::int64_t>(last.weight, m_Weight - pixel.weight);
      auto       run = last;
      run.length = pixel.offset[m_Axis] - run.offset[m_Axis];
      run.weight = static_cast<std::uint32_t>(ending);
      m_Ended.push_back(run);
      m_Weight -= ending;
      last.weight -= run.weight;
      if (last.weight == 0)
      {
        m_Open.pop_back();
      }
    }
    if (m_Weight < pixel.weight)
    {
      FlagRun run{};
      std::copy(std::begin(pixel.offset), std::end(pixel.offset), run.offset);
      run.weight = static_cast<std::uint32_t>(pixel.weight - m_Weight);
      m_Open.push_back(run);
      m_Weight = pixel.weight;
    }
  }

private:
  int                    m_Axis;
  std::vector<FlagRun> & m_Ended;
  std::vector<FlagRun>   m_Open;
  std::int64_t           m_Weight{ 0 }; ///< of those that are open
};

/** The pixel behind another along an axis, which does not count. */
FootprintMember
GetNext(FootprintMember pixel, int axis)
{
  ++pixel.offset[axis];
  pixel.weight = 0;
  return pixel;
}

} // namespace

std::vector<FootprintMember>
ListMembers(const Window & window)
{
  std::vector<FootprintMember> members;
  for (std::size_t i = 0; window.footprint != nullptr && i < window.footprint->GetPixels().size(); ++i)
  {
    const auto &    pixel = window.footprint->GetPixels()[i];
    FootprintMember member{};
    std::copy(pixel.offset.begin(), pixel.offset.end(), member.offset);
    member.weight = pixel.weight;
    members.push_back(member);
  }
  return members;
}

std::vector<FlagRun>
ListRuns(const Window & window, int axis)
{
  auto members = ListMembers(window);
  // Line by line, the axis fastest.
  std::sort(members.begin(), members.end(), [axis](FootprintMember a, FootprintMember b) {
    std::swap(a.offset[axis], a.offset[0]);
    std::swap(b.offset[axis], b.offset[0]);
    return std::lexicographical_compare(
      std::rbegin(a.offset), std::rend(a.offset), std::rbegin(b.offset), std::rend(b.offset));
  });
  std::vector<FlagRun> runs;
  OpenRuns             open(axis, runs);
  for (std::size_t i = 0; i < members.size(); ++i)
  {
    open.GoTo(members[i]);
    const auto next = GetNext(members[i], axis);
    const bool goesOn =
      i + 1 < members.size() && std::equal(std::begin(next.offset), std::end(next.offset), members[i + 1].offset);
    if (!goesOn)
    {
      open.GoTo(next);
    }
  }
  return runs;
}

std::int64_t
CountRuns(const Window & window, int axis, const std::vector<FlagRun> & runs)
{
  std::int64_t count = window.footprint == nullptr ? window.CountPixels() / window.GetSize(axis) : 0;
  for (const auto & run : runs)
  {
    count += run.weight;
  }
  return count;
}

int
GetDigits(std::int64_t runs)
{
  const auto greatest = 2 * runs + 2;
  return greatest < 1 << 4 ? 4 : greatest < 1 << 8 ? 8 : 32;
}

} // namespace cudamedian
