"""What both nodes inherit from their common base: start, description, parameters, end."""

import signal
from collections.abc import Iterator

import pytest
from support import Ros  # skips without ROS
from urdf_text import chain

# isort: split
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from std_msgs.msg import String

from featherstone_ros.nodes.topics import LATCHED

WAITING = "waiting for the robot description on /robot_description"


def slider(*joints: str) -> str:
    """URDF of a chain of prismatic joints."""
    limit = '<limit lower="-1" upper="1" velocity="1" effort="50"/>'
    return chain(*joints, kind="prismatic", axis="1 0 0", inside=limit)


SLIDER = slider("rail")
SLIDING = {"robot_description": SLIDER}


def start(ros: Ros, node: str = "digital_twin", **parameters):
    return ros.start(f"featherstone_ros.{node}", parameters)


@pytest.fixture(scope="module")
def active(shared_ros: Ros) -> Iterator[Ros]:
    """A domain with a twin that is active, and to remain so."""
    twin = start(shared_ros, robot_description=SLIDER)
    shared_ros.wait_for_state("/digital_twin", "active")
    yield shared_ros
    twin.stop()  # with status 0 and no traceback, after all it was asked for


# Signals.


def test_signal_ends_a_waiting_node_cleanly(ros):
    process = start(ros, "feedforward_controller")
    process.wait_for_output(WAITING)
    process.stop(signal.SIGINT)


def test_signal_during_the_start_ends_the_node_cleanly(ros):
    process = ros.start("featherstone_ros.digital_twin", {}, "--log-level", "rcl:=debug")
    process.wait_for_output("Initializing")  # before there is a node
    process.stop(signal.SIGTERM)


def test_second_signal_during_the_end_changes_nothing(ros):
    process = start(ros, robot_description=SLIDER)
    process.wait_for_output("activate: done")
    for signum in [signal.SIGINT, signal.SIGTERM, signal.SIGINT]:
        process.send(signum)
    process.stop()
    assert "deactivate: done" in process.output


# Robot description.


def test_a_late_description_is_used_if_it_can_be_and_another_one_after_cleanup(ros):
    process = start(ros)
    process.wait_for_output(WAITING)
    assert ros.state("/digital_twin") == "unconfigured"
    ros.status("waiting", level=DiagnosticStatus.WARN)
    descriptions = ros.publisher(String, "/robot_description", LATCHED)
    descriptions.publish(String(data="<robot"))
    process.wait_for_output("cannot configure")
    ros.status("cannot configure", level=DiagnosticStatus.ERROR)
    descriptions.publish(String(data=SLIDER))
    ros.wait_for_state("/digital_twin", "active")
    descriptions.publish(String(data=SLIDER))  # the same again means nothing
    ros.status(level=DiagnosticStatus.OK, state="active")
    assert "refused" not in process.output
    descriptions.publish(String(data=slider("rail", "lift")))
    process.wait_for_output("refused another robot description")
    ros.status("another robot description")
    assert ros.state("/digital_twin") == "active"
    assert ros.get_parameter("/digital_twin", "armature.lift") is None
    for transition in ("deactivate", "cleanup", "configure", "activate"):
        assert ros.change_state("/digital_twin", transition), transition
    assert ros.get_parameter("/digital_twin", "armature.lift") == 0.0


def test_a_parameter_that_one_description_refuses_does_not_stop_another(ros):
    process = start(ros, **{"armature.rail": "heavy"})
    descriptions = ros.publisher(String, "/robot_description", LATCHED)
    for count in (1, 2):
        descriptions.publish(String(data=SLIDER + " " * count))
        ros.wait_for(lambda n=count: process.output.count("expected type double") == n, "refusal")
    descriptions.publish(String(data=slider("lift")))
    ros.wait_for_state("/digital_twin", "active")
    assert "Traceback" not in process.output


def test_description_set_as_a_parameter_is_refused_or_used(ros):
    start(ros).wait_for_output(WAITING)
    result = ros.set_parameters("/digital_twin", {"robot_description": "<robot", "rate": 50.0})[0]
    assert "not well-formed" in result.reason
    assert ros.get_parameter("/digital_twin", "robot_description") == ""
    assert ros.get_parameter("/digital_twin", "rate") == 1000.0
    assert ros.set_parameters("/digital_twin", {"robot_description": SLIDER})[0].successful
    ros.wait_for_state("/digital_twin", "active")


