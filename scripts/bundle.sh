#!/usr/bin/env bash
# Packs the test programs, those of the campaign (test/fuzz), the benchmark and the command line program with the shared
# libraries they need into one folder that runs on another x86-64 Linux machine with an NVIDIA driver, a glibc no older than this machine's, and
# nothing else installed.
#
# usage: scripts/bundle.sh [folder]   (default: .bundle in the checkout)
#
# On the other machine: CUDAMEDIAN_REQUIRE_GPU=1 folder/run-tests.sh
#                       CUDAMEDIAN_REQUIRE_GPU=1 folder/run CudaMedianFuzz --seconds 600
# CUDAMEDIAN_CUDA_ARCHITECTURES   GPU architectures to compile for (default: those of the GPUs at hand, else 90)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

folder="${1:-${repository_root}/.bundle}"
build="${build_root}/test"

install_missing "${build_packages[@]}" binutils
find_cuda
find_head_scan
configure_tests "${build}"
ninja -C "${build}" -j "${jobs}"

# Only a folder that this script made, or an empty one, is replaced.
if [ -e "${folder}" ] && [ ! -e "${folder}/run-tests.sh" ] && [ -n "$(ls -A "${folder}")" ]; then
  fail "${folder} exists and is no bundle"
fi
rm -rf "${folder}"
mkdir -p "${folder}/bin" "${folder}/lib" "${folder}/data"

# Devices that are threads of the host need no GPU machine.
mapfile -t programs < <(find "${build}" -type f -executable \
  \( -path "${build}/test/*/CudaMedian*Test" -o -path "${build}/test/fuzz/CudaMedian*" \
  -o -path "${build}/benchmark/CudaMedian*" \
  -o -path "${build}/examples/CudaMedian*" \) \
  -not -path '*/CMakeFiles/*' -not -path '*/package/*' -not -name '*.*' -not -name '*OnHost*')
[ "${#programs[@]}" -gt 0 ] || fail "no programs under ${build}"
cp "${programs[@]}" "${folder}/bin/"
cp "${head_scan}" "${folder}/data/"

# The C library belongs to the target machine, and so does the driver.
target_owns='^(linux-vdso|ld-linux.*|libc|libm|libmvec|libpthread|libdl|librt|libresolv|libutil|libanl|libnsl|libcuda|libnvidia-.*)\.so'
unresolved="$(ldd "${programs[@]}" | grep 'not found' || true)"
[ -z "${unresolved}" ] || fail "shared libraries not found here: ${unresolved}"
ldd "${programs[@]}" | sed -nE 's/^[[:space:]]+(\S+) => (\/\S+) .*/\1 \2/p' | sort -u |
  while read -r name path; do
    if ! [[ "${name}" =~ ${target_owns} ]]; then
      cp --dereference "${path}" "${folder}/lib/${name}"
    fi
  done
chmod u+w "${folder}"/lib/* "${folder}"/bin/*
strip --strip-unneeded "${folder}"/lib/* "${folder}"/bin/*

cat >"${folder}/run-tests.sh" <<'RUN'
#!/usr/bin/env bash
# Runs every test program of this folder; fails if one does. Arguments go to each of them (--gtest_filter=...).
# CUDAMEDIAN_REQUIRE_GPU=1: a test that finds no GPU fails instead of being skipped.
# CUDAMEDIAN_RUNNER: put before each program, for example "compute-sanitizer --tool memcheck --error-exitcode 1".
set -u
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export LD_LIBRARY_PATH="${here}/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
export CUDAMEDIAN_COMMAND_LINE_PROGRAM="${here}/bin/CudaMedianImageFilter"
failed=()
ran=0
for program in "${here}"/bin/*Test; do
  echo "== $(basename "${program}")"
  # shellcheck disable=SC2086 # the runner is a command with its arguments
  ${CUDAMEDIAN_RUNNER:-} "${program}" --gtest_brief=1 "$@" || failed+=("$(basename "${program}")")
  ran=$((ran + 1))
done
if [ "${ran}" -eq 0 ]; then
  echo "no test programs in ${here}/bin" >&2
  exit 1
fi
if [ "${#failed[@]}" -gt 0 ]; then
  echo "${#failed[@]} of ${ran} test programs failed: ${failed[*]}"
  exit 1
fi
echo "all ${ran} test programs passed"
RUN
cat >"${folder}/run" <<'RUN'
#!/usr/bin/env bash
# Runs a program of this folder with its libraries: ./run CudaMedianBenchmark [arguments]
set -eu
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
export LD_LIBRARY_PATH="${here}/lib${LD_LIBRARY_PATH:+:${LD_LIBRARY_PATH}}"
program="$1"
shift
exec "${here}/bin/${program}" "$@"
RUN
chmod +x "${folder}/run-tests.sh" "${folder}/run"

packed="$(tar -C "${folder}" -cz . | wc -c)"
say "programs: $(find "${folder}/bin" -type f | wc -l), libraries: $(find "${folder}/lib" -type f | wc -l)"
say "bundle: ${folder}, $(du -sm "${folder}" | cut -f1) MiB, $((packed / 1048576)) MiB compressed"
[ "${packed}" -lt 67000000 ] || fail "the bundle is larger than 67 MB compressed"
