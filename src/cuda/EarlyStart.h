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
#ifndef EarlyStart_h
#define EarlyStart_h

/** Kernels that a device may start before those in front of them in their stream have ended, so that blocks are in
 * place by then (EarlyLaunch.h). NVRTC compiles this file too. */
namespace cudamedian
{

/** The least architecture whose code waits by itself, major * 10 + minor. */
constexpr int earlyStartArchitecture = 90;

#ifdef __CUDACC__
/** Waits until the kernels in front of this one in its stream have ended, and what they wrote can be read. All threads
 * call it before they read or write the device's memory. The kernel behind this one may start from then on, and waits
 * in the same way. */
__device__ __forceinline__ void
AwaitKernelsInFront()
{
#  if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#  endif
}
#endif

} // namespace cudamedian

#endif
