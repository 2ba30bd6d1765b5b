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
#ifndef TileDevice_h
#define TileDevice_h

#include "MedianAlgorithm.h"
#include "ScheduledProgram.h"

#include <functional>

namespace cudamedian
{

/** How a device runs a window's tile program. */
struct TileMeans
{
  std::optional<KernelMeans>          means;   ///< the best that there is; none where there is nothing
  std::string                         missing; ///< why it is not a better one
  std::shared_ptr<const DeviceMethod> method;
  std::function<void()>               compile{
    nullptr
  }; ///< has a faster one compiled in the background; null where there is none to compile
};

/** Chooses how the problem's devices run the program. Where none is at hand, they have it compiled ahead.
 * \param scheduled what can be interpreted; null where nothing can. \throws DeviceError */
TileMeans
ChooseTileMeans(const Problem & problem, const std::shared_ptr<const ScheduledProgram> & scheduled);

/** Compiles the kernel of a window that is covered, unless it is compiled ahead for all of the problem's devices, or is
 * on disk. \throws DeviceError */
PreparedKernel
PrepareTileKernel(const Problem & problem);

/** The kernels of tile programs that a self-test tries out. */
std::vector<DeviceCheck>
ListTileChecks(PixelType type);

} // namespace cudamedian

#endif
