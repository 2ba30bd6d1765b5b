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
#ifndef UploadedBoxes_h
#define UploadedBoxes_h

#include "MedianBackend.h"

#include <string>
#include <vector>

/** Requests on images of the host some of whose pixels do not count, cut into boxes that a device filters in its own
 * memory. Preparing copies, which takes longer than all else, is the device's work then. */
namespace cudamedian
{

/** Seconds that the calls take that bring one box there and back. */
constexpr double secondsOfBox = 150e-6;

/** The least that a request takes in boxes. */
constexpr double leastUploadSeconds = 2 * secondsOfBox;

/** Why a request cannot be run in boxes that are uploaded; empty where it can. */
std::string
FindUploadObstacle(const MedianRequest & request);

/** Cuts a request's outputs into boxes.
 * \param share how many boxes there are at least, where they stay large enough to be worth a transfer
 * \param most bytes of memory that a box may take on the device, for what is uploaded and what is downloaded, where
 * windows leave a choice */
std::vector<UploadedBox>
CutIntoUploads(const MedianRequest & request, std::int64_t share, std::int64_t most);

/** Bytes of the host's memory that a box passes through, both ways. */
std::int64_t
GetStagedBytes(const MedianRequest & request, const UploadedBox & box);

/** The request for the images of a box. All of the box's pixels are outputs: those that windows reach from there, but
 * that are none, get values that nobody reads. Rows begin at multiples of 32 pixels. The addresses of its images are to
 * be set. */
MedianRequest
MakeUploadedRequest(const MedianRequest & request, const UploadedBox & box);

/** Seconds that CUDA takes for a request in so many boxes.
 * \param kernelSeconds of the kernels that find medians
 * \param copyBytes as of EstimateCudaSeconds() */
double
EstimateUploadedSeconds(const MedianRequest & request,
                        std::size_t           boxes,
                        double                kernelSeconds,
                        const DeviceTraits &  device,
                        const HostTraits &    host,
                        double                copyBytes);

/** Seconds that the CPU takes for a request in copies, where it takes `seconds` for the medians of all pixels. */
double
EstimateCopiedSeconds(const MedianRequest & request, double seconds, const HostTraits & host);

} // namespace cudamedian

#endif
