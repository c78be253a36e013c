"""The zero of a force-torque sensor: what is found, when it is not, and what the arm does then."""

import numpy as np
import pytest
from contact_bench import HOME, MODEL, PANDA, TIP, Arm, ContactBench
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from featherstone_ros import _control
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.settings import Mode
from featherstone_ros.control.tool_weight import SensorZeros, find_tool
from featherstone_ros.control.trajectory import TrajectoryError

BIAS = np.array([6.0, -4.0, 8.0, 0.3, -0.2, 0.1])  # [N, N m], hand axes
PERIOD = 2e-3  # [s] between readings


@pytest.fixture
def biased():
    """An arm in mode admittance that has yielded to what its sensor reads, and stands."""
    bench = ContactBench()
    bench.start = bench.pose
    return bench.run(2.0, felt=BIAS)


def zero(bench):
    return bench.controller.zero_wrench(bench.now)


def refusal(bench):
    with pytest.raises(TrajectoryError) as error:
        zero(bench)
    return str(error.value)


def test_hand_returns_smoothly_once_its_sensor_is_zeroed(biased):
    """A step of the force is one of the acceleration, within what a joint may accelerate by."""
    yielded = np.linalg.norm(biased.pose[:3, 3] - biased.start[:3, 3])
    assert yielded > 0.01
    before = len(biased.desired)
    assert_allclose(zero(biased), BIAS, atol=1e-12)
    biased.run(3.0, felt=BIAS)
    assert_allclose(biased.pose, biased.start, atol=1e-3)
    assert_allclose(zero(biased), BIAS, atol=1e-9)  # a second one finds the same
    velocity = np.diff(np.array(biased.desired[before - 3 :]), axis=0) / PERIOD
    change = np.abs(np.diff(velocity, axis=0)) / PERIOD
    assert (change <= 1.001 * 5.0 * MODEL.velocity_limit).all()
    assert np.abs(np.diff(velocity, axis=0)).max() < 0.25 * np.abs(velocity).max()


def test_what_acts_besides_is_felt_after_it(biased):
    zero(biased)
    biased.run(2.0, felt=BIAS)
    push = np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    biased.run(2.0, felt=BIAS + push)
    pushed, other = biased.pose, ContactBench()
    other.run(2.0, felt=push)
    assert_allclose(pushed, other.pose, atol=2e-3)
    assert np.linalg.norm(pushed[:3, 3] - biased.start[:3, 3]) > 0.01


def test_gaps_do_not_lose_the_zero(biased):
    zero(biased)
    biased.run(2.0, felt=BIAS)
    biased.run(0.5, sensor=False)
    assert "none, or fewer" in refusal(biased)
    biased.run(2.0, felt=BIAS)
    assert_allclose(biased.pose, biased.start, atol=1e-3)


@pytest.mark.parametrize("mode", [Mode.ADMITTANCE, Mode.FEEDFORWARD])
def test_the_payloads_weight_is_no_offset(mode):
    """It turns with the hand, the sensor's offset does not."""
    weight, at = np.array([0.0, 0.0, -15.0]), np.array([0.02, 0.0, 0.1])
    bench = ContactBench(weight=weight, weight_at=at, mode=mode)
    for _ in range(1000):
        force = bench.pose[:3, :3].T @ weight
        bench.run(PERIOD, felt=0.1 * BIAS + np.concatenate([force, np.cross(at, force)]))
    assert_allclose(zero(bench), 0.1 * BIAS, atol=1e-3)


def test_noise_is_averaged_and_wrong_numbers_are_not_taken():
    random = np.random.default_rng(5)
    bench = ContactBench(mode=Mode.FEEDFORWARD)
    for k in range(500):
        wrong = 500.0 * (k % 50 < 2)
        noise = random.normal(0.0, 0.3, 6) * [1.0, 1.0, 1.0, 0.1, 0.1, 0.1]
        bench.run(PERIOD, felt=BIAS + noise + wrong)
    assert_allclose(zero(bench), BIAS, atol=0.25)


@pytest.mark.parametrize(("size", "what"), [(2.0, "force"), (0.3, "moment")])
def test_readings_that_scatter_are_refused(size, what):
    random = np.random.default_rng(6)
    bench = ContactBench(mode=Mode.FEEDFORWARD)
    shape = np.repeat([1.0, 0.0] if what == "force" else [0.0, 1.0], 3)
    for _ in range(300):
        bench.run(PERIOD, felt=BIAS + size * shape * random.normal(size=6))
    assert f"the {what} on ~/wrench scatters by" in refusal(bench)
    bench.run(1.0, felt=BIAS)
    assert_allclose(zero(bench), BIAS, atol=0.01)


def test_a_hand_that_has_just_touched_it_is_refused():
    bench = ContactBench(mode=Mode.FEEDFORWARD)
    bench.run(1.0, felt=BIAS).run(0.1, felt=BIAS + 20.0).run(0.1, felt=BIAS)
    assert "scatters" in refusal(bench)


