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
#include "MaskedCopy.h"

#include "MedianAlgorithm.h"
#include "PixelFormat.h"
#include "PixelValues.h"
#include "RequestWindow.h"
#include "WindowSums.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

namespace cudamedian
{
namespace
{

/** What is wanted of the valid pixels. */
enum class Wanted
{
  Middle,
  Least,
  Greatest
};

Wanted
GetWanted(const MedianRequest & request)
{
  // Of two pixels the rank of the greatest is the median's too, and may be asked for with the mean of both.
  const auto window = GetWindow(request);
  return window.IsMedian() ? Wanted::Middle : window.rank == 0 ? Wanted::Least : Wanted::Greatest;
}

/** The unsigned integers of so many bytes. */
PixelType
GetMaskType(std::size_t bytes)
{
  return bytes == 1   ? PixelType::UInt8
         : bytes == 2 ? PixelType::UInt16
         : bytes == 4 ? PixelType::UInt32
                      : PixelType::UInt64;
}

std::int64_t
CountRows(const Extent & extent)
{
  return extent[1] * extent[2] * extent[3];
}

/** A value that the request gives, as copies have it. */
template <typename T>
T
ReadValue(PixelType type, const std::array<unsigned char, 8> & bytes)
{
  T value;
  std::memcpy(&value, bytes.data(), sizeof(value));
  if constexpr (std::is_same_v<T, std::int16_t>)
  {
    value = IsHalfFloat(type) ? static_cast<T>(EncodeHalfFloat(type, static_cast<std::uint16_t>(value))) : value;
  }
  return value;
}

/** Whether two values are the same: of floats -0 and +0 are, and every two NaN. */
template <typename T>
bool
AreSame(PixelType type, T a, T b)
{
  if constexpr (std::is_floating_point_v<T>)
  {
    return a == b || (std::isnan(a) && std::isnan(b));
  }
  else
  {
    if constexpr (std::is_same_v<T, std::int16_t>)
    {
      if (IsHalfFloat(type))
      {
        return AreSame(type, GetCopiedHalf(type, a), GetCopiedHalf(type, b));
      }
    }
    return a == b;
  }
}

/** The pixel in copies with the least key of all, or the greatest. */
template <typename T>
T
GetExtreme(PixelType copiedType, bool isGreatest)
{
  std::array<unsigned char, 8> bytes{};
  DispatchKeys(GetKeyFormat(copiedType), [&](auto keys) {
    using Key = decltype(keys);
    using Bits = typename Key::Bits;
    const auto key = isGreatest ? static_cast<Bits>(~Bits{ 0 }) : Bits{ 0 };
    const Bits bits = Key::ToBits(key, static_cast<Bits>(GetSignMask(copiedType)));
    std::memcpy(bytes.data(), &bits, sizeof(bits));
  });
  T pixel;
  std::memcpy(&pixel, bytes.data(), sizeof(pixel));
  return pixel;
}

/** A stretch of ranks. */
struct RankSpan
{
  std::int64_t least;
  std::int64_t greatest;
};

/** The axis along which pixels that are not valid get least and greatest keys in turn: the window's longest, since then
 * there are the fewest lines in a window, each of which may be out of balance by one. Of axes alike it is not that of
 * rows, whose pixels then take vectors. */
int
GetFilledAxis(const Window & window)
{
  int longest = 0;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    const bool isLonger =
      longest == 0 ? window.GetSize(axis) >= window.GetSize(longest) : window.GetSize(axis) > window.GetSize(longest);
    longest = isLonger && window.GetSize(axis) > 1 ? axis : longest;
  }
  return longest;
}

/** The stretch that holds two ranks, of few widths: one program of all its ranks then serves many copies. On a device
 * there are fewer, since a program is compiled there.
 * \param isLower whether the lower ones of two middle values have these ranks. */
RankSpan
WidenSpan(std::int64_t least, std::int64_t greatest, const Window & window, bool isLower, Backend backend)
{
  const auto   pixels = window.CountPixels();
  const auto   middle = pixels / 2;
  std::int64_t half = 1;
  while (middle - half > least || middle + half < greatest)
  {
    half *= backend == Backend::Cpu ? 2 : 4;
  }
  RankSpan span{ std::max<std::int64_t>(0, middle - half), std::min(pixels - 1, middle + half) };
  if (window.footprint == nullptr)
  {
    // No more ranks than a box can have: each of its lines is out of balance by at most one.
    const auto lines = pixels / window.GetSize(GetFilledAxis(window));
    const auto first = isLower ? pixels - 1 : pixels;
    span.least = std::max(span.least, (first - lines) / 2);
    span.greatest = std::min(span.greatest, (first + lines) / 2);
  }
  return span;
}

/** The algorithm that was asked for, where it covers maps of ranks. On the CPU those that do are chosen among. */
Algorithm
GetAlgorithmOfMap(const MedianRequest & request)
{
  const auto & algorithms = GetMedianAlgorithms();
  const bool   covers = std::any_of(algorithms.begin(), algorithms.end(), [&](const auto * algorithm) {
    return algorithm->GetAlgorithm() == request.algorithm && algorithm->CoversRankMaps(Backend::Cuda);
  });
  return covers && request.backend != Backend::Cpu ? request.algorithm : Algorithm::Automatic;
}

} // namespace

