# What cudamedian uses of PyTorch.
from typing import Any, Self

class dtype: ...  # noqa: N801 - its name
class device: ...  # noqa: N801 - its name

float: dtype

class Tensor:
    ndim: int
    requires_grad: bool
    dtype: dtype
    device: device
    shape: tuple[int, ...]
    def as_subclass(self, kind: type[Tensor]) -> Tensor: ...
    def contiguous(self) -> Tensor: ...
    def __dlpack__(self, *, stream: Any = None) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...
    def detach(self) -> Self: ...
