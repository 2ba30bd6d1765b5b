# Tile programs compiled ahead for the CPU with Google Highway, if it is there; the interpreter runs all others.
set(CudaMedian_ROW_WINDOWS "1 1 0 0" "2 2 0 0" "3 3 0 0" "4 4 0 0" "5 5 0 0" "6 6 0 0" "7 7 0 0" "8 8 0 0" "1 1 1 0"
  "2 2 2 0" "3 3 3 0")
# Those that keys of 1 and 2 bytes have another program for than wider ones.
set(CudaMedian_NARROW_ROW_WINDOWS "1 1 0 0" "2 2 0 0" "1 1 1 0")
# Those that take long to compile are compiled for fewer keys and instruction sets.
set(CudaMedian_LARGE_ROW_WINDOWS "4 4 0 0" "5 5 0 0" "6 6 0 0" "7 7 0 0" "8 8 0 0" "2 2 2 0" "3 3 3 0")
set(CUDAMEDIAN_ROW_WINDOWS "" CACHE STRING
  "Windows whose CPU programs are compiled ahead, of those there are; empty: all of them; the others are interpreted")
mark_as_advanced(CUDAMEDIAN_ROW_WINDOWS)
if(CUDAMEDIAN_ROW_WINDOWS)
  set(CudaMedian_ROW_WINDOWS ${CUDAMEDIAN_ROW_WINDOWS})
endif()
if(CUDAMEDIAN_SANITIZE)
  # Instrumenting thousands of straight lines takes minutes each. The smallest program shows as much, and for threads
  # the smallest with phases.
  set(CudaMedian_ROW_WINDOWS "1 1 0 0")
  if(CUDAMEDIAN_SANITIZE MATCHES "thread")
    list(APPEND CudaMedian_ROW_WINDOWS "6 6 0 0")
  endif()
endif()
find_package(hwy QUIET CONFIG)
set(CudaMedian_ROW_SRCS "")
set(declarations "")
set(entries "")
if(hwy_FOUND)
  include(${CMAKE_CURRENT_LIST_DIR}/../../tools/EmitPrograms.cmake)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/rows)
  # A program for keys of least to most bytes.
  function(cudamedian_add_row_program window name least most)
    separate_arguments(radius UNIX_COMMAND "${window}")
    # SSSE3 without SSE4 is rarer than the time it takes to compile for it. SVE alone serves all lengths of its vectors,
    # and what SVE2 adds no program uses.
    set(disabled "(HWY_SSSE3|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)")
    set(isLong false)
    if(window IN_LIST CudaMedian_LARGE_ROW_WINDOWS)
      set(disabled "(HWY_SSSE3|HWY_SSE4|HWY_SVE_256|HWY_SVE2|HWY_SVE2_128)")
      set(isLong true)
    endif()
    set(source ${folder}/${name}.cxx)
    cudamedian_get_window_name("${radius}" windowName)
    add_custom_command(OUTPUT ${folder}/${name}-inl.h
      COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
      COMMAND CudaMedianEmitPrograms ${radius} ${least} 90 ${folder}/${name}-inl.h
      DEPENDS CudaMedianEmitPrograms
      VERBATIM)
    configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/RowProgram.cxx.in ${source} @ONLY)
    set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${folder}/${name}-inl.h)
    set(CudaMedian_ROW_SRCS ${CudaMedian_ROW_SRCS} ${source} PARENT_SCOPE)
    set(declarations "${declarations}RowProgram\nDescribe${name}();\n" PARENT_SCOPE)
    set(entries "${entries}    Describe${name}(),\n" PARENT_SCOPE)
  endfunction()
  foreach(window IN LISTS CudaMedian_ROW_WINDOWS)
    separate_arguments(radius UNIX_COMMAND "${window}")
    cudamedian_get_window_name("${radius}" name)
    set(least 1)
    set(most 8)
    if(window IN_LIST CudaMedian_LARGE_ROW_WINDOWS)
      set(most 4)
    endif()
    if(window IN_LIST CudaMedian_NARROW_ROW_WINDOWS)
      cudamedian_add_row_program("${window}" Row_${name}_Narrow 1 2)
      set(least 4)
    endif()
    cudamedian_add_row_program("${window}" Row_${name} ${least} ${most})
  endforeach()
  list(APPEND CudaMedian_ROW_SRCS cpu/LaneInterpreter.cxx cpu/KeyLines.cxx algorithm/histogram/ColumnHistograms.cxx algorithm/extremum/ExtremumRows.cxx)
  message(STATUS "CudaMedian: CPU programs with Highway ${hwy_VERSION}")
else()
  list(APPEND CudaMedian_ROW_SRCS cpu/LaneInterpreterPortable.cxx cpu/KeyLinesPortable.cxx algorithm/histogram/ColumnHistogramsPortable.cxx algorithm/extremum/ExtremumRowsPortable.cxx)
  message(STATUS "CudaMedian: no Google Highway (libhwy-dev); all CPU programs are interpreted")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/RowPrograms.cxx.in ${CMAKE_CURRENT_BINARY_DIR}/rows/RowPrograms.cxx @ONLY)
list(APPEND CudaMedian_ROW_SRCS ${CMAKE_CURRENT_BINARY_DIR}/rows/RowPrograms.cxx)
