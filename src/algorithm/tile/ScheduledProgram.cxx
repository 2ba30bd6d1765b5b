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

#include "HierarchicalTiling.h"
#include "TilePolicy.h"

#include <map>
#include <mutex>

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
  Find(const Window & window, const Extent & tile)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    auto &                            entry = m_Programs[{ window, tile }];
    if (!entry)
    {
      auto program = BuildHierarchicalTilingProgram(window, tile, GetHostTiling(window, tile));
      auto schedule = ScheduleProgram(program);
      entry = std::make_shared<const ScheduledProgram>(ScheduledProgram{ std::move(program), std::move(schedule) });
    }
    return entry;
  }

private:
  std::mutex                                                                   m_Mutex;
  std::map<std::pair<Window, Extent>, std::shared_ptr<const ScheduledProgram>> m_Programs;
};

/** Makes the list when the library is loaded: at its first use a child could find it half made. */
[[maybe_unused]] const ProgramList & listAtLoad = ProgramList::Get();

} // namespace

std::shared_ptr<const ScheduledProgram>
GetScheduledProgram(const Window & window, const Extent & tile)
{
  return ProgramList::Get().Find(window, tile);
}

std::size_t
GetDeviceProgramBytes(const ProgramSchedule & schedule)
{
  return schedule.instructions.size() * sizeof(ProgramSchedule::Instruction) +
         schedule.outputs.size() * sizeof(std::uint16_t);
}

} // namespace cudamedian
