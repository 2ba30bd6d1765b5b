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
#include "ScheduledProgram.h"

#include "FootprintTiling.h"
#include "TilePolicy.h"

#include <map>
#include <mutex>
#include <tuple>

#ifndef _WIN32
#  include <pthread.h>
#endif

namespace cudamedian
{
namespace
{

/** The programs that were scheduled so far.
 *
 * A child that is forked while another thread is in here finds the list whole and unlocked: the fork waits for that
 * thread. The list is never destroyed, as threads that nobody waits for may be in here when the process ends. */
class ProgramList
{
public:
  ProgramList()
  {
#ifndef _WIN32
    pthread_atfork([] { Get().m_Mutex.lock(); }, [] { Get().m_Mutex.unlock(); }, [] { Get().m_Mutex.unlock(); });
#endif
  }

  static ProgramList &
  Get()
  {
    static ProgramList & list = *new ProgramList;
    return list;
  }

  std::shared_ptr<const ScheduledProgram>
  Find(const Window & window, const Extent & tile, std::int64_t ranks = 1)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            entry = m_Programs[{ window, tile, ranks }];
    if (!entry)
    {
      auto options = window.footprint != nullptr
                       ? ChooseFootprintTiling(GetCounted(window, ranks), mostInterpretedValues).options
                       : TilingOptions{ GetRootTile(window, tile) };
      options.ranks = ranks;
      auto program = BuildHierarchicalTilingProgram(window, tile, options);
      auto schedule = ScheduleProgram(program);
      entry = std::make_shared<const ScheduledProgram>(ScheduledProgram{ std::move(program), std::move(schedule) });
    }
    return entry;
  }

  /** The window whose programs are counted to find a footprint's tile: of several ranks the median's. */
  static Window
  GetCounted(const Window & window, std::int64_t ranks)
  {
    return ranks == 1 ? window : Window(window.footprint, -1);
  }

private:
  std::mutex                                                                                  m_Mutex;
  std::map<std::tuple<Window, Extent, std::int64_t>, std::shared_ptr<const ScheduledProgram>> m_Programs;
};

/** Makes the list when the library is loaded: at its first use a child could find it half made. */
[[maybe_unused]] const ProgramList & listAtLoad = ProgramList::Get();

} // namespace

std::shared_ptr<const ScheduledProgram>
GetScheduledProgram(const Window & window, const Extent & tile)
{
  return ProgramList::Get().Find(window, tile);
}

std::shared_ptr<const ScheduledProgram>
GetScheduledFootprintProgram(const Window & window)
{
  return ProgramList::Get().Find(window, ChooseFootprintTiling(window, mostInterpretedValues).tile);
}

std::shared_ptr<const ScheduledProgram>
GetScheduledRanksProgram(const Window & window, const Extent & tile, std::int64_t ranks)
{
  return ProgramList::Get().Find(
    window,
    window.footprint != nullptr
      ? ChooseFootprintTiling(ProgramList::GetCounted(window, ranks), mostInterpretedValues).tile
      : tile,
    ranks);
}

std::size_t
GetDeviceProgramBytes(const ProgramSchedule & schedule)
{
  return schedule.instructions.size() * sizeof(ProgramSchedule::Instruction) +
         schedule.outputs.size() * sizeof(std::uint16_t);
}

} // namespace cudamedian
