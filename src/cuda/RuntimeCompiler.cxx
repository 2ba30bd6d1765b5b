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
#include "RuntimeCompiler.h"

#include <algorithm>
#include <mutex>
#include <set>
#include <sstream>

#ifdef _WIN32
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

namespace cudamedian
{
namespace
{

#ifdef _WIN32
constexpr const char * libraryNames[] = { "nvrtc64_130_0.dll", "nvrtc64_120_0.dll" };

void *
OpenLibrary(const char * name)
{
  return reinterpret_cast<void *>(LoadLibraryA(name));
}
void *
FindSymbol(void * library, const char * name)
{
  return reinterpret_cast<void *>(GetProcAddress(reinterpret_cast<HMODULE>(library), name));
}
#else
constexpr const char * libraryNames[] = { "libnvrtc.so.13",
                                          "libnvrtc.so.12",
                                          "libnvrtc.so",
                                          "/usr/local/cuda/lib64/libnvrtc.so" };

void *
OpenLibrary(const char * name)
{
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}
void *
FindSymbol(void * library, const char * name)
{
  return dlsym(library, name);
}
#endif

template <typename TFunction>
bool
Find(void * library, const char * name, TFunction & function)
{
  function = reinterpret_cast<TFunction>(FindSymbol(library, name));
  return function != nullptr;
}

/** What NVRTC asks now and then: 1 ends the compilation. */
int
IsStopped(void * isStopped, void *)
{
  return static_cast<const std::atomic<bool> *>(isStopped)->load() ? 1 : 0;
}

} // namespace

RuntimeCompiler::RuntimeCompiler()
{
  for (const char * name : libraryNames)
  {
    void * const library = OpenLibrary(name);
    if (library != nullptr && Find(library, "nvrtcVersion", m_Version) &&
        Find(library, "nvrtcDestroyProgram", m_DestroyProgram) &&
        Find(library, "nvrtcCompileProgram", m_CompileProgram) && Find(library, "nvrtcGetCUBINSize", m_GetCubinSize) &&
        Find(library, "nvrtcGetCUBIN", m_GetCubin) && Find(library, "nvrtcGetProgramLogSize", m_GetLogSize) &&
        Find(library, "nvrtcGetPTXSize", m_GetPtxSize) && Find(library, "nvrtcGetPTX", m_GetPtx) &&
        Find(library, "nvrtcGetNumSupportedArchs", m_GetNumberOfArchitectures) &&
        Find(library, "nvrtcGetSupportedArchs", m_GetArchitectures) && Find(library, "nvrtcGetProgramLog", m_GetLog) &&
        Find(library, "nvrtcGetErrorString", m_GetErrorString) && Find(library, "nvrtcCreateProgram", m_CreateProgram))
    {
      int major = 0;
      int minor = 0;
      m_Version(&major, &minor);
      m_Release = 100 * major + minor;
      m_Description = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
      Find(library, "nvrtcSetFlowCallback", m_SetFlowCallback); // newer releases have it
      return;
    }
    m_CreateProgram = nullptr;
    m_Description += (m_Description.empty() ? "no NVRTC (" : ", ") + std::string(name);
  }
  m_Description += ")";
}

const RuntimeCompiler &
RuntimeCompiler::Get()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & compiler = *new RuntimeCompiler;
  return compiler;
}

int
RuntimeCompiler::GetNewestArchitecture(int computeCapability) const
{
  int count = 0;
  if (!IsAvailable() || m_GetNumberOfArchitectures(&count) != 0 || count <= 0)
  {
    return 0;
  }
  std::vector<int> architectures(static_cast<std::size_t>(count));
  if (m_GetArchitectures(architectures.data()) != 0)
  {
    return 0;
  }
  int newest = 0;
  for (const int architecture : architectures)
  {
    newest = architecture <= computeCapability ? std::max(newest, architecture) : newest;
  }
  return newest;
}

void
RuntimeCompiler::Settle(const KernelTarget & target) const
{
  static auto &                     mutex = *new std::mutex;
  static auto &                     settled = *new std::set<std::string>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (settled.insert(target.GetName()).second)
  {
    std::string error;
    Compile("extern \"C\" __global__ void Settle(int * p) { p[threadIdx.x] = p[threadIdx.x + 1]; }", target, error);
  }
}

std::string
RuntimeCompiler::Compile(const std::string &       source,
                         const KernelTarget &      target,
                         std::string &             error,
                         const std::atomic<bool> * isStopped) const
{
  if (!IsAvailable())
  {
    error = m_Description;
    return {};
  }
  std::vector<const char *> names;
  std::vector<const char *> texts;
  for (const auto & header : GetKernelSources())
  {
    names.push_back(header.name);
    texts.push_back(header.text);
  }
  Program program = nullptr;
  int     result = m_CreateProgram(
    &program, source.c_str(), "CudaMedian.cu", static_cast<int>(names.size()), texts.data(), names.data());
  if (result != 0)
  {
    error = m_GetErrorString(result);
    return {};
  }
  if (isStopped != nullptr && m_SetFlowCallback != nullptr)
  {
    m_SetFlowCallback(program, IsStopped, const_cast<std::atomic<bool> *>(isStopped));
  }
  const std::string  option = "--gpu-architecture=" + target.GetName();
  const char * const options[] = { option.c_str(), "--std=c++17" };
  std::string        binary;
  std::size_t        size = 0;
  result = m_CompileProgram(program, 2, options);
  if (result != 0)
  {
    error = m_GetErrorString(result);
    if (m_GetLogSize(program, &size) == 0 && size > 1)
    {
      std::string log(size, '\0');
      m_GetLog(program, &log[0]);
      error += ": " + log.substr(0, 1000);
    }
  }
  else
  {
    result = (target.isPtx ? m_GetPtxSize : m_GetCubinSize)(program, &size);
    if (result == 0)
    {
      binary.resize(size);
      result = (target.isPtx ? m_GetPtx : m_GetCubin)(program, &binary[0]);
    }
    if (result != 0)
    {
      // A text that was not filled is no code, and must not be kept as such.
      error = m_GetErrorString(result);
      binary.clear();
    }
  }
  m_DestroyProgram(&program);
  return binary;
}

} // namespace cudamedian
