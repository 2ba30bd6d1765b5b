# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Arrays at URLs: how they are opened, created unfinished, and told from finished ones.

A local output is made in a hidden folder beside its place and gets its name when it is whole. An object store cannot
rename: the output is made in its place. Both have the attribute `MARK`, whose `complete` is false until then.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import fsspec
import zarr
from zarr.core.buffer import Buffer
from zarr.storage import FsspecStore, LocalStore

# The attribute that says who wrote an array, on which request, and whether it is complete.
MARK = "cudamedian_zarr"

# What may be an output: a PUT is whole or nothing there. Writes of other file systems of fsspec may be cut short.
ATOMIC = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oci", "oss", "memory")

# What there is in the folder of a Zarr array: descriptions of format 2 and 3, chunks, and what is being written.
STORE_NAMES = re.compile(r"zarr\.json|\.zarray|\.zattrs|c|\d+(\.\d+)*|\.writing-[0-9a-f]+")

# How many requests about keys are under way at a time.
REQUESTS = 16


class Refusal(Exception):  # noqa: N818 - nothing went wrong
    """What was asked for cannot be done, or could delete data. Nothing has been written."""


@dataclass(frozen=True)
class Place:
    """Where an array is: a URL, or a path of this machine, absolute, as workers run in other folders."""

    url: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @classmethod
    def parse(cls, text: str, options: Mapping[str, Any] | None = None) -> Place:
        """Return the place that a text names."""
        for scheme in ("file://", "local://"):
            text = text.removeprefix(scheme)
        if "://" in text:
            return cls(text.rstrip("/"), dict(options or {}))
        if options:
            raise Refusal(f"{text} is a local folder, which takes no options of a file system")
        return cls(os.path.abspath(text))

    @property
    def path(self) -> Path | None:
        """The local path, or None."""
        return None if "://" in self.url else Path(self.url)

    def file_system(self) -> tuple[Any, str]:
        """Return the file system of a URL, and the path in it."""
        return fsspec.url_to_fs(self.url, **self.options)

    def exists(self, keys: Iterable[str]) -> list[bool]:
        """Return which keys there are."""
        if self.path is not None:
            return [(self.path / key).exists() for key in keys]
        system, root = self.file_system()

        def exists(key: str) -> bool:
            return bool(system.exists(f"{root}/{key}"))

        with ThreadPoolExecutor(REQUESTS) as pool:
            return list(pool.map(exists, keys))

    def is_array(self) -> bool:
        """Whether there is the description of an array."""
        return any(self.exists(("zarr.json", ".zarray")))


class WholeFiles(LocalStore):
    """A local store whose files appear whole: each is written and synchronised under another name, and renamed.

    Zarr's own store renames, too, but does not synchronise: after a loss of power a file may be there and be empty. Its
    unfinished files lie among the chunks; here they are in a folder of the run, which is removed at the end. What was
    given up, and writes on nevertheless, can then no longer write.
    """

    def __init__(self, root: Path | str, run: str, *, read_only: bool = False) -> None:
        """Name the run."""
        super().__init__(root, read_only=read_only)
        self._run = run

    @property
    def writing(self) -> Path:
        """The folder for files that are not whole."""
        return self.root / f".writing-{self._run}"

    def with_read_only(self, read_only: bool = False) -> WholeFiles:
        """Return the same store, to read or to write."""
        return type(self)(self.root, self._run, read_only=read_only)

    def _ensure_open_sync(self) -> None:
        # Zarr's would make the folder anew after it got its name.
        if not self.root.is_dir():
            raise FileNotFoundError(f"{self.root} does not exist")
        self._is_open = True

    async def _open(self) -> None:
        self._ensure_open_sync()

    def set_sync(self, key: str, value: Buffer) -> None:
        """Write a file."""
        target, unfinished = self.root / key, self.writing / uuid.uuid4().hex
        try:
            with open(unfinished, "xb") as file:
                file.write(value.as_buffer_like())
                file.flush()
                os.fsync(file.fileno())
            target.parent.mkdir(parents=True, exist_ok=True)
            unfinished.replace(target)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(target)) from error

    async def set(self, key: str, value: Buffer) -> None:
        """Write a file."""
        await asyncio.to_thread(self.set_sync, key, value)


def open_store(place: Place, run: str | None = None) -> Any:
    """Return Zarr's store; with a run, one to write to."""
    if place.path is None:
        return FsspecStore.from_url(place.url, storage_options=dict(place.options), read_only=run is None)
    return LocalStore(place.path, read_only=True) if run is None else WholeFiles(place.path, run)


