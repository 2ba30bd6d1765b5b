# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory, of any library: filtered there, on the caller's stream, into an array of the same kind.

What a library has to offer is `__cuda_array_interface__`, or `__dlpack__` where CuPy is installed to read it. The
output is made by the library itself, so that its memory pool and its streams stay in charge; that of a library whose
arrays nobody may write to (JAX) by CuPy.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import sys
from collections.abc import Generator
from types import ModuleType
from typing import Any, cast

import numpy as np

from . import _device_plans, _engine, _numbers, _plans, _rules, _tensors, _types, _window

# Types of devices in DLPack.
_CPU = 1
_CUDA = (2, 13)


@dataclasses.dataclass(frozen=True)
class DeviceArray:
    """Where a C-contiguous array lies in device memory."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stream: int | None
    read_only: bool


def is_device_array(array: Any) -> bool:
    """Whether an array lies in the memory of a CUDA device."""
    return hasattr(array, "__cuda_array_interface__") or (
        hasattr(array, "__dlpack_device__") and array.__dlpack_device__()[0] in _CUDA
    )


def is_host_tensor(array: Any) -> bool:
    """Whether an array of another library than NumPy lies in host memory."""
    return (
        not isinstance(array, np.ndarray)
        and hasattr(array, "__dlpack_device__")
        and array.__dlpack_device__()[0] == _CPU
    )


def open_host(array: Any) -> np.ndarray:
    """Return a view of NumPy's of an array of another library in host memory."""
    try:
        return np.from_dlpack(_tensors.resolve(array))
    except (BufferError, RuntimeError) as error:  # such as pixels of bfloat16, and sparse tensors
        raise TypeError(
            f"an array of {type(array)} with pixels of type {array.dtype} cannot be read: {error}"
        ) from error


def open_output(output: Any) -> Any:
    """Return a view of NumPy's of an array of another library in host memory; what is none stays as it is."""
    if not is_host_tensor(output):
        return output
    _tensors.check_output(output)
    return np.asarray(output)


def close_result(given: Any, output: Any, result: np.ndarray) -> Any:
    """Return the output of a caller who gave one, or the result as an array of the library of what was given."""
    if _types.is_ndarray(output) or is_host_tensor(output):
        return output
    return namespace(given).from_dlpack(result)


def namespace(array: Any) -> ModuleType:
    """Return the module that makes arrays of an array's kind."""
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def describe(array: Any) -> DeviceArray:
    """Read the array interface. Raises a ValueError where the array is not C-contiguous."""
    interface = array.__cuda_array_interface__
    if interface.get("mask") is not None:
        raise TypeError("the mask of an array has no meaning here; give its data")
    dtype: np.dtype[Any] = np.dtype(interface["typestr"])
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if strides is not None and 0 not in shape:
        step = dtype.itemsize
        for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
            if extent != 1 and stride != step:
                raise ValueError(f"an array of strides {tuple(strides)} and shape {shape} is not C-contiguous")
            step *= extent
    address, read_only = interface["data"]
    return DeviceArray(address or 0, shape, dtype, interface.get("stream"), read_only)


def _describe_contiguous(array: Any) -> tuple[Any, DeviceArray]:
    """Return the array, or a C-contiguous copy in device memory, and where it lies."""
    try:
        return array, describe(array)
    except ValueError:
        if hasattr(array, "contiguous"):
            copy = array.contiguous()
        elif hasattr(namespace(array), "ascontiguousarray"):
            copy = namespace(array).ascontiguousarray(array)
        else:
            raise
    return copy, describe(copy)


def current_stream(array: Any, described: DeviceArray) -> int:
    """Return the stream, as a number, that the array's library would launch its next kernel on."""
    library = type(array).__module__.partition(".")[0]
    if library == "cupy":
        stream = namespace(array).cuda.get_current_stream(array.device.id).ptr
    elif library == "torch":
        stream = sys.modules["torch"].cuda.current_stream(array.device).cuda_stream
    else:
        stream = described.stream
    return stream or _device_plans.LEGACY_STREAM


