#!/usr/bin/env bash
# Builds the wheel itk-cudamedian into build/wheelhouse, and with --test tests it in a fresh virtual environment that has PyPI's
# itk wheel and nothing else of this project.
#
# The wheel holds the module's wrapping, linked against ITK's static libraries. Those, and the descriptions of ITK's own
# wrapped classes that the wrapping builds on, come from a minimal ITK of the version and the options of the wheels on
# PyPI, which is configured with Python wrapping but whose own Python libraries are never compiled. The first run makes
# it and keeps it in the cache.
#
# usage: scripts/wheel.sh [--test] [--release] [--threads | --quick]
#        scripts/wheel.sh --engine [--test] [--from FOLDER]
#
#   --engine          the wheel cudamedian, without ITK, instead: see engine-wheel.sh
#   --test            test the wheel
#   --release         hold kernels for all GPUs that a release has (itk-module-init.cmake), whatever GPU is at hand
#   --threads         let other threads of Python run in each wrapped method, as ITK 5.4.7 and later wrap their own modules
#                     (ITK_PYTHON_RELEASE_GIL; the wheels of ITK on PyPI do not); made in folders of its own
#   --quick           optimize it little, with the shortest CPU programs, and test what needs ITK and the package alone; made
#                     in folders of its own, and for no user
#
# CUDAMEDIAN_WHEEL_CACHE       where ITK and the tools are kept (default: ~/.cache/cudamedian/wheel)
# CUDAMEDIAN_PYTHON            interpreter to build and test with, 3.11 or later (default: python3)
# CUDAMEDIAN_ITK_SOURCE        ITK's sources, 5.4.x (default: Debian's source package)
# CUDAMEDIAN_ITK_SUITE         Debian suite of the source package (default: sid, the first with 5.4)
# CUDAMEDIAN_ITK_WRAPPED_DIR   a finished build of ITK 5.4.x with Python wrapping, instead of the cache's
# CUDAMEDIAN_USE_CUDA=OFF      leaves nvcc aside, CUDAMEDIAN_CUDA_ARCHITECTURES names GPUs, as for the other scripts
# JOBS                         parallel compile jobs (default: all cores)
set -euo pipefail
# shellcheck source=scripts/common.sh
source "$(dirname "$0")/common.sh"

cache="${CUDAMEDIAN_WHEEL_CACHE:-${XDG_CACHE_HOME:-${HOME}/.cache}/cudamedian/wheel}"
suite="${CUDAMEDIAN_ITK_SUITE:-sid}"
tools="${cache}/tools"
itk_build="${CUDAMEDIAN_ITK_WRAPPED_DIR:-${cache}/itk}"
run_tests=false
variant=""

read_arguments() {
  local argument
  for argument in "$@"; do
    case "${argument}" in
      --test) run_tests=true ;;
      --release) export CUDAMEDIAN_CUDA_ARCHITECTURES=release ;;
      --threads) variant="-threads" ;;
      --quick) variant="-quick" ;;
      *) fail "unknown argument: ${argument} (--test, --release, --threads or --quick)" ;;
    esac
  done
  wheelhouse="${build_root}/wheelhouse${variant}"
  test_environment="${build_root}/wheel-test${variant}"
}

# Runs a command and says how long it took.
timed() {
  local what="$1" start="${SECONDS}"
  shift
  "$@"
  say "${what} took $((SECONDS - start)) s"
}

# Whether ITK's part is there, whole.
has_itk() {
  [ -n "${CUDAMEDIAN_ITK_WRAPPED_DIR:-}" ] || [ -e "${itk_build}/.complete" ]
}

# Options that decide the layout of ITK's classes or which of them are wrapped, as in the wheels on PyPI: static
# libraries, TBB, legacy functions in place, these types and dimensions.
itk_options=(
  -G Ninja
  -DCMAKE_BUILD_TYPE=Release
  -DBUILD_SHARED_LIBS=OFF
  -DBUILD_TESTING=OFF
  -DBUILD_EXAMPLES=OFF
  -DITK_BUILD_DEFAULT_MODULES=OFF
  -DITKGroup_Core=OFF
  -DModule_ITKSmoothing=ON
  -DModule_ITKMathematicalMorphology=ON
  -DModule_ITKTBB=ON
  -DITK_LEGACY_SILENT=ON
  -DITK_WRAP_PYTHON=ON
  -DITK_WRAP_unsigned_short=ON
  -DITK_WRAP_double=ON
  -DITK_WRAP_complex_double=ON
  "-DITK_WRAP_IMAGE_DIMS=2;3;4"
  -DITK_USE_SYSTEM_SWIG=ON
  -DITK_USE_SYSTEM_CASTXML=ON
  -DITK_FORBID_DOWNLOADS=ON
)

