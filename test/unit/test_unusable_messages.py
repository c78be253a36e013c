"""Messages to users about unusable joint states and trajectories."""

import numpy as np
import pytest
from each import each

from featherstone_ros.control.unusable_messages import late_start, unusable_state
from featherstone_ros.tools.robot_setup import load

ROBOT = load("panda")
MODEL, HOME = ROBOT.model, ROBOT.start
NAMES = list(MODEL.joint_names)


def said(names=NAMES, position=HOME) -> str:
    return unusable_state(names, list(position), MODEL)


def test_nothing_is_said_of_a_good_state():
    assert said() == ""
    order = [*reversed(NAMES), "finger"]
    assert said(order, [*reversed(HOME), 0.04]) == ""


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([f"left_{name}" for name in NAMES], "the prefix 'left_' is too much"),
        ([name.removeprefix("panda_") for name in NAMES], "the prefix 'panda_' is missing"),
        (["finger"], "the joints are finger, expected panda_joint1, panda_joint2"),
        ([], "no joint is named, expected panda_joint1"),
        (NAMES[:5], "panda_joint6, panda_joint7 missing"),
        ([f"\x1b[31m{'x' * 1000}"], "none of them"),
    ],
    ids=["prefixed", "without prefix", "gripper", "none", "some", "hostile"],
)
def test_names_are_set_against_those_expected(names, words):
    text = said(names, [0.0] * len(names))
    assert words in text
    assert len(text) < 300
    assert text.isprintable()


def test_degrees_are_recognised():
    assert said(position=np.degrees(HOME)).endswith("expected -1.7628 to 1.7628: degrees?")


def test_what_is_merely_far_away_is_not_called_degrees():
    text = said(position=[1e6, *HOME[1:]])
    assert "panda_joint1 is 1e+06, expected -2.8" in text
    assert "degrees" not in text


@each("joint", range(MODEL.n))
@pytest.mark.parametrize(("beyond", "is_told"), [(-0.1, False), (0.49, False), (0.51, True)])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_a_position_is_told_of_half_a_radian_beyond_its_limits(joint, side, beyond, is_told):
    position = np.array(HOME)
    limit = MODEL.upper[joint] if side > 0.0 else MODEL.lower[joint]
    position[joint] = limit + side * beyond
    assert (said(position=position) != "") == is_told


def test_what_the_loop_says_by_itself_is_left_to_it():
    assert said(position=[*HOME[:6], float("nan")]) == said(position=HOME[:6]) == ""


@pytest.mark.parametrize(("count", "words"), [(3, "c,"), (4, "c and 1 more,")])
def test_names_beyond_three_are_counted(count, words):
    text = said(list("abcd")[:count], [0.0] * count)
    assert f"the joints are a, b, {words}" in text


@pytest.mark.parametrize(("delay", "is_told"), [(9.9, False), (10.1, True)])
def test_a_start_is_late_after_ten_seconds(delay, is_told):
    assert (late_start(delay, 1e9) != "") == is_told


def test_late_start_names_both_clocks():
    assert late_start(1.0, 1e9) == ""
    assert late_start(float("nan"), 1e9) == ""
    text = late_start(86400.0, 100.0)
    assert "begins in 86400 s" in text and "86500.000" in text and "100.000" in text
