# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The one function of the package, for every kind of array."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, Unpack, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _device, _engine, _images, _numbers, _numpy, _plans, _progress, _rules, _tensors, _types, _window

# An array or an image that gives one of its kind.
KindT = TypeVar("KindT", bound=_types.Kind)
OutputT = TypeVar("OutputT", bound=NDArray[Any] | _types.DeviceArray | _types.Tensor)
ShapeT = TypeVar("ShapeT", bound=tuple[Any, ...])
DTypeT = TypeVar("DTypeT", bound=np.dtype[Any])
PixelT = TypeVar("PixelT", bound=np.generic)

ChoiceT = TypeVar("ChoiceT")

_BACKENDS = {"auto": _engine.Backend.AUTO, "cuda": _engine.Backend.CUDA, "cpu": _engine.Backend.CPU}
_ALGORITHMS = {
    "automatic": _engine.Algorithm.AUTOMATIC,
    "tile program": _engine.Algorithm.TILE_PROGRAM,
    "local ranks": _engine.Algorithm.LOCAL_RANK,
    "sliding histograms": _engine.Algorithm.SLIDING_HISTOGRAM,
    "selection": _engine.Algorithm.SELECTION,
    "merge tiling": _engine.Algorithm.MERGE_TILING,
}


def _choose(name: str, value: object, choices: dict[str, ChoiceT]) -> ChoiceT:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} is {value!r}; the choices are {', '.join(map(repr, choices))}")
    return choices[value]


def check_choices(backend: str, algorithm: str) -> tuple[_engine.Backend, _engine.Algorithm]:
    """Return the engine's values of what callers choose by name."""
    return _choose("backend", backend, _BACKENDS), _choose("algorithm", algorithm, _ALGORITHMS)


def _check_callable(name: str, function: object) -> None:
    if function is not None and not callable(function):
        raise TypeError(f"{name} is {function!r}, which cannot be called")


def is_dask_array(array: object) -> bool:
    """Whether an array is one of Dask."""
    # Whoever has a Dask array has imported Dask.
    module = sys.modules.get("dask.array")
    return module is not None and isinstance(array, module.Array)


@overload
def median_filter(
    input: np.ndarray[ShapeT, DTypeT],
    size: int | Sequence[int] | None = None,
    *,
    output: None = None,
    **options: Unpack[_types.Options],
) -> np.ndarray[ShapeT, DTypeT]: ...


@overload
def median_filter(
    input: np.ndarray[ShapeT, Any],
    size: int | Sequence[int] | None = None,
    *,
    output: type[PixelT] | np.dtype[PixelT],
    **options: Unpack[_types.Options],
) -> np.ndarray[ShapeT, np.dtype[PixelT]]: ...


@overload
def median_filter(
    input: KindT,
    size: int | Sequence[int] | None = None,
    *,
    output: None = None,
    **options: Unpack[_types.Options],
) -> KindT: ...


@overload
def median_filter(
    input: ArrayLike | _types.Kind,
    size: int | Sequence[int] | None = None,
    *,
    output: OutputT,
    **options: Unpack[_types.Options],
) -> OutputT: ...


@overload
def median_filter(
    input: ArrayLike,
    size: int | Sequence[int] | None = None,
    *,
    output: type[PixelT] | np.dtype[PixelT],
    **options: Unpack[_types.Options],
) -> NDArray[PixelT]: ...


@overload
def median_filter(
    input: ArrayLike,
    size: int | Sequence[int] | None = None,
    *,
    output: str | type[Any] | None = None,
    **options: Unpack[_types.Options],
) -> NDArray[Any]: ...


