#!/usr/bin/env bash
# Builds the module the ways that need ITK's own sources, and runs tests in each:
#   external  against an ITK build tree, through ITKModuleExternal
#   remote    inside ITK, as a remote module
#   plain     as any other project, with its programs and all of their tests, against an ITK build tree
#   wrapped   inside ITK 5.4 or later that wraps its modules for Python, this one among them; runs Python's tests
# Takes long the first time: it builds a minimal ITK, which it keeps outside the checkout. Wrapped, it takes hours.
#
# usage: scripts/test-module.sh [external|remote|plain|wrapped ...]   (default: the first two)
#
# CUDAMEDIAN_ITK_CACHE   where ITK's sources and build trees are kept (default: ~/.cache/cudamedian-itk)
# CUDAMEDIAN_ITK_SOURCE  ITK's sources (default: the source package of a Debian suite)
# CUDAMEDIAN_ITK_SUITE   Debian suite to take the source package from (default: that of this system)
# JOBS                   parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

cache="${CUDAMEDIAN_ITK_CACHE:-${XDG_CACHE_HOME:-${HOME}/.cache}/cudamedian-itk}"
suite="${CUDAMEDIAN_ITK_SUITE:-}"
ways=("$@")
if [ "${#ways[@]}" -eq 0 ]; then
  ways=(external remote)
fi

# With testing on, ITK would download style checkers at build time, and one of them would rewrite the checkout.
no_style_tools=(
  -DITK_FORBID_DOWNLOADS=ON
  -DITK_USE_KWSTYLE=OFF
  -DITK_USE_CLANG_FORMAT=OFF
  -DITK_USE_CLANGFORMAT=OFF
)

# What both ways build of ITK: the few modules that CudaMedian and its tests depend on (about 790 compile steps).
itk_options=(
  -G Ninja
  -DCMAKE_BUILD_TYPE=Release
  -DBUILD_SHARED_LIBS=ON
  -DBUILD_EXAMPLES=OFF
  -DBUILD_DOCUMENTATION=OFF
  -DITK_BUILD_DEFAULT_MODULES=OFF
  -DITKGroup_Core=OFF
  -DITK_USE_SYSTEM_GOOGLETEST=ON
  "${no_style_tools[@]}"
)

# build_minimal_itk <module>...: builds a minimal ITK in itk_build. Modules that an earlier run asked for stay in it.
build_minimal_itk() {
  say "building the minimal ITK in ${itk_build}"
  cmake -S "${itk_source}" -B "${itk_build}" "${itk_options[@]}" -DBUILD_TESTING=OFF "${@/%/=ON}"
  ninja -C "${itk_build}" -j "${jobs}"
}

build_external() {
  local itk_build="${cache}/build${suite:+-${suite}}" build="${build_root}/module-external"
  build_minimal_itk -DModule_ITKSmoothing -DModule_ITKGoogleTest
  say "building CudaMedian as an external module in ${build}"
  # ITK's conventions put the module's library and description into ITK's build tree.
  cmake -S "${repository_root}" -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DITK_DIR="${itk_build}" -DBUILD_TESTING=ON "${no_style_tools[@]}" "${cuda_options[@]}"
  ninja -C "${build}" -j "${jobs}"
  ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error
}

build_plain() {
  local itk_build="${cache}/build${suite:+-${suite}}" build="${build_root}/module-plain${suite:+-${suite}}" formats=()
  mapfile -t formats < <(printf -- '-DModule_ITKIO%s\n' BMP BioRad GDCM GIPL HDF5 JPEG JPEG2000 Meta MINC MRC NIFTI NRRD PNG TIFF VTK)
  build_minimal_itk -DModule_ITKSmoothing -DModule_ITKImageNoise -DModule_ITKMathematicalMorphology -DModule_ITKVTK \
    "${formats[@]}"
  say "building CudaMedian as any other project in ${build}"
  configure_tests "${build}" -DCUDAMEDIAN_PLAIN_CMAKE=ON -DITK_DIR="${itk_build}" -DCUDAMEDIAN_BUILD_BENCHMARKS=OFF \
    -DCUDAMEDIAN_QUICK_BUILD=ON -DCUDAMEDIAN_CAMPAIGN_SECONDS=15
  ninja -C "${build}" -j "${jobs}"
  ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error
}

