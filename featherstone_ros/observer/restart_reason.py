"""Why the observer restarted at a state, in words."""

from __future__ import annotations

from collections.abc import Sequence

from featherstone_ros._enumerations import RestartReason
from featherstone_ros.errors import DivergenceError, SingularInertiaError


def restart_reason(kind: int, joint: int, figure: float, joint_names: Sequence[str]) -> str:
    """Return the reason, by ``RestartReason``, joint and figure; empty: it did not restart."""
    if kind == RestartReason.JUMPED_BACK:
        return f"time jumped back by {figure:.3g} s"
    if kind == RestartReason.GAP:
        return f"no new joint state for {figure:.3g} s"
    if kind == RestartReason.SINGULAR:
        return f"no answer of the model: {SingularInertiaError(joint_names[joint])}"
    if kind == RestartReason.DIVERGED:
        return f"no answer of the model: {DivergenceError(joint_names[joint], figure)}"
    if kind == RestartReason.BEYOND_BOUNDS:
        return "no answer of the model: values beyond all bounds"
    return ""
