"""Compiled, between torques and what drives speak: the controller's border and the twin's."""

from dataclasses import replace

import cdr_messages
import numpy as np
import pytest
from control_arm import NAMES, PERIOD
from control_loop import LoopBench
from drive_law import commands, limited
from numpy.testing import assert_allclose
from pushed_twin import ARM, START, follow, make
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros.control.controller import compiled_controller
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import COMMANDS, EFFORTS, DriveUnits

STILL = np.zeros(2)
SERVO = {"stiffness": [100.0, 60.0], "damping": [3.0, 2.0]}


def random_drives(random, names=NAMES, **more):
    n = len(names)
    figures = {
        "command": tuple(map(str, random.choice(COMMANDS, n))),
        "effort": tuple(map(str, random.choice(EFFORTS, n))),
        "torque_constant": random.uniform(0.01, 0.2, n),
        "gear_ratio": random.uniform(1.0, 200.0, n),
        "direction": random.choice([-1.0, 1.0], n),
        "efficiency": random.uniform(0.5, 1.0, n),
        "backdrive_efficiency": random.uniform(0.3, 1.0, n),
        "resistance": random.uniform(0.1, 5.0, n),
        "back_emf_constant": random.choice([0.0, 0.07], n),
        "supply_voltage": random.uniform(5.0, 48.0, n),
        "stiffness": random.uniform(20.0, 500.0, n),
        "damping": random.uniform(0.0, 5.0, n),
        "rated_effort": random.uniform(5.0, 50.0, n),
    }
    return DriveUnits(tuple(names), **figures | more)


class Driven(LoopBench):
    """A controller of drives in their own units, in its loop; these may really be others."""

    def __init__(self, units, sends_joints=False, real=None, **changes):
        super().__init__(**changes)
        self.units, self.real, self.by_name = units, real or units, sends_joints
        self.controller.compiled = compiled_controller(
            self.controller._space,
            self.model,
            self.settings,
            "",
            np.eye(4),
            sends_joints=sends_joints,
            units=units,
        )
        self.connect()

    def encoded(self, names=NAMES):
        stamp = round(self.stamp * 1e9)
        gravity = fr.Dynamics(self.model).gravity(self.arm.q)
        effort = () if self.effort is None else self.units.measured_effort(self.effort, gravity)
        return cdr_messages.joint_state(
            names, self.arm.q, self.arm.qd, effort, stamp=divmod(stamp, 1_000_000_000)
        )

    def applied(self):
        if not self.commands:
            return self.gravity()
        return self.real.torques(self.told, self.arm.q, self.arm.qd)

    @property
    def told(self):
        if not self.by_name:
            return self.commands[-1][1]
        return np.where(self.units.commanded_by("position"), self.row(48), self.row(0))

    def row(self, before):
        """Return the last two numbers before so many bytes at the end of the last message."""
        data = self.published[-1][2]
        return np.frombuffer(data[len(data) - before - 16 : len(data) - before])


# The controller


