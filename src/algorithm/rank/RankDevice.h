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
#ifndef RankDevice_h
#define RankDevice_h

#include "PixelFormat.h"
#include "Plan.h"
#include "RankPolicy.h"

namespace cudamedian
{

/** Shared memory that the larger of the kernels takes for a block, in bytes. */
std::size_t
GetRankSharedBytes(const RankShape & shape, KeyFormat keyFormat);

/** Local ranks on a device, in blocks of a shape. Null without CUDA. */
std::shared_ptr<const DeviceMethod>
MakeRankDeviceMethod(const RankShape & shape);

} // namespace cudamedian

#endif
