"""Which gains the controller takes: those that are set, or those of the model."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from featherstone_ros import Model
from featherstone_ros.control.feedback import Feedback
from featherstone_ros.control.gains import BANDWIDTH, SampledLoop, Timing, choose
from featherstone_ros.control.settings import Mode
from featherstone_ros.model.robots import robot_file
from featherstone_ros.nodes.controller_parameters import (
    SETTINGS,
    control_settings,
    joint_settings,
    without_margin,
)

UR5E = Model.from_file(robot_file("ur5e"))
ELBOW = UR5E.joint_names.index("elbow_joint")
TRACKING = (Mode.FEEDFORWARD, Mode.COMPUTED_TORQUE)


def values(**changes):
    """Return all parameters with their defaults, and changes with __ for dots."""
    settings = (*SETTINGS, *joint_settings(UR5E))
    return {s.name: s.default for s in settings} | {
        name.replace("__", "."): value for name, value in changes.items()
    }


@pytest.mark.parametrize("mode", TRACKING)
def test_without_gains_they_are_those_of_the_model(mode):
    settings = control_settings(values(mode=str(mode), gains__bandwidth=5.0), UR5E)
    expected = choose(SampledLoop(UR5E, mode=mode), mode, 5.0, 1.0, UR5E.friction)
    np.testing.assert_array_equal(settings.p, expected.p)
    np.testing.assert_array_equal(settings.d, expected.d)
    assert settings.p.all()


def test_armature_and_delay_count():
    rotors = {f"armature__{joint}": 1.0 for joint in UR5E.joint_names}
    loop = SampledLoop(UR5E, 1.0, Timing(0.001, 0.004))
    given = values(gains__period=0.001, gains__delay=0.004, **rotors)
    expected = choose(loop, Mode.FEEDFORWARD, BANDWIDTH, 1.0, UR5E.friction)
    np.testing.assert_array_equal(control_settings(given, UR5E).p, expected.p)


def test_gains_of_one_joint_leave_those_of_the_others():
    chosen = control_settings(values(), UR5E)
    settings = control_settings(values(gains__elbow_joint__p=30.0), UR5E)
    others = np.arange(UR5E.n) != ELBOW
    assert settings.p[ELBOW] == 30.0 and settings.d[ELBOW] == 0.0
    np.testing.assert_array_equal(settings.p[others], chosen.p[others])
    np.testing.assert_array_equal(settings.d[others], chosen.d[others])


def test_a_joint_without_gains_has_none_where_none_are_chosen():
    settings = control_settings(values(gains__bandwidth=0.0, gains__elbow_joint__p=30.0), UR5E)
    assert settings.p[ELBOW] == settings.p.sum() == 30.0 and not settings.d.any()


@pytest.mark.parametrize("change", [{"gains__bandwidth": 0.0}, {"mode": "gravity_compensation"}])
def test_nothing_is_chosen_where_nothing_is_to_be(change):
    settings = control_settings(values(**change), UR5E)
    assert not settings.p.any() and not settings.d.any()
    assert Feedback(values(**change), UR5E).unstable_gains == []


def test_a_loop_too_slow_for_any_gains_is_refused():
    with pytest.raises(ValueError, match="no gains of a bandwidth up to 30 rad/s are stable"):
        control_settings(values(gains__period=0.1, gains__delay=0.2), UR5E)


def test_the_gain_that_is_too_high_is_named():
    chosen = control_settings(values(), UR5E)
    given = {f"gains__{j}__p": p for j, p in zip(UR5E.joint_names, chosen.p, strict=True)}
    given |= {f"gains__{j}__d": d for j, d in zip(UR5E.joint_names, chosen.d, strict=True)}
    assert Feedback(values(**given), UR5E).unstable_gains == []
    high = values(**given | {"gains__elbow_joint__d": 300.0})
    (finding,) = Feedback(high, UR5E).unstable_gains
    assert finding.joint == ELBOW and finding.advised[1] < finding.given[1] == 300.0
    said = Feedback(high, UR5E).without_margin
    assert "gains.elbow_joint.d = 300: with period 2 ms, delay 2 ms the joint swings up at" in said
    assert f" and {chosen.d[ELBOW]:.3g} would do" in said


def test_a_gain_that_can_never_be_stable_is_refused_whatever_the_rotor():
    high = {"gains__elbow_joint__p": 1e9, "gains__elbow_joint__d": 1e3}
    with pytest.raises(ValueError, match=r"gains\.elbow_joint\.p = 1e\+09 .* swings up"):
        control_settings(values(**high), UR5E)
    rotor = {"armature__elbow_joint": 0.5}
    with pytest.raises(ValueError, match=r"gains\.elbow_joint\.p is 1e\+09, expected less than"):
        control_settings(values(**high, **rotor), UR5E)
    control_settings(values(**high, **rotor, mode="gravity_compensation"), UR5E)


@pytest.mark.parametrize("rotor", [{}, {"armature__elbow_joint": 0.5}], ids=["unknown", "known"])
def test_gains_that_swing_a_joint_up_are_refused(rotor):
    """Stable gains without margin are told only."""
    wild = {"gains__elbow_joint__p": 1e4, "gains__elbow_joint__d": 3.0}
    with pytest.raises(ValueError, match=r"gains\.elbow_joint\.p = 1e\+04 .* swings up"):
        control_settings(values(**wild, **rotor), UR5E)
    control_settings(values(**rotor, gains__elbow_joint__p=1e3, gains__elbow_joint__d=50.0), UR5E)


def test_gains_that_some_rotor_bears_are_told_where_none_is_known():
    """Those of a real arm, before its rotors are identified."""
    stiff = {"gains__wrist_3_joint__p": 500.0, "gains__wrist_3_joint__d": 5.0}
    control_settings(values(**stiff), UR5E)
    assert "swings up" in without_margin(values(**stiff), UR5E)
    with pytest.raises(ValueError, match=r"gains\.wrist_3_joint\.p = 500 .* swings up"):
        control_settings(values(**stiff, armature__wrist_3_joint=0.001), UR5E)


@pytest.mark.parametrize("more", [{}, {"stiffness_frame": "tip"}, {"inertia_shaping": True}])
def test_free_damping_that_swings_the_hand_up_is_refused(more):
    hand = {"mode": "cartesian_impedance", "tip": "tool0", **more}
    control_settings(values(**hand, free_damping=[60.0] * 3 + [8.0] * 3), UR5E)
    with pytest.raises(ValueError, match=r"free_damping is .* swings up; expected at most .* as"):
        control_settings(values(**hand, free_damping=[1e4] + [0.0] * 5), UR5E)


@pytest.mark.parametrize("law", ["coulomb", "viscous", "offset"])
def test_friction_beyond_the_effort_limit_is_refused_at_every_time(law):
    friction = {f"friction__wrist_2_joint__{law}": 300.0}
    with pytest.raises(ValueError, match=r"'wrist_2_joint': friction takes .* effort limit of 28"):
        control_settings(values(**friction), UR5E)
    control_settings(values(friction__wrist_2_joint__viscous=10.0), UR5E)


def test_stiffness_of_the_hand_that_delay_makes_unstable_is_told():
    hand = {"mode": "cartesian_impedance", "tip": "tool0", "gains__delay": 0.002}
    assert without_margin(values(**hand, stiffness=[400.0] * 3 + [3.0] * 3), UR5E) == ""
    stiff = {"stiffness": [400.0] * 3 + [3000.0] * 3}
    text = without_margin(values(**hand, **stiff), UR5E)
    assert text.startswith("stiffness: the hand is softer in some postures")
    told = float(text.partition("gains.period is ")[2].partition(" ms")[0])
    assert told == pytest.approx(2.0 + 500 * values()["gains.period"])
    share = float(text.rpartition("; ")[2].partition(" times")[0])
    softer = {"stiffness": [0.9 * share * k for k in stiff["stiffness"]]}
    assert without_margin(values(**hand, **softer), UR5E) == ""
