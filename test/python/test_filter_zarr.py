# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cudamedian-zarr: equals the filter in one piece, for all arguments and forms of arrays; faults are named."""

import importlib
import itertools
import os
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy.ndimage
import zarr

from cudamedian import median_filter
from cudamedian._zarr import stores, tasks
from cudamedian._zarr.command import main
from cudamedian._zarr.grid import Axis, Grid
from cudamedian._zarr.stores import Place
from zarr_arrays import chunk_files, fail_from, list_files, make_input, make_store, read


@pytest.mark.parametrize("extent", [1, 2, 7, 20])
@pytest.mark.parametrize("wraps", [False, True])
def test_what_a_task_reads_holds_all_that_its_windows_reach(extent, wraps):
    for unit, batch, reach in itertools.product((1, 3, 20), (1, 2), (0, 1, 4, 25)):
        axis = Axis(extent, unit, 2, reach, wraps, batch)
        seen = []
        for task in range(axis.tasks):
            low, high = axis.written(task)
            seen += range(low, high)
            pieces, start = axis.read(task)
            indices = [index for first, last in pieces for index in range(first, last)]
            assert all(0 <= index < extent for index in indices)
            assert indices[start : start + high - low] == list(range(low, high))
            whole = indices == list(range(extent))
            for offset in range(-reach, high - low + reach):
                if wraps and not whole:
                    assert indices[start + offset] == (low + offset) % extent
                elif 0 <= low + offset < extent:
                    assert indices[start + offset] == low + offset
        assert seen == list(range(extent))


def test_batches_read_less_and_stay_small():
    grid = Grid((Axis(640, 64, 64, 2), Axis(640, 64, 64, 2), Axis(640, 64, 64, 2)))
    assert grid.count_read()[1] == 1792**3  # 8 inner chunks with 3 each, 2 outer ones with 2, along each axis
    chosen = grid.choose_batch(40 * 64**3, 1)
    assert chosen.most_pixels() <= 40 * 64**3
    assert chosen.count_read()[1] < grid.count_read()[1] / 2
    assert grid.choose_batch(10**12, 1).tasks == 1
    assert grid.choose_batch(10**12, 100).tasks >= 100
    assert grid.choose_batch(0, 1) == grid


MODES = ["nearest", "reflect", "mirror", "wrap", "constant", "shrink"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("chunks", [(7, 11), (3, 4), (40, 50)])
def test_equals_the_filter_in_one_piece(random, run, tmp_path, mode, chunks):
    # A halo of 5 and of 4 pixels, longer than the chunks of 3 and 4.
    array = random.integers(0, 200, (19, 23), "uint8")
    make_input(tmp_path / "in.zarr", array, chunks)
    arguments = ("--size", 9, 7, "--origin", -1, 1, "--mode", mode, "--cval", 77)
    batch = ("--batch", *random.integers(1, 4, 2))
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", *arguments, *batch)
    expected = median_filter(array, (9, 7), origin=(-1, 1), mode=mode, cval=77)
    if mode != "shrink":
        there = scipy.ndimage.median_filter(array, (9, 7), origin=(-1, 1), mode=mode, cval=77)
        np.testing.assert_array_equal(there, expected)
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), expected)
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]


@pytest.mark.parametrize(
    ("arguments", "options"),
    [
        (("--radius", 1, "--axes", 0, 2), {"radius": 1, "axes": (0, 2)}),
        (
            ("--radius", 1, 9, 40, "--mode", "wrap", "mirror", "wrap"),
            {"radius": (1, 9, 40), "mode": ("wrap", "mirror", "wrap")},
        ),
        (("--size", 3, "--rank", -2), {"size": 3, "rank": -2}),
        (("--size", 4, "--percentile", 30), {"size": 4, "percentile": 30}),
        (("--size", 2, "--even-median", "mean"), {"size": 2, "even_median": "mean"}),
        (
            ("--footprint", "ball:1", "--ignore", 7),
            {"footprint": scipy.ndimage.generate_binary_structure(3, 1), "ignore": 7},
        ),
        (("--outliers", "3mad", "--chunks", 5, 6, 50), {"radius": 1, "outliers": "3mad"}),
    ],
)
def test_arguments_of_the_filter(random, run, tmp_path, arguments, options):
    array = random.integers(-9, 9, (9, 16, 17), "int16")
    make_input(tmp_path / "in.zarr", array, (4, 7, 5))
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", *arguments, "--verify", 2)
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, **options))


@pytest.mark.parametrize(
    "form",
    [
        {"zarr_format": 2, "dtype": ">u2", "chunk_key_encoding": {"name": "v2", "separator": "/"}},
        {"zarr_format": 2, "dtype": "<f4", "compressors": None, "fill_value": 3},
        {"zarr_format": 3, "dtype": "uint8", "shards": (8, 10), "dimension_names": ("y", "x"), "fill_value": 9},
    ],
)
def test_the_output_has_the_form_of_the_input(random, run, tmp_path, form):
    array = random.integers(0, 99, (21, 19)).astype(form["dtype"])
    form = {key: value for key, value in form.items() if key != "dtype"}
    make_input(tmp_path / "in.zarr", array, (4, 5), attributes={"unit": "mm"}, **form)
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--radius", 2)
    source, output = (zarr.open_array(str(tmp_path / name), mode="r") for name in ("in.zarr", "out.zarr"))
    np.testing.assert_array_equal(output[...], median_filter(array, radius=2))
    assert output.attrs["unit"] == "mm"
    assert output.attrs[stores.MARK]["complete"] is True
    one, other = (found.metadata.to_dict() | {"attributes": None} for found in (source, output))
    assert one == other
    names = [
        {name for name in list_files(path) if path.joinpath(name).is_file()}
        for path in (tmp_path / "in.zarr", tmp_path / "out.zarr")
    ]
    assert names[0] == names[1]


