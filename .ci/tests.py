"""Runs the tests: those of nodes, then those that want to be alone; beside them those without ROS.

Usage: python tests.py ARGUMENTS... of pytest, for each of the three.

Tests of nodes wait more than they compute: two run for each processor, and what needs no nodes runs
in the time that is left, with a low priority. Its output comes last.

A test that fails runs once more when the others are done, and has failed if it fails again: a
machine that stands still for a second may be at fault. Either way it is named, so that it can be
fixed.

The run always ends. A test has its own time-out, and test/conftest.py ends a process that does not
come back from a test at all; whatever happens, the tests have LIMIT. Where it is permitted, the run
has processes and a /dev/shm of its own: what others have left there (segments and locks of Fast
DDS) concerns no test, and no process outlives the run. Elsewhere leftovers are searched for and
killed.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "test"
# Where they are: collecting the 12,000 others would take each process 6 s.
FOLDERS = {
    "not ros": ("unit", "fuzz", "chaos"),
    "ros and not alone": ("ros", "launch", "chaos"),
    "alone": ("ros", "chaos"),
}
PROCESSORS = min(len(os.sched_getaffinity(0)), 8)
NICE = 10  # of the tests without ROS: high enough to yield to nodes, low enough not to starve
FAILED, NO_TESTS = 1, 5  # pytest's status where tests failed, where the arguments choose none
LIMIT = float(os.environ.get("FEATHERSTONE_TEST_LIMIT", "1200"))  # [s] for each: nodes, then alone
AGAIN = 300.0  # [s] for those that failed
GRACE = 60.0  # [s] in which pytest says what has failed so far
MOST_AGAIN = 10  # more failures than these are no machine's fault
LOOK = 0.5  # [s]

RUN = "FEATHERSTONE_TEST_RUN"  # in the environment of all processes of a run
ISOLATED = "isolated"
# The shell is process 1 there, and reaps orphans.
ISOLATION = [
    *("setpriv", "--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"),
    *("--mount-proc", "--mount", "sh", "-c"),
    *('mount -t tmpfs tmpfs /dev/shm && "$@"; exit $?', "sh"),
]


def say(text):
    """Print at once, into a pipe as well."""
    print(f"featherstone_ros: {text}", flush=True)


def may_isolate():
    """Tell whether this user may isolate a run on this machine."""
    with contextlib.suppress(OSError):
        return subprocess.run([*ISOLATION, "true"], capture_output=True).returncode == 0
    return False


def isolate(arguments):
    """Run this program again, isolated; return its status."""
    command = [*ISOLATION, sys.executable, __file__, *arguments]
    inside = subprocess.Popen(command, env={**os.environ, RUN: ISOLATED})
    signal.signal(signal.SIGINT, lambda *_: None)  # the run inside answers it
    signal.signal(signal.SIGTERM, lambda *_: inside.kill())
    try:
        return inside.wait(2 * LIMIT + AGAIN + 5 * GRACE)
    except subprocess.TimeoutExpired:
        inside.kill()
        say("the run did not end by itself and was killed")
        return 1


def start(tests, count, arguments, cache, output=None):
    """Start pytest on the tests of a mark, ``count`` at a time; into a file: with low priority."""
    command = [sys.executable, "-m", "pytest", "-m", tests, "--numprocesses", str(count)]
    command += ["--dist", "worksteal", "-o", f"cache_dir={cache / tests}", *arguments]
    if not any(os.path.exists(argument.partition("::")[0]) for argument in arguments):
        command += [str(TESTS / folder) for folder in FOLDERS[tests]]
    if output is None:
        return subprocess.Popen(command)
    pytest = subprocess.Popen(
        command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
    )
    os.setpriority(os.PRIO_PROCESS, pytest.pid, NICE)  # before it starts others
    return pytest


def wait(pytest, tests, end):
    """Return pytest's status; end it when its time is over, and the whole run with it."""
    try:
        return pytest.wait(max(end - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        say(f"the tests marked {tests!r} took too long (FEATHERSTONE_TEST_LIMIT): interrupted")
    pytest.send_signal(signal.SIGINT)
    try:
        pytest.wait(GRACE)
    except subprocess.TimeoutExpired:
        say("pytest does not answer")
    raise TimeoutError


def run_all(arguments):
    """Run all three, even if one fails; the status is NO_TESTS only if none found any."""
    begin = time.monotonic()
    statuses = {}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryDirectory() as folder:
        cache = Path(folder)
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # Python starts hundreds of times
        others = start("not ros", PROCESSORS, arguments, cache, output)
        try:
            for tests, count in (("ros and not alone", 2 * PROCESSORS), ("alone", 1)):
                pytest = start(tests, count, arguments, cache)
                statuses[tests] = wait(pytest, tests, time.monotonic() + LIMIT)
            with contextlib.suppress(PermissionError):  # there is nobody left to yield to
                os.setpriority(os.PRIO_PGRP, others.pid, 0)
            statuses["not ros"] = wait(others, "not ros", begin + 2 * LIMIT)
        except TimeoutError:
            return 1
        finally:
            others.terminate()
            output.seek(0)
            print(output.read().decode(errors="replace"), flush=True)
        end = time.monotonic() + AGAIN
        for tests in [tests for tests, status in statuses.items() if status == FAILED]:
            statuses[tests] = run_again(tests, arguments, cache, end)
    failures = (status for status in statuses.values() if status not in (0, NO_TESTS))
    return next(failures, min(statuses.values()))


def run_again(tests, arguments, cache, end):
    """Run the tests of a mark that have failed, alone; return the status."""
    file = cache / tests / "v" / "cache" / "lastfailed"
    failed = list(json.loads(file.read_text())) if file.exists() else []
    is_a_test = ["::" in name for name in failed]  # else a file that cannot be imported
    if not 0 < len(failed) <= MOST_AGAIN or not all(is_a_test):
        return FAILED
    say("once more, since they failed: " + " ".join(failed))
    pytest = start(tests, 1, ["--last-failed", *arguments], cache)
    try:
        status = wait(pytest, tests, end)
    except TimeoutError:
        return FAILED
    say("failed at first, then " + ("passed: " if status == 0 else "again: ") + " ".join(failed))
    return status


def end_rest():
    """Kill what a test has left: it might hold our output open, and whoever reads it would wait."""
    mark = f"{RUN}={os.environ[RUN]}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        pid = int(process.name)
        with contextlib.suppress(OSError):
            if pid not in (os.getpid(), 1) and mark in (process / "environ").read_bytes():
                os.kill(pid, signal.SIGKILL)


def greedy():
    """Return the processes that keep a processor from the tests by a real-time priority."""

    def times():
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if os.sched_getscheduler(int(process.name)) in (os.SCHED_FIFO, os.SCHED_RR):
                    numbers = (process / "stat").read_text().rpartition(")")[2].split()
                    found[process] = sum(map(int, numbers[11:13])) / os.sysconf("SC_CLK_TCK")
        return found

    before = times()
    time.sleep(LOOK)
    spent = {process: now - before.get(process, now) for process, now in times().items()}
    return [process for process, time_spent in spent.items() if time_spent > LOOK / 2]


def main():
    """Run the tests in isolation, or as well as it is possible here; return the status."""
    arguments = sys.argv[1:]
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup nodes would ignore it
    if os.environ.get(RUN) != ISOLATED:
        for process in greedy():
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            say(f"the tests may be slow: process {process.name} is always before them: {command}")
        if may_isolate():
            return isolate(arguments)
        os.environ[RUN] = str(os.getpid())
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return run_all(arguments)
    finally:
        end_rest()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted")
