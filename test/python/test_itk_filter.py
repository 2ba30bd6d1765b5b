# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The wrapped filter: itk.cuda_median_image_filter and itk.CudaMedianImageFilter."""

import gc
import os
import pickle
import sys

import itk
import itkConfig
import numpy as np
import psutil
import pytest
import xarray

from conftest import keep_wrapped, make_array
from cudamedian import median_filter

PIXELS = {"uint8": itk.UC, "uint16": itk.US, "int16": itk.SS, "float32": itk.F, "float64": itk.D}
SHAPES = keep_wrapped(itk, {2: (37, 41), 3: (13, 17, 19), 4: (5, 7, 9, 11)})
CPU = itk.CudaMedianImageFilterEnums.Backend_Cpu
CUDA = itk.CudaMedianImageFilterEnums.Backend_Cuda


def make_image(random, dtype, dimension=3):
    """Return an image with spacing, origin, direction and an index that is not 0."""
    image = itk.image_from_array(make_array(random, SHAPES[dimension], dtype))
    image.SetSpacing([0.5 + axis for axis in range(dimension)])
    image.SetOrigin([10.0 * axis - 3 for axis in range(dimension)])
    image.SetDirection(itk.matrix_from_array(np.eye(dimension)[::-1].copy()))
    return image


@pytest.mark.parametrize("dimension", SHAPES)
@pytest.mark.parametrize("dtype", PIXELS)
def test_every_wrapped_type_equals_itk(random, dtype, dimension):
    image = make_image(random, dtype, dimension)
    for radius in (0, 1, 2):
        if dimension == 4 and radius > 1:
            continue
        result = itk.cuda_median_image_filter(image, radius=radius)
        assert itk.template(result) == itk.template(image)
        np.testing.assert_array_equal(result, itk.median_image_filter(image, radius=radius))


def test_wraps_what_itk_wraps():
    assert set(itk.CudaMedianImageFilter.keys()) == set(itk.MedianImageFilter.keys())


@pytest.mark.parametrize("radius", [(3, 0, 1), (0, 0, 2), (30, 1, 1)])
def test_radius_has_the_order_of_itk(random, radius):
    image = make_image(random, "int16")
    result = itk.cuda_median_image_filter(image, radius=radius)
    np.testing.assert_array_equal(result, itk.median_image_filter(image, radius=radius))


def test_boundaries_and_even_windows(random):
    enums = itk.CudaMedianImageFilterEnums
    array = make_array(random, (13, 17, 19), "int16")
    modes = {
        "nearest": enums.Boundary_ZeroFluxNeumann,
        "constant": enums.Boundary_Constant,
        "reflect": enums.Boundary_Reflect,
        "mirror": enums.Boundary_Mirror,
        "wrap": enums.Boundary_Wrap,
        "shrink": enums.Boundary_Shrink,
    }
    for mode, boundary in modes.items():
        result = itk.cuda_median_image_filter(array, radius=2, boundary_mode=boundary, boundary_constant=9)
        np.testing.assert_array_equal(result, median_filter(array, 5, mode=mode, cval=9))
    median = itk.CudaMedianImageFilter.New(itk.image_from_array(array), radius=1, even_window=True)
    median.SetBoundaryMode(2, enums.Boundary_Wrap)
    median.SetEvenMedian(enums.EvenMedian_Mean)
    median.Update()
    expected = median_filter(array, 2, mode=("wrap", "nearest", "nearest"), even_median="mean")
    np.testing.assert_array_equal(itk.array_from_image(median.GetOutput()), expected)


def test_slice_wise_leaves_the_last_axis_out(random):
    image = make_image(random, "uint8")
    result = itk.cuda_median_image_filter(image, radius=2, slice_wise=True)
    np.testing.assert_array_equal(result, itk.median_image_filter(image, radius=[2, 2, 0]))


def test_keeps_metadata(random):
    image = make_image(random, "float32")
    result = itk.cuda_median_image_filter(image, radius=1)
    for name in ("Spacing", "Origin", "Direction", "LargestPossibleRegion"):
        assert getattr(result, f"Get{name}")() == getattr(image, f"Get{name}")()


