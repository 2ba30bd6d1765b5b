# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""From `size`, `radius`, `axes` and what else a caller writes to one window along each axis of an array."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from . import _engine, _numbers, _rules, _tensors, _types

# That of a window along one axis. Along several, their product has a limit: see `merge_axes`.
_LARGEST_RADIUS = (_numbers.MOST_WINDOW_PIXELS - 1) // 2

# scipy has two names for some of what lies beyond the border.
BORDERS = {
    "nearest": _engine.Border.ZERO_FLUX_NEUMANN,
    "constant": _engine.Border.CONSTANT,
    "grid-constant": _engine.Border.CONSTANT,
    "reflect": _engine.Border.REFLECT,
    "grid-mirror": _engine.Border.REFLECT,
    "mirror": _engine.Border.MIRROR,
    "wrap": _engine.Border.WRAP,
    "grid-wrap": _engine.Border.WRAP,
    "shrink": _engine.Border.SHRINK,
}

_EVEN_MEDIANS = {
    "upper": _engine.EvenMedian.UPPER,
    "mean": _engine.EvenMedian.MEAN,
    "lower": _engine.EvenMedian.LOWER,
}

# What a footprint may have of pixels, and of values, which its weights add up to.
_MOST_PIXELS = 2**24


@dataclass(frozen=True)
class AxisWindow:
    """The window along one axis: `radius` pixels before its output, and as many behind but for `shorter`, shifted."""

    radius: int = 0
    shorter: int = 0
    shift: int = 0
    border: _engine.Border = _engine.Border.ZERO_FLUX_NEUMANN

    @property
    def size(self) -> int:
        """Its pixels."""
        return 2 * self.radius + 1 - self.shorter

    @property
    def reach(self) -> int:
        """How far it goes from its output, at most."""
        return self.radius + abs(self.shift)


@dataclass(frozen=True)
class Window:
    """What an array is filtered with: the window along each of its axes, and the value that is wanted of it.

    With a footprint, `axes` are the box around its pixels, and it has a row for each of them: where it lies from the
    output along each axis, and its weight.
    """

    axes: tuple[AxisWindow, ...]
    rank: int = -1  # the median's
    even_median: _engine.EvenMedian = _engine.EvenMedian.UPPER
    cval: float = 0
    footprint: np.ndarray | None = None

    def count_values(self) -> int:
        """Return the pixels of a window."""
        return math.prod(axis.size for axis in self.axes) if self.footprint is None else len(self.footprint)

    def options(self) -> dict[str, object]:
        """Return what the engine is told besides the axes, which are merged as `merge_axes` merges them."""
        options: dict[str, object] = {"rank": self.rank, "even_median": self.even_median}
        if self.footprint is not None:
            firsts = [group[0] for group in group_axes(self.axes)]
            options["footprint"] = self.footprint[:, [*firsts, len(self.axes)]]
        return options


def _axes(ndim: int, axes: object) -> tuple[int, ...]:
    if axes is None:
        return tuple(range(ndim))
    given = _numbers.integers("axes", axes)
    given = (given,) if isinstance(given, int) else given
    for axis in given:
        if not -ndim <= axis < ndim:
            limits = f": {-ndim} to {ndim - 1}" if ndim else ""
            raise ValueError(f"axes holds {axis}, but the array has {ndim} axes{limits}")
    positive = tuple(axis % ndim for axis in given)
    if len(set(positive)) != len(positive):
        raise ValueError(f"axes is {axes!r}, which names an axis twice")
    return positive


def _spread(name: str, value: object, count: int) -> tuple[int, ...]:
    given = _numbers.integers(name, value)
    given = (given,) * count if isinstance(given, int) else given
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} values for {count} axes")
    return given


