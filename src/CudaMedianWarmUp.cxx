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
#include "itkCudaMedianWarmUp.h"

#include "DeviceProfiles.h"
#include "MedianAlgorithm.h"
#include "MedianBackend.h"

#include <chrono>

namespace cudamedian
{
namespace
{

/** A device that kernels are wanted for. */
struct Target
{
  std::string      name;
  DeviceTraits     traits;
  std::vector<int> devices; ///< its number; empty where it need not be at hand
};

/** The device with a name. \throws RequestError */
Target
FindTarget(const std::string & name)
{
  if (const auto * const profile = FindDeviceProfile(name))
  {
    return { name, GetTraits(*profile), {} };
  }
  std::string known;
  for (const auto & row : GetArchitectureRows())
  {
    const auto architecture = "sm_" + std::to_string(row.architecture);
    if (architecture == name)
    {
      return { name, GetArchitectureTraits(row.architecture), {} };
    }
    known += ", " + architecture;
  }
  std::string profiles;
  for (const auto & profile : GetDeviceProfiles())
  {
    profiles += (profiles.empty() ? "" : ", ") + std::string(profile.key);
  }
  throw RequestError("No device is known as \"" + name + "\"; known are " + profiles + known);
}

/** The devices that are at hand. \throws DeviceError */
std::vector<Target>
ListDevices(const std::vector<int> & listed)
{
  const auto & backend = GetCudaBackend();
  auto         numbers = listed;
  for (int device = 0; listed.empty() && device < backend.CountDevices(); ++device)
  {
    numbers.push_back(device);
  }
  if (numbers.empty())
  {
    throw DeviceError("There is no CUDA device to compile kernels for, and no other one is named; found: " +
                      backend.Query({}).description);
  }
  std::vector<Target> targets;
  for (const int device : numbers)
  {
    const auto available = backend.Query({ device });
    if (!available.usable)
    {
      throw DeviceError(available.description);
    }
    targets.push_back({ "CUDA device " + std::to_string(device), backend.GetTraits({ device }), { device } });
  }
  return targets;
}

/** The kernel of a window, from whichever algorithm has one to compile. */
WarmUpResult
WarmUpWindow(const Target & target, const Extent & radius, PixelType type)
{
  const auto    start = std::chrono::steady_clock::now();
  MedianRequest request;
  request.pixelType = type;
  request.radius = radius;
  request.inputExtent = request.outputExtent = Window(radius).GetExtent();
  const Problem problem{ request, target.traits, target.devices, 0, GetH200HostTraits(), false, {}, {}, false };
  WarmUpResult  result;
  result.device = target.name;
  result.window = Window(radius).GetExtent();
  result.pixelType = type;
  result.isReady = true;
  result.how = "nothing to compile: others are faster";
  for (const auto * const algorithm : GetMedianAlgorithms())
  {
    const auto prepared = algorithm->PrepareKernel(problem);
    if (!prepared.how.empty())
    {
      result.isReady = prepared.isReady;
      result.how = prepared.how;
    }
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

} // namespace

std::vector<WarmUpResult>
WarmUp(const WarmUpRequest & request, const std::function<void(const WarmUpResult &)> & report)
{
  for (const auto & radius : request.radii)
  {
    if (Window(radius).CountBoxPixels() == 0)
    {
      throw RequestError("A radius is negative; radii start at 0");
    }
  }
  const auto targets =
    request.target.empty() ? ListDevices(request.devices) : std::vector<Target>{ FindTarget(request.target) };
  std::vector<WarmUpResult> results;
  for (const auto & target : targets)
  {
    for (const auto type : request.pixelTypes)
    {
      for (const auto & radius : request.radii)
      {
        results.push_back(WarmUpWindow(target, radius, type));
        if (report)
        {
          report(results.back());
        }
      }
    }
  }
  return results;
}

} // namespace cudamedian
