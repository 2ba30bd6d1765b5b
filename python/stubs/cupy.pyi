# What cudamedian uses of CuPy.
from typing import Any

class _Stream:
    def synchronize(self) -> None: ...

class _Cuda:
    @staticmethod
    def get_current_stream() -> _Stream: ...

cuda: _Cuda

def from_dlpack(array: object) -> Any: ...
