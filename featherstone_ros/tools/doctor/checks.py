"""Is this machine fit, and who else is in the ROS domain?

What looks at neighbours needs rclpy, the rest does not.
"""

from __future__ import annotations

import os
import platform
import resource
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
from featherstone_ros.realtime.scheduling import LIMITS, LOWEST_PRIORITY, user_name
from featherstone_ros.tools.interruption import held
from featherstone_ros.tools.processes import HIGHEST_DOMAIN, ask_middleware, domain_number

if TYPE_CHECKING:
    from featherstone_ros.tools.rclpy_calls import Participant

LIBRARIES = {
    "scipy": "excite, identify, evaluate, payload, retime",
    "rosbags": "record, and all that reads recordings",
    "xacro": "robot files in xacro",
    "matplotlib": "pictures",
}
# Clocks that are read without a system call.
FAST_CLOCKS = {"tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"}
CLOCK = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
KERNEL = Path("/sys/kernel/realtime")
SHARED = Path("/dev/shm")  # noqa: S108  where DDS keeps its queues
FEW = 100_000_000  # [byte]

# [s] for finding the others (what they announce may be lost, and comes again after 3 s), at most,
# and for hearing them
FIND, PATIENCE, HEAR = 4.0, 6.0, 0.8
STILL = 1.0  # [s] without anybody new: all are found
JOINT_STATE, CLOCK_TOPIC = "sensor_msgs/msg/JointState", "/clock"
STATES, COMMANDS = "joint_states", ("/commands", "/joint_commands")  # how their topics end
OWN = "featherstone_doctor"
LOOK = 0.1  # [s]
NAMED = 4  # names shown
OFF = 0.1  # [s] that stamps may be off
QUEUE = 2000


@dataclass(frozen=True)
class Line:
    """What was found of one thing."""

    subject: str  # of what, in a word or two
    text: str  # what was found
    level: Level = Level.OK  # how bad it is
    remedy: str = ""  # what to do about it; empty: nothing


def check_machine(ros: Line, environment: Mapping[str, str] = os.environ) -> Iterator[Line]:
    """Yield what is found; ros: of the ``middleware``."""
    yield processor()
    yield from libraries()
    yield control_messages(environment)
    yield domain(environment)
    yield ros
    yield real_time()
    yield clock()


def processor() -> Line:
    """Is the core built for all that this processor can do?"""
    from featherstone_ros import _core
    from featherstone_ros.instruction_sets import NEEDS, lacking

    used = _core.instruction_set
    text = f"{used}, {_core.lanes} states at a time, {len(os.sched_getaffinity(0))} processors"
    if platform.machine() not in ("x86_64", "amd64"):
        return Line("processor", text)
    best = next(name for name in NEEDS if not lacking(name))
    if used == best:
        return Line("processor", text)
    asked = os.environ.get("FEATHERSTONE_INSTRUCTION_SET")
    remedy = (
        f"unset FEATHERSTONE_INSTRUCTION_SET ({asked})"
        if asked and best in _core.built()
        else f"build it here: FEATHERSTONE_BUILD_FOR={best} pip install ."
    )
    return Line("processor", f"{text}; it has {best}", Level.WARN, remedy)


def libraries(
    is_there: Callable[[str], bool] = lambda name: bool(find_spec(name)),
) -> Iterator[Line]:
    """Are the libraries there that some commands need?"""
    there = [name for name in LIBRARIES if is_there(name)]
    if there:
        yield Line("libraries", ", ".join(f"{name} {_version(name)}" for name in there))
    for name in [name for name in LIBRARIES if name not in there]:
        text = f"missing, for {LIBRARIES[name]}"
        yield Line(name, text, Level.WARN, f"pip install {name}")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # of Debian, or in the path
        return "is there"


def control_messages(environment: Mapping[str, str]) -> Line:
    """Is there an action for MoveIt?"""
    if find_spec("control_msgs"):
        return Line("control_msgs", "there: action ~/follow_joint_trajectory")
    distribution = environment.get("ROS_DISTRO")
    remedy = (
        f"sudo apt install ros-{distribution}-control-msgs"
        if distribution
        else "there is no wheel of it; MoveIt's machine has it. Without: `featherstone-ros replay`"
    )
    text = "missing: no action ~/follow_joint_trajectory for MoveIt, no ~/controller_state"
    return Line("control_msgs", text, Level.WARN, remedy)


