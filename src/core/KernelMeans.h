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
#ifndef KernelMeans_h
#define KernelMeans_h

#include "CudaMedianExport.h"
#include "itkCudaMedianEngine.h"
#include "Window.h"

#include <string>

namespace cudamedian
{

/** The kinds of kernels that filter slabs on a device. */
enum class KernelMeans : std::uint8_t
{
  Ahead,       ///< a tile program, compiled ahead
  AtFirstUse,  ///< a tile program, compiled at first use
  Interpreter, ///< a tile program, interpreted
  Ranks,
  Histograms,
  Merges,
  Selection,
  Extremes
};

/** "the kernel compiled ahead", … */
const char *
ToString(KernelMeans means);

/** A kind of kernel for one window and one kind of pixels on one device: what is right or wrong. */
struct KernelSubject
{
  int         device;
  KernelMeans means;
  Window      window;
  PixelType   type;
};

/** What is known of a kernel: whether it was tried out, and what is wrong with it, "" where it is right. */
struct KernelVerdict
{
  bool        isKnown{ false };
  std::string wrong;
};

/** A kind of kernel that is without use for one request, and why. */
struct KernelRefusal
{
  KernelMeans means;
  std::string why;
};

/** What this process has found out about a kernel so far. Thread-safe. */
KernelVerdict
GetVerdict(const KernelSubject & subject);

/** Keeps what was found out about a kernel until the process ends: "", or what is wrong with it. Thread-safe. */
void
SetVerdict(const KernelSubject & subject, const std::string & wrong);

/** How many verdicts were set or taken back in this process: a plan stands as long as there are no more. */
std::uint64_t
CountVerdictChanges();

/** Takes a kind of kernel out of use for a window on a device until the process ends, or back with an empty reason.
 * Thread-safe. */
CudaMedian_EXPORT void
TakeOutOfUse(const Window & window, PixelType type, int device, KernelMeans means, const std::string & why);

} // namespace cudamedian

#endif
