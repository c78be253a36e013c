"""Identification from recordings and a robot description to corrected parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from featherstone_ros import Model
from featherstone_ros.arrays import Floats, ends_of_motion
from featherstone_ros.errors import IdentificationError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bags import read_joint_states, storage
from featherstone_ros.identification.base_parameters import Estimate, base_parameters, estimate
from featherstone_ros.identification.bodies import Bodies
from featherstone_ros.identification.explanation import Explanation, explain
from featherstone_ros.identification.faults import find_faults, in_other_units
from featherstone_ros.identification.filtering import SmoothMotion, joined
from featherstone_ros.identification.fit import Fit
from featherstone_ros.identification.model_order import Fitting, fit_parts
from featherstone_ros.identification.payload import Payload, forgotten_load
from featherstone_ros.identification.recording import (
    HELD_OUT,
    JointStates,
    Recording,
    choose,
    is_constant,
    moving_joints,
)
from featherstone_ros.identification.recording_checks import (
    SHORTEST,
    clipped_efforts,
    require_enough,
    still_joints,
    telling,
    usage,
)
from featherstone_ros.identification.regression import FittedDrives, Law, one_thread
from featherstone_ros.identification.regression import fit as fit_friction
from featherstone_ros.model import EARTH
from featherstone_ros.progress import Progress

REST = 2.0  # [s] at an end of a motion that is part of it
MOVES = 0.01  # of the range of a joint from where it rests: it moves
NEEDED = 6.1  # periods of the cut-off that are held out: a little more than the filter needs


@dataclass(frozen=True)
class Options:
    """Options of an identification."""

    # recordings to score with; if none, the last third of each motion is held out
    held_out: Sequence[str | Path] = ()
    # joints whose effort counts; None: all that were recorded with effort
    joints: Sequence[str] | None = None
    topic: str | None = None  # topic of the joint states; None: the one with the most joints
    cut_off: float = 2.0  # of the filter [Hz]
    # factors from a joint's effort to its torque, e.g. N m per A
    gains: dict[str, float] = field(default_factory=dict)
    gravity: Sequence[float] = EARTH  # in the base link's frame [m/s^2]
    fix_offsets: bool = False  # correct the encoders' offsets, see ``faults``
    fix_delay: bool = False  # correct the delay of the efforts, likewise
    any_duration: bool = False  # fit recordings that are short, too
    # lower and upper corner of each link's volume in its frame, where it is known [m]
    boxes: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def shortest(self) -> float:
        """Least duration of the recordings to fit [s]: the same is fitted with any held out."""
        if self.any_duration:
            return 0.0
        return SHORTEST * HELD_OUT if self.held_out else SHORTEST


@dataclass(frozen=True, eq=False)
class Identification:
    """The result of an identification."""

    model: Model  # from the description; its joints are those of the recordings
    arm: Arm  # as identified, with its possible errors; no friction of joints that did not count
    judged: tuple[int, ...]  # indices of the joints whose effort counted
    law: Law  # the law of friction that the cross-validation chose
    bodies: Bodies  # the bodies, undeformed
    fit: Fit  # their deformations and the drives
    # the base parameters, the combinations on which torque depends, from the data alone, with
    # standard deviations
    estimate: Estimate
    width: Floats  # (10,) of the prior about the URDF, of each component of a body's theta
    sigma: Floats  # (j,) noise of each judged joint [N m or N]
    before: Arm  # the description with friction fitted to the same part
    recordings: tuple[Recording, ...]  # all of them, before they were split
    fitted: tuple[Recording, ...]  # the part that was fitted
    held_out: tuple[Recording, ...]  # the part that was not
    cut_off: float  # of the filter [Hz]
    notes: tuple[str, ...]  # what was changed and what was missing, in words
    # of the recordings, in words: what is identified from them is wrong
    faults: tuple[str, ...] = ()
    suspicions: tuple[str, ...] = ()  # what else is odd, in words
    # on the last link of the arm as described, that would explain most of the torque
    load: Payload | None = None
    # of the links, see ``Options``
    boxes: dict[str, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The joints whose effort counted."""
        return tuple(self.model.joint_names[j] for j in self.judged)

    @cached_property
    def motion(self) -> SmoothMotion:
        """The motion that was fitted, filtered."""
        return joined([self.arm.motion(part, self.cut_off) for part in self.fitted])


