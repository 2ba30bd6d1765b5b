# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Which part of an array each task reads and writes. Plain numbers: nothing here knows Zarr or Dask."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

# From where to where along one axis.
Span = tuple[int, int]


@dataclass(frozen=True)
class Axis:
    """One axis of the array, and how it is cut into tasks.

    A unit is what is written at once: a chunk, or a shard where the array has shards. A task writes a batch of units,
    and reads what their windows reach.
    """

    extent: int
    unit: int
    input_unit: int
    reach: int = 0
    wraps: bool = False
    batch: int = 1

    @property
    def units(self) -> int:
        """How many units there are."""
        return -(-self.extent // self.unit)

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return -(-self.units // self.batch)

    def units_of(self, task: int) -> range:
        """Return the numbers of the units that a task writes."""
        return range(task * self.batch, min((task + 1) * self.batch, self.units))

    def written(self, task: int) -> Span:
        """Return what a task writes."""
        units = self.units_of(task)
        return units.start * self.unit, min(units.stop * self.unit, self.extent)

    def read(self, task: int) -> tuple[list[Span], int]:
        """Return what a task reads, in one piece or two, and where in it what it writes begins."""
        return self.around(self.written(task))

    def around(self, written: Span) -> tuple[list[Span], int]:
        """Return what the windows of some outputs reach, in one piece or two, and where in it the outputs begin.

        At the ends of the axis the pieces end with it, and the filter has its own border there: a reflection reaches no
        further from the end than the windows do. Where the array wraps, the far side is a piece of its own, unless
        the windows reach all of the axis.
        """
        low, high = written[0] - self.reach, written[1] + self.reach
        if not self.wraps or (low >= 0 and high <= self.extent):
            first = max(low, 0)
            return [(first, min(high, self.extent))], written[0] - first
        if high - low >= self.extent:
            return [(0, self.extent)], written[0]
        if low < 0:
            return [(low + self.extent, self.extent), (0, high)], self.reach
        return [(low, self.extent), (0, high - self.extent)], self.reach

    def count_read(self) -> tuple[int, int]:
        """Return how many pixels all tasks read along this axis, and how many are in the units that these lie in."""
        pixels = whole = 0
        for task in range(self.tasks):
            pieces, _ = self.read(task)
            pixels += sum(stop - start for start, stop in pieces)
            units = sum(-(-stop // self.input_unit) - start // self.input_unit for start, stop in pieces)
            whole += units * self.input_unit
        return pixels, whole

    def most_read(self) -> int:
        """Return how many pixels a task reads along this axis at most."""
        return min(self.batch * self.unit, self.extent) + 2 * self.reach


@dataclass(frozen=True)
class Grid:
    """All axes of an array. Tasks have numbers, in C order."""

    axes: tuple[Axis, ...]

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return math.prod(axis.tasks for axis in self.axes)

    @property
    def units(self) -> int:
        """How many units there are."""
        return math.prod(axis.units for axis in self.axes)

    @property
    def batch(self) -> tuple[int, ...]:
        """How many units along each axis a task writes."""
        return tuple(axis.batch for axis in self.axes)

    def place(self, number: int) -> tuple[int, ...]:
        """Return the place of a task along each axis."""
        return tuple(int(index) for index in np.unravel_index(number, [axis.tasks for axis in self.axes]))

    def units_of(self, number: int) -> list[range]:
        """Return the units that a task writes, along each axis."""
        return [axis.units_of(task) for axis, task in zip(self.axes, self.place(number), strict=True)]

    def written(self, number: int) -> list[Span]:
        """Return what a task writes along each axis."""
        return [axis.written(task) for axis, task in zip(self.axes, self.place(number), strict=True)]

    def around(self, written: Sequence[Span]) -> list[tuple[list[Span], int]]:
        """Return what the windows of some outputs reach along each axis, as `Axis.around` does."""
        return [axis.around(span) for axis, span in zip(self.axes, written, strict=True)]

    def count_read(self) -> tuple[int, int]:
        """Return the pixels that all tasks read, and those of the units they lie in, which storage has to yield."""
        counts = [axis.count_read() for axis in self.axes]
        return math.prod(pixels for pixels, _ in counts), math.prod(whole for _, whole in counts)

    def most_pixels(self) -> int:
        """Return the pixels that a task holds at most: those it reads, and those it writes."""
        read = math.prod(axis.most_read() for axis in self.axes)
        return read + math.prod(min(axis.batch * axis.unit, axis.extent) for axis in self.axes)

    def with_batch(self, batch: Sequence[int]) -> Grid:
        """Return the grid with other batches."""
        return Grid(tuple(replace(axis, batch=count) for axis, count in zip(self.axes, batch, strict=True)))

    def _longer_batches(self) -> Iterator[Grid]:
        for number, axis in enumerate(self.axes):
            if axis.batch < axis.units:
                longer = replace(axis, batch=min(2 * axis.batch, axis.units))
                yield Grid((*self.axes[:number], longer, *self.axes[number + 1 :]))

    def choose_batch(self, pixels_allowed: int, least_tasks: int) -> Grid:
        """Return the grid with the batches that read least, of those whose tasks are small enough and many enough.

        A task reads whole units around those that it writes: one unit alone costs up to 27 in three dimensions, a
        batch of 4x4x4 only 3.4 for each.
        """
        best = self
        while True:
            allowed = [
                grid
                for grid in best._longer_batches()
                if grid.most_pixels() <= pixels_allowed and grid.tasks >= least_tasks
            ]
            if not allowed:
                return best
            best = min(allowed, key=lambda grid: grid.count_read()[1])
