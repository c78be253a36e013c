"""Positions that stay the same to the bit: of an arm that moves unseen, or of one that stands."""

from __future__ import annotations

import numpy as np
import pytest
from contact_bench import ContactBench
from simulated_arm import ROBOTS, STEP, SimulatedArm
from studies import study

from featherstone_ros.arrays import Floats
from featherstone_ros.control.phases import HOLDS, RUNNING, Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point

WAYS = ((0.0, 0.1, 0.0), (0.0, 0.0, 0.2), (0.0, 0.0, -0.3), (-0.3, 0.0, 0.0))  # of the hand [m]
FASTEST = {"panda": 0.7, "ur5e": 1.5}  # over the speed limit: light wrists stick by much friction
FASTEST_UNSURE = 2.5  # where positions come in coarse steps
MOTIONS = ((0.1, 0.4), (0.1, 3.0), (0.4, 1.0))  # how far [rad], how long [s]


@pytest.mark.parametrize("velocity", [0.0, np.nan], ids=["zero", "not measured"])
@pytest.mark.parametrize("rate", [200, study(1000)])
@pytest.mark.parametrize("name", ROBOTS)
def test_positions_frozen_at_rest_end_in_silence_before_the_arm_is_fast(name, rate, velocity):
    for way, duration in MOTIONS:
        arm = SimulatedArm(name, rate).run(0.3)
        arm.freeze(list(range(arm.model.n)), velocity)
        arm.run(0.1)
        arm.follow(arm.away(way), duration)
        arm.run(duration + 1.0)
        assert arm.speed < FASTEST[name], (way, duration)
        assert arm.phase is Phase.SILENT
        assert "stays the same to the bit" in arm.controller.hold_reason
        assert np.abs(arm.simulator.qd).max() < 0.01


@pytest.mark.parametrize(
    ("name", "joint"), [*(("panda", j) for j in range(7)), *(("ur5e", j) for j in range(6))]
)
def test_one_frozen_joint_among_live_ones_is_named(name, joint):
    arm = SimulatedArm(name).run(0.3)
    arm.freeze([joint])
    arm.run(0.1)
    arm.follow(arm.away(0.4), 1.0)
    arm.run(2.0)
    assert arm.speed < FASTEST[name]
    assert arm.phase is Phase.SILENT
    assert repr(arm.model.joint_names[joint]) in arm.controller.hold_reason


@pytest.mark.parametrize(("name", "joint"), [("panda", 0), ("panda", 3), ("ur5e", 2), ("ur5e", 5)])
def test_a_joint_that_freezes_where_its_motion_turns_round_is_noticed(name, joint):
    """It gains speed as it is asked to: nothing has stopped it."""
    arm = SimulatedArm(name).run(0.3)
    zero = np.zeros(arm.model.n)
    points = [Point(0.6, arm.away(0.3), zero), Point(1.2, arm.start, zero)]
    arm.controller.set_trajectory(arm.now, arm.model.joint_names, points)
    arm.run(0.6)
    arm.freeze([joint])
    arm.run(0.3)
    assert arm.phase is Phase.OPEN_LOOP
    arm.run(1.0)
    assert arm.speed < FASTEST[name]


@pytest.mark.parametrize("name", ROBOTS)
def test_positions_frozen_beside_live_velocities_end_in_silence(name):
    """Velocities that show what the arm was asked to do are no mistake: it is the positions."""
    for way, duration in MOTIONS:
        arm = SimulatedArm(name).run(0.3)
        place = arm.simulator.q
        arm.spoil = lambda q, qd, place=place: (place, qd)
        arm.follow(arm.away(way), duration)
        arm.run(duration + 2.0)
        assert arm.speed < FASTEST[name], (way, duration)


def test_silence_ends_when_the_positions_change_again():
    arm = SimulatedArm("panda").run(0.3)
    arm.freeze(list(range(7)))
    arm.follow(arm.away(0.4), 1.0)
    arm.run(2.0)
    assert arm.phase is Phase.SILENT
    arm.spoil = lambda q, qd: (q, qd)
    arm.run(0.5)
    assert arm.phase is Phase.HOLDING
    assert np.abs(arm.simulator.qd).max() < 0.01


@pytest.mark.parametrize("name", ROBOTS)
def test_brakes_that_stop_a_motion_are_not_taken_for_frozen_positions(name):
    """Nor the arm that goes on when they are off again."""
    arm = SimulatedArm(name).run(0.3)
    arm.follow(arm.away(0.4), 1.0)
    arm.run(0.4)
    arm.braked = True
    arm.run(5.0)
    assert arm.phase in RUNNING | HOLDS
    assert not arm.controller.refused
    arm.braked = False
    arm.run(1.0)
    assert arm.speed < 1.0
    assert np.abs(arm.simulator.qd).max() < 0.01


