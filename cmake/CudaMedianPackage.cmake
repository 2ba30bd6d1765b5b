# What makes find_package(CudaMedian) work, from the build tree and after `cmake --install`.
include(CMakePackageConfigHelpers)

set(CudaMedian_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/CudaMedian)
set(CudaMedian_HEADER_DIR ${CMAKE_INSTALL_INCLUDEDIR}/CudaMedian)

target_include_directories(CudaMedian PUBLIC $<INSTALL_INTERFACE:${CudaMedian_HEADER_DIR}>)
install(TARGETS CudaMedian EXPORT CudaMedianTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${CudaMedian_SOURCE_DIR}/include/ DESTINATION ${CudaMedian_HEADER_DIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.hxx")
install(FILES ${CudaMedian_BINARY_DIR}/src/include/CudaMedianExport.h DESTINATION ${CudaMedian_HEADER_DIR})
install(EXPORT CudaMedianTargets NAMESPACE CudaMedian:: DESTINATION ${CudaMedian_PACKAGE_DIR})
export(EXPORT CudaMedianTargets NAMESPACE CudaMedian:: FILE ${CudaMedian_BINARY_DIR}/CudaMedianTargets.cmake)

# A static library leaves it to its users to link the CUDA runtime and Highway.
set(CudaMedian_NEEDS_CUDA_TOOLKIT OFF)
set(CudaMedian_NEEDS_HIGHWAY OFF)
if(NOT BUILD_SHARED_LIBS)
  set(CudaMedian_NEEDS_CUDA_TOOLKIT ${CUDAMEDIAN_HAS_CUDA})
  get_target_property(CudaMedian_linked CudaMedian LINK_LIBRARIES)
  if("hwy::hwy" IN_LIST CudaMedian_linked)
    set(CudaMedian_NEEDS_HIGHWAY ON)
  endif()
endif()
# The same file serves both places: what it includes lies beside it.
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/CudaMedianConfig.cmake.in
  ${CudaMedian_BINARY_DIR}/CudaMedianConfig.cmake
  INSTALL_DESTINATION ${CudaMedian_PACKAGE_DIR}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${CudaMedian_BINARY_DIR}/CudaMedianConfigVersion.cmake
  VERSION ${PROJECT_VERSION}
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CudaMedian_BINARY_DIR}/CudaMedianConfig.cmake
  ${CudaMedian_BINARY_DIR}/CudaMedianConfigVersion.cmake
  DESTINATION ${CudaMedian_PACKAGE_DIR})
