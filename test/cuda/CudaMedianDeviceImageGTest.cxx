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
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestSeed.h"
#include "DivideUp.h"
#include "itkCudaMedianDevice.h"
#include "SelectionDevice.h"

#ifdef CUDAMEDIAN_TEST_HAS_CUDA
#  include <cuda_runtime_api.h>
#endif

#include <algorithm>
#include <random>
#include <vector>

namespace
{

using cudamedian::Extent;
using cudamedian::MedianRequest;

/** A request from one C-contiguous buffer of 16-bit pixels to another. */
MedianRequest
MakeRequest(const Extent & extent, const Extent & radius, const void * input, void * output)
{
  MedianRequest request;
  request.pixelType = cudamedian::PixelType::UInt16;
  request.input = input;
  request.output = output;
  request.inputExtent = extent;
  request.outputExtent = extent;
  request.radius = radius;
  request.outputStride = { { 1, extent[0], extent[0] * extent[1], extent[0] * extent[1] * extent[2] } };
  return request;
}

/** The text of the error that a request ends with; empty when it is carried out. */
std::string
GetError(const MedianRequest & request)
{
  try
  {
    cudamedian::RunMedianOnDevice(request, nullptr);
  }
  catch (const std::runtime_error & error)
  {
    return error.what();
  }
  return "";
}

} // namespace

TEST(CudaMedianDeviceImage, HostMemoryIsAnError)
{
  std::vector<std::uint16_t> pixels(64);
  std::vector<std::uint16_t> medians(64);
  EXPECT_NE(GetError(MakeRequest({ { 8, 8, 1, 1 } }, { { 1, 1, 0, 0 } }, pixels.data(), medians.data())), "");
}

#ifdef CUDAMEDIAN_TEST_HAS_CUDA

TEST(CudaMedianDeviceImage, WrongRequestsAreNamed)
{
  const Extent               extent{ { 8, 8, 1, 1 } };
  const Extent               radius{ { 1, 1, 0, 0 } };
  std::vector<std::uint16_t> pixels(128);
  auto                       overlapping = MakeRequest(extent, radius, pixels.data(), pixels.data() + 63);
  EXPECT_EQ(GetError(overlapping), "The output overlaps the input");
  auto strided = MakeRequest(extent, radius, pixels.data(), pixels.data() + 64);
  strided.outputStride[1] = 7;
  EXPECT_NE(GetError(strided).find("share places"), std::string::npos);
  auto partial = MakeRequest(extent, radius, pixels.data(), pixels.data() + 64);
  partial.outputExtent[1] = 7;
  EXPECT_EQ(GetError(partial), "In device memory the output is as large as the input");
  // A window of 2^63 pixels and more.
  EXPECT_NE(GetError(MakeRequest(extent, { { 1LL << 30, 1LL << 30, 1LL << 2, 0 } }, pixels.data(), pixels.data() + 64))
              .find("a window holds at most 576460752303423487 pixels"),
            std::string::npos);
}

/** A stream of the caller's, and what is filtered there compared with the CPU backend. */
class CudaMedianDeviceImageOnStream : public ::testing::Test
{
protected:
  void
  SetUp() override
  {
    CUDAMEDIAN_NEEDS_GPU();
    ASSERT_EQ(cudaStreamCreateWithFlags(&m_Stream, cudaStreamNonBlocking), cudaSuccess);
  }

  void
  TearDown() override
  {
    if (m_Stream != nullptr)
    {
      cudaStreamDestroy(m_Stream);
    }
  }

