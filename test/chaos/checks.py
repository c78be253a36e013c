"""Checks the safety of an episode from its recorded traffic, in arrays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from arm import (
    BEYOND_GRAVITY,
    BRAKING,
    COMMAND_TIMEOUT,
    POSTURE_RATE,
    STANDING,
    WRONG_COMMANDS,
    Arm,
)
from episodes import SPEED, Episode, Fault
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats, Indices

EXACT = 1.0 + 1e-6
CALM = 0.15  # [s] for which an arm must track to have recovered
SLOPE = 4  # states over which the acceleration is taken
SETTLED, LONG = 3, 10  # states after a command between which the brakes are surely off
GAP = 12  # states after which a controller that still wanted something would have said so
RECENT = 8  # states of which one holds the effort that a first command continues


@dataclass
class Traffic:
    """The traffic of an episode. The arm's states are numbered; an index is such a number.

    Attributes:
        q: (K, n) true positions [rad].
        qd: (K, n) true velocities [rad/s].
        effort: (K, n) the effort applied: the command after saturation, or the brakes' effort.
        command: (C, n) the controller's commands [N m].
        command_time: (C,) steady time of arrival [s].
        command_index: (C,) last state before.
        command_process: (C,) number of the controller's process.
        given_index: (G,) last state before each good command that the twin was given.
        desired: (D, n) the controller's desired positions [rad].
        desired_index: (D,) state that it answers.
        fault_begin: Index.
        fault_end: Index; of a kill, when the new process spoke.
        spoiled: How many messages were handed on with another content.
        force: (K,) of a plane on which the hand presses [N].
    """

    q: Floats
    qd: Floats
    effort: Floats
    command: Floats
    command_time: Floats
    command_index: Indices
    command_process: Indices
    given_index: Indices
    desired: Floats
    desired_index: Indices
    fault_begin: int
    fault_end: int
    spoiled: int
    force: Floats = field(default_factory=lambda: np.zeros(1))


@dataclass
class Record:
    """The traffic of an arm in order of arrival, see ``Traffic``; states are counted."""

    states: list[tuple[Floats, Floats, Floats]] = field(default_factory=list)
    commands: list[tuple[Floats, float, int, int]] = field(default_factory=list)
    given: list[int] = field(default_factory=list)
    desired: list[tuple[Floats, int]] = field(default_factory=list)
    force: list[float] = field(default_factory=lambda: [0.0])
    spoiled: int = 0

    def traffic(self, begin: int, end: int) -> Traffic:
        """Return it as arrays; the fault lasted from one state to another."""
        q, qd, effort = np.array(self.states).swapaxes(0, 1)
        command, time, index, process = zip(*self.commands, strict=True)
        desired, answered = zip(*self.desired, strict=True)
        return Traffic(
            *(q, qd, effort, np.array(command), np.array(time), np.array(index)),
            *(np.array(process), np.array(self.given, int), np.array(desired)),
            *(np.array(answered), begin, end, self.spoiled, np.array(self.force)),
        )


@dataclass
class Figures:
    """Worst figures of an episode, and what is wrong with it.

    Attributes:
        step: Largest step of a command over what the rate limit allows.
        first: Distance of a first command from what held the arm, over the same.
        beyond: Furthest beyond a position limit over what the stops' compliance allows.
        speed: Highest speed over the limit.
        sag: Furthest from where the arm should be, or may have come by braking [rad].
        sag_share: The part of it that a false last state does not explain, over the bound.
        recovery: Time until the arm tracked again [s]; inf if it did not.
        force: Largest of a plane on the hand [N].
        faults: In words.
    """

    step: float = 0.0
    first: float = 0.0
    beyond: float = 0.0
    speed: float = 0.0
    sag: float = 0.0
    sag_share: float = 0.0
    recovery: float = 0.0
    force: float = 0.0
    faults: list[str] = field(default_factory=list)


def judge_episode(
    traffic: Traffic, arm: Arm, episode: Episode, run: Callable[[Episode], Traffic]
) -> Figures:
    """Judge an episode, by the bounds for what the arm did and what befell it.

    Near a joint's stop, a hand may be far from where it is led without any fault: one that seems to
    fail is compared with itself.

    Args:
        traffic: What was seen of it.
        arm: The arm.
        episode: What was to happen.
        run: Runs an episode: this one again, without its fault.
    """
    fault = episode.fault
    about = arm.led(episode.by_hand), episode.at_rest, fault.is_lie, fault.loses_commands
    figures = judge(traffic, *about, most_speed=fault.most_speed)
    if figures.faults and episode.by_hand:
        calm = run(replace(episode, fault=Fault("none", duration=fault.duration)))
        figures = judge(traffic, *about, calm, fault.most_speed)
    return figures


def judge(
    traffic: Traffic,
    arm: Arm,
    at_rest: bool,
    is_lie: bool = False,
    loses_commands: bool = False,
    calm: Traffic | None = None,
    most_speed: float = SPEED,
) -> Figures:
    """Measure an episode and judge it by the bounds.

    Args:
        traffic: What was seen.
        arm: The arm.
        at_rest: It stood still, or was to.
        is_lie: Joint states were false: one of them may have been the last, and the step that the
            rate limit allowed for it is part of the arm's braking distance.
        loses_commands: Some commands did not reach the drives, which keep the last one, unknown to
            the controller: the speed that this causes, and its consequences, are the fault's.
        calm: The same motion without a fault: the arm's error in it is not the fault's.
        most_speed: That is allowed, over the limits.
    """
    figures = Figures(force=float(traffic.force.max()))
    finite = np.isfinite(traffic.command).all() and np.isfinite(traffic.effort).all()
    figures.step, figures.first = torque_steps(traffic, arm)
    model = arm.model
    figures.speed = float((np.abs(traffic.qd) / model.velocity_limit).max())
    kept = longest_hold(traffic, arm.period) if loses_commands else 0.0
    outside = np.maximum(traffic.q - model.upper, model.lower - traffic.q)
    compliance = arm.compliance(max(figures.speed, 1.0) if loses_commands else 1.0)
    figures.beyond = max(0.0, float((outside / compliance).max()))
    good = tracked(traffic, arm, calm)
    figures.sag = sag(traffic, good, arm.period)
    unexplained = sag(traffic, good, arm.period, arm.jolt) if is_lie else figures.sag
    knock = arm.knock(max(kept, WRONG_COMMANDS * arm.period))
    figures.sag_share = unexplained / (knock + (0.0 if at_rest and not is_lie else arm.drift))
    figures.recovery = recovery(traffic, good, arm.period)
    # An arm that has raced, or swung without commands, may be held where it comes to rest: a fault.
    # A hand comes to rest where friction and stops leave it, and its posture returns slowly.
    if figures.speed > 1.0 or loses_commands or arm.is_led_by_hand:
        stood = max(standstill(traffic, arm) - coasted(traffic, arm), 0.0)
        figures.recovery = min(figures.recovery, float(stood))
    allowed = most_speed * model.velocity_limit + arm.surge * kept
    too_fast = bool((np.abs(traffic.qd) > allowed).any())
    effort = np.abs(np.concatenate([traffic.command, traffic.effort[driven(traffic)]]))
    for wrong, words in (
        (not finite, "a command is not finite"),
        (bool((effort > model.effort_limit * EXACT).any()), "effort beyond its limit"),
        (figures.step > EXACT, f"torque step {figures.step:.2f} times the rate limit's"),
        (figures.first > EXACT, f"first command {figures.first:.2f} steps from what held the arm"),
        (figures.beyond > 1.0, f"{figures.beyond:.2f} of the stops' compliance"),
        (too_fast, f"{figures.speed:.2f} times the speed limit"),
        (
            figures.sag_share > 1.0,
            f"sag {1e3 * figures.sag:.0f} mrad, {figures.sag_share:.2f} of what is allowed",
        ),
        (figures.recovery > arm.recovery, f"recovery {figures.recovery:.2f} s"),
    ):
        if wrong:
            figures.faults.append(words)
    return figures


def torque_steps(traffic: Traffic, arm: Arm) -> tuple[float, float]:
    """Return the largest step between commands and that of first commands, over the allowed one.

    After a silence the first command continues the last one, or what the brakes have carried since,
    as far as drives can. So does the first one for drives that stood still themselves, and took
    none meanwhile. What brakes carry that stop an arm in motion may be far from gravity: then the
    first one may be gravity's.
    """
    step = first = 0.0
    alone = np.searchsorted(traffic.command_index, traffic.command_index)  # first of the same state
    for i in range(1, len(traffic.command)):
        command, last = traffic.command[i], traffic.command[i - 1]
        new = traffic.command_process[i] != traffic.command_process[i - 1]
        silence = traffic.command_time[i] - traffic.command_time[i - 1]
        if traffic.command_index[i] != traffic.command_index[i - 1]:
            silence = traffic.command_time[i] - traffic.command_time[alone[i - 1]]
        if not new and silence <= COMMAND_TIMEOUT:
            step = max(step, steps_from(last, command, arm))
            continue
        index = traffic.command_index[i]
        most = arm.model.effort_limit
        held = list(np.clip(traffic.effort[max(index - RECENT, 0) : index + 1], -most, most))
        gravity = arm.dynamics.gravity(traffic.q[index])
        if (np.abs(traffic.effort[index] - gravity) > BEYOND_GRAVITY * most).any():
            held.append(gravity)
        first = max(first, min(steps_from(effort, command, arm) for effort in [last, *held]))
    return step, first


def steps_from(effort: Floats, command: Floats, arm: Arm) -> float:
    """Return the distance of a command from an effort in steps that the rate limit allows."""
    return float((np.abs(command - effort) / arm.torque_step).max())


def driven(traffic: Traffic) -> NDArray[np.bool_]:
    """Tell of each state whether a command has released the brakes a short while before (K,)."""
    number = np.arange(len(traffic.q))
    last = np.searchsorted(traffic.given_index, number - SETTLED, side="right") - 1
    given = np.append(traffic.given_index, -LONG)[last]  # -1 is the last: never
    return number - given <= LONG


def tracked(traffic: Traffic, arm: Arm, calm: Traffic | None = None) -> NDArray[np.bool_]:
    """Tell of each desired position whether the arm was there, or as near as when ``calm`` (D,)."""
    off = distance(traffic)
    if calm is not None:
        off -= np.interp(traffic.desired_index, calm.desired_index, distance(calm))
    return off <= arm.tracked


def distance(traffic: Traffic) -> Floats:
    """Return of each desired position how far away the arm was (D,) [rad]."""
    error = traffic.desired - traffic.q[traffic.desired_index]
    return np.abs(error).max(axis=1, initial=0.0)


def longest_hold(traffic: Traffic, period: float) -> float:
    """Return for how long the drives kept one command at most, because of the fault [s]."""
    end = np.append(traffic.given_index[1:], len(traffic.q))
    during = (end > traffic.fault_begin) & (traffic.given_index <= traffic.fault_end)
    longest = float(((end - traffic.given_index) * during).max(initial=0) * period)
    return min(longest, COMMAND_TIMEOUT)


def standstill(traffic: Traffic, arm: Arm) -> float:
    """Return the time from the end of the fault until the arm stands for good [s]; inf: never."""
    moving = np.abs(traffic.qd) > STANDING
    if arm.is_led_by_hand:
        moving &= ~returning(traffic)
    begin = max(int(np.flatnonzero(moving.any(axis=1)).max(initial=-1)) + 1, traffic.fault_end)
    still = (len(traffic.q) - begin) * arm.period
    return float((begin - traffic.fault_end) * arm.period) if still >= CALM else np.inf


def returning(traffic: Traffic) -> NDArray[np.bool_]:
    """Tell of each joint in each state whether the posture's spring alone moves it so (K, n).

    It does so towards the posture, x away, at a speed below w x.
    """
    number = np.arange(len(traffic.q))
    last = np.searchsorted(traffic.desired_index, number, side="right") - 1
    way = traffic.desired[np.maximum(last, 0)] - traffic.q
    fastest = POSTURE_RATE * np.abs(way).max(axis=1, keepdims=True)
    return (traffic.qd * way > 0.0) & (np.abs(traffic.qd) < fastest)


def coasted(traffic: Traffic, arm: Arm) -> float:
    """Return for how long damping brakes an arm that has raced to its speed limits [s]."""
    fastest = float((np.abs(traffic.qd) / arm.model.velocity_limit).max())
    return arm.coasting * float(np.log(max(fastest, 1.0)))


def sag(
    traffic: Traffic, good: NDArray[np.bool_], period: float, jolt: Floats | float = 0.0
) -> float:
    """Return how far the arm has left its path at worst [rad].

    From the last state in which it tracked on, each joint may be between what has been desired
    since and where it comes by the speed and acceleration that it had, and ``jolt`` in addition,
    all acting for ``BRAKING``.
    """
    worst = 0.0
    anchors = traffic.desired_index[good]
    if not len(anchors):
        return np.inf
    ends = np.append(anchors[1:], len(traffic.q))
    for anchor, end in zip(anchors, ends, strict=True):
        if end <= anchor + 1:
            continue
        q = traffic.q[anchor:end]
        time = np.minimum(np.arange(len(q)) * period, BRAKING)[:, None]
        earlier = max(anchor - SLOPE, 0)
        span = max(anchor - earlier, 1) * period
        acceleration = np.abs(traffic.qd[anchor] - traffic.qd[earlier]) / span + jolt
        reach = np.abs(traffic.qd[anchor]) * time + 0.5 * acceleration * time**2
        since = (traffic.desired_index >= anchor) & (traffic.desired_index < end)
        wanted = np.vstack([traffic.desired[since], q[:1]])
        low, high = wanted.min(axis=0) - reach, wanted.max(axis=0) + reach
        worst = max(worst, float(np.maximum(low - q, q - high).max()))
    return worst


def recovery(traffic: Traffic, good: NDArray[np.bool_], period: float) -> float:
    """Return the time from the end of the fault until the arm tracks, and does so for a while [s].

    What comes later, a busy machine perhaps, is another disturbance, judged by ``sag``.
    """
    silent = np.diff(traffic.desired_index, append=len(traffic.q)) > GAP
    begin = None
    for index, bad in zip(traffic.desired_index, ~good | silent, strict=True):
        if bad:
            begin = None
        elif index >= traffic.fault_end:
            begin = index if begin is None else begin
            if (index - begin) * period >= CALM:
                return float((begin - traffic.fault_end) * period)
    return np.inf
