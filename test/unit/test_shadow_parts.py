"""The small parts of the shadow, each alone: time, contracts, prediction, wrench, contact."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_trees import TREES

import featherstone_ros as fr
from featherstone_ros.observer.contact import ContactDetector
from featherstone_ros.observer.effort_contract import (
    CONTRACTS,
    FULL,
    MOTOR_CURRENT,
    WITHOUT_FRICTION,
    WITHOUT_GRAVITY,
    EffortContract,
)
from featherstone_ros.observer.external_wrench import WrenchEstimator
from featherstone_ros.observer.prediction import Predictor
from featherstone_ros.observer.timeline import LATE, REPEATED, Timeline

MS = 1_000_000


def measured(value, speed=1.0):
    return np.array([[value], [speed], [0.0]])


class TestTimeline:
    def test_time_between_states_is_that_of_their_stamps(self):
        timeline = Timeline(max_gap=0.5)
        taken = [timeline.accept(time * MS, measured(time)) for time in (100, 101, 133, 400)]
        assert all(taken)
        assert timeline.dt == pytest.approx(0.267)
        assert not timeline.lost_thread

    def test_first_state_follows_on_nothing_and_no_thread_is_lost(self):
        timeline = Timeline(0.5)
        assert timeline.accept(0, measured(0.0))
        assert timeline.dt == 0.0
        assert not timeline.lost_thread

    def test_repeated_and_late_states_are_passed_over(self):
        timeline = Timeline(0.5)
        timeline.accept(100 * MS, measured(1.0))
        assert not timeline.accept(100 * MS, measured(2.0))
        assert not timeline.accept(110 * MS, measured(1.0))  # cannot be where it was
        assert not timeline.accept(90 * MS, measured(3.0))
        assert timeline.passed_over == {REPEATED: 2, LATE: 1}
        assert timeline.accept(120 * MS, measured(4.0))
        assert timeline.dt == pytest.approx(0.02)

    def test_arm_at_rest_may_measure_the_same_again(self):
        timeline = Timeline(0.5)
        timeline.accept(100 * MS, measured(1.0, 0.0))
        assert timeline.accept(110 * MS, measured(1.0, 0.0))
        assert timeline.dt == pytest.approx(0.01)

    @pytest.mark.parametrize(
        ("time", "reason"), [(700, "no new joint state for 0.6 s"), (-500, "jumped back by 0.6 s")]
    )
    def test_gap_and_jump_back_lose_the_thread_and_say_so(self, time, reason):
        timeline = Timeline(0.5)
        timeline.accept(100 * MS, measured(1.0))
        assert timeline.accept(time * MS, measured(2.0))
        assert timeline.dt == 0.0
        assert reason in timeline.lost_thread
        assert timeline.accept((time + 5) * MS, measured(3.0))
        assert timeline.dt == pytest.approx(0.005)
        assert not timeline.lost_thread


class TestEffortContract:
    TORQUE, Q, QD = np.array([10.0, -4.0]), np.array([0.3, 0.1]), np.array([0.5, -0.2])
    GRAVITY, FRICTION, GAIN = np.array([7.0, 2.0]), np.array([1.0, -0.5]), np.array([2.5, -4.0])

    def contract(self, name):
        return EffortContract(name, self.GAIN, lambda q: self.GRAVITY, lambda qd: self.FRICTION)

    @pytest.mark.parametrize(
        ("name", "effort"),
        [
            (FULL, TORQUE),
            (WITHOUT_GRAVITY, TORQUE - GRAVITY),
            (WITHOUT_FRICTION, TORQUE - FRICTION),
            (MOTOR_CURRENT, TORQUE / GAIN),
        ],
    )
    def test_effort_lacks_what_the_contract_says(self, name, effort):
        contract = self.contract(name)
        assert_allclose(contract.effort(self.TORQUE, self.Q, self.QD), effort)
        assert_allclose(contract.torque(effort, self.Q, self.QD), self.TORQUE)

    def test_unknown_contract_raises_error_with_the_valid_ones(self):
        with pytest.raises(ValueError, match=", ".join(CONTRACTS)):
            self.contract("half")


class TestPredictor:
    MODEL = fr.Model.from_urdf(TREES["mimic"])

    def prediction(self, duration, time_step, **options):
        random = np.random.default_rng(4)
        q, qd, torque = random.uniform(-1, 1, (3, self.MODEL.n))
        drives = {"damping": 0.3, "armature": 0.2}
        simulator = fr.Simulator(self.MODEL, time_step, **drives, **options)
        return np.array(Predictor(simulator).after(duration, q, qd, 3.0 * torque))

    def test_whole_steps_are_the_simulators(self):
        random = np.random.default_rng(4)
        q, qd, torque = random.uniform(-1, 1, (3, self.MODEL.n))
        simulator = fr.Simulator(self.MODEL, 1e-3, damping=0.3, armature=0.2)
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


class TestWrenchEstimator:
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
        estimate = WrenchEstimator(dynamics, link, 1e-6).estimate(q, felt)
        J = dynamics.jacobian(q, link)
        if model.n >= 6 and np.linalg.matrix_rank(J, 1e-3) == 6:
            assert_allclose(estimate, wrench, rtol=1e-6, atol=1e-6)
        f_ext = {link: estimate}
        assert_allclose(dynamics.gravity(q) - dynamics.rnea(q, zero, zero, f_ext), felt, atol=1e-6)

    def test_damping_takes_its_share_and_a_singular_direction_is_zero(self):
        model = fr.Model.from_urdf(TREES["one prismatic joint"])
        dynamics = fr.Dynamics(model)
        q = np.zeros(1)
        J = dynamics.jacobian(q, model.link_names[-1])[:, 0]
        estimator = WrenchEstimator(dynamics, model.link_names[-1], 0.5)
        estimate = estimator.estimate(q, np.array([4.0]))
        R = dynamics.link_pose(q, model.link_names[-1])[:3, :3]
        assert_allclose(R @ estimate[:3], 4.0 * J[:3] / (1.0 + 0.25), atol=1e-12)
        assert_array_equal(estimate[3:], 0.0)


class TestContact:
    def test_contact_begins_above_the_threshold_and_ends_below_the_lower_one(self):
        contact = ContactDetector(np.array([10.0, 2.0]), np.array([0.5, 0.0]))
        torques = [[9, 0], [-11, 0], [6, 0], [4.9, 0], [6, 0], [0, 2.5], [0, 1.9]]
        said = [contact.update(np.array(torque)) for torque in torques]
        assert said == [False, True, True, False, False, True, False]

    def test_joints_are_told_apart(self):
        contact = ContactDetector(np.array([1.0, 1.0]), np.array([0.5, 0.5]))
        contact.update(np.array([0.0, -3.0]))
        assert_array_equal(contact.joints, [False, True])
        contact.reset()
        assert not contact.joints.any()