def median_filter(
    input: Any,  # noqa: A002 - scipy's name
    size: int | Sequence[int] | None = None,
    *,
    radius: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    output: Any = None,
    mode: _types.Mode | Sequence[_types.Mode] = "nearest",
    cval: float = 0,
    origin: int | Sequence[int] = 0,
    rank: int | None = None,
    percentile: float | None = None,
    even_median: _types.EvenMedian = "upper",
    footprint: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    mask: Any = None,
    ignore: float | None = None,
    nan: _types.Nan = "order",
    empty: _types.Empty = "input",
    invalid: _types.Invalid = "computed",
    outliers: float | str | None = None,
    backend: _types.Backend = "auto",
    algorithm: _types.Algorithm = "automatic",
    memory: int = 0,
    threads: int | None = None,
    stream: Any = None,
    progress: Callable[[float], object] | bool | None = None,
    report: Callable[[str], object] | None = None,
) -> Any:
    """Return the exact median of the window around each pixel, or another rank.

    The result equals that of `scipy.ndimage.median_filter(input, size, mode="nearest")` and of
    `itk.median_image_filter`: the middle value of the window, with the pixels at the border repeated outwards. With the
    same `mode`, `cval` and `origin` it equals scipy's, as with `rank` that of `scipy.ndimage.rank_filter` and with
    `percentile` that of `scipy.ndimage.percentile_filter`. NaN orders above +infinity and -0 below +0, where those
    leave it undefined.

    Axes are NumPy's: `radius=(1, 2, 3)` of a volume is 1 along z, 2 along y and 3 along x, the contiguous axis. ITK
    counts the other way round: that is `itk.cuda_median_image_filter(image, radius=[3, 2, 1])`.

    Parameters
    ----------
    input : array or image
        A NumPy array or what NumPy can make one of, a Dask array (see `cudamedian.dask`), or an array of CuPy,
        PyTorch, Numba or JAX (any with `__cuda_array_interface__` or `__dlpack__`), which gives one of the same kind.
        Tensors may be compiled, exported and batched (see `cudamedian.torch`).
        An image of SimpleITK, ITK, VTK or PyVista gives one of its kind in the same place; its window spans the axes of
        space, in NumPy's order, and not that of components. An array of xarray gives one with its coordinates and
        attributes. A mask may be such an image or array, too.
        Pixels are integers of 8 to 64 bits, float16, float32, float64 or bool. A C-contiguous array
        is read where it lies. One in device memory never passes through the host, and the call returns when the work
        is in the library's current stream, like the library's own calls. Arrays of JAX, and those that only DLPack
        describes, pass through CuPy, in its current stream; for them, and for windows beyond tile programs, the call
        returns when the work is done.
    size : int or sequence of int, optional
        Window along each of `axes`, one number or one for each axis. One of even size has its output behind its middle,
        as in scipy: of size 4, two pixels before it and one behind.
    radius : int or sequence of int, optional
        Of an odd window, (size - 1) / 2; give one of the two.
    axes : int or sequence of int, optional
        The axes that the window spans; all by default. Those of an image of colours are `(0, 1)`.
    output : array or type, optional
        An array to write to, or the type of a new one. The medians are converted to its type as by `astype`. In host
        memory it may be the input, overlap it, and lie in any order; the input is not changed unless the output is in
        its memory, and then as a whole. One that is read-only, or has several pixels in the same memory, is refused
        before anything is written. When the call raises an exception while it runs, an output apart from the input may
        have been written in part.
    mode : str or sequence of str, default "nearest"
        What lies beyond the border, one of scipy's names or one for each of `axes`: "nearest", "reflect" or
        "grid-mirror", "mirror", "wrap" or "grid-wrap", "constant" or "grid-constant"; or "shrink": nothing, the window
        is clipped and has fewer pixels.
    cval : float, default 0
        The value beyond the border where it is "constant", which the input's type has to hold.
    origin : int or sequence of int, default 0
        Shifts the window as in scipy, one number or one for each of `axes`: above 0 towards lower indices.
    rank : int, optional
        The rank of the wanted value in the window, from 0, or below 0 counted from the largest.
    percentile : float, optional
        The same in percent, from 0 to 100, or below 0 counted from 100; rounded down as scipy does.
    even_median : {"upper", "mean", "lower"}, default "upper"
        The median of an even number of values: "upper", the upper one of the two in the middle, as in scipy, "lower" or
        "mean", that of both, of integers rounded down. Arrays of float16 in device memory have no mean.
    footprint : array, optional
        A window that is no box, instead of `size` and `radius`: an array with as many axes as the window, whose pixels
        are those that are not 0. Its middle lies on the output, as that of a window of its size.
    weights : array of int, optional
        A footprint of integers: how many times the value of each pixel counts. With `footprint`, its pixels alone.
    mask : array or image, optional
        An array of integers or bools of the input's shape, or one that broadcasts to it: pixels where it is 0 are not
        valid, and windows do without them. One without the last axis is that of all components along it. The mask of an
        array in device memory is an array of its library there.
    ignore : float, optional
        A value whose pixels are not valid.
    nan : {"order", "omit"}, default "order"
        "order": NaN is above +infinity. "omit": pixels that are NaN are not valid.
    empty : "input" or float, default "input"
        What is written where a window has no valid pixel: "input", the input's own pixel, or a value.
    invalid : "computed", "copied" or float, default "computed"
        What is written for pixels that are not valid themselves: "computed", the median of the valid ones around them,
        "copied", the input's own pixel, or a value.
    outliers : float or str, optional
        Replace outliers alone, the other pixels are the input's: a number, the distance from the median above which a
        pixel is one, or as "3mad", so many median absolute deviations of its window. Arrays of 64-bit pixels in
        device memory have the distance alone.
    backend : {"auto", "cuda", "cpu"}, default "auto"
        "auto" (what is estimated to be done first: the CPU where no device is usable, and for small arrays while CUDA
        has not started in the process, which takes some 0.35 s), "cuda" or "cpu".
    algorithm : str, default "automatic"
        "automatic", "tile program", "local ranks", "sliding histograms", "selection" or "merge tiling".
    memory : int, default 0
        Bytes of device memory allowed; 0 is a share of what is free.
    threads : int, optional
        Threads of the CPU backend, at most 4096. By default one for each core that the process may run on, fewer where
        there is little to do, and for Dask arrays one in each task. 0 is one for each core, and below 0 it counts as
        joblib does: -1 is one for each core, -2 one fewer, and so on.
    stream : stream or int, optional
        For arrays in device memory: the stream, of any library or as a number, if not the library's current one. It
        takes `output` and a C-contiguous input, as the library makes arrays in its current stream; the caller keeps
        both until the work is done, and orders the stream with those of the arrays. Without it, an output with another
        stream than the input's is waited for, and its stream waits for the result. Arrays that pass through CuPy take
        no stream.
    progress : callable or bool, optional
        Called with the fraction done, rising to 1. A true result stops the run, which then raises `Stopped`; an
        exception stops it and is raised here. So is KeyboardInterrupt, with a progress function or without one,
        within some tenths of a second, or on CUDA when the next slab is done. True shows a bar of tqdm, which then
        has to be installed.
    report : callable, optional
        Called with the execution report's text: what ran, where, how long, and why.

    Returns
    -------
    array or image
        The medians: `output`, or a new array or image of the input's kind and shape, and of its type or the one that
        `output` names.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the text names it and its limits. Nothing has been written.
    RequestError
        A ValueError: the request cannot be carried out as it stands. Nothing has been written.
    DeviceError
        "cuda" was asked for without a usable device, or a CUDA call failed.
    Stopped
        `progress` returned a true value.
    ImportError
        `progress` is True, and tqdm is not installed.

    See Also
    --------
    cudamedian.ndimage : The functions of `scipy.ndimage`.
    cudamedian.dask.median_filter : Dask arrays.
    cudamedian.skimage.median : The function of scikit-image.

    Examples
    --------
    >>> import numpy as np
    >>> from cudamedian import median_filter
    >>> image = np.array([[1, 9, 2], [3, 4, 8]], "uint8")
    >>> median_filter(image, size=3)
    array([[3, 3, 4],
           [3, 4, 8]], dtype=uint8)

    Row by row, and the largest value of each window:

    >>> median_filter(image, radius=1, axes=-1)
    array([[1, 2, 2],
           [3, 4, 8]], dtype=uint8)
    >>> median_filter(image, size=3, rank=-1, axes=-1)
    array([[9, 9, 9],
           [4, 8, 8]], dtype=uint8)

    A window that is no box, and one whose middle counts three times:

    >>> median_filter(image, footprint=[[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    array([[1, 4, 2],
           [3, 4, 8]], dtype=uint8)
    >>> median_filter([5, 1, 4, 2, 3], weights=[1, 3, 1])
    array([5, 1, 4, 2, 3])

    Pixels that are not valid are in no window; outliers alone are replaced:

    >>> median_filter([1.0, 2.0, np.nan, 4.0, 90.0, 6.0], size=3, nan="omit")
    array([ 1.,  2.,  4., 90.,  6.,  6.])
    >>> median_filter([1, 2, 3, 90, 5, 6], size=3, outliers=10)
    array([1, 2, 3, 5, 5, 6])

    """
    key = None
    kind: type[Any] = type(input)  # pyright: ignore[reportUnknownVariableType]
    traced = kind is not np.ndarray and _tensors.is_compiling() and _tensors.is_tensor(input)
    if (
        not traced
        and mask is ignore is outliers is footprint is weights is stream is progress is report is None
        and nan == "order"
        and type(empty) is type(invalid) is str
        and empty == "input"
        and invalid == "computed"
    ):
        result, key = _plans.calls.median(
            input,
            output,
            cval,
            percentile,
            size,
            radius,
            axes,
            mode,
            origin,
            rank,
            even_median,
            backend,
            algorithm,
            memory,
            threads,
        )
        if result is not None:
            return result
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
        "footprint": footprint,
        "weights": weights,
    }
    options: dict[str, Any] = {
        **shape_of_window,
        "mask": mask,
        "ignore": ignore,
        "nan": nan,
        "empty": empty,
        "invalid": invalid,
        "outliers": outliers,
        "backend": backend,
        "algorithm": algorithm,
        "memory": memory,
        "threads": threads,
    }
    if traced or _tensors.needs_operator(input, footprint, weights, mask):
        more = {"stream": stream, "progress": progress, "report": report}
        return _tensors.filter_tensor("median_filter", input, output, options, more)
    opened = _images.open_image(input)
    if opened is not None:
        if output is not None or stream is not None:
            raise TypeError("an image gives a new one of its kind: it takes neither output nor stream")
        mask_of_image = _images.open_image(mask)
        options["axes"] = tuple(range(opened.axes)) if axes is None else axes
        options["mask"] = mask if mask_of_image is None else mask_of_image.array
        return opened.close(median_filter(opened.array, **options, progress=progress, report=report))
    chosen_backend, chosen_algorithm = check_choices(backend, algorithm)
    bytes_allowed = _numbers.memory_limit(memory)
    wanted_threads = _numbers.thread_count(threads)
    thread_count = None if wanted_threads is None else _numbers.count_threads(wanted_threads)
    rules = _rules.read(mask, ignore, nan, empty, invalid, outliers)
    progress = _progress.check(progress)
    _check_callable("report", report)
    if is_dask_array(input):
        from . import dask  # noqa: PLC0415 - needs Dask

        if any(given is not None for given in (output, stream, progress, report)):
            raise TypeError("a Dask array is filtered when computed: it takes no output, stream, progress or report")
        return dask.median_filter(input, **options)
    if _device.is_device_array(input):
        if backend == "cpu" or progress is not None:
            raise TypeError("an array in device memory is filtered there: it takes neither backend='cpu' nor progress")
        window = _window.window_of_axes(input.ndim, **shape_of_window)
        result, text = _device.median_filter(input, window, output, chosen_algorithm, bytes_allowed, stream, key, rules)
        if report is not None:
            report(text)
        return result
    if stream is not None:
        raise TypeError("stream is for arrays in device memory")
    _numpy.check_input(input)
    tensor = _device.is_host_tensor(input)
    array = _device.open_host(input) if tensor else np.asarray(input)
    key = None if tensor else key  # what is kept asks for NumPy's attributes
    target = _device.open_output(output) if tensor else output
    window = _window.window_of_axes(array.ndim, **shape_of_window)
    with _progress.told(progress, array.size) as told:
        result, text = _numpy.median_filter(
            array, window, target, chosen_backend, chosen_algorithm, bytes_allowed, thread_count, told, rules, key
        )
    if report is not None:
        report(text)
    return _device.close_result(input, output, result) if tensor else result
