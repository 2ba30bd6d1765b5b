# Compiles the kernels of one emitted source for several architectures and looks at what is in each image: every kernel has
# a body, and none has an instruction that the architecture lacks. Kernels once were empty on architectures that another
# packing was chosen for, and what launched them asked the device instead of the image: GPUs newer than the build returned
# memory that nobody had written.
#
# -D NVCC=… -D SOURCE=… -D INCLUDES=a|b -D ARCHITECTURES=75|90
string(REPLACE "|" ";" includes "${INCLUDES}")
string(REPLACE "|" ";" architectures "${ARCHITECTURES}")
list(TRANSFORM includes PREPEND "-I")
foreach(architecture IN LISTS architectures)
  set(ptx "${SOURCE}.${architecture}.ptx")
  execute_process(
    COMMAND ${NVCC} -std=c++17 -ptx -arch=compute_${architecture} ${includes} -o ${ptx} ${SOURCE}
    RESULT_VARIABLE result
    ERROR_VARIABLE error)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${SOURCE} does not compile for ${architecture}: ${error}")
  endif()
  file(READ ${ptx} text)
  # A list of the texts from one kernel to the next. What CMake takes for a list's own signs goes first.
  string(REGEX REPLACE "[][;]" "" text "${text}")
  string(REPLACE ".visible .entry" ";" kernels "${text}")
  list(POP_FRONT kernels)
  list(LENGTH kernels count)
  if(count EQUAL 0)
    message(FATAL_ERROR "${SOURCE} has no kernel for ${architecture}")
  endif()
  foreach(kernel IN LISTS kernels)
    string(REGEX MATCHALL "(min|max)3?\\.[a-z]+[0-9]|(ld|st)\\.global" instructions "${kernel}")
    list(LENGTH instructions length)
    if(length LESS 20)
      string(SUBSTRING "${kernel}" 0 200 name)
      message(FATAL_ERROR "for ${architecture} a kernel has only ${length} comparisons, loads and stores: ${name}")
    endif()
  endforeach()
  if(architecture LESS 80 AND text MATCHES "(min|max)\\.[a-z.]*f16")
    message(FATAL_ERROR "for ${architecture} there is ${CMAKE_MATCH_0}, which comes with sm_80")
  endif()
  if(architecture LESS 90 AND text MATCHES "(min|max)\\.[us]16x2")
    message(FATAL_ERROR "for ${architecture} there is ${CMAKE_MATCH_0}, which comes with sm_90")
  endif()
  if(architecture GREATER_EQUAL 80 AND architecture LESS 90 AND SOURCE MATCHES "_16\\.cu$" AND NOT text MATCHES "(min|max)\\.bf16x2")
    message(FATAL_ERROR "for ${architecture} no pair of 16-bit keys is compared by one instruction")
  endif()
  if(architecture GREATER_EQUAL 90 AND SOURCE MATCHES "_(8|16)\\.cu$" AND NOT text MATCHES "(min|max)\\.[us]16x2")
    message(FATAL_ERROR "for ${architecture} no pair of keys is compared by one instruction")
  endif()
  message(STATUS "${architecture}: ${count} kernels")
endforeach()
