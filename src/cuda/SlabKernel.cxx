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

SlabKernel::SlabKernel(const MedianRequest & request, const Candidate & candidate, DeviceContext & context)
  : m_Request(request), m_PixelBytes(PixelBytes(request.pixelType)),
    m_UsesContextMemory(candidate.programBytes + candidate.scratchBytes > 0),
    m_Launcher(candidate.onDevice->Prepare(request, candidate, context))
{}

cudaError_t
SlabKernel::Launch(const Slab & slab, const void * input, void * output, cudaStream_t stream) const
{
  cudaGetLastError(); // an error that another's call left behind is none of this launch
  KernelArguments arguments{};
  arguments.input = input;
  arguments.output = output;
  arguments.signMask = GetSignMask(m_Request.pixelType);
  const auto inputStride = GetDeviceInputStride(slab, m_PixelBytes);
  const auto outputStride = GetDeviceOutputStride(slab, m_PixelBytes);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = inputStride[axis];
    arguments.outputPitch[axis] = outputStride[axis];
    arguments.inputExtent[axis] = static_cast<std::int32_t>(slab.input.extent[axis]);
    arguments.outputExtent[axis] = static_cast<std::int32_t>(slab.output.extent[axis]);
    arguments.outputOrigin[axis] = static_cast<std::int32_t>(slab.GetPlace(axis));
    arguments.radius[axis] = m_Request.radius[axis];
    arguments.shorter[axis] = static_cast<std::int32_t>(m_Request.shorter[axis]);
  }
  arguments.rank = GetWindow(m_Request).rank;
  arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(GetOutputLead(slab, m_PixelBytes));
  PixelBox box;
  box.extent = slab.output.extent;
  for (const auto & piece : CutIntoLaunches(box, m_Launcher->GetLargestLaunch()))
  {
    const auto error = m_Launcher->Launch(CutArguments(arguments, piece), stream);
    if (error != cudaSuccess)
    {
      return error;
    }
  }
  return cudaSuccess;
}

/** The arguments for a piece of the output. The piece's origin is relative to the output's. */
KernelArguments
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
  arguments.output = static_cast<char *>(whole.output) + offset * static_cast<std::int64_t>(m_PixelBytes);
  return arguments;
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
