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
#ifndef CudaMedianTestSlabs_h
#define CudaMedianTestSlabs_h

#include "CudaMedianTestPlans.h"
#include "CudaMedianTestReference.h"
#include "CudaMedianTestSeed.h"
#include "KernelArguments.h"
#include "PixelFormat.h"
#include "Planner.h"
#include "RankMap.h"
#include "itkCudaMedianFootprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

/** Slabs as kernels get them, in the host's memory: their buffers are vectors with guards. */
namespace cudamediantest
{

using cudamedian::Algorithm;
using cudamedian::Backend;
using cudamedian::GetDevicePitch;
using cudamedian::KernelArguments;
using cudamedian::MedianRequest;
using cudamedian::PixelType;
using cudamedian::Volume;

constexpr std::size_t guard = 16;

/** The pixels of a window's footprint, as kernels get them. */
inline std::vector<cudamedian::FootprintMember>
ListMembers(const Window & window)
{
  std::vector<cudamedian::FootprintMember> members;
  for (std::size_t i = 0; window.footprint != nullptr && i < window.footprint->GetPixels().size(); ++i)
  {
    const auto & pixel = window.footprint->GetPixels()[i];
    members.emplace_back();
    std::copy(pixel.offset.begin(), pixel.offset.end(), members.back().offset);
    members.back().weight = pixel.weight;
  }
  return members;
}

/** A rank of the window for each output, the least and the greatest among them; none where the window has one alone. */
class RankMap
{
public:
  RankMap(const Window & window, MedianRequest & request)
    : m_Request(request)
    , m_Ranks(window.ranks > 1 ? static_cast<std::size_t>(Volume(request.outputExtent)) : 0)
  {
    std::mt19937_64 random(cudamediantest::Seed());
    for (auto & rank : m_Ranks)
    {
      const auto drawn = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(window.ranks + 2)) - 1;
      rank = static_cast<std::int32_t>(window.rank + std::min(std::max<std::int64_t>(drawn, 0), window.ranks - 1));
    }
    request.rank = m_Ranks.empty() ? request.rank : window.rank;
    request.greatestRank = window.GetGreatestRank();
    m_Packed = cudamedian::PackRanks(m_Ranks, request);
    request.rankMap = m_Ranks.empty() ? nullptr : m_Packed.data();
  }

  /** What is wanted of an output: a window of one rank. */
  Window
  GetWanted(Window window, const Extent & output) const
  {
    if (!m_Ranks.empty())
    {
      Extent place;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        place[axis] = output[axis] - m_Request.outputOrigin[axis];
      }
      window.rank = m_Ranks[static_cast<std::size_t>(
        cudamedian::GetOffset(place, cudamedian::GetPackedStride(m_Request.outputExtent)))];
      window.ranks = 1;
    }
    return window;
  }

  /** Gives arguments the map of a slab, laid out as its output is, which has so many pixels, guards among them. */
  std::vector<std::uint8_t>
  MakeForSlab(const Window &           window,
              const cudamedian::Slab & slab,
              std::size_t              pixels,
              KernelArguments &        arguments) const
  {
    const auto                bytes = cudamedian::GetRankBytes(m_Request);
    std::vector<std::uint8_t> ranks(pixels * bytes, 0x5A);
    if (bytes == 0)
    {
      return ranks;
    }
    arguments.rankMap = ranks.data() + guard * bytes;
    arguments.rankBytes = static_cast<std::int32_t>(bytes);
    ForEachPosition(slab.output.extent, [&](const Extent & p) {
      Extent output;
      auto   place = static_cast<std::int64_t>(guard) + arguments.outputOrigin[0] - arguments.gridOrigin;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        output[axis] = slab.output.origin[axis] + p[axis];
        place += p[axis] * arguments.outputPitch[axis];
      }
      const auto rank = static_cast<std::int32_t>(this->GetWanted(window, output).rank - window.rank);
      std::memcpy(ranks.data() + static_cast<std::size_t>(place) * bytes, &rank, bytes); // little-endian
    });
    return ranks;
  }

private:
  const MedianRequest &     m_Request;
  std::vector<std::int32_t> m_Ranks;
  std::vector<std::uint8_t> m_Packed; ///< as the request has them
};

