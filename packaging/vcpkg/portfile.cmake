# An overlay port beside its sources: vcpkg install cudamedian --overlay-ports=packaging/vcpkg. A port of vcpkg's registry
# would get the sources of a release by vcpkg_from_github() instead.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    cuda CUDAMEDIAN_USE_CUDA
    tools CUDAMEDIAN_BUILD_EXAMPLES)

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" SHARED)

vcpkg_cmake_configure(
  SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS
    ${FEATURE_OPTIONS}
    -DBUILD_SHARED_LIBS=${SHARED}
    -DBUILD_TESTING=OFF
    -DCUDAMEDIAN_PLAIN_CMAKE=ON
    -DCUDAMEDIAN_BUILD_BENCHMARKS=OFF
    -DCUDAMEDIAN_BUILD_PLUGIN=OFF
    -DCUDAMEDIAN_BUILD_PYTHON=OFF
    -DCUDAMEDIAN_BUILD_VTK=OFF
  OPTIONS_DEBUG
    -DCUDAMEDIAN_BUILD_EXAMPLES=OFF)

vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME CudaMedian CONFIG_PATH lib/cmake/CudaMedian)
vcpkg_copy_pdbs()
if("tools" IN_LIST FEATURES)
  set(tools CudaMedianImageFilter)
  if("cuda" IN_LIST FEATURES)
    list(APPEND tools CudaMedianWarmUp)
  endif()
  vcpkg_copy_tools(TOOL_NAMES ${tools} AUTO_CLEAN)
endif()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
