# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Measure what a call on a small NumPy array that is like an earlier one takes, and how much of that is the engine's.

The calls are those of the compiled module, and of the same in Python, which the package has without it, in times of
what the engine takes alone: its C function with a request that is ready, by ctypes. One thread, 8 bits, 3x3.
"""

from __future__ import annotations

import argparse
import ctypes
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from cudamedian import _calls, _device_plans, _engine, _plans, _python_calls, median_filter, ndimage


def microseconds(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """Return the least mean of twenty series of each call, the series of all in turn."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(20):
        for name, call in calls.items():
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            least[name] = min(least[name], (time.perf_counter() - start) / repeats * 1e6)
    return least


def engine(array: np.ndarray, output: np.ndarray) -> Callable[[], Any]:
    """Return a call of the engine alone."""
    axis = types.SimpleNamespace(radius=1, shorter=0, shift=0, border=_engine.Border.ZERO_FLUX_NEUMANN, size=3)
    work = ("uint8", array.ctypes.data, output.ctypes.data, array.shape, (axis, axis))
    prepared = _engine.Prepared(*work, _engine.Backend.AUTO, _engine.Algorithm.AUTOMATIC, 0, 1)
    request = _engine._Request.from_buffer_copy(prepared.request)
    text = ctypes.create_string_buffer(8192)
    function = _engine._library().CudaMedianRun
    pointer = ctypes.byref(request)
    return lambda: function(pointer, text, 8192)


def through(module: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """Return a call that takes the plans of a module; the first is made here."""
    plans: dict[Any, Any] = {}
    found = module.Calls(plans, _device_plans.kinds, _device_plans.is_kind)
    kept = _plans._plans
    _plans._plans, _plans.calls = plans, found
    call()
    _plans._plans = kept
    assert len(plans) == 1

    def run() -> None:
        _plans.calls = found
        call()

    return run


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=2000, help="in each series")
    options = parser.parse_args()
    print("| array | call | in Python | compiled | compiled / in Python | beyond the engine, us: in Python, compiled |")
    print("| --- | --- | --- | --- | --- | --- |")
    for extent in (8, 64):
        array = np.random.default_rng(1).integers(0, 255, (extent, extent), np.uint8)
        output = np.empty_like(array)
        rows = {
            "`median_filter(array, 3)`": lambda array=array: median_filter(array, 3, threads=1),
            "… with `output`": lambda array=array, output=output: median_filter(array, 3, threads=1, output=output),
            "`ndimage.median_filter`": lambda array=array: ndimage.median_filter(array, 3, mode="nearest"),
        }
        for name, call in rows.items():
            times = microseconds(
                {
                    "engine": engine(array, output),
                    "python": through(_python_calls, call),
                    "compiled": through(_calls, call),
                },
                options.calls,
            )
            alone, slow, fast = (times[kind] for kind in ("engine", "python", "compiled"))
            ratios = f"{slow / alone:.2f} | {fast / alone:.2f} | {fast / slow:.2f}"
            print(f"| {extent}x{extent} | {name} | {ratios} | {slow - alone:.1f}, {fast - alone:.1f} |")


if __name__ == "__main__":
    main()
