# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Calls that are like earlier ones take what those were read to mean; they may not be taken for others."""

from __future__ import annotations

import collections
import enum
import gc
import math
import struct
import sys
import threading

import numpy as np
import psutil
import pytest

from cudamedian import _engine, _plans, median_filter, ndimage

PIXELS = np.random.default_rng(7).integers(0, 255, (12, 15), np.uint8)

pytestmark = pytest.mark.usefixtures("calls")


def filtered(array=PIXELS, **options):
    """Filter with what earlier calls left, and with nothing left; both are the same."""
    options = {"size": 3, "backend": "cpu", **options}
    first = median_filter(array, **options)
    again = median_filter(array, **options)
    _plans._plans.clear()
    np.testing.assert_array_equal(first, median_filter(array, **options))
    np.testing.assert_array_equal(again, first)
    assert again.dtype == first.dtype
    return again


def test_a_call_is_kept_and_taken(monkeypatch):
    median_filter(PIXELS, 3, backend="cpu")
    assert len(_plans._plans) == 1
    # Nothing is read any more.
    monkeypatch.setattr("cudamedian._window.window_of_axes", None)
    other = PIXELS[::-1].copy()
    expected = np.empty_like(other)
    assert median_filter(other, 3, backend="cpu", output=expected) is expected
    monkeypatch.undo()
    np.testing.assert_array_equal(expected, median_filter(other, 3, backend="cpu", progress=lambda fraction: None))


OTHERS = [
    {"size": 5},
    {"size": (3, 5)},
    {"size": (5, 3)},
    {"size": None, "radius": 2},
    {"axes": 0},
    {"axes": (1,)},
    {"mode": "wrap"},
    {"mode": ("wrap", "mirror")},
    {"mode": "constant"},
    {"mode": "constant", "cval": 9},
    {"mode": "constant", "cval": 9.0},
    {"origin": 1},
    {"origin": (0, -1)},
    {"rank": 0},
    {"rank": -1},
    {"percentile": 20},
    {"percentile": 20.5},
    {"size": 4},
    {"size": 4, "even_median": "mean"},
    {"size": 4, "even_median": "lower"},
    {"algorithm": "selection"},
    {"threads": 1},
    {"threads": 3},
    {"footprint": np.eye(3)},
    {"weights": np.eye(3, dtype=int) * 2},
    {"mask": PIXELS > 9},
    {"ignore": 3},
    {"outliers": 30},
]


def drop_size(options):
    """Leave out the size where a footprint says it."""
    return {"size": None, **options} if "footprint" in options or "weights" in options else options


@pytest.mark.parametrize("options", OTHERS, ids=str)
def test_every_argument_tells(options):
    median_filter(PIXELS, 3, backend="cpu")
    expected = median_filter(PIXELS, **{"size": 3, "backend": "cpu", **drop_size(options)}, report=lambda text: None)
    np.testing.assert_array_equal(filtered(**drop_size(options)), expected)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "float32", "float64", "float16", "bool", ">i2"])
def test_types_are_not_mixed(dtype):
    array = PIXELS.astype(dtype)
    median_filter(PIXELS, 3, backend="cpu")
    assert filtered(array).dtype == array.dtype


def test_arrays_that_lie_otherwise():
    expected = median_filter(PIXELS, 3, backend="cpu")
    np.testing.assert_array_equal(filtered(np.asfortranarray(PIXELS)), expected)
    np.testing.assert_array_equal(filtered(np.repeat(PIXELS, 2, axis=1)[:, ::2]), expected)
    same = PIXELS.copy()
    assert median_filter(same, 3, backend="cpu", output=same) is same
    np.testing.assert_array_equal(same, expected)
    wide = np.zeros((12, 30), np.uint8)
    median_filter(PIXELS, 3, backend="cpu", output=wide[:, ::2])
    np.testing.assert_array_equal(wide[:, ::2], expected)
    np.testing.assert_array_equal(wide[:, 1::2], 0)
    assert median_filter(PIXELS, 3, backend="cpu", output="int32").dtype == np.int32


