"""A node's life as a process: exceptions, signals, stopped terminals; the arm rests first."""

import fcntl
import os
import pty
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import (  # skips this module where ROS is missing
    DEADLINE,
    MATCHING,
    NodeProcess,
    Ros,
    change_request,
    ros_in_free_domain,
)

# isort: split
from lifecycle_msgs.srv import ChangeState
from rosgraph_msgs.msg import Clock
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_lifecycle import SLIDER

from featherstone_ros.nodes.lifecycle import ModelNode

RESTLESS = str(Path(__file__).with_name("restless_node.py"))
NODES = ["digital_twin", "feedforward_controller"]
GONE = "cleanup, stands: True"


def restless(
    ros: Ros, stand: float = 0.5, patience: float = ModelNode.REST_PATIENCE, left: str = ""
):
    """Start the restless node, active; its arm stands after that time, and it waits for so long."""
    ros.environment |= {"STAND": str(stand), "PATIENCE": str(patience), "LEFT": left}
    file = ros.folder / "restless.yaml"
    file.write_text(f"/**: {{ros__parameters: {{robot_description: '{SLIDER}'}}}}")
    node = ros.run([sys.executable, RESTLESS, "--ros-args", "--params-file", str(file)], fork=True)
    node.wait_for_output("activate: done")
    return node


# Exceptions.


@pytest.fixture(scope="module")
def shared(tmp_path_factory) -> Iterator[tuple[Ros, NodeProcess]]:
    """A restless node that stays active, whatever happens; in the end it stops in order."""
    with ros_in_free_domain(tmp_path_factory.mktemp("restless")) as ros:
        node = restless(ros)
        yield ros, node
        node.send(signal.SIGINT)
        assert node.wait() == 0


def test_exception_in_a_callback_is_named_and_survived(shared):
    ros, node = shared
    before = node.output.count("unexpected exception")
    orders = ros.publisher(String, "/restless/order")
    for _ in range(50):
        orders.publish(String(data="nonsense"))
    node.wait_for_output("built into the callback: nonsense")
    assert "unexpected exception in /restless/order" in node.output
    assert ros.call(Trigger, "/restless/question").success
    assert node.output.count("unexpected exception") - before < 5  # of fifty: throttled


def test_service_that_fails_answers_all_the_same(shared):
    ros, node = shared
    assert not ros.call(Trigger, "/restless/fail").success
    node.wait_for_output("unexpected exception in service /restless/fail")
    assert ros.call(Trigger, "/restless/question").success


def test_diagnosis_that_fails_is_reported_and_the_rest_of_diagnostics_goes_on(shared):
    ros, _ = shared
    ros.wait_for_diagnostics(lambda s: s.name == "restless" and "unexpected exception" in s.message)


@pytest.mark.parametrize("node", NODES)
def test_clock_before_time_began_is_survived(ros, node):
    process = ros.start(
        f"featherstone_ros.{node}", {"robot_description": SLIDER, "use_sim_time": True}
    )
    process.wait_for_output("activate: done")
    clock = ros.publisher(Clock, "/clock")
    message = Clock()
    message.clock.sec = -1
    for _ in range(3):
        clock.publish(message)
    process.wait_for_output("unexpected exception in /clock")
    message.clock.sec = 5
    clock.publish(message)
    assert ros.state(f"/{node}") == "active"


def test_signs_of_life_come_ten_times_a_second_at_most(shared):
    ros, _ = shared

    def beats() -> int:
        return int(ros.call(Trigger, "/restless/question").message)

    begun, first = time.monotonic(), beats()
    ros.wait_for(lambda: beats() >= first + 10, "ten signs")
    assert beats() - first < 20.0 * (time.monotonic() - begun)


# Signals.


@pytest.mark.parametrize(
    "signum",
    [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGALRM],
)
def test_signal_ends_a_node_when_its_arm_stands(ros, signum):
    node = restless(ros)
    node.send(signum)
    clean = signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    assert node.wait() == (0 if clean else 128 + signum)
    node.wait_for_output(GONE)


@pytest.mark.parametrize("signum", [signal.SIGTSTP, signal.SIGPIPE])
def test_signal_that_would_only_hinder_is_ignored(shared, signum):
    ros, node = shared
    node.send(signum)
    ros.run_for(0.3)
    assert ros.call(Trigger, "/restless/question").success


def test_end_does_not_wait_for_ever_for_an_arm_that_never_stands(ros):
    node = restless(ros, stand=1e6)
    node.send(signal.SIGINT)
    assert node.wait() == 0
    assert "no rest within" in node.output


def test_arm_that_moves_in_the_end_is_in_the_log_and_in_the_exit_status(ros):
    node = restless(ros, left="elbow at 3.1 rad/s")
    node.send(signal.SIGINT)
    assert node.wait() == 5
    assert "the commands have ended while the arm moves: elbow at 3.1 rad/s" in node.output


def test_callback_that_never_returns_does_not_keep_the_arm_from_rest_nor_the_process_from_its_end(
    ros,
):
    node = restless(ros)
    ros.publisher(String, "/restless/order").publish(String(data="sleep"))
    node.wait_for_output("asleep")
    node.send(signal.SIGTERM)
    assert node.wait(40.0) == 4
    assert "deactivate: done" in node.output


# Lifecycle.


@pytest.mark.parametrize("transition", ["shutdown", 7], ids=["by label", "by number"])
def test_shutdown_from_active_waits_for_the_arm_and_services_answer_meanwhile(ros, transition):
    node = restless(ros, stand=1e6, patience=DEADLINE)
    change = ros.node.create_client(ChangeState, "/restless/change_state")
    ros.wait_for(change.service_is_ready, "service")
    ros.run_for(MATCHING)
    made = change.call_async(change_request(transition))
    node.wait_for_output("deactivate: done")
    for _ in range(2):
        assert ros.call(Trigger, "/restless/question").success
    assert not made.done()
    assert ros.call(Trigger, "/restless/stand").success
    assert ros.wait_for(lambda: made.done() and made, "the end of it").result().success
    node.wait_for_output(GONE)
    assert ros.state("/restless") == "finalized"


