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
#include "itkCudaMedianDeviceAccess.h"

#include <map>
#include <mutex>
#include <typeindex>

namespace cudamedian
{
namespace
{

struct Registry
{
  std::mutex                                      mutex;
  std::map<std::type_index, const DeviceAccess *> accesses;
};

Registry &
GetRegistry()
{
  // Never destroyed: a thread may be at work when the process ends.
  static auto & registry = *new Registry;
  return registry;
}

} // namespace

void
RegisterDeviceAccess(const std::type_info & type, const DeviceAccess & access)
{
  auto &                            registry = GetRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  registry.accesses[std::type_index(type)] = &access;
}

const DeviceAccess *
FindDeviceAccess(const std::type_info & type)
{
  auto &                            registry = GetRegistry();
  const std::lock_guard<std::mutex> lock(registry.mutex);
  const auto                        found = registry.accesses.find(std::type_index(type));
  return found == registry.accesses.end() ? nullptr : found->second;
}

} // namespace cudamedian
