#!/usr/bin/env bash
# Installs what is missing, builds everything in build/test and runs all tests, ending with CTest's summary; then makes
# and tests the wheel cudamedian of what has been built, and beside that compiles and tests the engine for 64-bit ARM,
# emulated. A warning is an error. Programs and tests are optimized less than those that users build. CPU programs that
# take long to compile are interpreted. Where there is no GPU, one kernel of each kind is compiled, and the largest are
# optimized less.
#
# CUDAMEDIAN_CUDA_ARCHITECTURES   GPU architectures to compile for (default: those of the GPUs at hand, else 90)
# CUDAMEDIAN_REQUIRE_GPU=1        a test that finds no GPU fails instead of being skipped
# CUDAMEDIAN_TEST_AARCH64=OFF     leaves out the engine on 64-bit ARM
# CUDAMEDIAN_TEST_ITK_WHEEL=ON    also builds a wheel itk-cudamedian, optimized little, and tests what needs ITK. The first
#                                 time that compiles an ITK, which takes an hour
set -euo pipefail
scripts="$(dirname "$0")"
# shellcheck source=scripts/common.sh
source "${scripts}/common.sh"

build="${build_root}/test"
quick=(
  -DCUDAMEDIAN_QUICK_BUILD=ON -DCUDAMEDIAN_LONG_ROW_PROGRAMS=OFF -DCUDAMEDIAN_CAMPAIGN_SECONDS=15
  -DCMAKE_COMPILE_WARNING_AS_ERROR=ON
)
if ! command -v nvidia-smi >/dev/null; then
  quick+=(-DCUDAMEDIAN_QUICK_KERNELS=ON "-DCUDAMEDIAN_WINDOWS_AHEAD=1 1 0 0 8;2 2 0 0 8;5 5 0 0 2;1 1 1 0 8;2 2 1 0 4;cross 1 1 0 0 8;ellipsoid 2 2 2 0 4")
fi
tests_aarch64=true
[ "${CUDAMEDIAN_TEST_AARCH64:-ON}" != OFF ] || tests_aarch64=false

# Waits for what was started beside the rest, and prints what it wrote.
finish() {
  local status=0
  wait "$1" || status="$?"
  cat "$2"
  return "${status}"
}

trap 'jobs -p | xargs --no-run-if-empty kill 2>/dev/null || true' EXIT
install_missing "${build_packages[@]}" "${vtk_packages[@]}"
if "${tests_aarch64}"; then
  install_missing "${aarch64_packages[@]}"
fi
find_cuda
find_slicer_environment
mkdir -p "${build_root}"
# PyPI's packages for the wheel come meanwhile. Where they do not, scripts/wheel.sh tries again, and fails.
(find_environment engine "${scripts}/engine-requirements.txt") &>"${build_root}/engine-environment.log" &
environment="$!"

"${scripts}/style.sh"

configure_tests "${build}" "${quick[@]}"
SECONDS=0
ninja -C "${build}" -j "${jobs}"
say "the build took ${SECONDS} s"
SECONDS=0
# Some tests wait for files and for other programs most of the time.
if ! ctest --test-dir "${build}" --output-on-failure -j "$((jobs + 2))"; then
  # What they say stands last then, and tells a test that fails always from one that fails beside others.
  say "once more what failed, by itself; whatever comes of it, this run has failed"
  ctest --test-dir "${build}" --output-on-failure --rerun-failed || true
  fail "tests failed"
fi
say "its tests took ${SECONDS} s"

finish "${environment}" "${build_root}/engine-environment.log"
# Python's tests leave all cores but one to the compiler.
if "${tests_aarch64}"; then
  "${scripts}/test-aarch64.sh" &>"${build_root}/aarch64.log" &
  aarch64="$!"
fi
"${scripts}/wheel.sh" --engine --test --from "${build}"
if [ "${CUDAMEDIAN_TEST_ITK_WHEEL:-OFF}" = ON ]; then
  # With the CPU backend alone: the kernels have been compiled and tested above.
  CUDAMEDIAN_USE_CUDA=OFF "${scripts}/wheel.sh" --quick --test
else
  say "the wheel itk-cudamedian left out: scripts/wheel.sh --test makes and tests it"
fi
if "${tests_aarch64}"; then
  finish "${aarch64}" "${build_root}/aarch64.log"
else
  say "CUDAMEDIAN_TEST_AARCH64=OFF: the engine on 64-bit ARM left out"
fi