def test_what_can_change_is_not_kept():
    size = [3, 3]
    first = median_filter(PIXELS, size, backend="cpu")
    size[0] = 5
    assert not np.array_equal(first, median_filter(PIXELS, size, backend="cpu"))
    footprint = np.ones((3, 3))
    np.testing.assert_array_equal(median_filter(PIXELS, footprint=footprint, backend="cpu"), first)
    footprint[0] = 0
    assert not np.array_equal(first, median_filter(PIXELS, footprint=footprint, backend="cpu"))
    assert not _plans._plans


def test_a_rank_that_is_no_integer_is_read_as_such():
    def filter_by(rank):
        try:
            return ndimage.rank_filter(PIXELS, rank, 3).tolist()
        except (TypeError, ValueError) as error:
            return str(error)

    for rank in (3.0, True):
        _plans._plans.clear()
        expected = filter_by(rank)
        _plans._plans.clear()
        filter_by(int(rank))
        assert filter_by(rank) == expected


def test_zeros_keep_their_signs():
    array = np.full((3, 3), 0.5)
    options = {"size": 3, "mode": "constant", "rank": 0, "backend": "cpu"}
    for _ in range(2):
        assert not np.signbit(median_filter(array, cval=0.0, **options)).any()
        assert np.signbit(median_filter(array, cval=-0.0, **options)).any()


@pytest.mark.parametrize(
    "options",
    [{"size": 0}, {"mode": "none"}, {"rank": 9}, {"cval": "a"}, {"empty": "nothing"}, {"nan": "drop"}],
    ids=str,
)
def test_mistakes_are_told_each_time(options):
    median_filter(PIXELS, 3, backend="cpu")
    texts = set()
    for _ in range(2):
        with pytest.raises((TypeError, ValueError)) as error:
            median_filter(PIXELS, **{"size": 3, "backend": "cpu", **options})
        texts.add(str(error.value))
    assert len(texts) == 1


def test_ten_thousand_calls_take_no_more_memory():
    for _ in range(1000):
        median_filter(PIXELS, 3, backend="cpu", threads=1)
    before = psutil.Process().memory_info().rss
    for size in range(1, 400):
        median_filter(PIXELS, (1, size), backend="cpu", threads=1)
    for _ in range(10000):
        median_filter(PIXELS, 3, backend="cpu", threads=1)
    assert psutil.Process().memory_info().rss - before < 16 << 20
    assert len(_plans._plans) <= _plans._MOST_PLANS


class Whole(enum.IntEnum):
    """Integers that are more than integers."""

    THREE = 3


class Words(str):
    """Text that is more than text."""


Pair = collections.namedtuple("Pair", "first second")

# Arguments that a call is not kept with: each equals one that it is kept with, and need not mean the same.
UNLIKE = [3.0, True, np.int64(3), np.float64(3), Whole.THREE, Pair(3, 3), [3, 3], (3, 3.0), (3, (3, True))]


def key_of_median(calls, array=PIXELS, cval=0, percentile=None, size=3, mode="nearest"):
    """Return the key of a call of the package's function."""
    return calls.median(array, None, cval, percentile, size, mode)[1]


def key_of_ranks(calls, array=PIXELS, wanted=0, size=3, footprint=None, mode="reflect", cval=0.0, name="rank"):
    """Return the key of a call of a function of scipy."""
    return calls.ranked(array, None, name, wanted, size, footprint, mode, cval, 0, None)[1]


@pytest.mark.parametrize("size", UNLIKE, ids=repr)
def test_what_is_not_plain_has_no_key(calls, size):
    assert key_of_median(calls, size=size) is None
    assert key_of_ranks(calls, size=size) is None
    assert key_of_median(calls, mode=Words("nearest")) is None
    assert key_of_ranks(calls, mode=Words("nearest")) is None


