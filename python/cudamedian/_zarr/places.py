# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What an output may replace, and how a local one gets its name."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from pathlib import Path
from typing import cast

from .stores import ATOMIC, Place, Refusal, is_own, partial_place, read_mark


def refuse_to_replace(place: Place, overwrite: bool) -> None:
    """Raise a Refusal unless there is nothing at a place, or an array that may be replaced."""
    path = place.path
    if path is not None:
        if not path.parent.is_dir():
            raise Refusal(f"{path}: the folder {path.parent} does not exist")
        if not os.path.lexists(path):
            return
    else:
        system, root = place.file_system()
        if not system.exists(root) and not place.is_array():
            return
    if not overwrite:
        raise Refusal(f"{place.url} exists; --overwrite replaces an array that cudamedian-zarr wrote, and nothing else")
    if not is_own(place):
        raise Refusal(f"{place.url} exists and is not a Zarr array that cudamedian-zarr wrote: it is left as it is")


def refuse_protocol(output: Place) -> None:
    """Raise a Refusal where a chunk might be written in part."""
    protocol = output.url.partition("://")[0]
    if output.path is None and protocol not in ATOMIC:
        raise Refusal(
            f"{output.url}: whether a write to {protocol}:// is whole or nothing is not known; an output is a local "
            f"folder or in an object store ({', '.join(ATOMIC)})"
        )


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def refuse_to_nest(source: Place, output: Place) -> None:
    """Raise a Refusal where one place is the other or lies inside it, under whatever name."""
    if (source.path is None) != (output.path is None):
        return
    if source.path is None:
        if source.url == output.url:
            raise Refusal(f"the output {output.url} is the input")
        if output.url.startswith(source.url + "/"):
            raise Refusal(f"the output {output.url} lies inside the input {source.url}")
        if source.url.startswith(output.url + "/"):
            raise Refusal(f"the input {source.url} lies inside the output {output.url}")
        return
    real, target = Path(os.path.realpath(source.url)), Path(os.path.realpath(output.url))
    if _is_same(real, target):
        raise Refusal(f"the output {target} is the input")
    if any(_is_same(real, folder) for folder in target.parents):
        raise Refusal(f"the output {target} lies inside the input {real}")
    if any(_is_same(target, folder) for folder in real.parents):
        raise Refusal(f"the input {real} lies inside the output {target}")


def _exchange(one: Path, other: Path) -> bool:
    """Let two folders change names in one step. Returns False where the system or the file system cannot."""
    exchange, here = 2, -100  # RENAME_EXCHANGE, AT_FDCWD
    try:
        rename = ctypes.CDLL(None).renameat2
    except AttributeError:
        return False
    return rename(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0


def publish(output: Place, overwrite: bool) -> None:
    """Give a whole local output its name, and delete the array that had it. One in an object store has its name."""
    partial, path = partial_place(output).path, output.path
    if partial is None or path is None:
        return
    refuse_to_replace(output, overwrite)
    if not os.path.lexists(path):
        partial.rename(path)
    elif _exchange(partial, path):
        if not is_own(Place(str(partial))):
            _exchange(partial, path)
            raise Refusal(f"{path} became something else meanwhile: it is left as it is")
        shutil.rmtree(partial)
    else:
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.old-", dir=path.parent))
        path.rename(old / "array")
        try:
            partial.rename(path)
        except BaseException:
            (old / "array").rename(path)
            old.rmdir()
            raise
        shutil.rmtree(old)


def compare_requests(place: Place, found: object, wanted: dict[str, object]) -> None:
    """Raise a Refusal that names what differs between an unfinished output's request and the one to resume with."""
    request = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    differing = [key for key in {**wanted, **request} if request.get(key) != wanted.get(key)]
    if differing:
        told = "; ".join(f"{key} was {request.get(key)!r} and is {wanted.get(key)!r}" for key in differing)
        raise Refusal(f"{place.url} cannot be resumed with another request: {told}")


def find_unfinished(
    output: Place, request: dict[str, object], resume: bool, overwrite: bool
) -> dict[str, object] | None:
    """Return the mark of the unfinished or finished output to go on with, or None where all is to be done.

    Raises a Refusal where something is in the way.
    """
    partial = partial_place(output)
    mark = read_mark(partial)
    if resume:
        if mark is None and partial != output:
            mark = read_mark(output)
            if overwrite and (mark is None or mark.get("request") != request):
                mark = None
        if mark is None:
            refuse_to_replace(partial, overwrite=False)
            refuse_to_replace(output, overwrite)
            return None
        compare_requests(partial, mark.get("request"), request)
        return mark
    if mark is not None and not overwrite and (partial != output or not mark["complete"]):
        raise Refusal(f"{partial.url} is what an earlier run left: --resume goes on with it, --overwrite starts anew")
    refuse_to_replace(output, overwrite)
    if partial != output:
        refuse_to_replace(partial, overwrite)
    return None
