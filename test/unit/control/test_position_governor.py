"""Positions for drives with loops of their own: continuous, bounded in speed and acceleration.

Every transition is tried on a UR5e whose drives follow positions, in simulated time.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from compiled import control_parts
from drive_settings import parameters_of
from numpy.testing import assert_allclose, assert_array_equal
from studies import each_once, study

import featherstone_ros as fr
from featherstone_ros._control import SetPointRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point, set_point
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation.closed_loop import ClosedLoop, JointState
from featherstone_ros.simulation.simulated_arm import SimulatedArm
from featherstone_ros.simulation.twin import drive_gains

PERIOD = 0.002  # [s] between joint states
LONGEST = 0.005  # [s] of motion that one command may make up for
MAX_ACCELERATION = 10.0  # speed limits per second
TIP = "tool0"
MODEL = fr.Model.from_file(robot_file("ur5e"))
NAMES, FASTEST = MODEL.joint_names, MODEL.velocity_limit
HOME = np.array([0.3, -1.2, 1.4, -1.0, -1.2, 0.4])
WAY = np.array([0.7, -0.5, 0.6, -0.7, 0.5, 0.9])
ZERO = np.zeros(6)


@cache
def ur5e():
    return ControlledArm.of(
        MODEL,
        {
            **parameters_of(NAMES, 0.2),
            "output": "joint_state",
            "tip": TIP,
            "stiffness": [100.0] * 3 + [10.0] * 3,
        },
    )


class DrivenArm(ClosedLoop):
    """A UR5e whose drives follow positions, and all that they were told.

    Attributes:
        times: Of the commands [s].
        told: (2, 6) position and velocity each.
        wrench: (6,) on the tip, its axes, which a sensor there measures.
    """

    plant: SimulatedArm

    def __init__(self, mode: Mode = Mode.FEEDFORWARD, home: Floats = HOME) -> None:
        plant = SimulatedArm.of(MODEL, ur5e().drives, home)
        plant.gains = np.array(drive_gains(MODEL, ur5e().drives.armature))
        plant.measure = self.measured
        plant.wrenches = lambda q, qd: {TIP: self.wrench}
        super().__init__(ur5e().with_parameters(mode=mode), plant, delay=0.0, period=PERIOD)
        self.wrench, self.states, self.sensor = ZERO, True, True
        self.times: list[float] = []
        self.told: list[Floats] = []

    def measured(self, state: JointState) -> JointState | None:
        if not self.states:
            return None
        if self.plant.blocked:  # an encoder that works shows some noise
            state = state._replace(q=state.q + 1e-8 * (-1) ** round(self.now / PERIOD))
        sensed = self.sensor and self.arm.mode is Mode.ADMITTANCE
        return state._replace(wrench=self.wrench if sensed else None)

    @property
    def phase(self) -> Phase:
        return self.controller.phase

    def run(self, duration: float, states: bool = True, sensor: bool = True) -> DrivenArm:
        self.states, self.sensor = states, sensor
        for sample in self.steps(duration):
            if np.isfinite(sample.command).all():
                self.times.append(self.now)
                self.told.append(self.controller.position_command)
        return self

    def move(self, way: Floats = WAY, duration: float = 1.2) -> None:
        """Lead the joints, or the hand."""
        goal = self.plant.q + way
        if self.arm.mode is Mode.ADMITTANCE:
            pose = fr.Dynamics(MODEL).link_pose(self.plant.q, TIP)
            pose[:3, 3] += [0.1, -0.15, 0.1]
            self.controller.set_target(self.now, pose)
            self.wrench = np.array([8.0, 15.0, -20.0, 0.0, 0.0, 0.0])
        elif self.arm.mode is Mode.FEEDFORWARD:
            self.controller.set_trajectory(self.now, NAMES, [Point(duration, goal, ZERO, ZERO)])


def require_smooth(arm: DrivenArm) -> None:
    """Require that no command was a step, too fast, or accelerated too much."""
    times, told = np.array(arm.times), np.array(arm.told)
    dt = np.diff(times)
    h = np.minimum(dt, LONGEST)[:, None]
    slack = 1.0 + 1e-6
    assert np.isfinite(told).all()
    assert (np.abs(told[:, 1]) <= slack * FASTEST).all()
    assert (
        np.abs(np.diff(told[:, 1], axis=0)) <= slack * MAX_ACCELERATION * FASTEST * dt[:, None]
    ).all()
    assert (np.abs(np.diff(told[:, 0], axis=0)) <= slack * FASTEST * h).all()
    speed = np.diff(told[:, 0], axis=0) / dt[:, None]
    apart = 0.5 * (dt[1:] + dt[:-1])[:, None]
    usual = (dt[1:] <= LONGEST) & (dt[:-1] <= LONGEST)
    change = np.abs(np.diff(speed, axis=0)) / apart / FASTEST
    assert change[usual].max() <= slack * MAX_ACCELERATION


def restart(arm: DrivenArm) -> None:
    arm.controller.deactivate(arm.now)
    arm.run(0.1)
    arm.controller.activate(arm.now)


def leave_blind(arm: DrivenArm) -> None:
    arm.run(0.15, states=False)
    arm.controller.deactivate(arm.now)
    arm.run(0.05, states=False)


def other_mode(arm: DrivenArm) -> None:
    feeds = arm.arm.mode is Mode.FEEDFORWARD
    arm.configure(mode=Mode.ADMITTANCE if feeds else Mode.FEEDFORWARD)


def float_and_back(arm: DrivenArm) -> None:
    mode = arm.arm.mode
    arm.configure(mode=Mode.GRAVITY_COMPENSATION)
    arm.run(0.1)
    arm.configure(mode=mode)


def contact(arm: DrivenArm) -> None:
    arm.wrench = np.array([0.0, 0.0, -60.0, 0.0, 0.0, 0.0])
    arm.run(0.3)
    arm.wrench = ZERO


def protective_stop(arm: DrivenArm) -> None:
    arm.plant.blocked = True
    arm.run(1.5)
    arm.plant.blocked = False


def stalls(arm: DrivenArm) -> None:
    """The process stands still, and soon again; the arm moves on."""
    for _ in range(3):
        arm.now += 0.05
        arm.run(0.04)


def fault(arm: DrivenArm) -> None:
    for _ in range(3):
        arm.plant.simulator.set_state(arm.plant.q + 0.35, ZERO)
        arm.run(0.4)
    assert arm.phase is Phase.FAULT


def set_points(arm: DrivenArm) -> None:
    """They jump as far as they may."""
    if arm.arm.mode is Mode.FEEDFORWARD:
        begin = arm.controller.compiled.desired[0]
        for k in range(100):
            near = arm.controller.compiled.desired[0]
            wanted = begin + 0.002 * k - 0.14 * (k // 20 % 2)
            state = set_point(Point(0.0, wanted), JointSpace.of(MODEL), near)
            arm.controller.ask(SetPointRequest(state.rows()), arm.now)
            arm.run(0.01)


TRANSITIONS = {
    "gap": lambda arm: arm.run(0.2, states=False),
    "short gap": lambda arm: arm.run(0.06, states=False),
    "silence": lambda arm: arm.run(2.5, states=False),
    "hold": lambda arm: arm.controller.hold(arm.now),
    "fall back": lambda arm: arm.controller.fall_back(arm.now),
    "deactivate": lambda arm: arm.controller.deactivate(arm.now),
    "sensor stops": lambda arm: arm.run(0.3, sensor=False),
    "another motion": lambda arm: arm.move(-WAY, 0.9),
    **{made.__name__: made for made in (restart, leave_blind, other_mode, float_and_back)},
    **{made.__name__: made for made in (contact, protective_stop, stalls, fault, set_points)},
}


@pytest.mark.parametrize("moving", [True, study(False)])
@pytest.mark.parametrize(
    ("transition", "mode"), each_once(list(TRANSITIONS), [Mode.ADMITTANCE, Mode.FEEDFORWARD])
)
def test_no_transition_makes_a_step(transition, mode, moving):
    arm = DrivenArm(mode).run(0.1)
    if moving:
        arm.move()
        arm.run(0.35)
        assert np.abs(arm.plant.qd / FASTEST).max() > 0.1
    TRANSITIONS[transition](arm)
    assert (arm.phase is Phase.SILENT) == (transition == "silence")
    arm.run(0.5)
    require_smooth(arm)
    if arm.phase is Phase.HOLDING and arm.arm.mode is Mode.FEEDFORWARD:
        assert_array_equal(arm.told[-1], arm.controller.compiled.desired[:2])


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_smooth_motion_is_commanded_as_it_is_asked_for(share):
    """Also one that takes a joint to its speed limit, at 8 speed limits per second."""
    arm = DrivenArm().run(0.1)
    joint, acceleration = 5, 8.0 * share * FASTEST[5]
    ramp, cruise, points, at, speed, place = 0.125, 0.2, [], 0.0, 0.0, arm.plant.q
    for duration, rate in ((ramp, acceleration), (cruise, 0.0), (ramp, -acceleration)):
        at, place = at + duration, place.copy()
        place[joint] += duration * (speed + 0.5 * rate * duration)
        speed += rate * duration
        points.append(Point(at, place, np.eye(6)[joint] * speed))
    start = Point(0.0, arm.plant.q, ZERO)
    arm.controller.set_trajectory(arm.now, NAMES, [start, *points])
    seen = []
    for _ in range(round((2 * ramp + cruise) / PERIOD) + 20):
        arm.run(PERIOD)
        seen.append(arm.controller.compiled.desired[:2])
    told = np.array(arm.told[-len(seen) :])
    assert np.abs(told[:, 1, joint]).max() == pytest.approx(share * FASTEST[joint], rel=1e-3)
    assert_array_equal(told, seen)


def test_a_step_of_the_speed_is_made_within_the_bound_and_then_made_up_for():
    """Points with positions alone are joined by lines."""
    arm = DrivenArm().run(0.1)
    goal = arm.plant.q + 0.2
    arm.controller.set_trajectory(arm.now, NAMES, [Point(0.4, goal), Point(0.8, goal - 0.2)])
    off = []
    for _ in range(500):
        arm.run(PERIOD)
        off.append(np.abs(arm.controller.compiled.desired[0] - arm.told[-1][0]).max())
    require_smooth(arm)
    assert 1e-3 < max(off) < 0.02
    assert off[-1] == 0.0
    assert np.median(off) == 0.0


def test_the_first_position_is_the_measured_one_and_no_single_wrong_one():
    arm = DrivenArm()
    arm.controller.accept_state(arm.now, HOME + 0.8, ZERO)
    arm.run(0.3)
    assert_allclose(arm.told[0][0], HOME, atol=1e-9)
    require_smooth(arm)
    assert_allclose(np.array(arm.told)[:, 0], np.tile(HOME, (len(arm.told), 1)), atol=1e-6)


@pytest.mark.parametrize("passed", [0.0, 0.02])
def test_one_state_is_enough_where_its_owner_repeats_it_while_time_stands(passed):
    """A simulation in lockstep waits for the answer: no second state will come."""
    controller = DrivenArm().controller
    assert controller.accept_state(7.0, HOME, ZERO, stamp=3.0) is None
    answer = controller.accept_state(7.0 + passed, HOME, ZERO, stamp=3.0)
    assert (answer is not None) is (passed == 0.0)
    if passed == 0.0:
        assert_array_equal(controller.position_command, [HOME, ZERO])


@pytest.mark.parametrize(("lasts", "between"), [(0.03, 0.2), (0.05, 0.1)])
def test_drives_that_stand_while_the_process_does_are_no_oscillation(lasts, between):
    """And catch up afterwards, as they are told."""
    arm = DrivenArm().run(0.2)
    arm.move(WAY, 1.2)
    arm.run(0.4)
    for _ in range(3):
        arm.now += lasts
        arm.run(between)
        assert arm.phase is Phase.TRAJECTORY


@pytest.mark.parametrize("period", [0.005, 0.01])
def test_stalls_that_follow_each_other_make_no_step_in_a_slow_loop(period):
    arm = DrivenArm()
    arm.period = period
    arm.run(0.3).move(WAY, 1.2)
    arm.run(0.2)
    for _ in range(6):
        arm.now += 0.05
        arm.run(0.04)
    assert (np.abs(np.diff(np.array(arm.told)[:, 0], axis=0)) <= 2.0 * period * FASTEST).all()


@pytest.mark.parametrize(("size", "apart"), [(20, 1e-4), (20, 6e-4), (10, 6e-4)])
def test_states_without_stamps_that_come_in_bursts_hold_no_motion_up(size, apart):
    arm = DrivenArm().run(0.1)
    arm.plant.measure = lambda state: state._replace(stamp=0.0)
    arm.move()
    for k in range(60 * size):
        arm.step(arm.now + (apart if k % size else 0.02 - (size - 1) * apart))
    assert_allclose(arm.controller.position_command[0], HOME + WAY, atol=1e-6)


def test_what_two_of_three_spells_have_is_the_usual_step():
    arm = DrivenArm().run(0.1)
    arm.plant.measure = lambda state: state._replace(stamp=0.0)
    arm.move()
    for k, interval in enumerate(16 * [0.03, 0.03, *[0.002] * 8]):
        arm.step(arm.now + interval)
        if k > 40:
            told = arm.controller.position_command[0]
            assert_allclose(told, arm.controller.compiled.desired[0], atol=1e-6)


def test_after_silence_the_commands_go_on_from_where_the_arm_is():
    arm = DrivenArm().run(0.1)
    arm.run(2.5, states=False)
    arm.plant.simulator.set_state(HOME + 0.1, ZERO)  # somebody has led it away
    arm.plant.blocked, count = True, len(arm.told)
    arm.run(0.1)
    assert_allclose(arm.told[count][0], HOME + 0.1, atol=1e-9)


def test_in_a_gap_the_drives_are_led_on_and_then_to_rest():
    """Along the path for state_timeout; from there the arm is brought to rest."""
    arm = DrivenArm().run(0.1)
    arm.move()
    arm.run(0.45)
    before, asked = len(arm.told), arm.controller.compiled.desired
    arm.run(0.09, states=False)
    path = arm.controller.compiled.desired[0]
    assert_allclose(arm.told[-1][0], path)
    assert_allclose(path, asked[0] + 0.09 * asked[1], atol=0.01)
    arm.run(0.11, states=False).run(0.5)
    require_smooth(arm)
    told = np.array(arm.told)[before:, 0]
    assert (np.diff(told, axis=0) * WAY >= -1e-9).all()  # it never returns
    assert_allclose(told[-1], arm.plant.q, atol=1e-3)


def test_a_joint_that_is_led_back_stops_before_its_limit():
    """The drives stop by themselves on the way to it: the joint is led back to where it is."""
    arm = DrivenArm().run(0.1)
    way = np.zeros(6)
    way[2] = MODEL.upper[2] - arm.plant.q[2]
    arm.controller.set_trajectory(arm.now, NAMES, [Point(1.4, arm.plant.q + way, ZERO, ZERO)])
    arm.run(0.8)
    arm.plant.blocked = True
    arm.run(1.5)
    require_smooth(arm)
    assert "away from where it should be" in arm.controller.hold_reason
    told = np.array(arm.told)[:, 0, 2]
    assert told.max() < MODEL.upper[2]
    assert_allclose(told[-1], arm.plant.q[2], atol=1e-6)


def test_a_floating_arm_that_is_pushed_is_not_led_beyond_its_limits():
    """Drives that follow positions refuse those; at the limit they stop the arm."""
    home = HOME.copy()
    home[2] = MODEL.upper[2] - 0.1
    arm = DrivenArm(Mode.GRAVITY_COMPENSATION, home).run(0.1)
    arm.plant.push = np.eye(6)[2] * 30.0
    arm.run(1.5)
    require_smooth(arm)
    assert MODEL.upper[2] - 0.01 < arm.told[-1][0][2] <= MODEL.upper[2] + 1e-3
    assert arm.plant.q[2] < MODEL.upper[2] + 0.05


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [[0], [1], [0, 1]], ids=["position", "velocity", "both"])
def test_what_is_not_finite_stops_its_joint_and_no_other(row, wrong):
    speed, dt = np.array([0.5, -0.5]), 0.002
    told, asked = np.array([np.zeros(2), speed]), np.array([np.zeros(2), speed])
    for _ in range(200):
        asked[0] += dt * speed
        asked[row, 0] = wrong
        control_parts.govern_joints(told, asked, np.full(2, -9.0), np.full(2, 9.0), np.ones(2), dt)
    stop = 0.5**2 / (2.0 * MAX_ACCELERATION)
    assert_array_equal(told[:, 1], asked[:, 1])
    assert 0.0 < told[0, 0] < 2.0 * stop and told[1, 0] == 0.0
