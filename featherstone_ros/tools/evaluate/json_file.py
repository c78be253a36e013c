"""The scores of an evaluation for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from featherstone_ros.arrays import Floats
from featherstone_ros.identification.explanation import Evaluation, Explanation

if TYPE_CHECKING:
    from featherstone_ros.identification.payload import Payload


def as_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return the figures of the most detailed model; None where there are none."""
    return {
        "robot": evaluation.robot,
        "source": evaluation.source,
        "joints": list(evaluation.joint_names),
        "model": evaluation.best.name,
        **scores(evaluation.best),
        "held_out": scores(evaluation.held_out),
        "cut_off": evaluation.cut_off,
        "models": {each.name: scores(each) for each in evaluation.explanations},
        "notes": list(evaluation.notes),
        "suspicions": list(evaluation.suspicions),
        "payload": _load(evaluation.payload),
    }


def _load(load: Payload | None) -> dict[str, Any] | None:
    if load is None:
        return None
    return {
        "link": load.link,
        "mass": load.mass,
        "com": load.com.tolist(),
        "standard_deviation": load.mass_deviation,
        "explained": load.explained,
    }


def scores(explanation: Explanation | None) -> dict[str, Any]:
    """Return the RMS of the unexplained torque and R^2, joint by joint."""
    if explanation is None:
        return {"rms": None, "r2": None}
    return {"rms": numbers(explanation.rms), "r2": numbers(explanation.r2)}


def numbers(values: Floats) -> list[float | None]:
    """Return plain numbers, None where one is not finite."""
    return [float(value) if np.isfinite(value) else None for value in values]


def write_json(evaluation: Evaluation, path: Path) -> None:
    """Write ``as_dict``."""
    path.write_text(json.dumps(as_dict(evaluation), indent=1, allow_nan=False) + "\n")
