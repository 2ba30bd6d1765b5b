#!/usr/bin/env bash
# Installs what is missing, builds everything in build/test and runs all tests, ending with CTest's summary; then makes
# and tests the wheel cudamedian of what has been built; then builds and tests the wheel itk-cudamedian, when the cache has
# the ITK that scripts/wheel.sh makes for it, and says so when not; and last the engine on 64-bit ARM, emulated.
#
# CUDAMEDIAN_CUDA_ARCHITECTURES   GPU architectures to compile for (default: those of the GPUs at hand, else 90)
# CUDAMEDIAN_REQUIRE_GPU=1        a test that finds no GPU fails instead of being skipped
# CUDAMEDIAN_TEST_AARCH64=OFF     leaves out the engine on 64-bit ARM
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

install_missing "${build_packages[@]}" "${vtk_packages[@]}"
find_cuda
find_slicer_environment

"$(dirname "$0")/style.sh"

build="${build_root}/test"
configure_tests "${build}" -DCUDAMEDIAN_QUICK_BUILD=ON
ninja -C "${build}" -j "${jobs}"
ctest --test-dir "${build}" --output-on-failure -j "${jobs}"
"$(dirname "$0")/wheel.sh" --engine --test --from "${build}"
# With the CPU backend alone: the kernels have been compiled and tested above.
CUDAMEDIAN_USE_CUDA=OFF "$(dirname "$0")/wheel.sh" --test --require-cache
if [ "${CUDAMEDIAN_TEST_AARCH64:-ON}" = OFF ]; then
  say "CUDAMEDIAN_TEST_AARCH64=OFF: the engine on 64-bit ARM left out"
else
  "$(dirname "$0")/test-aarch64.sh"
fi
