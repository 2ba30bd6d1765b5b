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
#ifndef DeviceImage_h
#define DeviceImage_h

#include "MedianBackend.h"

namespace cudamedian
{

/** The device on which a request's images lie, or -1 where they are empty. \throws RequestError when they do not lie on
 * one device, or cannot be filtered there; DeviceError when a CUDA call fails. */
int
FindImageDevice(const MedianRequest & request);

/** Starts a run on images in device memory, in the order of a stream's work (a cudaStream_t). The request outlives it.
 * \throws DeviceError */
std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest & request, int device, void * stream);

} // namespace cudamedian

#endif
