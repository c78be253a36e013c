"""The fitted friction as a parameter file for both nodes."""

from __future__ import annotations

from pathlib import Path

import yaml

from featherstone_ros.identification.explanation import WRITTEN, Evaluation
from featherstone_ros.model.parameter_files import of_joint
from featherstone_ros.tools.evaluate.report import conditions, r2_text

DIGITS = 6


def write_parameters(evaluation: Evaluation, path: Path) -> None:
    """Write ``friction.<joint>.*``, and ``armature.<joint>`` where it was fitted.

    For joints at rest, whose friction is not observable, only the offset.

    Args:
        evaluation: With friction.
        path: The file.
    """
    fitted = evaluation.parameters
    if fitted is None:
        raise ValueError("no friction was fitted")
    seen = [
        (j, name)
        for j, name in enumerate(evaluation.joint_names)
        if fitted.viscous[j] or fitted.coulomb[j] or fitted.armature[j]
    ]
    friction = {
        name: {"offset": _signed(fitted.offset[j])} for j, name in enumerate(evaluation.joint_names)
    }
    for j, name in seen:
        terms = {"coulomb": _rounded(fitted.coulomb[j]), "viscous": _rounded(fitted.viscous[j])}
        friction[name] = terms | friction[name]
    nested: dict[str, object] = {}
    for name, terms in friction.items():
        nested |= of_joint(name, terms)
    parameters: dict[str, object] = {"friction": nested}
    if fitted.armature.any():
        parameters["armature"] = {name: _rounded(fitted.armature[j]) for j, name in seen}
    content = {"/**": {"ros__parameters": parameters}}
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    path.write_text(_head(evaluation) + text)


def _head(evaluation: Evaluation) -> str:
    best = evaluation.explanations[-1]
    scores = ", ".join(r2_text(value) for value in best.r2)
    lines = [
        f"Friction of {evaluation.robot}, for both nodes: fitted by featherstone-ros evaluate to",
        f"{evaluation.source} ({conditions(evaluation)}).",
        f"R² of the torque with it, joint by joint: {scores}.",
    ]
    if best.name == WRITTEN:
        lines.append("Fitted without negative terms, which the nodes refuse.")
    return "".join(f"# {line}\n" for line in lines) + "\n"


def _rounded(value: float) -> float:
    return _signed(max(value, 0.0))


def _signed(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
