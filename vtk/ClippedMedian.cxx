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
#include "ClippedMedian.h"
#include "DivideUp.h"
#include "MeanOfTwo.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace cudamedian
{
namespace
{

using Triple = std::array<std::int64_t, 3>;

template <typename T>
constexpr PixelType
GetTypeOf()
{
  if constexpr (std::is_floating_point_v<T>)
  {
    return sizeof(T) == 4 ? PixelType::Float32 : PixelType::Float64;
  }
  else
  {
    constexpr bool isSigned = std::is_signed_v<T>;
    return sizeof(T) == 1   ? (isSigned ? PixelType::Int8 : PixelType::UInt8)
           : sizeof(T) == 2 ? (isSigned ? PixelType::Int16 : PixelType::UInt16)
           : sizeof(T) == 4 ? (isSigned ? PixelType::Int32 : PixelType::UInt32)
                            : (isSigned ? PixelType::Int64 : PixelType::UInt64);
  }
}

template <typename T>
constexpr T
GetLowest()
{
  return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
}

/** NaN orders above infinity: infinity would come before the NaN of the image, and be their median. */
template <typename T>
constexpr T
GetHighest()
{
  return std::is_floating_point_v<T> ? std::numeric_limits<T>::quiet_NaN() : std::numeric_limits<T>::max();
}

/** Room for pixels that are all written before they are read. */
template <typename T>
class PixelBuffer
{
public:
  T *
  Get(std::int64_t pixels)
  {
    if (pixels > m_Size)
    {
      m_Pixels.reset();
      m_Pixels.reset(new T[static_cast<std::size_t>(pixels)]);
      m_Size = pixels;
    }
    return m_Pixels.get();
  }

private:
  std::unique_ptr<T[]> m_Pixels;
  std::int64_t         m_Size{ 0 };
};

/** What is computed at one time: the wanted pixels at one position along an axis, in rows along the others. */
struct Layer
{
  int          axis;
  std::int64_t position; ///< along the axis
  bool         isPair;   ///< both middle values are needed
  ClippedBox   box;      ///< the wanted pixels, in the image's coordinates; one along the axis
};

/** One run over the wanted pixels of an image. */
template <typename T>
class Runner
{
public:
  explicit Runner(const ClippedRequest & request)
    : m_Request(request)
    , m_Input(static_cast<const T *>(request.input))
    , m_Output(static_cast<T *>(request.output))
    , m_Units(std::max(1U, request.workUnits))
    , m_Caller(std::this_thread::get_id())
    , m_Buffers(m_Units)
  {
    for (int axis = 0; axis < 3; ++axis)
    {
      // A window that is larger covers no more of the image.
      const auto half = request.kernel[Index(axis)] / 2;
      const auto most = std::max<std::int64_t>(request.image.size[Index(axis)] - 1, 0);
      m_Radius[Index(axis)] = std::min(half, most);
    }
  }

  ExecutionReport
  Run()
  {
    const ClippedBox & wanted = m_Request.wanted;
    m_Total = wanted.GetVolume();
    if (m_Total == 0)
    {
      return {};
    }
    ExecutionReport report;
    AddLayers();
    const ClippedBox inside = GetInside();
    if (inside.GetVolume() > 0)
    {
      report = RunInside(inside);
    }
    // Layers beside those inside are left when there is nothing inside, or when a device does it.
    for (const std::size_t end : { m_LayersBeside, m_Layers.size() })
    {
      if (m_Next < end && !m_Stopped)
      {
        RunTogether([this, end](unsigned unit) { RunLayers(unit, end); });
      }
    }
    if (m_Failure)
    {
      std::rethrow_exception(m_Failure);
    }
    Tell(1);
    return report;
  }

private:
  static std::size_t
  Index(int axis)
  {
    return static_cast<std::size_t>(axis);
  }

  /** How many pixels of a window at a position along an axis lie outside the image. */
  std::int64_t
  CountOutside(int axis, std::int64_t position) const
  {
    return CountBefore(axis, position) + CountBehind(axis, position);
  }

  std::int64_t
  CountBefore(int axis, std::int64_t position) const
  {
    return std::max<std::int64_t>(m_Request.image.first[Index(axis)] + m_Radius[Index(axis)] - position, 0);
  }

  std::int64_t
  CountBehind(int axis, std::int64_t position) const
  {
    const auto last = m_Request.image.first[Index(axis)] + m_Request.image.size[Index(axis)] - 1;
    return std::max<std::int64_t>(position + m_Radius[Index(axis)] - last, 0);
  }

  /** The wanted pixels whose windows lie inside the image, in whole rows: whole blocks of pixels are stored faster than
   * others, and the layers across the rows come later. Nothing where no window does. */
  ClippedBox
  GetInside() const
  {
    ClippedBox inside;
    const auto firstInside = m_Request.image.first[0] + m_Radius[0];
    const auto endInside = m_Request.image.first[0] + m_Request.image.size[0] - m_Radius[0];
    if (std::max(m_Request.wanted.first[0], firstInside) >=
        std::min(m_Request.wanted.first[0] + m_Request.wanted.size[0], endInside))
    {
      return inside;
    }
    inside.first[0] = m_Request.wanted.first[0];
    inside.size[0] = m_Request.wanted.size[0];
    for (std::size_t axis = 1; axis < 3; ++axis)
    {
      const ClippedBox & image = m_Request.image;
      const ClippedBox & wanted = m_Request.wanted;
      const auto         first = std::max(wanted.first[axis], image.first[axis] + m_Radius[axis]);
      const auto         last =
        std::min(wanted.first[axis] + wanted.size[axis], image.first[axis] + image.size[axis] - m_Radius[axis]);
      inside.first[axis] = first;
      inside.size[axis] = std::max<std::int64_t>(last - first, 0);
    }
    return inside;
  }

  /** Lists the layers of the border, in parts that fit in a second-level cache and are many enough for all units. */
  void
  AddLayers()
  {
    constexpr std::int64_t partBytes = 256 * 1024;
    for (const int axis : { 2, 1, 0 })
    {
      m_LayersBeside = axis == 0 ? m_Layers.size() : 0;
      const ClippedBox & wanted = m_Request.wanted;
      for (auto position = wanted.first[Index(axis)]; position < wanted.first[Index(axis)] + wanted.size[Index(axis)];
           ++position)
      {
        const auto outside = CountOutside(axis, position);
        if (outside == 0)
        {
          // On to the last that reach over the other side.
          const auto last = m_Request.image.first[Index(axis)] + m_Request.image.size[Index(axis)];
          position = std::max(position, std::min(last - m_Radius[Index(axis)], last) - 1);
          continue;
        }
        Layer layer{ axis, position, outside % 2 == 1, wanted };
        layer.box.first[Index(axis)] = position;
        layer.box.size[Index(axis)] = 1;
        const auto [rows, slices] = GetRowAxes(layer);
        (void)rows;
        const auto sliceBytes = static_cast<std::int64_t>(sizeof(T)) *
                                (layer.box.size[Index(rows)] + 2 * m_Radius[Index(rows)]) *
                                (2 * m_Radius[Index(axis)] + 2);
        const auto total = layer.box.size[Index(slices)];
        const auto most = std::clamp<std::int64_t>(partBytes / sliceBytes, 16, 1024);
        const auto parts = std::max<std::int64_t>(1, DivideUp(total, most));
        const auto end = layer.box.first[Index(slices)] + total;
        for (std::int64_t part = 0; part < parts; ++part)
        {
          Layer      cut = layer;
          const auto length = DivideUp(total, parts);
          cut.box.first[Index(slices)] += part * length;
          cut.box.size[Index(slices)] = std::min(length, end - cut.box.first[Index(slices)]);
          if (cut.box.size[Index(slices)] > 0)
          {
            m_Layers.push_back(cut);
          }
        }
      }
    }
  }

  /** The axis that the rows of a layer lie along, and the one that they are numbered along. */
  std::pair<int, int>
  GetRowAxes(const Layer & layer) const
  {
    const int one = layer.axis == 0 ? 1 : 0;
    const int other = layer.axis == 2 ? 1 : 2;
    // Rows of some length are what the engine is fast with, and along the image's rows what memory is.
    constexpr std::int64_t shortRow = 64;
    return layer.box.size[Index(one)] < shortRow && layer.box.size[Index(other)] > layer.box.size[Index(one)]
             ? std::pair(other, one)
             : std::pair(one, other);
  }

  T *
  GetOutput(const Triple & position) const
  {
    const Triple & first = m_Request.wanted.first;
    return m_Output + (position[2] - first[2]) * m_Request.outputSlice +
           (position[1] - first[1]) * m_Request.outputRow + (position[0] - first[0]);
  }

  std::int64_t
  GetOutputStep(int axis) const
  {
    return axis == 0 ? 1 : axis == 1 ? m_Request.outputRow : m_Request.outputSlice;
  }

  const T *
  GetInput(const Triple & position) const
  {
    const Triple & first = m_Request.image.first;
    return m_Input + (position[2] - first[2]) * GetInputStep(2) + (position[1] - first[1]) * GetInputStep(1) +
           (position[0] - first[0]);
  }

  std::int64_t
  GetInputStep(int axis) const
  {
    const Triple & size = m_Request.image.size;
    return axis == 0 ? 1 : axis == 1 ? size[0] : size[0] * size[1];
  }

  /** Tells the caller, in its own thread, how far the work is; what comes late is left out. */
  void
  Tell(double fraction)
  {
    if (m_Request.progress && fraction > m_Told)
    {
      m_Told = fraction;
      m_Request.progress(fraction);
    }
  }

  /** Keeps an exception for the end, and has all units stop. */
  void
  Fail()
  {
    const std::lock_guard<std::mutex> lock(m_Mutex);
    m_Failure = m_Failure ? m_Failure : std::current_exception();
    m_Stopped = true;
  }

  /** Runs body(unit) for all units. */
  void
  RunTogether(const std::function<void(unsigned)> & body)
  {
    if (m_Units == 1 || !m_Request.parallelFor)
    {
      body(0);
      return;
    }
    m_Request.parallelFor(m_Units, [&body](std::size_t unit) { body(static_cast<unsigned>(unit)); });
  }

  /** The engine's own medians. Units that are done with their part of it go on with the border. */
  ExecutionReport
  RunInside(const ClippedBox & box)
  {
    MedianRequest request;
    request.pixelType = GetTypeOf<T>();
    request.backend = m_Request.backend;
    request.deviceMemoryBudget = m_Request.deviceMemoryBudget;
    request.workUnits = m_Units;
    request.parallelFor = [this](std::size_t count, const std::function<void(std::size_t)> & body) {
      const auto both = [&](std::size_t unit) {
        body(unit);
        RunLayers(static_cast<unsigned>(unit), m_LayersBeside);
      };
      if (m_Request.parallelFor)
      {
        m_Request.parallelFor(count, both);
        return;
      }
      for (std::size_t unit = 0; unit < count; ++unit)
      {
        both(unit);
      }
    };
    if (m_Request.progress)
    {
      request.progress = [this,
                          share = static_cast<double>(box.GetVolume()) / static_cast<double>(m_Total)](float done) {
        try
        {
          Tell(share * static_cast<double>(done));
        }
        catch (...)
        {
          m_Stopped = true;
          throw;
        }
      };
    }
    request.input = m_Input;
    for (int axis = 0; axis < 3; ++axis)
    {
      request.inputExtent[Index(axis)] = m_Request.image.size[Index(axis)];
      request.radius[Index(axis)] = m_Radius[Index(axis)];
      request.outputOrigin[Index(axis)] = box.first[Index(axis)] - m_Request.image.first[Index(axis)];
      request.outputExtent[Index(axis)] = box.size[Index(axis)];
    }
    request.inputExtent[3] = request.outputExtent[3] = 1;
    request.output = GetOutput(box.first);
    request.outputStride = { { 1, m_Request.outputRow, m_Request.outputSlice, 0 } };
    return RunMedian(request);
  }

  /** Takes layers up to one of them as long as there are any. */
  void
  RunLayers(unsigned unit, std::size_t end)
  {
    try
    {
      for (auto number = m_Next.load(); number < end && !m_Stopped; number = m_Next)
      {
        if (!m_Next.compare_exchange_weak(number, number + 1))
        {
          continue;
        }
        RunLayer(m_Layers[number], m_Buffers[unit]);
        const auto done = ++m_Done;
        if (std::this_thread::get_id() == m_Caller)
        {
          // The border is last.
          Tell(1 - 0.05 * (1 - static_cast<double>(done) / static_cast<double>(m_Layers.size() + 1)));
        }
      }
    }
    catch (...)
    {
      Fail();
    }
  }

  /** What a unit works in. */
  struct Buffers
  {
    PixelBuffer<T> block;
    PixelBuffer<T> medians;
  };

  /** Which of two values a pixel outside the image has: they alternate along every axis, and from one side of the image
   * to the other, as though there were no image between. */
  bool
  IsOddOutside(int axis, std::int64_t position) const
  {
    const auto inside = position - m_Request.image.first[Index(axis)];
    const auto size = m_Request.image.size[Index(axis)];
    return ((inside >= size ? inside - size : inside) & 1) != 0;
  }

  bool
  IsInside(int axis, std::int64_t position) const
  {
    const auto inside = position - m_Request.image.first[Index(axis)];
    return inside >= 0 && inside < m_Request.image.size[Index(axis)];
  }

  /** Writes a row of a block, which begins at a position and lies along an axis: the image's pixels, and around them
   * two values in turn. A plane of a block may stand for one outside the image. The image's pixels may be left to
   * CopyAcross(). */
  void
  FillRow(T * row, std::int64_t length, int axis, Triple position, bool isOutside, bool isOdd, bool withImage) const
  {
    const T    values[2] = { GetLowest<T>(), GetHighest<T>() };
    const auto begin = m_Request.image.first[Index(axis)];
    const auto start = position[Index(axis)];
    const auto first = isOutside ? length : std::clamp<std::int64_t>(begin - start, 0, length);
    const auto last =
      isOutside ? length : std::clamp<std::int64_t>(begin + m_Request.image.size[Index(axis)] - start, first, length);
    const auto pad = [&](std::int64_t from, std::int64_t to) {
      for (auto x = from; x < to; ++x)
      {
        row[x] = values[IsOddOutside(axis, start + x) != isOdd ? 1 : 0];
      }
    };
    pad(0, first);
    pad(last, length);
    if (first >= last || !withImage)
    {
      return;
    }
    position[Index(axis)] += first;
    const T *  source = GetInput(position);
    const auto step = GetInputStep(axis);
    if (step == 1)
    {
      std::memcpy(row + first, source, static_cast<std::size_t>(last - first) * sizeof(T));
      return;
    }
    for (auto x = first; x < last; ++x)
    {
      row[x] = source[(x - first) * step];
    }
  }

  /** Copies the image's pixels of a row along an axis other than 0, and of the rows behind it in the planes that
   * follow: pixels that lie side by side in the image. */
  void
  CopyAcross(T * row, std::int64_t planeStep, std::int64_t planes, std::int64_t length, int axis, Triple position) const
  {
    const auto begin = m_Request.image.first[Index(axis)];
    const auto start = position[Index(axis)];
    const auto first = std::clamp<std::int64_t>(begin - start, 0, length);
    const auto last = std::clamp<std::int64_t>(begin + m_Request.image.size[Index(axis)] - start, first, length);
    if (first >= last)
    {
      return;
    }
    position[Index(axis)] += first;
    const T *  source = GetInput(position);
    const auto step = GetInputStep(axis);
    for (auto x = first; x < last; ++x, source += step)
    {
      for (std::int64_t plane = 0; plane < planes; ++plane)
      {
        row[plane * planeStep + x] = source[plane];
      }
    }
  }

  /** Finds the medians of a layer.
   *
   * Its block holds the planes of the image that the layer's windows reach along the layer's axis, before and behind
   * them planes of low and high values, and around them rims of such. Of an even number of planes from the image, with
   * a plane more behind or before, two windows that are neighbours hold the same pixels of the image, and of the others
   * one low value more or one high value more: their medians are the two middle values. */
  void
  RunLayer(const Layer & layer, Buffers & buffers) const
  {
    const auto [rowAxis, sliceAxis] = GetRowAxes(layer);
    const auto i = Index(layer.axis);
    const auto before = CountBefore(layer.axis, layer.position);
    const auto behind = CountBehind(layer.axis, layer.position);
    const auto window = 2 * m_Radius[i] + 1;
    const auto planesOfImage = window - before - behind;
    // The plane more lies where others are, so that a window that leaves one behind takes the other.
    const bool isBefore = layer.isPair && before == 0;
    const auto planes = window + (layer.isPair ? 1 : 0);
    const auto firstOfImage = before + (isBefore ? 1 : 0);
    const auto columns = layer.box.size[Index(rowAxis)] + 2 * m_Radius[Index(rowAxis)];
    const auto slices = layer.box.size[Index(sliceAxis)] + 2 * m_Radius[Index(sliceAxis)];
    T *        row = buffers.block.Get(columns * slices * planes);
    // Across the image's rows all planes of a pixel lie side by side: they are read together, not plane by plane.
    const bool isAcross = layer.axis == 0;
    const auto planeStep = columns * slices;
    const auto imagePlane = std::max(layer.position - m_Radius[i], m_Request.image.first[i]);
    for (std::int64_t plane = 0; plane < planes; ++plane)
    {
      const bool isPlaneOutside = plane < firstOfImage || plane >= firstOfImage + planesOfImage;
      Triple     position{};
      position[i] = isPlaneOutside ? m_Request.image.first[i] : imagePlane + plane - firstOfImage;
      // Planes outside alternate as though there were none between; those from the image do by themselves.
      const auto number = plane < firstOfImage + planesOfImage ? plane : plane - planesOfImage;
      const bool isPlaneOdd = ((isPlaneOutside ? number : plane - firstOfImage) & 1) != 0;
      for (std::int64_t slice = 0; slice < slices; ++slice, row += columns)
      {
        position[Index(sliceAxis)] = layer.box.first[Index(sliceAxis)] - m_Radius[Index(sliceAxis)] + slice;
        position[Index(rowAxis)] = layer.box.first[Index(rowAxis)] - m_Radius[Index(rowAxis)];
        const bool isOutside = isPlaneOutside || !IsInside(sliceAxis, position[Index(sliceAxis)]);
        FillRow(row,
                columns,
                rowAxis,
                position,
                isOutside,
                isPlaneOdd != IsOddOutside(sliceAxis, position[Index(sliceAxis)]),
                !isAcross);
        if (isAcross && !isOutside && plane == firstOfImage)
        {
          CopyAcross(row, planeStep, planesOfImage, columns, rowAxis, position);
        }
      }
    }

    MedianRequest request;
    request.pixelType = GetTypeOf<T>();
    request.backend = Backend::Cpu;
    request.input = buffers.block.Get(0);
    request.inputExtent = { { columns, slices, planes, 1 } };
    request.radius = { { m_Radius[Index(rowAxis)], m_Radius[Index(sliceAxis)], m_Radius[i], 0 } };
    request.outputOrigin = request.radius;
    request.outputExtent = {
      { layer.box.size[Index(rowAxis)], layer.box.size[Index(sliceAxis)], layer.isPair ? 2 : 1, 1 }
    };
    const auto volume = request.outputExtent[0] * request.outputExtent[1];
    T * const  medians = buffers.medians.Get(volume * request.outputExtent[2]);
    request.output = medians;
    request.outputStride = { { 1, request.outputExtent[0], volume, 0 } };
    RunMedian(request);
    for (std::int64_t slice = 0; slice < request.outputExtent[1]; ++slice)
    {
      Triple position = layer.box.first;
      position[Index(sliceAxis)] += slice;
      StoreRow(layer,
               rowAxis,
               position,
               request.outputExtent[0],
               medians + slice * request.outputExtent[0],
               medians + (layer.isPair ? volume : 0) + slice * request.outputExtent[0]);
    }
  }

  /** Stores the pixels of a row that are this layer's: of several layers that hold a pixel, the one of the last axis
   * that leaves an even number of planes has it; where there is none, that of the last axis whose window reaches
   * outside. */
  void
  StoreRow(const Layer & layer, int rowAxis, Triple position, std::int64_t length, const T * one, const T * other) const
  {
    const auto isOwner = [&](const Triple & pixel) {
      for (int axis = 2; axis >= 0; --axis)
      {
        const auto outside = axis == layer.axis ? (layer.isPair ? 1 : 2) : CountOutside(axis, pixel[Index(axis)]);
        if (outside % 2 == 1)
        {
          return axis == layer.axis;
        }
      }
      for (int axis = 2; axis > layer.axis; --axis)
      {
        if (CountOutside(axis, pixel[Index(axis)]) > 0)
        {
          return false;
        }
      }
      return true;
    };
    T *        output = GetOutput(position);
    const auto step = GetOutputStep(rowAxis);
    const auto store = [&](std::int64_t x) { output[x * step] = layer.isPair ? GetMean(one[x], other[x]) : one[x]; };
    // Between the border's pixels all are the same in this.
    const auto i = Index(rowAxis);
    const auto start = position[i];
    const auto begin = std::clamp<std::int64_t>(m_Request.image.first[i] + m_Radius[i] - start, 0, length);
    const auto end =
      std::clamp<std::int64_t>(m_Request.image.first[i] + m_Request.image.size[i] - m_Radius[i] - start, begin, length);
    for (std::int64_t x = 0; x < length; ++x)
    {
      if (x == begin && begin < end)
      {
        position[i] = start + x;
        if (isOwner(position))
        {
          if (step == 1 && layer.isPair)
          {
            for (; x < end; ++x)
            {
              output[x] = GetMean(one[x], other[x]);
            }
          }
          for (; x < end; ++x)
          {
            store(x);
          }
        }
        x = end - 1;
        continue;
      }
      position[i] = start + x;
      if (isOwner(position))
      {
        store(x);
      }
    }
  }

  const ClippedRequest &   m_Request;
  const T *                m_Input;
  T *                      m_Output;
  unsigned                 m_Units;
  std::thread::id          m_Caller;
  Triple                   m_Radius{};
  std::int64_t             m_Total{ 0 };
  std::vector<Layer>       m_Layers;
  std::size_t              m_LayersBeside{ 0 }; ///< the first of those that overwrite what is inside
  std::vector<Buffers>     m_Buffers;
  std::atomic<std::size_t> m_Next{ 0 };
  std::atomic<std::size_t> m_Done{ 0 };
  std::atomic<bool>        m_Stopped{ false };
  double                   m_Told{ 0 };
  std::mutex               m_Mutex;
  std::exception_ptr       m_Failure;
};

} // namespace

void
CheckClippedRequest(const ClippedRequest & request)
{
  for (int axis = 0; axis < 3; ++axis)
  {
    const auto i = static_cast<std::size_t>(axis);
    const auto offset = request.wanted.first[i] - request.image.first[i];
    if (request.kernel[i] < 1)
    {
      throw RequestError("A kernel of " + std::to_string(request.kernel[i]) + " pixels along axis " +
                         std::to_string(axis) + " is not possible: the least is 1");
    }
    if (request.wanted.size[i] < 0 || offset < 0 || offset + request.wanted.size[i] > request.image.size[i])
    {
      throw RequestError("The wanted pixels along axis " + std::to_string(axis) + " are not inside the image");
    }
  }
}

ExecutionReport
RunClippedMedian(const ClippedRequest & request)
{
  CheckClippedRequest(request);
  switch (request.type)
  {
    case PixelType::Int8:
      return Runner<std::int8_t>(request).Run();
    case PixelType::UInt8:
      return Runner<std::uint8_t>(request).Run();
    case PixelType::Int16:
      return Runner<std::int16_t>(request).Run();
    case PixelType::UInt16:
      return Runner<std::uint16_t>(request).Run();
    case PixelType::Int32:
      return Runner<std::int32_t>(request).Run();
    case PixelType::UInt32:
      return Runner<std::uint32_t>(request).Run();
    case PixelType::Int64:
      return Runner<std::int64_t>(request).Run();
    case PixelType::UInt64:
      return Runner<std::uint64_t>(request).Run();
    case PixelType::Float32:
      return Runner<float>(request).Run();
    case PixelType::Float64:
      return Runner<double>(request).Run();
    case PixelType::Float16:
    case PixelType::BFloat16:
      break;
  }
  throw std::invalid_argument("VTK has no half floats");
}

} // namespace cudamedian
