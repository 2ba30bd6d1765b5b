from collections.abc import Generator, Hashable, Mapping
from typing import Any

from ..config import KeysCollection

class Transform:
    backend: list[Any]

class MapTransform(Transform):
    def __init__(self, keys: KeysCollection, allow_missing_keys: bool = False) -> None: ...
    def key_iterator(self, data: Mapping[Hashable, Any]) -> Generator[Hashable]: ...
