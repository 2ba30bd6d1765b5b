# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""What the tests of the wheel share."""

import importlib
import importlib.util
import os
import signal
import subprocess

import numpy as np
import pytest

# JAX would take three quarters of the device's memory from the other libraries.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

# A shell ignores Ctrl-C in what it runs in the background, and so would the processes that the tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SEED = int(os.environ.get("CUDAMEDIAN_TEST_SEED", "20240611"))


# The wheel cudamedian is tested without ITK. CUDAMEDIAN_REQUIRE_ITK=1 says that the wheel is ITK's.
HAS_ITK = os.environ.get("CUDAMEDIAN_REQUIRE_ITK") == "1" or importlib.util.find_spec("itk") is not None
needs_itk = pytest.mark.skipif(not HAS_ITK, reason="ITK is not installed")
collect_ignore = [] if HAS_ITK else ["test_itk_filter.py", "test_itk_processes.py"]


@pytest.fixture
def random():
    """Return random numbers; CUDAMEDIAN_TEST_SEED replays or varies them."""
    return np.random.default_rng(SEED)


def make_array(random, shape, dtype):
    """Return random pixels over the whole range of a type, with many equal ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(bool)
    if dtype.kind == "f":
        return random.normal(0, 1000, shape).round(1).astype(dtype)
    limits = np.iinfo(dtype)
    array = random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return np.where(random.random(shape) < 0.3, array.dtype.type(7), array)


def keep_wrapped(itk, shapes):
    """Return those of a dictionary's shapes for whose number of dimensions, the keys, ITK has wrapped images."""
    return {dimension: shape for dimension, shape in shapes.items() if (itk.F, dimension) in itk.Image.keys()}


def run_process(interpreter, code, status=0, seconds=100):
    """Run code in a process of its own, which must end by itself, with a status and no complaint; return its output."""
    done = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, timeout=seconds)
    assert done.returncode == status, done.stdout + done.stderr
    for word in ("ignored", "FATAL", "Fatal", "terminate"):
        assert word not in done.stderr, done.stderr
    return done.stdout


def gpu_is_required():
    """Whether what needs a GPU, and the libraries that have arrays there, must not be skipped."""
    return os.environ.get("CUDAMEDIAN_REQUIRE_GPU") == "1"


def import_library(name):
    """Return a library whose arrays lie in device memory, or skip without it."""
    return importlib.import_module(name) if gpu_is_required() else pytest.importorskip(name)


@pytest.fixture(params=["_calls", "_python_calls"])
def calls(request, monkeypatch):
    """Return what finds plans, compiled and in Python, where there is no plan yet. It takes the package's place."""
    from cudamedian import _device_plans, _plans

    name = f"cudamedian.{request.param}"
    if importlib.util.find_spec(name) is None:
        pytest.skip("the wheel itk-cudamedian has no compiled calls")
    _plans._plans.clear()
    found = importlib.import_module(name).Calls(_plans._plans, _device_plans.kinds, _device_plans.is_kind)
    monkeypatch.setattr(_plans, "calls", found)
    yield found
    _plans._plans.clear()


@pytest.fixture
def gpu():
    """Skip without a usable GPU, or fail where CUDAMEDIAN_REQUIRE_GPU=1 says that there must be one."""
    import cudamedian

    usable, description = cudamedian.query_device()
    if not usable:
        if gpu_is_required():
            pytest.fail(f"CUDAMEDIAN_REQUIRE_GPU=1, but: {description}")
        pytest.skip(f"no GPU: {description}")
    return description


@pytest.fixture(scope="session")
def scheduler():
    """Start Dask's workers as threads of this process, and return their scheduler's address."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


@pytest.fixture
def run(scheduler, capsys):
    """Return a function that runs cudamedian-zarr with that scheduler, and returns what it printed."""
    from cudamedian._zarr.command import main

    def run_command(*arguments, status=0, own=("--scheduler", scheduler)):
        capsys.readouterr()
        try:
            found = main([str(argument) for argument in (*arguments, *own)])
        except SystemExit as end:
            found = end.code
        printed = "".join(capsys.readouterr())
        assert found == status, printed
        return printed

    return run_command
