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

#include "ExtremumBands.h"
#include "ExtremumColumns.h"
#include "ExtremumStrip.h"
#include "ExtremumTile.h"

namespace cudamedian
{

/** Calls function(type) with the kernel of a shape; decltype(type)::Body is what a warp or a team does. */
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
    if (shape.means == ExtremumMeans::Columns)
    {
      return shape.run == 4 ? function(Kernel<ExtremumColumns<TPixelBits, VMapping, 4>>{})
                            : function(Kernel<ExtremumColumns<TPixelBits, VMapping, mostExtremumWarps>>{});
    }
    if (shape.means == ExtremumMeans::Bands)
    {
      return shape.run == 16 ? function(Kernel<ExtremumBands<TPixelBits, VMapping, 16>>{})
                             : function(Kernel<ExtremumBands<TPixelBits, VMapping, 8>>{});
    }
    if (shape.means == ExtremumMeans::Tile)
    {
      return DispatchTile(shape, function);
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

private:
  template <typename TFunction>
  static auto
  DispatchTile(const ExtremumShape & shape, const TFunction & function)
  {
    if constexpr (sizeof(TPixelBits) <= 4)
    {
      if (shape.band > 0)
      {
        return shape.run == 4 ? DispatchWindow<4, true>(FewMarchWindows(), shape, function)
                              : DispatchWindow<2, true>(ManyMarchWindows(), shape, function);
      }
      if (KnowsTileWindow(shape, sizeof(TPixelBits)))
      {
        return shape.run == 4 ? DispatchWindow<4, false>(ShortTileWindows(), shape, function)
                              : DispatchWindow<8, false>(LongTileWindows(), shape, function);
      }
    }
    return shape.run == 8 ? function(Kernel<ExtremumTile<TPixelBits, VMapping, 8>>{})
                          : function(Kernel<ExtremumTile<TPixelBits, VMapping, 4>>{});
  }

  /** The last of a list is taken where it is none before. */
  template <int VRows, bool VMarches, int VFirst, int... VRest, typename TFunction>
  static auto
  DispatchWindow(std::integer_sequence<int, VFirst, VRest...>, const ExtremumShape & shape, const TFunction & function)
  {
    if constexpr (sizeof...(VRest) > 0)
    {
      if (shape.size[0] != VFirst)
      {
        return DispatchWindow<VRows, VMarches>(std::integer_sequence<int, VRest...>(), shape, function);
      }
    }
    return function(Kernel<ExtremumTile<TPixelBits, VMapping, VRows, VFirst, VMarches>>{});
  }
};

} // namespace cudamedian

#endif
