"""Tree: the robots of URDFs built again in code, screws, and what is refused."""

import inspect
import pickle
import textwrap

import numpy as np
import pytest
from comparison import assert_equal_to_rounding
from random_trees import SCREWS, TREES, as_tree
from studies import few_or_all

import featherstone_ros as fr
from featherstone_ros import (
    Continuous,
    Dynamics,
    Fixed,
    Model,
    ModelError,
    Prismatic,
    Revolute,
    Screw,
    Tree,
    UnknownNameError,
    box,
    sphere,
)


def assert_same_dynamics(actual, expected, links, seed=0):
    """Compare what two models make of one random state."""
    state = np.random.default_rng(seed).uniform(-2, 2, (3, expected.n))
    ours, theirs = Dynamics(actual), Dynamics(expected)
    assert_equal_to_rounding(ours.rnea(*state), theirs.rnea(*state))
    assert_equal_to_rounding(ours.aba(*state), theirs.aba(*state))
    assert_equal_to_rounding(ours.crba(state[0]), theirs.crba(state[0]))
    for link in links:
        assert_equal_to_rounding(ours.link_pose(state[0], link), theirs.link_pose(state[0], link))
        assert_equal_to_rounding(ours.jacobian(state[0], link), theirs.jacobian(state[0], link))


# The same robot as URDF --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", few_or_all([name for name in TREES if name != "200 bodies"], TREES)
)
def test_tree_has_the_model_of_the_same_urdf(name):
    text = TREES[name]
    expected, actual = Model.from_urdf(text), as_tree(text).model()
    assert actual.joint_types == expected.joint_types
    assert sorted(actual.link_names) == sorted(expected.link_names)
    assert actual.mimics == expected.mimics
    for name in ("lower", "upper", "velocity_limit", "effort_limit", "damping", "friction"):
        np.testing.assert_array_equal(getattr(actual, name), getattr(expected, name))
    assert_same_dynamics(actual, expected, expected.link_names[:20])


def test_model_takes_joints_locked_and_gravity():
    tree = as_tree(TREES["chain"])
    model = tree.model(joints=["joint5", "joint2"], locked={"joint1": 0.3}, gravity=(1, 2, 3))
    expected = Model.from_urdf(
        TREES["chain"], joints=["joint5", "joint2"], locked={"joint1": 0.3}, gravity=(1, 2, 3)
    )
    assert_same_dynamics(model, expected, expected.link_names)
    assert model.locked == expected.locked
    np.testing.assert_array_equal(model.gravity, [1, 2, 3])


def test_figures_of_a_joint_are_those_of_the_model():
    tree = Tree()
    figures = {"velocity_limit": 3, "effort_limit": 4, "damping": 5, "friction": 6}
    figures |= {"acceleration_limit": 7, "deceleration_limit": 8, "jerk_limit": 9}
    kinds = [Revolute, Prismatic, lambda *a, **k: Screw(*a, pitch=0.1, **k)]
    for k, kind in enumerate(kinds):
        joint = kind(f"j{k}", (0, 1, 0), lower=-1, upper=2, **figures)
        tree.add(f"link{k}", parent="base", joint=joint, inertial=sphere(0.1, mass=1))
    joint = Continuous("j3", (0, 1, 0), **figures)
    tree.add("link3", parent="base", joint=joint, inertial=sphere(0.1, mass=1))
    tree.add("link4", parent="base", joint=Prismatic("j4", **figures), inertial=sphere(0.1, mass=1))
    model = tree.model()
    assert model.joint_types == ("revolute", "prismatic", "screw", "continuous", "prismatic")
    np.testing.assert_array_equal(model.lower, [-1, -1, -1, -np.inf, -np.inf])
    np.testing.assert_array_equal(model.upper, [2, 2, 2, np.inf, np.inf])
    for name, value in figures.items():
        np.testing.assert_array_equal(getattr(model, name), np.full(5, value))


def test_model_does_not_see_what_is_added_later():
    tree = Tree()
    tree.add("a", parent="base", joint=Revolute("j"), inertial=sphere(0.1, mass=1))
    before = tree.model()
    tree.add("b", parent="a", joint=Revolute("k"), inertial=sphere(0.1, mass=1))
    assert (before.joint_names, tree.model().joint_names) == (("j",), ("j", "k"))


def test_link_of_several_parts_is_a_link_with_payloads():
    def model(*parts):
        tree = Tree()
        tree.add("arm", parent="base", joint=Revolute("j"), inertial=parts)
        return tree.model()

    rod, tip = box((0.1, 0.1, 1), mass=2, translation=(0, 0, 0.5)), sphere(0.2, mass=3)
    loaded = model(rod).with_payload("arm", tip.mass, tip.com, tip.inertia)
    for name in ("mass", "first_moment", "inertia"):
        actual, expected = getattr(model(rod, tip).tree, name), getattr(loaded.tree, name)
        np.testing.assert_allclose(actual, expected, rtol=1e-13, atol=1e-15)


def test_model_of_a_tree_pickles():
    written = pickle.dumps(SCREWS["all at once, with screws"].model())
    assert pickle.dumps(pickle.loads(written)) == written


