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
#ifndef KernelVariant_h
#define KernelVariant_h

#include "PixelKey.h"

namespace cudamedian
{

/** How pixels are stored and keyed; each kernel exists once per variant. */
enum class KernelVariant : std::uint8_t
{
  Integer8,
  Integer16,
  Integer32,
  Integer64,
  Float32,
  Float64
};

/** The variant that handles a pixel type. */
inline KernelVariant
GetKernelVariant(PixelType type)
{
  switch (type)
  {
    case PixelType::Int8:
    case PixelType::UInt8:
      return KernelVariant::Integer8;
    case PixelType::Int16:
    case PixelType::UInt16:
      return KernelVariant::Integer16;
    case PixelType::Int32:
    case PixelType::UInt32:
      return KernelVariant::Integer32;
    case PixelType::Float32:
      return KernelVariant::Float32;
    case PixelType::Float64:
      return KernelVariant::Float64;
    default:
      return KernelVariant::Integer64;
  }
}

/** Bytes of a pixel of a variant. */
inline int
GetPixelBytes(KernelVariant variant)
{
  switch (variant)
  {
    case KernelVariant::Integer8:
      return 1;
    case KernelVariant::Integer16:
      return 2;
    case KernelVariant::Integer32:
    case KernelVariant::Float32:
      return 4;
    default:
      return 8;
  }
}

} // namespace cudamedian

#endif
