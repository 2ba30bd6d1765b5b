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
#ifndef CurrentDevice_h
#define CurrentDevice_h

#include "CudaError.h"

#include <functional>
#include <vector>

namespace cudamedian
{

/** Whether this process was forked from one in which this library had started CUDA. CUDA does not work here then, and
 * the memory, the streams and the threads that are known are the other process's. */
bool
IsForkedFromCuda();

/** Whether this library has started CUDA in this process. */
bool
HasStartedCuda();

/** Remembers that this process has started CUDA. \throws DeviceError in a process that was forked after that. */
void
StartCuda();

/** Calls a function with a device as the current one.
 *
 * The calling thread's current device stays what it is, and is not touched. Where it is another, the function runs in a
 * thread of its own: to set a device as the current one starts CUDA on it, even where it was the current one before. An
 * exception of the function is passed on. A DeviceError then names the device. */
void
OnDevice(int device, const std::function<void()> & function);

/** Makes a device the current one of this thread, until the end of the scope. Only for devices that are in use already:
 * OnDevice() says why. \throws DeviceError */
class DeviceScope
{
public:
  explicit DeviceScope(int device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &
  operator=(const DeviceScope &) = delete;

private:
  int m_Before{ 0 };
  int m_Device{ 0 };
};

/** The devices of a list, or this thread's current one where the list is empty. \throws DeviceError */
std::vector<int>
ResolveDevices(const std::vector<int> & devices);

} // namespace cudamedian

#endif
