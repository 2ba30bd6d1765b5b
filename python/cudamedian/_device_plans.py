# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Requests of earlier calls on arrays of CuPy and PyTorch, for later calls with the same arguments.

A small image is filtered in a few microseconds, so each attribute of an array counts: those here are the libraries'
fastest that say the same as their array interface, which makes a dictionary.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from . import _engine

# Of streams, 0 and None stand for the legacy default stream, which has a number of its own.
LEGACY_STREAM = 1

_KINDS = {"cupy": "ndarray", "torch": "Tensor"}

# Types that were found to be one of these. To look here takes less than to read their names again.
kinds: set[type[Any]] = set()


def is_kind(kind: type[Any]) -> bool:
    """Whether calls on arrays of a type are kept: the library's own, and none that is derived from it."""
    if _KINDS.get(kind.__module__) != kind.__name__:
        return False
    kinds.add(kind)
    return True


class CuPyPlan:
    """A request for arrays of CuPy."""

    def __init__(self, prepared: _engine.PreparedOnDevice) -> None:
        """Keep the request, and those functions of CuPy that a run calls."""
        cupy: Any = sys.modules["cupy"]
        self._prepared = prepared  # lives as long as its function is called
        self._run = prepared.run
        self._make = cupy.ndarray
        # What `flags` reads; to make an object of flags takes ten times as long.
        name = "_c_contiguous" if hasattr(cupy.ndarray, "_c_contiguous") else "flags.c_contiguous"
        self._is_contiguous = operator.attrgetter(name)
        self._device = cupy.cuda.runtime.getDevice
        self._stream = cupy.cuda.get_current_stream

    def run(self, array: Any, output: Any) -> Any:
        """Filter an array to `output`, or to a new one; return that, or None where the arrays are not as they were."""
        device = self._device()
        source = array.data
        if source.device_id != device or not self._is_contiguous(array):
            return None
        if output is None:
            output = self._make(array.shape, array.dtype)
        elif (
            type(output) is not type(array)
            or output.dtype != array.dtype
            or output.shape != array.shape
            or output.data.device_id != device
            or not self._is_contiguous(output)
        ):
            return None
        stream = self._stream().ptr or LEGACY_STREAM
        return None if self._run(source.ptr, output.data.ptr, stream) else output


class TorchPlan:
    """A request for tensors of PyTorch."""

    def __init__(self, prepared: _engine.PreparedOnDevice) -> None:
        """Keep the request, and those functions of PyTorch that a run calls."""
        torch: Any = sys.modules["torch"]
        self._prepared = prepared
        self._run = prepared.run
        self._make = torch.empty_like
        # What PyTorch's own compiler calls; torch.cuda.current_stream() makes an object of its result.
        self._stream: Callable[[int], int] = getattr(torch._C, "_cuda_getCurrentRawStream", self._current_stream)
        self._watchers: Callable[[], int] = torch._C._len_torch_dispatch_stack
        self._trace: Callable[[], object] = torch._C._get_tracing_state

    @staticmethod
    def _current_stream(device: int) -> int:
        torch: Any = sys.modules["torch"]
        return torch.cuda.current_stream(device).cuda_stream

    def run(self, array: Any, output: Any) -> Any:
        """Filter a tensor to `output`, or to a new one; return that, or None where they are not as they were."""
        if (
            not array.is_cuda
            or array.requires_grad
            or array.is_neg()
            or not array.is_contiguous()
            # Who writes down a graph would not see what happens here.
            or self._watchers()
            or self._trace() is not None
        ):
            return None
        try:
            source = array.data_ptr()
        except RuntimeError:  # a tensor of torch.func stands for others, and has no memory
            return None
        device = array.get_device()
        if output is None:
            output = self._make(array)
        elif (
            type(output) is not type(array)
            or output.dtype != array.dtype
            or output.shape != array.shape
            or not output.is_cuda
            or output.requires_grad
            or output.is_neg()
            or not output.is_contiguous()
            or output.get_device() != device
        ):
            return None
        stream = self._stream(device) or LEGACY_STREAM
        return None if self._run(source, output.data_ptr(), stream) else output
