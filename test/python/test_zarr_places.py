# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cudamedian-zarr deletes nothing that is not its own, and leaves an old array until the new one is whole."""

import os
from pathlib import Path

import numpy as np
import pytest
import zarr

from cudamedian import median_filter
from cudamedian._zarr import places
from cudamedian._zarr.stores import Place, Refusal
from zarr_arrays import fail_from, list_files, make_input, make_store, read


def make_places(folder):
    """Return what may stand where an output is to go, none of it the program's own."""
    (folder / "photos").mkdir()
    (folder / "photos" / "holiday.jpg").write_text("of 2019")
    (folder / "empty").mkdir()
    (folder / "file").write_text("text")
    (folder / "dangling").symlink_to("nowhere")
    make_store(folder / "foreign.zarr", 3)
    zarr.open_group(str(folder / "group.zarr"), mode="w")
    make_store(folder / "own.zarr", 4, own=True)
    (folder / "link.zarr").symlink_to("own.zarr")
    make_store(folder / "notes.zarr", 5, own=True)
    (folder / "notes.zarr" / "notes.txt").write_text("of mine")
    return ["photos", "empty", "file", "dangling", "foreign.zarr", "group.zarr", "link.zarr", "notes.zarr"]


def test_what_exists_is_refused_with_overwrite_and_without(tmp_path):
    names = make_places(tmp_path)
    before = list_files(tmp_path)

    def refuse(name, overwrite):
        places.refuse_to_replace(Place.parse(str(tmp_path / name)), overwrite)

    for name in [*names, "own.zarr"]:
        with pytest.raises(Refusal, match="exists; --overwrite replaces"):
            refuse(name, overwrite=False)
    for name in names:
        with pytest.raises(Refusal, match="is not a Zarr array that cudamedian-zarr wrote"):
            refuse(name, overwrite=True)
    refuse("own.zarr", overwrite=True)
    refuse("new.zarr", overwrite=False)
    with pytest.raises(Refusal, match="nofolder does not exist"):
        refuse("nofolder/new.zarr", overwrite=True)
    assert list_files(tmp_path) == before


def test_paths_that_are_the_input_or_nested(tmp_path, monkeypatch):
    source = make_store(tmp_path / "in.zarr")
    (tmp_path / "link.zarr").symlink_to("in.zarr")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "up").symlink_to("..")
    monkeypatch.chdir(tmp_path)

    def refuse(one, other):
        places.refuse_to_nest(Place.parse(str(one)), Place.parse(str(other)))

    for same in (
        "in.zarr",
        "in.zarr/",
        "./in.zarr",
        "link.zarr",
        "link.zarr/",
        "folder/up/in.zarr",
        f"file://{source}",
    ):
        for one, other in ((source, same), (same, source), (same, "link.zarr")):
            with pytest.raises(Refusal, match="is the input"):
                refuse(one, other)
    for inside in ("in.zarr/out.zarr", "in.zarr/c/out.zarr", "link.zarr/out.zarr", "folder/up/in.zarr/c/out"):
        with pytest.raises(Refusal, match="output .* lies inside the input"):
            refuse(source, inside)
        with pytest.raises(Refusal, match="input .* lies inside the output"):
            refuse(inside, source)
    for beside in ("in.zarr2", "in", "folder/in.zarr", "../in.zarr"):
        refuse(source, beside)


@pytest.mark.parametrize("exchange", [True, False])
def test_an_old_array_is_replaced_or_stays(tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(places, "_exchange", lambda *_paths: False)
    path = make_store(tmp_path / "out.zarr", 1, own=True)
    make_store(tmp_path / ".out.zarr.partial", 2, own=True)
    before, place = list_files(tmp_path), Place.parse(str(path))
    # Somebody else puts something there at the last moment.
    with monkeypatch.context() as patch:
        patch.setattr(places, "refuse_to_replace", lambda *_arguments: None)
        (path / "notes.txt").write_text("of mine")
        if exchange:
            with pytest.raises(Refusal, match="became something else"):
                places.publish(place, overwrite=True)
            assert (path / "notes.txt").read_text() == "of mine"
        (path / "notes.txt").unlink()
    assert list_files(tmp_path) == before

    if not exchange:
        rename, calls = Path.rename, []

        def fail_once(self, target):
            calls.append(self)
            if len(calls) == 2:
                raise OSError("no second rename")
            return rename(self, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", fail_once)
            with pytest.raises(OSError, match="no second rename"):
                places.publish(place, overwrite=True)
        assert list_files(tmp_path) == before

    places.publish(place, overwrite=True)
    assert (read(path) == 2).all()
    assert os.listdir(tmp_path) == ["out.zarr"]


def test_overwrite_starts_anew_and_leaves_the_old_until_then(random, run, tmp_path, monkeypatch):
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input(tmp_path / "in.zarr", array, (6, 7))
    run(tmp_path / "in.zarr", tmp_path / "out.zarr")
    old = list_files(tmp_path / "out.zarr")
    with monkeypatch.context() as patch:
        fail_from(patch, 3, ValueError("stopped"))
        arguments = ("--radius", 2, "--overwrite", "--batch", 1, "--retries", 0)
        run(tmp_path / "in.zarr", tmp_path / "out.zarr", *arguments, status=1)
    assert list_files(tmp_path / "out.zarr") == old
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--radius", 3, "--overwrite", "--resume", status=2)
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--radius", 3, "--overwrite")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, radius=3))
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


def test_refusals_of_the_program(run, tmp_path):
    source = make_store(tmp_path / "in.zarr", 3, own=True)
    make_input(tmp_path / "complex.zarr", np.zeros((3, 3), "complex64"), (3, 3))
    make_places(tmp_path)
    before = list_files(tmp_path)
    for arguments, text in (
        ((source, source), "is the input"),
        ((source, source, "--overwrite"), "is the input"),
        ((source, tmp_path / "photos", "--overwrite"), "left as it is"),
        ((source, tmp_path / "own.zarr"), "--overwrite replaces"),
        ((tmp_path / "photos", tmp_path / "new.zarr"), "is not a Zarr array"),
        ((tmp_path / "missing", tmp_path / "new.zarr"), "is not a Zarr array"),
        ((tmp_path / "complex.zarr", tmp_path / "new.zarr"), "have no median here"),
        ((source, tmp_path / "new.zarr", "--radius", "1", "1", "1"), "radius has 3 values"),
        ((source, tmp_path / "new.zarr", "--radius", "-1"), "it is at least 0"),
        ((source, tmp_path / "new.zarr", "--mode", "torus"), "invalid choice"),
        ((source, tmp_path / "new.zarr", "--mode", "constant", "--cval", "-1"), "cval is -1"),
        ((source, tmp_path / "new.zarr", "--footprint", "cube:1"), "is no footprint"),
        ((source, tmp_path / "new.zarr", "--batch", "1", "1", "1"), "--batch has 3 values"),
        ((source, tmp_path / "new.zarr", "--input-options", "{}x"), "is not JSON"),
        ((source, tmp_path / "new.zarr", "--output-options", '{"anon": true}'), "takes no options"),
    ):
        assert text in run(*arguments, status=2)
        assert list_files(tmp_path) == before
