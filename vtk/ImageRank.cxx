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
#include "ImageRank.h"
#include "MeanOfTwo.h"

#include "vtkDataArray.h"
#include "vtkDataSetAttributes.h"
#include "vtkUnsignedCharArray.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace cudamedian
{
namespace
{

using ValueBytes = std::array<unsigned char, 8>;

/** The bytes of a value in points of a type. \throws std::invalid_argument where they cannot hold it */
template <typename T>
ValueBytes
ToBytes(const char * what, double number)
{
  bool isRight = true;
  if constexpr (std::is_integral_v<T>)
  {
    // Powers of two, which a double holds, unlike the greatest value of 64 bits.
    const double end = std::ldexp(1.0, std::numeric_limits<T>::digits);
    isRight = number >= (std::is_signed_v<T> ? -end : 0) && number < end && std::floor(number) == number;
  }
  else
  {
    isRight = !std::isfinite(number) || std::abs(number) <= static_cast<double>(std::numeric_limits<T>::max());
  }
  if (!isRight)
  {
    std::ostringstream text;
    text << "The " << what << " is " << number << ", which the image's points cannot hold";
    throw std::invalid_argument(text.str());
  }
  const T    value = static_cast<T>(number);
  ValueBytes bytes{};
  std::memcpy(bytes.data(), &value, sizeof(value));
  return bytes;
}

ValueBytes
ToBytes(PixelType type, const char * what, double number)
{
  switch (type)
  {
    case PixelType::Int8:
      return ToBytes<std::int8_t>(what, number);
    case PixelType::UInt8:
      return ToBytes<std::uint8_t>(what, number);
    case PixelType::Int16:
      return ToBytes<std::int16_t>(what, number);
    case PixelType::UInt16:
      return ToBytes<std::uint16_t>(what, number);
    case PixelType::Int32:
      return ToBytes<std::int32_t>(what, number);
    case PixelType::UInt32:
      return ToBytes<std::uint32_t>(what, number);
    case PixelType::Int64:
      return ToBytes<std::int64_t>(what, number);
    case PixelType::UInt64:
      return ToBytes<std::uint64_t>(what, number);
    case PixelType::Float32:
      return ToBytes<float>(what, number);
    case PixelType::Float64:
      return ToBytes<double>(what, number);
    case PixelType::Float16:
    case PixelType::BFloat16:
      break;
  }
  throw std::invalid_argument("VTK has no half floats");
}

/** \throws std::invalid_argument where an array is no mask of an image with so many points. */
void
CheckMask(vtkDataArray & mask, vtkIdType points)
{
  std::ostringstream text;
  text << "The mask '" << (mask.GetName() != nullptr ? mask.GetName() : "") << "' has ";
  if (mask.GetDataType() == VTK_FLOAT || mask.GetDataType() == VTK_DOUBLE || mask.GetDataType() == VTK_BIT)
  {
    text << "values of type " << mask.GetDataTypeAsString() << "; it takes integers of 8 bits or more";
  }
  else if (mask.GetNumberOfComponents() != 1)
  {
    text << mask.GetNumberOfComponents() << " components; it takes one";
  }
  else if (mask.GetNumberOfTuples() != points)
  {
    text << mask.GetNumberOfTuples() << " values, but the image has " << points << " points";
  }
  else
  {
    return;
  }
  throw std::invalid_argument(text.str());
}

/** Which points count, 1 where they do: those that are not hidden, and that a mask has as well where there is one. */
std::vector<unsigned char>
ListValid(vtkUnsignedCharArray & ghosts, vtkDataArray * mask, vtkIdType points)
{
  if (ghosts.GetNumberOfValues() != points)
  {
    throw std::invalid_argument("The image has " + std::to_string(points) + " points, but says of " +
                                std::to_string(ghosts.GetNumberOfValues()) + " whether they are blanked");
  }
  std::vector<unsigned char> valid(static_cast<std::size_t>(points));
  const auto                 maskBytes = mask != nullptr ? static_cast<std::size_t>(mask->GetDataTypeSize()) : 0;
  const auto * const         maskValues =
    mask != nullptr ? static_cast<const unsigned char *>(mask->GetVoidPointer(0)) : nullptr;
  for (std::size_t i = 0; i < valid.size(); ++i)
  {
    bool counts = (ghosts.GetValue(static_cast<vtkIdType>(i)) & vtkDataSetAttributes::HIDDENPOINT) == 0;
    if (counts && maskValues != nullptr)
    {
      // All bytes of an integer are 0 where it is.
      const auto * const value = maskValues + i * maskBytes;
      counts = std::any_of(value, value + maskBytes, [](unsigned char byte) { return byte != 0; });
    }
    valid[i] = counts ? 1 : 0;
  }
  return valid;
}

/** The window, what it sees beyond the image, and which of its values is wanted. */
void
SetWindow(const ClippedRequest & request, const ImageRankOptions & options, MedianRequest & engineRequest)
{
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    engineRequest.radius[axis] = request.kernel[axis] / 2;
    engineRequest.shorter[axis] = request.kernel[axis] % 2 == 0 ? 1 : 0;
    engineRequest.border[axis] = options.border;
  }
  engineRequest.rank = options.rank;
  // A rank that is given is no median of two values.
  engineRequest.evenMedian = options.rank < 0 ? options.evenMedian : EvenMedian::Upper;
  if (options.border == Border::Constant)
  {
    engineRequest.borderValue = ToBytes(request.type, "boundary's constant", options.borderValue);
  }
}

/** Which points count. `valid` holds the mask where it is not the image's own array. */
void
SetValidity(const ClippedRequest &       request,
            const ImageRankOptions &     options,
            std::vector<unsigned char> & valid,
            Validity &                   validity)
{
  const auto points = static_cast<vtkIdType>(request.image.GetVolume());
  if (options.mask != nullptr)
  {
    CheckMask(*options.mask, points);
    validity.mask = options.mask->GetVoidPointer(0);
    validity.maskPixelBytes = static_cast<std::size_t>(options.mask->GetDataTypeSize());
  }
  if (options.ghosts != nullptr)
  {
    valid = ListValid(*options.ghosts, options.mask, points);
    validity.mask = valid.data();
    validity.maskPixelBytes = 1;
  }
  // The same for all components.
  validity.maskStride = { { 1, request.image.size[0], request.image.size[0] * request.image.size[1], 0 } };
  if (options.hasIgnoredValue)
  {
    validity.hasIgnoredValue = true;
    validity.ignoredValue = ToBytes(request.type, "ignored value", options.ignoredValue);
  }
  validity.invalidOutput = options.invalidOutput;
}

/** Writes the means of the lower values, which are in the output already, and of the upper ones, without gaps. */
template <typename T>
void
TakeMeans(const MedianRequest & request, const T * upper)
{
  auto * const output = static_cast<T *>(request.output);
  const auto & extent = request.outputExtent;
  const auto & stride = request.outputStride;
  for (std::int64_t z = 0; z < extent[2]; ++z)
  {
    for (std::int64_t y = 0; y < extent[1]; ++y)
    {
      T * const row = output + y * stride[1] + z * stride[2];
      // Components and points of a row follow each other.
      for (std::int64_t x = 0; x < extent[0] * extent[3]; ++x)
      {
        row[x] = GetMean(row[x], *upper++);
      }
    }
  }
}

/** The mean of floats as vtkImageMedian3D rounds it, which the engine does in another way: of both middle values. */
template <typename T>
ExecutionReport
RunMeans(MedianRequest request)
{
  const auto & extent = request.outputExtent;
  const auto   values = extent[0] * extent[1] * extent[2] * extent[3];
  const auto   progress = request.progress;
  request.evenMedian = EvenMedian::Upper;
  request.progress = [&progress](float fraction) { progress(fraction / 2); };
  const std::unique_ptr<T[]> upper(new T[static_cast<std::size_t>(values)]);
  MedianRequest              other = request;
  other.output = upper.get();
  other.outputStride = { { extent[3], extent[0] * extent[3], extent[0] * extent[1] * extent[3], 1 } };
  RunMedian(other);
  request.evenMedian = EvenMedian::Lower;
  request.progress = [&progress](float fraction) { progress(0.5F + fraction / 2); };
  auto report = RunMedian(request);
  TakeMeans(request, upper.get());
  return report;
}

} // namespace

