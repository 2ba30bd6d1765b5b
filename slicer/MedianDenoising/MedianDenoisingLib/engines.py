# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Who computes: the Python package itk_cuda_median where it is installed, else the command line module."""

from __future__ import annotations

import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np

from . import volumes
from .kernel import DenoisingError

PACKAGE = "itk_cuda_median"

# Seconds between two looks at a command line module that runs.
_PAUSE = 0.02

Progress = Callable[[float], object]


class Cancelled(DenoisingError):  # noqa: N818 - nothing went wrong
    """The person stopped the run. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("Cancelled. Nothing was changed.")


class PackageEngine:
    """Filters with the Python package, in Slicer's own memory.

    Parameters
    ----------
    package
        The imported package itk_cuda_median.

    """

    name = "Python package itk_cuda_median"

    def __init__(self, package) -> None:
        self._package = package

    def device(self) -> str:
        """Return the GPU in use, or why there is none."""
        usable, text = self._package.query_device()
        return text if usable else f"CPU ({text})"

    def filter(
        self, source: np.ndarray, radius: tuple[int, int, int], target: np.ndarray, progress: Progress | None
    ) -> str:
        """Write the medians of an array with axes k, j, i to another, and return the report of the run.

        `progress` is called with the fraction done; a true result stops the run.
        """
        reports = []
        try:
            self._package.median_filter(source, radius=radius, output=target, progress=progress, report=reports.append)
        except self._package.Stopped:
            raise Cancelled from None
        except (self._package.MedianError, ValueError, TypeError) as error:
            raise DenoisingError(f"The filter could not run: {error}") from error
        return reports[0]


class CommandLineEngine:
    """Filters with the command line module, a program that Slicer runs.

    Parameters
    ----------
    scene
        Where the nodes of the run live meanwhile.
    start
        Starts the module with a dictionary of parameters and returns its vtkMRMLCommandLineModuleNode.
    pump
        Lets the application breathe while the module runs.

    """

    name = "command line module CudaMedianImageFilter"

    def __init__(self, scene, start: Callable[[dict], object], pump: Callable[[], object]) -> None:
        self._scene = scene
        self._start = start
        self._pump = pump

    def device(self) -> str:
        """Return where the GPU in use is told."""
        return "the module finds the GPU when it runs; its report names it"

    def filter(
        self, source: np.ndarray, radius: tuple[int, int, int], target: np.ndarray, progress: Progress | None
    ) -> str:
        """Write the medians of an array with axes k, j, i to another, and return the report of the run.

        `progress` is called with the fraction done; a true result stops the run.
        """
        added = []
        run = None
        try:
            for name in ("median input", "median output"):
                node = self._scene.CreateNodeByClass("vtkMRMLScalarVolumeNode")
                node.UnRegister(None)
                node.SetName(name)
                node.SetHideFromEditors(True)
                node.SetSaveWithScene(False)
                added.append(self._scene.AddNode(node))
            given, result = added
            given.SetAndObserveImageData(volumes.image_of(source))
            run = self._start(
                {
                    "inputVolume": given,
                    "outputVolume": result,
                    "neighborhood": ",".join(str(number) for number in reversed(radius)),
                    "backend": "auto",
                }
            )
            if run is None:
                raise DenoisingError("Slicer could not start the command line module.")
            self._wait(run, progress)
            medians = volumes.voxels(result)
            if medians.shape != target.shape or medians.dtype != target.dtype:
                raise DenoisingError(
                    f"The command line module returned {medians.shape} voxels of {medians.dtype}, "
                    f"not {target.shape} of {target.dtype}."
                )
            target[...] = medians
            return run.GetParameterAsString("report") or ""
        finally:
            for node in added:
                # Slicer gives what a module returns a way to be stored and shown.
                for own in (node.GetStorageNode(), node.GetDisplayNode(), node):
                    self._remove(own)
            self._remove(run)

    def _remove(self, node) -> None:
        if node is not None and self._scene.IsNodePresent(node):
            self._scene.RemoveNode(node)

    def _wait(self, run, progress: Progress | None) -> None:
        while run.IsBusy():
            self._pump()
            if progress is not None and progress(run.GetProgress() / 100):
                run.Cancel()
                while run.IsBusy():
                    self._pump()
                    time.sleep(_PAUSE)
                raise Cancelled
            time.sleep(_PAUSE)
        if run.GetStatus() & run.ErrorsMask:
            text = " ".join(run.GetErrorText().split()) or "it gave no reason"
            raise DenoisingError(f"The command line module failed: {text}")
        if run.GetStatus() != run.Completed:
            raise Cancelled


def load_package() -> tuple[PackageEngine | None, str]:
    """Return the Python package's engine, or None and why."""
    importlib.invalidate_caches()
    if importlib.util.find_spec(PACKAGE) is None:
        return None, f"The Python package {PACKAGE} is not installed."
    try:
        package = importlib.import_module(PACKAGE)
        package.query_device()
    except (ImportError, OSError, AttributeError) as error:
        return None, f"The Python package {PACKAGE} is installed but cannot be used: {error}"
    return PackageEngine(package), ""


def choose(command_line: CommandLineEngine | None) -> tuple[PackageEngine | CommandLineEngine, str]:
    """Return the package's engine if it can be used, else the command line's, and a line that says why that.

    Raises
    ------
    DenoisingError
        There is neither.

    """
    package, reason = load_package()
    if package is not None:
        return package, ""
    if command_line is None:
        raise DenoisingError(
            f"{reason} The command line module CudaMedianImageFilter is not loaded either. "
            "Install one of the two to filter."
        )
    return command_line, f"{reason} The command line module is used."
