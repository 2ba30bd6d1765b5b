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
#include "CudaDriver.h"

#include "CurrentDevice.h"

#include <atomic>
#include <cstdlib>

#ifdef _WIN32
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

namespace cudamedian
{
namespace
{

/** cuDevicePrimaryCtxGetState(), which fails while nobody has initialized the driver. */
using GetContextState = int (*)(int device, unsigned int * flags, int * isActive);

/** The driver's function, or null where there is no driver. Loading the driver does not initialize it. */
GetContextState
FindGetContextState()
{
#ifdef _WIN32
  const auto library = LoadLibraryA("nvcuda.dll");
  return library == nullptr ? nullptr
                            : reinterpret_cast<GetContextState>(GetProcAddress(library, "cuDevicePrimaryCtxGetState"));
#else
  void * const library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  return library == nullptr ? nullptr : reinterpret_cast<GetContextState>(dlsym(library, "cuDevicePrimaryCtxGetState"));
#endif
}

std::atomic<bool> hasNoDevice{ false };

/** Whether the driver was told to show no device. It shows those that are listed before the first that is none. */
bool
ShowsNoDevice()
{
  const char * const listed = std::getenv("CUDA_VISIBLE_DEVICES");
  return listed != nullptr && (*listed == '\0' || *listed == '-');
}

} // namespace

DriverState
GetDriverState()
{
  if (HasStartedCuda())
  {
    return DriverState::Started;
  }
  static const auto getState = FindGetContextState();
  if (getState == nullptr || hasNoDevice || ShowsNoDevice())
  {
    return DriverState::None;
  }
  unsigned int flags = 0;
  int          isActive = 0;
  for (int device = 0; getState(device, &flags, &isActive) == 0; ++device)
  {
    if (isActive != 0)
    {
      return DriverState::Started;
    }
  }
  return DriverState::Waiting;
}

void
RememberNoDevice()
{
  hasNoDevice = true;
}

} // namespace cudamedian
