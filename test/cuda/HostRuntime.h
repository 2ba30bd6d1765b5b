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
#ifndef HostRuntime_h
#define HostRuntime_h

#include "CudaDriver.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <set>
#include <string>

/** What tests can have the devices do that are threads of the host, and ask them. */
namespace hostruntime
{

constexpr int numberOfDevices = 6;

/** Devices that were used: that memory was asked for or of, or that a context was made on, as by cudaSetDevice(). */
std::set<int>
GetTouchedDevices();
void
ForgetTouchedDevices();

/** Lets some devices have no context, as those that another process has for itself. */
void
SetUnusableDevices(const std::set<int> & devices);

/** Lets every call on a device fail from now on, as after a kernel that wrote where it must not; cudaSuccess ends that.
 */
void
LoseDevice(int device, cudaError_t error);

/** Lets a device be lost by its launch of a kernel after so many others. Launches on other devices wait for that, so
 * that they do not take its share of the slabs first. */
void
LoseDeviceAtLaunch(int device, int launches, cudaError_t error);

/** What is free on each device. */
void
SetFreeMemory(std::size_t bytes);

/** Lets cudaMallocHost() fail above so many bytes at a time, with an error. */
void
SetPinnedLimit(std::size_t bytes, cudaError_t error);

/** Uses of streams, events or memory that a reset had ended. */
int
CountStaleUses();

/** How far this process is taken to have got with CUDA; started unless tests say otherwise. */
void
SetDriverState(cudamedian::DriverState found);

/** All calls of the runtime, by whichever thread. */
int
CountCalls();

/** From now on it is known of device memory what was written to it. */
void
WatchInitialization(bool watch);

/** Copies to the host of device memory that nothing had been written to. */
int
CountUninitializedCopies();

/** Marks device memory as written to. */
void
MarkInitialized(const void * memory, std::size_t bytes);

/** Lets tile programs be compiled at first use from now on, by this function, once for each window and device. It
 * returns what is wrong, "" where nothing is, and may look whether it is to stop. Null: they are compiled ahead. Not to
 * be called while one is being compiled. */
void
SetCompiler(std::function<std::string(const std::atomic<bool> & isStopped)> compile);

/** How often it was called. */
int
CountCompilations();

} // namespace hostruntime

#endif
