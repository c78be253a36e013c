"""Stiffnesses of servos, learned by one compiled law."""

import functools
import itertools

import numpy as np
import pytest
from compiled import control_parts
from numpy.testing import assert_allclose, assert_array_equal
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.drive_watch import factors, misfits
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.drive_units import DriveUnits
from featherstone_ros.model.robots import robot_file
from featherstone_ros.simulation import DrivenArm
from featherstone_ros.simulation.closed_loop import ClosedLoop
from featherstone_ros.simulation.drive_bus import DriveBus

MODEL = fr.Model.from_file(
    robot_file("ur5e"), joints=["shoulder_lift_joint", "elbow_joint", "wrist_1_joint"]
)
NAMES, N = MODEL.joint_names, 3
START = np.array([-0.9, 0.8, -0.4])
ROTOR = np.array([0.5, 0.3, 0.05])
STIFFNESS, DAMPING = np.array([4000.0, 2000.0, 200.0]), np.array([80.0, 40.0, 4.0])
FRICTION, PLAY, RESOLUTION = np.array([4.0, 2.0, 0.2]), 4e-3, 1.5e-3
HOBBY = {"friction": FRICTION, "backlash": PLAY, "resolution": RESOLUTION}
PERIOD = 0.01
STILL = np.zeros(N)


def servos(share=1.0, **more):
    """Return the servos as they are, or with a share of the stiffness."""
    return DriveUnits(NAMES, "position", stiffness=share * STIFFNESS, damping=DAMPING, **more)


def plant(model=MODEL, **more):
    return DrivenArm(model, servos(), ROTOR, q=START, time_step=5e-4, **more)


class Alone:
    """Servos that are told positions without torques."""

    def __init__(self, bus):
        self.bus, self.read = bus, bus.read

    def write(self, at, command):
        self.bus.write(at, command.position)


def loop_of(bus, **parameters):
    timing = {"gains.period": PERIOD, "gains.delay": PERIOD}
    rotors = {f"armature.{name}": float(j) for name, j in zip(NAMES, ROTOR, strict=True)}
    given = timing | rotors | parameters
    return ClosedLoop(ControlledArm.of(MODEL, {"output": "joint_state"} | given), bus)


def servo_loop(units, bus, **parameters):
    return loop_of(DriveBus(MODEL, units, bus), **parameters)


def learned(loop):
    """Return (n,) each: compliance, time without a fit, and what is shown."""
    return loop.controller.compiled.stiffness_shown


def standing():
    return [Point(6.0, START, STILL)]


def moving():
    times, omega = np.arange(0.5, 6.5, 0.5), np.array([1.7, 2.0, 2.4])
    points = [
        Point(t, START + 0.3 * np.sin(omega * t), 0.3 * omega * np.cos(omega * t)) for t in times
    ]
    return [*points, Point(7.0, points[-1].positions, STILL)]


def rms(record):
    return np.sqrt(np.mean(record.error[record.time > 1.0] ** 2))


@functools.cache
def alone(moves):
    """Return the RMS of the error of servos alone, standing or moving."""
    points = moving() if moves else standing()
    return rms(loop_of(Alone(plant(**HOBBY))).run(points, rest=1.0))


# The law


def reference(given, tolerance, u, error, deflection, speed, dt, learns):
    """Return compliance, time strayed, what is shown, and lag after samples, in plain NumPy."""
    compliance, strayed, lag = given.copy(), np.zeros(N), given * DAMPING
    product, square = np.zeros((2, N))
    for k in range(len(u)):
        slow = np.abs(speed[k]) <= 0.05
        bent, size = deflection[k] * np.sign(u[k]), np.abs(u[k])
        little = np.maximum(size * given, np.abs(deflection[k])) <= 3.0 * tolerance
        fits = (bent + tolerance >= 0.5 * given * size) & (bent - tolerance <= 2.0 * given * size)
        change = np.where(fits | little, -dt, dt)
        strayed = np.where(slow, np.clip(strayed + change, 0.0, 10.0), strayed)
        product = np.where(slow, product + dt * (u[k] * deflection[k] - product), product)
        square = np.where(slow, square + dt * (u[k] ** 2 - square), square)
        telling = np.where(np.abs(error[k]) > tolerance, error[k], 0.0)
        step = 4.0 * dt * u[k] * telling / (u[k] ** 2 + (3.0 * tolerance / given) ** 2)
        step = np.clip(step, -given * dt, given * dt)
        changed = np.clip(compliance + step, 0.5 * given, 2.0 * given)
        compliance = np.where(slow & learns[k], changed, compliance)
        step = np.clip(4.0 * dt * speed[k] * telling / (speed[k] ** 2 + 0.04), -0.1 * dt, 0.1 * dt)
        changed = np.clip(lag + step, 0.0, given * DAMPING + 0.1)
        lag = np.where(~slow & learns[k], changed, lag)
    return compliance, strayed, product / square, lag


