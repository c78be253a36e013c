"""The Model: choices, limits, friction, payload, gravity, files and what the log says."""

import copy
import logging
import pickle
import sys
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from refusals import refusals
from urdf_text import chain, joint, link, robot

import featherstone_ros as fr
from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.control.gains import SampledLoop
from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model import Model
from featherstone_ros.model.robots import robot_file

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
ARM = robot(
    *map(link, ["base", "upper", "lower", "finger", "thumb"]),
    link("tool", None),
    joint("shoulder", "base", "upper", inside=LIMIT + '<dynamics damping="0.5" friction="0.25"/>'),
    joint("elbow", "upper", "lower", "continuous", inside=LIMIT),
    joint("grip", "lower", "finger", "prismatic", inside='<dynamics damping="1" friction="2"/>'),
    joint("thumb", "lower", "thumb", "prismatic",
          inside='<mimic joint="grip" multiplier="-3"/><dynamics damping="10" friction="20"/>'),
    joint("flange", "lower", "tool", "fixed", xyz="0.1 0.2 0.3", rpy="1 2 3"),
)  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return Model.from_urdf(ARM)


def inertial_sums(model):
    """Return all inertial sums of the model as one flat array."""
    tree = model.tree
    return np.hstack([tree.mass, tree.first_moment.ravel(), tree.inertia.ravel()])


def test_attributes(model):
    assert model.name == "test"
    assert model.n == 3
    assert model.base_link == "base"
    assert model.joint_names == ("shoulder", "elbow", "grip")
    assert model.joint_types == ("revolute", "continuous", "prismatic")
    assert model.link_names == ("base", "upper", "lower", "finger", "thumb", "tool")
    assert model.mimics == {"thumb": ("grip", -3, 0)}
    assert model.locked == {}
    np.testing.assert_array_equal(model.gravity, [0, 0, -9.81])


def test_limits_are_infinite_where_the_urdf_gives_none(model):
    np.testing.assert_array_equal(model.lower, [-1, -np.inf, -np.inf])
    np.testing.assert_array_equal(model.upper, [2, np.inf, np.inf])
    np.testing.assert_array_equal(model.velocity_limit, [3, 3, np.inf])
    np.testing.assert_array_equal(model.effort_limit, [4, 4, np.inf])


def test_leader_feels_the_friction_of_its_followers(model):
    np.testing.assert_array_equal(model.damping, [0.5, 0, 1 + 3**2 * 10])
    np.testing.assert_array_equal(model.friction, [0.25, 0, 2 + 3 * 20])


def test_arrays_follow_the_order_of_joints():
    model = Model.from_urdf(ARM, joints=["grip", "shoulder"], locked={"elbow": 0.5})
    assert model.joint_types == ("prismatic", "revolute")
    assert model.locked == {"elbow": 0.5}
    np.testing.assert_array_equal(model.upper, [np.inf, 2])
    np.testing.assert_array_equal(model.damping, [91, 0.5])


def test_locked_joint_takes_its_followers_friction_along():
    model = Model.from_urdf(ARM, locked={"grip": 0.1})
    assert model.locked["thumb"] == pytest.approx(-0.3, rel=1e-15)
    np.testing.assert_array_equal(model.damping, [0.5, 0])


