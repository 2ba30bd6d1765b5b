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
#include "FuzzFilters.h"

cudamedianfuzz::FilterRunner
cudamedianfuzz::GetFilterRunner(const Case & c)
{
  switch (c.dimension)
  {
    case 1:
      return GetFilterRunner1D(c.type, c.otherOutput);
    case 2:
      return GetFilterRunner2D(c.type, c.otherOutput);
    case 3:
      return GetFilterRunner3D(c.type, c.otherOutput);
    default:
      return GetFilterRunner4D(c.type, c.otherOutput);
  }
}