def test_chunks_of_the_fill_value_are_written_and_arrays_without_pixels_have_none(run, tmp_path):
    make_input(tmp_path / "in.zarr", np.zeros((8, 6), "uint8"), (4, 3))
    run(tmp_path / "in.zarr", tmp_path / "out.zarr")
    assert len(chunk_files(tmp_path / "in.zarr")) == 0
    assert len(chunk_files(tmp_path / "out.zarr")) == 4
    make_input(tmp_path / "none.zarr", np.zeros((0, 6), "uint8"), (4, 3))
    run(tmp_path / "none.zarr", tmp_path / "none_out.zarr")
    assert read(tmp_path / "none_out.zarr").shape == (0, 6)


def test_a_plan_writes_nothing(run, tmp_path):
    make_input(tmp_path / "in.zarr", np.ones((8, 6), "uint8"), (4, 3))
    text = run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--dry-run", "--batch", 1, own=())
    # Each of the four tasks reads a pixel more along each axis, out of all chunks.
    assert "4 of 1x1 chunks" in text
    assert "1.67 times the array, out of whole chunks of 192 B, 4.00 times the array" in text
    assert os.listdir(tmp_path) == ["in.zarr"]


def test_object_stores(random, run):
    import fsspec

    fsspec.filesystem("memory").store.clear()
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input("memory://bucket/in.zarr", array, (6, 7))
    run("memory://bucket/in.zarr", "memory://bucket/out.zarr", "--radius", 3, "--mode", "wrap")
    np.testing.assert_array_equal(read("memory://bucket/out.zarr"), median_filter(array, radius=3, mode="wrap"))
    assert zarr.open_array("memory://bucket/out.zarr").attrs[stores.MARK]["complete"] is True
    run("memory://bucket/in.zarr", "memory://bucket/out.zarr", status=2)
    assert "is the input" in run("memory://bucket/in.zarr", "memory://bucket/in.zarr/", status=2)
    assert "lies inside" in run("memory://bucket/in.zarr", "memory://bucket/in.zarr/out", status=2)
    assert "is not known" in run("memory://bucket/in.zarr", "sftp://host/out.zarr", status=2)
    run("memory://bucket/in.zarr", "memory://bucket/out.zarr", "--overwrite")
    np.testing.assert_array_equal(read("memory://bucket/out.zarr"), median_filter(array, radius=1))


@pytest.mark.parametrize("compressors", ["auto", None])
def test_chunks_that_are_cut_short_or_missing_are_named(random, run, tmp_path, compressors):
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input(tmp_path / "in.zarr", array, (6, 7), compressors=compressors)
    chunk = tmp_path / "in.zarr" / "c" / "2" / "1"
    content = chunk.read_bytes()
    chunk.write_bytes(content[: len(content) // 2])
    text = run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--retries", 0, status=1)
    assert f"chunk c/2/1 of {tmp_path}/in.zarr could not be read" in text
    chunk.unlink()
    text = run(tmp_path / "in.zarr", tmp_path / "error.zarr", "--retries", 0, "--missing", "error", status=1)
    assert f"chunk c/2/1 of {tmp_path}/in.zarr is missing" in text
    array[12:18, 7:14] = 0
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, radius=1))


def test_an_input_that_goes_is_an_error(tmp_path):
    source = zarr.open_array(str(make_store(tmp_path / "in.zarr", 3)), mode="r")
    (tmp_path / "in.zarr").rename(tmp_path / "elsewhere")
    with pytest.raises(tasks.ChunkError, match="no longer there"):
        tasks.read_around(source, Place.parse(str(tmp_path / "in.zarr")), [([(0, 6)], 0), ([(0, 7)], 0)])


def test_verification_finds_a_wrong_chunk(random, run, tmp_path, monkeypatch):
    make_input(tmp_path / "in.zarr", random.integers(0, 99, (20, 30), "uint8"), (6, 7))
    with monkeypatch.context() as patch:
        fail_from(patch, 3, ValueError("stopped"))
        run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--batch", 1, "--in-flight", 1, "--retries", 0, status=1)
    partial = tmp_path / ".out.zarr.partial"
    (partial / "c" / "0" / "0").write_bytes((partial / "c" / "0" / "1").read_bytes())
    text = run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume", "--verify", 1, status=1)
    assert "of the bytes compared differ" in text and "left unfinished" in text
    assert not (tmp_path / "out.zarr").exists()


def test_the_command_is_installed_under_its_name():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module, _, function = project["scripts"]["cudamedian-zarr"].partition(":")
    assert getattr(importlib.import_module(module), function) is main
