# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The rank filters of `scipy.ndimage`: the same names, arguments, results and errors.

Differences: 64-bit integers keep every bit, where scipy computes with doubles. float16 is filtered. NaN orders above
+infinity, where scipy leaves the result undefined. A window may span four axes at most; those of minimum_filter and
maximum_filter without holes any number. What cannot be done is a NotImplementedError that names the argument.

Arrays in device memory are filtered there. Arrays of PyTorch, JAX, Dask, xarray and other libraries give arrays of the
same kind; those of Dask take no output.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from . import _device, _filter, _footprint, _images, _ndimage_run, _plans, _tensors
from ._footprint import Shape

__all__ = ["maximum_filter", "median_filter", "minimum_filter", "percentile_filter", "rank_filter"]

# Their ranks.
_EXTREMA = {"minimum_filter": 0, "maximum_filter": -1}

_WRONG_RANK = "rank not within filter footprint size"


def _warn_of_size(size: object, footprint: object) -> None:
    if size is not None and footprint is not None:
        warnings.warn("ignoring size because footprint is set", UserWarning, stacklevel=4)


def _is_sequence(mode: object) -> bool:
    return not isinstance(mode, str) and isinstance(mode, Iterable)


def _filter_rank(
    name: str,
    array: Any,
    wanted: Any,
    size: Any,
    footprint: Any,
    output: Any,
    mode: Any,
    cval: Any,
    origin: Any,
    axes: Any,
) -> Any:
    """Filter with a rank, which `wanted` is or, by the name of the filter, tells for a number of pixels."""
    kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
    traced = kind is not np.ndarray and _tensors.is_compiling() and _tensors.is_tensor(array)
    key = None
    if not traced:
        result, key = _plans.calls.ranked(array, output, name, wanted, size, footprint, mode, cval, origin, axes)
        if result is not None:
            return result
    if kind is not np.ndarray:
        window = {"size": size, "footprint": footprint, "mode": mode, "cval": cval, "origin": origin, "axes": axes}
        more = {} if name == "median" else {name: wanted}
        if traced or _tensors.needs_operator(array, footprint):
            return _tensors.filter_tensor(f"ndimage.{name}_filter", array, output, {**more, **window})
        if (result := _filter_within(f"{name}_filter", array, output, more, window)) is not None:
            return result
    _warn_of_size(size, footprint)
    given_array, array = array, _ndimage_run.as_array(array)
    chosen = _footprint.check_axes(axes, array.ndim)
    if footprint is None and size is None:
        raise RuntimeError("no footprint or filter size provided")
    if footprint is None:
        given = _footprint.box(_footprint.check_sizes(_footprint.normalize(size, len(chosen))))
    else:
        given = _footprint.with_holes(_tensors.read(footprint).astype(bool))
    shape = _footprint.expand(given, array.ndim, chosen)
    origins = _footprint.expand_values(_footprint.normalize(origin, len(chosen)), array.ndim, chosen, 0)
    modes = mode
    if _is_sequence(mode):
        modes = _footprint.expand_values(_footprint.normalize(mode, len(chosen)), array.ndim, chosen, "constant")
    _footprint.check_shape(shape, array.ndim, len(chosen))
    shifts = _footprint.check_origins(origins, shape.sizes)
    pixels = shape.count()
    rank = _RANKS[name](wanted, pixels)
    rank += pixels if rank < 0 else 0
    if not 0 <= rank < pixels:
        raise RuntimeError(_WRONG_RANK)
    if _is_sequence(modes):
        if rank not in (0, pixels - 1):
            raise RuntimeError("A sequence of modes is not supported by non-separable rank filters")
        if shape.mask is not None:
            raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
    names = list(modes) if _is_sequence(modes) else [modes] * array.ndim
    # What is kept asks for the attributes of the array that is filtered.
    kept = key if array is given_array else None
    return _run(given_array, array, shape, shifts, names, cval, output, rank, kept)


def _filter_within(
    filter_name: str, array: Any, output: Any, more: dict[str, Any], window: dict[str, Any]
) -> Any | None:
    """Filter what an array of xarray holds, or the chunks of one of Dask; return None for what is neither."""
    opened = _images.open_labelled(array)
    is_chunked = _filter.is_dask_array(array)
    if opened is None and not is_chunked:
        return None
    function = globals()[filter_name]
    if opened is not None:
        result = function(opened.array, output=output, **more, **window)
        return opened.close(result) if output is None or isinstance(output, (str, type, np.dtype)) else result
    if output is not None:
        raise NotImplementedError(f"output is {output!r}; a Dask array is filtered when computed, and gives a new one")
    from . import dask  # noqa: PLC0415 - needs Dask

    # An array without pixels: mistakes are those of scipy, and nothing is done.
    function(np.empty((0,) * array.ndim, array.dtype), **more, **window)
    options = {**window, **more}
    if filter_name in _EXTREMA:
        options["rank"] = _EXTREMA[filter_name]
    if window["footprint"] is not None:
        options["size"] = None
    return dask.median_filter(array, **options)


