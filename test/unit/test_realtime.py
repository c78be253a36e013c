"""What a loop needs beside it: scheduling, counts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

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