/** Runs `kernel(arguments)` over every slab of a plan for an image and compares each output pixel. Of a window with
 * several ranks each output has one of them. */
template <typename TBits, KeyMapping VMapping, typename TKernel>
void
CheckImage(BitsImage<TBits> & image, const Window & window, PixelType type, std::size_t budget, const TKernel & kernel)
{
  const Extent & extent = image.extent;
  MedianRequest  request;
  request.pixelType = type;
  request.inputExtent = request.outputExtent = extent;
  request.radius = window.radius;
  request.shorter = window.shorter;
  request.rank = window.rank;
  request.footprint = window.footprint;
  if (extent[0] > 2 && extent[1] > 1)
  {
    request.outputOrigin = { { 1, 1, 0, 0 } };
    request.outputExtent[0] -= 2;
    request.outputExtent[1] -= 1;
  }
  request.algorithm = Algorithm::Selection; // no program bytes: the budget is the slab's alone
  const RankMap map(window, request);
  const auto    members = ListMembers(window);
  const auto    plan = cudamediantest::PlanOnH200(request, Backend::Cuda, budget);
  for (const auto & slab : plan.slabs)
  {
    const auto         unwritten = static_cast<TBits>(0x5A5A5A5A5A5A5A5AULL);
    const auto         inputPitch = GetDevicePitch(slab.input.extent[0], sizeof(TBits));
    const auto         lead = (slab.output.origin[0] - slab.input.origin[0]) % GetDevicePitch(1, sizeof(TBits));
    const auto         outputPitch = GetDevicePitch(slab.output.extent[0] + lead, sizeof(TBits));
    const auto         inputRows = Volume(slab.input.extent) / slab.input.extent[0];
    const auto         outputRows = Volume(slab.output.extent) / slab.output.extent[0];
    std::vector<TBits> input(static_cast<std::size_t>(inputPitch * inputRows), unwritten);
    std::vector<TBits> output(static_cast<std::size_t>(outputPitch * outputRows) + 2 * guard, unwritten);

    KernelArguments arguments{};
    arguments.input = input.data();
    arguments.output = output.data() + guard;
    arguments.signMask = GetSignMask(type);
    arguments.inputPitch[0] = arguments.outputPitch[0] = 1;
    arguments.inputPitch[1] = inputPitch;
    arguments.outputPitch[1] = outputPitch;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      if (axis > 1)
      {
        arguments.inputPitch[axis] = arguments.inputPitch[axis - 1] * slab.input.extent[axis - 1];
        arguments.outputPitch[axis] = arguments.outputPitch[axis - 1] * slab.output.extent[axis - 1];
      }
      arguments.inputExtent[axis] = static_cast<std::int32_t>(slab.input.extent[axis]);
      arguments.outputExtent[axis] = static_cast<std::int32_t>(slab.output.extent[axis]);
      arguments.outputOrigin[axis] = static_cast<std::int32_t>(slab.output.origin[axis] - slab.input.origin[axis]);
      arguments.radius[axis] = window.radius[axis];
      arguments.shorter[axis] = static_cast<std::int32_t>(window.shorter[axis]);
    }
    arguments.rank = window.rank;
    arguments.footprint = members.empty() ? nullptr : members.data();
    arguments.footprintPixels = static_cast<std::int32_t>(members.size());
    arguments.gridOrigin = arguments.outputOrigin[0] - static_cast<std::int32_t>(lead);
    const auto getOffset = [](const Extent & p, const std::int64_t * pitch) {
      return static_cast<std::size_t>(p[0] + p[1] * pitch[1] + p[2] * pitch[2] + p[3] * pitch[3]);
    };
    ForEachPosition(slab.input.extent, [&](const Extent & p) {
      Extent position;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        position[axis] = slab.input.origin[axis] + p[axis];
      }
      input[getOffset(p, arguments.inputPitch)] = image.At(position);
    });
    const auto ranks = map.MakeForSlab(window, slab, output.size(), arguments);
    kernel(arguments);
    ForEachPosition(slab.output.extent, [&](const Extent & p) {
      Extent center;
      for (int axis = 0; axis < Dimension; ++axis)
      {
        center[axis] = slab.output.origin[axis] + p[axis];
      }
      const auto wanted = map.GetWanted(window, center);
      auto &     result = output[guard + static_cast<std::size_t>(lead) + getOffset(p, arguments.outputPitch)];
      ASSERT_EQ(result, (GetReferenceMedian<VMapping>(image, center, wanted, static_cast<TBits>(arguments.signMask))))
        << "at " << center[0] << ", " << center[1] << ", " << center[2] << ", " << center[3];
      result = unwritten;
    });
    ASSERT_EQ(output, std::vector<TBits>(output.size(), unwritten)) << "written outside the output box";
  }
}

