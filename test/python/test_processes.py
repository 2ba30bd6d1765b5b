# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Signals, forked children and the end of the interpreter: no hang, no crash, nothing lost.

Each case is a process of its own. CUDAMEDIAN_TEST_PYTHONS names more interpreters to run them with, separated by
colons; each needs NumPy, and finds the package and the folder of its library by PYTHONPATH.
"""

import os
import signal
import sys

import pytest

from conftest import SEED, run_process

INTERPRETERS = [sys.executable, *filter(None, os.environ.get("CUDAMEDIAN_TEST_PYTHONS", "").split(":"))]

START = f"""
import os, signal, sys, threading, time
import numpy as np
import cudamedian as m
import cudamedian.ndimage
array = np.random.default_rng({SEED}).integers(0, 4096, (1400, 800), "uint16")
def slow(**options):
    return m.median_filter(array, 9, backend="cpu", algorithm="selection", **options)
small = array[:20, :30].copy()
def again(**options):
    return m.median_filter(small, 3, backend="cpu", threads=1, **options)
"""


@pytest.fixture(params=INTERPRETERS)
def run(request):
    """Return what runs code in a process of its own, which must end by itself, well."""
    return lambda code, status=0: run_process(request.param, START + code, status)


SEND = """
def send(seconds):
    time.sleep(seconds)
    os.kill(os.getpid(), signal.SIGINT)
slow(threads=1)  # what happens once
begin = time.perf_counter()
slow(threads=1)
whole = time.perf_counter() - begin
sender = threading.Thread(target=send, args=(0.3 * whole,))
"""


@pytest.mark.parametrize(
    "options", ["", "threads=1, progress=seen.append", "threads=1, progress=lambda fraction: None"]
)
def test_ctrl_c_stops_a_run(run, options):
    run(f"""
{SEND}
seen = []
array = 1 + array
output = np.zeros_like(array)
sender.start()
try:
    slow(output=output, **dict({options or "threads=1"}))
except KeyboardInterrupt:
    pass
else:
    raise AssertionError("nothing was raised")
sender.join()
assert output.any() and not output.all(), "stopped neither before the work nor after it"
expected = m.median_filter(array, 9, backend="cpu")
assert (expected[output > 0] == output[output > 0]).all()
# The next call is as good as ever.
assert (slow() == expected).all()
""")


def test_exceptions_of_signal_handlers_reach_the_caller(run):
    run(f"""
{SEND}
class Late(Exception):
    pass
def raise_late(number, frame):
    raise Late("from the handler")
signal.signal(signal.SIGALRM, raise_late)
for options in ({{}}, {{"progress": print}}):
    signal.setitimer(signal.ITIMER_REAL, 0.2 * whole)
    try:
        slow(threads=1, **options)
    except Late as error:
        assert "from the handler" in str(error)
    else:
        raise AssertionError("nothing was raised")
