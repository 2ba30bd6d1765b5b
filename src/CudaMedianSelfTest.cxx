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
#include "itkCudaMedianSelfTest.h"

#include "Clamp.h"
#include "MedianAlgorithm.h"
#include "PixelFormat.h"
#include "PlannedRun.h"
#include "TrialImage.h"

#include <algorithm>
#include <chrono>
#include <iomanip>
#include <map>
#include <ostream>
#include <set>

namespace cudamedian
{
namespace
{

/** The definition of a window's value of a rank: all pixels of the window, each coordinate clamped to the image, in the
 * order of keys. */
template <typename TBits, KeyMapping VMapping>
void
FilterByDefinition(const MedianRequest & request, void * output)
{
  const auto &       extent = request.inputExtent;
  const auto &       radius = request.radius;
  const auto         signMask = static_cast<TBits>(GetSignMask(request.pixelType));
  const auto *       pixels = static_cast<const TBits *>(request.input);
  auto *             result = static_cast<TBits *>(output);
  std::vector<TBits> keys;
  const auto clamp = [&](std::int64_t position, int axis) { return Clamp<std::int64_t>(position, extent[axis] - 1); };
  for (std::int64_t z = 0; z < extent[2]; ++z)
    for (std::int64_t y = 0; y < extent[1]; ++y)
      for (std::int64_t x = 0; x < extent[0]; ++x)
      {
        keys.clear();
        for (std::int64_t k = z - radius[2]; k <= z + radius[2]; ++k)
          for (std::int64_t j = y - radius[1]; j <= y + radius[1]; ++j)
            for (std::int64_t i = x - radius[0]; i <= x + radius[0]; ++i)
            {
              const auto offset = (clamp(k, 2) * extent[1] + clamp(j, 1)) * extent[0] + clamp(i, 0);
              keys.push_back(PixelKey<TBits, VMapping>::FromBits(pixels[offset], signMask));
            }
        const auto wanted = keys.begin() + static_cast<std::ptrdiff_t>(GetWindow(request).rank);
        std::nth_element(keys.begin(), wanted, keys.end());
        *result++ = PixelKey<TBits, VMapping>::ToBits(*wanted, signMask);
      }
}

void
FilterByDefinition(const MedianRequest & request, void * output)
{
  DispatchKeys(GetKeyFormat(request.pixelType), [&](auto key) {
    FilterByDefinition<typename decltype(key)::Bits, decltype(key)::mapping>(request, output);
  });
}

/** Filters a small image on the host. \returns "" or what was wrong; `kernel` says what ran. */
std::string
TryOutOnHost(const Window & window, PixelType type, Algorithm algorithm, std::string & kernel)
{
  TrialImage image(window, type);
  auto &     request = image.request;
  request.backend = Backend::Cpu;
  request.algorithm = algorithm;
  kernel = ToString(algorithm);
  try
  {
    const auto report = RunMedian(request);
    kernel = report.algorithm;
  }
  catch (const std::exception & error)
  {
    return error.what();
  }
  std::vector<char> expected(image.result.size());
  FilterByDefinition(request, expected.data());
  return image.Compare(expected);
}

/** Takes a check of a window and a pixel type on a device, runs it and keeps what it found. A check returns "" or what
 * was wrong, and says what computed. */
using Check = std::function<std::string(std::string & kernel)>;
using AddCheck = std::function<void(const std::string & device, const Extent & radius, PixelType, const Check &)>;

void
CheckHost(const AddCheck & add)
{
  for (const auto type : allPixelTypes)
  {
    for (const auto * algorithm : GetMedianAlgorithms())
    {
      for (const auto & radius : algorithm->ListHostChecks(type))
      {
        add("host", radius, type, [&](std::string & kernel) {
          return TryOutOnHost(radius, type, algorithm->GetAlgorithm(), kernel);
        });
      }
    }
  }
}

/** Checks every kind of kernel on a device. */
void
CheckDevice(const MedianBackend & backend, int device, const AddCheck & add)
{
  for (const auto type : allPixelTypes)
  {
    for (const auto * algorithm : GetMedianAlgorithms())
    {
      for (const auto & check : algorithm->ListDeviceChecks(type))
      {
        add("CUDA device " + std::to_string(device), check.radius, type, [&](std::string & kernel) -> std::string {
          kernel = ToString(check.means);
          try
          {
            return TryOutKernel(backend, { device, check.means, check.radius, type });
          }
          catch (const NoMemoryForProof & error)
          {
            return error.what();
          }
        });
      }
    }
  }
}

/** Checks some devices, or all where none is listed. \throws DeviceError when a listed one cannot be used. */
void
CheckDevices(const std::vector<int> & listed, const AddCheck & add)
{
  const auto & backend = GetCudaBackend();
  auto         devices = listed;
  for (int device = 0; listed.empty() && device < backend.CountDevices(); ++device)
  {
    devices.push_back(device);
  }
  for (const int device : devices)
  {
    const auto available = backend.Query({ device });
    if (available.usable)
    {
      CheckDevice(backend, device, add);
    }
    else if (!listed.empty())
    {
      throw DeviceError(available.description);
    }
  }
}

std::string
Join(const std::set<std::string> & words)
{
  std::string text;
  for (const auto & word : words)
  {
    text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

std::string
Describe(const Extent & window)
{
  auto axes = Dimension;
  while (axes > 1 && window[axes - 1] == 1)
  {
    --axes;
  }
  std::string text;
  for (int axis = 0; axis < axes; ++axis)
  {
    text += (axis == 0 ? "" : "x") + std::to_string(window[axis]);
  }
  return text;
}

} // namespace

std::vector<SelfTestResult>
SelfTest(const std::vector<int> & devices, const std::function<void(const SelfTestResult &)> & report)
{
  std::vector<SelfTestResult> results;
  const AddCheck add = [&](const std::string & device, const Extent & radius, PixelType type, const Check & check) {
    const auto     start = std::chrono::steady_clock::now();
    SelfTestResult result;
    result.wrong = check(result.kernel);
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    result.device = device;
    result.pixelType = type;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      result.window[axis] = Window(radius).GetSize(axis);
    }
    if (report)
    {
      report(result);
    }
    results.push_back(result);
  };
  CheckDevices(devices, add);
  CheckHost(add);
  return results;
}

void
PrintSelfTest(const std::vector<SelfTestResult> & results, std::ostream & os)
{
  struct Line
  {
    std::size_t           passed{ 0 };
    std::size_t           failed{ 0 };
    std::set<std::string> windows;
    std::set<std::string> types;
    double                seconds{ 0 };
  };
  std::map<std::pair<std::string, std::string>, Line> lines;
  for (const auto & result : results)
  {
    auto & line = lines[{ result.device, result.kernel }];
    (result.wrong.empty() ? line.passed : line.failed)++;
    line.windows.insert(Describe(result.window));
    line.types.insert(ToString(result.pixelType));
    line.seconds += result.seconds;
  }
  std::size_t failed = 0;
  for (const auto & [name, line] : lines)
  {
    os << std::left << std::setw(15) << name.first << " " << std::setw(44) << name.second << " " << std::right
       << std::setw(4) << line.passed << " right " << std::setw(4) << line.failed << " wrong " << std::fixed
       << std::setprecision(2) << std::setw(7) << line.seconds << " s  " << Join(line.windows) << "; "
       << Join(line.types) << "\n";
    failed += line.failed;
  }
  for (const auto & result : results)
  {
    if (!result.wrong.empty())
    {
      os << "wrong: " << result.device << ", " << result.kernel << ", " << Describe(result.window) << ", "
         << ToString(result.pixelType) << ": " << result.wrong << "\n";
    }
  }
  os << results.size() - failed << " of " << results.size() << " checks are right\n";
}

} // namespace cudamedian
