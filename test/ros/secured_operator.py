"""A process in the enclave /operator: says what it may do, see test_enclaves."""

import sys
import time
from collections.abc import Callable

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from lifecycle_msgs.srv import GetState
from rclpy.impl.implementation_singleton import rclpy_implementation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

NODES = ("feedforward_controller", "digital_twin")
PATIENCE = 60.0  # [s]


def main() -> None:
    """Try one thing after the other, a line each."""
    rclpy.init(args=sys.argv)
    node = rclpy.create_node("operator")
    heard: set[str] = set()
    states: list[JointState] = []
    node.create_subscription(
        DiagnosticArray, "/diagnostics", lambda m: heard.update(s.name for s in m.status), 10
    )
    node.create_subscription(JointState, "/joint_states", states.append, 10)

    def wait_for(condition: Callable[[], bool]) -> bool:
        end = time.monotonic() + PATIENCE
        while not condition() and time.monotonic() < end:
            rclpy.spin_once(node, timeout_sec=0.1)
        return condition()

    report("hears diagnostics", wait_for(lambda: heard.issuperset(NODES)))
    report("hears joint states", wait_for(lambda: len(states) > 10))
    client = node.create_client(GetState, "/feedforward_controller/get_state")
    wait_for(client.service_is_ready)
    answer = client.call_async(GetState.Request())
    report("is answered", wait_for(answer.done))
    for kind, topic in (
        (Float64MultiArray, "/feedforward_controller/commands"),
        (JointState, "/joint_states"),
        (JointState, "/digital_twin/joint_commands"),
    ):
        report(f"publishes {topic}", reaches_somebody(node, kind, topic))
    print("done", flush=True)


def reaches_somebody(node, kind: type, topic: str) -> bool:
    """Tell whether a publisher can be made and somebody listens to it."""
    try:
        publisher = node.create_publisher(kind, topic, 10)
    except rclpy_implementation.RCLError:
        return False
    end = time.monotonic() + 5.0
    while time.monotonic() < end and not publisher.get_subscription_count():
        rclpy.spin_once(node, timeout_sec=0.1)
    return publisher.get_subscription_count() > 0


def report(what: str, result: bool) -> None:
    """Print one line."""
    print(f"{what}: {'yes' if result else 'no'}", flush=True)


if __name__ == "__main__":
    main()
