# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""ITK's wrapped filter in forked children and at the end of the interpreter: no hang, no crash."""

import sys

import pytest

from conftest import SEED, run_process

START = f"""
import os, signal, sys, threading, time
import numpy as np
import itk
array = np.random.default_rng({SEED}).integers(0, 4096, (1400, 800), "uint16")
cpu = itk.CudaMedianImageFilterEnums.Backend_Cpu
selection = itk.CudaMedianImageFilterEnums.Algorithm_Selection
image = itk.image_from_array(array)
def make(**options):
    return itk.CudaMedianImageFilter.New(image, radius=4, backend=cpu, algorithm=selection, **options)
make(number_of_work_units=1)
"""


@pytest.mark.parametrize("before", ["", "itk.cuda_median_image_filter(array, radius=1)"])
def test_a_forked_child_filters(before):
    run_process(
        sys.executable,
        START
        + f"""
{before}
expected = np.sort(np.lib.stride_tricks.sliding_window_view(np.pad(array, 1, "edge"), (3, 3)).reshape(1400, 800, 9))
for _ in range(5):
    child = os.fork()
    if child == 0:
        try:
            for _ in range(3):
                assert (itk.cuda_median_image_filter(array, radius=1) == expected[..., 4]).all()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        raise AssertionError("the child hangs")
    assert status == 0, status
""",
    )


@pytest.mark.parametrize("pause", [0, 0.05, 0.4])
@pytest.mark.parametrize(
    "call",
    [
        "make().Update()",
        "make(number_of_work_units=1).UpdateLargestPossibleRegion()",
        "itk.cuda_median_image_filter(array, radius=1)",
    ],
)
def test_a_daemon_thread_at_the_end_of_the_interpreter(call, pause):
    out = run_process(
        sys.executable,
        START
        + f"""
started = threading.Event()
def work():
    while True:
        started.set()
        {call}
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
started.wait()
time.sleep({pause})
class Late:
    # Keeps the interpreter ending for a while, in which threads come back to it.
    def __init__(self):
        self.sleep = time.sleep
    def __del__(self):
        self.sleep(0.7)
sys.late = Late()
print("leaving", flush=True)
""",
    )
    assert out == "leaving\n"
