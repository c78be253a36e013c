"""What a shadow makes of time, effort, prediction, wrench and contact, each by itself."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_trees import TREES

import featherstone_ros as fr
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.effort_contract import (
    FULL,
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
)

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

    def test_one_state_after_the_other_is_taken(self, shadow):
        updates = [self.see(shadow, time, 1e-3 * time) for time in (100, 101, 133, 400)]
        assert [update.residual is None for update in updates] == [True, False, False, False]
        assert not any(update.restart_reason for update in updates)
        assert (shadow.restarts, shadow.passed_over) == (0, {})

    def test_time_between_states_is_that_of_their_stamps(self, shadow):
        self.see(shadow, 100, 0.0)
        before = 0.0
        for time, value, duration in ((101, 1.0, 1), (133, -2.0, 32), (400, 3.0, 267)):
            said = self.see(shadow, time, value).residual
            arm = fr.Simulator(ONE, 1e-3, armature=1.0)
            arm.reset([before], [1.0])
            arm.step([0.0], duration)
            assert_allclose(said.position, value - arm.q, atol=1e-12)
            assert_allclose(said.velocity, 1.0 - arm.qd, atol=1e-12)
            before = value

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


class TestEffortContract:
    MODEL = fr.Model.from_urdf(TREES["mimic"])
    GAIN, VISCOUS = 2.5, 0.7

    @pytest.mark.parametrize("name", [FULL, WITHOUT_GRAVITY, WITHOUT_FRICTION, MOTOR_CURRENT])
    def test_effort_lacks_what_the_contract_says(self, name):
        n = self.MODEL.n
        q, qd, torque = np.random.default_rng(4).uniform(-1, 1, (3, n))
        effort = {
            FULL: torque,
            WITHOUT_GRAVITY: torque - fr.Dynamics(self.MODEL).gravity(q),
            WITHOUT_FRICTION: torque - self.VISCOUS * qd,
            MOTOR_CURRENT: torque / self.GAIN,
        }[name]
        settings = ShadowSettings(
            effort_contract=name,
            effort_gain=self.GAIN,
            drives=Drives.of_model(self.MODEL, viscous=self.VISCOUS, coulomb=0.0),
        )
        assert_allclose(Shadow(self.MODEL, settings).torque(q, qd, effort), torque, atol=1e-12)


class TestPrediction:
    MODEL = fr.Model.from_urdf(TREES["mimic"])

    def prediction(self, duration, time_step, **options):
        q, qd, torque = np.random.default_rng(4).uniform(-1, 1, (3, self.MODEL.n))
        settings = ShadowSettings(
            prediction_horizon=duration,
            time_step=time_step,
            drives=Drives.of_model(self.MODEL, viscous=0.3, armature=0.2),
            **options,
        )
        ahead = Shadow(self.MODEL, settings).update(0, q, qd, 3.0 * torque).prediction
        assert_array_equal(ahead.torque, 3.0 * torque)
        return np.array([ahead.position, ahead.velocity])

    def test_whole_steps_are_the_simulators(self):
        q, qd, torque = np.random.default_rng(4).uniform(-1, 1, (3, self.MODEL.n))
        simulator = fr.Simulator(
            self.MODEL, 1e-3, ShadowSettings.integrator, damping=0.3, armature=0.2
        )
        simulator.reset(q, qd)
        simulator.step(3.0 * torque, 40)
        expected = np.array([simulator.q, simulator.qd])
        assert_allclose(self.prediction(0.04, 1e-3), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("duration", [0.0103, 0.0107, 0.0003])
    def test_any_duration_is_met_to_second_order_in_the_step(self, duration):
        exact = self.prediction(duration, 1e-6, integrator="rk4")
        errors = [
            np.abs(self.prediction(duration, step, integrator="rk4") - exact).max()
            for step in (1e-3, 1e-4)
        ]
        assert errors[1] < 0.1 * errors[0]
        assert errors[0] < 1e-3 * np.abs(exact).max()


def settled(model, q, felt, **settings):
    """Return the residual of an arm at rest that feels external torques (n,) for long."""
    drives = Drives(1.0, viscous=0.0, coulomb=0.0)
    shadow = Shadow(model, ShadowSettings(observer_gain=1000.0, drives=drives, **settings))
    zero, torque = np.zeros(model.n), fr.Dynamics(model).gravity(q) - felt
    shadow.update(0, q, zero, torque)
    return shadow.update(200 * MS, q, zero, torque).residual


class TestWrench:
    @pytest.mark.parametrize("name", ["chain", "oblique", "massless between"])
    def test_wrench_on_the_link_is_found(self, name):
        model = fr.Model.from_urdf(TREES[name])
        dynamics = fr.Dynamics(model)
        q, zero = np.random.default_rng(5).uniform(-1, 1, model.n), np.zeros(model.n)
        wrench = np.array([10.0, -20.0, 5.0, 1.0, 2.0, -3.0])

        def singular_values(link):
            return np.linalg.svd(dynamics.jacobian(q, link), compute_uv=False)

        link = max(model.link_names, key=lambda link: singular_values(link).min())
        felt = dynamics.gravity(q) - dynamics.rnea(q, zero, zero, {link: wrench})
        estimate = settled(model, q, felt, wrench_link=link, wrench_damping=1e-6).wrench
        J = dynamics.jacobian(q, link)
        if model.n >= 6 and np.linalg.matrix_rank(J, 1e-3) == 6:
            assert_allclose(estimate, wrench, rtol=1e-6, atol=1e-6)
        f_ext = {link: estimate}
        assert_allclose(dynamics.gravity(q) - dynamics.rnea(q, zero, zero, f_ext), felt, atol=1e-6)

    def test_damping_takes_its_share_and_a_singular_direction_is_zero(self):
        link, q = ONE.link_names[-1], np.zeros(1)
        dynamics = fr.Dynamics(ONE)
        J, R = dynamics.jacobian(q, link)[:, 0], dynamics.link_pose(q, link)[:3, :3]
        estimate = settled(ONE, q, np.array([4.0]), wrench_link=link, wrench_damping=0.5).wrench
        assert_allclose(R @ estimate[:3], 4.0 * J[:3] / (1.0 + 0.25), atol=1e-12)
        assert_array_equal(estimate[3:], 0.0)


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