# Makes the checkout one of ITK's remote modules, until the script ends.
link_checkout() {
  local remote="${itk_source}/Modules/Remote/CudaMedian"
  ln -sfn "${repository_root}" "${remote}"
  # ITK 6 asks for a description of each folder there. An empty one has nothing fetched over the checkout.
  : >"${remote}.remote.cmake"
  # shellcheck disable=SC2064 # the path as it is now
  trap "rm -f '${remote}' '${remote}.remote.cmake'" EXIT
}

build_remote() {
  local itk_build="${cache}/build-remote${suite:+-${suite}}"
  say "building ITK with CudaMedian inside it in ${itk_build}"
  link_checkout
  cmake -S "${itk_source}" -B "${itk_build}" "${itk_options[@]}" \
    -DBUILD_TESTING=ON -DModule_CudaMedian=ON "${cuda_options[@]}"
  ninja -C "${itk_build}" -j "${jobs}" CudaMedian-all
  ctest --test-dir "${itk_build}" --output-on-failure -j "${jobs}" --no-tests=error -R CudaMedian
}

# ITK's own modules and this one in one build, with the pixel types of a wheel. That of 5.4.7 and
# later lets other threads of Python run in each method (ITK_PYTHON_RELEASE_GIL). Only this module's library is optimized.
build_wrapped() {
  local itk_build="${cache}/build-wrapped${suite:+-${suite}}" tools="${cache}/wrapping-tools"
  find_python
  install_wrapping_tools "${tools}"
  say "building ITK that wraps its modules, and CudaMedian inside it, in ${itk_build}"
  link_checkout
  mkdir -p "${itk_build}"
  printf 'set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")\n' >"${itk_build}/OptimizeModule.cmake"
  PATH="${tools}/bin:${PATH}" cmake -S "${itk_source}" -B "${itk_build}" "${itk_options[@]}" -DBUILD_TESTING=OFF \
    -DCMAKE_CXX_FLAGS_RELEASE="-O0 -DNDEBUG" -DCMAKE_PROJECT_CudaMedian_INCLUDE="${itk_build}/OptimizeModule.cmake" \
    -DModule_CudaMedian=ON -DModule_ITKBridgeNumPy=ON -DModule_ITKMathematicalMorphology=ON "-DCUDAMEDIAN_ROW_WINDOWS=1 1 0 0" \
    -DITK_WRAP_PYTHON=ON -DITK_WRAP_unsigned_short=ON -DITK_WRAP_double=ON -DITK_WRAP_complex_float=OFF \
    "-DITK_WRAP_IMAGE_DIMS=2;3" -DITK_USE_PYTHON_LIMITED_API=ON -DITK_LEGACY_SILENT=ON \
    -DITK_USE_SYSTEM_SWIG=ON -DITK_USE_SYSTEM_CASTXML=ON -DPython3_EXECUTABLE="${tools}/bin/python" "${cuda_options[@]}"
  PATH="${tools}/bin:${PATH}" ninja -C "${itk_build}" -j "${jobs}"
  find_environment engine "${repository_root}/scripts/engine-requirements.txt"
  [ -n "${environment_python}" ] || fail "PyPI's packages of scripts/engine-requirements.txt could not be installed"
  PYTHONPATH="${itk_build}/Wrapping/Generators/Python:${repository_root}/python" CUDAMEDIAN_REQUIRE_ITK=1 \
    "${environment_python}" -m pytest -p no:cacheprovider --durations=5 "${repository_root}"/test/python/test_itk_*.py
}

install_missing "${build_packages[@]}"
find_cuda
get_itk_source "${cache}/source${suite:+-${suite}}" "${suite}"
for way in "${ways[@]}"; do
  case "${way}" in
    external) build_external ;;
    remote) build_remote ;;
    wrapped) build_wrapped ;;
    plain) build_plain ;;
    *) fail "unknown way to build: ${way} (external, remote, plain or wrapped)" ;;
  esac
done
say "built and tested: ${ways[*]}"
