from contextlib import AbstractContextManager
from typing import Any

def set(arg: dict[str, Any]) -> AbstractContextManager[object]: ...
