"""What the controller's node tells of itself: whether the arm follows, and if not, why."""

from __future__ import annotations

from typing import Any

import numpy as np

from featherstone_ros._control import SnapshotRequest
from featherstone_ros.control.arrival import ArrivalWatch, distance, end_effector_jacobian
from featherstone_ros.control.cartesian_impedance import dexterity
from featherstone_ros.control.controller import lost_of, rejections
from featherstone_ros.control.diagnostics import (
    StatePeriod,
    TrackingWatch,
    following,
    phase_text,
    summary,
)
from featherstone_ros.control.drive_watch import DriveWatch
from featherstone_ros.control.phases import TRACKING, Event, Phase
from featherstone_ros.control.trajectory import TrajectoryError
from featherstone_ros.nodes.controller_loop import ControllerLoop
from featherstone_ros.nodes.lifecycle import ASSUMED, ModelNode
from featherstone_ros.nodes.locked_joints import LockedJointsReport
from featherstone_ros.nodes.motion_input import MotionInput
from featherstone_ros.nodes.node_diagnostics import (
    DuplicatePublishers,
    Report,
    publishers_of,
)

GIVEN_UP = (Event.ABANDON, Event.STATES_STOPPED, Event.FALL_BACK, Event.FAIL)  # a motion


class ControllerDiagnostics:
    """Looks at the loop once for every report.

    Attributes:
        without_margin: What is not stable with margin in the settings; empty for nothing.
        contact: What contact mode admittance bears; empty in other modes.
    """

    def __init__(self, node: ModelNode, loop: ControllerLoop, motions: MotionInput) -> None:
        """Watch the loop, and what the arm is asked to do."""
        self._node, self._loop, self._motions = node, loop, motions
        self.without_margin = self.contact = ""
        model = node.model
        self._tip, self._offset = loop.arm.tip, loop.arm.offset
        self._arrival = ArrivalWatch(model, self._tip, self._offset)
        self._tracking = TrackingWatch(model.joint_names, model.upper - model.lower)
        self._duplicates = DuplicatePublishers(node)
        self._period = StatePeriod()
        self._locked = LockedJointsReport(node)
        self._drives = DriveWatch(loop.arm.units, loop.arm.limits.effort)

    def note_event(self, event: Event, before: Phase) -> None:
        """Keep in mind what was asked of the arm."""
        if event is Event.FOLLOW and self._motions.followed is not None:
            self._arrival.begin(self._motions.followed.goal, self._motions.followed.tolerance)
        elif event in (Event.SET_POINT, Event.HOLD):
            self._arrival.begin()
        elif event in (Event.ACTIVATE, Event.FLOAT):
            self._arrival.forget()
        elif event in GIVEN_UP and before in TRACKING:
            self._arrival.abandon()

    def report(self) -> Report:
        """Return the controller's condition."""
        node, loop, motions = self._node, self._loop, self._motions
        controller, commands, names = loop.controller, loop.commands, loop.space.names
        loop.inspect_an_example()
        phase = loop.phase
        try:
            snapshot: Any = loop.snapshot()
        except TrajectoryError:  # it has no time to answer
            snapshot = None
        known = snapshot or loop.last_known
        lost = lost_of(snapshot, loop.settings, names) if snapshot else {}
        bound = self._drives.look(loop.now, known)
        duplicates = self._duplicates.among(
            {
                "on joint_states": 1 + known.has_several_publishers,
                f"on {commands.topic_name}": node.count_publishers(commands.topic_name),
            }
        )
        not_arrived = self._arrival.update(
            loop.now, snapshot, loop.settings, loop.arm.tolerances.goal[0], loop.dynamics()
        )
        error = None  # unless a motion is tracked
        follows = snapshot is not None and Phase(snapshot.phase) in TRACKING
        if follows and not loop.settings.mode.has_spring:
            error = snapshot.desired[0] - snapshot.q
        off_path = self._tracking.update(loop.now, error, loop.settings.path_tolerance)
        refused = loop.state_refusal(known)
        level, text = summary(
            phase,
            loop.hold_reason(known),
            {
                "unusable": refused,
                "duplicates": "; ".join(duplicates),
                "is_silent": snapshot is None,
                "publish_failure": loop.publish_failure.recent,
                "standing": loop.time_problem(),
                "unheard": "" if commands.get_subscription_count() else commands.topic_name,
                "lost" if off_path.is_serious else "off_path": off_path.text,
                "not_arrived": not_arrived,
                "is_abandoned": self._arrival.is_abandoned,
                "is_late": known.is_late,
                "is_saturated": lost,
                "drives": "; ".join(f"{joint}: {what}" for joint, what in bound.items()),
                "is_strained": snapshot is not None and snapshot.strain > 1.0,
                "missing": self._missing(known),
                "preflight": motions.followed and motions.followed.preflight,
                "refusal": loop.refusals.recent.removeprefix("~/"),
            },
        )
        runner = loop.running.runner
        gains = self.without_margin, self._find_slow_states(snapshot)
        values = {
            "mode": node.parameters["mode"],
            "phase": phase_text(phase),
            "following": following(phase),
            "motion abandoned": "yes" if self._arrival.is_abandoned else "no",
            "age of the joint state [s]": f"{loop.now - known.received:.3f}",
            "age of joint states on arrival [s]": f"{snapshot.late if snapshot else 0.0:.3f}",
            "joint states accepted": known.accepted,
            **{f"joint states refused, {k}": n for k, n in rejections(known).items()},
            "messages refused on joint_states": known.malformed + runner.counters()["too_large"],
            "joint states of other joints": known.foreign,
            **{
                f"messages refused on {topic.removeprefix('~/')}": n
                for topic, n in loop.refusals.counts.items()
            },
            "last refusal": loop.refusals.last or (refused and f"joint_states: {refused}"),
            "publishers on joint_states": ", ".join(publishers_of(node, loop.states.topic_name)),
            **{f"effort limit of {joint}": what for joint, what in lost.items()},
            **{f"drive of {joint}": what for joint, what in bound.items()},
            **loop.running.timing.report(),
            "commands saturated": known.saturated,
            "governor interventions": known.interventions,
            "gains": "; ".join(filter(None, gains)) or "nothing found",
            **({"contact": self.contact} if self.contact else {}),
            ASSUMED: node.assumption or "none",
            **motions.stream.report(),
            **self._dexterity(snapshot),
            **self._locked.values(controller.locked, controller.heard_locked, known.accepted > 0),
            "scheduling": loop.running.scheduling,
        }
        return Report(bytes([level]), text, values)

    def _missing(self, known: SnapshotRequest) -> str:
        """Return what the mode needs and does not get; empty for nothing."""
        settings, last = self._loop.settings, known.wrench_at
        silence = self._loop.now - last
        yields = settings.mode.has_virtual_arm
        presses = settings.mode.leads_end_effector and self._node.parameters["force_axes"]
        if not (yields or presses) or silence <= settings.wrench_timeout:
            return ""
        age = f"for {silence:.1f} s" if np.isfinite(last) else "so far"
        what = (
            "the end effector is held, and follows no target" if yields else "force_axes do nothing"
        )
        return f"no wrench on ~/wrench {age}: {what}"

    def _find_slow_states(self, snapshot: Any) -> str:
        """Return that joint states come more slowly than gains allow for; empty if they do not."""
        node, told = self._node, self._period.text
        if snapshot is None or self._loop.arm.feedback.drives_follow:
            return ""
        count = snapshot.accepted + sum(rejections(snapshot).values())
        expected, silence = self._loop.arm.timing.period, self._loop.settings.state_timeout
        text = self._period.update(snapshot.time, count, expected, silence)
        if text and not told:
            node.log.warning(text)
        return text

    def _dexterity(self, snapshot: Any) -> dict[str, str]:
        """Return how far the end effector is from its target and from a singular posture."""
        loop = self._loop
        if not self._tip or snapshot is None or not np.isfinite(snapshot.received):
            return {}
        J = end_effector_jacobian(loop.dynamics(), snapshot.q, self._tip, self._offset)
        values, away = dexterity(J), distance(snapshot.end_effector[:2].sum(axis=0))
        return {
            "end effector from its target [m]": f"{away[0]:.3g}",
            "end effector from its target [rad]": f"{away[1]:.3g}",
            "manipulability": f"{values['manipulability']:.3g}",
            "smallest singular value": f"{values['smallest_singular_value']:.3g}",
        }