def test_cleanup_right_after_deactivate_waits_for_the_arm(ros):
    node = restless(ros)
    assert ros.change_state("/restless", "deactivate")
    assert ros.change_state("/restless", "cleanup")
    node.wait_for_output(GONE)
    assert ros.change_state("/restless", "configure")


# Terminals.


class Terminal:
    """A terminal of a node's own, which may be stopped and read."""

    def __init__(self):
        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)
        self.text = ""

    def read(self) -> str:
        try:
            while data := os.read(self.master, 65536):
                self.text += data.decode(errors="replace")
        except OSError:
            pass
        return self.text

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def terminal():
    terminal = Terminal()
    yield terminal
    terminal.close()


def at_terminal(ros: Ros, stdin, stdout, stderr) -> subprocess.Popen:
    """Start the restless node with these."""
    restless_file = ros.folder / "restless.yaml"
    restless_file.write_text(f"/**: {{ros__parameters: {{robot_description: '{SLIDER}'}}}}")
    return subprocess.Popen(
        [sys.executable, RESTLESS, "--ros-args", "--params-file", str(restless_file)],
        cwd=ros.folder,
        env=ros.environment,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
    )


def test_stopped_terminal_blocks_nothing_and_gets_the_lines_later(ros, terminal):
    node = at_terminal(ros, terminal.slave, terminal.slave, terminal.slave)
    try:
        ros.wait_for(lambda: "activate: done" in terminal.read(), "output")
        termios.tcflow(terminal.slave, termios.TCOOFF)  # Ctrl-S
        for letter in "abcdefghijklmnop":  # each refusal is a line of its own
            ros.change_state("/restless", letter * 250)
        assert ros.call(Trigger, "/restless/question").success
        node.send_signal(signal.SIGINT)
        assert node.wait(DEADLINE) == 0
        termios.tcflow(terminal.slave, termios.TCOON)
        ros.wait_for(lambda: GONE in terminal.read(), "the last words")
    finally:
        node.kill()
        node.wait()


def test_pipe_that_nobody_reads_blocks_nothing(ros):
    readable, writable = os.pipe()
    fcntl.fcntl(writable, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writable, False)
    while True:
        try:
            os.write(writable, b"x" * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writable, True)
    node = at_terminal(ros, subprocess.DEVNULL, writable, writable)
    try:
        os.close(writable)
        ros.wait_for_state("/restless", "active")
        node.send_signal(signal.SIGINT)
        assert node.wait(DEADLINE) == 0
    finally:
        node.kill()
        node.wait()
        os.close(readable)


def test_closed_output_at_the_start_is_no_signal(ros):
    command = f"exec {sys.executable} -m featherstone_ros.{{}} --ros-args -p rate:=100.0 >&- 2>&-"
    processes = [ros.run(["sh", "-c", command.format(node)]) for node in NODES]
    for node, process in zip(NODES, processes, strict=True):
        ros.wait_for_state(f"/{node}", "unconfigured")
        for _ in range(5):
            assert not ros.change_state(f"/{node}", "configure")  # and says why, if it could
        assert process.is_running
    for process in processes:
        process.send(signal.SIGTERM)
        assert process.wait() == 0


def test_last_words_are_not_lost(ros):
    node = restless(ros)
    node.send(signal.SIGKILL)
    node.wait()
    assert "activate: done" in node.output


def test_backlog_keeps_what_it_may_and_counts_the_rest():
    from featherstone_ros.nodes.output_pump import Backlog

    backlog = Backlog(100)
    for number in range(50):
        backlog.put(b"line %02d\nhalf " % number)
    backlog.put(b"")
    said = b""
    while part := backlog.take():
        said += part
    kept = said.count(b"line ")
    assert 5 < kept < 20
    assert b"\n%d log lines were dropped" % (51 - kept) in said  # 51: the last has no end


def test_output_that_is_taken_is_handed_on_unchanged(tmp_path):
    text = b"".join(b"%d %s\n" % (n, b"x" * (n % 300)) for n in range(2000)) + b"no end"
    program = "import sys; from featherstone_ros.nodes.output_pump import nonblocking_output\n" + (
        "with nonblocking_output(): sys.stdout.write(open(sys.argv[1]).read())"
    )
    file = tmp_path / "text"
    file.write_bytes(text)
    ran = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, check=True
    )
    assert ran.stdout == text


# Neighbours.


def test_participant_whose_name_is_no_text_ends_nothing(ros):
    processes = [
        ros.start(f"featherstone_ros.{node}", {"robot_description": SLIDER}) for node in NODES
    ]
    for process in processes:
        process.wait_for_output("activate: done")
    odd = ros.run(
        [sys.executable, str(Path(__file__).with_name("odd_participant.py")), str(ros.folder)]
    )
    odd.wait_for_output("there")

    def is_seen() -> bool:
        try:
            found = ros.node.get_publishers_info_by_topic("/joint_states")
        except UnicodeDecodeError:
            return True
        return any(not info.node_name.isascii() for info in found)

    ros.wait_for(is_seen, "the odd participant")
    for node in NODES * 3:  # seconds of diagnostics
        ros.wait_for_diagnostics(lambda status, node=node: status.name == node)
    for node, process in zip(NODES, processes, strict=True):
        assert ros.state(f"/{node}") == "active"
        process.stop()
