#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Times the functions of cudamedian beside those of other libraries, and compares their results.

usage: compare_python.py --place host --json host.json [--seconds 120] [--whole]
       compare_python.py --place device --json device.json
       compare_python.py --print host.json device.json

Host: from an array of NumPy, or of PyTorch for it and MONAI, to a new one, beside scipy, scikit-image, SimpleITK, ITK,
OpenCV, VTK, PyVista, PyTorch and MONAI. Device: from an array of CuPy or PyTorch to a new one, beside cupyx, cuCIM,
PyTorch and MONAI. Libraries that cannot be imported are left out, and the output says which.

A case is a function, a pixel type, a window and an array. Small arrays are first, each with its cases in a fixed order
that mixes them, until --seconds have passed. What has been measured is in the JSON file; another run with the same file
goes on with the others. Without --whole the arrays are of 64x64, 1024x1024, 64x64x64 and 256x256x256. A call
of another library that would take longer than --most seconds is not made; the table reckons it from the largest smaller
array with the same window, and marks it by ~.

A time is the least mean of three series of calls, each as long as --series, or the less of two calls which take longer,
behind a first call that does not count. On a device a series ends when the device has done its work. Kernels that are
compiled at first use are waited for.
"""

from __future__ import annotations

import argparse
import functools
import importlib.util
import json
import math
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from compare_python_libraries import BORDER, LIBRARIES, Library, UnavailableError

import cudamedian
from cudamedian import ndimage

FUNCTIONS = ("median", "percentile", "minimum", "maximum", "footprint", "scikit-image's median")
TYPES = ("uint8", "int16", "float32")
SIZES = {2: (3, 5, 7, 11, 21), 3: (3, 5, 7, 9, 11)}
SHORT = ((64, 64), (1024, 1024), (64, 64, 64), (256, 256, 256))
WHOLE = (*SHORT, (256, 256), (4096, 4096), (128, 128, 128), (512, 512, 512))
PERCENTILE = 20

# The kind of array that each library is compared with ours on.
KINDS = {kind.name: kind.kind for kinds in LIBRARIES.values() for kind in kinds}

# How long a kernel that is compiled at first use is waited for.
MOST_SECONDS_OF_COMPILATION = 20


class Case(NamedTuple):
    """What is measured."""

    function: str
    dtype: str
    size: int
    shape: tuple[int, ...]

    def name(self) -> str:
        """Return the case as the JSON file names it."""
        return f"{self.function} | {self.dtype} | {text_of([self.size] * len(self.shape))} | {text_of(self.shape)}"

    def pixels(self) -> int:
        """Return the pixels of the array."""
        return math.prod(self.shape)


def text_of(extents: Any) -> str:
    """Return extents as people write them, the contiguous axis first."""
    return "x".join(str(extent) for extent in reversed(extents))


def list_cases(shapes: tuple[tuple[int, ...], ...]) -> list[Case]:
    """Return all cases: those of a short run first, and of these the small arrays."""
    cases = [
        Case(function, dtype, size, shape)
        for shape in shapes
        for function in FUNCTIONS
        for dtype in TYPES
        for size in SIZES[len(shape)]
    ]
    random.Random(1).shuffle(cases)
    return sorted(cases, key=lambda case: (case.shape not in SHORT, case.pixels()))


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


def find_rates(results: dict[str, Any]) -> dict[tuple[str, str, str, int, int], float]:
    """Return the seconds for a pixel of the largest array that a library was measured with, by function and window."""
    rates: dict[tuple[str, str, str, int, int], float] = {}
    for case, value in list_rows(results):
        for name, other in value["others"].items():
            if "seconds" in other:
                rates[name, case.function, case.dtype, case.size, len(case.shape)] = other["seconds"] / case.pixels()
    return rates


class Run:
    """The measurements of one run."""

    def __init__(self, options: argparse.Namespace, results: dict[str, Any]) -> None:
        """Open the libraries."""
        self.options = options
        self.results = results
        self.libraries: list[Library] = []
        self.missing: list[str] = []
        for kind in LIBRARIES[options.place]:
            try:
                self.libraries.append(kind())
            except (UnavailableError, ImportError) as error:
                self.missing.append(f"{kind.name} ({error})")
        if not self.libraries:
            raise SystemExit(f"there is no library to compare with: {', '.join(self.missing)}")
        self.rates = find_rates(results)

    def measure_ours(self, case: Case, array: np.ndarray, library: Library) -> tuple[float, np.ndarray]:
        """Return our time for the kind of array that a library takes, and the result."""
        given = library.give_us(array)
        wait_for_kernels(case, given)
        seconds, result = measure(functools.partial(our_function(case), given), library.finish, self.options.series)
        return seconds, library.take(result)

    def is_too_long(self, library: Library, case: Case) -> bool:
        """Whether a call would take longer than is allowed, by what a smaller array took, or by a guess."""
        rate = self.rates.get((library.name, case.function, case.dtype, case.size, len(case.shape)))
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
        key = (library.name, case.function, case.dtype, case.size, len(case.shape))
        self.rates[key] = seconds / case.pixels()
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
        end = time.perf_counter() + self.options.seconds
        for number, case in enumerate(left):
            if time.perf_counter() > end:
                print(f"{len(left) - number} of {len(cases)} cases are left; the same command goes on with them")
                break
            self.do(case)
            write(self.options.json, self.results)
        if self.missing:
            print(f"not there: {', '.join(self.missing)}")


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


def list_rows(results: dict[str, Any]) -> list[tuple[Case, dict[str, Any]]]:
    """Return the cases that were measured, sorted."""
    found: list[tuple[Case, dict[str, Any]]] = []
    for name, value in results["cases"].items():
        function, dtype, window, shape = name.split(" | ")
        extents = tuple(int(extent) for extent in reversed(shape.split("x")))
        found.append((Case(function, dtype, int(window.split("x")[0]), extents), value))

    def place(row: tuple[Case, dict[str, Any]]) -> tuple[int, ...]:
        case = row[0]
        kinds = FUNCTIONS.index(case.function), len(case.shape), case.pixels(), case.size, TYPES.index(case.dtype)
        return kinds

    return sorted(found, key=place)


def ratio(value: dict[str, Any], name: str) -> float | None:
    """Return how many times as long as ours a library took in a case."""
    other = value["others"].get(name, {})
    return other["seconds"] / value["ours"][other["kind"]] if "seconds" in other else None


def cell(case: Case, value: dict[str, Any], name: str, rates: dict[tuple[str, str, str, int, int], float]) -> str:
    """Return how many times as long as ours a library took or, with a ~, would take by what a smaller array took."""
    measured = ratio(value, name)
    if measured is not None:
        return f"{measured:.3g}"
    rate = rates.get((name, case.function, case.dtype, case.size, len(case.shape)))
    ours = value["ours"].get(KINDS[name])
    return "" if rate is None or ours is None or name in value["others"] else f"~{rate * case.pixels() / ours:.3g}"


def print_table(results: dict[str, Any]) -> bool:
    """Print the table of a file; return whether every result was ours."""
    measured, rates = list_rows(results), find_rates(results)
    names = sorted({name for _, value in measured for name in value["others"]})
    print(f"\n{results['place']}: {results['device']}, {results['cores']} cores, {len(measured)} cases")
    print(", ".join(f"{name} {version}" for name, version in results["versions"].items()))
    print(f"\n| function | array | window | pixels | ours, ms | {' | '.join(f'{name}, times' for name in names)} |")
    print(f"| --- | --- | --- | --- | --- |{' --- |' * len(names)}")
    for case, value in measured:
        cells = [cell(case, value, name, rates) for name in names]
        ours = ", ".join(f"{kind} {seconds * 1e3:.3g}" for kind, seconds in value["ours"].items())
        window = text_of([case.size] * len(case.shape))
        print(f"| {case.function} | {text_of(case.shape)} | {window} | {case.dtype} | {ours} | {' | '.join(cells)} |")
    print()
    for name in names:
        ratios = sorted(number for _, value in measured if (number := ratio(value, name)) is not None)
        if ratios:
            print(
                f"{name}: {len(ratios)} cases, {ratios[0]:.3g} to {ratios[-1]:.3g} times as long as ours, "
                f"the middle one {ratios[len(ratios) // 2]:.3g}; shorter in {sum(number < 1 for number in ratios)}"
            )
    return print_faults(measured)


def print_faults(measured: list[tuple[Case, dict[str, Any]]]) -> bool:
    """Print results that are not ours, and calls that failed; return whether there are none of the first."""
    is_equal = True
    for case, value in measured:
        for name, other in value["others"].items():
            state = other.get("result", f"failed: {other.get('failed')}")
            if not state.startswith("equal"):
                is_equal = is_equal and "failed" in other
                print(f"{case.name()}, {name}: {state}")
    return is_equal


def main() -> int:
    """Measure, or print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--place", choices=("host", "device"))
    parser.add_argument("--json", type=Path, help="where the measurements are kept")
    parser.add_argument("--seconds", type=float, default=120, help="when no other case is begun")
    parser.add_argument("--most", type=float, default=1.0, help="seconds that a call of another library may take")
    parser.add_argument("--series", type=float, default=0.01, help="seconds of a series of calls")
    parser.add_argument("--whole", action="store_true", help="256x256, 4096x4096, 128x128x128 and 512x512x512, too")
    parser.add_argument("--print", type=Path, nargs="+", metavar="FILE", help="print the tables of files alone")
    options = parser.parse_args()
    if options.print:
        return 0 if all([print_table(json.loads(path.read_text(encoding="utf-8"))) for path in options.print]) else 1
    if options.place is None or options.json is None:
        parser.error("--place and --json are needed, or --print")
    results = read(options.json, options.place)
    Run(options, results).all()
    return 0 if print_table(results) else 1


if __name__ == "__main__":
    sys.exit(main())
