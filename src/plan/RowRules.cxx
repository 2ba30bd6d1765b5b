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
#include "RowRules.h"

#include "MaskedRequest.h"
#include "PixelValues.h"
#include "RequestWindow.h"
#include "ValidRanks.h"

#include <algorithm>
#include <cstring>

namespace cudamedian
{
namespace
{

/** The least power of two that is not below a number. */
std::int64_t
RoundUpToPower(std::int64_t number)
{
  std::int64_t power = 1;
  while (power < number)
  {
    power *= 2;
  }
  return power;
}

/** Outputs whose values near them are counted together: what is read again and again stays in the nearest cache. */
constexpr std::int64_t stretch = 512;

RankRule
MakeRule(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  const bool isLower = request.evenMedian == EvenMedian::Lower;
  const auto most = GetRanksOfValid(window, isLower);
  return { window.CountPixels() - (isLower ? 1 : 0), most.least, 1 };
}

} // namespace

bool
AreRulesOfRows(const MedianRequest & request)
{
  const auto window = GetWindow(request);
  const bool isMedian = request.footprint == nullptr && window.IsMedian() && window.CountPixels() > 1;
  const bool isStored = IsWrittenInRows(request) && request.convertRow == nullptr;
  const bool hasOneRank = request.evenMedian != EvenMedian::Mean || !GetMaskedRanks(request).isMean;
  const bool isCountedNear =
    HasDeviations(request) && !HasInvalidPixels(request) && window.CountPixels() <= std::int64_t{ mostNear };
  const bool isTold = request.outlierRule != OutlierRule::Deviations || isCountedNear;
  const auto lines = static_cast<std::size_t>(window.CountPixels() / window.GetSize(1) / window.GetSize(0));
  const bool isCounted =
    !HasInvalidPixels(request) ||
    (GetFilledAxis(window) == 1 && CanCountInBytes(static_cast<std::size_t>(window.GetSize(0)), lines));
  return HasRules(request) && isMedian && isStored && hasOneRank && isTold && isCounted;
}

bool
AreRowsMade(const MedianRequest & request)
{
  return HasInvalidPixels(request) || HasDeviations(request) || !IsReadAsItIs(request);
}

RowRules::RowRules(const MedianRequest & request, const QuickBound & quick)
  : m_Request(request)
  , m_Window(GetWindow(request))
  , m_Image(request)
  , m_HasInvalid(HasInvalidPixels(request))
  , m_Further(AreRowsMade(request) ? request.radius : Extent{})
  , m_Extremes(GetExtremes(request.pixelType))
  , m_Rule(MakeRule(request))
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_Exceptions(request)
  , m_Bound(HasDeviations(request) ? DeviationBound(request.outlierThreshold) : DeviationBound())
  , m_Quick(quick)
{
  const auto bytes = HasDeviations(request) ? static_cast<std::size_t>(stretch) * m_PixelBytes : 0;
  for (auto * row : { &m_Firsts, &m_Spans, &m_Near })
  {
    row->resize(bytes);
  }
}

bool
RowRules::HasRows() const
{
  return AreRowsMade(m_Request);
}

std::size_t
RowRules::GetScratchBytes() const
{
  auto bytes = GetBytes(m_Pixels) + GetBytes(m_Valid) + GetBytes(m_Turns) + GetBytes(m_Packed) + GetBytes(m_Firsts) +
               GetBytes(m_Spans) + GetBytes(m_Near) + m_Scratch.capacity();
  for (const auto & row : m_Rows)
  {
    bytes += GetBytes(row.ranks) + GetBytes(row.empty);
  }
  return bytes;
}

void
RowRules::Start(const PixelBox & outputs, const Extent & tile, std::int64_t padding)
{
  PixelBox tiles;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    m_Copied.origin[axis] = outputs.origin[axis] - m_Further[axis] - m_Request.radius[axis] + m_Request.shift[axis];
    tiles.extent[axis] = axis == 0 ? outputs.extent[axis] : RoundUp(outputs.extent[axis], tile[axis]);
  }
  m_Copied.extent = m_Window.GetFootprint(tiles.extent);
  m_Width = outputs.extent[0];
  m_Rows.resize(static_cast<std::size_t>(tile[1] * tile[2] * tile[3]));
  for (auto & row : m_Rows)
  {
    row.ranks.resize(m_HasInvalid ? static_cast<std::size_t>(m_Width + padding) : 0);
    row.empty.resize(m_HasInvalid ? static_cast<std::size_t>(m_Width) : 0);
    row.hasEmpty = false;
  }
  if (!HasRows())
  {
    return;
  }
  const auto footprint = m_Window.GetFootprint(tile);
  m_KeptPlanes = { { 1, 1, RoundUpToPower(footprint[2]), RoundUpToPower(footprint[3]) } };
  const auto planes = m_KeptPlanes[2] * m_KeptPlanes[3];
  // Of one plane what the next tile needs stays in the nearest cache; others are read again for the next slice. Rows
  // and planes take turns in powers of two of places, which takes no division.
  m_Kept.rows = planes == 1 ? RoundUpToPower(footprint[1]) : m_Copied.extent[1];
  m_Kept.turns = planes == 1 ? RoundUpToPower(footprint[1] + 1) : m_Copied.extent[1] + 1;
  m_Kept.rowMask = planes == 1 ? m_Kept.rows - 1 : -1;
  m_Kept.turnMask = planes == 1 ? m_Kept.turns - 1 : -1;
  // Rows begin at cache lines, and do not all want the same places of the nearest cache.
  constexpr std::int64_t line = 64;
  m_Pitch = static_cast<std::size_t>(RoundUp(m_Copied.extent[0] + padding, line));
  m_Pitch += m_Pitch / line % 2 == 0 ? line : 0;
  m_Planes.assign(static_cast<std::size_t>(planes), Plane());
  for (std::size_t i = 0; i < m_Planes.size(); ++i)
  {
    m_Planes[i].firstRow = i * static_cast<std::size_t>(m_Kept.rows);
    m_Planes[i].firstTurns = i * static_cast<std::size_t>(m_Kept.turns);
  }
  const auto rows = m_Planes.size() * static_cast<std::size_t>(m_Kept.rows);
  m_Pixels.resize(rows * m_Pitch * m_PixelBytes);
  if (m_HasInvalid)
  {
    m_Valid.resize(rows * m_Pitch);
    m_Turns.resize(m_Planes.size() * static_cast<std::size_t>(m_Kept.turns) * m_Pitch);
    m_Packed.resize(static_cast<std::size_t>(m_Copied.extent[0]));
    m_ValidRows.emplace(m_Request, m_Copied, m_Image);
  }
}

