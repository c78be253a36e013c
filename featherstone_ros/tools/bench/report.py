"""The result for people (tables; the picture is in ``picture``) and for programs (JSON)."""

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from featherstone_ros.tools.bench.instruction_sets import NAMES, in_use
from featherstone_ros.tools.bench.nodes.distribution import Distribution
from featherstone_ros.tools.bench.nodes.loop import Loop
from featherstone_ros.tools.bench.nodes.tables import tables_of_nodes
from featherstone_ros.tools.bench.results import Result
from featherstone_ros.tools.bench.sections import NODES, SECTIONS
from featherstone_ros.tools.bench.words import duration, mark, rounded
from featherstone_ros.tools.style import new_table

_PACKAGES = ("numpy", "pin", "mujoco", "example-robot-data")
_WORST = 10  # rows of the longest table
_NOTES = {
    "single": "The result of the call before is dropped, as in a control loop: its memory is used "
    "again, by NumPy or by us.",
    "batch": "Pinocchio's wheel has no batches: its time is that of a call for one state.",
    "simulation": "MuJoCo does more per step than forward dynamics and integration, also with "
    "contacts and constraints off as here (centres of mass, joint-space inertia and its factors, "
    "passive and actuator forces, checks of the state): the ratio is of what a user waits for.",
    "threads": "The best block of each: two threads need two processors that are idle.",
    "growth": "An added link is what N links take less what 1 link takes, by N - 1: without the "
    "call. The ratio is to that of the chain of 10 links.",
}


@dataclass
class BenchReport:
    """The outcome of a benchmark.

    Attributes:
        results: One per race.
        disagreements: Why something was not raced that should have been.
        skipped: What could not be raced here, and what would help.
        instruction_sets: Name to "raced", or why not.
        distributions: Of the nodes' times.
        loops: Closed loops of nodes.
    """

    results: list[Result] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    instruction_sets: dict[str, str] = field(default_factory=dict)
    distributions: list[Distribution] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)

    def add(self, line: dict[str, Any]) -> None:
        """Add a child's report on one case."""
        self.results += [Result.from_dict(values) for values in line.get("results", ())]
        self.distributions += map(Distribution.from_dict, line.get("distributions", ()))
        self.loops += map(Loop.from_dict, line.get("loops", ()))
        if "disagreement" in line:
            self.disagreements.append(line["disagreement"])

    def of(self, section: str, instruction_set: str | None = None) -> list[Result]:
        """Return the results of a section, on the instruction set that is used by default."""
        wanted = instruction_set or in_use()
        return [r for r in self.results if (r.section, r.instruction_set) == (section, wanted)]

    @property
    def has_races(self) -> bool:
        """Whether anything but nodes was measured."""
        return any(result.section != NODES for result in self.results)

    def counterpart(self, result: Result, instruction_set: str) -> Result | None:
        """Return the same race on another instruction set, if it was run."""
        others = self.of(result.section, instruction_set)
        same = [r for r in others if (r.robot, r.algorithm) == (result.robot, result.algorithm)]
        return same[0] if same else None

    def as_dict(self) -> dict[str, Any]:
        """Plain figures in SI units, for JSON."""
        return {
            "machine": machine(),
            "instruction_set": in_use(),
            "instruction_sets": self.instruction_sets,
            "skipped": self.skipped,
            "disagreements": self.disagreements,
            "results": [result.as_dict() for result in self.results],
            "distributions": [distribution.as_dict() for distribution in self.distributions],
            "loops": [loop.as_dict() for loop in self.loops],
        }

    def write_json(self, path: Path) -> None:
        """Write ``as_dict`` to a file."""
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n")

    def tables(self) -> Group:
        """What goes to the terminal."""
        parts: list[RenderableType] = []
        for section in SECTIONS:
            results = self.of(section)
            if section == NODES:
                parts += tables_of_nodes(results, self.loops)
            elif results:
                parts += [_section_table(section, results), *_remarks(section, results), Text()]
        if len(self.instruction_sets) > 1:
            parts += [self._instruction_set_table(), *self._instruction_set_remarks(), Text()]
        parts += [Text(f"Skipped: {text}.", style="yellow") for text in self.skipped]
        parts += [Text(text, style="bold red") for text in self.disagreements]
        return Group(*parts, self._verdict())

    def _instruction_set_table(self) -> Table:
        """Ratios to Pinocchio on each instruction set, beside their targets."""
        columns = [name for name, state in self.instruction_sets.items() if state == "raced"]
        table = new_table("By instruction set, ratio to Pinocchio", "robot", "algorithm")
        for name in columns:
            table.add_column(f"{name}\n{NAMES.get(name, '')}", justify="right", no_wrap=True)
        for section in ("single", "batch"):
            for row in self.of(section):
                cells = [_cell(self.counterpart(row, name)) for name in columns]
                kind = "one call" if section == "single" else "batch"
                table.add_row(row.robot, f"{row.algorithm}, {kind}", *cells)
            table.add_section()
        return table

    def _instruction_set_remarks(self) -> Iterator[Text]:
        for name, state in self.instruction_sets.items():
            if state != "raced":
                yield Text(f"{name} ({NAMES.get(name, '')}): {state}", style="yellow")

    def _verdict(self) -> Text:
        judged = [r for r in self.results if r.is_met is not None]
        missed = sum(not r.is_met for r in judged)
        here = machine()
        text = f"{len(judged) - missed} of {len(judged)} targets met, on {here['processor']}"
        text += f", {here['cores']} cores under a load of {here['load']:.1f}"
        return Text(f"{text}.", style="bold green" if judged and not missed else "bold yellow")


def machine() -> dict[str, Any]:
    """Return what else the figures depend on: processor, load, versions."""
    versions: dict[str, str | None] = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "versions": versions,
    }


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _section_table(section: str, results: list[Result]) -> Table:
    title = f"{SECTIONS[section].title} ({results[0].instruction_set})"
    if section == "robots":
        robots = len({r.robot for r in results})
        title += f": {_WORST} worst of {robots}"
        results = sorted(results, key=lambda r: -r.ratio)[:_WORST]
    table = new_table(title, "robot", "algorithm")
    own, peer = f"one {results[0].unit}", results[0].peer
    clocks = ("call", own) if section == "growth" else (own, peer)
    for heading in (*clocks, "ratio", "target", "met"):
        table.add_column(heading, justify="right", no_wrap=True)
    for r in results:
        times = (r.call, r.ours) if section == "growth" else (r.ours, r.theirs)
        target = str(r.target) if r.target else ""
        figures = (*map(duration, times), rounded(r.ratio), target, mark(r))
        table.add_row(escape(r.robot), r.algorithm, *figures)
    return table


def _remarks(section: str, results: list[Result]) -> Iterator[Text]:
    if section in _NOTES:
        yield Text(_NOTES[section], style="dim")
    for remark in sorted({r.remark for r in results if r.remark}):
        robots = sorted({r.robot for r in results if r.remark == remark})
        yield Text(f"{remark}: {', '.join(robots)}", style="dim")


def _cell(result: Result | None) -> str:
    return f"{rounded(result.ratio)} {result.target} {mark(result)}" if result else ""