def _run(given: Any, array: Any, shape: Shape, shifts: Any, names: Any, cval: Any, output: Any, *rest: Any) -> Any:
    """Run the filter; return an array of the library that the input was given as."""
    if not _device.is_host_tensor(given):
        return _ndimage_run.run(array, shape, shifts, names, cval, output, *rest)
    _tensors.check_output(output)
    result = _ndimage_run.run(array, shape, shifts, names, cval, _device.open_output(output), *rest)
    return _device.close_result(given, output, result)


def _filter_extremum(
    array: Any, is_minimum: bool, size: Any, footprint: Any, output: Any, mode: Any, cval: Any, origin: Any, axes: Any
) -> Any:
    """Filter with the first or the last rank. scipy reads the arguments in another way than for other ranks."""
    filter_name = "minimum" if is_minimum else "maximum"
    kind: type[Any] = type(array)  # pyright: ignore[reportUnknownVariableType]
    traced = kind is not np.ndarray and _tensors.is_compiling() and _tensors.is_tensor(array)
    key = None
    if not traced:
        result, key = _plans.calls.ranked(array, output, filter_name, 0, size, footprint, mode, cval, origin, axes)
        if result is not None:
            return result
    if kind is not np.ndarray:
        window = {"size": size, "footprint": footprint, "mode": mode, "cval": cval, "origin": origin, "axes": axes}
        if traced or _tensors.needs_operator(array, footprint):
            return _tensors.filter_tensor(f"ndimage.{filter_name}_filter", array, output, window)
        if (result := _filter_within(f"{filter_name}_filter", array, output, {}, window)) is not None:
            return result
    _warn_of_size(size, footprint)
    shape: Shape | None = None
    if footprint is None and size is None:
        raise RuntimeError("no footprint provided")
    if footprint is not None:
        shape = _footprint.with_holes(_tensors.read(footprint).astype(bool))
        if shape.count() == 0:
            raise ValueError("All-zero footprint is not supported.")
        if shape.mask is None:
            size, shape = shape.sizes, None
    given_array, array = array, _ndimage_run.as_array(array)
    chosen = _footprint.check_axes(axes, array.ndim)
    if shape is not None:
        shape = _footprint.expand(shape, array.ndim, chosen)
        origins = _footprint.expand_values(_footprint.normalize(origin, len(chosen)), array.ndim, chosen, 0)
        _footprint.check_shape(shape, array.ndim, len(chosen))
        shifts = _footprint.check_origins(origins, shape.sizes)
        if _is_sequence(mode):
            raise RuntimeError("A sequence of modes is not supported for non-separable footprints")
        names = [mode] * array.ndim
    else:
        count = len(chosen)
        given = zip(
            chosen,
            _footprint.normalize(origin, count),
            _footprint.normalize(size, count),
            _footprint.normalize(mode, count),
            strict=True,
        )
        sizes, shifts, names = [1] * array.ndim, [0] * array.ndim, [""] * array.ndim
        for axis, shift, extent, name in given:
            # What is not above 1 is no window, and then nobody looks at its origin and mode.
            if extent > 1:
                sizes[axis], names[axis] = int(extent), name
                shifts[axis] = _footprint.check_origins([shift], [int(extent)])[0]
        shape = Shape(tuple(sizes), None)
    rank = 0 if is_minimum else shape.count() - 1
    # What is kept asks for the attributes of the array that is filtered.
    kept = key if array is given_array else None
    return _run(given_array, array, shape, shifts, names, cval, output, rank, kept)


def _share(percentile: Any, pixels: int) -> int:
    """Return the rank of a percentile, as scipy rounds it."""
    if percentile < 0.0:
        percentile += 100.0
    if percentile < 0 or percentile > 100:
        raise RuntimeError("invalid percentile")
    return pixels - 1 if percentile == 100.0 else int(float(pixels) * percentile / 100.0)


def _middle(_: object, pixels: int) -> int:
    return pixels // 2


def _itself(rank: int, _: object) -> int:
    return rank


# The rank of what is wanted in a window of so many pixels.
_RANKS: dict[str, Callable[[Any, int], int]] = {"median": _middle, "rank": _itself, "percentile": _share}


