from collections.abc import Callable, Sequence
from typing import Any, TypeVar

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

class CustomOpDef:
    def __call__(self, *given: Any) -> Any: ...
    def register_fake(self, function: FunctionT) -> FunctionT: ...

def custom_op(name: str, *, mutates_args: Sequence[str], schema: str) -> Callable[[FunctionT], CustomOpDef]: ...
