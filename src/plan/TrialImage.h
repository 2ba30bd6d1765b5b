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
#ifndef TrialImage_h
#define TrialImage_h

#include "itkCudaMedianEngine.h"
#include "Window.h"

#include <string>
#include <vector>

namespace cudamedian
{

/** A small image of random pixels that kernels prove themselves on: of several blocks and with all borders, and
 * filtered by the host in milliseconds, whatever the window. Of a window with several ranks each output has one of
 * them. */
struct TrialImage
{
  TrialImage(const Window & window, PixelType type);
  TrialImage(const TrialImage &) = delete;
  TrialImage &
  operator=(const TrialImage &) = delete;

  /** \returns "" where the result is what is expected, bit by bit, else how much is not. */
  std::string
  Compare(const std::vector<char> & expected) const;

  std::vector<char>         pixels;
  std::vector<char>         result;
  std::vector<std::uint8_t> ranks;   ///< of the outputs; empty where all have the window's
  MedianRequest             request; ///< from the pixels to the result
};

} // namespace cudamedian

#endif
