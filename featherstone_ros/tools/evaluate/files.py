"""The files of an evaluation: scores, filtered samples, and the friction fitted, for both nodes."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

from featherstone_ros.identification.explanation import WRITTEN, Evaluation
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT
from featherstone_ros.tools.evaluate.report import conditions
from featherstone_ros.tools.outputs import each_joint, parameter_text, rounded
from featherstone_ros.tools.recorded_arm import r2_text, scores


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures of the most detailed model."""
    load = evaluation.payload
    return {
        "robot": evaluation.robot,
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
    fitted, best = evaluation.parameters, evaluation.best
    if fitted is None:
        raise ValueError("no friction was fitted")
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
        f"Friction of {evaluation.robot}, for both nodes: fitted by featherstone-ros evaluate to",
        f"{evaluation.source} ({conditions(evaluation)}).",
        f"R² of the torque with it, joint by joint: {', '.join(map(r2_text, best.r2))}.",
    ]
    if best.name == WRITTEN:
        head.append("Fitted without negative terms, which the nodes refuse.")
    parameters: dict[str, object] = {"friction": each_joint(friction)}
    if armature:
        parameters["armature"] = armature
    if evaluation.displacement != PRESLIDING_DISPLACEMENT:
        parameters["presliding_displacement"] = evaluation.displacement
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
    columns = [
        values[:, j] for j in range(len(evaluation.joint_names)) for values in fields.values()
    ]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *names])
        for row in zip(motion.time, *columns, strict=True):
            writer.writerow([f"{value:.9g}" for value in row])
