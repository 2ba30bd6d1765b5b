#!/usr/bin/env python3
"""Draws what each algorithm reaches over the window's side, one curve each, from CudaMedianKernelBenchmark's results.

usage: plot_crossover.py OUTPUT.png NAME=RESULTS.json...

NAME is what the curve is called, RESULTS.json what the benchmark wrote with --algorithm and --json. Square windows are
drawn in one row of the picture, cubic ones in the other, each with a column for each pixel type. Needs matplotlib.
"""

import json
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402


def read_curves(arguments):
    """Points (side, Gpixel/s) by number of dimensions, pixel type and name."""
    curves = defaultdict(list)
    for argument in arguments:
        name, path = argument.split("=", 1)
        with open(path, encoding="utf-8") as file:
            for row in json.load(file):
                sides = row["window"].split("x")
                if len(set(sides)) == 1:
                    point = (int(sides[0]), float(row["gigapixels_per_second"]))
                    curves[len(sides), row["pixel"], name].append(point)
    return curves


def main():
    """Draw the picture that the command line asks for."""
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    curves = read_curves(sys.argv[2:])
    pixels = sorted({pixel for _, pixel, _ in curves}, key=["uint8", "int16", "float32", "float64"].index)
    names = list(dict.fromkeys(argument.split("=", 1)[0] for argument in sys.argv[2:]))
    figure, rows = plt.subplots(2, len(pixels), figsize=(4 * len(pixels), 7), sharey=True, squeeze=False)
    for dimensions, axes_of_row in zip((2, 3), rows, strict=True):
        for pixel, axes in zip(pixels, axes_of_row, strict=True):
            for number, name in enumerate(names):
                points = sorted(curves.get((dimensions, pixel, name), []))
                axes.loglog(
                    *zip(*points, strict=True) if points else ([], []),
                    "o-",
                    markersize=3,
                    color=f"C{number}",
                    label=name,
                )
            axes.set_title(f"{pixel}, {'square' if dimensions == 2 else 'cubic'} windows")
            axes.set_xticks([3, 5, 9, 15, 31] if dimensions == 3 else [3, 9, 31, 101, 301])
            axes.xaxis.set_major_formatter(matplotlib.ticker.ScalarFormatter())
            axes.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
            axes.set_xlabel("side of the window, pixels")
            axes.grid(True, which="both", alpha=0.3)
        axes_of_row[0].set_ylabel("Gpixel/s")
    rows[0][0].legend()
    figure.tight_layout()
    figure.savefig(sys.argv[1], dpi=90)


if __name__ == "__main__":
    main()
