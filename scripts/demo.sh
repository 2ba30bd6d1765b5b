#!/usr/bin/env bash
# Installs what is missing, builds the command line program and filters a real head scan with it: prints what ran, the
# time against ITK's own filter and the number of voxels that differ, and writes build/demo/head.png.
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

install_missing "${build_packages[@]}"
find_cuda
find_head_scan

build="${build_root}/demo"
cmake -S "${repository_root}" -B "${build}" -G Ninja \
  -DCMAKE_BUILD_TYPE=Release \
  -DBUILD_TESTING=OFF \
  -DCUDAMEDIAN_BUILD_EXAMPLES=ON \
  -DCUDAMEDIAN_BUILD_BENCHMARKS=OFF \
  "${cuda_options[@]}"
ninja -C "${build}" -j "${jobs}"

say "noisy, filtered and difference slices"
"${build}/examples/CudaMedianFigure" --radius 1 "${head_scan}" "${build}/head.png"
say "written: ${build}/head.png"
say "the head scan, radius 1"
"${build}/examples/CudaMedianImageFilter" --radius 1 --report --verify "${head_scan}" "${build}/head-median.nii.gz"
