# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""examples/dask/filter_zarr.py deletes nothing that is not its own, and leaves an old store until the new is whole."""

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import zarr

from cudamedian import median_filter

SCRIPT = Path(__file__).parents[2] / "examples" / "dask" / "filter_zarr.py"
SECONDS = 120


@pytest.fixture(scope="module")
def example():
    """Return the example as a module."""
    specification = importlib.util.spec_from_file_location("filter_zarr", SCRIPT)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def make_store(path, value=0, own=False, shape=(6, 7)):
    """Write a store, whose chunk is the value."""
    store = zarr.create_array(str(path), shape=shape, chunks=shape, dtype="uint16")
    store[...] = value
    if own:
        store.attrs["written_by"] = "filter_zarr.py of itk-cudamedian"
    return path


def list_files(folder):
    """Return what lies in a folder: names, and what is in files and links."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def run(*arguments, status=0):
    """Run the example, which must end with a status; return what it printed."""
    command = [sys.executable, SCRIPT, *map(str, arguments), "--workers", "1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def make_places(folder):
    """Return what may stand where an output is to go, none of it the example's own."""
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


def test_what_exists_is_refused_with_overwrite_and_without(example, tmp_path):
    names = make_places(tmp_path)
    before = list_files(tmp_path)
    for name in [*names, "own.zarr"]:
        with pytest.raises(example.Refusal, match="exists; --overwrite replaces"):
            example.refuse_to_replace(tmp_path / name, overwrite=False)
    for name in names:
        with pytest.raises(example.Refusal, match="is not a Zarr store that this program wrote"):
            example.refuse_to_replace(tmp_path / name, overwrite=True)
    example.refuse_to_replace(tmp_path / "own.zarr", overwrite=True)
    example.refuse_to_replace(tmp_path / "new.zarr", overwrite=False)
    with pytest.raises(example.Refusal, match="nofolder does not exist"):
        example.refuse_to_replace(tmp_path / "nofolder" / "new.zarr", overwrite=True)
    assert list_files(tmp_path) == before


def test_paths_that_are_the_input_or_nested(example, tmp_path, monkeypatch):
    source = make_store(tmp_path / "in.zarr")
    (tmp_path / "link.zarr").symlink_to("in.zarr")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "up").symlink_to("..")
    monkeypatch.chdir(tmp_path)
    for same in ("in.zarr", "in.zarr/", "./in.zarr", "link.zarr", "link.zarr/", "folder/up/in.zarr"):
        for one, other in ((source, same), (same, source), (same, "link.zarr")):
            with pytest.raises(example.Refusal, match="is the input"):
                example.refuse_to_nest(Path(one), Path(other))
    for inside in ("in.zarr/out.zarr", "in.zarr/c/out.zarr", "link.zarr/out.zarr", "folder/up/in.zarr/c/out"):
        with pytest.raises(example.Refusal, match="output .* lies inside the input"):
            example.refuse_to_nest(source, Path(inside))
        with pytest.raises(example.Refusal, match="input .* lies inside the output"):
            example.refuse_to_nest(Path(inside), source)
    for beside in ("in.zarr2", "in", "folder/in.zarr", "../in.zarr"):
        example.refuse_to_nest(source, Path(beside))


def test_a_part_is_deleted_and_a_whole_store_gets_its_name(example, tmp_path):
    with pytest.raises(KeyError), example.staging(tmp_path / "out.zarr") as partial:
        make_store(partial, 1)
        raise KeyError("half way")
    assert list_files(tmp_path) == {}
    with example.staging(tmp_path / "out.zarr") as partial:
        make_store(partial, 1)
        example.mark(partial)
        example.publish(partial, tmp_path / "out.zarr", overwrite=False)
    assert example.is_own_store(tmp_path / "out.zarr")
    assert os.listdir(tmp_path) == ["out.zarr"]


