"""How the operating system treats the thread of a loop: priority, processors, memory."""

from __future__ import annotations

import ctypes
import os
import pwd
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from featherstone_ros.parameter import declared

MCL_CURRENT, MCL_FUTURE = 1, 2  # <sys/mman.h>
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # <malloc.h>
BEST_NICE = -20
LOWEST_PRIORITY = 1  # of SCHED_FIFO

LIMITS = (
    "; to allow it, add to /etc/security/limits.conf '{user} - rtprio 98', '{user} - nice -20' "
    "(for the other threads) and '{user} - memlock unlimited' and log in again, or set "
    "LimitRTPRIO=98, LimitNICE=-20 and LimitMEMLOCK=infinity in the systemd unit"
)


def refuse_missing_cpus(cpus: Iterable[int]) -> str | None:
    """Say why processors cannot be used, None if they can."""
    allowed = sorted(os.sched_getaffinity(0))
    missing = [cpu for cpu in cpus if cpu not in allowed]
    if not missing:
        return None
    return f"no processor {', '.join(map(str, missing))}; there are {', '.join(map(str, allowed))}"


@dataclass(frozen=True)
class Scheduling:
    """The scheduling that a loop requests from the operating system."""

    priority: int = declared(
        0,
        "SCHED_FIFO priority of the loop's thread; 0: the scheduling of the process",
        0,
        99,
        name="realtime.priority",
        read_only=True,
    )
    cpus: tuple[int, ...] = declared(
        (),
        "processors on which that thread may run; empty: all",
        name="realtime.cpu_affinity",
        kind=int,
        check=refuse_missing_cpus,
        read_only=True,
    )
    lock_memory: bool = declared(
        False, "keep the memory of the process in RAM", name="realtime.lock_memory", read_only=True
    )

    def enter(self) -> list[str]:
        """Put it into effect for the calling thread, memory for the whole process.

        With a priority, threads that the calling one waits for change, too, see
        ``favour_other_threads``.

        Returns a line for each request that was not allowed, with the way to allow it.
        """
        problems = []
        if self.cpus:
            os.sched_setaffinity(0, self.cpus)
        if self.priority:
            try:
                os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(self.priority))
                favour_other_threads()
            except PermissionError:
                problems.append(
                    f"no privilege for real-time priority {self.priority}: the loop runs with "
                    f"{scheduling_in_force()} scheduling"
                )
        if self.lock_memory and not lock_memory():
            problems.append("no privilege to lock memory: the loop may have to wait for pages")
        return [problem + LIMITS.format(user=user_name()) for problem in problems]

    def in_force(self) -> str:
        """Return the calling thread's scheduling in words, e.g. ``FIFO 60, cpu 1``."""
        words = [scheduling_in_force()]
        if self.priority and words[0] != f"FIFO {self.priority}":
            words[0] += f" (FIFO {self.priority} was not allowed)"
        if self.cpus:
            words.append(f"cpu {' '.join(map(str, sorted(os.sched_getaffinity(0))))}")
        if self.lock_memory:
            words.append("memory locked" if memory_is_locked() else "memory not locked")
        return ", ".join(words)


def favour_other_threads() -> None:
    """Give other threads of the process precedence over other processes, if allowed.

    Threads that are not Python's, the middleware's, hand messages over: they get the lowest
    real-time priority. The main one, the executor's, publishes too, under locks of the middleware
    that a loop waits for: it gets the best scheduling without real-time. Any other Python gets
    nothing, so that one that never rests keeps no other process from running.
    """
    set_session_niceness(os.getpid(), BEST_NICE)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, os.getpid(), BEST_NICE)  # of this thread alone
    python = {thread.native_id for thread in threading.enumerate()}
    for task in map(int, os.listdir("/proc/self/task")):
        if task not in python:
            with suppress(OSError):  # not allowed, or a thread that has just ended
                os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(LOWEST_PRIORITY))


def set_session_niceness(pid: int, niceness: int) -> None:
    """Set the niceness of a process's session, if allowed.

    Where Linux schedules by session (autogroup), that is the one that counts.
    """
    with suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(f"{niceness}")


def session_niceness(autogroup: str = "/proc/self/autogroup") -> int:
    """Return the niceness of this process's session, 0 where Linux does not schedule by session.

    There is no such file then, or it is empty (in a container with a group of its own).
    """
    with suppress(OSError):
        words = Path(autogroup).read_text().split()
        return int(words[-1]) if words else 0
    return 0


def scheduling_in_force() -> str:
    """Return the calling thread's scheduling in words, e.g. ``FIFO 60`` or ``default``."""
    policy = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
    names = {os.SCHED_FIFO: "FIFO", os.SCHED_RR: "RR"}
    if policy in names:
        return f"{names[policy]} {os.sched_getparam(0).sched_priority}"
    return "default" if policy == os.SCHED_OTHER else f"policy {policy}"


def user_name() -> str:
    """Return the user's name as /etc/security/limits.conf needs it; a number has no name there."""
    with suppress(KeyError):
        return pwd.getpwuid(os.getuid()).pw_name
    return f":{os.getuid()}"  # a range of user ids, see limits.conf(5)


def memory_is_locked() -> bool:
    """Tell whether the process has memory that stays in RAM."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmLck:")[2].split()[0]) > 0


def lock_memory() -> bool:
    """Lock the process's present and future memory into RAM; return whether that was allowed.

    The kernel then provides stacks and buffers with their pages when they are made. Memory that is
    freed stays with the process: given back, it would have to be provided again.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mlockall(MCL_CURRENT | MCL_FUTURE) != 0:
        return False
    libc.mallopt(M_TRIM_THRESHOLD, -1)
    libc.mallopt(M_MMAP_MAX, 0)
    return True
