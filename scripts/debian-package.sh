#!/usr/bin/env bash
# Builds Debian packages of what the checkout holds, with the CPU backend alone, into build/debian: libcudamedian1,
# libcudamedian-dev and cudamedian-tools. Then lintian looks at them, and a project outside this one is built with what
# they hold and run, without installing them.
#
# usage: scripts/debian-package.sh [--quick]
#
#   --quick   packages to look at, not to use: few CPU programs, and nothing optimized
#
# CUDAMEDIAN_CMAKE_OPTIONS   further options of CMake, separated by blanks
# CUDAMEDIAN_ROW_WINDOWS     CPU programs to compile ahead (default: all)
# JOBS                       parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

work="${build_root}/debian"
unpacked="${work}/unpacked"

read_arguments() {
  local argument
  for argument in "$@"; do
    case "${argument}" in
      --quick)
        export DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-} noopt noautodbgsym" DEB_CXXFLAGS_STRIP=-g
        export CUDAMEDIAN_CMAKE_OPTIONS="${CUDAMEDIAN_CMAKE_OPTIONS:-} -DCMAKE_BUILD_TYPE=None"
        export CUDAMEDIAN_ROW_WINDOWS="1 1 0 0"
        ;;
      *) fail "unknown argument: ${argument} (--quick)" ;;
    esac
  done
}

# The checkout as the project would release it, with the folder debian that its packages are made by.
make_source() {
  version="$(dpkg-parsechangelog --file "${repository_root}/packaging/debian/changelog" --show-field Version)"
  source="${work}/cudamedian-${version%-*}"
  rm -rf "${work}"
  mkdir -p "${source}"
  (cd "${repository_root}" && git ls-files -z --cached --others --exclude-standard |
    while IFS= read -r -d '' file; do [ ! -f "${file}" ] || printf '%s\0' "${file}"; done |
    tar --create --null --files-from=-) | tar --extract --directory="${source}"
  tar --create --xz --directory="${work}" --file="${work}/cudamedian_${version%-*}.orig.tar.xz" "$(basename "${source}")"
  cp -r "${source}/packaging/debian" "${source}/debian"
}

build_packages_of_source() {
  if command -v ccache >/dev/null; then
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_C_COMPILER_LAUNCHER=ccache
  fi
  (cd "${source}" && nice -n 2 dpkg-buildpackage --unsigned-source --unsigned-changes --jobs="${jobs}")
}

# The packages' own tests, on what they hold.
test_packages() {
  local package
  for package in "${work}"/*.deb; do
    case "${package}" in
      *-dbgsym_*) ;;
      *) dpkg-deb --extract "${package}" "${unpacked}" ;;
    esac
  done
  # Where the system's linker looks, once they are installed.
  LD_LIBRARY_PATH="$(dirname "$(find "${unpacked}" -name 'libCudaMedian.so.1')")"
  export LD_LIBRARY_PATH
  PATH="${unpacked}/usr/bin:${PATH}" "${source}/debian/tests/filter"
  (cd "${source}" && AUTOPKGTEST_TMP="${work}/consumer" CUDAMEDIAN_PREFIX="${unpacked}/usr" debian/tests/build)
}

read_arguments "$@"
install_missing "${build_packages[@]}" debhelper dpkg-dev fakeroot lintian xz-utils
make_source
build_packages_of_source
say "lintian"
lintian --allow-root --fail-on=error,warning --display-info --tag-display-limit=0 "${work}"/*.changes
test_packages
say "packages:"
ls -l "${work}"/*.deb
