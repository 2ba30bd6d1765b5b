# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cudamedian.median_filter of NumPy arrays."""

import functools
import gc
import os
import pickle
import subprocess
import sys

import numpy as np
import psutil
import pytest
from scipy import ndimage

import cudamedian
from conftest import make_array, needs_itk
from cudamedian import median_filter

TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


def scipy_median(array, size, axes=None):
    """Return what scipy has with the same border, for values that a double holds: scipy computes with doubles."""
    axes = range(array.ndim) if axes is None else axes
    sizes = [1] * array.ndim
    for axis, value in zip(axes, [size] * len(axes) if isinstance(size, int) else size, strict=True):
        sizes[axis] = value
    return ndimage.median_filter(array, sizes, mode="nearest")


def make_exact_array(random, shape, dtype):
    """Return random pixels that a double holds exactly."""
    array = make_array(random, shape, dtype)
    return array >> 11 << 11 if array.dtype.itemsize == 8 and array.dtype.kind in "iu" else array


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_2d_equals_scipy(random, dtype, size):
    array = make_exact_array(random, (43, 52), dtype)
    result = median_filter(array, size)
    assert result.dtype == array.dtype
    np.testing.assert_array_equal(result, scipy_median(array, size))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("size", [3, (1, 5, 3), (7, 1, 1)])
def test_3d_equals_scipy(random, dtype, size):
    array = make_exact_array(random, (14, 23, 31), dtype)
    np.testing.assert_array_equal(median_filter(array, size), scipy_median(array, size))


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_64_bit_integers_keep_every_bit(random, dtype):
    array = make_array(random, (20, 30), dtype)
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(array, 1, "edge"), (3, 3)).reshape(20, 30, 9)
    np.testing.assert_array_equal(median_filter(array, 3), np.sort(windows, axis=-1)[..., 4])


def test_large_window_equals_scipy(random):
    array = make_array(random, (70, 90), "uint16")
    np.testing.assert_array_equal(median_filter(array, 41), scipy_median(array, 41))


def test_window_larger_than_the_array(random):
    array = make_array(random, (3, 20), "int16")
    np.testing.assert_array_equal(median_filter(array, (9, 3)), scipy_median(array, (9, 3)))


@pytest.mark.parametrize("shape", [(50,), (4, 5, 6, 7)])
def test_1d_and_4d(random, shape):
    array = make_array(random, shape, "float32")
    axes = tuple(range(len(shape)))[-3:]
    np.testing.assert_array_equal(median_filter(array, 3, axes=axes), scipy_median(array, 3, axes))


def test_more_axes_than_the_engine_has(random):
    array = make_array(random, (2, 3, 4, 9, 10), "uint8")
    np.testing.assert_array_equal(median_filter(array, 3, axes=(-2, -1)), scipy_median(array, 3, (3, 4)))
    with pytest.raises(ValueError, match="has 5 axes after neighbours without a window are merged; the limit is 4"):
        median_filter(array, 3, axes=(1, 2, 3, 4))


def test_radius_is_half_a_size(random):
    array = make_array(random, (9, 10, 11), "uint8")
    np.testing.assert_array_equal(median_filter(array, radius=(0, 1, 2)), median_filter(array, size=(1, 3, 5)))


def test_axes_are_those_of_numpy(random):
    array = make_array(random, (9, 10, 11), "uint8")
    np.testing.assert_array_equal(median_filter(array, 5, axes=0), scipy_median(array, (5, 1, 1)))
    np.testing.assert_array_equal(median_filter(array, (5, 3), axes=(-1, 0)), scipy_median(array, (3, 1, 5)))


@needs_itk
def test_agrees_with_itk_whose_axes_go_the_other_way(random):
    import itk

    array = make_array(random, (9, 10, 11), "uint8")
    np.testing.assert_array_equal(
        median_filter(array, radius=(1, 2, 3)), itk.cuda_median_image_filter(array, radius=[3, 2, 1])
    )


@pytest.mark.parametrize("dtype", ["bool", "float16", ">i2", ">f4"])
def test_types_the_engine_has_not(random, dtype):
    array = make_array(random, (20, 30), np.dtype(dtype).newbyteorder("=")).astype(dtype)
    result = median_filter(array, 3)
    assert result.dtype == array.dtype
    # scipy takes no float16.
    expected = scipy_median(array.astype("float64"), 3).astype(dtype)
    np.testing.assert_array_equal(result, expected)


def test_other_types_are_an_error():
    with pytest.raises(TypeError, match="complex64"):
        median_filter(np.zeros((3, 3), "complex64"), 3)


@pytest.mark.parametrize("view", [np.s_[::2, ::3], np.s_[::-1], np.s_[:, 5:-5]])
def test_views(random, view):
    array = make_array(random, (40, 50), "int16")[view]
    np.testing.assert_array_equal(median_filter(array, 3), scipy_median(array.copy(), 3))
    np.testing.assert_array_equal(median_filter(array.T, 3), scipy_median(array.T.copy(), 3))


def test_output_array_is_written_and_returned(random):
    array = make_array(random, (20, 30), "uint8")
    expected = scipy_median(array, 3)
    for output in (np.zeros_like(array), np.zeros((20, 30), "float32"), np.zeros((40, 60), "uint8")[::2, ::2]):
        assert median_filter(array, 3, output=output) is output
        np.testing.assert_array_equal(output, expected)


