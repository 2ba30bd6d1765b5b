# SPDX-FileCopyrightText: Copyright NumFOCUS
# SPDX-License-Identifier: Apache-2.0
"""Tasks at a scheduler, a bounded number at a time: it never knows more than these, however many chunks there are."""

from __future__ import annotations

import logging
import queue
import signal
import time
import uuid
from collections.abc import Callable, Generator
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import dask.config
from distributed import Client, Future, Nanny, Scheduler, SpecCluster
from distributed.scheduler import KilledWorker

from .tasks import Done

# How often the caller hears, and how often the workers are counted.
TICK_SECONDS, COUNT_SECONDS = 0.25, 5.0


class RunError(Exception):
    """A run cannot go on; the text says why."""


@dataclass
class Bounds:
    """How many tasks are at the scheduler: for each thread of the workers that there are now, or a fixed number."""

    client: Client
    in_flight: int | None = None
    per_thread: int = 3
    patience: float = 300.0
    _threads: int = 0
    _counted: float = field(default=-COUNT_SECONDS)
    _seen: float = field(default_factory=time.monotonic)

    def threads(self) -> int:
        """Return the threads of all workers, as counted some seconds ago at most."""
        now = time.monotonic()
        if now - self._counted >= COUNT_SECONDS:
            self._counted = now
            self._threads = sum(self.client.nthreads().values())
            if self._threads:
                self._seen = now
            elif now - self._seen > self.patience:
                raise RunError(f"the scheduler has had no worker for {self.patience:.0f} s")
        return self._threads

    def limit(self) -> int:
        """Return how many tasks may be at the scheduler."""
        threads = self.threads()
        return self.in_flight or max(1, self.per_thread * threads)


def _failure(number: int, future: Future, describe: Callable[[int], str]) -> RunError:
    """Return what is said of a task that failed for good."""
    if future.status != "error":
        return RunError(f"{describe(number)} was {future.status}: the scheduler is gone, or has forgotten it")
    error = future.exception()
    if isinstance(error, KilledWorker):
        return RunError(f"{describe(number)} was given up: it was running each time that a worker ended ({error})")
    return RunError(f"{describe(number)} failed: {error}")


class Runner:
    """Tasks with numbers, of which some are at the scheduler."""

    def __init__(self, client: Client, function: Callable[..., Done], retries: int, **shared: Any) -> None:
        """Begin without tasks; what is `shared` goes with each."""
        self.client, self._function, self._retries, self._shared = client, function, retries, shared
        self._name = f"cudamedian-zarr-{uuid.uuid4().hex[:12]}"
        self._ended: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._lost: list[Future] = []
        self.pending: dict[str, tuple[int, Future]] = {}

    def submit(self, numbers: range) -> None:
        """Give tasks to the scheduler."""
        keys = [f"{self._name}-{number}" for number in numbers]
        futures = self.client.map(
            self._function, numbers, key=keys, retries=self._retries, pure=False, batch_size=None, **self._shared
        )
        for number, future in zip(numbers, futures, strict=True):
            self.pending[future.key] = number, future
            future.add_done_callback(self._ended.put)

    def wait(self) -> list[Future]:
        """Return futures that have ended, none where none does for a while."""
        heard = self._lost
        try:
            heard.append(self._ended.get(timeout=TICK_SECONDS))
            while not self._ended.empty():
                heard.append(self._ended.get())
        except queue.Empty:
            pass
        # A task is lost where the worker died that had what it did. The scheduler has it run again, by another one.
        states = [(future, future.status) for future in heard]
        self._lost = [future for future, status in states if status in ("lost", "pending")]
        return [future for future, status in states if status not in ("lost", "pending")]

    def fetch(self, ended: dict[int, Future], describe: Callable[[int], str]) -> list[Done]:
        """Return what tasks did that have ended well, each with its number. Those lost since are waited for."""
        try:
            return self.client.gather(list(ended.values())) if ended else []
        except Exception as error:
            for number, future in ended.items():
                if future.status == "error":
                    raise _failure(number, future, describe) from error
            if not isinstance(error, (CancelledError, OSError)):
                raise
            raise RunError(f"what tasks did cannot be fetched: the scheduler is gone ({error})") from error

    def cancel(self) -> None:
        """Take back what has not begun. What is running ends as it would, and writes whole chunks."""
        futures = [future for _, future in self.pending.values()]
        self.pending.clear()
        if futures and self.client.status == "running":
            self.client.cancel(futures)


