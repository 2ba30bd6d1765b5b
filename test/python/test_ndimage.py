# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cudamedian.ndimage: scipy.ndimage's results and errors, without a difference."""

import doctest
import itertools
import warnings

import numpy as np
import pytest
import scipy.ndimage

import cudamedian
from conftest import make_array
from cudamedian import ndimage

TYPES = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
MODES = ("reflect", "nearest", "mirror", "wrap", "constant", "grid-mirror", "grid-wrap", "grid-constant")
SHAPES = ((60,), (23, 31), (9, 11, 12), (5, 6, 7, 4), (3, 4, 2, 5, 3), (2, 3, 2, 3, 2, 3))
NAMES = ndimage.__all__


def make_exact_array(random, shape, dtype):
    """Return random pixels that a double, which scipy computes with, holds exactly."""
    array = make_array(random, shape, dtype)
    return array >> 12 << 11 if array.dtype.itemsize == 8 and array.dtype.kind in "iu" else array


def apply(module, name, array, wanted, **options):
    """Call a function of scipy's names; `wanted` is a rank or a percentile where it takes one."""
    first = {"rank_filter": ("rank",), "percentile_filter": ("percentile",)}.get(name, ())
    return getattr(module, name)(array, *(wanted[key] for key in first), **options)


def of_scipy(name, array, wanted, **options):
    """Return scipy's result. Arrays of one axis have a fast way of their own there, which an axis more goes around."""
    if array.ndim > 1:
        return apply(scipy.ndimage, name, array, wanted, **options)
    if "footprint" in options:
        options["footprint"] = options["footprint"][np.newaxis]
        options["axes"] = None
    else:
        options["axes"] = (1,)
    if "footprint" in options:
        options["origin"] = (0, *np.atleast_1d(options["origin"]))
    output = options.get("output")
    if isinstance(output, np.ndarray):
        options["output"] = output[np.newaxis]
    return apply(scipy.ndimage, name, array[np.newaxis], wanted, **options)[0]


def draw_axes(random, ndim):
    """Return axes in any order, at most four, and whether to name them."""
    count = int(random.integers(1, min(4, ndim) + 1))
    axes = tuple(int(axis) for axis in random.permutation(ndim)[:count])
    axes = tuple(axis - ndim if random.random() < 0.3 else axis for axis in axes)
    return None if ndim <= 4 and random.random() < 0.3 else axes


