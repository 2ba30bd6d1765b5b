# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Draw with VTK, without a screen, what the median does to a volume.

usage: vtk_gallery.py INPUT --output FOLDER [--program PROGRAM] [--radius 1,1,1] [--noise 0.2] [--seed 7]

INPUT is a volume in NIfTI, MetaImage or NRRD. Some of its voxels are made black or white, and the median takes them
away again. FOLDER gets three pictures:

gallery-median.png      one slice: with noise, its median, and what the median took away
gallery-slice-wise.png  the median slice by slice against the median in 3D, in a slice and across the slices
gallery-volume.png      the volume with noise, after the median slice by slice, and after the median in 3D

The median is that of the Python package itk_cuda_median, or that of the command line program that --program names.
The y axis of the volume is drawn upwards.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import vtk
from vtk.util.numpy_support import numpy_to_vtk, vtk_to_numpy

PICTURES = ("gallery-median.png", "gallery-slice-wise.png", "gallery-volume.png")

READERS = {
    ".nii": vtk.vtkNIFTIImageReader,
    ".nii.gz": vtk.vtkNIFTIImageReader,
    ".mha": vtk.vtkMetaImageReader,
    ".mhd": vtk.vtkMetaImageReader,
    ".nrrd": vtk.vtkNrrdReader,
}

# VTK's windows that need no screen, in the order in which they are tried.
OFF_SCREEN_WINDOWS = ("vtkEGLRenderWindow", "vtkOSOpenGLRenderWindow")

GAP = 6  # pixels between panels
CAPTION_HEIGHT = 40  # pixels for two lines of text

Radius = tuple[int, int, int]


class GalleryError(Exception):
    """What keeps the pictures from being drawn, in one line."""


@dataclass(frozen=True)
class Volume:
    """A volume of one number per voxel.

    Attributes
    ----------
    voxels : numpy.ndarray
        Values by z, y, x.
    spacing : tuple of float
        Size of a voxel along x, y and z, in millimetres.

    """

    voxels: np.ndarray
    spacing: tuple[float, float, float]

    def filled_with(self, voxels: np.ndarray) -> Volume:
        """Return other values in the same places."""
        return Volume(voxels, self.spacing)


@dataclass(frozen=True)
class Panel:
    """A part of a picture, and the part of a plane that is seen in it.

    Attributes
    ----------
    left, top, width, height : int
        Place in the picture, in pixels; rows count downwards.
    view : tuple of float
        Least and greatest coordinate to the right, and least and greatest upwards, in millimetres.

    """

    left: int
    top: int
    width: int
    height: int
    view: tuple[float, float, float, float]

    def pixel_at(self, right: float, up: float) -> tuple[int, int]:
        """Return row and column of the picture where a point of the plane is drawn."""
        x0, x1, y0, y1 = self.view
        column = self.left + int((right - x0) / (x1 - x0) * self.width)
        row = self.top + int((y1 - up) / (y1 - y0) * self.height)
        return row, column

    def cut_from(self, picture: np.ndarray) -> np.ndarray:
        """Return the pixels of this panel."""
        return picture[self.top : self.top + self.height, self.left : self.left + self.width]


@dataclass(frozen=True)
class Picture:
    """Pixels by row, column and colour, and the panels row by row."""

    pixels: np.ndarray
    panels: tuple[Panel, ...]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep what libraries print themselves from stderr: the error is one line, and is raised."""
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def read_volume(path: Path) -> Volume:
    """Read a volume.

    Parameters
    ----------
    path : Path
        File in a format that `READERS` lists.

    Returns
    -------
    Volume
        Its values as stored, and its spacing.

    Raises
    ------
    GalleryError
        If the file cannot be read, or is not a volume of one number per voxel.

    """
    suffix = next((known for known in READERS if path.name.lower().endswith(known)), None)
    if suffix is None:
        raise GalleryError(f"{path}: the name must end with one of {', '.join(READERS)}")
    if not path.is_file():
        raise GalleryError(f"{path}: there is no such file")
    reader = READERS[suffix]()
    errors = []
    for source in (reader, reader.GetExecutive()):
        source.AddObserver(vtk.vtkCommand.ErrorEvent, lambda *_: errors.append(True))
    reader.SetFileName(str(path))
    with quiet():
        reader.Update()
    image = reader.GetOutput()
    scalars = image.GetPointData().GetScalars()
    if errors or scalars is None:
        raise GalleryError(f"{path}: VTK cannot read it")
    if scalars.GetNumberOfComponents() != 1:
        raise GalleryError(f"{path}: it has {scalars.GetNumberOfComponents()} numbers per voxel; one is drawn")
    if min(image.GetDimensions()) < 3:
        size = "x".join(map(str, image.GetDimensions()))
        raise GalleryError(f"{path}: it has {size} voxels; a volume has at least 3 along each axis here")
    return Volume(vtk_to_numpy(scalars).reshape(image.GetDimensions()[::-1]).copy(), image.GetSpacing())


def make_image(voxels: np.ndarray, spacing: Sequence[float]) -> vtk.vtkImageData:
    """Return VTK's image of an array by z, y, x or y, x."""
    image = vtk.vtkImageData()
    image.SetDimensions(*voxels.shape[::-1], *[1] * (3 - voxels.ndim))
    image.SetSpacing(*spacing, *[1.0] * (3 - len(spacing)))
    image.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(voxels).ravel(), deep=True))
    return image