def test_example_in_the_docstring_runs():
    lines = inspect.getdoc(Tree).splitlines()
    example = textwrap.dedent("\n".join(line for line in lines if line.startswith("    ")))
    names = {"fr": fr, "np": np}
    exec(example, names)
    assert names["dyn"].crba([0.1, 0.2]).shape == (2, 2)


# Screws ------------------------------------------------------------------------------------------


def test_nut_advances_by_the_pitch_per_radian():
    tree = Tree()
    tree.add("nut", parent="base", joint=Screw("z", pitch=0.01), inertial=sphere(0.1, mass=1))
    dynamics = Dynamics(tree.model())
    pose = dynamics.link_pose([2 * np.pi], "nut")
    np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-15)
    np.testing.assert_allclose(pose[:3, 3], [0, 0, 0.01 * 2 * np.pi], atol=1e-15)
    turned = dynamics.link_pose([np.pi / 2], "nut")
    np.testing.assert_allclose(turned[:3, 0], [0, 1, 0], atol=1e-15)


@pytest.mark.parametrize("tree", SCREWS.values(), ids=SCREWS)
def test_locked_screws_stand_where_free_ones_would(tree):
    free = tree.model()
    random = np.random.default_rng(2)
    q = random.uniform(-2, 2, free.n)
    stays = np.array([kind == "screw" for kind in free.joint_types])
    positions = dict(zip(np.array(free.joint_names)[stays].tolist(), q[stays], strict=True))
    locked = tree.model(locked=positions)
    assert locked.n == free.n - len(positions)
    ours, theirs = Dynamics(locked), Dynamics(free)
    for link in free.link_names:
        assert_equal_to_rounding(ours.link_pose(q[~stays], link), theirs.link_pose(q, link))
    moving = np.ix_(~stays, ~stays)
    assert_equal_to_rounding(ours.crba(q[~stays]), theirs.crba(q)[moving])
    weight = np.abs(theirs.gravity(q)).max()
    assert_equal_to_rounding(ours.gravity(q[~stays]), theirs.gravity(q)[~stays], weight)


# Refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parent": "hand"}, "no link 'hand'; valid names: arm, base"),
        ({"parent": "new"}, "no link 'new'; valid names: arm, base"),
        ({"link": "arm"}, "link 'arm' is in the tree already"),
        ({"link": ""}, "name of a link is '', expected"),
        ({"link": None}, "name of a link is None, expected"),
        ({"joint": Fixed("elbow")}, "joint 'elbow' is in the tree already"),
        ({"joint": Fixed("")}, "name of a joint is '', expected"),
        ({"joint": "revolute"}, "joint of link 'new' is 'revolute', expected e.g. Revolute"),
        ({"joint": Revolute}, "joint of link 'new' is <class .*Revolute'>, expected"),
        ({"joint": Revolute("j", (0, 0, 0))}, "joint 'j': axis is zero, expected a direction"),
        ({"joint": Revolute("j", (0, 1))}, r"joint 'j': axis has shape \(2,\), expected \(3,\)"),
        ({"joint": Revolute("j", "z")}, "joint 'j': axis is 'z', expected numbers"),
        ({"joint": Screw("j", pitch=np.inf)}, "joint 'j': pitch is inf, expected finite"),
        ({"joint": Screw("j", pitch=None)}, "joint 'j': pitch is None, expected a number"),
        ({"joint": Revolute("j", lower=2, upper=1)}, "joint 'j': upper is 1, expected .* >= 2"),
        ({"joint": Revolute("j", lower=np.nan)}, "joint 'j': lower is nan, expected a number"),
        ({"joint": Revolute("j", effort_limit=-1)}, "joint 'j': effort_limit is -1, expected"),
        ({"joint": Revolute("j", velocity_limit="fast")}, "joint 'j': velocity_limit is 'fast'"),
        ({"joint": Revolute("j", damping=-1)}, "joint 'j': damping is -1.0, expected .* >= 0"),
        ({"joint": Revolute("j", friction=np.inf)}, "joint 'j': friction is inf, expected finite"),
        ({"joint": Revolute("j", mimic="elbow")}, "joint 'j': mimic is 'elbow', expected"),
        ({"joint": Revolute("j", mimic=("knee", 1, 0))}, "'j' mimics. 'knee'; valid names: elbow"),
        ({"joint": Revolute("j", mimic=("elbow", np.nan, 0))}, "joint 'j': mimic is .* finite"),
        ({"translation": (1, 2)}, r"joint 'j': translation has shape \(2,\), expected \(3,\)"),
        ({"rotation": (0, 0, np.nan)}, "joint 'j': rotation is .* expected finite"),
        ({"rotation": np.diag([1, 1, -1])}, "joint 'j': rotation is .* determinant 1"),
        ({"inertial": 2.5}, "inertial of link 'new' is 2.5, expected what inertial, box"),
        ({"inertial": [2.5]}, r"inertial of link 'new' is \[2.5\], expected what inertial, box"),
    ],
)
def test_add_raises_and_leaves_the_tree_alone(change, message):
    tree = Tree()
    tree.add("arm", parent="base", joint=Revolute("elbow"), inertial=sphere(0.1, mass=1))
    with pytest.raises((ModelError, UnknownNameError), match=message):
        tree.add(**{"link": "new", "parent": "arm", "joint": Revolute("j")} | change)
    model = tree.model()
    assert (model.link_names, model.joint_names) == (("base", "arm"), ("elbow",))
