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
#include "FaultInjection.h"

#include <mutex>

namespace cudamedian
{
namespace
{

/** A range of numbers that fail. */
class Faults
{
public:
  void
  Set(int first, int count)
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Before = first - 1;
    m_Left = count;
  }

  bool
  Count()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    if (m_Left == 0)
    {
      return false;
    }
    if (m_Before > 0)
    {
      --m_Before;
      return false;
    }
    --m_Left;
    return true;
  }

private:
  std::mutex m_Mutex;
  int        m_Before{ 0 };
  int        m_Left{ 0 };
};

Faults allocationFaults;
Faults copyFaults;

} // namespace

void
SetAllocationFaults(int first, int count)
{
  allocationFaults.Set(first, count);
}

void
SetCopyFaults(int first, int count)
{
  copyFaults.Set(first, count);
}

bool
InjectAllocationFault()
{
  return allocationFaults.Count();
}

bool
InjectCopyFault()
{
  return copyFaults.Count();
}

} // namespace cudamedian
