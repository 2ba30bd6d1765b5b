# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Calls that are like earlier ones take what those were read to mean; they may not be taken for others."""

from __future__ import annotations

import numpy as np
import psutil
import pytest

from cudamedian import _plans, median_filter, ndimage

PIXELS = np.random.default_rng(7).integers(0, 255, (12, 15), np.uint8)


@pytest.fixture(autouse=True)
def _forget():
    _plans._plans.clear()


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
