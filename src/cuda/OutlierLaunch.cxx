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
#include "OutlierLaunch.h"

#include "CudaError.h"
#include "HalfFloat.h"
#include "PixelFormat.h"
#include "RequestWindow.h"
#include "SlabCopy.h"

namespace cudamedian
{

std::size_t
CountBoundBytes(PixelType type)
{
  const auto bytes = PixelBytes(type);
  return bytes > 2 || IsHalfFloat(type) ? 0 : bytes << (8 * bytes);
}

OutlierArguments
MakeOutlierArguments(const MedianRequest & request, const FinishArguments & finish)
{
  const auto       window = GetWindow(request);
  OutlierArguments arguments{};
  arguments.finish = finish;
  CopyExtent(window.GetExtent(), arguments.window);
  arguments.count = window.CountPixels();
  arguments.bound = DeviationBound(request.outlierThreshold);
  arguments.one = 1;
  arguments.signMask = IsHalfFloat(request.pixelType) ? 0U : static_cast<std::uint32_t>(GetSignMask(request.pixelType));
  return arguments;
}

void
LaunchOutliers(OutlierArguments arguments, void * table, cudaStream_t stream)
{
  const auto bytes = CountBoundBytes(arguments.finish.pixelType);
  if (bytes > 0)
  {
    const auto count = static_cast<std::int64_t>(bytes / PixelBytes(arguments.finish.pixelType));
    arguments.bounds = table;
    CheckCuda(LaunchBounds({ table, { count, 1, 1, 1 }, arguments.bound }, stream), "finding bounds");
  }
  CheckCuda(LaunchOutlierKernel(arguments, stream), "telling outliers");
}

} // namespace cudamedian
