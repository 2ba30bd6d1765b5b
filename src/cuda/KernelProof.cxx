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
#include "KernelProof.h"

#include "KernelVariant.h"
#include "SlabPipeline.h"

#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace cudamedian
{
namespace
{

using Subject = std::tuple<int, KernelMeans, Extent, KernelVariant>;

/** What was found out about kernels: "" where they are right. Never destroyed, since filters may run until the end. */
struct Verdicts
{
  std::mutex                     mutex;
  std::map<Subject, std::string> found;
};

Verdicts &
GetVerdicts()
{
  static auto * const verdicts = new Verdicts;
  return *verdicts;
}

const char *
GetName(KernelMeans means)
{
  switch (means)
  {
    case KernelMeans::Ahead:
      return "the kernel compiled ahead";
    case KernelMeans::AtFirstUse:
      return "the kernel compiled at first use";
    case KernelMeans::Interpreter:
      return "the kernel that interprets the program";
    case KernelMeans::Ranks:
      return "the kernels of local ranks";
    case KernelMeans::Histograms:
      return "the kernels of sliding histograms";
    case KernelMeans::Merges:
      return "the kernels of merge tiling";
    default:
      return "the kernel of selection";
  }
}

Algorithm
GetAlgorithm(KernelMeans means)
{
  switch (means)
  {
    case KernelMeans::Ranks:
      return Algorithm::LocalRank;
    case KernelMeans::Histograms:
      return Algorithm::SlidingHistogram;
    case KernelMeans::Merges:
      return Algorithm::MergeTiling;
    case KernelMeans::Selection:
      return Algorithm::Selection;
    default:
      return Algorithm::TileProgram;
  }
}

/** An image of several blocks and with all borders, small enough for the CPU to filter it in milliseconds, whatever the
 * window. */
Extent
ChooseExtent(const Extent & radius)
{
  double window = 1;
  for (const auto r : radius)
  {
    window *= 2.0 * static_cast<double>(r) + 1;
  }
  const bool isLarge = window > 50000;
  return { { isLarge ? 67 : 331,
             isLarge         ? 5
             : radius[2] > 0 ? 11
                             : 23,
             radius[2] > 0 ? 7 : 1,
             radius[3] > 0 ? 3 : 1 } };
}

/** Random pixels. Numbers without NaN: those have no bits that every kernel must keep. */
std::vector<char>
MakePixels(PixelType type, std::size_t count)
{
  std::mt19937_64   random(20261122);
  const auto        bytes = PixelBytes(type);
  std::vector<char> pixels(count * bytes);
  for (std::size_t i = 0; i < count; ++i)
  {
    auto bits = random();
    if (type == PixelType::Float32)
    {
      bits &= 0xFFFFFFFFBFFFFFFFULL;
    }
    else if (type == PixelType::Float64)
    {
      bits &= 0xBFFFFFFFFFFFFFFFULL;
    }
    std::memcpy(pixels.data() + i * bytes, &bits, bytes);
  }
  return pixels;
}

/** There is no memory for the proof, which says nothing about the kernel. */
class NoMemory : public std::runtime_error
{
public:
  using std::runtime_error::runtime_error;
};

/** More than any plan for the small image takes. */
constexpr std::size_t proofBudget = std::size_t{ 256 } << 20;

/** Filters a small image with the kernels. \returns "" if the result is the host's, else what was wrong. */
std::string
TryOut(const MedianRequest & like, int device, KernelMeans means)
{
  MedianRequest request;
  request.pixelType = like.pixelType;
  request.radius = like.radius;
  request.inputExtent = request.outputExtent = ChooseExtent(like.radius);
  request.outputPixelBytes = PixelBytes(like.pixelType);
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * request.inputExtent[axis - 1];
  }
  const auto        count = static_cast<std::size_t>(Volume(request.inputExtent));
  const auto        pixels = MakePixels(like.pixelType, count);
  std::vector<char> expected(pixels.size());
  std::vector<char> result(pixels.size());
  request.input = pixels.data();
  request.output = expected.data();
  request.backend = Backend::Cpu;
  RunMedian(request);

  request.output = result.data();
  request.backend = Backend::Cuda;
  request.algorithm = GetAlgorithm(means);
  request.devices = { device };
  const auto            plan = PlanMedian(request, Backend::Cuda, proofBudget);
  const BorrowedContext context(device);
  if (!SlabPipeline::Reserve(request, plan, *context))
  {
    throw NoMemory(std::string(GetName(means)) + " was not tried out, since allocating " +
                   std::to_string(plan.GetDeviceBytes()) + " bytes for that failed");
  }
  ExecutionReport  report;
  const SlabKernel kernel(request, plan, *context, report, means);
  SlabDealer       dealer(plan.slabs.size(), 1);
  SlabHand         hand(dealer);
  SlabPipeline(request, plan, *context, kernel, report).Run(hand);
  std::size_t differences = 0;
  for (std::size_t i = 0; i < count; ++i)
  {
    differences += std::memcmp(&expected[i * request.outputPixelBytes],
                               &result[i * request.outputPixelBytes],
                               request.outputPixelBytes) != 0;
  }
  return differences == 0 ? "" : std::to_string(differences) + " of " + std::to_string(count) + " pixels were wrong";
}

} // namespace

std::string
ProveKernel(const MedianRequest & request, int device, KernelMeans means, bool isNative)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const Subject                     subject(device, means, request.radius, GetKernelVariant(request.pixelType));
  const auto                        known = verdicts.found.find(subject);
  if (known != verdicts.found.end())
  {
    return known->second;
  }
  if (isNative)
  {
    return "";
  }
  std::string wrong;
  try
  {
    wrong = TryOut(request, device, means);
  }
  catch (const NoMemory & error)
  {
    return error.what();
  }
  catch (const RequestError & error)
  {
    wrong = error.what();
  }
  catch (const DeviceError & error)
  {
    // An error that stays is thrown by the next call, and is nothing about the kernel.
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    wrong = error.what();
  }
  if (!wrong.empty())
  {
    wrong = std::string(GetName(means)) + " is out of use, since a small image was filtered wrong with it: " + wrong;
  }
  return verdicts.found.emplace(subject, wrong).first->second;
}

void
TakeOutOfUse(const Extent & radius, PixelType type, int device, KernelMeans means, const std::string & why)
{
  auto &                            verdicts = GetVerdicts();
  const std::lock_guard<std::mutex> lock(verdicts.mutex);
  const Subject                     subject(device, means, radius, GetKernelVariant(type));
  if (why.empty())
  {
    verdicts.found.erase(subject);
  }
  else
  {
    verdicts.found[subject] = std::string(GetName(means)) + " is out of use: " + why;
  }
}

} // namespace cudamedian
