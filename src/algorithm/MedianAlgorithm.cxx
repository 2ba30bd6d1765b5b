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
#include "MedianAlgorithm.h"

#include "DeviceProfiles.h"

#include <algorithm>

namespace cudamedian
{

std::string
FindVerdict(const Problem & problem, KernelMeans means)
{
  if (problem.only)
  {
    return *problem.only == means ? "" : std::string(ToString(means)) + " is not asked for";
  }
  for (const auto & refusal : problem.excluded)
  {
    if (refusal.means == means)
    {
      return refusal.why;
    }
  }
  for (const int device : problem.devices)
  {
    const auto verdict = GetVerdict({ device, means, problem.GetWindow(), problem.request.pixelType });
    if (!verdict.wrong.empty())
    {
      return verdict.wrong;
    }
  }
  return "";
}

double
GetSlowness(const Problem & problem)
{
  return 1 / GetRelativeSpeed(problem.device);
}

double
CountWindowPixels(const MedianRequest & request)
{
  double       pixels = 1;
  const Window window = GetWindow(request);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    pixels *= static_cast<double>(std::min(window.GetSize(axis), request.inputExtent[axis]));
  }
  return request.footprint == nullptr ? pixels : static_cast<double>(request.footprint->GetPixels().size());
}

} // namespace cudamedian