def _stream_number(stream: Any) -> int:
    """Return the number of a stream of CuPy, PyTorch, Numba or cuda.core, or of a number."""
    if hasattr(stream, "__cuda_stream__"):
        stream = stream.__cuda_stream__()[1]
    else:
        for name in ("ptr", "cuda_stream", "handle"):
            if hasattr(stream, name):
                stream = getattr(stream, name)
                stream = getattr(stream, "value", stream) or 0
                break
    return _numbers.integer("stream", stream, 0, _numbers.LARGEST_ADDRESS)


@contextlib.contextmanager
def _in_order(address: int, own: int, stream: int) -> Generator[None, None, None]:
    """Put the work of the block, in a stream, behind what an array's own stream has so far and before what it gets."""
    if own == stream:
        yield
        return
    _engine.order_streams(address, own, stream)
    try:
        yield
    except BaseException:
        # What was launched before it failed still writes.
        with contextlib.suppress(_engine.MedianError):
            _engine.order_streams(address, stream, own)
        raise
    _engine.order_streams(address, stream, own)


def _empty_like(array: Any) -> Any:
    library = namespace(array)
    if library.__name__ == "numba":
        return library.cuda.device_array(array.shape, array.dtype)
    if not hasattr(library, "empty_like"):
        raise TypeError(f"{library.__name__} makes no arrays by empty_like(); give output")
    # CuPy's arrays lie on the current device, which need not be that of the input.
    with array.device if library.__name__ == "cupy" else contextlib.nullcontext():
        return library.empty_like(array)


def _convert(array: Any, dtype: np.dtype[Any]) -> Any:
    """Return an array with pixels of another type, in its library's own conversion."""
    if hasattr(array, "astype"):
        return array.astype(dtype)
    if hasattr(array, "to") and hasattr(namespace(array), dtype.name):
        return array.to(getattr(namespace(array), dtype.name))
    raise TypeError(f"output is {dtype}, to which an array of type {type(array)} is not converted; give an array")


def _is_writable(array: Any) -> bool:
    """Whether others than its own library may write to an array; JAX computes with what it takes for constant."""
    return hasattr(array, "__cuda_array_interface__") and not hasattr(array, "block_until_ready")


def _rules_for(
    given: _rules.Given, shape: tuple[int, ...], dtype: np.dtype[Any], pixel: np.dtype, copies: bool
) -> _rules.Rules:
    """Return the rules for an array in device memory, where its mask lies too. It is copied where that is allowed."""
    mask = given.mask
    if mask is None:
        return _rules.for_mask(given, dtype, pixel)
    if not hasattr(mask, "__cuda_array_interface__"):
        raise TypeError(f"mask is of type {type(mask)}; that of an array in device memory is an array there, too")
    fitting = _rules.fit_mask(mask, np.dtype(mask.__cuda_array_interface__["typestr"]), shape)
    if not copies and tuple(mask.shape) != shape:
        raise ValueError(f"stream takes a mask of the array's shape, {shape}, and not one of shape {tuple(mask.shape)}")
    if tuple(fitting.shape) != shape:
        fitting = namespace(mask).broadcast_to(fitting, shape)
    fitting, described = _describe_contiguous(fitting) if copies else (fitting, describe(fitting))
    return _rules.for_mask(given, dtype, pixel, fitting, described.address, described.dtype.itemsize)


