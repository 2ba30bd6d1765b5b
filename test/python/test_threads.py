# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""The interpreter's lock is released while the filter runs."""

import threading
import time

import numpy as np
import pytest

from conftest import make_array, needs_itk
from cudamedian import median_filter


def through_itk(array):
    """Filter as ITK's users do."""
    import itk

    enums = itk.CudaMedianImageFilterEnums
    itk.cuda_median_image_filter(
        array,
        radius=4,
        number_of_work_units=1,
        algorithm=enums.Algorithm_Selection,
        backend=enums.Backend_Cpu,
    )


def through_package(array):
    """Filter as NumPy's users do."""
    median_filter(array, radius=4, threads=1, algorithm="selection", backend="cpu")


@pytest.mark.parametrize("call", [pytest.param(through_itk, marks=needs_itk), through_package])
def test_python_runs_while_the_filter_does(random, call):
    array = make_array(random, (600, 700), "uint16")
    times = {}

    def work():
        times["start"] = time.perf_counter()
        call(array)
        times["end"] = time.perf_counter()

    thread = threading.Thread(target=work)
    ticks = []
    thread.start()
    while thread.is_alive():
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    thread.join()
    duration = times["end"] - times["start"]
    inside = [tick for tick in ticks if times["start"] <= tick <= times["end"]]
    assert duration > 0.1, "too short to tell"
    assert len(inside) > 20
    assert max(np.diff([times["start"], *inside, times["end"]])) < 0.5 * duration


@pytest.mark.parametrize("call", [pytest.param(through_itk, marks=needs_itk), through_package])
def test_two_filters_overlap(random, call):
    array = make_array(random, (600, 700), "uint16")
    spans = []

    def work():
        start = time.thread_time()
        begin = time.perf_counter()
        call(array)
        spans.append((begin, time.perf_counter(), time.thread_time() - start))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (begin_0, end_0, busy_0), (begin_1, end_1, busy_1) = spans
    overlap = min(end_0, end_1) - max(begin_0, begin_1)
    assert overlap > 0.5 * min(end_0 - begin_0, end_1 - begin_1)
    assert busy_0 > 0
    assert busy_1 > 0
