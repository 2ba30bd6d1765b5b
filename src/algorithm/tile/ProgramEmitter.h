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
#ifndef ProgramEmitter_h
#define ProgramEmitter_h

#include "KernelProgram.h"

#include <iosfwd>
#include <string>

namespace cudamedian
{

/** Name of the struct that EmitProgram() writes for a window and the bytes of a register of keys: "…_5x5x1x1_16Pair",
 * or "…_5x5x1x1at6_16Pair" for a rank that is not the median's, or "…at6to9…" for several. A footprint's starts with
 * its shape: "…_cross3x3x1x1_…".
 */
std::string
GetEmittedName(const Window & window, const KernelKind & kind, const std::string & shape = "");

/** What the host needs to know of a program that was written. */
struct EmittedProgram
{
  std::size_t operations{ 0 };   ///< min and max of two operands
  std::size_t instructions{ 0 }; ///< for min and max
};

/** Writes the program of a policy as a struct in CUDA C++, which the host's compiler takes too.
 *
 * The struct has the tile, the radius and the block as constants and `static void Run<VPhase>(registers, access)`:
 * straight-line code that reads rows of the footprint with `access.Load`, calls the registers' Min, Max, Min3, Max3 and
 * MaxBySum, and writes each row of the tile with `access.Store` once it is complete. Values that tiles share go from
 * one phase to another through `access.StoreShared` and `access.LoadShared`.
 *
 * Values that do not fit in the policy's registers go through `access.Save` and `access.Restore`. Where the program
 * finds several ranks, `access.LoadRanks` says which of them each output of a row wants. */
EmittedProgram
EmitProgram(const KernelProgram & program,
            const KernelPolicy &  policy,
            const KernelKind &    kind,
            const std::string &   name,
            std::ostream &        os);

/** Name of the kernel in every source that MakeKernelSource() writes. */
constexpr char runtimeKernelName[] = "CudaMedianTileKernel";

/** The source of a window's kernel for NVRTC.
 * \param isFloat whether 32- and 64-bit pixels are IEEE numbers
 * \param count receives what was written
 * \pre the program has a kernel for the task */
std::string
MakeKernelSource(const KernelProgram & program,
                 const KernelPolicy &  policy,
                 const KernelKind &    kind,
                 bool                  isFloat,
                 EmittedProgram &      count,
                 KernelTask            task = KernelTask::Medians);

} // namespace cudamedian

#endif
