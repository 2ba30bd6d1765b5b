# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""cudamedian-zarr: whatever is killed on the way, the finished array is the same, and what is there is whole."""

import errno
import itertools
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
import zarr
from distributed import LocalCluster

from cudamedian import median_filter
from cudamedian._zarr import places, stores, tasks, window
from cudamedian._zarr.stores import Place
from zarr_arrays import chunk_files, fail_from, list_files, make_input, make_store, read

SECONDS = 120

KILLS = int(os.environ.get("CUDAMEDIAN_ZARR_KILLS", "0"))


def start(folder, *arguments):
    """Start a run of 72 chunks in processes of its own, and return it when a third of them are written."""
    command = [sys.executable, "-m", "cudamedian._zarr", folder / "in.zarr", folder / "out.zarr", "--radius", "7"]
    command += ["--batch", "1", "--gpus", *arguments]
    # A session of its own, as what the killed program leaves running ends by itself, and not with the tests.
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    end = time.monotonic() + SECONDS
    while len(list((folder / ".out.zarr.partial" / "c").glob("*/*/*"))) < 24:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)
    return process


def find_workers(process):
    """Return the worker processes of a run. Python's tracker of semaphores is a child, too."""
    children = psutil.Process(process.pid).children()
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def make_long_run(random, folder):
    """Write an input that takes seconds, with an older output; return what is expected of a new one."""
    volume = random.integers(0, 4096, (64, 96, 48), "uint16")
    make_input(folder / "in.zarr", volume, (16, 16, 16))
    make_store(folder / "out.zarr", 5, own=True)
    return median_filter(volume, radius=7)


def test_a_killed_worker_is_replaced(random, tmp_path):
    expected = make_long_run(random, tmp_path)
    process = start(tmp_path, "--overwrite", "--workers", "2")
    workers = find_workers(process)
    assert len(workers) == 2
    workers[0].send_signal(signal.SIGKILL)
    assert len(chunk_files(tmp_path / ".out.zarr.partial")) < 60
    error = process.communicate(timeout=SECONDS)[1]
    assert process.returncode == 0, error
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), expected)
    assert len(chunk_files(tmp_path / "out.zarr")) == 72
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
    assert sorted(os.listdir(tmp_path / "out.zarr")) == ["c", "zarr.json"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_a_stopped_run_goes_on(random, run, tmp_path, number):
    expected = make_long_run(random, tmp_path)
    old = list_files(tmp_path / "out.zarr")
    process = start(tmp_path, "--overwrite", "--workers", "1")
    children = psutil.Process(process.pid).children()
    if number == signal.SIGINT:
        # As a terminal sends Ctrl-C: to all processes.
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    error = process.communicate(timeout=SECONDS)[1]
    assert "Traceback" not in error
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    assert ("--resume goes on" in error) == (number != signal.SIGKILL)
    psutil.wait_procs(children, timeout=SECONDS)
    assert list_files(tmp_path / "out.zarr") == old
    before = chunk_files(tmp_path / ".out.zarr.partial")
    assert 0 < len(before) < 72
    text = run(
        tmp_path / "in.zarr", tmp_path / "out.zarr", "--radius", 7, "--backend", "cpu", "--resume", "--overwrite"
    )
    assert f"{len(before)} chunks were there" in text
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), expected)
    after = chunk_files(tmp_path / "out.zarr")
    assert len(after) == 72
    for path, written in before.items():
        assert after[tmp_path / "out.zarr" / path.relative_to(tmp_path / ".out.zarr.partial")] == written
    assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
    assert sorted(os.listdir(tmp_path / "out.zarr")) == ["c", "zarr.json"]


def test_a_task_that_kills_its_workers_is_named():
    def kill_worker(number):
        if number == 3:
            os._exit(1)
        return tasks.Done()

    with window.local_cluster(1, 1, "auto", [], 0) as client:
        runner = window.Runner(client, kill_worker, 0)
        with pytest.raises(window.RunError, match="chunk 3 was given up"):
            window.run_bounded(
                runner, range(4), window.Bounds(client, in_flight=1), lambda _group: None, "chunk {}".format
            )


