#!/usr/bin/env python3
"""Times itk.CudaMedianImageFilter on the CPU against OpenCV's medianBlur, in one process and with as many threads.

Needs the module's wheel, itk, numpy and opencv-python-headless. OpenCV has 3x3 and 5x5 for 16-bit and float pixels, any
square window for 8-bit ones. Prints how many times longer OpenCV takes, the ratio of the medians of some runs, and
whether both images are the same away from the border.
"""

import argparse
import statistics
import time

import cv2
import itk
import numpy as np


def time_median(run, repeats):
    """Seconds of the median of some runs after two that do not count."""
    seconds = []
    for _ in range(repeats + 2):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:])


def compare(pixels, window, repeats):
    """The ratio of the times, and whether the results agree."""
    radius = window // 2
    image = itk.image_view_from_array(pixels)
    median = itk.CudaMedianImageFilter[type(image), type(image)].New(image)
    median.SetRadius(radius)
    median.SetBackend(itk.CudaMedianImageFilterEnums.Backend_Cpu)

    def run_ours():
        median.Modified()
        median.Update()

    result = np.empty_like(pixels)
    ours = time_median(run_ours, repeats)
    theirs = time_median(lambda: cv2.medianBlur(pixels, window, dst=result), repeats)
    inside = (slice(radius, -radius),) * 2
    same = np.array_equal(itk.array_view_from_image(median.GetOutput())[inside], result[inside])
    return theirs / ours, same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--size", type=int, default=2048)
    arguments = parser.parse_args()
    cv2.setNumThreads(arguments.threads)
    itk.MultiThreaderBase.SetGlobalDefaultNumberOfThreads(arguments.threads)
    print(f"OpenCV {cv2.__version__}, ITK {itk.Version.GetITKVersion()}, {arguments.threads} threads")
    print("| window | 8-bit | 16-bit | float |\n| --- | --- | --- | --- |")
    generator = np.random.default_rng(1)
    bits = generator.integers(0, 65536, (arguments.size, arguments.size), dtype=np.uint16)
    for window in (3, 5, 7, 11, 17):
        row = [f"{window}x{window}"]
        for pixels in ((bits >> 8).astype(np.uint8), bits, bits.astype(np.float32)):
            if window > 5 and pixels.dtype != np.uint8:
                row.append("-")
                continue
            ratio, same = compare(pixels, window, arguments.repeats)
            row.append(f"{ratio:.1f}" + ("" if same else ", different"))
        print("| " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
