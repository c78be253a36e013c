"""The controller's hot path: a joint state as bytes in, a command as bytes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic, time_ns
from typing import Any, NamedTuple

from numpy.typing import NDArray
from rclpy.clock import Clock

from featherstone_ros import _control
from featherstone_ros._cdr import (
    Float64MultiArrayEncoder,
    JointStateDecoder,
    JointStateEncoder,
)
from featherstone_ros.control.feedforward import TorqueController
from featherstone_ros.errors import MalformedMessageError, MessageError
from featherstone_ros.nodes.messages import whole
from featherstone_ros.realtime.deadline import OverrunBudget
from featherstone_ros.realtime.timing import Timing


class Stamp(NamedTuple):
    """A message's stamp, fields as in builtin_interfaces/Time."""

    sec: int
    nanosec: int


class Outputs(NamedTuple):
    """What publishes the cycle's serialised messages."""

    command: Callable[[bytes], None]
    desired: Callable[[bytes], None]
    error: Callable[[bytes], None]
    is_watched: Callable[[], bool]  # whether anybody listens to the last two


class Deadline:
    """How long a command may take after the joint state that it answers, and what happens else.

    Attributes:
        cycle_time: That time [s]; 0 for none.
        is_missed: Whether within the last second more did than are tolerated.
    """

    def __init__(
        self,
        cycle_time: float,
        allowed: int = 0,
        hold: bool = False,
        notify: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Begin without overruns.

        Args:
            cycle_time: [s]; 0 for no deadline.
            allowed: Overruns per second that are tolerated.
            hold: Lead the arm into the gravity hold while more happen.
            notify: Called with one line when that begins.
        """
        self.cycle_time = cycle_time
        self._budget = OverrunBudget(cycle_time, allowed) if cycle_time else None
        self._hold = hold
        self._notify = notify
        self.is_missed = False

    def check(self, controller: TorqueController, now: float, taken: float) -> None:
        """Count a command.

        Args:
            controller: What holds the arm if need be.
            now: Steady time [s].
            taken: How long the command took [s].
        """
        budget = self._budget
        if budget is None:
            return
        missed = budget.add(taken, now)
        if missed and not self.is_missed and not self._hold:
            self._notify(self._reason(budget))
        self.is_missed = missed
        if missed and self._hold:
            controller.fall_back(now, self._reason(budget))

    def _reason(self, budget: OverrunBudget) -> str:
        return (
            f"more than {budget.allowed} commands within a second took longer than "
            f"deadline.cycle_time {budget.cycle_time:g} s"
        )


NO_DEADLINE = Deadline(0.0)
NO_STAMP = Stamp(0, 0)


class ControlCycle:
    """Answers joint states with commands, for one thread.

    Attributes:
        stamp: Of the last accepted state.
        timing: How long commands take, and how regularly they go out.
        deadline: How long they may take; may be replaced at any time.
    """

    def __init__(
        self,
        controller: TorqueController,
        joint_names: Sequence[str],
        outputs: Outputs,
        period: float,
        show_period: float,
        clock: Clock,
        refuse: Callable[[MessageError], None],
    ) -> None:
        """Make the cycle.

        Args:
            controller: What answers.
            joint_names: Its joints.
            outputs: Where they go.
            period: Between two calls of its ``update`` [s].
            show_period: Between two messages about the desired state [s].
            clock: The node's, for messages about states that have no stamp.
            refuse: Called with the reason why a message about this arm is refused.
        """
        self.stamp = NO_STAMP
        self.timing = Timing()
        self.deadline = NO_DEADLINE
        self.period = period
        self._controller = controller
        self._names = frozenset(joint_names)
        self._state = JointStateDecoder(joint_names)
        self._command = Float64MultiArrayEncoder(len(joint_names))
        self._values = self._command.values
        self._outputs = outputs
        self._refuse = refuse
        self._due = 0.0  # before the first call of ``tick``
        self._show_due = monotonic()
        self._show_period = show_period
        self._clock = clock
        self._desired = JointStateEncoder(joint_names)
        self._error = JointStateEncoder(joint_names)

    def take_state(self, message: bytes, info: Mapping[str, Any]) -> None:
        """Answer a serialised JointState; ``info`` is what rclpy knows about it."""
        now = monotonic()
        state = self._state
        try:
            state.decode(message)
        except MessageError as error:
            # A message of other joints alone (a gripper's) is normal.
            malformed = isinstance(error, MalformedMessageError)
            if malformed or not self._names.isdisjoint(state.names):
                self._refuse(error)
            return
        command = self._controller.accept_state(
            now,
            state.position,
            state.velocity if state.has_velocity else None,
            state.effort if state.has_effort else None,
            state.stamp,
        )
        gate = self._controller.gate
        self.timing.arrived(info)
        if gate.received == now:
            self.stamp = Stamp(state.sec, state.nanosec)
        if command is None:
            return
        self._send(command, now, info["received_timestamp"], gate.dt)
        self.timing.woke(now, gate.dt)
        self._show(now)

    def due(self) -> float:
        """Return when ``tick`` is to be called next."""
        return self._due

    def tick(self, now: float) -> None:
        """Let the controller look at the age of the state, or command by the timer."""
        due = self._due or now
        begun = time_ns() - round(max(now - due, 0.0) * 1e9)  # a late one has taken that long
        command = self._controller.update(now)
        if command is not None:
            self._send(command, now, begun, self.period)
            self.timing.woke(now, self.period)
        self._show(now)
        self._due = due + self.period
        if self._due <= now:
            self._due = now + self.period

    def rescue(self) -> None:
        """Lead the arm into the gravity hold, as far as that still works."""
        self._controller.deactivate(monotonic())

    def _send(self, command: NDArray[Any], now: float, begun: int, period: float) -> None:
        """Publish a command.

        Args:
            command: (n,) [N m] or [N].
            now: Steady time at which work on it began [s].
            begun: When it was due, or what it answers arrived, by the system's clock [ns]; 0 if
                unknown.
            period: What it may take unless there is a deadline [s]; 0: any time.
        """
        _control.copy(command, self._values)
        whole(self._values)
        self._outputs.command(self._command.encode())
        taken = (time_ns() - begun) * 1e-9 if begun else monotonic() - now
        self.timing.answered(taken, self.deadline.cycle_time or period)
        self.deadline.check(self._controller, now, taken)

    def _show(self, now: float) -> None:
        """Publish the desired state and the error when it is time to.

        Here, since the executor would need longer to wake up for it, and in between this thread
        would wait for the interpreter.
        """
        if now < self._show_due:
            return
        self._show_due = max(self._show_due + self._show_period, now)
        desired = self._controller.desired() if self._outputs.is_watched() else None
        if desired is None:
            return
        stamp = self.stamp
        if stamp == NO_STAMP:
            stamp = Stamp(*self._clock.now().seconds_nanoseconds())
        message = self._desired
        message.position[:], message.velocity[:] = desired.position, desired.velocity
        message.effort[:] = desired.effort
        self._outputs.desired(message.encode(*stamp))
        message = self._error
        message.position[:], message.velocity[:] = desired.position_error, desired.velocity_error
        message.effort[:] = desired.effort_error
        self._outputs.error(message.encode(*stamp))
