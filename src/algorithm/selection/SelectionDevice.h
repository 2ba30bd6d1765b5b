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
#ifndef SelectionDevice_h
#define SelectionDevice_h

#include "Plan.h"

namespace cudamedian
{

/** Pixels that selection filters in 0.02 s on an H200, soon enough for a display driver's watchdog on slower devices
 * too: it reads the window once per bit of a key, 220e9 pixels of windows a second at 16 bits. */
std::int64_t
GetSelectedPixels(const MedianRequest & request);

/** Selection on a device. Null without CUDA. */
std::shared_ptr<const DeviceMethod>
MakeSelectionDeviceMethod();

/** The same of a footprint's pixels. Null without CUDA. */
std::shared_ptr<const DeviceMethod>
MakeFootprintSelectionMethod();

/** Device memory that the list of a footprint's pixels takes; 0 without CUDA. */
std::size_t
GetFootprintBytes(const Footprint & footprint);

} // namespace cudamedian

#endif
