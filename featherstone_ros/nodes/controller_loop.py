"""The torque controller in its loop: its topics, the requests to it, and its records.

From a joint state's bytes to a command's, everything is compiled and runs without Python
(cython_core/control, ``realtime_loop``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped, WrenchStamped
from rclpy.publisher import Publisher
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros import Dynamics, _control
from featherstone_ros._core import BoundDynamics
from featherstone_ros._enumerations import Cause, Event, NoteKind, Phase, Rejection
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller import compiled_controller
from featherstone_ros.control.controller_parameters import DeadlineAction
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import SILENT, TEXTS
from featherstone_ros.control.reasons import Reason, RecordFormatter, unusable_state
from featherstone_ros.control.settings import ControllerSettings
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.message_faults import refusal
from featherstone_ros.model import Model
from featherstone_ros.model.joint_selection import NAME
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.locked_joints import unknown_joints
from featherstone_ros.nodes.node_diagnostics import RecentText
from featherstone_ros.nodes.realtime_loop import LoopMode, Record
from featherstone_ros.nodes.topics import AHEAD, NEWEST, RELIABLE
from featherstone_ros.parameter import Value

SHOW_REFUSAL = 3.0  # [s] that a refused message keeps the diagnostics at WARN
NEAR, SAME = 0.01, 1e-4  # [rad or m] that locked joints move before efforts, poses are others
UNUSABLE_TIME = 2.0  # [s] without a usable state until one is inspected


class ControllerLoop(LoopMode):
    """A torque controller that a loop runs, until ``cleanup``.

    Attributes:
        controller: The ``CompiledController``; any thread may read its single numbers. All else is
            in a ``snapshot``.
        arm: With the parameters in force.
        last_known: The last snapshot.
    """

    ANSWER_TIMEOUT = 0.5  # [s]
    REFUSAL_MEMORY = SHOW_REFUSAL

    def __init__(self, node: ModelNode, arm: ControlledArm) -> None:
        """Make the controller and the topics it publishes on; it answers nothing yet."""
        sends_joints = arm.sends_joints
        topics: dict[str, type] = {
            "joint_commands" if sends_joints else "commands": (
                JointState if sends_joints else Float64MultiArray
            ),
            "desired": JointState,
            "error": JointState,
        }
        if arm.tip:
            topics |= {"current_pose": PoseStamped, "current_twist": TwistStamped}
        command, *_ = topics
        shown = AHEAD if node.get_parameter("use_sim_time").value else RELIABLE
        super().__init__(
            node,
            [
                node.create_publisher(kind, f"~/{topic}", RELIABLE if topic == command else shown)
                for topic, kind in topics.items()
            ],
        )
        self.arm = arm
        self._present: ControlledArm | None = None
        self._seen: Floats = np.array([])  # where its locked joints stood then
        self._dynamics: Dynamics | None = None
        self.controller = compiled_controller(
            arm.space,
            arm.model,
            arm.settings,
            arm.tip,
            arm.offset,
            show_period=1.0 / arm.values["state_publish_rate"],
            sends_joints=sends_joints,
            units=arm.units,
            ahead=arm.timing.latency,
            wrench_link=arm.values["wrench_link"],
        )
        self.last_known = _control.SnapshotRequest(len(self.space.names))
        self.controller.apply(self.last_known, 0.0)
        self._formatter = RecordFormatter(self.space.names)
        self._unusable = RecentText(SHOW_REFUSAL)
        self._unusable_since = monotonic()
        self._example: Subscription | None = None  # looks at one joint state

    def start(self, note_event: Callable[[Event, Phase], None]) -> None:
        """Let the loop run; the executor's thread notes an event and the phase before."""
        self._note_event = note_event
        wrench = {"~/wrench": WrenchStamped} if self.controller.sensors else {}
        self._run(self.controller, {"joint_states": JointState, **wrench}, NEWEST, is_stamped=True)
        self.set_deadline(self._node.parameters)

    def activate(self) -> None:
        """Answer the next joint state."""
        self._unusable_since = monotonic()
        self.post(_control.ACTIVATE_REQUEST)

    def cleanup(self) -> None:
        """Take the topics away."""
        super().deactivate()
        super().cleanup()
        self._forget_example()

    @property
    def settings(self) -> ControllerSettings:
        """Those in force."""
        return self.arm.settings

    @property
    def space(self) -> JointSpace:
        """The joints and their limits."""
        return self.arm.space

    @property
    def commands(self) -> Publisher:
        """The commands."""
        return self._publishers[0]

    @property
    def states(self) -> Subscription:
        """The joint states."""
        return self._inputs[0]

    @property
    def phase(self) -> Phase:
        """The present phase."""
        return Phase(self.controller.phase)

    @property
    def is_silent(self) -> bool:
        """Whether no commands hold or move an arm; any thread may ask."""
        return self.phase in SILENT

    # Requests.

    def post(self, request: _control.ControlRequest) -> None:
        """Have the loop do something that it does not refuse, if it still runs."""
        loop = self._loop  # any thread may ask for rest, while the executor's ends the loop
        if loop is not None:
            self.controller.keep_alive(request)
            loop.runner.post(request.kind, request.address, request)

    def ask(self, request: _control.ControlRequest) -> None:
        """Have the loop do something."""
        if self.running.has_ended:
            raise TrajectoryError("the loop has ended")
        self.controller.keep_alive(request)
        try:
            answer = self._ask(request.kind, request)
        except TimeoutError as error:
            self.controller.release(request.number)
            raise TrajectoryError(f"the loop is too busy: {error}") from None
        if answer:
            self.controller.release(request.number)
            raise TrajectoryError(self.text_of(request.why(answer)))

    def snapshot(self) -> _control.SnapshotRequest:
        """Return a snapshot of the loop's state."""
        snapshot = _control.SnapshotRequest(len(self.space.names))
        self.ask(snapshot)
        self.last_known = snapshot
        return snapshot

    def known(self) -> _control.SnapshotRequest:
        """Return a snapshot; where the loop has no time to answer, the last one."""
        if self._loop is None or self.running.has_ended:  # nobody else uses the controller
            self.controller.apply(self.last_known, 0.0)
            return self.last_known
        with suppress(TrajectoryError):
            self.snapshot()
        return self.last_known

    def plan(self, arm: ControlledArm, loaded: Model | None) -> Callable[[], None]:
        """Return what goes over to other parameters; ``loaded``: with other payload or gravity."""
        configure, change = _control.ConfigureRequest(arm.settings, arm.space.rates), None
        if loaded is not None:
            transition = arm.values["payload.transition_time"]
            change = _control.ModelRequest(BoundDynamics(loaded.following()), transition)
        if not self.running.has_ended:
            self.ask(_control.CheckRequest(configure, change))

        moved = arm.unloaded.locked != self.arm.unloaded.locked

        def commit() -> None:
            self.arm, self._present = arm, None
            self.post(configure)
            if loaded is not None:
                self._dynamics = None
                self.post(change)
            if moved:
                self.post(_control.LockedRequest(arm.unloaded.locked_positions))

        return commit

    def present(self, within: float = NEAR) -> ControlledArm:
        """Return the arm with its locked joints ``within`` [rad or m] of where they are now.

        For the executor's thread, which a new model at every position would keep busy.
        """
        at = self.controller.locked
        if self._present is None or np.abs(at - self._seen).max(initial=0.0) > within:
            names = map(NAME.format, self.arm.unloaded.locked_joints)
            places = dict(zip(names, at.tolist(), strict=True))
            self._present = self.arm.with_parameters(places) if places else self.arm
            self._seen, self._dynamics = at, None
        return self._present

    def dynamics(self, within: float = NEAR) -> Dynamics:
        """Return the dynamics of that arm with its payload, likewise."""
        model = self.present(within).model
        if self._dynamics is None:
            self._dynamics = Dynamics(model)
        return self._dynamics

    @property
    def unknown_joints(self) -> list[str]:
        """The locked joints of which neither joint states nor parameters say where they stand."""
        return unknown_joints(self._node, self.controller.heard_locked)

    def set_deadline(self, values: Mapping[str, Value]) -> None:
        """Go over to another deadline of commands."""
        cycle_time = values["deadline.cycle_time"]
        holds = values["deadline.action"] == str(DeadlineAction.HOLD)
        self.running.runner.allowed = cycle_time
        self.post(_control.DeadlineRequest(cycle_time, values["deadline.allowed"], holds))

    # Reasons.

    def text_of(self, refusal: Reason) -> str:
        """Return why something is refused now."""
        return refusal.text(self.space.names, TEXTS[self.phase], self.hold_reason(self.known()))

    def hold_reason(self, known: _control.SnapshotRequest) -> str:
        """Return why the arm is held; if states are refused, also why the last one was."""
        text: str = known.hold.text(self.space.names)
        refused = self.state_refusal(known)
        if known.hold.code is Cause.NO_STATES and refused:
            text += f" (refused: {refused})"
        return text

    def state_refusal(self, known: _control.SnapshotRequest) -> str:
        """Return why the last joint states were refused; empty if they were not."""
        text: str = known.rejection.text(self.space.names)
        return self._unusable.recent or text

    # Records.

    def _deliver(self, records: list[Record]) -> None:
        """Log the loop's records, and release objects that it no longer uses."""
        super()._deliver(records)
        for line in self._formatter.lines(records):
            self._node.log.warning(line)
        if any(record[0] in (NoteKind.PHASE, NoteKind.CAUSE) for record in records):
            self._node.publish_diagnostics()

    def _note(self, record: Record) -> None:
        kind, index, _, values, sequence = record
        if kind == NoteKind.RELEASED:
            self.controller.release(sequence)
        elif kind == NoteKind.REJECTED:
            text = Reason.of(Rejection, record).text(self.space.names)
            self._node.log.warning(f"joint_states: a state was refused: {text}")
        elif kind == NoteKind.PHASE:
            self._note_event(Event(index), Phase(int(values[0])))
        elif kind == NoteKind.REFUSED:
            names = [*self.space.names, *self._node.model.locked_joints]
            self._refuse(*refusal(index, values, names, self.controller.sensors))

    # Joint states of which none is usable.

    def _refuse(self, index: int, reason: str) -> None:
        if index:
            super()._refuse(index, reason)
            return
        self._unusable.set(reason)
        self._node.log.warning(f"joint_states: {reason}")

    def inspect_an_example(self) -> None:
        """If unusable states arrive, say what is wrong with one of them."""
        if self.phase is not Phase.WAITING:
            self._unusable_since = monotonic()
        elif monotonic() - self._unusable_since > UNUSABLE_TIME and self._example is None:
            self._example = self._node.create_subscription(
                JointState, "joint_states", self._explain_example, NEWEST
            )

    def _explain_example(self, message: JointState) -> None:
        text = unusable_state(message.name, message.position, self._node.model)
        if text:
            self._refuse(0, text)
        self._unusable_since = monotonic()
        self._node.defer(self._forget_example)

    def _forget_example(self) -> None:
        if self._example is not None:
            self._node.destroy_subscription(self._example)
            self._example = None
