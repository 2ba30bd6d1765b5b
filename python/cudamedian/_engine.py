# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The engine's C functions, as ctypes sees them (wrapping/CudaMedianCInterface.h).

They are in a library of this package, or in that of ITK's wrapping of the filter where the wheel itk-cudamedian is
installed, so that a process has one engine; loading it here neither imports `itk` nor needs it. ctypes releases the
interpreter's lock while a function runs.
"""

from __future__ import annotations

import atexit
import ctypes
import enum
import functools
import importlib.util
import math
import os
import threading
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from . import _numbers, _rules

MAXIMUM_DIMENSION = 4
_TEXT_BYTES = 8192


class MedianError(RuntimeError):
    """The engine could not filter; the text is the engine's own. All errors of the engine are of this kind."""


class RequestError(MedianError, ValueError):
    """A request that cannot be carried out as it stands; the text names the value and the limit."""


class DeviceError(MedianError):
    """There is no usable CUDA device where one was asked for, or a CUDA call failed."""


class Stopped(MedianError):  # noqa: N818 - nothing went wrong
    """The progress function asked to stop by returning a true value."""


class Backend(enum.IntEnum):
    """Where to run; the numbers are the engine's."""

    AUTO = 0
    CUDA = 1
    CPU = 2


class Algorithm(enum.IntEnum):
    """How the medians are found; the numbers are the engine's."""

    AUTOMATIC = 0
    TILE_PROGRAM = 1
    LOCAL_RANK = 2
    SLIDING_HISTOGRAM = 3
    SELECTION = 4
    MERGE_TILING = 5


class Border(enum.IntEnum):
    """What lies beyond the image; the numbers are the engine's."""

    ZERO_FLUX_NEUMANN = 0
    CONSTANT = 1
    REFLECT = 2
    MIRROR = 3
    WRAP = 4
    SHRINK = 5


class EvenMedian(enum.IntEnum):
    """What the median of an even number of values is; the numbers are the engine's."""

    UPPER = 0
    MEAN = 1
    LOWER = 2


PIXEL_TYPES = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "float16",
)

_Axes = ctypes.c_int64 * MAXIMUM_DIMENSION
_Borders = ctypes.c_uint32 * MAXIMUM_DIMENSION
_Pixel = ctypes.c_uint8 * 8
_Footprint = ctypes.POINTER(ctypes.c_int64)
_Progress = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_float)

# What a number of an axis may be. ctypes would cut off what is larger.
_LARGEST = 2**63 - 1

# Values along the contiguous axis that are taken for the components of a pixel, at most.
_MOST_COMPONENTS = 16

# How often at most a run that has no progress function lets Python hear a signal.
_SECONDS_BETWEEN_SIGNALS = 0.05


class _Request(ctypes.Structure):
    _fields_ = [
        ("bytes", ctypes.c_uint64),
        ("pixel_type", ctypes.c_uint32),
        ("backend", ctypes.c_uint32),
        ("algorithm", ctypes.c_uint32),
        ("work_units", ctypes.c_uint32),
        ("input", ctypes.c_void_p),
        ("output", ctypes.c_void_p),
        ("extent", _Axes),
        ("radius", _Axes),
        ("output_stride", _Axes),
        ("device_memory_budget", ctypes.c_uint64),
        ("progress", _Progress),
        ("progress_seconds", ctypes.c_double),
        ("input_stride", _Axes),
        ("shorter", _Axes),
        ("shift", _Axes),
        ("rank", ctypes.c_int64),
        ("border", _Borders),
        ("border_value", _Pixel),
        ("even_median", ctypes.c_uint32),
        ("footprint_pixels", ctypes.c_uint64),
        ("footprint", _Footprint),
        ("is_quiet", ctypes.c_uint32),
        ("mask_pixel_bytes", ctypes.c_uint32),
        ("mask", ctypes.c_void_p),
        ("mask_stride", _Axes),
        ("has_ignored_value", ctypes.c_uint32),
        ("omits_nan", ctypes.c_uint32),
        ("empty_window", ctypes.c_uint32),
        ("invalid_output", ctypes.c_uint32),
        ("ignored_value", _Pixel),
        ("empty_value", _Pixel),
        ("invalid_value", _Pixel),
        ("outlier_rule", ctypes.c_uint32),
        ("outlier_threshold", ctypes.c_double),
        ("may_use_fewer_units", ctypes.c_uint32),
    ]


_Text = (ctypes.c_char_p, ctypes.c_size_t)

