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
#ifndef DeviceGather_h
#define DeviceGather_h

#include "Gather.h"

#include <cuda_runtime_api.h>

namespace cudamedian
{

/** A box of pixels between an image of any strides in device memory and rows that kernels read or write. Strides are in
 * pixels. */
struct DeviceBox
{
  const void *                  source;
  void *                        target;
  Extent                        origin; ///< of the box in the image; what is gathered may lie beyond it
  Extent                        extent;
  Extent                        sourceStride;
  Extent                        targetStride;
  Extent                        imageExtent;
  std::array<Border, Dimension> border;
  std::array<unsigned char, 8>  borderValue;
  PixelType                     pixelType;
};

/** Copies a box of an image with its border, as Gatherer::GatherRow() does on the host. Asynchronous.
 * \returns CUDA's error. */
cudaError_t
LaunchGather(const DeviceBox & box, cudaStream_t stream);

/** Copies results to their places in an image. Asynchronous. \returns CUDA's error. */
cudaError_t
LaunchScatter(const DeviceBox & box, cudaStream_t stream);

} // namespace cudamedian

#endif
