"""featherstone-ros excite: motions that identify a model, within all limits."""

import contextlib
import io
import re
from importlib.util import find_spec

import numpy as np
import pytest
import urdf_text
from example_robots import example_robot
from refusals import refused_commands
from studies import few_or_all, study

import featherstone_ros as fr
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.model.robots import robot_file, robot_names, robot_parameters
from featherstone_ros.tools import cli
from featherstone_ros.tools.clearance import Clearance, _gaps
from featherstone_ros.tools.excite import LEAD_IN, excitation
from featherstone_ros.tools.excite.excitation import Excitation
from featherstone_ros.tools.proposal import propose, start_posture
from featherstone_ros.tools.trajectory_files import read
from featherstone_ros.tools.trial_drive import follow

pytest.importorskip("scipy")
pytestmark = pytest.mark.skipif(not find_spec("matplotlib"), reason="matplotlib is missing")


LIMIT = '<limit effort="20" velocity="3" lower="-3" upper="3"/>'


def shorten(patch):
    """Search from few motions, in few steps: 14 instead of 384 that are tried."""
    patch.setattr(excitation, "STARTS", 2)
    patch.setattr(excitation, "STEPS", 2)


@pytest.fixture
def short(monkeypatch):
    shorten(monkeypatch)


@pytest.fixture(scope="module", params=few_or_all(["ur5e"], robot_names()))
def planned(request, tmp_path_factory):
    """Robot, the file that the command writes, its trajectory, the arm, and what it prints."""
    folder, said = tmp_path_factory.mktemp("excite"), io.StringIO()
    file, picture = folder / "motion.yaml", folder / "motion.png"
    # A picture takes longer than the rest, and is drawn as preflight's (test_preflight_command.py).
    drawn = ["--plot", str(picture)] if request.param == "panda" else []
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
        if request.param != "panda":  # a study, which searches as long as users do
            shorten(patch)
        command = ["excite", "--urdf", request.param, "--output", str(file), "--duration", "12"]
        assert not cli.main([*command, *drawn])
    assert not drawn or picture.stat().st_size > 10_000
    (trajectory,) = read(str(file))
    arm = ControlledArm.from_robot(request.param, trajectory.names, robot_parameters(request.param))
    return request.param, file, trajectory, arm, " ".join(said.getvalue().split())


def test_it_begins_and_ends_at_rest_within_all_limits_clear_of_itself_and_the_floor(planned):
    robot, file, trajectory, arm, said = planned
    fields, model = ("positions", "velocities", "accelerations"), arm.model
    q, qd, qdd = (np.array([getattr(point, f) for point in trajectory.points]) for f in fields)
    for end in (0, -1):
        np.testing.assert_allclose(qd[end], 0, atol=1e-9)
        np.testing.assert_allclose(qdd[end], 0, atol=1e-9)
    np.testing.assert_allclose(q[-1], q[0], atol=1e-9)
    assert trajectory.points[0].time == LEAD_IN
    assert trajectory.points[-1].time == pytest.approx(12 + LEAD_IN)
    assert (q > model.lower).all() and (q < model.upper).all()
    assert (np.abs(qd) <= 0.8 * model.velocity_limit * 1.001).all()
    assert (np.abs(fr.Dynamics(model).rnea(q, qd, qdd)) < 0.9 * model.effort_limit).all()
    assert (np.ptp(q, axis=0) > 0.2).all()
    clearance = Clearance.of(model, robot_file(robot).read_text(), robot_file(robot).parent)
    assert len(clearance.pairs) > 5 and clearance.above
    assert clearance.standing(q[0]).free(q).all()
    assert cli.main(["preflight", str(file), "--urdf", robot]) == 0
    assert "the gains will do" in said or robot != "ur5e"


def test_the_search_lowers_the_condition_number(planned):
    told = re.search(r"condition number (\d+) of the first .*, (\d+) of", planned[-1])
    assert int(told.group(2)) < int(told.group(1))


def test_what_no_motion_tells_apart_leaves_the_condition_number_as_it_is(short):
    """Of a vertical lift these are its mass, its rotor and its constant torque."""
    limit = '<limit lower="-1" upper="1" velocity="1" effort="99"/>'
    text = urdf_text.chain("lift", "arm", kind="prismatic", axis="0 0 1", inside=limit)
    text = text.replace('"arm" type="prismatic"', '"arm" type="revolute"')
    arm = ControlledArm.of(fr.Model.from_urdf(text))
    plan = Excitation(arm, Clearance.of(arm.model, text, None), 12.0).search()
    assert plan.after < 30 and plan.untold == ()


