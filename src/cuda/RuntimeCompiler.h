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
#ifndef RuntimeCompiler_h
#define RuntimeCompiler_h

#include <atomic>
#include <string>
#include <vector>

namespace cudamedian
{

/** A header of the kernels. */
struct KernelSource
{
  const char * name;
  const char * text;
};

/** The headers that a kernel compiled at first use includes. */
const std::vector<KernelSource> &
GetKernelSources();

/** What a kernel is compiled for at first use: machine code of an architecture, such as "sm_90", or PTX, such as
 * "compute_90", which the driver translates for newer devices; and either for a family of architectures, such as
 * "sm_120f", which has instructions that others have not. */
struct KernelTarget
{
  int  architecture{ 0 }; ///< major * 10 + minor
  bool isPtx{ false };
  bool isForFamily{ false };

  std::string
  GetName() const
  {
    return (isPtx ? "compute_" : "sm_") + std::to_string(architecture) + (isForFamily ? "f" : "");
  }
};

/** NVRTC, CUDA's run-time compiler, where the machine has it. It is loaded at first use and kept. The library does not
 * depend on it. */
class RuntimeCompiler
{
public:
  /** The process's compiler. Thread-safe. */
  static const RuntimeCompiler &
  Get();

  /** Whether NVRTC was found. */
  bool
  IsAvailable() const
  {
    return m_CreateProgram != nullptr;
  }

  /** Its version, such as "NVRTC 13.0", or what was looked for in vain. */
  const std::string &
  GetDescription() const
  {
    return m_Description;
  }

  /** The newest architecture that the compiler knows and that is no newer than a device's, such as 90. 0 where there is
   * none. */
  int
  GetNewestArchitecture(int computeCapability) const;

  /** Whether the compiler makes code for the families of architectures that has all of their instructions: from
   * CUDA 13.2 on, whose PTX compares four 8-bit keys at once. */
  bool
  KnowsFamilies() const
  {
    return m_Release >= 1302;
  }

  /** Compiles a source for a target, to a cubin or to PTX.
   * \param isStopped where not null: once it is true, the compilation fails as soon as the compiler asks. NVRTC 13.0
   * asks some 60 times, and last before its assembler runs, which takes a third of the time. Older releases never ask.
   * \returns what was made; "" where it failed, and the compiler's words in `error`. */
  std::string
  Compile(const std::string &       source,
          const KernelTarget &      target,
          std::string &             error,
          const std::atomic<bool> * isStopped = nullptr) const;

  /** Compiles next to nothing for a target, once in a process, in less than 0.1 s. What NVRTC destroys when the process
   * ends is known from then on, so that whoever is to be called before that can say so: NVRTC 13.0 makes 3,331 such
   * things as it is loaded, and up to 16 when it first compiles for an architecture. Thread-safe. */
  void
  Settle(const KernelTarget & target) const;

private:
  RuntimeCompiler();

  using Program = struct OpaqueProgram *;
  int (*m_Version)(int *, int *){ nullptr };
  int (*m_CreateProgram)(Program *, const char *, const char *, int, const char * const *, const char * const *){
    nullptr
  };
  int (*m_DestroyProgram)(Program *){ nullptr };
  int (*m_CompileProgram)(Program, int, const char * const *){ nullptr };
  int (*m_GetCubinSize)(Program, std::size_t *){ nullptr };
  int (*m_GetCubin)(Program, char *){ nullptr };
  int (*m_GetPtxSize)(Program, std::size_t *){ nullptr };
  int (*m_GetPtx)(Program, char *){ nullptr };
  int (*m_GetNumberOfArchitectures)(int *){ nullptr };
  int (*m_GetArchitectures)(int *){ nullptr };
  int (*m_GetLogSize)(Program, std::size_t *){ nullptr };
  int (*m_GetLog)(Program, char *){ nullptr };
  const char * (*m_GetErrorString)(int){ nullptr };
  int (*m_SetFlowCallback)(Program, int (*)(void *, void *), void *){ nullptr }; ///< null where there is none
  std::string m_Description;
  int         m_Release{ 0 }; ///< major * 100 + minor
};

} // namespace cudamedian

#endif
