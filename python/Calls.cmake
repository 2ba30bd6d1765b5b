# The module cudamedian._calls: what a call from Python that is like an earlier one does, compiled. The wheel cudamedian
# alone has it, which scikit-build-core makes. From Python 3.12 on one file serves all later versions.
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT})
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(CudaMedianPythonCalls STABLE_ABI NB_STATIC NB_SUPPRESS_WARNINGS NOMINSIZE NB_DOMAIN cudamedian
  ${CMAKE_CURRENT_LIST_DIR}/../wrapping/CudaMedianPythonCalls.cxx)
set_target_properties(CudaMedianPythonCalls PROPERTIES OUTPUT_NAME _calls)
target_compile_options(CudaMedianPythonCalls PRIVATE -Wall -Wextra)
install(TARGETS CudaMedianPythonCalls DESTINATION cudamedian COMPONENT CudaMedianPython EXCLUDE_FROM_ALL)
