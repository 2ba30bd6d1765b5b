# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Sizes, footprints, origins and axes as `scipy.ndimage` reads them, with its errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np


@dataclass(frozen=True)
class Shape:
    """A window's size along each axis, and where it has holes its pixels."""

    sizes: tuple[int, ...]
    mask: np.ndarray | None  # None: all pixels of the box

    def count(self) -> int:
        """Return the number of its pixels."""
        return math.prod(self.sizes) if self.mask is None else int(np.count_nonzero(self.mask))


def box(sizes: Sequence[int]) -> Shape:
    """Return a window without holes."""
    return Shape(tuple(sizes), None)


def with_holes(mask: np.ndarray) -> Shape:
    """Return the window of a footprint, a box where no pixel is missing."""
    return Shape(mask.shape, None if mask.size > 0 and mask.all() else mask)


def normalize(value: Any, count: int) -> list[Any]:
    """Return a value for each axis, from one or several."""
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise RuntimeError("sequence argument must have length equal to input rank")
    return values


def check_sizes(sizes: Sequence[Any]) -> list[int]:
    """Return sizes as integers."""
    if any(isinstance(size, (bool, np.bool_)) for size in sizes):
        raise TypeError("an integer is required")
    numbers = [operator.index(size) for size in sizes]
    if any(number < 0 for number in numbers):
        raise ValueError("negative dimensions are not allowed")
    return numbers


def check_axes(axes: Any, ndim: int) -> tuple[int, ...]:
    """Return the axes of a window, counted from 0."""
    if axes is None:
        return tuple(range(ndim))
    if np.isscalar(axes):
        axis = operator.index(axes)  # pyright: ignore[reportArgumentType] - raises what scipy does
        if not -ndim <= axis < ndim:
            raise np.exceptions.AxisError(axis, ndim)
        return (axis % ndim,)
    if not isinstance(axes, Iterable):
        raise ValueError("axes must be an integer, iterable of integers, or None")
    numbers = tuple(operator.index(axis) for axis in cast("Iterable[Any]", axes))
    for axis in numbers:
        if not -ndim <= axis < ndim:
            raise ValueError(f"specified axis: {axis} is out of range")
    positive = tuple(axis % ndim for axis in numbers)
    if len(set(positive)) != len(positive):
        raise ValueError("axes must be unique")
    return positive


def expand(shape: Shape, ndim: int, axes: Sequence[int]) -> Shape:
    """Return a window along all axes of an array.

    As in scipy, the axes of a footprint follow the array's, in whatever order `axes` names them; origins follow `axes`.
    """
    if len(axes) == ndim:
        return shape
    if len(shape.sizes) != len(axes):
        raise RuntimeError(f"footprint.ndim ({len(shape.sizes)}) must match len(axes) ({len(axes)})")
    missing = tuple(axis for axis in range(ndim) if axis not in axes)
    sizes = [1] * ndim
    for axis, size in zip(sorted(axes), shape.sizes, strict=True):
        sizes[axis] = size
    return Shape(tuple(sizes), None if shape.mask is None else np.expand_dims(shape.mask, missing))


def expand_values(values: Sequence[Any], ndim: int, axes: Sequence[int], rest: Any) -> list[Any]:
    """Return a value for each axis of an array, `rest` for those that `axes` does not name."""
    if len(axes) == ndim:
        return list(values)
    result = [rest] * ndim
    for axis, value in zip(axes, values, strict=True):
        result[axis] = value
    return result


def check_shape(shape: Shape, ndim: int, count: int) -> None:
    """Refuse a window of another number of axes, or without pixels along one."""
    if len(shape.sizes) != ndim or 0 in shape.sizes:
        raise RuntimeError(f"footprint.ndim ({len(shape.sizes)}) must match len(axes) ({count})")


def check_origins(origins: Sequence[Any], sizes: Sequence[int]) -> list[int]:
    """Return origins as integers, each a pixel of the window."""
    for origin, size in zip(origins, sizes, strict=True):
        if size // 2 + origin < 0 or size // 2 + origin >= size:
            raise ValueError("invalid origin")
    return [operator.index(origin) for origin in origins]


def offsets(shape: Shape, origins: Sequence[int]) -> np.ndarray:
    """Return where the pixels of a window with holes lie from its output: a row for each."""
    assert shape.mask is not None
    first = [size // 2 + origin for size, origin in zip(shape.sizes, origins, strict=True)]
    return np.argwhere(shape.mask) - np.array(first, np.int64)
