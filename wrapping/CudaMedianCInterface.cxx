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

#include "CudaMedianCFootprint.h"
#include "CudaMedianCRules.h"
#include "CudaMedianInterpreterEnd.h"
#include "itkCudaMedianDevice.h"
#include "itkCudaMedianThreads.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <sstream>
#include <thread>

namespace
{

// The numbers that python/cudamedian/_engine.py knows.
static_assert(static_cast<int>(cudamedian::Backend::Cpu) == 2, "Backend in _engine.py");
static_assert(static_cast<int>(cudamedian::Algorithm::TileProgram) == 1 &&
                static_cast<int>(cudamedian::Algorithm::LocalRank) == 2 &&
                static_cast<int>(cudamedian::Algorithm::SlidingHistogram) == 3 &&
                static_cast<int>(cudamedian::Algorithm::Selection) == 4 &&
                static_cast<int>(cudamedian::Algorithm::MergeTiling) == 5,
              "Algorithm in _engine.py");
static_assert(static_cast<int>(cudamedian::Border::Constant) == 1 &&
                static_cast<int>(cudamedian::Border::Reflect) == 2 &&
                static_cast<int>(cudamedian::Border::Mirror) == 3 && static_cast<int>(cudamedian::Border::Wrap) == 4 &&
                static_cast<int>(cudamedian::Border::Shrink) == 5,
              "Border in _engine.py");
static_assert(static_cast<int>(cudamedian::EvenMedian::Mean) == 1 &&
                static_cast<int>(cudamedian::EvenMedian::Lower) == 2,
              "EvenMedian in _engine.py");
static_assert(static_cast<int>(cudamedian::EmptyWindow::Value) == 1 &&
                static_cast<int>(cudamedian::InvalidOutput::Copied) == 1 &&
                static_cast<int>(cudamedian::InvalidOutput::Value) == 2 &&
                static_cast<int>(cudamedian::OutlierRule::Absolute) == 1 &&
                static_cast<int>(cudamedian::OutlierRule::Deviations) == 2,
              "rules in _rules.py");

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

std::string
ToText(const cudamedian::ExecutionReport & report)
{
  std::ostringstream text;
  report.Print(text);
  return text.str();
}

void *
ToStream(std::uint64_t number)
{
  return reinterpret_cast<void *>(static_cast<std::uintptr_t>(number));
}

cudamedian::Extent
ToExtent(const std::int64_t (&values)[4])
{
  return { { values[0], values[1], values[2], values[3] } };
}

/** The way back into an interpreter, which is closed when that ends. */
class InterpreterDoor
{
public:
  /** Runs a body that takes the interpreter's lock, unless the door is closed to this thread. */
  template <typename TBody>
  void
  Pass(TBody && body)
  {
    ++m_Inside;
    if (!m_Closed || std::this_thread::get_id() == m_Closer)
    {
      cudamedian::EnterInterpreter(body);
    }
    --m_Inside;
  }

  void
  Close()
  {
    m_Closer = std::this_thread::get_id();
    m_Closed = true;
    // Whoever saw the door open takes the lock while there is one.
    for (int i = 0; i < 500 && m_Inside > 0; ++i)
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  void
  Open()
  {
    // What was inside is in the process that this one was forked of, or in an interpreter that is gone.
    m_Inside = 0;
    m_Closed = false;
  }

private:
  std::atomic<int>  m_Inside{ 0 };
  std::atomic<bool> m_Closed{ false };
  std::thread::id   m_Closer; ///< written before the door is closed
};

InterpreterDoor door;

/** Calls the caller's progress function, not more often than it wants to hear. \throws Stopped when it asks to stop. */
class Progress
{
public:
  explicit Progress(const CudaMedianRequest & given)
    : m_Call(given.progress)
    , m_Pause(given.progressSeconds)
  {}

