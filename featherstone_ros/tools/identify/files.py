"""The files of an identification: the corrected URDF, and parameters for both nodes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.session import Identification
from featherstone_ros.model import Model, read_file, urdf_edit
from featherstone_ros.model.friction import SLIDING_SPEED
from featherstone_ros.model.parameter_files import of_joint
from featherstone_ros.tools.evaluate.json_file import numbers, scores

DIGITS = 6
TERMS = ("coulomb", "viscous", "offset")


def write_urdf(model: Model, source: Path, path: Path) -> None:
    """Write a description with a model's inertials, otherwise unchanged; xacro is expanded.

    Raises:
        ModelError: The description is of another robot.
        OSError: A file cannot be read or written.
    """
    text = read_file(source)
    encoding = urdf_edit.encoding(text) if isinstance(text, bytes) else "utf-8"
    path.write_bytes(model.to_urdf(text).encode(encoding))


def write_parameters(found: Identification, sources: str, path: Path) -> None:
    """Write friction, armature and offset of the joints whose effort counted."""
    friction, names = found.friction, found.model.joint_names
    terms: dict[str, Any] = {}
    for j in found.judged:
        values = {term: _rounded(getattr(friction, term)[j]) for term in TERMS}
        terms |= of_joint(names[j], values)
    armature = {names[j]: _rounded(friction.armature[j]) for j in found.judged}
    parameters = {"friction": terms, "armature": armature}
    content: dict[str, Any] = {"/**": {"ros__parameters": parameters}}
    if found.sliding_speed != SLIDING_SPEED:
        eased = {"sliding_speed": found.sliding_speed}
        content["/**/digital_twin"] = {"ros__parameters": eased}
    head = (
        f"# Drives of {found.model.name}, for both nodes, with the URDF of the same name:\n"
        f"# identified by featherstone-ros from {sources}.\n\n"
    )
    path.write_text(
        head + yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    )


def write_json(report: Mapping[str, Any], path: Path) -> None:
    """Write a report as JSON."""
    path.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n")


def as_dict(
    found: Identification, whole: Explanation, held_out: Explanation, before: Explanation
) -> dict[str, Any]:
    """Return scores and parameters as numbers in SI units, None where there are none."""
    e, friction = found.estimate, found.friction
    return {
        "robot": found.model.name,
        "joints": list(found.joint_names),
        **scores(whole),
        "held_out": scores(held_out),
        "before": {"held_out": scores(before)},
        "friction": {
            found.model.joint_names[j]: {
                term: float(getattr(friction, term)[j]) for term in (*TERMS, "armature")
            }
            for j in found.judged
        },
        "sliding_speed": found.sliding_speed,
        "base_parameters": [
            {
                "name": name,
                "value": value,
                "standard_deviation": deviation,
                "urdf": urdf,
                "written": fitted,
                "identified": bool(known),
            }
            for name, value, deviation, urdf, fitted, known in zip(
                e.names,
                *map(numbers, (e.value, e.deviation, e.urdf, e.fitted)),
                e.identified,
                strict=True,
            )
        ],
        "unidentified": e.unidentified,
        "prior_width": found.width,
        "noise": numbers(found.sigma),
        "cut_off": found.cut_off,
        "notes": list(found.notes),
    }


def _rounded(value: float) -> float:
    """Return a rounded value; one that is practically zero becomes 0."""
    return float(f"{value:.{DIGITS}g}") if abs(value) > 1e-9 else 0.0
