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
#ifndef RowResults_h
#define RowResults_h

#include "itkCudaMedianEngine.h"

#include <array>
#include <cstddef>
#include <cstdint>

/** What a request's rules do to a row of outputs whose medians have been found. Pixels are as copies have them. */
namespace cudamedian
{

/** Puts values in their medians' place that are valid and no farther from them than the request's threshold.
 * \param valid flags; null: all are valid */
void
KeepNear(const MedianRequest & request,
         const void *          own,
         const std::uint8_t *  valid,
         std::size_t           count,
         void *                medians);

/** What is written where a window has no valid pixel, or the output's own pixel is not valid. */
class RowExceptions
{
public:
  explicit RowExceptions(const MedianRequest & request);

  /** Whether outputs may get something else since their own pixels are not valid. */
  bool
  HasInvalidOutputs() const;

  /** Whether the outputs' own pixels are needed. */
  bool
  NeedsOwn(bool hasEmpty) const;

  /** \param empty flags of windows without a valid pixel; null: all have one
   * \param valid flags of the outputs' own pixels; null: all are valid
   * \param own these pixels, if NeedsOwn() */
  void
  Write(const std::uint8_t * empty, const std::uint8_t * valid, const void * own, std::size_t count, void * row) const;

private:
  const MedianRequest &        m_Request;
  std::size_t                  m_PixelBytes;
  std::array<unsigned char, 8> m_EmptyValue;
  std::array<unsigned char, 8> m_InvalidValue;
};

} // namespace cudamedian

#endif
