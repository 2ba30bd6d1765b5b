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
#include "HistogramDevice.h"

#include "DeviceMethod.h"
#include "HistogramLaunch.h"

namespace cudamedian
{
namespace
{

class HistogramLauncher : public SlabLauncher
{
public:
  HistogramLauncher(const HistogramShape & shape,
                    KeyFormat              keyFormat,
                    std::size_t            scratchBytes,
                    DeviceContext &        context)
    : m_Shape(shape), m_KeyFormat(keyFormat), m_ScratchBytes(scratchBytes), m_Context(context)
  {}

  cudaError_t
  Launch(const KernelArguments & arguments, cudaStream_t stream) const override
  {
    return LaunchHistograms(arguments, m_Shape, m_KeyFormat, m_Context.scratch.Get(), m_ScratchBytes, stream);
  }

private:
  HistogramShape  m_Shape;
  KeyFormat       m_KeyFormat;
  std::size_t     m_ScratchBytes;
  DeviceContext & m_Context;
};

class HistogramDeviceMethod : public DeviceMethod
{
public:
  explicit HistogramDeviceMethod(const HistogramShape & shape) : m_Shape(shape)
  {}

  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Histograms;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext & context) const override
  {
    return std::make_unique<HistogramLauncher>(
      m_Shape, GetKeyFormat(request.pixelType), candidate.scratchBytes, context);
  }

private:
  HistogramShape m_Shape;
};

} // namespace

std::shared_ptr<const DeviceMethod>
MakeHistogramDeviceMethod(const HistogramShape & shape)
{
  return std::make_shared<HistogramDeviceMethod>(shape);
}

} // namespace cudamedian
