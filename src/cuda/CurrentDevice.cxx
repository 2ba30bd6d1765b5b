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
#include "CurrentDevice.h"

#include "ProcessNumber.h"

#include <atomic>
#include <exception>
#include <string>
#include <thread>

namespace cudamedian
{
namespace
{

/** The process in which this library started CUDA, or 0. */
std::atomic<long> cudaProcess{ 0 };

int
GetCurrentDevice()
{
  int device = 0;
  CheckCuda(cudaGetDevice(&device), "cudaGetDevice");
  return device;
}

} // namespace

bool
IsForkedFromCuda()
{
  const long process = cudaProcess;
  return process != 0 && process != GetProcessNumber();
}

bool
HasStartedCuda()
{
  return cudaProcess == GetProcessNumber();
}

void
StartCuda()
{
  long       none = 0;
  const long process = GetProcessNumber();
  if (!cudaProcess.compare_exchange_strong(none, process) && none != process)
  {
    throw DeviceError("this process, " + std::to_string(process) + ", was forked from process " + std::to_string(none) +
                      " after CUDA had started there, and CUDA does not work in such a process: fork before the first "
                      "use of CUDA, or start a new program instead");
  }
}

void
OnDevice(int device, const std::function<void()> & function)
{
  const std::string name = "CUDA device " + std::to_string(device) + ": ";
  const auto        prefix = [&name](const std::string & text) { return text.find(name) == 0 ? text : name + text; };
  try
  {
    if (GetCurrentDevice() == device)
    {
      function();
      return;
    }
    std::exception_ptr failure;
    std::thread        thread([&] {
      try
      {
        CheckCuda(cudaSetDevice(device), "cudaSetDevice");
        function();
      }
      catch (...)
      {
        failure = std::current_exception();
      }
    });
    thread.join();
    if (failure)
    {
      std::rethrow_exception(failure);
    }
  }
  catch (const CudaError & error)
  {
    throw CudaError(error.GetCode(), prefix(error.what()));
  }
  catch (const DeviceError & error)
  {
    throw DeviceError(prefix(error.what()));
  }
}

DeviceScope::DeviceScope(int device)
  : m_Before(GetCurrentDevice())
{
  if (device != m_Before)
  {
    CheckCuda(cudaSetDevice(device), "cudaSetDevice");
  }
  m_Device = device;
}

DeviceScope::~DeviceScope()
{
  if (m_Device != m_Before && cudaSetDevice(m_Before) != cudaSuccess)
  {
    cudaGetLastError();
  }
}

std::vector<int>
ResolveDevices(const std::vector<int> & devices)
{
  return devices.empty() ? std::vector<int>{ GetCurrentDevice() } : devices;
}

} // namespace cudamedian