class KillingRunner(window.Runner):
    """Kills the only worker once, when something has ended; what has ended is lost before anybody looks at it."""

    killed = False

    def lose(self, futures):
        """Kill the worker and return when the client knows that what these futures did is gone."""
        self.killed = True
        self.client.cluster.workers[0].process.process.kill()
        end = time.monotonic() + SECONDS
        while any(future.status == "finished" for future in futures):
            assert time.monotonic() < end
            time.sleep(0.001)


def test_a_task_that_is_lost_is_run_again():
    class Ended(queue.SimpleQueue):
        def get(self, **options):
            future = super().get(**options)
            if not runner.killed:
                runner.lose([future])
            return future

    numbers = []
    with window.local_cluster(1, 1, "auto", [], 3) as client:
        runner = KillingRunner(client, tasks.do_nothing, 0)
        runner._ended = Ended()
        bounds = window.Bounds(client, in_flight=2)
        window.run_bounded(runner, range(9), bounds, lambda group: numbers.extend(done.chunks for done in group))
    assert runner.killed
    assert sum(numbers) == 9


def test_a_lost_task_that_then_fails_is_named(tmp_path):
    def work_once(number):
        (tmp_path / str(number)).touch(exist_ok=False)
        return tasks.Done()

    class Runner(KillingRunner):
        def fetch(self, ended, describe):
            if ended and not self.killed:
                self.lose(ended.values())
            return super().fetch(ended, describe)

    with window.local_cluster(1, 1, "auto", [], 3) as client:
        runner = Runner(client, work_once, 0)
        bounds = window.Bounds(client, in_flight=1)
        # It is no OSError of a scheduler that is gone.
        with pytest.raises(window.RunError, match=r"chunk 0 failed: \[Errno 17\] File exists"):
            window.run_bounded(runner, range(1), bounds, lambda _group: None, "chunk {}".format)
    assert runner.killed


def test_a_full_disk_is_an_error_and_the_run_goes_on(random, run, tmp_path, monkeypatch):
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input(tmp_path / "in.zarr", array, (6, 7))
    calls, synchronise = itertools.count(), os.fsync

    def fail(file):
        if next(calls) >= 9:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synchronise(file)

    with monkeypatch.context() as patch:
        patch.setattr(stores.os, "fsync", fail)
        text = run(
            tmp_path / "in.zarr", tmp_path / "out.zarr", "--batch", 1, "--in-flight", 1, "--retries", 0, status=1
        )
    partial = tmp_path / ".out.zarr.partial"
    assert "could not be written" in text and "No space left on device" in text and f"{partial}/c/" in text
    assert not (tmp_path / "out.zarr").exists()
    before = chunk_files(partial)
    # The description was the first file.
    assert len(before) == 8
    assert [list(folder.iterdir()) for folder in partial.glob(".writing-*")] == [[]]
    for path in before:
        row, column = (6 * int(path.parts[-2]), 7 * int(path.parts[-1]))
        there = zarr.open_array(str(partial), mode="r")[row : row + 6, column : column + 7]
        np.testing.assert_array_equal(there, median_filter(array, radius=1)[row : row + 6, column : column + 7])
    text = run(tmp_path / "in.zarr", tmp_path / "out.zarr", status=2)
    assert "--resume goes on" in text
    assert "8 chunks were there" in run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--batch", 2, "--resume")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, radius=1))
    assert len(chunk_files(tmp_path / "out.zarr")) == 20
    assert not list((tmp_path / "out.zarr").glob(".writing-*"))
    assert "complete already" in run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume")


