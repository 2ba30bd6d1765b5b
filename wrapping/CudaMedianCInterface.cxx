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
#include "CudaMedianCInterface.h"

#include "itkCudaMedianDevice.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <thread>

namespace
{

// The numbers that python/itk_cuda_median/_engine.py knows.
static_assert(static_cast<int>(cudamedian::Backend::Cpu) == 2, "Backend in _engine.py");
static_assert(static_cast<int>(cudamedian::Algorithm::TileProgram) == 1 &&
                static_cast<int>(cudamedian::Algorithm::LocalRank) == 2 &&
                static_cast<int>(cudamedian::Algorithm::SlidingHistogram) == 3 &&
                static_cast<int>(cudamedian::Algorithm::Selection) == 4 &&
                static_cast<int>(cudamedian::Algorithm::MergeTiling) == 5,
              "Algorithm in _engine.py");

/** What a progress function's wish to stop travels as. */
struct Stopped
{};

void
WriteText(const std::string & source, char * text, std::size_t bytes)
{
  if (text == nullptr || bytes == 0)
  {
    return;
  }
  const auto length = std::min(source.size(), bytes - 1);
  std::memcpy(text, source.data(), length);
  text[length] = '\0';
}

/** Joins its threads also when an exception passes. */
class JoinedThreads
{
public:
  explicit JoinedThreads(std::size_t count)
  {
    m_Threads.reserve(count);
  }
  ~JoinedThreads()
  {
    for (auto & thread : m_Threads)
    {
      thread.join();
    }
  }
  template <typename TBody>
  void
  Start(TBody && body)
  {
    m_Threads.emplace_back(std::forward<TBody>(body));
  }

private:
  std::vector<std::thread> m_Threads;
};

/** A thread for each body but the first, which runs here. */
void
RunInThreads(std::size_t count, const std::function<void(std::size_t)> & body)
{
  JoinedThreads threads(count);
  for (std::size_t unit = 1; unit < count; ++unit)
  {
    threads.Start([&body, unit] { body(unit); });
  }
  if (count > 0)
  {
    body(0);
  }
}

cudamedian::Extent
ToExtent(const std::int64_t (&values)[4])
{
  return { { values[0], values[1], values[2], values[3] } };
}

cudamedian::MedianRequest
ToEngine(const CudaMedianRequest & given)
{
  cudamedian::MedianRequest request;
  request.pixelType = static_cast<cudamedian::PixelType>(given.pixelType);
  request.input = given.input;
  request.inputExtent = ToExtent(given.extent);
  request.radius = ToExtent(given.radius);
  request.outputExtent = request.inputExtent;
  request.output = given.output;
  request.outputStride = ToExtent(given.outputStride);
  request.backend = static_cast<cudamedian::Backend>(given.backend);
  request.algorithm = static_cast<cudamedian::Algorithm>(given.algorithm);
  request.deviceMemoryBudget = static_cast<std::size_t>(given.deviceMemoryBudget);
  request.workUnits = given.workUnits != 0 ? given.workUnits : std::max(1U, std::thread::hardware_concurrency());
  request.parallelFor = RunInThreads;
  if (given.progress != nullptr)
  {
    request.progress = [progress = given.progress, context = given.progressContext](float fraction) {
      if (progress(fraction, context) != 0)
      {
        throw Stopped();
      }
    };
  }
  return request;
}

/** Throws where a number names nothing of an enumeration or the caller's structure is of another version. */
void
Validate(const CudaMedianRequest & given)
{
  const auto check = [](const char * name, std::uint64_t value, std::uint64_t largest) {
    if (value > largest)
    {
      throw cudamedian::RequestError(std::string(name) + " is " + std::to_string(value) + "; the largest is " +
                                     std::to_string(largest));
    }
  };
  if (given.bytes != sizeof(CudaMedianRequest))
  {
    throw cudamedian::RequestError("a request of " + std::to_string(given.bytes) + " bytes where this library takes " +
                                   std::to_string(sizeof(CudaMedianRequest)) +
                                   ": the Python files and the library are " + "of different versions");
  }
  check("pixelType", given.pixelType, static_cast<std::uint64_t>(cudamedian::PixelType::Float64));
  check("backend", given.backend, static_cast<std::uint64_t>(cudamedian::Backend::Cpu));
  check("algorithm", given.algorithm, static_cast<std::uint64_t>(cudamedian::Algorithm::MergeTiling));
}

/** Runs a body that returns an execution report; writes that, or what went wrong. \returns a CudaMedianStatus. */
template <typename TBody>
int
RunGuarded(TBody && body, char * text, std::size_t textBytes)
{
  try
  {
    std::ostringstream report;
    body().Print(report);
    WriteText(report.str(), text, textBytes);
    return CudaMedianDone;
  }
  catch (const Stopped &)
  {
    WriteText("stopped by the progress function", text, textBytes);
    return CudaMedianStopped;
  }
  catch (const cudamedian::RequestError & error)
  {
    WriteText(error.what(), text, textBytes);
    return CudaMedianRequestError;
  }
  catch (const cudamedian::DeviceError & error)
  {
    WriteText(error.what(), text, textBytes);
    return CudaMedianDeviceError;
  }
  catch (const std::exception & error)
  {
    WriteText(error.what(), text, textBytes);
    return CudaMedianOtherError;
  }
}

} // namespace

int
CudaMedianRun(const CudaMedianRequest * request, char * text, size_t textBytes)
{
  return RunGuarded(
    [request] {
      Validate(*request);
      return cudamedian::RunMedian(ToEngine(*request));
    },
    text,
    textBytes);
}

int
CudaMedianRunOnDevice(const CudaMedianRequest * request, uint64_t stream, char * text, size_t textBytes)
{
  return RunGuarded(
    [request, stream] {
      Validate(*request);
      return cudamedian::RunMedianOnDevice(ToEngine(*request),
                                           reinterpret_cast<void *>(static_cast<std::uintptr_t>(stream)));
    },
    text,
    textBytes);
}

int
CudaMedianQueryDevice(char * text, size_t textBytes)
{
  const auto availability = cudamedian::QueryCudaDevice();
  WriteText(availability.description, text, textBytes);
  return availability.usable ? 1 : 0;
}

void
CudaMedianReleaseCachedMemory(void)
{
  cudamedian::ReleaseCachedMemory();
}
