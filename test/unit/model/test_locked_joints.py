"""Joints that are not moved here: where they stand, and the model that follows them."""

import pickle

import cdr_messages
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros import _control, _twin
from featherstone_ros._core import BoundDynamics
from featherstone_ros._loop import ABSURD_LOCKED_RECORD
from featherstone_ros.control.cartesian_impedance import sensor_poses
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.controller import compiled_controller
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model import urdf
from featherstone_ros.model.joint_selection import choose, relevant_joints
from featherstone_ros.observer import Shadow, ShadowSettings
from featherstone_ros.simulation import SimulatorSettings, Twin
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.robot_setup import described
from featherstone_ros.tools.setup.files import parameter_file

LIMIT = '<limit lower="{}" upper="{}" effort="90" velocity="{}"/>'
FREE = ["shoulder", "elbow"]
POSE = 3  # of the controller's outputs


def turning(name, parent, child, **more):
    return joint(name, parent, child, axis="0 1 0", inside=LIMIT.format(-3, 3, 2), **more)


def text():
    """Return a lift with a torso, on that an arm with a wrist and a tool changer, and another arm.

    The wrist is between the arm's links; a finger follows it.
    """
    follows = LIMIT.format(-3, 3, 2) + '<mimic joint="wrist" multiplier="-0.5" offset="0.1"/>'
    return robot(
        *map(link, ["base", "column", "chest", "upper", "fore", "hand", "finger", "other"]),
        joint("lift", "base", "column", "prismatic", LIMIT.format(0.2, 1, 1.5), axis="0.6 0 0.8"),
        turning("waist", "column", "chest", rpy="0.3 0 0.2"),
        turning("shoulder", "chest", "upper", xyz="0 0.2 0.4", rpy="0.1 0.2 0.3"),
        joint("wrist", "upper", "fore", inside=LIMIT.format(-3, 3, 2), xyz="0.1 0 0.3"),
        turning("elbow", "fore", "hand", rpy="0 0.4 0"),
        joint("thumb", "hand", "finger", "prismatic", follows, axis="1 0 0"),
        turning("left", "chest", "other", xyz="0 -0.2 0.4"),
    )


PLACES = {"lift": 0.7, "waist": -0.4, "wrist": 1.1, "left": 0.5}


@pytest.fixture
def model():
    return fr.Model.from_urdf(text(), joints=FREE)


def in_whole(model, q, places):
    """Return the model of all joints and their position, and which of them are the arm's."""
    whole = fr.Model.from_urdf(text())
    values = {**places, **dict(zip(model.joint_names, q, strict=True))}
    at = [whole.joint_names.index(name) for name in model.joint_names]
    return fr.Dynamics(whole), np.array([values[name] for name in whole.joint_names]), at


def test_a_joint_that_is_not_named_stands_where_its_range_is_nearest_to_0(model):
    assert model.locked["lift"] == 0.2
    assert model.locked["waist"] == 0.0
    assert choose(urdf.parse(text()), FREE, {"lift": 0.0}).locked["lift"] == 0.0
    limits = {"written": (0.2, 1.0, 0.2), "reversed": (1.0, 0.2, 0.2), "none": (0.0, 0.0, 0.0)}
    for what, (lower, upper, nearest) in limits.items():
        parts = f'lower="{lower}" upper="{upper}"'
        odd = fr.Model.from_urdf(text().replace('lower="0.2" upper="1"', parts), joints=FREE)
        assert odd.locked["lift"] == nearest
        low, high, _ = odd.locked_ranges[:, 0]
        expected = (-1e4, 1e4) if what == "none" else (-0.6, 1.8)
        assert (low, high) == pytest.approx(expected)


def test_locked_joints_that_have_a_position_and_those_that_matter(model):
    assert model.locked_joints == ("lift", "waist", "wrist", "left")
    assert relevant_joints(model) == ["lift", "waist", "wrist"]
    assert fr.Model.from_urdf(text()).following().tree.followed == ()