def add_impulses(scan: Volume, share: float, seed: int) -> Volume:
    """Return the volume with a share of its voxels black or white, as failing detectors leave them.

    Parameters
    ----------
    scan : Volume
        Stays as it is.
    share : float
        0 to 1.
    seed : int
        The same seed gives the same voxels.

    Returns
    -------
    Volume
        Has the least and the greatest value of `scan` in the voxels that were hit.

    """
    voxels = scan.voxels.copy()
    random = np.random.default_rng(seed)
    hit = random.random(voxels.shape) < share
    voxels[hit] = random.choice([voxels.min(), voxels.max()], np.count_nonzero(hit))
    return scan.filled_with(voxels)


def filter_by_program(program: Path, volume: Volume, radius: Radius) -> Volume:
    """Return the median of a volume, made by the command line program.

    Parameters
    ----------
    program : Path
        A built CudaMedianImageFilter.
    volume : Volume
        Stays as it is.
    radius : tuple of int
        Along x, y and z, in voxels.

    Raises
    ------
    GalleryError
        If the program cannot be started or fails, with the last line that it printed.

    """
    with tempfile.TemporaryDirectory(prefix="vtk_gallery-") as folder:
        source, target = Path(folder, "input.mha"), Path(folder, "output.mha")
        writer = vtk.vtkMetaImageWriter()
        writer.SetInputData(make_image(volume.voxels, volume.spacing))
        writer.SetFileName(str(source))
        writer.SetCompression(False)
        writer.Write()
        command = [program, "--radius", ",".join(map(str, radius)), source, target]
        try:
            run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise GalleryError(f"{program}: {error.strerror}") from error
        if run.returncode != 0:
            said = (run.stderr.strip() or "it printed nothing").splitlines()[-1]
            raise GalleryError(f"{program} ended with exit code {run.returncode}: {said}")
        median = read_volume(target)
    if median.voxels.shape != volume.voxels.shape or median.voxels.dtype != volume.voxels.dtype:
        raise GalleryError(f"{program}: its output has another size or type than its input")
    return median


def choose_filter(program: Path | None) -> Callable[[Volume, Radius], Volume]:
    """Return what makes the median of a volume: the program if one is named, or else the Python package.

    Raises
    ------
    GalleryError
        If there is neither.

    """
    if program is not None:
        # An absolute path: the system looks a bare name up in PATH, not in this folder.
        return lambda volume, radius: filter_by_program(program.absolute(), volume, radius)
    try:
        from itk_cuda_median import median_filter
    except ModuleNotFoundError as error:
        if error.name != "itk_cuda_median":
            raise
        raise GalleryError(
            "the Python package itk_cuda_median is not installed; name a built CudaMedianImageFilter with --program"
        ) from None
    return lambda volume, radius: volume.filled_with(median_filter(volume.voxels, radius=radius[::-1]))


def open_window() -> vtk.vtkRenderWindow:
    """Return a window of VTK that needs no screen.

    The environment variable VTK_DEFAULT_OPENGL_WINDOW, which is VTK's own, chooses one of `OFF_SCREEN_WINDOWS`.

    Raises
    ------
    GalleryError
        If neither EGL nor OSMesa works.

    """
    chosen = os.environ.get("VTK_DEFAULT_OPENGL_WINDOW")
    names = [chosen] if chosen in OFF_SCREEN_WINDOWS else OFF_SCREEN_WINDOWS
    for name in names:
        if not hasattr(vtk, name):
            continue
        with quiet():
            window = getattr(vtk, name)()
            window.SetOffScreenRendering(True)
            works = window.SupportsOpenGL()
        if works:
            return window
    raise GalleryError(f"VTK can draw without a screen with none of {', '.join(names)}: install EGL or OSMesa")


