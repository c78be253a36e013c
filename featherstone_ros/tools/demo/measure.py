"""Evaluates recorded messages: tracking error, torque peaks, rates and latency."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.multi_sine import MultiSine

LAWS = {"none": "PD alone", "gravity": "PD + gravity", "full": "full feedforward"}

TOLERABLE_SILENCE = 0.1  # [s] without a command: as long as the controller waits for states
TOLERABLE_DEPARTURE = 5e-3  # [rad or m] of the desired positions from the motion


class MeasurementError(FeatherstoneError):
    """A recording from which nothing can be concluded."""


@dataclass(frozen=True)
class DemoRecording:
    """The messages of one run, as they were received.

    Times are in seconds since the start of the motion, on the clock of the state's stamps, which
    on one machine is also the clock of the middleware's time stamps, unless time is simulated.

    Attributes:
        stamp: (N,) stamps of the joint states.
        position: (N, n) [rad or m].
        effort: (N, n) torque applied by the twin [N m or N].
        state_sent: (N,) when the twin's middleware sent each state.
        command_sent: (M,) when the controller's middleware sent each command.
        command_received: (M,) when the recorder's middleware received each command.
        desired_stamp: (K,) stamps of the published desired states.
        desired: (K, n) desired positions [rad or m].
    """

    stamp: Floats
    position: Floats
    effort: Floats
    state_sent: Floats
    command_sent: Floats
    command_received: Floats
    desired_stamp: Floats
    desired: Floats


@dataclass(frozen=True)
class Traffic:
    """How the messages of one run came, in real time.

    Attributes:
        state_rate: Joint states per second.
        command_rate: Commands per second.
        latency: (M,) from sending a state to receiving the command computed from it [s].
        silence: Longest time without a command [s].
    """

    state_rate: float
    command_rate: float
    latency: Floats
    silence: float


@dataclass(frozen=True)
class Run:
    """The result of one run of the motion; arrays in model joint order.

    Attributes:
        law: Key of ``LAWS``.
        time: (N,) stamps of the states [s].
        position: (N, n) of the arm [rad or m].
        error: (N, n) desired minus actual position at the state's stamp [rad or m].
        effort: (N, n) torque applied [N m or N].
        departure: Greatest distance of the controller's desired positions from the motion
            [rad or m].
        traffic: None in simulated time, in which messages take none.
    """

    law: str
    time: Floats
    position: Floats
    error: Floats
    effort: Floats
    departure: float
    traffic: Traffic | None = None

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