@pytest.mark.parametrize(
    "number", [True, Whole.THREE, np.int64(3), np.float64(3), np.float32(3), "3", 3j, [3]], ids=repr
)
def test_numbers_that_are_not_plain_have_no_key(calls, number):
    assert key_of_median(calls, cval=number) is None
    assert key_of_median(calls, percentile=number) is None
    assert key_of_ranks(calls, cval=number) is None
    assert key_of_ranks(calls, wanted=number) is None
    assert key_of_median(calls, cval=None) is None
    assert key_of_ranks(calls, cval=None) is None
    assert key_of_ranks(calls, wanted=None) is None


def test_tuples_in_tuples_have_keys_up_to_a_depth(calls):
    value = 3
    found = []
    for _ in range(2000):
        value = (value,)
        found.append((key_of_ranks(calls, size=value) is not None, key_of_median(calls, size=value) is not None))
    assert found == [(True, True)] * 7 + [(True, False)] + [(False, False)] * 1992


NUMBERS = [
    0,
    0.0,
    -0.0,
    1,
    1.0,
    3,
    3.0,
    2**70,
    2.0**70,
    math.inf,
    -math.inf,
    math.nan,
    5e-324,
    0.1,
    np.nextafter(0.1, 1).item(),
]


def test_numbers_that_differ_have_other_keys(calls):
    for key in (
        lambda number: key_of_median(calls, cval=number),
        lambda number: key_of_median(calls, percentile=number),
        lambda number: key_of_ranks(calls, cval=number),
        lambda number: key_of_ranks(calls, wanted=number),
    ):
        assert len({key(number) for number in NUMBERS}) == len(NUMBERS)
        # Other objects of the same value have the same key, as NaN has.
        again = [type(number)(repr(number)) for number in NUMBERS]
        assert [key(number) for number in again] == [key(number) for number in NUMBERS]


def test_arguments_that_differ_have_other_keys(calls):
    arrays = [PIXELS, PIXELS.T.copy(), PIXELS[None], PIXELS.astype("int8"), PIXELS.astype(bool), PIXELS.astype("<i2")]
    arrays += [PIXELS.astype(">i2"), PIXELS.astype("float16")]
    assert len({key_of_median(calls, array) for array in arrays}) == len(arrays)
    sizes = [None, 3, 5, (3,), (3, 5), (5, 3), (3, 5, 1), ((3, 5),), "3", (None, 3), 2**70]
    assert len({key_of_median(calls, size=size) for size in sizes}) == len(sizes)
    assert len({key_of_ranks(calls, size=size) for size in sizes}) == len(sizes)
    names = ["median", "rank", "percentile", "minimum", "maximum"]
    assert len({key_of_ranks(calls, name=name) for name in names}) == len(names)
    footprints = [None, np.ones((3, 3)), np.ones((1, 9)), np.eye(3), np.zeros((3, 3), bool)]
    assert len({key_of_ranks(calls, size=None, footprint=footprint) for footprint in footprints}) == len(footprints)
    assert key_of_ranks(calls, size=None, footprint=2 * np.eye(3)) == key_of_ranks(
        calls, size=None, footprint=np.eye(3)
    )
    assert key_of_ranks(calls, size=3, footprint=np.eye(3)) is None
    assert key_of_ranks(calls, size=None, footprint=[1, 1]) is None
    assert not {key_of_median(calls, size=3)} & {key_of_ranks(calls, size=3)}


class Derived(np.ndarray):
    """An array that is more than NumPy's."""


@pytest.mark.parametrize(
    "array", [PIXELS.view(Derived), PIXELS.tolist(), None, 3, "text", memoryview(PIXELS)], ids=type
)
def test_what_is_no_array_of_numpy_has_no_key(calls, array):
    assert calls.median(array, None, 0, None, 3) == (None, None)
    assert calls.ranked(array, None, "median", 0, 3, None, "reflect", 0.0, 0, None) == (None, None)


