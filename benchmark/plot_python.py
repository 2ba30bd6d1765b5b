#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Draws how many times as long as ours other libraries take, from what compare_python.py has measured.

usage: plot_python.py OUTPUT.png RESULTS.json...

Each file has a row of panels, one for each function. A dot is a case; its place along the axis is the number of values
that its windows read in all. Dots above the line took longer than ours. What was reckoned is not drawn. It needs
matplotlib.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from compare_python_cases import FUNCTIONS, list_rows, ratio


def draw_panel(axes: Any, function: str, results: dict[str, Any], colours: dict[str, str]) -> None:
    """Draw the dots of a function."""
    for name, colour in colours.items():
        points = [
            (case.pixels() * case.size ** len(case.shape), number)
            for case, value in list_rows(results)
            if case.function == function and (number := ratio(value, name)) is not None
        ]
        if points:
            axes.plot(*zip(*points, strict=True), ".", color=colour, label=name, markersize=5, alpha=0.7)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(function, fontsize=9)
    axes.tick_params(labelsize=8)
    axes.grid(True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw the picture that the command line asks for."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    files = [json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[2:]]
    names = sorted({name for results in files for value in results["cases"].values() for name in value["others"]})
    colours = {name: f"C{number}" for number, name in enumerate(names)}
    figure, rows = plt.subplots(
        len(files),
        len(FUNCTIONS),
        figsize=(13, 3 * len(files)),
        layout="constrained",
        sharex=True,
        sharey="row",
        squeeze=False,
    )
    for results, panels in zip(files, rows, strict=True):
        for function, axes in zip(FUNCTIONS, panels, strict=True):
            draw_panel(axes, function, results, colours)
        panels[0].set_ylabel(f"{results['place']}: times as long as ours", fontsize=8)
    rows[-1][0].set_xlabel("values that windows read", fontsize=8)
    handles = [plt.Line2D([], [], color=colour, marker=".", linestyle="") for colour in colours.values()]
    figure.legend(handles, names, loc="outside lower center", ncols=len(names), fontsize=8)
    figure.savefig(sys.argv[1], dpi=100)


if __name__ == "__main__":
    main()
