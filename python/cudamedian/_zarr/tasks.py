# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What a worker runs: read a batch of chunks with what their windows reach, filter, and write the chunks whole."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import resource
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from typing import Any

import numpy as np
import zarr

from .. import _ball, _chunks, _engine, _filter, _rules, _window
from . import stores
from .grid import Axis, Grid, Span
from .stores import Place

# Those of the arguments of `median_filter` that say which window an array is filtered with.
WINDOW = ("size", "radius", "axes", "mode", "cval", "origin", "rank", "percentile", "even_median", "footprint")


class ChunkError(Exception):
    """A chunk could not be read, filtered or written; the text names it."""


@dataclass(frozen=True)
class Job:
    """What all tasks of a run have in common. It travels with each task, so that it is small."""

    source: Place
    output: Place
    run: str
    options: str
    batch: tuple[int, ...]
    resumes: bool = False
    missing: str = "fill"
    version: str = ""

    def filter_options(self) -> dict[str, Any]:
        """Return the arguments of `median_filter`."""
        return read_options(json.loads(self.options))


@dataclass(frozen=True)
class Done:
    """What a task did, and where."""

    chunks: int = 0
    found: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    worker: str = ""
    most_memory: int = 0


def told(error: BaseException) -> str:
    """Return the kind of an error and what it says. The `repr` of one of the system has not the file's name."""
    return f"{type(error).__name__}: {error}"


def library_version() -> str:
    """Return the version of the package that is installed, under either name."""
    for name in ("cudamedian", "itk-cudamedian"):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return "not installed"


