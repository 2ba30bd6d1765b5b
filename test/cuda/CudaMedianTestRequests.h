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
#ifndef CudaMedianTestRequests_h
#define CudaMedianTestRequests_h

#include "CudaMedianTestSeed.h"
#include "CudaMedianTestThreads.h"
#include "TileProgram.h"
#include "itkCudaMedianEngine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <thread>
#include <vector>

/** Requests for random images, and what they are to give. */
namespace cudamediantest
{

using namespace cudamedian;

/** Memory of the host, pinned or not. */
template <typename TPixel>
class Pixels
{
public:
  Pixels(std::size_t count, bool pinned)
  {
    if (pinned)
    {
      m_Pinned = static_cast<TPixel *>(AllocatePinnedMemory(count * sizeof(TPixel)));
      EXPECT_NE(m_Pinned, nullptr);
    }
    else
    {
      m_Ordinary.resize(count);
    }
  }
  ~Pixels() { FreePinnedMemory(m_Pinned); }
  Pixels(const Pixels &) = delete;
  Pixels &
  operator=(const Pixels &) = delete;

  TPixel *
  Get()
  {
    return m_Pinned != nullptr ? m_Pinned : m_Ordinary.data();
  }

private:
  TPixel *            m_Pinned{ nullptr };
  std::vector<TPixel> m_Ordinary;
};

template <typename TPixel>
PixelType
GetPixelType()
{
  return std::is_same<TPixel, std::uint8_t>::value   ? PixelType::UInt8
         : std::is_same<TPixel, std::int16_t>::value ? PixelType::Int16
         : std::is_same<TPixel, std::int32_t>::value ? PixelType::Int32
                                                     : PixelType::Float32;
}

/** An image of random pixels, its median by the CPU, and requests for it. */
template <typename TPixel>
class Case
{
public:
  Case(const Extent & extent, const Extent & radius, bool pinnedInput = false, bool pinnedOutput = false)
    : m_Extent(extent)
    , m_Radius(radius)
    , m_Input(Count(), pinnedInput)
    , m_Output(Count(), pinnedOutput)
    , m_Expected(Count())
  {
    std::mt19937 generator(static_cast<std::mt19937::result_type>(cudamediantest::Seed()));
    for (std::size_t i = 0; i < Count(); ++i)
    {
      m_Input.Get()[i] = static_cast<TPixel>(generator() % 65536);
    }
    auto request = MakeRequest();
    request.backend = Backend::Cpu;
    request.output = m_Expected.data();
    RunMedian(request);
  }

  std::size_t
  Count() const
  {
    return static_cast<std::size_t>(Volume(m_Extent));
  }

  MedianRequest
  MakeRequest()
  {
    MedianRequest request;
    request.pixelType = GetPixelType<TPixel>();
    request.input = m_Input.Get();
    request.inputExtent = m_Extent;
    request.radius = m_Radius;
    request.outputExtent = m_Extent;
    request.output = m_Output.Get();
    for (int axis = 1; axis < Dimension; ++axis)
    {
      request.outputStride[axis] = request.outputStride[axis - 1] * m_Extent[axis - 1];
    }
    request.backend = Backend::Cuda;
    request.workUnits = 3;
    request.parallelFor = RunInThreads;
    return request;
  }

  /** Calls what fills the output, which is filled with something else before, and compares. */
  template <typename TRun>
  void
  CheckRuns(const TRun & run)
  {
    Fill();
    run();
    EXPECT_TRUE(IsDone());
  }

  /** Fills the output with something else. */
  void
  Fill()
  {
    std::fill_n(m_Output.Get(), Count(), static_cast<TPixel>(77));
  }

  /** Whether the output is as expected. */
  bool
  IsDone()
  {
    return IsExpected(m_Output.Get());
  }

  bool
  IsExpected(const TPixel * output) const
  {
    return std::equal(m_Expected.begin(), m_Expected.end(), output);
  }

  /** Runs the request and compares the output. */
  ExecutionReport
  Check(const MedianRequest & request)
  {
    ExecutionReport report;
    CheckRuns([&] { report = RunMedian(request); });
    EXPECT_LE(report.deviceBytes, report.deviceMemoryBudget);
    return report;
  }

private:
  Extent              m_Extent;
  Extent              m_Radius;
  Pixels<TPixel>      m_Input;
  Pixels<TPixel>      m_Output;
  std::vector<TPixel> m_Expected;
};

} // namespace cudamediantest

#endif