bool
HasInvalidPixels(const MedianRequest & request)
{
  return request.validity.HasRules() || HasShrunkBorder(request);
}

bool
HasRules(const MedianRequest & request)
{
  return request.validity.HasRules() || request.outlierRule != OutlierRule::None ||
         (request.footprint != nullptr && HasShrunkBorder(request));
}

std::string
DescribeValidity(const MedianRequest & request)
{
  std::string text;
  const auto  add = [&text](bool isSo, const char * words) {
    text += isSo ? (text.empty() ? "" : ", ") + std::string(words) : std::string();
  };
  add(request.validity.mask != nullptr, "those of a mask");
  add(request.validity.hasIgnoredValue, "those without an ignored value");
  add(request.validity.omitsNaN, "those that are not NaN");
  text = text.empty() ? "all pixels" : text;
  add(request.outlierRule == OutlierRule::Absolute, "outliers beyond a distance replaced");
  add(request.outlierRule == OutlierRule::Deviations, "outliers beyond deviations replaced");
  return text;
}

MaskedCopy::MaskedCopy(const MedianRequest & request, const PixelBox & outputs, Run run)
  : m_Request(request), m_Outputs(outputs), m_Run(std::move(run)), m_Window(GetWindow(request)),
    m_PixelBytes(PixelBytes(request.pixelType)), m_Count(Volume(outputs.extent))
{
  constexpr double most = 1e10;
  double           pixels = 1;
  m_Copied.extent = m_Window.GetFootprint(outputs.extent);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    m_Copied.origin[axis] = outputs.origin[axis] + request.shift[axis] - request.radius[axis];
    pixels *= static_cast<double>(m_Copied.extent[axis]);
  }
  if (m_Window.CountPixels() > std::numeric_limits<std::int32_t>::max())
  {
    throw RequestError("Windows some of whose pixels are not valid, or for outliers, have at most " +
                       std::to_string(std::numeric_limits<std::int32_t>::max()) + " values; these have " +
                       std::to_string(m_Window.CountPixels()));
  }
  if (pixels > most)
  {
    throw RequestError("Windows of " + std::to_string(m_Window.CountBoxPixels()) +
                       " pixels of which some are not valid need a copy of " + std::to_string(pixels) +
                       " pixels; it may have at most " + std::to_string(most));
  }
}

Pixels
MaskedCopy::Find()
{
  ReadPixels();
  ReadValidity();
  auto result = FindMedians();
  if (m_Request.outlierRule != OutlierRule::None)
  {
    KeepInliers(result);
  }
  WriteExceptions(result);
  return result;
}

void
MaskedCopy::ReadPixels()
{
  m_Input.resize(static_cast<std::size_t>(Volume(m_Copied.extent)) * m_PixelBytes);
  Gatherer(m_Request).GatherRows(m_Copied, 0, CountRows(m_Copied.extent), m_Input.data());
}