@pytest.mark.parametrize("seed", range(5))
def test_the_compiled_law_is_that_of_numpy(seed):
    random, count = np.random.default_rng(seed), 400
    u, error, deflection, speed = random.uniform(-1.0, 1.0, (4, count, N))
    u, error, speed = u * 40.0, error * 0.02, speed * 0.15
    deflection = u / STIFFNESS * (1.0 + deflection) + 0.1 * speed
    learns = random.random((count, N)) < 0.8
    tolerance = np.array([2e-3, 1e-3, 5e-3])
    its = control_parts.LearnedStiffness(servos(), tolerance)
    for k in range(count):
        its.learn(u[k], error[k], deflection[k], speed[k], PERIOD, learns[k])
    expected = reference(1.0 / STIFFNESS, tolerance, u, error, deflection, speed, PERIOD, learns)
    for actual, value in zip(its.shown, expected, strict=True):
        assert_allclose(actual, value, rtol=1e-12, atol=1e-15)


def test_the_loop_learns_what_numpy_would():
    """Of the same states, by the torques that it commands itself."""
    units = servos(0.7)
    loop, its = (
        servo_loop(units, plant(**HOBBY)),
        control_parts.LearnedStiffness(units, np.full(N, 2e-3)),
    )
    controller, before = loop.controller.compiled, None
    for k, _ in enumerate(loop.steps(2.0)):
        moment = loop.controller.snapshot()
        if k > 60 and before is not None:
            desired, speed = controller.position_command
            told = controller.told - loop.arm.timing.latency * speed
            its.learn(
                moment.command, desired - moment.q, told - moment.q, speed, PERIOD, [True] * N
            )
            assert_allclose(
                controller.stiffness_shown[0] - before[0],
                its.shown[0] - 1.0 / units.stiffness,
                rtol=1e-9,
                atol=1e-12 / units.stiffness.min(),
            )
        elif k == 60:
            before = controller.stiffness_shown
            its = control_parts.LearnedStiffness(units, np.full(N, 2e-3))
    assert np.abs(before[0] * units.stiffness - 1.0).max() > 0.01


# An arm of hobby servos with stiction, play and coarse encoders


@pytest.mark.parametrize(
    ("moves", "wrong"), few_or_all([(True, 1.3)], itertools.product((False, True), (0.7, 1.3)))
)
def test_sag_and_tracking_error_are_five_times_smaller(moves, wrong):
    loop = servo_loop(servos(wrong), plant(**HOBBY))
    record = loop.run(moving() if moves else standing(), rest=1.0)
    assert rms(record) < 0.2 * alone(moves)
    still = loop.advance(5.0)  # after the joints have crept to where they stay
    assert_array_equal(still.q[100:], np.broadcast_to(still.q[-1], still.q[100:].shape))
    assert (learned(loop)[1] == 0.0).all()


@pytest.mark.parametrize("wrong", [0.7, study(1.3)])
def test_what_a_servo_is_told_has_no_steps_while_it_learns(wrong):
    bus, told = plant(**HOBBY), [START]  # it stands on its own at first
    write = bus.write
    bus.write = lambda at, command: (told.append(command), write(at, command))
    servo_loop(servos(wrong), bus).run(moving(), rest=1.0)
    speed = np.diff(told, axis=0) / PERIOD
    limit = MODEL.velocity_limit
    assert (np.abs(speed) < limit).all()
    assert (np.abs(np.diff(speed, axis=0)) / PERIOD < 1.01 * 10.0 * limit).all()


# What else the data may show


def standing_samples(its, u, deflection, count):
    """Let servos stand that are told what they hold."""
    for _ in range(count):
        error = deflection - its.shown[0] * u
        its.learn(u, error, deflection, STILL, PERIOD, [True] * N)