def run_bounded(
    runner: Runner,
    numbers: range,
    bounds: Bounds,
    hear: Callable[[list[Done]], object],
    describe: Callable[[int], str] = "task {}".format,
) -> None:
    """Run tasks, and tell the caller what is done, in groups, and several times a second that nothing was.

    The first task that fails for good ends the run.
    """
    at, ended, heard = 0, dict[int, Future](), time.monotonic()
    try:
        while at < len(numbers) or runner.pending or ended:
            limit = bounds.limit()
            room = min(limit - len(runner.pending), len(numbers) - at)
            # In groups, as a group costs the scheduler little more than a task.
            if room > 0 and (room >= limit // 4 or room == len(numbers) - at):
                runner.submit(numbers[at : at + room])
                at += room
            for future in runner.wait() if runner.pending else []:
                number, _ = runner.pending.pop(future.key)
                if future.status in ("error", "cancelled"):
                    raise _failure(number, future, describe)
                ended[number] = future
            # What tasks did is fetched in groups, too: each time takes the scheduler as long as some tasks do.
            now = time.monotonic()
            if now - heard >= TICK_SECONDS or len(ended) >= limit or not runner.pending:
                hear(runner.fetch(ended, describe))
                ended, heard = {}, now
    finally:
        runner.cancel()


@contextmanager
def _interrupts_blocked() -> Generator[None]:
    """Block SIGINT in threads and processes that are started here, for as long as they live.

    Ctrl-C goes to all processes of a terminal. This one hears it and ends the workers, which are to say nothing.
    """
    # Where it is started later, by the thread that starts workers, it unblocks them there.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def local_cluster(
    workers: int, threads: int, memory_limit: str, gpus: list[str], allowed_failures: int
) -> Generator[Client]:
    """Start worker processes on this machine; with `gpus`, each sees one of them. A process that dies is replaced."""
    specification: dict[int, dict[str, Any]] = {}
    for index in range(len(gpus) or workers):
        options: dict[str, Any] = {"nthreads": threads, "memory_limit": memory_limit, "silence_logs": logging.CRITICAL}
        if gpus:
            options["env"] = {"CUDA_VISIBLE_DEVICES": gpus[index]}
        specification[index] = {"cls": Nanny, "options": options}
    scheduler = {"cls": Scheduler, "options": {"dashboard": False, "dashboard_address": ":0"}}
    with ExitStack() as stack:
        stack.enter_context(dask.config.set({"distributed.scheduler.allowed-failures": allowed_failures}))
        with _interrupts_blocked():
            cluster = stack.enter_context(SpecCluster(specification, scheduler, silence_logs=logging.CRITICAL))
        client = stack.enter_context(Client(cluster))
        client.wait_for_workers(len(specification))
        yield client


@contextmanager
def existing_scheduler(address: str, patience: float) -> Generator[Client]:
    """Connect to a scheduler by its address or its file."""
    # That the scheduler is gone is told by the run, and without Dask's traces.
    for name in ("distributed.client", "distributed.core", "distributed.utils"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    place = {"scheduler_file": address} if Path(address).is_file() else {"address": address}
    try:
        client = Client(**place, timeout=min(patience, 30), set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise RunError(f"no scheduler answers at {address}: {error}") from error
    with client:
        try:
            client.wait_for_workers(1, timeout=patience)
        except TimeoutError as error:
            raise RunError(f"the scheduler at {address} has had no worker for {patience:.0f} s") from error
        yield client