void
MaskedCopy::ReadValidity()
{
  const auto & rules = m_Request.validity;
  m_Valid.assign(static_cast<std::size_t>(Volume(m_Copied.extent)), 1);
  if (rules.mask != nullptr)
  {
    auto mask = m_Request;
    mask.pixelType = GetMaskType(rules.maskPixelBytes);
    mask.input = rules.mask;
    mask.inputStride = rules.maskStride;
    mask.borderValue.fill(0xFF); // a constant is valid
    Pixels bytes(m_Valid.size() * rules.maskPixelBytes);
    Gatherer(mask).GatherRows(m_Copied, 0, CountRows(m_Copied.extent), bytes.data());
    DispatchPixel(mask.pixelType, [&](auto pixel) {
      const auto * pixels = reinterpret_cast<const decltype(pixel) *>(bytes.data());
      std::transform(pixels, pixels + m_Valid.size(), m_Valid.begin(), [](auto value) { return value != 0 ? 1 : 0; });
    });
  }
  for (std::int64_t row = 0; HasShrunkBorder(m_Request) && row < CountRows(m_Copied.extent); ++row)
  {
    auto rest = row;
    bool isBeyond = false;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      const auto place = m_Copied.origin[axis] + rest % m_Copied.extent[axis];
      isBeyond = isBeyond || place < 0 || place >= m_Request.inputExtent[axis];
      rest /= m_Copied.extent[axis];
    }
    auto * valid = m_Valid.data() + row * m_Copied.extent[0];
    for (std::int64_t x = 0; x < m_Copied.extent[0]; ++x)
    {
      const auto place = m_Copied.origin[0] + x;
      valid[x] = isBeyond || place < 0 || place >= m_Request.inputExtent[0] ? 0 : valid[x];
    }
  }
  IgnoreValues();
  m_IsAllValid = std::find(m_Valid.begin(), m_Valid.end(), 0) == m_Valid.end();
}

void
MaskedCopy::IgnoreValues()
{
  const auto & rules = m_Request.validity;
  const auto   type = m_Request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    const auto * pixels = reinterpret_cast<const T *>(m_Input.data());
    const auto   ignored = ReadValue<T>(type, rules.ignoredValue);
    const auto   nan = [&] {
      if constexpr (std::is_same_v<T, std::int16_t>)
      {
        return static_cast<T>(EncodeHalfFloat(type, 0x7FFF));
      }
      else
      {
        return std::numeric_limits<T>::quiet_NaN();
      }
    }();
    const bool hasNaN = rules.omitsNaN && (IsHalfFloat(type) || std::is_floating_point_v<T>);
    for (std::size_t i = 0; (rules.hasIgnoredValue || hasNaN) && i < m_Valid.size(); ++i)
    {
      const bool isIgnored = rules.hasIgnoredValue && AreSame(type, pixels[i], ignored);
      const bool isNaN = hasNaN && AreSame(type, pixels[i], nan);
      m_Valid[i] = isIgnored || isNaN ? 0 : m_Valid[i];
    }
  });
}

