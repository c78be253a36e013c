"""The compiled loop on rclpy's handles: messages, requests, records, and its end."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from compiled import echo
from refusals import refusals
from support import (  # skips this module where ROS is missing
    DEADLINE,
    Ros,
    set_priority,
    status_values,
)
from test_feedforward_controller import NAMES, URDF

# isort: split
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from featherstone_ros._loop import (
    ENDED_RECORD,
    MAX_OBJECTS,
    PUBLISH_FAILED_RECORD,
    TOO_LARGE_RECORD,
    RclLoop,
)
from featherstone_ros.errors import MiddlewareError
from featherstone_ros.nodes.realtime_loop import ThreadLoop
from featherstone_ros.nodes.topics import DetachedGroup
from featherstone_ros.realtime.scheduling import Scheduling

VALUES = [1.0, 2.0, 3.0]
ANSWER = serialize_message(Float64MultiArray(data=VALUES))
STATE = JointState(name=["a", "b"], position=[0.1, 0.2])
LARGEST = 4096
LARGE = JointState(name=["a"], position=[0.0] * LARGEST)
TALKER = """
import time, rclpy
from sensor_msgs.msg import JointState
rclpy.init()
publisher = rclpy.create_node("talker").create_publisher(JointState, "states", 10)
while True:
    publisher.publish(JointState(name=["a", "b"], position=[0.1, 0.2]))
    time.sleep(0.005)
"""


def may_be_fifo() -> bool:
    """Tell whether this process may use SCHED_FIFO."""
    set_priority(os.getpid(), 1)
    policy = os.sched_getscheduler(0)
    set_priority(os.getpid(), 0)
    return policy == os.SCHED_FIFO


class Host(Node):
    """A node with what a loop needs of one."""

    def __init__(self, **options: Any) -> None:
        super().__init__("host", **options)
        self.records: list[Any] = []
        self.deferred: list[Any] = []
        self._wake = self.create_guard_condition(self._run)

    def defer(self, action: Any) -> None:
        self.deferred.append(action)
        self._wake.trigger()

    def _run(self) -> None:
        while self.deferred:
            self.deferred.pop(0)()

    def of_kind(self, kind: int) -> list[Any]:
        return [record for record in self.records if record[0] == kind]


class Bench:
    """A loop with an EchoCycle on a node of its own, and the other ends of its topics."""

    def __init__(
        self, ros: Ros, at_once: bool = True, more: Sequence[str] = (), **answers: Any
    ) -> None:
        self.ros = ros
        self.host = Host(context=ros.context)
        ros.executor.add_node(self.host)
        group = DetachedGroup()
        self.input, *others = (
            self.host.create_subscription(
                JointState, topic, lambda *_: None, 100, callback_group=group, raw=True
            )
            for topic in ("states", *more)
        )
        self.output = self.host.create_publisher(Float64MultiArray, "commands", 100)
        self.cycle = echo.EchoCycle(ANSWER, **answers)
        self.loop = ThreadLoop(
            self.host,
            self.cycle,
            [self.input, *others],
            [self.output],
            self.host.records.extend,
            scheduling=Scheduling(),
            at_once=at_once,
            largest_message=LARGEST,
        )
        self.runner = self.loop.runner
        self.answers = ros.collect(Float64MultiArray, "commands")
        self.publisher = ros.publisher(JointState, "states", 100)

    def close(self) -> None:
        if self.loop.stop(0.0):
            self.host.destroy_node()


@pytest.fixture
def bench(ros: Ros) -> Iterator[Bench]:
    bench = Bench(ros)
    bench.loop.start()
    yield bench
    bench.close()


def test_loop_listens_again_after_an_events_executor_has_taken_its_message(ros, bench):
    """It replaces the callback for new messages, whatever the callback group says."""
    events = pytest.importorskip("rclpy.experimental.events_executor")  # Kilted and newer
    taken = []

    def take(_: bytes) -> None:
        taken.append(bench.runner.counters()["messages"])
        bench.runner.listen_again()

    def is_taken() -> bool:
        bench.publisher.publish(STATE)  # the loop's own poll may be the first to take it
        executor.spin_once(timeout_sec=0.1)
        return bool(taken)

    bench.input.callback = take
    executor = events.EventsExecutor(context=ros.context)
    node = Node("events", context=ros.context)
    node._subscriptions.append(bench.input)  # without guard conditions, which it does not serve
    executor.add_node(node)
    ros.wait_for(is_taken, "a message that the executor takes")
    for _ in range(3):
        bench.publisher.publish(STATE)
    ros.wait_for(lambda: bench.runner.counters()["messages"] >= taken[0] + 3, "those that follow")
    executor.spin_once(timeout_sec=0.1)
    assert len(taken) == 1, "the executor is still told of messages"
    node._subscriptions.remove(bench.input)


UNLIKE = """
#define _GNU_SOURCE
#include <dlfcn.h>

