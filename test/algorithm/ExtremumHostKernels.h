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
#ifndef ExtremumHostKernels_h
#define ExtremumHostKernels_h

#include "CudaMedianTestSlabs.h"
#include "ExtremumSteps.h"

#include <vector>

/** Runs the own code of kernels that find extremes on the host: blocks and threads are loops. */
namespace cudamediantest
{

using namespace cudamedian;

/** Runs a kernel; the shared memory of each warp or team lies between guards. It is there for all keys.
 *
 * \returns whether a guard was overwritten. */
template <typename TBits, KeyMapping VMapping>
bool
RunKernel(const ExtremumArguments & arguments);

/** Checks the outputs of one shape for an image of random pixels. */
template <typename TBits, KeyMapping VMapping>
void
CheckShape(const ExtremumShape & shape, const Extent & extent, const Window & window, PixelType type)
{
  const std::vector<ExtremumShape> shapes{ shape };
  CheckSlabs<TBits, VMapping>(extent, window, type, std::size_t{ 1 } << 30, [&](const KernelArguments & slab) {
    const ExtremumSteps steps(slab, shapes, sizeof(TBits));
    EXPECT_FALSE(steps.Run(nullptr, 0, true, RunKernel<TBits, VMapping>)) << "shared memory was overrun";
  });
}

/** The reach of a window in an image. */
inline ExtremumReach
GetReach(const Window & window, const Extent & extent)
{
  MedianRequest request;
  request.inputExtent = extent;
  request.radius = window.radius;
  request.shorter = window.shorter;
  return GetExtremumReach(request);
}

} // namespace cudamediantest

#endif
