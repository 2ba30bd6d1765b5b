# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Arrays in host memory that are awkward to read from or to write to: right, or refused before anything is written."""

import mmap

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from conftest import make_array
from cudamedian import median_filter

SHAPE = (20, 30)


def read_only_arrays(path):
    """Return arrays that nobody may write to: each is a crash, or a changed constant, when somebody does."""
    constant = bytes(range(200)) * 3
    np.arange(600, dtype="uint8").tofile(path / "read_only")
    closed = np.zeros(SHAPE, "uint8")
    closed.flags.writeable = False
    with open(path / "read_only", "rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    return {
        "memmap": np.memmap(path / "read_only", "uint8", "r", shape=SHAPE),
        "bytes": np.frombuffer(constant, "uint8").reshape(SHAPE),
        "mmap": np.frombuffer(mapped, "uint8").reshape(SHAPE),
        "flag": closed,
        "view": closed[::-1],
        "broadcast": np.broadcast_to(np.uint8(3), SHAPE),
        "float": np.broadcast_to(np.float32(3), SHAPE),
    }


@pytest.mark.parametrize("kind", ["memmap", "bytes", "mmap", "flag", "view", "broadcast", "float"])
def test_outputs_that_are_read_only(random, tmp_path, kind):
    output = read_only_arrays(tmp_path)[kind]
    before = output.copy()
    with pytest.raises(ValueError, match="output is read-only"):
        median_filter(make_array(random, SHAPE, "uint8"), 3, output=output)
    np.testing.assert_array_equal(output, before)


def test_inputs_that_are_read_only(random, tmp_path):
    for kind, array in read_only_arrays(tmp_path).items():
        np.testing.assert_array_equal(median_filter(array, 3), median_filter(array.copy(), 3), err_msg=kind)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
@pytest.mark.parametrize("offset", [0, 1, 2, 29, 30, 31, 299, 599, 600])
@pytest.mark.parametrize("first", ["input", "output"])
def test_outputs_that_overlap_the_input(random, dtype, offset, first):
    memory = make_array(random, (1200,), dtype)
    low, high = memory[:600].reshape(SHAPE), memory[offset : offset + 600].reshape(SHAPE)
    array, output = (low, high) if first == "input" else (high, low)
    expected = median_filter(array.copy(), 5)
    assert median_filter(array, 5, output=output, threads=2) is output
    np.testing.assert_array_equal(output, expected)


def test_outputs_that_are_another_view_of_the_input(random):
    for view in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1]):
        array = make_array(random, SHAPE, "int16")
        expected = median_filter(array.copy(), 3)
        median_filter(array, 3, output=array[view])
        np.testing.assert_array_equal(array[view], expected)
    array = make_array(random, (25, 25), "int16")
    expected = median_filter(array.copy(), 3)
    median_filter(array, 3, output=array.T)
    np.testing.assert_array_equal(array.T, expected)
    array = make_array(random, SHAPE, "int16")
    expected = median_filter(array.copy(), 3)
    median_filter(array, 3, output=array.view(">i2"))
    np.testing.assert_array_equal(array.view(">i2"), expected)


def test_outputs_that_map_the_file_of_the_input(random, tmp_path):
    array = make_array(random, SHAPE, "uint16")
    expected = median_filter(array, 5)
    array.tofile(tmp_path / "image")
    (tmp_path / "link").symlink_to("image")
    source = np.memmap(tmp_path / "image", "uint16", "r", shape=SHAPE)
    output = np.memmap(tmp_path / "link", "uint16", "r+", shape=SHAPE)
    assert not np.may_share_memory(source, output)
    # Rows of the file that were written already would be read as if they were the input's.
    median_filter(source[:], 5, output=output[:], threads=1)
    np.testing.assert_array_equal(output, expected)
    np.testing.assert_array_equal(np.fromfile(tmp_path / "image", "uint16").reshape(SHAPE), expected)


def misaligned(shape, dtype):
    """Return an array that does not start at a multiple of its pixels' size."""
    dtype = np.dtype(dtype)
    memory = np.zeros(np.prod(shape) * dtype.itemsize + 1, "uint8")
    array = memory[1:].view(dtype).reshape(shape)
    assert not array.flags.aligned
    return array


def of_a_structure(shape, dtype):
    """Return one field of an array of packed structures: neither aligned nor contiguous."""
    array = np.zeros(shape, [("flag", "u1"), ("value", dtype), ("rest", "u2")])["value"]
    assert not array.flags.aligned
    return array


