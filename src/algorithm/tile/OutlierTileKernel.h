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
#ifndef OutlierTileKernel_h
#define OutlierTileKernel_h

#include "OutlierStore.h"
#include "TileBlock.h"

namespace cudamedian
{

/** A TileKernel or MarchingKernel that replaces outliers alone: it finds all medians, and writes those of pixels that
 * lie farther from them than a distance. */
template <typename TKernel>
class OutlierTileKernel : public TKernel
{
public:
  using typename TKernel::Keys;
  using typename TKernel::PixelBits;
  using typename TKernel::Program;
  static_assert(!TKernel::IsNumbered, "a median is written once");

  /** A block, and the distance. */
  struct Block : TKernel::Block
  {
    const OutlierDistance * distance;
  };

  static CUDAMEDIAN_HOST_DEVICE Block
  GetBlock(const KernelArguments & arguments,
           const OutlierDistance & distance,
           std::uint32_t           x,
           std::uint32_t           y,
           std::uint32_t           z)
  {
    return { TKernel::GetBlock(arguments, x, y, z), &distance };
  }

  /** One thread's view of what the block has staged, where outputs' own pixels are too, and of its outputs. */
  class Access : public TKernel::Access
  {
  public:
    CUDAMEDIAN_HOST_DEVICE
    Access(const KernelArguments & arguments,
           const Block &           block,
           unsigned int            thread,
           int                     position,
           int                     tileRow,
           Keys *                  shared)
      : TKernel::Access(arguments, block, thread, position, tileRow, shared)
      , m_Outliers(arguments, *block.distance)
    {}

    CUDAMEDIAN_HOST_DEVICE void
    Store(int y, int z, int w, const Keys (&keys)[Program::TileX]) const
    {
      Keys own[Program::TileX];
      CUDAMEDIAN_UNROLL
      for (int x = 0; x < Program::TileX; x += Program::LoadKeys)
      {
        const auto some =
          this->Load(Program::RadiusX + x, Program::RadiusY + y, Program::RadiusZ + z, Program::RadiusW + w);
        CUDAMEDIAN_UNROLL
        for (int i = 0; i < Program::LoadKeys; ++i)
        {
          own[x + i] = some.Get(i);
        }
      }
      this->StoreParts(y, z, w, [&](int part) {
        return m_Outliers.KeepNear(this->MakePixels(own, part, PixelBits{ 0 }),
                                   this->MakePixels(keys, part, PixelBits{ 0 }),
                                   static_cast<PixelBits>(this->m_Arguments.signMask));
      });
    }

  private:
    OutliersAlone<PixelBits, TKernel::Key::mapping> m_Outliers;
  };

  template <int VPhase>
  static CUDAMEDIAN_HOST_DEVICE bool
  RunPhase(const KernelArguments & arguments, const Block & block, unsigned int thread, Keys * shared)
  {
    return TKernel::template RunPhase<VPhase, Access>(arguments, block, thread, shared);
  }
};

} // namespace cudamedian

#endif
