"""`featherstone-ros teach` and `replay` beside the real nodes: a twin that a wrench leads."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from studies import study
from support import TOOL, NodeProcess  # skips this module where ROS is missing

# isort: split
from rig import BRIEF, CONTROLLER, KEEP, STANDING, TWIN, Hand, Rig
from terminal import in_terminal, read, read_until, read_until_end

from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.tools.trajectory_check import started, trajectory_of
from featherstone_ros.tools.trajectory_files import parse

pytestmark = pytest.mark.timeout(600)  # whole seconds of patience add up on a busy machine

FLOATING, HOLDING = "gravity_compensation", "feedforward"


class Leader(Hand):
    """A hand that leads the arm's, gently, as with a spring and a damper."""

    SPRING, DAMPER = 200.0, 50.0  # [N/m, N s/m]

    def lead_by(self, way, duration: float) -> None:
        """Lead the hand by a way (3,) [m] and let it go, at rest."""
        begin, since = self.position, self.now
        way, felt = np.array(way), None

        def is_there() -> bool:
            nonlocal felt
            if felt is self.poses[-1]:
                return False
            felt = self.poses[-1]
            ahead = min((self.now - since) / duration, 1.0) * way
            gone = self.position - begin
            self.push(self.turned(self.SPRING * (ahead - gone) - self.DAMPER * self.velocity))
            return gone @ way > 0.8 * (way @ way) and np.linalg.norm(self.velocity) < 0.02

        self.ros.wait_for(is_there, "a hand that has been led")
        self.push(np.zeros(3))
        self.wait_for_rest()


@pytest.fixture(scope="module")
def shared(shared_ros) -> Leader:
    return Leader(shared_ros, BRIEF, pace=1.0, twin={"rate": 50.0, **KEEP})


@pytest.fixture
def leader(shared: Leader) -> Iterator[Leader]:
    shared.recover()
    yield shared
    shared.push(np.zeros(3))


@contextmanager
def teaching(rig: Rig, *arguments: str) -> Iterator[tuple[NodeProcess, int]]:
    """Teach in a terminal; yield the process, and the terminal's other end, once the arm floats."""
    with in_terminal(rig.ros, *TOOL, "teach", *arguments) as (process, master, _):
        read_until(master, b"space: begin")
        yield process, master


def end(process: NodeProcess, master: int) -> tuple[int, str]:
    """Return the exit status, and what was shown until the end."""
    os.set_blocking(master, False)
    seen = read_until_end(master, process)
    return process.wait(), (seen + read(master)).decode(errors="replace")


def mode(rig: Rig) -> str:
    return rig.ros.get_parameter(CONTROLLER, "mode")


def distances(some: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return how far each of some positions is from the nearest of others [rad]."""
    return np.array([np.abs(others - q).max(axis=1).min() for q in some])


def test_what_was_led_by_hand_is_replayed(leader):
    rig, ros = leader, leader.ros
    with teaching(rig, "--output", "pick.yaml") as (process, master):
        assert mode(rig) == FLOATING
        os.write(master, b" ")
        shown = read_until(master, b"space: end")
        began = rig.now
        rig.watch()

        def has_heard(since: float) -> bool:
            nonlocal shown
            shown += read(master)
            return float(re.findall(rb"([\d.]+) s  ", shown)[-1]) >= since - began

        leader.lead_by([0.0, 0.12, 0.0], 1.0)
        since = rig.now
        ros.wait_for(lambda: has_heard(since), "the first way in the terminal", period=0.0)
        os.write(master, b"m")
        read_until(master, b"marks: 1")
        leader.lead_by([-0.08, -0.08, -0.05], 1.0)
        led, since = rig.way, rig.now
        ros.wait_for(lambda: has_heard(since), "the whole way in the terminal", period=0.0)
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 0, output
    assert "the arm is held" in output and "part 2" in output
    assert mode(rig) == HOLDING
    parts = parse((ros.folder / "pick.yaml").read_text(), "pick.yaml")
    arm = ControlledArm.from_robot("panda", rig.names)
    motions = [started(trajectory_of(part, arm)) for part in parts]
    taught = [motion.sample(np.arange(0.0, motion.end, 0.01))[0] for motion in motions]
    way = np.concatenate(taught)
    assert len(parts) == 2
    assert np.abs(way[0] - led[0]).max() < 3e-3 and np.abs(way[-1] - led[-1]).max() < 3e-3
    # On a busy machine states are lost on their way here, and others on the way to the terminal.
    rests = np.array([way[0], taught[0][-1], way[-1]])  # in which the arm drifts
    led_on = led[distances(led, rests) > 0.01]
    assert np.median(distances(way, led)) < 1e-3
    assert np.quantile(distances(led_on, way), 0.9) < 1.5e-3  # nothing is left out
    rig.wait_for_rest()
    rig.watch()
    assert ros.set_parameters(TWIN, {"real_time_factor": 3.0})[0].successful
    status, output = ros.run_tool("replay", "pick.yaml", "--plot", "pick.png", "--at-mark", "touch")
    assert status == 0, output
    assert (ros.folder / "1").exists()  # touched at mark 1
    assert (ros.folder / "pick.png").stat().st_size > 10_000
    print(f"{sum(len(part.points) for part in parts)} points; {output}")
    rms = float(re.search(r"RMS ([\d.e+-]+) mrad", output)[1])
    assert rms < 5.0, output
    heard = rig.way
    begin = np.abs(heard - way[0]).max(axis=1).argmin()
    assert distances(heard[begin::10], way).max() < 0.02
    assert np.median(distances(way[::10], heard)) < 5e-3
    assert np.abs(rig.q - way[-1]).max() < 0.02 and rig.speed < STANDING


@pytest.mark.parametrize("how", [study("Ctrl-C"), "terminal lost"])
def test_whatever_ends_teaching_the_arm_is_held_afterwards(leader, how):
    rig = leader
    with teaching(rig, "--output", "none.yaml") as (process, master):
        os.write(master, b" ")
        read_until(master, b"space: end")
        if how == "terminal lost":
            os.close(master)
        else:
            os.write(master, b"\x03")
        rig.ros.wait_for(lambda: not process.is_running, "end")
    assert process.wait() == 130 if how == "Ctrl-C" else process.wait() != 0
    assert mode(rig) == HOLDING
    assert not (rig.ros.folder / "none.yaml").exists()


@pytest.mark.study
def test_the_hand_is_led_where_it_is_free(leader):
    rig = leader
    with teaching(rig, "--output", "y.yaml", "--free", "y") as (process, master):
        assert mode(rig) == "cartesian_impedance"
        assert list(rig.ros.get_parameter(CONTROLLER, "stiffness"))[:3] == [400.0, 0.0, 400.0]
        before = leader.position
        os.write(master, b" ")
        read_until(master, b"space: end")
        leader.lead_by([0.0, 0.15, 0.0], 1.25)
        way = leader.position - before
        os.write(master, b" ")
        status, output = end(process, master)
    assert status == 0, output
    assert way[1] > 0.1 and np.abs(way[[0, 2]]).max() < 0.02
    assert mode(rig) == HOLDING
    assert list(rig.ros.get_parameter(CONTROLLER, "stiffness"))[1] == 400.0


def test_teaching_needs_the_keys_of_a_terminal(leader):
    status, output = leader.ros.run_tool("teach", "--output", "none.yaml")
    assert status == 1 and "standard input is no terminal" in output, output
    assert mode(leader) == HOLDING