def open_input(place: Place) -> zarr.Array:
    """Return an array to read."""
    try:
        if not place.is_array():
            raise FileNotFoundError("it has neither zarr.json nor .zarray")
        array = zarr.open_array(open_store(place), mode="r")
    except Exception as error:  # noqa: BLE001 - Zarr and file systems raise many
        raise Refusal(f"{place.url} is not a Zarr array that can be read: {error}") from error
    if array.attrs.asdict().get(MARK, {}).get("complete") is False:
        raise Refusal(f"{place.url} is an unfinished output of cudamedian-zarr; finish it with --resume first")
    return array


def read_mark(place: Place) -> dict[str, Any] | None:
    """Return what the attribute says, or None where there is no array with one."""
    try:
        if not place.is_array():
            return None
        mark = zarr.open_array(open_store(place), mode="r").attrs.asdict().get(MARK)
    except Exception:  # noqa: BLE001 - whatever it is, it is no array of ours
        return None
    if not isinstance(mark, dict) or not {"run", "complete", "request"} <= mark.keys():
        return None
    return cast("dict[str, Any]", mark)


def is_own(place: Place) -> bool:
    """Whether there is an array that this program wrote, with nothing else in its folder."""
    path = place.path
    if path is not None:
        if path.is_symlink() or not path.is_dir():
            return False
        if not all(STORE_NAMES.fullmatch(entry.name) for entry in path.iterdir()):
            return False
    return read_mark(place) is not None


def unit_of(array: zarr.Array) -> tuple[int, ...]:
    """Return the shape of what is written at once: a shard, or a chunk."""
    return array.shards or array.chunks


def unit_key(array: zarr.Array, unit: Sequence[int]) -> str:
    """Return the key of a chunk or a shard."""
    return array.metadata.encode_chunk_key(tuple(unit))


def partial_place(output: Place) -> Place:
    """Return where an output is until it is whole."""
    path = output.path
    return output if path is None else Place(str(path.with_name(f".{path.name}.partial")))


def create(partial: Place, source: zarr.Array, chunks: tuple[int, ...] | None, mark: Mapping[str, Any]) -> None:
    """Create an unfinished output like the input, without chunks. Chunks of other shapes are not in shards."""
    shape: dict[str, Any] = {"fill_value": source.fill_value}
    if chunks is not None:
        shape.update(chunks=chunks, shards=None)
    attributes = {**source.attrs.asdict(), MARK: dict(mark)}
    run, path = mark["run"], partial.path
    if path is None:
        zarr.from_array(open_store(partial, run), data=source, write_data=False, attributes=attributes, **shape)
        return
    # It gets the name by which it is found when it has a description.
    folder = Path(tempfile.mkdtemp(prefix=f"{path.name}.new-", dir=path.parent))
    try:
        folder.chmod(0o777 & ~_umask())
        store = WholeFiles(folder, run)
        store.writing.mkdir()
        zarr.from_array(store, data=source, write_data=False, attributes=attributes, **shape)
        folder.rename(path)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def open_output(partial: Place, run: str) -> zarr.Array:
    """Return an unfinished output to write to. Every chunk is written, also one of nothing but the fill value."""
    # Zarr takes no notice of a config of `open_array` where the array is there.
    array = zarr.open_array(open_store(partial, run), mode="r+").with_config({"write_empty_chunks": True})
    found = array.attrs.asdict().get(MARK, {}).get("run")
    if found != run:
        raise RuntimeError(f"{partial.url} is of the run {found}, and no longer of {run}: nothing is written to it")
    return array


def remove(place: Place) -> None:
    """Delete an array that this program wrote; anything else is a Refusal."""
    if not is_own(place):
        raise Refusal(f"{place.url} is not a Zarr array that cudamedian-zarr wrote: it is left as it is")
    if place.path is not None:
        shutil.rmtree(place.path)
        return
    system, root = place.file_system()
    system.rm(root, recursive=True)


def complete(partial: Place, mark: Mapping[str, Any]) -> None:
    """Say in an output that it is complete. All chunks have been written."""
    if not mark["complete"]:
        array = open_output(partial, mark["run"])
        if partial.path is not None:
            # The names of the chunks are to survive a loss of power, as what is in them does.
            os.sync()
        array.attrs.update({MARK: {**mark, "complete": True}})
    if partial.path is not None:
        shutil.rmtree(partial.path / f".writing-{mark['run']}", ignore_errors=True)