@pytest.mark.parametrize("factor", [2000.0, 1.0 / 2000.0])
def test_a_stiffness_that_is_far_off_is_named_with_what_the_data_show(factor):
    units = servos(factor)
    its, u = control_parts.LearnedStiffness(units, np.full(N, 2e-3)), 0.01 * STIFFNESS
    standing_samples(its, u, u / STIFFNESS, 40)
    assert not misfits(units, 1.0 / units.stiffness, *its.shown[1:])
    standing_samples(its, u, u / STIFFNESS, 200)
    said = misfits(units, *its.shown)
    assert list(said) == list(NAMES)
    assert f"drives.{NAMES[1]}.stiffness of {units.stiffness[1]:g} is off" in said[NAMES[1]]
    assert "show about 2e+03 " in said[NAMES[1]]


def test_no_more_than_a_factor_of_two_is_learned_and_that_is_named():
    units = servos(3.0)
    its, u = control_parts.LearnedStiffness(units, np.full(N, 2e-3)), 0.02 * STIFFNESS
    standing_samples(its, u, u / STIFFNESS, 1000)
    assert_allclose(its.shown[0], 2.0 / units.stiffness)
    assert set(factors(units, its.shown[0]).values()) == {"0.50"}
    assert list(misfits(units, *its.shown)) == list(NAMES)


def test_a_stiffness_within_the_bounds_is_not_complained_of():
    units = servos(1.3)
    its, u = control_parts.LearnedStiffness(units, np.full(N, 2e-3)), 0.02 * STIFFNESS
    standing_samples(its, u, u / STIFFNESS, 1000)
    assert not misfits(units, *its.shown)
    assert np.abs(its.shown[0] * u - u / STIFFNESS).max() <= 2e-3


@pytest.mark.parametrize("why", ["cause known", "fast", "no torque", "not finite", "switched off"])
def test_nothing_is_learned_where_nothing_can_be_told(why):
    its = control_parts.LearnedStiffness(
        servos(0.7), np.full(N, 0.0 if why == "switched off" else 2e-3)
    )
    u = np.zeros(N) if why == "no torque" else 0.02 * STIFFNESS
    error = np.full(N, np.nan if why == "not finite" else 5e-3)
    speed = np.full(N, 0.1 if why == "fast" else 0.0)
    for _ in range(100):
        its.learn(u, error, error, speed, PERIOD, [why != "cause known"] * N)
    assert_array_equal(its.shown[0], 1.0 / (0.7 * STIFFNESS))


@pytest.mark.parametrize("period", [0.01, study(1.0 / 30.0)])
@pytest.mark.parametrize("share", [1.0, 0.3, study(3.0)])
def test_damping_that_is_wrong_is_called_damping(share, period):
    """And a stiffness that is right is not accused, whatever moves."""
    known = DriveUnits(NAMES, "position", stiffness=STIFFNESS, damping=share * DAMPING)
    bus, said = DriveBus(MODEL, known, plant(**HOBBY)), {}
    loop = loop_of(bus, **{"gains.period": period, "gains.delay": period})
    loop.advance(0.5)
    loop.controller.set_trajectory(loop.now, NAMES, moving())
    for _ in range(6):
        loop.advance(1.0)
        said |= bus.binding
    assert not any("stiffness" in what for what in said.values())
    assert sorted(said) == ([] if share == 1.0 else sorted(NAMES))
    shown = {joint: float(what.split("shows ")[1].split()[0]) for joint, what in said.items()}
    for joint, damping in zip(NAMES, DAMPING, strict=True):
        assert joint not in shown or shown[joint] == pytest.approx(damping, rel=0.5)


@pytest.mark.study
def test_a_payload_that_is_not_set_is_compensated_as_if_servos_were_softer():
    heavy = MODEL.with_payload(MODEL.link_names[-1], mass=3.0, com=[0.0, 0.0, 0.1])
    sags, factor = [], None
    for make in (lambda: Alone(plant(heavy)), lambda: DriveBus(MODEL, servos(), plant(heavy))):
        loop = loop_of(make())
        sags.append(np.abs(loop.run(standing()).error[-1]).max())
        factor = factors(servos(), learned(loop)[0]) if isinstance(loop.plant, DriveBus) else None
    assert sags[1] < 0.3 * sags[0]
    assert min(map(float, factor.values())) < 0.9


def test_nothing_is_learned_of_an_arm_that_floats_or_is_cut():
    loop = servo_loop(servos(0.7), plant(**HOBBY), mode="gravity_compensation")
    loop.advance(1.0)
    assert_array_equal(learned(loop)[0], 1.0 / (0.7 * STIFFNESS))
