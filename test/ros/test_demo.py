"""The real demo: two node processes over DDS, a short motion, the report."""

import json
import os
import re
import signal
from pathlib import Path

import pytest
from rclpy.serialization import serialize_message
from rig import TWIN, held_panda
from std_msgs.msg import Float64MultiArray
from support import NodeProcess, Ros, children, is_alive

from featherstone_ros.nodes.topics import AHEAD
from featherstone_ros.tools.demo.play import DemoNode

PROGRESS = "PD alone"  # shown as the nodes start


def demo(ros: Ros, *arguments: str) -> NodeProcess:
    """Start the console command, as in a terminal with a progress bar."""
    ros.environment |= {"FORCE_COLOR": "1", "COLUMNS": "100", "TERM": "xterm"}
    return ros.tool("demo", *arguments)


def finished(ros: Ros, *arguments: str) -> dict:
    """Run the short demo to its end; return its report."""
    process, topics = demo(ros, "--duration", "1.5", "--rate", "200", *arguments), set()
    namespace = f"/featherstone_demo_{process.pid}"
    is_locked = ros.get_parameter(f"{namespace}/digital_twin", "lockstep")

    def has_ended() -> bool:
        topics.update(name for name, _ in ros.node.get_topic_names_and_types())
        return not process.is_running

    ros.wait_for(has_ended, "end of the demo", 200.0, period=0.5)
    assert process.wait() == 0, process.output
    assert "Traceback" not in process.output
    report = json.loads((ros.folder / "demo/report.json").read_text())
    assert is_locked != report["real_time"]  # what repeats to the bit: test_two_controllers.py
    # It shares its time with no other simulation.
    own = {f"{namespace}/clock"} if is_locked else set()
    assert {topic for topic in topics if topic.endswith("/clock")} == own
    return report


def test_demo_reports_what_it_measured(ros, tmp_path):
    pytest.importorskip("matplotlib")
    report = finished(ros, "--animation", "demo.gif")
    assert (tmp_path / "demo.gif").read_bytes().startswith(b"GIF89a")
    assert report["joints"] == [f"panda_joint{i}" for i in range(1, 8)]
    assert min(report["velocity_share"]) >= 0.5
    assert not report["disturbances"] and not report["real_time"]
    for run in report["runs"].values():
        peaks = zip(run["effort_peak"], report["effort_limit"], strict=True)
        assert all(peak <= limit for peak, limit in peaks)
    picture = (tmp_path / "demo/report.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and len(picture) > 50_000
    for node in ("digital_twin", "feedforward_controller"):
        log = (tmp_path / f"demo/{node}.log").read_text()
        assert "Traceback" not in log and log.count("configure: done") == 3
    none, full = report["runs"]["none"], report["runs"]["full"]
    assert max(none["rms"]) < 0.2  # PD alone follows too, only badly
    assert report["improvement"] > 20
    assert max(full["rms"]) < 1e-3


def test_the_twin_stays_until_the_controller_has_brought_the_arm_to_rest(ros):
    rig = held_panda(ros, pace=1.0, rate=50.0)
    rig.move()
    ros.set_parameters(TWIN, {"real_time_factor": 0.2})  # so long that clean up is asked for again
    with DemoNode("", ros.domain, lambda: None, simulated=True) as node:
        node.give_arm_back()

    def time_of(what: str, node: NodeProcess) -> float:
        node.wait_for_output(what)
        return float(re.search(rf"\[([\d.]+)\] .*{what}", node.output)[1])

    assert time_of("clean up: done", rig.controller) < time_of("deactivate: done", rig.twin)


STATES = 6000  # a second of a twin in lockstep
RECORDER = f"""
import time
from std_msgs.msg import Float64MultiArray
from featherstone_ros.nodes.topics import AHEAD
from featherstone_ros.tools.rclpy_calls import Participant, take_waiting
with Participant("recorder") as node:
    states, heard = node.queue(Float64MultiArray, "states", AHEAD.depth, AHEAD.reliability), 0
    while heard < {STATES}:
        heard += len(take_waiting(states))
        time.sleep(0.01)
"""


def test_states_are_kept_for_a_recorder_that_stands_still(ros):
    recorder = ros.run_script(RECORDER)
    states = ros.publisher(Float64MultiArray, "states", AHEAD)
    message = serialize_message(Float64MultiArray(data=[0.0] * 21))
    recorder.send(signal.SIGSTOP)
    for _ in range(STATES):
        states.publish(message)
    recorder.send(signal.SIGCONT)
    ros.wait_for(lambda: not recorder.is_running, "all states at the recorder")
    assert recorder.wait() == 0, recorder.output


@pytest.mark.alone  # rates are those of a machine without other nodes
def test_demo_in_real_time_has_rates_and_latencies(ros):
    pytest.importorskip("matplotlib")
    report = finished(ros, "--real-time")
    assert report["real_time"]
    for run in report["runs"].values():
        assert run["state_rate"] > 0 and run["command_rate"] > 0
        assert 0 < run["latency_median"] < 0.1


@pytest.mark.study
def test_demo_says_which_node_died(ros):
    process, node = demo(ros, "--rate", "100"), "feedforward_controller"

    def nodes() -> dict[int, str]:
        lines = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(process.pid)}
        return {pid: line for pid, line in lines.items() if "--ros-args" in line}

    process.wait_for_output(PROGRESS)
    both = ros.wait_for(lambda: len(its := nodes()) == 2 and its, "both nodes")
    (victim,) = (pid for pid, command in both.items() if f"featherstone_ros.{node}\0" in command)
    os.kill(victim, signal.SIGKILL)
    assert process.wait(100.0) == 1, process.output
    assert f"{node} ended with exit status -9" in process.output
    assert "Traceback" not in process.output
    assert not any(is_alive(pid) for pid in both)
