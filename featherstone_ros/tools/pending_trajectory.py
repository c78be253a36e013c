"""When the trajectory of `featherstone-ros run` is sent, and what became of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from featherstone_ros._enumerations import Leads
from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.node_status import PATIENCE, SAY, NodeStatus

ANSWER = 3.0  # [s] after which a controller that has neither followed nor refused is worth a word
MATCHING = 0.3  # [s] that the controller may need to find the sender that has found it
FOLLOWING_MODES = tuple(mode for mode in Mode if mode.leads is Leads.JOINTS)
REFUSED = "messages refused on joint_trajectory"  # in the controller's diagnostics, as `following`


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
