"""What CuPy's median_filter reaches on the images of CudaMedianKernelBenchmark, and itk_cuda_median beside it.

Both get CuPy arrays and return new ones: device-resident, random full-range pixels, several images in turn so that none
stays in the cache, border included, median of the calls. Needs cupy and a GPU; without the wheel of this module it
times CuPy alone. Prints Gpixel/s, how many times faster, the microseconds that a call of itk_cuda_median keeps the
host busy, and how many pixels differ.
"""

import argparse
import time
from itertools import pairwise

import cupy
from cupyx.scipy import ndimage

try:
    from itk_cuda_median import median_filter
except ImportError:
    median_filter = None

PIXELS = ("uint8", "int16", "float32")
# As CudaMedianKernelBenchmark: images in turn, within this many bytes.
MOST_IMAGES = 8
MOST_BYTES = 1 << 30


def make_images(shape, name):
    """Return random images."""
    bits = cupy.dtype(name).itemsize * 8
    random = cupy.random.default_rng(1)
    images = []
    count = min(MOST_IMAGES, MOST_BYTES // (cupy.prod(cupy.array(shape)).item() * bits // 8))
    for _ in range(count):
        image = random.integers(0, 1 << bits, shape, f"uint{bits}")
        if name == "float32":
            image &= cupy.uint32(0xBFFFFFFF)  # all of its bits but one: neither NaN nor infinity
        images.append(image.view(name))
    return images


def measure(call, images, calls):
    """Return the seconds of one call on the device and on the host: the median, and the mean."""
    call(images[0])
    cupy.cuda.Device().synchronize()
    events = [cupy.cuda.Event() for _ in range(calls + 1)]
    events[0].record()
    start = time.perf_counter()
    for number, event in enumerate(events[1:]):
        call(images[number % len(images)])
        event.record()
    host = (time.perf_counter() - start) / calls
    events[-1].synchronize()
    times = sorted(cupy.cuda.get_elapsed_time(a, b) for a, b in pairwise(events))
    return times[calls // 2] * 1e-3, host


def main():
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", default="3x3,5x5,7x7,9x9,11x11,13x13,17x17,3x3x3,5x5x5,7x7x7")
    parser.add_argument("--pixels", default=",".join(PIXELS))
    parser.add_argument("--calls", type=int, default=20, help="of itk_cuda_median")
    parser.add_argument("--cupy-calls", type=int, default=3)
    arguments = parser.parse_args()
    print(f"CuPy {cupy.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}")
    if median_filter is None:
        print("itk_cuda_median is not installed: CuPy alone")
    print(f"{'pixel':8} {'window':8} {'CuPy':>9} {'this':>9} {'times':>7} {'host us':>8} {'differ':>6}")
    for name in arguments.pixels.split(","):
        images, made = [], None
        for text in arguments.windows.split(","):
            window = tuple(int(size) for size in reversed(text.split("x")))
            shape = (4480, 6720) if len(window) == 2 else (256, 512, 512)
            if made != shape:
                images, made = None, shape
                images = make_images(shape, name)
            pixels = images[0].size * 1e-9

            def by_cupy(image, window=window):
                return ndimage.median_filter(image, size=window, mode="nearest")

            seconds, _ = measure(by_cupy, images, arguments.cupy_calls)
            row = f"{name:8} {text:8} {pixels / seconds:9.3f}"
            if median_filter is not None:

                def by_this(image, window=window):
                    return median_filter(image, window)

                own, host = measure(by_this, images, arguments.calls)
                differ = int(cupy.count_nonzero(by_this(images[0]) != by_cupy(images[0])))
                row += f" {pixels / own:9.2f} {seconds / own:7.1f} {host * 1e6:8.1f} {differ:6}"
            print(row, flush=True)


if __name__ == "__main__":
    main()
