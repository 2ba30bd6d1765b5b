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
#include "RankDevice.h"

#include "CudaError.h"
#include "DeviceMethod.h"
#include "RankEdges.h"
#include "RankLaunch.h"

namespace cudamedian
{
namespace
{

/** Local ranks, with the lists of a footprint in the device's memory. */
class RankLauncher : public SlabLauncher
{
public:
  RankLauncher(const RankShape &     shape,
               const MedianRequest & request,
               const Candidate &     candidate,
               DeviceContext &       context)
    : m_Shape(shape)
    , m_KeyFormat(GetKeyFormat(request.pixelType))
    , m_ScratchBytes(candidate.scratchBytes)
  {
    if (shape.members > 0)
    {
      const auto lists = MakeRankLists(*request.footprint, shape);
      m_Lists = static_cast<const std::uint32_t *>(context.program.Get());
      CheckCuda(cudaMemcpy(context.program.Get(), lists.data(), GetRankListBytes(shape), cudaMemcpyHostToDevice),
                "cudaMemcpy");
    }
  }

  cudaError_t
  Launch(const KernelArguments & slab, void * scratch, cudaStream_t stream) const override
  {
    return LaunchRankWindows(slab, m_Shape, m_KeyFormat, scratch, m_ScratchBytes, m_Lists, stream);
  }

  bool
  IsIndependent() const override
  {
    return m_Lists == nullptr;
  }

private:
  RankShape             m_Shape;
  KeyFormat             m_KeyFormat;
  std::size_t           m_ScratchBytes;
  const std::uint32_t * m_Lists{ nullptr }; ///< of a footprint, in the context's program memory
};

class RankDeviceMethod : public DeviceMethod
{
public:
  explicit RankDeviceMethod(const RankShape & shape)
    : m_Shape(shape)
  {}

  KernelMeans
  GetMeans() const override
  {
    return KernelMeans::Ranks;
  }

  std::unique_ptr<SlabLauncher>
  Prepare(const MedianRequest & request, const Candidate & candidate, DeviceContext & context) const override
  {
    return std::make_unique<RankLauncher>(m_Shape, request, candidate, context);
  }

private:
  RankShape m_Shape;
};

} // namespace

std::shared_ptr<const DeviceMethod>
MakeRankDeviceMethod(const RankShape & shape)
{
  return std::make_shared<RankDeviceMethod>(shape);
}

} // namespace cudamedian
