# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Dask arrays: chunk by chunk, each with a halo of the window's radius, and the same medians as in one piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask.array
import numpy as np

from . import _chunks, _engine, _filter, _numbers, _numpy, _rules, _tensors, _types, _window


def _filter_chunk(chunk: np.ndarray, mask: np.ndarray | None = None, *, options: dict[str, Any]) -> np.ndarray:
    """Filter a chunk with its halo. Runs in a worker, which imports the package to find this function."""
    return _filter.median_filter(chunk, mask=mask, **options)


def _chunk_mask(mask: Any, array: dask.array.Array) -> dask.array.Array:
    """Return a mask with the shape and the chunks of an array."""
    mask = _rules.spread_mask(mask, array.shape)
    return dask.array.broadcast_to(dask.array.asarray(mask), array.shape).rechunk(array.chunks)


def _plan_halo(array: dask.array.Array, window: _window.Window) -> tuple[dask.array.Array, dict[int, int]]:
    """Return the array with chunks that can lend a halo, and the halo's depth along each axis.

    Along an axis that is not longer than windows reach every window may reach all of it: such an axis is one chunk and
    needs no halo. On other axes no chunk may be shorter than the halo it lends.
    """
    whole = {axis: -1 for axis, along in enumerate(window.axes) if along.reach >= array.shape[axis]}
    array = array.rechunk(whole) if whole else array
    depth = {
        axis: 0 if axis in whole or array.numblocks[axis] == 1 else along.reach
        for axis, along in enumerate(window.axes)
    }
    return array, depth


def _boundary(window: _window.Window, depth: dict[int, int]) -> dict[int, str]:
    """Return what the outermost chunks get beyond the array: its far side, or nothing, as the filter has a border."""
    return {
        axis: "periodic" if depth[axis] > 0 and along.border is _engine.Border.WRAP else "none"
        for axis, along in enumerate(window.axes)
    }


def median_filter(
    array: dask.array.Array,
    size: int | Sequence[int] | None = None,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    mode: str | Sequence[str] = "nearest",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
    rank: int | None = None,
    percentile: float | None = None,
    even_median: str = "upper",
    footprint: Any = None,
    weights: Any = None,
    mask: Any = None,
    ignore: float | None = None,
    nan: str = "order",
    empty: str | float = "input",
    invalid: str | float = "computed",
    outliers: float | str | None = None,
    backend: str = "auto",
    algorithm: str = "automatic",
    memory: int = 0,
    threads: int | None = None,
) -> dask.array.Array:
    """Return a Dask array of the medians of a Dask array; nothing runs until it is computed or stored.

    The parameters are those of `cudamedian.median_filter`. Every chunk is filtered with a halo of the radius,
    which Dask takes from its neighbours, around the array where it wraps; the border of the array is else the filter's
    own, so that the result equals that of the array in one piece, value for value. Chunks shorter than the radius are
    merged. A mask is a Dask array or another.

    `threads` is the number of threads within one task, 1 by default: as many tasks run at the same time as the worker,
    or Dask's scheduler of threads, has threads, and together they are as many as those. 0 and -1 are one for each core
    of the worker, for a worker with one thread on a machine of its own and for `scheduler="synchronous"`.

    What is wrong with the arguments is an error here, not when the array is computed.

    Parameters
    ----------
    array : dask.array.Array
        The array, in chunks whose sizes are known.
    size, radius, axes, mode, cval, origin, rank, percentile, even_median, footprint, weights
        The window and the value that is wanted of it, as for `cudamedian.median_filter`.
    mask, ignore, nan, empty, invalid, outliers
        Which pixels are valid, and which are replaced, as for `cudamedian.median_filter`.
    backend, algorithm, memory
        As for `cudamedian.median_filter`, for each task.
    threads : int, optional
        Threads within one task, 1 by default.

    Returns
    -------
    dask.array.Array
        The medians, with the input's type, in the same chunks or merged ones.

    Examples
    --------
    >>> import dask.array
    >>> from cudamedian.dask import median_filter
    >>> numbers = dask.array.arange(8, chunks=4)[::-1]
    >>> median_filter(numbers, size=3).compute()
    array([7, 6, 5, 4, 3, 2, 1, 0])

    """
    unknown = [axis for axis, extent in enumerate(array.shape) if math.isnan(extent)]
    if unknown:
        raise ValueError(f"axes {unknown} have chunks of unknown size; compute_chunk_sizes() finds them")
    shape_of_window: _types.Window = {
        "size": size,
        "radius": radius,
        "axes": axes,
        "mode": mode,
        "cval": cval,
        "origin": origin,
        "rank": rank,
        "percentile": percentile,
        "even_median": even_median,
        "footprint": None if footprint is None else _tensors.read(footprint),
        "weights": None if weights is None else _tensors.read(weights),
    }
    given = _rules.read(mask, ignore, nan, empty, invalid, outliers)
    _numpy.check_input(array._meta)
    window = _chunks.check_arguments(array.shape, array.dtype, shape_of_window, given, backend, algorithm)
    count = _numbers.thread_count(threads)
    options = {
        **shape_of_window,
        "ignore": ignore,
        "nan": nan,
        "empty": empty,
        "invalid": invalid,
        "outliers": outliers,
        "backend": backend,
        "algorithm": algorithm,
        "memory": _numbers.memory_limit(memory),
        "threads": 1 if count is None else count,
    }
    array, depth = _plan_halo(array, window)
    inputs = [array] if mask is None else [array, _chunk_mask(mask, array)]
    return dask.array.map_overlap(
        _filter_chunk,
        *inputs,
        depth=depth,
        boundary=_boundary(window, depth),
        dtype=array.dtype,
        meta=array._meta,
        options=options,
    )


