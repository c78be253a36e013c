"""A hostile neighbour: floods the nodes of a domain with one kind of nonsense until it is killed.

    python neighbour.py KIND      e.g.  python neighbour.py garbage

Nothing that it sends could come from a correct sender: whoever may send well-formed commands,
states and parameters can be told from ours by DDS security alone. Topic messages are serialised
beforehand, so that the rate holds; once a second it prints how many left.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from itertools import cycle
from typing import Any

import rclpy
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayLayout
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SEED = 20_4
VARIETY = 200  # different messages per topic
LARGE = 40_000  # numbers, names or characters of a large message's fields
SIGNATURE = "neighbour"  # frame_id of its joint states, by which a witness knows them
OFFSET = 0xBAD  # data_offset of its commands, likewise
EXTREME = (0, 1, 999_999_999, 2**31 - 1)
QUEUE = QoSProfile(depth=10)  # reliable: whoever listens has to take it

CONTROLLER, TWIN = "/feedforward_controller", "/digital_twin"
TOPICS = {
    "/joint_states": JointState,
    f"{CONTROLLER}/joint_trajectory": JointTrajectory,
    f"{CONTROLLER}/reference": JointTrajectoryPoint,
    f"{CONTROLLER}/commands": Float64MultiArray,  # the twin's
    f"{TWIN}/joint_commands": JointState,
    f"{TWIN}/external_wrench": WrenchStamped,
    f"{TWIN}/set_state": JointState,
}
JOINTS = [f"panda_joint{i}" for i in range(1, 8)]
LINKS = [f"panda_link{i}" for i in range(8)]
STRANGE = {
    "double": (float("nan"), float("inf"), -float("inf")),
    "string": ("\x00", "ж" * 50, "no_such_joint", "../etc", *JOINTS, *LINKS),
    "int32": (*EXTREME, -1, -(2**31)),
    "uint32": (*EXTREME, 2**32 - 1),
}


class Nonsense:
    """Random messages that a node must refuse: none of their numbers is one."""

    def __init__(self, seed: int) -> None:
        """Begin at a seed."""
        self.random = random.Random(seed)

    def message(self, kind: type) -> Any:
        """Return one of a type."""
        message = kind()
        for name, field in kind.get_fields_and_field_types().items():
            setattr(message, name, self._value(field))
        return marked(message)

    def _value(self, field: str) -> Any:
        if field.startswith("sequence<"):
            length = self.random.choice([0, 1, 6, len(JOINTS), 8, 100])
            each = field.removeprefix("sequence<").removesuffix(">")
            return [self._value(each) for _ in range(length)]
        if "/" in field:
            return self.message(type_of(field))
        return self.random.choice(STRANGE[field])

    def state(self) -> JointState:
        """Return a state from far away, of the right joints."""
        far = [self.random.uniform(50.0, 1e6) for _ in JOINTS]
        state = JointState(name=JOINTS, position=far, velocity=[1e4 * x for x in far])
        state.effort = self.random.choices(STRANGE["double"], k=len(JOINTS))
        return marked(state)

    def garbage(self, kind: type) -> Any:
        """Return a message of a type, now and then a state from far away."""
        is_far = kind is JointState and self.random.random() < 0.2
        return self.state() if is_far else self.message(kind)

    def bytes(self, kind: type) -> bytes:
        """Return random bytes, or a message of the type that is cut, grown, or has bits turned."""
        raw = self.random.randbytes(self.random.choice([0, 1, 3, 4, 5, 8, 20, 100, 1000]))
        if self.random.random() < 0.3:
            return raw
        good = bytearray(serialize_message(self.message(kind)))
        place = self.random.randrange(len(good))
        # Of lengths and counts, high bytes do the most.
        good[place : place + 4] = self.random.choice([b"\xff" * 4, b"\x00\x00\x00\x80", b""])
        return bytes(self.random.choice([good, good[:place], good + raw]))


def large(kind: type) -> Any:
    """Return a message of about a megabyte, otherwise as a node would have it."""
    message = kind()
    for name, field in kind.get_fields_and_field_types().items():
        if field == "sequence<double>":
            setattr(message, name, [0.0] * LARGE)
        elif field == "sequence<string>":
            setattr(message, name, [f"joint_{i}" for i in range(LARGE)])
        elif field.startswith("sequence<"):
            part = type_of(field.removeprefix("sequence<").removesuffix(">"))
            setattr(message, name, [large(part)])
    if kind is WrenchStamped:
        message.header.frame_id = LARGE * "x"
    return marked(message)


def marked(message: Any) -> Any:
    """Mark what a witness must not take for the nodes' own."""
    if isinstance(message, JointState):
        message.header.frame_id = SIGNATURE
    if isinstance(message, Float64MultiArray):
        message.layout = MultiArrayLayout(data_offset=OFFSET)
    return message


def type_of(field: str) -> type:
    """Return the class of a field's message, as "package/Name"."""
    package, _, name = field.partition("/")
    return getattr(import_module(f"{package}.msg"), name)


Send = Callable[[], None]


