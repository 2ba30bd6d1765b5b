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
#ifndef InterpretedLaunch_h
#define InterpretedLaunch_h

#include "InterpretedProgram.h"
#include "KernelArguments.h"
#include "PixelFormat.h"

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** Shared memory of one block of the interpreting kernel, in bytes. */
std::size_t
GetInterpreterSharedBytes(const ProgramSchedule & schedule, KeyFormat keyFormat);

/** Runs a schedule that lies in device memory over a slab. The device must allow the shared memory above. */
cudaError_t
LaunchInterpreter(const KernelArguments &    arguments,
                  const InterpretedProgram & program,
                  KeyFormat                  keyFormat,
                  std::size_t                sharedBytes,
                  cudaStream_t               stream);

} // namespace cudamedian

#endif
