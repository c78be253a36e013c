"""Mode ``shadow`` of the digital twin: topics of ``featherstone_ros.observer``.

The shadow runs in a compiled loop, which takes its messages and publishes what they say; here is
what Python does: parameters as requests to the loop, the checks of the effort contract, and the log
and the diagnostics.
"""

from __future__ import annotations

from collections.abc import Mapping

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, Float64MultiArray

from featherstone_ros._shadow import RECORDS, REQUESTS, LockedPlaces, StateBuffer
from featherstone_ros.control.payload import gravity_and_payload, model_with_payload
from featherstone_ros.message_faults import refusal
from featherstone_ros.model import Model
from featherstone_ros.model.joint_selection import locked_positions
from featherstone_ros.nodes.lifecycle import ModelNode
from featherstone_ros.nodes.locked_joints import LockedJointsReport
from featherstone_ros.nodes.node_diagnostics import RecentText, Report
from featherstone_ros.nodes.parameters import Commit
from featherstone_ros.nodes.payload_service import PayloadService
from featherstone_ros.nodes.realtime_loop import LoopMode, Record
from featherstone_ros.nodes.topics import EVERY, RELIABLE
from featherstone_ros.observer import Shadow
from featherstone_ros.observer.effort_contract import ContractState, ContractVerdict
from featherstone_ros.observer.shadow_settings import shadow_settings
from featherstone_ros.parameter import Value

INPUTS = {"joint_states": JointState, "~/commands": Float64MultiArray}
OUTPUTS = {
    "~/predicted_joint_states": JointState,
    "~/residual": JointState,
    "~/external_wrench_estimate": WrenchStamped,
    "~/contact": Bool,
}
RESTART_MEMORY = 10.0  # [s] that the diagnostics warn of a restart


class ShadowMode(LoopMode):
    """Estimates from an arm's joint states what the model does not explain.

    Nothing is published on a topic that nobody listens to.
    """

    def __init__(self, node: ModelNode) -> None:
        """Make the shadow and the topics it publishes on; the node has a model."""
        places = locked_positions(node.parameters, node.model)
        model = model_with_payload(node.parameters, node.model.with_locked(places))
        shadow = Shadow(model, shadow_settings(node.parameters, model))
        publishers = [
            node.create_publisher(kind, topic, RELIABLE) for topic, kind in OUTPUTS.items()
        ]
        super().__init__(node, publishers)
        self._shadow, self._locked = shadow, LockedJointsReport(node)
        self._activated = self.now
        self._restart = RecentText(RESTART_MEMORY)
        self._payload = PayloadService(node, self.placed, self.collect)

    # Lifecycle.

    def activate(self) -> None:
        """Listen."""
        self._shadow.use(self._shadow.change)  # the last loop may have ended before it did
        self._run(self._shadow, INPUTS, EVERY, is_stamped=True)
        self._activated = self.now

    def halt(self, within: float = 1.0) -> None:
        """End the threads."""
        self._payload.stop()
        super().halt(within)

    def cleanup(self) -> None:
        """Stop publishing."""
        self._payload.destroy()
        super().cleanup()

    def plan(self, values: Mapping[str, Value]) -> Commit:
        """Prepare the shadow for new settings; its observer starts anew."""
        shadow, present = self._shadow, self._node.parameters
        if gravity_and_payload(values) != gravity_and_payload(present):
            raise ValueError(
                "payload is fixed in mode shadow until the node is cleaned up and configured"
            )
        change = shadow.prepare(shadow_settings(values, self._node.model))
        placed = self._node.model.with_locked(locked_positions(values, self._node.model))
        places = LockedPlaces(placed.locked_positions)

        def take() -> None:
            if self._loop is None:
                shadow.use(change)
                shadow.place_locked(placed.locked_positions)
                return
            self._give(REQUESTS["use_settings"], change.snapshot)
            self._give(REQUESTS["place"], places)
            shadow.adopt(change)

        return take

    def collect(self, states: StateBuffer | None) -> None:
        """Have the loop store states, or stop that."""
        if self._loop is not None:
            self._give(REQUESTS["collect"], states)

    def placed(self) -> Model:
        """Return the arm with its locked joints where they are now."""
        model = self._node.model
        return model.with_locked(dict(zip(model.locked_joints, self._shadow.locked, strict=True)))

    # Records of the loop.

    def _note(self, record: Record) -> None:
        kind, index, _, value, _ = record
        if kind == RECORDS["refused"]:
            self._refuse(*refusal(index, value, self._node.model.joint_names))
        finding = self._shadow.finding(record)
        if isinstance(finding, ContractVerdict):
            log = self._node.get_logger()
            if finding.finding is ContractState.BROKEN:
                log.error(finding.text)
            elif finding.finding is ContractState.UNEXPLAINED:
                log.warning(finding.text)
            else:
                log.info(finding.text)
            self._node.publish_diagnostics()
        elif finding is not None:
            self._restart.set(finding)
            self._node.log.warning(f"{finding}: the observer starts anew")

    def diagnose(self) -> Report:
        """Return the effort contract's checks, contact, gaps and refused messages."""
        shadow, now = self._shadow, self.now
        verdict, names = shadow.verdict, shadow.model.joint_names
        in_contact = [name for name, feels in zip(names, shadow.contact, strict=True) if feels]
        values = {
            "joint states": shadow.states,
            **{f"{reason} joint states": count for reason, count in shadow.passed_over.items()},
            "restarts": shadow.restarts,
            "last reason": self._restart.last or "none",
            "effort contract": verdict.text,
            "contact at": ", ".join(in_contact) or "none",
            "payload": self._payload.text,
            "joint states lost": self.running.runner.counters()["lost"],
            "messages not published": self.running.runner.counters()["publish_failed"],
            "refused messages": shadow.refused + self.running.runner.counters()["too_large"],
            **self._locked.values(shadow.locked, shadow.heard_locked, shadow.states > 0),
        }
        problem = ""
        self._activated = self._activated or now  # ROS time may have begun since
        silence = now - max(shadow.received, self._activated)
        if silence > max(1.0, shadow.settings.max_gap):
            missing = ", ".join(names[index] for index in shadow.missing)
            reason = f": joints missing: {missing}" if missing else ""
            problem = f"no new joint state for {silence:.1f} s{reason}"
        elif self._restart.recent:
            problem = f"{self._restart.recent}: the observer has started anew"
        broken = verdict.finding is ContractState.BROKEN
        wrong = verdict.finding >= ContractState.UNEXPLAINED
        return self._report(values, verdict.text if wrong else "", problem, serious=broken)
