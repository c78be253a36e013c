"""Joints that move, mimic others or are locked."""

from functools import partial

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from refusals import refusals
from urdf_text import chain, joint, link, robot

from featherstone_ros import Dynamics, Model
from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model import urdf
from featherstone_ros.model.joint_selection import choose
from featherstone_ros.model.urdf import parse


def mimic(leader, multiplier=None, offset=None):
    figures = (("multiplier", multiplier), ("offset", offset))
    given = "".join(f' {key}="{value}"' for key, value in figures if value is not None)
    return f'<mimic joint="{leader}"{given}/>'


ARM = urdf.parse(
    robot(
        *map(link, ["palm", "finger", "tip", "forearm", "base", "mount"]),
        joint("curl", "finger", "tip", inside=mimic("grip", -2, 0.5)),
        joint("grip", "palm", "finger"),
        joint("wrist", "forearm", "palm"),
        joint("elbow", "mount", "forearm", "prismatic"),
        joint("bolt", "base", "mount", "fixed"),
    )
)


GRIPS = {"curl": ("grip", -2, 0.5)}
FOLLOWERS = urdf.parse(
    robot(
        *map(link, "abcde"),
        joint("w", "a", "b", inside=mimic("x", 3, 0.1)),
        joint("x", "b", "c", inside=mimic("y", -2, 0.5)),
        joint("y", "c", "d", inside=mimic("z")),
        joint("z", "d", "e"),
    )
)
BOLTED = urdf.parse(
    robot(
        *map(link, "abc"),
        joint("bolt", "a", "b", "fixed"),
        joint("j", "b", "c", inside=mimic("bolt", 2, 0.4)),
    )
)


@pytest.mark.parametrize(("arm", "given", "names", "mimics", "locked"), [
    (ARM, {}, ("grip", "wrist", "elbow"), GRIPS, {}),  # every free joint in document order
    (ARM, {"joints": ["elbow", "grip"]}, ("elbow", "grip"), GRIPS, {"wrist": 0.0}),
    *((ARM, {"joints": some, "locked": {"grip": 0.25}}, ("wrist",), {},
       {"grip": 0.25, "elbow": 0.0, "curl": 0.0})
      for some in (("wrist",), np.array(["wrist"]), iter(["wrist"]))),
    (ARM, {"joints": ["grip"], "locked": {"wrist": np.float32(0.5)}}, ("grip",), GRIPS,
     {"wrist": 0.5, "elbow": 0.0}),
    (ARM, {"locked": {"grip": 0.3}}, ("wrist", "elbow"), {},  # a follower with its leader
     {"grip": 0.3, "curl": -2 * 0.3 + 0.5}),
    (FOLLOWERS, {}, ("z",),
     {"y": ("z", 1, 0), "x": ("z", -2, 0.5), "w": ("z", -6, 3 * 0.5 + 0.1)}, {}),
    (BOLTED, {}, (), {}, {"j": 0.4}),  # of a fixed joint: at its offset
])  # fmt: skip
def test_joints_move_follow_or_are_locked_as_chosen(arm, given, names, mimics, locked):
    chosen = choose(arm, **given)
    assert (chosen.joint_names, chosen.mimics, chosen.locked) == (names, mimics, locked)


def test_long_chain_of_followers_does_not_recurse():
    count = 2000
    text = robot(
        *(f'<link name="l{k}"/>' for k in range(count)),
        joint("j1", "l0", "l1"),
        *(
            joint(f"j{k}", f"l{k - 1}", f"l{k}", inside=mimic(f"j{k - 1}", 1, 1))
            for k in range(2, count)
        ),
    )
    assert choose(urdf.parse(text)).mimics[f"j{count - 1}"] == ("j1", 1, count - 2)


def test_follower_of_nobody_moves_on_its_own():
    read = urdf.parse(chain("i", inside=mimic("nobody")))
    assert choose(read).joint_names == ("i",)