ExecutionReport
RunImageRank(const ClippedRequest &   request,
             const ImageRankOptions & options,
             vtkDataArray &           input,
             vtkDataArray &           output,
             std::int64_t             first)
{
  CheckClippedRequest(request);
  const std::int64_t components = input.GetNumberOfComponents();
  const auto &       image = request.image.size;
  MedianRequest      engineRequest;
  engineRequest.pixelType = request.type;
  engineRequest.backend = request.backend;
  engineRequest.deviceMemoryBudget = static_cast<std::size_t>(request.deviceMemoryBudget);
  engineRequest.workUnits = request.workUnits;
  engineRequest.parallelFor = request.parallelFor;
  engineRequest.progress = [&request](float fraction) { request.progress(fraction); };
  SetWindow(request, options, engineRequest);
  engineRequest.input = input.GetVoidPointer(0);
  engineRequest.inputExtent = { { image[0], image[1], image[2], components } };
  engineRequest.inputStride = { { components, image[0] * components, image[0] * image[1] * components, 1 } };
  engineRequest.outputExtent = {
    { request.wanted.size[0], request.wanted.size[1], request.wanted.size[2], components }
  };
  engineRequest.outputStride = { { components, request.outputRow * components, request.outputSlice * components, 1 } };
  for (std::size_t axis = 0; axis < 3; ++axis)
  {
    engineRequest.outputOrigin[axis] = request.wanted.first[axis] - request.image.first[axis];
  }
  engineRequest.output =
    static_cast<char *>(output.GetVoidPointer(0)) +
    static_cast<std::size_t>(first * components) * static_cast<std::size_t>(output.GetDataTypeSize());

  std::vector<unsigned char> valid;
  SetValidity(request, options, valid, engineRequest.validity);
  const bool isMean = engineRequest.evenMedian == EvenMedian::Mean;
  if (isMean && request.type == PixelType::Float32)
  {
    return RunMeans<float>(engineRequest);
  }
  if (isMean && request.type == PixelType::Float64)
  {
    return RunMeans<double>(engineRequest);
  }
  return RunMedian(engineRequest);
}

} // namespace cudamedian
