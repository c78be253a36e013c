"""Many episodes, on several pairs of nodes at once, each in a ROS domain of its own."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
from collections.abc import Iterator
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

import numpy as np
import pytest
from arm import arm
from bench import STARVED, Bench
from checks import Figures, judge_episode
from episodes import KINDS, SPEED, Episode, draw
from report import Outcome
from support import free_domain

__all__ = ("KINDS", "outcome_of", "run")

ATTEMPTS = 4  # at an episode that fails on a machine that is busy with something else
LONGEST = 300.0  # [s] that a worker may take for an episode: all its waits have bounds
LAST_WORDS = 2.0  # [s] for the stacks of one that takes longer


def run(robot: str, seeds: list[int], workers: int, keep: Path | None) -> Iterator[Outcome]:
    """Run the episodes of these seeds; yield the outcomes, in the order in which they end.

    Args:
        robot: Name of an arm of the package's own.
        seeds: Of the episodes.
        workers: Pairs of nodes.
        keep: Folder for the traffic of episodes that failed.
    """
    rest = list(reversed(seeds))
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(TemporaryDirectory(ignore_cleanup_errors=True))
        busy = [Worker(robot, Path(folder), keep) for _ in range(min(workers, len(seeds)))]
        for worker in busy:
            stack.callback(worker.end)
            worker.begin(rest.pop())
        while busy:
            wait([worker.pipe for worker in busy], min(worker.time_left for worker in busy))
            for worker in list(busy):
                if outcome := worker.outcome():
                    yield outcome
                    worker.begin(rest.pop()) if rest else busy.remove(worker)


class Worker:
    """A process with a pair of nodes; another one takes its place when it does not come back.

    Attributes:
        pipe: To the process.
    """

    def __init__(self, robot: str, folder: Path, keep: Path | None) -> None:
        """Start the process; ``folder`` is for what the nodes write."""
        self._arguments = robot, folder, keep
        self._start()

    def _start(self) -> None:
        context = get_context("spawn")
        self.pipe, end = context.Pipe()
        self._process = context.Process(target=_work, args=(end, *self._arguments), daemon=True)
        self._process.start()
        end.close()

    def begin(self, seed: int) -> None:
        """Let it run an episode."""
        self._seed, self._end = seed, monotonic() + LONGEST
        with contextlib.suppress(BrokenPipeError):  # ``outcome`` will tell
            self.pipe.send(seed)

    @property
    def time_left(self) -> float:
        """For the episode [s]."""
        return max(self._end - monotonic(), 0.0)

    def outcome(self) -> Outcome | None:
        """Return the outcome of the episode, None if it still runs."""
        words = f"did not come back from it within {LONGEST:.0f} s"
        if self.pipe.poll():
            try:
                outcome, is_sound = self.pipe.recv()
            except EOFError:
                words = "ended in it"
            else:
                if not is_sound:
                    self._renew()
                return outcome
        elif self.time_left:
            return None
        else:
            os.kill(self._process.pid, signal.SIGABRT)  # it says where it was
            self._process.join(LAST_WORDS)
        self._renew()
        figures = Figures(recovery=np.inf, faults=[f"no verdict: its process {words}"])
        kind = list(KINDS)[self._seed % len(KINDS)]
        return Outcome(self._seed, kind, "", 0, SPEED, False, False, figures)

    def _renew(self) -> None:
        self.end()
        self._start()

    def end(self) -> None:
        """End the process, whatever it is doing; its nodes end with it."""
        self._process.kill()
        self._process.join()
        self.pipe.close()


def _work(pipe: Connection, robot: str, folder: Path, keep: Path | None) -> None:
    """Run the episodes that are asked for, until killed: leaving DDS could hang."""
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with free_domain() as domain, contextlib.suppress(EOFError):
        (folder / str(domain)).mkdir(exist_ok=True)
        bench = Bench(arm(robot), domain, folder / str(domain))
        while True:
            pipe.send(_episode(bench, pipe.recv(), keep))


def _episode(bench: Bench, seed: int, keep: Path | None) -> tuple[Outcome, bool]:
    """Run an episode; return the outcome, and whether the nodes may run another one."""
    outcome, traffic = outcome_of(bench, draw(seed, bench.arm.model, bench.arm.home))
    outcome.figures.faults += bench.revive()
    if keep and outcome.figures.faults and traffic is not None:
        np.savez_compressed(keep / f"seed_{seed}.npz", **asdict(traffic))
    return outcome, traffic is not None


def outcome_of(bench: Bench, episode: Episode) -> tuple[Outcome, object]:
    """Run an episode and judge it; again if it fails and the nodes had to wait for a processor.

    Returns:
        What came out, and the traffic; None if the episode did not come to its end.
    """
    for attempt in range(1, ATTEMPTS + 1):
        bench.starved, traffic = 0.0, None
        try:
            traffic = bench.run(episode)
            figures = judge_episode(traffic, bench.arm, episode, bench.run)
        except (Exception, pytest.fail.Exception) as error:
            figures = Figures(recovery=np.inf, faults=[f"{type(error).__name__}: {error}"])
        if not figures.faults or bench.starved <= STARVED:
            break
        figures.starved = f"a thread of ours has waited {bench.starved:.3f} s, {attempt} times"
    return Outcome.of(episode, figures), traffic
