"""A robot description against a bag: tables, scores, samples, and a parameter file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from featherstone_ros import Dynamics, Model
from featherstone_ros.errors import FeatherstoneError, IdentificationError
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.explanation import (
    FITTED,
    GIVEN,
    GRAVITY,
    RIGID,
    WRITTEN,
    Explanation,
    explain,
    unexplained,
    weights_as_offsets,
)
from featherstone_ros.identification.faults import Faults, find_faults, in_other_units
from featherstone_ros.identification.filtering import SmoothMotion
from featherstone_ros.identification.identification import (
    Options,
    recorded,
    score,
    split,
    with_friction,
)
from featherstone_ros.identification.model_order import DISPLACEMENTS, JUSTIFIED, Fitting
from featherstone_ros.identification.payload import Payload, forgotten_load
from featherstone_ros.identification.recording import Recording
from featherstone_ros.identification.recording_checks import (
    clipped_efforts,
    efforts_beyond_limits,
    motion_suspicions,
    require_motion_enough,
)
from featherstone_ros.identification.regression import AT_REST, FittedDrives, one_thread
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT, Drives
from featherstone_ros.model.parameter_files import each_joint, parameter_text, rounded
from featherstone_ros.progress import Progress
from featherstone_ros.tools import panels, study
from featherstone_ros.tools.study import load_arm, load_text, r2_text, scores
from featherstone_ros.tools.style import BLUE, YELLOW, new_table, sentences


@dataclass(frozen=True)
class EvaluationOptions(Options):
    """Options of an evaluation, beside those of an identification.

    The motion of all joints in both bag and description is used; others are locked.
    """

    # fit viscous, Coulomb and constant torque, both unbounded and bounded below by 0
    fit_friction: bool = False
    fit_armature: bool = False  # fit the drives' inertia with them
    # parameter file of the nodes with everything but the links: nothing is fitted
    known: Path | None = None

    @property
    def fits(self) -> bool:
        """Whether drives are fitted."""
        return self.known is None and (self.fit_friction or self.fit_armature)


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A recording explained."""

    source: str  # the recording's name
    arm: Arm  # the most detailed model, as the nodes take it: without negative friction
    judged: tuple[int, ...]  # indices of its n joints whose effort counted
    motion: SmoothMotion  # their measured motion, filtered
    cut_off: float  # of the filter [Hz]
    explanations: tuple[Explanation, ...]  # from the least to the most detailed model
    fitted: FittedDrives | None  # the fitted drives of these joints, if a fit was requested
    notes: tuple[str, ...] = ()  # what was changed in the recording, in words
    suspicions: tuple[str, ...] = ()  # signs that effort is not joint torque, in words
    # the most detailed model on the last third of the recording, after any fit to the rest; None
    # where it is too short for that
    held_out: Explanation | None = None
    load: Payload | None = None  # on the last link, that would explain most of the rest

    @property
    def joint_names(self) -> tuple[str, ...]:
        """The n joints."""
        return tuple(self.arm.model.joint_names[j] for j in self.judged)

    @property
    def drives(self) -> Drives:
        """Their drives."""
        return self.arm.drives.of_joints(self.judged)

    @property
    def period(self) -> float:
        """Time between two samples [s]."""
        return float(np.median(np.diff(self.motion.time)))

    @property
    def best(self) -> Explanation:
        """The most detailed model's."""
        return self.explanations[-1]


