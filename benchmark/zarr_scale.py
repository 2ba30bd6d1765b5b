#!/usr/bin/env python3
# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Measures what bounds cudamedian-zarr, and reckons from that what large arrays take: documentation/scale.md.

usage: zarr_scale.py tasks [--counts 10000 100000] [--workers 2] [--in-flight 64]
       zarr_scale.py worker [--side 512] [--chunk 128] [--folder FOLDER]
       zarr_scale.py estimate

`tasks` runs empty tasks through the command's own bounded window, with a scheduler in a process of its own: tasks a
second, and how the memory of the scheduler and of the client grows. `worker` filters an array with one worker of one
thread: what reading, filtering and writing take of a task. `estimate` prints what 1 TB and 1 PB take on 10 to 1,000
workers and what limits it, from the rates that its options have. A batch reads the
chunks around it, too: of 4x4x4 chunks, 6x6x6.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import zarr

from cudamedian._zarr import command, tasks, window
from cudamedian._zarr.stores import Place


@contextlib.contextmanager
def start_scheduler(workers: int, folder: Path) -> Iterator[tuple[str, psutil.Process]]:
    """Start a scheduler and workers in processes of their own; yield the scheduler's file and process."""
    file = folder / "scheduler.json"
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [sys.executable, "-c", "from distributed.cli.dask_scheduler import main; main()"]
    scheduler = subprocess.Popen(
        [*start, "--port", "0", "--no-dashboard", "--dashboard-address", ":0", "--scheduler-file", file], **options
    )
    program = [sys.executable, "-c", "from distributed.cli.dask_worker import main; main()"]
    more = ["--nworkers", str(workers), "--nthreads", "1", "--no-dashboard", "--local-directory", folder]
    worker = subprocess.Popen([*program, "--scheduler-file", file, *more], **options)
    try:
        while not file.exists():
            time.sleep(0.1)
        yield str(file), psutil.Process(scheduler.pid)
    finally:
        for process in (worker, scheduler):
            process.terminate()
            process.wait(30)


