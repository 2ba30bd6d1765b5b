# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The bar that progress=True shows."""

import sys

import numpy as np
import pytest

import cudamedian
from cudamedian import median_filter


@pytest.fixture
def bars(monkeypatch):
    """Return the bars that are opened, each of which keeps its counts."""
    tqdm = pytest.importorskip("tqdm.auto")
    opened = []

    class Bar(tqdm.tqdm):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.counts = []
            self.closed = False
            opened.append(self)

        def update(self, n=1):
            super().update(n)
            self.counts.append(self.n)

        def close(self):
            self.closed = True
            super().close()

    monkeypatch.setattr(tqdm, "tqdm", Bar)
    return opened


def test_a_bar_counts_all_pixels_and_is_closed(bars, capsys):
    array = np.arange(200 * 300, dtype="uint16").reshape(200, 300)
    result = median_filter(array, 5, backend="cpu", progress=True)
    np.testing.assert_array_equal(result, median_filter(array, 5, backend="cpu"))
    (bar,) = bars
    assert bar.counts == sorted(bar.counts)
    assert bar.total == bar.counts[-1] == array.size
    assert bar.closed
    assert "100%" in capsys.readouterr().err


def test_a_failure_closes_the_bar(bars):
    with pytest.raises(cudamedian.RequestError):
        median_filter(np.zeros((5, 6), "uint8"), 3, algorithm="merge tiling", backend="cpu", progress=True)
    assert bars[0].closed


def test_a_bar_without_tqdm_is_refused_before_anything_is_written(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    output = np.full((5, 6), 7.0)
    with pytest.raises(ImportError, match="progress=True shows a bar of tqdm, which is not installed"):
        median_filter(np.zeros((5, 6)), 3, output=output, progress=True)
    assert (output == 7).all()


def test_false_is_no_progress(bars):
    image = [[1, 9, 2], [3, 4, 8]]
    np.testing.assert_array_equal(median_filter(image, 3, progress=False), median_filter(image, 3))
    assert not bars


def test_numbers_are_no_progress():
    with pytest.raises(TypeError, match="progress is 1, which cannot be called and is not True"):
        median_filter([5, 1, 4], 3, progress=1)
