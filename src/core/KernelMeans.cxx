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
#include "KernelMeans.h"

#include "PixelFormat.h"

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>

namespace cudamedian
{
namespace
{

// Kernels exist once for each way to store and key pixels.
using Key = std::tuple<int, KernelMeans, Window, KeyFormat>;

/** What was found out about kernels. Never destroyed: a thread may be at work when the process ends. */
struct Verdicts
{
  std::mutex                 mutex;
  std::map<Key, std::string> found;
  std::atomic<std::uint64_t> changes{ 0 };
};

Verdicts &
GetVerdicts()
{
  static auto * const verdicts = new Verdicts;
  return *verdicts;
}

Key
GetKey(const KernelSubject & subject)
{
  return { subject.device, subject.means, subject.window, GetKeyFormat(subject.type) };
}

} // namespace

const char *
ToString(KernelMeans means)
{
  switch (means)
  {
    case KernelMeans::Ahead:
      return "the kernel compiled ahead";
    case KernelMeans::AtFirstUse:
      return "the kernel compiled at first use";
    case KernelMeans::Interpreter:
      return "the kernel that interprets the program";
    case KernelMeans::Ranks:
      return "the kernels of local ranks";
    case KernelMeans::Histograms:
      return "the kernels of sliding histograms";
    case KernelMeans::Merges:
      return "the kernels of merge tiling";
    case KernelMeans::Selection:
      return "the kernel of selection";
    case KernelMeans::Extremes:
      break;
  }
  return "the kernel of reduction along axes";
}

KernelVerdict
GetVerdict(const KernelSubject & subject)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const auto                        known = verdicts.found.find(GetKey(subject));
  return known == verdicts.found.end() ? KernelVerdict{} : KernelVerdict{ true, known->second };
}

void
SetVerdict(const KernelSubject & subject, const std::string & wrong)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  verdicts.found.emplace(GetKey(subject), wrong);
  ++verdicts.changes;
}

std::uint64_t
CountVerdictChanges()
{
  return GetVerdicts().changes;
}

void
TakeOutOfUse(const Window & window, PixelType type, int device, KernelMeans means, const std::string & why)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const auto                        key = GetKey({ device, means, window, type });
  if (why.empty())
  {
    verdicts.found.erase(key);
  }
  else
  {
    verdicts.found[key] = std::string(ToString(means)) + " is out of use: " + why;
  }
  ++verdicts.changes;
}

} // namespace cudamedian
