"""Counts instructions with valgrind's callgrind: figures that no other process disturbs.

Instructions are not time, but they say what time is spent on, and are the same on every run. Run as
a program, this module makes the calls, between two marks each: calls of getppid, where callgrind
is told to write its counts; nothing else calls it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import featherstone_ros as fr
from benchmarks.cases import Case, cases
from featherstone_ros.errors import FeatherstoneError

VARIABLE = "FEATHERSTONE_INSTRUCTION_SET"
_COUNTED = "single", "batch", "simulation"
_CALLS = 100
_LINES_SHOWN = 15


class CallgrindError(FeatherstoneError):
    """Instructions cannot be counted here; the message says why."""


def count(quick: bool, robots: list[str] | None) -> list[dict[str, Any]]:
    """Run the calls under callgrind, which takes minutes.

    Return what ``report.rows`` takes, with instructions in place of times.
    """
    if not shutil.which("valgrind"):
        raise CallgrindError("valgrind is not installed (Debian, Ubuntu: apt install valgrind)")
    with tempfile.TemporaryDirectory() as folder:
        # Python may restart itself as a child in another environment: the child counts.
        command = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--dump-before=getppid"]
        command += [f"--callgrind-out-file={folder}/out", sys.executable, "-m", __name__]
        command += [json.dumps([quick, robots])]
        known = [name for name in fr._core.supported() if name != "x86-64-v4"]  # not to valgrind
        environment = {VARIABLE: known[0], **os.environ} if known else None
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            last_words = "\n".join(done.stderr.splitlines()[-_LINES_SHOWN:])
            raise CallgrindError(f"valgrind ended with status {done.returncode}:\n{last_words}")
        found = []
        lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
        for number, line in enumerate(lines):
            dump = Path(folder, f"out.{2 * number + 2}").read_text(errors="replace")
            totals = re.search(r"^(?:totals|summary): (\d+)", dump, re.MULTILINE)
            if not totals:
                raise CallgrindError(f"callgrind has written no totals of {line}")
            stats = {"median": int(totals[1])}
            found.append({"extra_info": json.loads(line), "stats": stats})
        return found


def main(quick: bool, robots: list[str] | None) -> None:
    """Make the calls; print a line about each."""
    for case in cases(quick, robots):
        if case.section in _COUNTED:
            for line in _marked_calls(case):
                print(json.dumps(line), flush=True)


def _marked_calls(case: Case) -> Iterator[dict[str, Any]]:
    for contender, make in case.calls.items():
        call = make()
        calls = _CALLS if call.units == 1 else 1
        timer = call.timer
        timer.timeit(1)
        os.getppid()
        timer.timeit(calls)
        os.getppid()
        yield {
            "section": case.section, "robot": case.robot, "method": case.method,
            "contender": contender, "units": calls * call.units,
            "instruction_set": fr._core.instruction_set,
        }  # fmt: skip


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