# What each function returns and takes.
_FUNCTIONS = {
    "CudaMedianRun": (ctypes.c_int, (ctypes.POINTER(_Request), *_Text)),
    "CudaMedianRunOnDevice": (ctypes.c_int, (ctypes.POINTER(_Request), ctypes.c_uint64, *_Text)),
    "CudaMedianPrepareOnDevice": (ctypes.c_int, (ctypes.POINTER(_Request), ctypes.POINTER(ctypes.c_void_p), *_Text)),
    "CudaMedianRunPrepared": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64)),
    "CudaMedianReleasePrepared": (None, (ctypes.c_void_p,)),
    "CudaMedianOrderStreams": (ctypes.c_int, (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, *_Text)),
    "CudaMedianQueryDevice": (ctypes.c_int, _Text),
    "CudaMedianReleaseCachedMemory": (None, ()),
    "CudaMedianBeginInterpreter": (None, ()),
    "CudaMedianEndInterpreter": (None, ()),
}


def _folders(package: str) -> list[str]:
    """Return where a package lies, without importing it."""
    found = importlib.util.find_spec(package)
    return list(found.submodule_search_locations or []) if found else []


def _load_compiler() -> None:
    """Load NVRTC from NVIDIA's package, where the system's loader does not look.

    The engine compiles kernels with it at first use, and finds it by name once it is loaded.
    """
    for folder in _folders("nvidia"):
        libraries = Path(folder).glob("*/lib/libnvrtc.so.1[23]")
        for path in sorted(libraries, key=lambda path: path.name, reverse=True):
            try:
                ctypes.CDLL(str(path))
            except OSError:
                continue  # the engine says what it has tried where a kernel needed it
            return


def _find_library() -> Path:
    """Return the library's path: ITK's wrapping of the filter, where there is one, or else this package's own."""
    # Found through the package `itk`, which is not imported for it: that takes most of a second.
    paths = [Path(folder) / "_CudaMedianPython.abi3.so" for folder in _folders("itk")]
    paths.append(Path(__file__).with_name("_cudamedian.so"))
    for path in paths:
        if path.exists():
            return path
    raise ImportError(f"the engine's library is missing; looked for {', '.join(map(str, paths))}")


@functools.cache
def _library() -> ctypes.CDLL:
    """Load the engine's library, once."""
    path = _find_library()
    _load_compiler()
    library = ctypes.CDLL(str(path))
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    # A daemon thread's run may outlast the interpreter; it must not call its progress function then.
    library.CudaMedianBeginInterpreter()
    atexit.register(library.CudaMedianEndInterpreter)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=library.CudaMedianBeginInterpreter)
    return library


def _call(name: str, *arguments: object) -> tuple[int, str]:
    """Call a function that writes a text; return what it returns, and the text."""
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    status = getattr(_library(), name)(*arguments, text, _TEXT_BYTES)
    return status, text.value.decode(errors="replace")


def _report(status: int, text: str) -> str:
    """Return the report that a call wrote, or raise what it ended with."""
    if status != 0:
        raise {1: RequestError, 2: DeviceError, 3: Stopped}.get(status, MedianError)(text)
    return text


class AxisWindow(Protocol):
    """What `_window.AxisWindow` has."""

    @property
    def radius(self) -> int:
        """Pixels before the output."""
        ...

    @property
    def shorter(self) -> int:
        """How many fewer there are behind it."""
        ...

    @property
    def shift(self) -> int:
        """How far the window is shifted."""
        ...

    @property
    def border(self) -> Border:
        """What lies beyond the image."""
        ...

    @property
    def size(self) -> int:
        """Its pixels."""
        ...


def _fill(name: str, values: Sequence[int], places: Sequence[int], rest: int) -> ctypes.Array[ctypes.c_int64]:
    """Put what axes of NumPy have at the places of the engine's; axes an image has not have the value `rest`."""
    if not all(-_LARGEST <= value <= _LARGEST for value in values):
        raise ValueError(f"{name} is {tuple(values)}; each number may be from {-_LARGEST} to {_LARGEST}")
    array = [rest] * MAXIMUM_DIMENSION
    for place, value in zip(places, values, strict=True):
        array[place] = value
    return _Axes(*array)


def _places(shape: Sequence[int], axes: Sequence[AxisWindow]) -> list[int]:
    """Return the engine's axis of each axis of NumPy: the contiguous one is the first.

    A few values along it that no window spans are components of pixels, which the engine has along its last axis.
    """
    count = len(shape)
    if 1 < count and 1 < shape[-1] <= _MOST_COMPONENTS and axes[-1].size == 1:
        if any(axis.size > 1 for axis in axes):
            return [*range(count - 2, -1, -1), MAXIMUM_DIMENSION - 1]
    return list(range(count - 1, -1, -1))


