"""Counts instructions with valgrind's callgrind: figures that no other process disturbs.

Instructions are not time, but they say what time is spent on, and are the same on every run.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.table import Table

from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.bench.words import rounded
from featherstone_ros.tools.style import new_table

_SHARES = {"core": "featherstone_ros/_core", "numpy": "/numpy/"}
_KINDS = {"kept": ", result kept", "batch": ", in a batch"}
_LINES_SHOWN = 15


class CallgrindError(FeatherstoneError):
    """Instructions cannot be counted here; the message says why."""


@dataclass(frozen=True)
class Count:
    """Instructions per call, or per state of a batch.

    Attributes:
        section: Key of ``sections.SECTIONS``.
        case: Robot and algorithm.
        instruction_set: What our core was compiled for.
        ours: All of our call.
        shares: Of these, in the core, in NumPy, and elsewhere: the interpreter, malloc, libm.
        theirs: The peer's call.
    """

    section: str
    case: str
    instruction_set: str
    ours: float
    shares: dict[str, float]
    theirs: float

    @property
    def ratio(self) -> float:
        """Our instructions over the peer's."""
        return self.ours / self.theirs


def count(robots: Sequence[str] | None) -> list[Count]:
    """Run the calls under callgrind, which takes a minute, and count.

    Args:
        robots: Names or paths, None for those that the targets are about.

    Raises:
        CallgrindError: There is no valgrind, or it cannot run this Python or this core.
    """
    if not shutil.which("valgrind"):
        raise CallgrindError("valgrind is not installed (Debian, Ubuntu: apt install valgrind)")
    with tempfile.TemporaryDirectory() as folder:
        # Python may restart itself as a child in another environment: the child counts.
        command = ["valgrind", "--tool=callgrind", "--trace-children=yes", "--dump-before=getppid"]
        command += [f"--callgrind-out-file={folder}/out", sys.executable, "-m"]
        command += [f"{__package__}.callgrind_child", json.dumps({"robots": robots})]
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        if done.returncode:
            last_words = "\n".join(done.stderr.splitlines()[-_LINES_SHOWN:])
            raise CallgrindError(f"valgrind ended with status {done.returncode}:\n{last_words}")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        costs = [instructions(Path(folder, f"out.{2 * k + 2}")) for k in range(len(lines))]
    counts = list(zip(lines, costs, strict=True))
    return [_compare(*pair) for pair in zip(counts[::2], counts[1::2], strict=True)]


def instructions(dump: Path) -> Counter[str]:
    """Return the instructions executed in each object file, by its path.

    Source: the valgrind manual, "Callgrind Format Specification": costs are lines that begin with a
    position; one that follows ``calls=`` is that of the callee, which has lines of its own.
    """
    names: dict[str, str] = {}
    costs: Counter[str] = Counter()
    here, is_callee = "", False
    for line in dump.read_text(errors="replace").splitlines():
        if found := re.match(r"c?ob=\((\d+)\)(?: (.+))?", line):
            number, name = found.groups()
            names.setdefault(number, name)
            if not line.startswith("c"):
                here = names[number]
        elif line.startswith("calls="):
            is_callee = True
        elif re.match(r"[0-9+*-]", line):
            if not is_callee:
                costs[here] += int(line.split()[1])
            is_callee = False
    return costs


def table(counts: Sequence[Count]) -> Table:
    """What goes to the terminal."""
    sets = ", ".join(sorted({count.instruction_set for count in counts}))
    result = new_table(f"Instructions, counted by callgrind ({sets})", "call, state or step")
    for heading in ("all", *_SHARES, "other", "peer", "ratio"):
        result.add_column(heading, justify="right", no_wrap=True)
    for count in counts:
        shares = [f"{share:,.0f}" for share in count.shares.values()]
        total, theirs = f"{count.ours:,.0f}", f"{count.theirs:,.0f}"
        name = count.case + _KINDS.get(count.section, "")
        result.add_row(name, total, *shares, theirs, rounded(count.ratio))
    return result


def as_dict(counts: Sequence[Count]) -> dict[str, Any]:
    """Plain figures, for JSON."""
    return {"instructions": [asdict(count) | {"ratio": count.ratio} for count in counts]}


def _compare(
    ours: tuple[dict[str, Any], Counter[str]], theirs: tuple[dict[str, Any], Counter[str]]
) -> Count:
    (line, cost), (their_line, their_cost) = ours, theirs
    shares = {
        name: sum(n for path, n in cost.items() if part in path) / line["units"]
        for name, part in _SHARES.items()
    }
    total = cost.total() / line["units"]
    shares["other"] = total - sum(shares.values())
    peers = their_cost.total() / their_line["units"]
    return Count(line["section"], line["case"], line["instruction_set"], total, shares, peers)
