"""Runs the tests: those without ROS side by side, then those that talk over DDS, one at a time.

Usage: python tests.py ARGUMENTS... of pytest, for both.
"""

import os
import subprocess
import sys

WORKERS = min(len(os.sched_getaffinity(0)), 8)
SIDE_BY_SIDE = ["-m", "not ros", "--numprocesses", str(WORKERS), "--dist", "worksteal"]
ONE_AT_A_TIME = ["-m", "ros"]
NO_TESTS = 5  # pytest's status where the arguments choose none


def main():
    """Run both, also where the first fails; say no tests were found only if neither found any."""
    statuses = [
        subprocess.call([sys.executable, "-m", "pytest", *part, *sys.argv[1:]])
        for part in (SIDE_BY_SIDE, ONE_AT_A_TIME)
    ]
    sys.exit(next((status for status in statuses if status not in (0, NO_TESTS)), min(statuses)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted")
