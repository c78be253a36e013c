"""The benchmark from start to end: runs its child processes in turn and collects their reports.

Every race is between neighbours in one process; there is a process for each instruction set because
the core chooses its code when it is imported.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import IO, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from featherstone_ros.errors import GET_ROS, FeatherstoneError
from featherstone_ros.tools.bench.instruction_sets import NAMES, forcing, in_use
from featherstone_ros.tools.bench.report import BenchReport
from featherstone_ros.tools.bench.robots import example_files, missing_robots
from featherstone_ros.tools.bench.sections import NODES, SECTIONS

ON_EVERY_SET = ("single", "batch")  # the sections that are raced on every instruction set
REMEDIES = {
    "pinocchio": "pip install pin",
    "mujoco": "pip install mujoco",
    "rclpy": GET_ROS,
}
_LINES_SHOWN = 15
_PATIENCE = 60.0  # [s] for a child to end


class BenchError(FeatherstoneError):
    """A child process failed; the message has what it last wrote."""


@dataclass
class Session:
    """Runs the child processes and collects what they report.

    Attributes:
        sections: Names of those wanted.
        robots: Names or paths, None for those that the targets are about.
        quick: Whether a few rounds will do.
        minutes: How long one closed loop of nodes is watched.
        report: What came out so far.
    """

    sections: Sequence[str]
    robots: Sequence[str] | None
    quick: bool
    minutes: float = 0.5
    report: BenchReport = field(default_factory=BenchReport)

    def run(self, console: Console) -> BenchReport:
        """Race everything that can be raced here, with a progress bar.

        Raises:
            BenchError: A child process failed.
        """
        self.report.skipped.extend(self._skipped())
        here = [name for name in self.sections if not SECTIONS[name].lacks]
        if self.robots:
            here = [name for name in here if name != "robots"]
        raced = [name for name in here if name != NODES]
        on_others = [name for name in raced if name in ON_EVERY_SET]
        plan = {in_use(): raced} | {name: on_others for name in NAMES if name != in_use()}
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
        with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress:
            for name, sections in plan.items():
                if sections:
                    self._race(name, sections, progress)
            if NODES in here:
                self._measure_nodes(progress)
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

    def _race(self, name: str, sections: Sequence[str], progress: Progress) -> None:
        """Have a child race on this instruction set, if the core has it and the processor too."""
        if not progress.console.is_terminal:
            progress.console.print(f"racing on {name}: {', '.join(sections)}")
        order = {
            "instruction_set": name,
            "sections": sections,
            "robots": self.robots,
            "quick": self.quick,
        }
        status, has_begun, last_words = self._child("child", order, name, progress)
        if status == 0 and has_begun:
            self.report.instruction_sets[name] = "raced"
        elif has_begun or name == in_use():
            raise BenchError(_complaint(status, last_words))
        else:
            why = last_words[-1] if last_words else f"exit status {status}"
            self.report.instruction_sets[name] = f"not raced here: {why}"

    def _measure_nodes(self, progress: Progress) -> None:
        """Have a child start nodes and measure them."""
        if not progress.console.is_terminal:
            progress.console.print("measuring nodes")
        order = {"quick": self.quick, "minutes": self.minutes}
        status, has_begun, last_words = self._child("nodes.child", order, "", progress)
        if status or not has_begun:
            raise BenchError(_complaint(status, last_words))

    def _child(
        self, module: str, order: dict[str, Any], instruction_set: str, progress: Progress
    ) -> tuple[int, bool, list[str]]:
        """Run a child process, with a bar; return its status, whether it began, its last words."""
        task = progress.add_task(instruction_set or NODES, total=None)
        with tempfile.TemporaryFile("w+") as log:
            with subprocess.Popen(
                [sys.executable, "-m", f"{__package__}.{module}", json.dumps(order)],
                env=forcing(instruction_set) if instruction_set else None,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            ) as child:
                try:
                    out = child.stdout
                    has_begun = out is not None and self._listen(out, progress, task)
                except BaseException:
                    _end(child)
                    raise
            log.seek(0)
            return child.returncode, has_begun, log.read().splitlines()[-_LINES_SHOWN:]

    def _listen(self, out: IO[str], progress: Progress, task: TaskID) -> bool:
        """Collect what a child reports until it ends; return whether it began to race."""
        first = out.readline()
        if not first:
            return False
        progress.update(task, total=json.loads(first)["cases"])
        for line in out:
            self.report.add(json.loads(line))
            progress.advance(task)
        return True


def _end(child: subprocess.Popen[str]) -> None:
    """End a child that may have to stop processes of its own first."""
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()


def _complaint(status: int, last_words: Sequence[str]) -> str:
    return f"a child ended with exit status {status}:\n" + "\n".join(last_words)