@pytest.mark.parametrize("exchange", [True, False])
def test_an_old_store_is_replaced_or_stays(example, tmp_path, monkeypatch, exchange):
    if not exchange:
        monkeypatch.setattr(example, "_exchange", lambda *_paths: False)
    path = make_store(tmp_path / "out.zarr", 1, own=True)
    before = list_files(tmp_path)

    def replace():
        with example.staging(path) as partial:
            make_store(partial, 2, own=True)
            example.publish(partial, path, overwrite=True)

    # Somebody else puts something there at the last moment.
    with monkeypatch.context() as patch:
        patch.setattr(example, "refuse_to_replace", lambda *_arguments: None)
        (path / "notes.txt").write_text("of mine")
        if exchange:
            with pytest.raises(example.Refusal, match="became something else"):
                replace()
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
                replace()
        assert list_files(tmp_path) == before

    replace()
    assert (zarr.open_array(str(path), mode="r")[...] == 2).all()
    assert os.listdir(tmp_path) == ["out.zarr"]


def test_refusals_of_the_program(example, tmp_path, monkeypatch, capsys):
    # In this process, as a program that starts takes seconds to import Dask.
    monkeypatch.setattr(example.signal, "signal", lambda *_arguments: None)
    monkeypatch.setattr(example, "start_cluster", None)
    source = make_store(tmp_path / "in.zarr", 3, own=True)
    make_places(tmp_path)
    before = list_files(tmp_path)
    for arguments, text in (
        ((source, source), "is the input"),
        ((source, source, "--overwrite"), "is the input"),
        ((source, tmp_path / "photos", "--overwrite"), "left as it is"),
        ((source, tmp_path / "own.zarr"), "--overwrite replaces"),
        ((tmp_path / "photos", tmp_path / "new.zarr", "--make", "1MB", "--overwrite"), "left as it is"),
        ((source, tmp_path / "new.zarr", "--make", "1MB"), "--overwrite replaces"),
        ((tmp_path / "photos", tmp_path / "new.zarr"), "is not a Zarr array"),
        ((tmp_path / "missing", tmp_path / "new.zarr"), "is not a Zarr array"),
        ((source, tmp_path / "new.zarr", "--radius", "1", "1", "1"), "--radius has 3 values"),
        ((source, tmp_path / "new.zarr", "--radius", "-1"), "below 0"),
        ((source, tmp_path / "new.zarr", "--make", "0"), "holds no voxel"),
    ):
        monkeypatch.setattr(sys, "argv", ["filter_zarr.py", *map(str, arguments)])
        try:
            status = example.main()
        except SystemExit as end:
            status = end.code
        assert status == 2
        assert text in capsys.readouterr().err
        assert list_files(tmp_path) == before


def test_make_filter_verify_overwrite(tmp_path):
    source, output = tmp_path / "in.zarr", tmp_path / "out.zarr"
    assert "0 of the voxels compared differ" in run(
        source, output, "--make", "64KiB", "--chunk", 20, "--verify", "--radius", 2
    )
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
    volume = zarr.open_array(str(source), mode="r")[...]
    np.testing.assert_array_equal(zarr.open_array(str(output), mode="r")[...], median_filter(volume, radius=2))
    run(source, output, status=2)
    run(source, output, "--overwrite")
    np.testing.assert_array_equal(zarr.open_array(str(output), mode="r")[...], median_filter(volume, radius=1))
    np.testing.assert_array_equal(zarr.open_array(str(source), mode="r")[...], volume)
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_an_interrupted_run_leaves_the_old_store(random, tmp_path, number):
    source = tmp_path / "in.zarr"
    volume = zarr.create_array(str(source), shape=(96, 96, 96), chunks=(16, 16, 16), dtype="uint16")
    volume[...] = random.integers(0, 4096, volume.shape, "uint16")
    output = make_store(tmp_path / "out.zarr", 5, own=True)
    before = list_files(tmp_path)
    command = [sys.executable, SCRIPT, source, output, "--overwrite", "--radius", "7", "--workers", "1"]
    # A session of its own, as what the killed program leaves running ends by itself, and not with the tests.
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    end = time.monotonic() + SECONDS
    while not list(tmp_path.glob(".out.zarr.partial-*/store/c/*")):
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.01)
    process.send_signal(number)
    assert process.wait(SECONDS) != 0
    parts = list(tmp_path.glob(".out.zarr.partial-*"))
    assert len(parts) == (1 if number == signal.SIGKILL else 0)
    found = list_files(tmp_path)
    for part in parts:
        found = {name: content for name, content in found.items() if not name.startswith(part.name)}
    assert found == before