def _request(
    pixel_type: str,
    input_address: int,
    output_address: int,
    shape: Sequence[int],
    axes: Sequence[AxisWindow],
    algorithm: Algorithm,
    memory: int,
    *,
    rank: int = -1,
    even_median: EvenMedian = EvenMedian.UPPER,
    border_value: bytes = b"",
    footprint: NDArray[np.int64] | None = None,
    rules: _rules.Rules | None = None,
) -> _Request:
    """Return a request from a C-contiguous array to another of the same shape and type.

    `footprint` has a row for each pixel: its offset along each axis, and its weight. The windows of `axes` are the box
    around it, then. The mask of `rules` lies in memory as the array does.
    """
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    places = _places(shape, axes)
    output_stride = _fill("stride", strides, places, 0) if shape else _Axes(1)
    # Without strides, the pixels of the input follow each other along the engine's axes.
    is_plain = places[-1:] != [MAXIMUM_DIMENSION - 1]
    borders = [Border.ZERO_FLUX_NEUMANN] * MAXIMUM_DIMENSION
    for place, axis in zip(places, axes, strict=True):
        borders[place] = axis.border
    request = _Request(
        bytes=ctypes.sizeof(_Request),
        pixel_type=PIXEL_TYPES.index(pixel_type),
        algorithm=algorithm,
        input=input_address,
        output=output_address,
        extent=_fill("shape", shape, places, 1),
        radius=_fill("radius", [0 if footprint is not None else axis.radius for axis in axes], places, 0),
        output_stride=output_stride,
        device_memory_budget=_numbers.memory_limit(memory),
        input_stride=_Axes() if is_plain else output_stride,
        shorter=_fill("shorter", [axis.shorter for axis in axes], places, 0),
        shift=_fill("shift", [axis.shift for axis in axes], places, 0),
        rank=rank,
        border=_Borders(*borders),
        border_value=_Pixel(*border_value),
        even_median=even_median,
    )
    if footprint is not None:
        pixels = np.zeros((len(footprint), MAXIMUM_DIMENSION + 1), np.int64)
        pixels[:, [*places, MAXIMUM_DIMENSION]] = footprint
        request.footprint_pixels = len(footprint)
        # The structure keeps what the pointer was made of.
        request.footprint = ctypes.cast((ctypes.c_int64 * pixels.size).from_buffer(pixels.data), _Footprint)
        request.shorter = request.shift = _Axes()
    if rules is not None:
        for name, value in rules.fields.items():
            setattr(request, name, _Pixel(*value) if isinstance(value, bytes) else value)
        request.mask_stride = request.input_stride
    return request


def _answer(progress: Callable[[float], object] | None, failure: list[BaseException]) -> Generator[int, float, None]:
    """Answer the engine's calls for progress: 0 to go on, 1 to stop.

    An exception cannot pass through C; it is raised again when the engine has let go of everything. That of a signal,
    as KeyboardInterrupt, is raised where C enters Python. In a generator that is at a `yield`, inside of `try`. In a
    function it would be ahead of the first statement, and ctypes would print it and go on.
    """
    answer = 0
    try:
        while True:
            fraction = yield answer
            answer = 1 if progress is not None and progress(fraction) else 0
    except GeneratorExit:
        return
    except BaseException as error:  # noqa: BLE001
        failure.append(error)
    while True:
        yield 1


def _host_request(
    pixel_type: str,
    input_address: int,
    output_address: int,
    shape: Sequence[int],
    axes: Sequence[AxisWindow],
    backend: Backend,
    algorithm: Algorithm,
    memory: int,
    threads: int | None,
    **wanted: Any,
) -> _Request:
    """Return a request. Where nobody asks for a number of threads, no more are woken than are worth it."""
    request = _request(pixel_type, input_address, output_address, shape, axes, algorithm, memory, **wanted)
    request.backend = backend
    request.may_use_fewer_units = threads is None
    wanted_threads = _numbers.count_threads(None) if threads is None else threads
    request.work_units = _numbers.integer("threads", wanted_threads, 1, _numbers.MOST_THREADS)
    return request


