# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Numbers beyond their limits are errors that name the value and the limit, in Python and in the C functions."""

import ctypes
import os
import subprocess
import sys

import numpy as np
import pytest

from conftest import make_array
from cudamedian import RequestError, _engine, _numbers, _window, median_filter

LARGEST_RADIUS = (_numbers.MOST_WINDOW_PIXELS - 1) // 2


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        ({"radius": 2**64}, (2**64, LARGEST_RADIUS)),
        ({"radius": 2**63}, (2**63, LARGEST_RADIUS)),
        ({"radius": (1, 2**64 + 1)}, (2**64 + 1, LARGEST_RADIUS)),
        ({"radius": LARGEST_RADIUS + 1}, (LARGEST_RADIUS + 1, LARGEST_RADIUS)),
        ({"radius": -1}, ("radius -1 is below 0",)),
        ({"radius": np.int8(-1)}, ("radius -1 is below 0",)),
        ({"radius": 2**31}, ("(2147483648, 2147483648) has 18446744082299486209 pixels", _numbers.MOST_WINDOW_PIXELS)),
        ({"size": 2**64 + 1}, (2**64 + 1, _numbers.MOST_WINDOW_PIXELS)),
        ({"size": 2**64}, (2**64, _numbers.MOST_WINDOW_PIXELS)),
        ({"size": 0}, ("size 0 is below 1",)),
        ({"size": (3, -4)}, ("size -4 is below 1",)),
        ({"size": (3, 4), "origin": (0, 2)}, ("origin is 2", "from -2 to 1")),
        ({"size": (3, 4), "origin": (-2, 0)}, ("origin is -2", "from -1 to 1")),
        ({"size": 3, "rank": 9}, ("rank is 9", "from -9 to 8", "9 pixels")),
        ({"size": 3, "rank": -10}, ("rank is -10", "from -9 to 8")),
        ({"size": 3, "percentile": 100.5}, ("percentile is 100.5", "from -100 to 100")),
        ({"size": 3, "percentile": float("nan")}, ("percentile is nan",)),
        ({"size": 3, "mode": "constant", "cval": 40000}, ("cval is 40000", -32768, 32767)),
        ({"size": 3, "mode": "constant", "cval": 0.5}, ("cval is 0.5",)),
        ({"size": 3, "mode": "edge"}, ("mode is 'edge'", "'mirror'")),
        ({"size": 3, "mode": ("wrap",)}, ("mode is ('wrap',)", "1 values for 2 axes")),
        ({"size": 3, "even_median": "least"}, ("even_median is 'least'", "'mean', 'lower'")),
        ({"size": 3, "axes": 2**64}, (2**64, "-2 to 1")),
        ({"size": 3, "axes": -3}, (-3, "-2 to 1")),
        ({"size": 3, "axes": (0, 1, 0)}, ("(0, 1, 0), which names an axis twice",)),
        ({"size": 3, "threads": 2**32}, (2**32, _numbers.MOST_THREADS)),
        ({"size": 3, "threads": 4097}, (4097, 4096)),
        ({"size": 3, "memory": -1}, (-1, 0, 2**63 - 1)),
        ({"size": 3, "memory": 2**64}, (2**64, 2**63 - 1)),
    ],
)
def test_numbers_beyond_their_limits(arguments, texts):
    array = np.arange(30, dtype="int16").reshape(5, 6)
    output = np.full_like(array, -7)
    with pytest.raises(ValueError) as caught:
        median_filter(array, **arguments, output=output)
    for text in texts:
        assert str(text) in str(caught.value)
    assert (output == -7).all()


NO_INTEGERS = [float("nan"), float("inf"), 2.0, True, np.True_, "3", b"3", None, {3}, {3: 3}, (3, 3.0), (3, True), len]


@pytest.mark.parametrize("name", ["size", "radius", "axes", "memory", "threads"])
@pytest.mark.parametrize("value", NO_INTEGERS, ids=repr)
def test_what_is_no_integer(name, value):
    if value is None and name in ("axes", "threads"):
        pytest.skip("the default")
    arguments = {name: value} if name in ("size", "radius") else {"size": 3, name: value}
    with pytest.raises(TypeError, match=name):
        median_filter(np.zeros((5, 6)), **arguments)


