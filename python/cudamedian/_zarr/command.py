# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The program `cudamedian-zarr`: plan, run, verify, publish."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import FrameType
from typing import Any

import numpy as np
import zarr
from dask.utils import format_bytes
from distributed import Client

from . import arguments, places, stores, tasks, window
from .grid import Grid, Span
from .stores import Place, Refusal


@dataclass(frozen=True)
class Plan:
    """What is to be done: the arrays, the filter and the tasks."""

    source: Place
    output: Place
    array: zarr.Array
    chunks: tuple[int, ...] | None
    options: dict[str, Any]
    missing: str
    grid: Grid

    def request(self) -> dict[str, Any]:
        """Return what an output is resumed with: all that the result depends on.

        Results are the same on CUDA and the CPU and by each algorithm, so that these may change.
        """
        machine = ("backend", "algorithm", "memory", "threads")
        return {
            "input": self.source.url,
            "shape": list(self.array.shape),
            "dtype": str(self.array.dtype),
            "input_chunks": list(stores.unit_of(self.array)),
            "chunks": [axis.unit for axis in self.grid.axes],
            "filter": {name: value for name, value in self.options.items() if name not in machine},
            "missing": self.missing,
            "version": tasks.library_version(),
        }

    def describe(self) -> str:
        """Return the plan as text."""
        size, item = self.array.size, self.array.dtype.itemsize
        pixels, whole = self.grid.count_read()
        units = "x".join(str(axis.unit) for axis in self.grid.axes)
        share = size or 1
        return "\n".join(
            [
                f"input    {self.source.url}: {'x'.join(map(str, self.array.shape))} of {self.array.dtype}, "
                f"{format_bytes(self.array.nbytes)}",
                f"output   {self.output.url}: {self.grid.units} chunks of {units}",
                f"filter   {json.dumps(self.options)}",
                f"tasks    {self.grid.tasks} of {'x'.join(map(str, self.grid.batch))} chunks, arrays of at most "
                f"{format_bytes(self.grid.most_pixels() * item)} in each",
                f"reads    {format_bytes(pixels * item)} with halos, {pixels / share:.2f} times the array, out of "
                f"whole chunks of {format_bytes(whole * item)}, {whole / share:.2f} times the array",
            ]
        )


def make_plan(options: argparse.Namespace, threads: int) -> Plan:
    """Return the plan, or raise a Refusal; `threads` is how many tasks run at a time."""
    source = Place.parse(options.input, options.input_options)
    output = Place.parse(options.output, options.output_options)
    places.refuse_protocol(output)
    places.refuse_to_nest(source, output)
    array = stores.open_input(source)
    chunks = _for_axes("--chunks", options.chunks, array.ndim)
    filter_options = arguments.filter_arguments(options, array.ndim)
    try:
        given = tasks.read_options(filter_options)
        tasks.check_options(array, given)
        grid = tasks.make_grid(array, chunks or stores.unit_of(array), given)
    except (ValueError, TypeError) as error:
        raise Refusal(str(error)) from error
    batch = _for_axes("--batch", options.batch, array.ndim)
    if batch is not None:
        grid = grid.with_batch([min(count, max(1, axis.units)) for count, axis in zip(batch, grid.axes, strict=True)])
    else:
        grid = grid.choose_batch(options.task_memory // array.dtype.itemsize, 4 * threads)
    return Plan(source, output, array, chunks, filter_options, options.missing, grid)


def _for_axes(name: str, values: list[int] | None, ndim: int) -> tuple[int, ...] | None:
    if values is None:
        return None
    if len(values) not in (1, ndim):
        raise Refusal(f"{name} has {len(values)} values, but the array has {ndim} axes")
    return tuple(values) * ndim if len(values) == 1 else tuple(values)


class Progress:
    """What the user sees: a line that changes on a terminal, else a line now and then."""

    def __init__(self, total: int, chunks: int) -> None:
        """Begin with nothing done."""
        self.total, self.chunks, self.done, self.written, self.found = total, chunks, 0, 0, 0
        self.bytes_read = self.bytes_written = 0
        self.seconds: dict[str, float] = {}
        self.memory: dict[str, int] = {}
        self._start = time.perf_counter()
        self._terminal, self._shown = sys.stderr.isatty(), self._start

    def hear(self, group: list[tasks.Done]) -> None:
        """Count tasks that are done, and show it."""
        for done in group:
            self.done += 1
            self.written += done.chunks
            self.found += done.found
            self.bytes_read += done.bytes_read
            self.bytes_written += done.bytes_written
            for name, seconds in done.seconds.items():
                self.seconds[name] = self.seconds.get(name, 0) + seconds
            self.memory[done.worker] = max(done.most_memory, self.memory.get(done.worker, 0))
        now = time.perf_counter()
        if now - self._shown >= (0.25 if self._terminal else 10):
            self._shown = now
            start, end = ("\r", "\x1b[K") if self._terminal else ("", "\n")
            print(f"{start}{self.line()}", end=end, file=sys.stderr, flush=True)

    def line(self) -> str:
        """Return how far it is."""
        seconds = time.perf_counter() - self._start
        rate = format_bytes(int(self.bytes_written / max(seconds, 1e-9)))
        done = self.written + self.found
        return f"{done} of {self.chunks} chunks, {format_bytes(self.bytes_written)} in {seconds:.1f} s, {rate}/s"

    def end(self) -> None:
        """Print what the run came to."""
        if self._terminal:
            print(file=sys.stderr)
        print(self.line() + (f", {self.found} chunks were there" if self.found else ""))
        parts = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds.items())
        if parts:
            print(f"read {format_bytes(self.bytes_read)}; all tasks together: {parts}")
        for name, memory in sorted(self.memory.items()):
            if memory:
                print(f"worker {name}: at most {format_bytes(memory)}")


