#!/usr/bin/env bash
# Builds the programs of test/fuzz and runs them for as long as asked, half of the time random cases and half threads;
# prints the seeds, the cases, the cases a second and what failed, and fails if anything did.
#
# usage: scripts/campaign.sh SECONDS
#
# Where the CUDA toolkit's headers are found and the library is built without CUDA, each half is shared with the same
# program on devices that are threads of the host.
#
# CUDAMEDIAN_TEST_SEED     the seed (default: a fresh one, printed)
# CUDAMEDIAN_REQUIRE_GPU=1 fails where there is no GPU
# CUDAMEDIAN_USE_CUDA=OFF  builds with the CPU backend alone
# CUDAMEDIAN_DEVICES       devices that the work is shared between, for example 0,1 (default: 0)
# JOBS                     processes that run random cases on the CPU alone, and jobs of the build (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

[[ "${1:-}" =~ ^[1-9][0-9]*$ ]] || fail "usage: scripts/campaign.sh SECONDS"
seconds="$1"

install_missing "${build_packages[@]}"
find_cuda
build="${build_root}/test"
configure_tests "${build}"
# shellcheck disable=SC2054 # 0,1 is one word
on_host=(--devices 0,1 --new-windows 5)
random=(CudaMedianFuzz)
threads=(CudaMedianStress)
if [[ "${cuda_options[*]}" == *=OFF* ]] && ninja -C "${build}" -t query CudaMedianFuzzOnHost >/dev/null 2>&1; then
  random+=(CudaMedianFuzzOnHost)
  threads+=(CudaMedianEngineStressOnHost)
fi
ninja -C "${build}" -j "${jobs}" "${random[@]}" "${threads[@]}"

export CUDAMEDIAN_TEST_SEED="${CUDAMEDIAN_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}"
say "seed ${CUDAMEDIAN_TEST_SEED}: CUDAMEDIAN_TEST_SEED=${CUDAMEDIAN_TEST_SEED} repeats the random cases"
summary=()
failed=0
# run <seconds> <program> [option...]
run() {
  local log status=0
  log="$(mktemp)"
  say "$2, $1 s"
  "${build}/test/fuzz/$2" --seconds "$1" "${@:3}" 2>&1 | tee "${log}" || status=1
  summary+=("$(grep -a '^CudaMedian.* cases in ' "${log}" | tail -n 1 || true)")
  if [ "${status}" -ne 0 ]; then
    failed=$((failed + 1))
    summary+=("FAILED: $2, see above")
  fi
  rm -f "${log}"
}
share() {
  local time=$((seconds / 2 / $1))
  printf '%s' "$((time > 0 ? time : 1))"
}
for program in "${random[@]}"; do
  options=()
  case "${program}" in
    *OnHost) options=("${on_host[@]}") ;;
    *) if [[ "${cuda_options[*]}" == *=OFF* ]]; then options=(--jobs "${jobs}"); fi ;;
  esac
  [ -z "${CUDAMEDIAN_DEVICES:-}" ] || options+=(--devices "${CUDAMEDIAN_DEVICES}")
  run "$(share "${#random[@]}")" "${program}" "${options[@]}"
done
for program in "${threads[@]}"; do
  options=()
  [[ "${program}" != *OnHost ]] || options=("${on_host[@]}")
  [ -z "${CUDAMEDIAN_DEVICES:-}" ] || options+=(--devices "${CUDAMEDIAN_DEVICES}")
  run "$(share "${#threads[@]}")" "${program}" "${options[@]}"
done
say "the campaign, seed ${CUDAMEDIAN_TEST_SEED}:"
printf '%s\n' "${summary[@]}"
if [ "${failed}" -gt 0 ]; then
  fail "${failed} of $((${#random[@]} + ${#threads[@]})) programs failed"
fi
