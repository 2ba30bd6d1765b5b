# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""From scipy's window to the engine's: borders, types, outputs, and axes that the engine has no room for."""

from __future__ import annotations

import math
import numbers
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from . import _device, _engine, _footprint, _numpy, _plans, _tensors, _types, _window

# Axes that the engine's windows span at most.
_MOST_AXES = _engine.MAXIMUM_DIMENSION

_BORDERS = {name: border for name, border in _window.BORDERS.items() if border is not _engine.Border.SHRINK}

# Integers that a double holds, which is what scipy computes with.
_EXACT_BYTES = 4


def as_array(array: Any) -> Any:
    """Return what is to be filtered: an array in device memory as it is, or one of NumPy."""
    if _device.is_device_array(array):
        return array
    array = np.asarray(_tensors.resolve(array))
    if array.dtype.kind == "c":
        raise TypeError("Complex type not supported")
    return array


def _border(name: Any) -> _engine.Border:
    if not isinstance(name, str) or name not in _BORDERS:
        raise RuntimeError("boundary mode not supported")
    return _BORDERS[name]


def _real(cval: Any) -> Any:
    """Return `cval` as a number: an integer as it is, so that it keeps every bit."""
    if isinstance(cval, (str, bytes, complex)) or not hasattr(cval, "__float__"):
        raise TypeError(f"must be real number, not {type(cval).__name__}")
    number = float(cval)
    return int(cval) if isinstance(cval, numbers.Integral) else number


def _pixel_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the engine's type for pixels of a type."""
    if dtype.kind in "SU":
        raise TypeError(f"data type {dtype.name!r} not understood")
    try:
        return _numpy.carrier(dtype)
    except TypeError:
        raise RuntimeError(f"array type {dtype!r} not supported") from None


