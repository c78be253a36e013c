"""The result of an evaluation: tables for the terminal, scores, samples, and a parameter file."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from featherstone_ros.identification.explanation import FITTED, GIVEN, GRAVITY, RIGID, WRITTEN
from featherstone_ros.identification.regression import FittedDrives
from featherstone_ros.model.drives import PRESLIDING_DISPLACEMENT
from featherstone_ros.model.parameter_files import each_joint, parameter_text, rounded
from featherstone_ros.tools import panels, study
from featherstone_ros.tools.evaluate.evaluation import Evaluation
from featherstone_ros.tools.study import load_text, r2_text, scores
from featherstone_ros.tools.style import BLUE, YELLOW, new_table, sentences

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
        cells.append(f"{fitted.of_joint(j).offset:.3f}")
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
        drive = fitted.of_joint(j)
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
