"""The momentum observer shows external torque with the time constant it is told, at any rate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from random_trees import TREES

import featherstone_ros as fr
from featherstone_ros.observer.friction import JointFriction
from featherstone_ros.observer.momentum_observer import MomentumObserver

NAMES = ["chain", "mimic", "three prismatic", "fixed between"]
TIMES = {
    "1 kHz": np.arange(0.0, 1.0, 1e-3),
    "30 Hz": np.arange(0.0, 1.0, 1 / 30),
    "uneven": np.cumsum(np.random.default_rng(3).uniform(1e-6, 0.03, 60)),
}


class Swing:
    """A model on a smooth motion, with friction and armature, and what its drives exert."""

    def __init__(self, name, amplitude=0.5):
        self.model = fr.Model.from_urdf(TREES[name])
        self.dynamics = fr.Dynamics(self.model)
        n = self.model.n
        random = np.random.default_rng(2)
        self.amplitude, self.omega = amplitude * random.uniform(-1, 1, n), random.uniform(1, 3, n)
        self.armature = random.uniform(0.0, 0.5, n)
        self.external = random.uniform(-5.0, 5.0, n)
        self.gain = random.uniform(5.0, 50.0, n)
        self.friction = JointFriction(random.uniform(0, 2, n), random.uniform(0, 2, n), 0.5)

    def at(self, time):
        """Return position, velocity and torque of the drives."""
        angle = self.omega * time
        q, qd = self.amplitude * np.sin(angle), self.amplitude * self.omega * np.cos(angle)
        qdd = -self.amplitude * self.omega**2 * np.sin(angle)
        rigid = self.dynamics.rnea(q, qd, qdd)
        return q, qd, rigid + self.armature * qdd + self.friction(qd) - self.external

    def observer(self):
        return MomentumObserver(self.dynamics, self.gain, self.friction, self.armature)

    def observed(self, times):
        """Return (N, n) external torque after the first time."""
        observer = self.observer()
        observer.start(*self.at(times[0]))
        steps = zip(np.diff(times), times[1:], strict=True)
        return np.array([observer.update(dt, *self.at(time)) for dt, time in steps])


@pytest.mark.parametrize("times", TIMES.values(), ids=TIMES)
@pytest.mark.parametrize("name", NAMES)
def test_constant_external_torque_at_rest_appears_by_the_exact_exponential(name, times):
    arm = Swing(name, amplitude=0.0)
    elapsed = times[1:] - times[0]
    expected = arm.external * (1.0 - np.exp(-arm.gain * elapsed[:, None]))
    assert_allclose(arm.observed(times), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_error_in_motion_is_of_second_order_in_the_period(name):
    arm = Swing(name)

    def error(period):
        times = np.arange(0.0, 1.0, period)
        expected = arm.external * (1.0 - np.exp(-arm.gain * times[1:, None]))
        return np.abs(arm.observed(times) - expected).max()

    coarse, fine = error(1e-2), error(1e-3)
    assert fine < 2e-2 * coarse
    assert fine < 1e-3 * np.abs(arm.external).max()


def test_start_forgets_everything():
    arm = Swing("chain")
    observer = arm.observer()
    observer.start(*arm.at(0.0))
    observer.update(0.1, *arm.at(0.1))
    observer.start(*arm.at(0.0))
    assert not observer.external_torque.any()


def test_friction_is_that_of_a_sliding_joint_at_speed_and_nothing_at_rest():
    friction = JointFriction(np.array([2.0]), np.array([3.0]), 0.01)
    assert friction(np.array([0.0])) == 0.0
    assert_allclose(friction(np.array([0.5])), 2.0 * 0.5 + 3.0)
    assert_allclose(friction(np.array([-0.5])), -friction(np.array([0.5])))