""")


def test_a_handler_that_returns_stops_nothing(run):
    run(f"""
{SEND}
heard = []
signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
sender.start()
result = slow(threads=1)
sender.join()
assert heard == [signal.SIGINT]
assert (result == m.median_filter(array, 9, backend="cpu")).all()
""")


FORK = """
def in_child(body, seconds=60):
    child = os.fork()
    if child == 0:
        try:
            body()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr)
            os._exit(1)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, status
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError("the child hangs")
part = array[:90, :80]
def sort(size):
    padded = np.pad(part, size // 2, "edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size)).reshape(*part.shape, -1)
    return np.sort(windows, axis=-1)[..., size * size // 2]
expected = {size: sort(size) for size in (3, 5, 21)}
def check():
    for size in expected:
        assert (m.median_filter(part, size) == expected[size]).all()
        assert (m.median_filter(part, size, backend="cpu", threads=3) == expected[size]).all()
    m.query_device()
    m.release_cached_memory()
"""


@pytest.mark.parametrize("before", ["", "check()", "m.query_device()", "in_child(check)"])
def test_a_forked_child_filters(run, before):
    run(f"""
{FORK}
{before}
for _ in range(5):
    in_child(check)
in_child(lambda: in_child(check))
check()
""")


def test_a_child_forked_while_others_filter(run):
    # Threads that plan one new window after another hold whatever locks there are most of the time.
    run(f"""
{FORK}
small = array[:40, :50].copy()
stop = False
def plan(first):
    for radius in range(first, 40, 2):
        for other in range(1, 40):
            if stop:
                return
            m.median_filter(small, radius=(radius, other), backend="cpu", threads=1)
planners = [threading.Thread(target=plan, args=(first,)) for first in (1, 2)]
filters = [threading.Thread(target=slow, kwargs=dict(threads=2))]
for thread in planners + filters:
    thread.start()
def filter_anew():
    for radius in (3, 5, 7, 11):
        m.median_filter(small, radius=(radius, radius), backend="cpu", threads=2)
try:
    for _ in range(12):
        time.sleep(0.02)
        in_child(filter_anew)
finally:
    stop = True
for thread in planners + filters:
    thread.join()
filter_anew()
""")


def test_multiprocessing_that_forks(run):
    run("""
import multiprocessing
expected = {radius: m.median_filter(array, radius=radius, backend="cpu") for radius in (1, 2, 3)}
def task(radius):
    return radius, m.median_filter(array, radius=radius), m.median_filter(array, radius=radius, threads=2)
for _ in range(3):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        for radius, *results in pool.map_async(task, [1, 2, 3, 1, 2, 3]).get(60):
            for result in results:
                assert (result == expected[radius]).all()
""")


DAEMON = """
started = threading.Event()
def work():
    while True:
        started.set()
        {call}
threads = [threading.Thread(target=work, daemon=True) for _ in range({count})]
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
"""


@pytest.mark.parametrize("pause", [0, 0.05, 0.4])
@pytest.mark.parametrize(
    "call",
    [
        "slow()",
        "slow(threads=1)",
        "slow(progress=lambda fraction: None)",
        "m.median_filter(array, 3, progress=lambda fraction: None, threads=3, backend='cpu')",
        "m.median_filter(array[:20, :30], 3, backend='cpu', progress=lambda fraction: time.sleep(0.001))",
        "again()",
        "again(output=np.empty_like(small))",
        "m.ndimage.rank_filter(small, 2, 3)",
    ],
)
def test_a_daemon_thread_at_the_end_of_the_interpreter(run, call, pause):
    assert run(DAEMON.format(call=call, count=2, pause=pause)) == "leaving\n"


def test_daemon_threads_that_plan_at_the_end_of_the_interpreter(run):
    # What the library destroys at exit() must not be what a thread still works with.
    call = """
        for radius in range(1, 40):
            for other in range(1, 40):
                m.median_filter(array[:20, :30], radius=(radius, other), backend="cpu", threads=1)
    """
    for pause in (0.1, 0.2, 0.3):
        assert run(DAEMON.format(call=call, count=3, pause=pause)) == "leaving\n"


def test_sys_exit_and_an_exception_with_daemon_threads(run):
    code = DAEMON.format(call="slow(progress=lambda fraction: None)", count=2, pause=0.1)
    run(code + "sys.exit(7)", 7)
    run(code + "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)", -signal.SIGTERM)


def test_a_filter_in_atexit(run):
    assert "done" in run("""
import atexit
atexit.register(lambda: print("done", m.median_filter(array, 3, threads=3, progress=lambda fraction: None).shape))
""")


def test_a_call_like_an_earlier_one_while_the_interpreter_ends(run):
    # Before the package says that it ends, behind that, and where its modules are taken apart.
    out = run("""
import atexit, builtins
expected = again()
def check(where):
    print(where, (again() == expected).all(), (again(output=np.empty_like(small)) == expected).all(), flush=True)
atexit._run_exitfuncs()
check("behind the end")
atexit.register(check, "at the end")
class Late:
    # The filter as it is where modules go: its own are there, or an exception says that they are not.
    def __init__(self):
        self.call, self.expected, self.array, self.print = m.median_filter, expected, small, builtins.print
    def __del__(self):
        try:
            result = self.call(self.array, 3, backend="cpu", threads=1)
        except Exception:
            return
        if not (result == self.expected).all():
            self.print("wrong")
sys.late = Late()
np.late = Late()
""")
    assert out == "behind the end True True\nat the end True True\n"


def test_a_forked_child_makes_calls_like_an_earlier_one(run):
    run(f"""
{FORK}
wanted = again()
def check():
    for _ in range(100):
        assert (again() == wanted).all()
for _ in range(5):
    in_child(check)
check()
""")


def test_a_daemon_thread_that_atexit_waits_for(run):
    # Its run goes on to the end, without its progress function once the interpreter has begun to end.
    out = run("""
import atexit
results = []
thread = threading.Thread(target=lambda: results.append(slow(progress=lambda fraction: None)), daemon=True)
def wait():
    thread.join()
    print((results[0] == m.median_filter(array, 9, backend="cpu", progress=print)).all())
atexit.register(wait)
thread.start()
time.sleep(0.2)
""")
    assert out.endswith("1.0\nTrue\n")


def test_a_child_forked_from_a_progress_function_ends(run):
    run("""
def fork(fraction):
    global child
    if child is None:
        child = os.fork()
        if child == 0:
            sys.exit(0)
child = None
begin = time.perf_counter()
m.median_filter(array, 3, backend="cpu", threads=1, progress=fork)
assert os.waitpid(child, 0)[1] == 0
""")
