# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Footprints with weights, masks, ignored values, NaN and outliers: each window's own values say what is right."""

import numpy as np
import pytest
from scipy import ndimage

from conftest import make_array
from cudamedian import RequestError, median_filter

TYPES = ("bool", "uint8", "int16", "uint16", "int32", "int64", "float16", "float32", "float64")
MODES = ("nearest", "reflect", "mirror", "wrap", "constant")
SHAPES = (((40,), (0,)), ((9, 12), (0, 1)), ((8, 9, 3), (0, 1)), ((4, 5, 6), (0, 1, 2)), ((2, 3, 2, 5, 6), (3, 4)))


def make_pixels(random, shape, dtype):
    """Return few different pixels, so that distances are exact in every type."""
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    return random.integers(0, 40, shape).astype(dtype)


def find_place(index, extent, mode):
    """Return the pixel that a border shows at an index, or None beyond a constant one."""
    if 0 <= index < extent:
        return index
    if mode == "constant":
        return None
    if mode == "nearest":
        return min(max(index, 0), extent - 1)
    if mode == "wrap":
        return index % extent
    period = 2 * extent if mode == "reflect" else max(1, 2 * extent - 2)
    index %= period
    return index if index < extent else (period - 1 if mode == "reflect" else period) - index


def see_window(array, valid, place, axes, weights, mode, cval):
    """Return the valid values of the window around a place, sorted, NaN last."""
    values = []
    for offset in np.argwhere(weights):
        seen = list(place)
        for axis, step, size in zip(axes, offset, weights.shape, strict=True):
            seen[axis] = find_place(place[axis] + int(step) - size // 2, array.shape[axis], mode)
        weight = int(weights[tuple(offset)])
        if None in seen:
            values += [array.dtype.type(cval)] * weight
        elif valid[tuple(seen)]:
            values += [array[tuple(seen)]] * weight
    return np.sort(np.array(values, array.dtype))


def find_middle(values, even_median):
    """Return the median of sorted values."""
    upper, lower = values[len(values) // 2], values[(len(values) - 1) // 2]
    if even_median == "mean":
        return (int(lower) + int(upper)) // 2 if values.dtype.kind in "iub" else (float(lower) + float(upper)) / 2
    return upper if even_median == "upper" else lower


def is_inlier(pixel, median, values, outliers):
    """Whether a pixel stays as it is."""
    if outliers is None or np.isnan(pixel):
        return False
    if np.isnan(median):
        return True
    if isinstance(outliers, str):
        distances = np.sort(np.abs(values.astype("float64") - float(median)))
        limit = float(outliers.removesuffix("mad")) * distances[len(distances) // 2]
    else:
        limit = outliers
    return abs(float(pixel) - float(median)) <= limit


def filter_slowly(array, valid, axes, weights, options):
    """Return what the filter has to return, pixel by pixel."""
    mode, cval = options.get("mode", "nearest"), options.get("cval", 0)
    result = np.empty_like(array)
    for place in np.ndindex(*array.shape):
        values = see_window(array, valid, place, axes, weights, mode, cval)
        empty, invalid = options.get("empty", "input"), options.get("invalid", "computed")
        if not valid[place] and invalid != "computed":
            result[place] = array[place] if invalid == "copied" else invalid
        elif len(values) == 0:
            result[place] = array[place] if empty == "input" else empty
        else:
            median = find_middle(values, options.get("even_median", "upper"))
            stays = valid[place] and is_inlier(array[place], median, values, options.get("outliers"))
            result[place] = array[place] if stays else median
    return result


def draw_case(random, dtype, mode):
    """Return an array, which pixels are valid, axes, weights and options."""
    shape, axes = SHAPES[int(random.integers(len(SHAPES)))]
    array = make_pixels(random, shape, dtype)
    options = {"mode": mode, "cval": int(random.integers(0, 2)), "axes": axes}
    size = tuple(int(value) for value in random.integers(1, 5, len(axes)))
    weights = np.ones(size, int)
    kind = str(random.choice(["size", "footprint", "weights"]))
    if kind != "size":
        weights = random.integers(0, 2 if kind == "footprint" else 4, size)
        weights.flat[int(random.integers(weights.size))] = 1
    options[kind] = size if kind == "size" else weights
    valid = np.ones(shape, bool)
    if random.random() < 0.6:
        of_pixels = shape[:-1] if len(axes) < len(shape) and random.random() < 0.5 else shape
        mask = (random.random(of_pixels) < random.choice([0.1, 0.6, 0.95])).astype(
            random.choice(["bool", "uint8", "int32"])
        )
        options["mask"] = mask * 3 if mask.dtype == "int32" else mask
        valid &= (mask if mask.shape == shape else mask[..., None]) != 0
    if random.random() < 0.4:
        options["ignore"] = int(array.flat[0])
        valid &= array != array.flat[0]
    if array.dtype.kind == "f" and random.random() < 0.5:
        array[random.random(shape) < 0.3] = np.nan
        options["nan"] = "omit"
        valid &= ~np.isnan(array)
    for name, choices in (("empty", ["input", 1]), ("invalid", ["computed", "copied", 1])):
        if random.random() < 0.7:
            options[name] = choices[int(random.integers(len(choices)))]
    if random.random() < 0.4 and dtype != "bool":
        options["outliers"] = [3, 7.5, "1mad", "2.5 mad"][int(random.integers(4))]
    elif dtype != "float16":
        options["even_median"] = str(random.choice(["upper", "lower", "mean"]))
    return array, valid, axes, weights, options


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", TYPES)
def test_rules_equal_the_windows_own_values(random, dtype, mode):
    for number in range(8):
        array, valid, axes, weights, options = draw_case(random, dtype, mode)
        if options["mode"] == "constant" and options.get("ignore") == options["cval"]:
            options["cval"] = 1 - options["cval"]
        if options.get("ignore") == options["cval"]:
            del options["ignore"]
            valid = np.ones(array.shape, bool)
            if "mask" in options:
                mask = options["mask"]
                valid &= (mask if mask.shape == array.shape else mask[..., None]) != 0
            if "nan" in options:
                valid &= ~np.isnan(array)
        before = array.copy()
        result = median_filter(array, **options)
        expected = filter_slowly(array, valid, axes, weights, options)
        assert result.dtype == array.dtype
        np.testing.assert_array_equal(result, expected, err_msg=f"{number}: {array.shape} {options}")
        np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize("mode", [*MODES, "shrink"])
def test_footprints_equal_scipy(random, mode):
    array = make_array(random, (23, 31), "int16")
    for size in ((3, 3), (4, 6), (1, 7), (7, 7)):
        footprint = random.random(size) < 0.6
        footprint.flat[0] = True
        for origin in (0, (-(size[0] // 2), (size[1] - 1) // 2)):
            if mode == "shrink":
                continue
            result = median_filter(array, footprint=footprint, mode=mode, origin=origin)
            expected = ndimage.median_filter(array, footprint=footprint, mode=mode, origin=origin)
            np.testing.assert_array_equal(result, expected, err_msg=f"{size} {origin}")
    clipped = median_filter(array, footprint=np.ones((3, 5)), mode="shrink")
    np.testing.assert_array_equal(clipped, median_filter(array, (3, 5), mode="shrink"))


def test_nan_is_omitted_as_nanmedian_does(random):
    array = random.normal(size=(20, 30))
    array[random.random(array.shape) < 0.4] = np.nan
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(array, 1, "edge"), (3, 3)).reshape(20, 30, 9)
    expected = np.nanmedian(windows, axis=-1)
    np.testing.assert_allclose(median_filter(array, 3, nan="omit", even_median="mean", empty=0.0), expected, rtol=1e-15)


def test_masks_of_every_kind(random):
    array = make_array(random, (9, 8, 3), "uint8")
    mask = random.random((9, 8)) < 0.7
    expected = median_filter(array, 3, axes=(0, 1), mask=np.repeat(mask[..., None], 3, axis=2))
    for given in (mask, mask.astype("int64") << 40, np.asfortranarray(mask), mask.tolist(), mask[..., None]):
        np.testing.assert_array_equal(median_filter(array, 3, axes=(0, 1), mask=given), expected)
    awkward = np.repeat(array, 2, axis=1)[::-1, ::2][::-1]
    np.testing.assert_array_equal(median_filter(awkward, 3, axes=(0, 1), mask=mask), expected)
    output = array.copy()
    median_filter(output, 3, axes=(0, 1), mask=mask, output=output)
    np.testing.assert_array_equal(output, expected)
    row = random.random(3) < 0.5
    repeated = np.broadcast_to(row, array.shape)
    np.testing.assert_array_equal(median_filter(array, 3, mask=row), median_filter(array, 3, mask=repeated))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"size": 3, "footprint": np.ones((3, 3))}, TypeError, "neither size nor radius"),
        ({"footprint": np.ones(3)}, ValueError, "footprint has 1 axes"),
        ({"footprint": np.zeros((3, 3))}, ValueError, "footprint has 0 pixels"),
        ({"weights": np.ones((3, 3))}, TypeError, "weights has type float64"),
        ({"weights": [[-1, 1]]}, ValueError, "weights has -1"),
        ({"weights": [[2**30, 1]]}, ValueError, "add up to no more"),
        ({"weights": [[1, 1]], "footprint": [[1]]}, ValueError, "footprint has shape"),
        ({"size": 3, "mask": np.ones((5, 6), bool)}, ValueError, "mask has shape"),
        ({"size": 3, "mask": np.ones((6, 7))}, TypeError, "mask has type float64"),
        ({"size": 3, "ignore": 300}, ValueError, "ignore is 300"),
        ({"size": 3, "ignore": "a"}, TypeError, "ignore is 'a'"),
        ({"size": 3, "ignore": np.nan}, ValueError, "nan='omit'"),
        ({"size": 3, "nan": "drop"}, ValueError, "nan is 'drop'"),
        ({"size": 3, "empty": "zero"}, ValueError, "empty is 'zero'"),
        ({"size": 3, "ignore": 1, "empty": 0.5}, ValueError, "empty is 0.5"),
        ({"size": 3, "empty": 300}, ValueError, "empty is 300"),
        ({"size": 3, "invalid": "zero"}, ValueError, "invalid is 'zero'"),
        ({"size": 3, "invalid": None}, TypeError, "leave them out"),
        ({"size": 3, "outliers": "three"}, ValueError, "outliers is 'three'"),
        ({"size": 3, "outliers": -1}, ValueError, "outliers is -1"),
        ({"size": 3, "outliers": True}, TypeError, "outliers is True"),
        ({"size": 3, "ignore": 1, "rank": 2}, RequestError, "not valid have a median"),
        ({"size": 3, "outliers": 1, "rank": 2}, RequestError, "outliers are told"),
        ({"size": 3, "rank": 2, "even_median": "lower"}, TypeError, "even_median is for the median"),
    ],
)
def test_what_has_no_meaning_is_named(options, error, text):
    output = np.full((6, 7), 9, "uint8")
    with pytest.raises(error, match=text):
        median_filter(np.zeros((6, 7), "uint8"), output=output, **options)
    assert (output == 9).all()


def test_clipped_windows_without_a_pixel_are_empty():
    array = np.array([5, 1, 4], "uint8")
    for empty, expected in ((7, [7, 5, 1]), ("input", [5, 5, 1])):
        result = median_filter(array, footprint=[1, 0, 0], mode="shrink", empty=empty)
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", ["nearest", "wrap", "mirror"])
def test_dask_equals_the_array_in_one_piece(random, mode):
    array_of_dask = pytest.importorskip("dask.array")
    array = make_pixels(random, (30, 41), "float32")
    array[random.random(array.shape) < 0.1] = np.nan
    mask = random.random(array.shape) < 0.6
    cross = np.array([[0, 1, 0], [1, 3, 1], [0, 1, 0]])
    cases = (
        {"size": 5, "mask": mask, "empty": -1},
        {"weights": cross, "ignore": 3, "invalid": "copied", "nan": "omit"},
        {"size": (3, 4), "outliers": "2mad", "mask": array_of_dask.from_array(mask, chunks=9)},
        {"footprint": np.eye(4), "origin": (1, -1), "even_median": "lower"},
    )
    for chunks in (7, (30, 10)):
        for options in cases:
            lazy = median_filter(array_of_dask.from_array(array, chunks=chunks), mode=mode, **options)
            expected = median_filter(array, mode=mode, **{**options, **({"mask": mask} if "mask" in options else {})})
            np.testing.assert_array_equal(lazy.compute(scheduler="threads"), expected, err_msg=f"{chunks} {options}")


class FakeArray:
    """What says that it lies in device memory."""

    def __init__(self, shape, typestr="<i2"):
        """Describe 16-bit pixels, or others."""
        self.shape = shape
        self.ndim = len(shape)
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (4096, False), "version": 3}


def test_masks_of_device_arrays_are_checked():
    array = FakeArray((4, 5))
    for error, mask, text in (
        (TypeError, np.ones((4, 5), bool), "an array there, too"),
        (TypeError, FakeArray((4, 5), "<f4"), "mask has type float32"),
        (ValueError, FakeArray((5, 4), "|b1"), "mask has shape"),
    ):
        with pytest.raises(error, match=text):
            median_filter(array, 3, mask=mask, output=FakeArray((4, 5)))
    with pytest.raises(ValueError, match="stream takes a mask of the array's shape"):
        median_filter(array, 3, mask=FakeArray((1, 5), "|b1"), output=FakeArray((4, 5)), stream=7)
