# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Who computes: the Python package itk_cuda_median where it is installed, else the command line module."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import time
from collections.abc import Callable

import numpy as np

from . import volumes
from .kernel import DenoisingError, Window
from .rules import COMPUTED, NO_RULES, Rules

PACKAGE = "itk_cuda_median"

# Seconds between two looks at a command line module that runs.
_PAUSE = 0.02

Progress = Callable[[float], object]


class Cancelled(DenoisingError):  # noqa: N818 - nothing went wrong
    """The person stopped the run. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("Cancelled. Nothing was changed.")


@dataclasses.dataclass(frozen=True, eq=False)
class Request:
    """What an engine is asked for.

    Parameters
    ----------
    window
        The voxels around each output.
    rules
        Which voxels count beside the mask, and which are replaced; see `rules.check`.
    mask
        Which voxels count, 1 where they do and else 0, in the shape of the array to filter. None: all.

    """

    window: Window
    rules: Rules = NO_RULES
    mask: np.ndarray | None = None


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

    def filter(self, source: np.ndarray, request: Request, target: np.ndarray, progress: Progress | None) -> str:
        """Write the medians of an array with axes k, j, i to another, and return the report of the run.

        `progress` is called with the fraction done; a true result stops the run.
        """
        reports = []
        try:
            self._package.median_filter(
                source, output=target, progress=progress, report=reports.append, **_options(request, source.dtype)
            )
        except self._package.Stopped:
            raise Cancelled from None
        except (self._package.MedianError, ValueError, TypeError) as error:
            raise DenoisingError(f"The filter could not run: {error}") from error
        return reports[0]


def _options(request: Request, dtype: np.dtype) -> dict:
    """Return a request as arguments of the Python package; those that say nothing are left out."""
    window, rules = request.window, request.rules
    footprint, ignored = window.footprint, rules.ignored_value(dtype)
    options = {"radius": window.array_radius} if footprint is None else {"footprint": footprint}
    if request.mask is not None:
        options["mask"] = request.mask
    if ignored is not None:
        options["ignore"] = ignored
    if rules.invalid_output != COMPUTED:
        options["invalid"] = rules.invalid_output
    if rules.outliers:
        options["outliers"] = rules.outliers if rules.outliers.endswith("mad") else rules.threshold
    return options


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

    def filter(self, source: np.ndarray, request: Request, target: np.ndarray, progress: Progress | None) -> str:
        """Write the medians of an array with axes k, j, i to another, and return the report of the run.

        `progress` is called with the fraction done; a true result stops the run.
        """
        added = []
        run = None
        try:
            given, result = (self._add(added, f"median {name}") for name in ("input", "output"))
            given.SetAndObserveImageData(volumes.image_of(source))
            parameters = {
                "inputVolume": given,
                "outputVolume": result,
                "neighborhood": ",".join(str(number) for number in request.window.radius),
                "backend": "auto",
                **_parameters(request, source.dtype),
            }
            if request.mask is not None:
                parameters["maskVolume"] = self._add(added, "median mask", "vtkMRMLLabelMapVolumeNode")
                parameters["maskVolume"].SetAndObserveImageData(volumes.image_of(request.mask))
            for node in added:
                node.SetSpacing(_spacing(request.window))
            run = self._start(parameters)
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

    def _add(self, added: list, name: str, kind: str = "vtkMRMLScalarVolumeNode"):
        node = self._scene.CreateNodeByClass(kind)
        node.UnRegister(None)
        node.SetName(name)
        node.SetHideFromEditors(True)
        node.SetSaveWithScene(False)
        added.append(self._scene.AddNode(node))
        return added[-1]

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


def _parameters(request: Request, dtype: np.dtype) -> dict[str, str]:
    """Return a request's rules as parameters of the command line module; those that say nothing are left out."""
    rules = request.rules
    ignored = rules.ignored_value(dtype)
    parameters = {
        "ball": "" if request.window.ball_radius is None else repr(request.window.ball_radius),
        "ignoredValue": "" if ignored is None else repr(ignored),
        "outliers": rules.outliers,
        "invalidOutput": "" if rules.invalid_output == COMPUTED else rules.invalid_output,
    }
    return {name: text for name, text in parameters.items() if text}


def _spacing(window: Window) -> tuple[float, float, float]:
    """Return the spacing with which the module's ball is the window's.

    Where a disc is wanted, slices are so far apart that the ball reaches no other.
    """
    if window.ball_radius is None:
        return window.spacing
    return tuple(
        step if radius > 0 else max(step, 2 * window.ball_radius)
        for radius, step in zip(window.radius, window.spacing, strict=True)
    )


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