def evaluate(
    bag: str | Path, urdf: str | Path, options: EvaluationOptions, progress: Progress | None = None
) -> Evaluation:
    """Compare what a model predicts with what was measured."""
    (recording,), names, notes = recorded([bag], urdf, options, progress)
    joints = recording.joint_names
    arm = load_arm(urdf, joints, options.known, options.gravity)
    judged, cut_off = tuple(joints.index(name) for name in names), options.cut_off
    if options.fits:
        arm = with_displacement(arm, recording, judged, options)
    whole = arm.motion(recording, cut_off)
    motion, dynamics = whole.of(judged), Dynamics(arm.model)
    require_motion(names, motion)
    gravity, rigid = (
        torque[:, judged]
        for torque in (dynamics.gravity(whole.position), dynamics.rnea(*whole.state))
    )
    explanations = [explain(GRAVITY, motion.effort, gravity), explain(RIGID, motion.effort, rigid)]
    variants, fitted, offsets = {GIVEN: arm} if options.known else {}, None, []
    if options.fits:
        for name in (FITTED, WRITTEN):
            variants[name], found = with_friction(
                arm, [recording], judged, cut_off, options.fit_armature, name == WRITTEN
            )
            fitted = fitted or found
            if not fitted.negative.any():
                break
        offsets = weights_as_offsets(names, found.drives, gravity)
    for name, variant in variants.items():
        explanations.append(score(variant, [recording], judged, cut_off, name)[1])
    faults = faults_of(arm.model, recording, whole, judged, cut_off)
    load = forgotten_load(arm, [recording], cut_off, judged, fit_drives=options.known is None)
    return Evaluation(
        source=Path(bag).name,
        arm=[arm, *variants.values()][-1],
        judged=judged,
        motion=motion,
        cut_off=cut_off,
        explanations=tuple(explanations),
        fitted=fitted,
        notes=(*notes, *faults.notes),
        suspicions=(
            *motion_suspicions(arm.model, recording.position, recording.velocity),
            *faults.texts,
            *([faults.load] if faults.load and load is None else []),
            *clipped_efforts(joints, [recording]),
            *unexplained(names, explanations[-1]),
            *offsets,
        ),
        load=load,
        held_out=held_out(arm, recording, judged, options),
    )


def faults_of(
    model: Model, recording: Recording, motion: SmoothMotion, judged: Sequence[int], cut_off: float
) -> Faults:
    """Return the recording's faults; where it cannot be judged, why, and efforts that are none."""
    try:
        require_motion_enough(model, [recording], [motion])
        with one_thread():
            found = find_faults(Fitting(model, [recording], judged, cut_off))
            return in_other_units(found, model, recording, cut_off)
    except FeatherstoneError as error:
        if beyond := efforts_beyond_limits(model, [recording]):
            return Faults((beyond,), np.zeros(model.n))
        notes = (f"Units and signs of efforts are not judged: {error}.",)
        return Faults((), np.zeros(model.n), notes=notes)


def with_displacement(
    arm: Arm, recording: Recording, judged: Sequence[int], options: EvaluationOptions
) -> Arm:
    """Return the arm with the presliding displacement with which friction fits best."""
    cut_off, armature = options.cut_off, options.fit_armature

    def driven(displacement: float) -> Arm:
        return replace(arm, drives=replace(arm.drives, presliding_displacement=displacement))

    def left(displacement: float) -> float:
        fitted, _ = with_friction(
            driven(displacement), [recording], judged, cut_off, armature, physical=False
        )
        return float(np.nansum(1 - score(fitted, [recording], judged, cut_off)[1].r2))

    usual = JUSTIFIED * left(arm.drives.presliding_displacement)
    least, best = min((left(displacement), displacement) for displacement in DISPLACEMENTS)
    return driven(best) if least < usual else arm


def held_out(
    arm: Arm, recording: Recording, judged: Sequence[int], options: EvaluationOptions
) -> Explanation | None:
    """Explain the last third of a recording, with any friction fitted to the rest."""
    fitted, held = split([recording], 1, options.cut_off)
    try:
        if options.fits:
            arm, _ = with_friction(arm, fitted, judged, options.cut_off, options.fit_armature)
        return score(arm, held, judged, options.cut_off, "held out")[1]
    except IdentificationError:
        return None


