# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Ranks, percentiles, even sizes, borders and origins: equal to scipy's, or found in the window itself."""

import itertools

import numpy as np
import pytest
from scipy import ndimage

from conftest import make_array
from cudamedian import median_filter

TYPES = (
    "int8",
    "uint8",
    "int16",
    "uint16",
    "int32",
    "uint32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
    "bool",
)
MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
# What np.pad calls them.
PADS = {"nearest": "edge", "reflect": "symmetric", "mirror": "reflect", "wrap": "wrap", "constant": "constant"}


def make_exact_array(random, shape, dtype):
    """Return random pixels that a double, which scipy computes with, holds exactly."""
    array = make_array(random, shape, dtype)
    # Nor does it tell the upper half of uint64 from what is below 0.
    return array >> 12 << 11 if array.dtype.itemsize == 8 and array.dtype.kind in "iu" else array


def windows_of(array, size, mode="nearest", cval=0, origin=None):
    """Return the values of each pixel's window along a last axis, from a padded copy of the array."""
    origin = origin or (0,) * array.ndim
    before = [extent // 2 + shift for extent, shift in zip(size, origin, strict=True)]
    after = [extent - 1 - first for extent, first in zip(size, before, strict=True)]
    modes = (mode,) * array.ndim if isinstance(mode, str) else mode
    for axis, name in enumerate(modes):
        widths = [(0, 0)] * array.ndim
        widths[axis] = (before[axis], after[axis])
        options = {"constant_values": cval} if name == "constant" else {}
        array = np.pad(array, widths, PADS[name], **options)
    views = np.lib.stride_tricks.sliding_window_view(array, size)
    return views.reshape(*views.shape[: array.ndim], -1)


def draw(random, ndim, most):
    """Return a random size and origin that scipy takes."""
    size = tuple(int(value) for value in random.integers(1, most + 1, ndim))
    origin = tuple(int(random.integers(-(value // 2), (value - 1) // 2 + 1)) for value in size)
    return size, origin


@pytest.mark.parametrize(("dtype", "mode"), list(itertools.product(TYPES, MODES)))
def test_ranks_equal_scipy(random, dtype, mode):
    for shape, most in (((23, 31), 6), ((9, 11, 12), 4), ((70,), 12), ((2, 40), 5)):
        array = make_exact_array(random, shape, dtype)
        size, origin = draw(random, len(shape), most)
        cval = array.flat[int(random.integers(array.size))].item()
        rank = int(random.integers(-np.prod(size), np.prod(size)))
        percentile = float(random.choice([0, 12.5, 33.3, 50, 77, 100, -20]))
        # scipy takes neither bool nor float16.
        plain = array.astype({"bool": "uint8", "float16": "float64"}.get(dtype, dtype))
        options = {"mode": mode, "cval": float(cval), "origin": origin}
        case = f"{shape}, size {size}, {options}, rank {rank}, percentile {percentile}"
        ours = {"size": size, "mode": mode, "cval": cval if dtype != "bool" else int(cval), "origin": origin}
        for result, expected in (
            (median_filter(array, **ours), ndimage.median_filter(plain, size, **options)),
            (median_filter(array, **ours, rank=rank), ndimage.rank_filter(plain, rank, size, **options)),
            (
                median_filter(array, **ours, percentile=percentile),
                ndimage.percentile_filter(plain, percentile, size, **options),
            ),
        ):
            assert result.dtype == array.dtype
            np.testing.assert_array_equal(result, expected.astype(dtype), err_msg=case)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32"])
def test_a_border_for_each_axis(random, dtype):
    array = make_array(random, (12, 17, 9), dtype)
    for _ in range(6):
        size, origin = draw(random, 3, 5)
        mode = tuple(str(name) for name in random.choice(MODES, 3))
        windows = np.sort(windows_of(array, size, mode, 7, origin), axis=-1)
        for rank in (0, windows.shape[-1] // 2, windows.shape[-1] - 1):
            result = median_filter(array, size, mode=mode, cval=7, origin=origin, rank=rank)
            np.testing.assert_array_equal(result, windows[..., rank], err_msg=f"{size} {origin} {mode} {rank}")


@pytest.mark.parametrize("mode", MODES)
def test_windows_larger_than_the_array(random, mode):
    array = make_array(random, (3, 5), "int16")
    for size in ((8, 3), (7, 12), (20, 20), (1, 33)):
        expected = ndimage.median_filter(array, size, mode=mode)
        np.testing.assert_array_equal(median_filter(array, size, mode=mode), expected, err_msg=str(size))


def test_second_names_of_modes(random):
    array = make_array(random, (20, 30), "uint8")
    for name, same in (("grid-mirror", "reflect"), ("grid-wrap", "wrap"), ("grid-constant", "constant")):
        np.testing.assert_array_equal(median_filter(array, 4, mode=name), median_filter(array, 4, mode=same))


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "float32", "float64"])
def test_the_mean_of_two(random, dtype):
    array = make_array(random, (20, 31), dtype)
    for size in ((2, 2), (4, 3), (1, 6)):
        windows = np.sort(windows_of(array, size), axis=-1)
        half = windows.shape[-1] // 2
        if array.dtype.kind == "f":
            low, high = windows[..., half - 1].astype("float64"), windows[..., half].astype("float64")
            expected = ((low + high) / 2).astype(dtype)
        else:
            sums = windows[..., half - 1].astype("int64") + windows[..., half]
            expected = (sums // 2).astype(dtype)
        result = median_filter(array, size, even_median="mean")
        if array.dtype.kind == "f":
            np.testing.assert_allclose(result, expected, rtol=1e-6)
        else:
            np.testing.assert_array_equal(result, expected)


def test_clipped_windows(random):
    array = make_array(random, (9, 8), "int16")
    for even_median, pick in (("upper", lambda values: values[len(values) // 2]), ("mean", None)):
        result = median_filter(array, (3, 5), mode="shrink", even_median=even_median)
        for y, x in np.ndindex(array.shape):
            values = np.sort(array[max(0, y - 1) : y + 2, max(0, x - 2) : x + 3], axis=None).astype("int64")
            middle = values[[(len(values) - 1) // 2, len(values) // 2]]
            assert result[y, x] == (pick(values) if pick else middle.sum() // 2), (y, x)


@pytest.mark.parametrize("components", [2, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float32", "float64"])
def test_colours_are_filtered_each_by_itself(random, components, dtype):
    for shape, axes in (((23, 17, components), (0, 1)), ((9, 8, 7, components), (0, 1, 2)), ((31, components), 0)):
        array = make_array(random, shape, dtype)
        result = median_filter(array, 3, axes=axes, mode="mirror")
        for index in range(components):
            expected = ndimage.median_filter(np.ascontiguousarray(array[..., index]), 3, mode="mirror")
            np.testing.assert_array_equal(result[..., index], expected)


def test_colours_in_any_order_of_memory(random):
    array = make_array(random, (23, 17, 3), "uint8")
    expected = median_filter(array, 3, axes=(0, 1))
    np.testing.assert_array_equal(median_filter(array[::-1, ::-1, ::-1], 3, axes=(0, 1))[::-1, ::-1, ::-1], expected)
    planes = np.ascontiguousarray(array.transpose(2, 0, 1))
    np.testing.assert_array_equal(median_filter(planes, 3, axes=(1, 2)).transpose(1, 2, 0), expected)


def test_a_window_along_four_axes(random):
    array = make_array(random, (5, 6, 7, 8), "int16")
    np.testing.assert_array_equal(median_filter(array, 3), ndimage.median_filter(array, 3, mode="nearest"))


@pytest.mark.parametrize("rank", [0, 3, 8, -1, -9])
def test_ranks_order_nan_last(random, rank):
    array = make_array(random, (20, 30), "float32")
    array[random.random(array.shape) < 0.2] = np.nan
    # np.sort has NaN last, too.
    expected = np.sort(windows_of(array, (3, 3)), axis=-1)[..., rank]
    np.testing.assert_array_equal(median_filter(array, 3, rank=rank), expected)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"rank": 1, "percentile": 50}, "either rank or percentile"),
        ({"rank": 1.0}, "rank is 1.0"),
        ({"rank": 1, "even_median": "mean"}, "even_median is for the median"),
        ({"percentile": "half"}, "percentile is 'half'"),
        ({"mode": "constant", "cval": "0"}, "cval is '0'"),
        ({"origin": 0.5}, "origin is 0.5"),
    ],
)
def test_what_has_no_meaning_is_named(arguments, text):
    output = np.full((5, 6), 7.0)
    with pytest.raises(TypeError, match=text):
        median_filter(np.zeros((5, 6)), 3, output=output, **arguments)
    assert (output == 7).all()


@pytest.mark.parametrize("mode", [*MODES, "shrink", ("wrap", "mirror")])
def test_dask_equals_the_array_in_one_piece(random, mode):
    array_of_dask = pytest.importorskip("dask.array")
    array = make_array(random, (30, 41), "int16")
    for chunks in (7, (30, 10), (4, 41)):
        options = {"mode": mode, "cval": 3}
        for size, origin in ((3, 0), ((4, 6), (1, -2)), ((5, 2), 0)):
            lazy = median_filter(array_of_dask.from_array(array, chunks=chunks), size, origin=origin, **options)
            expected = median_filter(array, size, origin=origin, **options)
            np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected, err_msg=f"{chunks} {size}")