def test_takes_and_returns_numpy(random):
    array = make_array(random, (20, 30), "uint16")
    result = itk.cuda_median_image_filter(array, radius=1)
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, itk.median_image_filter(array, radius=1))


def test_takes_and_returns_xarray_with_metadata(random):
    image = make_image(random, "int16")
    image.SetDirection(itk.matrix_from_array(np.eye(3)))
    data = itk.xarray_from_image(image)
    result = itk.cuda_median_image_filter(data, radius=1)
    assert isinstance(result, xarray.DataArray)
    assert result.dims == data.dims
    for name in data.dims:
        np.testing.assert_array_equal(result.coords[name], data.coords[name])
    np.testing.assert_array_equal(result, itk.median_image_filter(image, radius=1))


def test_observers_see_progress_rise_to_one(random):
    median = itk.CudaMedianImageFilter.New(make_image(random, "int16"), radius=2)
    seen = []
    median.AddObserver(itk.ProgressEvent(), lambda: seen.append(median.GetProgress()))
    started = []
    median.AddObserver(itk.StartEvent(), lambda: started.append(True))
    median.Update()
    assert started == [True]
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_auto_progress_hears_of_it(random, monkeypatch):
    names = []
    monkeypatch.setattr(itkConfig, "ProgressCallback", lambda name, _fraction, _client=None: names.append(name))
    itk.cuda_median_image_filter(make_image(random, "int16"), radius=1)
    assert any("CudaMedianImageFilter" in name for name in names)


def test_abort_raises_and_leaves_the_filter_usable(random):
    image = make_image(random, "int16")
    median = itk.CudaMedianImageFilter.New(image, radius=2)
    tag = median.AddObserver(itk.ProgressEvent(), median.AbortGenerateDataOn)
    with pytest.raises(RuntimeError, match="aborted"):
        median.Update()
    median.RemoveObserver(tag)
    median.AbortGenerateDataOff()
    median.Update()
    np.testing.assert_array_equal(median.GetOutput(), itk.median_image_filter(image, radius=2))


def test_an_exception_of_an_observer_is_no_silence(random):
    median = itk.CudaMedianImageFilter.New(make_image(random, "int16"), radius=2)

    def fail():
        raise KeyError("from the observer")

    median.AddObserver(itk.ProgressEvent(), fail)
    with pytest.raises(Exception, match="(?i)error|exception|observer"):
        median.Update()


def test_no_input_is_the_exception_of_itk():
    median = itk.CudaMedianImageFilter[itk.Image[itk.SS, 2], itk.Image[itk.SS, 2]].New()
    with pytest.raises(RuntimeError, match="Input Primary is required but not set"):
        median.Update()


def test_an_impossible_algorithm_is_an_exception_with_the_text_of_the_engine(random):
    image = make_image(random, "int16", 2)
    program = itk.CudaMedianImageFilterEnums.Algorithm_TileProgram
    with pytest.raises(RuntimeError, match="tile program") as caught:
        itk.cuda_median_image_filter(image, radius=200, algorithm=program, backend=CPU)
    assert "401" in str(caught.value) or "200" in str(caught.value)


def test_cuda_without_a_device_says_what_was_found(random):
    import cudamedian

    usable, description = cudamedian.query_device()
    if usable:
        pytest.skip(f"there is a device: {description}")
    with pytest.raises(RuntimeError) as caught:
        itk.cuda_median_image_filter(make_image(random, "int16"), radius=1, backend=CUDA)
    assert description in str(caught.value)


def test_report_says_what_ran(random):
    median = itk.CudaMedianImageFilter.New(make_image(random, "int16"), radius=1, backend=CPU)
    median.Update()
    lines = dict(line.split(": ", 1) for line in median.GetExecutionReportAsString().splitlines())
    assert lines["Backend"] == "CPU (asked for)"
    assert lines["Window"] == "(3, 3, 3, 1)"
    assert float(lines["Total time"].removesuffix(" s")) > 0


