"""Positions for drives with loops of their own: continuous, bounded in speed and acceleration.

Every transition is tried on a UR5e whose drives follow positions, in simulated time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import featherstone_ros as fr
from featherstone_ros._control import SetPointRequest
from featherstone_ros.arrays import Floats
from featherstone_ros.control.admittance import virtual_settings
from featherstone_ros.control.cartesian_impedance import CartesianSettings, prepared
from featherstone_ros.control.controller import TorqueController
from featherstone_ros.control.joint_space import JointSpace
from featherstone_ros.control.phases import Phase
from featherstone_ros.control.settings import Mode, Settings
from featherstone_ros.control.trajectory import Point, set_point
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation.drive_gains import drive_gains

STEP = 5e-4  # [s] of the simulation
PERIOD = 0.002  # [s] between joint states
TICK = 0.01  # [s] between two looks at their age, and
BLIND_TICK = 0.001  # without them
LONGEST = 0.005  # [s] of motion that one command may make up for
MOST = 10.0  # speed limits per second
TIP = "tool0"
MODEL = fr.Model.from_file(robot_file("ur5e"))
NAMES, FASTEST = MODEL.joint_names, MODEL.velocity_limit
HOME = np.array([0.3, -1.2, 1.4, -1.0, -1.2, 0.4])
WAY = np.array([0.7, -0.5, 0.6, -0.7, 0.5, 0.9])
ARMATURE = np.full(6, 0.2)  # [kg m^2]
GAINS = drive_gains(MODEL, ARMATURE)
ZERO = np.zeros(6)


def settings(mode: Mode = Mode.FEEDFORWARD, **changes: Any) -> Settings:
    law = CartesianSettings(stiffness=[100.0] * 3 + [10.0] * 3)
    if mode is Mode.ADMITTANCE:
        law = virtual_settings(law, 0.01)
    rest = {"coulomb": ZERO, "viscous": ZERO, "armature": ARMATURE, "damping": ZERO} | changes
    return Settings(
        p=ZERO,
        d=ZERO,
        effort_limit=MODEL.effort_limit,
        torque_rate=50.0 * MODEL.effort_limit,
        mode=mode,
        impedance=prepared(law, MODEL),
        **rest,
    )


class DrivenArm:
    """A UR5e whose drives follow positions, and all that they were told.

    Attributes:
        times: Of the commands [s].
        told: (2, 6) position and velocity each.
        push: (6,) on the tip, its axes, which a sensor there measures.
        blocked: The drives stand, whatever they are told.
    """

    def __init__(self, mode: Mode = Mode.FEEDFORWARD, home: Floats = HOME, **changes: Any) -> None:
        self.settings = settings(mode, **changes)
        self.controller = TorqueController(
            JointSpace.of(MODEL), MODEL, self.settings, tip=TIP, commands_joints=True
        )
        self.arm = fr.Simulator(MODEL, STEP, damping=0, friction=0, armature=ARMATURE)
        self.arm.reset(home)
        self.now, self.tick_due = 100.0, 0.0
        self.push, self.blocked = ZERO, False
        self.times: list[float] = []
        self.told: list[Floats] = []
        self.effort = ZERO
        self.controller.activate(self.now)

    @property
    def phase(self) -> Phase:
        return self.controller.phase

    def keep(self, command: Floats | None) -> None:
        if command is not None:
            self.effort = command.copy()
            self.times.append(self.now)
            self.told.append(self.controller.position_command)

    def run(self, duration: float, states: bool = True, sensor: bool = True) -> DrivenArm:
        for k in range(round(duration / STEP)):
            self.now += STEP
            if self.blocked:  # an encoder that works shows some noise
                self.arm.set_state(self.arm.q + 1e-8 * (-1) ** (k // 4), ZERO)
            elif self.told:
                q, qd = self.told[-1]
                torque = self.effort + GAINS[0] * (q - self.arm.q) + GAINS[1] * (qd - self.arm.qd)
                self.arm.step(torque, f_ext={TIP: self.push})
            if states and (k + 1) % round(PERIOD / STEP) == 0:
                if sensor and self.settings.mode is Mode.ADMITTANCE:
                    self.controller.take_wrench(self.now, self.push, TIP)
                self.keep(self.controller.accept_state(self.now, self.arm.q, self.arm.qd))
                self.tick_due = self.now + TICK
            elif self.now >= self.tick_due - 1e-9:
                self.keep(self.controller.update(self.now))
                blind = self.phase in (Phase.BLIND, Phase.LEAVING_BLIND)
                self.tick_due = self.now + (BLIND_TICK if blind else TICK)
        return self

    def configure(self, mode: Mode) -> None:
        self.settings = settings(mode)
        self.controller.configure(self.now, self.settings)

    def move(self, way: Floats = WAY, duration: float = 1.2) -> None:
        """Lead the joints, or the hand."""
        goal = self.arm.q + way
        if self.settings.mode is Mode.ADMITTANCE:
            pose = fr.Dynamics(MODEL).link_pose(self.arm.q, TIP)
            pose[:3, 3] += [0.1, -0.15, 0.1]
            self.controller.set_target(self.now, pose)
            self.push = np.array([8.0, 15.0, -20.0, 0.0, 0.0, 0.0])
        elif self.settings.mode is Mode.FEEDFORWARD:
            self.controller.set_trajectory(self.now, NAMES, [Point(duration, goal, ZERO, ZERO)])


def require_smooth(arm: DrivenArm) -> None:
    """Require that no command was a step, too fast, or accelerated too much."""
    times, told = np.array(arm.times), np.array(arm.told)
    dt = np.diff(times)
    h = np.minimum(dt, LONGEST)[:, None]
    slack = 1.0 + 1e-6
    assert np.isfinite(told).all()
    assert (np.abs(told[:, 1]) <= slack * FASTEST).all()
    assert (np.abs(np.diff(told[:, 1], axis=0)) <= slack * MOST * FASTEST * dt[:, None]).all()
    assert (np.abs(np.diff(told[:, 0], axis=0)) <= slack * FASTEST * h).all()
    speed = np.diff(told[:, 0], axis=0) / dt[:, None]
    apart = 0.5 * (dt[1:] + dt[:-1])[:, None]
    usual = (dt[1:] <= LONGEST) & (dt[:-1] <= LONGEST)
    change = np.abs(np.diff(speed, axis=0)) / apart / FASTEST
    assert change[usual].max() <= slack * MOST


def gap(arm: DrivenArm) -> None:
    arm.run(0.2, states=False)


def short_gap(arm: DrivenArm) -> None:
    arm.run(0.06, states=False)


def silence(arm: DrivenArm) -> None:
    arm.run(2.5, states=False)
    assert arm.phase is Phase.SILENT


def hold(arm: DrivenArm) -> None:
    arm.controller.hold(arm.now)


def fall_back(arm: DrivenArm) -> None:
    arm.controller.fall_back(arm.now)


def deactivate(arm: DrivenArm) -> None:
    arm.controller.deactivate(arm.now)


def restart(arm: DrivenArm) -> None:
    arm.controller.deactivate(arm.now)
    arm.run(0.1)
    arm.controller.activate(arm.now)


def leave_blind(arm: DrivenArm) -> None:
    arm.run(0.15, states=False)
    arm.controller.deactivate(arm.now)
    arm.run(0.05, states=False)


def other_mode(arm: DrivenArm) -> None:
    feeds = arm.settings.mode is Mode.FEEDFORWARD
    arm.configure(Mode.ADMITTANCE if feeds else Mode.FEEDFORWARD)


def float_and_back(arm: DrivenArm) -> None:
    mode = arm.settings.mode
    arm.configure(Mode.GRAVITY_COMPENSATION)
    arm.run(0.1)
    arm.configure(mode)


def contact(arm: DrivenArm) -> None:
    arm.push = np.array([0.0, 0.0, -60.0, 0.0, 0.0, 0.0])
    arm.run(0.3)
    arm.push = ZERO


def protective_stop(arm: DrivenArm) -> None:
    arm.blocked = True
    arm.run(1.5)
    arm.blocked = False


def fault(arm: DrivenArm) -> None:
    for _ in range(3):
        arm.arm.set_state(arm.arm.q + 0.35, ZERO)
        arm.run(0.4)
    assert arm.phase is Phase.FAULT


def another_motion(arm: DrivenArm) -> None:
    arm.move(-WAY, 0.9)


def sensor_stops(arm: DrivenArm) -> None:
    arm.run(0.3, sensor=False)


def set_points(arm: DrivenArm) -> None:
    """They jump as far as they may."""
    if arm.settings.mode is Mode.FEEDFORWARD:
        begin = arm.controller.compiled.desired[0]
        for k in range(100):
            near = arm.controller.compiled.desired[0]
            wanted = begin + 0.002 * k - 0.14 * (k // 20 % 2)
            state = set_point(Point(0.0, wanted), JointSpace.of(MODEL), near)
            arm.controller.ask(SetPointRequest(state.rows()), arm.now)
            arm.run(0.01)


TRANSITIONS = (
    *(gap, short_gap, silence, hold, fall_back, deactivate, restart, leave_blind, other_mode),
    *(float_and_back, contact, protective_stop, fault, another_motion, sensor_stops, set_points),
)


@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("mode", [Mode.FEEDFORWARD, Mode.ADMITTANCE])
@pytest.mark.parametrize("transition", TRANSITIONS, ids=lambda made: made.__name__)
def test_no_transition_makes_a_step(transition: Callable[[DrivenArm], None], mode, moving):
    arm = DrivenArm(mode).run(0.1)
    if moving:
        arm.move()
        arm.run(0.45)
        assert np.abs(arm.arm.qd / FASTEST).max() > 0.1
    transition(arm)
    arm.run(1.0)
    require_smooth(arm)
    if arm.phase is Phase.HOLDING and arm.settings.mode is Mode.FEEDFORWARD:
        assert_array_equal(arm.told[-1], arm.controller.compiled.desired[:2])


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_smooth_motion_is_commanded_as_it_is_asked_for(share):
    """Also one that takes a joint to its speed limit, at 8 speed limits per second."""
    arm = DrivenArm().run(0.1)
    joint, acceleration = 5, 8.0 * share * FASTEST[5]
    ramp, cruise, points, at, speed, place = 0.125, 0.2, [], 0.0, 0.0, arm.arm.q
    for duration, rate in ((ramp, acceleration), (cruise, 0.0), (ramp, -acceleration)):
        at, place = at + duration, place.copy()
        place[joint] += duration * (speed + 0.5 * rate * duration)
        speed += rate * duration
        points.append(Point(at, place, np.eye(6)[joint] * speed))
    start = Point(0.0, arm.arm.q, ZERO)
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
    goal = arm.arm.q + 0.2
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


def test_after_silence_the_commands_go_on_from_where_the_arm_is():
    arm = DrivenArm().run(0.1)
    arm.run(2.5, states=False)
    arm.arm.set_state(HOME + 0.1, ZERO)  # somebody has led it away
    arm.blocked, count = True, len(arm.told)
    arm.run(0.1)
    assert_allclose(arm.told[count][0], HOME + 0.1, atol=1e-9)


def test_in_a_gap_the_arm_comes_to_rest_where_its_drives_stand():
    """It neither returns to where it was seen last, nor goes on as if it had moved meanwhile."""
    arm = DrivenArm().run(0.1)
    arm.move()
    arm.run(0.45)
    before = arm.told[-1][0]
    arm.run(0.2, states=False).run(0.3)
    after = np.array([q for (q, _), time in zip(arm.told, arm.times, strict=True)
                      if time > arm.now - 0.35])  # fmt: skip
    assert np.abs(after - before).max() < 0.01


def test_a_joint_that_is_led_back_stops_before_its_limit():
    """The drives stop by themselves on the way to it: the joint is led back to where it is."""
    arm = DrivenArm().run(0.1)
    way = np.zeros(6)
    way[2] = MODEL.upper[2] - arm.arm.q[2]
    arm.controller.set_trajectory(arm.now, NAMES, [Point(1.4, arm.arm.q + way, ZERO, ZERO)])
    arm.run(0.8)
    arm.blocked = True
    arm.run(1.5)
    require_smooth(arm)
    assert "away from where it should be" in arm.controller.hold_reason
    told = np.array(arm.told)[:, 0, 2]
    assert told.max() < MODEL.upper[2]
    assert_allclose(told[-1], arm.arm.q[2], atol=1e-6)
