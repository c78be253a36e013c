"""Who else is in the ROS domain, and does it fit together? Needs rclpy."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sensor_msgs.msg import JointState

from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
from featherstone_ros.nodes.diagnostics_publisher import publishers_of
from featherstone_ros.nodes.topics import seconds
from featherstone_ros.tools.doctor.machine import Line
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.rclpy_calls import Participant, decode, take_waiting

# [s] for finding the others (what they announce may be lost, and comes again after 3 s), at most,
# and for hearing them
FIND, PATIENCE, HEAR = 4.0, 6.0, 0.8
STILL = 1.0  # [s] without anybody new: all are found
JOINT_STATE, CLOCK = "sensor_msgs/msg/JointState", "/clock"
STATES, COMMANDS = "joint_states", ("/commands", "/joint_commands")  # how their topics end
OWN = "featherstone_doctor"
LOOK = 0.1  # [s]
FEW = 4  # names shown
OFF = 0.1  # [s] that stamps may be off
QUEUE = 2000


def check_neighbours() -> Iterator[Line]:
    """Yield what is found in a few seconds."""
    with Participant(OWN) as ros:
        find_others(ros)
        with held():
            names = ros.node.get_node_names_and_namespaces()
            kinds = {name: kinds[0] for name, kinds in ros.node.get_topic_names_and_types()}
            publishers = {name: publishers_of(ros.node, name) for name in kinds}
            listeners = {name: ros.node.count_subscribers(name) for name in kinds}
        states = [
            name
            for name, kind in kinds.items()
            if kind == JOINT_STATE and name.endswith(STATES) and publishers[name]
        ]
        queues = {name: ros.queue(JointState, name, QUEUE) for name in states}
        ros.spin(HEAR)
        heard = {name: take_waiting(queue) for name, queue in queues.items()}
    clocks = publishers.get(CLOCK, [])
    yield check_nodes([f"{space.rstrip('/')}/{name}" for name, space in names])
    if clocks:
        yield check_topic(CLOCK, clocks, "simulated time, for nodes with use_sim_time")
    if not states:
        yield Line("joint states", "nobody publishes any: no arm runs here, and no twin")
    for name in states:
        yield check_states(name, publishers[name], heard[name], is_simulated=bool(clocks))
    for name in sorted(publishers):
        if name.endswith(COMMANDS) and publishers[name]:
            yield check_commands(name, publishers[name], listeners[name])


def find_others(ros: Participant) -> None:
    """Wait until all others are found; on a busy machine that takes longer."""
    began = changed = time.monotonic()
    known: set[Any] = set()
    while (now := time.monotonic()) < began + FIND or (
        now < changed + STILL and now < began + PATIENCE
    ):
        ros.spin(LOOK)
        with held():
            found = {*ros.node.get_node_names_and_namespaces()}
            found |= {name for name, _ in ros.node.get_topic_names_and_types()}
        if found != known:
            known, changed = found, time.monotonic()


def check_nodes(names: Sequence[str]) -> Line:
    """Has each node a name of its own?"""
    count = Counter(name for name in names if not name.rpartition("/")[2].startswith(OWN))
    if not count:
        return Line("nodes", "no other node is in this domain")
    twice = [name for name, times in count.items() if times > 1]
    if twice:
        remedy = "end one of them: services and parameters reach either; or -r __node:=OTHER"
        return Line("nodes", f"more than one is named {twice[0]}", Level.ERROR, remedy)
    shown = ", ".join(sorted(count)[:FEW]) + ", ..." * (len(count) > FEW)
    return Line("nodes", f"{len(count)}: {shown}")


def check_topic(name: str, publishers: Sequence[str], what: str) -> Line:
    """Is it one alone who publishes there?"""
    by = " and ".join(publishers[:FEW])
    if len(publishers) > 1:
        text = f"{what} of {len(publishers)} publishers: {by}"
        return Line(name, text, Level.ERROR, "end all but one, or give each its own namespace")
    return Line(name, f"{what} of {by}")


def check_commands(name: str, publishers: Sequence[str], listeners: int) -> Line:
    """Do they come from one alone, and does anybody listen?"""
    line = check_topic(name, publishers, "commands")
    if line.level > Level.OK or listeners:
        return line
    own = f"~/{name.rpartition('/')[2]}"
    remedy = f"remap them to the arm's topic: -r '{own}:=TOPIC'; or a twin's: -r '{own}:={name}'"
    return replace(line, text=f"{line.text}; nobody listens", level=Level.WARN, remedy=remedy)


def check_states(
    name: str,
    publishers: Sequence[str],
    heard: Sequence[tuple[bytes, Mapping[str, Any]]],
    is_simulated: bool,
) -> Line:
    """Do they come, from one alone, and by the same clock as here?

    ``heard``: messages of the last ``HEAR`` seconds, with what is known of them.
    """
    line = check_topic(name, publishers, "states")
    if line.level > Level.OK:
        return line
    if not heard:
        remedy = "a twin that is paused or not active is silent: featherstone-ros monitor"
        return replace(line, text=f"{line.text}; none came", level=Level.WARN, remedy=remedy)
    line = replace(line, text=f"{line.text}, {len(heard) / HEAR:.0f} a second")
    content, known = heard[-1]
    stamp = seconds(decode(content, JointState).header.stamp)
    late = 1e-9 * known["received_timestamp"] - stamp
    if stamp and not is_simulated and abs(late) > OFF:
        text = f"{line.text}; stamps are {late:.3g} s old"
        remedy = "let NTP or PTP set the clocks of both machines"
        return replace(line, text=text, level=Level.WARN, remedy=remedy)
    return line
