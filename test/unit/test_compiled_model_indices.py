"""A tree whose indices are damaged is refused: nothing leads the recursions out of their memory."""

import pickle
from dataclasses import fields

import numpy as np
import pytest
from urdf_text import chain

import featherstone_ros as fr
from featherstone_ros.control.armature import assumed_armature
from featherstone_ros.control.gains import SampledLoop
from featherstone_ros.errors import ModelError

MODEL = fr.Model.from_urdf(chain("a", "b", "c", axis="0 1 0"))


def damaged(name, value):
    """Return the model's pickle with another array in its tree, without what checks it."""
    kept, state = MODEL.__reduce__()
    tree = object.__new__(type(MODEL.tree))
    for field in fields(MODEL.tree):
        object.__setattr__(tree, field.name, getattr(MODEL.tree, field.name))
    object.__setattr__(tree, name, value)
    return pickle.dumps((kept, ({**state[0], "tree": tree},)))


def load(data):
    restore, arguments = pickle.loads(data)
    return restore(*arguments)


@pytest.mark.parametrize("name", ["dof", "joint_body", "link_body", "parent"])
@pytest.mark.parametrize("index", [3, -2, 10**6, -(10**6), 2**62])
def test_an_index_out_of_range_is_refused(name, index):
    array = np.array(getattr(MODEL.tree, name))
    array[-1] = index
    with pytest.raises(ValueError, match=f"{name}: expected"):
        load(damaged(name, array))


@pytest.mark.parametrize("name", ["dof", "joint_body", "link_body"])
def test_an_array_of_another_length_is_refused(name):
    array = np.array(getattr(MODEL.tree, name))
    for other in (array[:-1], np.append(array, 0), array.reshape(1, -1)):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            load(damaged(name, other))


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
