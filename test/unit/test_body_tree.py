"""Links and joints merged into bodies, checked against dense 4x4 and 6x6 matrices."""

import numpy as np
import pytest
from urdf_text import chain, joint, link, robot

from featherstone_ros.errors import ModelError
from featherstone_ros.model import Model, urdf
from featherstone_ros.model.body_tree import grow
from featherstone_ros.model.joint_selection import choose
from featherstone_ros.model.rotations import rotation_from_rpy


def tree_of(text, **choice):
    read = urdf.parse(text)
    return grow(read, choose(read, **choice))


def pose(rotation=(0, 0, 0), translation=(0, 0, 0)):
    """Return the 4x4 matrix of roll, pitch, yaw and origin."""
    matrix = np.eye(4)
    matrix[:3, :3] = rotation_from_rpy(*rotation)
    matrix[:3, 3] = translation
    return matrix


def test_single_link_keeps_its_figures():
    tree = tree_of(robot(link("a", mass=2, com="0 0 0.5", inertia=(1, 2, 3, 0.1, 0.2, 0.3))))
    assert tree.n == 0
    np.testing.assert_array_equal(tree.mass, [2])
    np.testing.assert_array_equal(tree.first_moment, [[0, 0, 1]])
    about_com = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]])
    np.testing.assert_allclose(tree.inertia[0], about_com + 0.5 * np.diag([1, 1, 0]), rtol=1e-15)


def test_body_frame_is_the_child_link_and_joint_frame_its_origin():
    tree = tree_of(chain("j", "k", xyz="0.1 0.2 0.3", rpy="1 2 3", axis="0 -1 0"))
    np.testing.assert_array_equal(tree.parent, [-1, 0])
    np.testing.assert_array_equal(tree.link_body, [-1, 0, 1])
    for i in range(2):
        np.testing.assert_allclose(tree.rotation[i], rotation_from_rpy(1, 2, 3), atol=1e-15)
        np.testing.assert_allclose(tree.translation[i], [0.1, 0.2, 0.3], atol=1e-15)
        np.testing.assert_array_equal(tree.axis[i], [0, -1, 0])
    np.testing.assert_array_equal(tree.link_rotation, np.broadcast_to(np.eye(3), (3, 3, 3)))
    assert tree.body_names == ("base", "link1", "link2")


def test_several_fixed_joints_in_a_row_compose():
    text = robot(
        *map(link, ["base", "a", "b", "c", "tip"]),
        joint("turn", "base", "a"),
        joint("f1", "a", "b", "fixed", xyz="1 2 3", rpy="0.1 0.2 0.3"),
        joint("f2", "b", "c", "fixed", xyz="-1 0.5 0", rpy="-1 0.7 2", axis="0 0 0"),
        joint("slide", "c", "tip", "prismatic", xyz="0 0.3 0", rpy="0 1 0"),
    )
    tree = tree_of(text)
    at_b = pose((0.1, 0.2, 0.3), (1, 2, 3))
    at_c = at_b @ pose((-1, 0.7, 2), (-1, 0.5, 0))
    at_tip = at_c @ pose((0, 1, 0), (0, 0.3, 0))
    np.testing.assert_array_equal(tree.link_body, [-1, 0, 0, 0, 1])
    for k, expected in ((2, at_b), (3, at_c)):
        np.testing.assert_allclose(tree.link_rotation[k], expected[:3, :3], atol=1e-14)
        np.testing.assert_allclose(tree.link_translation[k], expected[:3, 3], atol=1e-14)
    np.testing.assert_allclose(tree.rotation[1], at_tip[:3, :3], atol=1e-14)
    np.testing.assert_allclose(tree.translation[1], at_tip[:3, 3], atol=1e-14)
    np.testing.assert_array_equal(tree.motion, [[1, 0], [0, 1]])


