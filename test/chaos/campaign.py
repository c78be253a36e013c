"""Many episodes, on several pairs of nodes at once, each in a ROS domain of its own."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict
from multiprocessing import get_context
from multiprocessing.util import Finalize
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from arm import arm
from bench import Bench, StarvationError
from checks import Figures, judge
from episodes import KINDS, draw
from report import Outcome
from support import free_domain

__all__ = ("KINDS", "run")

ATTEMPTS = 4  # at an episode on a machine that is busy with something else

_bench: list[Bench] = []  # the worker's


def run(robot: str, seeds: list[int], workers: int, keep: Path | None) -> Iterator[Outcome]:
    """Run the episodes of these seeds; yield what comes out, in the order of their ends.

    Args:
        robot: Name of an arm of the package's own.
        seeds: Of the episodes.
        workers: Pairs of nodes.
        keep: Folder for the traffic of episodes that failed.
    """
    with ProcessPoolExecutor(workers, get_context("spawn"), _begin, (robot,)) as pool:
        for future in as_completed([pool.submit(_episode, seed, keep) for seed in seeds]):
            yield future.result()


def _begin(robot: str) -> None:
    """Start the nodes of this worker, to be ended with it."""
    stack = ExitStack()
    domain = stack.enter_context(free_domain())
    folder = Path(stack.enter_context(TemporaryDirectory()))
    _bench.append(Bench(arm(robot), domain, folder))
    stack.callback(_bench[0].close)
    Finalize(None, stack.close, exitpriority=10)
    atexit.register(stack.close)


def _episode(seed: int, keep: Path | None) -> Outcome:
    """Run one episode."""
    bench = _bench[0]
    episode = draw(seed, bench.arm.model, bench.arm.home)
    arm = bench.arm.led(episode.by_hand)
    at_rest = bool(np.array_equal(episode.start, episode.target))
    traffic = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            traffic = bench.run(episode)
            fault = episode.fault
            figures = judge(traffic, arm, at_rest, fault.is_lie, fault.loses_commands)
        except StarvationError as error:
            figures = Figures(starved=f"{error}, {attempt} times")
            continue
        except Exception as error:
            figures = Figures(recovery=np.inf, faults=[f"{type(error).__name__}: {error}"])
        break
    figures.faults += bench.revive()
    if keep and figures.faults and traffic is not None:
        np.savez_compressed(keep / f"seed_{seed}.npz", **asdict(traffic))
    fault = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else str(value)
        for name, value in asdict(episode.fault).items()
        if value and name != "links"
    )
    return Outcome(seed, episode.fault.kind, fault, at_rest, episode.by_hand, figures)
