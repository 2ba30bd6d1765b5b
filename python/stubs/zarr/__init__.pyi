# What cudamedian uses of Zarr, as far as it is not any type there.
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

class Attributes:
    def asdict(self) -> dict[str, Any]: ...
    def update(self, other: Mapping[str, Any]) -> None: ...

class Metadata:
    def encode_chunk_key(self, chunk: tuple[int, ...]) -> str: ...

class Array:
    shape: Final[tuple[int, ...]]
    chunks: Final[tuple[int, ...]]
    shards: Final[tuple[int, ...] | None]
    dtype: Final[np.dtype[Any]]
    ndim: Final[int]
    size: Final[int]
    nbytes: Final[int]
    fill_value: Final[Any]
    attrs: Final[Attributes]
    metadata: Final[Metadata]
    def with_config(self, config: Mapping[str, object]) -> Array: ...
    def __getitem__(self, box: object) -> NDArray[Any]: ...
    def __setitem__(self, box: object, pixels: object) -> None: ...

def open_array(store: object, *, mode: str) -> Array: ...
def from_array(
    store: object, *, data: Array, write_data: bool, attributes: Mapping[str, object], **shape: Any
) -> Array: ...
