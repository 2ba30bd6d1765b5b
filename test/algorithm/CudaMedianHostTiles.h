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
#ifndef CudaMedianHostTiles_h
#define CudaMedianHostTiles_h

#include "InterpretedTile.h"
#include "LaunchShape.h"
#include "ScheduledProgram.h"
#include "SelectedPixel.h"

#include <vector>

/** Kernels whose threads work each for themselves, run by the host. */
namespace cudamediantest
{

using cudamedian::Dimension;
using cudamedian::GetLaunchShape;
using cudamedian::InterpretedKey;
using cudamedian::InterpretedProgram;
using cudamedian::KernelArguments;
using cudamedian::KeyMapping;
using cudamedian::LaunchShape;
using cudamedian::ScheduledProgram;

template <typename TBody>
void
ForEachThread(const LaunchShape & shape, const TBody & body)
{
  for (std::int64_t block = 0; block < shape.GetNumberOfBlocks(); ++block)
  {
    for (int y = 0; y < shape.blockSize[1]; ++y)
    {
      for (int x = 0; x < shape.blockSize[0]; ++x)
      {
        std::int64_t tile[Dimension];
        if (shape.GetTile(block, x, y, tile))
        {
          body(tile);
        }
      }
    }
  }
}

template <typename TBits, KeyMapping VMapping>
void
RunInterpreted(const KernelArguments & arguments, const ScheduledProgram & scheduled)
{
  using Keys = typename InterpretedKey<TBits>::Type;
  InterpretedProgram program;
  program.instructions = scheduled.schedule.instructions.data();
  program.outputs = scheduled.schedule.outputs.data();
  program.numberOfInstructions = static_cast<std::uint32_t>(scheduled.schedule.instructions.size());
  program.numberOfInputs = scheduled.schedule.numberOfInputs;
  program.numberOfSlots = scheduled.schedule.numberOfSlots;
  for (int axis = 0; axis < Dimension; ++axis)
  {
    program.tile[axis] = static_cast<std::int32_t>(scheduled.program.GetTile()[axis]);
    program.footprint[axis] = static_cast<std::int32_t>(scheduled.program.GetFootprint()[axis]);
  }
  constexpr int     stride = 3;
  std::vector<Keys> slots(static_cast<std::size_t>(stride) * program.numberOfSlots);
  ForEachThread(GetLaunchShape(arguments.outputExtent, program.tile, InterpretedKey<TBits>::Pixels, 4, 1),
                [&](const std::int64_t * index) {
                  cudamedian::RunInterpretedTile<TBits, VMapping>(arguments, program, index, slots.data(), stride);
                });
}

template <typename TBits, KeyMapping VMapping>
void
RunSelected(const KernelArguments & arguments)
{
  const int single[] = { 1, 1, 1, 1 };
  ForEachThread(GetLaunchShape(arguments.outputExtent, single, 1, 5, 1), [&](const std::int64_t * index) {
    arguments.rankMap != nullptr ? cudamedian::RunSelectedPixel<TBits, VMapping, true>(arguments, index)
                                 : cudamedian::RunSelectedPixel<TBits, VMapping, false>(arguments, index);
  });
}

} // namespace cudamediantest

#endif
