"""Feeds mutated inputs to a target, and keeps those that are answered in a new way."""

from __future__ import annotations

import mmap
import re
import time
import traceback
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from random import Random

from mutations import mutants, variants
from targets import Target

MAX_KEPT = 1000  # inputs to be changed further
DETAILS = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|[-+.\w]*\d[-+.\w]*")


@dataclass
class Outcome:
    """What a target has done.

    Attributes:
        executions: Inputs read.
        refused: How many of them were refused.
        answers: How many got each answer, without names and figures.
        findings: Traceback and input of each kind of exception that is no refusal.
        slowest: Longest time for one input [s].
        seconds: Time for all [s].
    """

    executions: int = 0
    refused: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    findings: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    slowest: float = 0.0
    seconds: float = 0.0


class LastInput:
    """Keeps the input that is being read in a file, whatever becomes of the process."""

    def __init__(self, path: Path, size: int) -> None:
        """Make a file for inputs of up to ``size`` bytes: 4 of length, then the input."""
        path.write_bytes(bytes(4 + size))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), 0)

    def keep(self, data: bytes) -> None:
        """Remember this input."""
        self._memory[4 : 4 + len(data)] = data
        self._memory[:4] = len(data).to_bytes(4, "little")


def fuzz(
    target: Target,
    executions: int,
    random: Random,
    last: LastInput,
) -> Outcome:
    """Read the seeds, then so many mutated inputs.

    A new answer is a sign that the input has reached new code: it is mutated further.
    """
    seeds, found, outcome = target.seeds(), [], Outcome()
    begun = time.perf_counter()
    for data in seeds:
        execute(target, data, outcome, last)
    inputs = mutants(random, seeds, found, target.changes, target.longest)
    if target.is_binary:
        inputs = (copy for data in inputs for copy in variants(random, data))
    with suppress(KeyboardInterrupt):  # what has been done until then counts
        for data in islice(inputs, executions):
            if execute(target, data, outcome, last) and len(found) < MAX_KEPT:
                found.append(data)
    outcome.seconds = time.perf_counter() - begun
    return outcome


def execute(target: Target, data: bytes, outcome: Outcome, last: LastInput) -> bool:
    """Read one input; return whether it is answered in new words."""
    last.keep(data)
    outcome.executions += 1
    begun = time.perf_counter()
    try:
        answer = target.read(data)
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        kind = f"{type(error).__name__} in {place.name}, line {place.lineno}"
        outcome.findings.setdefault(kind, (traceback.format_exc(), data))
        return False
    outcome.slowest = max(outcome.slowest, time.perf_counter() - begun)
    outcome.refused += answer.is_refusal
    words = without_details(answer.words)
    outcome.answers[words] += 1
    return outcome.answers[words] == 1


@lru_cache(maxsize=10_000)
def without_details(words: str) -> str:
    """Return the words without names and figures."""
    return DETAILS.sub("…", words[:1000])[:200]
