#!/usr/bin/env bash
# Builds the library and the engine's tests without CUDA and ITK, once with each compiler named, and runs these tests. A
# warning is an error. What is missing is installed.
#
# cuda-12 stands for kernels with what PyPI has of CUDA 12 (scripts/cuda12-requirements.txt), which is no nvcc: NVRTC
# compiles the kernels of first use, and Clang with CUDA's headers and ptxas emitted kernels and kernel files for sm_80
# and sm_90. It needs no GPU.
#
# usage: scripts/test-compilers.sh [compiler...]   (default: g++-12 clang++-14 clang++-19 cuda-12)
#
# build/compilers/<compiler>   what it builds
#
# CUDAMEDIAN_COMPILERS_ALL=1   all that there is to build, against Debian's ITK: ten times as long
# CUDAMEDIAN_ROW_WINDOWS       CPU programs to compile ahead (default: "1 1 0 0"; empty: all, which takes long)
# JOBS                         parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

compilers=("$@")
if [ "${#compilers[@]}" -eq 0 ]; then
  compilers=(g++-12 clang++-14 clang++-19 cuda-12)
fi
targets=(CudaMedianCoreTest CudaMedianProgramTest CudaMedianEngineTest CudaMedianRowProgramsTest CudaMedianThreadTeamTest)
options=(-G Ninja -DCMAKE_BUILD_TYPE=Release -DCUDAMEDIAN_USE_CUDA=OFF -DBUILD_TESTING=ON)

# Builds and tests with a compiler for the host.
test_compiler() {
  local compiler="$1" package cc build flags=-Werror built=("${targets[@]}") engine_only=ON
  # clang++-14 is in the package clang-14, g++-12 in one of its own name.
  case "${compiler}" in
    clang++*) package="clang${compiler#clang++}" ;;
    *) package="${compiler}" ;;
  esac
  install_missing "${build_packages[@]}" "${package}"
  cc="${compiler/clang++/clang}"
  cc="${cc/g++/gcc}"
  build="${build_root}/compilers/${compiler}"
  case "${compiler}" in
    clang++-14) ;;
    # std::stable_sort of GCC 12's library, which tests use, calls what newer Clang warns of.
    clang++*) flags="${flags} -Wno-deprecated-declarations" ;;
  esac
  if [ -n "${CUDAMEDIAN_COMPILERS_ALL:-}" ]; then
    engine_only=OFF
    built=(all)
  fi
  say "building with ${compiler}: $("${compiler}" --version | head -n 1)"
  cmake -S "${repository_root}" -B "${build}" "${options[@]}" \
    -DCMAKE_C_COMPILER="${cc}" -DCMAKE_CXX_COMPILER="${compiler}" -DCMAKE_CXX_FLAGS="${flags}" \
    -DCUDAMEDIAN_ENGINE_ONLY="${engine_only}" "-DCUDAMEDIAN_ROW_WINDOWS=${CUDAMEDIAN_ROW_WINDOWS-1 1 0 0}"
  ninja -C "${build}" -j "${jobs}" "${built[@]}"
  ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error -E '_NOT_BUILT|Rooms' \
    -R '^CudaMedian(Key|Pixel|DivideUp|Window|SlabDealer|Hierarchical|KernelPolicy|Program|TileProgram|RegisterPlan|Sorting|ZeroOne|Engine|CpuBackend|Host|RowPrograms|ThreadTeam)[A-Za-z]*\.'
}

