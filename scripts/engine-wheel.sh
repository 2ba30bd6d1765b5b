#!/usr/bin/env bash
# Builds the wheel cudamedian, the engine without ITK, into build/engine-wheelhouse, and with --test tests it in a fresh
# virtual environment. scripts/wheel.sh --engine calls this.
#
# usage: scripts/wheel.sh --engine [--test] [--from FOLDER]
#
#   --test          test the wheel
#   --from FOLDER   take the libraries of a build that there is, as scripts/test.sh has, instead of compiling the engine
#
# Compiled here, it has the CPU backend alone. CUDAMEDIAN_USE_CUDA=ON adds CUDA, for the GPUs that
# CUDAMEDIAN_CUDA_ARCHITECTURES names. The wheel is for the interpreter's version; one of 3.12 or later makes the wheel of
# all versions from 3.12 on.
# CUDAMEDIAN_PYTHON   interpreter to build and test with, 3.11 or later with its headers (default: Debian's)
# JOBS                parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

wheelhouse="${build_root}/engine-wheelhouse"
unrepaired="${build_root}/engine-wheel-unrepaired"
libraries="${build_root}/engine-libraries"
test_environment="${build_root}/engine-wheel-test"
python="${CUDAMEDIAN_PYTHON:-/usr/bin/python3}"
run_tests=false
from=""

read_arguments() {
  while [ "$#" -gt 0 ]; do
    case "$1" in
      --test) run_tests=true ;;
      --from)
        [ "$#" -gt 1 ] || fail "--from names the folder of a build"
        from="$2"
        shift
        ;;
      *) fail "unknown argument: $1 (--test or --from FOLDER)" ;;
    esac
    shift
  done
}

# Fills settings with what makes the wheel of libraries that are built.
take_libraries() {
  ninja -C "${from}" -j "${jobs}" CudaMedianPython
  rm -rf "${libraries}"
  cmake --install "${from}" --prefix "${libraries}" --component CudaMedianPython --strip
  settings=(
    "--config-settings=cmake.define.CUDAMEDIAN_PYTHON_LIBRARIES=${libraries}/cudamedian"
    "--config-settings=build-dir=${build_root}/engine-wheel-taken/{wheel_tag}"
  )
}

# Fills settings with what compiles the engine.
compile_libraries() {
  local option
  # The compiler by the name that CMake calls it in other builds, whose objects ccache then finds.
  export CC="${CC:-cc}" CXX="${CXX:-c++}"
  : "${CUDAMEDIAN_USE_CUDA:=OFF}"
  export CUDAMEDIAN_USE_CUDA
  find_cuda
  for option in "${cuda_options[@]}"; do
    settings+=("--config-settings=cmake.define.${option#-D}")
  done
}

build_wheel() {
  local settings=()
  if [ -n "${from}" ]; then
    take_libraries
  else
    compile_libraries
  fi
  rm -rf "${unrepaired}" "${wheelhouse}"
  CMAKE_BUILD_PARALLEL_LEVEL="${jobs}" "${environment_python}" -m pip wheel --quiet --no-build-isolation --no-deps \
    --wheel-dir "${unrepaired}" "${settings[@]}" "${repository_root}"
  # Puts the libraries beyond those of every Linux into the wheel, and the oldest glibc it runs with into its name.
  PATH="$(dirname "${environment_python}"):${PATH}" \
    "${environment_python}" -m auditwheel repair --wheel-dir "${wheelhouse}" "${unrepaired}"/*.whl
  ls -l "${wheelhouse}"
}

# The environment has the wheel alone; the packages of the list are seen through a file of paths.
test_wheel() {
  local site
  rm -rf "${test_environment}"
  "${python}" -m venv --without-pip "${test_environment}"
  "${environment_python}" -m pip --python "${test_environment}/bin/python" install --quiet --no-index --no-deps \
    "${wheelhouse}"/*.whl
  site="$("${test_environment}/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  "${environment_python}" -c 'import sysconfig; print(sysconfig.get_path("purelib"))' >"${site}/packages.pth"
  # Not from the checkout's root, where the package's sources are.
  (cd "${test_environment}" &&
    bin/python -m pytest -p no:cacheprovider --durations=5 "${repository_root}/test/python")
}

read_arguments "$@"
install_missing g++ gcc cmake ninja-build libhwy-dev
if [ -n "${CUDAMEDIAN_PYTHON:-}" ]; then
  version="$("${python}" -c 'import sys; print("{}.{}".format(*sys.version_info))')"
  find_environment "engine-${version}" "${repository_root}/scripts/engine-requirements.txt" "${python}"
else
  install_missing python3-dev
  find_environment engine "${repository_root}/scripts/engine-requirements.txt"
fi
[ -n "${environment_python}" ] ||
  fail "PyPI's packages of scripts/engine-requirements.txt could not be installed, which the engine's wheel is made and tested with"
start="${SECONDS}"
build_wheel
say "the engine's wheel took $((SECONDS - start)) s"
if "${run_tests}"; then
  start="${SECONDS}"
  test_wheel
  say "its tests took $((SECONDS - start)) s"
fi
