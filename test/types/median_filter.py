# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What type checkers take the results of cudamedian for. scripts/types.sh checks this file; nothing runs it."""

from typing import Any, assert_type

import dask.array
import numpy as np
from numpy.typing import NDArray

from cudamedian import dask as dask_filters
from cudamedian import median_filter, query_device, use


class Tensor:
    """As an array of PyTorch or JAX."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return where it lies."""
        return 1, 0


class DeviceArray:
    """As an array of CuPy or Numba."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Where it lies."""
        return {}


class Image:
    """As an image of SimpleITK or VTK."""

    def GetSpacing(self) -> tuple[float, ...]:  # noqa: N802
        """Return the distances of pixels."""
        return ()


class LabelledArray:
    """As an array of xarray."""

    @property
    def coords(self) -> dict[str, Any]:
        """Return where its pixels are."""
        return {}

    @property
    def variable(self) -> NDArray[Any]:
        """Return its pixels."""
        return np.zeros(3)


def check_same_kind(
    volume: NDArray[np.uint16],
    flat: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    tensor: Tensor,
    device_array: DeviceArray,
    image: Image,
    labelled: LabelledArray,
    chunked: dask.array.Array,
) -> None:
    """Each array gives one of its kind."""
    assert_type(median_filter(volume, 3), NDArray[np.uint16])
    assert_type(median_filter(flat, radius=(1, 2)), np.ndarray[tuple[int, int], np.dtype[np.float32]])
    assert_type(median_filter(tensor, 3), Tensor)
    assert_type(median_filter(device_array, 3, stream=7), DeviceArray)
    assert_type(median_filter(image, 3, mask=image), Image)
    assert_type(median_filter(labelled, 3), LabelledArray)
    assert_type(median_filter(chunked, 3, nan="omit"), dask.array.Array)
    assert_type(dask_filters.median_filter(chunked, 3), dask.array.Array)
    assert_type(median_filter([1, 5, 2], 3), NDArray[Any])


def check_output(volume: NDArray[np.uint16], result: NDArray[np.int8], device_array: DeviceArray) -> None:
    """Expect the output itself, or pixels of the type that it names."""
    assert_type(median_filter(volume, 3, output=result), NDArray[np.int8])
    assert_type(median_filter([1, 5, 2], 3, output=result), NDArray[np.int8])
    assert_type(median_filter(device_array, 3, output=device_array), DeviceArray)
    assert_type(median_filter(volume, 3, output=np.float32), NDArray[np.float32])
    assert_type(median_filter(volume, 3, output=np.dtype(np.float32)), NDArray[np.float32])
    assert_type(median_filter([1, 5, 2], 3, output=np.float32), NDArray[np.float32])
    assert_type(median_filter(volume, 3, output="float32"), NDArray[Any])
    assert_type(median_filter(volume, 3, output=float), NDArray[Any])


def check_mistakes(volume: NDArray[np.uint16]) -> None:
    """Arguments that no call can have are errors before it."""
    median_filter(volume, 3, mode="nearst")  # pyright: ignore[reportArgumentType, reportCallIssue]
    median_filter(volume, 3, backend="gpu")  # pyright: ignore[reportArgumentType, reportCallIssue]
    median_filter(volume, 2.5)  # pyright: ignore[reportArgumentType, reportCallIssue]
    median_filter(volume, 3, radii=1)  # pyright: ignore[reportCallIssue]
    median_filter(object(), 3)  # pyright: ignore[reportArgumentType, reportCallIssue]


def check_others() -> None:
    """Expect what the other functions say."""
    assert_type(query_device(), tuple[bool, str])
    with use() as nothing:
        assert_type(nothing, None)
