"""The demo's result as tables and as JSON; the picture is in ``picture``."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.tools.demo.measure import LAWS, Run, improvement
from featherstone_ros.tools.multi_sine import MultiSine
from featherstone_ros.tools.robot_setup import RobotSetup
from featherstone_ros.tools.style import milli, new_table, short_names

TARGET_IMPROVEMENT, TARGET_RMS = 20.0, 2e-3  # overall; on every joint [rad]
_ENOUGH = 0.9  # share of the rate below which the machine rather than the control is measured

ASSUMED = "its rotor inertia is assumed, as the URDF has none"

_STYLES = {"none": "red", "gravity": "yellow", "full": "bold cyan"}


@dataclass(frozen=True)
class DemoReport:
    """Three runs on one robot.

    Attributes:
        robot: As the controller knows it.
        motion: The motion driven.
        runs: One per law, in the order of ``LAWS``.
        rate: Joint states per second requested.
        conditions: Conditions of the measurement, in lines of text.
        model_error: Relative excess of the arm's masses over the controller's model.
        repeated: Which runs were driven again, and why.
    """

    robot: RobotSetup
    motion: MultiSine
    runs: Sequence[Run]
    rate: float
    conditions: Sequence[str] = ()
    model_error: float = 0.0
    repeated: Sequence[str] = ()

    @property
    def unit(self) -> str:
        """Unit of errors, in thousandths."""
        return "mrad or mm" if "prismatic" in self.robot.model.joint_types else "mrad"

    @property
    def knowledge(self) -> str:
        """How well the controller's model matches the arm, in words."""
        rotors = f"; {ASSUMED}" if self.robot.has_assumed_drives else ""
        if self.model_error == 0:
            return f"the controller knows the arm exactly{rotors}"
        heavier = f"{100 * self.model_error:g} % heavier"
        return f"the arm is {heavier} than the controller's model{rotors}"

    @property
    def improvement(self) -> float:
        """Error of PD alone over error of full feedforward."""
        return improvement(self.runs[0], self.runs[-1])

    @property
    def velocity_share(self) -> Floats:
        """(n,) peak desired velocity over velocity limit (0 where there is no limit)."""
        _, _, velocity, _ = self.motion.samples(0.005)
        return np.abs(velocity).max(axis=0) / self.robot.model.velocity_limit

    @property
    def shortfalls(self) -> list[str]:
        """Which of the targets were missed, in words."""
        missed = []
        if self.improvement < TARGET_IMPROVEMENT:
            missed.append(
                f"full feedforward is {self.improvement:.1f} times better than PD alone, "
                f"expected {TARGET_IMPROVEMENT:.0f}"
            )
        missed += [
            f"{name}: RMS error {1e3 * rms:.2f} mrad with full feedforward, "
            f"expected below {1e3 * TARGET_RMS:.0f}"
            for name, rms in zip(self.robot.model.joint_names, self.runs[-1].rms, strict=True)
            if rms >= TARGET_RMS
        ]
        return missed

    @property
    def in_real_time(self) -> bool:
        """Whether the runs took real time, so that messages have rates and latencies."""
        return any(run.traffic for run in self.runs)

    @property
    def is_fair(self) -> bool:
        """Whether no run was disturbed, so that they can be compared."""
        return not any(run.spoilt for run in self.runs)

    @property
    def disturbances(self) -> list[str]:
        """Which runs a busy machine has distorted, in words."""
        found = []
        for run in self.runs:
            label, traffic = LAWS[run.law], run.traffic
            if run.spoilt:
                found.append(f"{label}: {run.spoilt}")
            elif traffic is not None:
                rate = min(traffic.state_rate, traffic.command_rate)
                if rate < _ENOUGH * self.rate:
                    found.append(f"{label}: {rate:.0f} messages per second of {self.rate:.0f}")
        return found

    def as_dict(self) -> dict[str, Any]:
        """Return numbers in SI units, for JSON."""
        return {
            "robot": self.robot.name,
            "joints": self.robot.model.joint_names,
            "duration": self.motion.duration,
            "velocity_share": self.velocity_share,
            "effort_limit": self.robot.model.effort_limit,
            "model_error": self.model_error,
            "rotors_invented": self.robot.has_assumed_drives,
            "real_time": self.in_real_time,
            "improvement": self.improvement if self.is_fair else None,
            "shortfalls": self.shortfalls if self.is_fair else [],
            "disturbances": self.disturbances,
            "repeated": self.repeated,
            "conditions": self.conditions,
            "runs": {
                run.law: {
                    "rms": run.rms,
                    "peak": run.peak,
                    "effort_peak": run.effort_peak,
                    **traffic_figures(run),
                }
                for run in self.runs
            },
        }

    def table(self) -> Group:
        """Return the report for the terminal."""
        errors, verdict = self._error_table(), self._verdict()
        if not self.in_real_time:
            return Group(errors, Text(), verdict)
        return Group(errors, Text(), self._traffic_table(), Text(), verdict)

    def _error_table(self) -> Table:
        first, last = self.runs[0], self.runs[-1]
        laws = [(LAWS[r.law].replace(" feed", "\nfeed"), _STYLES[r.law]) for r in self.runs]
        title = f"Tracking error, RMS / peak [{self.unit}]"
        table = new_table(title, "joint", figures=[*laws, "PD/full", "torque\npeak"])
        for j, name in enumerate(short_names(self.robot.model.joint_names)):
            table.add_row(
                name,
                *[f"{milli(run.rms[j])} / {milli(run.peak[j]):>4}" for run in self.runs],
                f"{first.rms[j] / last.rms[j]:.0f}×" if self.is_fair else "",
                f"{last.effort_peak[j]:.1f} of {self.robot.model.effort_limit[j]:<3.0f}",
            )
        table.add_section()
        sums = [f"{milli(float(np.linalg.norm(run.rms)))}       " for run in self.runs]
        table.add_row("all", *sums, f"{self.improvement:.0f}×" if self.is_fair else "", "")
        return table

    def _traffic_table(self) -> Table:
        headings = ("states/s", "commands/s", "state to command: median", "99 %")
        table = new_table("Messages over DDS", "run", figures=headings)
        for run in self.runs:
            if run.traffic is None:
                continue
            median, tail = np.nanpercentile(run.traffic.latency, [50, 99])
            table.add_row(
                LAWS[run.law],
                f"{run.traffic.state_rate:.0f}",
                f"{run.traffic.command_rate:.0f}",
                f"{1e3 * median:.2f} ms",
                f"{1e3 * tail:.2f} ms",
            )
        return table

    def _verdict(self) -> Text:
        worst = 1e3 * self.runs[-1].rms.max()
        if not self.is_fair:
            text = Text("These runs cannot be compared.\n", style="bold red")
        elif self.shortfalls:
            text = Text(f"Targets missed: {'; '.join(self.shortfalls)}.\n", style="bold red")
        else:
            text = Text(
                f"The model makes the arm {self.improvement:.0f} times more accurate than PD alone "
                f"with the same gains; its worst joint is within {worst:.2f} {self.unit} RMS.\n",
                style="bold green",
            )
        if self.robot.has_assumed_drives:
            text.append(f"Simulated: {ASSUMED}.\n", style="yellow")
        if self.repeated:
            text.append(f"Driven again: {'; '.join(self.repeated)}.\n", style="yellow")
        if self.disturbances:
            why = "Was this machine too busy? If not, the nodes' logs beside the report say more."
            text.append(f"{'; '.join(self.disturbances)}. {why}\n", style="yellow")
        return text


def traffic_figures(run: Run) -> dict[str, float]:
    """Return what depends on the messages that were heard, for JSON; none in simulated time."""
    traffic = run.traffic
    if traffic is None:
        return {}
    return {
        "departure": run.departure,
        "state_rate": traffic.state_rate,
        "command_rate": traffic.command_rate,
        "silence": traffic.silence,
        "latency_median": float(np.nanmedian(traffic.latency)),
        "latency_p99": float(np.nanpercentile(traffic.latency, 99)),
    }