@pytest.mark.parametrize("at", ["tool", "finger", "base", "lower"])
def test_payload_counts_like_a_link_welded_on(model, at):
    load = link("load", 2, "0.1 -0.2 0.3", (0.1, 0.2, 0.25, 0.01, 0, 0.02))
    weld = joint("weld", at, "load", "fixed", xyz="0 0 0")
    welded = Model.from_urdf(ARM.replace("</robot>", f"{load}{weld}</robot>"))
    inertia = [[0.1, 0.01, 0], [0.01, 0.2, 0.02], [0, 0.02, 0.25]]
    g, before = np.array([1.0, 2.0, 3.0]), inertial_sums(model)
    loaded = model.with_payload(at, 2, [0.1, -0.2, 0.3], inertia).with_gravity(g)
    g[0] = 7
    np.testing.assert_allclose(inertial_sums(loaded), inertial_sums(welded), rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(inertial_sums(model), before)
    np.testing.assert_array_equal([loaded.gravity, model.gravity], [[1, 2, 3], [0, 0, -9.81]])
    assert loaded.joint_names == model.joint_names
    np.testing.assert_array_equal(loaded.upper, model.upper)


def test_payload_inertia_may_be_symmetric_but_for_rounding(model):
    inertia = 1e-3 * np.eye(3)
    rounded = inertia + 1e-19 * np.arange(9).reshape(3, 3)
    loaded = model.with_payload("tool", 1, (0, 0, 0), rounded)
    np.testing.assert_allclose(
        inertial_sums(loaded),
        inertial_sums(model.with_payload("tool", 1, (0, 0, 0), inertia)),
        atol=1e-15,
    )


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
)
def test_copies_and_pickles_are_whole(model, duplicate):
    other = duplicate(model.with_payload("tool", 1, (0, 0, 0)))
    assert other.joint_names == model.joint_names
    assert other.mimics == model.mimics
    assert other.compiled is not None
    assert not other.lower.flags.writeable
    np.testing.assert_array_equal(
        inertial_sums(other), inertial_sums(model.with_payload("tool", 1, (0, 0, 0)))
    )


def test_from_file_reads_urdf(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    for given in (path, str(path)):
        model = Model.from_file(given, joints=["elbow"], locked={"grip": 0.1}, gravity=(0, 0, -1))
        assert model.joint_names == ("elbow",)
        assert model.locked["grip"] == 0.1
        assert model.gravity[2] == -1


INFINITE = (np.nan, np.inf, -np.inf)
NOT_GRAVITY = [(0, 0), 9.81, (0, 0, "down"), None, np.eye(3), "123", *((0, 0, x) for x in INFINITE)]
NOT_GRAVITY += [["0", "0", "1"], [0, 0, 1j], [None] * 3, [0, 0, 10**400]]
NOT_PAYLOADS = {
    "mass": [(m, (0, 0, 0)) for m in (-1, [1, 2], "heavy", "1", *INFINITE)],
    "com": [(1, c) for c in ((0, 0), None, ["0", "0", "0"], *((0, 0, x) for x in INFINITE))],
    "inertia": [
        (1, (0, 0, 0), moments)
        for moments in (
            (1, 2, 3), [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]],
            *(np.diag([1, 1, x]) for x in INFINITE),
        )
    ],
}  # fmt: skip
BARE = Model.from_urdf(ARM)


def from_file(name, content=None, joints=None):
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "xacro", None)  # as if it were not installed
        path = Path(folder) / name
        if content is not None:
            path.write_text(content)
        Model.from_file(path, joints=joints)


def write_to(name):
    getattr(BARE, name)[0] = 1.0


LIMITS = ("lower", "upper", "velocity_limit", "effort_limit")
UNKNOWN = "'knee'; valid names: elbow, grip, shoulder"
test_what_cannot_be_used_is_refused = refusals(
    *((ModelError, "gravity", lambda g=g: BARE.with_gravity(g)) for g in NOT_GRAVITY),
    *((ModelError, "gravity", lambda g=g: Model.from_urdf(ARM, gravity=g)) for g in NOT_GRAVITY),
    *((ModelError, name, lambda figures=figures: BARE.with_payload("tool", *figures))
      for name, several in NOT_PAYLOADS.items() for figures in several),
    (UnknownNameError, "no link 'hook'; valid names: base, finger, lower",
     lambda: BARE.with_payload("hook", 1, (0, 0, 0))),
    *((error, UNKNOWN, lambda: Model.from_urdf(ARM, joints=["knee"]))
      for error in (ModelError, ValueError, KeyError)),
    (UnknownNameError, UNKNOWN, lambda: from_file("arm.urdf", ARM, ["knee"])),
    (UnknownNameError, "'no_such_arm'.*panda, ur5e", lambda: robot_file("no_such_arm")),
    (ModelError, r"arm\.urdf: URDF is not well-formed", lambda: from_file("arm.urdf", "<robot>")),
    (ModelError, r"arm\.urdf\.xacro needs the xacro", lambda: from_file("arm.urdf.xacro", ARM)),
    *((FileNotFoundError, name, lambda name=name: from_file(name))
      for name in ("nothing.urdf", "nothing.xacro")),
    *((ValueError, "^assignment destination is read-only$", partial(write_to, name))
      for name in (*LIMITS, "damping", "friction", "gravity")),
)  # fmt: skip


