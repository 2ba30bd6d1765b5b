# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""From `size`, `radius` and `axes`, as a caller writes them, to one radius for each axis of an array."""

from __future__ import annotations

import math
from collections.abc import Sequence

from . import _engine, _numbers

# That of a window along one axis. Along several, their product has a limit: see `merge_axes`.
_LARGEST_RADIUS = (_numbers.MOST_WINDOW_PIXELS - 1) // 2


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


def radius_of_axes(
    ndim: int,
    size: int | Sequence[int] | None,
    radius: int | Sequence[int] | None,
    axes: int | Sequence[int] | None,
) -> tuple[int, ...]:
    """Return the radius along each axis of an array of `ndim` axes; 0 along those that `axes` does not name.

    `size` is 2 * radius + 1; exactly one of the two has to be given.
    """
    if (size is None) == (radius is None):
        raise TypeError("give either size or radius, and not both")
    chosen = _axes(ndim, axes)
    if size is not None:
        sizes = _spread("size", size, len(chosen))
        for value in sizes:
            if value < 1 or value % 2 == 0:
                raise ValueError(f"size {value} is not an odd number of at least 1: windows are centred on a pixel")
            if value > _numbers.MOST_WINDOW_PIXELS:
                raise ValueError(f"size {value} is above the limit of {2 * _LARGEST_RADIUS + 1}")
        radii = tuple(value // 2 for value in sizes)
    else:
        radii = _spread("radius", radius, len(chosen))
        for value in radii:
            if value < 0:
                raise ValueError(f"radius {value} is below 0")
            if value > _LARGEST_RADIUS:
                raise ValueError(f"radius {value} is above the limit of {_LARGEST_RADIUS}")
    result = [0] * ndim
    for axis, value in zip(chosen, radii, strict=True):
        result[axis] = value
    return tuple(result)


def merge_axes(shape: Sequence[int], radius: Sequence[int]) -> tuple[list[int], list[int]]:
    """Merge neighbouring axes without a radius, so that arrays of more axes than the engine has fit.

    The medians of a C-contiguous array are the same: no window reaches along such an axis.
    """
    merged_shape: list[int] = []
    merged_radius: list[int] = []
    for extent, value in zip(shape, radius, strict=True):
        if merged_shape and value == 0 and merged_radius[-1] == 0:
            merged_shape[-1] *= extent
        else:
            merged_shape.append(extent)
            merged_radius.append(value)
    active = sum(value > 0 for value in merged_radius)
    if active > 3:
        raise ValueError(f"{active} axes have a radius above 0; the limit is 3")
    pixels = math.prod(2 * value + 1 for value in merged_radius)
    if pixels > _numbers.MOST_WINDOW_PIXELS:
        raise ValueError(
            f"a window of radius {tuple(radius)} has {pixels} pixels; the limit is {_numbers.MOST_WINDOW_PIXELS}"
        )
    limit = _engine.MAXIMUM_DIMENSION
    if len(merged_shape) > limit:
        raise ValueError(
            f"an array of shape {tuple(shape)} with radius {tuple(radius)} has {len(merged_shape)} axes after "
            f"neighbours without a radius are merged; the limit is {limit}"
        )
    return merged_shape, merged_radius
