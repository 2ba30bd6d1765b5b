# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Images of SimpleITK, ITK, VTK and PyVista, and arrays of xarray, as plain arrays, and those as the same kind again.

None of these libraries is imported here: whoever has an image of one has imported it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Opened(NamedTuple):
    """The pixels of an image, and how an image like it is made of others."""

    array: Any  # axes as NumPy's: the last one is that of components, where there are several
    axes: int  # of space
    close: Callable[[Any], Any]


def _open_simple_itk(image: Any, library: Any) -> Opened:
    array = library.GetArrayViewFromImage(image)
    is_vector = image.GetNumberOfComponentsPerPixel() > 1

    def close(result: np.ndarray) -> Any:
        made = library.GetImageFromArray(result, isVector=is_vector)
        made.CopyInformation(image)
        return made

    return Opened(array, image.GetDimension(), close)


def _open_itk(image: Any, library: Any) -> Opened:
    array = library.array_view_from_image(image)

    def close(result: np.ndarray) -> Any:
        # A copy has the same first index, too, and its pixels are the result's.
        made = library.image_duplicator(image)
        library.array_view_from_image(made)[...] = result
        return made

    return Opened(array, image.GetImageDimension(), close)


def _open_vtk(image: Any) -> Opened:
    from vtkmodules.util import numpy_support  # noqa: PLC0415 - VTK is there: the image is its

    scalars = image.GetPointData().GetScalars()
    if scalars is None:
        raise ValueError("the vtkImageData has no scalars")
    shape = image.GetDimensions()[::-1]
    components = scalars.GetNumberOfComponents()
    flat = shape[1:] if shape[0] == 1 and shape[1] > 1 else shape  # an image, not a volume of one slice
    array = numpy_support.vtk_to_numpy(scalars).reshape((*flat, components) if components > 1 else flat)

    def close(result: np.ndarray) -> Any:
        made = type(image)()
        made.CopyStructure(image)
        pixels = np.ascontiguousarray(result).reshape(-1, components) if components > 1 else result.ravel()
        values = numpy_support.numpy_to_vtk(pixels, deep=True, array_type=scalars.GetDataType())
        values.SetName(scalars.GetName())
        made.GetPointData().SetScalars(values)
        return made

    return Opened(array, len(flat), close)


def open_labelled(given: Any) -> Opened | None:
    """Return the array in an array of xarray, which may be one of any library, or None for what is none."""
    library = sys.modules.get("xarray")
    if library is None or not isinstance(given, library.DataArray):
        return None

    def close(result: Any) -> Any:
        return given.copy(data=result)

    return Opened(given.data, given.ndim, close)


def open_image(given: Any) -> Opened | None:
    """Return the pixels of an image, or None for what is no image of these libraries."""
    opened = open_labelled(given)
    if opened is not None:
        return opened
    library = sys.modules.get("SimpleITK")
    if library is not None and isinstance(given, library.Image):
        return _open_simple_itk(given, library)
    library = sys.modules.get("itk")
    if library is not None and hasattr(given, "GetLargestPossibleRegion") and hasattr(given, "GetImageDimension"):
        return _open_itk(given, library)
    library = sys.modules.get("vtkmodules.vtkCommonDataModel")
    if library is not None and isinstance(given, library.vtkImageData):
        return _open_vtk(given)
    return None
