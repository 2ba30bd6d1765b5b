#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Times the functions of cudamedian beside those of other libraries, and compares their results.

usage: compare_python.py --place host --json host.json [--seconds 120] [--whole]
       compare_python.py --place device --json device.json
       compare_python.py --print host.json device.json >documentation/python-libraries.md

Host: from an array of NumPy, or of PyTorch for it and MONAI, to a new one, beside scipy, scikit-image, SimpleITK, ITK,
OpenCV, VTK, PyVista, PyTorch and MONAI. Device: from an array of CuPy or PyTorch to a new one, beside cupyx, cuCIM,
PyTorch and MONAI. Libraries that cannot be imported are left out, and the output says which.

A case is a function, a pixel type, a window and an array. Small arrays are first, each with its cases in a fixed order
that mixes them, until --seconds have passed. What has been measured is in the JSON file; another run with the same file
goes on with the others. Without --whole the arrays are of 64x64, 1024x1024, 64x64x64 and 256x256x256. A call
of another library that would take longer than --most seconds is not made; the table reckons it from the largest smaller
array with the same window, and marks it by ~. --libraries names those to measure, into a file of their own.

A time is the least mean of three series of calls, each as long as --series, or the less of two calls which take longer,
behind a first call that does not count. On a device a series ends when the device has done its work. Kernels that are
compiled at first use are waited for. CuPy compiles one for each function, type and window, which takes seconds, and
keeps it in a folder: --compile makes the first calls in so many processes before anything is measured.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import multiprocessing
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from compare_python_cases import PERCENTILE, SHORT, WHOLE, Case, Rates, find_rates, list_cases
from compare_python_libraries import BORDER, LIBRARIES, Library, UnavailableError
from compare_python_tables import KINDS, find_differences, write_page

import cudamedian
from cudamedian import ndimage

# How long a kernel that is compiled at first use is waited for.
MOST_SECONDS_OF_COMPILATION = 20


def make_array(case: Case) -> np.ndarray:
    """Return random pixels over the whole range of integers, or normal ones."""
    numbers = np.random.default_rng(5)
    if case.dtype == "float32":
        return numbers.standard_normal(case.shape, "float32")
    limits = np.iinfo(case.dtype)
    return numbers.integers(limits.min, limits.max, case.shape, case.dtype, endpoint=True)


def make_footprint(case: Case) -> np.ndarray:
    """Return a disk or a ball."""
    radius = case.size // 2
    places = np.indices((case.size,) * len(case.shape)) - radius
    return (places**2).sum(axis=0) <= radius * (radius + 1)


def our_function(case: Case) -> Callable[[Any], Any]:
    """Return the call of this package."""
    size = case.size
    if case.function == "footprint":
        footprint = make_footprint(case)
        return lambda array: ndimage.median_filter(array, footprint=footprint, mode=BORDER)
    if case.function == "percentile":
        return lambda array: ndimage.percentile_filter(array, PERCENTILE, size, mode=BORDER)
    if case.function == "scikit-image's median":
        box = np.ones((size,) * len(case.shape), bool)
        return lambda array: cudamedian_skimage().median(array, box, mode=BORDER)
    function = getattr(ndimage, f"{case.function}_filter")
    return lambda array: function(array, size, mode=BORDER)


def cudamedian_skimage() -> Any:
    """Return the module of scikit-image's names."""
    return importlib.import_module("cudamedian.skimage")


def wait_for_kernels(case: Case, array: Any) -> None:
    """Call until no kernel is compiled in the background any more."""
    options: dict[str, Any] = {"size": case.size}
    if case.function == "footprint":
        options = {"footprint": make_footprint(case)}
    elif case.function == "percentile":
        options["percentile"] = PERCENTILE
    elif case.function in ("minimum", "maximum"):
        options["rank"] = 0 if case.function == "minimum" else -1
    end = time.perf_counter() + MOST_SECONDS_OF_COMPILATION
    while time.perf_counter() < end:
        reports: list[str] = []
        cudamedian.median_filter(array, **options, report=reports.append)
        if "Compiled in the background" not in reports[0]:
            return
        time.sleep(0.05)