def test_links_that_fold_onto_each_other_are_seen():
    text = urdf_text.folding(0.5)
    model = fr.Model.from_urdf(text)
    clearance = Clearance.of(model, text, None)
    straight, folded = np.zeros((1, 3)), np.array([[0.0, 2.5, 2.5]])
    assert clearance.min_distance(straight) > 0.1 and clearance.free(straight).all()
    assert clearance.min_distance(folded) < clearance.min_distance(straight)
    assert not clearance.free(np.array([[0.0, 3.0, 3.0]])).any()
    assert not clearance.free(np.array([[2.6, 0.0, 0.0]])).any()  # the floor
    text = urdf_text.chain("a", "b", axis="0 1 0")
    clearance = Clearance.of(fr.Model.from_urdf(text), text, None)
    assert "neither itself nor the floor is checked" in clearance.describe()


def test_the_gap_of_boxes_is_their_distance():
    """Boxes that face each other, edge to edge, and two that overlap: balls would touch in all."""
    half, straight = np.array([0.2, 0.1, 0.05]), np.eye(3)
    turned = np.array([[1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, np.sqrt(2.0)]]) / np.sqrt(2.0)
    for axes, way, gap in (
        (straight, [0.0, 0.0, 0.13], 0.03),
        (straight, [0.41, 0.0, 0.0], 0.01),
        (turned, [0.0, 0.0, 0.12], 0.02),
        (turned, [0.2 + 0.3 / np.sqrt(2.0) + 0.05, 0.0, 0.0], 0.05),
        (straight, [0.1, 0.0, 0.08], -0.02),
    ):
        assert _gaps(straight, axes, np.array(way), half, half) == pytest.approx(gap)


FOUND = ["z1", "so101", "so100", "kinova", "ur5_robot", "ur5_gripper", "ur10_robot", "baxter"]
FOUND += ["tiago", "tiago_no_hand", "tiago_pro"]


@pytest.mark.parametrize("robot", few_or_all(["so101"], FOUND))
def test_a_motion_is_found_for_arms_that_are_hardly_ever_clear(robot, short):
    """Balls would touch, shoulders are 16 mm over the floor, of a hand's fingers some two cross."""
    file = example_robot(robot)
    arm = ControlledArm.from_robot(str(file))
    clearance = Clearance.of(arm.model, file.read_bytes(), file.parent)
    plan = Excitation(arm, clearance, 20.0).search()
    assert clearance.free(plan.series.samples(200)[1]).all()


@pytest.mark.parametrize("tolerance, code", [study(0.3, 0), (0.001, 1)])
def test_the_status_says_whether_what_is_written_is_followed(
    tolerance, code, tmp_path, tool, short
):
    file = tmp_path / "arm.yaml"
    file.write_text(f"/**:\n  ros__parameters:\n    path_tolerance: {tolerance}\n")
    command = ["excite", "--urdf", str(example_robot("so101")), "--duration", "10"]
    command += ["--joints", "shoulder_lift", "elbow_flex"]
    command += ["--parameters", str(file), "--output", str(tmp_path / "e.yaml")]
    said = tool(*command, status=code)
    assert ("it does not follow: joint " in said) == bool(code)
    assert "the gains are too low: joint " in said and "set at least gains." in said


def test_what_no_motion_avoids_is_named_and_may_be_waived(tmp_path, tool, short):
    near, far = (f'lower="-{size}" upper="{size}"' for size in ("0.02", "3"))
    hand = '<collision><origin xyz="0 0 -0.64"/><geometry><box size="1.2 0.1 1.2"/>'
    before, last = urdf_text.folding(0.32).replace(far, near, 2).rsplit("<collision>", 1)
    last = last.split("/>", 1)[1]  # the hand lies on link1 up to 1.2 rad, and not in most poses
    text = before + hand + last
    file = tmp_path / "arm.urdf"
    file.write_text(text)
    command = ["excite", "--urdf", str(file), "--output", str(tmp_path / "e.yaml")]
    said = tool(*command, "--duration", "12", status=1)
    assert "come too near to each other (--may-touch waives them)" in said
    arm = fr.Model.from_urdf(text)
    pairs = [("base", "link2"), ("base", "link3"), ("link1", "link3")]
    pairs += [(link, "floor") for link in ("link1", "link2", "link3")]
    waived = Clearance.of(arm, text, None, pairs)
    assert not waived.pairs and not waived.above
    with pytest.raises(fr.UnknownNameError, match="link9"):
        Clearance.of(arm, text, None, [("base", "link9")])


