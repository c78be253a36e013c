"""The demo's result: figures of recorded messages, as tables and as JSON.

They are tracking error, torque peaks, rates and latency; the picture is in ``picture``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from rich.console import Group
from rich.table import Table
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.multi_sine import MultiSine
from featherstone_ros.tools.robot_setup import RobotSetup
from featherstone_ros.tools.style import milli, new_table, short_names

LAWS = {"none": "PD alone", "gravity": "PD + gravity", "full": "full feedforward"}

TOLERABLE_SILENCE = 0.1  # [s] without a command: as long as the controller waits for states
TOLERABLE_DEPARTURE = 5e-3  # [rad or m] of the desired positions from the motion
TARGET_IMPROVEMENT, TARGET_RMS = 20.0, 2e-3  # overall; on every joint [rad]
_ENOUGH = 0.9  # share of the rate below which the machine rather than the control is measured
ASSUMED = "its rotor inertia is assumed, as the URDF has none"
_STYLES = {"none": "red", "gravity": "yellow", "full": "bold cyan"}


class MeasurementError(FeatherstoneError):
    """A recording from which nothing can be concluded."""


@dataclass(frozen=True)
class DemoRecording:
    """The messages of one run, as they were received.

    Times are in seconds since the start of the motion, on the clock of the state's stamps, which
    on one machine is also the clock of the middleware's time stamps, unless time is simulated.
    """

    stamp: Floats  # (N,) stamps of the joint states
    position: Floats  # (N, n) [rad or m]
    effort: Floats  # (N, n) torque applied by the twin [N m or N]
    state_sent: Floats  # (N,) when the twin's middleware sent each state
    command_sent: Floats  # (M,) when the controller's middleware sent each command
    command_received: Floats  # (M,) when the recorder's middleware received each command
    desired_stamp: Floats  # (K,) stamps of the published desired states
    desired: Floats  # (K, n) desired positions [rad or m]


@dataclass(frozen=True)
class Traffic:
    """How the messages of one run came, in real time."""

    state_rate: float  # joint states per second
    command_rate: float  # commands per second
    latency: Floats  # (M,) from sending a state to receiving the command computed from it [s]
    silence: float  # longest time without a command [s]


@dataclass(frozen=True)
class Run:
    """The result of one run of the motion; arrays in model joint order."""

    law: str  # key of ``LAWS``
    time: Floats  # (N,) stamps of the states [s]
    position: Floats  # (N, n) of the arm [rad or m]
    error: Floats  # (N, n) desired minus actual position at the state's stamp [rad or m]
    effort: Floats  # (N, n) torque applied [N m or N]
    # greatest distance of the controller's desired positions from the motion [rad or m]
    departure: float
    traffic: Traffic | None = None  # None in simulated time, in which messages take none

    @property
    def spoilt(self) -> str:
        """Why the run is no measure of the control, in words; empty if it is one."""
        if self.departure > TOLERABLE_DEPARTURE:
            return "the controller abandoned the motion"
        if self.traffic is not None and self.traffic.silence > TOLERABLE_SILENCE:
            return f"no command for {1e3 * self.traffic.silence:.0f} ms"
        return ""

    @cached_property
    def rms(self) -> Floats:
        """(n,) root mean square error [rad or m]."""
        return np.sqrt(np.mean(self.error**2, axis=0))

    @cached_property
    def peak(self) -> Floats:
        """(n,) largest error [rad or m]."""
        return np.abs(self.error).max(axis=0)

    @cached_property
    def effort_peak(self) -> Floats:
        """(n,) largest torque [N m or N]."""
        return np.abs(self.effort).max(axis=0)


def measure(
    law: str, recording: DemoRecording, motion: MultiSine, period: float | None = None
) -> Run:
    """Evaluate one run over the time of the motion.

    The motion is known in closed form, so each state is compared with the desired position at that
    state's own stamp: neither sampling nor transport enters the error.

    ``period``: of the states in simulated time, in which each of them counts [s]; None: real time.
    """
    if period is None:
        _check_complete("joint states", recording.stamp, motion.duration)
        _check_complete("commands", recording.command_received, motion.duration)
    during = (recording.stamp >= 0) & (recording.stamp <= motion.duration)
    time, position = recording.stamp[during], recording.position[during]
    desired, _, _ = motion.at(time)
    if period is not None and len(time) < round(motion.duration / period):
        expected = round(motion.duration / period)
        raise MeasurementError(f"{len(time)} joint states were heard of {expected}")
    return Run(
        law=law,
        time=time,
        position=position,
        error=desired - position,
        effort=recording.effort[during],
        departure=_departure(recording, motion),
        traffic=_traffic(recording, motion.duration) if period is None else None,
    )


def _traffic(recording: DemoRecording, duration: float) -> Traffic:
    states = (recording.stamp >= 0) & (recording.stamp <= duration)
    sent = (recording.command_sent >= 0) & (recording.command_sent <= duration)
    return Traffic(
        state_rate=np.count_nonzero(states) / duration,
        command_rate=np.count_nonzero(sent) / duration,
        latency=_latency(recording)[sent],
        silence=longest_gap(recording.command_received, duration),
    )


def improvement(before: Run, after: Run) -> float:
    """RMS error over all joints of one run divided by that of another."""
    return float(np.linalg.norm(before.rms) / np.linalg.norm(after.rms))


def _departure(recording: DemoRecording, motion: MultiSine) -> float:
    """Largest difference between the motion and the desired positions of the controller.

    A controller that follows the motion agrees with it to rounding. One that received no states for
    too long has abandoned the motion and holds the arm: the error is then not one of tracking.
    """
    time = recording.desired_stamp
    during = (time >= 0) & (time <= motion.duration)
    if not during.any():
        raise MeasurementError("no desired position was heard during the motion")
    desired, _, _ = motion.at(time[during])
    return float(np.abs(desired - recording.desired[during]).max())


def _latency(recording: DemoRecording) -> Floats:
    """(M,) time from the last state sent before a command to that command's arrival [s].

    A command does not name the state it answers, which is the newest that the controller had taken.
    If another state was sent meanwhile, the latency of that command is understated by one period.
    """
    newest = np.searchsorted(recording.state_sent, recording.command_sent) - 1
    latency = recording.command_received - recording.state_sent[newest]
    return np.where(newest >= 0, latency, np.nan)


def longest_gap(time: Floats, duration: float) -> float:
    """Longest time without a message between 0 and ``duration`` [s]."""
    inside = time[(time >= 0) & (time <= duration)]
    return float(np.diff(inside, prepend=0.0, append=duration).max())


def _check_complete(what: str, time: Floats, duration: float) -> None:
    """Refuse a recording with a gap of more than a tenth of the motion."""
    longest = longest_gap(time, duration)
    if longest > 0.1 * duration:
        received = np.count_nonzero((time >= 0) & (time <= duration))
        raise MeasurementError(
            f"no {what} for {longest:.2f} s of a motion of {duration:g} s "
            f"({received} received): the run cannot be judged"
        )


@dataclass(frozen=True)
class DemoReport:
    """Three runs on one robot."""

    robot: RobotSetup  # as the controller knows it
    motion: MultiSine  # the motion driven
    runs: Sequence[Run]  # one per law, in the order of ``LAWS``
    rate: float  # joint states per second requested
    conditions: Sequence[str] = ()  # conditions of the measurement, in lines of text
    model_error: float = 0.0  # relative excess of the arm's masses over the controller's model
    repeated: Sequence[str] = ()  # which runs were driven again, and why

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