def measure_tasks(options: argparse.Namespace) -> None:
    """Print how many empty tasks run in a second, and what they leave in memory."""
    print("| tasks | seconds | tasks a second | scheduler: µs of CPU for a task | client | MiB: scheduler | client |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder, start_scheduler(options.workers, Path(folder)) as (file, scheduler):
        with window.existing_scheduler(file, 60) as client:
            client.wait_for_workers(options.workers)
            job = tasks.Job(Place("/input"), Place("/output"), "0" * 32, '{"radius": 1}', (4, 4, 4))
            both = (scheduler, psutil.Process())
            for count in (100, *options.counts):
                before = [(sum(process.cpu_times()[:2]), process.memory_info().rss) for process in both]
                runner, start = window.Runner(client, tasks.do_nothing, 2, job=job), time.perf_counter()
                window.run_bounded(runner, range(count), window.Bounds(client, options.in_flight), lambda _group: None)
                seconds = time.perf_counter() - start
                after = [(sum(process.cpu_times()[:2]), process.memory_info().rss) for process in both]
                pairs = list(zip(before, after, strict=True))
                used = [f"{(now[0] - then[0]) / count * 1e6:.0f}" for then, now in pairs]
                memory = [f"{then[1] / 2**20:.0f} → {now[1] / 2**20:.0f}" for then, now in pairs]
                if count > 100:  # The first make connections.
                    cells = [f"{count:,}", f"{seconds:.1f}", f"{count / seconds:.0f}", *used, *memory]
                    print(f"| {' | '.join(cells)} |", flush=True)


def make_volume(path: Path, side: int, chunk: int) -> None:
    """Write a volume of 16 bits that compresses about as a scan does: smooth, with noise of some bits."""
    array = zarr.create_array(str(path), shape=(side,) * 3, chunks=(chunk,) * 3, dtype="uint16")
    random = np.random.default_rng(3)
    line = np.sin(np.arange(side) / 40)
    for start in range(0, side, chunk):
        slab = 1000 + 300 * (line[start : start + chunk, None, None] + line[:, None] + line)
        array[start : start + chunk] = (slab + random.normal(0, 12, slab.shape)).astype("uint16")


def measure_worker(options: argparse.Namespace) -> None:
    """Print what a worker of one thread takes for the parts of a task, by window and batch."""
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        source, output = Path(folder) / "in.zarr", Path(folder) / "out.zarr"
        make_volume(source, options.side, options.chunk)
        stored = sum(file.stat().st_size for file in source.rglob("*") if file.is_file())
        size = 2 * options.side**3
        print(f"{size / 1e6:.0f} MB in {stored / 1e6:.0f} MB of chunks of {options.chunk}³")
        print(
            "| radius | batch | reads chunks | reading s (their MB/s) | filtering s (MB/s) | writing s (MB/s) | all |"
        )
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for radius in options.radius:
            for batch in options.batch:
                arguments = [str(source), str(output), "--radius", str(radius), "--batch", str(batch), "--overwrite"]
                text = io.StringIO()
                with contextlib.redirect_stdout(text):
                    status = command.main(
                        [*arguments, "--workers", "1", "--threads", "1", "--gpus", "--backend", "cpu"]
                    )
                if status:
                    raise SystemExit(status)
                times = re.search(r"reading ([\d.]+) s, filtering ([\d.]+) s, writing ([\d.]+) s", text.getvalue())
                whole = re.search(r"whole chunks of .*, ([\d.]+) times", text.getvalue())
                parts = [float(part) for part in times.groups()]
                cells = [
                    f"{seconds} ({moved * size / 1e6 / max(seconds, 0.05):.0f})"
                    for seconds, moved in zip(parts, (float(whole[1]), 1, 1), strict=True)
                ]
                print(
                    f"| {radius} | {batch}³ | {whole[1]} times | {' | '.join(cells)} | {size / sum(parts) / 1e6:.0f} |"
                )


def estimate(options: argparse.Namespace) -> None:
    """Print how long large arrays take, and the term that limits each: all of them go on at the same time."""
    read_again = ((options.batch + 2) / options.batch) ** 3
    parts = {
        "reading": read_again / options.reading,
        "filtering": 1 / options.filtering,
        "writing": 1 / options.writing,
    }
    seconds_for_a_byte, longest = sum(parts.values()) / 1e6, max(parts, key=parts.__getitem__)
    print(
        f"A worker: {1e-6 / seconds_for_a_byte:.0f} MB/s of the array, whose chunks are read {read_again:.2f} times.\n"
    )
    print("| array | tasks | workers | scheduler | workers | storage | takes | limited by |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, size in (("1 TB", 1e12), ("1 PB", 1e15)):
        count = size / (2 * options.chunk**3 * options.batch**3)
        for workers in (10, 100, 1000):
            terms = {
                "scheduler": count / options.tasks_per_second,
                f"workers, {longest}": size * seconds_for_a_byte / workers,
                "storage": size * (read_again + 1) / options.compression / (options.storage * 1e9),
            }
            most = max(terms, key=terms.__getitem__)
            times = " | ".join(show(seconds) for seconds in terms.values())
            print(f"| {name} | {count:,.0f} | {workers:,} | {times} | {show(terms[most])} | {most} |")


def show(seconds: float) -> str:
    """Return a time as one reads it."""
    for unit, length in (("years", 31557600), ("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s"


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(required=True)
    part = parts.add_parser("tasks")
    part.add_argument("--counts", type=int, nargs="+", default=[10_000, 100_000])
    part.add_argument("--workers", type=int, default=2)
    part.add_argument("--in-flight", type=int, default=64)
    part.set_defaults(run=measure_tasks)
    part = parts.add_parser("worker")
    part.add_argument("--side", type=int, default=512)
    part.add_argument("--chunk", type=int, default=128)
    part.add_argument("--radius", type=int, nargs="+", default=[1, 2])
    part.add_argument("--batch", type=int, nargs="+", default=[1, 2, 4])
    part.add_argument("--folder", help="where the arrays are made")
    part.set_defaults(run=measure_worker)
    part = parts.add_parser("estimate")
    part.add_argument("--chunk", type=int, default=128, help="side of the chunks, of 16 bits")
    part.add_argument("--batch", type=int, default=4, help="chunks of a task along each axis")
    part.add_argument("--tasks-per-second", type=float, required=True)
    rate = {"type": float, "required": True, "metavar": "MB/S"}
    part.add_argument("--reading", help="of a worker, of whole chunks", **rate)
    part.add_argument("--filtering", help="of a worker, of the array", **rate)
    part.add_argument("--writing", help="of a worker, of the array", **rate)
    part.add_argument("--compression", type=float, default=1, help="bytes of the array for each that is stored")
    part.add_argument(
        "--storage", type=float, default=20, help="GB a second of the storage, reading and writing together"
    )
    part.set_defaults(run=estimate)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
