# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""From what a person asks for, in millimetres or voxels, to the window of a volume.

Axes are those of the voxels, i, j, k: i is contiguous in memory. NumPy counts them the other way round.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

BOX = "box"
BALL = "ball"
SHAPES = (BOX, BALL)

MILLIMETRES = "mm"
VOXELS = "voxels"
UNITS = (MILLIMETRES, VOXELS)

AUTOMATIC = "automatic"
AXES = ("i", "j", "k")

# A size that is a whole number of voxels must not lose one to the rounding of a division.
_ROUNDING = 1e-6

# The same for a ball's voxels, as the engine has it.
_BALL_ROUNDING = 1e-9

# How much larger than the others a spacing must be to tell the acquisition axis.
_CLEARLY_LARGER = 1.01


class DenoisingError(RuntimeError):
    """Something that cannot be done; the text is for the person who asked."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    """What a person asks for.

    Parameters
    ----------
    size
        The size along i, j and k, in `unit`.
    unit
        `MILLIMETRES` or `VOXELS`.
    slice_wise
        Filter slice by slice: the window is one voxel along the acquisition axis.
    acquisition_axis
        "i", "j" or "k", or `AUTOMATIC`: see `acquisition_axis`.
    shape
        `BOX`, or `BALL`, which has a radius instead of a size and a unit.
    ball_radius
        The radius of the ball, in millimetres.

    """

    size: tuple[float, float, float] = (3.0, 3.0, 3.0)
    unit: str = MILLIMETRES
    slice_wise: bool = False
    acquisition_axis: str = AUTOMATIC
    shape: str = BOX
    ball_radius: float = 3.0


@dataclasses.dataclass(frozen=True)
class Window:
    """The voxels that a median is taken of.

    Parameters
    ----------
    radius
        Voxels on each side, along i, j and k.
    spacing
        Millimetres from voxel to voxel, along i, j and k.
    ball_radius
        The radius of a ball in millimetres: of the box of `radius` those voxels count whose centres are at most so far
        away. None: the whole box.

    """

    radius: tuple[int, int, int]
    spacing: tuple[float, float, float]
    ball_radius: float | None = None

    @property
    def size(self) -> tuple[int, int, int]:
        """Voxels along i, j and k, each odd."""
        return tuple(2 * radius + 1 for radius in self.radius)

    @property
    def array_radius(self) -> tuple[int, int, int]:
        """The radius in the order of NumPy's axes: k, j, i."""
        return tuple(reversed(self.radius))

    @property
    def footprint(self) -> np.ndarray | None:
        """The voxels of the ball, in the order of NumPy's axes: k, j, i. None for a box."""
        if self.ball_radius is None:
            return None
        squares = np.zeros((1, 1, 1))
        for axis, radius in enumerate(self.radius):
            away = np.arange(-radius, radius + 1) * (self.spacing[axis] / self.ball_radius)
            squares = squares + np.square(away).reshape([-1 if axis == 2 - other else 1 for other in range(3)])
        return squares <= 1 + _BALL_ROUNDING

    def __str__(self) -> str:
        """Return both units: "3 x 3 x 1 voxels (1.5 x 1.5 x 3 mm)"."""
        extent = (f"{size * spacing:.4g}" for size, spacing in zip(self.size, self.spacing, strict=True))
        box = f"{' x '.join(map(str, self.size))} voxels ({' x '.join(extent)} mm)"
        if self.ball_radius is None:
            return box
        count = np.count_nonzero(self.footprint)
        return f"{count} {'voxel' if count == 1 else 'voxels'} of a ball of {self.ball_radius:.4g} mm radius in {box}"


def radius_of_millimetres(size: float, spacing: float) -> int:
    """Return the radius of the odd number of voxels that is nearest to a size.

    The window has 2 * floor(size / (2 * spacing)) + 1 voxels. It holds the voxels whose centres are at most half of
    the size away. Of two odd numbers that are equally near it is the larger one.
    """
    return math.floor(size / (2 * spacing) + _ROUNDING)


