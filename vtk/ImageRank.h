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
#ifndef ImageRank_h
#define ImageRank_h

#include "ClippedMedian.h"

class vtkDataArray;
class vtkUnsignedCharArray;

namespace cudamedian
{

/** What vtkImageMedian3D knows nothing of. */
struct ImageRankOptions
{
  std::int64_t           rank{ -1 }; ///< of the wanted value in the window, from 0; -1: the median's
  Border                 border{ Border::Shrink };
  double                 borderValue{ 0 }; ///< of Border::Constant
  EvenMedian             evenMedian{ EvenMedian::Mean };
  vtkDataArray *         mask{ nullptr };   ///< integers: points of value 0 do not count; null: all do
  vtkUnsignedCharArray * ghosts{ nullptr }; ///< points that are hidden in it do not count; null: all do
  bool                   hasIgnoredValue{ false };
  double                 ignoredValue{ 0 }; ///< points of this value do not count
  InvalidOutput          invalidOutput{ InvalidOutput::Computed };

  /** Whether it is all as vtkImageMedian3D has it. */
  bool
  IsOfVtk() const
  {
    return rank < 0 && border == Border::Shrink && evenMedian == EvenMedian::Mean && mask == nullptr &&
           ghosts == nullptr && !hasIgnoredValue;
  }
};

/** Finds a rank of every wanted point of all components, by one request to the engine.
 *
 * \param request the boxes, the kernel, who does the work, and how far rows and slices of the output are apart
 * \param first the number of the first wanted point in the output
 * \throws std::invalid_argument where the mask is none, or a value is none of the points'
 * \throws RequestError, DeviceError, std::bad_alloc, or what the progress throws */
ExecutionReport
RunImageRank(const ClippedRequest &   request,
             const ImageRankOptions & options,
             vtkDataArray &           input,
             vtkDataArray &           output,
             std::int64_t             first);

} // namespace cudamedian

#endif
