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
#include "RowResults.h"

#include "MaskRows.h"
#include "PixelArithmetic.h"
#include "PixelValues.h"

#include <cstring>
#include <type_traits>

namespace cudamedian
{
namespace
{

void
KeepNearHalves(PixelType            type,
               const std::int16_t * own,
               const std::uint8_t * valid,
               float                most,
               std::size_t          count,
               std::int16_t *       medians)
{
  const auto getValue = [type](std::int16_t copied) { return static_cast<float>(GetCopiedHalf(type, copied)); };
  for (std::size_t x = 0; x < count; ++x)
  {
    const bool isKept = (valid == nullptr || valid[x] != 0) && IsNear(getValue(own[x]), getValue(medians[x]), most);
    medians[x] = isKept ? own[x] : medians[x];
  }
}

/** A value that the request gives, as a pixel's bytes. */
std::array<unsigned char, 8>
ReadPixelBytes(PixelType type, const std::array<unsigned char, 8> & given)
{
  std::array<unsigned char, 8> bytes{};
  DispatchPixel(type, [&](auto pixel) {
    pixel = ReadValue<decltype(pixel)>(type, given);
    std::memcpy(bytes.data(), &pixel, sizeof(pixel));
  });
  return bytes;
}

} // namespace

void
KeepNear(const MedianRequest & request, const void * own, const std::uint8_t * valid, std::size_t count, void * medians)
{
  const auto type = request.pixelType;
  DispatchPixel(type, [&](auto pixel) {
    using T = decltype(pixel);
    using Real = Number<Distance<T>>;
    if constexpr (std::is_same_v<T, std::int16_t>)
    {
      if (IsHalfFloat(type))
      {
        const auto most = RoundDown<float>(request.outlierThreshold);
        return KeepNearHalves(type, static_cast<const T *>(own), valid, most, count, static_cast<T *>(medians));
      }
    }
    const auto most = RoundDown<Distance<T>>(static_cast<Real>(request.outlierThreshold));
    GetMaskRows().keepNear(GetValueKind<T>(), own, valid, &most, count, medians);
  });
}

RowExceptions::RowExceptions(const MedianRequest & request)
  : m_Request(request)
  , m_PixelBytes(PixelBytes(request.pixelType))
  , m_EmptyValue(ReadPixelBytes(request.pixelType, request.validity.emptyValue))
  , m_InvalidValue(ReadPixelBytes(request.pixelType, request.validity.invalidValue))
{}

bool
RowExceptions::HasInvalidOutputs() const
{
  return m_Request.validity.invalidOutput != InvalidOutput::Computed;
}

bool
RowExceptions::NeedsOwn(bool hasEmpty) const
{
  return (hasEmpty && m_Request.validity.emptyWindow == EmptyWindow::Input) ||
         m_Request.validity.invalidOutput == InvalidOutput::Copied;
}

void
RowExceptions::Write(const std::uint8_t * empty,
                     const std::uint8_t * valid,
                     const void *         own,
                     std::size_t          count,
                     void *               row) const
{
  const auto & rules = m_Request.validity;
  const auto & steps = GetMaskRows();
  if (empty != nullptr)
  {
    const bool isOne = rules.emptyWindow != EmptyWindow::Input;
    steps.replace(empty, 1, isOne ? m_EmptyValue.data() : own, isOne, m_PixelBytes, count, row);
  }
  if (valid != nullptr && HasInvalidOutputs())
  {
    const bool isOne = rules.invalidOutput != InvalidOutput::Copied;
    steps.replace(valid, 0, isOne ? m_InvalidValue.data() : own, isOne, m_PixelBytes, count, row);
  }
}

} // namespace cudamedian