def rank_filter(
    image: dask.array.Array,
    rank: int,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
) -> dask.array.Array:
    """Return a Dask array of the values of a rank; nothing runs until it is computed or stored.

    The arguments and their order are those of `dask_image.ndfilters.rank_filter`, and those of
    `scipy.ndimage.rank_filter` but for its `output` and `axes`.

    Parameters
    ----------
    image
        A Dask array. It may have chunks of any known size.
    rank
        The rank of the wanted value in the window, from 0, or below 0 counted from the largest.
    size
        The window along each axis, one number or one for each. Give either this or `footprint`.
    footprint
        An array with as many axes as the image: the pixels of the window are those that are not 0.
    mode
        What lies beyond the border, one of the names of `cudamedian.median_filter` or one for each axis. "reflect" is
        the default here, as in scipy.
    cval
        The value beyond the border where it is "constant", which the image's type has to hold.
    origin
        Shifts the window, one number or one for each axis: above 0 towards lower indices.

    Returns
    -------
    dask.array.Array
        It equals the result for the array in one piece, value for value.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the text names it and its limits. Nothing has been computed.

    """
    return median_filter(image, size, footprint=footprint, mode=mode, cval=cval, origin=origin, rank=rank)


def percentile_filter(
    image: dask.array.Array,
    percentile: float,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
) -> dask.array.Array:
    """Return a Dask array of a percentile, rounded down: `dask_image.ndfilters.percentile_filter`.

    The parameters are those of `rank_filter`, with `percentile` from 0 to 100, or below 0 counted from 100.
    """
    return median_filter(image, size, footprint=footprint, mode=mode, cval=cval, origin=origin, percentile=percentile)


def minimum_filter(
    image: dask.array.Array,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
) -> dask.array.Array:
    """Return a Dask array of the least values: `dask_image.ndfilters.minimum_filter`.

    The parameters are those of `rank_filter`.
    """
    return median_filter(image, size, footprint=footprint, mode=mode, cval=cval, origin=origin, rank=0)


def maximum_filter(
    image: dask.array.Array,
    size: int | Sequence[int] | None = None,
    footprint: Any = None,
    mode: str | Sequence[str] = "reflect",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
) -> dask.array.Array:
    """Return a Dask array of the greatest values: `dask_image.ndfilters.maximum_filter`.

    The parameters are those of `rank_filter`.
    """
    return median_filter(image, size, footprint=footprint, mode=mode, cval=cval, origin=origin, rank=-1)