def differing_bytes(plan: Plan, result: zarr.Array, blocks: int) -> int:
    """Return how many bytes of random blocks, and of the corners, differ from the input's, filtered here."""
    random = np.random.default_rng(5)
    side = np.minimum(plan.array.shape, 64)
    most = np.array(plan.array.shape) - side
    starts = [0 * most, most, *(random.integers(0, most + 1) for _ in range(blocks))]
    options, differing = tasks.read_options(plan.options), 0
    for start in starts:
        box: list[Span] = [(int(low), int(low + extent)) for low, extent in zip(start, side, strict=True)]
        reading = plan.grid.around(box)
        array = tasks.read_around(plan.array, plan.source, reading)
        expected = tasks.filter_around(array, reading, box, options)
        found = np.asarray(result[tuple(slice(*span) for span in box)])
        pair = [np.frombuffer(pixels.astype(found.dtype).tobytes(), "u1") for pixels in (found, expected)]
        differing += int(np.count_nonzero(pair[0] != pair[1]))
    return differing


def _connect(options: argparse.Namespace, gpus: list[str]) -> AbstractContextManager[Client]:
    if options.scheduler:
        return window.existing_scheduler(options.scheduler, options.patience)
    workers = arguments.count_workers(options, gpus)
    return window.local_cluster(workers, options.threads, options.memory_limit, gpus, options.retries + 1)


def _prepare(plan: Plan, found: dict[str, Any] | None, overwrite: bool) -> dict[str, Any]:
    """Return the mark of the output to write to, which is created unless it is there."""
    if found is not None:
        return found
    partial = stores.partial_place(plan.output)
    if overwrite and stores.read_mark(partial) is not None:
        stores.remove(partial)
    mark = {"run": uuid.uuid4().hex, "complete": False, "request": plan.request()}
    stores.create(partial, plan.array, plan.chunks, mark)
    return mark


def _run(options: argparse.Namespace, plan: Plan, client: Client, mark: dict[str, Any], resumes: bool) -> None:
    """Run the tasks."""
    partial = stores.partial_place(plan.output)
    job = tasks.Job(
        plan.source,
        partial,
        mark["run"],
        json.dumps(plan.options),
        plan.grid.batch,
        resumes,
        options.missing,
        tasks.library_version(),
    )

    def describe(number: int) -> str:
        spans = ", ".join(f"{low}:{high}" for low, high in plan.grid.written(number))
        first = [units.start for units in plan.grid.units_of(number)]
        return f"task {number} (from chunk {'/'.join(map(str, first))} on, [{spans}])"

    progress = Progress(plan.grid.tasks, plan.grid.units)
    runner = window.Runner(client, tasks.run_task, options.retries, job=job)
    bounds = window.Bounds(client, options.in_flight, patience=options.patience)
    try:
        window.run_bounded(runner, range(plan.grid.tasks), bounds, progress.hear, describe)
    finally:
        progress.end()


def _verify_and_publish(options: argparse.Namespace, plan: Plan, mark: dict[str, Any]) -> None:
    partial = stores.partial_place(plan.output)
    if options.verify:
        differing = differing_bytes(plan, stores.open_output(partial, mark["run"]), options.verify)
        print(f"{differing} of the bytes compared differ")
        if differing:
            raise window.RunError(f"{partial.url} is not what the filter yields, and is left unfinished")
    stores.complete(partial, mark)
    places.publish(plan.output, options.overwrite)
    print(f"{plan.output.url} is complete")


def filter_array(options: argparse.Namespace) -> None:
    """Do what the command line says."""
    gpus = [] if options.scheduler else arguments.find_gpus(options)
    if gpus and options.backend is None:
        options.backend = "cuda"
    threads = options.threads * arguments.count_workers(options, gpus)
    plan = make_plan(options, threads)
    if options.dry_run:
        print(plan.describe())
        return
    found = places.find_unfinished(plan.output, plan.request(), options.resume, options.overwrite)
    if found is not None and found["complete"]:
        if stores.read_mark(plan.output) == found:
            print(f"{plan.output.url} is complete already")
        else:
            # It was stopped between its last chunk and its name.
            _verify_and_publish(options, plan, found)
        return
    if options.resume and found is None:
        print(f"{plan.output.url} has not been begun: all of it is to be done")
    with _connect(options, gpus) as client:
        if options.scheduler:
            plan = make_plan(options, sum(client.nthreads().values()))
        print(plan.describe(), flush=True)
        mark = _prepare(plan, found, options.overwrite)
        _run(options, plan, client, mark, found is not None)
    # The workers of this program have ended before the output gets its name.
    _verify_and_publish(options, plan, mark)


def _stop(number: int, _frame: FrameType | None) -> None:
    """End like Ctrl-C."""
    raise SystemExit(128 + number)


def main(command_line: Sequence[str] | None = None) -> int:
    """Run the program.

    Parameters
    ----------
    command_line : sequence of str, optional
        The arguments; those of the process by default.

    Returns
    -------
    int
        The status that the process ends with: 0, 1 for an error, 2 for what is refused, 130 for Ctrl-C.

    """
    options = arguments.make_parser().parse_args(command_line)
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        filter_array(options)
    except Refusal as refusal:
        print(f"cudamedian-zarr: {refusal}", file=sys.stderr)
        return 2
    except (window.RunError, tasks.ChunkError, OSError) as error:
        print(f"cudamedian-zarr: {error}\nthe same command with --resume goes on", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, SystemExit) as stop:
        print("cudamedian-zarr: stopped; the same command with --resume goes on", file=sys.stderr)
        return 130 if isinstance(stop, KeyboardInterrupt) else int(stop.code or 0)
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0
