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
#include "CudaMedianTestPlans.h"
#include "CudaMedianTestSeed.h"
#include "Planner.h"
#include "Slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

namespace
{

using namespace cudamedian;

/** Outputs begin at a vector of their rows wherever the input has its whole halo: a lead of one column made 512 columns
 * of 16 bits five blocks of 128 for four. The buffers hold the rows as they are padded. */
TEST(CudaMedianSlabRows, RowsOfOutputsBeginAtAVector)
{
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  const auto      draw = [&](std::int64_t end) { return static_cast<std::int64_t>(random() % end); };
  std::size_t     aligned = 0;
  for (int i = 0; i < 400; ++i)
  {
    MedianRequest request;
    request.inputExtent = request.outputExtent = { { 1, 1, 1, 1 } };
    request.pixelType = std::array{ PixelType::UInt8, PixelType::Int16, PixelType::Float32, PixelType::Float64 }[i % 4];
    const auto bytes = PixelBytes(request.pixelType);
    for (std::size_t axis = 0; axis < 3; ++axis)
    {
      request.inputExtent[axis] = 1 + draw(90);
      request.radius[axis] = draw(4);
      request.shift[axis] = draw(3) == 0 ? draw(2 * request.radius[axis] + 1) - request.radius[axis] : 0;
      request.border[axis] =
        std::array{ Border::ZeroFluxNeumann, Border::Constant, Border::Reflect, Border::Mirror, Border::Wrap }[draw(5)];
      request.outputOrigin[axis] = draw(2) * draw(request.inputExtent[axis]);
      request.outputExtent[axis] = 1 + draw(request.inputExtent[axis] - request.outputOrigin[axis]);
    }
    request.outputStride = GetPackedStride(request.outputExtent);
    for (const auto budget : { std::size_t{ 1 } << 30, std::size_t{ 1 } << 17 })
    {
      const auto plan = cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
      for (const auto & slab : plan.slabs)
      {
        const auto lead = GetOutputLead(slab, bytes);
        const auto holds = [&](std::size_t buffer, const Extent & stride, const Extent & extent) {
          return static_cast<std::size_t>(stride[3] * extent[3]) * bytes <= buffer;
        };
        EXPECT_TRUE(holds(plan.deviceInputBytes, GetDeviceInputStride(slab, bytes), slab.input.extent) &&
                    holds(plan.deviceOutputBytes, GetDeviceOutputStride(slab, bytes), slab.output.extent));
        const bool isWhole = HasCopiedBorder(request, 0) || slab.output.origin[0] >= GetHaloBefore(request, 0);
        EXPECT_TRUE(lead == 0 || !isWhole) << lead << " columns";
        aligned += isWhole && request.radius[0] > 0 ? 1 : 0;
        for (int axis = 0; axis < Dimension; ++axis)
        {
          const auto first = slab.output.origin[axis] + request.shift[axis] - request.radius[axis];
          const auto last = first + slab.output.extent[axis] + 2 * request.radius[axis];
          const bool isCropped = !HasCopiedBorder(request, axis);
          EXPECT_LE(slab.input.origin[axis], isCropped ? std::max<std::int64_t>(0, first) : first);
          EXPECT_EQ(slab.input.origin[axis] + slab.input.extent[axis],
                    isCropped ? std::min(request.inputExtent[axis], last) : last);
        }
      }
    }
  }
  EXPECT_GT(aligned, 100U);
}

} // namespace
