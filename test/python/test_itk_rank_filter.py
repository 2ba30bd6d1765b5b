# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The wrapped rank filter: itk.cuda_rank_image_filter and itk.CudaRankImageFilter."""

import numpy as np
import pytest

from conftest import keep_wrapped, make_array

itk = pytest.importorskip("itk", reason="ITK is not installed")
if not hasattr(itk, "CudaRankImageFilter"):
    pytest.skip(
        "the wheel itk-cudamedian is not installed, or its ITK does not wrap ITKMathematicalMorphology",
        allow_module_level=True,
    )

TYPES = ("uint8", "uint16", "int16", "float32", "float64")
SHAPES = keep_wrapped(itk, {2: (17, 21), 3: (7, 9, 11), 4: (4, 5, 6, 7)})
CPU = itk.CudaMedianImageFilterEnums.Backend_Cpu


def box(radius):
    """Return a box's pixels, in the order of NumPy's axes; the radius is in that of ITK's."""
    return np.ones([2 * number + 1 for number in reversed(radius)], bool)


def pixels_of(kernel, dimension):
    """Return a structuring element's pixels, in the order of NumPy's axes.

    Its elements are pointers in Python. So it is seen where ITK's dilation spreads a single pixel to.
    """
    array = np.zeros([kernel.GetSize()[axis] for axis in reversed(range(dimension))], np.uint8)
    array[tuple(size // 2 for size in array.shape)] = 1
    spread = itk.grayscale_dilate_image_filter(itk.image_from_array(array), kernel=kernel)
    return np.flip(itk.array_from_image(spread)) == 1


def ranked(array, kernel, rank):
    """Return the values of a rank in clipped windows, as itk::RankImageFilter counts: the definition."""
    result = np.empty_like(array)
    offsets = np.argwhere(kernel) - np.array(kernel.shape) // 2
    for place in np.ndindex(array.shape):
        seen = offsets + place
        seen = seen[np.all((seen >= 0) & (seen < array.shape), axis=1)]
        values = np.sort(array[tuple(seen.T)])
        result[place] = values[int(np.float32(rank) * np.float32(len(values) - 1))]
    return result


@pytest.mark.parametrize("dimension", SHAPES)
@pytest.mark.parametrize("dtype", TYPES)
def test_every_wrapped_type_equals_the_definition(random, dtype, dimension):
    array = make_array(random, SHAPES[dimension], dtype)
    radius = [1, 2, 1, 0][:dimension]
    for rank in (0.0, 0.3, 1.0):
        result = itk.cuda_rank_image_filter(itk.image_from_array(array), radius=radius, rank=rank)
        np.testing.assert_array_equal(itk.array_from_image(result), ranked(array, box(radius), rank))


def test_kernels_have_any_shape(random):
    array = make_array(random, SHAPES[3], "int16")
    kernel_type = itk.FlatStructuringElement[3]
    ball, cross = kernel_type.Ball([2, 2, 1]), kernel_type.Cross([1, 2, 1])
    for kernel, pixels in (
        (ball, pixels_of(ball, 3)),
        (cross, pixels_of(cross, 3)),
        (kernel_type.Box([2, 0, 1]), box((2, 0, 1))),
    ):
        for rank in (0.0, 0.5, 0.9):
            result = itk.cuda_rank_image_filter(itk.image_from_array(array), kernel=kernel, rank=rank)
            np.testing.assert_array_equal(itk.array_from_image(result), ranked(array, pixels, rank))


def test_equals_the_base_class(random):
    image = itk.image_from_array(make_array(random, (13, 17, 19), "uint8"))
    for rank in (0.25, 0.5):
        expected = itk.rank_image_filter(image, radius=2, rank=rank)
        np.testing.assert_array_equal(itk.cuda_rank_image_filter(image, radius=2, rank=rank), expected)


def test_takes_and_returns_numpy(random):
    array = make_array(random, SHAPES[2], "uint16")
    result = itk.cuda_rank_image_filter(array, radius=1, rank=1.0)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, ranked(array, box((1, 1)), 1.0))


def test_properties_report_and_docstring(random):
    rank = itk.CudaRankImageFilter.New(itk.image_from_array(make_array(random, SHAPES[3], "int16")), radius=1)
    assert rank.GetRank() == 0.5
    rank.SetRank(0.25)
    assert rank.GetRank() == 0.25
    rank.SetBackend(CPU)
    rank.SetDeviceMemoryBudget(1 << 33)
    assert rank.GetDeviceMemoryBudget() == 1 << 33
    seen = []
    rank.AddObserver(itk.ProgressEvent(), lambda: seen.append(rank.GetProgress()))
    rank.Update()
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert "Backend: CPU (asked for)" in rank.GetExecutionReportAsString()
    assert "exact rank filter" in type(rank).__doc__


def test_no_input_is_the_exception_of_itk():
    image_type = itk.Image[itk.SS, 2]
    rank = itk.CudaRankImageFilter[image_type, image_type, itk.FlatStructuringElement[2]].New()
    with pytest.raises(RuntimeError, match="Input Primary is required but not set"):
        rank.Update()


def test_factory_replaces_the_rank_filter_of_itk(random):
    image = itk.image_from_array(make_array(random, SHAPES[3], "int16"))
    assert itk.RankImageFilter.New(image).GetNameOfClass() == "RankImageFilter"
    itk.CudaRankImageFilterFactory.RegisterOneFactory()
    try:
        assert itk.RankImageFilter.New(image).GetNameOfClass() == "CudaRankImageFilter"
    finally:
        for factory in itk.ObjectFactoryBase.GetRegisteredFactories():
            if factory.GetNameOfClass() == "CudaRankImageFilterFactory":
                itk.ObjectFactoryBase.UnRegisterFactory(factory)
    assert itk.RankImageFilter.New(image).GetNameOfClass() == "RankImageFilter"
