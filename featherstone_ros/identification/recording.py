"""Joint states of a recording, whatever file they come from, and those of a model's joints."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from featherstone_ros.arrays import Floats, Indices
from featherstone_ros.errors import IdentificationError
from featherstone_ros.model import errors_naming, read_description
from featherstone_ros.model.urdf import parse

Nanoseconds: TypeAlias = NDArray[np.int64]

FIELDS = ("position", "velocity", "effort")  # of joint states
UNCHANGED = 1e-9  # share of its size by which a constant effort differs
PAUSE, PAUSE_PERIODS = 0.1, 3.5  # [s and periods] from which two states are apart by a pause
HELD_OUT = 2 / 3  # share of the time after which a recording is held out
# RMS by which positions of one motion, driven twice, differ: [rad or m], or as a share of their
# deviation from their means, which is 1.4 for two motions that have nothing in common.
SAME, YIELDING = 2e-3, 0.1
SPARSE, FINEST = 10, 1e-4  # samples, and [s], between shifts that are tried
MIN_LATER = 3  # states in a row that come earlier than others, for a clock that was set back
UNTOLD = 10**9  # [ns] that stand for the time that passed when a clock was set back
MIN_OVERLAP = 0.5  # share of a recording that another of the same motion must cover


@dataclass(frozen=True, eq=False)
class JointStates:
    """The joint states on one topic that name the same joints in the same order."""

    topic: str  # the topic's name
    joint_names: tuple[str, ...]  # n names, in the order of the messages
    stamp: Nanoseconds  # (N,) header stamps, in order of reception; 0 where not set [ns]
    received: Nanoseconds  # (N,) times of reception [ns]
    position: Floats  # (N, n) [rad or m], NaN where a message leaves the field empty
    velocity: Floats  # (N, n) [rad/s or m/s], likewise
    effort: Floats  # (N, n) [N m or N], likewise
    notes: tuple[str, ...] = ()  # what was taken for what, in words


@dataclass(frozen=True, eq=False)
class Recording:
    """Joint states as they were recorded, in order of reception, joints in the model's order."""

    topic: str  # their topic
    joint_names: tuple[str, ...]  # n names
    time: Floats  # (N,) stamps, or times of reception where stamps are not set; 0 at the first [s]
    position: Floats  # (N, n) [rad or m]
    velocity: Floats | None  # (N, n) [rad/s or m/s]; None if not recorded
    effort: Floats  # (N, n) [N m or N]
    # states there were before those that lack something were dropped; 0: as many as are left
    recorded: int = 0
    dropped: tuple[str, ...] = ()  # why the others were, in words
    # joints whose effort never changes, as if it were not measured, and its value
    constant: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()  # what was taken for what, in words

    @property
    def duration(self) -> float:
        """Time from the first to the last state [s]."""
        return float(self.time[-1] - self.time[0])

    @property
    def period(self) -> float:
        """Mean time between two states [s]."""
        return self.duration / (len(self.time) - 1)

    @property
    def measured(self) -> dict[str, Floats]:
        """Position, effort, and velocity if it was recorded, by name."""
        return {f: x for f in FIELDS if (x := getattr(self, f)) is not None}

    def between(self, begin: float, end: float) -> Recording:
        """Return the part between two shares of the time, 0 to 1."""
        share = (self.time - self.time[0]) / max(self.duration, 1e-9)
        return self.where((share >= begin) & (share <= end))

    def where(self, kept: NDArray[np.bool_] | Indices) -> Recording:
        """Return the part with the states that are kept, by a mask (N,) or their indices."""
        return self.resampled(self.time[kept], lambda values: values[kept])

    def resampled(self, time: Floats, values_of: Callable[[Floats], Floats]) -> Recording:
        """Return the recording at other times [s], with what a function makes of its values."""
        values: dict[str, Any] = {field: values_of(x) for field, x in self.measured.items()}
        return replace(self, time=time, **values)

    def beside(self, other: Recording) -> tuple[Recording, Recording] | None:
        """Return this recording and another of the same motion, at the same times, or None.

        The other is shifted in time for the positions to agree best. Drives may yield to a load:
        the motions are the same if they differ by far less than they are large.
        """
        shift = _best_shift(self, other)
        time = self.time + shift
        both = (time >= other.time[0]) & (time <= other.time[-1])
        same = max(SAME, YIELDING * float(np.sqrt(self.position.var(axis=0).mean())))
        if both.mean() < MIN_OVERLAP or _apart(self, other, shift) > same:
            return None
        part, at = self.where(both), time[both]
        moved = other.resampled(part.time, lambda x: interpolated(at, other.time, x))
        if part.velocity is None or moved.velocity is None:
            part, moved = replace(part, velocity=None), replace(moved, velocity=None)
        return part, moved

    def minus(self, other: Recording) -> Recording | None:
        """Return the recording with the effort beyond another's of the same motion, or None."""
        pair = self.beside(other)
        return pair and replace(pair[0], effort=pair[0].effort - pair[1].effort)

    def with_offsets(self, offsets: Floats) -> Recording:
        """Return the recording without offsets (n,) of its encoders [rad or m]."""
        return replace(self, position=self.position - offsets)

    def with_delay(self, delay: float) -> Recording:
        """Return the recording without a delay of its efforts [s]."""
        if not delay:
            return self
        return replace(self, effort=interpolated(self.time + delay, self.time, self.effort))

    def with_gains(self, gains: Mapping[str, float]) -> Recording:
        """Return the recording with the effort of these joints multiplied by gains."""
        unknown = sorted(set(gains) - set(self.joint_names))
        if unknown:
            raise IdentificationError(
                f"a gain is given for {', '.join(unknown)}, expected one of "
                f"{', '.join(self.joint_names)}"
            )
        return replace(self, effort=self.effort * [gains.get(n, 1.0) for n in self.joint_names])


