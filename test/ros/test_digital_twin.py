"""The digital twin as a process, over DDS; as the simulator says: test_floating_base_topics.py."""

import time

import numpy as np
import pytest
from pushed_twin import ARM, START
from support import (  # skips this module where ROS is missing
    NodeProcess,
    Ros,
    seconds,
    status_values,
)
from test_realtime_parameters import TIMING

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool, Trigger

import featherstone_ros as fr

MODULE = "featherstone_ros.digital_twin"
NODE = "/digital_twin"
COMMANDS = "/digital_twin/commands"
PARAMETERS = {
    "robot_description": ARM,
    "rate": 200.0,
    "initial_positions.shoulder": 0.4,
    "initial_positions.elbow": 0.7,
}


def start(ros: Ros, **parameters) -> NodeProcess:
    return ros.start(MODULE, {**PARAMETERS, **parameters})


def latest(ros: Ros, states: list[JointState], condition, what: str = "joint state") -> JointState:
    """Wait for a new joint state that meets the condition."""
    states.clear()
    return ros.wait_for(lambda: next(filter(condition, states), None), what)


def wait_until_paused(ros: Ros, states: list[JointState]) -> None:
    """Wait for the same state twice: those that the arm had before may still be on their way."""
    states.clear()
    ros.wait_for(lambda: len(states) > 1 and states[-1] == states[-2], "the same state again")
    ros.take_all(states)
    states.clear()


def test_a_payload_is_carried_from_the_start_and_from_when_it_is_changed(ros):
    load = {"payload.link": "lower", "payload.mass": 1.5, "payload.com": [0.0, 0.0, -0.3]}
    start(ros, **load)
    states = ros.collect(JointState, "/joint_states")
    model = fr.Model.from_urdf(ARM)
    for mass in (1.5, 0.5, 0.0):
        assert ros.set_parameters(NODE, {"payload.mass": mass})[0].successful
        loaded = model.with_payload("lower", mass, [0.0, 0.0, -0.3]) if mass else model
        expected = fr.Dynamics(loaded).gravity(START)
        latest(ros, states, lambda m, e=expected: np.allclose(m.effort, e, rtol=1e-9), "its weight")
    refused = ros.set_parameters(NODE, {"payload.link": "hook", "payload.mass": 1.0})
    assert not any(one.successful for one in refused)
    assert "payload.link is 'hook'; the links are base, " in refused[0].reason


def test_bad_commands_are_refused_reported_and_change_nothing(ros):
    start(ros)
    states = ros.collect(JointState, "/joint_states")
    commands = ros.publisher(Float64MultiArray, COMMANDS)
    commands.publish(Float64MultiArray(data=[3.0, 2.0]))
    latest(ros, states, lambda m: list(m.effort) == [3.0, 2.0])
    names = ros.publisher(JointState, "/digital_twin/joint_commands")
    for publisher, bad, reason in (
        (commands, Float64MultiArray(data=[1.0]), "command has 1 values, expected 2"),
        (names, JointState(name=["elbow", "knee"], effort=[1.0] * 2), "unknown joints: knee"),
    ):
        publisher.publish(bad)
        values = status_values(ros.status(reason))
    assert {*TIMING, "commands lost"} <= values.keys()
    states.clear()
    ros.wait_for(lambda: len(states) > 5, "states")
    assert {tuple(m.effort) for m in states} == {(3.0, 2.0)}