def _make_output(output: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """Return the array for the result, as scipy makes it of `output`."""
    if output is None:
        return np.empty(shape, dtype.newbyteorder("="))
    if isinstance(output, (str, type, np.dtype)):
        chosen: np.dtype[Any] = np.dtype(cast("Any", output))
        if isinstance(output, str) and not issubclass(chosen.type, np.number):
            raise RuntimeError("output must have numeric dtype")
        result = np.empty(shape, chosen)
    else:
        _tensors.check_output(output)
        result = np.asarray(output)
        if result.shape != shape:
            raise RuntimeError("output shape not correct")
        if not result.flags.writeable:
            raise ValueError("output array is read-only.")
    if result.dtype.kind not in "biuf":
        raise RuntimeError(f"array type {result.dtype!r} not supported")
    return result


def _holds(dtype: np.dtype[Any], value: Any) -> bool:
    if dtype.kind == "b":
        return value in (0, 1)
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return math.isnan(value) or float(dtype.type(value)) == value
    limits = np.iinfo(dtype)
    return bool(limits.min <= value <= limits.max and value == int(value))


def _refuse(cval: Any, dtype: np.dtype[Any]) -> NotImplementedError:
    return NotImplementedError(f"cval is {cval}, which pixels of type {dtype} do not hold")


def _cut(dtype: np.dtype[Any], cval: Any) -> Any:
    """Return `cval` as a pixel: scipy cuts off what an integer has behind the point."""
    if dtype.kind == "f":
        with np.errstate(over="ignore"):
            return dtype.type(cval)
    if not math.isfinite(cval) or not _holds(dtype, int(cval)):
        raise _refuse(cval, dtype)
    return int(cval)


def _type_for(dtype: np.dtype[Any], result: np.dtype, cval: Any) -> np.dtype[Any]:
    """Return a type that holds the pixels and `cval`.

    Both are ordered in it as scipy orders them for the least and the greatest of a box: as doubles.
    """
    if _holds(dtype, cval):
        return dtype
    if dtype.kind == "f" and dtype == result:
        return dtype  # rounding to it changes no order
    if dtype.kind == "b" or math.isnan(cval) or (dtype.kind in "iu" and dtype.itemsize > _EXACT_BYTES):
        raise _refuse(cval, dtype)
    return np.dtype("float64")


def _windows(
    shape: _footprint.Shape, origins: Sequence[int], modes: Sequence[Any]
) -> tuple[list[_window.AxisWindow], np.ndarray | None]:
    """Return the window along each axis, and the offsets of its pixels where it has holes.

    A footprint whose pixels are a box around its output, with nothing but holes around, is that box.
    """
    sizes = list(shape.sizes)
    spans = [size > 1 for size in sizes]
    places = None
    first = [-(size // 2) - origin for size, origin in zip(sizes, origins, strict=True)]
    if shape.mask is not None:
        places = _footprint.offsets(shape, origins)
        low, high = places.min(axis=0).tolist(), places.max(axis=0).tolist()
        extents = [last - start + 1 for start, last in zip(low, high, strict=True)]
        holds_output = all(start <= 0 <= last for start, last in zip(low, high, strict=True))
        if holds_output and math.prod(extents) == len(places):
            places, sizes, first = None, extents, low
        else:
            sizes, first = [1] * len(sizes), [0] * len(sizes)
    axes: list[_window.AxisWindow] = []
    for size, start, spanned, mode in zip(sizes, first, spans, modes, strict=True):
        border = _border(mode) if spanned else _engine.Border.ZERO_FLUX_NEUMANN
        axes.append(_window.AxisWindow(size // 2, 1 - size % 2, start + size // 2, border))
    return axes, places


class _Filter:
    """A window, ready to run on pixels of one type."""

    def __init__(
        self, axes: list[_window.AxisWindow], places: np.ndarray | None, rank: int, pixel: np.dtype[Any], cval: bytes
    ) -> None:
        """Keep what each run needs."""
        self.axes = axes
        self.places = places
        self.rank, self.cval = rank, cval
        self.pixel = pixel
        self.active = [
            axis
            for axis, along in enumerate(axes)
            if along.size > 1 or (places is not None and bool(places[:, axis].any()))
        ]

    def _values(self) -> int:
        """Return the number of values of a window."""
        return len(self.places) if self.places is not None else math.prod(along.size for along in self.axes)

    def _work(
        self, source: np.ndarray, target: np.ndarray, groups: list[list[int]]
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return what the engine is asked, for one C-contiguous array to another and axes merged in groups."""
        wanted: dict[str, Any] = {"rank": self.rank, "border_value": self.cval}
        if self.places is not None:
            places = self.places[:, [group[0] for group in groups]]
            wanted["footprint"] = np.column_stack((places, np.ones(len(places), np.int64)))
        work = [
            self.pixel.name,
            source.ctypes.data,
            target.ctypes.data,
            [math.prod(source.shape[axis] for axis in group) for group in groups],
            [self.axes[group[0]] for group in groups],
            _engine.Backend.AUTO,
            _engine.Algorithm.AUTOMATIC,
            0,
            None,
        ]
        return work, wanted

    def prepare(self, source: np.ndarray, target: np.ndarray, seconds: float) -> _engine.Prepared | None:
        """Return what filters other arrays like these, which took so long, if that is quick and the axes have room."""
        groups = self.groups()
        if len(groups) > _MOST_AXES or not _numpy.is_quick(source.size * self._values(), seconds):
            return None
        work, wanted = self._work(source, target, groups)
        return _engine.Prepared(*work, **wanted)

    def groups(self) -> list[list[int]]:
        """Return the axes, neighbours without a window together."""
        groups: list[list[int]] = []
        for axis in range(len(self.axes)):
            if groups and axis not in self.active and groups[-1][-1] not in self.active:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        return groups

    def run(self, source: np.ndarray, target: np.ndarray) -> None:
        """Filter one C-contiguous array to another."""
        groups = self.groups()
        if len(groups) <= _MOST_AXES:
            work, wanted = self._work(source, target, groups)
            _engine.run(*work, **wanted)
            return
        # Axes without a window go in front, where they are one.
        rest = [axis for axis in range(source.ndim) if axis not in self.active]
        order = [*rest, *self.active]
        moved = np.ascontiguousarray(source.transpose(order))
        result = np.empty_like(moved)
        inner = self.permuted(order)
        if len(self.active) < _MOST_AXES:
            inner.run(moved, result)
        else:
            # No room for the axes in front: one part after the other.
            part = inner.permuted(list(range(len(rest), source.ndim)))
            for index in np.ndindex(*moved.shape[: len(rest)]):
                part.run(moved[index], result[index])
        target.transpose(order)[...] = result

    def permuted(self, order: list[int]) -> _Filter:
        """Return the same for an array of these axes."""
        other = _Filter.__new__(_Filter)
        other.axes = [self.axes[axis] for axis in order]
        other.places = None if self.places is None else self.places[:, order]
        other.rank, other.cval, other.pixel = self.rank, self.cval, self.pixel
        other.active = [place for place, axis in enumerate(order) if axis in self.active]
        return other


def _run_extremum(job: _Filter, source: np.ndarray, target: np.ndarray, is_minimum: bool) -> None:
    """Filter with a box along more axes than the engine has: some axes after the others, as extremes allow."""
    for start in range(0, len(job.active), _MOST_AXES):
        some = job.active[start : start + _MOST_AXES]
        axes = [
            along if axis in some else replace(along, radius=0, shorter=0, shift=0)
            for axis, along in enumerate(job.axes)
        ]
        pixels = math.prod(along.size for along in axes)
        part = _Filter(axes, None, 0 if is_minimum else pixels - 1, job.pixel, job.cval)
        result = target if start + _MOST_AXES >= len(job.active) else np.empty_like(target)
        part.run(source, result)
        source = result


def _run_on_device(
    array: Any,
    axes: list[_window.AxisWindow],
    places: np.ndarray | None,
    cval: Any,
    output: Any,
    rank: int,
    key: _plans.Key | None,
) -> Any:
    """Filter an array in device memory."""
    is_type = isinstance(output, (str, type, np.dtype))
    if output is not None and not is_type and not _device.is_device_array(output):
        raise NotImplementedError(f"output is {output!r}; in device memory it is an array there, a type or None")
    if not hasattr(array, "__cuda_array_interface__"):
        raise NotImplementedError(f"input is of type {type(array)}, which has no __cuda_array_interface__")
    dtype: np.dtype[Any] = np.dtype(array.__cuda_array_interface__["typestr"])
    if any(along.border is _engine.Border.CONSTANT for along in axes) and not _holds(dtype, cval):
        raise _refuse(cval, dtype)
    footprint = None
    if places is not None:
        # The box around the pixels, and a weight for each of them.
        reaches = np.abs(places).max(axis=0).tolist()
        axes = [replace(along, radius=reach, shorter=0, shift=0) for along, reach in zip(axes, reaches, strict=True)]
        footprint = np.column_stack((places, np.ones(len(places), np.int64)))
    window = _window.Window(tuple(axes), rank, cval=cval, footprint=footprint)
    if len(_window.group_axes(window.axes)) > _MOST_AXES:
        raise NotImplementedError(f"axes of the window lie apart: in device memory it has room for {_MOST_AXES} groups")
    return _device.median_filter(array, window, output, _engine.Algorithm.AUTOMATIC, 0, None, key)[0]


def run(
    array: Any,
    shape: _footprint.Shape,
    origins: Sequence[int],
    modes: Sequence[Any],
    cval: Any,
    output: Any,
    rank: int,
    key: _plans.Key | None = None,
) -> Any:
    """Filter an array with a window along all of its axes. What is asked is kept for another call with the same key."""
    axes, places = _windows(shape, origins, modes)
    cval = _real(cval)
    if not _types.is_ndarray(array):
        return _run_on_device(array, axes, places, cval, output, rank, key)
    pixel = _pixel_type(array.dtype)
    result = _make_output(output, array.shape, array.dtype)
    is_extremum = shape.mask is None and rank in (0, shape.count() - 1)
    if any(along.border is _engine.Border.CONSTANT for along in axes):
        dtype = array.dtype.newbyteorder("=")
        if is_extremum:
            held = _type_for(dtype, result.dtype, cval)
            pixel = pixel if held.kind == "b" else held
        else:
            cval = _cut(dtype, cval)
        value = np.array(cval).astype(pixel).tobytes()
    else:
        value = b""
    job = _Filter(axes, places, rank, pixel, value)
    if array.size == 0:
        return result
    if not job.active:
        np.copyto(result, array, casting="unsafe")
        return result
    if len(job.active) > _MOST_AXES and not is_extremum:
        name = "footprint" if places is not None else "size"
        raise NotImplementedError(
            f"{name} spans {len(job.active)} axes; a window may span {_MOST_AXES}, and more only for the least and the "
            "greatest of a window without holes"
        )
    source = np.ascontiguousarray(array.view("uint8") if array.dtype.kind == "b" else array, pixel)
    source = source if source.flags.aligned else source.copy()
    target = result.view("uint8") if array.dtype.kind == "b" and result.dtype.kind == "b" else result
    direct = (
        target.dtype == pixel
        and target.flags.c_contiguous
        and target.flags.aligned
        and not _numpy.may_share_memory(result, source)
    )
    destination = target if direct else np.empty(array.shape, pixel)
    if len(job.active) > _MOST_AXES:
        _run_extremum(job, source, destination, rank == 0)
    else:
        start = time.perf_counter()
        job.run(source, destination)
        seconds = time.perf_counter() - start
        is_kept = direct and source.dtype == array.dtype and array.dtype == result.dtype
        if key is not None and is_kept and (prepared := job.prepare(source, destination, seconds)) is not None:
            _plans.keep_on_host(key, prepared)
    if not direct:
        with np.errstate(invalid="ignore"):
            np.copyto(result, destination, casting="unsafe")
    return result