def test_merged_inertia_is_that_of_the_same_masses_on_one_link():
    """Four point masses on one link, and the same four spread over links fixed to each other."""
    places = np.array([[0.1, 0.2, -0.3], [1, 0, 0], [0, -0.4, 0.2], [0.5, 0.5, 0.5]])
    masses = np.array([1.0, 2.0, 0.5, 0.25])
    names = ["base", "a", "b", "c", "d"]
    frames = [((0.3, 1, -2), (0, 1, 0)), ((2, 0.2, 0.1), (0.3, 0, 0)), ((-1, -1, 0.4), (0, 0, 2))]
    at = np.eye(4)
    parts = [link("base"), joint("turn", "base", "a", axis="1 2 3")]
    for k, (mass, place) in enumerate(zip(masses, places, strict=True)):
        local = np.linalg.inv(at) @ [*place, 1]
        parts.append(link(names[k + 1], mass, " ".join(map(repr, local[:3].tolist())), (0, 0, 0)))
        if k < 3:
            rpy, xyz = (" ".join(map(str, figures)) for figures in frames[k])
            parts.append(joint(f"f{k}", names[k + 1], names[k + 2], "fixed", xyz=xyz, rpy=rpy))
            at = at @ pose(*frames[k])
    tree = tree_of(robot(*parts))
    squares = (places**2).sum(axis=1)[:, None, None] * np.eye(3)
    outer = places[:, :, None] * places[:, None, :]
    assert tree.mass[1] == masses.sum()
    np.testing.assert_allclose(tree.first_moment[1], masses @ places, rtol=1e-14)
    np.testing.assert_allclose(
        tree.inertia[1], (masses[:, None, None] * (squares - outer)).sum(axis=0), rtol=1e-13
    )


def test_links_fixed_to_the_base_belong_to_the_base():
    text = robot(link("base", 3), link("a", 2), joint("f", "base", "a", "fixed"))
    np.testing.assert_array_equal(tree_of(text).mass, [5])


def test_massless_links_change_nothing_but_keep_their_inertia():
    text = robot(
        link("base"),
        link("a", 1),
        link("rotor", 0, "1 1 1", (0, 0, 0.5)),
        link("frame", None),
        joint("turn", "base", "a"),
        joint("f1", "a", "rotor", "fixed"),
        joint("f2", "rotor", "frame", "fixed"),
    )
    tree = tree_of(text)
    assert tree.mass[1] == 1
    np.testing.assert_allclose(np.diag(tree.inertia[1]), [0.03, 0.04, 0.04 + 0.5], rtol=1e-15)


@pytest.mark.parametrize("axis", ["0 0 1", "1 -2 0.5"])
@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic"])
def test_locked_joint_equals_a_fixed_joint_placed_there(kind, axis):
    position = 0.7
    unit = np.array([float(word) for word in axis.split()])
    unit /= np.linalg.norm(unit)
    # the same displacement, found by rotating or shifting in many small steps
    step = np.eye(4)
    if kind == "prismatic":
        step[:3, 3] = unit * position
    else:
        x, y, z = unit * position / 2**30
        small = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        step[:3, :3] = np.eye(3) + small + small @ small / 2
        for _ in range(30):
            step = step @ step
    locked = tree_of(chain("i", "j", "k", kind=kind, axis=axis), locked={"j": position})
    fixed = pose((0, 0, 0), (0, 0, 0.3)) @ step
    np.testing.assert_array_equal(locked.link_body, [-1, 0, 0, 1])
    np.testing.assert_allclose(locked.link_rotation[2], fixed[:3, :3], atol=1e-8)
    np.testing.assert_allclose(locked.link_translation[2], fixed[:3, 3], atol=1e-8)
    np.testing.assert_allclose(locked.translation[1], (fixed @ [0, 0, 0.3, 1])[:3], atol=1e-8)


