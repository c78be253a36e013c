"""The zero of a force-torque sensor: what is found, when it is not, and what the arm does then."""

import numpy as np
import pytest
from contact_bench import MODEL, ContactBench
from numpy.testing import assert_allclose

from featherstone_ros.control.settings import Mode
from featherstone_ros.control.trajectory import TrajectoryError

BIAS = np.array([6.0, -4.0, 8.0, 0.3, -0.2, 0.1])  # [N, N m], hand axes
PERIOD = 2e-3  # [s] between readings


@pytest.fixture
def biased():
    """An arm in mode admittance that has yielded to what its sensor reads, and stands."""
    bench = ContactBench()
    bench.start = bench.pose
    return bench.run(3.0, felt=BIAS)


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
    biased.run(4.0, felt=BIAS)
    assert_allclose(biased.pose, biased.start, atol=1e-3)
    velocity = np.diff(np.array(biased.desired[before - 3 :]), axis=0) / PERIOD
    change = np.abs(np.diff(velocity, axis=0)) / PERIOD
    assert (change <= 1.001 * 5.0 * MODEL.velocity_limit).all()
    assert np.abs(np.diff(velocity, axis=0)).max() < 0.25 * np.abs(velocity).max()


def test_what_acts_besides_is_felt_after_it(biased):
    zero(biased)
    biased.run(3.0, felt=BIAS)
    push = np.array([10.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    biased.run(3.0, felt=BIAS + push)
    pushed, other = biased.pose, ContactBench()
    other.run(3.0, felt=push)
    assert_allclose(pushed, other.pose, atol=2e-3)
    assert np.linalg.norm(pushed[:3, 3] - biased.start[:3, 3]) > 0.01


def test_a_second_zero_finds_the_same(biased):
    zero(biased)
    biased.run(2.0, felt=BIAS)
    assert_allclose(zero(biased), BIAS, atol=1e-9)


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