typedef int take(const void *, void *, _Bool *, long *, void *);

int rmw_take_serialized_message_with_info(const void *subscription, void *message, _Bool *taken,
                                          long *info, void *allocation) {
    void *library = dlopen("librcl.so", RTLD_NOW | RTLD_NOLOAD);
    int code = ((take *) dlsym(library, __func__))(subscription, message, taken, info, allocation);
    info[0] = info[1] = 7;  /* what another layout may have where the times are */
    return code;
}
"""


def test_times_of_messages_that_are_not_as_expected_are_named_once_in_the_log(ros):
    compiler = shutil.which("cc") or pytest.skip("there is no C compiler")
    library = ros.folder / "unlike.so"
    command = [compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library]
    subprocess.run(command, input=UNLIKE, text=True, check=True)
    ros.environment["LD_PRELOAD"] = str(library)
    node = ros.start("featherstone_ros.digital_twin", {"robot_description": URDF}, fork=False)
    commands = ros.publisher(Float64MultiArray, "/digital_twin/commands")
    for _ in range(3):
        commands.publish(Float64MultiArray(data=[0.0] * len(NAMES)))
    node.wait_for_output("times of messages are not as expected")
    status = ros.status(node="digital_twin")
    assert status_values(status)["commands lost"] == "0"
    node.stop()
    assert node.output.count("times of messages are not as expected") == 1


def test_the_numbers_of_several_publishers_are_not_taken_for_one_anothers(ros, bench):
    other = ros.publisher(JointState, "states", 100)
    ros.wait_for(lambda: bench.input.get_publisher_count() == 2, "both publishers")
    bursts = [(other, 30)] + [(bench.publisher, 2), (other, 2)] * 5
    for publisher, count in bursts:
        answered = bench.runner.counters()["messages"]
        for _ in range(count):
            publisher.publish(STATE)
        ros.wait_for(
            lambda n=answered + count: bench.runner.counters()["messages"] >= n, "all messages"
        )
    assert bench.runner.counters()["lost"] == 0


def test_what_the_queue_cannot_hold_is_counted_as_lost(ros):
    bench = Bench(ros, duration=0.03)
    bench.loop.start()
    bench.publisher.publish(STATE)  # before the first message it hears, none is lost
    ros.wait_for(lambda: bench.runner.counters()["messages"], "the first message")
    for _ in range(300):
        bench.publisher.publish(STATE)
    ros.wait_for(lambda: bench.runner.counters()["lost"], "losses")
    assert bench.runner.counters()["lost"] <= 200
    bench.close()


def test_a_cycle_gets_messages_and_requests_and_gives_records_and_timing(ros):
    bench = Bench(ros)
    bench.loop.start()
    for count in range(1, 6):
        bench.publisher.publish(STATE)
        ros.wait_for(lambda n=count: len(bench.answers) == n, "an answer")
        assert list(bench.answers[-1].data) == VALUES
    assert bench.runner.request(7, payload=99) == 1
    assert bench.loop.stop()
    assert [record[4] for record in bench.host.of_kind(7)] == [99]
    assert bench.host.of_kind(ENDED_RECORD)
    counters = bench.runner.counters()
    assert (counters["messages"], counters["lost"], counters["publish_failed"]) == (5, 0, 0)
    report = bench.loop.timing.report()
    assert report["states lost"] == 0
    assert sum(int(b.partition(":")[2]) for b in report["latency histogram [us]"].split()) == 5
    assert float(report["latency max [us]"]) >= float(report["latency p50 [us]"]) > 0


def test_messages_are_answered_and_ticks_come_while_nobody_gives_the_interpreter_free(ros, bench):
    ticking = RclLoop(echo.EchoCycle(ANSWER, period=0.01), [], [bench.output], at_once=False)
    thread = threading.Thread(target=ticking.run)
    thread.start()
    ros.run_script(TALKER)
    ros.wait_for(lambda: bench.cycle.messages > 10, "the talker")
    before, ticks = bench.cycle.messages, ticking.counters()["ticks"]
    ctypes.PyDLL(None).usleep(2_000_000)  # PyDLL: with the interpreter held
    answered, ticked = bench.cycle.messages - before, ticking.counters()["ticks"] - ticks
    assert answered > 20 and ticked > 20
    ticking.stop()
    thread.join()
    ticking.close()


def test_large_messages_are_dropped_and_recorded_and_the_next_one_is_answered(ros, bench, capfd):
    for _ in range(30):
        bench.publisher.publish(LARGE)
    bench.publisher.publish(STATE)
    ros.wait_for(lambda: len(bench.answers) == 1, "an answer")
    ros.wait_for(lambda: bench.host.of_kind(TOO_LARGE_RECORD), "a record")
    _, topic, _, (size, count, *_), _ = bench.host.of_kind(TOO_LARGE_RECORD)[0]
    assert (topic, count) == (0, 1.0)
    assert size == pytest.approx(8 * LARGEST, abs=100)
    assert bench.runner.counters()["too_large"] == 30
    assert len(bench.host.of_kind(TOO_LARGE_RECORD)) < 10
    assert bench.cycle.messages == 1
    assert "overwritten" not in capfd.readouterr().err


def test_a_state_is_answered_after_all_that_was_published_or_asked_for_before_it(ros):
    """Also where all come while the loop is at something else."""
    bench = Bench(ros, more=("wrench",), period=1.0, duration=0.2)
    wrench = ros.publisher(JointState, "wrench")
    bench.loop.start()
    ros.wait_for(lambda: bench.cycle.ticks == 1, "a tick", period=0.0)
    wrench.publish(STATE)
    bench.runner.post(0)
    bench.publisher.publish(STATE)
    ros.wait_for(lambda: bench.cycle.messages == 2, "both messages")
    assert bench.cycle.calls == [-1, 1, 0]
    bench.close()


def test_messages_do_not_wake_a_loop_that_waits_for_its_tick_and_are_all_taken(ros):
    bench = Bench(ros, at_once=False, period=0.2)
    bench.loop.start()
    ros.wait_for(lambda: bench.answers, "a tick")
    begun, rounds = time.monotonic(), bench.runner.counters()["rounds"]
    for _ in range(50):
        bench.publisher.publish(STATE)
        time.sleep(0.002)
    ros.wait_for(lambda: bench.cycle.messages == 50, "the messages")
    rounds = bench.runner.counters()["rounds"] - rounds
    assert rounds < 5 + 100 * (time.monotonic() - begun)  # it looks every 20 ms
    bench.close()


# Requests and records.


def test_requests_are_answered_in_the_order_in_which_they_came(bench):
    for kind in range(10):
        bench.runner.post(kind)
    assert bench.runner.request(10) == 11
    ros = bench.ros
    ros.wait_for(lambda: len(bench.host.records) == 11, "records")
    assert [record[0] for record in bench.host.records] == list(range(11))


def test_requests_are_answered_before_the_start_and_after_the_end(ros):
    bench = Bench(ros)
    assert bench.runner.request(1) == 1
    bench.loop.start()
    assert bench.runner.request(2) == 2
    bench.loop.stop()
    assert bench.runner.request(3) == 3
    assert [record[0] for record in bench.runner.records()] == [3]


def test_requests_that_are_late_are_withdrawn_and_leave_room_for_others(ros):
    """Of a loop that is at a message for longer than this process may stand still."""
    busy = Bench(ros, duration=3.0)
    busy.loop.start()
    busy.publisher.publish(STATE)
    ros.wait_for(lambda: busy.cycle.messages, "the message that keeps it busy")
    rounds = busy.runner.counters()["rounds"]
    with pytest.raises(TimeoutError, match="no time"):
        busy.runner.request(1, timeout=0.05)
    for _ in range(1000):
        with pytest.raises(TimeoutError) as late:
            busy.runner.request(1, timeout=1e-3)
        if "wait already" in str(late.value):
            break
    assert "wait already" in str(late.value)
    ros.wait_for(lambda: busy.runner.counters()["rounds"] > rounds, "the end of its work")
    assert busy.runner.request(2, timeout=DEADLINE) == 1  # the others were not counted
    busy.close()


def test_many_threads_can_ask_at_once(bench):
    answers: list[int] = []

    def ask() -> None:
        answers.extend(bench.runner.request(1) for _ in range(200))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == list(range(1, 1601))


def test_what_belongs_to_a_request_lives_until_it_is_answered(bench):
    owner = object()
    before = sys.getrefcount(owner)
    bench.runner.request(1, owner=owner)
    assert sys.getrefcount(owner) == before


def test_records_about_objects_find_room_when_others_are_dropped(ros):
    bench = Bench(ros)
    runner = bench.runner
    for _ in range(3000):
        runner.request(1)
    assert runner.counters()["records_dropped"] > 0
    for number in range(1, MAX_OBJECTS + 1):
        runner.request(2, payload=number)
    assert [record[4] for record in runner.records() if record[0] == 2] == [
        *range(1, MAX_OBJECTS + 1)
    ]
    bench.close()


# The end.


def test_the_end_waits_until_it_is_safe_and_messages_are_answered_meanwhile(ros):
    bench = Bench(ros, rest=0.4)
    bench.loop.start()
    begun = time.monotonic()
    bench.runner.stop(DEADLINE)
    while not bench.loop.has_ended:
        bench.publisher.publish(STATE)
        ros.run_for(0.02)
    assert time.monotonic() - begun >= 0.35
    ros.wait_for(lambda: bench.answers, "an answer")
    assert bench.loop.stop()
    assert [record[3][0] for record in bench.host.of_kind(ENDED_RECORD)] == [1.0]


def test_the_end_comes_in_time_if_it_never_gets_safe(ros):
    bench = Bench(ros, rest=1e6)
    bench.loop.start()
    begun = time.monotonic()
    assert bench.loop.stop(within=0.2)
    assert 0.2 <= time.monotonic() - begun < DEADLINE
    assert [record[3][0] for record in bench.host.of_kind(ENDED_RECORD)] == [0.0]


def test_handles_outlive_their_destruction_while_the_loop_runs(ros, bench):
    bench.host.destroy_subscription(bench.input)
    bench.host.destroy_publisher(bench.output)
    bench.publisher.publish(STATE)
    ros.wait_for(lambda: bench.answers, "an answer")
    with pytest.raises(RuntimeError, match="stop it first"):
        bench.runner.close()


def test_a_failure_to_publish_is_recorded(ros):
    from rclpy.context import Context

    context = Context()
    context.init(domain_id=ros.domain)
    host = Host(context=context)
    output = host.create_publisher(Float64MultiArray, "commands", 10)
    loop = RclLoop(echo.EchoCycle(ANSWER, period=0.01), [], [output], at_once=False)
    thread = threading.Thread(target=loop.run)
    thread.start()
    context.shutdown()
    ros.wait_for(lambda: loop.counters()["publish_failed"] > 3, "failures")
    loop.stop()
    thread.join()
    loop.close()
    assert any(record[0] == PUBLISH_FAILED_RECORD for record in loop.records())
    host.destroy_node()


def test_records_do_not_pile_up_calls_while_the_executor_is_stuck(ros, bench):
    for _ in range(5):
        bench.runner.request(1)
        time.sleep(0.02)
    assert len(bench.host.deferred) <= 1
    ros.wait_for(lambda: len(bench.host.of_kind(1)) == 5, "records")


def test_a_signal_that_the_kernel_hands_to_their_thread_does_not_end_records(ros, bench):
    def waiting():  # another loop's thread is still there where the middleware held that up
        threads = (t for t in threading.enumerate() if t.name == "records")
        calls = {t: Path(f"/proc/self/task/{t.native_id}/syscall") for t in threads}
        return [t for t, call in calls.items() if call.read_text().split()[1:2] == [descriptor]]

    descriptor, arrived = hex(bench.runner.records_fd), []
    ros.wait_for(waiting, "it to wait", period=0.01)
    (thread,) = waiting()
    before = signal.signal(signal.SIGUSR1, lambda signum, _: arrived.append(signum))
    signal.pthread_kill(thread.ident, signal.SIGUSR1)
    ros.wait_for(lambda: arrived, "the signal")
    signal.signal(signal.SIGUSR1, before)
    bench.runner.request(1)
    ros.wait_for(lambda: bench.host.of_kind(1), "a record")


def test_a_loop_that_was_forgotten_lives_as_long_as_the_middleware_calls_it(ros):
    states = ros.node.create_subscription(JointState, "forgotten", lambda _: None, 10, raw=True)
    commands = ros.node.create_publisher(Float64MultiArray, "commands", 10)
    loop = RclLoop(echo.EchoCycle(ANSWER), [states], [commands])
    references = sys.getrefcount(loop)
    publisher = ros.publisher(JointState, "forgotten")
    publisher.publish(STATE)
    ros.run_for(0.1)
    loop.close()
    loop.close()
    assert sys.getrefcount(loop) == references - 1


test_what_is_no_handle_or_no_cycle_is_refused = refusals(
    (
        MiddlewareError,
        "handles are not as expected",
        lambda: RclLoop(echo.EchoCycle(ANSWER), [SimpleNamespace(handle=None)], []),
    ),
    (ValueError, "PyCapsule", lambda: RclLoop(SimpleNamespace(capsule="none"), [], [])),
)


PROCESS = f"""
import os, sys, threading, time, rclpy
sys.path.append({str(Path(__file__).parents[1])!r})
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray
from compiled import echo
from featherstone_ros._loop import RclLoop
rclpy.init()
node = rclpy.create_node("host")
output = node.create_publisher(Float64MultiArray, "commands", 10)
cycle = echo.EchoCycle(serialize_message(Float64MultiArray(data=[1.0])), period=0.01, rest=0.2)
loop = RclLoop(cycle, [], [output], node.get_clock(), at_once=False)
"""
SCHEDULED = (
    PROCESS
    + """
