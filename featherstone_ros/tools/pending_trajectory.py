"""When the trajectory of `featherstone-ros run` is sent, and what became of it."""

from __future__ import annotations

from featherstone_ros.control.settings import Mode
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.tools.node_status import NodeStatus
from featherstone_ros.tools.trajectory_files import UncheckedTrajectory

SAY = 2.0  # [s] of waiting until it is said what for
PATIENCE = 30.0  # [s] of waiting until it is given up
ANSWER = 3.0  # [s] after which a controller that has neither followed nor refused is worth a word
MATCHING = 0.3  # [s] that the controller may need to find the sender that has found it
FOLLOWING_MODES = (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE)
REFUSED = "messages refused on joint_trajectory"  # in the controller's diagnostics, as `following`


class NotFollowedError(FeatherstoneError):
    """The trajectory was not followed; the message says why."""


class PendingTrajectory:
    """A trajectory that is sent as soon as the controller accepts one.

    Attributes:
        plan: What is sent.
        is_due: Whether it is to be sent now.
    """

    def __init__(self, plan: UncheckedTrajectory, now: float) -> None:
        """Begin to wait.

        Args:
            plan: What is to be sent.
            now: Steady time [s].
        """
        self.plan = plan
        self.is_due = False
        self._since = now
        self._has_been_said = False
        self._is_sent = self._is_over = False
        self._connected = now  # since when
        self._refused = ""  # number of trajectories refused before

    def update(
        self,
        controller: NodeStatus | None,
        twin: NodeStatus | None,
        is_connected: bool,
        now: float,
    ) -> str:
        """Decide whether it is due; return what the user should know, empty for nothing.

        Args:
            controller: Its last diagnostics, None: none was heard.
            twin: Its last diagnostics, likewise. Its brakes are on until it hears a command: a
                motion that begins before is one of an arm that does not move.
            is_connected: Whether the controller subscribes to the topic.
            now: Steady time [s].

        Raises:
            NotFollowedError: It is given up, or the controller has refused it.
        """
        self.is_due = False
        if self._is_over:
            return ""
        if self._is_sent:
            return self._follow_up(controller, now)
        if not is_connected:
            self._connected = now
        obstacle = _obstacle(controller, now)
        if not obstacle and now - self._connected < MATCHING:
            obstacle = "the controller does not listen to its topic joint_trajectory"
        obstacle = obstacle or _obstacle_of_twin(twin)
        waited = now - self._since
        if not obstacle:
            self.is_due = self._is_sent = True
            self._since, self._refused = now, refused(controller)
        elif waited > PATIENCE:
            raise NotFollowedError(f"the trajectory was not sent in {PATIENCE:g} s: {obstacle}")
        elif waited > SAY and not self._has_been_said:
            self._has_been_said = True
            return f"the trajectory is not sent yet: {obstacle}"
        return ""

    def _follow_up(self, controller: NodeStatus | None, now: float) -> str:
        values = controller.values if controller else {}
        if refused(controller) != self._refused:
            reason = last_refusal(controller)
            raise NotFollowedError(f"the controller has refused the trajectory: {reason}")
        self._is_over = values.get("following") == "trajectory"
        if self._is_over or now - self._since < ANSWER:
            return ""
        self._is_over = True
        return "the trajectory is sent; the controller has not said that it follows it"


def refused(controller: NodeStatus | None) -> str:
    """Return how many trajectories it has refused, empty for none."""
    return controller.values.get(REFUSED, "") if controller else ""


def last_refusal(controller: NodeStatus | None) -> str:
    """Return why it has refused the last one."""
    values = controller.values if controller else {}
    return values.get("last refusal", "").removeprefix("~/joint_trajectory: ")


def _obstacle_of_twin(twin: NodeStatus | None) -> str:
    """Return why the twin would not move; empty if it would."""
    if twin is None:
        return "nothing was heard of the twin"
    is_braked = twin.values.get("brakes") == "on"
    return "the twin hears no command, its brakes are on" if is_braked else ""


def _obstacle(controller: NodeStatus | None, now: float) -> str:
    """Return why the controller would not accept a trajectory now; empty if it would.

    Raises:
        NotFollowedError: It never will, in its mode.
    """
    if controller is None:
        return "nothing was heard of the controller"
    if controller.is_silent(now):
        return f"nothing was heard of the controller for {now - controller.heard:.0f} s"
    mode = controller.values.get("mode")
    if mode is not None and mode not in FOLLOWING_MODES:
        expected = " or ".join(FOLLOWING_MODES)
        raise NotFollowedError(f"in mode {mode} no trajectory is followed; expected {expected}")
    if controller.values.get("phase") != "running":
        return f"the controller says: {controller.message}"
    return ""
