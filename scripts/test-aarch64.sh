#!/usr/bin/env bash
# Compiles the engine and its tests for 64-bit ARM with Debian's cross compiler and runs them under qemu-user: with NEON
# alone, and with SVE at several lengths of its vectors. What is missing is installed. Highway and GoogleTest are built
# from Debian's sources, and ITK is not needed.
#
# usage: scripts/test-aarch64.sh [all]   (all: optimized as users build it, -O1 otherwise; also the tests of programs
#                                         that take minutes under qemu)
#
# build/aarch64   everything: sources, the two libraries (prefix), the engine and its tests (build)
#
# JOBS   parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

selection="${1:-}"
case "${selection}" in
  all)
    slow='^$'
    options=()
    ;;
  # Tests of programs and kernels as data, which yield on all machines what they yield on this one.
  '')
    slow='NetworkChanges\.|KernelPolicy\.|PublishedPrograms\.|(Footprint|Hierarchical)Tiling\.|ProgramLowering\.KeepsTheResult|EveryCoveredWindowOn'
    # Compilers take half as long.
    options=(-DCUDAMEDIAN_QUICK_BUILD=ON "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG")
    ;;
  *) fail "no selection of tests is called ${selection}: all" ;;
esac

install_missing "${aarch64_packages[@]}"

folder="${build_root}/aarch64"
prefix="${folder}/prefix"
build="${folder}/build"
cross=(
  -G Ninja
  -DCMAKE_TOOLCHAIN_FILE="${repository_root}/cmake/toolchains/aarch64-linux-gnu.cmake"
  -DCMAKE_FIND_ROOT_PATH="${prefix}"
  -DCMAKE_PREFIX_PATH="${prefix}"
  -DCMAKE_BUILD_TYPE=Release
)

# build_library <name> <sources> [option...]: cross-compiles a library into the prefix, unless that has been done.
build_library() {
  local name="$1" source="$2"
  shift 2
  if [ -e "${prefix}/.${name}" ]; then
    return
  fi
  say "building ${name} for aarch64"
  cmake -S "${source}" -B "${folder}/${name}" "${cross[@]}" -DCMAKE_INSTALL_PREFIX="${prefix}" "$@"
  ninja -C "${folder}/${name}" -j "${jobs}" install
  touch "${prefix}/.${name}"
}

mkdir -p "${folder}"
get_debian_source highway "${folder}/highway-source"
build_library highway "${folder}/highway-source" -DBUILD_TESTING=OFF -DHWY_ENABLE_CONTRIB=OFF \
  -DHWY_ENABLE_EXAMPLES=OFF -DHWY_ENABLE_TESTS=OFF -DHWY_ENABLE_INSTALL=ON
build_library googletest /usr/src/googletest -DBUILD_GMOCK=OFF

# Programs of one, two and four columns, for narrow and wide keys: more of them show no more, and take minutes each.
cmake -S "${repository_root}" -B "${build}" "${cross[@]}" "${options[@]}" \
  -DCUDAMEDIAN_ENGINE_ONLY=ON -DCUDAMEDIAN_USE_CUDA=OFF -DBUILD_TESTING=ON \
  "-DCUDAMEDIAN_ROW_WINDOWS=1 1 0 0;2 2 0 0;3 3 0 0;1 1 1 0"
targets=(CudaMedianCoreTest CudaMedianProgramTest CudaMedianEngineTest CudaMedianRowProgramsTest CudaMedianThreadTeamTest)
ninja -C "${build}" -j "${jobs}" "${targets[@]}"

# The emulator itself gives up at times where a process forks while its threads run (cpu-exec.c: cpu == current_cpu).
emulator='BackgroundWorker\.AForkHasAWorkerOfItsOwn|KeptThreads\.AForkedProcessHasItsOwn'

# run_tests <processor of qemu> <instruction set of row programs> <CTest's selection>
run_tests() {
  say "tests on qemu's $1: row programs with $2"
  QEMU_CPU="$1" CUDAMEDIAN_EXPECTED_INSTRUCTION_SET="$2" \
    ctest --test-dir "${build}" --output-on-failure -j "${jobs}" --no-tests=error \
    -R "$3" -E "_NOT_BUILT|Rooms|Paths|${emulator}|${slow}"
}

everything='^CudaMedian.*\.'
# What the instruction set makes a difference to.
vectors='^CudaMedian(CpuBackend|Engine|KeyLines|RowPrograms)\.'
programs='^CudaMedian(KeyLines|RowPrograms\.(Yield|Run))'
run_tests cortex-a72 NEON "${everything}"
# 512 bits, as long as a block of keys; then as with 128 and 256 bits, and longer than a block.
run_tests max SVE "${vectors}"
run_tests max,sve-default-vector-length=16 SVE "${programs}"
run_tests max,sve-default-vector-length=32 SVE "${programs}"
run_tests max,sve-default-vector-length=256 SVE "${programs}"
say "built and tested for aarch64, with NEON and SVE"
