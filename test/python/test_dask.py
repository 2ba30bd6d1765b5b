# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Dask arrays, in threads and in worker processes of a cluster."""

import os

import dask.array
import numpy as np
import pytest
import zarr
from distributed import Client, LocalCluster, Nanny, Scheduler, SpecCluster

from conftest import import_library, make_array
from itk_cuda_median import median_filter, query_device


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
    with pytest.raises(TypeError, match="no output"):
        median_filter(array, 3, output=np.zeros((8, 8)))
