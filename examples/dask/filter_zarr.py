# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Filter a Zarr volume that outgrows the memory, with worker processes: one for each GPU, or on the CPU.

usage: filter_zarr.py INPUT OUTPUT --radius 1 1 1 --workers 2 --memory-limit 1GiB

The volume is read, filtered and written chunk by chunk; at the end come the time and the most memory that each worker
held. `--make SIZE` writes a random volume of that many bytes to INPUT first. `--verify` compares sampled blocks of the
result with the filter on the same region of the input.
"""

from __future__ import annotations

import argparse
import logging
import threading
import time
from pathlib import Path

import dask.array
import numpy as np
import psutil
import zarr
from dask.utils import format_bytes, parse_bytes
from distributed import Client, Nanny, Scheduler, SpecCluster, progress, wait

from itk_cuda_median import median_filter


def start_cluster(workers: int, memory_limit: str, gpus: list[str]) -> SpecCluster:
    """Return a cluster of worker processes on this machine; with `gpus`, each sees one of them."""
    specification = {}
    for index in range(len(gpus) or workers):
        options = {"nthreads": 1, "memory_limit": memory_limit}
        if gpus:
            options["env"] = {"CUDA_VISIBLE_DEVICES": gpus[index]}
        specification[index] = {"cls": Nanny, "options": options}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": ":0"}}
    return SpecCluster(specification, scheduler, silence_logs=logging.ERROR)


class MemoryWatch:
    """The most memory that each worker process held, looked at five times a second."""

    def __init__(self, client: Client) -> None:
        """Find the processes of the cluster's workers."""
        self._processes = [psutil.Process(pid) for pid in client.run(_process_id).values()]
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.most = {process.pid: 0 for process in self._processes}

    def __enter__(self) -> MemoryWatch:
        """Start to look."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop looking."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.2):
            for process in self._processes:
                try:
                    self.most[process.pid] = max(self.most[process.pid], process.memory_info().rss)
                except psutil.NoSuchProcess:
                    pass


def _process_id() -> int:
    import os  # noqa: PLC0415 - runs in a worker

    return os.getpid()


def make_volume(path: Path, size: int, chunk: int) -> None:
    """Write a random 16-bit volume, chunk by chunk."""
    side = chunk * round((size / 2) ** (1 / 3) / chunk + 0.5)
    volume = dask.array.random.default_rng(3).integers(0, 4096, (side, side, side), "uint16", chunks=chunk)
    volume.to_zarr(str(path), overwrite=True)


def verify(source: zarr.Array, result: zarr.Array, radius: tuple[int, ...], blocks: int = 8) -> int:
    """Return how many voxels of some random blocks, and of the corners, differ from the filter in one piece."""
    random = np.random.default_rng(5)
    side = np.minimum(source.shape, 96)
    starts = [np.zeros(source.ndim, int), np.array(source.shape) - side]
    starts += [random.integers(0, np.array(source.shape) - side + 1) for _ in range(blocks)]
    differing = 0
    for start in starts:
        low = np.maximum(start - radius, 0)
        high = np.minimum(start + side + radius, source.shape)
        around = np.asarray(source[tuple(map(slice, low, high))])
        inner = tuple(map(slice, start - low, start - low + side))
        expected = median_filter(around, radius=radius)[inner]
        differing += np.count_nonzero(expected != result[tuple(map(slice, start, start + side))])
    return differing


def filter_store(options: argparse.Namespace, client: Client) -> None:
    """Filter from store to store, with a progress bar."""
    source = dask.array.from_zarr(str(options.input))
    result = median_filter(source, radius=options.radius, backend="cuda" if options.gpus else "auto")
    writing = client.compute(result.to_zarr(str(options.output), overwrite=True, compute=False))
    progress(writing, notebook=False)
    wait(writing)
    print()
    writing.result()


def parse_arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--radius", type=int, nargs="+", default=[1], help="pixels, z y x, or one for all axes")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpus", nargs="*", default=[], help="one worker for each of these, for example 0 1 2 3")
    parser.add_argument("--memory-limit", default="1GiB", help="of each worker")
    parser.add_argument("--make", type=parse_bytes, metavar="SIZE", help="write a random volume to INPUT first")
    parser.add_argument("--chunk", type=int, default=128, help="side of the chunks that --make writes")
    parser.add_argument("--verify", action="store_true")
    return parser.parse_args()


def main() -> int:
    """Filter and print."""
    options = parse_arguments()
    with start_cluster(options.workers, options.memory_limit, options.gpus) as cluster, Client(cluster) as client:
        client.wait_for_workers(len(cluster.worker_spec))
        if options.make:
            make_volume(options.input, options.make, options.chunk)
            client.restart()
        source = zarr.open(str(options.input), mode="r")
        options.radius = tuple(options.radius * source.ndim if len(options.radius) == 1 else options.radius)
        print(
            f"{options.input}: {'x'.join(map(str, source.shape))} of {source.dtype}, {format_bytes(source.nbytes)}, "
            f"chunks {'x'.join(map(str, source.chunks))}; {len(cluster.worker_spec)} workers of {options.memory_limit}"
        )
        start = time.perf_counter()
        with MemoryWatch(client) as watch:
            filter_store(options, client)
        seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, {source.size / seconds / 1e6:.1f} Mvoxel/s")
    for number, most in enumerate(watch.most.values()):
        print(f"worker {number}: at most {format_bytes(most)}")
    if options.verify:
        differing = verify(source, zarr.open(str(options.output), mode="r"), options.radius)
        print(f"{differing} of the voxels compared differ")
        return 1 if differing else 0
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
