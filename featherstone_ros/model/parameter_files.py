"""Parameter files of both nodes, as ROS reads them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import yaml

NODES = ("digital_twin", "feedforward_controller")


def read_parameters(path: Path) -> dict[str, dict[str, object]]:
    """Read a ROS parameter file for both nodes.

    Args:
        path: A file with the keys ``/**`` (both nodes), ``/**/digital_twin`` and so on.

    Returns:
        Node name to its parameters, nested names joined by dots.
    """
    content = yaml.safe_load(path.read_text())
    parameters = {}
    for node in NODES:
        sections = [
            content.get(key, {}).get("ros__parameters", {}) for key in ("/**", f"/**/{node}")
        ]
        parameters[node] = {k: v for section in sections for k, v in _flat(section).items()}
    return parameters


def _flat(nested: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat
