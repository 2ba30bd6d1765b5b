# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""NumPy arrays: what the engine can read where it lies is not copied."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from . import _engine, _plans, _rules, _types, _window

# What the engine has no pixels of travels as a type of the same bytes, or that orders its values the same way.
_CARRIERS = {"bool": "uint8"}

# Values of windows that are filtered before anybody could wish to interrupt it, on any machine: some hundredths of a
# second.
_MOST_QUICK_VALUES = 1 << 22

# How long a call took at most that nobody would interrupt if it were made again.
_MOST_QUICK_SECONDS = 0.02

# Kinds of types that an output may have: bool, integers, floating point, complex.
_NUMBERS = "biufc"


def carrier(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type that the engine gets for pixels of `dtype`."""
    native = dtype.newbyteorder("=")
    name = _CARRIERS.get(native.name, native.name)
    if name not in _engine.PIXEL_TYPES:
        raise TypeError(f"pixels of type {dtype} have no median here; the types are {', '.join(_engine.PIXEL_TYPES)}")
    return np.dtype(name)


def is_quick(values: int, seconds: float) -> bool:
    """Return whether calls need not hear of signals that are like one of so many values of windows and seconds."""
    return values <= _MOST_QUICK_VALUES or seconds <= _MOST_QUICK_SECONDS


def _overlaps_itself(array: np.ndarray) -> bool:
    """Whether pixels of an array may lie in the same memory, as those of a broadcast array do."""
    reach = array.itemsize
    for stride, extent in sorted(zip(map(abs, array.strides), array.shape, strict=True)):
        if extent > 1 and stride < reach:
            return array.size > 0
        reach += stride * (extent - 1)
    return False


def _is_masked(array: object) -> bool:
    # Whoever has a masked array has imported what makes them. NumPy would import it here: a child that is forked while
    # another thread does so would wait for that thread for ever.
    return isinstance(array, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ()))


def check_input(array: object) -> None:
    """Refuse an array that is more than its pixels."""
    if _is_masked(array):
        raise TypeError("the mask of a masked array has no meaning here; give its data, or filled()")


def _type_of_output(dtype: np.dtype[Any], output: Any) -> np.dtype[Any]:
    """Return the type of the result. What has an attribute `dtype`, as arrays of other libraries, is no type."""
    chosen: np.dtype[Any] | None = None
    if output is None:
        chosen = dtype
    elif _types.is_ndarray(output):
        chosen = output.dtype
    elif isinstance(output, (str, type, np.dtype)):
        try:
            chosen = np.dtype(cast("Any", output))
        except (TypeError, ValueError):
            pass
    if chosen is None:
        kind = type(cast("object", output))
        raise TypeError(f"output is {output!r} of {kind}, and neither a NumPy array nor the type of one")
    if chosen.kind not in _NUMBERS:
        raise TypeError(f"output has type {chosen}; medians are numbers, which it does not hold")
    return chosen


def allocate_output(shape: tuple[int, ...], dtype: np.dtype[Any], output: Any) -> np.ndarray:
    """Return the array the result goes to: `output` itself if it can be written to, or a new one of the type it names.

    Nothing is written here.
    """
    chosen = _type_of_output(dtype, output)
    if not _types.is_ndarray(output):
        return np.empty(shape, chosen)
    if _is_masked(output):
        raise TypeError("output is a masked array, whose mask has no meaning here; give its data")
    if output.shape != shape:
        raise ValueError(f"output has shape {output.shape}, but the input has {shape}")
    if not output.flags.writeable:
        raise ValueError("output is read-only")
    if not output.flags.forc and _overlaps_itself(output):
        raise ValueError(f"output has shape {shape} and strides {output.strides}: some pixels are the same memory")
    return output


def _file(array: Any) -> str | None:
    """Return the file that an array is a map of."""
    while array is not None:
        if isinstance(array, np.memmap) and (name := cast("np.memmap[Any, Any]", array).filename) is not None:
            return os.fspath(name)
        array = getattr(cast("object", array), "base", None)
    return None


def may_share_memory(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays may overlap, also as two maps of one file."""
    if np.may_share_memory(one, other):
        return True
    first, second = _file(one), _file(other)
    try:
        return first is not None and second is not None and os.path.samefile(first, second)
    except OSError:
        return True  # a file that is gone: nobody knows


def median_filter(
    array: np.ndarray,
    window: _window.Window,
    output: Any,
    backend: _engine.Backend,
    algorithm: _engine.Algorithm,
    memory: int,
    threads: int | None,
    progress: Callable[[float], object] | None,
    rules: _rules.Given | None = None,
    key: _plans.Key | None = None,
) -> tuple[np.ndarray, str]:
    """Filter an array; return the result and the execution report's text.

    `threads` is None where nobody has asked for a number of them. What is asked is kept for other calls with the `key`.
    """
    pixel = carrier(array.dtype)
    shape, axes = _window.merge_axes(array.shape, window)
    border_value = _window.border_value(window, array.dtype, pixel)
    wanted = _rules.for_array(rules, array.shape, array.dtype, pixel) if rules else None
    result = allocate_output(array.shape, array.dtype, output)
    # The medians of bools are bools: the bytes may go from one to the other as they are.
    target = result.view(pixel) if array.dtype == result.dtype and array.dtype.kind == "b" else result
    source = np.ascontiguousarray(array.view(pixel) if array.dtype.kind == "b" else array, pixel)
    if not source.flags.aligned:
        source = source.copy()
    # The engine writes where it is sure to be alone; everything else goes through memory of its own.
    direct = (
        target.dtype == pixel
        and target.flags.c_contiguous
        and target.flags.aligned
        and not may_share_memory(result, source)
    )
    destination = target if direct else np.empty(array.shape, pixel)
    start = time.perf_counter()
    work = (
        pixel.name,
        source.ctypes.data,
        destination.ctypes.data,
        shape,
        axes,
        backend,
        algorithm,
        memory,
        threads,
    )
    options = {"border_value": border_value, "rules": wanted, **window.options()}
    report = _engine.run(*work, progress=progress, **options)
    seconds = time.perf_counter() - start
    is_kept = direct and array.dtype == result.dtype and source.ctypes.data == array.ctypes.data
    if key is not None and is_kept and is_quick(array.size * window.count_values(), seconds):
        _plans.keep_on_host(key, _engine.Prepared(*work, **options))
    if not direct:
        np.copyto(result, destination, casting="unsafe")
    return result, report
