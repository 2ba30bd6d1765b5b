# Writes a source with the headers that NVRTC compiles at first use, as text.
set(CudaMedian_SOURCES_ROOT ${CMAKE_CURRENT_LIST_DIR}/../..)
function(cudamedian_write_kernel_sources fileVariable)
  set(texts "")
  foreach(header IN ITEMS core/Clamp.h core/DivideUp.h core/FlagWords.h core/HostDevice.h core/KeyPacking.h core/KeyPairs.h core/MultiplyAdd.h core/PixelKey.h
      cuda/EarlyStart.h cuda/KernelArguments.h cuda/MaskRules.h cuda/OutlierDistance.h cuda/PackedLanes.h algorithm/tile/PixelVector.h algorithm/tile/KeyArithmetic.h algorithm/tile/KeyRegisters.h algorithm/tile/BFloatRegisters.h algorithm/tile/QuadRegisters.h
      algorithm/tile/ColumnKeys.h algorithm/tile/LinePlace.h algorithm/tile/LineKernel.h algorithm/tile/RankChoice.h
      algorithm/tile/OutlierStore.h algorithm/tile/StagedAccess.h algorithm/tile/TileKernel.h algorithm/tile/MarchingKernel.h algorithm/tile/TileBlock.h
      algorithm/tile/MaskedLayout.h algorithm/tile/MaskedTileKernel.h
      algorithm/tile/OutlierTileKernel.h)
    set(path ${CudaMedian_SOURCES_ROOT}/${header})
    get_filename_component(name ${header} NAME)
    file(READ ${path} text)
    string(APPEND texts "  { \"${name}\", R\"CUDAMEDIAN(${text})CUDAMEDIAN\" },\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
  endforeach()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/emitted/KernelSources.cxx)
  file(CONFIGURE OUTPUT ${file} @ONLY CONTENT [[
// The headers of the kernels. Written by CMake.
#include "RuntimeCompiler.h"
namespace cudamedian
{
const std::vector<KernelSource> &
GetKernelSources()
{
  // Never destroyed: a thread may be at work when the process ends.
  static const auto & sources = *new std::vector<KernelSource>{
@texts@  };
  return sources;
}
} // namespace cudamedian
]])
  set(${fileVariable} ${file} PARENT_SCOPE)
endfunction()
