"""A hostile neighbour: floods the nodes of a domain with one kind of nonsense until it is killed.

    python neighbour.py KIND [RATE]      e.g.  python neighbour.py garbage 5000

Nothing that it sends could come from a correct sender, except with ``commander``: whoever may send
well-formed commands, states and parameters can be told from ours by DDS security alone. Topic
messages are serialised beforehand, so that the rate holds; once a second it prints how many left.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import cycle

import rclpy
from builtin_interfaces.msg import Duration, Time
from geometry_msgs.msg import Vector3, Wrench, WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import DescribeParameters, ListParameters, SetParameters
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header, MultiArrayLayout
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

SEED = 20_4
VARIETY = 200  # different messages per topic
MEGABYTE = 1_000_000
SIGNATURE = "neighbour"  # frame_id of its joint states, by which a witness knows them
OFFSET = 0xBAD  # data_offset of its commands, likewise
NO_NUMBERS = (float("nan"), float("inf"), -float("inf"))
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


class Nonsense:
    """Random messages that a node must refuse."""

    def __init__(self, seed: int) -> None:
        """Begin at a seed."""
        self.random = random.Random(seed)

    def message(self, kind: type) -> object:
        """Return one of a type."""
        return getattr(self, f"_{kind.__name__}")()

    def _names(self) -> list[str]:
        names = self.random.choices(["", "\x00", "ж" * 50, "no_such_joint", "../etc", *JOINTS], k=9)
        return self.random.choice([JOINTS, JOINTS[:3], names, []])

    def _values(self, length: int) -> list[float]:
        """Return values of another number than ``length``, or none of which is a number."""
        if self.random.random() < 0.5:
            other = self.random.choice([n for n in (0, 1, 6, 8, 100) if n != length])
            return [self.random.choice([1e300, 5e-324, -1e6, 0.0]) for _ in range(other)]
        return self.random.choices(NO_NUMBERS, k=length)

    def _stamp(self) -> Time:
        return Time(
            sec=self.random.choice([0, -(2**31), 2**31 - 1, -1, 1]),
            nanosec=self.random.choice([0, 999_999_999, 2**32 - 1]),
        )

    def _JointState(self) -> JointState:
        names = self._names()
        if self.random.random() < 0.2:  # now and then a state from far away
            names, far = list(JOINTS), [self.random.uniform(50.0, 1e6) for _ in JOINTS]
            return JointState(
                header=Header(stamp=self._stamp(), frame_id=SIGNATURE),
                name=names,
                position=far,
                velocity=[1e4 * x for x in far],
                effort=self.random.choices(NO_NUMBERS, k=len(names)),
            )
        return JointState(
            header=Header(stamp=self._stamp(), frame_id=SIGNATURE),
            name=names,
            position=self._values(len(names) or 1),
            velocity=self._values(len(names)),
            effort=self._values(len(names)),
        )

    def _Float64MultiArray(self) -> Float64MultiArray:
        return Float64MultiArray(
            layout=MultiArrayLayout(data_offset=OFFSET), data=self._values(len(JOINTS))
        )

    def _WrenchStamped(self) -> WrenchStamped:
        odd = [float("nan"), 0.0, float("inf")]
        vector = Vector3(x=float("nan"), y=self.random.choice(odd), z=self.random.choice(odd))
        frame = self.random.choice([*LINKS, "", "no_such_link"])
        return WrenchStamped(header=Header(frame_id=frame), wrench=Wrench(force=vector))

    def _JointTrajectoryPoint(self) -> JointTrajectoryPoint:
        return JointTrajectoryPoint(
            positions=self._values(len(JOINTS)),
            velocities=self._values(len(JOINTS)),
            accelerations=self._values(len(JOINTS)),
            time_from_start=Duration(sec=self.random.choice([-1, 0, 2**31 - 1])),
        )

    def _JointTrajectory(self) -> JointTrajectory:
        return JointTrajectory(
            header=Header(stamp=self._stamp()),
            joint_names=self._names(),
            points=[self._JointTrajectoryPoint() for _ in range(self.random.choice([0, 1, 5]))],
        )

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

    def large(self, kind: type) -> object:
        """Return a message of a megabyte, otherwise as a node would have it."""
        doubles = [0.0] * (MEGABYTE // 8)
        if kind is Float64MultiArray:
            return Float64MultiArray(layout=MultiArrayLayout(data_offset=OFFSET), data=doubles)
        if kind is WrenchStamped:
            return WrenchStamped(header=Header(frame_id="x" * MEGABYTE))
        if kind is JointTrajectoryPoint:
            return JointTrajectoryPoint(positions=doubles)
        if kind is JointTrajectory:
            point = JointTrajectoryPoint(positions=[0.0] * len(JOINTS))
            return JointTrajectory(joint_names=JOINTS, points=[point] * (MEGABYTE // 80))
        names = [f"joint_{i}" for i in range(MEGABYTE // 24)]
        many = [0.0] * len(names)
        return JointState(header=Header(frame_id=SIGNATURE), name=names, position=many)


Send = Callable[[], None]


def flood_topics(node: Node, make: Callable[[type], object], variety: int) -> list[Send]:
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


def command(node: Node) -> list[Send]:
    """Return what publishes the torque 0, as a second controller might."""
    publisher = node.create_publisher(Float64MultiArray, f"{CONTROLLER}/commands", QUEUE)
    layout = MultiArrayLayout(data_offset=OFFSET)
    raw = serialize_message(Float64MultiArray(layout=layout, data=[0.0] * len(JOINTS)))
    return [lambda: publisher.publish(raw)]


nonsense = Nonsense(SEED)
KINDS: dict[str, tuple[float, Callable[[Node], list[Send]]]] = {  # with the rate per topic [Hz]
    "garbage": (5000.0, lambda node: flood_topics(node, nonsense.message, VARIETY)),
    "bytes": (5000.0, lambda node: flood_topics(node, nonsense.bytes, VARIETY)),
    "large": (20.0, lambda node: flood_topics(node, nonsense.large, 1)),
    "parameters": (500.0, lambda node: flood_services(node, parameter_requests())),
    "services": (500.0, lambda node: flood_services(node, service_requests())),
    "commander": (500.0, command),
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
    flood(senders, float(sys.argv[2]) if len(sys.argv) > 2 else rate)


if __name__ == "__main__":
    main()
