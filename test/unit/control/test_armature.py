"""Armature: assumed where no gains are stable without, or told by the robot description."""

import json
import logging
import re

import numpy as np
import pytest
from example_robots import ROBOTS, example_robot
from refusals import refusals
from studies import study
from urdf_text import geared_arm, joint, link, robot

from featherstone_ros import Dynamics, Model, ModelError, Simulator
from featherstone_ros.control.armature import SHARES, assumed_armature, in_words, min_armature
from featherstone_ros.control.controlled_arm import ControlledArm
from featherstone_ros.control.gains import (
    BANDWIDTH,
    DAMPING_RATIO,
    NoStableGainsError,
    SampledLoop,
    Timing,
    choose,
)
from featherstone_ros.errors import SingularInertiaError
from featherstone_ros.model.robots import robot_file
from featherstone_ros.tools.proposal import propose
from featherstone_ros.tools.setup.files import parameter_file

URDF = geared_arm()
ARM = Model.from_urdf(URDF)


def gains(armature, timing=None):
    loop = SampledLoop(ARM, armature, timing)
    return choose(loop, BANDWIDTH, DAMPING_RATIO)


@pytest.mark.parametrize("timing", [Timing(), Timing(0.004, 0.008)], ids=str)
def test_it_is_the_least_share_that_will_do(timing):
    held = min_armature(ARM, timing=timing)
    heaviest = SampledLoop(ARM, timing=timing).heaviest
    share = (held.armature / heaviest).max()
    least = next(s for s in SHARES if share == pytest.approx(s))
    assert gains(held.armature, timing).p.all()
    assert SampledLoop(ARM, held.armature, timing).is_stable(held.gains.p, held.gains.d)
    for less in [0.0, *(s for s in SHARES if s < least)]:
        with pytest.raises(NoStableGainsError):
            gains(less * heaviest, timing)


def test_the_armature_that_a_refusal_advises_is_enough():
    slow = ControlledArm.of(ARM).with_parameters({"gains.period": 0.004, "gains.delay": 0.008})
    with pytest.raises(NoStableGainsError) as refused:
        slow.settings  # noqa: B018
    said = slow.feedback.remedy(refused.value)
    advised = dict(re.findall(r"(armature\.\w+) ([\d.e+-]+)", said))
    assert advised and said.endswith("would do")
    assert slow.with_parameters({k: float(v) for k, v in advised.items()}).settings.p.all()


def test_only_the_joint_that_needs_it_gets_any():
    armature = assumed_armature(ARM)
    assert armature[0] > 0.0 and armature[1] == 0.0
    assert in_words(ARM.joint_names, armature) == f"armature.inner {armature[0]:.3g}"


@pytest.mark.study
def test_the_search_ends_where_a_joint_moves_next_to_no_inertia():
    """A massless neck: 8e15 times its mobility left the search in a loop without end."""
    held = min_armature(Model.from_file(example_robot("human")))
    assert held.armature.max() > 0.0
    assert (held.gains.d > 0.0).all()


def test_a_joint_that_nothing_resists_is_named():
    """Of two joints about one axis, with next to no mass and inertia between them."""
    arm = Model.from_urdf(
        robot(
            link("base"), link("near", 1e-30, "0 0 0", (1e-30,) * 3),
            link("far", 1.0, "0.1 0 0", (1e-3,) * 3),
            joint("inner", "base", "near", inside=LIMIT, xyz="0 0 0"),
            joint("outer", "near", "far", inside=LIMIT, xyz="0 0 0"),
        )
    )  # fmt: skip
    with pytest.raises(SingularInertiaError, match="'inner'"):
        min_armature(arm)
    assert not assumed_armature(arm).any()


def test_an_arm_in_space_or_on_a_boat_is_the_same_arm():
    for other in (
        Model.from_urdf(URDF, gravity=(0, 0, 0)),
        Model.from_urdf(URDF, base="floating"),
    ):
        np.testing.assert_array_equal(assumed_armature(other), assumed_armature(ARM))


