"""The text of files that commands write: JSON and parameter files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any

import numpy as np
import yaml

from featherstone_ros.model.parameter_files import of_joint

DIGITS = 6


def json_text(content: Mapping[str, Any]) -> str:
    """Return numbers for other programs; arrays become lists, and what is not finite null."""
    return json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(content) for key, content in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(content) for content in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def parameter_text(head: Iterable[str], nodes: Mapping[str, Mapping[str, object]]) -> str:
    """Return a parameter file. ``nodes``: ``/**`` or the name of a node to its parameters."""
    content = {node: {"ros__parameters": dict(values)} for node, values in nodes.items()}
    text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None, width=100)
    return "".join(f"# {line}\n" for line in head) + "\n" + text


def each_joint(joints: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Return parameters that joints have, nested and rounded as they stand in a file."""
    nested: dict[str, object] = {}
    for joint, terms in joints.items():
        nested |= of_joint(joint, {name: rounded(value) for name, value in terms.items()})
    return nested


def rounded(value: float) -> float:
    """Return a value with ``DIGITS`` digits; one that is practically zero becomes 0."""
    return float(f"{value:.{DIGITS}g}") if abs(value) > 1e-9 else 0.0
