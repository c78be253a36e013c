"""The action ~/follow_joint_trajectory of the controller node, by real messages of control_msgs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from support import Ros, point  # skips this module where ROS is missing

pytest.importorskip("control_msgs", reason="control_msgs is not installed: no action to test")

# isort: split
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Duration, Time
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from rclpy.action import ActionClient
from rig import OWN_CONTROLLER, Rig
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from test_feedforward_controller import NAMES, NODE, PARAMETERS, PATIENT, STABLE, URDF, Q
from trajectory_msgs.msg import (
    JointTrajectory,
    MultiDOFJointTrajectory,
    MultiDOFJointTrajectoryPoint,
)

ACTION = f"{NODE}/follow_joint_trajectory"
INITIAL = {f"initial_positions.{name}": q for name, q in zip(NAMES, Q, strict=True)}
# Brakes as the watchdog that an arm needs: a controller that does not run for 0.6 s, on a busy
# machine, would leave it with a torque that throws it for good.
OF_TWIN = {"rate": 250.0, "command_timeout": 0.1, **INITIAL}
BRIEF = {"give_up_after": 1.0}  # [s] less than the node waits for an arm to rest before it ends
GOAL = [float(Q[0]) + 0.3, float(Q[1]) - 0.3]
Result = FollowJointTrajectory.Result
UNHURRIED = 10.0  # [s] soon in motion, and still so after the machine has stood still for seconds
LONG = 30.0  # [s] a trajectory that is still under way when a test has done with it


class Client(Rig):
    """A twin and its controller, and a client of the controller's action."""

    def __init__(self, ros: Ros, program: str = OWN_CONTROLLER) -> None:
        own = {**PARAMETERS, **STABLE, **PATIENT, **BRIEF}
        super().__init__(ros, URDF, twin=OF_TWIN, controller=own, program=program)
        self.feedback: list[Any] = []
        self.client = ActionClient(ros.node, FollowJointTrajectory, ACTION)
        self.hold = lambda: ros.call(Trigger, f"{NODE}/hold", repeat=False).success
        self.wait_until_held()
        ros.wait_for(self.client.server_is_ready, "action server")

    def send(self, end=GOAL, duration: float = 0.5, names=NAMES, **fields: Any) -> Any:
        """Send a goal; return its handle, accepted or not."""
        points = [point(duration, end, velocities=[0.0] * len(end))]
        trajectory = JointTrajectory(joint_names=list(names), points=points)
        goal = FollowJointTrajectory.Goal(**{"trajectory": trajectory, **fields})
        future = self.client.send_goal_async(goal, lambda m: self.feedback.append(m.feedback))
        return self.ros.wait_for(lambda: future.done() and future, "answer to a goal").result()

    def result(self, handle: Any) -> Any:
        """Wait for a goal's result; return (status, result)."""
        future = handle.get_result_async()
        answer = self.ros.wait_for(lambda: future.done() and future, "result of a goal").result()
        return answer.status, answer.result

    def reach(self, q: Any, **fields: Any) -> None:
        """Send a goal and wait until it is reached."""
        status, result = self.result(self.send(q, **fields))
        assert status == GoalStatus.STATUS_SUCCEEDED, result.error_string

    def cancel(self, handle: Any) -> bool:
        """Cancel a goal; return whether that was accepted."""
        future = handle.cancel_goal_async()
        answer = self.ros.wait_for(lambda: future.done() and future, "answer to a cancellation")
        return bool(answer.result().goals_canceling)


@pytest.fixture(scope="module")
def shared(shared_ros: Ros) -> Client:
    return Client(shared_ros)


DEFAULTS = {
    "allow_partial_joints_goal": False,
    "constraints.goal_time": 0.0,
    "constraints.elbow.goal": 0.0,
    "constraints.elbow.trajectory": 0.0,
    "constraints.stopped_velocity_tolerance": 0.01,
}


@pytest.fixture
def arm(shared: Client) -> Iterator[Client]:
    """The shared controller, its arm at rest at Q, with the default parameters."""
    if shared.ros.state(NODE) == "inactive":
        shared.ros.change_state(NODE, "activate")
    shared.ros.set_parameters(NODE, {"mode": "feedforward", **DEFAULTS})
    shared.ros.wait_for(shared.hold, "hold")
    shared.ros.wait_for(lambda: shared.result(shared.send(Q))[0] == GoalStatus.STATUS_SUCCEEDED)
    shared.feedback.clear()
    yield shared
    assert shared.controller.is_running
    assert shared.is_finite
    assert "Traceback" not in shared.controller.output


