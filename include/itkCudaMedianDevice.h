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
#ifndef itkCudaMedianDevice_h
#define itkCudaMedianDevice_h

#include "itkCudaMedianEngine.h"

namespace cudamedian
{

/** Filters an image that lies in device memory to device memory, on the caller's stream.
 *
 * The request's buffers are addresses of the same device, which need not be the current one; input and output are
 * of any strides, of the same size and pixel type, and do not overlap. Nothing passes through the host. The call
 * returns when the work is in the stream, and before it is done; interpreted programs, merge tiling and footprints
 * whose pixels are listed on the device are waited for. Kernels take memory of their own, as local ranks do, in the
 * order of the stream. Neither progress nor an abort is asked for. Large images are filtered in several launches, each
 * short enough for a display driver's watchdog.
 *
 * Rows that are not a multiple of 16 bytes long, or arrays that do not start at one, are copied on the device to rows
 * that are, and the result is copied back, which takes longer; the report's slabReason says so.
 *
 * A mask lies on the same device. Images with pixels that are not valid, clipped windows, outliers
 * and other medians of even numbers pass through memory of a few bytes for each pixel, in pieces of 64 million outputs,
 * or of what a budget holds. Where such a window is a footprint, the call returns when the work is done.
 *
 * A call like an earlier one, whose request differs in addresses alone, plans and reserves nothing: it checks where its
 * images lie and launches the kernels that are ready. That holds without a budget, and where nothing is waited for.
 *
 * \param stream a cudaStream_t: null is the default stream, 1 the legacy and 2 the per-thread one.
 * \throws RequestError when the request is inconsistent.
 * \throws DeviceError when this build has no CUDA backend, or a CUDA call fails. */
CudaMedian_EXPORT ExecutionReport
RunMedianOnDevice(const MedianRequest & request, void * stream);

/** The same without a report, whose texts take time to copy. */
CudaMedian_EXPORT void
RunMedianOnDeviceQuietly(const MedianRequest & request, void * stream);

/** Why a request cannot be carried out in device memory, whatever its buffers; empty where it can. */
CudaMedian_EXPORT std::string
                  FindDeviceObstacle(const MedianRequest & request);

/** Lets what stream `then` gets from now on wait for what is in stream `first`; the host waits for nothing.
 *
 * \param memory any address on the streams' device, which need not be the current one.
 * \throws DeviceError when this build has no CUDA backend, or a CUDA call fails. */
CudaMedian_EXPORT void
OrderStreams(const void * memory, void * first, void * then);

} // namespace cudamedian

#endif