void
MaskedCopy::FillInvalid()
{
  const auto wanted = GetWanted(m_Request);
  m_Filled = m_Input;
  m_Colour.assign(m_Valid.size(), 0);
  const int longest = GetFilledAxis(m_Window);
  auto      lines = m_Copied.extent;
  lines[longest] = 1;
  std::vector<std::int8_t> next(static_cast<std::size_t>(Volume(lines)));
  DispatchPixel(GetCopiedType(m_Request.pixelType), [&](auto pixel) {
    using T = decltype(pixel);
    auto *     pixels = reinterpret_cast<T *>(m_Filled.data());
    const auto least = GetExtreme<T>(GetCopiedType(m_Request.pixelType), false);
    const auto greatest = GetExtreme<T>(GetCopiedType(m_Request.pixelType), true);
    const auto width = m_Copied.extent[0];
    for (std::int64_t row = 0; row < CountRows(m_Copied.extent); ++row)
    {
      std::int64_t line = 0;
      std::int64_t sum = 0;
      Extent       place{};
      auto         rest = row;
      for (int axis = 1; axis < Dimension; ++axis)
      {
        place[axis] = rest % m_Copied.extent[axis];
        sum += place[axis];
        rest /= m_Copied.extent[axis];
      }
      for (int axis = Dimension - 1; axis >= 0; --axis)
      {
        line = axis == longest ? line : line * lines[axis] + place[axis];
      }
      for (std::int64_t x = 0; place[longest] == 0 && x < (longest == 0 ? 1 : width); ++x)
      {
        next[line + x] = (sum + x) % 2 == 0 ? 1 : -1;
      }
      const auto * valid = m_Valid.data() + row * width;
      auto *       colour = m_Colour.data() + row * width;
      auto *       filled = pixels + row * width;
      if (longest == 0)
      {
        for (std::int64_t x = 0; x < width; ++x)
        {
          colour[x] = valid[x] != 0 ? std::int8_t{ 0 } : next[line];
          next[line] = static_cast<std::int8_t>(valid[x] != 0 ? next[line] : -next[line]);
        }
      }
      else
      {
        auto * nextOfColumn = next.data() + line;
        for (std::int64_t x = 0; x < width; ++x)
        {
          colour[x] = static_cast<std::int8_t>(nextOfColumn[x] & (valid[x] - 1));
          nextOfColumn[x] = static_cast<std::int8_t>(nextOfColumn[x] - 2 * colour[x]);
        }
      }
      if (wanted != Wanted::Middle)
      {
        const std::int8_t all = wanted == Wanted::Least ? -1 : 1;
        std::transform(
          valid, valid + width, colour, [all](std::int8_t isValid) { return isValid != 0 ? std::int8_t{ 0 } : all; });
      }
      for (std::int64_t x = 0; x < width; ++x)
      {
        const T filling = colour[x] < 0 ? greatest : least;
        filled[x] = colour[x] != 0 ? filling : filled[x];
      }
    }
  });
}

MedianRequest
MaskedCopy::MakeInnerRequest() const
{
  auto request = m_Request;
  request.pixelType = GetCopiedType(m_Request.pixelType);
  request.border = {};
  request.shift = {};
  request.inputStride = {};
  request.evenMedian = EvenMedian::Upper;
  request.validity = {};
  request.outlierRule = OutlierRule::None;
  request.input = m_IsAllValid ? m_Input.data() : m_Filled.data();
  request.inputExtent = m_Copied.extent;
  request.outputOrigin = m_Request.radius;
  request.outputExtent = m_Outputs.extent;
  request.outputStride = GetPackedStride(m_Outputs.extent);
  request.outputPixelBytes = m_PixelBytes;
  request.convertRow = nullptr;
  return request;
}

Pixels
MaskedCopy::RunRank(std::int64_t rank, double share)
{
  Pixels result(static_cast<std::size_t>(m_Count) * m_PixelBytes);
  auto   request = MakeInnerRequest();
  request.rank = rank;
  request.output = result.data();
  m_Run(request, share);
  return result;
}

Pixels
MaskedCopy::RunRanks(const std::vector<std::int32_t> & ranks, bool isLower, double share)
{
  std::int64_t least = ranks.front();
  std::int64_t greatest = ranks.front();
  for (const std::int64_t rank : ranks)
  {
    least = std::min(least, rank);
    greatest = std::max(greatest, rank);
  }
  if (least == greatest)
  {
    return RunRank(least, share);
  }
  const auto span = WidenSpan(least, greatest, m_Window, isLower, m_Request.backend);
  Pixels     result(static_cast<std::size_t>(m_Count) * m_PixelBytes);
  auto       request = MakeInnerRequest();
  request.rank = span.least;
  request.greatestRank = span.greatest;
  request.rankMap = ranks.data();
  request.output = result.data();
  request.algorithm = GetAlgorithmOfMap(request);
  try
  {
    m_Run(request, share);
  }
  catch (const RequestError &)
  {
    // The algorithm covers the window, and not with so many ranks: any other finds the same.
    if (request.algorithm == Algorithm::Automatic)
    {
      throw;
    }
    request.algorithm = Algorithm::Automatic;
    m_Run(request, share);
  }
  return result;
}