AWKWARD = {
    "misaligned": misaligned,
    "structure": of_a_structure,
    "negative": lambda shape, dtype: np.zeros(shape, dtype)[::-1, ::-1],
    "steps": lambda shape, dtype: np.zeros((shape[0] * 2, shape[1] * 3), dtype)[::2, ::3],
    "transposed": lambda shape, dtype: np.zeros(shape[::-1], dtype).T,
    "fortran": lambda shape, dtype: np.zeros(shape, dtype, order="F"),
    "swapped": lambda shape, dtype: np.zeros(shape, np.dtype(dtype).newbyteorder()),
    "swapped misaligned": lambda shape, dtype: misaligned(shape, np.dtype(dtype).newbyteorder()),
    "record": lambda shape, dtype: np.zeros(shape, [("v", dtype)]).view(np.recarray).v,
}


@pytest.mark.parametrize("dtype", ["uint16", "int32", "float32", "float64", "uint64"])
@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_inputs_and_outputs(random, dtype, kind):
    array = make_array(random, SHAPE, dtype)
    expected = median_filter(array, 3)
    source = AWKWARD[kind](SHAPE, dtype)
    source[...] = array
    result = median_filter(source, 3)
    np.testing.assert_array_equal(result, expected)
    assert result.dtype == source.dtype
    output = AWKWARD[kind](SHAPE, dtype)
    assert median_filter(source, 3, output=output) is output
    np.testing.assert_array_equal(output, expected)
    np.testing.assert_array_equal(source, array)


@pytest.mark.parametrize("dtype", ["?", "u1", "i2", ">i2", "f2", "f4", ">f8", "c8", "longdouble", "longlong"])
def test_output_types_are_those_of_astype(random, dtype):
    array = random.integers(0, 2, SHAPE).astype("int16") if dtype == "?" else random.integers(0, 200, SHAPE, "int16")
    expected = median_filter(array, 3).astype(dtype)
    output = np.zeros(SHAPE, dtype)
    median_filter(array, 3, output=output)
    for result in (output, median_filter(array, 3, output=dtype), median_filter(array, 3, output=np.dtype(dtype))):
        assert result.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(result, expected)
    assert median_filter(array, 3, output=float).dtype == np.float64


class LikeAnArray:
    """What has a type and a shape, as arrays of other libraries, and is no NumPy array."""

    def __init__(self):
        """Pretend."""
        self.dtype = np.dtype("uint8")
        self.shape = SHAPE


@pytest.mark.parametrize(
    ("output", "error", "text"),
    [
        (np.zeros((20, 31), "uint8"), ValueError, r"output has shape \(20, 31\), but the input has \(20, 30\)"),
        (np.zeros((20, 30, 1), "uint8"), ValueError, "output has shape"),
        (np.zeros(SHAPE, object), TypeError, "output has type object"),
        (np.zeros(SHAPE, "U2"), TypeError, "output has type <U2"),
        (np.zeros(SHAPE, "M8[s]"), TypeError, "output has type datetime64"),
        (np.zeros(SHAPE, [("a", "u1"), ("b", "f4")]), TypeError, "output has type"),
        (np.ma.zeros(SHAPE, "uint8"), TypeError, "masked"),
        (as_strided(np.zeros(30, "uint8"), SHAPE, (0, 1)), ValueError, "same memory"),
        (as_strided(np.zeros(60, "uint8"), SHAPE, (1, 1)), ValueError, "same memory"),
        (as_strided(np.zeros(200, "uint16"), SHAPE, (6, 1)), ValueError, "same memory"),
        ("object", TypeError, "output has type object"),
        ("nothing", TypeError, "nothing"),
        ([[0] * 30] * 20, TypeError, "neither a NumPy array"),
        (3, TypeError, "neither a NumPy array"),
        (LikeAnArray(), TypeError, "neither a NumPy array"),
        (np.uint8(3), TypeError, "neither a NumPy array"),
        (bytearray(600), TypeError, "neither a NumPy array"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, (np.ndarray, list, LikeAnArray)) else None,
)
def test_wrong_outputs_are_named(random, output, error, text):
    before = output.copy() if isinstance(output, np.ndarray) else None
    with pytest.raises(error, match=text):
        median_filter(make_array(random, SHAPE, "uint8"), 3, output=output)
    if before is not None:
        np.testing.assert_array_equal(output, before)


def test_outputs_whose_pixels_interleave_do_not_share_memory(random):
    array = make_array(random, (6, 6, 5), "uint8")
    expected = median_filter(array, 3, axes=(0, 2))
    memory = np.zeros((6, 6, 6, 5), "uint8")
    # The diagonal of the two axes in the middle has a stride of its own.
    output = np.einsum("xyyz->xyz", memory)
    assert median_filter(array, 3, axes=(0, 2), output=output) is output
    np.testing.assert_array_equal(memory[:, range(6), range(6)], expected)
    assert np.count_nonzero(memory) == np.count_nonzero(expected)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 3), object),
        np.zeros((3, 3), "M8[s]"),
        np.zeros((3, 3), "U3"),
        np.zeros((3, 3), "S3"),
        np.zeros((3, 3), "complex128"),
        np.zeros((3, 3), "longdouble"),
        np.zeros((3, 3), [("a", "u1")]),
        np.zeros(0, object),
        [2**70, 3],
        ["a", "b"],
        "text",
        None,
        [None, 3.0],
    ],
    ids=repr,
)
def test_inputs_that_have_no_median(array):
    with pytest.raises(TypeError, match="no median here"):
        median_filter(array, 3)


