# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Numbers as callers write them: what is no integer, or beyond a limit, is an error that names the value and the limit.

ctypes would take the lowest bits of a number that is too large for its type, and say nothing.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from typing import SupportsIndex, cast

# The limits of the engine and of its C functions, which check again.
MOST_WINDOW_PIXELS = (2**63 - 1) // 16
MOST_THREADS = 4096
MOST_BYTES = 2**63 - 1
LARGEST_ADDRESS = 2**64 - 1


def _as_integer(value: object) -> int | None:
    """Return an integer of Python or NumPy, or None for anything else, True and False included."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        return None


def integer(name: str, value: object, low: int | None, high: int, meaning: str = "") -> int:
    """Return an integer between two limits; without `low` any below 0 will do. `meaning` ends the error's sentence."""
    number = _as_integer(value)
    if number is None:
        raise TypeError(f"{name} is {value!r}, which is not an integer")
    if number > high or (low is not None and number < low):
        limits = f"at most {high}" if low is None else f"from {low} to {high}"
        raise ValueError(f"{name} is {number}; it may be {limits}{meaning}")
    return number


def integers(name: str, value: object) -> tuple[int, ...] | int:
    """Return an integer, or several in the caller's order."""
    number = _as_integer(value)
    if number is not None:
        return number
    items: tuple[object, ...] = (None,)
    if not isinstance(value, (str, bytes, bytearray, set, frozenset, dict)):
        try:
            items = tuple(cast("Iterable[object]", value))
        except TypeError:
            pass
    numbers = tuple(number for number in map(_as_integer, items) if number is not None)
    if len(numbers) < len(items):
        raise TypeError(f"{name} is {value!r}, which is neither an integer nor a sequence of integers")
    return numbers


def memory_limit(memory: object) -> int:
    """Return the bytes of device memory that a caller allows."""
    return integer("memory", memory, 0, MOST_BYTES, " bytes, where 0 is a share of what is free")


def thread_count(threads: object) -> int | None:
    """Return the number of threads that a caller wrote, not yet counted out: see `count_threads`."""
    return None if threads is None else integer("threads", threads, None, MOST_THREADS)


def count_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_threads(threads: int | None) -> int:
    """Return how many threads a number means here: None and 0 are one for each core that the process may run on.

    Below 0 it counts as joblib does: -1 is one for each core, -2 one fewer, and so on, and at least 1.
    """
    threads = threads or -1
    return threads if threads > 0 else max(1, min(count_cores() + 1 + threads, MOST_THREADS))
