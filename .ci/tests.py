"""Runs the tests: those of nodes, then those that want to be alone; beside them those without ROS.

Usage: python tests.py ARGUMENTS... of pytest, for each of the three.

Tests of nodes wait more than they compute: two run for each processor, and what needs no nodes runs
in the time that is left, with a low priority. Its output comes last.
"""

import os
import subprocess
import sys
import tempfile

PROCESSORS = min(len(os.sched_getaffinity(0)), 8)
NICE = 10  # of the tests without ROS: high enough to yield to nodes, and not to be starved
NO_TESTS = 5  # pytest's status where the arguments choose none


def command(tests, count, arguments):
    """Return the command that runs the tests so marked, so many at a time."""
    command = [sys.executable, "-m", "pytest", "-m", tests, "--numprocesses", str(count)]
    return [*command, "--dist", "worksteal", *arguments]


def main():
    """Run all three, also where one fails; say no tests were found only if none found any."""
    arguments = sys.argv[1:]
    with tempfile.TemporaryFile() as output:
        others = subprocess.Popen(
            command("not ros", PROCESSORS, arguments), stdout=output, stderr=subprocess.STDOUT
        )
        os.setpriority(os.PRIO_PROCESS, others.pid, NICE)  # before it starts others
        try:
            statuses = [
                subprocess.call(command("ros and not alone", 2 * PROCESSORS, arguments)),
                subprocess.call(command("alone", 0, arguments)),
                others.wait(),
            ]
        finally:
            others.terminate()
        output.seek(0)
        print(output.read().decode(errors="replace"))
    sys.exit(next((status for status in statuses if status not in (0, NO_TESTS)), min(statuses)))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("featherstone_ros: interrupted")
