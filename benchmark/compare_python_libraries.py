# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The libraries that compare_python.py times cudamedian beside: how each is given an array, called and read.

A class is a library, and making an object of it imports that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

# What all have in common, where a library lets one choose: the pixels at the border are repeated.
BORDER = "nearest"


class UnavailableError(Exception):
    """The library is there, and cannot do what it is for here."""


class Library:
    """What is common: a library of NumPy arrays that has scipy's functions."""

    name: ClassVar[str] = ""
    functions: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[str, ...]] = ("uint8", "int16", "float32")
    kind: ClassVar[str] = "NumPy"
    has_own_border: ClassVar[bool] = False
    # Seconds for a pixel and a value of its window, before anything is measured, so that no call takes minutes. This is
    # reasoned, not measured.
    guess: ClassVar[float] = 1e-9

    def takes(self, function: str, dtype: str, size: int, axes: int) -> bool:
        """Whether the library has a function, for a type, a window and so many axes."""
        return function in self.functions and dtype in self.types

    def give(self, array: np.ndarray) -> Any:
        """Return what the library takes in the place of an array of NumPy. It is not timed."""
        return array

    def give_us(self, array: np.ndarray) -> Any:
        """Return what cudamedian is given to be timed beside the library."""
        return array

    def take(self, result: Any) -> np.ndarray:
        """Return a result, the library's or ours, as an array of NumPy. It is not timed."""
        return np.asarray(result)

    def finish(self) -> None:
        """Wait for a device."""

    def release(self) -> None:
        """Give back memory that is kept for other calls."""

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Callable[[], Any]:
        """Return the call that is timed, from what `give` returned to what `take` reads."""
        raise NotImplementedError


def call_scipys(
    module: Any, function: str, given: Any, size: int, footprint: Any, percentile: float
) -> Callable[[], Any]:
    """Return a call of a module with scipy's functions."""
    if function == "footprint":
        return lambda: module.median_filter(given, footprint=footprint, mode=BORDER)
    if function == "percentile":
        return lambda: module.percentile_filter(given, percentile, size, mode=BORDER)
    return lambda: getattr(module, f"{function}_filter")(given, size, mode=BORDER)


class Scipy(Library):
    """The library whose functions these are."""

    name = "scipy"
    functions = ("median", "percentile", "minimum", "maximum", "footprint")
    guess = 5e-9

    def __init__(self) -> None:
        """Import it."""
        self.module = importlib.import_module("scipy.ndimage")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        return call_scipys(self.module, function, given, size, footprint, percentile)


class ScikitImage(Library):
    """`skimage.filters.median`."""

    name = "scikit-image"
    functions = ("scikit-image's median",)
    guess = 5e-9

    def __init__(self) -> None:
        """Import it."""
        self.module = importlib.import_module("skimage.filters")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        box = np.ones((size,) * given.ndim, bool)
        return lambda: self.module.median(given, box, mode=BORDER)