@pytest.mark.parametrize("placed", [False, True], ids=["placed", "followed"])
def test_a_model_with_locked_joints_elsewhere_is_that_robot(model, placed):
    q, qd, tau = np.array([0.4, -0.9]), np.array([1.0, -2.0]), np.array([2.0, -1.0])
    there = model.with_payload("hand", 2.0, (0.1, 0.0, 0.2)).with_locked(PLACES)
    dynamics = fr.Dynamics(there.following() if placed else there)
    whole, all_q, at = in_whole(model, q, PLACES)
    loaded = fr.Dynamics(whole.model.with_payload("hand", 2.0, (0.1, 0.0, 0.2)))
    all_qd = np.zeros(len(all_q))
    all_qd[at] = qd
    assert_allclose(dynamics.bias(q, qd), loaded.bias(all_q, all_qd)[at], atol=1e-12)
    assert_allclose(dynamics.crba(q), loaded.crba(all_q)[np.ix_(at, at)], atol=1e-12)
    assert_allclose(dynamics.minv(q), np.linalg.inv(dynamics.crba(q)), rtol=1e-9)
    expected = np.linalg.solve(dynamics.crba(q), tau - dynamics.bias(q, qd))
    assert_allclose(dynamics.aba(q, qd, tau), expected, rtol=1e-9)
    for name in ("hand", "finger"):
        assert_allclose(dynamics.link_pose(q, name), whole.link_pose(all_q, name), atol=1e-12)
        assert_allclose(dynamics.jacobian(q, name), whole.jacobian(all_q, name)[:, at], atol=1e-12)


def test_a_place_that_is_none_is_refused(model):
    with pytest.raises(fr.ModelError, match="thumb"):
        model.with_locked({"thumb": 0.3})
    said = r"^`locked` has 'lift' at nan, expected a finite number$"
    with pytest.raises(fr.ModelError, match=said):
        model.with_locked({"lift": np.nan})
    assert model.with_locked({"lift": 0.2}) is model


# The controller, by messages.


@pytest.fixture
def controller():
    arm = ControlledArm.of(text(), {"locked.lift": 0.3, "tip": "hand"}, FREE)
    return compiled_controller(arm.space, arm.model, arm.settings, arm.tip, arm.offset)


def stamp(time):
    return divmod(round(time * 1e9), 10**9)


def hear(controller, names, positions, now):
    message = cdr_messages.joint_state(names, positions, stamp=stamp(now))
    return controller.message(0, message, round(now * 1e9), round(now * 1e9))[1]


def snapshot(controller):
    taken = _control.SnapshotRequest(2)
    controller.apply(taken, 0.0)
    return taken


def test_positions_come_with_the_arms_states_or_by_themselves(controller, model):
    assert controller.locked.tolist() == [0.3, 0.0, 0.0, 0.0]
    hear(controller, ["lift", "left"], [0.7, 0.5], 10.0)
    controller.apply(_control.ACTIVATE_REQUEST, 10.0)
    for now in (10.001, 10.002, 10.003):
        hear(controller, ["waist", *FREE, "wrist"], [-0.4, 0.4, -0.9, 1.1], now)
    assert_allclose(controller.locked, list(PLACES.values()), atol=1e-12)
    whole, q, at = in_whole(model, [0.4, -0.9], PLACES)
    assert_allclose(snapshot(controller).gravity, whole.gravity(q)[at], atol=1e-10)
    message = cdr_messages.joint_state(["waist", *FREE], [-0.4, 0.4, -0.9], stamp=stamp(10.1))
    published = dict(controller.message(0, message, round(10.1 * 1e9))[0])
    pose = np.frombuffer(published[POSE][-7 * 8 :])
    assert_allclose(pose[:3], whole.link_pose(q, "hand")[:3, 3], atol=1e-9)
    assert snapshot(controller).foreign == 1
    assert snapshot(controller).malformed == 0


