"""The files of an identification: the corrected URDF, and parameters for both nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from featherstone_ros.identification.explanation import Explanation
from featherstone_ros.identification.session import Identification
from featherstone_ros.model import Model, read_file, urdf_edit
from featherstone_ros.model.friction import PRESLIDING_DISPLACEMENT
from featherstone_ros.tools.outputs import each_joint, parameter_text, rounded
from featherstone_ros.tools.recorded_arm import scores

TERMS = ("coulomb", "viscous", "offset")
FURTHER = ("load", "thinning", "stiffness")  # terms that not every arm needs


def write_urdf(model: Model, source: Path, path: Path) -> None:
    """Write a description with a model's inertials, otherwise unchanged; xacro is expanded.

    Raises:
        ModelError: The description is of another robot.
        OSError: A file cannot be read or written.
    """
    text = read_file(source)
    encoding = urdf_edit.encoding(text) if isinstance(text, bytes) else "utf-8"
    path.write_bytes(model.to_urdf(text).encode(encoding))


def parameter_file(found: Identification, sources: str, more: Mapping[str, object]) -> str:
    """Return friction, armature and offset of the joints whose effort counted.

    Args:
        found: The result.
        sources: The recordings, in words.
        more: Further parameters.
    """
    drives, names, terms = found.arm.drives, found.model.joint_names, used_terms(found)
    friction = {
        names[j]: {
            term: value
            for term in terms
            for value in [getattr(drives, term)[j]]
            if value or term != "stiffness"  # few joints have one
        }
        for j in found.judged
    }
    armature = {names[j]: rounded(drives.armature[j]) for j in found.judged}
    common: dict[str, object] = {"friction": each_joint(friction), "armature": armature}
    if found.law.displacement != PRESLIDING_DISPLACEMENT:
        common["presliding_displacement"] = found.law.displacement
    head = [
        f"Drives of {found.model.name}, for both nodes, with the URDF of the same name:",
        f"identified by featherstone-ros from {sources}.",
    ]
    return parameter_text(head, {"/**": {**common, **more}})


def used_terms(found: Identification) -> tuple[str, ...]:
    """Return the terms of friction that the law has."""
    further = [term for term in FURTHER if np.any(getattr(found.arm.drives, term))]
    return (*TERMS, *further)


def as_dict(
    found: Identification, whole: Explanation, held_out: Explanation, before: Explanation
) -> dict[str, Any]:
    """Return scores and parameters as numbers in SI units."""
    e, drives = found.estimate, found.arm.drives
    return {
        "robot": found.model.name,
        "joints": found.joint_names,
        **scores(whole),
        "held_out": scores(held_out),
        "before": {"held_out": scores(before)},
        "friction": {
            found.model.joint_names[j]: {
                term: getattr(drives, term)[j] for term in (*used_terms(found), "armature")
            }
            for j in found.judged
        },
        "presliding_displacement": found.law.displacement,
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
                *(e.value, e.deviation, e.urdf, e.fitted, e.identified),
                strict=True,
            )
        ],
        "unidentified": e.unidentified,
        "prior_width": {"mass": found.width[0], "shape": found.width[1]},
        "noise": found.sigma,
        "cut_off": found.cut_off,
        "faults": found.faults,
        "suspicions": found.suspicions,
        "notes": found.notes,
    }
