"""Looks recordings over: what of them is used, what is odd, and whether they are good enough.

``require_enough`` refuses what is too poor for identification; ``usage`` says in one line what was
used, what was dropped, and why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.filtering import LEAST_PERIODS, SmoothMotion, clean
from featherstone_ros.identification.recording import Recording, is_constant, pause
from featherstone_ros.identification.regression import AT_REST
from featherstone_ros.model import Model

ADVICE = "record what `featherstone-ros excite` plans: every joint, both directions, half a minute"
SHORTEST = 10.0  # [s] of motion
MOVING_SPEED = 0.05  # [rad/s or m/s] a joint that is never faster counts as still
MOVING_RANGE = 0.05  # [rad or m] likewise for a joint's range of motion
CONSTANT_SPREAD = 0.2  # standard deviation of speed / mean: less is a constant speed
AT_LIMIT = 0.98  # of the effort limit
EQUAL_EFFORT = 1e-6  # relative to the greatest effort: closer is the same value
SATURATED = 0.05  # share of the samples at the same greatest effort
CLIPPED = 3  # samples in a row at the same extreme, while the joint moves, that are no chance
CORNER = 30.0  # times ``EQUAL_EFFORT``, by which effort comes to a limit: 9 times to a smooth top
PILED_UP = 3.0  # times as many samples at an extreme as next to it: not the steps of a sensor
DEGREES = 1.5  # times the position limit
TOO_FAST = 3.0  # times the speed limit
TOO_STRONG = 3.0  # times the effort limit
OFTEN, LACKING = 10, 0.3  # percentile of the steps of time that is the driver's; share that lacks
FEW = 0.8  # share of a recording that is used, below which the line begins with "only"


def require_enough(
    model: Model,
    recordings: Sequence[Recording],
    motions: Sequence[SmoothMotion],
    shortest: float = SHORTEST,
) -> None:
    """Raise IdentificationError if the recordings say too little about the bodies."""
    names = model.joint_names
    require_motion_enough(model, recordings, motions)
    duration = sum(recording.duration for recording in recordings)
    moving = _moving(motions)
    if duration < shortest:
        raise IdentificationError(
            f"{duration:.3g} s are too short, expected at least {shortest:.3g} s of motion (less "
            f"with --held-out or --force); {ADVICE}"
        )
    still = [name for name, moves in zip(names, moving, strict=True) if not moves]
    if moving.sum() < max(2, len(names) / 2) and len(names) > 1:
        moved = [name for name in names if name not in still]
        raise IdentificationError(
            f"only {', '.join(moved)} of {len(names)} joints moves: the torque does not depend on "
            f"the other links; {ADVICE}"
        )
    _refuse_constant_speed(names, motions, moving)


def require_motion_enough(
    model: Model, recordings: Sequence[Recording], motions: Sequence[SmoothMotion]
) -> None:
    """Raise IdentificationError if the arm rests, or positions or efforts are implausible."""
    for recording in recordings:
        if text := _in_degrees(model, recording.position):
            raise IdentificationError(text)
    if not _moving(motions).any():
        raise IdentificationError(
            f"the arm is at rest: no joint is faster than {MOVING_SPEED:g} rad/s or m/s over more "
            f"than {MOVING_RANGE:g} rad or m; {ADVICE}"
        )
    if beyond := efforts_beyond_limits(model, recordings):
        raise IdentificationError(beyond)
    _refuse_saturation(model, recordings)


def still_joints(model: Model, motions: Sequence[SmoothMotion]) -> list[str]:
    """Return the joints that hardly move."""
    return [n for n, moves in zip(model.joint_names, _moving(motions), strict=True) if not moves]


def _moving(motions: Sequence[SmoothMotion]) -> NDArray[np.bool_]:
    fastest = np.max([np.abs(m.velocity).max(axis=0) for m in motions], axis=0)
    swept = np.max([np.ptp(m.position, axis=0) for m in motions], axis=0)
    return (fastest > MOVING_SPEED) & (swept > MOVING_RANGE)


def _refuse_constant_speed(
    names: Sequence[str], motions: Sequence[SmoothMotion], moving: NDArray[np.bool_]
) -> None:
    velocity = np.concatenate([m.velocity for m in motions])
    steady = []
    those = np.flatnonzero(moving).tolist()
    for j in those:
        speed = velocity[np.abs(velocity[:, j]) > AT_REST, j]
        steady.append(speed.std() < CONSTANT_SPREAD * abs(speed.mean()))
    if all(steady):
        raise IdentificationError(
            f"all that moves ({', '.join(names[j] for j in those)}) has one "
            "constant speed: friction, offset and inertia cannot be told apart; "
            f"{ADVICE}"
        )


def _refuse_saturation(model: Model, recordings: Sequence[Recording]) -> None:
    effort = np.concatenate([recording.effort for recording in recordings])
    clipped = _clipped(recordings)
    for j, name in enumerate(model.joint_names):
        size, limit = np.abs(effort[:, j]), model.effort_limit[j]
        if is_constant(effort[:, j]):
            continue  # not measured: it does not count
        at_limit = size >= AT_LIMIT * limit if limit > 0 else np.zeros(len(size), bool)
        share = max(clipped[:, j].mean(), at_limit.mean())
        if share > SATURATED:
            raise IdentificationError(
                f"the effort of {name} is saturated in {share:.0%} of the samples, at "
                f"{size.max():.3g} (limit {limit:g}): the recorded effort is not what the motion "
                "needs; record a slower motion, one that passes `preflight`"
            )


def clipped_efforts(joints: Sequence[str], recordings: Sequence[Recording]) -> list[str]:
    """Name the joints whose effort is cut off at some value, with the share of the samples."""
    effort = np.concatenate([recording.effort for recording in recordings])
    return [
        f"{joint}: its effort is clipped in {where.mean():.2g} of the samples, at "
        f"{', '.join(f'{value:.4g}' for value in np.unique(values[where].round(6)))}: the motion "
        "needed more."
        for joint, values, where in zip(joints, effort.T, _clipped(recordings).T, strict=True)
        if where.any()
    ]


def efforts_beyond_limits(model: Model, recordings: Sequence[Recording]) -> str:
    """Name the joints whose effort is often far beyond the limit: it is no torque of theirs."""
    every = np.abs(np.concatenate([recording.effort for recording in recordings])).T
    beyond = ", ".join(
        f"{effort.max():.4g} in {name} (limit {limit:g})"
        for name, effort, limit in zip(model.joint_names, every, model.effort_limit, strict=True)
        if limit > 0.0
        and not is_constant(effort)
        and (effort > TOO_STRONG * limit).mean() > SATURATED
    )
    unit = "another unit, or motor currents (drives.<joint>.effort: current)?"
    return beyond and f"Efforts come to {beyond}: {unit}"


def _clipped(recordings: Sequence[Recording]) -> NDArray[np.bool_]:
    """Return which samples (N, n) are at an extreme where effort stays though the joint moves."""
    effort = np.concatenate([recording.effort for recording in recordings])
    moves = np.concatenate([_speed(recording) for recording in recordings]) > AT_REST
    found = np.zeros(effort.shape, dtype=bool)
    for j, values in enumerate(effort.T):
        for side in () if is_constant(values) else (values, -values):
            found[:, j] |= _stays_at_top(side, moves[:, j])
    return found


def _stays_at_top(values: Floats, moves: NDArray[np.bool_]) -> NDArray[np.bool_]:
    top = values.max()
    at_top = values > top - EQUAL_EFFORT * abs(top)
    flat = at_top & moves
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat.view(np.int8), [0]])))
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        before, after = max(begin - (end - begin), 0), min(2 * end - begin, len(values)) - 1
        if top - min(values[before], values[after]) < CORNER * EQUAL_EFFORT * abs(top):
            flat[begin:end] = False  # a maximum as smooth as any
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flat.view(np.int8), [0]])))
    longest = (edges[1::2] - edges[::2]).max(initial=0)
    below = values[~at_top].max(initial=-np.inf)
    piled_up = flat.sum() > PILED_UP * (values == below).sum()
    return flat if top > 0 and longest >= CLIPPED and piled_up else np.zeros_like(flat)


def _speed(recording: Recording) -> Floats:
    if recording.velocity is not None:
        return np.abs(recording.velocity)
    return np.abs(np.gradient(recording.position, recording.time, axis=0))


def motion_suspicions(model: Model, position: Floats, velocity: Floats | None) -> list[str]:
    """Say which unit positions and velocities seem to have, if not rad and m."""
    if text := _in_degrees(model, position):
        return [text]
    if velocity is None:
        return []
    fastest = np.abs(velocity).max(axis=0)
    too_fast = fastest > TOO_FAST * model.velocity_limit
    return [
        f"{name}: speeds up to {speed:.3g}, the limit is {limit:.3g}: another unit?"
        for name, speed, limit, odd in zip(
            model.joint_names, fastest, model.velocity_limit, too_fast, strict=True
        )
        if odd
    ]


def _in_degrees(model: Model, position: Floats) -> str:
    """Name a revolute joint whose positions (N, n) go far beyond its limits; empty: none."""
    for name, kind, q, low, high in zip(
        model.joint_names, model.joint_types, position.T, model.lower, model.upper, strict=True
    ):
        allowed = max(abs(low), abs(high))
        if kind == "revolute" and np.abs(q).max() > max(DEGREES * allowed, allowed + 1.0):
            return (
                f"{name}: positions from {q.min():.4g} to {q.max():.4g}, limits from {low:.3g} to "
                f"{high:.3g} rad: degrees, or another zero?"
            )
    return ""


def usage(recording: Recording, cut_off: float) -> str:
    """Say in one line what is used, what was dropped, and why."""
    cleaned = clean(recording)
    needed = LEAST_PERIODS / cut_off
    used = [s for s in cleaned.stretches if s.duration >= needed]
    short = [s for s in cleaned.stretches if s.duration < needed]
    total, seconds = max(recording.duration, 1e-9), sum(s.duration for s in used)
    kept = sum(len(s.time) for s in used)
    recorded = max(recording.recorded, len(recording.time))
    what = (
        f"{seconds:.3g} of {total:.3g} s used, {kept} of {recorded} joint states of "
        f"{recording.topic}"
    )
    only = "only " if seconds < FEW * total else ""
    line = [
        only + what,
        *_lacking(recording),
        *(f"{why}, dropped" for why in recording.dropped),
        *cleaned.notes,
    ]
    if short:
        line.append(
            f"{len(short)} stretch{'es' * (len(short) > 1)} between pauses, together "
            f"{sum(s.duration for s in short):.3g} s, dropped: shorter than the {needed:.3g} s "
            f"that a filter of {cut_off:g} Hz needs"
        )
    if kept == recorded:
        line.append("nothing dropped")
    constant = (f"{joint} ({value:.4g})" for joint, value in recording.constant.items())
    if joints := ", ".join(constant):
        line.append(
            f"effort never changes, as if it were not measured, and does not count: {joints}"
        )
    return ". ".join(part[0].upper() + part[1:] for part in [*line, *recording.notes])


def _lacking(recording: Recording) -> list[str]:
    """Say how many states are not there, by the stamps of those that are, if many."""
    steps = np.diff(recording.time)
    steps = steps[steps > 0]
    if not len(steps):
        return []
    steps = steps[steps <= pause(steps)]
    period = float(np.percentile(steps, OFTEN))
    expected = round(steps.sum() / period)
    missing = expected - len(steps)
    if missing < LACKING * expected:
        return []
    return [
        f"{missing} of {expected} joint states are not there, as their stamps say: lost on the "
        "way; what is between them is interpolated, and all that is found from them less certain "
        "than it says"
    ]


@contextmanager
def telling(lines: Sequence[str]) -> Iterator[None]:
    """Add to a refusal what was used."""
    try:
        yield
    except IdentificationError as error:
        end = "" if not lines or str(error).endswith(("?", ".")) else "."
        raise IdentificationError(f"{error}{end} {'. '.join(lines)}".rstrip()) from None