def grab(window: vtk.vtkRenderWindow) -> np.ndarray:
    """Draw a window and return its pixels by row from the top, column and colour."""
    window.Render()
    capture = vtk.vtkWindowToImageFilter()
    capture.SetInput(window)
    capture.ReadFrontBufferOff()
    capture.Update()
    image = capture.GetOutput()
    columns, rows, _ = image.GetDimensions()
    return vtk_to_numpy(image.GetPointData().GetScalars()).reshape(rows, columns, 3)[::-1].copy()


def draw_panels(
    rows: Sequence[Sequence[tuple[str, vtk.vtkProp]]],
    views: Sequence[tuple[float, float, float, float]],
    cameras: Sequence[vtk.vtkCamera],
    first_height: int = 330,
) -> Picture:
    """Draw rows of panels with a caption over each.

    Parameters
    ----------
    rows : sequence of sequences
        Caption and contents of each panel. All rows have as many.
    views : sequence of tuples
        What the panels of a row show: least and greatest coordinate to the right and upwards. Gives their shape.
    cameras : sequence of vtkCamera
        One for each row, which its panels share.
    first_height : int
        Height of the panels of the first row, in pixels. The other rows are as wide as this one.

    Returns
    -------
    Picture
        As wide as its panels.

    """
    x0, x1, y0, y1 = views[0]
    width = round(first_height * (x1 - x0) / (y1 - y0))
    heights = [round(width * (view[3] - view[2]) / (view[1] - view[0])) for view in views]
    total_width = len(rows[0]) * (width + GAP) + GAP
    total_height = sum(heights) + len(rows) * CAPTION_HEIGHT + GAP

    window = open_window()
    window.SetSize(total_width, total_height)
    window.SetMultiSamples(0)
    captions = vtk.vtkRenderer()
    captions.SetBackground(0.13, 0.13, 0.15)
    window.AddRenderer(captions)
    panels = []
    top = 0
    for row, view, height, camera in zip(rows, views, heights, cameras, strict=True):
        top += CAPTION_HEIGHT
        for column, (caption, contents) in enumerate(row):
            panel = Panel(GAP + column * (width + GAP), top, width, height, view)
            panels.append(panel)
            renderer = vtk.vtkRenderer()
            renderer.SetViewport(
                panel.left / total_width,
                1 - (panel.top + panel.height) / total_height,
                (panel.left + panel.width) / total_width,
                1 - panel.top / total_height,
            )
            renderer.SetBackground(0, 0, 0)
            renderer.AddViewProp(contents)
            renderer.SetActiveCamera(camera)
            renderer.ResetCameraClippingRange()
            window.AddRenderer(renderer)
            text = vtk.vtkTextActor()
            text.SetInput(caption)
            text.GetTextProperty().SetFontSize(14)
            text.GetTextProperty().SetVerticalJustificationToCentered()
            text.SetPosition(panel.left + 2, total_height - panel.top + CAPTION_HEIGHT // 2)
            captions.AddViewProp(text)
        top += height
    pixels = grab(window)
    window.Finalize()
    return Picture(pixels, tuple(panels))


def make_table(colours: np.ndarray, least: float, greatest: float) -> vtk.vtkLookupTable:
    """Return a table from values to colours, which are rows of red, green and blue from 0 to 1."""
    table = vtk.vtkLookupTable()
    table.SetNumberOfTableValues(len(colours))
    for place, colour in enumerate(colours):
        table.SetTableValue(place, *colour)
    table.SetRange(least, greatest)
    return table


def grey_table(least: float, greatest: float) -> vtk.vtkLookupTable:
    """Return black to white."""
    return make_table(np.linspace(0, 1, 256)[:, None].repeat(3, axis=1), least, greatest)


def signed_table(reach: float) -> vtk.vtkLookupTable:
    """Return blue for what is below zero, black for zero, orange for what is above."""
    share = np.linspace(-1, 1, 511)[:, None]
    colours = np.maximum(-share, 0) * [0.35, 0.7, 1.0] + np.maximum(share, 0) * [1.0, 0.65, 0.2]
    return make_table(colours, -reach, reach)


def make_slice(plane: np.ndarray, spacing: Sequence[float], table: vtk.vtkLookupTable) -> vtk.vtkImageSlice:
    """Return what draws a plane, each voxel with its own colour."""
    mapper = vtk.vtkImageSliceMapper()
    mapper.SetInputData(make_image(plane, spacing))
    mapper.BorderOn()
    drawn = vtk.vtkImageSlice()
    drawn.SetMapper(mapper)
    drawn.GetProperty().SetInterpolationTypeToNearest()
    drawn.GetProperty().SetLookupTable(table)
    drawn.GetProperty().UseLookupTableScalarRangeOn()
    return drawn


def grey_window(scan: Volume) -> tuple[float, float]:
    """Return the values that are drawn black and white.

    Raises
    ------
    GalleryError
        If all voxels are alike.

    """
    finite = scan.voxels[np.isfinite(scan.voxels)]
    if finite.size == 0 or finite.min() == finite.max():
        raise GalleryError("the volume has the same value everywhere: there is nothing to draw")
    least, greatest = np.percentile(finite, [0.5, 99.5])
    if least == greatest:
        least, greatest = finite.min(), finite.max()
    return float(least), float(greatest)


def find_object(scan: Volume, window: tuple[float, float]) -> tuple[slice, slice, slice]:
    """Return the part of a volume, by z, y and x, that is not dark, and some voxels around it."""
    bright = scan.voxels > window[0] + 0.12 * (window[1] - window[0])
    part = []
    for axis, length in enumerate(bright.shape):
        places = np.flatnonzero(bright.any(axis=tuple(other for other in range(3) if other != axis)))
        part.append(slice(max(places[0] - 3, 0), min(places[-1] + 4, length)))
    return tuple(part)


def view_of(part: tuple[slice, slice], spacing: tuple[float, float]) -> tuple[float, float, float, float]:
    """Return the millimetres that voxels reach over, rightwards and upwards; `part` and `spacing` are in this order."""
    return tuple(
        (edge - 0.5) * size for voxels, size in zip(part, spacing, strict=True) for edge in (voxels.start, voxels.stop)
    )


def camera_over(view: tuple[float, float, float, float]) -> vtk.vtkCamera:
    """Return a camera that sees just a part of the plane, without perspective."""
    x0, x1, y0, y1 = view
    camera = vtk.vtkCamera()
    camera.ParallelProjectionOn()
    camera.SetFocalPoint((x0 + x1) / 2, (y0 + y1) / 2, 0)
    camera.SetPosition((x0 + x1) / 2, (y0 + y1) / 2, y1 - y0)
    camera.SetParallelScale((y1 - y0) / 2)
    return camera


def difference(first: Volume, second: Volume) -> np.ndarray:
    """Return one volume less another, as floating point."""
    return first.voxels.astype(np.float64) - second.voxels


def caption_of(title: str, volume: Volume, scan: Volume) -> str:
    """Return a title, and how far a volume is from the one without noise."""
    return f"{title}\nRMS error {np.sqrt(np.nanmean(difference(volume, scan) ** 2)):.3g}"


def name_window(radius: Sequence[int]) -> str:
    """Return the window as people write it: 3×3×3."""
    return "×".join(str(2 * length + 1) for length in radius)


@dataclass(frozen=True)
class Gallery:
    """What is drawn.

    Attributes
    ----------
    scan : Volume
        The volume without noise.
    noisy : Volume
        With noise.
    median : Volume
        The median of `noisy` in 3D.
    slice_wise : Volume
        The median of `noisy` slice by slice.
    radius : tuple of int
        Along x, y and z, in voxels.

    """

    scan: Volume
    noisy: Volume
    median: Volume
    slice_wise: Volume
    radius: Radius

    @property
    def captions(self) -> dict[str, str]:
        """What is written over each volume."""
        return {
            "noisy": caption_of("with noise", self.noisy, self.scan),
            "median": caption_of(f"median {name_window(self.radius)}", self.median, self.scan),
            "slice_wise": caption_of(
                f"median {name_window(self.radius[:2])}, slice by slice", self.slice_wise, self.scan
            ),
        }

    def draw_median(self) -> Picture:
        """Draw one slice: with noise, the median, what it took away."""
        window = grey_window(self.scan)
        part = find_object(self.scan, window)
        spacing = self.scan.spacing[:2]
        z = self.scan.voxels.shape[0] // 2
        grey = grey_table(*window)
        view = view_of((part[2], part[1]), spacing)
        taken = difference(self.noisy, self.median)[z]
        row = [
            (self.captions["noisy"], make_slice(self.noisy.voxels[z], spacing, grey)),
            (self.captions["median"], make_slice(self.median.voxels[z], spacing, grey)),
            (
                "what it took away\norange: too bright, blue: too dark",
                make_slice(taken, spacing, signed_table(window[1] - window[0])),
            ),
        ]
        return draw_panels([row], [view], [camera_over(view)])

    def draw_slice_wise(self) -> Picture:
        """Draw the median slice by slice against the median in 3D: a slice above, a cut across the slices below."""
        window = grey_window(self.scan)
        part = find_object(self.scan, window)
        x, y, z = self.scan.spacing
        middle_z = self.scan.voxels.shape[0] // 2
        middle_y = (part[1].start + part[1].stop) // 2
        grey = grey_table(*window)
        signed = signed_table((window[1] - window[0]) / 2)
        apart = difference(self.slice_wise, self.median)
        cuts = [
            ("in a slice", np.s_[middle_z], (x, y), view_of((part[2], part[1]), (x, y))),
            ("across the slices", np.s_[:, middle_y], (x, z), view_of((part[2], part[0]), (x, z))),
        ]
        rows = []
        for place, plane, spacing, _ in cuts:
            titles = (
                self.captions["slice_wise"],
                self.captions["median"],
                f"{place}: slice by slice minus 3D\norange: brighter, blue: darker",
            )
            volumes = (self.slice_wise.voxels, self.median.voxels, apart)
            rows.append(
                [
                    (title, make_slice(voxels[plane], spacing, table))
                    for title, voxels, table in zip(titles, volumes, (grey, grey, signed), strict=True)
                ]
            )
        views = [view for *_, view in cuts]
        return draw_panels(rows, views, [camera_over(view) for view in views])

    def draw_volume(self) -> Picture:
        """Draw the volume with noise and after both medians, with a part cut out so that one sees inside."""
        window = grey_window(self.scan)
        part = find_object(self.scan, window)
        bounds = np.array(
            [
                [voxels.start * size, (voxels.stop - 1) * size]
                for voxels, size in zip(part[::-1], self.scan.spacing, strict=True)
            ]
        )
        centre = bounds.mean(axis=1)
        reach = np.linalg.norm(bounds[:, 1] - bounds[:, 0]) / 2
        camera = vtk.vtkCamera()
        camera.SetViewAngle(25)
        camera.SetFocalPoint(*centre)
        direction = np.array([0.75, 0.5, -1.0])
        camera.SetPosition(*(centre + direction / np.linalg.norm(direction) * reach / np.sin(np.radians(17))))
        camera.SetViewUp(0, 1, 0)
        row = [
            (self.captions[name], make_solid(volume, window, part, centre))
            for name, volume in (("noisy", self.noisy), ("slice_wise", self.slice_wise), ("median", self.median))
        ]
        picture = draw_panels([row], [(-reach, reach, -reach, reach)], [camera], first_height=280)
        # The last bits of a cloud of noise are most of the file, and nobody sees them.
        return Picture(picture.pixels // 16 * 17, picture.panels)


def make_solid(
    volume: Volume, window: tuple[float, float], part: tuple[slice, slice, slice], centre: np.ndarray
) -> vtk.vtkVolume:
    """Return what draws a part of a volume by ray casting, shaded, with the corner at +x, +y, -z cut out."""
    share = (volume.voxels[part].astype(np.float64) - window[0]) / (window[1] - window[0])
    image = make_image((np.clip(np.nan_to_num(share), 0, 1) * 255).astype(np.uint8), volume.spacing)
    image.SetOrigin(*(voxels.start * size for voxels, size in zip(part[::-1], volume.spacing, strict=True)))
    # Not vtkFixedPointVolumeRayCastMapper: it draws what lies in even surroundings black.
    mapper = vtk.vtkOpenGLGPUVolumeRayCastMapper()
    mapper.SetInputData(image)
    mapper.SetImageSampleDistance(0.5)
    mapper.SetAutoAdjustSampleDistances(False)
    mapper.SetSampleDistance(min(volume.spacing) / 3)
    # The planes part the volume into 3x3x3 regions, of which one is left out. Along x and y it is the middle one, which
    # reaches to the end of the volume, and along z it reaches from the beginning.
    bounds = image.GetBounds()
    mapper.SetCroppingRegionPlanes(centre[0], bounds[1] + 1, centre[1], bounds[3] + 1, bounds[4] - 1, centre[2])
    mapper.SetCroppingRegionFlags((1 << 27) - 1 - (1 << 13))
    mapper.CroppingOn()

    opacity = vtk.vtkPiecewiseFunction()
    for value, amount in ((0, 0), (30, 0), (60, 0.5), (110, 0.85), (255, 1)):
        opacity.AddPoint(value, amount)
    colour = vtk.vtkColorTransferFunction()
    for value, (red, green, blue) in (
        (0, (0.2, 0.1, 0.08)),
        (60, (0.62, 0.38, 0.28)),
        (120, (0.9, 0.72, 0.55)),
        (190, (1.0, 0.93, 0.82)),
        (255, (1.0, 1.0, 1.0)),
    ):
        colour.AddRGBPoint(value, red, green, blue)
    drawn = vtk.vtkVolume()
    drawn.SetMapper(mapper)
    look = drawn.GetProperty()
    look.SetScalarOpacity(opacity)
    look.SetScalarOpacityUnitDistance(min(volume.spacing))
    look.SetColor(colour)
    look.SetInterpolationTypeToLinear()
    look.ShadeOn()
    look.SetAmbient(0.25)
    look.SetDiffuse(0.75)
    look.SetSpecular(0.1)
    look.SetSpecularPower(20)
    return drawn


def write_picture(picture: Picture, path: Path) -> None:
    """Write a picture as PNG."""
    image = vtk.vtkImageData()
    rows, columns, _ = picture.pixels.shape
    image.SetDimensions(columns, rows, 1)
    image.GetPointData().SetScalars(numpy_to_vtk(picture.pixels[::-1].reshape(-1, 3), deep=True))
    writer = vtk.vtkPNGWriter()
    writer.SetInputData(image)
    writer.SetCompressionLevel(9)
    writer.WriteToMemoryOn()
    writer.Write()
    path.write_bytes(vtk_to_numpy(writer.GetResult()).tobytes())


class OneLineParser(argparse.ArgumentParser):
    """Says what is wrong with the arguments in one line."""

    def error(self, message: str) -> NoReturn:
        """Print the line and exit."""
        self.exit(2, f"error: {message}\n")


def parse_radius(text: str) -> Radius:
    """Return the radius along x, y and z from one number or three."""
    try:
        numbers = [int(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) == 1:
        numbers *= 3
    if len(numbers) != 3 or min(numbers) < 0 or numbers[2] < 1:
        raise argparse.ArgumentTypeError(f"{text} is neither a number from 1 nor three, as in 2,2,1, the last from 1")
    return tuple(numbers)


def parse_share(text: str) -> float:
    """Return a number from 0 to 1."""
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 to 1")
    return share


def parse_seed(text: str) -> int:
    """Return a whole number that is not negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 0")
    return int(text)


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options."""
    parser = OneLineParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path, metavar="INPUT", help="volume to read")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="where the pictures go")
    parser.add_argument("--program", type=Path, help="a built CudaMedianImageFilter; default: the Python package")
    parser.add_argument(
        "--radius", type=parse_radius, default=(1, 1, 1), help="one number, or x,y,z in voxels (default: 1)"
    )
    parser.add_argument(
        "--noise", type=parse_share, default=0.2, metavar="SHARE", help="share of voxels hit (default: 0.2)"
    )
    parser.add_argument("--seed", type=parse_seed, default=7, help="of the random numbers (default: 7)")
    return parser.parse_args(arguments)


def make_gallery(options: argparse.Namespace) -> Gallery:
    """Return the volumes to draw."""
    median = choose_filter(options.program)
    scan = read_volume(options.input)
    noisy = add_impulses(scan, options.noise, options.seed)
    return Gallery(
        scan=scan,
        noisy=noisy,
        median=median(noisy, options.radius),
        slice_wise=median(noisy, (*options.radius[:2], 0)),
        radius=options.radius,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Filter, draw, write and print what was written; return the exit code."""
    options = parse_arguments(arguments)
    try:
        gallery = make_gallery(options)
        pictures = (gallery.draw_median(), gallery.draw_slice_wise(), gallery.draw_volume())
        options.output.mkdir(parents=True, exist_ok=True)
        for name, picture in zip(PICTURES, pictures, strict=True):
            path = options.output / name
            write_picture(picture, path)
            rows, columns, _ = picture.pixels.shape
            print(f"{path}: {columns}x{rows} pixels, {path.stat().st_size} bytes")
    except GalleryError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