def draw_window(random, count, most):
    """Return sizes, origins, and a footprint or None."""
    size = tuple(int(value) for value in random.integers(1, most + 1, count))
    origin = tuple(int(random.integers(-(value // 2), (value - 1) // 2 + 1)) for value in size)
    if random.random() < 0.5:
        return size, origin, None
    mask = random.random(size) < random.choice([0.3, 0.7, 1.0])
    mask.flat[int(random.integers(mask.size))] = True
    if random.random() < 0.2:
        mask = np.pad(np.ones([max(1, value - 2) for value in size], bool), [(0, 1)] * count)
        size = mask.shape
        origin = (0,) * count
    return size, origin, mask


def draw_call(random, dtype, mode):
    """Return a function's name, an array, a rank and a percentile, and options, which scipy takes."""
    shape = SHAPES[int(random.integers(len(SHAPES)))]
    array = make_exact_array(random, shape, dtype)
    axes = draw_axes(random, array.ndim)
    count = array.ndim if axes is None else len(axes)
    size, origin, mask = draw_window(random, count, {1: 12, 2: 6, 3: 4}.get(count, 3))
    name = str(random.choice(NAMES))
    if name in ("minimum_filter", "maximum_filter"):
        # These follow the order of axes, and so may their modes.
        if mask is None and random.random() < 0.5:
            mode = [str(value) for value in random.choice(MODES, count)]
    elif len(set(size)) > 1 or len(set(origin)) > 1:
        # Others have the axes of a window in the array's order, but its origins in that of `axes`.
        axes = axes and tuple(sorted(axes, key=lambda axis: axis % array.ndim))
    if mask is not None and axes is not None:
        axes = tuple(sorted(axes, key=lambda axis: axis % array.ndim))
    pixels = int(np.prod(size) if mask is None else mask.sum())
    wanted = {
        "rank": int(random.integers(-pixels, pixels)),
        "percentile": float(random.choice([0, 12.5, 33.3, 50, 77, 100, -20])),
    }
    cval = array.flat[int(random.integers(array.size))].item()
    options = {"mode": mode, "cval": float(cval), "origin": origin, "axes": axes}
    options.update({"size": size} if mask is None else {"footprint": mask})
    return name, array, wanted, options


@pytest.mark.parametrize(("dtype", "mode"), list(itertools.product(TYPES, MODES)))
def test_equals_scipy(random, dtype, mode):
    for number in range(40):
        name, array, wanted, options = draw_call(random, dtype, mode)
        case = f"{number}: {name} {array.shape} {wanted} {options}"
        expected = of_scipy(name, array, wanted, **options)
        # The second call takes the request of the first; the third has other pixels.
        for _ in range(2):
            result = apply(ndimage, name, array, wanted, **options)
            assert result.dtype == expected.dtype, case
            np.testing.assert_array_equal(result, expected, err_msg=case)
        other = array[(slice(None, None, -1),) * array.ndim]
        expected = of_scipy(name, other, wanted, **options)
        output = np.empty(other.shape, other.dtype)
        result = apply(ndimage, name, np.ascontiguousarray(other), wanted, output=output, **options)
        np.testing.assert_array_equal(result, expected, err_msg=case)
        assert result is output


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("axes", [(2, 0), (0, -1), (1, 0, 2), (2, 1)])
def test_axes_in_another_order_mean_what_they_mean_in_scipy(random, name, axes):
    array = make_array(random, (9, 8, 7), "int16")
    for sizes in ((3, 5, 4), (1, 4, 2), (5, 5, 5)):
        size = sizes[: len(axes)]
        origin = (-1, 0, 0)[: len(axes)] if min(size) > 2 else 0
        wanted = {"rank": 1, "percentile": 30}
        result = apply(ndimage, name, array, wanted, size=size, axes=axes, origin=origin)
        expected = apply(scipy.ndimage, name, array, wanted, size=size, axes=axes, origin=origin)
        np.testing.assert_array_equal(result, expected, err_msg=f"{size} {origin}")


@pytest.mark.parametrize("name", NAMES)
def test_outputs(random, name):
    array = make_array(random, (17, 19), "int16") % 100
    wanted = {"rank": 4, "percentile": 60}
    for output in (
        None,
        "uint8",
        "float32",
        np.int64,
        np.dtype(">i4"),
        bool,
        "complex64",
        "bool",
        "U1",
        5,
        np.zeros(3),
    ):
        for options in ({"size": 3}, {"footprint": np.eye(3)}):
            results = []
            for module in (scipy.ndimage, ndimage):
                try:
                    results.append(apply(module, name, array, wanted, output=output, **options))
                except (RuntimeError, TypeError, ValueError) as error:
                    results.append(type(error))
            expected, result = results
            if isinstance(expected, type):
                assert result is expected, f"{output!r}"
            else:
                assert result.dtype == expected.dtype
                np.testing.assert_array_equal(result, expected != 0 if output is bool else expected)
    for output in (np.zeros((17, 19)), np.zeros((19, 17), "int16").T, np.zeros((34, 19), ">i2")[::-2], array.copy()):
        source = output if output.dtype == array.dtype and output.flags.c_contiguous else array
        expected = apply(scipy.ndimage, name, source.copy(), wanted, size=3)
        assert apply(ndimage, name, source, wanted, size=3, output=output) is output
        np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize(
    ("dtype", "cval"), [("uint8", 0.5), ("int16", 40000), ("uint8", 100.25), ("float32", 0.1), ("int32", -1e12)]
)
@pytest.mark.parametrize("output", [None, "float64"])
def test_values_beyond_the_border_that_the_type_does_not_hold(random, dtype, cval, output):
    array = make_array(random, (9, 11), dtype)
    limits = np.iinfo(dtype) if array.dtype.kind in "iu" else np.finfo(dtype)
    is_beyond = not limits.min <= cval <= limits.max
    for name, size, footprint in itertools.product(NAMES, (3, 4), (None, np.eye(3))):
        wanted = {"rank": 2, "percentile": 40}
        options = {"mode": "constant", "cval": cval, "output": output}
        options.update({"size": size} if footprint is None else {"footprint": footprint})
        if is_beyond and (footprint is not None or name not in ("minimum_filter", "maximum_filter")):
            with pytest.raises(NotImplementedError, match="cval is"):
                apply(ndimage, name, array, wanted, **options)
            continue
        result = apply(ndimage, name, array, wanted, **options)
        expected = apply(scipy.ndimage, name, array, wanted, **options)
        # What the output's type does not hold has no meaning in scipy either.
        kept = slice(2, -2) if is_beyond and output is None else slice(None)
        np.testing.assert_array_equal(result[kept, kept], expected[kept, kept], err_msg=f"{name} {size} {footprint}")


CALLS = {
    "mode": ["bad", None, 3, ["reflect", "wrap"], ["reflect"], ["reflect", "bad"]],
    "size": [0, -1, (3, 3, 3), 3.0, 2.5, "3", (3,), None, True, (0, 3), (1, 1)],
    "origin": [2, -2, 0.0, 0.5, (0, 0, 0), "a", (1, -1)],
    "axes": [(0,), (0, 0), (0, -2), 5, (5,), 0.5, "a", (0, 1, 2), (), -3],
    "footprint": [[], [[0]], np.ones(3), np.ones((3, 3, 3)), np.ones((0, 3)), [[2, 0, -1]], [[1, 1], [1, 1]]],
    "cval": [1j, "1", None],
    "rank": [9, -10, 0.5, "a", None, True],
    "percentile": [101, -101, "a", None, np.nan, 1j],
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("argument", "value"), [(key, value) for key, values in CALLS.items() for value in values])
@pytest.mark.parametrize("footprint", [None, [[1, 0, 1], [0, 1, 0], [1, 0, 1]]])
def test_mistakes_are_those_of_scipy(name, argument, value, footprint):
    array = np.arange(12, dtype="uint8").reshape(3, 4)
    wanted = {"rank": 3, "percentile": 30}
    options = {"size": 3} if footprint is None else {"footprint": footprint}
    if argument in wanted:
        wanted[argument] = value
    else:
        options[argument] = value
    results = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in (scipy.ndimage, ndimage):
            try:
                results.append(apply(module, name, array, wanted, **options))
            except Exception as error:  # noqa: BLE001
                results.append(error)
    expected, result = results
    if argument == "axes" and np.isscalar(value) and isinstance(expected, RuntimeError):
        # An axis that there is not, and a footprint of too many axes: scipy names the second.
        assert isinstance(result, IndexError)
    elif isinstance(expected, Exception):
        assert isinstance(result, type(expected)), repr(result)
        if not isinstance(expected, (TypeError, IndexError)):
            assert str(result) == str(expected)
    else:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("dtype", ["O", "U1", "S3", "longdouble", "complex64", "datetime64[s]"])
@pytest.mark.parametrize("name", NAMES)
def test_types_that_have_no_ranks(name, dtype):
    array = np.zeros((3, 4), "int8").astype(dtype)
    wanted = {"rank": 3, "percentile": 30}
    with pytest.raises((RuntimeError, TypeError)) as expected:
        apply(scipy.ndimage, name, array, wanted, size=3)
    with pytest.raises(expected.type):
        apply(ndimage, name, array, wanted, size=3)


def test_a_size_beside_a_footprint_is_ignored():
    with pytest.warns(UserWarning, match="ignoring size because footprint is set") as caught:
        ndimage.median_filter(np.eye(4), 3, np.eye(3))
    assert caught[0].filename == __file__


def test_what_scipy_lacks_or_loses(random):
    array = random.integers(-(2**62), 2**62, (20, 30))
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(array, 1, "symmetric"), (3, 3)).reshape(20, 30, 9)
    np.testing.assert_array_equal(ndimage.median_filter(array, 3), np.sort(windows, axis=-1)[..., 4])
    half = make_array(random, (20, 30), "float16")
    expected = scipy.ndimage.rank_filter(half.astype("float32"), 2, footprint=np.eye(3)).astype("float16")
    np.testing.assert_array_equal(ndimage.rank_filter(half, 2, footprint=np.eye(3)), expected)


def test_windows_along_more_than_four_axes(random):
    array = make_array(random, (3, 4, 3, 4, 3, 4), "int16")
    for name in ("minimum_filter", "maximum_filter"):
        for axes in ((0, 1, 2, 3, 4), None):
            options = {"size": 2, "axes": axes, "mode": "mirror"}
            expected = apply(scipy.ndimage, name, array, {}, **options)
            np.testing.assert_array_equal(apply(ndimage, name, array, {}, **options), expected)
    with pytest.raises(NotImplementedError, match="size spans 5 axes"):
        ndimage.median_filter(array, 3, axes=(0, 1, 2, 3, 4))
    with pytest.raises(NotImplementedError, match="footprint spans 6 axes"):
        ndimage.median_filter(array, footprint=random.random((3,) * 6) < 0.5)


def test_values_beyond_the_border_that_are_refused(random):
    array = make_array(random, (9, 8), "int64")
    with pytest.raises(NotImplementedError, match="cval is 0.5"):
        ndimage.minimum_filter(array, 3, mode="constant", cval=0.5)
    for cval in (1e30, np.inf, np.nan):
        with pytest.raises(NotImplementedError, match="cval is"):
            ndimage.median_filter(array, 3, mode="constant", cval=cval)
    with pytest.raises(NotImplementedError, match="cval is 2"):
        ndimage.median_filter(array > 0, 3, mode="constant", cval=2)


def test_scipy_is_replaced_in_a_block_and_restored():
    before = {name: getattr(scipy.ndimage, name) for name in NAMES}
    with pytest.raises(KeyError), cudamedian.use():
        assert all(getattr(scipy.ndimage, name) is getattr(ndimage, name) for name in NAMES)
        with cudamedian.use():
            pass
        assert scipy.ndimage.median_filter is ndimage.median_filter
        raise KeyError
    assert all(getattr(scipy.ndimage, name) is function for name, function in before.items())


def test_requests_that_are_kept_are_those_of_equal_arguments(random):
    array = make_array(random, (20, 30), "int16")
    cross = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
    for _ in range(3):
        expected = scipy.ndimage.median_filter(array, 3)
        np.testing.assert_array_equal(ndimage.median_filter(array, 3), expected)
        np.testing.assert_array_equal(ndimage.median_filter(array.T, 3), expected.T)
        np.testing.assert_array_equal(ndimage.median_filter(array[::2], 3), scipy.ndimage.median_filter(array[::2], 3))
        same = array.copy()
        assert ndimage.median_filter(same, 3, output=same) is same
        np.testing.assert_array_equal(same, expected)
        expected = scipy.ndimage.median_filter(array, footprint=cross)
        np.testing.assert_array_equal(ndimage.median_filter(array, footprint=cross), expected)
        cross[0, 0] ^= 1
        with pytest.raises(TypeError):
            ndimage.median_filter(array, 3.0)
        with pytest.raises(ValueError, match="read-only"):
            ndimage.median_filter(array, 3, output=np.broadcast_to(array[:1, :1], array.shape))
    for cval in (5, 5.0, 7):
        result = ndimage.median_filter(array, 3, mode="constant", cval=cval)
        np.testing.assert_array_equal(result, scipy.ndimage.median_filter(array, 3, mode="constant", cval=cval))


def test_many_requests_are_kept_for_a_while(random):
    array = make_array(random, (5, 6), "uint8")
    for rank, size in itertools.product(range(16), range(4, 24)):
        expected = scipy.ndimage.rank_filter(array, rank, (4, size))
        np.testing.assert_array_equal(ndimage.rank_filter(array, rank, (4, size)), expected)


def test_examples_of_the_documentation():
    assert doctest.testmod(ndimage).attempted > 0
    assert doctest.testmod(ndimage).failed == 0
