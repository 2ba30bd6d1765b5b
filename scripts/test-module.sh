#!/usr/bin/env bash
# Builds the module the ways that need ITK's own sources, and runs tests in each:
#   external  against an ITK build tree, through ITKModuleExternal
#   remote    inside ITK, as a remote module
#   plain     as any other project, with its programs and all of their tests, against an ITK build tree
# Takes long the first time: it builds a minimal ITK, which it keeps outside the checkout.
#
# usage: scripts/test-module.sh [external|remote|plain ...]   (default: the first two)
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

build_remote() {
  local itk_build="${cache}/build-remote${suite:+-${suite}}"
  local remote="${itk_source}/Modules/Remote/CudaMedian"
  say "building ITK with CudaMedian inside it in ${itk_build}"
  ln -sfn "${repository_root}" "${remote}"
  # ITK 6 asks for a description of each folder there. An empty one has nothing fetched over the checkout.
  : >"${remote}.remote.cmake"
  # shellcheck disable=SC2064 # the path as it is now
  trap "rm -f '${remote}' '${remote}.remote.cmake'" EXIT
  cmake -S "${itk_source}" -B "${itk_build}" "${itk_options[@]}" \
    -DBUILD_TESTING=ON -DModule_CudaMedian=ON "${cuda_options[@]}"
  ninja -C "${itk_build}" -j "${jobs}" CudaMedian-all
  ctest --test-dir "${itk_build}" --output-on-failure -j "${jobs}" --no-tests=error -R CudaMedian
}

install_missing "${build_packages[@]}"
find_cuda
get_itk_source "${cache}/source${suite:+-${suite}}" "${suite}"
for way in "${ways[@]}"; do
  case "${way}" in
    external) build_external ;;
    remote) build_remote ;;
    plain) build_plain ;;
    *) fail "unknown way to build: ${way} (external, remote or plain)" ;;
  esac
done
say "built and tested: ${ways[*]}"
