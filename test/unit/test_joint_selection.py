"""Joints that move, mimic others or are locked."""

import numpy as np
import pytest
from urdf_text import chain, joint, link, robot

from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model import urdf
from featherstone_ros.model.joint_selection import choose
from featherstone_ros.model.mimic import orphans


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


def test_default_is_every_free_joint_in_document_order():
    chosen = choose(ARM)
    assert chosen.joint_names == ("grip", "wrist", "elbow")
    assert chosen.mimics == {"curl": ("grip", -2, 0.5)}
    assert chosen.locked == {}


def test_joints_gives_the_order_and_locks_the_rest_at_zero():
    chosen = choose(ARM, joints=["elbow", "grip"])
    assert chosen.joint_names == ("elbow", "grip")
    assert chosen.locked == {"wrist": 0.0}


@pytest.mark.parametrize("joints", [("wrist",), np.array(["wrist"]), iter(["wrist"])])
def test_joints_may_be_any_iterable_of_names(joints):
    assert choose(ARM, joints).joint_names == ("wrist",)


def test_locked_takes_joints_away_from_the_default():
    chosen = choose(ARM, locked={"wrist": 0.3})
    assert chosen.joint_names == ("grip", "elbow")
    assert chosen.locked == {"wrist": 0.3}


def test_locked_gives_positions_to_joints_left_out():
    chosen = choose(ARM, joints=["grip"], locked={"wrist": np.float32(0.5)})
    assert chosen.locked == {"wrist": 0.5, "elbow": 0.0}


def test_follower_is_locked_with_its_leader():
    chosen = choose(ARM, locked={"grip": 0.3})
    assert chosen.mimics == {}
    assert chosen.locked == {"grip": 0.3, "curl": -2 * 0.3 + 0.5}


def test_everything_may_be_locked():
    assert choose(ARM, joints=[]).joint_names == ()


def test_chain_of_followers_is_multiplied_out():
    text = robot(
        *map(link, "abcde"),
        joint("w", "a", "b", inside=mimic("x", 3, 0.1)),
        joint("x", "b", "c", inside=mimic("y", -2, 0.5)),
        joint("y", "c", "d", inside=mimic("z")),
        joint("z", "d", "e"),
    )
    chosen = choose(urdf.parse(text))
    assert chosen.joint_names == ("z",)
    assert chosen.mimics == {"y": ("z", 1, 0), "x": ("z", -2, 0.5), "w": ("z", -6, 3 * 0.5 + 0.1)}


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


def test_follower_of_a_fixed_joint_is_locked_at_its_offset():
    text = robot(
        *map(link, "abc"),
        joint("bolt", "a", "b", "fixed"),
        joint("j", "b", "c", inside=mimic("bolt", 2, 0.4)),
    )
    assert choose(urdf.parse(text)).locked == {"j": 0.4}


def test_follower_of_nobody_moves_on_its_own():
    read = urdf.parse(chain("i", inside=mimic("nobody")))
    assert choose(read).joint_names == ("i",)
    assert orphans(read) == ["i"]


@pytest.mark.parametrize(
    "leaders", [{"i": "i"}, {"i": "j", "j": "i"}, {"i": "j", "j": "k", "k": "j"}]
)
def test_choose_raises_if_followers_follow_each_other(leaders):
    text = robot(
        *map(link, "abcd"),
        *(
            joint(name, parent, child, inside=mimic(leaders[name]) if name in leaders else "")
            for name, parent, child in zip("ijk", "abc", "bcd", strict=True)
        ),
    )
    with pytest.raises(ModelError, match=r"<mimic> of joints '.*' forms a loop"):
        choose(urdf.parse(text))


@pytest.mark.parametrize("argument", ["joints", "locked"])
@pytest.mark.parametrize("name", ["ankle", "bolt"])
@pytest.mark.parametrize("kind", [ModelError, UnknownNameError, KeyError])
def test_choose_raises_if_name_is_unknown(argument, name, kind):
    with pytest.raises(kind) as refusal:
        choose(ARM, **{argument: {name: 0.0}})
    assert str(refusal.value) == (
        f"no moving joint (in `{argument}`) '{name}'; valid names: elbow, grip, wrist"
    )


@pytest.mark.parametrize("argument", ["joints", "locked"])
def test_choose_raises_if_name_is_that_of_a_follower(argument):
    with pytest.raises(ModelError, match=f"`{argument}` has 'curl', which follows 'grip'"):
        choose(ARM, **{argument: {"curl": 0.0}})


def test_choose_raises_if_name_is_repeated():
    with pytest.raises(ModelError, match="`joints` has 'grip' 2 times"):
        choose(ARM, joints=["grip", "wrist", "grip"])


def test_choose_raises_if_joint_is_both_free_and_locked():
    with pytest.raises(ModelError, match="'grip' are in both"):
        choose(ARM, joints=["grip", "wrist"], locked={"grip": 0.1})


def test_choose_raises_if_joints_is_a_single_text():
    with pytest.raises(ModelError, match="joints is 'grip', expected a sequence"):
        choose(ARM, joints="grip")


def test_choose_raises_if_locked_is_no_mapping():
    with pytest.raises(ModelError, match=r"locked is \['grip'\], expected a mapping"):
        choose(ARM, locked=["grip"])


@pytest.mark.parametrize("position", [float("nan"), float("inf"), None, "0.1"])
def test_choose_raises_if_position_is_not_a_finite_number(position):
    with pytest.raises(ModelError, match=r"`locked` has 'grip' at .*expected a finite number"):
        choose(ARM, locked={"grip": position})
