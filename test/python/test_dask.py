# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Dask arrays, in threads and in worker processes of a cluster."""

import os
import threading
import types

import dask.array
import numpy as np
import pytest
import scipy.ndimage
import zarr
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster

import cudamedian.dask
from conftest import import_library, make_array
from cudamedian import _engine, _plans, median_filter, ndimage, query_device
from cudamedian.dask import median_filter as median_filter_of_dask


@pytest.fixture(scope="module")
def client():
    """Start two worker processes."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster,
        Client(cluster) as connected,
    ):
        yield connected


@pytest.mark.parametrize("chunks", [(10, 10, 10), (7, 11, 30), (24, 26, 28), (1, 26, 28), (5, 4, 3)])
@pytest.mark.parametrize("radius", [1, (0, 2, 1), (3, 0, 0)])
def test_equals_the_result_in_one_piece(random, chunks, radius):
    array = make_array(random, (24, 26, 28), "int16")
    lazy = median_filter(dask.array.from_array(array, chunks=chunks), radius=radius)
    assert lazy.dtype == array.dtype
    assert lazy.shape == array.shape
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), median_filter(array, radius=radius))


@pytest.mark.parametrize("radius", [(5, 1), (50, 1), (2, 40), (40, 40)])
def test_radius_longer_than_axes_and_chunks(random, radius):
    array = make_array(random, (4, 30), "float32")
    lazy = median_filter(dask.array.from_array(array, chunks=(2, 5)), radius=radius)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), median_filter(array, radius=radius))


def test_axes_and_size(random):
    array = make_array(random, (3, 2, 20, 22), "uint8")
    lazy = median_filter(dask.array.from_array(array, chunks=(1, 1, 6, 7)), size=5, axes=(-2, -1))
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), median_filter(array, size=5, axes=(-2, -1)))


def test_worker_processes(random, client):
    array = make_array(random, (30, 40, 50), "uint16")
    lazy = median_filter(dask.array.from_array(array, chunks=(10, 40, 25)), radius=2)
    np.testing.assert_array_equal(client.compute(lazy).result(), median_filter(array, radius=2))


def test_zarr_store_to_zarr_store(random, client, tmp_path):
    array = make_array(random, (30, 40, 50), "uint16")
    zarr.save_array(str(tmp_path / "input.zarr"), array)
    source = dask.array.from_zarr(str(tmp_path / "input.zarr"), chunks=(10, 20, 50))
    median_filter(source, radius=1).to_zarr(str(tmp_path / "output.zarr"))
    np.testing.assert_array_equal(zarr.open(str(tmp_path / "output.zarr"))[...], median_filter(array, radius=1))


@pytest.fixture
def gpu_client(gpu):
    """Start a worker process for each GPU, which sees no other; two that share it where there is one."""
    gpus = import_library("cupy").cuda.runtime.getDeviceCount()
    workers = {
        index: {"cls": Nanny, "options": {"nthreads": 1, "env": {"CUDA_VISIBLE_DEVICES": str(index % gpus)}}}
        for index in range(max(gpus, 2))
    }
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": ":0"}}
    with SpecCluster(workers, scheduler) as cluster, Client(cluster) as connected:
        connected.wait_for_workers(len(workers))
        yield connected


def test_worker_processes_with_gpus(random, gpu_client):
    visible = gpu_client.run(lambda: (os.environ["CUDA_VISIBLE_DEVICES"], query_device()[0]))
    assert all(usable for _, usable in visible.values())
    array = make_array(random, (60, 90, 100), "uint16")
    lazy = median_filter(dask.array.from_array(array, chunks=(20, 45, 50)), radius=2, backend="cuda")
    np.testing.assert_array_equal(gpu_client.compute(lazy).result(), median_filter(array, radius=2, backend="cpu"))


def test_errors_of_the_engine_cross_processes(random, client):
    array = dask.array.from_array(make_array(random, (8, 8), "uint8"), chunks=4)
    lazy = median_filter(array, radius=200, algorithm="tile program", backend="cpu")
    with pytest.raises(ValueError, match="tile program"):
        client.compute(lazy).result()


def test_what_a_dask_array_cannot_take(random):
    array = dask.array.zeros((8, 8), chunks=4)
    for arguments in ({"output": np.zeros((8, 8))}, {"stream": 1}, {"progress": print}, {"report": print}):
        with pytest.raises(TypeError, match="no output"):
            median_filter(array, 3, **arguments)


@pytest.mark.parametrize(
    ("array", "arguments", "error", "text"),
    [
        (None, {"size": 3, "backend": "gpu"}, ValueError, "backend is 'gpu'"),
        (None, {"size": 3, "algorithm": "fast"}, ValueError, "algorithm is 'fast'"),
        (None, {"size": 3, "memory": -1}, ValueError, "memory is -1"),
        (None, {"size": 3, "threads": 4097}, ValueError, "threads is 4097; it may be at most 4096"),
        (None, {"size": 3, "threads": 2.0}, TypeError, "threads is 2.0"),
        (None, {"radius": 2**64}, ValueError, str(2**64)),
        (None, {"size": 0}, ValueError, "size 0"),
        (None, {"size": 3, "rank": 9}, ValueError, "rank is 9"),
        (
            dask.array.zeros((8, 8), dtype="int16", chunks=4),
            {"size": 3, "mode": "constant", "cval": 40000},
            ValueError,
            "cval is 40000",
        ),
        (dask.array.zeros((8, 8), dtype="complex64", chunks=4), {"size": 3}, TypeError, "complex64"),
        (dask.array.zeros((3,) * 5, chunks=2), {"size": 3}, ValueError, "has 5 axes"),
        (dask.array.ma.masked_less(dask.array.zeros((8, 8), chunks=4), 3), {"size": 3}, TypeError, "mask"),
    ],
    ids=lambda value: None,
)
@pytest.mark.parametrize("function", [median_filter, median_filter_of_dask])
def test_wrong_arguments_are_named_before_anything_is_computed(function, array, arguments, error, text):
    with pytest.raises(error, match=text):
        function(dask.array.zeros((8, 8), chunks=4) if array is None else array, **arguments)


def test_chunks_of_unknown_size_are_named():
    array = dask.array.arange(20, chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        median_filter(array[array > 3], 3)


@pytest.mark.parametrize("shape", [(0,), (0, 8), (5, 0, 8), ()])
def test_empty_and_scalar(shape):
    result = median_filter(dask.array.ones(shape, dtype="int16", chunks=4), 3)
    np.testing.assert_array_equal(result.compute(scheduler="threads"), np.ones(shape, "int16"))


def test_chunks_without_pixels(random):
    array = make_array(random, (9, 8), "int16")
    lazy = median_filter(dask.array.from_array(array, chunks=((4, 0, 5), (8, 0))), 3)
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), median_filter(array, 3))


@pytest.mark.parametrize("dtype", [">u2", "bool", "float16"])
def test_types_the_engine_has_not(random, dtype):
    array = make_array(random, (20, 22), np.dtype(dtype).newbyteorder("=")).astype(dtype)
    lazy = median_filter(dask.array.from_array(array, chunks=7), 3)
    assert lazy.dtype == array.dtype
    np.testing.assert_array_equal(lazy.compute(scheduler="threads"), median_filter(array, 3))


@pytest.fixture
def runs(monkeypatch):
    """Return the number of threads of each run of the engine, and of runs that were under way with it."""
    seen, under_way, lock = [], [], threading.Lock()
    run = _engine.run

    def count(*arguments, **wanted):
        with lock:
            under_way.append(1)
            seen.append((arguments[8], len(under_way)))
        try:
            return run(*arguments, **wanted)
        finally:
            under_way.pop()

    monkeypatch.setattr(_engine, "run", count)
    # No call takes what an earlier one meant.
    unlike = types.SimpleNamespace(median=lambda *_: (None, None), ranked=lambda *_: (None, None))
    monkeypatch.setattr(_plans, "calls", unlike)
    return seen


@pytest.mark.parametrize("scheduler", ["threads", "synchronous"])
def test_a_task_is_one_thread(random, runs, scheduler):
    array = make_array(random, (300, 400), "uint16")
    for filter_lazily in (median_filter, median_filter_of_dask):
        runs.clear()
        lazy = filter_lazily(dask.array.from_array(array, chunks=100), radius=4)
        result = lazy.compute(scheduler=scheduler, num_workers=3)
        np.testing.assert_array_equal(result, median_filter(array, radius=4, threads=1))
        assert [threads for threads, _ in runs] == [1] * 13
        assert max(together for _, together in runs) <= 3


@pytest.mark.parametrize(("threads", "count"), [(3, 3), (0, None), (-1, None), (-(10**6), 1)])
def test_the_threads_of_a_task_can_be_chosen(random, runs, threads, count):
    array = dask.array.from_array(make_array(random, (40, 40), "uint8"), chunks=20)
    for filter_lazily in (median_filter, median_filter_of_dask):
        runs.clear()
        filter_lazily(array, 3, threads=threads).compute(scheduler="synchronous")
        assert {chosen for chosen, _ in runs} == {len(os.sched_getaffinity(0)) if count is None else count}


def test_as_many_threads_run_as_the_scheduler_has(random):
    # Counted in the process itself: what the engine starts shows there.
    array = dask.array.from_array(make_array(random, (600, 700), "uint16"), chunks=(150, 175))
    most, done = 0, threading.Event()

    def watch():
        nonlocal most
        while not done.is_set():
            most = max(most, len(os.listdir("/proc/self/task")))

    def count(**options):
        nonlocal most
        done.clear()
        watcher = threading.Thread(target=watch)
        before = len(os.listdir("/proc/self/task"))
        most = before
        watcher.start()
        lazy = median_filter(array, radius=7, algorithm="selection", backend="cpu", **options)
        lazy.compute(scheduler="threads", num_workers=4)
        done.set()
        watcher.join()
        return most - before - 1

    assert count() <= 4
    assert count(threads=3) > 4


_NAMES = ("rank_filter", "percentile_filter", "minimum_filter", "maximum_filter")
_FIRST = {"rank_filter": (2,), "percentile_filter": (30,), "minimum_filter": (), "maximum_filter": ()}


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant", "grid-wrap", "grid-constant"])
@pytest.mark.parametrize("name", _NAMES)
def test_scipys_filters_equal_scipys_in_one_piece(random, name, mode):
    array = make_array(random, (13, 17), "int16")
    holes = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1]])
    expected = getattr(scipy.ndimage, name)
    actual = getattr(cudamedian.dask, name)
    for chunks in ((6, 7), (13, 2)):
        image = dask.array.from_array(array, chunks=chunks)
        for window in (
            {"size": 3},
            {"size": (4, 5), "origin": (-1, 2)},
            {"footprint": holes},
            {"footprint": holes, "origin": (1, -2)},
        ):
            found = actual(image, *_FIRST[name], **window, mode=mode, cval=-7).compute(scheduler="synchronous")
            np.testing.assert_array_equal(found, expected(array, *_FIRST[name], **window, mode=mode, cval=-7))


@pytest.mark.parametrize("name", _NAMES)
def test_scipys_filters_take_arguments_by_position(random, name):
    array = make_array(random, (9, 11), "uint8")
    image = dask.array.from_array(array, chunks=4)
    found = getattr(cudamedian.dask, name)(image, *_FIRST[name], 3, None, "constant", 9, (1, -1))
    expected = getattr(scipy.ndimage, name)(array, *_FIRST[name], 3, mode="constant", cval=9, origin=(1, -1))
    np.testing.assert_array_equal(found.compute(scheduler="synchronous"), expected)
    by_default = getattr(cudamedian.dask, name)(image, *_FIRST[name], 3).compute(scheduler="synchronous")
    np.testing.assert_array_equal(by_default, getattr(scipy.ndimage, name)(array, *_FIRST[name], 3))


def test_scipys_filters_name_wrong_arguments():
    image = dask.array.zeros((8, 8), dtype="uint8", chunks=4)
    with pytest.raises(ValueError, match="rank is 9"):
        cudamedian.dask.rank_filter(image, 9, 3)
    with pytest.raises(TypeError, match="neither size nor radius"):
        cudamedian.dask.minimum_filter(image, 3, np.ones((3, 3)))
    with pytest.raises(ValueError, match="cval is 300"):
        cudamedian.dask.maximum_filter(image, 3, mode="constant", cval=300)


@pytest.mark.parametrize("chunks", [(3, 4), (7, 2), (20, 17)])
def test_functions_of_scipys_interface_give_dask_arrays(random, chunks):
    array = make_array(random, (20, 17), "int16")
    chunked = dask.array.from_array(array, chunks)
    footprint = random.random((3, 5)) < 0.7
    for name, options in {
        "median_filter": {"size": (4, 3)},
        "rank_filter": {"rank": 1, "footprint": footprint, "mode": "mirror"},
        "percentile_filter": {"percentile": 30, "size": 3, "axes": 0},
        "minimum_filter": {"size": (3, 4), "mode": ("wrap", "nearest"), "origin": (1, 0)},
        "maximum_filter": {"footprint": footprint, "mode": "constant", "cval": 7},
    }.items():
        function = getattr(ndimage, name)
        found = function(chunked, **options)
        assert isinstance(found, dask.array.Array)
        np.testing.assert_array_equal(found.compute(), function(array, **options), err_msg=name)


def test_mistakes_of_scipys_interface_are_scipys_for_dask_arrays():
    chunked = dask.array.zeros((20, 17), chunks=5)
    for options, error in (
        ({}, "no footprint or filter size provided"),
        ({"size": 3, "mode": "nearst"}, "boundary mode not supported"),
        ({"size": 3, "mode": ("wrap", "wrap")}, "A sequence of modes is not supported"),
    ):
        with pytest.raises(RuntimeError, match=error):
            ndimage.median_filter(chunked, **options)
    with pytest.raises(NotImplementedError, match="a Dask array is filtered when computed"):
        ndimage.median_filter(chunked, 3, output=np.zeros((20, 17)))
