#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Draws the rates of kernels over the pixels of the window, beside their floors and beside published methods.

usage: plot_article.py OUTPUT.png RESULTS.json...

RESULTS.json is what CudaMedianKernelBenchmark wrote with --json: tables of kernels, and sweeps with --tune and
--published. Each pixel type has a panel. Of several rows for a window and a method the fastest is drawn; rows with
pixels that differ are left out. The floor is that of the fastest row: the busier pipe, or a copy. It needs matplotlib.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PIXELS = {"uint8": "8 bits", "int16": "16 bits", "float32": "float"}
OURS = {2: "this library, square windows", 3: "this library, cubic windows"}


def read_best(paths: list[str]) -> dict[tuple[str, str, int, int], dict[str, Any]]:
    """Return the fastest right row for each pixel type, method, number of axes and number of pixels."""
    best: dict[tuple[str, str, int, int], dict[str, Any]] = {}
    for path in paths:
        for row in json.loads(Path(path).read_text(encoding="utf-8")):
            sides = [int(side) for side in row["window"].split("x")]
            if row["differing_pixels"] or len(set(sides)) != 1:
                continue
            # A tile begins with a number, a published program with a letter.
            method = row["root"] if row["root"][:1].isalpha() else OURS[len(sides)]
            key = (row["pixel"], method, len(sides), math.prod(sides))
            rate = row["gigapixels_per_second"]
            if key not in best or rate > best[key]["gigapixels_per_second"]:
                best[key] = row
    return best


def draw_panel(axes: Any, pixel: str, best: dict[tuple[str, str, int, int], dict[str, Any]]) -> None:
    """Draw a pixel type: lines for what this library does, a mark for each published program and window."""
    methods = sorted({key[1] for key in best if key[1] not in OURS.values()})
    for dimensions, method in OURS.items():
        points = sorted((key[3], row) for key, row in best.items() if key[:3] == (pixel, method, dimensions))
        if not points:
            continue
        counts = [count for count, _ in points]
        (line,) = axes.plot(
            counts, [row["gigapixels_per_second"] for _, row in points], "o-", markersize=3, label=method
        )
        floors = [(count, row["floor_gigapixels_per_second"]) for count, row in points]
        floors = [(count, floor) for count, floor in floors if floor]
        if floors:
            axes.plot(*zip(*floors, strict=True), ":", color=line.get_color(), label="floor of its programs")
    for number, method in enumerate(methods):
        points = sorted(
            (key[3], row["gigapixels_per_second"]) for key, row in best.items() if key[:2] == (pixel, method)
        )
        if points:
            axes.plot(
                *zip(*points, strict=True), "^sDvPX*<>"[number % 9], markersize=5, color=f"C{number + 2}", label=method
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_title(PIXELS[pixel])
    axes.set_xlabel("pixels of the window")
    axes.grid(True, alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw the picture that the command line asks for."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    best = read_best(sys.argv[2:])
    figure, panels = plt.subplots(1, len(PIXELS), figsize=(13, 5), layout="constrained", sharey=True)
    for pixel, axes in zip(PIXELS, panels, strict=True):
        draw_panel(axes, pixel, best)
    panels[0].set_ylabel("Gpixel/s")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, fontsize=8)
    figure.savefig(sys.argv[1], dpi=90)


if __name__ == "__main__":
    main()
