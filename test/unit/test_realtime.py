"""What a loop needs beside it: hand-over, scheduling, counts."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from featherstone_ros.realtime.mailbox import Mailbox
from featherstone_ros.realtime.scheduling import Scheduling, refuse_missing_cpus
from featherstone_ros.realtime.timing import Timing

LONG = 30.0  # [s], reached only when a test fails


# Mailbox.


def test_mailbox_runs_in_order_and_returns_results():
    mailbox, order, results = Mailbox(), [], []
    mailbox.post(lambda: order.append(1))
    caller = threading.Thread(target=lambda: results.append(mailbox.call(lambda: len(order), LONG)))
    caller.start()
    while caller.is_alive():
        mailbox.run()
    assert order == [1]
    assert results == [1]


def test_call_that_nobody_answers_is_given_up_for_good():
    mailbox, done = Mailbox(), []
    with pytest.raises(TimeoutError, match=r"0\.01 s"):
        mailbox.call(lambda: done.append(1), 0.01)
    mailbox.run()
    assert not done


def test_actions_put_in_while_running_wait_for_the_next_run():
    mailbox, done = Mailbox(), []
    mailbox.post(lambda: mailbox.post(lambda: done.append(1)))
    mailbox.run()
    assert not done
    mailbox.run()
    assert done


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


def probe(who: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-c", PROBE, who], capture_output=True, text=True, check=True
    )
    return result.stdout.strip().split("|")


@pytest.mark.skipif(
    os.sched_getscheduler(0) != os.SCHED_OTHER, reason="the tests run with real-time priority"
)
def test_without_the_privilege_it_says_how_to_get_it():
    count, scheduling, *problems = probe("unprivileged")
    assert count == "2"
    assert scheduling == "default"
    for problem in problems:
        assert "/etc/security/limits.conf" in problem
        assert "rtprio" in problem
        assert "LimitMEMLOCK" in problem


@pytest.mark.skipif(os.getuid() != 0, reason="needs the privilege")
def test_with_the_privilege_priority_and_memory_are_granted():
    count, scheduling = probe("privileged")
    assert (count, scheduling) == ("0", "FIFO 5")


# Timing.


def arrive(timing: Timing, *numbers: int) -> int:
    for number in numbers:
        timing.arrived({"publication_sequence_number": number})
    return timing.lost


def test_gaps_in_sequence_numbers_are_lost_messages():
    assert arrive(Timing(), 7, 8, 9) == 0
    assert arrive(Timing(), 7, 8, 11, 12, 20, 21) == 2 + 7


def test_a_restarted_or_second_publisher_is_not_taken_for_losses():
    assert arrive(Timing(), 500, 501, 1, 2, 3) == 0
    assert arrive(Timing(), 500, 1, 501, 2, 502, 3, 503) == 0


def test_middleware_without_sequence_numbers_counts_no_losses():
    timing = Timing()
    timing.arrived({"publication_sequence_number": None})
    assert timing.lost == 0


def test_report_has_the_latencies_since_the_last_one():
    now = 100.0
    timing = Timing(lambda: now)
    for duration in (100e-6, 200e-6, 300e-6):
        timing.answered(duration)
    report = timing.report()
    assert float(report["latency max [us]"]) == pytest.approx(300.0, abs=1.0)
    assert float(report["latency p50 [us]"]) == pytest.approx(200.0, abs=1.5)
    timing.answered(400e-6)
    now += 0.1  # somebody could not wait
    assert timing.report() == report
    now += 0.9
    assert float(timing.report()["latency max [us]"]) == pytest.approx(400.0, abs=1.0)
    now += 1.0
    assert timing.report()["latency max [us]"] == "0"


def test_overruns_are_what_took_longer_than_allowed():
    timing = Timing()
    for taken, allowed in ((1e-3, 2e-3), (3e-3, 2e-3), (9.0, 0.0), (2e-3, 2e-3)):
        timing.answered(taken, allowed)
    assert timing.report()["overruns"] == timing.overruns == 1


def test_jitter_is_the_deviation_from_the_period():
    timing = Timing()
    for now in (1.0, 1.001, 1.0025, 1.003):
        timing.woke(now, 0.001)
    assert float(timing.report()["period jitter max [us]"]) == pytest.approx(500.0, abs=2.0)