def flood_topics(node: Node, make: Callable[[type], Any], variety: int) -> list[Send]:
    """Return what publishes the next message on each topic."""

    def sender(topic: str, kind: type) -> Send:
        publisher = node.create_publisher(kind, topic, QUEUE)
        made = [make(kind) for _ in range(variety)]
        raw = cycle([m if isinstance(m, bytes) else serialize_message(m) for m in made])
        return lambda: publisher.publish(next(raw))

    return [sender(topic, kind) for topic, kind in TOPICS.items()]


def flood_services(node: Node, requests: Mapping[str, tuple[type, list]]) -> list[Send]:
    """Return what calls each service with its next request; answers are not waited for."""

    def sender(name: str, kind: type, variants: list) -> Send:
        client, following = node.create_client(kind, name), cycle(variants)
        return lambda: client.remove_pending_request(client.call_async(next(following)))

    return [sender(name, *what) for name, what in requests.items()]


def parameter_requests() -> dict[str, tuple[type, list]]:
    """Return good changes, small ones, and bad ones."""
    nan = float("nan")
    bad = [
        {"no_such_parameter": 1.0},
        {"robot_description": "x" * 100_000},
        {"autostart": False},
        {"joints": ["nobody"]},
    ]
    controller = [
        *({f"gains.{joint}.p": p} for joint in JOINTS for p in (nan, "high", -1.0)),
        *({f"damping.{joint}": damping} for joint in JOINTS for damping in (1.0, 1.1)),
        *({"payload.link": LINKS[-1], "payload.mass": mass} for mass in (0.001, nan, 0.0, -1.0)),
        {"mode": "dance"},
        {"gravity": [nan, 0.0]},
        {"payload.inertia": [1.0] * 10_000},
    ]
    twin = [
        *({"noise.position": deviation} for deviation in (nan, -1.0, 0.0)),
        *({"stops.stiffness": stiffness} for stiffness in (0.0, nan, "hard")),
        *({"integrator": name} for name in ("rk4", "euler", "semi_implicit_euler")),
        {"rate": 1e12},
        {"time_step": 0.0},
    ]
    return {
        f"{name}/set_parameters": (SetParameters, [set_request(values) for values in variants])
        for name, variants in ((CONTROLLER, controller + bad), (TWIN, twin + bad))
    }


def set_request(values: Mapping[str, object]) -> SetParameters.Request:
    """Return the request that sets these parameters."""
    messages = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
    return SetParameters.Request(parameters=messages)


def service_requests() -> dict[str, tuple[type, list]]:
    """Return questions, and requests that cannot be granted."""
    transitions = [Transition(id=200), Transition(label="dance"), Transition(label="configure")]
    impossible = [ChangeState.Request(transition=transition) for transition in transitions]
    requests: dict[str, tuple[type, list]] = {f"{TWIN}/step": (Trigger, [Trigger.Request()])}
    for name in (CONTROLLER, TWIN):
        requests |= {
            f"{name}/change_state": (ChangeState, impossible),
            f"{name}/get_state": (GetState, [GetState.Request()]),
            f"{name}/list_parameters": (ListParameters, [ListParameters.Request()]),
            f"{name}/describe_parameters": (
                DescribeParameters,
                [DescribeParameters.Request(names=["\x00", "x" * 10_000, "mode", "mode"])],
            ),
        }
    return requests


nonsense = Nonsense(SEED)
KINDS: dict[str, tuple[float, Callable[[Node], list[Send]]]] = {  # with the rate per topic [Hz]
    "garbage": (1000.0, lambda node: flood_topics(node, nonsense.garbage, VARIETY)),
    "bytes": (1000.0, lambda node: flood_topics(node, nonsense.bytes, VARIETY)),
    "large": (20.0, lambda node: flood_topics(node, large, 1)),
    "parameters": (500.0, lambda node: flood_services(node, parameter_requests())),
    "services": (500.0, lambda node: flood_services(node, service_requests())),
}


def flood(senders: list[Send], rate: float) -> None:
    """Let every sender send ``rate`` times a second, until SIGTERM; print how many left.

    What DDS refuses to send, as its queues are full, is not sent.
    """
    period = max(1.0 / rate, 0.001)
    burst = max(round(rate * period), 1)
    due = second = time.monotonic()
    sent = 0
    while rclpy.ok():
        for send in senders:
            for _ in range(burst):
                with suppress(rclpy_implementation.RCLError):
                    send()
        sent += burst
        due += period
        now = time.monotonic()
        if now - second >= 1.0:
            print(f"sent {sent / (now - second):.0f} Hz on {len(senders)}", flush=True)
            second, sent = now, 0
            due = max(due, now - 1.0)  # what it cannot do it gives up
        time.sleep(max(due - now, 0.0))


def main() -> None:
    """Flood as the command line says."""
    rate, make = KINDS[sys.argv[1]]
    rclpy.init()
    node = Node("neighbour", start_parameter_services=False)
    senders = make(node)
    print("ready", flush=True)
    flood(senders, rate)


if __name__ == "__main__":
    main()