def identify(
    bags: Sequence[str | Path],
    urdf: str | Path,
    options: Options = Options(),
    progress: Progress | None = None,
) -> Identification:
    """Identify an arm's links, friction, drive inertias and offsets.

    Args:
        bags: Recordings, see ``bags``.
        urdf: Robot description, .urdf or .xacro.
        options: See ``Options``.
        progress: Called with the steps done and their total.

    Raises:
        BagError: A recording cannot be read.
        ModelError: The description cannot be used.
        IdentificationError: The recordings lack what the model's joints need, or identify nothing;
            the message says why and what to record.
    """
    for bag in (*bags, *options.held_out):
        storage(bag)  # else scipy is missed before the recording is
    with one_thread():
        return _identify(bags, urdf, options, progress)


def _identify(
    bags: Sequence[str | Path], urdf: str | Path, options: Options, progress: Progress | None
) -> Identification:
    everything = [*bags, *options.held_out]
    recordings, judged_names, notes = recorded(everything, urdf, options, progress)
    names = recordings[0].joint_names
    model = Model.from_file(urdf, joints=names, gravity=options.gravity)
    judged = tuple(names.index(name) for name in judged_names)
    fitted, held = split(recordings, len(bags), options.cut_off)
    arm = Arm.without_drives(model)
    motions = [arm.motion(part, options.cut_off) for part in recordings[: len(bags)]]
    with telling(notes):
        require_enough(model, recordings[: len(bags)], motions, options.shortest)
    fitting = Fitting(model, fitted, judged, options.cut_off, options.boxes)
    faults = find_faults(fitting)
    offsets, delay = options.fix_offsets * faults.offsets, options.fix_delay * faults.delay
    if offsets.any() or delay:
        notes += [f"corrected: {text}" for text in faults.texts]
        recordings = [r.with_offsets(offsets).with_delay(delay) for r in recordings]
        fitted, held = split(recordings, len(bags), options.cut_off)
        fitting = Fitting(model, fitted, judged, options.cut_off, options.boxes)
        faults = find_faults(fitting)
    faults = in_other_units(faults, model, recordings[0], options.cut_off)
    bodies = fitting.bodies
    fit, best = fit_parts(fitting, progress)
    still = still_joints(model, motions)
    if still:
        notes.append(f"hardly moved, so hardly identified: {', '.join(still)}")
    if bodies.repaired:
        notes.append(
            "impossible in the description, thickened before the fit: " + ", ".join(bodies.repaired)
        )
    if bodies.massless:
        notes.append("without mass, left unchanged: " + ", ".join(bodies.massless))
    notes += faults.notes
    load = forgotten_load(arm, fitted, options.cut_off, judged, fit_drives=True)
    return Identification(
        model=model,
        arm=fitting.arm(best, fit),
        judged=judged,
        law=best.law,
        bodies=bodies,
        fit=fit,
        estimate=estimate(best.facts, best.sigma, base_parameters(model), bodies, fit, judged),
        width=best.width,
        sigma=best.sigma,
        before=with_friction(arm, fitted, judged, options.cut_off)[0],
        recordings=tuple(recordings[: len(bags)]),
        fitted=tuple(fitted),
        held_out=tuple(held),
        cut_off=options.cut_off,
        notes=tuple(notes),
        faults=faults.texts,
        suspicions=(
            *clipped_efforts(names, recordings[: len(bags)]),
            *([faults.load] if faults.load and load is None else []),
        ),
        load=load,
        boxes=options.boxes,
    )


