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
#include "UploadedBoxes.h"

#include "BackendEstimate.h"
#include "DivideUp.h"
#include "Gather.h"
#include "GatheredCopies.h"
#include "MaskedRequest.h"
#include "RequestWindow.h"
#include "RowRules.h"
#include "ValidPixels.h"
#include "itkCudaMedianDevice.h"

#include <algorithm>

namespace cudamedian
{
namespace
{

/** Rows of a box begin at multiples of so many pixels, which kernels read as vectors. */
constexpr std::int64_t pixelsOfRowUnit = 32;

/** The least of what is uploaded at once: a transfer and the launches behind it take about as long. */
constexpr std::int64_t leastUpload = std::int64_t{ 1 } << 20;

/** Bytes of a pixel that pass to the device. */
std::int64_t
GetUploadedBytes(const MedianRequest & request)
{
  const auto ofMask = request.validity.mask != nullptr ? request.validity.maskPixelBytes : 0;
  return static_cast<std::int64_t>(PixelBytes(request.pixelType) + ofMask);
}

/** What has to be on the device for outputs: their own pixels, and those of the image that their windows see. */
PixelBox
GetUploadedInput(const MedianRequest & request, const PixelBox & outputs)
{
  PixelBox input;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    const auto extent = request.inputExtent[axis];
    const auto border = request.border[axis];
    const auto last = outputs.origin[axis] + outputs.extent[axis];
    const auto seenFirst = outputs.origin[axis] + request.shift[axis] - request.radius[axis];
    const auto seenLast = last + request.shift[axis] + request.radius[axis];
    const bool isBeyond = seenFirst < 0 || seenLast > extent;
    // What these borders bring may be from anywhere. Unshifted windows see it reflected no further than they reach.
    const bool isReflected = border == Border::Reflect || border == Border::Mirror;
    const bool isWhole = isBeyond && (border == Border::Wrap || (isReflected && request.shift[axis] != 0));
    input.origin[axis] = isWhole ? 0 : std::max<std::int64_t>(std::min(seenFirst, outputs.origin[axis]), 0);
    input.extent[axis] = (isWhole ? extent : std::min(std::max(seenLast, last), extent)) - input.origin[axis];
  }
  return input;
}

} // namespace

std::string
FindUploadObstacle(const MedianRequest & request)
{
  if (!HasRules(request))
  {
    return "all pixels count";
  }
  if (request.deviceMemoryBudget != 0)
  {
    return "a budget of device memory is named";
  }
  const auto inputStride = GetInputStride(request);
  const bool hasRows = inputStride[0] == 1 && request.outputStride[0] == 1 &&
                       (request.validity.mask == nullptr || GetMaskStride(request)[0] == 1);
  if (!hasRows)
  {
    return "pixels of rows are apart";
  }
  return FindDeviceObstacle(MakeUploadedRequest(request, {}));
}

std::vector<UploadedBox>
CutIntoUploads(const MedianRequest & request, std::int64_t share, std::int64_t most)
{
  const auto     uploaded = GetUploadedBytes(request);
  const auto     bytes = uploaded + static_cast<std::int64_t>(PixelBytes(request.pixelType));
  const PixelBox whole{ request.outputOrigin, request.outputExtent };
  const auto     wanted = std::max(Volume(whole.extent) / std::max<std::int64_t>(share, 1), leastUpload / uploaded);
  std::vector<UploadedBox> boxes;
  for (const auto & outputs : CutIntoBoxes(request, whole, std::min(wanted, most / bytes)))
  {
    boxes.push_back({ outputs, GetUploadedInput(request, outputs) });
  }
  return boxes;
}

std::int64_t
GetStagedBytes(const MedianRequest & request, const UploadedBox & box)
{
  // The mask begins at a multiple of this behind the image.
  constexpr std::int64_t alignment = 256;
  const auto             of = MakeUploadedRequest(request, box);
  return alignment + of.inputStride[3] * of.inputExtent[3] *
                       (GetUploadedBytes(request) + static_cast<std::int64_t>(PixelBytes(request.pixelType)));
}

MedianRequest
MakeUploadedRequest(const MedianRequest & given, const UploadedBox & box)
{
  auto request = given;
  request.inputExtent = box.input.extent;
  request.outputExtent = box.input.extent;
  request.outputOrigin = {};
  auto rows = box.input.extent;
  rows[0] = RoundUp(rows[0], pixelsOfRowUnit);
  request.inputStride = request.outputStride = GetPackedStride(rows);
  request.validity.maskStride = request.validity.mask != nullptr ? request.inputStride : Extent{};
  request.outputPixelBytes = PixelBytes(request.pixelType);
  request.convertRow = nullptr;
  request.parallelFor = nullptr;
  request.progress = nullptr;
  request.workUnits = 1;
  return request;
}

double
EstimateUploadedSeconds(const MedianRequest & request,
                        std::size_t           boxes,
                        double                kernelSeconds,
                        const DeviceTraits &  device,
                        const HostTraits &    host,
                        double                copyBytes)
{
  const auto   pixels = static_cast<double>(Volume(request.outputExtent));
  const auto   keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const double upload = pixels * static_cast<double>(GetUploadedBytes(request));
  const double download = pixels * keyBytes;
  // Kernels that prepare copies and write results move some bytes a pixel each, at a third of what a copy moves.
  const double passes = pixels * (4 + 2 * keyBytes) * 3 / device.copyBytes;
  const double units = std::max(1U, std::min(request.workUnits, mostUploadingThreads));
  const double copies = (upload + download) / host.copyBytes / units;
  const double longest = std::max({ copies, upload / copyBytes, download / copyBytes, kernelSeconds + passes });
  return longest + secondsOfBox * (1 + static_cast<double>(boxes) / units);
}

double
EstimateCopiedSeconds(const MedianRequest & request, double seconds, const HostTraits & host)
{
  // What a thread of the host of an H200 takes to read, mark, fill, count and write a pixel: as rows pass, or in
  // copies.
  constexpr double perPixelOfRows = 0.5e-9;
  constexpr double perPixelOfCopies = 1.5e-9;
  // The same to tell whether a value is near to its window's median, for each byte of it.
  constexpr double perByteOfValue = 0.02e-9;
  const auto       values = static_cast<double>(GetWindow(request).CountPixels());
  const auto       keyBytes = static_cast<double>(PixelBytes(request.pixelType));
  const double     perPixel = (AreRulesOfRows(request) ? perPixelOfRows : perPixelOfCopies) +
                          (HasDeviations(request) ? values * keyBytes * perByteOfValue : 0);
  const auto   ofThatHost = GetH200HostTraits().copyBytes / host.copyBytes;
  const double threads = std::max(1U, std::min(request.workUnits, host.cores));
  return seconds + perPixel * ofThatHost * static_cast<double>(Volume(request.outputExtent)) / threads;
}

} // namespace cudamedian