def domain(environment: Mapping[str, str]) -> Line:
    """Is it a domain that others can join?"""
    text = environment.get("ROS_DOMAIN_ID") or "0"
    reach = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    number = domain_number(text)
    if number is None or number > HIGHEST_DOMAIN:
        level = Level.ERROR if number is None else Level.WARN
        why = "" if number is None else ": other programs get the same ports"
        remedy = f"export ROS_DOMAIN_ID=0: a number up to {HIGHEST_DOMAIN}, the same for all"
        return Line("domain", f"ROS_DOMAIN_ID is {text}{why}", level, remedy)
    if environment.get("ROS_LOCALHOST_ONLY", "0") not in ("", "0"):
        reach = "LOCALHOST"
    return Line("domain", f"ROS_DOMAIN_ID={number}, discovery range {reach}")


def middleware(environment: Mapping[str, str] = os.environ) -> Line:
    """Which one is it, and has it room for its messages?"""
    name, fault, remedy = ask_middleware(environment)
    if fault:
        return Line("ROS", fault, Level.ERROR, remedy)
    text = f"{name}, {environment.get('ROS_DISTRO') or 'Python wheels'}"
    free = os.statvfs(SHARED).f_bavail * os.statvfs(SHARED).f_frsize if SHARED.is_dir() else 0
    if name.startswith("rmw_fastrtps") and free < FEW:
        remedy = f"rm {SHARED}/fastrtps_* while no node runs; a container: --shm-size=512m"
        return Line("ROS", f"{text}; {SHARED} has {1e-6 * free:.0f} MB", Level.WARN, remedy)
    return Line("ROS", text)


def real_time() -> Line:
    """May a loop have a real-time priority, and keep its memory?"""
    kernel = "PREEMPT_RT" if _read(KERNEL) == "1" else "an ordinary kernel"
    governor = _read(GOVERNOR)
    text = ", ".join(filter(None, (kernel, governor and f"governor {governor}")))
    unlimited = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] == resource.RLIM_INFINITY
    lacking = [
        what
        for what, is_allowed in (
            ("priority", may_have_priority()),
            ("locked memory", unlimited or os.geteuid() == 0),
        )
        if not is_allowed
    ]
    if not lacking:
        return Line("real time", f"allowed; {text}")
    remedy = f"not needed for simulation{LIMITS.format(user=user_name())}"
    return Line("real time", f"no right to {', '.join(lacking)}; {text}", Level.WARN, remedy)


def may_have_priority() -> bool:
    """Tell whether a thread of this process may have a real-time priority."""
    allowed = []

    def attempt() -> None:
        try:
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(LOWEST_PRIORITY))
            allowed.append(True)
        except OSError:
            pass

    thread = threading.Thread(target=attempt)  # the priority ends with it
    thread.start()
    thread.join()
    return bool(allowed)


def clock() -> Line:
    """Is the time read quickly?"""
    source = _read(CLOCK)
    if not source or source in FAST_CLOCKS:
        return Line("clock", source or "unknown")
    remedy = "each look at it takes a microsecond; boot with clocksource=tsc if the machine has it"
    return Line("clock", f"{source}, which is slow", Level.WARN, remedy)


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def check_neighbours() -> Iterator[Line]:
    """Yield what is found in a few seconds."""
    from sensor_msgs.msg import JointState

    from featherstone_ros.nodes.node_diagnostics import publishers_of
    from featherstone_ros.tools.rclpy_calls import Participant, take_waiting

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
    clocks = publishers.get(CLOCK_TOPIC, [])
    yield check_nodes([f"{space.rstrip('/')}/{name}" for name, space in names])
    if clocks:
        yield check_topic(CLOCK_TOPIC, clocks, "simulated time, for nodes with use_sim_time")
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
    shown = ", ".join(sorted(count)[:NAMED]) + ", ..." * (len(count) > NAMED)
    return Line("nodes", f"{len(count)}: {shown}")


def check_topic(name: str, publishers: Sequence[str], what: str) -> Line:
    """Is it one alone who publishes there?"""
    by = " and ".join(publishers[:NAMED])
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
    from sensor_msgs.msg import JointState

    from featherstone_ros.nodes.topics import seconds
    from featherstone_ros.tools.rclpy_calls import decode

    content, known = heard[-1]
    stamp = seconds(decode(content, JointState).header.stamp)
    late = 1e-9 * known["received_timestamp"] - stamp
    if stamp and not is_simulated and abs(late) > OFF:
        text = f"{line.text}; stamps are {late:.3g} s old"
        remedy = "let NTP or PTP set the clocks of both machines"
        return replace(line, text=text, level=Level.WARN, remedy=remedy)
    return line
