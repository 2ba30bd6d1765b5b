# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The page that compare_python.py writes of its results: documentation/python-libraries.md."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

from compare_python_cases import FUNCTIONS, TYPES, Case, Rates, find_rates, list_rows, ratio, text_of
from compare_python_libraries import LIBRARIES

PLACES = {"host": "From host memory to host memory", "device": "From device memory to device memory"}
NOTHING = "–"
CONVOLUTIONS = (
    "- Why: MONAI moves pixels by PyTorch's convolutions, which round float32 to 11 bits on a GPU of compute "
    "capability 8.0 or later. With `torch.backends.cudnn.allow_tf32 = False` 0 pixels differ (64x64x64, 5x5x5)."
)

# The kind of array that each library is compared with ours on.
KINDS = {kind.name: kind.kind for kinds in LIBRARIES.values() for kind in kinds}

HEAD = """\
# Times of the Python package beside other libraries

`benchmark/compare_python.py --print` wrote this page from what it measured, and `benchmark/plot_python.py` drew the
picture. Do not change it by hand.

![How many times as long as this package other libraries take](python-libraries.png)

*A dot is a case, in which both were measured. Above the line the other library took longer.*

- A cell has three numbers, for uint8, int16 and float32. – says that there is none.
- "ours" is a call of this package in milliseconds, from an array to a new one. The other columns say how many times as
  long the library took for the same.
- ~ marks what was not measured, since a call would have taken too long. It is reckoned from a smaller array with the
  same window.
- The window is a box; for "footprint" it is a disk or a ball in that box. The percentile is the 20th. The border
  repeats the last pixels.
- All results that were measured were compared pixel by pixel. What is not equal is said before the tables.
- VTK and PyVista have a border of their own, and are compared without it.
"""

Row = tuple[Case, dict[str, Any]]


def join(texts: list[str]) -> str:
    """Return the texts of a cell, or that there is none."""
    return NOTHING if all(text == NOTHING for text in texts) else " / ".join(texts)


def times_of(case: Case, value: dict[str, Any], name: str, rates: Rates) -> str:
    """Return how many times as long as ours a library took or, with a ~, would take by what a smaller array took."""
    measured = ratio(value, name)
    if measured is not None:
        return f"{measured:.3g}"
    rate, ours = rates.get(case.rate_key(name)), value["ours"].get(KINDS[name])
    is_reckoned = rate is not None and ours is not None and name not in value["others"]
    return f"~{rate * case.pixels() / ours:.3g}" if is_reckoned else NOTHING


def ours_of(value: dict[str, Any], kind: str) -> str:
    """Return our milliseconds with arrays of a kind."""
    seconds = value["ours"].get(kind)
    return NOTHING if seconds is None else f"{seconds * 1e3:.3g}"


def write_table(rows: list[Row], names: list[str], rates: Rates) -> list[str]:
    """Return the lines of a function's table."""
    kinds = sorted({kind for _, value in rows for kind in value["ours"]})
    used = [name for name in names if any(name in value["others"] for _, value in rows)]
    heads = ["array", "window", *(f"ours, {kind}, ms" for kind in kinds), *used]
    lines = [f"| {' | '.join(heads)} |", f"|{' --- |' * len(heads)}"]
    for (shape, _), group in itertools.groupby(rows, key=lambda row: (row[0].shape, row[0].size)):
        by_type = {case.dtype: (case, value) for case, value in group}
        window = next(iter(by_type.values()))[0].window()
        typed = [by_type.get(dtype) for dtype in TYPES]
        cells = [join([NOTHING if row is None else ours_of(row[1], kind) for row in typed]) for kind in kinds]
        cells += [join([NOTHING if row is None else times_of(*row, name, rates) for row in typed]) for name in used]
        lines.append(f"| {text_of(shape)} | {window} | {' | '.join(cells)} |")
    return lines


def write_summary(rows: list[Row], names: list[str]) -> list[str]:
    """Return the lines of the table that says of each library how its times are spread."""
    lines = [
        "| library | cases | times as long as ours: least | middle | greatest | shorter than ours |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name in names:
        ratios = sorted(number for _, value in rows if (number := ratio(value, name)) is not None)
        if ratios:
            spread = (ratios[0], ratios[len(ratios) // 2], ratios[-1])
            cells = [name, str(len(ratios)), *(f"{number:.3g}" for number in spread)]
            lines.append(f"| {' | '.join(cells)} | {sum(number < 1 for number in ratios)} |")
    return lines


def find_differences(results: dict[str, Any]) -> list[str]:
    """Return what is not equal to ours, by case and library."""
    return [
        f"{case.name()}, {name}: {other['result']}"
        for case, value in list_rows(results)
        for name, other in value["others"].items()
        if not other.get("result", "equal").startswith("equal")
    ]


def write_faults(results: dict[str, Any]) -> list[str]:
    """Return the lines about results that are not ours, and calls that failed."""
    differences = find_differences(results)
    lines = [f"- Not equal: {text}" for text in differences] or ["- All results that were measured are equal."]
    if results["place"] == "device" and any(", MONAI: " in text for text in differences):
        lines.append(CONVOLUTIONS)
    failures = Counter(
        f"{name}: {other['failed'].splitlines()[0]:.100}"
        for _, value in list_rows(results)
        for name, other in value["others"].items()
        if "failed" in other
    )
    lines += [f"- Failed in {count} cases: {text}" for text, count in sorted(failures.items())]
    return lines + [f"- Not there: {text}" for text in results.get("missing", [])]


def write_place(results: dict[str, Any]) -> list[str]:
    """Return the lines about a file of results."""
    rows, rates = list_rows(results), find_rates(results)
    names = sorted({name for _, value in rows for name in value["others"]})
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [
        f"## {PLACES[results['place']]}: {', '.join(names)}",
        "",
        f"{results['device']}; {results['cores']} cores; {len(rows)} cases. {versions}.",
        "",
        *write_summary(rows, names),
        "",
        *write_faults(results),
    ]
    for function in FUNCTIONS:
        of_function = [row for row in rows if row[0].function == function]
        if of_function:
            lines += ["", f"### {function}, {results['place']}", "", *write_table(of_function, names, rates)]
    return lines


def write_page(files: list[dict[str, Any]]) -> str:
    """Return the page about files of results."""
    lines = [HEAD]
    for results in files:
        lines += [*write_place(results), ""]
    return "\n".join(lines).rstrip() + "\n"
