# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Measure how long the host takes for a call on a small array in device memory.

For CuPy and PyTorch: the call with a new output and with one that is given, what making the output alone takes, and
CuPy's own filter. The device may catch up after each hundred calls, so that none waits for room in the stream.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import cupy
import torch
from cupyx.scipy import ndimage

from cudamedian import median_filter


def microseconds(call: Callable[[], Any], calls: int) -> float:
    """Return the least mean of five series of calls."""
    means = []
    for _ in range(6):
        seconds = 0.0
        for _ in range(calls // 100):
            start = time.perf_counter()
            for _ in range(100):
                call()
            seconds += time.perf_counter() - start
            cupy.cuda.runtime.deviceSynchronize()
        means.append(seconds / calls)
    return min(means[1:]) * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=10000, help="in each series")
    parser.add_argument("--size", type=int, default=64, help="pixels along each axis")
    options = parser.parse_args()
    array = cupy.random.randint(0, 255, (options.size, options.size)).astype("uint8")
    output = cupy.empty_like(array)
    tensor = torch.from_numpy(array.get()).cuda()
    result = torch.empty_like(tensor)
    expected = ndimage.median_filter(array, 3, mode="nearest")
    assert bool((median_filter(array, 3) == expected).all())
    assert bool((median_filter(array, 3) == expected).all())
    assert bool((median_filter(tensor, 3).cpu() == torch.from_numpy(expected.get())).all())
    rows: dict[str, Callable[[], Any]] = {
        "CuPy": lambda: median_filter(array, 3),
        "CuPy, output given": lambda: median_filter(array, 3, output=output),
        "cupy.ndarray(shape, dtype)": lambda: cupy.ndarray(array.shape, array.dtype),
        "cupyx.scipy.ndimage": lambda: ndimage.median_filter(array, 3, mode="nearest"),
        "PyTorch": lambda: median_filter(tensor, 3),
        "PyTorch, output given": lambda: median_filter(tensor, 3, output=result),
        "torch.empty_like(tensor)": lambda: torch.empty_like(tensor),
    }
    for name, call in rows.items():
        print(f"{name:28} {microseconds(call, options.calls):6.2f} us")


if __name__ == "__main__":
    main()