/** The same for an image of random pixels. */
template <typename TBits, KeyMapping VMapping, typename TKernel>
void
CheckSlabs(const Extent & extent, const Window & window, PixelType type, std::size_t budget, const TKernel & kernel)
{
  const auto seed = cudamediantest::Seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64  generator(seed);
  BitsImage<TBits> image(extent);
  image.FillRandomly(generator, generator() % 3 == 0 ? 2 : 0);
  CheckImage<TBits, VMapping>(image, window, type, budget, kernel);
}

/** A footprint whose pixels are some of a box's, all of them where it is small. */
inline const cudamedian::Footprint *
DrawFootprint(const Extent & radius, std::mt19937_64 & random)
{
  std::vector<cudamedian::FootprintPixel> pixels;
  const auto                              every = 1 + random() % 4;
  ForEachPosition({ { 2 * radius[0] + 1, 2 * radius[1] + 1, 2 * radius[2] + 1, 2 * radius[3] + 1 } },
                  [&](const Extent & place) {
                    if (random() % every == 0)
                    {
                      cudamedian::FootprintPixel pixel;
                      for (std::size_t axis = 0; axis < cudamedian::Dimension; ++axis)
                      {
                        pixel.offset[axis] = place[axis] - radius[axis];
                      }
                      pixels.push_back(pixel);
                    }
                  });
  return pixels.empty() ? cudamedian::Footprint::MakeCross(radius) : cudamedian::Footprint::Make(pixels);
}

/** Images of 61x43 pixels that are hard for what looks at data: they leave bins empty or fill one, move the median far
 * from one output to the next, take all keys of a merger from one list or from both in turn, or have only equal keys.
 */
template <typename TBits>
std::vector<BitsImage<TBits>>
MakeHardImages()
{
  std::vector<BitsImage<TBits>> images;
  // Rings of a square: windows around it have the least pixels of all.
  const auto ring = [](std::uint64_t x, std::uint64_t y) {
    const auto distance = std::max(x < 30 ? 30 - x : x - 30, y < 20 ? 20 - y : y - 20);
    return distance * 1024 + (61 * y + 7 * x) % 1024;
  };
  for (const auto & value : std::vector<std::function<std::uint64_t(std::uint64_t, std::uint64_t)>>{
         [](std::uint64_t, std::uint64_t) { return 7; },
         [](std::uint64_t x, std::uint64_t y) { return 61 * y + x; },
         [](std::uint64_t x, std::uint64_t y) { return ~(61 * y + x); },
         [](std::uint64_t x, std::uint64_t y) { return 43 * x + y; },
         [](std::uint64_t x, std::uint64_t) { return x < 30 ? 0 : ~std::uint64_t{ 0 }; },
         [](std::uint64_t x, std::uint64_t y) { return (x * 61 + y) * 0x9E3779B97F4A7C15ULL >> 63; },
         [](std::uint64_t x, std::uint64_t y) { return y % 2 == 0 ? x : ~x; },
         [](std::uint64_t x, std::uint64_t y) { return 2 * y + x % 2; },
         ring,
         [&](std::uint64_t x, std::uint64_t y) { return ~ring(x, y); } })
  {
    images.emplace_back(Extent{ { 61, 43, 1, 1 } });
    ForEachPosition(images.back().extent, [&](const Extent & p) {
      images.back().At(p) =
        static_cast<TBits>(value(static_cast<std::uint64_t>(p[0]), static_cast<std::uint64_t>(p[1])));
    });
  }
  return images;
}

} // namespace cudamediantest

#endif
