"""The state of a simulated arm in one line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.model import Model
from featherstone_ros.tools.monitor.roster import Level, NodeStatus
from featherstone_ros.tools.monitor.view import STYLES

CONTROLLER, TWIN = "feedforward_controller", "digital_twin"
WAITING = "waiting for the nodes to talk"


@dataclass
class Seen:
    """What was heard last.

    Attributes:
        error: (n,) where the arm should be less where it is [rad or m]; None: nothing heard.
        effort: (n,) what the drives apply [N m or N]; None: nothing heard.
        conditions: What the nodes say of themselves, by name.
    """

    error: Floats | None = None
    effort: Floats | None = None
    conditions: dict[str, NodeStatus] = field(default_factory=dict)


def by_joint(names: Sequence[str], values: Sequence[float], model: Model) -> Floats | None:
    """Return a message's values in the model's order; None if one is missing."""
    found = dict(zip(names, values, strict=False))
    if not set(model.joint_names) <= set(found):
        return None
    return np.array([found[joint] for joint in model.joint_names])


def line(seen: Seen, model: Model, elapsed: float, now: float) -> Text:
    """Return the line.

    Args:
        seen: What was heard.
        model: The arm.
        elapsed: Since the start [s].
        now: Steady time [s].
    """
    text = Text(f"{elapsed:6.0f} s  ", style="dim")
    condition = seen.conditions.get(CONTROLLER)
    if condition is None:
        return text.append(WAITING, style="dim")
    silent = condition.is_silent(now)
    said = f"silent for {now - condition.heard:.0f} s" if silent else condition.message
    style = STYLES[Level.ERROR if silent else condition.level]
    text.append("● ", style=style).append(said, style=style)
    if seen.error is not None:
        text.append(f"   {_largest_error(seen.error, model)}")
    if seen.effort is not None:
        text.append(f"   {_largest_load(seen.effort, model)}", style="dim")
    twin = seen.conditions.get(TWIN)
    if twin is not None and twin.level > Level.OK:
        text.append(f"   twin: {twin.message}", style=STYLES[twin.level])
    return text


def _largest_error(error: Floats, model: Model) -> str:
    joint = int(np.argmax(np.abs(error)))
    unit = "mm" if model.joint_types[joint] == "prismatic" else "mrad"
    return f"error {1e3 * abs(error[joint]):.2g} {unit} ({model.joint_names[joint]})"


def _largest_load(effort: Floats, model: Model) -> str:
    share = np.abs(effort) / model.effort_limit
    joint = int(np.argmax(share))
    return f"torque {share[joint]:.0%} of limit ({model.joint_names[joint]})"
