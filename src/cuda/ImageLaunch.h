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
#ifndef ImageLaunch_h
#define ImageLaunch_h

#include "SlabKernel.h"

#include <optional>
#include <vector>

namespace cudamedian
{

/** What filters an image in device memory, on one device: the kernels' launches, and copies of what they cannot read or
 * write where it lies. Addresses are told at each launch: those of images of the same extents, strides and alignment.
 */
class ImageLaunch
{
public:
  ImageLaunch(const MedianRequest & request, const Plan & plan);

  std::size_t
  CountSlabs() const
  {
    return m_Slabs.size();
  }

  /** What is copied, and why. */
  std::string
  DescribeCopies(const MedianRequest & request) const;

  /** Bytes of device memory that a launch takes, for copies and kernels. */
  std::size_t
  GetLaunchBytes() const
  {
    return m_InputBytes + m_OutputBytes + m_ScratchBytes;
  }

  /** Sets the kernels, without which nothing is launched. */
  void
  SetKernel(const MedianRequest & request, SlabKernel && kernel);

  const SlabKernel &
  GetKernel() const
  {
    return *m_Kernel;
  }

  /** Whether later launches may have faster kernels, which are being compiled. */
  bool
  IsAwaited() const
  {
    return m_IsAwaited;
  }

  /** Launches all, on the current device. \throws CudaError */
  void
  Launch(const MedianRequest & request, cudaStream_t stream) const;

private:
  void
  PrepareOutliers(const MedianRequest & request);
  void
  CopyInput(const MedianRequest & request, const Slab & slab, char * copy, cudaStream_t stream) const;
  void
  CopyOutput(const MedianRequest & request, const Slab & slab, const char * copy, cudaStream_t stream) const;
  void
  LaunchInliers(const MedianRequest & request, const Slab & slab, void * copy, void * bounds, cudaStream_t stream)
    const;

  std::vector<Slab>                    m_Slabs;
  bool                                 m_CopiesInput; ///< slabs are copied on both sides, a whole image where needed
  bool                                 m_CopiesOutput;
  std::size_t                          m_InputBytes;
  std::size_t                          m_OutputBytes;
  std::size_t                          m_ScratchBytes;
  bool                                 m_TellsOutliers{ false }; ///< whether the kernels do, as they write …
  bool                                 m_IsAwaited{ false };     ///< … or will, once they are compiled …
  std::string                          m_WhyLater;               ///< … or why outliers are told by another kernel
  std::optional<SlabKernel>            m_Kernel;
  std::vector<std::vector<SlabLaunch>> m_Launches; ///< of each slab
};

/** Whether a buffer starts where kernels read and write whole vectors. */
bool
IsAlignedForKernels(const void * pointer);

/** Whether kernels can read an input's rows where they lie, whatever is beyond them. */
bool
HasReadableRows(const MedianRequest & request);

/** Whether kernels can write all results where they belong. */
bool
IsWrittenInPlace(const MedianRequest & request);

} // namespace cudamedian

#endif
