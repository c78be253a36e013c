"""What is heard of nodes, also in one line, and what becomes of a trajectory that they are sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from rich.text import Text

from featherstone_ros._enumerations import Leads
from featherstone_ros.arrays import Floats
from featherstone_ros.control.diagnostics import DiagnosticLevel
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.model import Model
from featherstone_ros.model.parameter_files import CONTROLLER, TWIN
from featherstone_ros.text import plain
from featherstone_ros.tools.style import LEVEL_STYLES

STATES = ("unconfigured", "inactive", "active", "finalized")
MAX_NODES = 64  # further ones are ignored
LONGEST_VALUE = 100_000  # [characters] the histogram is long
SILENCE = 3.0  # [s] after which a node is called silent: it reports every second
SAY = 2.0  # [s] of waiting for a node until it is said what for
PATIENCE = 30.0  # [s] of waiting until it is given up: the machine may be busy
ANSWER = 3.0  # [s] after which a controller that has neither followed nor refused is worth a word
MATCHING = 0.3  # [s] that the controller may need to find the sender that has found it
FOLLOWING_MODES = tuple(mode for mode in Mode if mode.leads is Leads.JOINTS)
WAITING = "waiting for the nodes"  # for the first words of both
REFUSED = "messages refused on joint_trajectory"  # in the controller's diagnostics, as `following`


@dataclass(frozen=True)
class Note:
    """A further status of a node, e.g. on the robot description."""

    level: DiagnosticLevel
    message: str


@dataclass
class NodeStatus:
    """The last status of one node."""

    name: str  # full name without the leading slash, e.g. ``left/feedforward_controller``
    state: str  # of its lifecycle
    level: DiagnosticLevel  # of its own status
    message: str  # its own status in one line
    values: Mapping[str, str]  # details by name
    heard: float  # steady time of the last message [s]
    # its further statuses that are not OK, by name
    notes: dict[str, Note] = field(default_factory=dict)

    @property
    def has_abandoned(self) -> bool:
        """Whether a controller has abandoned its last motion."""
        return self.values.get("motion abandoned") == "yes"

    def is_silent(self, now: float, after: float = SILENCE) -> bool:
        """Tell whether the last message is older than that [s]."""
        return now - self.heard > after


class StatusTable:
    """The nodes of this package among all diagnostics: those that report a lifecycle state."""

    def __init__(self) -> None:
        """Start without nodes."""
        self._nodes: dict[str, NodeStatus] = {}

    @property
    def nodes(self) -> list[NodeStatus]:
        """All nodes heard so far, sorted by name."""
        return sorted(self._nodes.values(), key=lambda node: node.name)

    @property
    def has_error(self) -> bool:
        """Whether a node is at ERROR."""
        return any(
            level >= DiagnosticLevel.ERROR
            for node in self._nodes.values()
            for level in (node.level, *(note.level for note in node.notes.values()))
        )

    def hear(self, statuses: Iterable[Any], now: float) -> bool:
        """Take one message.

        ``now``: steady time [s]. Returns whether any of them came from a node of this package.
        """
        heard: dict[str, NodeStatus] = {}
        for status in statuses:
            state = next((item.value for item in status.values if item.key == "state"), "")
            if state not in STATES:
                continue
            name, _, part = plain(status.name).partition(": ")
            level, message = as_level(status.level), plain(status.message)
            if not part and (name in self._nodes or len(self._nodes) < MAX_NODES):
                values = {plain(v.key): v.value[:LONGEST_VALUE] for v in status.values}
                heard[name] = NodeStatus(name, state, level, message, values, now)
                self._nodes[name] = heard[name]
            elif level and name in heard:
                heard[name].notes[part] = Note(level, message)
        return bool(heard)


def as_level(level: bytes | int) -> DiagnosticLevel:
    """Return a message's level; an unknown one is ERROR."""
    number = level if isinstance(level, int) else int.from_bytes(level, "little")
    return DiagnosticLevel(number) if number in list(DiagnosticLevel) else DiagnosticLevel.ERROR


def by_joint(names: Sequence[str], values: Sequence[float], model: Model) -> Floats | None:
    """Return a message's values in the model's order; None if one is missing."""
    found = dict(zip(names, values, strict=False))
    if not set(model.joint_names) <= set(found):
        return None
    return np.array([found[joint] for joint in model.joint_names])


class Heard(NamedTuple):
    """What is known at a time when a trajectory is to be sent."""

    controller: NodeStatus | None  # its last diagnostics, None: none was heard
    # its last diagnostics, likewise. Its brakes are on until it hears a command: a motion that
    # begins before is one of an arm that does not move
    twin: NodeStatus | None
    is_connected: bool  # whether the controller subscribes to the topic
    now: float  # steady time [s]


def sending(heard: Callable[[], Heard], send: Callable[[], None]) -> Iterator[str]:
    """Send a trajectory as soon as the controller accepts one, and see whether it is followed.

    Yields what the user should know, empty for nothing, until all is said.
    """
    at, is_said = heard(), False
    begin = connected = at.now
    while True:
        connected = connected if at.is_connected else at.now
        obstacle = _obstacle(at.controller, at.now)
        if not obstacle and at.now - connected < MATCHING:
            obstacle = "the controller does not listen to its topic joint_trajectory"
        obstacle = obstacle or _obstacle_of_twin(at.twin)
        if not obstacle:
            break
        if at.now - begin > PATIENCE:
            raise FeatherstoneError(f"the trajectory was not sent in {PATIENCE:g} s: {obstacle}")
        is_worth_a_word = at.now - begin > SAY and not is_said
        is_said = is_said or is_worth_a_word
        yield f"the trajectory is not sent yet: {obstacle}" if is_worth_a_word else ""
        at = heard()
    send()
    begin, before = at.now, refused(at.controller)
    while at.now - begin < ANSWER:
        yield ""
        at = heard()
        check_refusal("the controller", at.controller, before)
        if at.controller and at.controller.values.get("following") == "trajectory":
            return
    yield "the trajectory is sent; the controller has not said that it follows it"


def refused(controller: NodeStatus | None) -> str:
    """Return how many trajectories it has refused, empty for none."""
    return controller.values.get(REFUSED, "") if controller else ""


def check_refusal(who: str, controller: NodeStatus | None, before: str) -> None:
    """Raise FeatherstoneError if more trajectories are refused than were ``before``."""
    if controller and refused(controller) != before:
        reason = controller.values.get("last refusal", "").removeprefix("~/joint_trajectory: ")
        raise FeatherstoneError(f"{who} has refused the trajectory: {reason}")


def check_mode(mode: object) -> None:
    """Raise FeatherstoneError if no trajectory is followed in that mode."""
    if mode not in FOLLOWING_MODES:
        expected = " or ".join(FOLLOWING_MODES)
        raise FeatherstoneError(f"in mode {mode} no trajectory is followed; expected {expected}")


def _obstacle_of_twin(twin: NodeStatus | None) -> str:
    """Return why the twin would not move; empty if it would."""
    if twin is None:
        return "nothing was heard of the twin"
    is_braked = twin.values.get("brakes") == "on"
    return "the twin hears no command, its brakes are on" if is_braked else ""


def _obstacle(controller: NodeStatus | None, now: float) -> str:
    """Return why the controller would not accept a trajectory now; empty if it would."""
    if controller is None:
        return "nothing was heard of the controller"
    if controller.is_silent(now):
        return f"nothing was heard of the controller for {now - controller.heard:.0f} s"
    check_mode(controller.values.get("mode", Mode.FEEDFORWARD))
    if controller.values.get("phase") != "running":
        return f"the controller says: {controller.message}"
    return ""


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
