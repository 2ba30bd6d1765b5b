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

#include "DeviceContext.h"
#include "KernelProof.h"
#include "KernelLaunch.h"
#include "Planner.h"

#include <optional>

namespace cudamedian
{

/** The kernel that runs a plan: the fastest there is for its algorithm on the current device. Where the library has no
 * machine code for the device, one that has proved itself on a small image (KernelProof.h). */
class SlabKernel
{
public:
  /** Chooses, prepares what the kernel needs in the context's memory, and writes what was chosen and why to the report.
   * \throws DeviceError when a CUDA call fails, or when no kernel is left that gives right results on this device. */
  SlabKernel(const MedianRequest & request, const Plan & plan, DeviceContext & context, ExecutionReport & report);

  /** The same, but with one kind of kernel and no other, and without proof: to be proved.
   * \throws DeviceError also when there is none of that kind. */
  SlabKernel(const MedianRequest & request,
             const Plan &          plan,
             DeviceContext &       context,
             ExecutionReport &     report,
             KernelMeans           means);

  /** Launches it for a slab whose input is in device memory, in as many launches as keep each short. Asynchronous.
   * \returns CUDA's error. */
  cudaError_t
  Launch(const Slab & slab, const void * input, void * output, cudaStream_t stream) const;

  /** Whether a launch works in the context's memory, which must not pass to another call before it has ended. */
  bool
  UsesContextMemory() const
  {
    return m_ScratchBytes > 0 || m_Interpret;
  }

private:
  bool
  IsFit(KernelMeans means, std::string & reason, bool isNative = true);
  void
  ChooseProgram();
  bool
  ChooseCompiled(std::string & missing);
  bool
  FitsSharedMemory(const EmittedKernel & kernel, std::string & missing) const;
  void
  TakeCompiled(const EmittedKernel & kernel, const std::string & how);
  void
  Interpret(const std::string & missing);
  bool
  InterpretIfFit(std::string & reason);
  bool
  RankIfFit(std::string & reason);
  void
  ChooseRanks();
  void
  ChooseHistograms();
  void
  ChooseMerges();
  void
  Select(const std::string & reason);
  void
  UploadProgram(const ProgramSchedule & schedule);
  std::int64_t
  GetLargestLaunch() const;
  KernelArguments
  CutArguments(const KernelArguments & whole, const PixelBox & piece) const;
  cudaError_t
  LaunchOnce(const KernelArguments & arguments, cudaStream_t stream) const;

  const MedianRequest &         m_Request;
  const Plan &                  m_Plan;
  DeviceContext &               m_Context;
  ExecutionReport &             m_Report;
  std::optional<KernelMeans>    m_Means; ///< the only one to take, where one is to be proved
  bool                          m_ImageIsNative{ true };
  KeyFormat                     m_KeyFormat;
  std::size_t                   m_PixelBytes;
  std::optional<RankShape>      m_Rank;
  std::optional<HistogramShape> m_Histogram;
  std::optional<MergeShape>     m_Merge;
  std::size_t                   m_ScratchBytes{ 0 };
  const EmittedKernel *         m_Emitted{ nullptr };
  bool                          m_Interpret{ false };
  std::size_t                   m_SharedBytes{ 0 };
  InterpretedProgram            m_Interpreted{};
};

} // namespace cudamedian

#endif
