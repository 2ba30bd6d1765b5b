# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Filter a Zarr volume that outgrows the memory, with worker processes: one for each GPU, or on the CPU.

usage: filter_zarr.py INPUT OUTPUT --radius 1 1 1 --workers 2 --memory-limit 1GiB

The volume is read, filtered and written chunk by chunk; at the end come the time and the most memory that each worker
held. `--make SIZE` writes a random volume of that many bytes to INPUT first. `--verify` compares sampled blocks of the
result with the filter on the same region of the input.

Nothing that exists is written to. `--overwrite` replaces a store that this program wrote, and nothing else. A store is
written beside its place under a name of its own and gets its name when it is whole (and verified): until then the old
one stays as it is. A run that is killed leaves its part in a folder `.OUTPUT.partial-*`, which can be deleted.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import logging
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import dask.array
import numpy as np
import psutil
import zarr
from dask.utils import format_bytes, parse_bytes
from distributed import Client, Nanny, Scheduler, SpecCluster, progress, wait

from cudamedian import median_filter

# What a store has among its attributes that this program may replace.
MARK = {"written_by": "filter_zarr.py of itk-cudamedian"}

# What there is in the folder of a Zarr array: descriptions of format 2 and 3, and chunks.
STORE_NAMES = re.compile(r"zarr\.json|\.zarray|\.zattrs|c|\d+(\.\d+)*")


class Refusal(Exception):  # noqa: N818 - nothing went wrong
    """What was asked for could delete data."""


def is_own_store(path: Path) -> bool:
    """Whether a path is a store that this program wrote, with nothing else in its folder."""
    if path.is_symlink() or not path.is_dir() or not all(STORE_NAMES.fullmatch(entry.name) for entry in path.iterdir()):
        return False
    try:
        attributes = zarr.open_array(str(path), mode="r").attrs.asdict()
    except Exception:  # noqa: BLE001 - whatever it is, it is no store of ours
        return False
    return MARK.items() <= attributes.items()


def refuse_to_replace(path: Path, overwrite: bool) -> None:
    """Raise a Refusal unless there is nothing at a path, or a store that may be replaced."""
    if not path.parent.is_dir():
        raise Refusal(f"{path}: the folder {path.parent} does not exist")
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise Refusal(f"{path} exists; --overwrite replaces a store that this program wrote, and nothing else")
    if not is_own_store(path):
        raise Refusal(f"{path} exists and is not a Zarr store that this program wrote: it is left as it is")


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def refuse_to_nest(source: Path, output: Path) -> None:
    """Raise a Refusal where one path is the other or lies inside it, under whatever name."""
    source, output = Path(os.path.realpath(source)), Path(os.path.realpath(output))
    if _is_same(source, output):
        raise Refusal(f"the output {output} is the input")
    if any(_is_same(source, folder) for folder in output.parents):
        raise Refusal(f"the output {output} lies inside the input {source}")
    if any(_is_same(output, folder) for folder in source.parents):
        raise Refusal(f"the input {source} lies inside the output {output}")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step. Returns False where the system or the file system cannot."""
    exchange, here = 2, -100  # RENAME_EXCHANGE, AT_FDCWD
    try:
        rename = ctypes.CDLL(None).renameat2
    except AttributeError:
        return False
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def publish(partial: Path, path: Path, overwrite: bool) -> None:
    """Give a whole store its name, and delete the one that had it."""
    refuse_to_replace(path, overwrite)
    if not os.path.lexists(path):
        partial.rename(path)
    elif _exchange(partial, path):
        if not is_own_store(partial):
            _exchange(partial, path)
            raise Refusal(f"{path} became something else meanwhile: it is left as it is")
        shutil.rmtree(partial)
    else:
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
        path.rename(old / "store")
        try:
            partial.rename(path)
        except BaseException:
            (old / "store").rename(path)
            old.rmdir()
            raise
        shutil.rmtree(old)


@contextlib.contextmanager
def staging(path: Path) -> Iterator[Path]:
    """Offer a path for a store that is not whole yet, on the same file system; what is left there is deleted."""
    folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.partial-", dir=path.parent))
    try:
        yield folder / "store"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def mark(path: Path) -> None:
    """Say in a store who wrote it."""
    zarr.open_array(str(path), mode="r+").attrs.update(MARK)


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
    volume.to_zarr(str(path))
    mark(path)


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


def filter_store(options: argparse.Namespace, partial: Path, client: Client) -> None:
    """Filter from store to store, with a progress bar."""
    source = dask.array.from_zarr(str(options.input))
    result = median_filter(source, radius=options.radius, backend="cuda" if options.gpus else "auto")
    writing = client.compute(result.to_zarr(str(partial), compute=False))
    progress(writing, notebook=False)
    wait(writing)
    print()
    writing.result()
    mark(partial)


def count(text: str) -> int:
    """Return a number of at least 1."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is below 1")
    return value


