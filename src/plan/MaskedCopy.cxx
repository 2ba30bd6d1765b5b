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

#include "Clamp.h"
#include "MedianAlgorithm.h"
#include "PixelValues.h"
#include "RequestWindow.h"
#include "ValidPixels.h"
#include "ValidRanks.h"
#include "WindowSums.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace cudamedian
{
namespace
{

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
  RankSpan span{ Clamp(middle - half, pixels - 1), Clamp(middle + half, pixels - 1) };
  if (window.footprint == nullptr)
  {
    const auto most = GetRanksOfValid(window, isLower);
    span.least = std::max(span.least, most.least);
    span.greatest = std::min(span.greatest, most.greatest);
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

MaskedCopy::MaskedCopy(const MedianRequest & request, const PixelBox & outputs, Run run)
  : m_Request(request)
  , m_Outputs(outputs)
  , m_Run(std::move(run))
  , m_Window(GetWindow(request))
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_Count(Volume(outputs.extent))
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
  m_Valid = FindValidPixels(m_Request, m_Copied, m_Input);
  m_IsAllValid = std::find(m_Valid.begin(), m_Valid.end(), 0) == m_Valid.end();
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
  const auto rows = m_Copied.extent[1] * m_Copied.extent[2] * m_Copied.extent[3];
  Gatherer(m_Request).GatherRows(m_Copied, 0, rows, m_Input.data());
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
  // In numbers as short as the ranks, several of which are in a vector.
  auto least = ranks.front();
  auto greatest = ranks.front();
  for (const auto rank : ranks)
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
  std::vector<std::int32_t> ranks(balance.size());
  std::transform(balance.begin(), balance.end(), ranks.begin(), [=](std::int32_t sum) {
    return GetRankOfValid(pixels, sum, isLower);
  });
  return ranks;
}

Pixels
MaskedCopy::FindMedians()
{
  const auto   pixels = m_Window.CountPixels();
  const auto   wanted = GetWanted(m_Window);
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
    m_Filled = m_Input;
    m_Colour = FillInvalidPixels(m_Request, m_Copied.extent, m_Valid, m_Filled);
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