  /** Random pixels, from and to buffers that start `shift` pixels after a multiple of 16 bytes. */
  void
  ExpectEqualToHost(const Extent &        extent,
                    const Extent &        radius,
                    std::size_t           shift,
                    cudamedian::Algorithm algorithm = cudamedian::Algorithm::Automatic,
                    std::size_t           budget = 0)
  {
    const auto                 count = static_cast<std::size_t>(extent[0] * extent[1] * extent[2] * extent[3]);
    std::mt19937               random(7);
    std::vector<std::uint16_t> pixels(count);
    std::vector<std::uint16_t> expected(count);
    std::vector<std::uint16_t> medians(count);
    for (auto & pixel : pixels)
    {
      pixel = static_cast<std::uint16_t>(random());
    }
    auto onHost = MakeRequest(extent, radius, pixels.data(), expected.data());
    onHost.backend = cudamedian::Backend::Cpu;
    cudamedian::RunMedian(onHost);

    std::uint16_t * device = nullptr;
    const auto      bytes = count * sizeof(std::uint16_t);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void **>(&device), 2 * bytes + 64), cudaSuccess);
    auto * const input = device + shift;
    auto * const output = device + cudamedian::RoundUp(count + 8 + shift, 8) + shift;
    ASSERT_EQ(cudaMemcpyAsync(input, pixels.data(), bytes, cudaMemcpyHostToDevice, m_Stream), cudaSuccess);
    auto onDevice = MakeRequest(extent, radius, input, output);
    onDevice.algorithm = algorithm;
    onDevice.deviceMemoryBudget = budget;
    const auto report = cudamedian::RunMedianOnDevice(onDevice, m_Stream);
    ASSERT_EQ(cudaMemcpyAsync(medians.data(), output, bytes, cudaMemcpyDeviceToHost, m_Stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(m_Stream), cudaSuccess);
#  ifndef CUDAMEDIAN_TEST_ON_HOST // whose kernels have no tiles
    EXPECT_EQ(report.tile[0] > 0, algorithm != cudamedian::Algorithm::Selection) << report.algorithm;
#  endif
    if (budget != 0)
    {
      EXPECT_LE(report.deviceBytes, budget);
    }
    EXPECT_EQ(medians, expected) << extent[0] << "x" << extent[1] << "x" << extent[2] << ", shift " << shift << ", "
                                 << report.algorithm;
    cudaFree(device);
  }

  /** A request on images in host memory, and the same on the device. */
  void
  ExpectEqualToHost(MedianRequest request, std::vector<char> & input, std::vector<char> & output)
  {
    request.backend = cudamedian::Backend::Cpu;
    request.input = input.data();
    request.output = output.data();
    cudamedian::RunMedian(request);
    std::vector<char> found(output.size(), 0);
    char *            device = nullptr;
    const auto        behind = cudamedian::RoundUp(input.size(), 256);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void **>(&device), behind + output.size()), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(device, input.data(), input.size(), cudaMemcpyHostToDevice, m_Stream), cudaSuccess);
    ASSERT_EQ(cudaMemsetAsync(device + behind, 0, output.size(), m_Stream), cudaSuccess);
    request.input = device;
    request.output = device + behind;
    const auto report = cudamedian::RunMedianOnDevice(request, m_Stream);
    ASSERT_EQ(cudaMemcpyAsync(found.data(), device + behind, output.size(), cudaMemcpyDeviceToHost, m_Stream),
              cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(m_Stream), cudaSuccess);
    EXPECT_TRUE(found == output) << report.border << ", " << report.algorithm << ", "
                                 << cudamedian::ToString(request.pixelType);
    cudaFree(device);
  }

  /** A row of calls from one buffer to another and back, without waiting between them: 3x3, 5x5, 3x3 and so on, and the
   * minimum of 3x3. \param carryOut is given the row and its stream */
  template <typename TCarryOut>
  void
  ExpectRowsOfCallsEqualTheHost(const Extent & extent, const TCarryOut & carryOut)
  {
    CUDAMEDIAN_TRACE_SEED();
    constexpr int              calls = 12;
    const auto                 count = static_cast<std::size_t>(cudamedian::Volume(extent));
    const auto                 bytes = count * sizeof(std::uint16_t);
    std::mt19937               random(static_cast<std::uint32_t>(cudamediantest::Seed()));
    std::vector<std::uint16_t> pixels(count);
    for (auto & pixel : pixels)
    {
      pixel = static_cast<std::uint16_t>(random());
    }
    std::uint16_t * device = nullptr;
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void **>(&device), 2 * bytes), cudaSuccess);
    const auto forEachCall = [&](void * from, void * to, const auto & run) {
      for (int call = 0; call < calls; ++call)
      {
        auto request = MakeRequest(extent, { { 1 + (call % 4 == 1), 1 + (call % 4 == 1), 0, 0 } }, from, to);
        request.rank = call % 4 == 3 ? 0 : -1;
        run(request);
        std::swap(from, to);
      }
    };
    const auto onDevice = [&](const MedianRequest & request) { cudamedian::RunMedianOnDevice(request, m_Stream); };
    // A first time, so that kernels are there.
    forEachCall(device, device + count, onDevice);
    ASSERT_EQ(cudaMemcpyAsync(device, pixels.data(), bytes, cudaMemcpyHostToDevice, m_Stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(m_Stream), cudaSuccess);
    carryOut([&] { forEachCall(device, device + count, onDevice); }, m_Stream);
    static_assert(calls % 2 == 0, "The last output is the first input");
    std::vector<std::uint16_t> found(count);
    ASSERT_EQ(cudaMemcpyAsync(found.data(), device, bytes, cudaMemcpyDeviceToHost, m_Stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(m_Stream), cudaSuccess);
    cudaFree(device);

    std::vector<std::uint16_t> other(count);
    forEachCall(pixels.data(), other.data(), [](MedianRequest request) {
      request.backend = cudamedian::Backend::Cpu;
      cudamedian::RunMedian(request);
    });
    EXPECT_TRUE(found == pixels) << extent[0] << "x" << extent[1];
  }

private:
  cudaStream_t m_Stream{ nullptr };
};