def test_pause_step_set_state_and_reset(ros):
    start(ros, publish_clock=True, steps_per_call=7)
    states = ros.collect(JointState, "/joint_states")
    refused = ros.call(Trigger, "/digital_twin/step")
    assert not refused.success
    assert "pause" in refused.message
    commands = ros.publisher(Float64MultiArray, COMMANDS)
    commands.publish(Float64MultiArray(data=[0.0, 0.0]))
    latest(ros, states, lambda m: any(m.velocity))
    assert ros.call(SetBool, "/digital_twin/pause", SetBool.Request(data=True)).success
    wait_until_paused(ros, states)
    ros.wait_for(lambda: len(states) > 1, "states while paused")
    paused = {(seconds(m.header.stamp), *m.position) for m in states}
    assert len(paused) == 1
    before = states[-1]
    assert ros.call(Trigger, "/digital_twin/step", repeat=False).success
    after = latest(ros, states, lambda m: list(m.position) != list(before.position))
    elapsed = seconds(after.header.stamp) - seconds(before.header.stamp)
    assert elapsed == pytest.approx(0.007, abs=1e-9)
    teleport = ros.publisher(JointState, "/digital_twin/set_state")
    teleport.publish(JointState(name=["elbow"], position=[float("nan")]))
    ros.status("position of elbow is nan")
    teleport.publish(JointState(name=["elbow", "shoulder"], position=[1.5, -0.5]))
    latest(ros, states, lambda m: list(m.position) == [-0.5, 1.5])
    assert ros.call(SetBool, "/digital_twin/pause", SetBool.Request(data=False)).success
    latest(ros, states, lambda m: any(m.velocity))
    asked = time.monotonic()
    assert ros.call(Trigger, "/digital_twin/reset").success
    state = latest(ros, states, lambda m: list(m.position) == list(START), "initial position")
    assert not any(state.velocity)
    assert seconds(state.header.stamp) < time.monotonic() - asked + 0.01


def test_divergence_ends_the_states_with_an_error_and_reset_recovers(ros):
    joints = {f"friction.{j}.viscous": 5.0 for j in ("shoulder", "elbow")}
    far = {"integrator": "semi_implicit_euler", "rate": 10.0, "time_step": 0.1}
    start(ros, **far, real_time_factor=20.0, **joints)
    states = ros.collect(JointState, "/joint_states")
    commands = ros.publisher(Float64MultiArray, COMMANDS)
    commands.publish(Float64MultiArray(data=[30.0, 9.0]))
    ros.status("diverged", level=DiagnosticStatus.ERROR)
    ros.take_all(states)  # what was published before the fault
    assert all(np.isfinite([*m.position, *m.velocity, *m.effort]).all() for m in states)
    states.clear()
    ros.run_for(0.3)
    assert states == []
    assert ros.call(Trigger, "/digital_twin/reset").success
    state = latest(ros, states, lambda m: True)
    np.testing.assert_array_equal(state.position, START)
    ros.wait_for(lambda: ros.status(node=NODE).level != DiagnosticStatus.ERROR, "recovery")


def test_parameters_change_at_run_time_as_a_set_or_not_at_all(ros):
    start(ros, publish_clock=True)
    states = ros.collect(JointState, "/joint_states")
    latest(ros, states, lambda m: True)
    for atomically in (False, True):
        bad = {"rate": 50.0, "armature.elbow": -1.0}
        results = ros.set_parameters(NODE, bad, atomically)
        assert not any(result.successful for result in results)
        assert "armature.elbow" in results[0].reason
        assert ros.get_parameter(NODE, "rate") == 200.0
    refused = ros.set_parameters(NODE, {"integrator": "euler"})[0]
    assert "expected one of semi_implicit_euler, implicit, rk4" in refused.reason
    good = {"rate": 50, "integrator": "rk4", "armature.elbow": 0.5}
    assert all(result.successful for result in ros.set_parameters(NODE, good))
    states.clear()

    def steps() -> np.ndarray:
        return np.diff([seconds(m.header.stamp) for m in states[-10:]])

    ros.wait_for(lambda: len(states) > 20 and np.allclose(steps(), 0.02, atol=1e-9), "new rate")
    assert ros.set_parameters(NODE, {"rate": 5000.0, "real_time_factor": 1000.0})[1].successful
    ros.status("fell behind real time")
    ros.wait_for_state(NODE, "active")
