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
#include "SortingNetwork.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

SortedValues
EverySecond(const SortedValues & list, std::size_t first)
{
  SortedValues result;
  for (std::size_t i = first; i < list.size(); i += 2)
  {
    result.push_back(list[i]);
  }
  return result;
}

void
AppendCompareExchange(TileProgram & program, TileProgram::Value a, TileProgram::Value b, SortedValues & result)
{
  result.push_back(program.Append(TileProgram::Operation::Min, a, b));
  result.push_back(program.Append(TileProgram::Operation::Max, a, b));
}

} // namespace

SortedValues
MergeSorted(TileProgram & program, const SortedValues & a, const SortedValues & b)
{
  if (a.empty() || b.empty())
  {
    return a.empty() ? b : a;
  }
  SortedValues result;
  result.reserve(a.size() + b.size());
  if (a.size() == 1 && b.size() == 1)
  {
    AppendCompareExchange(program, a[0], b[0], result);
    return result;
  }
  const auto even = MergeSorted(program, EverySecond(a, 0), EverySecond(b, 0));
  const auto odd = MergeSorted(program, EverySecond(a, 1), EverySecond(b, 1));
  result.push_back(even[0]);
  const auto pairs = std::min(even.size() - 1, odd.size());
  for (std::size_t i = 0; i < pairs; ++i)
  {
    AppendCompareExchange(program, odd[i], even[i + 1], result);
  }
  result.insert(result.end(), even.begin() + 1 + pairs, even.end());
  result.insert(result.end(), odd.begin() + pairs, odd.end());
  return result;
}

SortedValues
MergeAllSorted(TileProgram & program, std::vector<SortedValues> lists)
{
  const auto isShorter = [](const auto & left, const auto & right) { return left.size() < right.size(); };
  while (lists.size() > 1)
  {
    // A stable sort of a few lists. The standard's own makes Clang warn of GCC 12's library.
    for (auto list = lists.begin(); list != lists.end(); ++list)
    {
      std::rotate(std::upper_bound(lists.begin(), list, *list, isShorter), list, list + 1);
    }
    auto merged = MergeSorted(program, lists[0], lists[1]);
    lists.erase(lists.begin(), lists.begin() + 2);
    lists.push_back(std::move(merged));
  }
  return lists.empty() ? SortedValues{} : std::move(lists.front());
}

void
PutOutput(const SortedValues & values, std::int64_t output, std::vector<TileProgram::Value> & outputs)
{
  std::copy(values.begin(), values.end(), outputs.begin() + output * static_cast<std::int64_t>(values.size()));
}

} // namespace cudamedian