def test_while_it_commands_they_move_no_faster_than_they_can(controller):
    now, q = 10.0, [0.4, -0.9]
    hear(controller, FREE, q, now)
    controller.apply(_control.ACTIVATE_REQUEST, now)
    for _ in range(100):
        now += 0.001
        hear(controller, ["lift", *FREE], [0.3, *q], now)
    before = snapshot(controller).command
    hear(controller, ["lift", *FREE], [0.9, *q], now + 0.001)
    assert controller.locked[0] == pytest.approx(0.3 + 1.5 * 0.001)
    hear(controller, ["lift", *FREE], [0.9, *q], now + 0.201)  # after a gap by no more than 0.1 s
    assert controller.locked[0] == pytest.approx(0.3 + 1.5 * 0.101)
    hear(controller, ["lift", *FREE], [0.9, *q], now - 1.0)  # the clock was set back
    assert controller.locked[0] == pytest.approx(0.3 + 1.5 * 0.101)
    assert_allclose(snapshot(controller).command, before, atol=0.5)


def test_what_is_absurd_is_told_once_and_ignored(controller):
    for k, value in enumerate((np.nan, 40.0, np.inf)):
        records = hear(controller, ["lift", *FREE], [value, 0.4, -0.9], 10.0 + 0.001 * k)
        assert [r[1] for r in records if r[0] == ABSURD_LOCKED_RECORD] == ([0] if k == 0 else [])
    assert np.isnan(controller.heard_locked[0])
    assert controller.locked[0] == 0.3


def test_another_payload_is_carried_where_the_joints_stand(controller, model):
    controller.apply(_control.ACTIVATE_REQUEST, 10.0)
    for now in (10.0, 10.001, 10.002):
        hear(controller, [*PLACES, *FREE], [*PLACES.values(), 0.4, -0.9], now)
    loaded = model.with_payload("hand", 3.0, (0.1, 0.0, 0.1))
    controller.apply(_control.ModelRequest(BoundDynamics(loaded.following())), 10.003)
    whole, q, at = in_whole(model, [0.4, -0.9], PLACES)
    expected = fr.Dynamics(whole.model.with_payload("hand", 3.0, (0.1, 0.0, 0.1)))
    assert_allclose(snapshot(controller).gravity, expected.gravity(q)[at], atol=1e-10)


# Twin and shadow.


def twin_of(model, places, **more):
    return Twin(model, SimulatorSettings(initial_positions=[0.4, -0.9], locked=places, **more))


def test_the_twin_is_that_robot(model):
    twin = twin_of(model, PLACES)
    twin.advance(0.0)
    whole, q, at = in_whole(model, [0.4, -0.9], PLACES)
    assert_allclose(twin.effort, whole.gravity(q)[at], atol=1e-10)  # of its brakes
    places = {**PLACES, "waist": 0.6}
    twin.use(SimulatorSettings(initial_positions=[0.4, -0.9], locked=places))
    for _ in range(1000):  # within a second, by its speed limit of 2 rad/s
        twin.advance(0.0)
    whole, q, at = in_whole(model, [0.4, -0.9], places)
    assert_allclose(twin.effort, whole.gravity(q)[at], atol=1e-10)


def test_the_twin_follows_joint_states_of_others(model):
    twin = twin_of(model, {})
    states = len(_twin.INPUTS)
    twin.message(states, cdr_messages.joint_state(list(PLACES), list(PLACES.values())), 0)
    records = twin.message(states, cdr_messages.joint_state(["lift"], [70.0]), 0)[1]
    assert [record[:2] for record in records] == [(ABSURD_LOCKED_RECORD, 0)]
    for _ in range(2000):
        twin.advance(0.0)
    assert_allclose(twin.locked, list(PLACES.values()), atol=1e-12)
    whole, q, at = in_whole(model, [0.4, -0.9], PLACES)
    assert_allclose(twin.effort, whole.gravity(q)[at], atol=1e-10)