Extent
RowRules::GetWindowPlace(const Extent & output) const
{
  Extent place;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] =
      output[axis] - m_Further[axis] - m_Request.radius[axis] + m_Request.shift[axis] - m_Copied.origin[axis];
  }
  return place;
}

RowRules::Plane &
RowRules::FindPlane(std::int64_t z, std::int64_t w)
{
  const auto slot = (w & (m_KeptPlanes[3] - 1)) * m_KeptPlanes[2] + (z & (m_KeptPlanes[2] - 1));
  auto &     plane = m_Planes[static_cast<std::size_t>(slot)];
  const auto place = w * m_Copied.extent[2] + z;
  if (plane.place != place)
  {
    plane.place = place;
    plane.loaded = 0;
  }
  return plane;
}

std::size_t
RowRules::GetSlot(const Plane & plane, std::int64_t row) const
{
  return (plane.firstRow + static_cast<std::size_t>(row & m_Kept.rowMask)) * m_Pitch;
}

std::uint8_t *
RowRules::GetTurns(const Plane & plane, std::int64_t row)
{
  return m_Turns.data() + (plane.firstTurns + static_cast<std::size_t>(row & m_Kept.turnMask)) * m_Pitch;
}

const void *
RowRules::GetRow(std::int64_t y, std::int64_t z, std::int64_t w)
{
  Extent place{ { 0, y, z, w } };
  for (int axis = 1; axis < Dimension; ++axis)
  {
    place[axis] += m_Request.shift[axis] - m_Further[axis] - m_Copied.origin[axis];
  }
  auto &     plane = FindPlane(place[2], place[3]);
  const auto row = place[1];
  for (; plane.loaded <= row; ++plane.loaded)
  {
    place[1] = plane.loaded;
    LoadRow(plane, place);
  }
  return m_Pixels.data() + GetSlot(plane, row) * m_PixelBytes;
}

void
RowRules::LoadRow(Plane & plane, const Extent & place)
{
  auto position = m_Copied.origin;
  for (int axis = 1; axis < Dimension; ++axis)
  {
    position[axis] += place[axis];
  }
  const auto      width = m_Copied.extent[0];
  unsigned char * pixels = m_Pixels.data() + GetSlot(plane, place[1]) * m_PixelBytes;
  if (!m_HasInvalid)
  {
    m_Image.GatherRow(position, width, pixels);
    return;
  }
  std::uint8_t * valid = m_Valid.data() + GetSlot(plane, place[1]);
  std::uint8_t * turns = GetTurns(plane, place[1]);
  std::uint8_t * next = GetTurns(plane, place[1] + 1);
  m_ValidRows->Find(place, valid);
  for (std::int64_t x = 0; place[1] == 0 && x < width; ++x)
  {
    turns[x] = ((x + plane.place) & 1) != 0 ? packedTurn : std::uint8_t{ 0 };
  }
  m_Image.VisitRow(position, width, m_Scratch, [&](std::int64_t first, std::int64_t count, const void * from) {
    GetMaskRows().fill(from,
                       m_PixelBytes,
                       valid + first,
                       turns + first,
                       m_Extremes,
                       static_cast<std::size_t>(count),
                       pixels + first * static_cast<std::int64_t>(m_PixelBytes),
                       next + first);
  });
}

