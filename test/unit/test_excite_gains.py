"""The motion that is to identify an arm is rehearsed on one with other masses and friction."""

import numpy as np
import pytest
import urdf_text

from featherstone_ros import Model
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.trajectory import Point
from featherstone_ros.tools import cli
from featherstone_ros.tools.trial_drive import follow

LIMIT = '<limit effort="20" velocity="3" lower="-3" upper="3"/>'
REST = (0.0,)
TURN = [Point(0.0, REST, REST, REST), Point(2.0, (1.0,), REST, REST)]


def wrist(p):
    """Return a light wrist with that stiffness [N m/rad]; its rotor is heavier than itself."""
    hand = urdf_text.link("hand", 0.1, "0 0 0", (1e-4, 1e-4, 1e-4))
    joint = urdf_text.joint("wrist", "base", "hand", inside=LIMIT)
    model = Model.from_urdf(urdf_text.robot(urdf_text.link("base"), hand, joint))
    gains = {"gains.wrist.p": p, "gains.wrist.d": 0.2 * np.sqrt(p)}
    return ControlledArm.of(model, gains | {"armature.wrist": 0.02, "path_tolerance": 0.1})


def test_low_gains_follow_the_arm_that_is_known_and_abandon_another():
    """Friction of 1 N m that the controller does not know keeps the wrist 1 / p from its place."""
    low, high = wrist(p=4.0), wrist(p=40.0)
    known = follow(low, np.zeros(1), TURN)
    assert not known.trouble and known.peak < 0.01
    other = follow(low, np.zeros(1), TURN, excess=0.3, rubbing=0.05)
    assert "'wrist'" in other.trouble and "path_tolerance" in other.trouble
    stiff = follow(high, np.zeros(1), TURN, excess=0.3, rubbing=0.05)
    assert not stiff.trouble and stiff.peak == pytest.approx(1.0 / 40.0, rel=0.5)


def test_gains_that_the_controller_refuses_are_refused_before_the_search(tmp_path, capsys):
    file = tmp_path / "arm.yaml"
    file.write_text(
        "/**:\n  ros__parameters:\n    gains: {elbow_joint: {p: 1.0e9}}\n"
        "    armature: {elbow_joint: 0.5}\n"
    )
    command = ["excite", "--urdf", "ur5e", "--parameters", str(file), "--output"]
    assert cli.main([*command, str(tmp_path / "e.yaml")]) == 1
    assert "not start: gains.elbow_joint.p = 1e+09" in capsys.readouterr().err