@pytest.mark.parametrize(
    "path",
    [
        *map(robot_file, ("panda", "ur5e")),
        *(study(p) for p in ROBOTS if p.stem in ("kinova", "xarm7", "ur10_robot", "romeo")),
    ],
)
def test_nothing_is_assumed_where_nothing_is_needed(path):
    """Nor where joints move no inertia at all, as two of Romeo's."""
    assert not assumed_armature(Model.from_file(path)).any()


def test_commands_assume_what_the_nodes_assume_and_inspect_says_it(tmp_path, tool):
    path = tmp_path / "arm.urdf"
    path.write_text(URDF)
    assumed = assumed_armature(ARM)
    arm = ControlledArm.from_robot(str(path), ARM.joint_names)  # of preflight and excite
    for armature in (propose(path).armature, arm.drives.armature):
        np.testing.assert_array_equal(armature, assumed)
    told = json.loads(tool("inspect", path, "--json").out)
    assert told["assumed_armature"] == {"inner": assumed[0]}
    said = tool("inspect", path, "--findings")
    assert f"inertia of the drives: armature.inner {assumed[0]:.3g}" in said
    assert "armature" not in tool("inspect", "ur5e", "--findings")


# Told by the description.


LIMIT = '<limit lower="-2" upper="2" velocity="2" effort="60"/>'
DRAKE = (
    '<transmission xmlns:drake="http://drake.mit.edu"><type>SimpleTransmission</type>'
    '<joint name="inner"/><actuator name="motor">{}</actuator></transmission>'
)
CONTROL = '<ros2_control name="arm" type="system"><joint name="inner">{}</joint>{}</ros2_control>'
REDUCED = (
    '<transmission><joint name="inner"><mechanical_reduction>-20</mechanical_reduction></joint>'
    "<actuator/></transmission>"
)
PARAM = '<param name="{}">{}</param>'
ROTOR = PARAM.format("rotor_inertia", "2e-5")
# What a description says, and the armature that it means.
MODIFIED = '<modify_element type="{}" name="{}" armature="{}"/>'
GEARED = '<drake:rotor_inertia value="2e-5"/><drake:gear_ratio value="100"/>'
MOTOR = "<mechanicalReduction>50</mechanicalReduction><motorInertia> 4e-5 </motorInertia>"
RATIO, GIVEN = PARAM.format("gear_ratio", 100), PARAM.format("armature", 0.4)
SAID = {
    "drake": (DRAKE.format(GEARED), 0.2),
    "drake without gear": (DRAKE.format('<drake:rotor_inertia value="2e-5"/>'), 2e-5),
    "motorInertia": (DRAKE.format(MOTOR), 0.1),
    "a reduction alone": (DRAKE.format("<mechanicalReduction>50</mechanicalReduction>"), 0.0),
    "a reduction that nothing needs": (DRAKE.format("<mechanicalReduction/>"), 0.0),
    "mujoco": (f"<mujoco_inputs>{MODIFIED.format('joint', 'inner', 0.3)}</mujoco_inputs>", 0.3),
    "params": (CONTROL.format(ROTOR + RATIO, ""), 0.2),
    "param and transmission": (CONTROL.format(ROTOR, REDUCED), 0.008),
    "param before transmission": (CONTROL.format(ROTOR + RATIO, REDUCED), 0.2),
    "armature": (CONTROL.format(GIVEN, ""), 0.4),
    "two": (CONTROL.format(GIVEN, "") + MODIFIED.format("joint", "inner", 0.3), 0.3),
    "a differential": (
        '<transmission><joint name="inner"/><joint name="outer"/>'
        '<actuator><rotor_inertia value="1"/></actuator></transmission>', 0.0,
    ),
    "a geometry": (MODIFIED.format("geom", "inner", 0.3), 0.0),
    "another joint": (MODIFIED.format("joint", "other", 0.3), 0.0),
}  # fmt: skip


def with_drives(extension, arm=URDF):
    return arm.replace("</robot>", f"{extension}</robot>")