def require_motion(joints: Sequence[str], motion: SmoothMotion) -> None:
    """Raise IdentificationError if no joint moves."""
    fastest = np.abs(motion.velocity).max(axis=0)
    if fastest.max() < AT_REST:
        joint = joints[int(fastest.argmax())]
        raise IdentificationError(
            f"the arm is at standstill: the fastest joint, {joint}, reaches {fastest.max():.2g} "
            f"rad/s or m/s after filtering; record a motion of at least {AT_REST:g}, preferably of "
            "some tenths, with reversals"
        )


STYLES = {GRAVITY: "red", RIGID: "yellow", FITTED: "bold cyan", WRITTEN: "cyan", GIVEN: "bold cyan"}
COLOURS = {RIGID: YELLOW, FITTED: BLUE, GIVEN: BLUE}  # of curves


def tables(evaluation: Evaluation) -> Group:
    """Return the report for the terminal."""
    explanations = [
        ((e.name.replace(" ", "\n"), STYLES[e.name]), e) for e in evaluation.explanations
    ]
    parts: list[RenderableType] = [
        study.score_table(evaluation.joint_names, explanations, torque_unit(evaluation))
    ]
    if evaluation.fitted is not None:
        parts += [Text(), _friction(evaluation, evaluation.fitted)]
    return Group(*parts, *_remarks(evaluation))


def conditions(evaluation: Evaluation) -> str:
    """Return one line on samples and filter."""
    time = evaluation.motion.time
    return (
        f"{len(time)} samples, {1 / evaluation.period:.4g} per second, over "
        f"{time[-1] - time[0]:.3g} s; low-pass {evaluation.cut_off:g} Hz, zero phase"
    )


def torque_unit(evaluation: Evaluation) -> str:
    """Return the unit of effort of these joints."""
    types = evaluation.arm.model.joint_types
    linear = [types[j] == "prismatic" for j in evaluation.judged]
    return "N" if all(linear) else "N m, N" if any(linear) else "N m"


def draw(evaluation: Evaluation, path: Path) -> None:
    """Write the picture: torque over time, and the torque that links leave, over velocity."""
    models = [e for e in evaluation.explanations if e.name in COLOURS]
    effort, fitted = evaluation.motion.effort, evaluation.fitted
    study.draw(
        path,
        f"{evaluation.arm.model.name}: torque measured and predicted [{torque_unit(evaluation)}]",
        evaluation.motion,
        evaluation.joint_names,
        [
            ("measured", panels.MEASURED, effort),
            *((e.name, COLOURS[e.name], e.effort) for e in models),
        ],
        lambda j: f"R²  {'  →  '.join(r2_text(e.r2[j]) for e in models)}",
        below=f"{evaluation.source}: {conditions(evaluation)}",
        friction=(
            "measured minus rigid links, over velocity",
            effort - models[0].effort,
            None if fitted is None else fitted.drives,
        ),
    )


def _friction(evaluation: Evaluation, found: FittedDrives) -> Table:
    """List the fitted terms, and where they differ, those for the nodes."""
    fitted, written = found.drives, evaluation.drives
    terms = ["viscous", "coulomb", *["armature"] * bool(fitted.armature.any())]
    headings: list[str | tuple[str, str]] = [f"\n{term}" for term in (*terms, "offset")]
    for k, term in enumerate(terms if found.negative.any() else ()):
        headings.append((f"{'' if k else 'as parameters:'}\n{term}", STYLES[WRITTEN]))
    table = new_table("Friction fitted, SI units", "joint", figures=headings)
    for j, name in enumerate(evaluation.joint_names):
        cells: list[Text | str] = [_term(getattr(fitted, term)[j]) for term in terms]
        cells.append(f"{fitted.of_joints(j).offset:.3f}")
        if found.negative.any():
            cells += [f"{getattr(written, term)[j]:.3f}" for term in terms]
        table.add_row(name, *cells)
    return table


def _term(value: float) -> Text:
    return Text(f"{value:.3f}", style="bold red" if value < 0 else "")