def test_goal_is_followed_with_feedback_and_succeeds(arm):
    status, result = arm.result(arm.send(names=NAMES[::-1], end=GOAL[::-1]))
    success = (GoalStatus.STATUS_SUCCEEDED, Result.SUCCESSFUL)
    assert (status, result.error_code) == success, result.error_string + arm.controller.output
    arm.wait_until_at(GOAL)
    assert len(arm.feedback) > 2
    for message in arm.feedback:
        assert list(message.joint_names) == NAMES
        error = np.subtract(message.desired.positions, message.actual.positions)
        assert_allclose(message.error.positions, error, atol=1e-12)
        assert len(message.actual.velocities) == len(message.error.velocities) == 2
    times = [m.desired.time_from_start for m in arm.feedback]
    assert sorted(times, key=lambda t: (t.sec, t.nanosec)) == times


REFUSED = {
    "joints": ({"names": ["shoulder"], "end": [0.3]}, "INVALID_JOINTS"),
    "unknown joint": ({"names": ["shoulder", "wrist"]}, "INVALID_JOINTS"),
    "limits": ({"end": [9.0, 0.0]}, "INVALID_GOAL"),
    "past": (
        {
            "trajectory": JointTrajectory(
                header=Header(stamp=Time(sec=1)), joint_names=NAMES, points=[point(0.5, GOAL)]
            )
        },
        "OLD_HEADER_TIMESTAMP",
    ),
    "tolerance": ({"path_tolerance": [JointTolerance(name="wrist")]}, "INVALID_JOINTS"),
    "no points": ({"trajectory": JointTrajectory()}, "INVALID_GOAL"),
    "multi dof": (
        {"multi_dof_trajectory": MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint()])},
        "INVALID_GOAL",
    ),
}


def test_bad_goals_are_rejected_with_their_codes_and_the_one_before_goes_on(arm):
    running = arm.send(duration=LONG)
    for fields, code in REFUSED.values():
        said = len(arm.controller.output)
        assert not arm.send(**fields).accepted
        text = f"refused a message on ~/follow_joint_trajectory: {code}"
        arm.ros.wait_for(lambda n=said, text=text: text in arm.controller.output[n:], text)
    assert running.status == GoalStatus.STATUS_EXECUTING
    assert arm.cancel(running)


def test_cancelled_goal_stops_the_arm(arm):
    handle = arm.send(end=[q + 1.5 for q in Q], duration=UNHURRIED)
    arm.wait_for_motion()
    assert arm.cancel(handle)
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_CANCELED, Result.SUCCESSFUL)
    arm.wait_for_rest()
    assert np.abs(arm.q - [q + 1.5 for q in Q]).min() > 0.1


def test_new_goal_preempts_the_one_before(arm):
    first = arm.send(end=[q + 1.0 for q in Q], duration=LONG)
    second = arm.send()
    status, result = arm.result(first)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "preempted" in result.error_string
    assert arm.result(second)[0] == GoalStatus.STATUS_SUCCEEDED
    arm.wait_until_at(GOAL)


def test_constraints_are_the_tolerances_of_goals_that_have_none(arm):
    values = {"constraints.elbow.goal": 1e-12, "constraints.goal_time": 0.2}
    assert all(r.successful for r in arm.ros.set_parameters(NODE, values))
    status, result = arm.result(arm.send())
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == Result.GOAL_TOLERANCE_VIOLATED
    erased = [JointTolerance(name="elbow", position=-1.0)]
    forgiving = [JointTolerance(name="elbow", position=0.5)]
    time = Duration(sec=5)  # to come to rest in on a busy machine
    arm.reach(Q, goal_tolerance=erased, goal_time_tolerance=time)
    arm.reach(GOAL, goal_tolerance=forgiving, goal_time_tolerance=time)


def test_partial_goal_leaves_the_other_joints_where_they_are(arm):
    assert all(
        r.successful for r in arm.ros.set_parameters(NODE, {"allow_partial_joints_goal": True})
    )
    arm.reach([0.2], names=["elbow"])
    arm.wait_until_at([Q[0], 0.2])