  void
  operator()(float fraction)
  {
    const auto now = Clock::now();
    if (now - m_Last < m_Pause)
    {
      return;
    }
    m_Last = now;
    int answer = 0;
    door.Pass([&] { answer = m_Call(fraction); });
    if (answer != 0)
    {
      throw Stopped();
    }
  }

private:
  using Clock = std::chrono::steady_clock;
  CudaMedianProgress            m_Call;
  std::chrono::duration<double> m_Pause;
  Clock::time_point             m_Last{ Clock::now() };
};

cudamedian::MedianRequest
ToEngine(const CudaMedianRequest & given)
{
  cudamedian::MedianRequest request;
  request.pixelType = static_cast<cudamedian::PixelType>(given.pixelType);
  request.input = given.input;
  request.inputExtent = ToExtent(given.extent);
  request.inputStride = ToExtent(given.inputStride);
  request.radius = ToExtent(given.radius);
  request.shorter = ToExtent(given.shorter);
  request.shift = ToExtent(given.shift);
  for (std::size_t axis = 0; axis < 4; ++axis)
  {
    request.border[axis] = static_cast<cudamedian::Border>(given.border[axis]);
  }
  std::copy(std::begin(given.borderValue), std::end(given.borderValue), request.borderValue.begin());
  request.evenMedian = static_cast<cudamedian::EvenMedian>(given.evenMedian);
  request.rank = given.rank;
  request.footprint = cudamedian::ToFootprint(given);
  if (request.footprint != nullptr)
  {
    request.radius = request.footprint->GetRadius();
  }
  cudamedian::SetRules(given, request);
  request.outputExtent = request.inputExtent;
  request.output = given.output;
  request.outputStride = ToExtent(given.outputStride);
  request.backend = static_cast<cudamedian::Backend>(given.backend);
  request.algorithm = static_cast<cudamedian::Algorithm>(given.algorithm);
  request.deviceMemoryBudget = static_cast<std::size_t>(given.deviceMemoryBudget);
  request.workUnits = given.workUnits != 0 ? given.workUnits : std::max(1U, std::thread::hardware_concurrency());
  request.mayUseFewerUnits = given.mayUseFewerUnits != 0;
  request.parallelFor = cudamedian::RunInKeptThreads;
  if (given.progress != nullptr)
  {
    request.progress = Progress(given);
  }
  return request;
}

/** Throws where a number is not within its limits. */
template <typename TNumber>
void
CheckRange(const std::string & name, TNumber value, TNumber smallest, TNumber largest)
{
  if (value < smallest || value > largest)
  {
    throw cudamedian::RequestError(name + " is " + std::to_string(value) + "; it may be from " +
                                   std::to_string(smallest) + " to " + std::to_string(largest));
  }
}

/** Throws where the strides of a buffer are not those of an image whose rows do not overlap: axis 0 is the contiguous
 * one, or, where pixels have components, axis 3. \returns the bytes from the first pixel to the last. */
std::uint64_t
ValidateStrides(const std::string & buffer,
                const std::int64_t (&extent)[4],
                const std::int64_t (&stride)[4],
                std::int64_t pixelBytes)
{
  constexpr auto           most = std::numeric_limits<std::int64_t>::max();
  const bool               hasComponents = extent[3] > 1 && stride[3] == 1 && stride[0] != 1;
  const std::array<int, 4> order =
    hasComponents ? std::array<int, 4>{ { 3, 0, 1, 2 } } : std::array<int, 4>{ { 0, 1, 2, 3 } };
  CheckRange<std::int64_t>(
    "The " + buffer + "'s stride along axis " + std::to_string(order[0]), stride[order[0]], 1, 1);
  std::int64_t span = 1; // pixels from the first to the last
  for (const auto axis : order)
  {
    if (extent[axis] > 1)
    {
      const auto steps = extent[axis] - 1;
      CheckRange<std::int64_t>("The " + buffer + "'s stride along axis " + std::to_string(axis),
                               stride[axis],
                               span,
                               (most / pixelBytes - span) / steps);
      span += steps * stride[axis];
    }
  }
  return static_cast<std::uint64_t>(span) * static_cast<std::uint64_t>(pixelBytes);
}

/** The bytes that the input and the output lie in, 0 when there are no pixels. */
struct BufferBytes
{
  std::uint64_t input{ 0 };
  std::uint64_t output{ 0 };
};

/** Throws where what is said of an axis's window is none. */
void
ValidateWindow(const CudaMedianRequest & given, int axis, std::int64_t & windowPixels)
{
  const auto ofAxis = " along axis " + std::to_string(axis);
  // A window holds as many pixels as the engine counts at most.
  const auto largestRadius = (std::numeric_limits<std::int64_t>::max() / 16 / windowPixels - 1) / 2;
  const auto radius = given.radius[axis];
  CheckRange<std::int64_t>("The radius" + ofAxis, radius, 0, largestRadius);
  CheckRange<std::int64_t>("What the window is shorter" + ofAxis, given.shorter[axis], 0, radius > 0 ? 1 : 0);
  CheckRange<std::int64_t>("The shift" + ofAxis, given.shift[axis], given.shorter[axis] - radius, radius);
  CheckRange<std::uint32_t>(
    "The border" + ofAxis, given.border[axis], 0, static_cast<unsigned>(cudamedian::Border::Shrink));
  windowPixels *= 2 * radius + 1;
}

/** Throws where the rank is none of the window's. The engine counts the values of a footprint. */
void
ValidateRank(const CudaMedianRequest & given)
{
  if (given.footprintPixels != 0)
  {
    cudamedian::ValidateFootprint(given);
    return;
  }
  std::int64_t pixels = 1;
  for (int axis = 0; axis < 4; ++axis)
  {
    pixels *= 2 * given.radius[axis] + 1 - given.shorter[axis];
  }
  CheckRange<std::int64_t>("The rank", given.rank, -1, pixels - 1);
}

/** Throws where extents, windows or strides are not those of an image that 64 bits can count. */
BufferBytes
ValidateImage(const CudaMedianRequest & given)
{
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto     pixelBytes =
    static_cast<std::int64_t>(cudamedian::PixelBytes(static_cast<cudamedian::PixelType>(given.pixelType)));
  std::int64_t pixels = 1;
  std::int64_t windowPixels = 1;
  bool         empty = false;
  for (int axis = 0; axis < 4; ++axis)
  {
    CheckRange<std::int64_t>(
      "The extent along axis " + std::to_string(axis), given.extent[axis], 0, most / pixelBytes / pixels);
    pixels *= std::max<std::int64_t>(1, given.extent[axis]);
    empty = empty || given.extent[axis] == 0;
    ValidateWindow(given, axis, windowPixels);
  }
  ValidateRank(given);
  if (empty)
  {
    return {};
  }
  const bool isPlain = std::all_of(
    std::begin(given.inputStride), std::end(given.inputStride), [](std::int64_t stride) { return stride == 0; });
  const auto plainBytes = static_cast<std::uint64_t>(pixels) * static_cast<std::uint64_t>(pixelBytes);
  const auto outputBytes = ValidateStrides("output", given.extent, given.outputStride, pixelBytes);
  return { isPlain ? plainBytes : ValidateStrides("input", given.extent, given.inputStride, pixelBytes), outputBytes };
}

/** Throws where a buffer does not start at a pixel. */
void
ValidateStarts(const void * inputBuffer, const void * outputBuffer, std::size_t pixelBytes)
{
  const auto input = reinterpret_cast<std::uintptr_t>(inputBuffer);
  const auto output = reinterpret_cast<std::uintptr_t>(outputBuffer);
  if (input == 0 || output == 0)
  {
    throw cudamedian::RequestError("The input or the output buffer is null");
  }
  if (input % pixelBytes != 0 || output % pixelBytes != 0)
  {
    throw cudamedian::RequestError("The input or the output does not start at a multiple of " +
                                   std::to_string(pixelBytes) + " bytes, the size of a pixel");
  }
}

/** The same, and where the output overlaps the input. */
void
ValidateBuffers(const CudaMedianRequest & given, const BufferBytes & bytes)
{
  ValidateStarts(
    given.input, given.output, cudamedian::PixelBytes(static_cast<cudamedian::PixelType>(given.pixelType)));
  const auto input = reinterpret_cast<std::uintptr_t>(given.input);
  const auto output = reinterpret_cast<std::uintptr_t>(given.output);
  if (input < output + bytes.output && output < input + bytes.input)
  {
    throw cudamedian::RequestError("The output overlaps the input");
  }
}

/** Throws where a number is beyond its limits or the caller's structure is of another version. */
void
Validate(const CudaMedianRequest * request)
{
  if (request == nullptr)
  {
    throw cudamedian::RequestError("The request is null");
  }
  const auto & given = *request;
  if (given.bytes != sizeof(CudaMedianRequest))
  {
    throw cudamedian::RequestError("a request of " + std::to_string(given.bytes) + " bytes where this library takes " +
                                   std::to_string(sizeof(CudaMedianRequest)) +
                                   ": the Python files and the library are of different versions");
  }
  CheckRange<std::uint32_t>("pixelType", given.pixelType, 0, static_cast<unsigned>(cudamedian::PixelType::BFloat16));
  CheckRange<std::uint32_t>("backend", given.backend, 0, static_cast<unsigned>(cudamedian::Backend::Cpu));
  CheckRange<std::uint32_t>("algorithm", given.algorithm, 0, static_cast<unsigned>(cudamedian::Algorithm::MergeTiling));
  CheckRange<std::uint32_t>("workUnits", given.workUnits, 0, CudaMedianMostWorkUnits);
  CheckRange<std::uint64_t>(
    "deviceMemoryBudget", given.deviceMemoryBudget, 0, std::numeric_limits<std::int64_t>::max());
  if (!(given.progressSeconds >= 0 && given.progressSeconds <= 3600))
  {
    throw cudamedian::RequestError("progressSeconds is " + std::to_string(given.progressSeconds) +
                                   "; it may be from 0 to 3600");
  }
  CheckRange<std::uint32_t>("evenMedian", given.evenMedian, 0, static_cast<unsigned>(cudamedian::EvenMedian::Lower));
  cudamedian::ValidateRules(given);
  const auto bytes = ValidateImage(given);
  if (bytes.output != 0)
  {
    ValidateBuffers(given, bytes);
  }
}

/** Runs a body that returns a text; writes that, or what went wrong. \returns a CudaMedianStatus. */
template <typename TBody>
int
RunGuarded(TBody && body, char * text, std::size_t textBytes)
{
  try
  {
    WriteText(body(), text, textBytes);
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

struct CudaMedianPrepared
{
  cudamedian::MedianRequest request;
  std::size_t               pixelBytes;
};

int
CudaMedianRun(const CudaMedianRequest * request, char * text, size_t textBytes)
{
  return RunGuarded(
    [request] {
      Validate(request);
      const auto report = cudamedian::RunMedian(ToEngine(*request));
      return request->isQuiet != 0 ? std::string() : ToText(report);
    },
    text,
    textBytes);
}

int
CudaMedianRunOnDevice(const CudaMedianRequest * request, uint64_t stream, char * text, size_t textBytes)
{
  return RunGuarded(
    [request, stream] {
      Validate(request);
      return ToText(cudamedian::RunMedianOnDevice(ToEngine(*request), ToStream(stream)));
    },
    text,
    textBytes);
}

int
CudaMedianPrepareOnDevice(const CudaMedianRequest * request,
                          CudaMedianPrepared **     prepared,
                          char *                    text,
                          size_t                    textBytes)
{
  return RunGuarded(
    [=] {
      Validate(request);
      const auto engine = ToEngine(*request);
      *prepared = new CudaMedianPrepared{ engine, cudamedian::PixelBytes(engine.pixelType) };
      return std::string();
    },
    text,
    textBytes);
}

int
CudaMedianRunPrepared(const CudaMedianPrepared * prepared, const void * input, void * output, uint64_t stream)
{
  return RunGuarded(
    [=] {
      auto request = prepared->request;
      request.input = input;
      request.output = output;
      ValidateStarts(input, output, prepared->pixelBytes);
      cudamedian::RunMedianOnDeviceQuietly(request, ToStream(stream));
      return std::string();
    },
    nullptr,
    0);
}

void
CudaMedianReleasePrepared(CudaMedianPrepared * prepared)
{
  delete prepared;
}

int
CudaMedianOrderStreams(const void * memory, uint64_t first, uint64_t then, char * text, size_t textBytes)
{
  return RunGuarded(
    [=] {
      cudamedian::OrderStreams(memory, ToStream(first), ToStream(then));
      return std::string();
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

void
CudaMedianEndInterpreter(void)
{
  door.Close();
}

void
CudaMedianBeginInterpreter(void)
{
  door.Open();
}