def median_filter(
    input: Any,  # noqa: A002 - scipy's name
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """Return the median of the window around each pixel, the upper one of two: `scipy.ndimage.median_filter`.

    Parameters
    ----------
    input : array
        An array of bool, integers, float16, float32 or float64 with any number of axes.
    size : int or sequence of int, optional
        The window along each of `axes`, one number or one for each.
    footprint : array, optional
        An array with as many axes as the window: its pixels are those that are not 0. `size` is ignored, then.
    output : array or type, optional
        An array for the result, or the type of a new one.
    mode : str or sequence of str, default "reflect"
        What lies beyond the border: "reflect" or "grid-mirror", "constant" or "grid-constant", "nearest", "mirror",
        "wrap" or "grid-wrap". As scipy, minimum_filter and maximum_filter with a window without holes take one for each
        of `axes`, and so do the other filters where their rank is the first or the last.
    cval : float, default 0
        The value beyond a constant border. As in scipy, integers lose what it has behind the point.
    origin : int or sequence of int, default 0
        Shifts the window, one number or one for each of `axes`: above 0 towards lower indices.
    axes : int or sequence of int, optional
        The axes that the window spans; all by default.

    Returns
    -------
    array
        The medians: `output`, or a new array of the input's kind, shape and type, or of the type that `output` names.

    Examples
    --------
    >>> import numpy as np
    >>> from cudamedian import ndimage
    >>> ndimage.median_filter(np.array([[1, 9, 2], [3, 4, 8]]), size=3)
    array([[3, 3, 4],
           [3, 4, 8]])
    >>> ndimage.median_filter(np.array([5, 1, 4, 2, 3]), footprint=[1, 0, 1])
    array([5, 5, 2, 4, 3])

    """
    return _filter_rank("median", input, 0, size, footprint, output, mode, cval, origin, axes)


def rank_filter(
    input: Any,  # noqa: A002 - scipy's name
    rank: int,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """Return the value of a rank in the window around each pixel: `scipy.ndimage.rank_filter`.

    Parameters
    ----------
    input : array
        As for `median_filter`.
    rank : int
        The rank of the wanted value, from 0, or below 0 counted from the largest: -1 is the maximum.
    size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Returns
    -------
    array
        The values, as `median_filter` returns them.

    Examples
    --------
    >>> from cudamedian import ndimage
    >>> ndimage.rank_filter([5, 1, 4, 2, 3], rank=1, size=3)
    array([5, 4, 2, 3, 3])
    >>> ndimage.rank_filter([5, 1, 4, 2, 3], rank=-1, size=3)
    array([5, 5, 4, 4, 3])

    """
    return _filter_rank("rank", input, operator.index(rank), size, footprint, output, mode, cval, origin, axes)


def percentile_filter(
    input: Any,  # noqa: A002 - scipy's name
    percentile: float,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """Return a percentile of the window around each pixel, rounded down: `scipy.ndimage.percentile_filter`.

    Parameters
    ----------
    input : array
        As for `median_filter`.
    percentile : float
        From 0 to 100, or below 0 counted from 100.
    size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Returns
    -------
    array
        The values, as `median_filter` returns them.

    Examples
    --------
    >>> from cudamedian import ndimage
    >>> ndimage.percentile_filter([5, 1, 4, 2, 3], percentile=25, size=3)
    array([1, 1, 1, 2, 2])

    """
    return _filter_rank("percentile", input, percentile, size, footprint, output, mode, cval, origin, axes)


def minimum_filter(
    input: Any,  # noqa: A002 - scipy's name
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """Return the least value of the window around each pixel: `scipy.ndimage.minimum_filter`.

    Parameters
    ----------
    input : array
        As for `median_filter`.
    size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Returns
    -------
    array
        The values, as `median_filter` returns them.

    Examples
    --------
    >>> from cudamedian import ndimage
    >>> ndimage.minimum_filter([5, 1, 4, 2, 3], size=3)
    array([1, 1, 1, 2, 2])

    """
    return _filter_extremum(input, True, size, footprint, output, mode, cval, origin, axes)


def maximum_filter(
    input: Any,  # noqa: A002 - scipy's name
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    output: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0.0,
    origin: int | Sequence[int] = 0,
    *,
    axes: int | Sequence[int] | None = None,
) -> Any:
    """Return the greatest value of the window around each pixel: `scipy.ndimage.maximum_filter`.

    Parameters
    ----------
    input : array
        As for `median_filter`.
    size, footprint, output, mode, cval, origin, axes
        As for `median_filter`.

    Returns
    -------
    array
        The values, as `median_filter` returns them.

    Examples
    --------
    >>> from cudamedian import ndimage
    >>> ndimage.maximum_filter([5, 1, 4, 2, 3], size=3)
    array([5, 5, 4, 4, 3])

    """
    return _filter_extremum(input, False, size, footprint, output, mode, cval, origin, axes)