class SimpleItk(Library):
    """`SimpleITK.Median`, from a view of the array to an image."""

    name = "SimpleITK"
    functions = ("median",)

    def __init__(self) -> None:
        """Import it."""
        self.module = importlib.import_module("SimpleITK")

    def give(self, array: np.ndarray) -> Any:
        """Return an image."""
        return self.module.GetImageFromArray(array)

    def take(self, result: Any) -> np.ndarray:
        """Return the pixels."""
        return self.module.GetArrayFromImage(result) if isinstance(result, self.module.Image) else result

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        radius = [size // 2] * given.GetDimension()
        return lambda: self.module.Median(given, radius)


class Itk(Library):
    """`itk.median_image_filter`, from a view of the array."""

    name = "ITK"
    functions = ("median",)

    def __init__(self) -> None:
        """Import it."""
        self.module = importlib.import_module("itk")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        return lambda: self.module.median_image_filter(given, radius=size // 2)


class OpenCv(Library):
    """`cv2.medianBlur`, `erode` and `dilate`."""

    name = "OpenCV"
    functions = ("median", "minimum", "maximum")

    def __init__(self) -> None:
        """Import it."""
        self.module = importlib.import_module("cv2")

    def takes(self, function: str, dtype: str, size: int, axes: int) -> bool:
        """Whether it does: medians of more than 8 bits have at most 5x5 pixels, and none is of int16."""
        small = dtype == "uint8" or (dtype == "float32" and size <= 5)
        return axes == 2 and function in self.functions and (small or function != "median")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        if function == "median":
            return lambda: self.module.medianBlur(given, size)
        filter_image = self.module.erode if function == "minimum" else self.module.dilate
        box, border = np.ones((size, size), np.uint8), self.module.BORDER_REPLICATE
        return lambda: filter_image(given, box, borderType=border)


class Vtk(Library):
    """`vtkImageMedian3D`, whose windows are clipped at the border."""

    name = "VTK"
    functions = ("median",)
    has_own_border = True

    def __init__(self) -> None:
        """Import it."""
        self.core = importlib.import_module("vtkmodules.vtkImagingGeneral")
        self.data = importlib.import_module("vtkmodules.vtkCommonDataModel")
        self.numpy = importlib.import_module("vtkmodules.util.numpy_support")

    def give(self, array: np.ndarray) -> Any:
        """Return an image with the array's memory."""
        image = self.data.vtkImageData()
        image.SetDimensions(*array.shape[::-1], *[1] * (3 - array.ndim))
        image.GetPointData().SetScalars(self.numpy.numpy_to_vtk(array.ravel()))
        return image

    def take(self, result: Any) -> np.ndarray:
        """Return the pixels."""
        is_ours = isinstance(result, np.ndarray)
        return result if is_ours else self.numpy.vtk_to_numpy(result.GetPointData().GetScalars())

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""

        def call() -> Any:
            median = self.core.vtkImageMedian3D()
            median.SetInputData(given)
            median.SetKernelSize(*(size if extent > 1 else 1 for extent in given.GetDimensions()))
            median.Update()
            return median.GetOutput()

        return call


class PyVista(Vtk):
    """`pyvista.ImageData.median_smooth`, which is VTK's."""

    name = "PyVista"

    def __init__(self) -> None:
        """Import it."""
        super().__init__()
        self.module = importlib.import_module("pyvista")

    def give(self, array: np.ndarray) -> Any:
        """Return an image."""
        image = self.module.ImageData(dimensions=(*array.shape[::-1], *[1] * (3 - array.ndim)))
        image.point_data["pixels"] = array.ravel()
        return image

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        sizes = tuple(size if extent > 1 else 1 for extent in given.dimensions)
        return lambda: given.median_smooth(kernel_size=sizes)


class Torch(Library):
    """What is common to libraries of PyTorch's tensors, on the host or on a device."""

    types = ("float32",)
    kind = "PyTorch"
    device: ClassVar[str] = "cpu"

    def __init__(self) -> None:
        """Import PyTorch."""
        self.torch = importlib.import_module("torch")
        if self.device == "cuda" and not self.torch.cuda.is_available():
            raise UnavailableError("PyTorch finds no GPU")

    def give(self, array: np.ndarray) -> Any:
        """Return a tensor."""
        return self.torch.from_numpy(array).to(self.device)

    give_us = give

    def take(self, result: Any) -> np.ndarray:
        """Return the pixels."""
        return np.asarray(result.cpu())

    def finish(self) -> None:
        """Wait for the device."""
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def release(self) -> None:
        """Give back PyTorch's memory."""
        if self.device == "cuda":
            self.torch.cuda.empty_cache()


class Monai(Torch):
    """`monai.transforms.MedianSmooth` of float32."""

    name = "MONAI"
    functions = ("median",)
    guess = 2e-8

    def __init__(self) -> None:
        """Import it."""
        super().__init__()
        self.transforms = importlib.import_module("monai.transforms")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        smooth, channel = self.transforms.MedianSmooth(size // 2), given[None]
        return lambda: smooth(channel)


class MonaiOnDevice(Monai):
    """The same on a GPU."""

    device = "cuda"
    guess = 2e-10


class Cupyx(Library):
    """`cupyx.scipy.ndimage`."""

    name = "cupyx"
    functions = ("median", "percentile", "minimum", "maximum", "footprint")
    kind = "CuPy"
    guess = 1e-11

    def __init__(self) -> None:
        """Import it."""
        self.cupy = importlib.import_module("cupy")
        self.module = importlib.import_module("cupyx.scipy.ndimage")
        if not self.cupy.cuda.is_available():
            raise UnavailableError("CuPy finds no GPU")

    def give(self, array: np.ndarray) -> Any:
        """Return an array in device memory."""
        return self.cupy.asarray(array)

    give_us = give

    def take(self, result: Any) -> np.ndarray:
        """Return the pixels."""
        return self.cupy.asnumpy(result)

    def finish(self) -> None:
        """Wait for the device."""
        self.cupy.cuda.runtime.deviceSynchronize()

    def release(self) -> None:
        """Give back CuPy's memory."""
        self.cupy.get_default_memory_pool().free_all_blocks()

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        return call_scipys(self.module, function, given, size, self.cupy.asarray(footprint), percentile)


class CuCim(Cupyx):
    """`cucim.skimage.filters.median`."""

    name = "cuCIM"
    functions = ("scikit-image's median",)

    def __init__(self) -> None:
        """Import it."""
        super().__init__()
        self.filters = importlib.import_module("cucim.skimage.filters")

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        box = self.cupy.ones((size,) * given.ndim, bool)
        return lambda: self.filters.median(given, box, mode=BORDER)


class PyTorch(Torch):
    """What PyTorch has for windows of medians and maxima: `unfold` and `median`, `max_pool2d` and `max_pool3d`."""

    name = "PyTorch"
    functions = ("median", "maximum")
    guess = 1e-8

    def call(self, function: str, given: Any, size: int, footprint: np.ndarray, percentile: float) -> Any:
        """Return its call."""
        functional = self.torch.nn.functional
        image, axes = given[None, None], given.ndim
        pad = [size // 2] * (2 * axes)
        if function == "maximum":
            pool = functional.max_pool2d if axes == 2 else functional.max_pool3d
            return lambda: pool(functional.pad(image, pad, mode="replicate"), size, stride=1)[0, 0]

        def median() -> Any:
            windows = functional.pad(image, pad, mode="replicate")[0, 0]
            for axis in range(axes):
                windows = windows.unfold(axis, size, 1)
            return windows.reshape(*given.shape, -1).median(dim=-1).values

        return median


class PyTorchOnDevice(PyTorch):
    """The same on a GPU."""

    device = "cuda"
    guess = 1e-10


LIBRARIES: dict[str, tuple[type[Library], ...]] = {
    "host": (Scipy, ScikitImage, SimpleItk, Itk, OpenCv, Vtk, PyVista, PyTorch, Monai),
    "device": (Cupyx, CuCim, PyTorchOnDevice, MonaiOnDevice),
}
