# What cudamedian uses of dask.array, which has few types of its own.
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

class Array:
    shape: Final[tuple[int, ...]]
    dtype: Final[np.dtype[Any]]
    ndim: Final[int]
    chunks: Final[tuple[tuple[int, ...], ...]]
    numblocks: Final[tuple[int, ...]]
    _meta: NDArray[Any]
    def rechunk(self, chunks: object = ...) -> Array: ...
    def compute(self, **options: Any) -> NDArray[Any]: ...

def asarray(a: object) -> Array: ...
def broadcast_to(x: object, shape: tuple[int, ...]) -> Array: ...
def from_array(x: object, chunks: object = ...) -> Array: ...
def map_overlap(
    func: Callable[..., Any],
    *arrays: Array,
    depth: object,
    boundary: Mapping[int, object],
    dtype: np.dtype[Any],
    meta: object,
    **options: object,
) -> Array: ...
