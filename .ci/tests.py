"""Runs the tests: those without ROS side by side, then two of nodes at a time, then the rest alone.

Usage: python tests.py ARGUMENTS... of pytest, for each of the three.
"""

import os
import subprocess
import sys

PROCESSORS = min(len(os.sched_getaffinity(0)), 8)
PARTS = {"not ros": PROCESSORS, "ros and not alone": 2, "alone": 0}  # and how many at a time
NO_TESTS = 5  # pytest's status where the arguments choose none


def run(tests, count, arguments):
    """Run the tests so marked; return pytest's status."""
    command = [sys.executable, "-m", "pytest", "-m", tests, "--numprocesses", str(count)]
    return subprocess.call([*command, "--dist", "worksteal", *arguments])


def main():
    """Run all three, also where one fails; say no tests were found only if none found any."""
    statuses = [run(tests, count, sys.argv[1:]) for tests, count in PARTS.items()]
    sys.exit(next((status for status in statuses if status not in (0, NO_TESTS)), min(statuses)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted")