const std::uint8_t *
RowRules::FindRanks(const Extent & output, std::size_t number)
{
  auto &     found = m_Rows[number];
  const auto first = GetWindowPlace(output);
  m_WindowFlags.clear();
  m_Before.clear();
  m_Behind.clear();
  for (std::int64_t w = 0; w < m_Window.GetSize(3); ++w)
  {
    for (std::int64_t z = 0; z < m_Window.GetSize(2); ++z)
    {
      const auto & plane = FindPlane(first[2] + z, first[3] + w);
      for (std::int64_t y = 0; y < m_Window.GetSize(1); ++y)
      {
        m_WindowFlags.push_back(m_Valid.data() + GetSlot(plane, first[1] + y));
      }
      m_Before.push_back(GetTurns(plane, first[1]));
      m_Behind.push_back(GetTurns(plane, first[1] + m_Window.GetSize(1)));
    }
  }
  const WindowFlags window{ m_WindowFlags.data(), m_WindowFlags.size(), m_Before.data(),
                            m_Behind.data(),      m_Before.size(),      static_cast<std::size_t>(m_Window.GetSize(0)) };
  found.hasEmpty = GetMaskRows().countInBytes(
    window, m_Rule, static_cast<std::size_t>(m_Width), m_Packed.data(), found.ranks.data(), found.empty.data());
  const bool isEmpty =
    found.hasEmpty && std::memchr(found.empty.data(), 0, static_cast<std::size_t>(m_Width)) == nullptr;
  return isEmpty ? nullptr : found.ranks.data();
}

/** The flags of a row of outputs' own pixels. */
const std::uint8_t *
RowRules::GetOwnFlags(const Extent & output)
{
  auto place = GetWindowPlace(output);
  for (int axis = 0; axis < Dimension; ++axis)
  {
    place[axis] += m_Request.radius[axis] - m_Request.shift[axis];
  }
  const auto & plane = FindPlane(place[2], place[3]);
  return m_Valid.data() + GetSlot(plane, place[1]) + place[0];
}

void
RowRules::Finish(const Extent & output, std::size_t number, void * medians)
{
  const auto & found = m_Rows[number];
  const auto   width = static_cast<std::size_t>(m_Width);
  const bool   hasOutliers = m_Request.outlierRule == OutlierRule::Absolute;
  const void * own = nullptr;
  if (hasOutliers || m_Exceptions.NeedsOwn(found.hasEmpty))
  {
    auto position = output;
    for (int axis = 0; axis < Dimension; ++axis)
    {
      position[axis] -= m_Further[axis];
    }
    own = m_Image.GetRow(position, m_Width, m_Scratch);
  }
  const bool   needsFlags = m_HasInvalid && (hasOutliers || m_Exceptions.HasInvalidOutputs());
  const auto * valid = needsFlags ? GetOwnFlags(output) : nullptr;
  if (hasOutliers)
  {
    KeepNear(m_Request, own, valid, width, medians);
  }
  else if (HasDeviations(m_Request))
  {
    KeepByDeviations(output, medians);
  }
  m_Exceptions.Write(found.hasEmpty ? found.empty.data() : nullptr, valid, own, width, medians);
}

void
RowRules::KeepByDeviations(const Extent & output, void * medians)
{
  const auto & steps = GetMaskRows();
  const auto   first = GetWindowPlace(output);
  const auto   getRow = [this](std::int64_t y, std::int64_t z, std::int64_t w) {
    return m_Pixels.data() + GetSlot(FindPlane(z, w), y) * m_PixelBytes;
  };
  const auto * own = getRow(first[1] + m_Request.radius[1] - m_Request.shift[1],
                            first[2] + m_Request.radius[2] - m_Request.shift[2],
                            first[3] + m_Request.radius[3] - m_Request.shift[3]) +
                     static_cast<std::size_t>(m_Request.radius[0] - m_Request.shift[0]) * m_PixelBytes;
  m_Values.clear();
  ForEachRow(m_Window.GetExtent(), [&](const Extent & line) {
    const auto * row = getRow(first[1] + line[1], first[2] + line[2], first[3] + line[3]);
    for (std::int64_t column = 0; column < m_Window.GetSize(0); ++column)
    {
      m_Values.push_back(row + static_cast<std::size_t>(column) * m_PixelBytes);
    }
  });
  DispatchPixel(m_Request.pixelType, [&](auto pixel) {
    const auto kind = GetValueKind<decltype(pixel)>();
    for (std::int64_t x = 0; x < m_Width; x += stretch)
    {
      const auto count = static_cast<std::size_t>(std::min(stretch, m_Width - x));
      const auto offset = static_cast<std::size_t>(x) * m_PixelBytes;
      auto *     found = static_cast<unsigned char *>(medians) + offset;
      steps.findNear(kind, own + offset, found, m_Bound, m_Quick, count, m_Firsts.data(), m_Spans.data());
      std::fill_n(m_Near.data(), count * m_PixelBytes, std::uint8_t{ 0 });
      steps.countNear(
        kind, { m_Values.data(), nullptr, m_Values.size() }, m_Firsts.data(), m_Spans.data(), count, m_Near.data());
      steps.keepInliers(kind, own + offset, m_Near.data(), m_Values.size() / 2, count, found);
      for (auto & values : m_Values)
      {
        values = static_cast<const unsigned char *>(values) + static_cast<std::size_t>(stretch) * m_PixelBytes;
      }
    }
  });
}

} // namespace cudamedian
