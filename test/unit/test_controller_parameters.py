"""Which gains the controller takes: those that are set, or those of the model."""

import re

import numpy as np
import pytest

from featherstone_ros import Model
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import BANDWIDTH, SampledLoop, Timing, choose
from featherstone_ros.control.settings import Mode

ARM = ControlledArm.of(Model.from_robot("ur5e"))
UR5E = ARM.model
ELBOW = UR5E.joint_names.index("elbow_joint")
TRACKING = (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE)


def arm(**changes):
    """Return the arm with all parameters' defaults but some, whose names have __ for dots."""
    return ARM.with_parameters({n.replace("__", "."): value for n, value in changes.items()})


def settings(**changes):
    return arm(**changes).settings


@pytest.mark.parametrize("mode", TRACKING)
def test_without_gains_they_are_those_of_the_model(mode):
    chosen = settings(mode=str(mode), gains__bandwidth=5.0)
    expected = choose(SampledLoop(UR5E, mode=mode), 5.0, 1.0, UR5E.friction)
    np.testing.assert_array_equal(chosen.p, expected.p)
    np.testing.assert_array_equal(chosen.d, expected.d)
    assert chosen.p.all()


def test_armature_and_delay_count():
    rotors = {f"armature__{joint}": 1.0 for joint in UR5E.joint_names}
    loop = SampledLoop(UR5E, 1.0, Timing(0.001, 0.004))
    given = arm(gains__period=0.001, gains__delay=0.004, **rotors)
    expected = choose(loop, BANDWIDTH, 1.0, UR5E.friction)
    np.testing.assert_array_equal(given.settings.p, expected.p)


def test_gains_of_one_joint_leave_those_of_the_others():
    chosen = ARM.settings
    given = settings(gains__elbow_joint__p=30.0)
    others = np.arange(UR5E.n) != ELBOW
    assert given.p[ELBOW] == 30.0 and given.d[ELBOW] == 0.0
    np.testing.assert_array_equal(given.p[others], chosen.p[others])
    np.testing.assert_array_equal(given.d[others], chosen.d[others])


def test_a_joint_without_gains_has_none_where_none_are_chosen():
    given = settings(gains__bandwidth=0.0, gains__elbow_joint__p=30.0)
    assert given.p[ELBOW] == given.p.sum() == 30.0 and not given.d.any()


@pytest.mark.parametrize("change", [{"gains__bandwidth": 0.0}, {"mode": "gravity_compensation"}])
def test_nothing_is_chosen_where_nothing_is_to_be(change):
    changed = arm(**change)
    assert not changed.settings.p.any() and not changed.settings.d.any()
    assert changed.feedback.unstable_gains == []


def test_the_gain_that_is_too_high_is_named():
    chosen = ARM.settings
    given = {f"gains__{j}__p": p for j, p in zip(UR5E.joint_names, chosen.p, strict=True)}
    given |= {f"gains__{j}__d": d for j, d in zip(UR5E.joint_names, chosen.d, strict=True)}
    assert arm(**given).feedback.unstable_gains == []
    high = arm(**given | {"gains__elbow_joint__d": 300.0})
    (finding,) = high.feedback.unstable_gains
    assert finding.joint == ELBOW and finding.advised[1] < finding.given[1] == 300.0
    said = high.feedback.without_margin
    assert "gains.elbow_joint.d = 300: with period 2 ms, delay 2 ms the joint swings up at" in said
    assert f" and {chosen.d[ELBOW]:.3g} would do" in said


HIGH = {"gains__elbow_joint__p": 1e9, "gains__elbow_joint__d": 1e3}
WILD = {"gains__elbow_joint__p": 1e4, "gains__elbow_joint__d": 3.0}
BORNE = {"gains__elbow_joint__p": 1e3, "gains__elbow_joint__d": 50.0}  # stable, without margin
ROTOR = {"armature__elbow_joint": 0.5}
STIFF = {"gains__wrist_3_joint__p": 500.0, "gains__wrist_3_joint__d": 5.0}  # of a real arm
HAND = {"mode": "cartesian_impedance", "tip": "tool0"}
REFUSED = [  # what is refused, what is said, and what is not refused
    *((HIGH | rotor, r"gains\.elbow_joint\.p = 1e\+09 .* swings up",
       HIGH | rotor | {"mode": "gravity_compensation"}) for rotor in ({}, ROTOR)),
    *((WILD | rotor, r"gains\.elbow_joint\.p = 1e\+04 .* swings up", BORNE | rotor)
      for rotor in ({}, ROTOR)),
    (STIFF | {"armature__wrist_3_joint": 0.001}, r"gains\.wrist_3_joint\.p = 500 .* swings up",
     STIFF),
    *((HAND | more | {"free_damping": [1e4] + [0.0] * 5},
       r"free_damping is .* swings up; expected at most .* as",
       HAND | more | {"free_damping": [60.0] * 3 + [8.0] * 3})
      for more in ({}, {"stiffness_frame": "tip"}, {"inertia_shaping": True})),
    *(({f"friction__wrist_2_joint__{law}": 300.0},
       r"'wrist_2_joint': friction takes .* effort limit of 28",
       {"friction__wrist_2_joint__viscous": 10.0})
      for law in ("coulomb", "viscous", "offset", "stiffness")),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "said", "right"), REFUSED)
def test_what_no_arm_can_bear_is_refused_and_what_one_can_is_not(wrong, said, right):
    with pytest.raises(ValueError, match=said):
        settings(**wrong)
    settings(**right)


def test_gains_that_some_rotor_bears_are_told_where_none_is_known():
    assert "swings up" in arm(**STIFF).without_margin


def test_stiffness_of_the_hand_that_delay_makes_unstable_is_told():
    hand = {"mode": "cartesian_impedance", "tip": "tool0", "gains__delay": 0.002}
    assert arm(**hand, stiffness=[400.0] * 3 + [3.0] * 3).without_margin == ""
    stiff = {"stiffness": [400.0] * 3 + [3000.0] * 3}
    text = arm(**hand, **stiff).without_margin
    assert text.startswith("stiffness: the end effector is softer in some postures")
    told = float(text.partition("gains.period is ")[2].partition(" ms")[0])
    assert told == pytest.approx(2.0 + 500 * ARM.timing.period)
    share = float(re.search(r"([\d.]+) times", text)[1])
    softer = {"stiffness": [0.9 * share * k for k in stiff["stiffness"]]}
    assert arm(**hand, **softer).without_margin == ""
