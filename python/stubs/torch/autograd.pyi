from typing import Any

class Function:
    @classmethod
    def apply(cls, *given: Any) -> Any: ...
