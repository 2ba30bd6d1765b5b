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
#include "LaunchedMethod.h"

#include <optional>
#include <utility>

namespace cudamedian
{
namespace
{

class FunctionLauncher : public SlabLauncher
{
public:
  FunctionLauncher(LaunchFunction              launch,
                   KeyFormat                   keyFormat,
                   std::size_t                 scratchBytes,
                   DeviceContext *             context,
                   std::optional<std::int64_t> largestLaunch)
    : m_Launch(std::move(launch))
    , m_KeyFormat(keyFormat)
    , m_ScratchBytes(scratchBytes)
    , m_Context(context)
    , m_LargestLaunch(largestLaunch)
  {}

  cudaError_t
  Launch(const KernelArguments & arguments, void * scratch, cudaStream_t stream) const override
  {
    static auto & none = *new MergeStreams; // never destroyed: a thread may be at work when the process ends
    auto &        mergeStreams = m_Context == nullptr ? none : m_Context->mergeStreams;
    return m_Launch(arguments, { m_KeyFormat, scratch, m_ScratchBytes, mergeStreams }, stream);
  }

  bool
  IsIndependent() const override
  {
    return m_Context == nullptr;
  }

  std::int64_t
  GetLargestLaunch() const override
  {
    return m_LargestLaunch ? *m_LargestLaunch : SlabLauncher::GetLargestLaunch();
  }

private:
  LaunchFunction              m_Launch;
  KeyFormat                   m_KeyFormat;
  std::size_t                 m_ScratchBytes;
  DeviceContext *             m_Context; ///< null where nothing of it is used
  std::optional<std::int64_t> m_LargestLaunch;
};

class LaunchedMethod : public DeviceMethod
{
public:
  LaunchedMethod(KernelMeans means, LaunchFunction launch, LargestLaunchFunction getLargestLaunch)
    : m_Means(means)
    , m_Launch(std::move(launch))
    , m_GetLargestLaunch(std::move(getLargestLaunch))
  {}

  KernelMeans
  GetMeans() const override
  {
    return m_Means;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext & context) const override
  {
    std::optional<std::int64_t> largest;
    if (m_GetLargestLaunch)
    {
      largest = m_GetLargestLaunch(request);
    }
    const bool isIndependent = m_Means != KernelMeans::Merges;
    return std::make_unique<FunctionLauncher>(
      m_Launch, GetKeyFormat(request.pixelType), candidate.scratchBytes, isIndependent ? nullptr : &context, largest);
  }

private:
  KernelMeans           m_Means;
  LaunchFunction        m_Launch;
  LargestLaunchFunction m_GetLargestLaunch;
};

} // namespace

std::shared_ptr<const DeviceMethod>
MakeLaunchedMethod(KernelMeans means, LaunchFunction launch, LargestLaunchFunction getLargestLaunch)
{
  return std::make_shared<LaunchedMethod>(means, std::move(launch), std::move(getLargestLaunch));
}

} // namespace cudamedian
