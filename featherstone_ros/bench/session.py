"""The benchmark from start to end: one child process after the other, what they report, the rest.

Every race is between neighbours in one process; there is a process for each instruction set because
the core chooses its code when it is imported.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from featherstone_ros.bench.instruction_sets import NAMES, forcing, in_use
from featherstone_ros.bench.report import Report
from featherstone_ros.bench.robots import example_files, missing_robots
from featherstone_ros.bench.sections import SECTIONS
from featherstone_ros.errors import FeatherstoneError

ON_EVERY_SET = ("single", "batch")  # the sections that are raced on every instruction set
REMEDIES = {"pinocchio": "pip install pin", "mujoco": "pip install mujoco"}
_LINES_SHOWN = 15


class BenchError(FeatherstoneError):
    """A child process failed; the message has what it last wrote."""


@dataclass
class Session:
    """Runs the child processes and collects what they report.

    Attributes:
        sections: Names of those wanted.
        robots: Names or paths, None for those that the targets are about.
        quick: Whether a few rounds will do.
        report: What came out so far.
    """

    sections: Sequence[str]
    robots: Sequence[str] | None
    quick: bool
    report: Report = field(default_factory=Report)

    def run(self, console: Console) -> Report:
        """Race everything that can be raced here, with a progress bar.

        Raises:
            BenchError: A child process failed.
        """
        self.report.skipped.extend(self._skipped())
        here = [name for name in self.sections if not SECTIONS[name].lacks]
        if self.robots:
            here = [name for name in here if name != "robots"]
        on_others = [name for name in here if name in ON_EVERY_SET]
        plan = {in_use(): here} | {name: on_others for name in NAMES if name != in_use()}
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
            for name, sections in plan.items():
                if sections:
                    self._race(name, sections, progress)
        return self.report

    def _skipped(self) -> Iterator[str]:
        """Yield what cannot be raced here, and what would help."""
        for peer, remedy in REMEDIES.items():
            lacking = [name for name in self.sections if SECTIONS[name].lacks == peer]
            if lacking:
                titles = "; ".join(SECTIONS[name].title for name in lacking)
                yield f"{peer} is not installed ({remedy}): {titles}"
        if not self.robots and not example_files():
            absent = ", ".join([*missing_robots(), SECTIONS["robots"].title])
            yield f"example-robot-data is not installed (pip install example-robot-data): {absent}"

    def _race(self, instruction_set: str, sections: Sequence[str], progress: Progress) -> None:
        """Have a child race on this instruction set, if the core has it and the processor too."""
        task = progress.add_task(instruction_set, total=None)
        if not progress.console.is_terminal:
            progress.console.print(f"racing on {instruction_set}: {', '.join(sections)}")
        order = {"instruction_set": instruction_set, "sections": sections}
        order |= {"robots": self.robots, "quick": self.quick}
        with tempfile.TemporaryFile("w+") as log:
            with subprocess.Popen(
                [sys.executable, "-m", "featherstone_ros.bench.child", json.dumps(order)],
                env=forcing(instruction_set),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as child:
                try:
                    has_begun = self._listen(child.stdout, instruction_set, progress, task)
                except BaseException:
                    child.kill()
                    raise
            log.seek(0)
            last_words = log.read().splitlines()[-_LINES_SHOWN:]
        if child.returncode == 0 and has_begun:
            return
        if has_begun or instruction_set == in_use():
            text = "\n".join(last_words)
            raise BenchError(f"a child ended with exit status {child.returncode}:\n{text}")
        why = last_words[-1] if last_words else f"exit status {child.returncode}"
        self.report.instruction_sets[instruction_set] = f"not raced here: {why}"

    def _listen(self, out: IO[str], instruction_set: str, progress: Progress, task: TaskID) -> bool:
        """Collect what a child reports until it ends; return whether it began to race."""
        first = out.readline()
        if not first:
            return False
        self.report.instruction_sets[instruction_set] = "raced"
        progress.update(task, total=json.loads(first)["cases"])
        for line in out:
            self.report.add(json.loads(line))
            progress.advance(task)
        return True
