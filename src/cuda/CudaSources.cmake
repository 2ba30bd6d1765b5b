# The windows whose tile programs are compiled ahead: a footprint's shape, if it is no box, radii of the four axes, then the
# widest pixels in bytes.
set(CUDAMEDIAN_WINDOWS_AHEAD
  "1 1 0 0 8"
  "2 2 0 0 8"
  "3 3 0 0 8"
  "4 4 0 0 4"
  "5 5 0 0 4"
  "6 6 0 0 4"
  "7 7 0 0 4"
  "8 8 0 0 4"
  "1 1 1 0 8"
  "2 2 1 0 4"
  "2 2 2 0 4"
  "3 3 1 0 4"
  "cross 1 1 0 0 8"
  "ellipsoid 2 2 0 0 8"
  "cross 1 1 1 0 8"
  "ellipsoid 2 2 2 0 4"
  CACHE STRING "Windows whose CUDA kernels are compiled ahead; the others are compiled at first use")
mark_as_advanced(CUDAMEDIAN_WINDOWS_AHEAD)
include(${CMAKE_CURRENT_LIST_DIR}/../tools/EmitPrograms.cmake)
cudamedian_get_architectures(architectures)

set(CudaMedian_CUDA_SRCS
  cuda/BorrowedContext.cxx
  cuda/BoxTransfer.cxx
  cuda/CachedBuffer.cxx
  cuda/ChainLaunch.cxx
  cuda/CudaBackend.cxx
  cuda/CudaDriver.cxx
  cuda/CudaError.cxx
  cuda/CudaStart.cxx
  cuda/CurrentDevice.cxx
  cuda/DeviceContext.cxx
  cuda/DeviceImage.cxx
  cuda/DevicePool.cxx
  cuda/DeviceQuery.cxx
  cuda/DeviceTraits.cxx
  cuda/EarlyLaunch.cxx
  cuda/FlagRuns.cxx
  cuda/ImageLaunch.cxx
  cuda/KeptCalls.cxx
  cuda/KernelCache.cxx
  cuda/KernelImage.cu
  cuda/KernelImage.cxx
  cuda/LaunchedMethod.cxx
  cuda/MaskedKernels.cu
  cuda/MaskedLaunch.cxx
  cuda/MaskedMemory.cxx
  cuda/MaskedTiles.cxx
  cuda/MergeStreams.cxx
  cuda/OutlierKernels.cu
  cuda/OutlierLaunch.cxx
  cuda/RuntimeCompiler.cxx
  cuda/SharedMemoryLimit.cxx
  cuda/SlabCopy.cxx
  cuda/SlabKernel.cxx
  cuda/SlabPipeline.cxx
  cuda/SlabRun.cxx
  cuda/StagedCopy.cxx
  cuda/StreamOrder.cxx
  cuda/UploadedRun.cxx
  algorithm/extremum/ExtremumDevice.cxx
  algorithm/extremum/ExtremumKernels8.cu
  algorithm/extremum/ExtremumKernels16.cu
  algorithm/extremum/ExtremumKernels32.cu
  algorithm/extremum/ExtremumKernels64.cu
  algorithm/extremum/ExtremumKernelsFloat32.cu
  algorithm/tile/EmittedKernel.cxx
  algorithm/tile/InterpretedTile.cu
  algorithm/tile/KernelCompilation.cxx
  algorithm/tile/ProgramEmitter.cxx
  algorithm/tile/RuntimeKernels.cxx
  algorithm/tile/TileDevice.cxx
  algorithm/rank/RankDevice.cxx
  algorithm/rank/RankKernels.cu
  algorithm/rank/RankThresholdKernels.cu
  algorithm/rank/RankLargeKernels.cu
  algorithm/histogram/HistogramDevice.cxx
  algorithm/histogram/HistogramKernels.cu
  algorithm/histogram/HistogramLaunch.cu
  algorithm/merge/MergeDevice.cxx
  algorithm/merge/MergeKernels.cu
  algorithm/selection/SelectionDevice.cxx
  algorithm/selection/SelectionKernel.cu
  algorithm/vector/VectorDevice.cxx
  algorithm/vector/VectorKernels.cu)
if(CudaMedian_QUICK_KERNEL_OPTIONS)
  # Not the emitted programs, which are added below: with one of them nvcc does not end within minutes.
  set(kernels ${CudaMedian_CUDA_SRCS})
  list(FILTER kernels INCLUDE REGEX "\\.cu$")
  set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "${CudaMedian_QUICK_KERNEL_OPTIONS}")
elseif(CUDAMEDIAN_QUICK_KERNELS)
  # An older nvcc takes half as long for these; of other kernels it makes some PTX that is none.
  foreach(keys IN ITEMS 8 16 32 64 Float32)
    set_source_files_properties(algorithm/extremum/ExtremumKernels${keys}.cu PROPERTIES COMPILE_OPTIONS -Xcicc=-O1)
  endforeach()
endif()
# Architectures that the library has PTX of and no machine code: what the driver makes of it is tried out first.
set(virtual "")
foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
  if(architecture MATCHES "^([0-9]+)-virtual$")
    set(number ${CMAKE_MATCH_1})
    if(NOT number IN_LIST CMAKE_CUDA_ARCHITECTURES AND NOT "${number}-real" IN_LIST CMAKE_CUDA_ARCHITECTURES)
      list(APPEND virtual ${number})
    endif()
  endif()
endforeach()
list(JOIN virtual ", " virtual)

set(declarations "")
set(calls "")
foreach(window IN LISTS CUDAMEDIAN_WINDOWS_AHEAD)
  separate_arguments(fields UNIX_COMMAND "${window}")
  list(POP_BACK fields widest)
  # One source per pixel width, so that the slow compilations run side by side.
  foreach(bytes IN ITEMS 1 2 4 8)
    if(bytes LESS_EQUAL widest)
      cudamedian_emit_program("${fields}" ${bytes} "${architectures}" cu name source)
      string(APPEND declarations "void Describe_${name}(std::vector<EmittedKernel> &);\n")
      string(APPEND calls "    Describe_${name}(list);\n")
      list(APPEND CudaMedian_CUDA_SRCS ${source})
    endif()
  endforeach()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/../algorithm/tile/EmittedKernelTable.cxx.in ${CMAKE_CURRENT_BINARY_DIR}/emitted/EmittedKernelTable.cxx @ONLY)
list(APPEND CudaMedian_CUDA_SRCS ${CMAKE_CURRENT_BINARY_DIR}/emitted/EmittedKernelTable.cxx)

include(${CMAKE_CURRENT_LIST_DIR}/../algorithm/tile/KernelSources.cmake)
cudamedian_write_kernel_sources(source)
list(APPEND CudaMedian_CUDA_SRCS ${source})
