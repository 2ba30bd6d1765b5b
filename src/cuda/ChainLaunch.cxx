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
#include "ChainLaunch.h"

#include "BoxTransfer.h"
#include "itkCudaMedianDevice.h"

#include <algorithm>

namespace cudamedian
{

ChainLaunch::ChainLaunch(const std::vector<MedianRequest> & steps, std::size_t imageBytes, DeviceContext & context)
  : m_Steps(steps)
  , m_ImageBytes(imageBytes)
  , m_Context(context)
{}

void
ChainLaunch::Launch(const Slab & slab, const DeviceContext::Place & place, cudaStream_t stream)
{
  const auto   pixelBytes = PixelBytes(m_Steps.front().pixelType);
  const auto   packed = GetPackedStride(slab.input.extent);
  const void * from = place.input.Get();
  auto         fromStride = GetDeviceInputStride(slab, pixelBytes);
  const bool   isFirstSlab = m_Reports.empty();
  m_Reports.resize(m_Steps.size());
  for (std::size_t i = 0; i < m_Steps.size(); ++i)
  {
    auto step = m_Steps[i];
    step.convertRow = nullptr; // slabs are converted on their way to the image
    step.outputPixelBytes = pixelBytes;
    step.input = from;
    step.inputExtent = slab.input.extent;
    step.inputStride = fromStride;
    step.output = static_cast<char *>(m_Context.scratch.Get()) + i % 2 * m_ImageBytes;
    step.outputOrigin = {};
    step.outputExtent = slab.input.extent;
    step.outputStride = packed;
    const auto report = RunMedianOnDevice(step, stream);
    if (isFirstSlab)
    {
      m_Reports[i] = report;
    }
    m_Reports[i].deviceBytes = std::max(m_Reports[i].deviceBytes, report.deviceBytes);
    from = step.output;
    fromStride = packed;
  }
  Extent first{};
  for (int axis = 0; axis < Dimension; ++axis)
  {
    first[axis] = slab.GetPlace(axis);
  }
  const auto bytes = static_cast<std::int64_t>(pixelBytes);
  TransferBox(static_cast<char *>(place.output.Get()) + GetOutputLead(slab, pixelBytes) * bytes,
              GetDeviceOutputStride(slab, pixelBytes),
              static_cast<const char *>(from) + GetOffset(first, packed) * bytes,
              packed,
              slab.output.extent,
              pixelBytes,
              cudaMemcpyDeviceToDevice,
              stream);
}

} // namespace cudamedian