def following(*leaders):
    """Choose joints i, j and k of which each follows another, or none."""
    inside = [mimic(leader) if leader else "" for leader in leaders]
    joints = map(joint, "ijk", "abc", "bcd", 3 * ["revolute"], inside)
    choose(urdf.parse(robot(*map(link, "abcd"), *joints)))


UNKNOWN = r"^no moving joint \(in `{}`\) '{}'; valid names: elbow, grip, wrist$"
test_what_cannot_be_chosen_is_refused = refusals(
    (UnknownNameError, UNKNOWN.format("joints", "ankle"), lambda: choose(ARM, ["ankle"])),
    (UnknownNameError, UNKNOWN.format("locked", "bolt"), lambda: choose(ARM, locked={"bolt": 0.0})),
    (ModelError, UNKNOWN.format("joints", "bolt"), lambda: choose(ARM, ["bolt"])),
    (KeyError, UNKNOWN.format("locked", "ankle"), lambda: choose(ARM, locked={"ankle": 0.0})),
    (ModelError, "`joints` has 'curl', which follows 'grip'", lambda: choose(ARM, ["curl"])),
    (ModelError, "`locked` has 'curl', which", lambda: choose(ARM, locked={"curl": 0.0})),
    (ModelError, "`joints` has 'grip' 2 times", lambda: choose(ARM, ["grip", "wrist", "grip"])),
    (ModelError, "'grip' are in both", lambda: choose(ARM, ["grip"], locked={"grip": 0.1})),
    (ModelError, "joints is 'grip', expected a sequence", lambda: choose(ARM, "grip")),
    (ModelError, r"locked is \['grip'\], expected a map", lambda: choose(ARM, locked=["grip"])),
    *((ModelError, "`locked` has 'grip' at .*expected a finite number",
       partial(choose, ARM, locked={"grip": x})) for x in (np.nan, np.inf, None, "0.1")),
    *((ModelError, "<mimic> of joints '.*' forms a loop", partial(following, *leaders))
      for leaders in (("i", "", ""), ("j", "i", ""), ("j", "k", "j"))),
)  # fmt: skip


# URDF joints of several degrees of freedom: a planar one is three joints, a floating one none.


NORMALS = {
    "z": ("0 0 1", [1, 0, 0], [0, 1, 0]),
    "x": ("1 0 0", [0, 1, 0], [0, 0, 1]),
    "y": ("0 3 0", [1, 0, 0], [0, 0, -1]),
    "z, rounded": ("6e-17 0 1", [1, 0, 0], [0, 1, 0]),
    "down": ("0 0 -1", [1, 0, 0], [0, -1, 0]),
    "none given": (None, [0, 1, 0], [0, 0, 1]),
    "aslant": ("1 2 2", [8 / 72**0.5, -2 / 72**0.5, -2 / 72**0.5], [0, 0.5**0.5, -(0.5**0.5)]),
}
INERTIA = (0.2, 0.3, 0.4, 0.01, 0.02, 0.03)
PLACE = {"xyz": "0.1 0.2 0.3", "rpy": "0.3 -0.2 0.5"}
LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="30"/><dynamics damping="0.5"/>'


def text(axis="0 0 1", inside="", kind="planar"):
    """Return an arm in the middle of which a plate slides and turns in a plane."""
    return robot(
        *(link(name, 1.5, "0.1 0.2 0.1", INERTIA) for name in ("base", "arm", "plate", "hand")),
        joint("shoulder", "base", "arm", axis="0 1 0"),
        joint("table", "arm", "plate", kind, inside, axis=axis, **PLACE),
        joint("wrist", "plate", "hand", axis="1 0 0", rpy="0.1 0.2 0.3"),
    )


@pytest.fixture(params=NORMALS.values(), ids=NORMALS)
def normal(request):
    return request.param