def test_followers_are_bodies_driven_by_their_leader():
    text = robot(
        *map(link, ["base", "a", "b", "c"]),
        joint("follower", "base", "a", inside='<mimic joint="leader" multiplier="-2" offset="1"/>'),
        joint("other", "base", "c", "prismatic"),
        joint("leader", "base", "b"),
    )
    tree = tree_of(text)
    assert tree.joint_names == ("other", "leader")
    assert tree.body_names == ("base", "a", "c", "b")
    np.testing.assert_array_equal(tree.dof, [1, 0, 1])
    np.testing.assert_array_equal(tree.multiplier, [-2, 1, 1])
    np.testing.assert_array_equal(tree.offset, [1, 0, 0])


def test_added_inertial_counts_like_a_link_fixed_there():
    added = link("load", 2, "0.1 -0.2 0.3", (0.1, 0.2, 0.25, 0.01, 0, 0.02))
    arm = (
        *map(link, ["base", "a", "flange"]),
        joint("turn", "base", "a"),
        joint("f", "a", "flange", "fixed", rpy="1 -0.5 2"),
    )
    here = {"xyz": "0 0 0", "rpy": "0 0 0"}
    welded = tree_of(robot(*arm, added, joint("weld", "flange", "load", "fixed", **here)))
    inertial = urdf.parse(robot(added)).links[0].inertial
    bare = tree_of(robot(*arm))
    loaded = bare.with_inertial(2, inertial)
    for name in ("mass", "first_moment", "inertia"):
        np.testing.assert_allclose(getattr(loaded, name), getattr(welded, name), rtol=1e-14)
    np.testing.assert_array_equal(bare.mass, [1, 2])


@pytest.mark.parametrize("massless", [(None,), (0.0, "1 1 1", (0, 0, 0))], ids=["frame", "zeros"])
@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_model_raises_if_a_joint_moves_nothing(massless, kind):
    text = robot(
        *map(link, ["base", "a"]),
        link("b", *massless),
        link("c", None),
        joint("turn", "base", "a"),
        joint("idle", "a", "b", kind),
        joint("f", "b", "c", "fixed"),
    )
    with pytest.raises(ModelError, match="joint 'idle' moves no mass and no inertia"):
        Model.from_urdf(text)
    assert tree_of(text, joints=["turn"]).n == 1


def test_massless_link_may_move_when_what_it_carries_has_inertia():
    text = robot(
        link("base"), link("a", None), link("b"), joint("i", "base", "a"), joint("j", "a", "b")
    )
    assert tree_of(text).n == 2


def test_rotor_without_mass_may_move():
    rotor = link("rotor", 0, "0 0 0", (0, 0, 0.5))
    assert tree_of(robot(link("base"), rotor, joint("turn", "base", "rotor"))).n == 1


@pytest.mark.parametrize(("multiplier", "moves"), [(0.5, True), (0, False)])
def test_inertia_of_followers_counts_for_their_leader(multiplier, moves):
    text = robot(
        *map(link, ["base", "b"]),
        link("a", None),
        joint("leader", "base", "a"),
        joint("f", "base", "b", inside=f'<mimic joint="leader" multiplier="{multiplier}"/>'),
    )
    if moves:
        assert tree_of(text).joint_names == ("leader",)
    else:
        with pytest.raises(ModelError, match="joint 'leader' moves no mass"):
            Model.from_urdf(text)


@pytest.mark.parametrize(
    ("figures", "xyz", "culprit"),
    [
        ((1e308, "0 0 0"), "0 0 0", "mass of 'b'"),
        ((1e50, "1e40 0 0"), "0 0 0", "inertia of 'b'"),
        ((1, "0 0 0", (1e308, 1e308, 1e308)), "0 0 0", "inertia of 'b'"),
        ((0, "0 0 0"), "0 1e120 0", "link_translation of 'a'"),
    ],
)
def test_grow_raises_if_figures_overflow(figures, xyz, culprit):
    text = robot(*(link(name, *figures) for name in "ba"), joint("f", "b", "a", "fixed", xyz=xyz))
    with pytest.raises(ModelError, match=culprit):
        tree_of(text)