def test_an_arm_that_moves_or_presses_is_refused(biased):
    still = "only while the arm is held still"
    target = biased.pose
    target[:3, 3] += 0.05
    biased.controller.set_target(biased.now, target)
    biased.run(0.1, felt=BIAS)
    assert still in refusal(biased)
    biased.run(4.0, felt=BIAS)
    zero(biased)
    for _ in range(20):
        biased.controller.set_target(biased.now, wrench=[0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
        biased.run(0.05, felt=BIAS)
    assert still in refusal(biased)


def test_without_readings_or_commands_it_is_refused():
    bench = ContactBench(mode=Mode.FEEDFORWARD)
    bench.run(1.0, sensor=False)
    assert "none, or fewer" in refusal(bench)
    bench.run(0.2, felt=BIAS)
    assert "none, or fewer" in refusal(bench)
    bench.run(0.5, felt=BIAS)
    zero(bench)
    bench.controller.deactivate(bench.now)
    assert "only while the arm is held still" in refusal(bench)


# The weight of a tool, from what a sensor reads in several postures.


MASS, COM = 0.95, np.array([0.01, -0.02, 0.06])
G = np.array([0.0, 0.0, -9.81])
TURNS = [Rotation.from_euler("xyz", a) for a in ([0, 0, 0], [0.6, 0, 0], [0, 0.7, 0.3], [2, 1, 0])]


def reading(rotation, mass=MASS, com=COM):
    force = mass * rotation.T @ G
    return BIAS + np.concatenate([force, np.cross(com, force)])


def tool_of(turns, noise=0.0, random=None):
    random = random or np.random.default_rng(0)
    size = noise * np.array([1.0, 1.0, 1.0, 0.1, 0.1, 0.1])
    zeros = [reading(turn.as_matrix()) + size * random.normal(size=6) for turn in turns]
    return find_tool(np.array(zeros), np.array([turn.as_matrix().T @ G for turn in turns]))


@pytest.mark.parametrize("count", [3, 4])
def test_the_tool_and_the_offset_are_found(count):
    tool = tool_of(TURNS[:count])
    assert tool.mass == pytest.approx(MASS)
    assert_allclose(tool.moment, MASS * COM, atol=1e-12)
    assert_allclose(tool.offset, BIAS, atol=1e-12)
    assert max(tool.misfit) < 1e-12


def test_the_deviation_is_that_of_many_tries():
    random, errors, deviations = np.random.default_rng(1), [], []
    turns = Rotation.random(5, random_state=3)
    for _ in range(300):
        tool = tool_of(turns, 0.2, random)
        errors.append(tool.mass - MASS)
        deviations.append(tool.deviation)
    assert np.mean(deviations) == pytest.approx(np.std(errors), rel=0.15)
    assert abs(np.mean(errors)) < 0.3 * np.std(errors)


def test_postures_that_do_not_tell_are_not_asked():
    about_x = [Rotation.from_euler("x", a) for a in (0.0, 0.4, 0.8)]
    upright = [Rotation.from_euler("z", a) for a in (0.0, 1.0, 2.0)]
    for turns in (TURNS[:2], upright, [TURNS[0]] * 5):
        assert tool_of(turns) is None
    assert tool_of([*about_x, TURNS[2]]).mass == pytest.approx(MASS)


def arm(**payload):
    values = {f"payload.{name}": value for name, value in payload.items()}
    return ControlledArm.of(MODEL, {"tip": TIP, **values})


def told(known, turns=TURNS, mass=MASS, com=COM):
    """Return the answer to the last of zeros; the known payload's weight is not in them."""
    zeros, text = SensorZeros(), ""
    values = known.values
    for turn in turns:
        rotation = turn.as_matrix()
        zero = reading(rotation, mass, com)
        if values["payload.mass"]:
            zero = zero - reading(rotation, values["payload.mass"], values["payload.com"]) + BIAS
        text = zeros.note(zero, rotation, known)
    return text


def test_the_answer_has_the_parameters_to_set():
    text = told(arm())
    assert "the zeros of 4 postures show another tool than is known" in text
    assert "payload.link panda_hand, payload.mass 0.950" in text
    assert "payload.com [0.0100, -0.0200, 0.0600]" in text


def test_a_known_payload_counts_and_one_that_is_right_is_not_told_again():
    half = arm(link=TIP, mass=0.5, com=[0.0, 0.0, 0.1])
    assert "payload.mass 0.950" in told(half)
    assert "payload.com [0.0100, -0.0200, 0.0600]" in told(half)
    right = arm(link=TIP, mass=MASS, com=COM.tolist())
    assert "show no more weight than is known" in told(right)
    assert "payload.mass 0, not 0.95" in told(right, mass=0.0)
    aside = arm(link=TIP, mass=MASS, com=[0.01, -0.02, 0.0])
    assert "payload.com [0.0100, -0.0200, 0.0600]" in told(aside)


def test_a_sensor_with_other_signs_and_zeros_of_no_tool_are_named():
    assert "the sensor's signs are wrong" in told(arm(), mass=-MASS)
    zeros, known = SensorZeros(), arm()
    for turn, push in zip(TURNS, (0.0, 9.0, 0.0, 0.0), strict=True):
        rotation = turn.as_matrix()
        text = zeros.note(reading(rotation) + push, rotation, known)
        if "scatter by" in text:
            break
    assert "something touched it, or it was changed" in text


def test_another_payload_begins_anew():
    zeros = SensorZeros()
    for k, turn in enumerate(TURNS):
        known = arm(link=TIP, mass=0.1 * (k == 3), com=[0.0, 0.0, 0.1])
        text = zeros.note(reading(turn.as_matrix()), turn.as_matrix(), known)
    assert not text


def test_a_controller_in_three_postures_tells_its_tool():
    zeros, known = SensorZeros(), arm()
    for change in ([0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0.7, 0], [0, 0, 0, 0, 0.8, 0, 0.3]):
        bench = ContactBench(mode=Mode.FEEDFORWARD, arm=Arm(MODEL, PANDA.tip, HOME + change))
        bench.run(1.0, felt=reading(bench.pose[:3, :3]))
        request = _control.ZeroRequest()
        bench.controller.ask(request, bench.now)
        assert_allclose(request.rotation, bench.pose[:3, :3], atol=1e-3)
        text = zeros.note(request.offset, request.rotation, known)
    assert "payload.mass 0.950" in text or "payload.mass 0.949" in text
