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

/** Filters as an earlier call did whose request was the same but for its addresses and stream. \returns false, with
 * nothing done, where there was none, its kernels stand no longer, or something is wrong with this request.
 * \param report gets that of the earlier call, unless null. */
bool
RunKeptCall(const MedianRequest & request, void * stream, ExecutionReport * report);

/** Starts a run on images in device memory, in the order of a stream's work (a cudaStream_t). The requests outlive it.
 * What it has prepared is kept for later calls, if it can be.
 * \param planned what plans are made of: the request itself, or MakeCopiedRequest(request) of a masked one
 * \param verdictChanges CountVerdictChanges() before it was planned. \throws DeviceError */
std::unique_ptr<BackendRun>
StartOnDeviceImage(const MedianRequest & request,
                   const MedianRequest & planned,
                   int                   device,
                   void *                stream,
                   std::uint64_t         verdictChanges);

} // namespace cudamedian

#endif
