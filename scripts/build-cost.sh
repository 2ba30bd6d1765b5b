#!/usr/bin/env bash
# Builds the library alone, then everything, from nothing in build/cost, and reports the times and the library's size.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

install_missing "${build_packages[@]}"
find_cuda

build="${build_root}/cost"
rm -rf "${build}"
cmake -S "${repository_root}" -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=Release "${cuda_options[@]}"
SECONDS=0
ninja -C "${build}" -j "${jobs}" CudaMedian
library_seconds="${SECONDS}"
ninja -C "${build}" -j "${jobs}"
all_seconds="${SECONDS}"
library="$(find "${build}/src" -maxdepth 1 -type f -name 'libCudaMedian.so.*')"
stripped="${build}/libCudaMedian.stripped"
strip --strip-unneeded -o "${stripped}" "${library}"

say "cores: $(nproc)"
say "library alone: ${library_seconds} s"
say "library, examples, benchmark and tests: ${all_seconds} s"
say "library: $(stat --format=%s "${library}") bytes, stripped $(stat --format=%s "${stripped}") bytes"