def test_the_shadow_finds_no_push_on_an_arm_whose_torso_leans(model):
    whole, q, at = in_whole(model, [0.4, -0.9], PLACES)
    effort = whole.gravity(q)
    names = whole.model.joint_names
    settings = ShadowSettings(contact_threshold=0.5)
    shadow = Shadow(model, settings)
    for now in 1.0 + 0.002 * np.arange(600):
        data = cdr_messages.joint_state(names, q, np.zeros(len(q)), effort, stamp=stamp(now))
        shadow.message(0, data, round(now * 1e9))
    assert not shadow.contact.any()
    assert np.abs(shadow._residual[0][2]).max() < 1e-9
    assert np.abs(shadow._residual[0][:2]).max() < 1e-9
    records = shadow.message(0, cdr_messages.joint_state(["lift"], [70.0]), round(now * 1e9))[1]
    assert [record[:2] for record in records] == [(ABSURD_LOCKED_RECORD, 0)]
    called = Shadow(model, settings)
    called.place_locked(list(PLACES.values()))
    for now in range(600):
        update = called.update(2_000_000 * (now + 1), q[at], 0.0 * q[at], effort[at])
    assert np.abs(update.residual.torque).max() < 1e-9


def test_a_wrench_may_be_measured_where_no_locked_joint_is_between():
    """The wrist lies between both links; followed, it may move."""
    held = fr.Model.from_urdf(text(), joints=["shoulder"])
    assert "fore" not in sensor_poses(held.following(), "upper", np.eye(4))
    assert "upper" in sensor_poses(held.following(), "upper", np.eye(4))


def test_models_with_locked_joints_are_pickled(model):
    there = model.with_locked(PLACES)
    for one in (there, there.following()):
        again = pickle.loads(pickle.dumps(one))
        q = np.array([0.4, -0.9])
        assert_array_equal(fr.Dynamics(again).gravity(q), fr.Dynamics(one).gravity(q))
        assert again.with_locked({"waist": 0.0}).locked["waist"] == 0.0


# Commands.


def test_inspect_judges_gravity_with_the_torso_where_it_stands():
    """About a vertical axis nothing weighs; it does on a torso that leans."""
    weak = LIMIT.format(-3, 3, 2).replace('effort="90"', 'effort="0.5"')
    upright = robot(
        *map(link, ["base", "chest"]),
        link("arm", com="0.5 0 0"),
        turning("waist", "base", "chest"),
        joint("swing", "chest", "arm", inside=weak),
    )
    found = {
        angle: {f.rule.name for f in examine(upright, locked={"waist": angle}).findings}
        for angle in (0.0, 1.5)
    }
    assert found[1.5] - found[0.0] == {"gravity-beyond-effort"}
    assert "refused" in {f.rule.name for f in examine(upright, locked={"waste": 1.0}).findings}


def test_setup_inspects_the_arm_that_it_tunes(tmp_path):
    """Not the whole humanoid, of which no model could be made."""
    urdf_file = tmp_path / "robot.urdf"
    urdf_file.write_text(
        text().replace(
            "</robot>", link("sea", mass=None) + joint("r", "sea", "base", "floating") + "</robot>"
        )
    )
    assert "refused" in {f.rule.name for f in examine(urdf_file.read_text()).findings}
    found = propose(urdf_file, joints=FREE, locked=PLACES).inspection.findings
    assert "refused" not in {f.rule.name for f in found}


def test_what_setup_writes_says_where_locked_joints_stand(tmp_path):
    urdf_file, file = tmp_path / "robot.urdf", tmp_path / "robot.yaml"
    urdf_file.write_text(text())
    proposal = propose(urdf_file, joints=FREE, locked=PLACES)
    file.write_text(parameter_file(proposal, []))
    setup = described(str(urdf_file), [file])
    for model in (setup.model, setup.arm.model):
        assert {name: model.locked[name] for name in PLACES} == PLACES
    with pytest.raises(fr.ModelError, match="both `joints` and `locked`"):
        propose(urdf_file, joints=FREE, locked={"elbow": 0.1})


def test_the_twin_on_a_floating_base_carries_its_locked_joints():
    there = fr.Model.from_urdf(text(), joints=FREE, locked=PLACES, base="floating")
    here = fr.Model.from_urdf(text(), joints=FREE, base="floating")
    ends = []
    for model, places in ((there, {}), (here, PLACES)):
        twin = twin_of(model, places)
        twin.command([3.0, -2.0], 0.0)
        for _ in range(200):
            twin.advance(0.0)
        ends.append([*twin.q, *twin.base_pose])
    assert_allclose(ends[0], ends[1], atol=1e-9)
    assert np.abs(ends[0][2:5]).max() > 0.1  # it falls