def test_planar_joint_has_three_coordinates_at_its_place_in_the_document():
    model = Model.from_urdf(text(inside=LIMIT))
    names = ("shoulder", "table/x", "table/y", "table/theta", "wrist")
    assert model.joint_names == names
    assert model.joint_types[1:4] == ("prismatic", "prismatic", "continuous")
    assert model.link_names == ("base", "arm", "plate", "hand", "table/x", "table/y")
    assert not model.inertial_parameters[40:].any()
    assert np.isinf(model.lower[1:4]).all() and np.isinf(model.upper[1:4]).all()
    assert model.effort_limit[1:4].tolist() == [30] * 3
    assert model.velocity_limit[1:4].tolist() == [2] * 3
    assert model.damping[1:4].tolist() == [0.5] * 3


def pinocchio_arm(x, y):
    """Return Pinocchio's model of the same arm, its own planar joint in the plane of x and y."""
    import pinocchio as pin

    plane = pin.SE3(np.stack([x, y, np.cross(x, y)], axis=1), np.zeros(3))
    kinds = {
        "shoulder": (pin.JointModelRY(), pin.SE3.Identity()),
        "table": (pin.JointModelPlanar(), plane),
        "wrist": (pin.JointModelRX(), pin.SE3.Identity()),
    }
    arm = parse(text(kind="fixed"))
    weights = {body.name: body.inertial for body in arm.links}
    model, parent, frame = pin.Model(), 0, pin.SE3.Identity()  # of the link before, in its joint
    for step in arm.tree:
        kind, turned = kinds[step.name]
        place = frame * pin.SE3(step.rotation, step.translation) * turned
        parent, frame = model.addJoint(parent, kind, place, step.name), turned.inverse()
        body = weights[step.child]
        model.appendBodyToJoint(parent, pin.Inertia(body.mass, body.com, body.inertia), frame)
    return pin, model, model.createData()