def test_goal_ends_with_deactivation_and_none_is_accepted_while_inactive(arm):
    handle = arm.send(end=[q + 1.0 for q in Q], duration=LONG)
    assert arm.ros.change_state(NODE, "deactivate")
    status, result = arm.result(handle)
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "deactivated" in result.error_string
    assert not arm.send().accepted
    assert arm.ros.change_state(NODE, "activate")
    arm.ros.wait_for(lambda: arm.send().accepted, "goal accepted again")


def test_action_is_there_again_after_cleanup(arm):
    handle = arm.send(end=[q + 1.0 for q in Q], duration=LONG)
    for transition in ("deactivate", "cleanup"):
        assert arm.ros.change_state(NODE, transition)
    arm.ros.wait_for(lambda: not arm.client.server_is_ready(), "no action server")
    assert handle is not None
    for transition in ("configure", "activate"):
        assert arm.ros.change_state(NODE, transition)
    assert "no rest within" not in arm.controller.output
    arm.ros.wait_for(arm.client.server_is_ready, "action server")
    arm.ros.wait_for(arm.hold, "hold")
    arm.reach(GOAL)


BROKEN = """
from featherstone_ros.nodes import execution, joint_trajectory_clients

def feedback(*_):
    raise RuntimeError("broken on purpose")

joint_trajectory_clients.feedback = feedback
node = "featherstone_ros.nodes.feedforward_controller:FeedforwardController"
raise SystemExit(execution.run(node))
"""


def test_exception_in_the_action_stops_the_arm_and_nothing_else(ros):
    (ros.folder / "broken_action.py").write_text(BROKEN)
    ros.environment["PYTHONPATH"] += f":{ros.folder}"
    arm = Client(ros, "broken_action")
    status, result = arm.result(arm.send(end=[q + 1.0 for q in Q], duration=LONG))
    assert (status, result.error_code) == (GoalStatus.STATUS_ABORTED, Result.INVALID_GOAL)
    assert "unexpected exception" in result.error_string
    assert "broken on purpose" in arm.controller.output
    arm.wait_for_rest()
    assert_allclose(arm.q, Q, atol=0.1)
    arm.lead(GOAL, 0.5)


def test_signal_ends_a_goal_and_the_node_in_order(ros):
    arm = Client(ros)
    handle = arm.send(end=[q + 1.0 for q in Q], duration=LONG)
    assert handle.accepted
    arm.ros.wait_for(lambda: arm.feedback, "feedback: the loop has the goal")
    arm.controller.stop()
    assert "goal aborted, INVALID_GOAL: deactivated" in arm.controller.output
    assert "no rest within" not in arm.controller.output


def test_abandoned_goal_is_told_on_diagnostics(arm):
    tolerance = [JointTolerance(name="elbow", velocity=1e-6)]
    _, result = arm.result(arm.send(path_tolerance=tolerance))
    assert result.error_code == Result.PATH_TOLERANCE_VIOLATED
    assert "'elbow'" in result.error_string
    arm.ros.status("the last motion was abandoned", NODE)


def test_controller_state_says_what_is_asked_for_and_measured(arm):
    states = arm.ros.collect(JointTrajectoryControllerState, f"{NODE}/controller_state")
    arm.reach(GOAL, duration=1.0)
    states_of_motion = [state for state in states if any(state.reference.velocities)]
    assert len(states_of_motion) > 10
    arm.wait_for_rest()
    states.clear()
    state = arm.ros.wait_for(lambda: states and states[-1], "the state at the end")
    assert_allclose(state.reference.positions, GOAL)
    assert_allclose(state.feedback.positions, arm.q, atol=1e-3)
    assert_allclose(state.output.effort, arm.command, atol=0.05)
    for state in states_of_motion:
        assert list(state.joint_names) == NAMES
        for what in ("positions", "velocities"):
            desired, measured = getattr(state.reference, what), getattr(state.feedback, what)
            error = np.subtract(desired, measured)
            assert_allclose(getattr(state.error, what), error, atol=1e-12)
    times = [s.reference.time_from_start for s in states_of_motion]
    assert sorted(times, key=lambda t: (t.sec, t.nanosec)) == times