def measure(call: Callable[[], Any], finish: Callable[[], None], series: float) -> tuple[float, Any]:
    """Return the seconds of a call, the least mean of three series, and the result of the first call.

    What a library does once, such as to compile a kernel, is in the first call, which does not count.
    """
    result = call()
    finish()

    def mean(calls: int) -> float:
        start = time.perf_counter()
        for _ in range(calls):
            call()
        finish()
        return (time.perf_counter() - start) / calls

    once = min(mean(1), mean(1))
    if once > series:
        return once, result
    calls = max(1, min(1000, int(series / once)))
    return min(mean(calls) for _ in range(3)), result


def compare(result: Any, expected: np.ndarray, library: Library, size: int) -> str:
    """Return how a result is like ours: "equal", "equal inside" where the border is another's, or what is not."""
    found = library.take(result).reshape(expected.shape)
    if library.has_own_border:
        inside = tuple(slice(size // 2, extent - size // 2) for extent in expected.shape)
        found, expected = found[inside], expected[inside]
    differ = int(np.count_nonzero(found != expected.astype(found.dtype)))
    if differ:
        return f"{differ} of {expected.size} pixels differ"
    return "equal inside" if library.has_own_border else "equal"


def open_libraries(place: str, names: list[str] | None) -> tuple[list[Library], list[str]]:
    """Return the libraries of a place, those named or all, and which are not there, and why."""
    libraries: list[Library] = []
    missing: list[str] = []
    for kind in LIBRARIES[place]:
        if names and kind.name not in names:
            continue
        try:
            libraries.append(kind())
        except (UnavailableError, ImportError) as error:
            missing.append(f"{kind.name} ({error})")
    return libraries, missing


@functools.cache
def libraries_of_process(place: str, names: tuple[str, ...]) -> list[Library]:
    """Return the libraries of a place, opened once a process."""
    return open_libraries(place, list(names))[0]


def make_first_calls(place: str, names: tuple[str, ...], case: Case) -> None:
    """Call each library once, and cudamedian, with a small array, so that what they compile is there later."""
    small = case._replace(shape=tuple(min(extent, 64) for extent in case.shape))
    array = make_array(small)
    for library in libraries_of_process(place, names):
        if library.takes(case.function, case.dtype, case.size, len(case.shape)):
            wait_for_kernels(small, library.give_us(array))
            given = library.give(array)
            library.call(case.function, given, case.size, make_footprint(small), PERCENTILE)()
            library.finish()


def compile_kernels(options: argparse.Namespace, cases: list[Case]) -> None:
    """Make the first calls of cases, one of each function, type and window, in processes, until the time is over."""
    kernels = {(case.function, case.dtype, case.size, len(case.shape)): case for case in cases}
    longest_first = sorted(kernels.values(), key=lambda case: -(case.size ** len(case.shape)))
    end = time.perf_counter() + options.seconds
    with multiprocessing.get_context("spawn").Pool(options.compile) as pool:
        calls = [
            pool.apply_async(make_first_calls, (options.place, tuple(options.libraries or ()), case))
            for case in longest_first
        ]
        for call in calls:
            call.wait(max(0, end - time.perf_counter()))
        # What failed does so again when it is measured, and that is written down.
        print(f"{sum(call.ready() for call in calls)} of {len(calls)} first calls were made")


class Run:
    """The measurements of one run."""

    def __init__(self, options: argparse.Namespace, results: dict[str, Any]) -> None:
        """Open the libraries."""
        self.options = options
        self.results = results
        self.libraries, missing = open_libraries(options.place, options.libraries)
        if not self.libraries:
            raise SystemExit(f"there is no library to compare with: {', '.join(missing)}")
        results["missing"] = missing
        self.rates: Rates = find_rates(results)

    def measure_ours(self, case: Case, array: np.ndarray, library: Library) -> tuple[float, np.ndarray]:
        """Return our time for the kind of array that a library takes, and the result."""
        given = library.give_us(array)
        wait_for_kernels(case, given)
        seconds, result = measure(functools.partial(our_function(case), given), library.finish, self.options.series)
        return seconds, library.take(result)

    def is_too_long(self, library: Library, case: Case) -> bool:
        """Whether a call would take longer than is allowed, by what a smaller array took, or by a guess."""
        rate = self.rates.get(case.rate_key(library.name))
        if rate is None:
            is_separable = case.function in ("minimum", "maximum")
            rate = library.guess * (case.size if is_separable else case.size ** len(case.shape))
        return rate * case.pixels() > self.options.most

    def measure_other(self, library: Library, case: Case, array: np.ndarray, expected: np.ndarray) -> dict[str, Any]:
        """Return what a library took, and how its result is like ours; or why there is none."""
        try:
            call = library.call(case.function, library.give(array), case.size, make_footprint(case), PERCENTILE)
            seconds, result = measure(call, library.finish, self.options.series)
            state = compare(result, expected, library, case.size)
        except Exception as error:  # noqa: BLE001 - another library's, as that its memory is not enough
            return {"failed": f"{type(error).__name__}: {error}"[:200]}
        self.rates[case.rate_key(library.name)] = seconds / case.pixels()
        return {"seconds": seconds, "kind": library.kind, "result": state}

    def do(self, case: Case) -> None:
        """Measure a case."""
        array = make_array(case)
        ours: dict[str, float] = {}
        others: dict[str, Any] = {}
        expected: np.ndarray | None = None
        for library in self.libraries:
            if not library.takes(case.function, case.dtype, case.size, len(case.shape)):
                continue
            if library.kind not in ours:
                ours[library.kind], expected = self.measure_ours(case, array, library)
            if not self.is_too_long(library, case):
                others[library.name] = self.measure_other(library, case, array, expected)
            library.release()
        self.results["cases"][case.name()] = {"ours": ours, "others": others}

    def all(self) -> None:
        """Measure what has not been, until the time is over; write after each case, so that a stop loses none."""
        cases = list_cases(WHOLE if self.options.whole else SHORT)
        left = [case for case in cases if case.name() not in self.results["cases"]]
        if self.options.compile:
            compile_kernels(self.options, left)
        end = time.perf_counter() + self.options.seconds
        for number, case in enumerate(left):
            if time.perf_counter() > end:
                print(f"{len(left) - number} of {len(cases)} cases are left; the same command goes on with them")
                break
            self.do(case)
            write(self.options.json, self.results)
        if self.results["missing"]:
            print(f"not there: {', '.join(self.results['missing'])}")


def write(path: Path, results: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_text(json.dumps(results, indent=1), encoding="utf-8")
    os.replace(partial, path)


def read(path: Path, place: str) -> dict[str, Any]:
    """Return what a file has, or what a new one begins with."""
    if path.exists():
        results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if results["place"] != place:
            raise SystemExit(f"{path} has measurements of the {results['place']}; --place is {place}")
        return results
    versions = {"Python": platform.python_version(), "NumPy": np.__version__}
    for name in ("scipy", "skimage", "SimpleITK", "itk", "cv2", "vtk", "pyvista", "monai", "torch", "cupy", "cucim"):
        if importlib.util.find_spec(name):
            try:
                versions[name] = str(getattr(importlib.import_module(name), "__version__", "unknown"))
            except ImportError as error:
                versions[name] = f"cannot be imported: {error}"
    device = cudamedian.query_device()[1]
    return {"place": place, "device": device, "cores": len(os.sched_getaffinity(0)), "versions": versions, "cases": {}}


def print_page(files: list[dict[str, Any]]) -> int:
    """Print the page about files of results; return the exit status, 1 where a result is not ours."""
    print(write_page(files), end="")
    return 1 if any(find_differences(results) for results in files) else 0


def main() -> int:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", choices=("host", "device"))
    parser.add_argument("--json", type=Path, help="where the measurements are kept")
    parser.add_argument("--seconds", type=float, default=120, help="when no other case is begun")
    parser.add_argument("--most", type=float, default=1.0, help="seconds that a call of another library may take")
    parser.add_argument("--series", type=float, default=0.01, help="seconds of a series of calls")
    parser.add_argument(
        "--compile", type=int, default=0, metavar="PROCESSES", help="make first calls before, for SECONDS"
    )
    parser.add_argument("--whole", action="store_true", help="256x256, 4096x4096, 128x128x128 and 512x512x512, too")
    parser.add_argument("--libraries", nargs="+", choices=sorted(KINDS), help="measure no others")
    parser.add_argument("--print", type=Path, nargs="+", metavar="FILE", help="print the page about files alone")
    options = parser.parse_args()
    if options.print:
        return print_page([json.loads(path.read_text(encoding="utf-8")) for path in options.print])
    if options.place is None or options.json is None:
        parser.error("--place and --json are needed, or --print")
    results = read(options.json, options.place)
    Run(options, results).all()
    return print_page([results])


if __name__ == "__main__":
    sys.exit(main())
