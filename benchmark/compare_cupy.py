"""What CuPy's median_filter reaches on the images of CudaMedianKernelBenchmark: device-resident, random full-range pixels,
border included, median of the launches. Needs cupy and a GPU. Prints Gpixel/s."""

import argparse

import cupy
from cupyx.scipy.ndimage import median_filter

PIXELS = {"uint8": cupy.uint8, "int16": cupy.int16, "float32": cupy.float32}


def measure(image, output, window, launches):
    """Seconds of one median filter, the median over the launches."""
    median_filter(image, size=window, output=output, mode="nearest")
    events = [cupy.cuda.Event() for _ in range(launches + 1)]
    events[0].record()
    for event in events[1:]:
        median_filter(image, size=window, output=output, mode="nearest")
        event.record()
    events[-1].synchronize()
    times = sorted(cupy.cuda.get_elapsed_time(a, b) for a, b in zip(events, events[1:]))
    return times[len(times) // 2] * 1e-3


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--windows", default="3x3,5x5,7x7,9x9,11x11,13x13,17x17,3x3x3,5x5x5,7x7x7")
    parser.add_argument("--pixels", default="uint8,int16,float32")
    parser.add_argument("--launches", type=int, default=3)
    arguments = parser.parse_args()
    random = cupy.random.default_rng(1)
    print(f"CuPy {cupy.__version__}, {cupy.cuda.runtime.getDeviceProperties(0)['name'].decode()}")
    for text in arguments.windows.split(","):
        window = tuple(int(size) for size in reversed(text.split("x")))
        shape = (4480, 6720) if len(window) == 2 else (256, 512, 512)
        for name in arguments.pixels.split(","):
            if name == "float32":
                image = random.random(shape, dtype=cupy.float32)
            else:
                limits = cupy.iinfo(PIXELS[name])
                image = random.integers(limits.min, limits.max, shape, dtype=PIXELS[name], endpoint=True)
            seconds = measure(image, cupy.empty_like(image), window, arguments.launches)
            print(f"{name:8} {text:8} {image.size / seconds * 1e-9:9.3f}", flush=True)


if __name__ == "__main__":
    main()
