# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Types of arguments. Nothing here runs but `is_ndarray` and `is_items`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

Mode: TypeAlias = Literal[
    "nearest", "reflect", "grid-mirror", "mirror", "wrap", "grid-wrap", "constant", "grid-constant", "shrink"
]
EvenMedian: TypeAlias = Literal["upper", "mean", "lower"]
Nan: TypeAlias = Literal["order", "omit"]
Empty: TypeAlias = Literal["input"] | float
Invalid: TypeAlias = Literal["computed", "copied"] | float
Backend: TypeAlias = Literal["auto", "cuda", "cpu"]
Algorithm: TypeAlias = Literal[
    "automatic", "tile program", "local ranks", "sliding histograms", "selection", "merge tiling"
]


class DeviceArray(Protocol):
    """An array of CuPy, PyTorch or Numba in device memory."""

    @property
    def __cuda_array_interface__(self) -> Any:
        """Where it lies."""
        ...


class Tensor(Protocol):
    """An array of JAX, PyTorch or another library, in host or device memory."""

    def __dlpack_device__(self) -> Any:
        """Return where it lies."""
        ...


class DaskArray(Protocol):
    """A Dask array, which is in chunks."""

    @property
    def numblocks(self) -> Any:
        """How many chunks there are along each axis."""
        ...

    def rechunk(self) -> Any:
        """Return it in other chunks."""
        ...


class Image(Protocol):
    """An image of SimpleITK, ITK, VTK or PyVista."""

    def GetSpacing(self) -> Any:  # noqa: N802 - the libraries' name
        """Return the distances of its pixels."""
        ...


class LabelledArray(Protocol):
    """An array of xarray."""

    @property
    def coords(self) -> Any:
        """Where its pixels are."""
        ...

    @property
    def variable(self) -> Any:
        """Its pixels."""
        ...


Kind: TypeAlias = DeviceArray | Tensor | DaskArray | Image | LabelledArray


class Window(TypedDict, total=False):
    """The arguments that say which window an array is filtered with."""

    size: int | Sequence[int] | None
    radius: int | Sequence[int] | None
    axes: int | Sequence[int] | None
    mode: str | Sequence[str]
    cval: float
    origin: int | Sequence[int]
    rank: int | None
    percentile: float | None
    even_median: str
    footprint: Any
    weights: Any


class Options(TypedDict, total=False):
    """The arguments of `median_filter` besides the input, the size and the output."""

    radius: int | Sequence[int] | None
    axes: int | Sequence[int] | None
    mode: Mode | Sequence[Mode]
    cval: float
    origin: int | Sequence[int]
    rank: int | None
    percentile: float | None
    even_median: EvenMedian
    footprint: ArrayLike | None
    weights: ArrayLike | None
    mask: Any
    ignore: float | None
    nan: Nan
    empty: Empty
    invalid: Invalid
    outliers: float | str | None
    backend: Backend
    algorithm: Algorithm
    memory: int
    threads: int | None
    stream: Any
    progress: Callable[[float], object] | bool | None
    report: Callable[[str], object] | None


def is_ndarray(value: object) -> TypeGuard[NDArray[Any]]:
    """Whether a value is an array of NumPy."""
    return isinstance(value, np.ndarray)


def is_items(value: object) -> TypeGuard[tuple[object, ...] | list[object]]:
    """Whether a value is a tuple or a list."""
    return isinstance(value, (tuple, list))