def pause(steps: Floats) -> float:
    """Return the time between two states beyond which nothing is interpolated, by all those [s]."""
    return max(PAUSE, PAUSE_PERIODS * float(np.median(steps)))


def interpolated(at: Floats, time: Floats, values: Floats) -> Floats:
    """Return values (N, n) of times (N,) at other times (M,), linearly interpolated."""
    return np.column_stack([np.interp(at, time, column) for column in values.T])


def _apart(one: Recording, other: Recording, shift: float) -> float:
    """Return the RMS difference of positions where both are, one shifted by a time [s]."""
    time = one.time + shift
    both = (time >= other.time[0]) & (time <= other.time[-1])
    if both.mean() < MIN_OVERLAP:
        return np.inf
    left = one.position[both] - interpolated(time[both], other.time, other.position)
    return float(np.sqrt((left**2).mean()))


def _best_shift(one: Recording, other: Recording) -> float:
    """Return the time [s] to add to one's for the positions to agree best with the other's."""
    sparse = one.where(np.arange(len(one.time)) % SPARSE == 0)
    step, span = one.period * SPARSE, max(one.duration, other.duration)
    best = 0.0
    while step > FINEST:
        shifts = best + np.arange(-span, span + step, step)
        best = float(min(shifts, key=lambda shift: _apart(sparse, other, shift)))
        span, step = 2.0 * step, step / 5.0
    return best


