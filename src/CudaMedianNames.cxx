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
#include "itkCudaMedianEngine.h"

#include "PixelFormat.h"
#include "RequestCheck.h"

#include <ostream>

// What values of the engine are called, and reports as text.
namespace cudamedian
{

std::size_t
PixelBytes(PixelType type)
{
  return static_cast<std::size_t>(GetPixelBytes(GetKeyFormat(type)));
}

const char *
ToString(Border border)
{
  constexpr const char * names[] = { "zero-flux Neumann", "constant", "reflect", "mirror", "wrap", "shrink" };
  return names[static_cast<std::size_t>(border)];
}

const char *
ToString(EvenMedian evenMedian)
{
  constexpr const char * names[] = { "upper", "mean", "lower" };
  return names[static_cast<std::size_t>(evenMedian)];
}

const char *
ToString(EmptyWindow emptyWindow)
{
  return emptyWindow == EmptyWindow::Input ? "input" : "value";
}

const char *
ToString(InvalidOutput invalidOutput)
{
  constexpr const char * names[] = { "computed", "copied", "value" };
  return names[static_cast<std::size_t>(invalidOutput)];
}

const char *
ToString(OutlierRule rule)
{
  constexpr const char * names[] = { "none", "absolute", "deviations" };
  return names[static_cast<std::size_t>(rule)];
}

const char *
ToString(Compilation compilation)
{
  return compilation == Compilation::Background ? "background" : "wait";
}

const char *
ToString(Backend backend)
{
  switch (backend)
  {
    case Backend::Cuda:
      return "CUDA";
    case Backend::Cpu:
      return "CPU";
    case Backend::Auto:
      break;
  }
  return "Auto";
}

const char *
ToString(Algorithm algorithm)
{
  switch (algorithm)
  {
    case Algorithm::TileProgram:
      return "tile program";
    case Algorithm::LocalRank:
      return "local ranks";
    case Algorithm::SlidingHistogram:
      return "sliding histograms";
    case Algorithm::Selection:
      return "selection";
    case Algorithm::MergeTiling:
      return "merge tiling";
    case Algorithm::Extremum:
      return "reduction along axes";
    case Algorithm::Automatic:
      break;
  }
  return "automatic";
}

const char *
ToString(PixelType type)
{
  constexpr const char * names[] = { "int8",  "uint8",  "int16",   "uint16",  "int32",   "uint32",
                                     "int64", "uint64", "float32", "float64", "float16", "bfloat16" };
  return names[static_cast<std::size_t>(type)];
}

void
ExecutionReport::Print(std::ostream & os, const std::string & indent) const
{
  os << indent << "Backend: " << backend << " (" << backendReason << ")\n"
     << indent << "Device: " << device << "\n"
     << indent << "Algorithm: " << algorithm << " (" << algorithmReason << ")\n"
     << indent << "Window: " << Describe(window) << "\n"
     << indent << "Footprint: " << footprint << "\n"
     << indent << "Counted: " << validity << "\n"
     << indent << "Border: " << border << "\n"
     << indent << "Tile: " << Describe(tile) << " (" << tileReason << ")\n"
     << indent << "Operations: " << operations << "\n"
     << indent << "Slabs: " << numberOfSlabs << " (" << slabReason << ")\n"
     << indent << "Device memory budget: " << deviceMemoryBudget << " bytes\n"
     << indent << "Device memory used: " << deviceBytes << " bytes\n"
     << indent << "Host memory budget: " << hostMemoryBudget << " bytes\n"
     << indent << "Pinned host memory used: " << pinnedBytes << " bytes\n"
     << indent << "Work units: " << workUnits << "\n"
     << indent << "Host scratch memory: " << hostScratchBytes << " bytes\n"
     << indent << "Transfer time: " << transferSeconds << " s\n"
     << indent << "Kernel time: " << kernelSeconds << " s\n"
     << indent << "Total time: " << totalSeconds << " s\n";
  if (!compiling.empty())
  {
    os << indent << "Compiled in the background: " << compiling << "\n";
  }
  if (estimatedCudaSeconds > 0)
  {
    os << indent << "Estimated time on CUDA: " << estimatedCudaSeconds << " s\n"
       << indent << "Estimated time on the CPU: " << estimatedCpuSeconds << " s\n";
  }
}

} // namespace cudamedian