def test_properties(random):
    median = itk.CudaMedianImageFilter.New(make_image(random, "int16"))
    assert tuple(median.GetRadius()) == (1, 1, 1)
    assert median.GetBackend() == itk.CudaMedianImageFilterEnums.Backend_Auto
    median.SetSliceWise(True)
    median.SetRadius(4)
    assert tuple(median.GetEffectiveRadius()) == (4, 4, 0)
    median.SetDeviceMemoryBudget(1 << 33)
    assert median.GetDeviceMemoryBudget() == 1 << 33


def test_docstrings_explain():
    median = itk.CudaMedianImageFilter[itk.Image[itk.SS, 2], itk.Image[itk.SS, 2]]
    assert "exact median" in median.__doc__
    assert "slice by slice" in median.SetSliceWise.__doc__
    assert "CudaMedianImageFilter" in itk.cuda_median_image_filter.__doc__


def test_factory_replaces_the_median_of_itk(random):
    image = make_image(random, "int16")
    expected = itk.median_image_filter(image, radius=2)
    assert itk.MedianImageFilter.New(image).GetNameOfClass() == "MedianImageFilter"
    before = set(map(id, itk.ObjectFactoryBase.GetRegisteredFactories()))
    itk.CudaMedianImageFilterFactory.RegisterOneFactory()
    try:
        replaced = itk.MedianImageFilter.New(image, radius=2)
        assert replaced.GetNameOfClass() == "CudaMedianImageFilter"
        replaced.Update()
        np.testing.assert_array_equal(replaced.GetOutput(), expected)
    finally:
        for factory in itk.ObjectFactoryBase.GetRegisteredFactories():
            if factory.GetNameOfClass() == "CudaMedianImageFilterFactory":
                itk.ObjectFactoryBase.UnRegisterFactory(factory)
    assert len(before) == len(itk.ObjectFactoryBase.GetRegisteredFactories())
    assert itk.MedianImageFilter.New(image).GetNameOfClass() == "MedianImageFilter"


def test_results_can_be_pickled(random):
    result = itk.cuda_median_image_filter(make_image(random, "int16"), radius=1)
    again = pickle.loads(pickle.dumps(result))
    np.testing.assert_array_equal(again, result)
    assert again.GetSpacing() == result.GetSpacing()


def test_no_leak_over_a_thousand_calls(random):
    image = make_image(random, "int16")
    array = make_array(random, (64, 256, 64), "uint8")

    def call():
        itk.cuda_median_image_filter(image, radius=1)
        itk.cuda_median_image_filter(array, radius=0)

    for _ in range(50):
        call()
    gc.collect()
    process = psutil.Process(os.getpid())
    memory, counts = (
        process.memory_info().rss,
        (
            sys.getrefcount(image),
            sys.getrefcount(array),
            image.GetReferenceCount(),
        ),
    )
    for _ in range(1000):
        call()
    gc.collect()
    assert (sys.getrefcount(image), sys.getrefcount(array), image.GetReferenceCount()) == counts
    # A leaked result would be 1 MiB for each call.
    assert process.memory_info().rss - memory < 64 << 20


def test_the_old_name_of_the_package_is_an_alias():
    import cudamedian
    import itk_cuda_median
    from itk_cuda_median.dask import median_filter as median_filter_of_dask

    assert all(getattr(itk_cuda_median, name) is getattr(cudamedian, name) for name in itk_cuda_median.__all__)
    assert median_filter_of_dask is cudamedian.dask.median_filter


def test_a_process_has_one_library():
    from cudamedian import _engine

    median_filter(np.eye(5), 3)
    itk.cuda_median_image_filter(np.eye(5), radius=1)
    with open("/proc/self/maps") as maps:
        libraries = {line.split()[-1] for line in maps if "_CudaMedian" in line or "cudamedian.so" in line}
    assert libraries == {str(_engine._find_library())}