@pytest.mark.parametrize(("extension", "expected"), SAID.values(), ids=SAID)
def test_armature_is_what_the_description_says(extension, expected):
    model = Model.from_urdf(with_drives(extension))
    np.testing.assert_allclose(model.armature, [expected, 0.0])
    assert not model.armature.flags.writeable


test_what_is_no_inertia_is_refused_by_name = refusals(
    ("'inner': .*rotor_inertia is '-1', expected .* >= 0",
     DRAKE.format('<rotor_inertia value="-1"/>')),
    ("'inner': .*rotor_inertia is 'heavy'", DRAKE.format('<rotor_inertia value="heavy"/>')),
    ("'inner': .*motorInertia is ''", DRAKE.format("<motorInertia/>")),
    ("'inner': .*gear_ratio is 'nan', expected a finite number$",
     DRAKE.format(GEARED.replace("100", "nan"))),
    ("'inner': .*is inf", DRAKE.format(GEARED.replace("100", "1e200"))),
    ("'inner': .*armature is 'inf'", CONTROL.format(PARAM.format("armature", "inf"), "")),
    ("'inner': .*mechanical reduction is 'twenty'",
     CONTROL.format(ROTOR, REDUCED.replace("-20", "twenty"))),
    error=ModelError, of=lambda said="": Model.from_urdf(with_drives(said)),
)  # fmt: skip


def test_it_is_told(caplog):
    with caplog.at_level(logging.INFO):
        Model.from_urdf(with_drives(SAID["drake"][0]))
    assert "armature from its transmissions: inner 0.2" in caplog.text


def test_a_leader_bears_the_drives_of_its_followers():
    mimic = LIMIT + '<mimic joint="a" multiplier="-3"/>'
    arm = robot(
        *map(link, ("base", "one", "two")),
        joint("a", "base", "one", inside=LIMIT),
        joint("b", "one", "two", inside=mimic),
    )
    text = "".join(
        MODIFIED.format("joint", name, value) for name, value in (("a", 0.1), ("b", 0.2))
    )
    np.testing.assert_allclose(Model.from_urdf(with_drives(text, arm)).armature, [0.1 + 9 * 0.2])


def test_a_simulator_takes_it_as_it_takes_friction():
    model = Model.from_urdf(with_drives(SAID["mujoco"][0]), gravity=(0, 0, 0))
    simulator, q, tau = Simulator(model), np.array([0.1, 0.4]), np.array([1.0, -2.0])
    simulator.reset(q)
    simulator.step(tau)
    H = Dynamics(model).crba(q) + np.diag([0.3, 0.0])
    np.testing.assert_allclose(simulator.qdd, np.linalg.solve(H, tau), rtol=1e-9)
    assert not Simulator(model, armature=0.0).armature.any()


def test_what_is_known_takes_the_place_of_what_would_be_assumed():
    known = Model.from_urdf(with_drives(SAID["mujoco"][0]))
    np.testing.assert_array_equal(assumed_armature(known), [0.3, 0.0])
    little = SAID["mujoco"][0].replace("inner", "outer").replace("0.3", "1e-6")
    kept = assumed_armature(Model.from_urdf(with_drives(little)))
    assert kept[1] == 1e-6 and kept[0] == pytest.approx(assumed_armature(ARM)[0], rel=1e-3)


def test_setup_and_inspect_do_not_call_it_assumed(tmp_path, tool):
    path = tmp_path / "arm.urdf"
    path.write_text(with_drives(SAID["mujoco"][0]))
    proposal = propose(path)
    np.testing.assert_array_equal(proposal.armature, [0.3, 0.0])
    assert not proposal.assumed_armature.any()
    written = parameter_file(proposal, [])
    assert "the URDF's transmissions" in written and "Assumed" not in written
    assert json.loads(tool("inspect", path, "--json").out)["assumed_armature"] == {}
    said = tool("inspect", path).out
    assert "assumed" not in said and "armature" in said and "0.3" in said