TEST_F(CudaMedianDeviceImageOnStream, BordersAndStridesEqualTheHost)
{
  using cudamedian::Border;
  using cudamedian::PixelType;
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto border : { Border::ZeroFluxNeumann, Border::Constant, Border::Reflect, Border::Mirror, Border::Wrap })
  {
    for (const auto type :
         { PixelType::UInt8, PixelType::Int16, PixelType::Float16, PixelType::BFloat16, PixelType::Float64 })
    {
      for (const std::int64_t components : { 1, 3 })
      {
        const Extent extent{ { 61, 37, 5, components } };
        auto         request = MakeRequest(extent, { { 2, 2, 1, 0 } }, nullptr, nullptr);
        request.pixelType = type;
        request.border.fill(border);
        request.rank = random() % 2 == 0 ? -1 : static_cast<std::int64_t>(random() % 75);
        request.shift = {
          { static_cast<std::int64_t>(random() % 3) - 1, 0, static_cast<std::int64_t>(random() % 2), 0 }
        };
        request.inputStride = { { components, components * 61, components * 61 * 37, 1 } };
        request.outputStride = random() % 2 == 0 ? request.inputStride : request.outputStride;
        request.deviceMemoryBudget = random() % 2 == 0 ? 0 : 200000;
        std::generate(
          request.borderValue.begin(), request.borderValue.end(), [&] { return static_cast<unsigned char>(random()); });
        const auto        bytes = static_cast<std::size_t>(61 * 37 * 5 * components) * cudamedian::PixelBytes(type);
        std::vector<char> input(bytes);
        std::vector<char> output(bytes, 0);
        std::generate(input.begin(), input.end(), [&] { return static_cast<char>(random()); });
        ExpectEqualToHost(request, input, output);
      }
    }
  }
}

// Rows of 64 pixels are whole vectors in every type, but what windows over a copied border write starts elsewhere.
TEST_F(CudaMedianDeviceImageOnStream, BordersOfRowsThatAreNotCopiedEqualTheHost)
{
  using cudamedian::Border;
  using cudamedian::PixelType;
  CUDAMEDIAN_TRACE_SEED();
  std::mt19937_64 random(cudamediantest::Seed());
  for (const auto border : { Border::ZeroFluxNeumann, Border::Constant, Border::Reflect, Border::Mirror, Border::Wrap })
  {
    for (const auto type : { PixelType::UInt8, PixelType::Int16, PixelType::Float16, PixelType::Float64 })
    {
      for (const std::int64_t shift : { 0, 1 })
      {
        auto request = MakeRequest({ { 64, 37, 5, 1 } }, { { 2, 2, 0, 0 } }, nullptr, nullptr);
        request.pixelType = type;
        request.border.fill(border);
        request.shift = { { shift, 0, 0, 0 } };
        const auto        bytes = static_cast<std::size_t>(64 * 37 * 5) * cudamedian::PixelBytes(type);
        std::vector<char> input(bytes);
        std::vector<char> output(bytes, 0);
        std::generate(input.begin(), input.end(), [&] { return static_cast<char>(random()); });
        ExpectEqualToHost(request, input, output);
      }
    }
  }
}

TEST_F(CudaMedianDeviceImageOnStream, EqualsTheHost)
{
  const std::pair<Extent, Extent> cases[] = {
    { { { 64, 48, 1, 1 } }, { { 1, 1, 0, 0 } } },    { { { 61, 47, 1, 1 } }, { { 2, 2, 0, 0 } } },
    { { { 32, 24, 16, 1 } }, { { 1, 1, 1, 0 } } },   { { { 33, 24, 16, 1 } }, { { 2, 1, 1, 0 } } },
    { { { 16, 12, 8, 5 } }, { { 1, 0, 1, 1 } } },    { { { 200, 150, 1, 1 } }, { { 12, 12, 0, 0 } } },
    { { { 200, 150, 1, 1 } }, { { 70, 70, 0, 0 } } }
  };
  for (const auto & [extent, radius] : cases)
  {
    for (const std::size_t shift : { 0, 1 })
    {
      ExpectEqualToHost(extent, radius, shift);
    }
  }
}