def unaligned(array):
    """Return the same pixels where none starts at a multiple of its size."""
    memory = np.zeros(array.nbytes + 1, np.uint8)[1:]
    memory[:] = np.frombuffer(array.tobytes(), np.uint8)
    return memory.view(array.dtype).reshape(array.shape)


def read_only(array):
    """Return an array that nobody may write to."""
    array = array.copy()
    array.flags.writeable = False
    return array


VALUES = PIXELS.astype("int16")

# Arrays of the shape and the type of VALUES that lie otherwise.
OTHERWISE = {
    "plain": VALUES.copy(),
    "Fortran's order": np.asfortranarray(VALUES),
    "every other": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "backwards": VALUES[::-1, ::-1],
    "not aligned": unaligned(VALUES),
    "the other byte order": VALUES.astype(">i2"),
    "read-only": read_only(VALUES),
    "derived": VALUES.view(Derived),
    "broadcast": np.broadcast_to(VALUES[:1], VALUES.shape),
}


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter])
@pytest.mark.parametrize("name", OTHERWISE)
def test_inputs_that_lie_otherwise(function, name):
    array = OTHERWISE[name]
    expected = function(array.copy(), 3)
    _plans._plans.clear()
    function(VALUES, 3)
    for _ in range(2):
        np.testing.assert_array_equal(function(array, 3), expected)


def outputs(array):
    """Return outputs for an array, by names, that may not be written to as a plan does, and one that may."""
    memory = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
    return {
        "plain": np.zeros_like(array),
        "itself": array,
        "a view of itself": array[:],
        "rows of a larger one": memory[:, : array.shape[1]],
        "the end of a larger one": memory.reshape(2, *array.shape)[1],
        "every other": memory[:, ::2],
        "backwards": np.zeros_like(array)[::-1],
        "Fortran's order": np.zeros_like(array, order="F"),
        "not aligned": unaligned(array),
        "the other byte order": np.zeros_like(array, ">i2"),
        "another type": np.zeros_like(array, "float64"),
        "unsigned": np.zeros_like(array, "uint16"),
        "derived": np.zeros_like(array).view(Derived),
        "a type": "float32",
    }


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter])
@pytest.mark.parametrize("name", outputs(VALUES))
def test_outputs_that_lie_otherwise(function, name):
    expected = function(VALUES, 3)
    for _ in range(2):
        array = VALUES.copy()
        output = outputs(array)[name]
        result = function(array, 3, output=output)
        np.testing.assert_array_equal(result, expected)
        if name != "a type":
            assert np.shares_memory(result, output)
            assert result is output or name == "derived"


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter])
@pytest.mark.parametrize(
    "output",
    [read_only(VALUES), np.zeros((3, 3)), np.zeros(VALUES.shape, "M8[s]"), [[0]], "text", VALUES.shape],
    ids=type,
)
def test_outputs_that_are_wrong_are_told_each_time(function, output):
    def told():
        with pytest.raises(Exception) as error:  # noqa: B017, PT011 - whatever it is, it is the same
            function(VALUES, 3, output=output)
        return type(error.value), str(error.value)

    expected = told()
    function(VALUES, 3)
    function(VALUES, 3)
    assert [told(), told()] == [expected] * 2


def test_arrays_that_overlap_are_not_written_in_place():
    memory = np.zeros(200, np.uint8)
    array = np.ndarray((12, 15), np.uint8, memory)
    for start in (0, 1, 20):
        array[:] = PIXELS
        expected = median_filter(PIXELS, 3, backend="cpu")
        output = np.ndarray((12, 15), np.uint8, memory, start)
        assert median_filter(array, 3, backend="cpu", output=output) is output
        np.testing.assert_array_equal(output, expected)


