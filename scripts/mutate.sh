#!/usr/bin/env bash
# Do the tests bite? Changes one operator, bound or constant at a time in product code that tests without a GPU can run,
# compiles what depends on it, runs the tests that can see it, and prints which of them failed, or that none did.
#
# usage: scripts/mutate.sh N SEED [FILE...]
#
# N random changes of the named files, or of all that scripts/mutate.py lists. The same seed makes the same changes.
# Works on a copy of the checkout in build/mutate, and leaves the checkout and its builds alone.
#
# JOBS           jobs of the first build (default: all cores); changes are compiled and tested one at a time
# MUTATE_FIRST   goes on with that one of the N changes, where an earlier run was cut short
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

if ! [[ "${1:-}" =~ ^[1-9][0-9]*$ && "${2:-}" =~ ^[0-9]+$ ]]; then
  fail "usage: scripts/mutate.sh N SEED [FILE...]"
fi
install_missing "${build_packages[@]}" python3
exec python3 "$(dirname "$0")/mutate.py" --source "${repository_root}" --folder "${build_root}/mutate" \
  --jobs "${jobs}" "$@"