def choose(
    groups: Sequence[JointStates], described: Sequence[str], judged: Sequence[str] | None = None
) -> Recording:
    """Choose the joint states with the most of these joints, preferably with effort.

    ``described``: the joints of a description, in the order wanted; those not recorded are omitted.
    ``judged``: those whose effort is needed, None: all that were recorded; that of others may be 0.
    """

    def known(group: JointStates) -> list[str]:
        return [joint for joint in described if joint in group.joint_names]

    def merit(group: JointStates) -> tuple[int, bool, int]:
        return len(known(group)), bool(np.isfinite(group.effort).any()), len(group.stamp)

    groups = [on_one_clock(group) for group in groups]
    group = joined(sorted(groups, key=merit, reverse=True), described)
    names = known(group)
    both = f"bag: {_recorded(groups)}; description: {', '.join(described)}"
    if not names:
        raise IdentificationError(f"bag and description have no joint in common; {both}")
    for joint in judged or ():
        if joint not in names:
            where = "together with the others" if joint in described else "in the description"
            where = "in the bag" if joint not in _recorded(groups) else where
            raise IdentificationError(f"there is no joint {joint} {where}; {both}")
    columns = [group.joint_names.index(name) for name in names]
    position, velocity, effort = (
        values[:, columns] for values in (group.position, group.velocity, group.effort)
    )
    compared = [names.index(joint) for joint in judged or names]
    _require(names, range(len(names)), position, "position", group.topic)
    _require(names, compared, effort, "effort", group.topic)
    constant = {
        n: float(np.nanmax(x)) for n, x in zip(names, effort.T, strict=True) if is_constant(x)
    }
    _refuse_constant(constant, [names[j] for j in compared], judged is None, group.topic)
    if not np.nan_to_num(velocity).any():  # the driver does not measure it
        velocity = np.full_like(velocity, np.nan)
    has_velocity = np.isfinite(velocity).all(axis=1)
    wanted = {"position": (names, position)}
    wanted["effort"] = [names[j] for j in compared], effort[:, compared]
    if has_velocity.any():
        wanted["velocity"] = names, velocity
    used, dropped = _complete(wanted)
    if not used.any():
        lacking = "no message has position and effort of all joints"
        raise IdentificationError(f"{group.topic}: {lacking}")
    time = (group.stamp if np.ptp(group.stamp) else group.received)[used]
    return Recording(
        group.topic,
        tuple(names),
        (time - time[0]) * 1e-9,
        position[used],
        velocity[used] if has_velocity.any() else None,
        np.nan_to_num(effort[used]),
        len(used),
        tuple(dropped),
        constant,
        group.notes,
    )


def is_constant(effort: Floats) -> bool:
    """Tell whether a joint's effort (N,) never changes: then it is not measured."""
    known = effort[np.isfinite(effort)]
    return bool(len(known) > 1 and np.ptp(known) <= UNCHANGED * np.abs(known).max())


def _refuse_constant(
    constant: Mapping[str, float], compared: Sequence[str], others_do: bool, topic: str
) -> None:
    """Raise IdentificationError if no effort changes, or, unless others do, if one does not."""
    found = {joint: constant[joint] for joint in compared if joint in constant}
    if not found or (others_do and len(found) < len(compared)):
        return
    values = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
    is_zero = not any(found.values()) and len(found) == len(compared)
    what = "is 0 throughout" if is_zero else f"never changes ({values})"
    raise IdentificationError(f"{topic}: effort {what}: the driver does not measure it")


def _complete(
    wanted: Mapping[str, tuple[Sequence[str], Floats]],
) -> tuple[NDArray[np.bool_], list[str]]:
    """Return which states (N,) have all wanted fields of these joints, and how many lack which."""
    used, dropped = np.ones(len(wanted["position"][1]), dtype=bool), []
    for name, (joints, values) in wanted.items():
        lacking = ~np.isfinite(values) & used[:, None]
        missing = int(lacking.any(axis=1).sum())
        if missing:
            whose = [
                joint
                for joint, lacks in zip(joints, lacking.max(axis=0).tolist(), strict=True)
                if lacks
            ]
            of = "" if len(whose) == len(joints) else f" of {', '.join(whose)}"
            dropped.append(f"{missing} state{'s' * (missing > 1)} without {name}{of}")
            used &= ~lacking.any(axis=1)
    return used, dropped