def test_what_differs_from_the_request_is_named(random, run, tmp_path, monkeypatch):
    make_input(tmp_path / "in.zarr", random.integers(0, 99, (20, 30), "uint8"), (6, 7))
    make_input(tmp_path / "other.zarr", random.integers(0, 99, (20, 30), "uint16"), (6, 7))
    assert "has not been begun" in run(tmp_path / "in.zarr", tmp_path / "first.zarr", "--resume")
    with monkeypatch.context() as patch:
        fail_from(patch, 3, ValueError("stopped"))
        run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--batch", 1, "--in-flight", 1, "--retries", 0, status=1)
    before = list_files(tmp_path)
    for arguments, text in (
        (("in.zarr", "--size", 3), "filter was {'radius': 1} and is {'size': 3}"),
        (("in.zarr", "--chunks", 5), "chunks was [6, 7] and is [5, 5]"),
        (("in.zarr", "--missing", "error"), "missing was 'fill' and is 'error'"),
        (("other.zarr",), "dtype was 'uint8' and is 'uint16'"),
    ):
        assert text in run(tmp_path / arguments[0], tmp_path / "out.zarr", *arguments[1:], "--resume", status=2)
    with monkeypatch.context() as patch:
        patch.setattr(tasks, "library_version", lambda: "99")
        assert "is '99'" in run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume", status=2)
    assert list_files(tmp_path) == before
    # What changes no pixel may be another.
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--backend", "cpu", "--algorithm", "local ranks", "--resume")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(read(tmp_path / "in.zarr"), radius=1))


def test_a_run_stopped_before_it_got_its_name(random, run, tmp_path, monkeypatch):
    make_input(tmp_path / "in.zarr", random.integers(0, 99, (9, 9), "uint8"), (4, 4))
    with monkeypatch.context() as patch:
        patch.setattr(places, "publish", lambda *_arguments: (_ for _ in ()).throw(OSError("stopped")))
        run(tmp_path / "in.zarr", tmp_path / "out.zarr", status=1)
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(read(tmp_path / "in.zarr"), radius=1))


def test_a_stopped_run_in_an_object_store_goes_on(random, run, monkeypatch):
    import fsspec

    fsspec.filesystem("memory").store.clear()
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input("memory://bucket/in.zarr", array, (6, 7))
    with monkeypatch.context() as patch:
        fail_from(patch, 5, OSError(errno.EIO, "the network is gone"))
        text = run("memory://bucket/in.zarr", "memory://bucket/out.zarr", "--batch", 1, "--retries", 0, status=1)
    assert "the network is gone" in text and "--resume" in text
    assert zarr.open_array("memory://bucket/out.zarr").attrs[stores.MARK]["complete"] is False
    assert "--resume goes on with it" in run("memory://bucket/in.zarr", "memory://bucket/out.zarr", status=2)
    assert "unfinished output" in run("memory://bucket/out.zarr", "memory://bucket/next.zarr", status=2)
    assert "was {'radius': 1} and is {'radius': 2}" in run(
        "memory://bucket/in.zarr", "memory://bucket/out.zarr", "--radius", 2, "--resume", status=2
    )
    assert "chunks were there" in run("memory://bucket/in.zarr", "memory://bucket/out.zarr", "--resume")
    np.testing.assert_array_equal(read("memory://bucket/out.zarr"), median_filter(array, radius=1))


def test_what_was_given_up_writes_no_more(random, run, tmp_path):
    make_input(tmp_path / "in.zarr", random.integers(0, 99, (9, 9), "uint8"), (4, 4))
    run(tmp_path / "in.zarr", tmp_path / "out.zarr")
    before, output = list_files(tmp_path), Place.parse(str(tmp_path / "out.zarr"))
    run_id = stores.read_mark(output)["run"]
    # A worker that lost its scheduler, and comes too late.
    source, partial = Place.parse(str(tmp_path / "in.zarr")), stores.partial_place(output)
    job = tasks.Job(source, partial, run_id, '{"radius": 1}', (1, 1), version=tasks.library_version())
    with pytest.raises(FileNotFoundError, match=r"\.out\.zarr\.partial does not exist"):
        tasks.run_task(0, job)
    # One that had opened the array before it got its name.
    late = zarr.open_array(stores.WholeFiles(tmp_path / "out.zarr", run_id), mode="r+")
    with pytest.raises(FileNotFoundError, match="out.zarr/c/0/0"):
        late[0:4, 0:4] = 1
    # One of another run in the same place.
    with pytest.raises(RuntimeError, match="no longer of another"):
        stores.open_output(output, "another")
    assert list_files(tmp_path) == before


def test_a_task_that_fails_is_tried_again(random, run, tmp_path, monkeypatch):
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input(tmp_path / "in.zarr", array, (6, 7))
    failed, filter_around = [], tasks.filter_around

    def fail_twice(*arguments):
        if len(failed) < 2:
            failed.append(1)
            raise ValueError("for now")
        return filter_around(*arguments)

    monkeypatch.setattr(tasks, "filter_around", fail_twice)
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--in-flight", 1)
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, radius=1))
    assert len(failed) == 2