@pytest.mark.parametrize("kind", [int, np.int8, np.uint64, np.int64, np.asarray])
def test_integers_of_every_kind(random, kind):
    array = make_array(random, (20, 30), "uint16")
    expected = median_filter(array, 5)
    for arguments in (
        {"size": kind(5)},
        {"radius": kind(2)},
        {"radius": [kind(2), kind(2)]},
        {"size": 5, "axes": (kind(0), kind(1))},
        {"size": 5, "threads": kind(2)},
        {"size": 5, "memory": kind(0)},
    ):
        np.testing.assert_array_equal(median_filter(array, **arguments), expected)
    np.testing.assert_array_equal(median_filter(array, np.array([5, 5])), expected)


def test_the_largest_radius(random):
    # Beyond the array's length the ends weigh all the same.
    array = make_array(random, (7,), "uint8")
    np.testing.assert_array_equal(
        median_filter(array, radius=LARGEST_RADIUS, backend="cpu"), median_filter(array, radius=50, backend="cpu")
    )


def work_units(length=64, **arguments):
    """Return the number of threads that a call ran with."""
    texts = []
    options = {"size": 3, "backend": "cpu", **arguments}
    median_filter(np.zeros((length, length), "uint8"), report=texts.append, **options)
    return int(dict(line.split(": ", 1) for line in texts[0].splitlines())["Work units"])


def test_threads_count_as_those_of_joblib():
    cores = len(os.sched_getaffinity(0))
    assert work_units() == work_units(threads=None) == 1, "there is little to do"
    # How many more work is worth is the engine's estimate.
    for more in ({"size": 101}, {"size": 101, "rank": 1}, {"length": 2048}):
        assert min(cores, 2) <= work_units(**more) == work_units(threads=None, **more) <= cores
    # The least and the greatest of a box take as long whatever its size.
    assert work_units(size=101, rank=0) == work_units(size=101, rank=101**2 - 1) == 1
    assert work_units(threads=0) == cores
    assert work_units(threads=-1) == cores
    assert work_units(threads=-2) == max(1, cores - 1)
    assert work_units(threads=-cores) == 1
    assert work_units(threads=-cores - 1) == work_units(threads=-(2**70)) == 1
    assert work_units(threads=3) == 3


def test_threads_are_of_the_cores_that_the_process_may_run_on():
    code = (
        "import os; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); import numpy, cudamedian; "
        "cudamedian.median_filter(numpy.zeros((64, 64)), 3, backend='cpu', report=print, threads=THREADS)"
    )
    for threads in ("None", "-1", "-2"):
        done = subprocess.run(
            [sys.executable, "-c", code.replace("THREADS", threads)], check=True, capture_output=True, text=True
        )
        assert "Work units: 1\n" in done.stdout