def test_masked_inputs_are_refused():
    with pytest.raises(TypeError, match="masked"):
        median_filter(np.ma.masked_less(np.arange(20).reshape(4, 5), 3), 3)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (4, 0, 5), (2, 3, 0, 4, 5), ()])
@pytest.mark.parametrize("dtype", ["int16", "bool", ">f4"])
def test_empty_and_scalar_arrays(shape, dtype):
    array = np.ones(shape, dtype)
    output = np.zeros(shape, dtype)
    assert median_filter(array, radius=1, axes=() if len(shape) > 3 else None, output=output) is output
    np.testing.assert_array_equal(output, array)
    np.testing.assert_array_equal(median_filter(array, radius=0), array)
    with pytest.raises(ValueError, match=f"radius has 6 values for {len(shape)} axes"):
        median_filter(array, radius=(1,) * 6)


def test_scalars_and_lists():
    assert median_filter(5, 3) == 5
    assert median_filter(np.float32(2.5), 3) == np.float32(2.5)
    np.testing.assert_array_equal(median_filter([1, 9, 2, 8, 3], 3), [1, 2, 8, 3, 3])


def test_arrays_of_many_axes(random):
    array = make_array(random, (2, 3, 2, 2, 5, 6, 2), "uint16")
    expected = np.stack([[median_filter(part, 3, axes=(2, 3)) for part in parts] for parts in array])
    output = np.zeros_like(array)
    median_filter(array, 3, axes=(4, 5), output=output)
    np.testing.assert_array_equal(output, expected)
    with pytest.raises(ValueError, match="has 6 axes after neighbours without a window are merged; the limit is 4"):
        median_filter(array, radius=(1, 0, 1, 0, 1, 0, 0), output=output[..., ::-1])
    np.testing.assert_array_equal(output, expected)


def test_an_exception_leaves_the_input_as_it_was(random):
    array = make_array(random, (200, 300), "uint8")
    before = array.copy()

    def fail(fraction):
        if fraction > 0.5:
            raise KeyError("half way")

    # In place: all or nothing.
    for output in (array, array[::-1], array.view("int8")):
        with pytest.raises(KeyError, match="half way"):
            median_filter(array, 5, output=output, progress=fail, backend="cpu")
        np.testing.assert_array_equal(array, before)
    # Elsewhere: as far as it had come.
    output = np.full_like(array, 77)
    with pytest.raises(KeyError, match="half way"):
        median_filter(array, 5, output=output, progress=fail, backend="cpu", threads=1)
    np.testing.assert_array_equal(array, before)
    expected = median_filter(array, 5)
    assert ((output == expected) | (output == 77)).all()
    median_filter(array, 5, output=output)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.parametrize("name", ["progress", "report"])
def test_what_cannot_be_called_is_named_before_anything_is_written(name):
    output = np.full((5, 6), 7.0)
    with pytest.raises(TypeError, match=f"{name} is 3, which cannot be called"):
        median_filter(np.zeros((5, 6)), 3, output=output, **{name: 3})
    assert (output == 7).all()


@pytest.mark.parametrize("name", ["mode", "backend", "algorithm"])
@pytest.mark.parametrize("value", [None, 0, [], b"cpu", ("cpu",), {}])
def test_names_that_are_no_strings(name, value):
    with pytest.raises(ValueError, match=f"{name} is "):
        median_filter(np.zeros((5, 6)), 3, **{name: value})