TEST_F(CudaMedianDeviceImageOnStream, WindowsAlongFourAxesEqualTheHost)
{
  for (const Extent & radius : { Extent{ { 1, 1, 1, 1 } }, Extent{ { 2, 1, 3, 1 } } })
  {
    for (const std::size_t shift : { 0, 1 })
    {
      ExpectEqualToHost({ { 16, 12, 8, 5 } }, radius, shift, cudamedian::Algorithm::Selection);
    }
  }
}

// Rows that are no multiple of 16 bytes are copied on the device; the copies count against the budget.
TEST_F(CudaMedianDeviceImageOnStream, CopiesKeepToTheBudget)
{
  const std::pair<Extent, Extent> cases[] = { { { { 301, 201, 1, 1 } }, { { 2, 2, 0, 0 } } },
                                              { { { 61, 43, 31, 1 } }, { { 1, 1, 1, 0 } } },
                                              { { { 301, 201, 1, 1 } }, { { 0, 3, 0, 0 } } },
                                              { { { 13, 9, 11, 7 } }, { { 1, 0, 1, 1 } } } };
  for (const auto & [extent, radius] : cases)
  {
    for (const std::size_t kibibytes : { 40, 64, 100, 1000 })
    {
      ExpectEqualToHost(extent, radius, 1, cudamedian::Algorithm::Automatic, kibibytes << 10);
    }
  }
  std::uint16_t * device = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void **>(&device), 1 << 20), cudaSuccess);
  auto request = MakeRequest({ { 301, 201, 1, 1 } }, { { 2, 2, 0, 0 } }, device, device + 300000);
  request.deviceMemoryBudget = 90;
  EXPECT_NE(GetError(request).find("A device memory budget of 90 bytes cannot hold the smallest slab"),
            std::string::npos)
    << GetError(request);
  cudaFree(device);
}

TEST_F(CudaMedianDeviceImageOnStream, SelectionInSeveralLaunchesEqualsTheHost)
{
  // 4.4e9 pixels of windows to a launch: these have more, and are cut along axis 1, 2, and within their only row.
  const std::pair<Extent, Extent> cases[] = { { { { 700, 500, 1, 1 } }, { { 60, 60, 0, 0 } } },
                                              { { { 60, 60, 60, 1 } }, { { 14, 14, 14, 0 } } },
                                              { { { 200000, 1, 1, 1 } }, { { 12000, 0, 0, 0 } } } };
  for (const auto & [extent, radius] : cases)
  {
    auto request = MakeRequest(extent, radius, nullptr, nullptr);
    ASSERT_LT(cudamedian::GetSelectedPixels(request), cudamedian::Volume(extent));
    for (const std::size_t shift : { 0, 3 })
    {
      ExpectEqualToHost(extent, radius, shift, cudamedian::Algorithm::Selection);
    }
  }
}

// Each reads what the one in front of it has just written, and writes where that read. Some images fill the device
// several times, and some leave most of it idle, so that kernels that start early have room.
TEST_F(CudaMedianDeviceImageOnStream, CallsReadWhatTheOneInFrontWrote)
{
  for (const Extent & extent :
       { Extent{ { 72, 40, 1, 1 } }, Extent{ { 712, 500, 1, 1 } }, Extent{ { 2048, 1500, 1, 1 } } })
  {
    ExpectRowsOfCallsEqualTheHost(extent, [](const auto & calls, cudaStream_t) { calls(); });
  }
}

#  ifndef CUDAMEDIAN_TEST_ON_HOST // which captures no streams
TEST_F(CudaMedianDeviceImageOnStream, CallsAreCapturedInAGraph)
{
  ExpectRowsOfCallsEqualTheHost({ { 712, 500, 1, 1 } }, [](const auto & calls, cudaStream_t stream) {
    cudaGraph_t     graph = nullptr;
    cudaGraphExec_t launched = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    calls();
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&launched, graph, 0), cudaSuccess);
    ASSERT_EQ(cudaGraphLaunch(launched, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    cudaGraphExecDestroy(launched);
    cudaGraphDestroy(graph);
  });
}
#  endif

#endif
