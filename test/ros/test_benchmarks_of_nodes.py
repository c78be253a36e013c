"""The benchmark of nodes: its meter beside a node that answers late or not, a short run of all."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import Ros, free_domain  # skips this module where ROS is missing

# isort: split
import numpy as np
from rclpy.node import Node
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from benchmarks.nodes.loops import deviations, reactions, unanswered
from benchmarks.nodes.meter import Meter
from featherstone_ros.realtime.scheduling import session_niceness, set_session_niceness
from featherstone_ros.tools.processes import node_environment
from featherstone_ros.tools.rclpy_calls import take_waiting
from featherstone_ros.tools.robot_setup import load

ROOT = Path(__file__).resolve().parents[2]
COMMAND = serialize_message(Float64MultiArray(data=[0.0] * 7))
RATE, DURATION, PATIENCE = 50.0, 1.0, 0.4  # [Hz], [s], [s]
LATE = 0.15  # [s]


class Answerer(Node):
    """Answers states but for some of them, some late; each by its place since ``begin``."""

    def __init__(self, ros: Ros) -> None:
        super().__init__("answerer", context=ros.context)
        self._states = self.create_subscription(
            JointState, "joint_states", lambda _: None, 10, raw=True
        )
        self._commands = self.create_publisher(Float64MultiArray, "~/commands", 10)
        self._end = threading.Event()
        self.begin()

    def begin(self, skipped: tuple[int, ...] = (), late: tuple[int, ...] = ()) -> None:
        self._skipped, self._late, self._count = skipped, late, 0

    @contextlib.contextmanager
    def answering(self):
        thread = threading.Thread(target=self._answer)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join()

    def _answer(self) -> None:
        while not self._end.wait(0.001):
            for _ in take_waiting(self._states):
                if self._count in self._late:
                    time.sleep(LATE)
                if self._count not in self._skipped:
                    self._commands.publish(COMMAND)
                self._count += 1


class Alive:
    """Stands for the process of a node that is in this one."""

    def check(self) -> None:
        """Never ends."""


@pytest.mark.parametrize(("skipped", "late"), [((), ()), ((2, 5), ()), ((1,), (4,))])
def test_a_state_that_nobody_answers_is_lost_and_a_late_one_is_late(ros, skipped, late):
    answerer = Answerer(ros)
    node = Node("meter", context=ros.context)
    meter = Meter(node, "", "/answerer", load("panda"))
    with answerer.answering():
        meter.wait_until_answered(Alive())
        measured = []

        def measure() -> None:
            answerer.begin(skipped, late)
            measured.append(meter.run(DURATION, RATE, PATIENCE))

        # A machine that stands still for a second loses more.
        is_undisturbed = lambda: measured[-1].lost == len(skipped)  # noqa: E731
        ros.do_until(is_undisturbed, "undisturbed measurement", measure, 0.0)
        answers = measured[-1]
    assert np.count_nonzero(answers.latency >= LATE) >= len(late)
    assert 0 < np.median(answers.latency) < LATE
    node.destroy_node()
    answerer.destroy_node()


def test_times_of_publications_are_compared_with_the_period_and_the_newest_state():
    ms = 1_000_000
    assert deviations([0, ms, 3 * ms, 4 * ms]) == pytest.approx([0.0, 1e-3, 0.0])
    states, commands = [10 * ms, 20 * ms, 30 * ms], [9 * ms, 11 * ms, 32 * ms]
    assert reactions(states, commands) == pytest.approx([1e-3, 2e-3])


def test_states_without_a_command_are_counted_also_if_nobody_saw_them():
    states = SimpleNamespace(sent=[10, 20, 40, 50], number=[4, 5, 7, 8])  # that at 30 unseen
    commands = SimpleNamespace(sent=[11, 21, 51], number=[1, 2, 5])
    assert unanswered(states, commands) == 0
    commands.number[-1] = 3
    assert unanswered(states, commands) == 2


@contextlib.contextmanager
def bench(folder):
    """Start a quick run; end it if the test fails."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only=nodes", "--output=out"]
    with free_domain() as domain:
        environment = node_environment(domain, "LOCALHOST", folder) | {"COLUMNS": "160"}
        path = (environment.get("PYTHONPATH"), str(ROOT))
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        set_session_niceness(process.pid, session_niceness())  # else it may get what is left over
        try:
            yield process, domain
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
            process.communicate(timeout=60)


def nodes_of(domain):
    """Return the process ids of nodes in a domain."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_text()
            environment = (folder / "environ").read_text().split("\0")
            if "--ros-args" in command and f"ROS_DOMAIN_ID={domain}" in environment:
                found.append(int(folder.name))
    return found


@pytest.mark.study  # the interrupted run below starts the same; the meter is tested above
@pytest.mark.timeout(600)  # it starts a dozen nodes
def test_a_quick_run_measures_real_loops(tmp_path):
    with bench(tmp_path) as (process, domain):
        output, _ = process.communicate(timeout=300)
        assert nodes_of(domain) == []
    assert process.returncode == 0, output
    found = json.loads((tmp_path / "out/report.json").read_text())["nodes"]
    figures = {(it["what"], it["who"]): it for it in found}
    for condition in ("alone", "busy interpreter", "beside 2000 messages a second"):
        what = f"reaction, {condition}"
        assert {"p50 ratio", "p99 ratio", "processor ratio"} < set(figures[what, "floor"])
        assert what in output
    assert {"controller", "floor", "rclpy echo"} < {it["who"] for it in found}
    assert figures["jitter", "sleeping loop"]["p99 ratio"] > 0
    assert figures["control cycle, bytes to bytes", "tight loop"]["p50"] < 1e-3
    assert ("closed loop at 1 kHz", "controller") in figures
    for it in found:
        assert 0 < it["p50"] <= it["p99"] <= it["longest"]
    if (tmp_path / "out/nodes.png").exists():
        assert (tmp_path / "out/nodes.png").read_bytes().startswith(b"\x89PNG")