def _remarks(evaluation: Evaluation) -> list[Text]:
    lines = sentences([conditions(evaluation), *evaluation.notes])
    lines += [Text(suspicion, style="bold red") for suspicion in evaluation.suspicions]
    if evaluation.load is not None:
        lines.append(Text(load_text(evaluation.load), style="bold red"))
    friction = evaluation.fitted
    if friction is None:
        return lines
    for joint, why in friction.doubtful.items():
        lines.append(Text(f"{evaluation.joint_names[joint]}: {why}.", style="yellow"))
    if friction.negative.any():
        which = [n for n, bad in zip(evaluation.joint_names, friction.negative, strict=True) if bad]
        lines.append(
            Text(
                f"Friction cannot be negative: in {', '.join(which)} it compensates another error, "
                "most likely the links' inertia. The nodes get terms fitted to be >= 0.",
                style="yellow",
            )
        )
    return lines


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures of the most detailed model."""
    load = evaluation.load
    return {
        "robot": evaluation.arm.model.name,
        "source": evaluation.source,
        "joints": evaluation.joint_names,
        "model": evaluation.best.name,
        **scores(evaluation.best),
        "held_out": scores(evaluation.held_out),
        "cut_off": evaluation.cut_off,
        "models": {each.name: scores(each) for each in evaluation.explanations},
        "notes": evaluation.notes,
        "suspicions": evaluation.suspicions,
        "payload": None
        if load is None
        else {
            "link": load.link,
            "mass": load.mass,
            "com": load.com,
            "standard_deviation": load.mass_deviation,
            "explained": load.explained,
        },
    }


def parameter_file(evaluation: Evaluation) -> str:
    """Return ``friction.<joint>.*``, and ``armature.<joint>`` where it was fitted.

    For joints at rest, whose friction is not observable, only the offset.
    """
    fitted, best = evaluation.drives, evaluation.best
    friction, armature = {}, {}
    for j, name in enumerate(evaluation.joint_names):
        drive = fitted.of_joints(j)
        coulomb, viscous, inertia = (
            max(float(term), 0.0) for term in (drive.coulomb, drive.viscous, drive.armature)
        )
        friction[name] = {"coulomb": coulomb, "viscous": viscous, "offset": float(drive.offset)}
        if not (coulomb or viscous or inertia):
            friction[name] = {"offset": float(drive.offset)}
        elif fitted.armature.any():
            armature[name] = rounded(inertia)
    head = [
        f"Friction of {evaluation.arm.model.name}, for both nodes: fitted by featherstone-ros "
        "evaluate to",
        f"{evaluation.source} ({conditions(evaluation)}).",
        f"R² of the torque with it, joint by joint: {', '.join(map(r2_text, best.r2))}.",
    ]
    if best.name == WRITTEN:
        head.append("Fitted without negative terms, which the nodes refuse.")
    parameters: dict[str, object] = {"friction": each_joint(friction)}
    if armature:
        parameters["armature"] = armature
    if fitted.presliding_displacement != PRESLIDING_DISPLACEMENT:
        parameters["presliding_displacement"] = fitted.presliding_displacement
    return parameter_text(head, {"/**": parameters})


def write_csv(evaluation: Evaluation, path: Path) -> None:
    """Write one row per sample: time, then each joint's motion, measured and predicted effort."""
    motion = evaluation.motion
    fields = {
        "position": motion.position,
        "velocity": motion.velocity,
        "acceleration": motion.acceleration,
        "effort": motion.effort,
        **{e.name.replace(" ", "_"): e.effort for e in evaluation.explanations},
    }
    names = [f"{joint}.{field}" for joint in evaluation.joint_names for field in fields]
    columns = np.stack(list(fields.values()), axis=2).reshape(len(motion.time), -1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *names])
        for row in np.column_stack([motion.time, columns]):
            writer.writerow([f"{value:.9g}" for value in row])