from featherstone_ros.realtime.scheduling import Scheduling
def run():
    assert not Scheduling(priority=20).enter()
    loop.run()
end = threading.Event()
before = os.getpriority(os.PRIO_PROCESS, 0)
other = threading.Thread(target=end.wait, daemon=True)
other.start()
thread = threading.Thread(target=run)
thread.start()
while not loop.counters()["ticks"]:
    time.sleep(0.01)
python = {t.native_id for t in threading.enumerate()}
tasks = set(map(int, os.listdir("/proc/self/task")))
priority = {t: os.sched_getparam(t).sched_priority for t in tasks}
assert priority[thread.native_id] == 20
assert {priority[t] for t in python - {thread.native_id}} == {0}
assert {priority[t] for t in tasks - python} == {1}
nice = {t: os.getpriority(os.PRIO_PROCESS, t) for t in python}
assert nice[other.native_id] == before
assert nice[os.getpid()] == (-20 if os.getuid() == 0 else before)
end.set()
loop.stop()
thread.join()
"""
)


@pytest.mark.skipif(not may_be_fifo(), reason="SCHED_FIFO is not allowed")
def test_the_middleware_runs_before_python_but_after_the_loop(ros):
    process = ros.run_script(SCHEDULED)
    assert process.wait() == 0, process.output


PUNCTUAL = (
    PROCESS
    + """
def slice_of(thread):
    with open(f"/proc/self/task/{thread}/sched") as lines:
        return next(int(line.split()[-1]) for line in lines if line.startswith("se.slice"))
os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
thread = threading.Thread(target=loop.run)
thread.start()
while not loop.counters()["ticks"]:
    time.sleep(0.01)
assert slice_of(thread.native_id) == 100_000 < slice_of(os.getpid())
loop.stop()
thread.join()
"""
)


def tells_slices() -> bool:
    """Return whether Linux has slices of one's own, and shows them."""
    version = tuple(map(int, re.findall(r"\d+", os.uname().release)[:2]))
    scheduled = Path("/proc/self/sched")
    return version >= (6, 12) and scheduled.exists() and "se.slice" in scheduled.read_text()


@pytest.mark.skipif(not tells_slices(), reason="Linux 6.12 or newer has slices of a thread's own")
def test_without_priority_the_loop_goes_before_who_runs_for_longer(ros):
    process = ros.run_script(PUNCTUAL)
    assert process.wait() == 0, process.output