@pytest.mark.parametrize("cutoff", [5.0, 20.0, np.inf])
def test_a_joint_that_runs_into_its_stop_is_not_taken_for_frozen(cutoff):
    """Commands are lost; its filtered velocity [Hz] still says that it goes on when it stands."""
    arm = SimulatedArm("panda")
    joint, end = 3, arm.model.lower[3]
    target = arm.start.copy()
    arm.start[joint], target[joint] = end + 0.3, end + 0.02
    arm.simulator.reset(arm.start)
    arm.run(0.3)
    arm.follow(target, 0.6)
    arm.run(0.3)
    filtered, weight = arm.simulator.qd, 1.0 - np.exp(-2.0 * np.pi * cutoff * STEP * arm.every)

    def spoil(q: Floats, qd: Floats) -> tuple[Floats, Floats]:
        filtered[:] += weight * (qd - filtered)
        return q, filtered.copy()

    arm.spoil, arm.deaf = spoil, True
    arm.run(2.0)
    assert arm.simulator.q[joint] == end
    assert not arm.simulator.qd.any()
    assert not arm.controller.refused
    assert arm.phase in RUNNING | HOLDS


@pytest.mark.parametrize("velocities", ["true", "derived", "missing"])
@pytest.mark.parametrize("step", [0.005, study(0.0015), 0.0003])
def test_steps_of_an_encoder_are_not_taken_for_frozen_positions(step, velocities):
    """As coarse as the 300 degrees in 1024 steps of a small servo; velocities peak at each step."""
    for name in ROBOTS:
        arm = SimulatedArm(name)
        arm.round(step, velocities)
        arm.run(0.3)
        for way, duration in ((0.005, 0.5), (0.1, 0.4), (0.1, 2.0)):
            for place in (arm.away(way), arm.start):
                arm.follow(place, duration)
                arm.run(duration + 0.3)
        assert not arm.controller.refused
        assert arm.phase is Phase.HOLDING
        assert arm.speed < 0.6


@pytest.mark.parametrize("velocities", ["derived", "missing"])
@pytest.mark.parametrize("name", ROBOTS)
def test_positions_in_coarse_steps_that_freeze_end_in_silence(name, velocities):
    """Later than those in fine steps: a step may be all that a joint has moved."""
    for way, duration in MOTIONS:
        arm = SimulatedArm(name)
        arm.round(0.005, velocities)
        arm.run(0.3)
        arm.follow(arm.away(way), duration)
        arm.run(0.4 * duration)
        place = 0.005 * np.round(arm.simulator.q / 0.005)
        arm.spoil = lambda q, qd, place=place: (place, 0.0 * qd)
        arm.run(duration + 1.0)
        assert arm.speed < FASTEST_UNSURE, (way, duration)
        assert arm.phase is Phase.SILENT, (way, duration)


@pytest.mark.parametrize("before", [0.0, 0.3], ids=["at rest", "in motion"])
@pytest.mark.parametrize("velocity", [0.0, np.nan], ids=["zero", "not measured"])
@pytest.mark.parametrize("name", ROBOTS)
def test_positions_that_freeze_while_the_hand_is_led_end_in_silence(name, velocity, before):
    for way in WAYS:
        arm = SimulatedArm(name, mode=Mode.CARTESIAN_IMPEDANCE).run(0.3)
        arm.lead(way)
        arm.run(before)
        arm.freeze(list(range(arm.model.n)), velocity)
        arm.run(2.0)
        assert arm.speed < FASTEST[name], way
        assert arm.phase is Phase.SILENT, way
        assert "stays the same to the bit" in arm.controller.hold_reason


@pytest.mark.parametrize("stiction", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("name", ROBOTS)
def test_an_honest_arm_that_is_led_by_its_hand_is_not_taken_for_frozen(name, stiction):
    arm = SimulatedArm(name, stiction=stiction, mode=Mode.CARTESIAN_IMPEDANCE).run(0.3)
    for way in ((0.0, 0.01, 0.0), (0.0, 0.1, 0.0), (0.0, 0.0, -0.15), (0.1, 0.0, 0.0)):
        arm.lead(way)
        arm.run(1.2)
    assert not arm.controller.refused
    assert arm.phase in RUNNING


@pytest.mark.parametrize("stiction", [0.5, 1.5])
@pytest.mark.parametrize("name", ROBOTS)
def test_friction_that_is_not_what_the_controller_knows_freezes_nothing(name, stiction):
    arm = SimulatedArm(name, stiction=stiction).run(0.3)
    for way, duration in ((0.005, 0.5), *MOTIONS):
        for place in (arm.away(way), arm.start):
            arm.follow(place, duration)
            arm.run(duration + 0.5)
    assert not arm.controller.refused
    assert arm.phase is Phase.HOLDING


def test_a_wrong_wrench_does_not_accuse_an_arm_that_stands():
    """A wrench may explain why a joint stays where it is, never alone that it should have moved."""
    for axis in range(3):
        bench = ContactBench(mode=Mode.CARTESIAN_IMPEDANCE)
        bench.run(1.0, felt=15.0 * np.eye(6)[axis])
        assert bench.phase is Phase.HOLDING, bench.controller.hold_reason
        assert not bench.controller.refused
