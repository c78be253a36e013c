"""A load on one joint or a pan-tilt: no motion tells its mass, but what it weighs about the axes.

What is told is compared with the load that the recordings were made with.
"""

import json

import numpy as np
import pytest
from urdf_text import joint, link, robot

import featherstone_ros as fr
from featherstone_ros.identification import IdentificationError, find_payload
from featherstone_ros.identification.arm import Arm
from featherstone_ros.identification.first_moment import UnseparatedError
from featherstone_ros.identification.recording import Recording
from featherstone_ros.tools import cli

LIMIT = '<limit lower="-3" upper="3" velocity="3" effort="50"/>'
MASS, COM = 0.7, np.array([0.03, 0.02, 0.15])
INERTIA = 0.002 * np.eye(3)
NOISE = 0.02  # [N m]


def swinging(axis, frame=""):
    """Return an arm of one joint; ``frame`` is the origin of its link tool on it."""
    return robot(
        *(link("base"), link("arm"), link("tool", mass=None)),
        joint("swing", "base", "arm", axis=axis, inside=LIMIT),
        f'<joint name="f" type="fixed"><parent link="arm"/><child link="tool"/>{frame}</joint>',
    )


def pan_tilt(upright="0 0 0"):
    """Return a head that pans about z, as ``upright`` has it, and tilts about y 0.1 m beside."""
    return robot(
        *(link("base"), link("neck"), link("tool")),
        joint("pan", "base", "neck", rpy=upright, inside=LIMIT),
        joint("tilt", "neck", "tool", axis="0 1 0", xyz="0.1 0 0.3", inside=LIMIT),
    )


ARMS = {
    "one joint": swinging("0 1 0"),
    "tool far from the axis": swinging("0 1 0", '<origin xyz="0.1 0 0.4" rpy="0 0.3 0.5"/>'),
    "pan-tilt": pan_tilt(),
    "pan-tilt, upright within a rounded angle": pan_tilt("3.67e-6 0 0"),
}


def recorded(text, mass=MASS):
    """Return the model without load, and what its joints and efforts are with it and without."""
    model = fr.Model.from_urdf(text)
    loaded = model.with_payload("tool", mass, COM, INERTIA) if mass else model
    t, random = np.arange(0, 15, 0.02), np.random.default_rng(0)
    w = np.array([1.3, 2.1])[: model.n]
    q, qd, qdd = (
        np.sin(w * t[:, None]),
        w * np.cos(w * t[:, None]),
        -(w**2) * np.sin(w * t[:, None]),
    )
    return model, *(
        Recording(
            "",
            model.joint_names,
            *(t, q, qd, fr.Dynamics(arm).rnea(q, qd, qdd) + NOISE * random.normal(size=q.shape)),
        )
        for arm in (loaded, model)
    )


def found(text, mass=MASS, **known):
    model, loaded, bare = recorded(text, mass)
    arm = Arm.without_drives(model)
    return find_payload(arm, [loaded.minus(bare)], "tool", subtracted=True, **known)


@pytest.mark.parametrize("name", ARMS)
def test_first_moment_is_told_where_the_mass_is_not(name):
    """Two of its directions: along the axis, nothing weighs."""
    with pytest.raises(
        UnseparatedError, match=r"does not separate .*--com.*the torque tells m "
    ) as e:
        found(ARMS[name])
    moment = e.value.moment
    assert moment.directions.shape == (2, 3)
    np.testing.assert_allclose(moment.directions @ moment.directions.T, np.eye(2), atol=1e-12)
    true = MASS * moment.directions @ (COM - moment.about)
    assert (np.abs(moment.values - true) < 3 * moment.deviations).all()
    assert (moment.deviations < 0.006).all() and moment.shows_load
    model = fr.Model.from_urdf(ARMS[name])
    dynamics, zero = fr.Dynamics(model), np.zeros(model.n)
    pose, last = dynamics.link_pose(zero, "tool"), dynamics.link_pose(zero, model.link_names[1])
    if "pan" not in name:  # the point is on the axis, and no direction along it
        arm_to_tool = np.linalg.inv(last) @ pose
        at = arm_to_tool @ np.append(moment.about, 1.0)
        np.testing.assert_allclose(at[[0, 2]], 0.0, atol=1e-6)
        np.testing.assert_allclose((arm_to_tool[:3, :3] @ moment.directions.T)[1], 0, atol=1e-6)


@pytest.mark.parametrize("name", ARMS)
def test_known_centre_of_mass_tells_the_mass(name):
    load = found(ARMS[name], com=COM)
    assert load.significant and load.explained > 0.99
    assert abs(load.mass - MASS) < 3 * load.mass_deviation < 0.02
    assert abs(load.free_mass - MASS) < 3 * load.free_deviation < 0.04
    np.testing.assert_array_equal(load.com, COM)
    assert not load.com_deviation.any()
    assert not found(ARMS[name], mass=0.0, com=COM).significant


def test_what_weighs_about_no_axis_is_said_so():
    """A vertical axis bears no weight; nor does one that goes through the centre of mass."""
    with pytest.raises(UnseparatedError, match="no joint that was recorded feels how it weighs"):
        found(swinging("0 0 1"))
    for text, com in ((swinging("0 0 1"), COM), (swinging("0 1 0"), [0.0, 0.1, 0.0])):
        with pytest.raises(IdentificationError, match=r"does not tell the mass .* feels how"):
            found(text, com=com)
    model, loaded, _ = recorded(ARMS["one joint"])
    with pytest.raises(IdentificationError, match=r"no joint .* carries a load on base"):
        find_payload(Arm.without_drives(model), [loaded], "base")
    with pytest.raises(ValueError, match="com"):
        found(ARMS["one joint"], com=[0.0, 0.1])


def test_command_tells_the_moment_or_takes_the_centre(tmp_path, capsys):
    model, loaded, _ = recorded(ARMS["one joint"])
    (tmp_path / "arm.urdf").write_text(ARMS["one joint"])
    bag = str(tmp_path / "loaded.npz")
    fields = {name: getattr(loaded, name) for name in ("time", "position", "velocity", "effort")}
    np.savez(bag, joint_names=model.joint_names, **fields)
    (tmp_path / "arm.yaml").write_text("/**: {ros__parameters: {armature: {swing: 0.0}}}\n")
    files = ["--urdf", str(tmp_path / "arm.urdf"), "--with", str(tmp_path / "arm.yaml")]
    out = tmp_path / "load.json"
    command = ["payload", bag, *files, "--link", "tool", "--json", str(out)]
    assert cli.main(command) == 1
    assert "m c [kg m, with two standard deviations]: " in " ".join(capsys.readouterr().err.split())
    told = json.loads(out.read_text())
    assert told["mass"] is None and len(told["first_moment"]["values"]) == 2
    assert cli.main([*command, "--com", *map(str, COM)]) == 0
    assert "30, 20, 150 mm, as given" in capsys.readouterr().out
    told = json.loads(out.read_text())
    assert told["least_squares"]["mass"] == pytest.approx(MASS, abs=0.02)
    assert abs(told["mass"] - MASS) < told["standard_deviation"]["mass"]  # as its links may be