def test_fewer_threads_where_the_system_has_no_more(random):
    # Address space for some stacks of 8 MiB each, and not for 200; what is left over is different each time.
    code = """
import os, resource, sys, threading
import numpy
import cudamedian as m
array = numpy.random.default_rng(int(sys.argv[1])).integers(0, 99, (300, 400), "uint16")
expected = m.median_filter(array, 3, threads=1)
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * os.sysconf("SC_PAGE_SIZE") + (100 << 20) + int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20))
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
assert (m.median_filter(array, 3, threads=200, backend="cpu") == expected).all()
try:
    threads = [threading.Thread(target=threading.Event().wait, daemon=True) for _ in range(200)]
    for thread in threads:
        thread.start()
except RuntimeError:
    os._exit(0)
print("200 threads fit: the test limits nothing")
os._exit(1)
"""
    seed = str(random.integers(1 << 30))
    for more in range(0, 8 << 20, 384 << 10):
        done = subprocess.run(
            [sys.executable, "-c", code, seed, str(more)], capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{more}: {done.stdout}{done.stderr}"


def c_request(**changes):
    """Return a request for the C functions, and the arrays it is of."""
    source = np.arange(20, dtype="int32").reshape(4, 5)
    output = np.zeros_like(source)
    window = _window.window_of_axes(2, radius=1)
    request = _engine._request("int32", source.ctypes.data, output.ctypes.data, (4, 5), window.axes, 0, 0)
    request.backend = _engine.Backend.CPU
    request.work_units = 1
    for name, value in changes.items():
        setattr(request, name, value(source, output) if callable(value) else value)
    return request, source, output


def axes(*values):
    """Return numbers of the engine's four axes."""
    return _engine._Axes(*values)


def footprint(*numbers):
    """Return the numbers of a footprint's pixels as C has them."""
    return ctypes.cast((ctypes.c_int64 * len(numbers))(*numbers), ctypes.POINTER(ctypes.c_int64))


LARGEST = 2**63 - 1
# A window of a pixel of a footprint.
ONE = {"footprint_pixels": 1, "radius": axes(0, 0, 0, 0)}


@pytest.mark.parametrize(
    ("changes", "texts"),
    [
        ({"bytes": 8}, ("8 bytes", "different versions")),
        ({"pixel_type": 12}, ("pixelType is 12", "to 11")),
        ({"backend": 3}, ("backend is 3", "to 2")),
        ({"algorithm": 6}, ("algorithm is 6", "to 5")),
        ({"work_units": 2**32 - 1}, ("workUnits is 4294967295", "to 4096")),
        ({"device_memory_budget": 2**64 - 1}, (f"deviceMemoryBudget is {2**64 - 1}", f"to {LARGEST}")),
        ({"progress_seconds": float("nan")}, ("progressSeconds is", "from 0")),
        ({"progress_seconds": -1.0}, ("progressSeconds is -1", "from 0")),
        ({"extent": axes(5, -4, 1, 1)}, ("extent along axis 1 is -4", "from 0")),
        ({"extent": axes(5, 4, LARGEST, 1)}, (f"extent along axis 2 is {LARGEST}", f"to {LARGEST // 4 // 20}")),
        ({"radius": axes(1, -1, 0, 0)}, ("radius along axis 1 is -1", "from 0")),
        ({"radius": axes(LARGEST, 1, 0, 0)}, (f"radius along axis 0 is {LARGEST}", f"to {LARGEST_RADIUS}")),
        ({"radius": axes(2**40, 2**40, 0, 0)}, (f"radius along axis 1 is {2**40}", "to 131071")),
        ({"output_stride": axes(2, 5, 20, 20)}, ("stride along axis 0 is 2", "to 1")),
        ({"output_stride": axes(1, 4, 20, 20)}, ("stride along axis 1 is 4", "from 5")),
        ({"output_stride": axes(1, -5, 20, 20)}, ("stride along axis 1 is -5", "from 5")),
        ({"output_stride": axes(1, LARGEST, 20, 20)}, (f"stride along axis 1 is {LARGEST}",)),
        ({"input_stride": axes(2, 5, 20, 20)}, ("input's stride along axis 0 is 2", "to 1")),
        ({"input_stride": axes(1, 4, 20, 20)}, ("input's stride along axis 1 is 4", "from 5")),
        ({"shorter": axes(2, 0, 0, 0)}, ("shorter along axis 0 is 2", "to 1")),
        ({"shorter": axes(0, 0, 1, 0)}, ("shorter along axis 2 is 1", "to 0")),
        ({"shift": axes(0, 2, 0, 0)}, ("shift along axis 1 is 2", "from -1 to 1")),
        ({"rank": 9}, ("rank is 9", "from -1 to 8")),
        ({"rank": -2}, ("rank is -2", "from -1 to 8")),
        ({"border": (ctypes.c_uint32 * 4)(0, 6, 0, 0)}, ("border along axis 1 is 6", "to 5")),
        ({"even_median": 3}, ("evenMedian is 3", "to 2")),
        ({"has_ignored_value": 2}, ("hasIgnoredValue is 2", "to 1")),
        ({"omits_nan": 2}, ("omitsNaN is 2", "to 1")),
        ({"empty_window": 2}, ("emptyWindow is 2", "to 1")),
        ({"invalid_output": 3}, ("invalidOutput is 3", "to 2")),
        ({"outlier_rule": 3}, ("outlierRule is 3", "to 2")),
        ({"mask_stride": axes(1, -5, 0, 0)}, ("stride of the mask is -5",)),
        ({"mask": 4098, "mask_pixel_bytes": 4}, ("mask does not start at a multiple of 4",)),
        ({"footprint_pixels": 1}, ("footprint has 1 pixels and is null",)),
        ({"footprint_pixels": 2**24 + 1, "footprint": footprint(0)}, ("footprint has", f"at most {2**24}")),
        ({"footprint_pixels": 1, "footprint": footprint(1, 0, 0, 0, 1)}, ("radius along axis 0 is to be 0",)),
        ({**ONE, "footprint": footprint(LARGEST, 0, 0, 0, 1)}, (f"along axis 0 is {LARGEST}", f"to {LARGEST_RADIUS}")),
        ({**ONE, "footprint": footprint(2**40, -(2**40), 0, 0, 1)}, (f"along axis 1 is -{2**40}", "from -131071")),
        ({**ONE, "footprint": footprint(0, 0, 0, 0, -1)}, ("weight",)),
        ({**ONE, "footprint": footprint(0, 0, 0, 0, 0)}, ("footprint",)),
        ({"input": None}, ("buffer is null",)),
        ({"output": None}, ("buffer is null",)),
        ({"output": lambda source, _output: source.ctypes.data}, ("overlaps",)),
        ({"output": lambda source, _output: source.ctypes.data + 4}, ("overlaps",)),
        ({"input": lambda _source, output: output.ctypes.data + 76}, ("overlaps",)),
        ({"output": lambda _source, output: output.ctypes.data + 2}, ("multiple of 4 bytes",)),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else value[0],  # no addresses of objects
)
@pytest.mark.parametrize("function", ["CudaMedianRun", "CudaMedianRunOnDevice"])
def test_the_c_functions_check_again(function, changes, texts):
    request, _source, output = c_request(**changes)
    arguments = (ctypes.byref(request),) if function == "CudaMedianRun" else (ctypes.byref(request), 1)
    status, text = _engine._call(function, *arguments)
    with pytest.raises(RequestError) as caught:
        _engine._report(status, text)
    for part in texts:
        assert part in str(caught.value)
    assert not output.any()


def test_the_c_function_runs_what_is_within_its_limits():
    request, source, output = c_request()
    _engine._report(*_engine._call("CudaMedianRun", ctypes.byref(request)))
    np.testing.assert_array_equal(output, median_filter(source, 3))
    # Strides of axes with one pixel mean nothing.
    request, source, output = c_request(output_stride=axes(1, 5, -1, 0))
    _engine._report(*_engine._call("CudaMedianRun", ctypes.byref(request)))
    np.testing.assert_array_equal(output, median_filter(source, 3))
    with pytest.raises(RequestError, match="request is null"):
        _engine._report(*_engine._call("CudaMedianRun", None))


def test_the_engine_counts_the_values_of_a_footprint():
    for rank, expected in ((0, 0), (1, 0), (2, 5), (3, None)):
        # The output's pixel, and twice the one above it.
        pixels = footprint(0, 0, 0, 0, 1, 0, -1, 0, 0, 2)
        request, source, output = c_request(**{**ONE, "footprint_pixels": 2, "footprint": pixels, "rank": rank})
        status, text = _engine._call("CudaMedianRun", ctypes.byref(request))
        if expected is None:
            with pytest.raises(RequestError, match="from 0 to 2"):
                _engine._report(status, text)
        else:
            _engine._report(status, text)
            assert output[1, 0] == expected


def test_numbers_never_reach_ctypes_cut_off():
    with pytest.raises(ValueError, match=str(2**64)):
        _engine._request("int32", 0, 0, (4, 5), (_window.AxisWindow(2**64), _window.AxisWindow()), 0, 0)
    with pytest.raises(ValueError, match="stream is -1"):
        _engine.run_on_device("int32", 0, 0, (4, 5), (_window.AxisWindow(),) * 2, _engine.Algorithm.AUTOMATIC, 0, -1)