std::vector<std::int32_t>
MaskedCopy::FindRanks(const std::vector<std::int32_t> & balance, bool isLower) const
{
  const auto                pixels = static_cast<std::int32_t>(m_Window.CountPixels());
  const auto                first = isLower ? pixels - 1 : pixels;
  std::vector<std::int32_t> ranks(balance.size());
  // Without a valid pixel there is no rank, and any does as well.
  std::transform(balance.begin(), balance.end(), ranks.begin(), [=](std::int32_t sum) {
    return std::min(std::max((first + sum) >> 1, 0), pixels - 1);
  });
  return ranks;
}

Pixels
MaskedCopy::FindMedians()
{
  const auto   pixels = m_Window.CountPixels();
  const auto   wanted = GetWanted(m_Request);
  const double whole = m_Request.outlierRule == OutlierRule::Deviations ? 0.5 : 1;
  const bool   isMean = wanted == Wanted::Middle && m_Request.evenMedian == EvenMedian::Mean;
  const bool   isLower = wanted == Wanted::Middle && m_Request.evenMedian == EvenMedian::Lower;
  if (m_IsAllValid && wanted != Wanted::Middle)
  {
    return RunRank(m_Window.rank, whole);
  }
  std::vector<std::int32_t> balance(static_cast<std::size_t>(m_Count), 0);
  if (!m_IsAllValid)
  {
    FillInvalid();
    balance = SumWindows(m_Colour, m_Window, m_Outputs.extent);
    m_ValidCount = SumWindows(m_Valid, m_Window, m_Outputs.extent);
  }
  if (wanted != Wanted::Middle)
  {
    return RunRank(wanted == Wanted::Least ? 0 : pixels - 1, whole);
  }
  if (!isMean)
  {
    return RunRanks(FindRanks(balance, isLower), isLower, whole);
  }
  const auto upper = FindRanks(balance, false);
  const auto lower = FindRanks(balance, true);
  auto       result = RunRanks(upper, false, whole / 2);
  const auto single = result;
  const auto other = RunRanks(lower, true, whole / 2);
  TakeMeans(m_Request.pixelType, result, other);
  for (std::size_t i = 0; i < upper.size(); ++i)
  {
    if (upper[i] == lower[i])
    {
      std::memcpy(result.data() + i * m_PixelBytes, single.data() + i * m_PixelBytes, m_PixelBytes);
    }
  }
  return result;
}

std::int64_t
MaskedCopy::GetOwnPlace(std::int64_t output) const
{
  std::int64_t place = 0;
  std::int64_t stride = 1;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place += (output % m_Outputs.extent[axis] + m_Request.radius[axis] - m_Request.shift[axis]) * stride;
    output /= m_Outputs.extent[axis];
    stride *= m_Copied.extent[axis];
  }
  return place;
}

void
MaskedCopy::WriteExceptions(Pixels & result) const
{
  if (m_IsAllValid)
  {
    return;
  }
  const auto & rules = m_Request.validity;
  const auto   type = m_Request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    const auto * input = reinterpret_cast<const T *>(m_Input.data());
    auto *       output = reinterpret_cast<T *>(result.data());
    const auto   emptyValue = ReadValue<T>(type, rules.emptyValue);
    const auto   invalidValue = ReadValue<T>(type, rules.invalidValue);
    const auto   width = m_Outputs.extent[0];
    const bool   isEmptyCopied = rules.emptyWindow == EmptyWindow::Input;
    const bool   isInvalidCopied = rules.invalidOutput == InvalidOutput::Copied;
    for (std::int64_t row = 0; row < m_Count; row += width)
    {
      const auto   own = GetOwnPlace(row);
      const auto * from = input + own;
      const auto * count = m_ValidCount.data() + row;
      auto *       to = output + row;
      for (std::int64_t x = 0; x < width; ++x)
      {
        const T empty = isEmptyCopied ? from[x] : emptyValue;
        to[x] = count[x] == 0 ? empty : to[x];
      }
      const auto * valid = m_Valid.data() + own;
      for (std::int64_t x = 0; rules.invalidOutput != InvalidOutput::Computed && x < width; ++x)
      {
        const T invalid = isInvalidCopied ? from[x] : invalidValue;
        to[x] = valid[x] == 0 ? invalid : to[x];
      }
    }
  });
}

} // namespace cudamedian
