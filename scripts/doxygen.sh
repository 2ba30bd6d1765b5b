#!/usr/bin/env bash
# Builds the pages of the public classes and of the documentation into build/doxygen/html. Fails where Doxygen warns, and
# where a public class has no page of its own that says what it is.
#
# usage: scripts/doxygen.sh
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"
cd "${repository_root}"

pages="${build_root}/doxygen"

install_missing doxygen python3
rm -rf "${pages}"
mkdir -p "${pages}"
doxygen documentation/Doxyfile
if [ -s "${pages}/warnings.txt" ]; then
  cat "${pages}/warnings.txt" >&2
  fail "Doxygen warns"
fi
python3 scripts/check-pages.py "${pages}"
say "pages: ${pages}/html/index.html"
