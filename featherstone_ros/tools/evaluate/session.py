"""Evaluates a robot description against a bag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from featherstone_ros import Dynamics, Model
from featherstone_ros.arrays import Floats
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.bags import Progress, read_joint_states
from featherstone_ros.identification.blas import one_thread
from featherstone_ros.identification.cleaning import clean
from featherstone_ros.identification.couplings import couplings, in_words
from featherstone_ros.identification.errors import EvaluationError
from featherstone_ros.identification.explanation import (
    FITTED,
    GRAVITY,
    KNOWN,
    RIGID,
    WRITTEN,
    Evaluation,
    Explanation,
    determination,
    explain,
)
from featherstone_ros.identification.faults import Faults, find_faults, in_other_units
from featherstone_ros.identification.filtering import SmoothMotion, joined, smooth_all
from featherstone_ros.identification.friction import AT_REST, FittedDrives, explained, fit
from featherstone_ros.identification.model_order import DISPLACEMENTS, JUSTIFIED, Fitting
from featherstone_ros.identification.payload import forgotten_load
from featherstone_ros.identification.recording import HELD_OUT, Recording, choose, moving_joints
from featherstone_ros.identification.recording_checks import clipped_efforts, require_enough
from featherstone_ros.identification.result_checks import unexplained, weights_as_offsets
from featherstone_ros.identification.session import Options
from featherstone_ros.identification.suspicions import (
    motion_suspicions,
    suspicions,
)
from featherstone_ros.identification.usage import usage
from featherstone_ros.model.drives import Drives
from featherstone_ros.tools.recorded_arm import load_arm


@dataclass(frozen=True)
class EvaluationOptions(Options):
    """Options of an evaluation, beside those of an identification.

    The motion of all joints in both bag and description is used; others are locked.

    Attributes:
        fit_friction: Fit viscous, Coulomb and constant torque, both unbounded and bounded below by
            0.
        fit_armature: Fit the drives' inertia with them.
        known: Parameter file of the nodes with everything but the links: nothing is fitted.
    """

    fit_friction: bool = False
    fit_armature: bool = False
    known: Path | None = None


def evaluate(
    bag: str | Path, urdf: str | Path, options: EvaluationOptions, progress: Progress | None = None
) -> Evaluation:
    """Compare what a model predicts with what was measured.

    Args:
        bag: The recording, see ``bags``.
        urdf: Robot description, .urdf or .xacro.
        options: See ``EvaluationOptions``.
        progress: Called with the messages read and their total.

    Raises:
        BagError: The recording cannot be read.
        ModelError: The description cannot be used.
        EvaluationError: The recording lacks what the model's joints need.
    """
    described = moving_joints(urdf)
    groups = read_joint_states(bag, options.topic, progress, [options.joints or (), described])
    recording = choose(groups, described, options.joints).with_gains(options.gains)
    arm = load_arm(urdf, recording.joint_names, options.known, options.gravity)
    model = arm.model
    cleaned = clean(recording)
    if options.known is None and (options.fit_friction or options.fit_armature):
        arm = with_displacement(arm, recording, options)
    whole = joined(
        smooth_all(cleaned.stretches, options.cut_off, arm.drives.presliding_displacement)
    )
    dynamics = Dynamics(model)
    gravity = dynamics.gravity(whole.position)
    rigid = dynamics.rnea(whole.position, whole.velocity, whole.acceleration)
    measured = [joint for joint in model.joint_names if joint not in recording.constant]
    judged = [model.joint_names.index(joint) for joint in options.joints or measured]
    gravity, rigid, motion = gravity[:, judged], rigid[:, judged], whole.of(judged)
    names = tuple(model.joint_names[j] for j in judged)
    require_motion(names, motion)
    explanations = [
        explain(GRAVITY, motion.effort, gravity),
        explain(RIGID, motion.effort, rigid),
    ]
    friction = parameters = None
    if options.known:
        explanations.append(explain(KNOWN, motion.effort, arm.explained(whole)[:, judged]))
    elif options.fit_friction or options.fit_armature:
        friction, parameters, more = fit_drives(motion, rigid, options.fit_armature)
        explanations += more
    found = faults_of(model, recording, whole, judged, options.cut_off)
    load = forgotten_load(
        arm, [recording], options.cut_off, judged, fit_drives=options.known is None
    )
    worse = unexplained(names, explanations[-1])
    return Evaluation(
        robot=model.name,
        source=Path(bag).name,
        topic=recording.topic,
        joint_names=names,
        joint_types=tuple(model.joint_types[j] for j in judged),
        motion=motion,
        period=cleaned.stretches[0].period,
        cut_off=options.cut_off,
        explanations=tuple(explanations),
        friction=friction,
        parameters=parameters,
        notes=(
            usage(recording, options.cut_off),
            *locked(described, model),
            *(found.notes if found else ()),
        ),
        suspicions=(
            *motion_suspicions(model, recording.position, recording.velocity),
            *_judged(found, names, motion, rigid, gravity, bool(worse)),
            *([found.load] if found and found.load and load is None else []),
            *clipped_efforts(recording.joint_names, [recording]),
            *worse,
            *(weights_as_offsets(names, parameters, gravity) if parameters else ()),
        ),
        payload=load,
        held_out=held_out(recording, arm, judged, options),
        displacement=arm.drives.presliding_displacement,
    )


def faults_of(
    model: Model, recording: Recording, motion: SmoothMotion, judged: Sequence[int], cut_off: float
) -> Faults | None:
    """Return the recording's faults; None where it says too little.

    A recording that is too short for the others may still show coupled drives.
    """
    try:
        with one_thread():
            fitting = Fitting(model, [recording], judged, cut_off)
            coupled = couplings(fitting)
            if coupled:
                return Faults(tuple(in_words(model.joint_names, coupled)), np.zeros(model.n))
            require_enough(model, [recording], [motion])
            return in_other_units(find_faults(fitting), model, recording, cut_off)
    except FeatherstoneError:
        return None


def _judged(
    found: Faults | None,
    names: Sequence[str],
    motion: SmoothMotion,
    rigid: Floats,
    gravity: Floats,
    is_unexplained: bool,
) -> Sequence[str]:
    """Return what is wrong; where the recording says too little, what effort seems to be."""
    if found is None or (is_unexplained and not found.texts):
        return suspicions(names, motion, rigid, gravity)
    return found.texts


def fit_drives(
    motion: SmoothMotion, rigid: Floats, armature: bool
) -> tuple[FittedDrives, Drives, list[Explanation]]:
    """Fit the torque that the rigid links leave unexplained.

    Args:
        motion: The arm's motion.
        rigid: (N, n) torque of the rigid links.
        armature: Fit the drives' inertia as well.

    Returns:
        The fit; the fit for a parameter file, without negative terms; and how well each explains
        the motion (one entry if they are the same).
    """
    residual = motion.effort - rigid
    friction = fit(motion, residual, armature)
    fits = {FITTED: friction.drives}
    if friction.negative.any():
        fits[WRITTEN] = fit(motion, residual, armature, physical=True).drives
    explanations = [
        explain(name, motion.effort, rigid + explained(drives, motion, residual))
        for name, drives in fits.items()
    ]
    return friction, [*fits.values()][-1], explanations


def with_displacement(arm: Arm, recording: Recording, options: EvaluationOptions) -> Arm:
    """Return the arm with the presliding displacement with which friction fits best."""

    def driven(displacement: float) -> Arm:
        return replace(arm, drives=replace(arm.drives, presliding_displacement=displacement))

    def unexplained(displacement: float) -> float:
        motion = driven(displacement).motion(recording, options.cut_off)
        left = motion.effort - arm.torque(motion)
        left -= explained(fit(motion, left, options.fit_armature).drives, motion, left)
        return float(np.nansum(1 - determination(motion.effort, left)))

    usual = JUSTIFIED * unexplained(arm.drives.presliding_displacement)
    best = min(DISPLACEMENTS, key=unexplained)
    return driven(best) if unexplained(best) < usual else arm


def held_out(
    recording: Recording, arm: Arm, judged: Sequence[int], options: EvaluationOptions
) -> Explanation | None:
    """Explain the last third of a recording, with any friction fitted to the first two thirds."""
    try:
        before, after = (
            arm.motion(part, options.cut_off)
            for part in (recording.between(0, HELD_OUT), recording.between(HELD_OUT, 1))
        )
    except EvaluationError:
        return None
    torque = arm.explained(after)[:, judged]
    if not options.known and (options.fit_friction or options.fit_armature):
        residual = (before.effort - arm.torque(before))[:, judged]
        fitted = fit(before.of(judged), residual, options.fit_armature, physical=True).drives
        left = after.effort[:, judged] - torque
        torque = torque + explained(fitted, after.of(judged), left)
    return explain("held out", after.effort[:, judged], torque)


def require_motion(joints: Sequence[str], motion: SmoothMotion) -> None:
    """Raise EvaluationError if no joint moves."""
    fastest = np.abs(motion.velocity).max(axis=0)
    if fastest.max() < AT_REST:
        joint = joints[int(fastest.argmax())]
        raise EvaluationError(
            f"the arm is at standstill: the fastest joint, {joint}, reaches {fastest.max():.2g} "
            f"rad/s or m/s after filtering; record a motion of at least {AT_REST:g}, preferably of "
            "some tenths, with reversals"
        )


def locked(described: Sequence[str], model: Model) -> list[str]:
    """Return a note on the joints of the description that were locked."""
    names = [name for name in described if name not in model.joint_names]
    return [f"Not in the bag, taken as locked near 0: {', '.join(names)}"] if names else []
