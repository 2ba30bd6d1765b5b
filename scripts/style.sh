#!/usr/bin/env bash
# Checks the form of what the checkout holds, and changes nothing: C++ with clang-format and KWStyle, Python with ruff,
# shell scripts, YAML with yamllint and the schema of workflows, the descriptions of packages, the links of the
# documentation. pre-commit calls the same checks.
#
# usage: scripts/style.sh [check...]   (default: cxx kwstyle python shell yaml packaging links)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "${repository_root}"

checks=("$@")
if [ "${#checks[@]}" -eq 0 ]; then
  checks=(cxx kwstyle python shell yaml packaging links)
fi

# The files of the checkout with these endings, also those that are not committed yet.
files() {
  git ls-files --cached --others --exclude-standard "$@" | while read -r file; do
    [ ! -f "${file}" ] || printf '%s\n' "${file}"
  done
}

# Sets environment_python to the Python of a virtual environment with the tools from PyPI. Where there is none, says that
# something is left unchecked, and fails.
find_style_tools() {
  find_environment style "${repository_root}/scripts/style-requirements.txt"
  if [ -z "${environment_python}" ]; then
    say "$1 left unchecked: PyPI's packages could not be installed"
    return 1
  fi
}

# KWStyle ends well whatever it finds, so its list of errors is read. It takes `enum class` for a class: those of the
# engine's plain interface are exceptions.
check_kwstyle() {
  local found="${build_root}/kwstyle.txt"
  mkdir -p "${build_root}"
  files 'include/*.h' 'include/*.hxx' >"${build_root}/kwstyle-files.txt"
  KWStyle -xml scripts/kwstyle.xml -o scripts/kwstyle-exceptions.txt -D "${build_root}/kwstyle-files.txt" -gcc >"${found}" 2>&1 || true
  if grep -q 'error' "${found}"; then
    cat "${found}"
    fail "KWStyle found something"
  fi
}

for check in "${checks[@]}"; do
  case "${check}" in
    cxx)
      python3 scripts/check-rooms.py
      find_style_tools "the form of C++" || continue
      files '*.cxx' '*.h' '*.hxx' '*.cu' '*.cuh' | xargs "$(dirname "${environment_python}")/clang-format" --dry-run --Werror
      ;;
    python)
      find_style_tools "the form of Python" || continue
      "${environment_python}" -m ruff check --quiet .
      "${environment_python}" -m ruff format --check --quiet .
      ;;
    shell)
      install_missing shellcheck
      files '*.sh' .ci/run | xargs shellcheck --severity=warning
      ;;
    kwstyle)
      install_missing kwstyle
      check_kwstyle
      ;;
    yaml)
      find_style_tools "the form of YAML" || continue
      files '*.yml' '*.yaml' | xargs "${environment_python}" -m yamllint --strict
      "${environment_python}" -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
      ;;
    packaging)
      find_style_tools "the descriptions of packages" || continue
      "${environment_python}" scripts/check-packaging.py
      ;;
    links) python3 scripts/check-links.py ;;
    *) fail "no check is called ${check}: cxx kwstyle python shell yaml packaging links" ;;
  esac
  say "style: ${check} is as it should be"
done
