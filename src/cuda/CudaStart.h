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
#ifndef CudaStart_h
#define CudaStart_h

#include <atomic>
#include <cstdint>
#include <vector>

namespace cudamedian
{

/** Seconds that the driver takes to initialize itself and make a context, once in a process. Measured on an H100: 0.35
 * s. */
constexpr double cudaStartSeconds = 0.35;

/** Whether a process should start CUDA, which is not worth it for some small images. Adds up what the CPU takes longer,
 * and starts CUDA in the background once that would have paid for the start. All members are thread-safe. */
class CudaStart
{
public:
  /** That of this process. */
  static CudaStart &
  Get();

  /** What the start of CUDA would add to a run now: 0 where somebody has started it, where it cannot be started, and
   * where it has been tried in the background. Starts nothing. */
  double
  GetSeconds() const;

  /** Adds seconds that a run on the CPU took longer than it would have on CUDA. Once they would have paid for the
   * start, contexts are made on these devices, or on the current one where none is listed, in the background. The
   * process waits for that before it ends. */
  void
  AddLostSeconds(double seconds, const std::vector<int> & devices);

private:
  void
  Run(const std::vector<int> & devices);

  std::atomic<std::int64_t> m_LostNanoseconds{ 0 };
  std::atomic<long>         m_Starting{ 0 }; ///< the process whose thread is at work, or 0
  std::atomic<long>         m_Tried{ 0 };    ///< the process that has tried, or 0
};

} // namespace cudamedian

#endif