def test_no_more_plans_are_kept_than_there_is_room_for():
    for size in range(1, 2 * _plans._MOST_PLANS):
        expected = np.zeros(3, np.uint8)
        np.testing.assert_array_equal(median_filter(expected, size, backend="cpu"), expected)
        assert 1 <= len(_plans._plans) <= _plans._MOST_PLANS


def test_empty_arrays(calls):
    for shape in ((0,), (0, 5), (5, 0)):
        for _ in range(3):
            array = np.zeros(shape, "float32")
            for function in (median_filter, ndimage.median_filter):
                assert function(array, 3).shape == shape
                assert function(array, 3, output=(output := np.zeros_like(array))) is output


def test_threads_that_call_while_plans_go(calls):
    arrays = [np.random.default_rng(seed).integers(0, 255, (16, 17), np.uint8) for seed in range(4)]
    expected = [median_filter(array, 3, backend="cpu", progress=lambda _: None) for array in arrays]
    failures = []
    stop = threading.Event()

    def work(array, wanted):
        output = np.empty_like(array)
        while not stop.is_set():
            for result in (median_filter(array, 3, threads=1), median_filter(array, 3, threads=1, output=output)):
                if not np.array_equal(result, wanted):
                    failures.append(result)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(arrays, expected, strict=True)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        _plans._plans.clear()
        stop.wait(0.001)
    stop.set()
    for thread in threads:
        thread.join()
    assert not failures


def test_ten_thousand_calls_keep_no_reference(calls):
    array, output, wrong = VALUES.copy(), np.zeros_like(VALUES), np.zeros((3, 3), "int16")
    footprint, size = np.eye(3), (int("300") - 297, 5)
    plain = (size, None, None, "nearest", 0, None, "upper", "auto", "automatic", 0, 1)

    def call():
        median_filter(array, size, threads=1)
        median_filter(array, size, threads=1, output=output)
        ndimage.median_filter(array, footprint=footprint, cval=1.5)
        assert calls.median(array, wrong, 0, None, *plain)[0] is None
        assert calls.ranked(array, array, "median", 0, None, footprint, "reflect", 1.5, 0, None)[0] is None
        calls.median(None, None, 0, None, size)
        calls.median(array, None, [], None, size)

    def count():
        gc.collect()
        kept = [array, output, wrong, footprint, size, array.dtype, np.ndarray, None, *_plans._plans.values()]
        return [sys.getrefcount(one) for one in kept], sys.getallocatedblocks()

    for _ in range(100):
        call()
    before, blocks_before = count()
    for _ in range(10_000):
        call()
    after, blocks_after = count()
    # Those of None and of NumPy's types are the interpreter's, which may move a little.
    assert all(abs(one - other) < 100 for one, other in zip(before, after, strict=True))
    assert blocks_after - blocks_before < 500


def test_a_run_that_fails_says_what_the_engine_says(calls):
    axis = type(
        "Axis", (), {"radius": 1, "shorter": 0, "shift": 0, "border": _engine.Border.ZERO_FLUX_NEUMANN, "size": 3}
    )
    array, output = np.zeros((4, 5), np.uint8), np.zeros((4, 5), np.uint8)
    work = ("uint8", 4096, 8192, (4, 5), (axis, axis), _engine.Backend.CPU, _engine.Algorithm.AUTOMATIC, 0, 1)
    prepared = _engine.Prepared(*work)
    assert calls.HostPlan(prepared).run(array, output) is output
    place = _engine._Request.radius.offset
    prepared.request = prepared.request[:place] + struct.pack("q", -1) + prepared.request[place + 8 :]
    with pytest.raises(_engine.RequestError, match="The radius along axis 0 is -1"):
        calls.HostPlan(prepared).run(array, output)


def test_a_request_of_another_version_is_refused():
    compiled = pytest.importorskip("cudamedian._calls")
    prepared = type("Prepared", (), {"request": b"short", "function": 4096})
    with pytest.raises(ValueError, match="different versions"):
        compiled.HostPlan(prepared)
