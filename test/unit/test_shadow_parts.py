"""What a shadow makes of time and contact, each by itself.

All that it computes: test_shadow_observer.py.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from random_trees import TREES
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros.model.drives import Drives
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.observer.shadow_settings import default_link

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
