#!/usr/bin/env bash
# Builds the library and its tests without CUDA, against Debian's ITK, once with each compiler named, and runs the tests of
# the engine. A warning is an error. What is missing is installed.
#
# usage: scripts/test-compilers.sh [compiler...]   (default: g++-12 clang++-14 clang++-19)
#
# build/compilers/<compiler>   what it builds
#
# CUDAMEDIAN_COMPILERS_ENGINE_ONLY=1   only the engine and its tests, without ITK: a tenth of the time
# CUDAMEDIAN_ROW_WINDOWS               CPU programs to compile ahead (default: all), such as "1 1 0 0;2 2 0 0"
# JOBS                                 parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

compilers=("$@")
if [ "${#compilers[@]}" -eq 0 ]; then
  compilers=(g++-12 clang++-14 clang++-19)
fi
targets=(CudaMedianCoreTest CudaMedianProgramTest CudaMedianEngineTest CudaMedianRowProgramsTest CudaMedianThreadTeamTest)
options=(
  -DCMAKE_BUILD_TYPE=Release
  -DCUDAMEDIAN_USE_CUDA=OFF
  -DBUILD_TESTING=ON
  "-DCUDAMEDIAN_ROW_WINDOWS=${CUDAMEDIAN_ROW_WINDOWS:-}"
)
if [ -n "${CUDAMEDIAN_COMPILERS_ENGINE_ONLY:-}" ]; then
  options+=(-DCUDAMEDIAN_ENGINE_ONLY=ON)
else
  targets=(all)
fi

for compiler in "${compilers[@]}"; do
  # clang++-14 is in the package clang-14, g++-12 in one of its own name.
  case "${compiler}" in
    clang++*) package="clang${compiler#clang++}" ;;
    *) package="${compiler}" ;;
  esac
  install_missing "${build_packages[@]}" "${package}"
  cc="${compiler/clang++/clang}"
  cc="${cc/g++/gcc}"
  build="${build_root}/compilers/${compiler}"
  flags=-Werror
  case "${compiler}" in
    clang++-14) ;;
    # std::stable_sort of GCC 12's library, which tests use, calls what newer Clang warns of.
    clang++*) flags="${flags} -Wno-deprecated-declarations" ;;
  esac
  say "building with ${compiler}: $("${compiler}" --version | head -n 1)"
  cmake -S "${repository_root}" -B "${build}" -G Ninja \
    -DCMAKE_C_COMPILER="${cc}" -DCMAKE_CXX_COMPILER="${compiler}" -DCMAKE_CXX_FLAGS="${flags}" "${options[@]}"
  ninja -C "${build}" -j "${jobs}" "${targets[@]}"
  ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error -E '_NOT_BUILT|Rooms' \
    -R '^CudaMedian(Key|Pixel|DivideUp|Window|SlabDealer|Hierarchical|KernelPolicy|Program|TileProgram|RegisterPlan|Sorting|ZeroOne|Engine|CpuBackend|Host|RowPrograms|ThreadTeam)[A-Za-z]*\.'
done
say "built without a warning, and tests of the engine passed: ${compilers[*]}"
