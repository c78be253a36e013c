"""From a bag and a robot description to an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from featherstone_ros import Dynamics, Model, ModelError
from featherstone_ros.bags import Progress, read_joint_states
from featherstone_ros.evaluation.cleaning import clean
from featherstone_ros.evaluation.errors import EvaluationError
from featherstone_ros.evaluation.explanation import (
    FITTED,
    GRAVITY,
    RIGID,
    WRITTEN,
    Evaluation,
    explain,
)
from featherstone_ros.evaluation.filtering import Motion, joined, smooth_all
from featherstone_ros.evaluation.friction import AT_REST, fit
from featherstone_ros.evaluation.recording import choose
from featherstone_ros.evaluation.suspicions import suspicions
from featherstone_ros.model import EARTH, read_description
from featherstone_ros.urdf import parse


@dataclass(frozen=True)
class Options:
    """What to evaluate, and how.

    Attributes:
        joints: Those to compare; the motion of all that are in both bag and description counts,
            others are locked at 0. None: all that are in both.
        topic: Of the joint states; None: the one that knows the most joints.
        cut_off: Of the filter [Hz].
        fit_friction: Fit viscous, Coulomb and constant torque, as they come and as they can be.
        fit_armature: Fit the drives' inertia with them.
        gravity: In the base link's frame [m/s^2].
    """

    joints: Sequence[str] | None = None
    topic: str | None = None
    cut_off: float = 2.0
    fit_friction: bool = False
    fit_armature: bool = False
    gravity: Sequence[float] = EARTH


def evaluate(
    bag: str | Path, urdf: str | Path, options: Options, progress: Progress | None = None
) -> Evaluation:
    """Compare what a model predicts with what was measured.

    Args:
        bag: The recording, see ``bags``.
        urdf: Robot description, .urdf or .xacro.
        options: What to evaluate, and how.
        progress: Told how far reading is.

    Raises:
        BagError: The recording cannot be read.
        ModelError: The description cannot be used.
        EvaluationError: The recording says too little of the model's joints.
    """
    described = moving_joints(urdf)
    groups = read_joint_states(bag, options.topic, progress)
    recording = choose(groups, described, options.joints)
    model = Model.from_file(urdf, joints=recording.joint_names, gravity=options.gravity)
    cleaned = clean(recording)
    whole = joined(smooth_all(cleaned.stretches, options.cut_off))
    dynamics = Dynamics(model)
    gravity = dynamics.gravity(whole.position)
    rigid = dynamics.rnea(whole.position, whole.velocity, whole.acceleration)
    judged = [model.joint_names.index(joint) for joint in options.joints or model.joint_names]
    gravity, rigid, motion = gravity[:, judged], rigid[:, judged], whole.of(judged)
    names = tuple(model.joint_names[j] for j in judged)
    require_motion(names, motion)
    explanations = [
        explain(GRAVITY, motion.effort, gravity),
        explain(RIGID, motion.effort, rigid),
    ]
    friction = parameters = None
    if options.fit_friction or options.fit_armature:
        residual = motion.effort - rigid
        friction = fit(motion, residual, options.fit_armature)
        explanations.append(explain(FITTED, motion.effort, rigid + friction.torque(motion)))
        parameters = friction
        if friction.negative.any():
            parameters = fit(motion, residual, options.fit_armature, physical=True)
            written = rigid + parameters.torque(motion)
            explanations.append(explain(WRITTEN, motion.effort, written))
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
        notes=(*cleaned.notes, *locked(described, model)),
        suspicions=tuple(suspicions(names, motion.effort, rigid, gravity)),
    )


def moving_joints(urdf: str | Path) -> list[str]:
    """Return the names of a description's moving joints that follow no other."""
    try:
        robot = parse(read_description(urdf))
    except ModelError as error:
        raise ModelError(f"{urdf}: {error}") from error
    return [joint.name for joint in robot.joints if joint.moves and joint.mimic is None]


def require_motion(joints: Sequence[str], motion: Motion) -> None:
    """Raise EvaluationError if no joint moves."""
    fastest = np.abs(motion.velocity).max(axis=0)
    if fastest.max() < AT_REST:
        joint = joints[int(fastest.argmax())]
        raise EvaluationError(
            f"the arm is at standstill: the fastest joint, {joint}, reaches {fastest.max():.2g} "
            f"rad/s or m/s once filtered; record a motion of at least {AT_REST:g}, better of some "
            "tenths, with reversals"
        )


def locked(described: Sequence[str], model: Model) -> list[str]:
    """Say which joints of the description were taken as locked."""
    names = [name for name in described if name not in model.joint_names]
    return [f"Not in the bag, taken as locked at 0: {', '.join(names)}"] if names else []
