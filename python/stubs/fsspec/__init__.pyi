# What cudamedian uses of fsspec.
from typing import Any

def url_to_fs(url: str, **options: Any) -> tuple[Any, str]: ...