# Lifecycle.


def test_impossible_transitions_are_answered_and_survived(active):
    for transition in ("configure", Transition.TRANSITION_CONFIGURE, "nonsense", 77):
        assert not active.change_state("/digital_twin", transition)
    assert active.state("/digital_twin") == "active"


def test_without_autostart_nothing_happens_by_itself(ros):
    process = start(ros, autostart=False)
    assert not ros.change_state("/digital_twin", "configure")
    process.wait_for_output("cannot configure: there is no robot description yet")
    descriptions = ros.publisher(String, "/robot_description", LATCHED)
    descriptions.publish(String(data=SLIDER))
    process.wait_for_output("robot description received")
    assert ros.state("/digital_twin") == "unconfigured"
    assert ros.change_state("/digital_twin", "configure")
    assert ros.change_state("/digital_twin", "activate")
    assert ros.state("/digital_twin") == "active"
    assert ros.change_state("/digital_twin", "shutdown")
    assert ros.state("/digital_twin") == "finalized"
    process.stop()


# Parameters at the start.


def test_a_topic_for_some_joints_is_not_that_for_all(ros):
    process = start(
        ros, robot_description=SLIDER, **{"command_topic.rail": "digital_twin/commands"}
    )
    process.wait_for_output(
        "command_topic.rail is 'digital_twin/commands', expected another topic than the twin's "
        "~/commands"
    )


# Before the model is made, and after.
@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ({"rate": "fast"}, "parameter rate is 'fast', expected type double"),
        (
            {**SLIDING, "base": "floating", "mode": "shadow"},
            "base is 'floating', expected 'fixed' in mode",
        ),
        ({"robot_description": "<robot"}, "robot_description"),
        ({**SLIDING, "realtime.cpu_affinity": [4711]}, "no processor 4711"),
        ({**SLIDING, "armature.rail": -1.0}, "armature.rail"),
        ({**SLIDING, "command_topic.rail": "two words"}, "command_topic.rail is 'two words'"),
    ],
)
def test_bad_parameter_at_the_start_is_one_line_and_exit_status_1(ros, parameters, reason):
    process = start(ros, **parameters)
    assert process.wait() == 1
    own_lines = [line for line in process.output.splitlines() if "[rmw_" not in line]
    assert len(own_lines) == 1, process.output
    assert "digital_twin: cannot start" in process.output
    assert reason in process.output


def test_missing_parameter_file_is_an_error_without_traceback(ros):
    process = ros.start("featherstone_ros.digital_twin", None, "--params-file", "none.yaml")
    assert process.wait() == 1
    assert "none.yaml" in process.output
    assert "Traceback" not in process.output


def test_arguments_of_ros_are_obeyed(ros):
    arguments = ["-p", "rate:=250", "-p", "armature.rail:=3", "-p", "armature.road:=3.0"]
    process = ros.start(
        "featherstone_ros.digital_twin",
        {"robot_description": SLIDER, "joints": []},
        *arguments,
        *("-r", "__ns:=/cell", "-r", "__node:=twin"),
    )
    ros.wait_for_state("/cell/twin", "active")
    assert ros.get_parameter("/cell/twin", "rate") == 250
    process.wait_for_output("ignored unknown parameters: armature.road (nearest: armature.")
    ros.status(node="cell/twin")


def test_read_only_parameters_are_refused_with_a_reason(active):
    for name, value in (("joints", ["rail"]), ("lockstep", True), ("mode", "shadow")):
        result = active.set_parameters("/digital_twin", {name: value})[0]
        assert not result.successful
        assert "read-only" in result.reason
    result = active.set_parameters("/digital_twin", {"robot_description": slider("other")})[0]
    assert not result.successful
    assert "while the node is configured" in result.reason


def test_unknown_parameter_is_refused_by_name(active):
    results = active.set_parameters("/digital_twin", {"rate": 50.0, "armature.rial": 1.0})
    assert [result.successful for result in results] == [False, False]
    assert "armature.rial" in results[0].reason
    assert active.get_parameter("/digital_twin", "rate") == 1000.0
