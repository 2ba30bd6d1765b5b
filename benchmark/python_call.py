# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Measure what a call from Python takes beyond the filter itself, for NumPy arrays.

The filter's own time is the "Total time" of its execution report. The rest is Python: arguments, the output's memory,
images around arrays. Exits with 1 when the rest takes longer than the limit for `itk_cuda_median.median_filter`.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np

from itk_cuda_median import median_filter


def seconds_in_filter(report: str) -> float:
    """Return the engine's own time from a report."""
    return float(re.search(r"^Total time: (\S+) s$", report, re.MULTILINE).group(1))


def call_package(array: np.ndarray, backend: str) -> str:
    """Filter through the package; return the report."""
    texts: list[str] = []
    median_filter(array, radius=1, backend=backend, report=texts.append)
    return texts[0]


def backend_of_itk(backend: str) -> object:
    """Return the value that ITK's object takes."""
    import itk  # noqa: PLC0415 - the package does without

    enums = itk.CudaMedianImageFilterEnums
    return enums.Backend_Cuda if backend == "cuda" else enums.Backend_Cpu


def call_object(array: np.ndarray, backend: str) -> str:
    """Filter through ITK's object from a view of the array to a view of the output; return the report."""
    import itk  # noqa: PLC0415

    image = itk.image_view_from_array(array)
    median = itk.CudaMedianImageFilter.New(image, radius=1, backend=backend_of_itk(backend))
    median.Update()
    itk.array_view_from_image(median.GetOutput())
    return median.GetExecutionReportAsString()


def call_function(array: np.ndarray, backend: str) -> None:
    """Filter through ITK's function, which has no report."""
    import itk  # noqa: PLC0415

    itk.cuda_median_image_filter(array, radius=1, backend=backend_of_itk(backend))


def measure(call: Callable[[np.ndarray, str], str], array: np.ndarray, backend: str, repeats: int) -> list[float]:
    """Return the seconds outside the filter, one for each call."""
    outside = []
    for _ in range(repeats):
        start = time.perf_counter()
        report = call(array, backend)
        outside.append(time.perf_counter() - start - seconds_in_filter(report))
    return outside


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--limit", type=float, default=0.3, help="milliseconds outside the filter, median")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--without-itk", action="store_true", help="time itk_cuda_median alone")
    options = parser.parse_args()
    calls = {"itk_cuda_median.median_filter": call_package}
    if not options.without_itk:
        calls["itk.CudaMedianImageFilter"] = call_object
    print(f"{'array':>20} {'call':>36} {'outside, median ms':>19} {'least':>7}")
    worst = 0.0
    for shape in ((64, 64), (512, 512), (2048, 2048), (64, 256, 256)):
        array = np.random.default_rng(1).integers(0, 65535, shape, "uint16")
        for name, call in calls.items():
            measure(call, array, options.backend, 5)
            outside = [1e3 * value for value in measure(call, array, options.backend, options.repeats)]
            middle = statistics.median(outside)
            worst = max(worst, middle) if call is call_package else worst
            print(f"{'x'.join(map(str, shape)):>20} {name:>36} {middle:19.3f} {min(outside):7.3f}")
        if options.without_itk:
            continue
        seconds = []
        for _ in range(options.repeats):
            start = time.perf_counter()
            call_function(array, options.backend)
            seconds.append(time.perf_counter() - start)
        middle = 1e3 * statistics.median(seconds)
        print(f"{'':>20} {'itk.cuda_median_image_filter':>36} {middle:19.3f}  in all, filter included")
    print(f"itk_cuda_median.median_filter: {worst:.3f} ms at most; the limit is {options.limit} ms")
    return 0 if worst <= options.limit else 1


if __name__ == "__main__":
    sys.exit(main())
