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
#ifndef VariantMapping_h
#define VariantMapping_h

#include "KernelVariant.h"

namespace cudamedian
{

/** Calls function(mapping) with the mapping of a variant of pixels of a width. */
template <typename TPixelBits, typename TFunction>
CUDAMEDIAN_HOST_DEVICE auto
CallWithMapping(KernelVariant variant, const TFunction & function)
{
  if constexpr (sizeof(TPixelBits) >= 4)
  {
    if (variant == KernelVariant::Float32 || variant == KernelVariant::Float64)
    {
      return function(PixelKey<TPixelBits, KeyMapping::Float>{});
    }
  }
  return function(PixelKey<TPixelBits, KeyMapping::Integer>{});
}

} // namespace cudamedian

#endif
