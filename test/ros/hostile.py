"""`make hostile`: what hostile neighbours do to both nodes, and to how late the commands come.

Twin and controller sway a Panda at 500 Hz. For each kind of neighbour, periods beside it alternate
with periods alone. Latency is that of the controller's loop, from its own histogram; the ratio is
that of the medians of the periods' p99. The exit status is 1 if anything unsafe happened.

    python test/ros/hostile.py [--kind KIND]... [--rounds N] [--seconds S]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import median

from support import Ros, free_domain, status_values

# isort: split
from diagnostic_msgs.msg import DiagnosticArray
from neighbour import CONTROLLER, KINDS
from rich.console import Console
from std_srvs.srv import Trigger
from test_neighbour import DEVIATION, LINES, MEMORY
from witness import Pair, Witness, end_neighbour, start_neighbour

from featherstone_ros.realtime.histogram import LatencyHistogram
from featherstone_ros.tools.style import new_table

RATE = 500.0  # [Hz]
PRIORITY = 80  # of both loops, where that is allowed
WORST_RATIO = 2.0


class Latency:
    """Latency of the controller's loop, as it reports it."""

    def __init__(self, ros: Ros) -> None:
        """Listen to the reports."""
        self._ros = ros
        self._spell: list[str] = []
        self.values: dict[str, str] = {}  # of the last report
        ros.node.create_subscription(DiagnosticArray, "/diagnostics", self._hear, 100)

    def _hear(self, message: DiagnosticArray) -> None:
        for status in message.status:
            if f"/{status.name}" == CONTROLLER:
                self.values = status_values(status)
                second = self.values.get("latency histogram [us]", "")
                if second not in self._spell[-1:]:  # a report between seconds repeats it
                    self._spell.append(second)

    def measure(self, seconds: float) -> LatencyHistogram:
        """Return the latencies of the next seconds."""
        self._ros.run_for(1.1)  # what was before is reported and forgotten
        self._spell.clear()
        self._ros.run_for(seconds)
        return LatencyHistogram.from_text(" ".join(self._spell))


def compare(pair: Pair, latency: Latency, kind: str, rounds: int, seconds: float) -> dict:
    """Return the figures of one kind of neighbour."""
    witness = Witness(pair.ros)
    memory, lines = pair.memory(), pair.lines()
    lost = int(latency.values.get("states lost", 0))
    alone, beside, rates = [], [], []
    for _ in range(rounds):
        pair.sway()
        alone.append(latency.measure(seconds))
        neighbour = start_neighbour(pair.ros, kind, KINDS[kind][0])
        try:
            beside.append(latency.measure(seconds))
            rates += [float(line.split()[1]) for line in neighbour.output.splitlines()[2:]]
        finally:
            end_neighbour(neighbour)
    figures = {
        "rate": median(rates) if rates else 0.0,
        "alone": median(1e6 * spell.percentile(99.0) for spell in alone),
        "beside": median(1e6 * spell.percentile(99.0) for spell in beside),
        "max alone": 1e6 * max(spell.max for spell in alone),
        "max": 1e6 * max(spell.max for spell in beside),
        "lost": int(latency.values.get("states lost", 0)) - lost,
        "not finite": witness.not_finite,
        "step": witness.worst_step,
        "moved": witness.deviation,
        "memory": pair.memory() - memory,
        "lines": (pair.lines() - lines) / rounds,
        "alive": all(node.is_running for node in pair.nodes.values()),
    }
    witness.stop()
    pair.ros.call(Trigger, f"{CONTROLLER}/hold")  # an arm that obeys another ends in a fault
    pair.wait_until_well()
    return figures


def is_safe(kind: str, figures: dict) -> bool:
    """Tell whether nothing unsafe happened; two who command one arm are another matter."""
    return (
        figures["alive"]
        and not figures["not finite"]
        and figures["step"] <= 1.0
        and (figures["moved"] < DEVIATION or kind == "commander")
        and figures["memory"] < MEMORY
        and figures["lines"] < LINES
    )


def main() -> int:
    """Try all kinds of neighbours, print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kind", action="append", choices=tuple(KINDS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5.0)
    args = parser.parse_args()
    console, safe = Console(width=max(Console().width, 120)), True
    table = new_table("Beside a hostile neighbour", "neighbour")
    for heading in (
        "rate per\ntopic, Hz",
        "p99 alone\nµs",
        "p99 beside\nµs",
        "ratio",
        "max alone\nµs",
        "max beside\nµs",
        "states\nlost",
        "worst step, %\nof allowed",
        "moved\nmrad",
        "memory\nMB",
        "lines\nlogged",
        "",
    ):
        table.add_column(heading, justify="right")
    with free_domain() as domain, tempfile.TemporaryDirectory() as folder:
        ros = Ros(domain, Path(folder))
        try:
            pair = Pair(ros, RATE, fork=False, **{"realtime.priority": PRIORITY})
            latency = Latency(ros)
            for kind in args.kind or KINDS:
                with console.status(f"{kind} ..."):
                    figures = compare(pair, latency, kind, args.rounds, args.seconds)
                is_sound = is_safe(kind, figures)
                safe = safe and is_sound
                if not is_sound:
                    for node in pair.nodes.values():
                        console.print(node.output[-2000:], style="dim", markup=False)
                table.add_row(kind, *row(figures), "" if is_sound else "[bold red]unsafe")
            console.print(table)
            console.print(f"[dim]the controller's loop: {latency.values.get('scheduling', '?')}")
        finally:
            ros.close()
    return 0 if safe else 1


def row(figures: dict) -> list[str]:
    """Return the cells of one kind of neighbour."""
    ratio = figures["beside"] / figures["alone"] if figures["alone"] else float("nan")
    style = "[yellow]" if ratio > WORST_RATIO else ""
    return [
        f"{figures['rate']:.0f}",
        f"{figures['alone']:.0f}",
        f"{figures['beside']:.0f}",
        f"{style}{ratio:.2f}",
        f"{figures['max alone']:.0f}",
        f"{figures['max']:.0f}",
        f"{figures['lost']}",
        f"{100 * figures['step']:.0f}",
        f"{1e3 * figures['moved']:.1f}",
        f"{figures['memory']:.1f}",
        f"{figures['lines']:.0f}",
    ]


if __name__ == "__main__":
    sys.exit(main())
