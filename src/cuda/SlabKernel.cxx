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
#include "SlabKernel.h"

#include "CudaError.h"
#include "KernelImage.h"
#include "PixelFormat.h"
#include "RequestWindow.h"

namespace cudamedian
{
namespace
{

/** Completes the arguments of each launch, and calls launch(arguments, launch). \returns the first error. */
template <typename TLaunch>
cudaError_t
LaunchEach(const std::vector<SlabLaunch> & launches, const void * input, void * output, const TLaunch & launch)
{
  cudaGetLastError(); // an error that another's call left behind is none of this launch
  for (const auto & each : launches)
  {
    auto arguments = each.arguments;
    arguments.input = input;
    arguments.output = static_cast<char *>(output) + each.outputOffset;
    const auto error = launch(arguments, each);
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

} // namespace

SlabKernel::SlabKernel(const MedianRequest & request, const Candidate & candidate, DeviceContext & context)
  : m_PixelBytes(PixelBytes(request.pixelType))
  , m_RankBytes(GetRankBytes(request))
  , m_Launcher(candidate.onDevice->Prepare(request, candidate, context))
{
  m_UsesContextMemory = candidate.programBytes + candidate.scratchBytes > 0 && !m_Launcher->IsIndependent();
  m_Arguments.signMask = GetSignMask(request.pixelType);
  m_Arguments.rank = GetWindow(request).rank;
  m_Arguments.rankBytes = static_cast<std::int32_t>(m_RankBytes);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    m_Arguments.radius[axis] = request.radius[axis];
    m_Arguments.shorter[axis] = static_cast<std::int32_t>(request.shorter[axis]);
  }
}

std::vector<SlabLaunch>
SlabKernel::Cut(const Slab & slab) const
{
  auto       arguments = m_Arguments;
  const auto inputStride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto outputStride = GetDeviceOutputStride(slab, m_PixelBytes);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = inputStride[axis];
    arguments.outputPitch[axis] = outputStride[axis];
    arguments.inputExtent[axis] = static_cast<std::int32_t>(slab.input.extent[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(slab.output.extent[axis]);
    arguments.outputOrigin[axis] = static_cast<std::int32_t>(slab.GetPlace(axis));
  }
  arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(GetOutputLead(slab, m_PixelBytes));
  PixelBox box;
  box.extent = slab.output.extent;
  std::vector<SlabLaunch> launches;
  for (const auto & piece : CutIntoLaunches(box, m_Launcher->GetLargestLaunch()))
  {
    launches.push_back(CutArguments(arguments, piece));
  }
  return launches;
}

cudaError_t
SlabKernel::Launch(const std::vector<SlabLaunch> & launches,
                   const void *                    input,
                   void *                          output,
                   const void *                    ranks,
                   void *                          scratch,
                   cudaStream_t                    stream) const
{
  return LaunchEach(launches, input, output, [&](KernelArguments & arguments, const SlabLaunch & launch) {
    arguments.rankMap = ranks == nullptr ? nullptr : static_cast<const char *>(ranks) + launch.rankOffset;
    return m_Launcher->Launch(arguments, scratch, stream);
  });
}

cudaError_t
SlabKernel::LaunchMasked(const std::vector<SlabLaunch> & launches,
                         const void *                    input,
                         void *                          output,
                         const MaskRules &               rules,
                         cudaStream_t                    stream) const
{
  return LaunchEach(launches, input, output, [&](const KernelArguments & arguments, const SlabLaunch &) {
    return m_Launcher->LaunchMasked(arguments, rules, stream);
  });
}

cudaError_t
SlabKernel::LaunchOutliers(const std::vector<SlabLaunch> & launches,
                           const void *                    input,
                           void *                          output,
                           const OutlierDistance &         distance,
                           cudaStream_t                    stream) const
{
  return LaunchEach(launches, input, output, [&](const KernelArguments & arguments, const SlabLaunch &) {
    return m_Launcher->LaunchOutliers(arguments, distance, stream);
  });
}

/** The launch for a piece of the output. The piece's origin is relative to the output's. */
SlabLaunch
SlabKernel::CutArguments(const KernelArguments & whole, const PixelBox & piece) const
{
  auto arguments = whole;
  auto offset = std::int64_t{ 0 };
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.outputOrigin[axis] += static_cast<std::int32_t>(piece.origin[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(piece.extent[axis]);
    offset += axis > 0 ? piece.origin[axis] * whole.outputPitch[axis] : 0;
  }
  const auto vector = static_cast<std::int32_t>(GetDevicePitch(1, m_PixelBytes));
  arguments.gridOrigin = arguments.outputOrigin[0] / vector * vector;
  offset += arguments.gridOrigin - whole.gridOrigin;
  return { arguments,
           offset * static_cast<std::int64_t>(m_PixelBytes),
           offset * static_cast<std::int64_t>(m_RankBytes) };
}

Obstacle
PrepareKernel(const MedianRequest &       request,
              const Candidate &           candidate,
              bool                        withoutProof,
              DeviceContext &             context,
              std::optional<SlabKernel> & kernel,
              std::string &               origin)
{
  Obstacle obstacle;
  obstacle.device = context.GetDevice();
  obstacle.means = candidate.onDevice->GetMeans();
  try
  {
    kernel.emplace(request, candidate, context);
  }
  catch (const KernelMissing & missing)
  {
    obstacle.kind = Obstacle::Kind::Kernel;
    obstacle.text = missing.what();
    return obstacle;
  }
  KernelImage image;
  CheckCuda(GetKernelImage(image), "cudaFuncGetAttributes");
  const bool isNative = image.isNative && kernel->GetLauncher().IsNative();
  const auto verdict = GetVerdict({ obstacle.device, obstacle.means, GetWindow(request), request.pixelType });
  if (!withoutProof && !isNative && !verdict.isKnown)
  {
    obstacle.kind = Obstacle::Kind::Proof;
  }
  origin = image.isNative ? "" : "; " + image.Describe() + ", after a small image was filtered right with them";
  return obstacle;
}

} // namespace cudamedian
