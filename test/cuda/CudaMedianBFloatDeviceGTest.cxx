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
// 16-bit keys that are compared as numbers of bfloat16, on a device: code for sm_80 to sm_89 as PTX, which newer
// devices run too.

#include "BFloatRegisters.h"
#include "CudaMedianTestDevice.h"
#include "CudaMedianTestNumberedKeys.h"
#include "DeviceProfiles.h"
#include "DivideUp.h"
#include "RuntimeKernels.h"
#include "Slab.h"

#include <cuda_runtime_api.h>

namespace
{

using namespace cudamedian;
using cudamediantest::BitsImage;
using cudamediantest::MakeNumberedImages;

/** Memory of the device. */
template <typename T>
class DeviceVector
{
public:
  explicit DeviceVector(std::size_t size)
    : m_Size(size)
  {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void **>(&m_Data), size * sizeof(T)), cudaSuccess);
  }
  explicit DeviceVector(const std::vector<T> & values)
    : DeviceVector(values.size())
  {
    EXPECT_EQ(cudaMemcpy(m_Data, values.data(), m_Size * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  DeviceVector(const DeviceVector &) = delete;
  DeviceVector &
  operator=(const DeviceVector &) = delete;
  ~DeviceVector() { cudaFree(m_Data); }
  T *
  Get() const
  {
    return m_Data;
  }
  std::vector<T>
  Read() const
  {
    std::vector<T> values(m_Size);
    EXPECT_EQ(cudaMemcpy(values.data(), m_Data, m_Size * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return values;
  }

private:
  T *         m_Data{ nullptr };
  std::size_t m_Size;
};

/** The architectures with such keys whose PTX the device runs. */
std::vector<int>
GetArchitectures()
{
  int device = 0;
  int major = 0;
  int minor = 0;
  EXPECT_EQ(cudaGetDevice(&device), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), cudaSuccess);
  EXPECT_EQ(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device), cudaSuccess);
  std::vector<int> architectures;
  for (const int architecture : { 80, 86, 89 })
  {
    if (architecture <= 10 * major + minor)
    {
      architectures.push_back(architecture);
    }
  }
  return architectures;
}

#define REQUIRE_DEVICE_AND_NVRTC()                                                            \
  CUDAMEDIAN_NEEDS_GPU();                                                                     \
  if (!RuntimeCompiler::Get().IsAvailable())                                                  \
  {                                                                                           \
    ASSERT_FALSE(cudamediantest::GpuIsRequired()) << RuntimeCompiler::Get().GetDescription(); \
    GTEST_SKIP() << RuntimeCompiler::Get().GetDescription();                                  \
  }                                                                                           \
  if (GetArchitectures().empty())                                                             \
  {                                                                                           \
    GTEST_SKIP() << "the device is older than sm_80";                                         \
  }                                                                                           \
  static_assert(true, "")

/** The medians of an image by the kernel of a policy, with pixels as the kernel takes them. */
std::vector<std::uint16_t>
Filter(const EmittedKernel & kernel, BitsImage<std::uint16_t> & image, PixelType type)
{
  const auto & extent = image.extent;
  const auto   pitch = GetDevicePitch(extent[0], sizeof(std::uint16_t));
  const auto   rows = Volume(extent) / extent[0];
  const auto   size = static_cast<std::size_t>(pitch * rows);

  std::vector<std::uint16_t> padded(size, 0xFFFF);
  for (std::int64_t row = 0; row < rows; ++row)
  {
    std::copy_n(image.pixels.begin() + row * extent[0], extent[0], padded.begin() + row * pitch);
  }
  const DeviceVector<std::uint16_t> input(padded);
  const DeviceVector<std::uint16_t> output(std::vector<std::uint16_t>(size, 0x5A5A));
  KernelArguments                   arguments{};
  arguments.input = input.Get();
  arguments.output = output.Get();
  arguments.signMask = GetSignMask(type);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    arguments.inputPitch[axis] = axis == 0 ? 1 : axis == 1 ? pitch : arguments.inputPitch[axis - 1] * extent[axis - 1];
    arguments.outputPitch[axis] = arguments.inputPitch[axis];
    arguments.inputExtent[axis] = arguments.outputExtent[axis] = static_cast<std::int32_t>(extent[axis]);
    arguments.radius[axis] = kernel.window.radius[axis];
  }
  arguments.rank = kernel.window.rank;
  EXPECT_EQ(LaunchEmittedKernel(kernel, arguments, nullptr), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const auto                 medians = output.Read();
  std::vector<std::uint16_t> result(image.pixels.size());
  for (std::int64_t row = 0; row < rows; ++row)
  {
    std::copy_n(medians.begin() + row * pitch, extent[0], result.begin() + row * extent[0]);
  }
  return result;
}

/** The same by the host or a device, as the engine chooses. */
std::vector<std::uint16_t>
FilterBy(Backend backend, const Window & window, const BitsImage<std::uint16_t> & image, PixelType type)
{
  std::vector<std::uint16_t> result(image.pixels.size());
  MedianRequest              request;
  request.pixelType = type;
  request.input = image.pixels.data();
  request.output = result.data();
  request.inputExtent = request.outputExtent = image.extent;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    request.outputStride[axis] = request.outputStride[axis - 1] * image.extent[axis - 1];
  }
  request.radius = window.radius;
  request.rank = window.rank;
  request.backend = backend;
  RunMedian(request);
  return result;
}

} // namespace

