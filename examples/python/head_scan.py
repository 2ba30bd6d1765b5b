# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Filter a head scan and draw what happens: before, after, the difference, slice-wise against 3D, and the times.

usage: head_scan.py SCAN FOLDER

SCAN is any volume that ITK reads; FOLDER gets head_scan.png and head_scan_times.png.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import itk
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy import ndimage

from itk_cuda_median import median_filter, query_device


def add_impulses(scan: itk.Image, share: float = 0.08) -> itk.Image:
    """Return the scan with a share of its voxels black or white, as failing detectors leave them."""
    pixels = itk.array_from_image(scan)
    random = np.random.default_rng(7)
    hit = random.random(pixels.shape) < share
    pixels[hit] = random.choice([pixels.min(), pixels.max()], np.count_nonzero(hit))
    noisy = itk.image_from_array(pixels)
    noisy.CopyInformation(scan)
    return noisy


def root_mean_square(image: itk.Image, scan: itk.Image) -> float:
    """Return how far an image is from the scan without noise."""
    return float(
        np.sqrt(np.mean((itk.array_view_from_image(image).astype(float) - itk.array_view_from_image(scan)) ** 2))
    )


def draw_slices(scan: itk.Image, noisy: itk.Image, volume: itk.Image, slices: itk.Image, path: Path) -> None:
    """Draw one slice of each."""
    z = noisy.shape[0] // 2
    before, after, flat = (itk.array_view_from_image(image)[z].astype(int) for image in (noisy, volume, slices))
    top = np.percentile(itk.array_view_from_image(scan), 99.5)
    grey = {"cmap": "gray", "vmin": 0, "vmax": top}
    signed = {"cmap": "RdBu", "vmin": -top / 4, "vmax": top / 4}
    panels = [
        (f"with noise\nRMS error {root_mean_square(noisy, scan):.0f}", before, grey),
        (f"3×3×3\nRMS error {root_mean_square(volume, scan):.0f}", after, grey),
        ("what 3×3×3 took away", before - after, signed),
        (f"3×3, slice by slice\nRMS error {root_mean_square(slices, scan):.0f}", flat, grey),
        ("slice by slice minus 3D", flat - after, signed),
    ]
    figure, axes = plt.subplots(1, len(panels), figsize=(11, 2.9), layout="constrained")
    for place, (title, pixels, style) in zip(axes, panels, strict=True):
        place.imshow(pixels, **style)
        place.set_title(title, fontsize=9)
        place.set_axis_off()
    figure.savefig(path, dpi=90)


def seconds(call: Callable[[], object], repeats: int) -> float:
    """Return the least of some measured times."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure_times(image: itk.Image) -> dict[str, dict[str, float]]:
    """Return seconds by window and by filter."""
    array = itk.array_from_image(image)
    times = {}
    for radius in (1, 2):
        expected = itk.median_image_filter(image, radius=radius)
        np.testing.assert_array_equal(itk.cuda_median_image_filter(image, radius=radius), expected)
        np.testing.assert_array_equal(median_filter(array, radius=radius), expected)
        size = 2 * radius + 1
        times["×".join([str(size)] * 3)] = {
            "scipy.ndimage.median_filter": seconds(
                lambda size=size: ndimage.median_filter(array, size, mode="nearest"), 2
            ),
            "itk.median_image_filter": seconds(lambda radius=radius: itk.median_image_filter(image, radius=radius), 2),
            "itk.cuda_median_image_filter": seconds(
                lambda radius=radius: itk.cuda_median_image_filter(image, radius=radius), 10
            ),
            "itk_cuda_median.median_filter": seconds(lambda radius=radius: median_filter(array, radius=radius), 10),
        }
    return times


def draw_times(times: dict[str, dict[str, float]], where: str, path: Path) -> None:
    """Draw bars on a logarithmic axis."""
    figure, axes = plt.subplots(1, len(times), figsize=(11, 1.9), layout="constrained", sharey=True)
    for place, (window, bars) in zip(axes, times.items(), strict=True):
        milliseconds = [1e3 * value for value in bars.values()]
        drawn = place.barh(list(bars), milliseconds, color=["#999", "#999", "#2a6fb0", "#2a6fb0"])
        place.bar_label(drawn, fmt="{:,.1f}", fontsize=8, padding=2)
        place.set_xscale("log")
        place.set_xlim(1, max(milliseconds) * 4)
        place.set_title(f"{window}, milliseconds, {where}", fontsize=9)
        place.tick_params(labelsize=8)
        place.spines[["top", "right"]].set_visible(False)
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=90)


def main() -> None:
    """Filter, compare, draw and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scan", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    scan = itk.imread(options.scan)
    noisy = add_impulses(scan)
    volume = itk.cuda_median_image_filter(noisy, radius=1)
    slices = itk.cuda_median_image_filter(noisy, radius=1, slice_wise=True)
    draw_slices(scan, noisy, volume, slices, options.folder / "head_scan.png")

    usable, device = query_device()
    where = device if usable else f"{itk.MultiThreaderBase.GetGlobalDefaultNumberOfThreads()} threads"
    times = measure_times(noisy)
    draw_times(times, where, options.folder / "head_scan_times.png")
    print(f"{options.scan.name}: {'x'.join(map(str, noisy.shape))} voxels of {noisy.dtype}, {where}")
    for window, bars in times.items():
        for name, value in bars.items():
            print(f"{window}  {name:32} {1e3 * value:10.2f} ms")


if __name__ == "__main__":
    main()