@pytest.mark.parametrize("seed", few_or_all(range(7), range(20)))
def test_what_drives_are_told_is_the_law_of_python(seed):
    random = np.random.default_rng(seed)
    units = random_drives(random, max_duty=1.0)
    bench = Driven(units, mode=Mode.GRAVITY_COMPENSATION).start()
    places = units.commanded_by("position")
    for _ in range(20):
        bench.arm.set_state(bench.arm.q, random.uniform(-0.3, 0.3, 2))
        bench.run(PERIOD)
        moment = bench.snapshot()
        law = commands(units, moment.command, moment.q, moment.qd)
        law = limited(units, law, bench.model.lower, bench.model.upper)
        assert_allclose(bench.told[~places], law[~places], rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(bench.compiled.told, bench.told)  # what plain Python sends


@pytest.mark.parametrize("seed", range(10))
def test_the_first_command_continues_a_torque_that_is_measured_in_any_unit(seed):
    units = random_drives(np.random.default_rng(seed))
    bench = Driven(units)
    bench.effort = bench.gravity() + 1.0
    bench.controller.activate(bench.now)
    while not bench.commands:
        bench.run(PERIOD)
    torque = bench.snapshot().command
    assert_allclose(torque, bench.effort, atol=200.0 * PERIOD)


def test_without_units_what_goes_out_is_the_torque_to_the_bit():
    plain, same = LoopBench().start(), Driven(DriveUnits(NAMES)).start()
    for bench in (plain, same):
        bench.run(0.1)
    np.testing.assert_array_equal(
        [told for _, told in plain.commands], [told for _, told in same.commands]
    )


def test_own_limits_cut_and_are_counted():
    units = DriveUnits(NAMES, "current", torque_constant=1.0, max_current=[1.0, 100.0])
    bench = Driven(units).start()
    bench.run(0.1)
    assert bench.told[0] == np.sign(bench.told[0]) and abs(bench.gravity()[0]) > 1.0
    assert bench.snapshot().drive_counts[0, 0] > 100 and bench.snapshot().drive_counts[0, 1] == 0.0


def test_squared_currents_are_summed_for_the_motors_heat():
    units = DriveUnits(NAMES, "current", torque_constant=1.0, gear_ratio=2.0)
    bench = Driven(units).start()
    bench.run(0.1)
    before = bench.snapshot().drive_counts[1]
    bench.run(0.5)
    current = 0.5 * bench.snapshot().command
    assert_allclose(bench.snapshot().drive_counts[1] - before, 0.5 * current**2, rtol=0.02)


# Positions that carry the torque


def servo_bench(share=1.0, **changes):
    """Make servos that really have a share of the stiffness that the controller knows of."""
    real = SERVO | {"stiffness": share * np.array(SERVO["stiffness"])}
    return Driven(
        DriveUnits(NAMES, "position", **SERVO),
        real=DriveUnits(NAMES, "position", **real),
        p=np.zeros(2),
        d=np.zeros(2),
        **changes,
    )


def test_a_servo_is_told_the_torque_as_an_offset():
    bench = servo_bench().start()
    first = bench.commands[0][1]
    assert_allclose(first, bench.arm.q + bench.gravity() / SERVO["stiffness"], atol=1e-9)
    goal = bench.arm.q - 0.3
    bench.controller.set_trajectory(bench.now, NAMES, [Point(1.0, goal, np.zeros(2))])
    bench.run(0.5)
    moment = bench.snapshot()
    law = commands(bench.units, moment.command, *moment.desired[:2])
    assert np.abs(moment.desired[1]).max() > 0.2
    assert_allclose(bench.told, law, atol=1e-9)


def test_a_torque_leads_no_servo_beyond_the_joints_limits():
    bench = Driven(
        DriveUnits(NAMES, ("torque", "position"), stiffness=20.0, damping=2.0), damping=np.ones(2)
    )
    upper = bench.model.upper[1]
    bench.arm.reset([0.8, upper - 0.001])
    bench.start()
    assert bench.gravity()[1] > 0.4 and bench.snapshot().drive_counts[0, 1] > 100
    assert bench.told[1] == pytest.approx(upper)


def test_nor_does_the_first_one_by_a_stiffness_that_is_stated_too_small():
    servo = DriveUnits(NAMES, ("torque", "position"), stiffness=0.02)
    bench = Driven(servo, damping=np.ones(2)).start()
    assert abs(bench.gravity()[1]) / 0.02 > 10.0
    positions = np.array([told[1] for _, told in bench.commands])
    assert bench.model.lower[1] <= positions.min() and positions.max() <= bench.model.upper[1]


def test_joint_states_have_a_place_for_positions_and_one_for_torques():
    units = DriveUnits(NAMES, ("position", "torque"), **SERVO)
    bench = Driven(units, sends_joints=True).start()
    bench.run(0.3)
    moment = bench.snapshot()
    offset = moment.command[0] / 100.0
    assert_allclose(bench.row(48), moment.desired[0] + [offset, 0.0], atol=1e-9)
    np.testing.assert_array_equal(bench.row(0), [0.0, moment.command[1]])


# The twin


@pytest.fixture(scope="module")
def model():
    return fr.Model.from_urdf(ARM)


@pytest.mark.parametrize("seed", few_or_all(range(2), range(12)))
def test_drives_of_the_twin_are_the_law_of_python(model, seed):
    """In small steps, against the simulator with that law around it."""
    random = np.random.default_rng(seed)
    units = random_drives(random, model.joint_names, effort="torque")
    armature = random.uniform(0.05, 0.2, 2)
    settings = {"rate": 100.0, "time_step": 1e-5, "saturate_effort": False, "armature": armature}
    twin = make(model, units=units, **settings)
    torque = random.uniform(-3.0, 3.0, 2)
    told = commands(units, torque, START, STILL)
    told = np.where(units.commanded_by("position"), START + 0.002, told)
    told = limited(units, told, model.lower, model.upper)
    simulator = fr.Simulator(model, time_step=1e-5, armature=armature)
    simulator.reset(START)
    twin.command(told, 0.0)
    for _ in range(3):
        twin.advance(0.0)
        for _ in range(1000):
            simulator.step(units.torques(told, simulator.q, simulator.qd))
    assert np.abs(twin.qd).max() > 0.02
    assert_allclose(twin.q, simulator.q, atol=2e-5)
    expected = units.torques(told, simulator.q, simulator.qd)
    assert_allclose(twin.effort, expected, atol=0.02)


@pytest.mark.parametrize("effort", EFFORTS)
def test_efforts_of_the_twin_are_in_the_drives_units(model, effort):
    units = DriveUnits(
        model.joint_names, effort=effort, torque_constant=0.1, gear_ratio=50.0, rated_effort=20.0
    )
    twin = make(model, units=units)  # its brakes are on
    held = fr.Dynamics(model).gravity(START)
    assert_allclose(units.measured_torque(twin.effort, held), held, atol=1e-9)
    assert_allclose(make(model, units=None).effort, held, atol=1e-9)


def test_a_servo_told_nothing_stays_where_it_begins(model):
    units = DriveUnits(model.joint_names, "position", stiffness=2000.0, damping=50.0)
    twin = make(model, units=units, hold_until_command=False)
    for _ in range(500):
        twin.advance(0.0)
    sag = fr.Dynamics(model).gravity(twin.q) / 2000.0
    assert_allclose(START - twin.q, sag, atol=1e-6)


def test_drives_take_by_name_what_they_are_told(model):
    units = DriveUnits(
        model.joint_names,
        ("position", "current"),
        stiffness=200.0,
        damping=20.0,
        torque_constant=0.5,
    )
    by_name, by_array = make(model, units=units), make(model, units=units)
    follow(by_name, START + 0.1, effort=[7.0, 3.0])
    by_array.command([START[0] + 0.1, 3.0], 0.0)
    for twin in (by_name, by_array):
        for _ in range(50):
            twin.advance(0.0)
    np.testing.assert_array_equal(by_name.q, by_array.q)
    assert by_name.effort[1] == pytest.approx(1.5)
    follow(by_name, effort=[7.0, 3.0], now=1.0)  # without a position, the servo is told nothing
    assert not by_name.is_braked


def test_units_are_part_of_the_settings(model):
    units = DriveUnits(model.joint_names, "current", torque_constant=0.5)
    twin = make(model, units=units)
    twin.command([1.0, 1.0], 0.0)
    twin.use(replace(twin.settings, saturate_effort=False), 0.0)
    twin.advance(0.0)
    assert_allclose(twin.effort, [0.5, 0.5])
