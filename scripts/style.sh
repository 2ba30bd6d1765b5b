#!/usr/bin/env bash
# Checks the form of what the checkout holds, and changes nothing: C++ with clang-format, Python with ruff, shell scripts,
# the links of the documentation. pre-commit calls the same checks.
#
# usage: scripts/style.sh [check...]   (default: cxx python shell links)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "${repository_root}"

checks=("$@")
if [ "${#checks[@]}" -eq 0 ]; then
  checks=(cxx python shell links)
fi

# The files of the checkout with these endings, also those that are not committed yet.
files() {
  git ls-files --cached --others --exclude-standard "$@" | while read -r file; do
    [ ! -f "${file}" ] || printf '%s\n' "${file}"
  done
}

for check in "${checks[@]}"; do
  case "${check}" in
    cxx)
      python3 scripts/check-rooms.py
      install_missing clang-format-14
      files '*.cxx' '*.h' '*.hxx' '*.cu' '*.cuh' | xargs clang-format-14 --dry-run --Werror
      ;;
    python)
      find_environment style "${repository_root}/scripts/style-requirements.txt"
      if [ -z "${environment_python}" ]; then
        say "the form of Python left unchecked: PyPI's packages could not be installed"
        continue
      fi
      "${environment_python}" -m ruff check --quiet .
      "${environment_python}" -m ruff format --check --quiet .
      ;;
    shell)
      install_missing shellcheck
      files '*.sh' .ci/run | xargs shellcheck --severity=warning
      ;;
    links) python3 scripts/check-links.py ;;
    *) fail "no check is called ${check}: cxx python shell links" ;;
  esac
  say "style: ${check} is as it should be"
done
