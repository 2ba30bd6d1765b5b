# The windows whose tile programs are compiled ahead: radii of the four axes, then the widest key in bytes.
set(CudaMedian_WINDOWS_AHEAD
  "1 1 0 0 8"
  "2 2 0 0 8"
  "3 3 0 0 8"
  "4 4 0 0 4"
  "5 5 0 0 4"
  "1 1 1 0 8"
  "2 2 2 0 4"
)
include(${CMAKE_CURRENT_LIST_DIR}/EmittedHeaders.cmake)

set(CudaMedian_CUDA_SRCS cuda/CudaBackend.cxx cuda/GenericKernels.cu)
set(declarations "")
set(entries "")
foreach(window IN LISTS CudaMedian_WINDOWS_AHEAD)
  cudamedian_emit_header("${window}" name radius widest)
  # One source per key kind, so that the slow compilations run side by side.
  foreach(kind "Integer8;Integer16" "Integer32;Float32" "Integer64;Float64")
    list(GET kind 0 first)
    string(REGEX REPLACE "[^0-9]" "" bits "${first}")
    math(EXPR bytes "${bits} / 8")
    if(bytes GREATER widest)
      continue()
    endif()
    set(source ${CMAKE_CURRENT_BINARY_DIR}/emitted/${name}_${bits}.cu)
    set(functions "")
    foreach(variant IN LISTS kind)
      string(REGEX REPLACE "[^0-9]" "" variantBits "${variant}")
      string(REGEX REPLACE "[0-9]" "" mapping "${variant}")
      set(function "Launch_${name}_${variant}")
      string(APPEND functions "cudaError_t\n${function}(const KernelArguments & arguments, cudaStream_t stream)\n{\n  return LaunchEmittedTiles<${name}, std::uint${variantBits}_t, KeyMapping::${mapping}>(arguments, stream);\n}\n")
      string(APPEND declarations "cudaError_t ${function}(const KernelArguments &, cudaStream_t);\n")
      string(APPEND entries "  { { { ${radius} } }, KernelVariant::${variant}, &${function} },\n")
    endforeach()
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT
      "#include \"EmittedKernel.cuh\"\n#include \"${name}.h\"\nnamespace cudamedian\n{\n@functions@} // namespace cudamedian\n")
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/emitted/${name}.h)
    list(APPEND CudaMedian_CUDA_SRCS ${source})
  endforeach()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/EmittedKernelTable.cxx.in ${CMAKE_CURRENT_BINARY_DIR}/emitted/EmittedKernelTable.cxx @ONLY)
list(APPEND CudaMedian_CUDA_SRCS ${CMAKE_CURRENT_BINARY_DIR}/emitted/EmittedKernelTable.cxx)
