"""Joints that move, mimic others or are locked."""

import numpy as np
import pytest
from refusals import refusals
from urdf_text import chain, joint, link, robot

from featherstone_ros.errors import ModelError, UnknownNameError
from featherstone_ros.model import urdf
from featherstone_ros.model.joint_selection import choose
from featherstone_ros.model.robot_description import orphans


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


def test_locked_gives_positions_to_joints_left_out():
    chosen = choose(ARM, joints=["grip"], locked={"wrist": np.float32(0.5)})
    assert chosen.locked == {"wrist": 0.5, "elbow": 0.0}


def test_follower_is_locked_with_its_leader():
    chosen = choose(ARM, locked={"grip": 0.3})
    assert chosen.mimics == {}
    assert chosen.locked == {"grip": 0.3, "curl": -2 * 0.3 + 0.5}


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
    *(
        (
            ModelError,
            "`locked` has 'grip' at .*expected a finite number",
            lambda x=x: choose(ARM, locked={"grip": x}),
        )
        for x in (float("nan"), float("inf"), None, "0.1")
    ),
)