# The static libraries (some 450 compile steps), and the descriptions of the wrapped classes (some 400 runs of CastXML).
build_itk() {
  say "building the minimal ITK in ${itk_build}"
  cmake -S "${itk_source}" -B "${itk_build}" "${itk_options[@]}" -DPython3_EXECUTABLE="${tools}/bin/python"
  local libraries
  libraries="$(ninja -C "${itk_build}" -t targets all | sed -n 's/^\(lib\/lib[^:]*\.a\): .*/\1/p' | grep -v testlib)"
  # shellcheck disable=SC2086 # one word for each library
  timed "compiling ITK's libraries" ninja -C "${itk_build}" -j "${jobs}" ${libraries}
  timed "describing ITK's wrapped classes" ninja -C "${itk_build}" -j "${jobs}" ITKSmoothingSwig \
    ITKMathematicalMorphologySwig
  # What CastXML wrote has been read.
  rm -f "${itk_build}"/Wrapping/castxml_inputs/*.xml
  touch "${itk_build}/.complete"
}

# Says what is left out of the wheel when ITK's part has not the base class of the rank filter: one that was made before
# it was wrapped, or one that was given.
check_rank_filter() {
  if [ ! -e "${itk_build}/Wrapping/Typedefs/ITKMathematicalMorphology.mdx" ]; then
    say "itk.CudaRankImageFilter is left out, for ${itk_build} does not wrap ITKMathematicalMorphology"
    say "remove that folder to have it made with it"
  fi
}

make_itk() {
  if has_itk; then
    return
  fi
  timed "getting ITK's sources" get_itk_source "${cache}/source" "${suite}"
  timed "the minimal ITK" build_itk
  say "disk in the cache: $(du -sh "${cache}" | cut -f 1)"
}

itk_version() {
  sed -n 's/^set(ITK_VERSION_\(MAJOR\|MINOR\|PATCH\) "\(.*\)")/\2/p' "${itk_build}/ITKConfig.cmake" | paste -s -d .
}

build_wheel() {
  local unrepaired="${build_root}/wheel-unrepaired${variant}" build="${build_root}/wheel-build${variant}" option settings=()
  rm -rf "${unrepaired}" "${wheelhouse}"
  for option in "${cuda_options[@]}"; do
    settings+=("--config-settings=cmake.define.${option#-D}")
  done
  if [ -n "${variant}" ]; then
    # What is wrapped is what counts: of the engine's CPU programs the shortest ones are compiled.
    settings+=("--config-settings=build-dir=${build}" "--config-settings=cmake.define.CUDAMEDIAN_ROW_WINDOWS=1 1 0 0")
  fi
  case "${variant}" in
    -threads) settings+=("--config-settings=cmake.define.ITK_PYTHON_RELEASE_GIL=ON") ;;
    # Not as Release, in which ITK has what it wraps optimized once more when it is linked.
    -quick)
      settings+=("--config-settings=cmake.build-type=RelWithDebInfo"
        "--config-settings=cmake.define.CMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG")
      ;;
  esac
  CMAKE_BUILD_PARALLEL_LEVEL="${jobs}" "${tools}/bin/pip" wheel --quiet --no-build-isolation --no-deps \
    --wheel-dir "${unrepaired}" --config-settings=cmake.define.ITK_DIR="${itk_build}" \
    --config-settings=cmake.define.ITK_USE_SYSTEM_SWIG=ON --config-settings=cmake.define.ITK_USE_SYSTEM_CASTXML=ON \
    --config-settings=cmake.define.Python3_EXECUTABLE="${tools}/bin/python" "${settings[@]}" \
    "${repository_root}/python/itk-cudamedian"
  if [ "${variant}" = -threads ] && ! grep -rqs --include='*Python.cpp' '^#define SWIG_PYTHON_THREADS' "${build}"; then
    fail "this ITK's modules are not wrapped with SWIG's -threads: ITK_PYTHON_RELEASE_GIL came with 5.4.7"
  fi
  # Puts the libraries beyond those of every Linux into the wheel, and the oldest glibc it runs with into its name.
  "${tools}/bin/auditwheel" repair --wheel-dir "${wheelhouse}" "${unrepaired}"/*.whl
  ls -l "${wheelhouse}"
}

test_wheel() {
  local wheel=("${wheelhouse}"/*.whl) tests=("${repository_root}/test/python") name
  if [ "${variant}" = -quick ]; then
    # The others know nothing of ITK, and have run with the wheel cudamedian.
    tests=()
    for name in itk_chain itk_filter itk_processes itk_rank_filter images numpy package sphinx_example threads; do
      tests+=("${repository_root}/test/python/test_${name}.py")
    done
  fi
  rm -rf "${test_environment}"
  "${python}" -m venv "${test_environment}"
  "${test_environment}/bin/pip" install --quiet "itk == $(itk_version)" "${wheel[0]}[test]"
  "${test_environment}/bin/pip" check
  # Not from the checkout's root, where the package's sources are.
  (cd "${test_environment}" && CUDAMEDIAN_REQUIRE_ITK=1 \
    "${test_environment}/bin/python" -m pytest -p no:cacheprovider --durations=5 "${tests[@]}")
}

if [ "${1:-}" = --engine ]; then
  exec "$(dirname "$0")/engine-wheel.sh" "${@:2}"
fi
read_arguments "$@"
install_missing g++ gcc cmake ninja-build libhwy-dev libtbb-dev
find_cuda
find_python
install_wrapping_tools "${tools}"
export PATH="${tools}/bin:${PATH}"
make_itk
check_rank_filter
timed "the wheel" build_wheel
if "${run_tests}"; then
  timed "the tests" test_wheel
fi
