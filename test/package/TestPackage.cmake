# Configures, builds and runs project/ against CudaMedian in the place named by PLACE: BuildTree or Installed.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  message("${output}")
  if(NOT result EQUAL 0)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
if(PLACE STREQUAL "Installed")
  set(package ${WORK}/prefix)
  # The library and what finds it, as they would be installed; the installed files must not need the build tree.
  run(${CMAKE_COMMAND} --install ${BUILD_TREE} --prefix ${package} --config "${CONFIG}")
  file(GLOB_RECURSE targets ${package}/*Targets*.cmake)
  if(NOT targets)
    message(FATAL_ERROR "no exported targets under ${package}")
  endif()
  foreach(file IN LISTS targets)
    file(READ ${file} text)
    string(FIND "${text}" "${BUILD_TREE}/" position)
    if(NOT position EQUAL -1)
      message(FATAL_ERROR "${file} names the build tree")
    endif()
  endforeach()
else()
  set(package ${BUILD_TREE})
endif()

run(${CMAKE_COMMAND} -S ${PROJECT} -B ${WORK}/build -G ${GENERATOR}
  -D CMAKE_BUILD_TYPE=${CONFIG}
  -D CMAKE_C_COMPILER=${C_COMPILER}
  -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
  -D CMAKE_CXX_FLAGS=${CXX_FLAGS}
  -D CMAKE_PREFIX_PATH=${package}
  -D CMAKE_FIND_USE_PACKAGE_REGISTRY=OFF
  -D ITK_DIR=${ITK_DIR}
  -D WITH_VTK=${WITH_VTK}
  -D EXPECTED_PACKAGE_PREFIX=${package})
run(${CMAKE_COMMAND} --build ${WORK}/build --config "${CONFIG}")
run(${WORK}/build/bin/CudaMedianConsumer)
if(WITH_VTK)
  run(${WORK}/build/bin/CudaMedianVTKConsumer)
endif()

if(PLUGIN_PROGRAM AND PLACE STREQUAL "Installed")
  file(GLOB_RECURSE plugin ${package}/libCudaMedianFactory*)
  get_filename_component(folder "${plugin}" DIRECTORY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env "ITK_AUTOLOAD_PATH=${folder}" ${PLUGIN_PROGRAM}
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT result EQUAL 0 OR NOT output MATCHES "short3 CudaMedianImageFilter")
    message(FATAL_ERROR "the installed plugin ${plugin} was not used (${result}): ${error}")
  endif()
endif()
