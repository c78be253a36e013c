"""URDF 1.1 and 1.2: quaternions, limits of acceleration, and what no version knows."""

import logging
import math

import numpy as np
import pytest
from urdf_text import chain, joint, link, robot

import featherstone_ros as fr
from featherstone_ros.errors import ModelError
from featherstone_ros.inspection.doctor import examine
from featherstone_ros.model import urdf

LIMIT = '<limit lower="-1" upper="1" velocity="2" effort="3" {}/>'


def arm(version=None, limit="", origin='rpy="0.3 -0.7 1.1"', inertial='rpy="-0.4 0.2 0.9"'):
    """Return a robot of two joints; ``origin`` and ``inertial`` turn the second."""
    second = joint("j2", "l1", "l2", inside=LIMIT.format(limit), axis="0 1 0")
    tip = link("l2", com="0.1 0.2 0.3", inertia=(0.02, 0.03, 0.04))
    text = robot(
        link("base"),
        link("l1"),
        tip.replace('rpy="0 0 0"', inertial),
        joint("j1", "base", "l1", inside=LIMIT.format("")),
        second.replace('rpy="0 0 0"', origin),
    )
    return text if version is None else text.replace("<robot ", f'<robot version="{version}" ')


def quaternion(roll, pitch, yaw, length=1.0):
    """Return quat_xyzw of the same turn: the product of three, about z, y and x."""
    (sr, cr), (sp, cp), (sy, cy) = (
        (math.sin(angle / 2), math.cos(angle / 2)) for angle in (roll, pitch, yaw)
    )
    x, y, z = sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy
    w = cr * cp * cy + sr * sp * sy
    return f'quat_xyzw="{" ".join(repr(length * part) for part in (x, y, z, w))}"'


@pytest.mark.parametrize("length", [1.0, -2.5, 1e-200, 1e200])
@pytest.mark.parametrize("version", ["1.1", "1.2"])
def test_a_quaternion_turns_as_the_same_angles_do(version, length, caplog):
    turned = arm(
        version,
        origin=quaternion(0.3, -0.7, 1.1, length),
        inertial=quaternion(-0.4, 0.2, 0.9, length),
    )
    expected, found = fr.Model.from_urdf(arm()), fr.Model.from_urdf(turned)
    state = np.random.default_rng(1).uniform(-1, 1, (3, 2))
    tau = fr.Dynamics(expected).rnea(*state)
    np.testing.assert_allclose(fr.Dynamics(found).rnea(*state), tau, rtol=1e-13)
    assert not caplog.records
    rewritten = fr.Model.from_urdf(expected.with_payload("l2", 1, (0, 0, 1)).to_urdf(turned))
    loaded = found.with_payload("l2", 1, (0, 0, 1))
    np.testing.assert_allclose(
        rewritten.inertial_parameters, loaded.inertial_parameters, rtol=1e-12, atol=1e-15
    )


def test_limits_of_acceleration_are_in_the_model():
    model = fr.Model.from_urdf(arm("1.2", 'acceleration="4" jerk="50"'))
    np.testing.assert_array_equal(model.acceleration_limit, [np.inf, 4])
    np.testing.assert_array_equal(model.deceleration_limit, [np.inf, 4])  # as urdfdom
    np.testing.assert_array_equal(model.jerk_limit, [np.inf, 50])
    model = fr.Model.from_urdf(arm("1.2", 'acceleration="4" deceleration="6"'), joints=["j2"])
    assert (model.acceleration_limit, model.deceleration_limit) == ([4], [6])
    for name in ("acceleration", "deceleration", "jerk"):
        with pytest.raises(ModelError, match=f"joint 'j2': <limit> '{name}' is -1, expected >= 0"):
            urdf.parse(arm("1.2", f'{name}="-1"'))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (arm("1.0", origin='quat_xyzw="0 0 0 1"'), ("'quat_xyzw' of <origin>", "'j2'")),
        (arm(None, 'jerk="1"'), ("'jerk' of <limit>", "'j2'")),
        (arm("1.1", 'acceleration="1"'), ("'acceleration' of <limit>", "'j2'")),
        (arm("1.2", 'accel="1"'), ("'accel' of <limit>", "'j2'")),
        (arm("1.2", origin='quat="0 0 0 1"'), ("'quat' of <origin>", "'j2'")),
        (arm("1.2", inertial='quat_wxyz="1 0 0 0"'), ("'quat_wxyz' of <origin>", "'l2'")),
        (arm().replace("<inertial>", '<inertial mass="3">', 1), ("'mass' of <inertial>", "'base'")),
        (arm().replace("ixx=", 'Ixy="1" ixx=', 1), ("'Ixy' of <inertia>", "'base'")),
        (arm("0.9"), ("declares version 0.9", "'test'")),
    ],
    ids=lambda value: "" if isinstance(value, str) else value[0],
)
def test_what_is_not_read_or_not_by_others_is_named(text, said, caplog):
    with caplog.at_level(logging.WARNING):
        fr.Model.from_urdf(text)
    (record,) = caplog.records
    assert all(part in record.getMessage() for part in said)
    (finding,) = [
        f for f in examine(text).findings if "urdf-v" in f.rule.name or "unk" in f.rule.name
    ]
    assert said[0] in finding.rule.fault


def test_prefixed_attributes_and_other_elements_are_left_alone(caplog):
    text = arm("1.2").replace("<limit ", '<limit x:soft="1" xmlns:x="http://x" ', 1)
    text = text.replace("</robot>", '<gazebo><limit foo="1"/></gazebo></robot>')
    fr.Model.from_urdf(text)
    assert not caplog.records


def test_a_thousand_attributes_make_no_long_message(caplog):
    limit = " ".join(f'a{k}="1"' for k in range(1000))
    fr.Model.from_urdf(arm("1.2", limit))
    assert len(caplog.text) < 5000


def test_a_fault_in_a_long_line_shows_little_of_it():
    with pytest.raises(ModelError) as refusal:
        urdf.parse(f"<robot>{chain('j') * 10_000} & </robot>")
    assert "& </robot>" in str(refusal.value) and len(str(refusal.value)) < 400
