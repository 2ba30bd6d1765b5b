# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays: what the engine can read where it lies is not copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import _engine, _window

# What the engine has no pixels of travels in a type that orders its values the same way.
_CARRIERS = {"bool": "uint8", "float16": "float32"}


def _carrier(dtype: np.dtype) -> np.dtype:
    """Return the type that the engine gets for pixels of `dtype`."""
    native = dtype.newbyteorder("=")
    name = _CARRIERS.get(native.name, native.name)
    if name not in _engine.PIXEL_TYPES:
        raise TypeError(f"pixels of type {dtype} have no median here; the types are {', '.join(_engine.PIXEL_TYPES)}")
    return np.dtype(name)


def allocate_output(array: np.ndarray, output: np.ndarray | type | np.dtype | None) -> np.ndarray:
    """Return the array the result goes to: `output` itself, or a new one of the type it names."""
    if isinstance(output, np.ndarray):
        if output.shape != array.shape:
            raise ValueError(f"output has shape {output.shape}, but the input has {array.shape}")
        return output
    return np.empty(array.shape, array.dtype if output is None else np.dtype(output))


def median_filter(
    array: np.ndarray,
    radius: Sequence[int],
    output: np.ndarray | type | np.dtype | None,
    backend: _engine.Backend,
    algorithm: _engine.Algorithm,
    memory: int,
    threads: int,
    progress: Callable[[float], object] | None,
) -> tuple[np.ndarray, str]:
    """Filter an array; return the result and the execution report's text."""
    carrier = _carrier(array.dtype)
    shape, merged_radius = _window.merge_axes(array.shape, radius)
    result = allocate_output(array, output)
    source = np.ascontiguousarray(array, carrier)
    direct = result.dtype == carrier and result.flags.c_contiguous and not np.may_share_memory(result, source)
    destination = result if direct else np.empty(array.shape, carrier)
    report = _engine.run(
        carrier.name,
        source.ctypes.data,
        destination.ctypes.data,
        shape,
        merged_radius,
        backend,
        algorithm,
        memory,
        threads,
        progress,
    )
    if not direct:
        np.copyto(result, destination, casting="unsafe")
    return result, report
