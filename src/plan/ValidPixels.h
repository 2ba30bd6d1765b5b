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
#ifndef ValidPixels_h
#define ValidPixels_h

#include "MiddleValues.h"

#include <string>
#include <vector>

namespace cudamedian
{

/** Whether a request's medians are those of valid pixels, or are not for all pixels. */
bool
HasRules(const MedianRequest & request);

/** Which pixels are valid, in words. */
std::string
DescribeValidity(const MedianRequest & request);

/** Which pixels of a box that was copied are valid.
 * \param pixels the copy
 * \returns 1 or 0 for each pixel. */
std::vector<std::int8_t>
FindValidPixels(const MedianRequest & request, const PixelBox & copied, const Pixels & pixels);

/** Gives pixels of a copy that are not valid extreme keys: the least and the greatest in turn, or all the one that is
 * never taken where the greatest or the least value is wanted.
 * \returns 1 where a pixel got the least key, -1 where the greatest, 0 where it is valid. */
std::vector<std::int8_t>
FillInvalidPixels(const MedianRequest &            request,
                  const Extent &                   extent,
                  const std::vector<std::int8_t> & valid,
                  Pixels &                         pixels);

} // namespace cudamedian

#endif