def warnings_for(text, caplog):
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        model = Model.from_urdf(text)
        model.with_payload("base", 1, (0, 0, 0)).with_gravity((0, 0, 0))
    return [record.getMessage() for record in caplog.records]


def test_log_is_silent_about_a_sound_robot(caplog):
    assert warnings_for(ARM, caplog) == []


def test_log_warns_once_of_all_oddities_by_name(caplog):
    text = robot(
        link("base"),
        link("light", 0, "0 0 0", (1, 1, 1)),
        link("negative", 1, "0 0 0", (-1, 1, 1)),
        link("skewed", 1, "0 0 0", (1, 1, 1, 5, 0, 0)),
        link("point", 1, "0 0 0", (0, 0, 0)),
        link("long", 1, "0 0 0", (1, 1, 2.1)),
        link("sound", 1, "0 0 0", (1, 1, 2)),
        *(
            joint(f"to_{name}", "base", name, kind)
            for name, kind in [
                ("light", "prismatic"), ("negative", "revolute"), ("skewed", "revolute"),
                ("point", "prismatic"), ("long", "revolute"),
            ]
        ),
        joint("to_sound", "base", "sound", inside='<mimic joint="nobody"/>'),
    )  # fmt: skip
    (message,) = warnings_for(text, caplog)
    assert message == (
        "robot 'test' is used as written, but: "
        "has an inertia that is not positive definite: links 'negative', 'skewed'; "
        "has mass but no inertia: a point mass: link 'point'; "
        "has inertia but no mass: link 'light'; "
        "has principal moments that break the triangle inequality, A + B >= C: link 'long'; "
        "mimics a joint that does not exist: joint 'to_sound'"
    )


# A tree whose indices are damaged leads no recursion out of its memory.


MODEL = fr.Model.from_urdf(chain("a", "b", "c", axis="0 1 0"))


def damaged(name, value):
    """Return the model's pickle with another array in its tree, without what checks it."""
    made, _ = MODEL.__reduce__()
    tree = object.__new__(type(MODEL.tree))
    for field in fields(MODEL.tree):
        object.__setattr__(tree, field.name, getattr(MODEL.tree, field.name))
    object.__setattr__(tree, name, value)
    return pickle.dumps(partial(made, tree=tree))


def load(data):
    return pickle.loads(data)()


INDICES = {name: getattr(MODEL.tree, name) for name in ("dof", "joint_body", "link_body", "parent")}
test_an_index_out_of_range_or_another_length_is_refused = refusals(
    *((f"{name}: expected", (name, np.append(array[:-1], index)))
      for name, array in INDICES.items() for index in (3, -2, 10**6, -(10**6), 2**62)),
    *((f"{name}: expected", (name, other))
      for name, array in INDICES.items() if name != "parent"
      for other in (array[:-1], np.append(array, 0), array.reshape(1, -1))),
    error=ValueError, of=lambda damage=("dof", MODEL.tree.dof): load(damaged(*damage)),
)  # fmt: skip


def test_what_is_not_damaged_is_the_same():
    q = np.ones(3)
    same = load(damaged("dof", MODEL.tree.dof))
    np.testing.assert_array_equal(fr.Dynamics(same).gravity(q), fr.Dynamics(MODEL).gravity(q))


def test_more_joints_than_are_controlled_are_refused_before_memory_runs_out():
    limit = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'
    many = fr.Model.from_urdf(chain(*(f"j{k}" for k in range(121)), axis="0 1 0", inside=limit))
    with pytest.raises(ModelError, match="has 121 joints, expected at most 120"):
        SampledLoop(many)
    assert not assumed_armature(many).any()
