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
#ifndef SlabRun_h
#define SlabRun_h

#include "MedianBackend.h"

#include <memory>
#include <string>
#include <vector>

namespace cudamedian
{

/** Starts a run of a request on devices, on no more than there are slabs. The request outlives it. \throws DeviceError
 */
std::unique_ptr<BackendRun>
StartSlabRun(const MedianRequest & request, std::size_t slabs);

/** Starts a run on devices whose slabs go through all steps of a chain. Requests and reports outlive it.
 *
 * \param images where the images are, and a window that reaches as far as all steps' windows together.
 * \param slabs no more devices than these are used.
 * \param reports get one for each step. \throws DeviceError */
std::unique_ptr<BackendRun>
StartChainRun(const MedianRequest &              images,
              const std::vector<MedianRequest> & steps,
              std::size_t                        slabs,
              std::vector<ExecutionReport> &     reports);

/** Why a plan's outputs cannot be written over its inputs while one device filters it; empty where they can.
 *
 * The device takes slabs in their order, and reads each before its outputs are written. What it shares with the slab
 * before stays on the device. So nothing that was written is read again, if slabs follow each other along one axis. */
std::string
FindOverwrittenInput(const MedianRequest & request, const Plan & plan);

} // namespace cudamedian

#endif