def radius(text: str) -> int:
    """Return a number of at least 0."""
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is below 0")
    return value


def volume_bytes(text: str) -> int:
    """Return a size such as 2GiB in bytes, of at least one voxel."""
    value = parse_bytes(text)
    if value < 2:
        raise argparse.ArgumentTypeError(f"{text} holds no voxel of 2 bytes")
    return value


def parse_arguments() -> argparse.Namespace:
    """Return the command line's options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("--radius", type=radius, nargs="+", default=[1], help="pixels, z y x, or one for all axes")
    parser.add_argument("--workers", type=count, default=2)
    parser.add_argument("--gpus", nargs="*", default=[], help="one worker for each of these, for example 0 1 2 3")
    parser.add_argument("--memory-limit", default="1GiB", help="of each worker")
    parser.add_argument("--make", type=volume_bytes, metavar="SIZE", help="write a random volume to INPUT first")
    parser.add_argument("--chunk", type=count, default=128, help="side of the chunks that --make writes")
    parser.add_argument("--overwrite", action="store_true", help="replace stores that this program wrote")
    parser.add_argument("--verify", action="store_true")
    return parser.parse_args()


def check_paths(options: argparse.Namespace) -> None:
    """Raise a Refusal where the run would write to what it reads, or over what is somebody else's."""
    refuse_to_nest(options.input, options.output)
    if options.make:
        refuse_to_replace(options.input, options.overwrite)
    refuse_to_replace(options.output, options.overwrite)


def open_input(options: argparse.Namespace) -> zarr.Array:
    """Return the input; sets the radius along each of its axes."""
    try:
        source = zarr.open_array(str(options.input), mode="r")
    except Exception as error:  # noqa: BLE001 - Zarr raises many
        raise Refusal(f"{options.input} is not a Zarr array: {error}") from error
    options.radius = tuple(options.radius * source.ndim if len(options.radius) == 1 else options.radius)
    if len(options.radius) != source.ndim:
        raise Refusal(f"--radius has {len(options.radius)} values, but {options.input} has {source.ndim} axes")
    return source


def run(options: argparse.Namespace, cluster: SpecCluster, client: Client, partial: Path) -> bool:
    """Filter and print. Returns whether the result, which is not in its place yet, is right."""
    client.wait_for_workers(len(cluster.worker_spec))
    if options.make:
        with staging(options.input) as volume:
            make_volume(volume, options.make, options.chunk)
            publish(volume, options.input, options.overwrite)
        client.restart()
    source = open_input(options)
    print(
        f"{options.input}: {'x'.join(map(str, source.shape))} of {source.dtype}, {format_bytes(source.nbytes)}, "
        f"chunks {'x'.join(map(str, source.chunks))}; {len(cluster.worker_spec)} workers of {options.memory_limit}"
    )
    start = time.perf_counter()
    with MemoryWatch(client) as watch:
        filter_store(options, partial, client)
    seconds = time.perf_counter() - start
    print(f"{seconds:.1f} s, {source.size / seconds / 1e6:.1f} Mvoxel/s")
    for number, most in enumerate(watch.most.values()):
        print(f"worker {number}: at most {format_bytes(most)}")
    if not options.verify:
        return True
    differing = verify(source, zarr.open_array(str(partial), mode="r"), options.radius)
    print(f"{differing} of the voxels compared differ")
    return differing == 0


def main() -> int:
    """Filter and print."""
    options = parse_arguments()
    # Ends like Ctrl-C: what is not whole is deleted.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        check_paths(options)
        if not options.make:
            open_input(options)
        with staging(options.output) as partial:
            # The workers have ended before what they write is deleted, or gets its name.
            with (
                start_cluster(options.workers, options.memory_limit, options.gpus) as cluster,
                Client(cluster) as client,
            ):
                right = run(options, cluster, client, partial)
            if not right:
                print(f"{options.output} is left as it was")
                return 1
            publish(partial, options.output, options.overwrite)
    except Refusal as refusal:
        print(f"filter_zarr.py: {refusal}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
