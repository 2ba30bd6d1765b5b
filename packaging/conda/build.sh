#!/usr/bin/env bash
# What rattler-build runs for each package of the recipe.
set -euo pipefail

# shellcheck disable=SC2086 # CMAKE_ARGS holds several
cmake -S "${SRC_DIR}" -B build -G Ninja ${CMAKE_ARGS:-} \
  -D CMAKE_BUILD_TYPE=Release \
  -D CMAKE_INSTALL_PREFIX="${PREFIX}" \
  -D CMAKE_INSTALL_LIBDIR=lib \
  -D BUILD_TESTING=OFF \
  -D CUDAMEDIAN_PLAIN_CMAKE=ON \
  -D CUDAMEDIAN_USE_CUDA=OFF \
  -D CUDAMEDIAN_BUILD_BENCHMARKS=OFF \
  -D CUDAMEDIAN_BUILD_PLUGIN=OFF \
  -D CUDAMEDIAN_BUILD_PYTHON=OFF \
  -D CUDAMEDIAN_BUILD_VTK=OFF
cmake --build build --parallel "${CPU_COUNT:-1}"
cmake --install build