def _through_cupy(
    array: Any,
    window: _window.Window,
    output: Any,
    algorithm: _engine.Algorithm,
    memory: int,
    rules: _rules.Given | None,
) -> tuple[Any, str]:
    """Filter an array that only DLPack describes, or whose library lets nobody write to its arrays.

    DLPack puts CuPy's current stream behind what makes the array. The array's library knows nothing of that stream, and
    may give the array's memory to others once the caller drops it: this returns when the work is done.
    """
    try:
        import cupy  # noqa: PLC0415 - only these need it
    except ImportError:
        raise TypeError(f"arrays of type {type(array)} are passed through CuPy, which is not installed") from None
    if rules is not None and hasattr(rules.mask, "__dlpack__") and not isinstance(rules.mask, np.ndarray):
        rules = dataclasses.replace(rules, mask=cupy.from_dlpack(rules.mask))
    result, report = median_filter(cupy.from_dlpack(array), window, output, algorithm, memory, None, rules=rules)
    cupy.cuda.get_current_stream().synchronize()
    return namespace(array).from_dlpack(result) if output is None else output, report


def median_filter(
    array: Any,
    window: _window.Window,
    output: Any,
    algorithm: _engine.Algorithm,
    memory: int,
    stream: Any,
    key: _plans.Key | None = None,
    rules: _rules.Given | None = None,
) -> tuple[Any, str]:
    """Filter an array in device memory; return an array of the same kind and the execution report's text.

    The work is in the stream when this returns, and may not be done yet, like any other of the library's calls; that
    of an array that passes through CuPy is done. An output that belongs to another stream, as one of another library
    does, is waited for, and its stream waits for the work. What is asked is kept for other calls with the `key`.
    """
    if isinstance(output, (str, type, np.dtype)):
        result, report = median_filter(array, window, None, algorithm, memory, stream, key, rules)
        return _convert(result, np.dtype(cast("Any", output))), report
    if output is not None and not _is_writable(output):
        raise TypeError(f"output is of type {type(output)}, which cannot be written to in device memory")
    if not _is_writable(array):
        if stream is not None:
            raise TypeError(f"an array of type {type(array)} passes through CuPy's current stream, and takes no other")
        return _through_cupy(array, window, output, algorithm, memory, rules)
    if stream is not None and output is None:
        raise TypeError("stream takes output as well: a new array would be the memory of the library's current stream")
    if stream is not None and _tensors.is_lazy(array):
        raise ValueError("stream takes a tensor whose memory has its values: call resolve_conj().resolve_neg() first")
    _tensors.check_output(output)
    given = array
    array, source = (array, describe(array)) if stream is not None else _describe_contiguous(_tensors.resolve(array))
    name = "uint8" if source.dtype.kind == "b" else source.dtype.name
    if name not in _engine.PIXEL_TYPES or not source.dtype.isnative:
        raise TypeError(
            f"pixels of type {source.dtype} have no median here; types are {', '.join(_engine.PIXEL_TYPES)}"
        )
    result = _empty_like(array) if output is None else output
    destination = describe(result)
    if destination.shape != source.shape or destination.dtype != source.dtype:
        raise ValueError(
            f"output has shape {destination.shape} and type {destination.dtype}, "
            f"but the input has {source.shape} and {source.dtype}"
        )
    if destination.read_only:
        raise ValueError("output is read-only")
    shape, axes = _window.merge_axes(source.shape, window)
    border_value = _window.border_value(window, source.dtype, np.dtype(name))
    if math.prod(shape) == 0:
        return result, ""
    if stream is None:
        number, own = current_stream(array, source), current_stream(result, destination)
    else:
        # A stream that is named has the caller's order.
        number = own = _stream_number(stream)
    work = (name, source.address, destination.address, shape, axes, algorithm, memory)
    wanted = _rules_for(rules, source.shape, source.dtype, np.dtype(name), copies=stream is None) if rules else None
    options = {"border_value": border_value, "rules": wanted, **window.options()}
    mask = None if wanted is None or stream is not None else wanted.mask
    place = None if mask is None else describe(mask)
    reading = (
        contextlib.nullcontext() if place is None else _in_order(place.address, current_stream(mask, place), number)
    )
    with reading, _in_order(destination.address, own, number):
        report = _engine.run_on_device(*work, number, **options)
    if key is not None and stream is None and array is given and own == number:
        _plans.keep_on_device(key, array, _engine.PreparedOnDevice(*work, **options))
    return result, report
