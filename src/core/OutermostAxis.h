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
#ifndef OutermostAxis_h
#define OutermostAxis_h

#include "Extents.h"

namespace cudamedian
{

/** The outermost axis along which a box has several pixels, or 0: the one along which images are cut into slabs, and
 * are read and written piece by piece. */
inline int
FindOutermostAxis(const Extent & extent)
{
  int axis = Dimension - 1;
  while (axis > 0 && extent[axis] == 1)
  {
    --axis;
  }
  return axis;
}

} // namespace cudamedian

#endif
