"""Is this machine fit: libraries, middleware, rights, clock, processor? Needs no ROS."""

from __future__ import annotations

import os
import platform
import resource
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from featherstone_ros.control.diagnostics import DiagnosticLevel as Level
from featherstone_ros.realtime.scheduling import LIMITS, LOWEST_PRIORITY, user_name
from featherstone_ros.tools.processes import HIGHEST_DOMAIN, ask_middleware, domain_number

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
    for name in LIBRARIES.keys() - set(there):
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
