# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""`cudamedian.skimage` beside `skimage.filters.median`, and scikit-image's own tests of it."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

from conftest import make_array
from cudamedian import median_filter
from cudamedian.skimage import median

filters = pytest.importorskip("skimage.filters")

MODES = ("nearest", "reflect", "mirror", "wrap", "constant")


def draw_footprint(random, axes):
    """Return a footprint with a pixel at least, a third of the time with all."""
    footprint = random.random(random.integers(1, 5, axes)) < random.choice([0.4, 0.8, 2])
    footprint.flat[random.integers(footprint.size)] = True
    return footprint


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "uint16", "int32", "float32", "float64"])
def test_medians_equal_skimages(random, dtype):
    for case in range(40):
        axes = int(random.integers(2, 4))  # scipy has a way of its own for one, which forgets holes
        image = make_array(random, tuple(random.integers(1, 14, axes)), dtype)
        footprint = draw_footprint(random, axes) if case % 4 else None
        mode = str(random.choice(MODES))
        expected = filters.median(image, footprint, mode=mode, cval=1)
        found = median(image, footprint, mode=mode, cval=1)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, err_msg=f"case {case}, {image.shape}, {mode}, {footprint}")


@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_clipped_medians_equal_skimages(random, dtype):
    for case in range(40):
        axes = int(random.integers(2, 4))
        image = make_array(random, tuple(random.integers(3, 14, axes)), dtype) % np.array(251, dtype)
        footprint = np.ones(2 * random.integers(0, 3, axes) + 1, bool) & (random.random() < 2)
        footprint &= random.random(footprint.shape) < random.choice([0.6, 2])
        footprint[tuple(np.array(footprint.shape) // 2)] = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of histograms with many bins
            expected = filters.median(image, footprint, behavior="rank")
        found = median(image, footprint, behavior="rank")
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected, err_msg=f"case {case}, {image.shape}, {footprint}")


def test_masked_medians_equal_skimages(random):
    from skimage.filters import rank  # noqa: PLC0415 - after the check that it is there

    for case in range(30):
        image = make_array(random, tuple(random.integers(3, 20, 2)), "uint8")
        mask = (random.random(image.shape) < 0.5).astype("uint8")
        footprint = np.ones(2 * random.integers(0, 3, 2) + 1, "uint8")
        expected = rank.median(image, footprint, mask=mask)
        found = median_filter(image, footprint=footprint, mask=mask, mode="shrink", empty=0)
        np.testing.assert_array_equal(found, expected, err_msg=f"case {case}")


def test_output_and_errors(random):
    image = make_array(random, (9, 8), "uint8")
    out = np.zeros_like(image)
    returned = median(image, out=out)
    np.testing.assert_array_equal(out, filters.median(image))
    assert returned is None or returned is out
    with pytest.raises(ValueError, match="behavior is 'other'"):
        median(image, behavior="other")
    with pytest.raises(TypeError, match="behavior='rank' takes images of uint8 and uint16, not of float64"):
        median(image.astype(float), behavior="rank")
    with pytest.warns(UserWarning, match="Change 'behavior' to 'ndimage'"):
        median(image, mode="reflect", behavior="rank")


def test_tuples_are_sizes_as_in_cucim(random):
    image, line = make_array(random, (12, 13), "uint8"), make_array(random, 9, "uint8")
    for behavior in ("ndimage", "rank"):
        np.testing.assert_array_equal(median(image, (3, 5), behavior=behavior),
                                      median(image, np.ones((3, 5), bool), behavior=behavior))  # fmt: skip
    # With another number of values it holds pixels, as scikit-image takes it.
    np.testing.assert_array_equal(median(line, (1, 0, 1)), filters.median(line, np.array([1, 0, 1])))
    np.testing.assert_array_equal(median(line, (5,)), filters.median(line, np.ones(5)))


def test_skimages_tests_pass(tmp_path):
    # Those of "rank" with floats are about rounding to uint8, which is refused here.
    code = """
import sys, pytest, skimage.filters, skimage.filters._median
import cudamedian.skimage as ours
skimage.filters.median = skimage.filters._median.median = ours.median
class LeaveOut:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if not ("rank" in item.name and "float" in item.name)]
arguments = ["-q", "-p", "no:cacheprovider", "--pyargs", "skimage.filters.tests.test_median"]
sys.exit(pytest.main(arguments, plugins=[LeaveOut()]))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=tmp_path,
    )
    if "no tests ran" in done.stdout or "not found" in done.stdout + done.stderr:
        pytest.skip("this scikit-image comes without its tests")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