def recorded(
    bags: Sequence[str | Path],
    urdf: str | Path,
    options: Options,
    reading: Progress | None = None,
) -> tuple[list[Recording], list[str], list[str]]:
    """Read recordings of the same joints; return them, the joints with effort, and notes."""
    described, notes = moving_joints(urdf), []
    names_by_order = [options.joints or (), described]
    groups = [read_joint_states(bag, options.topic, reading, names_by_order) for bag in bags]
    judged = options.joints
    if judged is None:
        judged = _with_effort(groups, described)
    common = [name for name in described if all(_names(g, name) for g in groups)]
    recordings = [choose(group, common or described, judged or None) for group in groups]
    names = recordings[0].joint_names
    for bag, recording in zip(bags, recordings, strict=True):
        if recording.joint_names != names:
            raise IdentificationError(
                f"{bag} has joints {', '.join(recording.joint_names)}, expected those of "
                f"{bags[0]}: {', '.join(names)}"
            )
    for bag, recording in zip(bags, recordings, strict=True):
        line = usage(recording, options.cut_off)
        notes.append(line if len(bags) == 1 else f"recording {Path(bag).name}: {line}")
    recordings = [recording.with_gains(options.gains) for recording in recordings]
    silent = [name for name in names if name not in judged]
    if silent:
        notes.append(f"effort not recorded or not requested: {', '.join(silent)}")
    missing = [name for name in described if name not in names]
    if missing:
        notes.append(f"not recorded, taken as locked near 0: {', '.join(missing)}")
    return recordings, [name for name in names if name in judged], notes


def _names(groups: Sequence[JointStates], joint: str) -> bool:
    return any(joint in group.joint_names for group in groups)


def _with_effort(every: Sequence[Sequence[JointStates]], described: Sequence[str]) -> list[str]:
    """Return the joints whose effort changes in every recording."""
    return [
        name
        for name in described
        if all(
            any(
                name in group.joint_names
                and np.isfinite(effort := group.effort[:, group.joint_names.index(name)]).any()
                and not is_constant(effort)
                for group in groups
            )
            for groups in every
        )
    ]


def split(
    recordings: Sequence[Recording], fitted: int, cut_off: float
) -> tuple[list[Recording], list[Recording]]:
    """Return the fitted part and the held-out part: the other recordings, or the last thirds."""
    if len(recordings) > fitted:
        return list(recordings[:fitted]), list(recordings[fitted:])
    shares = [min(_share(r), 1.0 - NEEDED / cut_off / np.ptp(r.time)) for r in recordings]
    pairs = list(zip(recordings, shares, strict=True))
    return [r.between(0, share) for r, share in pairs], [r.between(share, 1) for r, share in pairs]


def _share(recording: Recording) -> float:
    """Return the share of a recording's time that the first two thirds of its motion take."""
    time, q = recording.time - recording.time[0], recording.position
    ends = ends_of_motion(q, MOVES * np.ptp(q, axis=0))
    if ends is None:
        return HELD_OUT
    begin = max(time[ends[0]] - REST, 0.0) / time[-1]
    end = min((time[ends[1]] + REST) / time[-1], 1.0)
    return float(begin + HELD_OUT * (end - begin))


def with_friction(
    arm: Arm,
    recordings: Sequence[Recording],
    judged: Sequence[int],
    cut_off: float,
    armature: bool = False,
    physical: bool = True,
) -> tuple[Arm, FittedDrives]:
    """Return an arm with drives fitted to the torque its links leave, and them, of these joints."""
    motion = joined([arm.motion(part, cut_off) for part in recordings])
    residual = (motion.effort - arm.torque(motion))[:, judged]
    found = fit_friction(motion.of(judged), residual, armature, physical)
    drives = found.drives.among(judged, arm.model.n)
    displacement = arm.drives.presliding_displacement
    return Arm(arm.model, replace(drives, presliding_displacement=displacement)), found


def score(
    arm: Arm, recordings: Sequence[Recording], judged: Sequence[int], cut_off: float, name: str = ""
) -> tuple[SmoothMotion, Explanation]:
    """Explain the torque of the judged joints; return their motion too."""
    motion = joined([arm.motion(part, cut_off) for part in recordings])
    torque = arm.explained(motion)[:, judged]
    motion = motion.of(judged)
    return motion, explain(name, motion.effort, torque)
