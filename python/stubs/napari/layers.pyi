from collections.abc import Sequence
from typing import Any

class Layer:
    name: str
    ndim: int
    multiscale: bool
    metadata: dict[str, Any]
    @property
    def data(self) -> Any: ...
    @property
    def scale(self) -> Sequence[float]: ...
    def as_layer_data_tuple(self) -> tuple[Any, dict[str, Any], str]: ...
    @classmethod
    def create(cls, data: Any, meta: dict[str, Any] | None = ..., layer_type: str | None = ...) -> Layer: ...

class Image(Layer):
    rgb: bool

class Labels(Layer): ...