def acquisition_axis(spacing: Sequence[float]) -> int:
    """Return the axis that slices are stacked along: that of the clearly largest spacing, else k.

    Scanners take slices that are thicker than their pixels are wide, and Slicer stacks them along k. A volume that was
    cut anew in another program may have them along i or j.
    """
    largest = max(range(3), key=lambda axis: spacing[axis])
    others = (spacing[axis] for axis in range(3) if axis != largest)
    return largest if spacing[largest] > _CLEARLY_LARGER * max(others) else 2


def _chosen_axis(kernel: Kernel, spacing: Sequence[float]) -> int:
    if kernel.acquisition_axis == AUTOMATIC:
        return acquisition_axis(spacing)
    if kernel.acquisition_axis not in AXES:
        raise DenoisingError(
            f"The acquisition axis is '{kernel.acquisition_axis}'; the choices are {AUTOMATIC}, {', '.join(AXES)}."
        )
    return AXES.index(kernel.acquisition_axis)


def _radius_of_voxels(size: float, axis: str) -> int:
    if size != int(size):
        raise DenoisingError(f"The kernel is {size:g} voxels along {axis}; it must be a whole number of voxels.")
    if size % 2 == 0:
        near = f"{size + 1:g}" if size < 2 else f"{size - 1:g} or {size + 1:g}"
        raise DenoisingError(
            f"The kernel is {size:g} voxels along {axis}; it must be odd, so that it has a middle: take {near}."
        )
    return int(size) // 2


def _radius_of_kernel(kernel: Kernel, axis: int, spacing: float) -> int:
    """Return the radius that a kernel has along an axis, wherever the volume ends."""
    if kernel.shape == BALL:
        return math.floor(kernel.ball_radius / spacing * (1 + _BALL_ROUNDING))
    size = kernel.size[axis]
    if not math.isfinite(size) or size <= 0:
        raise DenoisingError(f"The kernel is {size:g} {kernel.unit} along {AXES[axis]}; it must be above 0.")
    return _radius_of_voxels(size, AXES[axis]) if kernel.unit == VOXELS else radius_of_millimetres(size, spacing)


def _check_choices(kernel: Kernel, spacing: Sequence[float]) -> None:
    if kernel.shape not in SHAPES:
        raise DenoisingError(f"The kernel's shape is '{kernel.shape}'; the choices are {' and '.join(SHAPES)}.")
    if kernel.unit not in UNITS:
        raise DenoisingError(f"The kernel's unit is '{kernel.unit}'; the choices are {' and '.join(UNITS)}.")
    if not all(math.isfinite(step) and step > 0 for step in spacing):
        raise DenoisingError(f"The volume's spacing is {tuple(spacing)} mm; each number must be above 0.")
    if kernel.shape == BALL and (not math.isfinite(kernel.ball_radius) or kernel.ball_radius <= 0):
        raise DenoisingError(f"The ball's radius is {kernel.ball_radius:g} mm; it must be above 0.")


def window(kernel: Kernel, extent: Sequence[int], spacing: Sequence[float]) -> Window:
    """Return the window that a kernel is in a volume.

    Along an axis with one voxel the window is one voxel: repeating that voxel outwards would not change the median of
    a box. A ball is a disc there, as it is slice by slice.

    Parameters
    ----------
    kernel
        What was asked for.
    extent
        Voxels of the volume along i, j, k, each at least 1.
    spacing
        Millimetres from voxel to voxel along i, j, k.

    Raises
    ------
    DenoisingError
        A size is no positive number, not odd, or larger than twice the volume.

    """
    _check_choices(kernel, spacing)
    through = _chosen_axis(kernel, spacing) if kernel.slice_wise else None
    radii = []
    for axis in range(3):
        radius = 0 if axis == through else _radius_of_kernel(kernel, axis, spacing[axis])
        if extent[axis] == 1:
            radius = 0
        elif radius >= extent[axis]:
            most = 2 * extent[axis] - 1
            raise DenoisingError(
                f"The kernel is {2 * radius + 1} voxels ({(2 * radius + 1) * spacing[axis]:.4g} mm) along "
                f"{AXES[axis]}, where the volume has {extent[axis]}; it may be at most {most} voxels "
                f"({most * spacing[axis]:.4g} mm) there."
            )
        radii.append(radius)
    ball_radius = float(kernel.ball_radius) if kernel.shape == BALL else None
    return Window(tuple(radii), tuple(float(step) for step in spacing), ball_radius)
