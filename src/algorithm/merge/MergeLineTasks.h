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
#ifndef MergeLineTasks_h
#define MergeLineTasks_h

#include "MergeLists.h"
#include "MergeTask.h"

namespace cudamedian
{

/** Some lines of root tiles: parts of them are sorted, then merged. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::SortLines> : public MergeLines<TKey>
{
public:
  using MergeLines<TKey>::MergeLines;

  CUDAMEDIAN_HOST_DEVICE int
  GetRounds() const
  {
    return 1 + CountMergeRounds(this->GetLength(), mergePart);
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         axis = pass.axis;
    const int         length = this->GetLength();
    const int         parts = CountMergeParts(length);
    const int         positions = this->GetPositions();
    const int         buffer = pass.lists * length;
    const int         lists = this->GetLists();
    const bool        isLast = round + 1 == GetRounds();
    TKey *            sorted = m_Arguments.lines[axis][pass.lines[axis]] + m_FirstLine * length;
    for (int number = thread; number < lists * parts; number += pass.threads)
    {
      const int list = number / parts;
      const int first = (number - list * parts) * mergePart;
      const int count = GetPartLength(length, first);
      TKey *    destination = (isLast ? sorted : m_Work + round % 2 * buffer) + list * length + first;
      if (round == 0)
      {
        const std::int64_t line = m_FirstLine + list;
        const auto         tile = line / positions;
        const auto         start = tile * pass.child.tile[axis] + pass.child.tile[axis] - 1;
        const TKey *       copy = m_Arguments.copies[axis] + (line - tile * positions) * pass.footprint[axis];
        SortPart(copy + start + first, count, destination);
      }
      else
      {
        const TKey * source = m_Work + (round - 1) % 2 * buffer + list * length;
        MergeRuns(source, length, mergePart << (round - 1), first, count, destination);
      }
    }
  }

private:
  using MergeLines<TKey>::m_Arguments;
  using MergeLines<TKey>::m_FirstLine;
  using MergeLines<TKey>::m_Work;
};

/** Some lines of tiles that are half as long as those before: corners are sorted, then merged with the line. The
 * results leave from the block's memory all together, since a thread's own parts would fill memory accesses poorly. */
template <typename TKey>
class MergeTask<TKey, MergePassKind::ExtendLines> : public MergeLines<TKey>
{
public:
  using MergeLines<TKey>::MergeLines;

  CUDAMEDIAN_HOST_DEVICE static int
  GetRounds()
  {
    return 3;
  }

  CUDAMEDIAN_HOST_DEVICE void
  Run(int round, int thread) const
  {
    const MergePass & pass = m_Arguments.pass;
    const int         axis = pass.axis;
    const int         positions = this->GetPositions();
    const int         length = this->GetLength();
    const int         parentLength = pass.parent.line[axis];
    const int         added = length - parentLength;
    const int         lists = this->GetLists();
    if (round == 0)
    {
      for (int number = thread; number < lists * added; number += pass.threads)
      {
        const int          list = number / added;
        const int          own = number - list * added;
        const std::int64_t line = m_FirstLine + list;
        const auto         tile = line / positions;
        // The first half of the parent's tile takes in what is before the parent's line, the other what is behind it.
        const auto   start = tile % 2 == 0 ? tile * pass.child.tile[axis] + pass.child.tile[axis] - 1
                                           : (tile - 1) * pass.child.tile[axis] + m_Arguments.window[axis];
        const TKey * corners = m_Arguments.copies[axis] + (line - tile * positions) * pass.footprint[axis] + start;
        const TKey   key = corners[own];
        int          rank = 0;
        for (int i = 0; i < added; ++i)
        {
          const TKey other = corners[i];
          rank += other < key || (other == key && i < own) ? 1 : 0;
        }
        m_Work[list * added + rank] = key;
      }
      return;
    }
    TKey * extended = m_Work + pass.lists * added;
    if (round == 2)
    {
      TKey * destination = m_Arguments.lines[axis][1 - pass.lines[axis]] + m_FirstLine * length;
      for (int i = thread; i < lists * length; i += pass.threads)
      {
        destination[i] = extended[i];
      }
      return;
    }
    const int    parts = CountMergeParts(length);
    const TKey * parents = m_Arguments.lines[axis][pass.lines[axis]];
    for (int number = thread; number < lists * parts; number += pass.threads)
    {
      const int          list = number / parts;
      const int          first = (number - list * parts) * mergePart;
      const std::int64_t line = m_FirstLine + list;
      const auto         tile = line / positions;
      const auto         parent = tile / 2 * positions + (line - tile * positions);
      MergePart(SortedList<TKey>{ parents + parent * parentLength, parentLength },
                SortedList<TKey>{ m_Work + list * added, added },
                first,
                GetPartLength(length, first),
                extended + list * length + first);
    }
  }

private:
  using MergeLines<TKey>::m_Arguments;
  using MergeLines<TKey>::m_FirstLine;
  using MergeLines<TKey>::m_Work;
};

} // namespace cudamedian

#endif