def test_few_tasks_are_at_the_scheduler(scheduler, tmp_path):
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": scheduler}))
    there, chunks = [], []

    class Watched(window.Runner):
        def submit(self, numbers):
            super().submit(numbers)
            there.append(len(self.pending))

    with window.existing_scheduler(str(file), 10) as client:
        runner = Watched(client, tasks.do_nothing, 0)
        bounds = window.Bounds(client, in_flight=12)
        window.run_bounded(runner, range(200), bounds, lambda group: chunks.extend(done.chunks for done in group))
        assert not runner.pending
        assert (max(there), sum(chunks)) == (12, 200)
        # Three for each of the two threads.
        assert window.Bounds(client).limit() == 6


def test_a_scheduler_that_goes_is_an_error_and_the_run_goes_on(random, run, tmp_path, monkeypatch):
    array = random.integers(0, 99, (20, 30), "uint8")
    make_input(tmp_path / "in.zarr", array, (6, 7))
    calls, filter_around = itertools.count(), tasks.filter_around
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0")
    closing = threading.Thread(target=cluster.close)

    def close(*arguments):
        if next(calls) == 5:
            closing.start()
            time.sleep(0.3)
        return filter_around(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(tasks, "filter_around", close)
        own = ("--scheduler", cluster.scheduler_address, "--patience", 5)
        text = run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--batch", 1, status=1, own=own)
    closing.join()
    assert "--resume goes on" in text
    run(tmp_path / "in.zarr", tmp_path / "out.zarr", "--resume")
    np.testing.assert_array_equal(read(tmp_path / "out.zarr"), median_filter(array, radius=1))


def test_no_scheduler_is_an_error(run, tmp_path):
    make_store(tmp_path / "in.zarr")
    own = ("--scheduler", "tcp://127.0.0.1:9", "--patience", 0.3)
    assert "no scheduler answers at tcp://127.0.0.1:9" in run(
        tmp_path / "in.zarr", tmp_path / "out.zarr", status=1, own=own
    )
    assert os.listdir(tmp_path) == ["in.zarr"]


@pytest.mark.skipif(not KILLS, reason="a campaign: CUDAMEDIAN_ZARR_KILLS says how many processes to kill")
def test_many_kills(random, tmp_path):
    """Workers and clients are killed at random moments, and the run goes on each time."""
    volume = random.integers(0, 4096, (96, 96, 96), "uint16")
    make_input(tmp_path / "in.zarr", volume, (16, 16, 16))
    expected = {name: median_filter(volume, radius=4, mode=name) for name in ("wrap", "reflect")}
    words = [sys.executable, "-m", "cudamedian._zarr", tmp_path / "in.zarr", tmp_path / "out.zarr", "--radius", "4"]
    killed, finished, rounds = {"worker": 0, "client": 0}, 0, 0
    while sum(killed.values()) < KILLS:
        mode = ("wrap", "reflect")[rounds % 2]
        command = [*words, "--mode", mode, "--gpus", "--workers", "2", "--batch", "1", "--retries", "20", "--resume"]
        rounds += 1
        while True:
            process = subprocess.Popen(list(map(str, command)), start_new_session=True, stdout=subprocess.DEVNULL)
            time.sleep(random.uniform(1.5, 3.5))
            children = find_workers(process)
            who = ("worker", "client")[int(random.integers(2))]
            target = psutil.Process(process.pid) if who == "client" or not children else random.choice(children)
            if process.poll() is None:
                killed[who] += 1
                target.kill()
            status = process.wait(SECONDS)
            psutil.wait_procs(children, timeout=SECONDS)
            assert status in (0, -9)
            if status == 0:
                break
        np.testing.assert_array_equal(read(tmp_path / "out.zarr"), expected[mode])
        assert sorted(os.listdir(tmp_path)) == ["in.zarr", "out.zarr"]
        assert sorted(os.listdir(tmp_path / "out.zarr")) == ["c", "zarr.json"]
        shutil.rmtree(tmp_path / "out.zarr")
        finished += 1
    print(f"{killed}, {finished} arrays finished and equal")
