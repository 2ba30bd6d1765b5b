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
#include "HostMemory.h"

#include <algorithm>
#include <fstream>
#include <limits>

#ifdef _WIN32
#  include <windows.h>
#else
#  include <unistd.h>
#endif

namespace cudamedian
{
namespace
{

std::size_t
GetMachineMemoryBytes()
{
#ifdef _WIN32
  MEMORYSTATUSEX status{};
  status.dwLength = sizeof(status);
  return GlobalMemoryStatusEx(&status) ? static_cast<std::size_t>(status.ullTotalPhys) : 0;
#else
  const auto pages = sysconf(_SC_PHYS_PAGES);
  const auto bytes = sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : 0;
#endif
}

/** The least of what is stated. */
std::size_t
FindHostMemoryBytes()
{
  auto bytes = GetMachineMemoryBytes();
  // What containers see of their own group, by the second and by the first version of control groups.
  for (const char * name : { "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes" })
  {
    std::ifstream file(name);
    bytes = std::min(bytes, ReadMemoryLimit(file));
  }
  return bytes;
}

} // namespace

std::size_t
ReadMemoryLimit(std::istream & file)
{
  std::size_t bytes = 0;
  return file >> bytes ? bytes : std::numeric_limits<std::size_t>::max();
}

std::size_t
GetHostMemoryBytes()
{
  static const std::size_t bytes = FindHostMemoryBytes();
  return bytes;
}

std::size_t
GetAutomaticHostBudget(std::size_t hostMemoryBytes)
{
  constexpr std::size_t least = std::size_t{ 64 } << 20;
  constexpr std::size_t most = std::size_t{ 2 } << 30;
  return std::clamp(hostMemoryBytes / 8, least, most);
}

} // namespace cudamedian
