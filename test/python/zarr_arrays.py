# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Zarr arrays that tests write, read and look into."""

import itertools
import os

import numpy as np
import zarr

from cudamedian._zarr import stores, tasks


def make_input(path, array, chunks, **options):
    """Write an array."""
    store = zarr.create_array(str(path), shape=array.shape, chunks=chunks, dtype=array.dtype, **options)
    store[...] = array
    return path


def read(path):
    """Return what an array holds."""
    return zarr.open_array(str(path), mode="r")[...]


def make_store(path, value=0, own=False, shape=(6, 7)):
    """Write a small array, which holds the value."""
    attributes = {stores.MARK: {"run": "0", "complete": True, "request": {}}} if own else {}
    return make_input(path, np.full(shape, value, "uint16"), shape, attributes=attributes)


def list_files(folder):
    """Return what lies in a folder: names, and what is in files and links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def chunk_files(folder):
    """Return the files of the chunks of an array of format 3, with what would tell that one was written again."""
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in (folder / "c").rglob("*") if path.is_file()}


def fail_from(patch, number, error):
    """Let the filter fail from its n-th call on."""
    calls, filter_around = itertools.count(), tasks.filter_around

    def fail(*arguments):
        if next(calls) >= number:
            raise error
        return filter_around(*arguments)

    patch.setattr(tasks, "filter_around", fail)