def test_output_may_be_the_input(random):
    array = make_array(random, (20, 30), "uint8")
    expected = scipy_median(array, 3)
    median_filter(array, 3, output=array)
    np.testing.assert_array_equal(array, expected)


def test_output_type(random):
    array = make_array(random, (20, 30), "uint8")
    assert median_filter(array, 3, output="float32").dtype == np.float32
    with pytest.raises(ValueError, match=r"\(3, 3\).*\(20, 30\)"):
        median_filter(array, 3, output=np.zeros((3, 3)))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0, 5), ()])
def test_empty_and_scalar(shape):
    array = np.full(shape, 3, "int16")
    result = median_filter(array, 3)
    assert result.shape == shape
    np.testing.assert_array_equal(result, array)


def test_nan_orders_last_and_minus_zero_first():
    array = np.array([[np.nan, 1, np.nan, 2, np.nan]], "float32")
    np.testing.assert_array_equal(median_filter(array, (1, 3)), [[np.nan, np.nan, 2, np.nan, np.nan]])
    assert np.signbit(median_filter(np.array([0.0, -0.0, -0.0]), 3))[1]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"size": 0}, "size 0 is below 1"),
        ({"size": (3, -1)}, "size -1 is below 1"),
        ({"size": (3, 3, 3)}, "size has 3 values for 2 axes"),
        ({"radius": -2}, "radius -2 is below 0"),
        ({"size": 3, "axes": 2}, "axes holds 2, but the array has 2 axes"),
        ({"size": 3, "axes": (0, -2)}, "names an axis twice"),
        ({"size": 3, "mode": "edge"}, "mode is 'edge'"),
        ({"size": 3, "backend": "gpu"}, "backend is 'gpu'"),
        ({"size": 3, "algorithm": "fast"}, "algorithm is 'fast'"),
    ],
)
def test_wrong_arguments_are_named(arguments, text):
    with pytest.raises(ValueError, match="(?s).*" + text.replace("(", r"\(")):
        median_filter(np.zeros((5, 5)), **arguments)


@pytest.mark.parametrize("arguments", [{}, {"size": 3, "radius": 1}, {"size": 2.5}])
def test_size_or_radius_and_whole_numbers(arguments):
    with pytest.raises(TypeError):
        median_filter(np.zeros((5, 5)), **arguments)


def test_errors_of_the_engine_keep_their_text():
    with pytest.raises(cudamedian.RequestError, match="tile program") as caught:
        median_filter(np.zeros((5, 5)), radius=200, algorithm="tile program", backend="cpu")
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, ValueError)
    assert str(again) == str(caught.value)


def test_cuda_without_a_device_says_what_was_found():
    usable, description = cudamedian.query_device()
    if usable:
        pytest.skip(f"there is a device: {description}")
    with pytest.raises(cudamedian.DeviceError) as caught:
        median_filter(np.zeros((5, 5)), 3, backend="cuda")
    assert description in str(caught.value)


def test_progress_rises_to_one_and_may_stop(random):
    array = make_array(random, (200, 300), "uint8")
    seen = []
    median_filter(array, 5, progress=seen.append, backend="cpu")
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    with pytest.raises(cudamedian.Stopped):
        median_filter(array, 5, progress=lambda fraction: fraction > 0.2, backend="cpu")


def test_an_exception_of_progress_reaches_the_caller(random):
    def fail(_fraction):
        raise KeyError("from progress")

    with pytest.raises(KeyError, match="from progress"):
        median_filter(make_array(random, (50, 60), "uint8"), 3, progress=fail)


def test_report_says_what_ran(random):
    texts = []
    median_filter(make_array(random, (50, 60), "uint8"), 3, backend="cpu", threads=2, report=texts.append)
    assert "Backend: CPU (asked for)" in texts[0]
    assert "Work units: 2" in texts[0]


def test_what_users_pickle(random):
    array = make_array(random, (20, 30), "uint8")
    task = pickle.loads(pickle.dumps(functools.partial(median_filter, size=3, backend="cpu")))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(task(array))), scipy_median(array, 3))


def test_no_leak_over_a_thousand_calls(random):
    array = make_array(random, (1024, 1024), "uint8")

    def call():
        median_filter(array, 1, progress=lambda _fraction: False)

    for _ in range(50):
        call()
    gc.collect()
    process = psutil.Process(os.getpid())
    memory, references = process.memory_info().rss, sys.getrefcount(array)
    for _ in range(1000):
        call()
    gc.collect()
    assert sys.getrefcount(array) == references
    assert process.memory_info().rss - memory < 64 << 20


def test_works_without_importing_itk():
    code = "import sys, numpy, cudamedian as m; m.median_filter(numpy.eye(5), 3); assert 'itk' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@needs_itk
def test_works_when_the_library_was_loaded_before_itk():
    code = (
        "import numpy, cudamedian; a = cudamedian.median_filter(numpy.eye(5), 3); import itk; "
        "b = itk.cuda_median_image_filter(numpy.eye(5), radius=1); c = cudamedian.median_filter(numpy.eye(5), 3); "
        "assert (a == b).all() and (b == c).all()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