# Makes a folder in the form of a CUDA toolkit out of PyPI's packages.
make_toolkit() {
  local packages="$1" toolkit="$2" package
  rm -rf "${toolkit}"
  mkdir -p "${toolkit}"/{bin,include,lib64,nvvm}
  for package in cuda_runtime cuda_nvcc cuda_cccl; do
    cp --recursive --symbolic-link --no-clobber "${packages}/${package}/include/." "${toolkit}/include/"
  done
  cp --recursive --symbolic-link "${packages}/cuda_nvcc/bin/." "${toolkit}/bin/"
  cp --recursive --symbolic-link "${packages}/cuda_nvcc/nvvm/." "${toolkit}/nvvm/"
  # Under the name that the library looks for first: this machine may have a newer one.
  ln -s "${packages}/cuda_nvrtc/lib/libnvrtc.so.12" "${toolkit}/lib64/libnvrtc.so.13"
  cp --recursive --symbolic-link "${packages}"/cuda_nvrtc/lib/libnvrtc-builtins.so.* "${toolkit}/lib64/"
}

# compile_kernels <toolkit> <build folder> <source>: with Clang, to machine code of each architecture.
compile_kernels() {
  local toolkit="$1" build="$2" source="$3" architecture folder rooms=()
  while read -r folder; do
    rooms+=("-I${folder}")
  done < <(find "${repository_root}/src" -type d)
  for architecture in 80 90; do
    # Clang 19 warns of CUDA after 12.3 and does not know __grid_constant__, which saves a copy of the arguments.
    # Its own headers of CUDA would be those of another toolkit where /usr/local/include has some.
    clang++-19 -x cuda -std=c++17 -O2 -Wall -Wextra -Werror -Wno-unknown-cuda-version -Wno-unknown-attributes \
      --cuda-path="${toolkit}" -isystem "${toolkit}/include" --cuda-gpu-arch="sm_${architecture}" --cuda-device-only \
      "${rooms[@]}" -I"${repository_root}/include" -I"${build}/src/include" \
      -c "${source}" -o "${build}/kernels/$(basename "${source}" .cu).sm_${architecture}.cubin"
    say "$(basename "${source}") compiles for sm_${architecture} with $("${toolkit}/bin/ptxas" --version | grep -o 'release [0-9.]*')"
  done
}

test_cuda() {
  local build="${build_root}/compilers/cuda-12" toolkit packages bytes source
  toolkit="${build}/toolkit"
  install_missing "${build_packages[@]}" clang-19
  find_environment cuda12 "${repository_root}/scripts/cuda12-requirements.txt"
  [ -n "${environment_python}" ] || fail "PyPI's packages of CUDA 12 could not be installed"
  packages="$("${environment_python}" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia"
  say "building the tests of kernels"
  cmake -S "${repository_root}" -B "${build}" "${options[@]}" -DCUDAMEDIAN_ENGINE_ONLY=ON \
    "-DCUDAMEDIAN_ROW_WINDOWS=1 1 0 0"
  ninja -C "${build}" -j "${jobs}" CudaMedianRuntimeKernelsTest CudaMedianEmitPrograms
  make_toolkit "${packages}" "${toolkit}"
  say "compiling the kernels of first use with NVRTC"
  CUDAMEDIAN_EXPECTED_NVRTC=12.4 CUDAMEDIAN_REQUIRE_GPU=1 LD_LIBRARY_PATH="${toolkit}/lib64" \
    "${build}/test/cuda/CudaMedianRuntimeKernelsTest" --gtest_filter='CudaMedianRuntimeCompiler.*'
  mkdir -p "${build}/kernels"
  for bytes in 1 2 4 8; do
    source="${build}/kernels/TileProgram_3x3_${bytes}.cu"
    "${build}/src/CudaMedianEmitPrograms" 1 1 0 0 "${bytes}" 80,90 "${source}"
    compile_kernels "${toolkit}" "${build}" "${source}"
  done
  # Those of histograms and ranks need more of CUB than PyPI's package of this release has.
  for source in tile/InterpretedTile selection/SelectionKernel merge/MergeKernels; do
    compile_kernels "${toolkit}" "${build}" "${repository_root}/src/algorithm/${source}.cu"
  done
}

for compiler in "${compilers[@]}"; do
  case "${compiler}" in
    cuda-12) test_cuda ;;
    *) test_compiler "${compiler}" ;;
  esac
done
say "built without a warning, and tests passed: ${compilers[*]}"
