"""The state of a simulated arm in one line."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from rich.text import Text

from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.model.parameter_files import CONTROLLER, TWIN
from featherstone_ros.tools.node_status import NodeStatus
from featherstone_ros.tools.style import LEVEL_STYLES

WAITING = "waiting for the nodes"


@dataclass
class ArmStatus:
    """The latest messages from a simulated arm."""

    # (n,) desired minus actual position [rad or m]; None: nothing heard
    error: Floats | None = None
    # (n,) torque that the drives apply [N m or N]; None: nothing heard
    effort: Floats | None = None
    nodes: dict[str, NodeStatus] = field(default_factory=dict)  # their last diagnostics, by name


def line(arm: ArmStatus, limits: JointSpace, elapsed: float, now: float) -> Text:
    """Return the status line.

    ``limits``: its joints, with the efforts that the controller may use. ``elapsed``: time since
    the start [s]. ``now``: steady time [s].
    """
    text = Text(f"{elapsed:6.0f} s  ", style="dim")
    status = arm.nodes.get(CONTROLLER)
    if status is None:
        return text.append(WAITING, style="dim")
    silent = status.is_silent(now)
    said = f"silent for {now - status.heard:.0f} s" if silent else status.message
    style = LEVEL_STYLES[DiagnosticLevel.ERROR if silent else status.level]
    text.append("● ", style=style).append(said, style=style)
    if arm.error is not None and not status.has_abandoned:  # 0, where the arm was given up
        text.append(f"   {_largest_error(arm.error, limits)}")
    if arm.effort is not None:
        text.append(f"   {_largest_load(arm.effort, limits)}", style="dim")
    twin = arm.nodes.get(TWIN)
    if twin is not None and twin.level > DiagnosticLevel.OK:
        text.append(f"   twin: {twin.message}", style=LEVEL_STYLES[twin.level])
    return text


def _largest_error(error: Floats, limits: JointSpace) -> str:
    joint = int(np.argmax(np.abs(error)))
    value = 1e3 * abs(error[joint])
    figure = f"{round(value, 0 if value >= 10 else 2):g} m{limits.unit(joint, 'position')}"
    return f"error {figure} ({limits.names[joint]})"


def _largest_load(effort: Floats, limits: JointSpace) -> str:
    limit = limits.effort
    limited = np.isfinite(limit) & (limit > 0.0)
    if not limited.any():
        joint = int(np.argmax(np.abs(effort)))
        figure = f"{abs(effort[joint]):.2g} {limits.unit(joint, 'torque')}"
        return f"torque {figure} ({limits.names[joint]})"
    share = np.where(limited, np.abs(effort) / np.where(limited, limit, 1.0), 0.0)
    joint = int(np.argmax(share))
    return f"torque {share[joint]:.0%} of limit ({limits.names[joint]})"
