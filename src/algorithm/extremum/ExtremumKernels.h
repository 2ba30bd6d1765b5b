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
#ifndef ExtremumKernels_h
#define ExtremumKernels_h

#include "ExtremumLine.h"
#include "ExtremumStrip.h"
#include "ExtremumTile.h"

namespace cudamedian
{

/** Calls function(type) with the kernel of a shape; decltype(type)::Body is what a warp does. */
template <typename TPixelBits, KeyMapping VMapping>
struct ExtremumKernels
{
  /** Hands the type of a body over to a function. */
  template <typename TBody>
  struct Kernel
  {
    using Body = TBody;
  };

  template <typename TFunction>
  static auto
  Dispatch(const ExtremumShape & shape, const TFunction & function)
  {
    if (shape.means == ExtremumMeans::Line)
    {
      return function(Kernel<ExtremumLine<TPixelBits, VMapping>>{});
    }
    if (shape.means == ExtremumMeans::Tile)
    {
      return shape.run == 8 ? function(Kernel<ExtremumTile<TPixelBits, VMapping, 8>>{})
                            : function(Kernel<ExtremumTile<TPixelBits, VMapping, 4>>{});
    }
    if (!shape.isWide)
    {
      return function(Kernel<ExtremumStrip<TPixelBits, VMapping, 1, false>>{});
    }
    if (shape.run == 2)
    {
      return function(Kernel<ExtremumStrip<TPixelBits, VMapping, 2, true>>{});
    }
    return function(Kernel<ExtremumStrip<TPixelBits, VMapping, 1, true>>{});
  }
};

} // namespace cudamedian

#endif
