"""The simulated arm's hot path: commands as bytes in, joint states as bytes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic, time_ns
from typing import Any

from builtin_interfaces.msg import Time
from rclpy.clock import Clock as NodeClock
from rclpy.publisher import Publisher
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState

from featherstone_ros import _control
from featherstone_ros._cdr import Float64MultiArrayDecoder, JointStateEncoder
from featherstone_ros.errors import FeatherstoneError
from featherstone_ros.nodes.messages import JointMap, decode, field_values, require_whole
from featherstone_ros.realtime.timing import Timing
from featherstone_ros.simulation.run import Run
from featherstone_ros.simulation.twin import NANOSECONDS

COMMANDS, JOINT_COMMANDS = "~/commands", "~/joint_commands"
DISCOVERY = 0.5  # [s] until publishers and subscriptions made just now have found their others


class SimulationCycle:
    """Advances a twin and publishes its states, in one thread.

    Attributes:
        timing: How regularly states go out, and how long after the command they answer.
    """

    def __init__(
        self,
        run: Run,
        clock: NodeClock,
        owns_time: bool,
        states: Publisher,
        clock_messages: Publisher | None,
        refuse: Callable[[str, Exception], None],
        report_fault: Callable[[], None],
    ) -> None:
        """Make the cycle.

        Args:
            run: What is advanced.
            clock: The node's.
            owns_time: Stamp states with simulation time, not with the clock's.
            states: Where joint states go.
            clock_messages: Where simulation time goes; None for nowhere.
            refuse: Called with topic and reason when a message is refused.
            report_fault: Called when the simulation has stopped.
        """
        model = run.twin.model
        self.timing = Timing()
        self._run = run
        self._twin = run.twin
        self._clock = clock
        self._owns_time = owns_time
        self._states = states
        self._clock_messages = clock_messages
        self._refuse = refuse
        self._report_fault = report_fault
        self._joints = JointMap(model.joint_names, {*model.mimics, *model.locked})
        self._commands = Float64MultiArrayDecoder(None)
        self._state = JointStateEncoder(model.joint_names)
        self._begin = 0.0
        self._unanswered = 0  # when the oldest command since the last state arrived [ns]

    # What the loop calls.

    @property
    def period(self) -> float:
        """How often ``tick`` is to be called [s]."""
        return self._run.timer_period

    def start(self) -> None:
        """Begin; in lockstep a little later, since the answer to the first state must not be lost.

        That would end in the controller's gravity hold, and in another run than the last one.
        """
        self._begin = monotonic() + (DISCOVERY if self._twin.settings.lockstep else 0.0)

    def due(self) -> float:
        """Return when ``tick`` is to be called next, by the steady clock [s]."""
        return max(self._run.due, self._begin)

    def tick(self, now: float) -> None:
        """Do what is due at steady time ``now`` [s]."""
        clock = self._clock
        ros_now = clock.now().nanoseconds
        on_time = clock.ros_time_is_active  # somebody else's time: take it as it is
        interval = self._run.interval
        self.timing.woke(now, interval)
        if now - self._run.due > interval > 0.0:
            self.timing.overruns += 1
        for lag in self._run.tick(now):
            self.publish(ros_now if on_time else ros_now - int(lag * NANOSECONDS))
        if self._twin.fault:
            self._report_fault()

    def rescue(self) -> None:
        """Stop the simulation after an unexpected exception."""
        self._twin.fault = "simulation stopped: unexpected exception, see the log"

    def take_commands(self, message: bytes, info: Mapping[str, Any]) -> None:
        """Take a serialised Float64MultiArray; ``info`` is what rclpy knows about it."""
        self._note(info)
        try:
            self._commands.decode(message)
            require_whole(self._commands.values, "data")
            self._command(self._commands.values, None)
        except (FeatherstoneError, ValueError) as error:
            self._refuse(COMMANDS, error)

    def take_joint_commands(self, message: bytes, info: Mapping[str, Any]) -> None:
        """Take a serialised JointState, its efforts for the joints that it names."""
        self._unanswered = self._unanswered or info["received_timestamp"]
        try:
            command = decode(JointState, message)
            source, joints = self._joints.partial(command.name)
            effort = field_values(command.effort, len(command.name), "effort")
            require_whole(effort, "effort")
            self._command(effort[source], joints)
        except (FeatherstoneError, ValueError) as error:
            self._refuse(JOINT_COMMANDS, error)

    def _note(self, info: Mapping[str, Any]) -> None:
        self.timing.arrived(info)
        self._unanswered = self._unanswered or info["received_timestamp"]

    def _command(self, effort: Any, joints: Any) -> None:
        if self._run.command(effort, monotonic(), joints):
            self.publish()
        elif self._twin.fault:
            self._report_fault()

    def publish(self, ros_time: int | None = None) -> None:
        """Publish the state, and the time just before it.

        Args:
            ros_time: When the state was due by the node's clock [ns]; None is now. The stamp,
                unless the twin owns time.
        """
        twin, state = self._twin, self._state
        if self._owns_time:
            time = twin.time
        else:
            time = self._clock.now().nanoseconds if ros_time is None else ros_time
        sec, nanosec = divmod(time, NANOSECONDS)
        if self._clock_messages is not None:
            self._clock_messages.publish(Clock(clock=Time(sec=sec, nanosec=nanosec)))
        _control.copy(twin.position, state.position)
        _control.copy(twin.velocity, state.velocity)
        _control.copy(twin.effort, state.effort)
        self._states.publish(state.encode(sec, nanosec))
        if self._unanswered:
            self.timing.answered((time_ns() - self._unanswered) * 1e-9)
            self._unanswered = 0
