# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The wrapped chain: itk.CudaMedianChainImageFilter."""

import threading

import numpy as np
import pytest

from conftest import keep_wrapped, make_array

itk = pytest.importorskip("itk", reason="ITK is not installed")
if not hasattr(itk, "CudaMedianChainImageFilter"):
    pytest.skip("the wheel itk-cudamedian is not installed", allow_module_level=True)

TYPES = ("uint8", "uint16", "int16", "float32", "float64")
SHAPES = keep_wrapped(itk, {2: (37, 41), 3: (13, 17, 19), 4: (5, 7, 9, 11)})
ENUMS = itk.CudaMedianImageFilterEnums


def make_chain(image, *filters):
    """Return a chain of filters with an input."""
    chain = itk.CudaMedianChainImageFilter.New(image)
    for step in filters:
        chain.AddFilter(step)
    return chain


def make_median(image, **settings):
    """Return a median filter of an image's type, without an input."""
    median = itk.CudaMedianImageFilter[type(image), type(image)].New()
    for name, value in settings.items():
        getattr(median, "Set" + name)(value)
    return median


@pytest.mark.parametrize("dimension", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_wrapped_type_equals_one_filter_after_the_other(random, dtype, dimension):
    image = itk.image_from_array(make_array(random, SHAPES[dimension], dtype))
    image.SetSpacing([0.5 + axis for axis in range(dimension)])
    chain = make_chain(image, make_median(image, Radius=1), make_median(image, Radius=[1, 0, 2, 0][:dimension]))
    chain.Update()
    once = itk.median_image_filter(image, radius=1)
    expected = itk.median_image_filter(once, radius=[1, 0, 2, 0][:dimension])
    np.testing.assert_array_equal(chain.GetOutput(), expected)
    assert chain.GetOutput().GetSpacing() == image.GetSpacing()


def test_wraps_what_the_median_wraps():
    assert {2 * key for key in itk.CudaMedianChainImageFilter.keys()} == set(itk.CudaMedianImageFilter.keys())


def test_it_says_what_ran(random):
    import cudamedian

    image = itk.image_from_array(make_array(random, (20, 30, 40), "int16"))
    usable, _ = cudamedian.query_device()
    chain = make_chain(image, make_median(image, Radius=1), make_median(image, Radius=2))
    for number in range(2):
        # A filter keeps its settings in a chain, and the chain sees their changes.
        itk.down_cast(chain.GetFilter(number)).SetBackend(ENUMS.Backend_Cuda if usable else ENUMS.Backend_Cpu)
    chain.Update()
    assert chain.IsKeptOnDevice() == usable
    assert (chain.GetReason() == "") == usable
    assert "Filter 1:" in chain.GetExecutionReportAsString()
    for number in range(2):
        itk.down_cast(chain.GetFilter(number)).SetBackend(ENUMS.Backend_Cpu)
    chain.Update()
    assert not chain.IsKeptOnDevice()
    assert "CPU" in chain.GetReason()


@pytest.mark.skipif(not hasattr(itk, "CudaRankImageFilter"), reason="ITKMathematicalMorphology is not wrapped")
def test_minima_and_maxima_are_known_by_their_type(random):
    image = itk.image_from_array(make_array(random, (40, 50), "uint8"))
    kernel = itk.FlatStructuringElement[2]
    ranks = [itk.CudaRankImageFilter[type(image), type(image), kernel].New() for _ in range(2)]
    for number, rank in enumerate(ranks):
        rank.SetRadius(2)
        rank.SetRank(float(number))
        rank.SetBackend(ENUMS.Backend_Cpu)
    chain = make_chain(image, *ranks)
    chain.Update()
    # A filter that the chain knows by its base class alone "runs by itself".
    assert "by itself" not in chain.GetReason()
    box = kernel.Box([2, 2])
    opened = itk.grayscale_dilate_image_filter(itk.grayscale_erode_image_filter(image, kernel=box), kernel=box)
    np.testing.assert_array_equal(chain.GetOutput(), opened)


def test_filters_of_itk_run_in_it(random):
    image = itk.image_from_array(make_array(random, (30, 40), "float32"))
    mean = itk.MeanImageFilter[type(image), type(image)].New()
    chain = make_chain(image, make_median(image, Radius=1), mean)
    chain.Update()
    assert "MeanImageFilter" in chain.GetReason()
    np.testing.assert_array_equal(chain.GetOutput(), itk.mean_image_filter(itk.median_image_filter(image, radius=1)))


def test_what_has_no_meaning_is_refused(random):
    image = itk.image_from_array(make_array(random, (30, 40), "float32"))
    median = make_median(image)
    chain = make_chain(image)
    with pytest.raises(RuntimeError, match="no filter"):
        chain.Update()
    chain.AddFilter(median)
    with pytest.raises(RuntimeError, match="once"):
        chain.AddFilter(median)
    with pytest.raises(RuntimeError, match="chain itself"):
        chain.AddFilter(chain)
    with pytest.raises(RuntimeError, match="no filter 1"):
        chain.GetFilter(1)
    with pytest.raises(TypeError):
        chain.AddFilter(make_median(itk.image_from_array(np.zeros((3, 4), np.uint8))))
    chain.Update()
    np.testing.assert_array_equal(chain.GetOutput(), itk.median_image_filter(image, radius=1))
    chain.ClearFilters()
    assert chain.GetNumberOfFilters() == 0


def test_a_filter_in_python_is_no_step(random):
    image = itk.image_from_array(make_array(random, (30, 40), "float32"))
    chain = make_chain(image)
    with pytest.raises(RuntimeError, match="PyImageFilter"):
        chain.AddFilter(itk.PyImageFilter[type(image), type(image)].New())
    assert chain.GetNumberOfFilters() == 0


def test_progress_rises_to_one_and_an_abort_leaves_it_usable(random):
    image = itk.image_from_array(make_array(random, (40, 50, 60), "int16"))
    chain = make_chain(image, make_median(image, Radius=1), make_median(image, Radius=2))
    seen = []
    tag = chain.AddObserver(itk.ProgressEvent(), lambda: seen.append(chain.GetProgress()))
    chain.Update()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    chain.RemoveObserver(tag)
    chain.Modified()
    tag = chain.AddObserver(itk.ProgressEvent(), chain.AbortGenerateDataOn)
    with pytest.raises(RuntimeError, match="(?i)abort"):
        chain.Update()
    chain.RemoveObserver(tag)
    chain.AbortGenerateDataOff()
    chain.Update()
    expected = itk.median_image_filter(itk.median_image_filter(image, radius=1), radius=2)
    np.testing.assert_array_equal(chain.GetOutput(), expected)


def test_other_threads_run_meanwhile(random):
    image = itk.image_from_array(make_array(random, (60, 200, 200), "float64"))
    slow = {"Algorithm": ENUMS.Algorithm_Selection, "Backend": ENUMS.Backend_Cpu, "Radius": 1}
    chain = make_chain(image, make_median(image, **slow), make_median(image, **slow))
    turns = 0
    ended = threading.Event()

    def count():
        nonlocal turns
        while not ended.wait(0.001):
            turns += 1

    thread = threading.Thread(target=count)
    thread.start()
    before = turns
    chain.Update()
    during = turns - before
    ended.set()
    thread.join()
    # With the lock held there would be none.
    assert during > 3