def test_dynamics_are_those_of_pinocchio_s_planar_joint(normal):
    """Its velocity is in the plate's axes: v = G(theta) qd, and tau = G^T tau of Pinocchio's."""
    axis, x, y = normal
    pin, reference, data = pinocchio_arm(x, y)
    model = Model.from_urdf(text(axis))
    dynamics = Dynamics(model)
    q, qd, qdd = np.random.default_rng(1).uniform(-2, 2, (3, 5))
    c, s = np.cos(q[3]), np.sin(q[3])
    G, G_dot = np.eye(5), np.zeros((5, 5))
    G[1:3, 1:3] = [[c, s], [-s, c]]
    G_dot[1:3, 1:3] = qd[3] * np.array([[-s, c], [-c, -s]])
    configuration = np.array([q[0], q[1], q[2], c, s, q[4]])
    theirs = pin.rnea(reference, data, configuration, G @ qd, G @ qdd + G_dot @ qd)
    tau = dynamics.rnea(q, qd, qdd)
    assert_equal_to_rounding(tau, G.T @ theirs)
    assert_equal_to_rounding(dynamics.aba(q, qd, tau), qdd)
    upper = np.triu(pin.crba(reference, data, configuration))
    H = upper + np.triu(upper, 1).T
    assert_equal_to_rounding(dynamics.crba(q), G.T @ H @ G)
    pin.computeJointJacobians(reference, data, configuration)
    J = pin.getJointJacobian(reference, data, 3, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
    assert_equal_to_rounding(dynamics.jacobian(q, "hand"), J @ G)


def test_coordinates_lead_others():
    follower = joint("lid", "hand", "tip", inside='<mimic joint="table/theta" multiplier="-1"/>')
    model = Model.from_urdf(text().replace("</robot>", link("tip") + follower + "</robot>"))
    assert model.mimics["lid"][:2] == ("table/theta", -1)
    follower = follower.replace("table/theta", "table")
    with pytest.raises(ModelError, match=r"'lid': <mimic joint> is 'table', which is planar, .*/x"):
        Model.from_urdf(text().replace("</robot>", link("tip") + follower + "</robot>"))


def test_identified_parameters_go_into_the_text_where_its_links_are():
    model = Model.from_urdf(text()).with_payload("plate", 1.0, (0, 0, 0.1))
    again = Model.from_urdf(model.to_urdf(text()))
    np.testing.assert_allclose(
        again.inertial_parameters, model.inertial_parameters, rtol=0, atol=1e-15
    )
    with pytest.raises(ModelError, match="link 'table/x' is not in the URDF"):
        model.with_payload("table/x", 1.0, (0, 0, 0.1)).to_urdf(text())


def test_inspection_says_only_that_nothing_stops_the_plate():
    findings = examine(text(inside=LIMIT)).findings
    found = [finding for finding in findings if finding.severity and "/" in finding.name]
    assert {finding.rule.name for finding in found} == {"limits-missing"}
    assert {finding.name for finding in found} == {"table/x", "table/y"}


# Floating joints ---------------------------------------------------------------------------------


def test_floating_joint_within_a_robot_is_refused_by_name_with_what_to_do():
    for base in ("fixed", "floating"):
        with pytest.raises(ModelError, match=r"'table' is floating: six .*base=.floating.*locks"):
            Model.from_urdf(text(kind="floating"), base=base)
    refused = [finding for finding in examine(text(kind="floating")).findings if finding.severity]
    assert "table" in [finding.name for finding in refused]


def test_floating_joint_that_is_not_chosen_stays_at_its_origin():
    names = ["shoulder", "wrist"]
    model = Model.from_urdf(text(kind="floating"), joints=names)
    fixed = Model.from_urdf(text(kind="fixed"), joints=names)
    assert model.locked == {"table": 0}
    q, qd, qdd = np.random.default_rng(3).uniform(-2, 2, (3, 2))
    expected = Dynamics(fixed).rnea(q, qd, qdd)
    np.testing.assert_array_equal(Dynamics(model).rnea(q, qd, qdd), expected)


def afloat(ground="<link name='world'/>", more=""):
    """Return the arm on a floating joint."""
    root = joint("sea", "world", "base", "floating", rpy="1 0 0")
    return text().replace("</robot>", ground + root + more + "</robot>")


def test_robot_on_a_floating_joint_has_a_floating_base():
    model, alone = (Model.from_urdf(each, base="floating") for each in (afloat(), text()))
    assert model.base_link == "base" and model.link_names == alone.link_names
    assert model.joint_names == alone.joint_names
    random = np.random.default_rng(4)
    q, (qd, qdd) = model.neutral, random.uniform(-2, 2, (2, model.nv))
    q[:3], q[7:] = random.uniform(-1, 1, 3), random.uniform(-1, 1, 5)
    expected = Dynamics(alone).rnea(q, qd, qdd)
    np.testing.assert_array_equal(Dynamics(model).rnea(q, qd, qdd), expected)
    heavier = model.with_payload("hand", 1.0, (0, 0, 0.1))
    again = Model.from_urdf(heavier.to_urdf(afloat()), base="floating")
    np.testing.assert_allclose(
        again.inertial_parameters, heavier.inertial_parameters, rtol=0, atol=1e-15
    )
    with pytest.raises(ModelError, match="describes another robot"):
        heavier.to_urdf("<robot name='nothing'/>")


POST = link("post") + joint("weld", "world", "post", "fixed")
test_where_a_joint_cannot_have_several_degrees_of_freedom_is_said = refusals(
    *((f"'table': has <mimic>, expected none on a {kind} joint",
       partial(Model.from_urdf, text(inside=mimic("wrist"), kind=kind)))
      for kind in ("planar", "floating")),
    # On ground that is more than a frame it is no free base.
    *(("joint 'sea' is floating", partial(Model.from_urdf, afloat(**ground), base="floating"))
      for ground in ({"ground": link("world", 1.0)}, {"more": POST})),
    ("joint 'table' is floating",
     lambda: Model.from_urdf(text(kind="floating"), joints=["table"])),
    error=ModelError,
)  # fmt: skip
