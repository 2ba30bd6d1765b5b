# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What compare_python.py measures, and how its file of results is read."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

FUNCTIONS = ("median", "percentile", "minimum", "maximum", "footprint", "scikit-image's median")
TYPES = ("uint8", "int16", "float32")
SIZES = {2: (3, 5, 7, 11, 21), 3: (3, 5, 7, 9, 11)}
SHORT = ((64, 64), (1024, 1024), (64, 64, 64), (256, 256, 256))
WHOLE = (*SHORT, (256, 256), (4096, 4096), (128, 128, 128), (512, 512, 512))
PERCENTILE = 20

# Seconds for a pixel, by library, function, type, window and number of axes.
Rates = dict[tuple[str, str, str, int, int], float]


class Case(NamedTuple):
    """What is measured."""

    function: str
    dtype: str
    size: int
    shape: tuple[int, ...]

    def name(self) -> str:
        """Return the case as the JSON file names it."""
        return f"{self.function} | {self.dtype} | {self.window()} | {text_of(self.shape)}"

    def window(self) -> str:
        """Return the window as people write it."""
        return text_of([self.size] * len(self.shape))

    def pixels(self) -> int:
        """Return the pixels of the array."""
        return math.prod(self.shape)

    def rate_key(self, library: str) -> tuple[str, str, str, int, int]:
        """Return what a library's seconds for a pixel are kept by."""
        return library, self.function, self.dtype, self.size, len(self.shape)


def text_of(extents: Any) -> str:
    """Return extents as people write them, the contiguous axis first."""
    return "x".join(str(extent) for extent in reversed(extents))


def list_cases(shapes: tuple[tuple[int, ...], ...]) -> list[Case]:
    """Return all cases: those of a short run first, and of these the small arrays."""
    cases = [
        Case(function, dtype, size, shape)
        for shape in shapes
        for function in FUNCTIONS
        for dtype in TYPES
        for size in SIZES[len(shape)]
    ]
    random.Random(1).shuffle(cases)
    return sorted(cases, key=lambda case: (case.shape not in SHORT, case.pixels()))


def list_rows(results: dict[str, Any]) -> list[tuple[Case, dict[str, Any]]]:
    """Return the cases that were measured, sorted."""
    found: list[tuple[Case, dict[str, Any]]] = []
    for name, value in results["cases"].items():
        function, dtype, window, shape = name.split(" | ")
        extents = tuple(int(extent) for extent in reversed(shape.split("x")))
        found.append((Case(function, dtype, int(window.split("x")[0]), extents), value))

    def place(row: tuple[Case, dict[str, Any]]) -> tuple[int, ...]:
        case = row[0]
        kinds = FUNCTIONS.index(case.function), len(case.shape), case.pixels(), case.size, TYPES.index(case.dtype)
        return kinds

    return sorted(found, key=place)


def find_rates(results: dict[str, Any]) -> Rates:
    """Return the seconds for a pixel of the largest array that a library was measured with."""
    rates: Rates = {}
    for case, value in list_rows(results):
        for name, other in value["others"].items():
            if "seconds" in other:
                rates[case.rate_key(name)] = other["seconds"] / case.pixels()
    return rates


def ratio(value: dict[str, Any], name: str) -> float | None:
    """Return how many times as long as ours a library took in a case."""
    other = value["others"].get(name, {})
    return other["seconds"] / value["ours"][other["kind"]] if "seconds" in other else None