def read_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of `median_filter` from how they travel: a footprint is the radii of a ball."""
    result = dict(options)
    if "footprint" in result:
        result["footprint"] = _ball.ball(result["footprint"])
    return result


def check_options(source: zarr.Array, options: Mapping[str, Any]) -> None:
    """Raise what is wrong with arguments of `median_filter` for an array, before anything is begun."""
    rules = {"ignore": None, "nan": "order", "empty": "input", "invalid": "computed", "outliers": None}
    given = _rules.read(None, *(options.get(name, default) for name, default in rules.items()))
    window: Any = {name: options[name] for name in WINDOW if name in options}
    backend, algorithm = options.get("backend", "auto"), options.get("algorithm", "automatic")
    _chunks.check_arguments(source.shape, source.dtype, window, given, backend, algorithm)


def make_grid(
    source: zarr.Array, unit: Sequence[int], options: Mapping[str, Any], batch: Sequence[int] | None = None
) -> Grid:
    """Return how an array is cut into tasks."""
    window = _window.window_of_axes(source.ndim, **{key: options[key] for key in WINDOW if key in options})
    numbers = zip(source.shape, unit, stores.unit_of(source), window.axes, strict=True)
    axes = [
        Axis(extent, own, other, along.reach, along.border is _engine.Border.WRAP)
        for extent, own, other, along in numbers
    ]
    grid = Grid(tuple(axes))
    return grid if batch is None else grid.with_batch(batch)


@functools.lru_cache(maxsize=4)
def _open_once(url: str, options: str) -> zarr.Array:
    """Return an array to read. A worker has many tasks of the same one."""
    return stores.open_input(Place(url, json.loads(options)))


def _pieces(reading: Sequence[tuple[list[Span], int]]) -> Iterator[tuple[tuple[slice, ...], tuple[slice, ...]]]:
    """Yield the pieces of the array that are read, and where in the result each of them goes."""
    along: list[list[tuple[slice, slice]]] = []
    for spans, _ in reading:
        starts = itertools.accumulate((stop - start for start, stop in spans), initial=0)
        along.append(
            [(slice(*span), slice(at, at + span[1] - span[0])) for span, at in zip(spans, starts, strict=False)]
        )
    for piece in itertools.product(*along):
        yield tuple(source for source, _ in piece), tuple(target for _, target in piece)


def _input_units(source: zarr.Array, box: Sequence[slice]) -> Iterator[tuple[int, ...]]:
    """Yield the chunks or shards of the input that a box lies in."""
    spans = zip(box, stores.unit_of(source), strict=True)
    yield from itertools.product(*(range(part.start // unit, -(-part.stop // unit)) for part, unit in spans))


def _refuse_missing(source: zarr.Array, place: Place, box: Sequence[slice]) -> None:
    """Raise a ChunkError where a chunk of the input is not there."""
    keys = [stores.unit_key(source, unit) for unit in _input_units(source, box)]
    absent = [key for key, there in zip(keys, place.exists(keys), strict=True) if not there]
    if absent:
        raise ChunkError(f"chunk {absent[0]} of {place.url} is missing")


def _name_fault(source: zarr.Array, place: Place, box: Sequence[slice], error: Exception) -> ChunkError:
    """Return the error of the chunk that could not be read: they are read one by one to find it."""
    for unit in _input_units(source, box):
        spans = zip(unit, stores.unit_of(source), strict=True)
        try:
            source[tuple(slice(index * extent, (index + 1) * extent) for index, extent in spans)]
        except Exception as fault:  # noqa: BLE001 - codecs and file systems raise many
            return ChunkError(f"chunk {stores.unit_key(source, unit)} of {place.url} could not be read: {told(fault)}")
    where = ", ".join(f"{part.start}:{part.stop}" for part in box)
    return ChunkError(f"[{where}] of {place.url} could not be read, though each of its chunks can: {told(error)}")


def read_around(
    source: zarr.Array, place: Place, reading: Sequence[tuple[list[Span], int]], missing: str = "fill"
) -> np.ndarray:
    """Return what the windows of some outputs reach."""
    shape = [sum(stop - start for start, stop in spans) for spans, _ in reading]
    result = np.empty(shape, source.dtype)
    for box, target in _pieces(reading):
        if missing == "error":
            _refuse_missing(source, place, box)
        try:
            result[target] = source[box]
        except Exception as error:  # noqa: BLE001 - codecs and file systems raise many
            raise _name_fault(source, place, box, error) from error
    # A folder that is gone reads as one without chunks, which would be the fill value.
    if not place.is_array():
        raise ChunkError(f"{place.url} is no longer there")
    return result


def filter_around(
    array: np.ndarray, reading: Sequence[tuple[list[Span], int]], written: Sequence[Span], options: Mapping[str, Any]
) -> np.ndarray:
    """Return the medians of some outputs from what their windows reach."""
    inner = tuple(slice(start, start + high - low) for (_, start), (low, high) in zip(reading, written, strict=True))
    return _filter.median_filter(array, **options)[inner]


def _absent(output: zarr.Array, place: Place, units: Sequence[range]) -> list[tuple[int, ...]]:
    """Return the chunks of a batch that are not there yet."""
    chunks = list(itertools.product(*units))
    there = place.exists(stores.unit_key(output, chunk) for chunk in chunks)
    return [chunk for chunk, found in zip(chunks, there, strict=True) if not found]


def _span_of(units: range, axis: Axis) -> Span:
    return units.start * axis.unit, min(units.stop * axis.unit, axis.extent)


def _write(
    output: zarr.Array,
    grid: Grid,
    medians: np.ndarray,
    written: Sequence[Span],
    chunks: Sequence[tuple[int, ...]] | None,
) -> None:
    """Write what was filtered, or only these chunks of it. What is written is whole chunks."""
    if chunks is None:
        output[tuple(slice(*span) for span in written)] = medians
        return
    for chunk in chunks:
        spans = [_span_of(range(index, index + 1), axis) for index, axis in zip(chunk, grid.axes, strict=True)]
        inner = tuple(slice(low - first, high - first) for (low, high), (first, _) in zip(spans, written, strict=True))
        output[tuple(slice(*span) for span in spans)] = medians[inner]


def run_task(number: int, job: Job) -> Done:
    """Filter and write one batch; with a run that goes on, the part of it that is not there."""
    if job.version != library_version():
        raise ChunkError(f"the worker has version {library_version()} of cudamedian, and the client {job.version}")
    start = time.perf_counter()
    source = _open_once(job.source.url, json.dumps(dict(job.source.options)))
    output = stores.open_output(job.output, job.run)
    options = job.filter_options()
    grid = make_grid(source, stores.unit_of(output), options, job.batch)
    units = grid.units_of(number)
    count = math.prod(map(len, units))
    absent = _absent(output, job.output, units) if job.resumes else None
    if absent == []:
        return Done(found=count, worker=_worker_name())
    # The box around what is to be done is read and filtered.
    todo = units if absent is None else [range(min(along), max(along) + 1) for along in zip(*absent, strict=True)]
    written = [_span_of(along, axis) for along, axis in zip(todo, grid.axes, strict=True)]
    reading = grid.around(written)
    array = read_around(source, job.source, reading, job.missing)
    read = time.perf_counter()
    names = [stores.unit_key(output, [end(along) for along in todo]) for end in (min, max)]
    chunks = f"chunk {names[0]}" if names[0] == names[1] else f"chunks {names[0]} to {names[1]}"
    try:
        medians = filter_around(array, reading, written, options)
    except Exception as error:
        raise ChunkError(f"{chunks} of {job.output.url} could not be filtered: {told(error)}") from error
    filtered = time.perf_counter()
    try:
        _write(output, grid, medians, written, absent)
    except Exception as error:
        raise ChunkError(f"{chunks} of {job.output.url} could not be written: {told(error)}") from error
    end = time.perf_counter()
    seconds = {"reading": read - start, "filtering": filtered - read, "writing": end - filtered}
    new = count if absent is None else len(absent)
    # Linux counts in KiB.
    most_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return Done(new, count - new, array.nbytes, medians.nbytes, seconds, _worker_name(), most_memory)


def _worker_name() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def do_nothing(number: int, job: object = None) -> Done:  # noqa: ARG001 - as `run_task`
    """Run as `run_task` does, and do nothing: what the scheduler takes for a task."""
    return Done(chunks=1)