def run(*work: Any, progress: Callable[[float], object] | None = None, **wanted: Any) -> str:
    """Filter one C-contiguous array in host memory to another; return the execution report's text.

    The arguments are those of `_host_request`.
    """
    request = _host_request(*work, **wanted)
    failure: list[BaseException] = []
    # Signals are the main thread's; the others need no call into Python.
    if progress is not None or threading.current_thread() is threading.main_thread():
        answers = _answer(progress, failure)
        next(answers)
        request.progress = _Progress(answers.send)
        request.progress_seconds = 0 if progress is not None else _SECONDS_BETWEEN_SIGNALS
    status, text = _call("CudaMedianRun", ctypes.byref(request))
    if failure:
        raise failure[0]
    return _report(status, text)


def _address(function: Any) -> int:
    """Return where a function of the library lies, for what calls it without ctypes."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


class Prepared:
    """A request whose arrays are told at each run: for work so short that no signal need interrupt it.

    `request` is the structure, and `function` the address of the C function that takes it.
    """

    def __init__(self, *work: Any, **wanted: Any) -> None:
        """Keep the request. The arguments are those of `_host_request`."""
        request = _host_request(*work, **wanted)
        request.is_quiet = 1
        self._request = request  # keeps what it points to
        self.request = bytes(request)
        self._run = _library().CudaMedianRun
        self.function = _address(self._run)

    def run(self, input_address: int, output_address: int) -> None:
        """Filter one array to another. Any thread may run it, several at the same time."""
        request = _Request.from_buffer_copy(self.request)
        request.input = input_address
        request.output = output_address
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        status = self._run(ctypes.byref(request), text, _TEXT_BYTES)
        if status != 0:
            self.fail(status, text.value)

    @staticmethod
    def fail(status: int, text: bytes) -> None:
        """Raise what a run ended with."""
        _report(status, text.decode(errors="replace"))


def run_on_device(
    pixel_type: str,
    input_address: int,
    output_address: int,
    shape: Sequence[int],
    axes: Sequence[AxisWindow],
    algorithm: Algorithm,
    memory: int,
    stream: int,
    **wanted: Any,
) -> str:
    """Filter one C-contiguous array in device memory to another, on a stream; return the execution report's text."""
    request = _request(pixel_type, input_address, output_address, shape, axes, algorithm, memory, **wanted)
    number = _numbers.integer("stream", stream, 0, _numbers.LARGEST_ADDRESS)
    return _report(*_call("CudaMedianRunOnDevice", ctypes.byref(request), number))


class PreparedOnDevice:
    """A request in device memory whose arrays and stream are told at each run.

    `run` takes the addresses of the input and of the output, and the number of a stream. It returns 0 when that went
    well; where it did not, `run_on_device` says why. Any thread may run it, several at the same time. `function` is the
    address of the C function that runs it, and `handle` what that takes for the request.
    """

    run: Callable[[int, int, int], int]
    function: int
    handle: int

    def __init__(self, *work: Any, **wanted: Any) -> None:
        """Keep the request. The arguments are those of `_request`."""
        self._handle = ctypes.c_void_p()
        library = _library()
        self._release = library.CudaMedianReleasePrepared
        request = _request(*work, **wanted)
        _report(*_call("CudaMedianPrepareOnDevice", ctypes.byref(request), ctypes.byref(self._handle)))
        self.run = functools.partial(library.CudaMedianRunPrepared, self._handle)
        self.function = _address(library.CudaMedianRunPrepared)
        self.handle = self._handle.value or 0

    def __del__(self) -> None:
        """Give the request back."""
        if self._handle:
            self._release(self._handle)


def order_streams(address: int, first: int, then: int) -> None:
    """Let what stream `then` gets from now on wait for what is in stream `first`, on the device of an address."""
    _report(*_call("CudaMedianOrderStreams", address, first, then))


def query_device() -> tuple[bool, str]:
    """Return whether a CUDA device can be used, and which.

    Returns
    -------
    usable : bool
        Whether there is one.
    text : str
        Its name, or what was looked for and found instead.

    Examples
    --------
    >>> from cudamedian import median_filter, query_device
    >>> usable, text = query_device()
    >>> smooth = median_filter([5, 1, 4], size=3, backend="cuda" if usable else "cpu")

    """
    usable, text = _call("CudaMedianQueryDevice")
    return bool(usable), text


def release_cached_memory() -> None:
    """Give back the device memory and the pinned memory that is kept between calls.

    The next call takes it again, which costs that call some time. Without a device there is nothing to give back.

    Examples
    --------
    >>> from cudamedian import release_cached_memory
    >>> release_cached_memory()

    """
    _library().CudaMedianReleaseCachedMemory()