def test_a_start_that_touches_is_named_and_may_be_waived_and_setup_proposes_another(tmp_path, tool):
    """In the middle of its range this arm hangs through the floor."""
    text = urdf_text.folding(0.5).replace('lower="-3" upper="3"', 'lower="-0.4" upper="5.6"', 1)
    file, given = tmp_path / "arm.urdf", tmp_path / "arm.yaml"
    file.write_text(text)
    model = fr.Model.from_urdf(text)
    clearance, middle = Clearance.of(model, text, None), start_posture(model)
    assert middle.tolist() == [2.6, 0.0, 0.0] and not clearance.free(middle[None]).all()
    assert clearance.free(start_posture(model, clear=clearance.free)[None]).all()
    assert clearance.free(propose(file).start[None]).all()
    start = "{j1: 2.6, j2: 0.0, j3: 0.0}"
    given.write_text(f"/**:\n  ros__parameters:\n    initial_positions: {start}\n")
    command = ["excite", "--urdf", str(file), "--parameters", str(given), "--output"]
    said = tool(*command, tmp_path / "e.yaml", status=1)
    assert re.search(r"at the start the boxes around .*link3 and floor overlap by \d+ mm", said)
    assert "link1" not in said and "--may-touch" in said
    floor = [(link, "floor") for link in ("link2", "link3")]
    assert Clearance.of(model, text, None, floor).standing(middle).free(middle[None]).all()


test_impossible_wishes_are_refused = refused_commands(
    {},
    ("excite ur5e --output e.yaml --harmonics 1", 1, "1 harmonics"),
    ("excite ur5e --output e.yaml --speed 1.5", 1, "speed is 1.5"),
    ("excite ur5e --output e.yaml --duration 3", 1, "harmonics in 3 s"),
)


def test_the_search_of_many_joints_is_shorter_and_ends_where_its_progress_does(short):
    """And the same seed gives the same motion."""
    told, plans = [], []
    for joints in (2, 2, 23):  # from 17 on they are many
        text = urdf_text.chain(*(f"j{k}" for k in range(joints)), inside=LIMIT)
        arm = ControlledArm.of(fr.Model.from_urdf(text))
        told.append([])
        search = Excitation(arm, Clearance.of(arm.model, text, None), 12.0).search
        plans.append(search(seed=3, progress=lambda *step: told[-1].append(step)))
        assert told[-1] == sorted(told[-1])
    np.testing.assert_array_equal(plans[0].series.a, plans[1].series.a)
    few, _, many = told
    assert few[-1] == (2 + 2 * 6, 2 + 2 * 6) and many[-1] == (2 + 1 * 6, 2 + 1 * 6)
    assert len(few) == 2 + 2 * 6 and len(many) == 1 + 1 * 6


# The motion is rehearsed on an arm with other masses and friction

REST = (0.0,)
TURN = [Point(0.0, REST, REST, REST), Point(2.0, (1.0,), REST, REST)]


def wrist(p):
    """Return a light wrist with that stiffness [N m/rad]; its rotor is heavier than itself."""
    hand = urdf_text.link("hand", 0.1, "0 0 0", (1e-4, 1e-4, 1e-4))
    joint = urdf_text.joint("wrist", "base", "hand", inside=LIMIT)
    model = fr.Model.from_urdf(urdf_text.robot(urdf_text.link("base"), hand, joint))
    gains = {"gains.wrist.p": p, "gains.wrist.d": 0.2 * np.sqrt(p)}
    return ControlledArm.of(model, gains | {"armature.wrist": 0.02, "path_tolerance": 0.1})


def test_low_gains_follow_the_arm_that_is_known_and_abandon_another():
    """Friction of 1 N m that the controller does not know keeps the wrist 1 / p from its place."""
    low, high = wrist(p=4.0), wrist(p=40.0)
    known = follow(low, np.zeros(1), TURN)
    assert not known.trouble and known.peak < 0.01
    other = follow(low, np.zeros(1), TURN, excess=0.3, rubbing=0.05)
    assert "'wrist'" in other.trouble and "path_tolerance" in other.trouble
    stiff = follow(high, np.zeros(1), TURN, excess=0.3, rubbing=0.05)
    assert not stiff.trouble and stiff.peak == pytest.approx(1.0 / 40.0, rel=0.5)


def test_gains_that_the_controller_refuses_are_refused_before_the_search(tmp_path, tool):
    file = tmp_path / "arm.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    gains: {elbow_joint: {p: 1.0e9}}\n"
        "    armature: {elbow_joint: 0.5}\n"
    )
    command = ["excite", "--urdf", "ur5e", "--parameters", str(file), "--output"]
    assert "not start: gains.elbow_joint.p = 1e+09" in tool(*command, tmp_path / "e.yaml", status=1)
