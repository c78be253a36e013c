"""Both nodes in SROS 2 enclaves under config/sros2_policy.xml, where there is DDS security."""

import subprocess
import sys
from pathlib import Path

import pytest
from support import NodeProcess, Ros  # skips this module where ROS is missing

# isort: split
from std_msgs.msg import Float64MultiArray
from test_security import COMMANDS, POLICY, allowed, policy

from featherstone_ros.model.robots import robot_file

URDF = robot_file("ur5e").read_text()
NODES = ("feedforward_controller", "digital_twin")


def start(ros: Ros, node: str, *arguments: str) -> NodeProcess:
    """Start one of the nodes as the policy expects it."""
    if node == "digital_twin":
        arguments = ("-r", f"~/commands:={COMMANDS}", *arguments)
    return ros.start(f"featherstone_ros.{node}", {"robot_description": URDF}, *arguments)


@pytest.fixture
def secured(ros, tmp_path, monkeypatch) -> Ros:
    """A domain whose processes are in enclaves; this process's own node is a stranger there."""
    artifacts = pytest.importorskip(
        "sros2.api._artifact_generation",
        reason="the sros2 package is not installed: it makes the keys and signs the policy",
    )
    keystore = tmp_path / "keystore"
    monkeypatch.setenv("ROS_DOMAIN_ID", str(ros.domain))  # the permissions are for this one
    artifacts.generate_artifacts(keystore, [], [Path(POLICY)])
    ros.environment |= {
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(keystore),
    }
    program = "import rclpy, sys; rclpy.init(args=sys.argv); rclpy.create_node('operator')"
    attempt = subprocess.run(
        [sys.executable, "-c", program, "--ros-args", "--enclave", "/operator"],
        env=ros.environment,
        capture_output=True,
        text=True,
    )
    if "doesn't have the security libraries" in attempt.stderr:
        pytest.skip("this ROS middleware was built without DDS security")
    assert attempt.returncode == 0, attempt.stderr
    return ros


def test_only_the_controller_commands_the_arm(secured):
    ros = secured
    for node in NODES:
        start(ros, node, "--enclave", f"/{node}")
    operator = ros.run(
        [
            *(sys.executable, str(Path(__file__).with_name("secured_operator.py"))),
            *("--ros-args", "--enclave", "/operator"),
        ]
    )
    operator.wait_for_output("done\n", 100.0)
    for permitted in ("hears diagnostics", "hears joint states", "is answered"):
        assert f"{permitted}: yes" in operator.output, operator.output
    for topic in (COMMANDS, "/joint_states", "/digital_twin/joint_commands"):
        assert f"publishes {topic}: no" in operator.output, operator.output
    # This process is in no enclave: it has been there all the time, and nobody talks to it.
    publisher = ros.node.create_publisher(Float64MultiArray, COMMANDS, 10)
    ros.run_for(3.0)
    assert publisher.get_subscription_count() == 0
    assert not ros.node.get_publishers_info_by_topic("/joint_states")


def test_node_without_an_enclave_does_not_start(secured):
    process = start(secured, "digital_twin", "--enclave", "/nobody")
    assert process.wait() == 1
    assert "cannot start" in process.output and "Traceback" not in process.output


@pytest.mark.parametrize("node", NODES)
def test_policy_grants_all_that_a_node_opens(ros, node):
    start(ros, node)
    ros.wait_for_state(f"/{node}", "active")
    asked = {
        ("topic", "publish"): ros.node.get_publisher_names_and_types_by_node,
        ("topic", "subscribe"): ros.node.get_subscriber_names_and_types_by_node,
        ("service", "reply"): ros.node.get_service_names_and_types_by_node,
    }
    ros.wait_for(lambda: node in ros.node.get_node_names(), "discovery of the node")
    enclave = policy().find(f".//enclave[@path='/{node}']")
    actions = allowed(enclave, "action", "execute")  # an action is topics and services
    for what, ask in asked.items():
        ros.wait_for(lambda ask=ask: len(ask(node, "/")) > 2, f"discovery: {what}")
        opened = {name for name, _ in ask(node, "/")}
        opened = {n for n in opened if n.partition("/_action/")[0] not in actions}
        names = allowed(enclave, *what)
        if "service" in what:
            assert names == {f"/{node}/*"}
            assert all(name.startswith(f"/{node}/") for name in opened)
        else:
            assert opened <= names, what
