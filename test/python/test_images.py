# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Images of SimpleITK, ITK, VTK and PyVista, and arrays of xarray, each where its library is installed."""

import numpy as np
import pytest

from conftest import HAS_ITK, make_array
from cudamedian import median_filter, ndimage


def test_simple_itk_images_keep_their_place(random):
    sitk = pytest.importorskip("SimpleITK")
    array = make_array(random, (7, 11, 9), "int16")
    image = sitk.GetImageFromArray(array)
    image.SetSpacing((0.5, 0.7, 2.0))
    image.SetOrigin((-3.0, 4.0, 100.0))
    image.SetDirection((0, 1, 0, 1, 0, 0, 0, 0, -1))
    found = median_filter(image, radius=(0, 1, 2))
    assert isinstance(found, sitk.Image) and found.GetPixelID() == image.GetPixelID()
    assert found.GetSpacing() == image.GetSpacing() and found.GetOrigin() == image.GetOrigin()
    assert found.GetDirection() == image.GetDirection()
    np.testing.assert_array_equal(sitk.GetArrayFromImage(found), median_filter(array, radius=(0, 1, 2)))
    np.testing.assert_array_equal(sitk.GetArrayFromImage(image), array)
    mask = sitk.GetImageFromArray((array > 0).astype("uint8"))
    found = median_filter(image, size=3, mask=mask)
    np.testing.assert_array_equal(sitk.GetArrayFromImage(found), median_filter(array, size=3, mask=array > 0))
    colours = make_array(random, (8, 6, 3), "uint8")
    found = median_filter(sitk.GetImageFromArray(colours, isVector=True), size=3)
    assert found.GetNumberOfComponentsPerPixel() == 3
    np.testing.assert_array_equal(sitk.GetArrayFromImage(found), median_filter(colours, size=3, axes=(0, 1)))
    with pytest.raises(TypeError, match="neither output nor stream"):
        median_filter(image, size=3, output=array)


@pytest.mark.skipif(not HAS_ITK, reason="ITK is not installed")
def test_itk_images_keep_their_place(random):
    itk = pytest.importorskip("itk")
    array = make_array(random, (7, 11, 9), "int16")
    image = itk.image_from_array(array)
    image.SetSpacing((0.5, 0.7, 2.0))
    image.SetOrigin((-3.0, 4.0, 100.0))
    found = median_filter(image, size=3)
    assert type(found) is type(image)
    assert tuple(found.GetSpacing()) == tuple(image.GetSpacing()) and tuple(found.GetOrigin()) == (-3.0, 4.0, 100.0)
    np.testing.assert_array_equal(itk.array_from_image(found), median_filter(array, size=3))
    np.testing.assert_array_equal(itk.array_from_image(image), array)


@pytest.mark.parametrize("shape", [(5, 9, 8), (9, 8)])
def test_vtk_images_keep_their_place(random, shape):
    pytest.importorskip("vtkmodules")
    from vtkmodules.util import numpy_support  # noqa: PLC0415 - after the check that it is there
    from vtkmodules.vtkCommonDataModel import vtkImageData  # noqa: PLC0415

    array = make_array(random, shape, "float32")
    image = vtkImageData()
    image.SetDimensions(*((1,) * (3 - len(shape)) + shape)[::-1])
    image.SetSpacing(0.5, 0.7, 2)
    image.SetOrigin(1, 2, 3)
    values = numpy_support.numpy_to_vtk(array.ravel(), deep=True)
    values.SetName("density")
    image.GetPointData().SetScalars(values)
    found = median_filter(image, size=3)
    assert type(found) is type(image)
    assert found.GetSpacing() == image.GetSpacing() and found.GetOrigin() == image.GetOrigin()
    assert found.GetExtent() == image.GetExtent() and found.GetPointData().GetScalars().GetName() == "density"
    pixels = numpy_support.vtk_to_numpy(found.GetPointData().GetScalars()).reshape(shape)
    np.testing.assert_array_equal(pixels, median_filter(array, size=3))
    with pytest.raises(ValueError, match="no scalars"):
        median_filter(vtkImageData(), size=3)


@pytest.mark.parametrize("function", [median_filter, ndimage.median_filter, ndimage.maximum_filter])
def test_arrays_of_xarray_keep_their_coordinates(random, function):
    xarray = pytest.importorskip("xarray")
    array = make_array(random, (7, 11, 9), "int16")
    places = {"z": np.arange(7) * 2.0, "y": np.arange(11) * 0.7, "x": np.arange(9) * 0.5 - 3}
    labelled = xarray.DataArray(array, places, ("z", "y", "x"), name="head", attrs={"unit": "HU"})
    found = function(labelled, (1, 3, 5))
    xarray.testing.assert_identical(found, labelled.copy(data=function(array, (1, 3, 5))))
    assert found.attrs == {"unit": "HU"} and found.name == "head"
    np.testing.assert_array_equal(labelled.data, array)
    chunked = function(labelled.chunk({"z": 3}), (1, 3, 5))
    assert chunked.chunks is not None
    xarray.testing.assert_identical(chunked.compute(), found)


def test_outputs_and_masks_of_arrays_of_xarray(random):
    xarray = pytest.importorskip("xarray")
    array = make_array(random, (7, 11), "uint8")
    labelled, mask = (xarray.DataArray(values, dims=("y", "x")) for values in (array, array > 60))
    found = median_filter(labelled, 3, mask=mask, invalid=0)
    np.testing.assert_array_equal(found.data, median_filter(array, 3, mask=array > 60, invalid=0))
    output = np.empty_like(array)
    assert ndimage.rank_filter(labelled, 2, 3, output=output) is output
    np.testing.assert_array_equal(output, ndimage.rank_filter(array, 2, 3))
    assert ndimage.rank_filter(labelled, 2, 3, output="float32").dtype == "float32"
    with pytest.raises(TypeError, match="neither output nor stream"):
        median_filter(labelled, 3, output=output)
