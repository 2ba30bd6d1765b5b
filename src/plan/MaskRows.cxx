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
#include "MaskRows.h"

// Plain loops gain nothing by what these sets have beyond others, and each takes compilers some seconds.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "MaskRows.cxx"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "MaskRows-inl.h"

#if HWY_ONCE
namespace cudamedian
{

HWY_EXPORT(GetRows);

const MaskRows &
GetMaskRows()
{
  return HWY_DYNAMIC_DISPATCH(GetRows)();
}

} // namespace cudamedian
#endif
