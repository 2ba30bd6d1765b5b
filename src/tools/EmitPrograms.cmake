# Tile programs as CUDA sources or as headers, written at build time by EmitPrograms. The host tests use the headers, which
# need no nvcc.
# The programs of published methods, which no part of the library uses: for this tool, tests and benchmarks.
set(CudaMedian_PUBLISHED_SRCS
  ${CMAKE_CURRENT_LIST_DIR}/ForgetfulSelection.cxx
  ${CMAKE_CURRENT_LIST_DIR}/PublishedNetworks.cxx
  ${CMAKE_CURRENT_LIST_DIR}/PublishedPrograms.cxx)
if(NOT TARGET CudaMedianEmitPrograms)
  set(rooms ${CMAKE_CURRENT_LIST_DIR}/..)
  include(${rooms}/Rooms.cmake)
  add_executable(CudaMedianEmitPrograms
    ${rooms}/tools/EmitPrograms.cxx
    ${CudaMedian_PUBLISHED_SRCS}
    ${rooms}/core/DeviceProfiles.cxx
    ${rooms}/core/Footprint.cxx
    ${rooms}/algorithm/tile/ProgramEmitter.cxx
    ${rooms}/algorithm/tile/RowEmitter.cxx
    ${rooms}/program/TileProgram.cxx
    ${rooms}/program/SortingNetwork.cxx
    ${rooms}/program/HierarchicalTiling.cxx
    ${rooms}/program/FootprintTiling.cxx
    ${rooms}/program/ProgramSimplifier.cxx
    ${rooms}/program/SharedPieces.cxx
    ${rooms}/program/ProgramLowering.cxx
    ${rooms}/program/ProgramPhases.cxx
    ${rooms}/program/RegisterPlan.cxx
    ${rooms}/algorithm/tile/KernelPolicy.cxx
    ${rooms}/algorithm/tile/LinePolicy.cxx
    ${rooms}/algorithm/tile/KernelProgram.cxx
    ${rooms}/algorithm/tile/PolicySearch.cxx
    ${rooms}/algorithm/tile/TilePolicy.cxx
    ${rooms}/algorithm/tile/TunedPolicy.cxx)
  # The tool is no part of the library, and exports nothing.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/tools/CudaMedianExport.h CONTENT
    "// For EmitPrograms. Written by CMake.\n#define CudaMedian_EXPORT\n")
  target_include_directories(CudaMedianEmitPrograms PRIVATE
    ${CMAKE_CURRENT_BINARY_DIR}/tools ${CudaMedian_ROOMS} ${rooms}/../include)
  set_target_properties(CudaMedianEmitPrograms PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
endif()

# The numbers of the architectures that nvcc compiles for, separated by commas. "f" follows one that it compiles for the
# family of, with all that the family has (GetKeyPacking() in KeyPacking.h).
function(cudamedian_get_architectures variable)
  set(numbers "")
  foreach(architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
    string(REGEX MATCH "[0-9]+" number "${architecture}")
    if(architecture MATCHES "^12[0-9][af]" AND NOT "${number}" IN_LIST CMAKE_CUDA_ARCHITECTURES
       AND NOT "${number}-real" IN_LIST CMAKE_CUDA_ARCHITECTURES
       AND NOT "${number}-virtual" IN_LIST CMAKE_CUDA_ARCHITECTURES
       AND CMAKE_CUDA_COMPILER_ID STREQUAL "NVIDIA" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13.2)
      list(APPEND numbers ${number}f)
    elseif(number)
      list(APPEND numbers ${number})
    endif()
  endforeach()
  if(NOT numbers)
    # "native", "all" and the like: a program for each architecture that differs.
    set(numbers 75 80 86 90 100 120)
  endif()
  list(REMOVE_DUPLICATES numbers)
  list(JOIN numbers "," numbers)
  set(${variable} ${numbers} PARENT_SCOPE)
endfunction()

# Of a list of four radii, and the rank if it is not the median's: which sizes are even, as text such as "1, 1, 0, 0", and
# the rank or -1. An even size has a radius and a half: 1.5 is 4 pixels.
function(cudamedian_get_shorter radius shorterVariable rankVariable)
  set(shorter "")
  set(rank -1)
  list(FILTER radius EXCLUDE REGEX "^[a-z]")
  list(LENGTH radius length)
  if(length EQUAL 5)
    list(POP_BACK radius rank)
    string(REGEX REPLACE "to.*" "" rank "${rank}")
  endif()
  foreach(r IN LISTS radius)
    if(r MATCHES "[.]5$")
      list(APPEND shorter 1)
    else()
      list(APPEND shorter 0)
    endif()
  endforeach()
  list(JOIN shorter ", " shorter)
  set(${shorterVariable} ${shorter} PARENT_SCOPE)
  set(${rankVariable} ${rank} PARENT_SCOPE)
endfunction()

# The expression that makes the footprint of a list that starts with a shape, such as cross;1;1;0;0; "" where it does not.
function(cudamedian_get_footprint radius variable)
  set(expression "")
  list(POP_FRONT radius shape)
  list(SUBLIST radius 0 4 radius)
  list(JOIN radius ", " list)
  if(shape STREQUAL "cross")
    set(expression "Footprint::MakeCross({ { ${list} } })")
  elseif(shape STREQUAL "ellipsoid")
    set(expression "Footprint::MakeEllipsoid({ { ${list} } })")
  elseif(shape MATCHES "^centre([0-9]+)$")
    set(expression "Footprint::MakeCentreWeighted({ { ${list} } }, ${CMAKE_MATCH_1})")
  endif()
  set(${variable} ${expression} PARENT_SCOPE)
endfunction()

# The window of a list of four radii, and the rank if it is not the median's, as text, such as 3x3x1x1 or 3x3x1x1at2. A
# shape or a published method that it starts with starts the text: cross3x3x1x1, forgetful1x2of3x3x1x1.
function(cudamedian_get_window_name radius variable)
  set(name "")
  set(rank "")
  set(shape ${radius})
  list(FILTER shape INCLUDE REGEX "^[a-z]")
  list(FILTER radius EXCLUDE REGEX "^[a-z]")
  list(LENGTH radius length)
  if(length EQUAL 5)
    list(POP_BACK radius rank)
    string(PREPEND rank "at")
  endif()
  foreach(r IN LISTS radius)
    if(r MATCHES "^([0-9]+)[.]5$")
      math(EXPR w "2 * ${CMAKE_MATCH_1} + 2")
    else()
      math(EXPR w "2 * ${r} + 1")
    endif()
    list(APPEND name ${w})
  endforeach()
  list(JOIN name "x" name)
  set(${variable} ${shape}${name}${rank} PARENT_SCOPE)
endfunction()

# Emits the program of a window (a list of four radii, and the rank if it is not the median's) for a pixel width in bytes into the folder "emitted" of the current
# binary directory, as a file with the given extension.
function(cudamedian_emit_program radius bytes architectures extension nameVariable fileVariable)
  cudamedian_get_window_name("${radius}" name)
  math(EXPR bits "8 * ${bytes}")
  set(name "TileProgram_${name}_${bits}")
  set(file ${CMAKE_CURRENT_BINARY_DIR}/emitted/${name}.${extension})
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/emitted
    COMMAND CudaMedianEmitPrograms ${radius} ${bytes} ${architectures} ${file}
    DEPENDS CudaMedianEmitPrograms
    VERBATIM)
  set(${nameVariable} ${name} PARENT_SCOPE)
  set(${fileVariable} ${file} PARENT_SCOPE)
endfunction()
