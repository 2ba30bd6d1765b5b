#!/usr/bin/env bash
# Builds the library and its tests without CUDA under sanitizers and runs the tests. The first finding ends the program
# that has it. Optimized a little, with line numbers, and with short row programs: long ones do nothing else, and take
# compilers many minutes with the checks.
#
# usage: scripts/sanitize.sh [threads|address|engine]   (none: threads and address)
#
# build/sanitize          address and undefined behaviour: all tests; as "engine" those that know no ITK alone, one room
#                         of the sources after the other, which takes about half as long
# build/sanitize-threads  threads: the tests that know no ITK, whose own libraries are not instrumented; where the CUDA
#                         toolkit's headers are found, also slabs on devices that are threads of the host
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

install_missing "${build_packages[@]}"

# configure <folder> <sanitizers> [option...]
configure() {
  local build="$1" sanitizers="$2"
  shift 2
  cmake -S "${repository_root}" -B "${build}" -G Ninja \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" \
    -DCUDAMEDIAN_QUICK_BUILD=ON -DCUDAMEDIAN_CAMPAIGN_SECONDS=15 \
    "-DCUDAMEDIAN_ROW_WINDOWS=1 1 0 0;2 2 0 0;3 3 0 0;1 1 1 0" \
    -DCUDAMEDIAN_USE_CUDA=OFF \
    "-DCUDAMEDIAN_SANITIZE=${sanitizers}" \
    -DBUILD_TESTING=ON \
    -DCUDAMEDIAN_BUILD_BENCHMARKS=OFF "$@"
}

test_threads() {
  local build="${build_root}/sanitize-threads" targets program
  configure "${build}" thread -DCUDAMEDIAN_BUILD_EXAMPLES=OFF
  targets=(CudaMedianEngineTest CudaMedianRowProgramsTest CudaMedianThreadTeamTest CudaMedianCoreTest CudaMedianEngineStress)
  if ninja -C "${build}" -t query CudaMedianPipelineOnHostTest >/dev/null 2>&1; then
    targets+=(CudaMedianPipelineOnHostTest CudaMedianEngineStressOnHost)
  fi
  ninja -C "${build}" -j "${jobs}" "${targets[@]}"
  export TSAN_OPTIONS="halt_on_error=1:${TSAN_OPTIONS:-}"
  # Of the slabs' tests those that take seconds there, not minutes.
  ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error \
    -R '^CudaMedian(Engine|RowPrograms|KeyLines|ThreadTeam|SlabDealer)|^OnHost\..*(AFailedCopy|AnAbort|SeveralDevices(Report|Allocate|ShareTheSlabs)|WhenOneOf)'
  # Threads that abort and start again, on the CPU and on devices that are threads of the host; the seeds are fresh ones.
  for program in "${targets[@]}"; do
    case "${program}" in
      CudaMedianEngineStress) "${build}/test/fuzz/${program}" --seconds 30 ;;
      CudaMedianEngineStressOnHost) "${build}/test/fuzz/${program}" --seconds 30 --devices 0,1 --new-windows 5 ;;
    esac
  done
}

configure_addresses() {
  configure "${build_root}/sanitize" address,undefined -DCUDAMEDIAN_BUILD_EXAMPLES=ON
  export ASAN_OPTIONS="detect_leaks=1:abort_on_error=0:${ASAN_OPTIONS:-}"
  export LSAN_OPTIONS="suppressions=${repository_root}/test/leak-suppressions.txt:print_suppressions=0:${LSAN_OPTIONS:-}"
  export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1:${UBSAN_OPTIONS:-}"
}

test_addresses() {
  configure_addresses
  ninja -C "${build_root}/sanitize" -j "${jobs}"
  ctest --test-dir "${build_root}/sanitize" --output-on-failure -j "${jobs}" --no-tests=error
}

test_engine() {
  local build="${build_root}/sanitize" room
  configure_addresses
  for room in core cpu program plan algorithm cuda; do
    ninja -C "${build}" -j "${jobs}" "test/${room}/all"
    ctest --test-dir "${build}/test/${room}" --output-on-failure -j "${jobs}" --no-tests=error
    say "no finding in ${room}"
  done
}

case "${1:-both}" in
  threads) test_threads ;;
  address) test_addresses ;;
  engine) test_engine ;;
  both)
    test_threads
    test_addresses
    ;;
  *) fail "scripts/sanitize.sh: $1 is neither threads, address nor engine" ;;
esac
say "no finding"