TEST(CudaMedianBFloatDevice, InstructionsDoWhatTheHostDoes)
{
  REQUIRE_DEVICE_AND_NVRTC();
  constexpr char source[] = R"(#include "BFloatRegisters.h"
    extern "C" __global__ void Compare(const unsigned int * pairs, unsigned int count, unsigned int * results)
    {
      using namespace cudamedian;
      const unsigned int i = blockIdx.x * blockDim.x + threadIdx.x;
      if (i < count)
      {
        const unsigned int a = pairs[2 * i];
        const unsigned int b = pairs[2 * i + 1];
        const unsigned int found[] = { bfloat::Min(a, b), bfloat::Max(a, b), bfloat::KeepNaN(a, b),
                                       bfloat::GetNumbers(a), bfloat::GetPlaces(a),
                                       bfloat::LimitMagnitudes(a, bfloat::infinities),
                                       bfloat::GetGreaterMagnitudes(bfloat::Min(a, bfloat::infinities),
                                                                    bfloat::Min(b, bfloat::infinities)) &
                                         ~bfloat::signs };
        for (int k = 0; k < 7; ++k)
        {
          results[7 * i + k] = found[k];
        }
      }
    })";
  // Every pattern beside zeros, subnormals, infinities, NaN and itself.
  const std::uint32_t        others[] = { 0x0000, 0x8000, 0x0001, 0x8001, 0x007F, 0x807F, 0x0080, 0x8080, 0x3F80,
                                          0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7F81, 0xFF81, 0x7FFF, 0xFFFF };
  std::vector<std::uint32_t> pairs;
  for (std::uint32_t pattern = 0; pattern < 65536; ++pattern)
  {
    for (const auto other : others)
    {
      pairs.insert(pairs.end(), { pattern | other << 16, other | pattern << 16 });
    }
    pairs.insert(pairs.end(), { pattern | pattern << 16, pattern | (pattern ^ 0x8000U) << 16 });
  }
  const DeviceVector<std::uint32_t> input(pairs);
  auto                              count = static_cast<std::uint32_t>(pairs.size() / 2);
  for (const int architecture : GetArchitectures())
  {
    SCOPED_TRACE(architecture);
    std::string   error;
    const auto    ptx = RuntimeCompiler::Get().Compile(source, { architecture, true }, error);
    cudaLibrary_t library = nullptr;
    cudaKernel_t  kernel = nullptr;
    ASSERT_EQ(error, "");
    ASSERT_EQ(cudaLibraryLoadData(&library, ptx.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    ASSERT_EQ(cudaLibraryGetKernel(&kernel, library, "Compare"), cudaSuccess);
    const DeviceVector<std::uint32_t> output(std::size_t{ 7 } * count);
    const std::uint32_t *             from = input.Get();
    std::uint32_t *                   to = output.Get();
    void *                            parameters[] = { &from, &count, &to };
    ASSERT_EQ(cudaLaunchKernel(
                reinterpret_cast<const void *>(kernel), dim3(DivideUp(count, 256)), dim3(256), parameters, 0, nullptr),
              cudaSuccess);
    const auto found = output.Read();
    for (std::size_t i = 0; i < count; ++i)
    {
      const auto          a = pairs[2 * i];
      const auto          b = pairs[2 * i + 1];
      const std::uint32_t expected[] = { bfloat::Min(a, b),
                                         bfloat::Max(a, b),
                                         bfloat::KeepNaN(a, b),
                                         bfloat::GetNumbers(a),
                                         bfloat::GetPlaces(a),
                                         bfloat::LimitMagnitudes(a, bfloat::infinities),
                                         bfloat::GetGreaterMagnitudes(bfloat::Min(a, bfloat::infinities),
                                                                      bfloat::Min(b, bfloat::infinities)) &
                                           ~bfloat::signs };
      for (std::size_t k = 0; k < 7; ++k)
      {
        ASSERT_EQ(found[7 * i + k], expected[k]) << "function " << k << " of " << a << " and " << b;
      }
    }
    cudaLibraryUnload(library);
  }
}

TEST(CudaMedianBFloatDevice, BlocksOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  REQUIRE_DEVICE_AND_NVRTC();
  const Window windows[] = { Extent{ { 2, 2, 0, 0 } },
                             Extent{ { 1, 3, 0, 0 } },
                             Extent{ { 3, 3, 0, 0 } },
                             Extent{ { 1, 1, 1, 0 } },
                             Window(Extent{ { 2, 2, 0, 0 } }, 3) };
  for (const int architecture : GetArchitectures())
  {
    const auto kind = GetKernelKind(2, architecture);
    ASSERT_EQ(kind.packing, KeyPacking::BFloatPair);
    for (const auto & window : windows)
    {
      for (const auto type : { PixelType::UInt16, PixelType::Int16 })
      {
        const auto compiled = CompileRuntimeKernel(
          window, GetKeyFormat(type), kind, GetKernelPolicy(window, kind, GetH200Traits()), { architecture, true });
        ASSERT_NE(compiled.kernel, nullptr) << compiled.explanation;
        for (auto & named : MakeNumberedImages(type, window.radius[2] > 0))
        {
          EXPECT_EQ(Filter(*compiled.kernel, named.image, type), FilterBy(Backend::Cpu, window, named.image, type))
            << named.name << ", " << window.GetSize(0) << "x" << window.GetSize(1) << "x" << window.GetSize(2)
            << ", rank " << window.rank << ", " << ToString(type) << ", compute_" << architecture;
        }
      }
    }
  }
}

TEST(CudaMedianBFloatDevice, TheEnginesKernelsOnEitherSideOfTheLimit)
{
  CUDAMEDIAN_TRACE_SEED();
  CUDAMEDIAN_NEEDS_GPU();
  // Of these the build may have PTX of sm_80 to sm_89 only: then 3x3 shows what strips do.
  for (const Extent & radius : { Extent{ { 1, 1, 0, 0 } }, Extent{ { 2, 2, 0, 0 } }, Extent{ { 1, 1, 1, 0 } } })
  {
    for (const auto type : { PixelType::UInt16, PixelType::Int16 })
    {
      for (auto & named : MakeNumberedImages(type, radius[2] > 0))
      {
        EXPECT_EQ(FilterBy(Backend::Cuda, radius, named.image, type), FilterBy(Backend::Cpu, radius, named.image, type))
          << named.name << ", " << ToString(type);
      }
    }
  }
}
