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

/** What a kernel is compiled for at first use: "sm_90", machine code of an architecture, or "compute_90", PTX that the
 * driver translates for newer ones. */
struct KernelTarget
{
  int  architecture{ 0 }; ///< major * 10 + minor
  bool isPtx{ false };

  std::string
  GetName() const
  {
    return (isPtx ? "compute_" : "sm_") + std::to_string(architecture);
  }
};

/** NVRTC, if this machine has it. Loaded on first use and kept; the library does not depend on it. */
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

  /** "NVRTC 13.0", or what was looked for. */
  const std::string &
  GetDescription() const
  {
    return m_Description;
  }

  /** The newest architecture up to a device's that the compiler knows, such as 90; 0 where it knows none. */
  int
  GetNewestArchitecture(int computeCapability) const;

  /** Compiles a source for a target: to a cubin, or to PTX, which the driver translates.
   * \returns what was made, or nothing and the compiler's words in `error`. */
  std::string
  Compile(const std::string & source, const KernelTarget & target, std::string & error) const;

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
  std::string m_Description;
};

} // namespace cudamedian

#endif