def on_one_clock(group: JointStates) -> JointStates:
    """Return joint states whose times go on where a clock was set back; a note says so."""
    (stamp, backs), (received, others) = _ahead(group.stamp), _ahead(group.received)
    backs = backs if np.ptp(group.stamp) else others
    if not backs:
        return replace(group, stamp=stamp, received=received)
    times = ", ".join(f"{back * 1e-9:.3g} s" for back in backs)
    note = f"a clock was set back by {times}: what follows is treated as after a pause"
    return replace(group, stamp=stamp, received=received, notes=(*group.notes, note))


def _ahead(time: Nanoseconds) -> tuple[Nanoseconds, list[int]]:
    """Return times (N,) [ns] that go on where they were set back, and by how much they were."""
    ahead, backs, begin = time.copy(), [], 0
    for k in (np.flatnonzero(np.diff(time) < 0) + 1).tolist():
        latest = int(ahead[begin:k].max())
        run = ahead[k : k + MIN_LATER]
        if len(run) == MIN_LATER and (np.diff(run) > 0).all() and run[-1] <= latest:
            backs.append(int(latest - run[0]))
            ahead[k:] += latest - run[0] + UNTOLD
            begin = k
    return ahead, backs


def moving_joints(urdf: str | Path) -> list[str]:
    """Return the names of a description's moving joints, without followers."""
    text = read_description(urdf)
    with errors_naming(urdf):
        robot = parse(text)
    return [joint.name for joint in robot.joints if joint.moves and joint.mimic is None]


def joined(groups: Sequence[JointStates], described: Sequence[str]) -> JointStates:
    """Return the first group, with other joints' states that have effort at its times, or NaN."""
    whole = groups[0]
    for group in groups[1:]:
        lacking = [n for n in group.joint_names if n in described and n not in whole.joint_names]
        part = _at_times_of(whole, group, lacking) if lacking else {"effort": np.zeros(0)}
        if not np.nan_to_num(part["effort"]).any():
            continue  # e.g. a gripper that does not measure effort
        topics = dict.fromkeys([*whole.topic.split(" + "), group.topic])
        fields = {f: np.hstack([getattr(whole, f), part[f]]) for f in FIELDS}
        names = (*whole.joint_names, *lacking)
        notes = tuple(dict.fromkeys([*whole.notes, *group.notes]))
        whole = replace(whole, topic=" + ".join(topics), joint_names=names, notes=notes, **fields)
    return whole


def _at_times_of(whole: JointStates, part: JointStates, names: Sequence[str]) -> dict[str, Floats]:
    """Return each field (N, k) of these joints, interpolated."""
    stamped = np.ptp(whole.stamp) and np.ptp(part.stamp)
    columns = [part.joint_names.index(name) for name in names]
    clocks = [group.stamp if stamped else group.received for group in (whole, part)]
    at, times = ((clock - clocks[0][0]) * 1e-9 for clock in clocks)
    times, first = np.unique(times, return_index=True)
    longest = pause(np.diff(times)) if len(times) > 1 else 0.0
    after = np.clip(np.searchsorted(times, at), 1, max(len(times) - 1, 1)) % len(times)
    known = (at >= times[0]) & (at <= times[-1]) & (times[after] - times[after - 1] <= longest)
    known |= np.isin(at, times)
    fields = {f: interpolated(at, times, getattr(part, f)[first][:, columns]) for f in FIELDS}
    return {f: np.where(known[:, None], values, np.nan) for f, values in fields.items()}


def _recorded(groups: Sequence[JointStates]) -> str:
    return ", ".join(dict.fromkeys(name for group in groups for name in group.joint_names))


def _require(
    names: Sequence[str], joints: Iterable[int], values: Floats, field: str, topic: str
) -> None:
    missing = [names[j] for j in joints if not np.isfinite(values[:, j]).any()]
    if missing:
        raise IdentificationError(
            f"{topic}: the joint states have no {field} of {', '.join(missing)}; measured position "
            "and effort are compared with the model (--joints chooses whose)"
        )
