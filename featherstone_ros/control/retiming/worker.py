"""Computes in a thread of its own what takes too long for the one that asks."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

Report = Callable[[int, int], None]


class Superseded(Exception):
    """A job is no longer the newest one."""


@dataclass(frozen=True, eq=False)
class Job:
    """What a worker is asked to do.

    Attributes:
        compute: Called in the worker's thread with what it is to call from time to time.
        done: Called with its result, or with the exception that it has raised.
        dropped: Called with the reason instead, if something else has superseded it.
    """

    compute: Callable[[Report], Any]
    done: Callable[[Any], None]
    dropped: Callable[[str], None]


class Worker:
    """One thread that computes one job at a time: the newest, which supersedes those before."""

    def __init__(self, deliver: Callable[[Callable[[], None]], None]) -> None:
        """Have no job.

        Args:
            deliver: Has an action done in the thread of those who ask; any thread may call it.
        """
        self._deliver = deliver
        self._pool = ThreadPoolExecutor(1, "worker")  # its thread begins with the first job
        self._newest: Job | None = None
        self._lock = Lock()

    def start(self, job: Job) -> None:
        """Begin a job; the one before is dropped."""
        self.drop("superseded by a newer one")
        self._newest = job
        self._pool.submit(self._compute, job)

    def drop(self, why: str) -> None:
        """Drop the present job, if there is one; any thread may call this."""
        with self._lock:
            job, self._newest = self._newest, None
        if job is not None:
            self._deliver(partial(job.dropped, why))

    def close(self) -> None:
        """Drop the present job, and end without waiting for it."""
        self.drop("the controller ends")
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _compute(self, job: Job) -> None:
        def report(done: int, total: int) -> None:
            if self._newest is not job:
                raise Superseded

        try:
            report(0, 1)
            result = job.compute(report)
        except Superseded:
            return
        except Exception as error:
            result = error
        self._deliver(partial(self._finish, job, result))

    def _finish(self, job: Job, result: Any) -> None:
        """Hand over a result, unless the job has been dropped since."""
        with self._lock:
            is_newest = self._newest is job
            self._newest = None if is_newest else self._newest
        if is_newest:
            job.done(result)
