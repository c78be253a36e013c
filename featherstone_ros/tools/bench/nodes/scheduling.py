"""How processes are scheduled, what processor time they took, and how much memory they have.

Linux only: scheduling by thread, processor clocks of other processes, /proc.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PRIORITY = 60  # of the nodes, under SCHED_FIFO
DEFAULT = "default scheduling"
FIFO = f"SCHED_FIFO {PRIORITY}"
_LISTENING = 1  # priority of the recorder: above all but the measured processes


def may_be_fifo() -> bool:
    """Tell whether this process may use SCHED_FIFO."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
        os.sched_setscheduler(0, policy, param)
    except PermissionError:
        return False
    return True


def schedule(pid: int, scheduling: str, priority: int = PRIORITY) -> None:
    """Set the scheduling of all threads of a process, and of those that they start."""
    policy, priority = (os.SCHED_FIFO, priority) if scheduling == FIFO else (os.SCHED_OTHER, 0)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended since
            os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))


def has_fifo_thread(pid: int) -> bool:
    """Tell whether any thread of a process has SCHED_FIFO."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with suppress(ProcessLookupError):
            if os.sched_getscheduler(int(thread.name)) == os.SCHED_FIFO:
                return True
    return False


@contextmanager
def taking_part(scheduling: str) -> Iterator[None]:
    """Schedule this process like those that are measured, for a while."""
    yield from _while(scheduling, PRIORITY)


@contextmanager
def listening(scheduling: str) -> Iterator[None]:
    """Give this process, for a while, a priority above all but the measured processes."""
    yield from _while(scheduling, _LISTENING)


def _while(scheduling: str, priority: int) -> Iterator[None]:
    schedule(os.getpid(), scheduling, priority)
    try:
        yield
    finally:
        schedule(os.getpid(), DEFAULT)


def processor_time(pid: int) -> int:
    """Return the processor time that a process took, all its threads together [ns].

    Its clock's number is what clock_getcpuclockid(3) gives: utime + stime, but in nanoseconds.
    """
    return time.clock_gettime_ns((~pid << 3) | 2)


def resident_memory(pid: int) -> int:
    """Return a process's resident set size [bytes]."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