def _sizes(size: object, count: int) -> list[tuple[int, int]]:
    """Return radius and what the window is shorter, along each axis, from its size."""
    sizes = _spread("size", size, count)
    for value in sizes:
        if value < 1:
            raise ValueError(f"size {value} is below 1: a window holds a pixel at least")
        if value > _numbers.MOST_WINDOW_PIXELS:
            raise ValueError(f"size {value} is above the limit of {_numbers.MOST_WINDOW_PIXELS}")
    return [(value // 2, 1 - value % 2) for value in sizes]


def _radii(radius: object, count: int) -> list[tuple[int, int]]:
    radii = _spread("radius", radius, count)
    for value in radii:
        if value < 0:
            raise ValueError(f"radius {value} is below 0")
        if value > _LARGEST_RADIUS:
            raise ValueError(f"radius {value} is above the limit of {_LARGEST_RADIUS}")
    return [(value, 0) for value in radii]


def _borders(mode: object, count: int) -> tuple[_engine.Border, ...]:
    names = mode if _types.is_items(mode) else (mode,) * count
    if not all(isinstance(name, str) and name in BORDERS for name in names):
        raise ValueError(f"mode is {mode!r}; the choices are {', '.join(map(repr, BORDERS))}")
    if len(names) != count:
        raise ValueError(f"mode is {mode!r}, which has {len(names)} values for {count} axes")
    return tuple(BORDERS[str(name)] for name in names)


def _shift(origin: int, size: int) -> int:
    """Return how far a window is shifted. scipy's origin is a pixel of the window, counted from its middle."""
    if not 0 <= size // 2 + origin < size:
        limits = f"from {-(size // 2)} to {(size - 1) // 2}"
        raise ValueError(f"origin is {origin}; for a window of size {size} it may be {limits}")
    return -origin


def _number(name: str, value: object) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise TypeError(f"{name} is {value!r}, which is not a number")
    return cast("float", value)


def _rank(rank: object, percentile: object, pixels: int) -> int:
    """Return the rank in a window of so many pixels as scipy's rank_filter and percentile_filter count it."""
    if rank is not None and percentile is not None:
        raise TypeError("give either rank or percentile, and not both")
    if rank is not None:
        return _numbers.integer("rank", rank, -pixels, pixels - 1, f" in a window of {pixels} pixels") % pixels
    if percentile is None:
        return -1
    share = float(_number("percentile", percentile))
    share = share + 100 if share < 0 else share
    if not 0 <= share <= 100:
        raise ValueError(f"percentile is {percentile}; it may be from -100 to 100")
    return pixels - 1 if share == 100 else int(float(pixels) * share / 100)


def _read_footprint(footprint: object, weights: object, count: int) -> np.ndarray:
    """Return the weights of a footprint's pixels, 0 where there is none."""
    name, given = ("footprint", footprint) if weights is None else ("weights", weights)
    array = _tensors.read(given)
    if array.ndim != count:
        raise ValueError(f"{name} has {array.ndim} axes, but the window has {count}")
    if array.dtype.kind not in "biu" and (weights is not None or array.dtype.kind != "f"):
        raise TypeError(f"{name} has type {array.dtype}; it holds integers or bools")
    if footprint is not None and weights is not None:
        mask = _tensors.read(footprint)
        if mask.shape != array.shape:
            raise ValueError(f"footprint has shape {mask.shape}, but weights has {array.shape}")
        array = np.where(mask != 0, array, 0)
    array = (array != 0).astype(np.int64) if weights is None else array
    if array.size and array.min() < 0:
        raise ValueError(f"weights has {array.min()}; a weight starts at 0")
    pixels = np.count_nonzero(array)
    if pixels == 0 or pixels > _MOST_PIXELS or float(array.sum(dtype=np.float64)) > _MOST_PIXELS:
        raise ValueError(f"{name} has {pixels} pixels; it may have 1 to {_MOST_PIXELS}, and weights add up to no more")
    return array.astype(np.int64)


def _place_footprint(array: np.ndarray, chosen: Sequence[int], origins: Sequence[int], ndim: int) -> np.ndarray:
    """Return a row for each pixel: its offset along each axis of an array, and its weight."""
    places = np.argwhere(array)
    result = np.zeros((len(places), ndim + 1), np.int64)
    for column, (axis, size, origin) in enumerate(zip(chosen, array.shape, origins, strict=True)):
        result[:, axis] = places[:, column] - size // 2 + _shift(origin, size)
    result[:, ndim] = array[tuple(places.T)]
    return result


def window_of_axes(
    ndim: int,
    size: int | Sequence[int] | None = None,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    mode: str | Sequence[str] = "nearest",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
    rank: int | None = None,
    percentile: float | None = None,
    even_median: object = "upper",
    footprint: object = None,
    weights: object = None,
) -> Window:
    """Return the window of an array of `ndim` axes, of one pixel along those that `axes` does not name.

    `size` is 2 * radius + 1; exactly one of the two has to be given, or a footprint, or weights, or these two.
    """
    has_holes = footprint is not None or weights is not None
    if has_holes and (size is not None or radius is not None):
        raise TypeError("a footprint or weights say the size themselves; give neither size nor radius")
    if not has_holes and (size is None) == (radius is None):
        raise TypeError("give either size or radius, and not both")
    chosen = _axes(ndim, axes)
    weighted = _read_footprint(footprint, weights, len(chosen)) if has_holes else None
    if weighted is not None:
        extents = _sizes(weighted.shape, len(chosen))
    else:
        extents = _sizes(size, len(chosen)) if size is not None else _radii(radius, len(chosen))
    origins = _spread("origin", origin, len(chosen))
    # Arrays without axes have nothing beyond them, but a name is to be one all the same.
    borders = _borders(mode, max(1, len(chosen)))[: len(chosen)]
    if not isinstance(even_median, str) or even_median not in _EVEN_MEDIANS:
        raise ValueError(f"even_median is {even_median!r}; the choices are {', '.join(map(repr, _EVEN_MEDIANS))}")
    result = [AxisWindow()] * ndim
    for axis, (half, shorter), offset, border in zip(chosen, extents, origins, borders, strict=True):
        result[axis] = AxisWindow(half, shorter, _shift(offset, 2 * half + 1 - shorter), border)
    pixels = math.prod(axis.size for axis in result)
    placed = None
    if weighted is not None:
        placed = _place_footprint(weighted, chosen, origins, ndim)
        pixels = int(weighted.sum())
        for axis, border in zip(chosen, borders, strict=True):
            result[axis] = AxisWindow(int(np.abs(placed[:, axis]).max()), border=border)
    wanted = _rank(rank, percentile, pixels)
    if wanted >= 0 and even_median != "upper":
        raise TypeError("even_median is for the median; it has no meaning with rank or percentile")
    return Window(tuple(result), wanted, _EVEN_MEDIANS[even_median], _number("cval", cval), placed)


def border_value(window: Window, dtype: np.dtype[Any], pixel: np.dtype) -> bytes:
    """Return the bytes of `cval` in pixels of type `pixel`, which carry those of `dtype`."""
    if all(axis.border is not _engine.Border.CONSTANT for axis in window.axes):
        return b""
    return _rules.pixel_bytes("cval", window.cval, dtype, pixel)


def group_axes(axes: Sequence[AxisWindow]) -> list[list[int]]:
    """Return the numbers of axes, neighbours without a window together."""
    groups: list[list[int]] = []
    for number, axis in enumerate(axes):
        if groups and axis.size == 1 and axes[groups[-1][-1]].size == 1:
            groups[-1].append(number)
        else:
            groups.append([number])
    return groups


def merge_axes(shape: Sequence[int], window: Window) -> tuple[list[int], list[AxisWindow]]:
    """Merge neighbouring axes without a window, so that arrays of more axes than the engine has fit.

    The result for a C-contiguous array is the same: no window reaches along such an axis.
    """
    groups = group_axes(window.axes)
    merged_shape = [math.prod(shape[axis] for axis in group) for group in groups]
    merged = [window.axes[group[0]] for group in groups]
    pixels = math.prod(2 * axis.radius + 1 for axis in window.axes)
    if pixels > _numbers.MOST_WINDOW_PIXELS:
        raise ValueError(
            f"a window of radius {tuple(axis.radius for axis in window.axes)} has {pixels} pixels; "
            f"the limit is {_numbers.MOST_WINDOW_PIXELS}"
        )
    limit = _engine.MAXIMUM_DIMENSION
    if len(merged_shape) > limit:
        raise ValueError(
            f"an array of shape {tuple(shape)} with a window of size {tuple(axis.size for axis in window.axes)} has "
            f"{len(merged_shape)} axes after neighbours without a window are merged; the limit is {limit}"
        )
    return merged_shape, merged
