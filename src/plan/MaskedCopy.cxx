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
#include "GatheredCopies.h"
#include "HalfFloat.h"
#include "MaskRows.h"
#include "MaskedRequest.h"
#include "MedianAlgorithm.h"
#include "RequestWindow.h"
#include "RowResults.h"
#include "ValidRanks.h"

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
  // What so few ranks' lines bring about is compiled ahead for the CPU, or soon interpreted.
  constexpr std::int64_t fewRanks = 10;
  if (backend == Backend::Cpu && window.footprint == nullptr)
  {
    const auto most = GetRanksOfValid(window, isLower);
    if (most.greatest - most.least < fewRanks)
    {
      return most;
    }
  }
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

Extent
Add(Extent position, const Extent & offset)
{
  for (int axis = 0; axis < Dimension; ++axis)
  {
    position[axis] += offset[axis];
  }
  return position;
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

MaskedCopy::MaskedCopy(const MedianRequest & request, const PixelBox & outputs, Run run, Tell tell, Memory & memory)
  : m_Request(request)
  , m_Outputs(outputs)
  , m_Run(std::move(run))
  , m_Tell(std::move(tell))
  , m_ShareOfMedians(HasDeviations(request) ? 0.5 : 1)
  , m_Window(GetWindow(request))
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_Count(Volume(outputs.extent))
  , m_IsReadInPlace(IsReadAsItIs(request))
  , m_IsDirect(IsWrittenInRows(request) && request.convertRow == nullptr && request.evenMedian != EvenMedian::Mean)
  , m_Gatherer(request)
  , m_Memory(memory)
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

const Pixels *
MaskedCopy::Find()
{
  m_Memory.empty.clear();
  if (HasInvalidPixels(m_Request))
  {
    MarkPixels();
  }
  m_IsReadInPlace = m_IsReadInPlace && m_ValidPart == ValidPart::All;
  if (m_ValidPart != ValidPart::Some && (!m_IsReadInPlace || HasDeviations(m_Request)))
  {
    CopyPixels();
  }
  if (m_ValidPart == ValidPart::None)
  {
    m_Memory.empty.assign(static_cast<std::size_t>(m_Count), 1);
    TryOnePixel();
  }
  else
  {
    FindMedians();
    if (m_Request.outlierRule != OutlierRule::None)
    {
      KeepInliers();
    }
  }
  WriteExceptions();
  return m_IsDirect ? nullptr : &m_Memory.result;
}

void
MaskedCopy::MarkPixels()
{
  ValidRows rows(m_Request, m_Copied, m_Gatherer);
  m_Memory.valid.resize(static_cast<std::size_t>(Volume(m_Copied.extent)));
  std::uint8_t * valid = m_Memory.valid.data();
  ForEachRow(m_Copied.extent, [&](const Extent & row) {
    rows.Find(row, valid);
    valid += m_Copied.extent[0];
  });
  const auto has = [this](int flag) {
    return std::memchr(m_Memory.valid.data(), flag, m_Memory.valid.size()) != nullptr;
  };
  m_ValidPart = !has(0) ? ValidPart::All : has(1) ? ValidPart::Some : ValidPart::None;
}

void
MaskedCopy::CopyPixels()
{
  const auto rows = m_Copied.extent[1] * m_Copied.extent[2] * m_Copied.extent[3];
  m_Memory.copy.resize(static_cast<std::size_t>(Volume(m_Copied.extent)) * m_PixelBytes);
  m_Gatherer.GatherRows(m_Copied, 0, rows, m_Memory.copy.data());
}

void
MaskedCopy::FillAndCount(const std::vector<RanksOfRule> & wanted)
{
  const auto extremes = GetExtremes(m_Request.pixelType);
  const auto width = m_Copied.extent[0];
  // Without ranks all get the key that is never taken, since the least or the greatest value is wanted.
  const bool       isLeast = GetWanted(m_Window) == Wanted::Greatest;
  const PixelFlags same(wanted.empty() ? static_cast<std::size_t>(width) : 0, static_cast<std::uint8_t>(isLeast));
  const bool       isBox = m_Window.footprint == nullptr;
  Turns            turns(m_Copied.extent, GetFilledAxis(m_Window), m_Memory.turns);
  ValidCounts      counts(m_Window, m_Outputs.extent, m_Memory.valid, turns);
  for (const auto & ranks : wanted)
  {
    counts.StartRanks(ranks.isLower, *ranks.found);
  }
  m_Memory.copy.resize(static_cast<std::size_t>(Volume(m_Copied.extent)) * m_PixelBytes);
  m_Memory.empty.resize(static_cast<std::size_t>(m_Count));
  bool           hasEmpty = false;
  char *         copy = m_Memory.copy.data();
  const auto *   valid = m_Memory.valid.data();
  std::uint8_t * empty = m_Memory.empty.data();
  ForEachRow(m_Copied.extent, [&](const Extent & row) {
    if (!wanted.empty())
    {
      turns.PassRow(row, valid);
    }
    const auto * turn = wanted.empty() ? same.data() : turns.GetRow(row);
    const auto   fill = [&](std::int64_t first, std::int64_t count, const void * pixels) {
      GetMaskRows().fill(pixels,
                         m_PixelBytes,
                         valid + first,
                         turn + first,
                         extremes,
                         static_cast<std::size_t>(count),
                         copy + first * static_cast<std::int64_t>(m_PixelBytes),
                         nullptr);
    };
    m_Gatherer.VisitRow(Add(m_Copied.origin, row), width, m_Scratch, fill);
    copy += width * static_cast<std::int64_t>(m_PixelBytes);
    valid += width;
    // The last row of the windows of a row of outputs: what they have in common is in the nearest cache.
    auto output = row;
    for (int axis = 1; axis < Dimension; ++axis)
    {
      output[axis] -= m_Window.GetSize(axis) - 1;
    }
    if (isBox && *std::min_element(output.begin() + 1, output.end()) >= 0)
    {
      hasEmpty = counts.FindEmpty(output, empty) || hasEmpty;
      empty += m_Outputs.extent[0];
      for (const auto & ranks : wanted)
      {
        counts.FindRanks(output, ranks.isLower, *ranks.found);
      }
    }
  });
  if (isBox)
  {
    m_Memory.empty.resize(hasEmpty ? m_Memory.empty.size() : 0);
    return;
  }
  FindEmptyFootprints(m_Window, m_Outputs.extent, m_Memory.valid, m_Memory.empty);
  for (const auto & ranks : wanted)
  {
    FindFootprintRanks(m_Window, m_Outputs.extent, m_Memory.valid, turns, ranks.isLower, *ranks.found);
  }
}

MedianRequest
MaskedCopy::MakeInnerRequest() const
{
  auto request = m_IsReadInPlace ? TakeOutputs(m_Request, m_Outputs) : m_Request;
  request.evenMedian = EvenMedian::Upper;
  request.validity = {};
  request.outlierRule = OutlierRule::None;
  request.outputPixelBytes = m_PixelBytes;
  request.convertRow = nullptr;
  if (!m_IsReadInPlace)
  {
    request.pixelType = GetCopiedType(m_Request.pixelType);
    request.border = {};
    request.shift = {};
    request.inputStride = {};
    request.input = m_Memory.copy.data();
    request.inputExtent = m_Copied.extent;
    request.outputOrigin = m_Request.radius;
    request.outputExtent = m_Outputs.extent;
  }
  return request;
}

MaskedCopy::Target
MaskedCopy::MakeTarget(Pixels & memory) const
{
  memory.resize(static_cast<std::size_t>(m_Count) * m_PixelBytes);
  return { memory.data(), GetPackedStride(m_Outputs.extent) };
}

MaskedCopy::Target
MaskedCopy::GetOutput() const
{
  if (!m_IsDirect)
  {
    return MakeTarget(m_Memory.result);
  }
  const auto part = TakeOutputs(m_Request, m_Outputs);
  return { static_cast<char *>(part.output), part.outputStride };
}

void
MaskedCopy::RunRank(std::int64_t rank, double share, const Target & target)
{
  auto request = MakeInnerRequest();
  request.rank = rank;
  request.output = target.first;
  request.outputStride = target.stride;
  m_Run(request, share * m_ShareOfMedians);
}

void
MaskedCopy::RunRanks(FoundRanks & ranks, bool isLower, double share, const Target & target)
{
  if (ranks.bounds.least == ranks.bounds.greatest)
  {
    return RunRank(ranks.bounds.least, share, target);
  }
  const auto span = WidenSpan(ranks.bounds.least, ranks.bounds.greatest, m_Window, isLower, m_Request.backend);
  Renumber(span.least, CountRankBytes(span.greatest - span.least + 1), ranks);
  auto request = MakeInnerRequest();
  request.rank = span.least;
  request.greatestRank = span.greatest;
  request.rankMap = ranks.bytes.data();
  request.output = target.first;
  request.outputStride = target.stride;
  request.algorithm = GetAlgorithmOfMap(request);
  try
  {
    m_Run(request, share * m_ShareOfMedians);
  }
  catch (const RequestError &)
  {
    // The algorithm covers the window, and not with so many ranks: any other finds the same.
    if (request.algorithm == Algorithm::Automatic)
    {
      throw;
    }
    request.algorithm = Algorithm::Automatic;
    m_Run(request, share * m_ShareOfMedians);
  }
}

void
MaskedCopy::FindMedians()
{
  const auto pixels = m_Window.CountPixels();
  const auto wanted = GetWanted(m_Window);
  const bool isMean = wanted == Wanted::Middle && m_Request.evenMedian == EvenMedian::Mean;
  const bool isLower = wanted == Wanted::Middle && m_Request.evenMedian == EvenMedian::Lower;
  const auto target = GetOutput();
  if (m_ValidPart == ValidPart::All)
  {
    const bool hasTwo = isMean && pixels % 2 == 0;
    const auto rank = wanted != Wanted::Middle ? m_Window.rank : (pixels - (isLower ? 1 : 0)) / 2;
    RunRank(rank, hasTwo ? 0.5 : 1, target);
    if (hasTwo)
    {
      Pixels lower;
      RunRank(rank - 1, 0.5, MakeTarget(lower));
      TakeMeans(m_Request.pixelType, m_Memory.result, lower);
    }
    return;
  }
  if (wanted != Wanted::Middle || pixels == 1)
  {
    FillAndCount({});
    return RunRank(wanted == Wanted::Least ? 0 : pixels - 1, 1, target);
  }
  if (isMean)
  {
    FillAndCount({ { false, &m_Memory.ranks }, { true, &m_Memory.lowerRanks } });
    return FindMeans();
  }
  FillAndCount({ { isLower, &m_Memory.ranks } });
  RunRanks(m_Memory.ranks, isLower, 1, target);
}

void
MaskedCopy::TryOnePixel()
{
  auto one = MakeInnerRequest();
  one.outputExtent = { { 1, 1, 1, 1 } };
  one.rank = m_Window.CountPixels() / 2;
  const auto target = GetOutput();
  one.output = target.first;
  one.outputStride = target.stride;
  m_Run(one, 0);
  m_Tell(1);
}

void
MaskedCopy::FindMeans()
{
  auto & upper = m_Memory.ranks;
  auto & lower = m_Memory.lowerRanks;
  // Where a window has one middle value, it is not rounded.
  PixelFlags isSingle(static_cast<std::size_t>(m_Count));
  for (std::size_t i = 0; i < isSingle.size(); ++i)
  {
    isSingle[i] = upper.Get(i) == lower.Get(i) ? 1 : 0;
  }
  Pixels single;
  Pixels other;
  RunRanks(upper, false, 0.5, MakeTarget(single));
  RunRanks(lower, true, 0.5, MakeTarget(other));
  m_Memory.result = single;
  TakeMeans(m_Request.pixelType, m_Memory.result, other);
  GetMaskRows().replace(
    isSingle.data(), 1, single.data(), false, m_PixelBytes, isSingle.size(), m_Memory.result.data());
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

const void *
MaskedCopy::GetOwnRow(const Extent & row)
{
  return m_Gatherer.GetRow(Add(m_Outputs.origin, row), m_Outputs.extent[0], m_Scratch);
}

void
MaskedCopy::ForEachOutputRow(const std::function<void(const OutputRow & row)> & function)
{
  const auto   target = GetOutput();
  std::int64_t number = 0;
  ForEachRow(m_Outputs.extent, [&](const Extent & row) {
    char *       medians = target.first + GetOffset(row, target.stride) * static_cast<std::int64_t>(m_PixelBytes);
    const auto   place = GetOwnPlace(number);
    const auto * valid = m_ValidPart == ValidPart::All ? nullptr : m_Memory.valid.data() + place;
    function(OutputRow{ number, GetOwnRow(row), place, valid, medians });
    number += m_Outputs.extent[0];
  });
}

void
MaskedCopy::WriteExceptions()
{
  const RowExceptions exceptions(m_Request);
  const bool          hasEmpty = !m_Memory.empty.empty();
  const bool          hasInvalid = m_ValidPart != ValidPart::All && exceptions.HasInvalidOutputs();
  if (!hasEmpty && !hasInvalid)
  {
    return;
  }
  ForEachOutputRow([&](const OutputRow & row) {
    exceptions.Write(hasEmpty ? m_Memory.empty.data() + row.number : nullptr,
                     row.valid,
                     row.own,
                     static_cast<std::size_t>(m_Outputs.extent[0]),
                     row.medians);
  });
}

} // namespace cudamedian
