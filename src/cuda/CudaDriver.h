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
#ifndef CudaDriver_h
#define CudaDriver_h

namespace cudamedian
{

/** How far a process has got with CUDA. */
enum class DriverState
{
  None,    ///< there is no driver, or no device: to ask for devices takes next to nothing
  Waiting, ///< nobody in this process has made a context yet
  Started  ///< this library has used CUDA, or another has made a device's primary context
};

/** How far this process has got. Starts nothing, neither the driver nor a context. Never throws. Thread-safe. */
DriverState
GetDriverState();

/** Remembers that the driver was asked and has no device. Thread-safe. */
void
RememberNoDevice();

} // namespace cudamedian

#endif
