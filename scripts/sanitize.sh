#!/usr/bin/env bash
# Builds the library and its tests without CUDA under the address and undefined-behaviour sanitizers in build/sanitize
# and runs the tests. The first finding of either sanitizer ends the program that has it.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

install_missing "${build_packages[@]}"

build="${build_root}/sanitize"
cmake -S "${repository_root}" -B "${build}" -G Ninja \
  -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCUDAMEDIAN_USE_CUDA=OFF \
  -DCUDAMEDIAN_SANITIZE=address,undefined \
  -DBUILD_TESTING=ON \
  -DCUDAMEDIAN_BUILD_EXAMPLES=ON \
  -DCUDAMEDIAN_BUILD_BENCHMARKS=OFF
ninja -C "${build}" -j "${jobs}"

export ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:${ASAN_OPTIONS:-}"
export LSAN_OPTIONS="suppressions=${repository_root}/test/leak-suppressions.txt:print_suppressions=0:${LSAN_OPTIONS:-}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}"
ctest --test-dir "${build}" --output-on-failure -j "${jobs}"
