"""What a loop needs beside it: scheduling, counts."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from compiled import timing
from hypothesis import example, given, settings
from hypothesis import strategies as st
from refusals import refusals

from featherstone_ros.realtime.loop_timing import COARSE_END, LatencyHistogram
from featherstone_ros.realtime.scheduling import Scheduling, refuse_missing_cpus, session_niceness

# Scheduling.


def test_affinity_is_the_threads_alone():
    cpus = sorted(os.sched_getaffinity(0))
    seen: list[set[int]] = []

    def run() -> None:
        Scheduling(cpus=(cpus[-1],)).enter()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert seen == [{cpus[-1]}]
    assert sorted(os.sched_getaffinity(0)) == cpus


@pytest.mark.parametrize(
    ("text", "niceness"), [("/autogroup-114 nice -11\n", -11), ("", 0), (None, 0)]
)
def test_session_without_a_niceness_has_none(tmp_path, text, niceness):
    autogroup = tmp_path / "autogroup"
    if text is not None:
        autogroup.write_text(text)
    assert session_niceness(str(autogroup)) == niceness


def test_missing_processor_is_named_with_those_that_there_are():
    there = sorted(os.sched_getaffinity(0))
    assert refuse_missing_cpus(there) is None
    refusal = refuse_missing_cpus([there[0], 4711])
    assert "4711" in refusal
    assert f"there are {there[0]}" in refusal


PROBE = """
import os, resource, sys
from featherstone_ros.realtime.scheduling import Scheduling, scheduling_in_force
if sys.argv[1] == "unprivileged":
    for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK):
        resource.setrlimit(limit, (0, 0))
    if os.getuid() == 0:
        os.setuid(65534)
problems = Scheduling(priority=5, lock_memory=True).enter()
print(len(problems), scheduling_in_force(), *problems, sep="|")
"""


def probe(who: str, folder: Path) -> list[str]:
    command = [sys.executable, "-c", PROBE, who]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return result.stdout.strip().split("|")


@pytest.mark.skipif(
    os.sched_getscheduler(0) != os.SCHED_OTHER, reason="the tests run with real-time priority"
)
def test_without_the_privilege_it_says_how_to_get_it(tmp_path):
    count, scheduling, *problems = probe("unprivileged", tmp_path)
    assert count == "2"
    assert scheduling == "default"
    for problem in problems:
        assert "/etc/security/limits.conf" in problem
        assert "rtprio" in problem
        assert "LimitMEMLOCK" in problem


@pytest.mark.skipif(os.getuid() != 0, reason="needs the privilege")
def test_with_the_privilege_priority_and_memory_are_granted(tmp_path):
    count, scheduling = probe("privileged", tmp_path)
    assert (count, scheduling) == ("0", "FIFO 5")


# The latency histogram against sorted lists of the same durations.


NS = 10**9
durations = st.lists(st.integers(0, NS) | st.integers(0, NS // 250), min_size=1, max_size=50)


def histogram(nanoseconds: list[int]) -> LatencyHistogram:
    counts, longest = timing.count(nanoseconds)
    return LatencyHistogram(counts, longest / NS)


def width(seconds: float) -> float:
    """Width of the bucket that a duration falls into [s]."""
    return 1e-6 if seconds < 0.0041 else 64e-6 if seconds < 1e-6 * COARSE_END else math.inf


@settings(max_examples=40)
@given(durations, st.floats(0.0, 100.0))
def test_percentile_is_the_value_of_that_rank_to_a_bucket(nanoseconds, p):
    it, seconds = histogram(nanoseconds), [ns / NS for ns in nanoseconds]
    exact = sorted(seconds)[max(math.ceil(p / 100.0 * len(seconds)), 1) - 1]
    assert exact - 1e-12 <= it.percentile(p) <= min(exact + width(exact), max(seconds)) + 1e-12
    assert it.max == max(seconds) == it.percentile(100.0)


@settings(max_examples=40)
@given(durations)
@example([515_073_479])
def test_text_tells_all_but_what_happens_within_a_bucket(nanoseconds):
    left = sorted(ns // 1000 for ns in nanoseconds)
    for end, count in (
        map(int, bucket.split(":")) for bucket in histogram(nanoseconds).text().split()
    ):
        bucket, left = left[:count], left[count:]
        begin = end - 1 if end <= 4096 else end - 64 if end <= COARSE_END else COARSE_END
        assert begin <= bucket[0] and bucket[-1] <= end - (end <= COARSE_END)
    assert not left


@pytest.mark.parametrize(
    ("us", "end"),
    [(-5.0, 1), (0.0, 1), (0.9, 1), (4095.5, 4096), (4096.5, 4160), (266238.0, 266240)],
)
def test_text_names_the_end_of_each_bucket(us, end):
    assert histogram([int(1000 * us)]).text() == f"{end}:1"
    assert histogram([0, 12_500, 12_900, 4_100_000, 2 * NS]).text() == "1:1 13:2 4160:1 2000000:1"
    it = LatencyHistogram()
    assert (it.max, it.percentile(50.0), it.text()) == (0.0, 0.0, "")


test_what_is_no_share_is_refused = refusals(
    *(
        (ValueError, "expected 0 to 100", lambda p=p: LatencyHistogram().percentile(p))
        for p in (-0.1, 100.1, math.nan)
    ),
)
