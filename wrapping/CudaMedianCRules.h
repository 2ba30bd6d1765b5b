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
#ifndef CudaMedianCRules_h
#define CudaMedianCRules_h

#include "CudaMedianCInterface.h"
#include "itkCudaMedianEngine.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>

namespace cudamedian
{

/** Throws where what a request says of valid pixels and of outliers is none. The engine checks their values. */
inline void
ValidateRules(const CudaMedianRequest & given)
{
  /** A number that stands for one of a few choices, and the largest that does. */
  struct Choice
  {
    const char *  name;
    std::uint32_t value;
    std::uint32_t largest;
  };
  const Choice choices[] = {
    { "hasIgnoredValue", given.hasIgnoredValue, 1 },
    { "omitsNaN", given.omitsNaN, 1 },
    { "emptyWindow", given.emptyWindow, static_cast<unsigned>(EmptyWindow::Value) },
    { "invalidOutput", given.invalidOutput, static_cast<unsigned>(InvalidOutput::Value) },
    { "outlierRule", given.outlierRule, static_cast<unsigned>(OutlierRule::Deviations) },
  };
  for (const auto & choice : choices)
  {
    if (choice.value > choice.largest)
    {
      throw RequestError(choice.name + (" is " + std::to_string(choice.value)) + "; it may be from 0 to " +
                         std::to_string(choice.largest));
    }
  }
  for (const auto stride : given.maskStride)
  {
    if (stride < 0)
    {
      throw RequestError("A stride of the mask is " + std::to_string(stride) + "; it starts at 0");
    }
  }
  const auto bytes = given.maskPixelBytes;
  if (given.mask != nullptr && bytes != 0 && reinterpret_cast<std::uintptr_t>(given.mask) % bytes != 0)
  {
    throw RequestError("The mask does not start at a multiple of " + std::to_string(bytes) +
                       " bytes, the size of its pixels");
  }
}

/** Tells the engine which pixels are valid, and which are outliers. */
inline void
SetRules(const CudaMedianRequest & given, MedianRequest & request)
{
  const auto copy = [](const std::uint8_t(&from)[8], std::array<unsigned char, 8> & to) {
    std::copy(std::begin(from), std::end(from), to.begin());
  };
  auto & validity = request.validity;
  validity.mask = given.mask;
  validity.maskPixelBytes = given.maskPixelBytes;
  std::copy(std::begin(given.maskStride), std::end(given.maskStride), validity.maskStride.begin());
  validity.hasIgnoredValue = given.hasIgnoredValue != 0;
  validity.omitsNaN = given.omitsNaN != 0;
  validity.emptyWindow = static_cast<EmptyWindow>(given.emptyWindow);
  validity.invalidOutput = static_cast<InvalidOutput>(given.invalidOutput);
  copy(given.ignoredValue, validity.ignoredValue);
  copy(given.emptyValue, validity.emptyValue);
  copy(given.invalidValue, validity.invalidValue);
  request.outlierRule = static_cast<OutlierRule>(given.outlierRule);
  request.outlierThreshold = given.outlierThreshold;
}

} // namespace cudamedian

#endif
