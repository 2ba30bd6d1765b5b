#!/usr/bin/env bash
# Checks the types of the Python package cudamedian with pyright in strict mode, and those that it gives its callers with
# test/types; changes nothing. Not a part of CI: it takes some twenty seconds, and most of a minute to install the first time.
#
# usage: scripts/types.sh [pyright's arguments...]
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "${repository_root}"

find_environment types "${repository_root}/scripts/types-requirements.txt"
[ -n "${environment_python}" ] ||
  fail "PyPI's packages of scripts/types-requirements.txt could not be installed, which types are checked with"
# Libraries that are told of by python/stubs are not installed, which is a warning.
PYRIGHT_PYTHON_IGNORE_WARNINGS=1 "${environment_python}" -m pyright --level error \
  --pythonpath "${environment_python}" "$@"
say "types: pyright finds nothing wrong"
