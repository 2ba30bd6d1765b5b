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
#ifndef SlabKernel_h
#define SlabKernel_h

#include "DeviceMethod.h"
#include "MedianBackend.h"

#include <optional>
#include <vector>

namespace cudamedian
{

/** A launch of a slab's kernels: what they are told but for where pixels lie, and the places of its outputs and of
 * their ranks in bytes from the slab's first ones. */
struct SlabLaunch
{
  KernelArguments arguments;
  std::int64_t    outputOffset;
  std::int64_t    rankOffset;
};

/** The kernels of a candidate on one device, and what every kernel is told of a slab. */
class SlabKernel
{
public:
  /** Prepares the candidate's kernels on the current device. \throws KernelMissing, DeviceError */
  SlabKernel(const MedianRequest & request, const Candidate & candidate, DeviceContext & context);

  /** The launches that filter a slab, each of which is short enough. */
  std::vector<SlabLaunch>
  Cut(const Slab & slab) const;

  /** Launches the kernels for a slab whose input is in device memory. Asynchronous.
   * \param ranks the slab's map of ranks, laid out as its output is; null where the request has none.
   * \param scratch device memory, as much as the candidate's scratchBytes.
   * \returns CUDA's error. */
  cudaError_t
  Launch(const std::vector<SlabLaunch> & launches,
         const void *                    input,
         void *                          output,
         const void *                    ranks,
         void *                          scratch,
         cudaStream_t                    stream) const;

  /** See SlabLauncher::PrepareMasked(). */
  Preparation
  PrepareMasked(bool waits)
  {
    return m_Launcher->PrepareMasked(waits);
  }

  /** Launches the kernels that read masks. \pre PrepareMasked() */
  cudaError_t
  LaunchMasked(const std::vector<SlabLaunch> & launches,
               const void *                    input,
               void *                          output,
               const MaskRules &               rules,
               cudaStream_t                    stream) const;

  /** See SlabLauncher::PrepareOutliers(). */
  Preparation
  PrepareOutliers(bool waits)
  {
    return m_Launcher->PrepareOutliers(waits);
  }

  /** Launches the kernels that replace outliers alone. \pre PrepareOutliers() */
  cudaError_t
  LaunchOutliers(const std::vector<SlabLaunch> & launches,
                 const void *                    input,
                 void *                          output,
                 const OutlierDistance &         distance,
                 cudaStream_t                    stream) const;


  /** Whether launches need memory, or streams, of the context. It must not pass to another call before they have ended.
   */
  bool
  UsesContextMemory() const
  {
    return m_UsesContextMemory;
  }

  /** Which kernels these are, and how they came about. */
  const SlabLauncher &
  GetLauncher() const
  {
    return *m_Launcher;
  }

private:
  SlabLaunch
  CutArguments(const KernelArguments & whole, const PixelBox & piece) const;

  KernelArguments               m_Arguments{}; ///< what they are told of every slab
  std::size_t                   m_PixelBytes;
  std::size_t                   m_RankBytes;
  bool                          m_UsesContextMemory;
  std::unique_ptr<SlabLauncher> m_Launcher;
};

/** Prepares a candidate's kernels on the current device, and finds out whether they have to prove themselves there.
 * \param origin is set to what a report says of code that is not native.
 * \returns what stands in the way. \throws DeviceError */
Obstacle
PrepareKernel(const MedianRequest &       request,
              const Candidate &           candidate,
              bool                        withoutProof,
              DeviceContext &             context,
              std::optional<SlabKernel> & kernel,
              std::string &               origin);

} // namespace cudamedian

#endif
