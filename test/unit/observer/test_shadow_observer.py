"""The momentum observer shows external torque with the time constant it is told, at any rate.

And all that a shadow computes is what NumPy makes of the same equations.
"""

from itertools import cycle, product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy_shadow import NumpyShadow
from random_trees import TREES
from studies import few_or_all
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import CONTRACTS
from featherstone_ros.observer.shadow_settings import default_link
from featherstone_ros.simulation.simulator_settings import INTEGRATORS

NAMES = ["chain", "mimic", "three prismatic", "fixed between"]
MORE = [*NAMES, "massless between", "all at once", "along axes"]
TIMES = {
    "1 kHz": np.arange(1000) * 1_000_000,
    "30 Hz": np.arange(30) * 33_333_333,
    "uneven": np.cumsum(np.random.default_rng(3).integers(1_000, 30_000_000, 60)),
}  # [ns]


class Swing:
    """A model on a smooth motion, with friction and armature, and what its drives exert."""

    def __init__(self, name, amplitude=0.5):
        self.model = fr.Model.from_urdf(TREES[name])
        self.dynamics = fr.Dynamics(self.model)
        n = self.model.n
        random = np.random.default_rng(2)
        self.amplitude, self.omega = amplitude * random.uniform(-1, 1, n), random.uniform(1, 3, n)
        self.external = random.uniform(-5.0, 5.0, n)
        self.settings = ShadowSettings(
            drives=Drives(random.uniform(0.0, 0.5, n), random.uniform(0, 2, n), 0.0),
            observer_gain=random.uniform(5.0, 50.0, n),
            prediction_horizon=0.0,
        )

    def at(self, time):
        """Return position, velocity and torque of the drives."""
        s, angle = self.settings.drives, self.omega * time
        q, qd = self.amplitude * np.sin(angle), self.amplitude * self.omega * np.cos(angle)
        qdd = -self.amplitude * self.omega**2 * np.sin(angle)
        friction = s.viscous * qd  # dry friction would turn round between two states
        rigid = self.dynamics.rnea(q, qd, qdd)
        return q, qd, rigid + s.armature * qdd + friction - self.external

    def observed(self, times, shadow=None):
        """Return (N, n) external torque after the first time; times in ns."""
        shadow = shadow or Shadow(self.model, self.settings)
        updates = [shadow.update(int(time), *self.at(1e-9 * time)) for time in times]
        assert updates[0].residual is None
        return np.array([update.residual.torque for update in updates[1:]])


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("name", NAMES)
def test_constant_external_torque_at_rest_appears_by_the_exact_exponential(name, times):
    arm = Swing(name, amplitude=0.0)
    elapsed = 1e-9 * (times[1:] - times[0])
    expected = arm.external * (1.0 - np.exp(-arm.settings.observer_gain * elapsed[:, None]))
    assert_allclose(arm.observed(times), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_error_in_motion_is_of_second_order_in_the_period(name):
    arm = Swing(name)

    def error(period):
        times = np.arange(0, 1_000_000_000, period)
        gain = arm.settings.observer_gain
        expected = arm.external * (1.0 - np.exp(-gain * 1e-9 * times[1:, None]))
        return np.abs(arm.observed(times) - expected).max()

    coarse, fine = error(10_000_000), error(1_000_000)
    assert fine < 2e-2 * coarse
    assert fine < 1e-3 * np.abs(arm.external).max()


def test_restart_forgets_everything():
    arm = Swing("chain")
    shadow = Shadow(arm.model, arm.settings)
    times = TIMES["30 Hz"]
    first = arm.observed(times, shadow)
    shadow.restart()
    np.testing.assert_array_equal(arm.observed(times, shadow), first)


# Against NumPy.


def random_settings(random, n, contract):
    integrator = str(random.choice(INTEGRATORS))
    drives = Drives(
        viscous=random.uniform(0.0, 2.0, n),
        coulomb=random.uniform(0.0, 2.0, n),
        offset=random.uniform(-1.0, 1.0, n),
        stiffness=random.choice([0.0, 1.0]) * random.uniform(0.0, 3.0, n),
        armature=random.uniform(0.01, 0.5, n),
        load=random.uniform(0.0, 0.2, n),
        thinning=random.uniform(0.0, 2.0, n),
        presliding_displacement=random.uniform(0.01, 0.5),
    )
    return ShadowSettings(
        prediction_horizon=0.0104,
        integrator=integrator,
        drives=drives,
        observer_gain=random.uniform(1.0, 60.0, n),
        effort_contract=contract,
        effort_gain=random.uniform(0.5, 5.0, n) * random.choice([-1.0, 1.0], n),
        wrench_damping=0.1,
    )


@pytest.mark.parametrize(
    ("name", "contract"),
    few_or_all(list(zip(MORE, cycle(CONTRACTS), strict=False)), product(MORE, CONTRACTS)),
)
def test_all_that_is_computed_is_what_numpy_computes(name, contract):
    random = np.random.default_rng([CONTRACTS.index(contract), len(name)])
    model = fr.Model.from_urdf(TREES[name])
    settings = random_settings(random, model.n, contract)
    shadow = Shadow(model, settings)
    numpy = NumpyShadow(model, settings, shadow.wrench_link)
    time = 5_000_000_000
    for _ in range(40):
        step = int(random.integers(1_000, 20_000_000))
        time += step
        state = random.uniform(-1.0, 1.0, (3, model.n)) * [[1.0], [1.0], [5.0]]
        update = shadow.update(time, *state)
        (position, velocity), residual = numpy.update(1e-9 * step, *state)
        torque = numpy.torque(*state)
        tolerance = {"rtol": 1e-10, "atol": 1e-10}
        assert_allclose(update.prediction.position, position, **tolerance)
        assert_allclose(update.prediction.velocity, velocity, **tolerance)
        assert_allclose(update.prediction.torque, torque, **tolerance)
        assert_allclose(shadow.torque(*state), torque, **tolerance)
        assert (update.residual is None) == (residual is None)
        if residual is not None:
            said = update.residual
            figures = said.position, said.velocity, said.torque, said.wrench
            for figure, expected in zip(figures, residual, strict=True):
                scale = max(1.0, np.abs(expected).max())
                assert_allclose(figure, expected, rtol=0.0, atol=2e-12 * scale)
    assert shadow.restarts == 0


# What a shadow makes of time and contact, each by itself.


MS = 1_000_000
ONE = fr.Model.from_urdf(TREES["one prismatic joint"])
BLIND = ShadowSettings(
    prediction_horizon=0.0,
    drives=Drives.of_model(ONE, armature=1.0),
    max_gap=0.5,
    observer_gain=1000.0,
)


class TestTimeline:
    @pytest.fixture
    def shadow(self):
        return Shadow(ONE, BLIND)

    def see(self, shadow, time, value, speed=1.0):
        return shadow.update(time * MS, [value], [speed], [0.0])

    def test_repeated_and_late_states_are_passed_over(self, shadow):
        self.see(shadow, 100, 1.0)
        assert self.see(shadow, 100, 2.0) is None
        assert self.see(shadow, 110, 1.0) is None  # cannot be where it was
        assert self.see(shadow, 90, 3.0) is None
        assert shadow.passed_over == {"repeated": 2, "late": 1}
        assert self.see(shadow, 120, 4.0).residual is not None

    def test_arm_at_rest_may_measure_the_same_again(self, shadow):
        self.see(shadow, 100, 1.0, 0.0)
        assert self.see(shadow, 110, 1.0, 0.0).residual is not None

    @pytest.mark.parametrize(
        ("time", "reason"), [(700, "no new joint state for 0.6 s"), (-500, "jumped back by 0.6 s")]
    )
    def test_gap_and_jump_back_lose_the_thread_and_say_so(self, shadow, time, reason):
        self.see(shadow, 100, 1.0)
        update = self.see(shadow, time, 2.0)
        assert update.residual is None
        assert reason in update.restart_reason
        update = self.see(shadow, time + 5, 3.0)
        assert update.residual is not None
        assert not update.restart_reason
        assert shadow.restarts == 1


class TestContact:
    MODEL = fr.Model.from_urdf(TREES["three prismatic"])

    def test_contact_of_each_joint_begins_above_its_threshold_and_ends_below_the_lower_one(self):
        settings = ShadowSettings(
            observer_gain=1000.0,
            contact_threshold=[10.0, 2.0, 1e3],
            contact_hysteresis=[0.5, 0.0, 0.0],
            prediction_horizon=0.0,
            max_gap=1.0,
            drives=Drives(0.0, 0.0, 0.0),
        )
        shadow = Shadow(self.MODEL, settings)
        q = zero = np.zeros(3)
        gravity = fr.Dynamics(self.MODEL).gravity(q)
        shadow.update(0, q, zero, gravity)
        said = []
        felt = [[9, 0], [11, 0], [6, 0], [4.9, 0], [6, 0], [0, -2.5], [0, -1.9]]
        for k, torque in enumerate(felt, 1):
            for time in range(3 * k, 3 * k + 3):  # once for the mean of both ends, then twice
                update = shadow.update(time * 200 * MS, q, zero, gravity - [*torque, 0.0])
            assert_allclose(update.residual.torque[:2], torque, atol=1e-9)
            said.append(update.residual.contact)
            assert shadow.contact.any() == said[-1]
        assert said == [False, True, True, False, False, True, False]

    def test_joints_are_told_apart_until_the_thread_is_lost(self):
        shadow = Shadow(ONE, BLIND)
        shadow.update(0, [0.0], [0.0], [0.0])
        shadow.update(200 * MS, [0.0], [0.0], [1000.0])
        assert not shadow.contact.any()  # one state may be a jolt
        shadow.update(400 * MS, [0.0], [0.0], [1000.0])
        assert_array_equal(shadow.contact, [True])
        shadow.update(10_000 * MS, [0.0], [0.0], [0.0])
        assert not shadow.contact.any()


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)])
def test_the_tip_is_found_in_a_file_that_lists_joints_from_the_tip_on(order):
    """On the SO-101 it was the shoulder, whose load no joint feels."""
    links = (link(f"l{k}") for k in range(4))
    joints = (joint(f"j{k}", f"l{k - 1}", f"l{k}", axis="0 1 0") for k in order)
    assert default_link(fr.Model.from_urdf(robot(*links, *joints))) == "l3"
