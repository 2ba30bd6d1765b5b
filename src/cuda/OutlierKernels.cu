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
#include "BodyLauncher.cuh"
#include "OutlierBodies.h"

namespace cudamedian
{

cudaError_t
LaunchBounds(const BoundArguments & arguments, cudaStream_t stream)
{
  return DispatchBounds(arguments, BodyLauncher{ stream });
}

cudaError_t
LaunchOutlierKernel(const OutlierArguments & arguments, cudaStream_t stream)
{
  return DispatchOutliers(arguments, BodyLauncher{ stream });
}

} // namespace cudamedian
