# Tile programs as headers, written at build time by EmitPrograms; the host tests use the same ones without nvcc.
if(NOT TARGET CudaMedianEmitPrograms)
  set(rooms ${CMAKE_CURRENT_LIST_DIR}/..)
  add_executable(CudaMedianEmitPrograms
    ${rooms}/cuda/EmitPrograms.cxx
    ${rooms}/cuda/ProgramEmitter.cxx
    ${rooms}/program/TileProgram.cxx
    ${rooms}/program/SortingNetwork.cxx
    ${rooms}/program/HierarchicalTiling.cxx
    ${rooms}/plan/TilePolicy.cxx)
  target_include_directories(CudaMedianEmitPrograms PRIVATE
    ${rooms}/program ${rooms}/plan ${rooms}/cuda ${rooms}/../include)
  set_target_properties(CudaMedianEmitPrograms PROPERTIES CXX_STANDARD 17 CXX_STANDARD_REQUIRED ON)
endif()

# Emits the program of `window` ("rx ry rz rw widest key") into emitted/<name>.h of the current binary directory.
function(cudamedian_emit_header window nameVariable radiusVariable widestVariable)
  separate_arguments(fields UNIX_COMMAND "${window}")
  list(GET fields 4 widest)
  list(SUBLIST fields 0 4 radius)
  set(name "")
  foreach(r IN LISTS radius)
    math(EXPR w "2 * ${r} + 1")
    list(APPEND name ${w})
  endforeach()
  string(JOIN "x" name ${name})
  set(name "TileProgram_${name}")
  set(header ${CMAKE_CURRENT_BINARY_DIR}/emitted/${name}.h)
  add_custom_command(OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/emitted
    COMMAND CudaMedianEmitPrograms ${radius} ${header}
    DEPENDS CudaMedianEmitPrograms
    VERBATIM)
  string(REPLACE ";" ", " radius "${radius}")
  set(${nameVariable} ${name} PARENT_SCOPE)
  set(${radiusVariable} ${radius} PARENT_SCOPE)
  set(${widestVariable} ${widest} PARENT_SCOPE)
endfunction()
